//! Hunks whose added lines all begin with `++`: either the mark was doubled, or the lines themselves begin with a plus
//! sign.

use super::failure;
use crate::error::Result;
use crate::locate::doubled_plus;
use crate::locate::find::failure::nearest::line_likeness;
use crate::locate::find::search::SearchIndex;
use crate::locate::op::{Hunk, HunkLineKind};
use crate::text::fold::{indent_of, is_blank};
use memchr::memmem;
use std::cell::LazyCell;

/// The note about a removed mark.
pub(super) const DOUBLED_NOTE: &str = "Each added line of the hunk begins with `++`; one + was taken as the mark, and the other one was dropped, because the lines around them have none.";

/// Maximum number of lines of either side that are compared.
const COMPARED_LINES_MAX: usize = 20;
/// Likeness (0 to 1) from which an added line counts as the new form of a removed one.
const LIKENESS_MIN: f64 = 0.5;
/// Indentation after the sign that is too deep for a list item.
const DEEP_INDENT_MIN: usize = 2;

/// Returns each hunk with single marks if they were certainly doubled; `None` if the hunk means what it says.
///
/// Errors: the marks look doubled, and nothing proves that they are or are not.
pub(super) fn without_doubled_marks(index: &SearchIndex<'_>, hunks: &[&Hunk]) -> Vec<Result<Option<Hunk>>> {
    let text = index.base.text().as_bytes();
    let has_plus = LazyCell::new(|| text.starts_with(b"+") || memmem::find(text, b"\n+").is_some());
    hunks
        .iter()
        .map(|hunk| if !is_suspected(hunk) || keeps_sign(hunk) || *has_plus { Ok(None) } else { meaning(index, hunk) })
        .collect()
}

/// True when an old line of the hunk begins with a plus sign.
fn keeps_sign(hunk: &Hunk) -> bool {
    hunk.lines.iter().any(|line| line.kind != HunkLineKind::Added && line.text.starts_with('+'))
}

/// True when each added line begins with `++`.
fn is_suspected(hunk: &Hunk) -> bool {
    doubled_plus::is_suspected(texts(hunk, HunkLineKind::Added))
}

fn texts(hunk: &Hunk, kind: HunkLineKind) -> impl Iterator<Item = &str> + Clone {
    hunk.lines.iter().filter(move |line| line.kind == kind).map(|line| &*line.text)
}

/// Returns the added lines with text, without the second sign.
fn unmarked(hunk: &Hunk) -> impl Iterator<Item = &str> + Clone {
    texts(hunk, HunkLineKind::Added).map(|line| &line[1..]).filter(|line| !is_blank(line)).take(COMPARED_LINES_MAX)
}

/// True if an added line is indented like an old line, and deeper than the text of a list item.
fn has_depth(hunk: &Hunk) -> bool {
    let old = hunk.lines.iter().filter(|line| line.kind != HunkLineKind::Added && !is_blank(&line.text));
    let old: Vec<&str> = old.take(COMPARED_LINES_MAX).map(|line| indent_of(&line.text)).collect();
    let is_deep = |indent: &str| indent.len() >= DEEP_INDENT_MIN || indent.starts_with('\t');
    unmarked(hunk).map(indent_of).any(|indent| is_deep(indent) && old.contains(&indent))
}

/// True when an added line resembles a removed one.
fn has_counterpart(hunk: &Hunk) -> bool {
    let is_plain = |new: &&str| !new.starts_with(|ch: char| ch.is_whitespace() || ch.is_ascii_digit() || ch == '.');
    let removed = || texts(hunk, HunkLineKind::Removed).filter(|line| !is_blank(line)).take(COMPARED_LINES_MAX);
    unmarked(hunk).filter(is_plain).any(|new| removed().any(|old| line_likeness(old, new) >= LIKENESS_MIN))
}

/// True if a removed line begins with a minus sign that is no bullet of a list.
fn begins_with_sign(line: &str) -> bool {
    line.strip_prefix('-').is_some_and(|rest| !rest.starts_with([' ', '\t']))
}

/// True if an added line may increment a variable, as `++count;` does: the second sign may be its first half.
fn has_increment(hunk: &Hunk) -> bool {
    let is_part = |ch: char| ch.is_alphanumeric() || "_.[]->*".contains(ch);
    unmarked(hunk).any(|new| new.trim_end().trim_end_matches([';', ',', ')']).chars().all(is_part))
}

fn meaning(index: &SearchIndex<'_>, hunk: &Hunk) -> Result<Option<Hunk>> {
    let mut removed = texts(hunk, HunkLineKind::Removed).filter(|line| !is_blank(line)).take(COMPARED_LINES_MAX);
    let is_minus_doubled = has_doubled_minus(index, hunk);
    // A sign is part of the text if it is the only change of a removed line, or if a removed line has one as well.
    if !is_minus_doubled && removed.any(|old| begins_with_sign(old) || unmarked(hunk).any(|new| new == old)) {
        return Ok(None);
    }
    let is_proven = is_minus_doubled || !has_increment(hunk) && (has_depth(hunk) || has_counterpart(hunk));
    if !is_proven {
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

/// True if the removed lines begin with `--`, and the first of them is in the file without a sign.
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
