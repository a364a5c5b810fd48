//! Text in, edits out: the pure core of Emendate. No files, clocks, randomness, threads or environment.

mod code;
mod content;
mod error;
mod span;

pub use code::{CODES, Code, CodeRow, Remedy};
pub use content::{ContentId, Tag};
pub use error::{Error, Result};
pub use span::Span;
