//! Operations: what a caller said, as plain data about places. Parsed without a file, resolved against one snapshot.

use crate::content::Tag;
use crate::span::Span;

/// How many places a [`Find`] may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Exactly one; overlapping hits count as several.
    Unique,
    /// All of them, at least one.
    All,
    /// Exactly this many.
    Exactly(usize),
}

/// Text to look for. `\n` line ends, no byte order mark (see [`Find::new`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// The text.
    pub old: String,
    /// How many places it may have.
    pub pick: Pick,
    /// 1-based line near which the caller expects it; breaks ties only.
    pub line: Option<usize>,
    /// The one place meant, by the id that a failure gave it.
    pub at: Option<String>,
    /// Only whole lines: a literal place begins and ends with a line.
    pub lines: bool,
}

impl Find {
    /// Brings the text to the form of a reading.
    pub fn new(old: &str, pick: Pick) -> Find {
        Find { old: reading_of(old), pick, line: None, at: None, lines: false }
    }
}

/// The first and the last line of a stretch of whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchors {
    /// The first line.
    pub first: String,
    /// The last line.
    pub last: String,
    /// 1-based line near which the caller expects the first; breaks ties only.
    pub line: Option<usize>,
    /// The one place meant, by the id that a failure gave it.
    pub at: Option<String>,
}

/// Brings text from a call to the form of a reading: no byte order mark, `\n` line ends.
pub fn reading_of(text: &str) -> String {
    text.strip_prefix('\u{FEFF}').unwrap_or(text).replace("\r\n", "\n")
}

/// How the caller points at text. Closed on purpose: a new syntax is a format, a new way to point is a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Locator {
    /// The whole text, whatever it is.
    Whole,
    /// The whole text, provided there is nothing in it but white space.
    Blank,
    /// Literal or near-literal text: the matching cascade.
    Find(Find),
    /// Whole lines from one line of text to another: the line-anchor edit.
    Anchors(Anchors),
    /// Bytes of the reading, for callers that already know.
    Exactly(Span),
}

/// One thing the caller asked for: put `text` in place of what `at` points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Where.
    pub at: Locator,
    /// The new text, in the form of a reading.
    pub text: String,
}

/// How the operations on one file relate to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All against the same text; edits that depend on each other are refused.
    #[default]
    Together,
    /// Each against the result of the one before.
    InTurn,
    /// Together, but in turn where an edit needs the result of an earlier one; told in the notes.
    AsNeeded,
}

/// What is asked of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ask {
    /// Change it by operations.
    Edit {
        /// In the order of the call.
        ops: Vec<Op>,
        /// How they relate.
        order: Order,
    },
    /// Make this its whole text; creates it if missing.
    Write(String),
}

/// What a call asks of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// The path as the caller gave it.
    pub path: String,
    /// The version the caller was looking at, where the call names one.
    pub base: Option<Tag>,
    /// What to do.
    pub ask: Ask,
}

/// Everything one call asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// In the order of the call.
    pub files: Vec<FileRequest>,
    /// What the caller should know of how its text was read.
    pub notes: Vec<String>,
}

/// How much the matching cascade may forgive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Nothing: tier 0.
    Exact,
    /// Characters that look alike and trailing blanks: tiers 0–3.
    Strict,
    /// All tiers.
    #[default]
    Standard,
}

/// What holds for all operations of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How much the matching cascade may forgive.
    pub matching: Matching,
    /// The file has changed since the caller saw the text that is searched: the drift tiers stay off.
    pub stale: bool,
    /// Operations that cannot be placed are left out and told, as long as one can.
    pub partial: bool,
}
