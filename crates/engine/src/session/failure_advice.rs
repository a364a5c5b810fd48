//! Additions to the error of an edit that found no place: the file among those already read that contains the text;
//! and, if a call fails in the same way a second time, a short answer that says what to read.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::context::policy::Access;
use crate::model::raw_path;
use emendate_core::{Advice, Code, Error, ErrorContext, Locator, Op, Phrase, Snapshot, advice};
use emendate_fs::{SafePath, shown};
use serde_json::{Value, json};
use std::path::Path;

/// Other files that are searched, and bytes of the largest one.
const SEARCHED_FILES_MAX: usize = 100;
const SEARCHED_FILE_BYTES_MAX: u64 = 4 << 20;
/// Failed edits of a call that are searched for elsewhere, and places that are reported.
const EXPLAINED_EDITS_MAX: usize = 5;
const REPORTED_PLACES_MAX: usize = 3;
/// Letters and digits of a text that identify it in another file.
const IDENTIFYING_CHARS_MIN: usize = 8;

/// Adds further information to the error of an edit.
pub(crate) fn with_advice(call: Call<'_>, path: &SafePath, ops: &[Op], error: Error) -> Error {
    if !matches!(error.code(), Code::MatchNotFound | Code::MatchAmbiguous | Code::MatchCount) {
        return error;
    }
    let error = elsewhere(call, path, ops, error);
    if is_repeat(call, path, error.to_string()) { shortened(path, &error) } else { error }
}

/// True if the last failure of the session on this path had the same message. Remembers this one.
pub(crate) fn is_repeat(call: Call<'_>, path: &SafePath, message: String) -> bool {
    let key = (call.caller.session.clone(), call.caller.dry_run, path.absolute().to_owned());
    call.memory.failures.put(key, message.clone()) == Some(message)
}

fn elsewhere(call: Call<'_>, safe_path: &SafePath, ops: &[Op], error: Error) -> Error {
    let wanted = missing(ops, &error);
    if wanted.is_empty() {
        return error;
    }
    // This is only advice: if it is not available, the error remains as it is.
    let known = call.sessions(safe_path).paths(&call.caller.session).unwrap_or_default();
    let others = known.iter().map(|path| log_path(path)).filter(|path| *path != safe_path.absolute());
    let mut found: Vec<(String, usize)> = Vec::new();
    for path in others.take(SEARCHED_FILES_MAX) {
        let Some(text) = read_other_file(&call, path) else { continue };
        let hit = wanted.iter().find_map(|old| Some((old, text.text().find(&**old)?)));
        if let Some((_, at)) = hit {
            found.push((shown(path), text.lines().line_of(text.text(), at)));
        }
        if found.len() == REPORTED_PLACES_MAX {
            break;
        }
    }
    if found.is_empty() {
        return error;
    }
    let list: Vec<String> = found.iter().map(|(path, line)| format!("{path}, line {line}")).collect();
    let facts: Vec<Value> = found.iter().map(|(path, line)| json!({ "path": path, "line": line })).collect();
    error
        .evidence(format!("The text is in another file that was read: {}.", list.join("; ")))
        .fact("other_files", facts)
}

/// Reads another file, if that is allowed and it is small enough.
pub(crate) fn read_other_file(context: &Context, path: &Path) -> Option<Snapshot> {
    let safe_path = context.store().resolve_path(path).ok()?;
    context.check_access(&safe_path, Access::Read).ok()?;
    let version = context.store().read(&safe_path, SEARCHED_FILE_BYTES_MAX, Vec::new()).ok()??;
    context.decode(&safe_path, version.bytes, None, "").ok()
}

/// Returns the texts that were not found and are long enough to be recognized elsewhere.
fn missing(ops: &[Op], error: &Error) -> Vec<String> {
    if let [only] = ops {
        return if error.code() == Code::MatchNotFound { sought_text(only).into_iter().collect() } else { Vec::new() };
    }
    let lost = error.failures().iter().filter(|it| it.code() == Code::MatchNotFound);
    lost.filter_map(Error::op_index)
        .filter_map(|op| ops.get(op))
        .filter_map(sought_text)
        .take(EXPLAINED_EDITS_MAX)
        .collect()
}

/// Returns the text that an operation seeks, if it is long enough to be recognized elsewhere.
fn sought_text(op: &Op) -> Option<String> {
    let old = match &op.at {
        Locator::Find(find) => find.old.clone(),
        Locator::Hunk(hunk) => hunk.old_text(),
        _ => return None,
    };
    let letters = old.chars().filter(|ch| ch.is_alphanumeric()).take(IDENTIFYING_CHARS_MIN).count();
    (letters == IDENTIFYING_CHARS_MIN).then_some(old)
}

fn shortened(path: &SafePath, error: &Error) -> Error {
    // Reading an empty file again does not help.
    if error.is_about(&ErrorContext::EmptyFile) {
        return error.clone();
    }
    let short = Error::new(error.code(), error.message())
        .evidence("The same call failed in the same way before, and the file has not changed.");
    let next = match error.nearest_lines() {
        Some((from, to)) => {
            let lines = json!({ "offset": from.saturating_sub(3).max(1), "limit": to + 7 - from });
            read_and_copy(path, &lines, Phrase::Field("old_string"))
                .or(read_and_copy(path, &lines, "the text".into()))
                .or(format!("Copy lines {from}-{to} of the file as they are now; do not send this call again."))
        }
        None if error.code() == Code::MatchNotFound => {
            advice!["Call ", raw_path::read(path, Value::Null), " and look for the place; do not send this call again."]
                .or("Look for the place in the file as it is now; do not send this call again.")
        }
        None => error.advice(),
    };
    short.with_facts_of(error).fact("repeated", true).next(next)
}

/// Returns the advice to read some lines and to copy them.
fn read_and_copy(path: &SafePath, lines: &Value, copied: Phrase) -> Advice {
    let call = raw_path::read(path, lines.clone());
    advice!["Call ", call, " and copy ", copied, " from the reply; do not send this call again."]
}
