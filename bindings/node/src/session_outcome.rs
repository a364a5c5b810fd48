//! Outcomes of calls that read and change files, as objects of JavaScript.

use emendate::{ChangeOutcome, EditPlacement, FileChangeOutcome, FileOutcomeKind, ReadOutcome, UndoOutcome};
use emendate_core::ChangedSpan;
use emendate_javascript::error_value;
use serde_json::{Value, json};
use std::path::Path;

/// Returns the text of a file, or of some of its lines.
pub(crate) fn placed(read: &ReadOutcome) -> Value {
    let (tag, is_complete) = (read.tag().to_string(), read.is_complete());
    json!({
        "path": shown(&read.path),
        "text": read.text,
        "start": read.lines.start,
        "end": read.lines.end.saturating_sub(1),
        "totalLines": read.total_lines,
        "tag": tag,
        "isComplete": is_complete,
        "notes": read.notes,
    })
}

/// Returns the outcome of a call that changes files, or of its dry run.
pub(crate) fn changed(done: &ChangeOutcome) -> Value {
    let (tier, places, diff) = (done.tier().name(), done.places(), done.diff());
    json!({
        "operation": done.operation.as_ref().map(ToString::to_string),
        "format": done.format,
        "files": done.files.iter().map(file).collect::<Vec<_>>(),
        "tier": tier,
        "places": places,
        "notes": done.notes,
        "rejected": done.rejected,
        "dryRun": done.dry_run,
        "diff": diff,
    })
}

/// Returns the outcome of an undo or a redo.
pub(crate) fn undone(done: &UndoOutcome) -> Value {
    let operations: Vec<String> = done.undone.iter().map(ToString::to_string).collect();
    json!({ "undone": operations, "change": changed(&done.change) })
}

fn file(file: &FileChangeOutcome) -> Value {
    let tag = file.tag().map(|tag| tag.to_string());
    let (kind, from) = match &file.kind {
        FileOutcomeKind::Created => ("created", None),
        FileOutcomeKind::Unchanged => ("unchanged", None),
        FileOutcomeKind::Deleted => ("deleted", None),
        FileOutcomeKind::Moved { from } => ("moved", Some(from)),
        FileOutcomeKind::Copied { from } => ("copied", Some(from)),
        FileOutcomeKind::Linked { target } => ("linked", Some(target)),
        _ => ("updated", None),
    };
    json!({
        "path": shown(&file.path),
        "kind": kind,
        "fromPath": from.map(|path| shown(path)),
        "tier": file.tier.name(),
        "edits": file.edits.iter().map(edit).collect::<Vec<_>>(),
        "byteSpans": file.spans.iter().map(span).collect::<Vec<_>>(),
        "added": file.added,
        "removed": file.removed,
        "merged": file.merged,
        "hasConflictMarkers": file.has_conflict_markers,
        "notes": file.notes,
        "failed": file.failed.iter().map(error_value).collect::<Vec<_>>(),
        "tag": tag,
        "diff": file.diff,
    })
}

fn edit(edit: &EditPlacement) -> Value {
    json!({ "edit": edit.edit, "tier": edit.tier.name(), "places": edit.places, "notes": edit.notes })
}

fn span(span: &ChangedSpan) -> Value {
    json!({
        "start": span.before.start,
        "end": span.before.end,
        "newStart": span.after.start,
        "newEnd": span.after.end,
    })
}

/// Formats a path. Names that are not UTF-8 cannot be expressed by a string of JavaScript.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
