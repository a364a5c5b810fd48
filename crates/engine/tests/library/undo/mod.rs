//! History and undo through the library API.

mod contents;
pub(crate) mod fixture;
mod operations;
mod past;
mod repeated_lines;
