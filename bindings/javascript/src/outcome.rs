//! Outcomes of the functions on text, as objects of JavaScript.

use crate::offsets::spans;
use emendate_core::{AppliedFiles, AppliedText, ChangedFile, FileChangeKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Returns the outcome of an edit of `before`.
pub(crate) fn applied(before: &str, applied: &AppliedText) -> Value {
    let spans = spans(before, &applied.text, &applied.spans);
    json!({
        "text": applied.text,
        "format": applied.format,
        "tier": applied.tier.name(),
        "notes": applied.notes,
        "spans": spans,
        "edits": applied.edits,
        "places": applied.places,
        "added": applied.added,
        "removed": applied.removed,
        "newPath": applied.new_path,
    })
}

/// Returns the outcome of a patch of files.
pub(crate) fn applied_files(before: &BTreeMap<String, String>, applied: AppliedFiles) -> Value {
    let files: Map<String, Value> = applied
        .files
        .into_iter()
        .map(|(path, file)| {
            let value = changed_file(before, &path, file);
            (path, value)
        })
        .collect();
    json!({ "format": applied.format, "files": files, "notes": applied.notes })
}

fn changed_file(files: &BTreeMap<String, String>, path: &str, file: ChangedFile) -> Value {
    let (kind, from) = match file.kind {
        FileChangeKind::Created => ("created", None),
        FileChangeKind::Deleted => ("deleted", None),
        FileChangeKind::Renamed { from } => ("renamed", Some(from)),
        FileChangeKind::Copied { from } => ("copied", Some(from)),
        _ => ("updated", None),
    };
    let before = match kind {
        "created" => "",
        _ => files.get(from.as_deref().unwrap_or(path)).map_or("", String::as_str),
    };
    let spans = spans(before, file.text.as_deref().unwrap_or_default(), &file.spans);
    json!({
        "kind": kind,
        "fromPath": from,
        "text": file.text,
        "tier": file.tier.name(),
        "notes": file.notes,
        "spans": spans,
        "edits": file.edits,
        "places": file.places,
        "added": file.added,
        "removed": file.removed,
        "executable": file.executable,
    })
}
