//! History and undo through the library API.

mod contents;
pub(crate) mod fixture;
mod followed_advice;
mod operations;
mod past;
#[cfg(unix)]
mod posix;
mod repeated_lines;
mod returned_text;
