//! History and undo through the library API.

mod contents;
pub(crate) mod fixture;
mod operations;
mod past;
#[cfg(unix)]
mod posix;
mod repeated_lines;
