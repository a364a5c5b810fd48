//! Text in, edits out: the pure core of Emendate. No files, clocks, randomness, threads or environment.

mod change;
mod charset;
mod code;
mod content;
mod diff;
mod error;
mod lines;
mod reading;
mod snapshot;
mod span;

pub use change::{ChangeSet, Conflict, Overlap, Rebased, Splice, Tie};
pub use charset::{Charset, Codec, Declared, Settled};
pub use code::{CODES, Code, CodeRow, Remedy};
pub use content::{ContentId, Tag};
pub use error::{Error, Result};
pub use lines::LineIndex;
pub use snapshot::{LineEnd, LineEnds, Snapshot};
pub use span::Span;
