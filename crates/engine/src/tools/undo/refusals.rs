//! Errors for operations that cannot be undone now, or only by another call.

use crate::tools::history::operation_list::{LastUndo, OperationStatus, one_line};
use emendate_core::{Advice, Code, Error, Phrase, advice};
use emendate_history::{HistoryGap, LogEntry};

/// Creates the error for an operation of another session.
pub(super) fn foreign(logged: &LogEntry) -> Error {
    Error::new(
        Code::CallInvalid,
        format!("Operation {} belongs to the session {}.", logged.id, logged.operation.session),
    )
    .next(
        Advice::named("If this is intended, repeat the call with {any_session=true}.")
            .or("Undo operations of this session only."),
    )
}

/// Creates the error for an operation that was undone already; its redo can be undone instead.
pub(super) fn already_reversed(logged: &LogEntry, last: LastUndo) -> Error {
    let verb = if logged.is_undo() == last.redone { "undone" } else { "redone" };
    let by = last.by;
    let (what, next) = if last.redone {
        (format!("Operation {} was {verb} by {by}.", logged.id), format!("To take it back again, undo operation {by}."))
    } else {
        (
            format!("Operation {} was {verb} already, by {by}.", logged.id),
            format!("To take that back, undo operation {by}."),
        )
    };
    Error::new(Code::EditNoChange, what).next(next)
}

/// Creates the error for a call that would change nothing. `about` names the file or the operations.
pub(crate) fn nothing_to_do(what: &str, about: impl AsRef<str>) -> Error {
    Error::new(Code::EditNoChange, what).evidence(about).next("Nothing is left to do.")
}

/// Creates the error for an operation that would have to finish first.
pub(super) fn still_running(logged: &LogEntry) -> Error {
    let by = logged.owner.map_or(String::new(), |owner| format!(", by process {owner}"));
    Error::new(Code::LockTimeout, format!("Operation {} is being done right now{by}.", logged.id))
        .next("Repeat the call when that process has answered.")
}

/// Creates the error for operations missing after the `nth` of the selected ones, which is `logged`.
pub(super) fn uncertain(gap: HistoryGap, logged: Option<&LogEntry>, nth: usize, times: usize, verb: &str) -> Error {
    let id = logged.map_or(String::new(), |logged| logged.id.to_string());
    let what = format!(
        "It is not certain which operation is to be {verb}: the history was damaged or could not be written, and {gap}."
    );
    let error = Error::new(Code::OperationUncertain, what);
    let error = logged
        .into_iter()
        .fold(error, |error, logged| error.evidence(one_line(logged, OperationStatus::default()).trim_end()));
    let named = advice![
        "Call ",
        Phrase::Tool("history"),
        format!(" and compare it with the files. If operation {id} is meant, repeat the call with "),
        Phrase::Set("id", id.into()),
        "."
    ];
    let fewer =
        Advice::named("Repeat the call with {last=}; the operations before those need their ids.").set("last", nth);
    if nth > 0 && times > 1 { error.next(fewer) } else { error.next(named) }
}
