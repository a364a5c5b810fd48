//! The parser of a format: it is fed line by line while a text arrives. The parser that shows progress is the same that
//! parses complete texts.

use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{HunkLineKind, Op, Request};
use crate::text::content::Handle;
use crate::work;

/// A parse event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// A file begins.
    File {
        /// The path as written in the text.
        path: String,
        /// The action on the file.
        action: FileActionKind,
    },
    /// A hunk or block begins.
    Hunk {
        /// 1-based line of the input.
        line: usize,
    },
    /// A line of the hunk, or of a new file.
    Line {
        /// The kind of the line.
        kind: HunkLineKind,
        /// The text of the line.
        text: String,
    },
    /// An operation on lines by number is complete; [`StreamEvent::HunkDone`] follows.
    Rows {
        /// The operation: its locator is [`Locator::Lines`](crate::locate::op::Locator::Lines).
        op: Box<Op>,
        /// The version that the numbers refer to.
        base: Option<Handle>,
    },
    /// The hunk is complete.
    HunkDone,
    /// The file is complete.
    FileDone,
}

/// The action of a text on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileActionKind {
    /// The file is created.
    Add,
    /// The file is edited.
    Update,
    /// The file is deleted.
    Delete,
    /// The file is edited and moved to another path.
    Move {
        /// The new path.
        to: String,
    },
    /// The file is written as a whole.
    Write,
}

/// The encoding of a text with edits, before it was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8, or another encoding that was decoded completely.
    #[default]
    Utf8,
    /// Unknown: each character is one byte, in the names of files as well.
    Bytes,
}

/// Options of the caller for parsing a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// Leading directories to strip from every name, like `-p` of `git apply`; `None`: prefixes are detected.
    pub strip: Option<usize>,
    /// The file for a text that names none.
    pub file: Option<String>,
    /// True to reverse every change.
    pub reverse: bool,
    /// The encoding of the text.
    pub encoding: TextEncoding,
}

/// Returns the advice for a name with fewer leading directories than are to be stripped.
pub(super) fn strip_fewer() -> Advice {
    Advice::named("Use a smaller {strip}.").or("Strip fewer leading directories from the names.")
}

/// Creates the error for a request to reverse edits without their old text; `what` names them.
pub(super) fn irreversible(what: &str) -> Error {
    Error::new(Code::CallInvalid, format!("{what} does not contain the earlier text."))
        .next(Advice::named("Omit {reverse}."))
}

/// The parser of a format: a state machine that is fed line by line.
pub trait LineParser {
    /// Suppresses the events for lines of hunks and files: a copy of each line costs more than parsing it.
    fn skip_events(&mut self) {}

    /// Informs the parser whether the next line ends in `\r\n`: the lines of a new file keep their line ends if the
    /// headers of the patch have other ones.
    fn next_line_end(&mut self, _crlf: bool) {}

    /// Parses the next line, without `\n` and without one `\r` before it. `out` receives the events.
    fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>);

    /// Ends the text; `cut` is true if its last line had no line end.
    ///
    /// Errors: as [`Format::parse`](crate::formats::Format::parse), including those of earlier lines.
    fn finish(self: Box<Self>, cut: bool, out: &mut Vec<StreamEvent>) -> Result<Request>;
}

impl ParseOptions {
    /// Returns a name without the leading directories to strip; its last component always remains.
    pub fn name(&self, name: &str) -> String {
        let mut rest = name;
        for _ in 0..self.strip.unwrap_or(0) {
            let Some((_, below)) = rest.split_once('/') else { break };
            rest = below.trim_start_matches('/');
        }
        rest.to_owned()
    }
}

/// Feeds a whole text to a parser.
///
/// Errors: those of the parser, and of [`work::check`].
pub fn parse_text(machine: Box<dyn LineParser>, text: &str) -> Result<Request> {
    parse_lines(machine, text, is_cut(text))
}

/// Feeds a whole text to a parser; `cut` has the meaning of that in [`LineParser::finish`].
///
/// Errors: as [`parse_text`].
pub(super) fn parse_lines(mut machine: Box<dyn LineParser>, text: &str, cut: bool) -> Result<Request> {
    let mut events = Vec::new();
    let text = without_mark(text);
    machine.skip_events();
    for line in work::lines_with_ends(text) {
        feed(&mut *machine, line, &mut events);
        events.clear();
    }
    work::check()?;
    machine.finish(cut, &mut events)
}

/// Feeds a line with its line end to a parser.
pub(super) fn feed(machine: &mut dyn LineParser, line: &str, out: &mut Vec<StreamEvent>) {
    machine.next_line_end(line.ends_with("\r\n"));
    machine.line(without_line_end(line), out);
}

/// Removes the line end of a text's last line.
pub(super) fn pop_line_end(text: &mut String) {
    text.truncate(without_line_end(text).len());
}

/// Removes a byte order mark.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// True if the last line has no line end.
pub(super) fn is_cut(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

/// Returns a line without its line end.
pub(super) fn without_line_end(line: &str) -> &str {
    let end = match line.as_bytes() {
        [.., b'\r', b'\n'] => 2,
        [.., b'\n' | b'\r'] => 1,
        _ => 0,
    };
    &line[..line.len() - end]
}
