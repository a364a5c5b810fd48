//! Edits by line number, as hashline writes them, and their conversion to text edits of one version.
//!
//! Numbers refer to the version that the caller was shown. All edits of a file are placed together: ranges remain
//! ranges (nothing is done per line), an insertion next to a removed line keeps its position, and two edits of the same
//! line are refused. [`carry`] renumbers edits for a later version if that can be proven.

mod by_anchor;
mod carry;
mod echo;
mod excerpt;
mod expected;
mod overlaps;
mod place;
mod registers;
mod repair;
#[cfg(test)]
mod tests;

use crate::code::Code;
use crate::error::Error;
use crate::locate::find;
use crate::locate::op::ResolveSettings;
use crate::text::lines::LineIndex;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;

pub use crate::locate::op::line_edit::{AnchorRange, LineEdit, LineTarget, Register, are_line_edits, of};
pub use by_anchor::{are_all_by_anchor, by_number, names_anchor};
pub use carry::{CarriedEdits, CarryConflict, LineMap, carry, is_position_independent};
pub use echo::{ECHO_LINES_MAX, ReplacedLines, replaced_lines};
pub use excerpt::{AROUND, Excerpt, LineShift, excerpt, excerpt_with, first_changed, line_shifts, preview};
pub use place::{not_built, unresolved_block};
pub(crate) use place::{place_all, place_one};
pub use registers::{Registers, fill_registers, paste_registers, use_registers};
pub use repair::{RepairedHunk, repair_guesses};

/// Returns the rows of an edit without line numbers that were copied with them; `None` if they have none, or the call
/// wants them as they are.
pub(crate) fn uncopied_rows(base: &Snapshot, rows: &LineEdit, text: &str, settings: ResolveSettings) -> Option<String> {
    if settings.deletes_literally() || rows.is_literal() && !find::are_read_rows(text) {
        return None;
    }
    let (first, last) = match rows.target {
        LineTarget::Lines { from, to } => (from, to),
        LineTarget::Block(line) | LineTarget::Before(line) => (line, line),
        LineTarget::After(line) => (line.saturating_add(1), line),
        LineTarget::Head => (1, 1),
        LineTarget::Tail | LineTarget::AfterBlock(_) => return None,
    };
    find::uncopied_rows(base, first, last, text)
}

/// The lines of a version, including the empty line that seems to follow a final line end.
#[derive(Clone, Copy)]
struct VersionLines<'a> {
    text: &'a str,
    index: &'a LineIndex,
    /// Number of real lines.
    count: usize,
    /// True if the last line has no line end.
    open: bool,
    /// True if the text is the whole file, not a sparse snapshot.
    whole: bool,
}

impl<'a> VersionLines<'a> {
    fn new(base: &'a Snapshot) -> VersionLines<'a> {
        let text = base.text();
        let count = base.lines().count(text);
        let open = base.file_summary().map_or_else(|| !text.is_empty() && !text.ends_with('\n'), |whole| whole.open);
        VersionLines { text, index: base.lines(), count, open, whole: !base.is_sparse() }
    }

    fn start(&self, line: usize) -> usize {
        self.index.start_of(self.text, line)
    }

    fn span(&self, from: usize, to: usize) -> Span {
        self.index.span_of(self.text, from, to)
    }

    /// Returns lines `from..=to` with their line ends.
    fn slice(&self, from: usize, to: usize) -> &'a str {
        &self.text[self.span(from, to).range()]
    }

    /// Returns one line without its line end.
    fn line(&self, line: usize) -> &'a str {
        let line = self.slice(line, line);
        line.strip_suffix('\n').unwrap_or(line)
    }

    /// True for the number of the line after the last one, if the text ends with a line end or is empty.
    fn is_after_end(&self, line: usize) -> bool {
        !self.open && line == self.count + 1
    }

    fn missing(&self, rows: &LineEdit, line: usize) -> Error {
        let shown = self.count.saturating_sub(2).max(1);
        let what = if line == usize::MAX {
            format!(
                "{}`{}` names a line that does not exist (file has {} lines)",
                rows.describe(),
                rows.source_text,
                self.count
            )
        } else {
            format!("{}Line {line} does not exist (file has {} lines)", rows.describe(), self.count)
        };
        let error = Error::new(Code::ReadRange, what)
            .next("Count again from the numbers that were shown; read the file's end if it is not among them.")
            .fact("total_lines", self.count)
            .fact("line", rows.source_line);
        if self.count == 0 {
            return error.evidence("The file is empty.").next("Insert at the head of the file instead.");
        }
        error.evidence(format!("The file ends:\n{}", rows_shown(self, shown, self.count)))
    }
}

/// Returns lines as `N:TEXT`, for evidence.
fn rows_shown(table: &VersionLines<'_>, from: usize, to: usize) -> String {
    const SHOWN_LINES_MAX: usize = 12;
    let mut out = String::new();
    for number in from..=to.min(table.count).min(from.saturating_add(SHOWN_LINES_MAX - 1)) {
        crate::locate::line_format::push_numbered(
            &mut out,
            number,
            &crate::locate::line_format::clip(table.line(number)),
        );
    }
    if to.min(table.count) >= from.saturating_add(SHOWN_LINES_MAX) {
        out.push_str("...\n");
    }
    out
}
