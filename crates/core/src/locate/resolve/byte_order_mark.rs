//! Hunks that only remove the byte order mark of a file. The decoded text has no mark, so such a hunk changes nothing in
//! it; the mark is removed beside the text.

use super::{PlacedOp, ResolvedEdit, number};
use crate::error::Result;
use crate::locate::conflict;
use crate::locate::op::{Locator, Op};
use crate::text::change::{ChangeSet, Splice};
use crate::text::charset::Charset;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;

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
