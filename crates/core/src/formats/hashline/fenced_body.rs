//! A Markdown fence around the rows of one operation.

use super::body::{BodyRow, RowKind};
use super::fence_line::FenceLine;
use super::stray;
use crate::error::Result;
use crate::formats::whole_text;

/// Removes the fence around the rows of a body; true if there was one. Every row of a body with a `+` has it, so that a
/// fence without it is not part of the file.
///
/// Errors: a fence around rows without `+`, unless the file is a text that has fences itself.
pub(super) fn drop_fence(path: &str, rows: &mut Vec<BodyRow>) -> Result<bool> {
    let [first, inner @ .., last] = &rows[..] else { return Ok(false) };
    let fence = |row: &BodyRow| FenceLine::of(&row.text, row.at).filter(|_| row.sort == RowKind::Bare);
    let is_fenced = fence(first).zip(fence(last)).is_some_and(|(open, end)| end.closes(&open));
    if !is_fenced || inner.is_empty() {
        return Ok(false);
    }
    if inner.iter().any(|row| row.sort == RowKind::Bare) {
        let has_fences = whole_text::is_prose(path.rsplit_once('.').map(|(_, extension)| extension));
        return if has_fences { Ok(false) } else { Err(stray::fence(&first.text, first.at)) };
    }
    rows.pop();
    rows.remove(0);
    Ok(true)
}
