//! Reading text line by line while it arrives. The machine that shows progress is the one that parses the whole.

use crate::error::Result;
use crate::op::{LineKind, Request};

/// What was understood so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A file begins.
    File {
        /// Its path as the text says it.
        path: String,
        /// What is to be done to it.
        action: Action,
    },
    /// A hunk or block begins.
    Hunk {
        /// 1-based line of the input.
        line: usize,
    },
    /// A line of the hunk, or of a new file.
    Line {
        /// What it is.
        kind: LineKind,
        /// Its text.
        text: String,
    },
    /// The hunk is complete.
    HunkDone,
    /// The file is complete.
    FileDone,
}

/// What a text asks of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create it.
    Add,
    /// Change it.
    Update,
    /// Remove it.
    Delete,
    /// Change it and give it another path.
    Move {
        /// The new path.
        to: String,
    },
    /// Make this its whole text.
    Write,
}

/// What a caller says beside the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Leading folders to take off every name, as `-p` of `git apply`; `None`: prefixes are recognised.
    pub strip: Option<usize>,
    /// The file that a text is about which names none.
    pub file: Option<String>,
    /// Every change the other way round.
    pub reverse: bool,
}

/// A format's parser: a state machine that is fed line by line.
pub trait Machine {
    /// The next line, without `\n` and without one `\r` before it. `out` gets what it tells.
    fn line(&mut self, line: &str, out: &mut Vec<Event>);

    /// The end of the text; `cut` is true when its last line had no line end.
    ///
    /// Errors: as [`Format::parse`](super::Format::parse). What was wrong in a line is told here, not before.
    fn finish(self: Box<Self>, cut: bool, out: &mut Vec<Event>) -> Result<Request>;
}

/// Feeds a whole text to a machine.
///
/// Errors: those of the machine.
pub fn read(mut machine: Box<dyn Machine>, text: &str) -> Result<Request> {
    let mut events = Vec::new();
    let mut rest = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    while let Some(at) = memchr::memchr(b'\n', rest.as_bytes()) {
        machine.line(bare(&rest[..at]), &mut events);
        events.clear();
        rest = &rest[at + 1..];
    }
    if !rest.is_empty() {
        machine.line(bare(rest), &mut events);
    }
    machine.finish(!rest.is_empty(), &mut events)
}

/// A line without the CR of a CRLF.
fn bare(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}
