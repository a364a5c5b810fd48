//! Repaired mistakes, with one note for each kind.

use crate::code::Code;
use crate::error::Error;
use crate::note::Notes;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A kind of mistake that is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnifiedDiffMistake {
    /// The patch was indented as a whole.
    Indent,
    /// The hunk had no header.
    NoHeader,
    /// The hunks had no file headers, and the line above their fence names the file.
    FenceName,
    /// The hunk header had no numbers.
    NoNumbers,
    /// The numbers of the hunk header are too large.
    Overflow,
    /// The counts of the hunk header do not match its lines.
    Counts,
    /// Blank lines had no mark.
    Blank,
    /// Other lines had no mark.
    Bare,
    /// Marked lines were ignored as prose.
    Prose,
    /// The hunk changes nothing.
    NoChange,
    /// There was a line such as `Only in …`.
    OnlyIn,
    /// A hunk has an empty old side, for a file that exists on both sides.
    Fills,
    /// The lines of a new or empty file have other line ends than the headers.
    LineEnds,
    /// One name after `diff --git` differs from the names below it.
    GitName,
    /// The two sides have different names, and nothing says that the file gets a new one.
    NotRenamed,
}

impl UnifiedDiffMistake {
    fn text(self) -> &'static str {
        match self {
            UnifiedDiffMistake::Indent => "The patch was indented; the indentation was removed",
            UnifiedDiffMistake::NoHeader => "Hunks without an @@ line were read",
            UnifiedDiffMistake::FenceName => {
                "Hunks without file headers were taken for the file named above their fence"
            }
            UnifiedDiffMistake::NoNumbers => "Hunk headers without line numbers were read",
            UnifiedDiffMistake::Overflow => "Line numbers too large for any file were ignored",
            UnifiedDiffMistake::Counts => "Line counts of hunks were wrong; the hunks were read by their lines",
            UnifiedDiffMistake::Blank => "Blank lines without a mark were read as blank context",
            UnifiedDiffMistake::Bare => "Lines without a mark were read as context that lost its space",
            UnifiedDiffMistake::Prose => "Lines after a complete hunk were read as prose, not as part of it",
            UnifiedDiffMistake::NoChange => "Hunks that change nothing were skipped",
            UnifiedDiffMistake::Fills => {
                "The hunk says that the file has no lines yet; it is created, or filled if it is empty"
            }
            UnifiedDiffMistake::LineEnds => {
                "Lines of a new or empty file end in CRLF, other than the headers of the patch; they were kept so"
            }
            UnifiedDiffMistake::GitName => "`diff --git` names two files; the one that `---` and `+++` name was taken",
            UnifiedDiffMistake::NotRenamed => {
                "The headers name two files, without `rename from` and `rename to`; the one that exists was edited under its name"
            }
            UnifiedDiffMistake::OnlyIn => "`Only in …` names a file without its content; nothing was done for it",
        }
    }
}

/// All mistakes of a text.
#[derive(Debug, Default)]
pub(super) struct UnifiedDiffMistakes(BTreeMap<UnifiedDiffMistake, Vec<usize>>);

impl UnifiedDiffMistakes {
    /// Records a mistake at a 1-based line of the request.
    pub(super) fn add(&mut self, mistake: UnifiedDiffMistake, line: usize) {
        self.0.entry(mistake).or_default().push(line);
    }

    /// Returns one note for each kind of mistake.
    pub(super) fn notes(&self) -> Notes {
        self.0.iter().map(|(mistake, lines)| format!("{} ({}).", mistake.text(), list(lines))).collect()
    }
}

fn list(lines: &[usize]) -> String {
    const NAMED_LINES_MAX: usize = 5;
    let mut out = if lines.len() == 1 { "line " } else { "lines " }.to_owned();
    for (index, line) in lines.iter().take(NAMED_LINES_MAX).enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(out, "{}{line}", if index == 0 { "" } else { ", " });
    }
    if lines.len() > NAMED_LINES_MAX {
        let _ = write!(out, " and {} more", lines.len() - NAMED_LINES_MAX);
    }
    out
}

/// Creates the error for a line of the request.
pub(super) fn broken(line: usize, what: &str) -> Error {
    Error::new(Code::EditUnparsable, format!("Line {line} of the request: {what}"))
        .next(SHAPE_ADVICE)
        .fact("line", line)
}

/// Creates the error for a text that ends inside an open fence; `place` is the part that begins on the line.
pub(super) fn open_fence(line: usize, place: &str, fence: usize) -> Error {
    let what = format!("the text may be cut off {place}: the fence on line {fence} is not closed.");
    broken(line, &what)
        .next("If nothing is missing, add the line that closes the fence; otherwise send the whole patch again.")
}

const SHAPE_ADVICE: &str = "Write for each file --- a/PATH, +++ b/PATH, then hunks: a line @@ -LINE,COUNT +LINE,COUNT @@, and below it the \
lines with one mark each: a space (unchanged), - (removed) or + (added). /dev/null in place of a path creates or deletes the file.";
