//! Detection of miscounted ranges: rows of the body that repeat the lines just outside of the range.

use super::place::RowGroup;
use super::{LineEdit, LineTarget, VersionLines, of, rows_shown};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::omission;
use crate::locate::op::{Op, ResolveSettings};
use crate::note::Notes;
use crate::text::snapshot::Snapshot;

/// Maximum length of a repetition that is searched for, in lines on either side of a range.
pub const ECHO_LINES_MAX: usize = 20;

/// Advice for rows that only look like a placeholder: inserted lines replace none, so nothing is omitted by them.
const INSERT_ADVICE: &str = "If the line belongs in the file, send two operations in place of this one: delete the \
                             lines, and insert the rows before the first of them.";

/// First and last line of a replaced range, quoted in the reply so that a miscount is noticed at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedLines {
    /// The first line's number, before the edit.
    pub from: usize,
    /// The last line's number.
    pub to: usize,
    /// The first line.
    pub first: String,
    /// The last line.
    pub last: String,
}

/// Returns the replaced ranges of a request, in its order. Insertions and pure deletions are not included.
pub fn replaced_lines(base: &Snapshot, ops: &[Op]) -> Vec<ReplacedLines> {
    let table = VersionLines::new(base);
    ops.iter().filter_map(|op| lines_of_op(table, op)).collect()
}

/// Returns the range of lines that an operation replaces, with its first and last line.
fn lines_of_op(table: VersionLines<'_>, op: &Op) -> Option<ReplacedLines> {
    let (from, to) = of(op)?.range().filter(|(from, _)| *from <= table.count && !op.text.is_empty())?;
    let to = to.min(table.count);
    Some(ReplacedLines { from, to, first: clipped_line(table, from), last: clipped_line(table, to) })
}

/// Returns a line, cut to the limit for lines of evidence.
fn clipped_line(table: VersionLines<'_>, line: usize) -> String {
    crate::locate::line_format::clip(table.line(line)).into_owned()
}

/// Returns the shift of the lines before each group, in order.
pub(super) fn shifts(groups: &[RowGroup]) -> Vec<isize> {
    let mut moved = 0isize;
    let mut out = Vec::with_capacity(groups.len());
    for group in groups {
        out.push(moved);
        moved += group.text.lines().count().cast_signed() - group.lines.cast_signed();
    }
    out
}

/// The other edits of a call, seen from one range.
#[derive(Clone, Copy)]
pub(super) struct Neighbors<'a> {
    /// The shift of the lines before the range.
    pub(super) moved: isize,
    /// The first and last lines that edits of the call remove, sorted and disjoint.
    pub(super) covered: &'a [(usize, usize)],
}

impl Neighbors<'_> {
    /// True if any of these lines is removed.
    fn remove_any(self, from: usize, to: usize) -> bool {
        let next = self.covered.partition_point(|&(_, last)| last < from);
        self.covered.get(next).is_some_and(|&(first, _)| first <= to)
    }
}

/// Adds warnings about rows that repeat the lines around a range. Lines that another edit of the call removes are not
/// repeated.
///
/// Errors: the body has a placeholder for omitted lines, or repeats such lines and is too short to be the whole new
/// content of its range.
pub(super) fn check_restated(
    table: &VersionLines<'_>,
    rows: &LineEdit,
    text: &str,
    neighbors: Neighbors<'_>,
    settings: ResolveSettings,
) -> Result<Notes> {
    let LineTarget::Lines { from, to } = rows.target else { return Ok(Notes::new()) };
    let (to, body) = (to.min(table.count), RowBody(text));
    if from > table.count || text.is_empty() {
        return Ok(Notes::new());
    }
    // Dots alone in place of a single line stand for no other one.
    let is_line_of_dots = from == to && body.0.lines().count() == 1 && omission::is_bare_dots(text);
    let omitted = || omission::omitted_at(table.slice(from, to), text).filter(|_| !is_line_of_dots);
    if let Some(row) = Some(()).filter(|()| !settings.omissions).and_then(|()| omitted()) {
        let what = format!("{}the body has a placeholder for omitted lines: `{}`.", rows.describe(), row.trim());
        return Err(Error::new(Code::EditOmission, what)
            .evidence(rows_shown(table, from, to))
            .next(
                Advice::from("Write the lines out in full, or name only those that change.")
                    .and(&omission::advice_if_intended_or(INSERT_ADVICE)),
            )
            .fact("line", rows.source_line));
    }
    let (mut leading, mut trailing) = restated_lengths(table, from, to, text);
    if leading > 0 && neighbors.remove_any(from - leading, from - 1) {
        leading = 0;
    }
    if trailing > 0 && neighbors.remove_any(to + 1, to + trailing) {
        trailing = 0;
    }
    if (leading, trailing) == (0, 0) {
        return Ok(Notes::new());
    }
    let (head, tail) = (body.first(ECHO_LINES_MAX), body.last(ECHO_LINES_MAX));
    let taken = to - from + 1;
    let count = text.lines().count();
    let mut notes = Notes::new();
    let start = from.saturating_add_signed(neighbors.moved);
    for (echo, n, which, at) in [
        (&head[..leading], leading, "above", start),
        (&tail[tail.len() - trailing..], trailing, "below", start + count - trailing),
    ] {
        if n == 0 || !echo.iter().any(|line| line.contains(char::is_alphanumeric)) {
            continue;
        }
        let own = if which == "above" { table.line(from) } else { table.line(to) };
        let stays = echo.contains(&own);
        if taken > 1 && count - n < taken && count < taken && !stays {
            return Err(too_short(table, rows, from, to, which, n));
        }
        if !stays {
            notes.push(format!(
                "{}{n} body row(s) restate the lines just {which} the range {from}..{to}; they now occur twice. If that was not meant, {}",
                rows.note_prefix(),
                undone(rows, at, at + n - 1)
            ));
        }
    }
    Ok(notes)
}

