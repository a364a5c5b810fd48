//! Text in, edits out: the pure core of Emendate. No files, clocks, randomness, threads or environment.

pub mod advice;
mod binary;
mod change;
mod charset;
mod code;
mod conflict;
mod content;
mod diff;
pub mod elided;
mod error;
pub mod explain;
mod find;
pub mod formats;
mod generated;
mod lines;
pub mod marks;
mod merge;
mod needles;
pub mod notebook;
pub mod omission;
mod op;
pub mod print;
mod reading;
mod resolve;
mod reverse;
pub mod rows;
mod scan;
mod snapshot;
mod span;
mod unseen;
mod whitespace;
pub mod words;
pub mod work;

pub use advice::{Advice, Phrase, Vocabulary};
pub use binary::{MOST_BYTES, apply_binary, is_object};
pub use change::{ChangeSet, Conflict, Overlap, Rebased, Splice, Tie};
pub use charset::{Charset, Codec, Declared, Settled};
pub use code::{CODES, Code, CodeRow, Remedy};
pub use content::{ContentHash, ContentId, Handle, Header, ShortHash, ShortTag, Tag};
pub use error::{Error, ErrorParts, Result};
pub use find::{
    COPIED_NUMBERS, Found, Hit, LOOKED_UP, MOST_FRESH, MOST_PLACES, TextEdit, Tier, check_amount, find,
    without_copied_numbers,
};
pub use generated::generated;
pub use lines::LineIndex;
pub use merge::merge_with_markers;
pub use op::{
    Anchors, Ask, BinaryChange, BinaryHow, FileMode, FileRequest, Find, Hunk, HunkLine, LineKind, Locator, Matching,
    NewFile, Op, Order, Pick, Request, Settings, TextNames, reading_of,
};
pub use resolve::{Outcome, Resolved, not_blank, resolve, resolve_texts};
pub use scan::{MOST_STANDS, Scan, Scanned, Stand, Unfit};
pub use snapshot::{LineEnd, LineEnds, Part, Snapshot, Whole};
pub use span::Span;
pub use unseen::{curly_quotes, unseen};
pub use whitespace::{BlankFault, blank_faults};
