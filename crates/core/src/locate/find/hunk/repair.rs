//! Repair of hunks with a missing mark or a superfluous blank line. It is tried only if the hunk fits nowhere as it is.

use crate::locate::omission;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};
use std::collections::BTreeSet;

/// The note about lines between added ones.
pub(super) const UNMARKED_NOTE: &str = "Lines without a mark between added lines were read as added.";

/// Returns a hunk without line numbers in which blank lines between added lines are added as well; `None` if it has no
/// such lines.
pub(super) fn fill_blanks(hunk: &Hunk) -> Option<Hunk> {
    let mut out: Option<Hunk> = None;
    let mut first = None;
    for (at, line) in hunk.lines.iter().enumerate().filter(|_| hunk.first.is_none()) {
        if line.kind == HunkLineKind::Added {
            if let Some(first) = first.filter(|first| *first < at) {
                let lines = &mut out.get_or_insert_with(|| hunk.clone()).lines;
                lines[first..at].iter_mut().for_each(|line| line.kind = HunkLineKind::Added);
            }
            first = Some(at + 1);
        } else if !is_kept(line) || !line.text.is_empty() {
            first = None;
        }
    }
    out
}

/// Returns the lines of a hunk; those that a change removes and adds again, at its beginning or its end, are context.
pub(super) fn kept_as_context(hunk: &Hunk) -> Vec<HunkLine> {
    let mut out = Vec::with_capacity(hunk.lines.len());
    let mut rest = &*hunk.lines;
    while let Some(line) = rest.first() {
        let removed = rest.iter().take_while(|line| line.kind == HunkLineKind::Removed).count();
        let added = rest[removed..].iter().take_while(|line| line.kind == HunkLineKind::Added).count();
        if removed == 0 || added == 0 {
            out.push(line.clone());
            rest = &rest[1..];
            continue;
        }
        let (old, new) = rest[..removed + added].split_at(removed);
        let head = old.iter().zip(new).take_while(|(old, new)| old.text == new.text).count();
        let (old, new) = (&old[head..], &new[head..]);
        let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old.text == new.text).count();
        let context = |line: &HunkLine| HunkLine { kind: HunkLineKind::Context, text: line.text.clone() };
        out.extend(rest[..head].iter().map(context));
        out.extend(old[..old.len() - tail].iter().chain(&new[..new.len() - tail]).cloned());
        out.extend(old[old.len() - tail..].iter().map(context));
        rest = &rest[removed + added..];
    }
    out
}

/// Returns the repaired hunk and the notes about its repairs; `None` if it has none of the known mistakes. `occurs`
/// returns true if the file has a line, ignoring indentation.
pub(super) fn repair_hunk(hunk: &Hunk, occurs: impl Fn(&str) -> bool) -> Option<(Hunk, Vec<&'static str>)> {
    let mut out = hunk.clone();
    let mut notes = Vec::new();
    if mark_added(&mut out.lines, occurs) {
        notes.push(UNMARKED_NOTE);
    }
    if drop_blank(&mut out.lines) {
        notes.push("A blank last line that the hunk removes and adds is not in the file and was ignored.");
    }
    (!notes.is_empty()).then_some((out, notes))
}

/// The note about placeholders in the context.
pub(super) const PLACEHOLDER_NOTE: &str =
    "Placeholders in the context of the hunk were read as the lines that they stand for.";

/// Returns a hunk with `...` for each worded placeholder among its unchanged lines; `None` if it has none. `occurs`
/// returns true if the file has a line, ignoring indentation.
pub(super) fn elide_placeholders(hunk: &Hunk, occurs: impl Fn(&str) -> bool) -> Option<Hunk> {
    let mut out = None;
    for (at, line) in hunk.lines.iter().enumerate().filter(|(_, line)| is_kept(line)) {
        let is_phrase = !omission::is_elision(&line.text) && omission::is_placeholder(&line.text);
        if is_phrase && !occurs(line.text.trim()) {
            "...".clone_into(&mut out.get_or_insert_with(|| hunk.clone()).lines[at].text);
        }
    }
    out
}

/// Marks unmarked lines as added if added lines are on both sides of them and the file has no such lines. The parser
/// took the first space of an indented line for its mark; it is restored if that gives the indentation of an added
/// line.
fn mark_added(lines: &mut [HunkLine], occurs: impl Fn(&str) -> bool) -> bool {
    let depths: BTreeSet<usize> = lines.iter().filter(|line| is_added(line)).map(|line| indent(&line.text)).collect();
    let mut changed = false;
    let mut at = 0;
    while at < lines.len() {
        let end = at
            + lines[at..]
                .iter()
                .take_while(|line| matches!(line.kind, HunkLineKind::Bare | HunkLineKind::Context))
                .count();
        let is_between = end > at && at > 0 && is_added(&lines[at - 1]) && lines.get(end).is_some_and(is_added);
        if is_between {
            let repaired_hunk: Option<Vec<String>> =
                lines[at..end].iter().map(|line| intended_line(line, &depths, &occurs)).collect();
            if let Some(repaired_hunk) = repaired_hunk {
                for (line, text) in lines[at..end].iter_mut().zip(repaired_hunk) {
                    *line = HunkLine { kind: HunkLineKind::Added, text };
                }
                changed = true;
            }
        }
        at = end.max(at + 1);
    }
    changed
}

/// Returns the intended text of a line, if the file does not have it.
fn intended_line(line: &HunkLine, depths: &BTreeSet<usize>, occurs: impl Fn(&str) -> bool) -> Option<String> {
    let typed = if line.kind == HunkLineKind::Context { format!(" {}", line.text) } else { line.text.clone() };
    if line.text.trim().is_empty() {
        return Some(String::new());
    }
    let fits = depths.contains(&indent(&typed)) || line.kind == HunkLineKind::Bare;
    (fits && !occurs(line.text.trim())).then_some(typed)
}

fn is_added(line: &HunkLine) -> bool {
    line.kind == HunkLineKind::Added
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Drops a blank line at the end of both sides of the last change, if only blank context follows it.
fn drop_blank(lines: &mut Vec<HunkLine>) -> bool {
    let Some(last) = lines.iter().rposition(|line| !is_kept(line)) else { return false };
    if lines[last + 1..].iter().any(|line| !line.text.is_empty()) {
        return false;
    }
    let first = lines[..=last].iter().rposition(is_kept).map_or(0, |at| at + 1);
    let change = &lines[first..=last];
    let (Some(removed), Some(added)) =
        (blank_end(change, HunkLineKind::Removed), blank_end(change, HunkLineKind::Added))
    else {
        return false;
    };
    lines.remove(first + removed.max(added));
    lines.remove(first + removed.min(added));
    !lines.is_empty()
}

/// Returns the index of the last line of a kind, if it is blank.
fn blank_end(lines: &[HunkLine], kind: HunkLineKind) -> Option<usize> {
    let at = lines.iter().rposition(|line| line.kind == kind)?;
    lines[at].text.is_empty().then_some(at)
}

/// True for a line that the hunk keeps.
fn is_kept(line: &HunkLine) -> bool {
    matches!(line.kind, HunkLineKind::Context | HunkLineKind::Bare)
}
