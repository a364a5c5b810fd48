//! Small parts of what `cargo run -p oracles` compares, in one program, which takes less time to link and less disk space
//! than one for each part.
#![allow(clippy::disallowed_methods, reason = "tests read their own settings")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests that report figures")]

mod accuracy;
mod codex;
mod lazy;
mod rounds;
mod schemas;
mod slips;
