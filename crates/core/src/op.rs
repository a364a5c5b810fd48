//! Operations: what a caller said, as plain data about places. Parsed without a file, resolved against one snapshot.

use crate::content::Handle;
use crate::notebook::CellEdit;
use crate::rows::Rows;
use crate::span::Span;
use crate::words::Worded;

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
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if memchr::memchr(b'\r', text.as_bytes()).is_none() { text.to_owned() } else { text.replace("\r\n", "\n") }
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
    /// Whole lines, some of which stay: one hunk of a patch. [`Op::text`] holds its new side.
    Hunk(Box<Hunk>),
    /// Whole lines by their numbers. All of a file's act together, against one version.
    Rows(Box<Rows>),
    /// Whole lines by their words. They become [`Locator::Rows`] before they are placed, see [`crate::words::Page`].
    Words(Box<Worded>),
    /// A cell of a notebook. All of a file's act together, against one version.
    Cell(Box<CellEdit>),
    /// Bytes of the reading, for callers that already know.
    Exactly(Span),
}

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// It stays.
    Context,
    /// It goes away; it must really be there.
    Removed,
    /// It is new.
    Added,
    /// It has no mark at all: context that lost it, if the file has this line there.
    Bare,
}

/// One line of a hunk, without its mark and its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkLine {
    /// What it is.
    pub kind: LineKind,
    /// Its text.
    pub text: String,
}

/// One hunk of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// In order.
    pub lines: Vec<HunkLine>,
    /// Lines below which the place lies, outermost first: what a Codex patch writes after `@@`. Each of them must be there.
    pub scopes: Vec<String>,
    /// The name of the function or section around the place, as a unified diff writes it behind the second `@@`: a hint.
    pub section: Option<String>,
    /// 1-based number of its first old line, as the header says it; without old lines, of the line it follows (0: the
    /// beginning). A hint.
    pub first: Option<usize>,
    /// It reaches the end of the file.
    pub at_end: bool,
    /// Whether the last old and the last new line are said to have no line end.
    pub open: (bool, bool),
    /// 1-based line of the input on which it begins.
    pub said_at: usize,
}

impl Hunk {
    /// The old side (context and removed lines), every line ended.
    pub fn old_text(&self) -> String {
        self.side(LineKind::Added)
    }

    /// The new side (context and added lines), every line ended.
    pub fn new_text(&self) -> String {
        self.side(LineKind::Removed)
    }

    fn side(&self, without: LineKind) -> String {
        let mut out = String::with_capacity(self.lines.iter().map(|line| line.text.len() + 1).sum());
        for line in self.lines.iter().filter(|line| line.kind != without) {
            out.push_str(&line.text);
            out.push('\n');
        }
        out
    }

    /// The operation it stands for.
    pub fn into_op(self) -> Op {
        let text = self.new_text();
        Op { at: Locator::Hunk(Box::new(self)), text }
    }
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
    /// Create it; something that is there already is replaced only when the call says so.
    Create(NewFile),
    /// Remove it.
    Delete {
        /// All of its text, where the patch says it: it must be that and nothing more.
        text: Option<String>,
    },
    /// Give it, edited by `ops` (none: as it is), another path.
    Move {
        /// The new path.
        to: String,
        /// In the order of the call.
        ops: Vec<Op>,
    },
    /// Put a copy of it, edited by `ops`, at another path.
    Copy {
        /// The path of the copy.
        to: String,
        /// In the order of the call.
        ops: Vec<Op>,
    },
    /// Change its bytes: a GIT binary patch.
    Binary(BinaryChange),
}

/// What a new file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewFile {
    /// Text, exactly as given.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// It is a symbolic link to this.
    Link(String),
}

/// A change of bytes, already decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryChange {
    /// The file's object id before, in lower-case hexadecimal digits (SHA-1, or SHA-256 in full length); shortened ids are
    /// a prefix. `None` where the patch does not say it.
    pub before: Option<String>,
    /// The object id after.
    pub after: Option<String>,
    /// How the new bytes come about.
    pub how: BinaryHow,
}

/// How the bytes of a [`BinaryChange`] come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinaryHow {
    /// They are these.
    Literal(Vec<u8>),
    /// By git's delta (copy and insert instructions, see gitformat-pack) from the old bytes.
    Delta(Vec<u8>),
}

/// The permission a patch gives to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// 100644
    Regular,
    /// 100755
    Executable,
}

/// What a call asks of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// The path as the caller gave it.
    pub path: String,
    /// The same as bytes, where it is no UTF-8 and `path` only stands for it.
    pub raw: Option<Vec<u8>>,
    /// Other paths that may be meant, best first, when nothing is at `path`: names before prefixes were taken off, the
    /// other side's name of a diff.
    pub also: Vec<String>,
    /// The version the caller was looking at, where the call names one.
    pub base: Option<Handle>,
    /// The permission the file shall have; `None`: as it is.
    pub mode: Option<FileMode>,
    /// What to do.
    pub ask: Ask,
}

impl FileRequest {
    /// Asks this of the file at this path, and nothing beside.
    pub fn new(path: impl Into<String>, ask: Ask) -> FileRequest {
        FileRequest { path: path.into(), raw: None, also: Vec::new(), base: None, mode: None, ask }
    }
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
    /// Deletions remove the lines they empty even where `matching` forgives nothing: a part of a large file is searched
    /// literally, whatever the call allows.
    pub emptied_lines: bool,
    /// Lines that look like placeholders for text left out are meant as they are.
    pub omissions: bool,
}

impl Settings {
    /// True when a deletion removes exactly the given text, and never the rest of a line that it empties.
    pub fn deletes_literally(self) -> bool {
        self.matching != Matching::Standard && !self.emptied_lines
    }
}
