//! The edits of a call in its reply: their texts, and the patches of their own.

use crate::pipeline::plan::file_plan::FilePlan;
use emendate_core::{OpOutcome, Tier, explain};
use serde_json::{Map, Value, json};

/// Operations whose own diffs a reply lists.
const OPERATION_DIFFS_MAX: usize = 100;
/// Bytes of the lines compared for these diffs.
const COMPARED_LINE_BYTES_MAX: usize = 4 << 20;

/// Adds the texts of the call: those of its only edit, even if a person corrected it, or those of each of several
/// edits. Returns the number of edits with whole patches of their own, and the number of edits that could have one.
pub(super) fn texts_of_ops(
    plan: &FilePlan,
    replace_all: bool,
    room: usize,
    data: &mut Map<String, Value>,
) -> (usize, usize) {
    match (&*plan.outcome.ops, &*plan.outcome.corrected) {
        ([], [op]) => put_texts(data, op, replace_all),
        ([], _) => {}
        ([op], _) if plan.outcome.failed.is_empty() => {
            put_texts(data, op, replace_all);
            put(data, "tier", op.tier.number().into());
        }
        _ => {
            let (edits, own_patches) = per_edit(plan, room);
            put(data, "edits", edits);
            return own_patches;
        }
    }
    (0, 0)
}

/// Adds the texts of an edit.
fn put_texts(data: &mut Map<String, Value>, op: &OpOutcome, replace_all: bool) {
    put(data, "oldString", op.old.clone().into());
    put(data, "newString", op.new.clone().into());
    put(data, "replaceAll", replace_all.into());
}

/// Adds a field to a reply.
pub(super) fn put(data: &mut Map<String, Value>, key: &str, value: Value) {
    data.insert(key.to_owned(), value);
}

/// Converts each edit with its own summary to JSON; the first ones with their own diffs, which take at most about
/// `room` bytes together. The numbers are those of [`texts_of_ops`].
fn per_edit(plan: &FilePlan, mut room: usize) -> (Value, (usize, usize)) {
    let (mut compared_bytes, mut whole, mut able) = (0, 0, 0);
    let mut edits = Vec::with_capacity(plan.outcome.ops.len());
    for (nth, op) in plan.outcome.ops.iter().enumerate() {
        let mut out = json!({
            "index": op.op,
            "oldString": op.old,
            "newString": op.new,
            "replacements": op.places,
            "tier": op.tier.number(),
            "summary": summary(op),
        });
        // Edits in turn were made on texts that no longer exist; their changes are part of the total.
        let fits = op.changes.base() == plan.before.id();
        able += usize::from(fits);
        if fits && nth < OPERATION_DIFFS_MAX && room > 0 && compared_bytes < COMPARED_LINE_BYTES_MAX {
            let hunks = explain::reply_hunks(&plan.before, &op.changes, 1, room);
            for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
                room = room.saturating_sub(line.text.len());
                compared_bytes += line.text.len() + line.window.before + line.window.after;
            }
            let (held, all) = explain::held_lines(&hunks);
            whole += usize::from(held == all);
            out["structuredPatch"] = explain::structured(&hunks);
        }
        edits.push(out);
    }
    (Value::Array(edits), (whole, able))
}

fn summary(op: &OpOutcome) -> String {
    let tier = if op.tier == Tier::Exact { String::new() } else { format!(" ({})", op.tier.name()) };
    match (op.places, op.new.is_empty()) {
        (places, true) => format!("deleted {places}×: {}{tier}", first_words(&op.old)),
        (places, false) => format!("replaced {places}×: {} → {}{tier}", first_words(&op.old), first_words(&op.new)),
    }
}

/// Returns the beginning of a text.
fn first_words(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(40).collect();
    if short.len() < text.trim().len() { format!("{short}…") } else { short }
}
