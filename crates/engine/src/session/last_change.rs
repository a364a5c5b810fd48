//! The session's last change of a file, by which a repeated call is recognised.

use crate::context::call::Call;
use crate::context::history_stores::key;
use crate::context::memory::LastChange;
use crate::context::options::CallOptions;
use crate::model::call_origin::CallOrigin;
use emendate_core::{Advice, Code, Error, ErrorContext, Result};
use emendate_fs::SafePath;
use emendate_history::{FileChange, LogEntry, OperationFilter, OperationId, Role};
use emendate_os::ffi::OsStringExt as _;
use std::ffi::OsString;
use std::path::PathBuf;

/// Operations of the session that are searched for its last change of a file.
const EXAMINED_OPERATIONS_MAX: usize = 8;

/// Returns the session's last change of a file.
///
/// Errors: those of the session store.
pub(crate) fn last_change(call: Call<'_>, safe_path: &SafePath) -> Result<LastChange> {
    let path = key(safe_path);
    let cache_key = (call.caller.session.clone(), path.to_vec());
    if let Some(known) = call.memory.last_changes.get(&cache_key) {
        return Ok(known);
    }
    let session = Some(&*call.caller.session);
    let filter = OperationFilter { session, ..OperationFilter::newest(EXAMINED_OPERATIONS_MAX) };
    let latest = call.history(safe_path.root()).operations(&filter)?;
    let found = latest.iter().find_map(|logged| {
        let file = logged.operation.file(path)?;
        let is_edit = logged.operation.role == Role::Edit && logged.undone_by.is_none();
        let edit = is_edit.then_some((logged.id, logged.operation.digest));
        Some(LastChange { edit, after: file.after.map(|side| side.content) })
    });
    let found = found.unwrap_or(LastChange { edit: None, after: None });
    call.memory.last_changes.put(cache_key, found);
    Ok(found)
}

/// Operations of the session on a file that are searched for an earlier call.
const EARLIER_CALLS_MAX: usize = 64;

/// Returns the session's operation that the same call made on a file before, unless it was undone.
///
/// Errors: those of the session store.
pub(crate) fn earlier_call(call: Call<'_>, origin: CallOrigin<'_>, safe_path: &SafePath) -> Result<Option<LogEntry>> {
    let (session, path) = (Some(&*call.caller.session), Some(key(safe_path)));
    let filter = OperationFilter { session, path, ..OperationFilter::newest(EARLIER_CALLS_MAX) };
    let made = call.history(safe_path.root()).operations(&filter)?;
    Ok(made.into_iter().find(|logged| {
        let operation = &logged.operation;
        operation.role == Role::Edit && logged.undone_by.is_none() && operation.digest == origin.digest
    }))
}

/// Returns the error for a call that deletes or moves a missing file because the same call did so before, and all its
/// files are as it left them. `None` for any other call.
pub(crate) fn removed_before(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    safe_path: &SafePath,
    error: &Error,
) -> Option<Error> {
    if error.code() != Code::FileMissing || origin.repeat || !origin.is_an_edit() {
        return None;
    }
    // This only words a refusal: without the history, the file is just missing.
    let logged = earlier_call(call, origin, safe_path).ok()??;
    let as_left = |file: &FileChange| {
        let path = PathBuf::from(OsString::from_vec(file.path.clone()));
        let now = call.store().resolve_path(&path).and_then(|safe_path| call.load_file(&safe_path, None));
        now.is_ok_and(|now| now.map(|now| now.snapshot.id()) == file.after.as_ref().map(|side| side.content))
    };
    logged.operation.files.iter().all(as_left).then(|| done_as(logged.id).evidence(safe_path.shown()))
}

/// Returns the error for a call that finds no place, or several, because it was done already: the file is as the
/// caller's last change left it, and that change was the same call. `None` for any other call.
pub(crate) fn done_before(call: Call<'_>, options: &CallOptions, path: &SafePath, error: &Error) -> Option<Error> {
    let origin = options.origin;
    let finds_none = matches!(error.code(), Code::MatchNotFound | Code::MatchAmbiguous | Code::MatchCount);
    if !finds_none || origin.repeat || !origin.is_an_edit() {
        return None;
    }
    // This only words a refusal: without the history, the error remains as it is.
    let LastChange { edit, after } = last_change(call, path).ok()?;
    let (id, _) = edit.filter(|(_, digest)| *digest == origin.digest)?;
    let now = call.load_file(path, options.declared).ok()??;
    (after == Some(now.snapshot.id())).then(|| done_as(id).evidence(path.shown()))
}

/// Creates the error for a call that was done as this operation.
pub(crate) fn done_as(id: OperationId) -> Error {
    let what = format!("This call was already carried out, as operation {id}, and its result is in place.");
    done_already(&what).fact("operation", id.to_string())
}

/// Creates the error for a call whose result is in place.
pub(crate) fn done_already(what: &str) -> Error {
    Error::new(Code::EditNoChange, what)
        .next(
            Advice::named(
                "Nothing is left to do. To repeat it, send the call with {repeat=true}, or base it on the file as \
                 it is now: its new lines, line numbers or cells.",
            )
            .or(Advice::named(
                "Nothing is left to do. To make the change once more, send {old_string} that includes the text \
                 already there.",
            ))
            .or("Nothing is left to do. To make the change once more, base it on the file as it is now: its new lines, line numbers or cells."),
        )
        .about(ErrorContext::AlreadyApplied)
}
