//! History and undo through the library API.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests play the outside world"
)]

mod bench;
mod contents;
mod operations;
mod past;
