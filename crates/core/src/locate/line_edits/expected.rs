//! Checks of the text that a caller expects on the lines it names, and guesses about blocks by indentation.

use super::echo::ECHO_LINES_MAX;
use super::{LineEdit, LineTarget, VersionLines, rows_shown};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::find::numbered;

/// Number of context lines shown when the named lines differ from what was expected.
const CONTEXT_LINES: usize = 3;

/// Compares the expected text with the lines.
///
/// Errors: `match.not_found` with the actual lines.
pub(super) fn check_expected(table: &VersionLines<'_>, rows: &LineEdit) -> Result<()> {
    let Some((from, to)) = rows.named_lines() else { return Ok(()) };
    let to = to.min(table.count);
    if let Some(text) = &rows.check
        && !table.line(from).contains(text.trim())
    {
        let what = format!("{}line {from} does not contain `{}`; nothing was written.", rows.describe(), text.trim());
        return Err(elsewhere(table, rows, from, to, text.trim(), what));
    }
    let LineTarget::Lines { .. } = rows.target else { return Ok(()) };
    let mut lines = table.slice(from, to).lines();
    if let Some(row) = rows.context.iter().find(|row| !lines.any(|line| row.trim_end() == line.trim_end())) {
        return Err(not_context(table, rows, from, to, row));
    }
    if rows.old.is_empty() {
        return Ok(());
    }
    let mut lines = (from..).zip(table.slice(from, to).lines());
    for old in &rows.old {
        if !lines.any(|(number, line)| is_meant(old, number, line)) {
            let what =
                format!("{}the row `-{old}` is not among lines {from}..{to}; nothing was written.", rows.describe());
            return Err(elsewhere(table, rows, from, to, old.trim_end(), what));
        }
    }
    Ok(())
}

/// Creates the error for a row that may be context of a diff or a new line.
fn not_context(table: &VersionLines<'_>, rows: &LineEdit, from: usize, to: usize, row: &str) -> Error {
    let what = format!(
        "{}the row ` {row}` is neither new, because it has no `+`, nor an unchanged line of {from}..{to}; nothing was written.",
        rows.describe()
    );
    Error::new(Code::MatchNotFound, what)
        .evidence(rows_shown(table, from.saturating_sub(CONTEXT_LINES).max(1), to.saturating_add(CONTEXT_LINES)))
        .next("Send the complete new lines of the range, each with a `+` in front, and no other rows.")
        .fact("line", rows.source_line)
}

/// True if a line is as the caller expects it, possibly with its number before it.
fn is_meant(old: &str, number: usize, line: &str) -> bool {
    old.trim_end() == line.trim_end()
        || numbered(old).is_some_and(|(found, rest)| found == number && rest.trim_end() == line.trim_end())
}

/// Creates the error. If exactly one line has the expected text, the error names it.
fn elsewhere(table: &VersionLines<'_>, rows: &LineEdit, from: usize, to: usize, text: &str, what: String) -> Error {
    let shown = rows_shown(table, from.saturating_sub(CONTEXT_LINES).max(1), to.saturating_add(CONTEXT_LINES));
    let error = Error::new(Code::MatchNotFound, what).evidence(shown).fact("line", rows.source_line);
    let mut hits = memchr::memmem::find_iter(table.text.as_bytes(), text.as_bytes());
    match (hits.next(), hits.next()) {
        (Some(at), None) if table.whole && !text.is_empty() => {
            let line = table.index.line_of(table.text, at);
            error.next(format!("`{text}` is on line {line}: count again, and send the hunk with the right numbers."))
        }
        _ => error.next("Count again from the lines shown, and send the hunk with the right numbers."),
    }
}

/// Returns the last line of the block that is indented below `line`, including a closing line at its own depth. This is
/// a guess for messages, and never applied.
pub(super) fn indented_to(table: &VersionLines<'_>, line: usize) -> usize {
    let own = depth(table.line(line));
    let mut last = line;
    for (number, text) in (line + 1..).zip(table.slice(line + 1, table.count).lines()) {
        if text.trim().is_empty() {
            continue;
        }
        if depth(text) <= own {
            let closes = text.trim_start().starts_with(['}', ')', ']']) || text.trim() == "end";
            return if closes && depth(text) == own { number } else { last };
        }
        last = number;
    }
    last
}

/// Returns the number of bytes of leading whitespace.
fn depth(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// True for a line of closing brackets only.
pub(super) fn is_closer(line: &str) -> bool {
    let text = line.trim();
    let text = text.strip_suffix([',', ';']).unwrap_or(text);
    !text.is_empty() && text.bytes().all(|byte| b")]}".contains(&byte))
}

/// Returns a warning about rows inserted after a line that is indented deeper, if closing lines follow: the rows may
/// belong after those.
pub(super) fn indentation_remarks(table: &VersionLines<'_>, rows: &LineEdit, text: &str) -> Option<String> {
    let LineTarget::After(line) = rows.target else { return None };
    let own = text.lines().filter(|row| !row.trim().is_empty()).map(depth).min()?;
    if line > table.count || own >= depth(table.line(line)) {
        return None;
    }
    let below = (line + 1..=table.count).take(ECHO_LINES_MAX).map(|line| (line, table.line(line)));
    let closers = below.take_while(|(_, text)| is_closer(text) && depth(text) >= own);
    let (last, _) = closers.last()?;
    Some(format!(
        "{}the rows are indented less than line {line} and come directly after it, inside its block; line {last} of the file closes that block, if they were meant to come after it.",
        rows.note_prefix()
    ))
}
