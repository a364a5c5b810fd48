//! Hunks whose added lines all begin with `++`: the mark was doubled, or the lines begin with a plus sign.

use super::failure;
use crate::error::Result;
use crate::locate::doubled_plus;
use crate::locate::find::failure::nearest::line_likeness;
use crate::locate::find::search::SearchIndex;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};
use crate::text::fold::{indent_of, is_blank};
use memchr::memmem;
use std::cell::LazyCell;

/// The repair of a doubled mark.
pub(super) const DOUBLED_NOTE: &str = "Each added line of the hunk begins with `++`; one + was taken as the mark, and the other one was dropped, because the lines around them have none.";

/// Lines of either side that are compared.
const COMPARED_LINES_MAX: usize = 20;
/// Likeness from which an added line is a removed one after its change.
const LIKENESS_MIN: f64 = 0.5;
/// Indentation that a list does not have behind its sign.
const DEEP_INDENT_MIN: usize = 2;

/// Returns the hunks with one mark where it was doubled beyond doubt; `None` where a hunk is as it is meant.
///
/// Errors: a doubled mark that nothing proves.
pub(super) fn without_doubled_marks(index: &SearchIndex<'_>, hunks: &[&Hunk]) -> Vec<Result<Option<Hunk>>> {
    let text = index.base.text().as_bytes();
    let has_plus = LazyCell::new(|| text.starts_with(b"+") || memmem::find(text, b"\n+").is_some());
    let meant = |hunk: &&Hunk| {
        let kept = |line: &HunkLine| line.kind != HunkLineKind::Added && line.text.starts_with('+');
        if !is_suspected(hunk) || hunk.lines.iter().any(kept) || *has_plus {
            return Ok(None);
        }
        meaning(index, hunk)
    };
    hunks.iter().map(meant).collect()
}

/// True when each added line begins with `++`.
fn is_suspected(hunk: &Hunk) -> bool {
    doubled_plus::is_suspected(texts(hunk, HunkLineKind::Added))
}

fn texts(hunk: &Hunk, kind: HunkLineKind) -> impl Iterator<Item = &str> + Clone {
    hunk.lines.iter().filter(move |line| line.kind == kind).map(|line| &*line.text)
}

fn meaning(index: &SearchIndex<'_>, hunk: &Hunk) -> Result<Option<Hunk>> {
    let added = || texts(hunk, HunkLineKind::Added).map(|line| &line[1..]).filter(|line| !is_blank(line));
    let removed = || texts(hunk, HunkLineKind::Removed).filter(|line| !is_blank(line));
    let is_minus_doubled = has_doubled_minus(index, hunk);
    // A removed line that only gets the sign: that is the change.
    if !is_minus_doubled && removed().take(COMPARED_LINES_MAX).any(|old| added().any(|new| new == old)) {
        return Ok(None);
    }
    let old = || hunk.lines.iter().filter(|line| line.kind != HunkLineKind::Added && !is_blank(&line.text));
    let is_deep = |line: &str| indent_of(line).len() >= DEEP_INDENT_MIN || line.starts_with('\t');
    let has_depth = added()
        .take(COMPARED_LINES_MAX)
        .any(|new| is_deep(new) && old().take(COMPARED_LINES_MAX).any(|old| indent_of(&old.text) == indent_of(new)));
    let has_counterpart = added().take(COMPARED_LINES_MAX).any(|new| {
        let is_plain = !new.starts_with(|ch: char| ch.is_whitespace() || ch.is_ascii_digit() || ch == '.');
        is_plain && removed().take(COMPARED_LINES_MAX).any(|old| line_likeness(old, new) >= LIKENESS_MIN)
    });
    if !(is_minus_doubled || has_depth || has_counterpart) {
        return Err(failure::doubled_marks(hunk));
    }
    let mut out = hunk.clone();
    for line in &mut out.lines {
        if line.kind == HunkLineKind::Added || line.kind == HunkLineKind::Removed && is_minus_doubled {
            line.text.remove(0);
        }
    }
    Ok(Some(out))
}

/// True when the removed lines begin with `--` and the file has the first of them with no sign of its own.
fn has_doubled_minus(index: &SearchIndex<'_>, hunk: &Hunk) -> bool {
    let mut removed = texts(hunk, HunkLineKind::Removed);
    let Some(first) = removed.clone().find(|line| !is_blank(line.trim_start_matches('-'))) else { return false };
    let has_line = |text: &str| {
        let file = index.base.text().as_bytes();
        memmem::find_iter(file, text.as_bytes()).any(|at| {
            (at == 0 || file[at - 1] == b'\n') && matches!(file.get(at + text.len()), None | Some(b'\n' | b'\r'))
        })
    };
    removed.all(|line| line.starts_with('-')) && !has_line(first) && has_line(&first[1..])
}
