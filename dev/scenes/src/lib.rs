//! Scenes: files, calls, the replies that they must have, and the files afterwards. Each is one text file, which is
//! played through the library, the command line (one process per call, and `serve --ndjson`) and MCP. All drivers must
//! agree.
//!
//! `scenes/README.md` describes the syntax:
//!
#![doc = include_str!("../../../scenes/README.md")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::missing_errors_doc,
    reason = "a test runner makes files and starts processes"
)]

pub mod bless;
pub mod block;
pub mod disk;
pub mod driver;
pub mod fill;
pub mod parse;
pub mod play;
pub mod scene;
pub mod style;
pub mod suite;
pub mod system;
