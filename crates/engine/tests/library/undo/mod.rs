//! History and undo through the library API.

mod contents;
mod fixture;
mod operations;
mod past;
mod repeated_lines;
