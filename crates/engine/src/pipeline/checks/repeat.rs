//! Repeated calls: a client that repeats a call after losing its answer must not apply it twice. Most edits match
//! nothing the second time, but an insertion that keeps its anchor, or an edit by line number, finds its place again.

use crate::context::Context;
use crate::context::history_stores::key;
use crate::context::last_changes::LastChange;
use crate::model::call_context::{CallContext, UnreadPolicy};
use crate::context::options::CallOptions;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use emendate_core::{Code, ContentId, Error, OpOutcome, Phrase, Result, Snapshot, Splice, advice};
use emendate_fs::SafePath;
use emendate_history::{OperationFilter, OperationId, Role};

/// Operations of the session that are searched for its last change of a file.
const EXAMINED_OPERATIONS_MAX: usize = 8;
/// Letters and digits from which an existing text is not a coincidence.
const DISTINCTIVE_ALNUM_MIN: usize = 4;

/// Refuses a call whose result is already in place, unless it declares the repetition intended: for everyone the
/// exact repetition of the caller's last change, for a model also an insertion next to the same text.
///
/// Errors: `edit.no_change`, and those of the session store.
pub(crate) fn check_not_repeated(
    context: &Context,
    caller: &CallContext,
    cause: CallOrigin<'_>,
    plans: &[FilePlan],
) -> Result<()> {
    let writing: Vec<&FilePlan> = plans.iter().filter(|plan| plan.writes()).collect();
    let edits = writing.iter().all(|plan| {
        matches!((&plan.current, &plan.target), (CurrentState::File(_), TargetState::File))
            && plan.source_file.is_none()
    });
    if cause.repeat || !cause.is_an_edit() || writing.is_empty() || !edits {
        return Ok(());
    }
    let mut same = None;
    for plan in &writing {
        let LastChange { edit, after } = last_change(context, caller, &plan.place)?;
        let left = matches!(&plan.current, CurrentState::File(now) if Some(now.snapshot.id()) == after);
        same = edit.filter(|(_, digest)| left && *digest == cause.digest).map(|(id, _)| id);
        if same.is_none() {
            break;
        }
    }
    if let Some(id) = same {
        return Err(with_paths(&writing, done_as(id)));
    }
    // A person who types another command that inserts the same text again means it.
    let is_model = caller.unread != UnreadPolicy::Allow;
    if is_model && writing.iter().all(|plan| is_in_place(plan)) {
        let what = "The result is in place already: the new text is around the matched text.";
        return Err(with_paths(&writing, done_already(what)));
    }
    Ok(())
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

/// Remembers the result of a session's call for a file.
pub(crate) fn remember_change(
    context: &Context,
    caller: &CallContext,
    cause: CallOrigin<'_>,
    id: OperationId,
    path: &[u8],
    after: Option<ContentId>,
) {
    let edit = cause.is_an_edit().then_some((id, cause.digest));
    context.last_changes().put(&caller.session, path, LastChange { edit, after });
}

/// Returns the session's last change of a file.
fn last_change(context: &Context, caller: &CallContext, place: &SafePath) -> Result<LastChange> {
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

/// Adds the paths that are written to an error.
fn with_paths(writing: &[&FilePlan], error: Error) -> Error {
    writing.iter().fold(error, |error, plan| error.evidence(plan.place.shown()))
}

/// Creates the error for a call that was done as this operation.
fn done_as(id: OperationId) -> Error {
    let what = format!("This call was done already, as operation {id}, and its result is in place.");
    done_already(&what).fact("operation", id.to_string())
}

fn done_already(what: &str) -> Error {
    Error::new(Code::EditNoChange, what)
        .next(
            advice![
                "Nothing is left to do. If it is meant once more, send the call with ",
                Phrase::Set("repeat", true.into()),
                ", or with old text that contains what is there already."
            ]
            .or("Nothing is left to do. To make the change once more, send old text that includes the text already there."),
        )
        .fact("already_applied", true)
}

/// True when every edit of a plan keeps the text that it matched, and the added text is already next to it.
fn is_in_place(plan: &FilePlan) -> bool {
    !plan.merged && !plan.ops.is_empty() && plan.ops.iter().all(|op| is_there(&plan.before, op))
}

fn is_there(before: &Snapshot, op: &OpOutcome) -> bool {
    let splices = op.changes.splices();
    !op.old.is_empty() && !splices.is_empty() && splices.iter().all(|splice| is_beside(before.raw(), splice, &op.old))
}

/// True when a splice inserts text that is already right before or after it, and that is not part of the matched text.
fn is_beside(raw: &[u8], splice: &Splice, old: &str) -> bool {
    let (text, at) = (&*splice.text, splice.span.start());
    let added = text.trim_ascii();
    let substance = added.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count();
    let there =
        raw.get(at..).is_some_and(|rest| rest.starts_with(text)) || raw.get(..at).is_some_and(|it| it.ends_with(text));
    splice.span.is_empty()
        && substance >= DISTINCTIVE_ALNUM_MIN
        && there
        && memchr::memmem::find(old.as_bytes(), added).is_none()
}
