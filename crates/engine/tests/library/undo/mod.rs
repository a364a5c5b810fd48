//! History and undo through the library API.

mod bench;
mod contents;
mod operations;
mod past;
