//! Printer of edits by anchors, as JSON. The anchors are those that a text gets when it is seen for the first time.

use super::{FileDelta, unsaid};
use crate::error::Result;
use crate::locate::anchor_map::{self, AnchorMap, AnchorPage};
use crate::locate::op::Op;
use crate::note::Notes;
use crate::text::change::ChangeSet;
use crate::text::explain::{self, DiffHunk, LineKind};
use crate::text::snapshot::Snapshot;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Prints the changes. Anchors identify lines exactly, so ranges cover only the changed lines, unless the parser does
/// not find the place then.
pub(super) fn print(deltas: &[FileDelta<'_>], context: usize) -> Result<String> {
    let context = if context == super::CONTEXT_LINES[0] { 0 } else { context };
    let mut files = Vec::with_capacity(deltas.len());
    for delta in deltas {
        let (Some(before), Some(after), true) = (delta.before, delta.after, delta.old_path() == delta.path) else {
            return Err(unsaid(
                delta.path,
                "edits by words change lines of a file, they do not create, move or remove it",
            ));
        };
        if delta.new_mode().is_some() {
            return Err(unsaid(delta.path, "edits by words do not set permissions"));
        }
        let words =
            AnchorMap::new(before.text()).ok_or_else(|| unsaid(delta.path, "its lines are too many for words"))?;
        let lines: Vec<&str> = before.text().split_terminator('\n').collect();
        let hunks = explain::hunks(before, &ChangeSet::diff(before, after), context);
        let edits: Option<Vec<Value>> = hunks
            .iter()
            .map(|hunk| edit(hunk, |line| Some(format!("{}:{}", words.words().get(line - 1)?, lines.get(line - 1)?))))
            .collect();
        let edits = edits.ok_or_else(|| unsaid(delta.path, "it has no line whose word could be named"))?;
        files.push(json!({ "path": delta.path, "edits": edits }));
    }
    let value = if files.len() == 1 { files.swap_remove(0) } else { json!({ "files": files }) };
    // JSON of texts and lists can always be serialized.
    Ok(format!("{value:#}\n"))
}

/// Returns one change as JSON; `None` if no line can be named.
fn edit(hunk: &DiffHunk, anchor: impl Fn(usize) -> Option<String>) -> Option<Value> {
    let (from, to) = (hunk.old_start, hunk.old_start + hunk.old_lines.saturating_sub(1));
    let (first, kind) = match (hunk.old_lines, hunk.new_lines) {
        (0, _) if from == 0 => (1, "insert_before"),
        (0, _) => (from, "insert_after"),
        (_, 0) => (from, "delete"),
        _ => (from, "replace"),
    };
    let mut out = Map::new();
    out.insert("anchor".to_owned(), anchor(first)?.into());
    if hunk.old_lines > 1 {
        out.insert("end_anchor".to_owned(), anchor(to)?.into());
    }
    out.insert("edit_type".to_owned(), kind.into());
    if kind != "delete" {
        let rows = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed);
        out.insert("text".to_owned(), rows.map(|line| format!("{}\n", line.text)).collect::<String>().into());
    }
    Some(Value::Object(out))
}

/// Converts edits by anchors of a text seen for the first time to line numbers; returns other edits unchanged.
pub(crate) fn by_number<'a>(before: &Snapshot, ops: &'a [Op]) -> Result<Cow<'a, [Op]>> {
    if !anchor_map::are_anchor_edits(ops) {
        return Ok(Cow::Borrowed(ops));
    }
    let words = AnchorMap::new(before.text()).ok_or_else(|| unsaid("it", "its lines are too many for words"))?;
    let page = AnchorPage::new(before, words.words());
    let mut notes = Notes::new();
    let placed = ops.iter().map(|op| page.to_line_edit(&*page.without_copied_words(op, &mut notes)?, |_| false));
    placed.collect::<Result<Vec<Op>, _>>().map(Cow::Owned).map_err(|it| it.error)
}
