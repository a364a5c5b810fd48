//! Random patches over random trees, through ours and the tools of others.
//!
//! [`make::round`] makes a tree and a patch of it from a number; the patch prints in every format that a tool reads. A
//! module per tool installs it, runs it, and compares.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test tool: it touches files and starts the programs of others"
)]

pub mod codex;
pub mod git;
pub mod luck;
pub mod make;
pub mod ours;
pub mod patch;
pub mod tree;
