//! Byte order marks in hunks. The decoded text of a file has no mark, so a hunk of the first lines is placed without its
//! own. One that only removes the mark changes nothing in the text; the mark is removed beside it.

use super::{PlacedOp, ResolvedEdit, number};
use crate::error::Result;
use crate::locate::conflict;
use crate::locate::op::{Hunk, HunkLineKind, Locator, Op};
use crate::text::change::{ChangeSet, Splice};
use crate::text::charset::Charset;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use std::borrow::Cow;

const MARK: char = '\u{FEFF}';

const KEPT_NOTE: &str = "The byte order mark that the hunk removes was ignored: the file keeps its own.";
const ABSENT_NOTE: &str = "The file has no byte order mark; that of the hunk was ignored.";
const PRESENT_NOTE: &str = "The file begins with a byte order mark; the one that the hunk adds was omitted.";

/// Returns the operations without the marks at the beginning of hunks, and what to report about them.
pub(super) fn without_marks<'o>(base: &Snapshot, ops: Cow<'o, [Op]>) -> (Cow<'o, [Op]>, Vec<&'static str>) {
    let (mut bare, mut notes) = (ops, Vec::new());
    for index in 0..bare.len() {
        let Locator::Hunk(hunk) = &bare[index].at else { continue };
        if let Some((hunk, note)) = without_mark(base, hunk) {
            bare.to_mut()[index] = hunk.into_op();
            notes.extend(note.filter(|note| !notes.contains(note)));
        }
    }
    (bare, notes)
}

/// Returns the hunk without its mark; `None` if it has none, only removes it, or adds it to a file without one.
fn without_mark(base: &Snapshot, hunk: &Hunk) -> Option<(Hunk, Option<&'static str>)> {
    let marked = |without: HunkLineKind| {
        let first = hunk.lines.iter().position(|line| line.kind != without)?;
        hunk.lines[first].text.starts_with(MARK).then_some(first)
    };
    let (old, new) = (marked(HunkLineKind::Added), marked(HunkLineKind::Removed));
    if old.or(new).is_none() || hunk.only_removes_mark() {
        return None;
    }
    // Files that were joined have marks in their text.
    if old.is_some_and(|at| base.text().contains(&*hunk.lines[at].text)) {
        return None;
    }
    let has_mark = base.codec().mark > 0;
    let note = match (old, new) {
        (Some(_), None) if has_mark => Some(KEPT_NOTE),
        (Some(_), _) if !has_mark => Some(ABSENT_NOTE),
        (None, _) if has_mark && is_of_first_lines(base, hunk) => Some(PRESENT_NOTE),
        (None, _) => return None,
        (Some(_), _) => None,
    };
    let mut hunk = hunk.clone();
    for at in [old, new].into_iter().flatten() {
        let text = &mut hunk.lines[at].text;
        *text = text.trim_start_matches(MARK).to_owned();
    }
    Some((hunk, note))
}

/// True for a hunk of the first line of the file.
fn is_of_first_lines(base: &Snapshot, hunk: &Hunk) -> bool {
    let old = hunk.lines.iter().find(|line| line.kind != HunkLineKind::Added);
    let is_first = |line: &str| base.text().lines().next().is_some_and(|first| first.trim() == line.trim());
    hunk.first.is_some_and(|first| first <= 1) || old.is_some_and(|line| is_first(&line.text))
}

/// Adds the removal of the mark to a resolved edit, if one of its operations asks for it.
///
/// Errors: `edit.overlap`.
pub(super) fn remove_as_asked(base: &Snapshot, ops: &[Op], resolved: &mut ResolvedEdit) -> Result<()> {
    let Some(removal) = removal(base, ops) else { return Ok(()) };
    let splices = resolved.changes.splices().iter().cloned().chain([removal]);
    resolved.changes = ChangeSet::new(base, splices).map_err(|overlaps| conflict::overlaps(ops, &overlaps))?;
    resolved.notes.push("The byte order mark of the file was removed.");
    Ok(())
}

/// Returns the number of places that an operation changes: none for a hunk of nothing but context, which is only looked
/// for.
pub(super) fn changed_places(op: &Op, placed: &PlacedOp) -> usize {
    match &op.at {
        Locator::Hunk(hunk) if placed.splices.is_empty() && !hunk.only_removes_mark() => 0,
        _ => placed.found.matches.len(),
    }
}

/// Returns the splice that removes the mark, if a hunk of the first lines asks for it and does nothing else. UTF-16 would
/// be undecodable without its mark.
pub(super) fn removal(base: &Snapshot, ops: &[Op]) -> Option<Splice> {
    let codec = base.codec();
    if codec.mark == 0 || codec.charset != Charset::Utf8 {
        return None;
    }
    let asks = |op: &Op| match &op.at {
        Locator::Hunk(hunk) => hunk.only_removes_mark() && base.text().starts_with(op.text.trim_end_matches('\n')),
        _ => false,
    };
    let op = ops.iter().position(asks)?;
    Some(Splice::new(Span::new(0, codec.mark), Vec::new(), number(op)))
}