/// Returns how many rows of a body repeat the lines just above its range, and just below it.
pub(super) fn restated_lengths(table: &VersionLines<'_>, from: usize, to: usize, text: &str) -> (usize, usize) {
    // Nearly always, neither the line directly above nor the one directly below is among the rows.
    let above = (from > 1).then(|| only_line(table, from - 1)).flatten();
    let below = only_line(table, to.saturating_add(1));
    if has_row(text, above) || has_row(text, below) { compared(table, from, to, text) } else { (0, 0) }
}

/// True if the line is one of the rows.
fn has_row(text: &str, line: Option<&str>) -> bool {
    line.is_some_and(|line| text.lines().any(|row| row == line))
}

/// Returns a line by its number.
fn only_line<'t>(table: &VersionLines<'t>, line: usize) -> Option<&'t str> {
    table.slice(line, line).lines().next()
}

fn compared(table: &VersionLines<'_>, from: usize, to: usize, text: &str) -> (usize, usize) {
    let body = RowBody(text);
    let (head, tail) = (body.first(ECHO_LINES_MAX), body.last(ECHO_LINES_MAX));
    // At most as many lines as the body has rows are needed; one look-up locates them all.
    let start = from.saturating_sub(head.len()).max(1);
    let above: Vec<&str> = if start < from { table.slice(start, from - 1).lines().collect() } else { Vec::new() };
    let below: Vec<&str> = table.slice(to + 1, to.saturating_add(tail.len())).lines().collect();
    let leading = longest(head.len().min(above.len()), |n| head[..n] == above[above.len() - n..]);
    let trailing = longest(tail.len().min(below.len()), |n| tail[tail.len() - n..] == below[..n]);
    (leading, trailing)
}

/// Describes how to delete lines of the new text, in the syntax of the hunk that wrote them.
fn undone(rows: &LineEdit, from: usize, to: usize) -> String {
    match rows.source_text.split([' ', '<', '>']).next() {
        Some("PUT") => format!("send under the header above: CUT {from}.={to}"),
        Some("replace") => format!("send under the header above: delete {from}..{to}"),
        _ if from == to => format!("delete line {from} of the new text."),
        _ => format!("delete lines {from}..{to} of the new text."),
    }
}

fn longest(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    (1..=most).rev().find(|&n| holds(n)).unwrap_or(0)
}

fn too_short(table: &VersionLines<'_>, rows: &LineEdit, from: usize, to: usize, which: &str, n: usize) -> Error {
    let what = format!(
        "{}`{}` rejected: the body restates the {n} line(s) just {which} the range, but is too short to be the full final content of the selected range.",
        rows.describe(),
        rows.source_text
    );
    Error::new(Code::EditUnparsable, what)
        .evidence(rows_shown(table, from.saturating_sub(2).max(1), to.saturating_add(2)))
        .next("Send the hunk with the range covering exactly the lines that change, and the body as their complete final content.")
        .fact("line", rows.source_line)
}

/// The rows of a body.
struct RowBody<'a>(&'a str);

impl<'a> RowBody<'a> {
    fn first(&self, n: usize) -> Vec<&'a str> {
        self.0.lines().take(n).collect()
    }

    fn last(&self, n: usize) -> Vec<&'a str> {
        let mut out: Vec<&str> = self.0.lines().rev().take(n).collect();
        out.reverse();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{compared, restated_lengths};
    use crate::locate::line_edits::VersionLines;
    use crate::text::snapshot::Snapshot;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn two_line_check_agrees_with_the_full_one(
            lines in prop::collection::vec("[ab]?\r?", 1..40),
            end in "\n?",
            rows in prop::collection::vec("[ab]?\r?", 0..30),
            (from, more) in (0usize..40, 0usize..4),
        ) {
            let base = Snapshot::from_text(&(lines.join("\n") + &end));
            let table = VersionLines::new(&base);
            prop_assume!(table.count > 0);
            let from = from % table.count + 1;
            let range = (from, (from + more).min(table.count));
            let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
            prop_assert_eq!(restated_lengths(&table, range.0, range.1, &text), compared(&table, range.0, range.1, &text));
        }
    }
}
