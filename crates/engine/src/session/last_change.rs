//! The session's last change of a file, by which a repeated call is recognised.

use crate::context::Context;
use crate::context::history_stores::key;
use crate::context::last_changes::LastChange;
use crate::context::options::CallOptions;
use crate::model::call_context::CallContext;
use crate::model::call_origin::CallOrigin;
use emendate_core::ErrorContext;
use emendate_core::{Code, Error, Phrase, Result, advice};
use emendate_fs::SafePath;
use emendate_history::{OperationFilter, OperationId, Role};

/// Operations of the session that are searched for its last change of a file.
const EXAMINED_OPERATIONS_MAX: usize = 8;

/// Returns the session's last change of a file.
///
/// Errors: those of the session store.
pub(crate) fn last_change(context: &Context, caller: &CallContext, place: &SafePath) -> Result<LastChange> {
    let path = key(place);
    if let Some(known) = context.last_changes().get(&caller.session, path) {
        return Ok(known);
    }
    let filter = OperationFilter {
        session: Some(&caller.session),
        limit: EXAMINED_OPERATIONS_MAX,
        ..OperationFilter::default()
    };
    let latest = context.history(place.root()).operations(&filter)?;
    let found = latest.iter().find_map(|logged| {
        let file = logged.operation.files.iter().find(|file| file.path == path)?;
        let is_edit = logged.operation.role == Role::Edit && logged.undone_by.is_none();
        let edit = is_edit.then_some((logged.id, logged.operation.digest));
        Some(LastChange { edit, after: file.after.map(|side| side.content) })
    });
    let found = found.unwrap_or(LastChange { edit: None, after: None });
    context.last_changes().put(&caller.session, path, found);
    Ok(found)
}

/// Operations of the session on a file that are searched for an earlier call.
const EARLIER_CALLS_MAX: usize = 64;

/// Returns the session's operation that the same call made on a file before, unless it was undone.
///
/// Errors: those of the session store.
pub(crate) fn earlier_call(
    context: &Context,
    caller: &CallContext,
    cause: CallOrigin<'_>,
    place: &SafePath,
) -> Result<Option<OperationId>> {
    let filter = OperationFilter {
        session: Some(&caller.session),
        path: Some(key(place)),
        limit: EARLIER_CALLS_MAX,
        ..OperationFilter::default()
    };
    let made = context.history(place.root()).operations(&filter)?;
    let same = made.iter().find(|logged| {
        let operation = &logged.operation;
        operation.role == Role::Edit && logged.undone_by.is_none() && operation.digest == cause.digest
    });
    Ok(same.map(|logged| logged.id))
}

/// Returns the error for a call that finds no place, or several, because it was done already: the file is as the
/// caller's last change left it, and that change was the same call. `None` for any other call.
pub(crate) fn done_before(
    context: &Context,
    caller: &CallContext,
    options: &CallOptions,
    place: &SafePath,
    error: &Error,
) -> Option<Error> {
    let cause = options.cause;
    let finds_none = matches!(error.code(), Code::MatchNotFound | Code::MatchAmbiguous | Code::MatchCount);
    if !finds_none || cause.repeat || !cause.is_an_edit() {
        return None;
    }
    // This only words a refusal: without the history, the error remains as it is.
    let LastChange { edit, after } = last_change(context, caller, place).ok()?;
    let (id, _) = edit.filter(|(_, digest)| *digest == cause.digest)?;
    let now = context.load_file(place, options.declared).ok()??;
    (after == Some(now.snapshot.id())).then(|| done_as(id).evidence(place.shown()))
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
            advice![
                "Nothing is left to do. To repeat it, send the call with ",
                Phrase::Set("repeat", true.into()),
                ", or with old text that includes the text already there."
            ]
            .or("Nothing is left to do. To make the change once more, send old text that includes the text already there."),
        )
        .about(ErrorContext::AlreadyApplied)
}
