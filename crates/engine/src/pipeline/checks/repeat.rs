//! Repeated calls: a client that repeats a call after losing its answer must not apply it twice. Most edits match
//! nothing the second time, but an insertion that keeps its anchor, or an edit by line number, finds its place again.

use crate::context::call::Call;
use crate::context::memory::LastChange;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::session::last_change::{done_already, done_as, earlier_call, last_change};
use emendate_core::{ContentId, Error, OpOutcome, Result, Splice};
use emendate_history::OperationId;

/// Letters and digits from which an existing text is not a coincidence.
const DISTINCTIVE_ALNUM_MIN: usize = 4;

/// Refuses a call whose result is already in place, unless it declares the repetition intended: an exact repetition of
/// the caller's last change, or of an earlier one whose new text is still there; for a model also an insertion next to
/// the same text.
///
/// Errors: `edit.no_change`, and those of the session store.
pub(crate) fn check_not_repeated(call: Call<'_>, origin: CallOrigin<'_>, plans: &[FilePlan]) -> Result<()> {
    let writing: Vec<&FilePlan> = plans.iter().filter(|plan| plan.writes()).collect();
    let edits = writing.iter().all(|plan| {
        matches!((&plan.current, &plan.target), (CurrentState::File(_), TargetState::File))
            && plan.source_file.is_none()
    });
    if origin.repeat || !origin.is_an_edit() || writing.is_empty() || !edits {
        return Ok(());
    }
    let mut same = None;
    for plan in &writing {
        let LastChange { edit, after } = last_change(call, &plan.path)?;
        let left = matches!(&plan.current, CurrentState::File(now) if Some(now.snapshot.id()) == after);
        same = edit.filter(|(_, digest)| left && *digest == origin.digest).map(|(id, _)| id);
        if same.is_none() {
            break;
        }
    }
    if same.is_none() && writing.iter().all(|plan| is_in_place(plan, Evidence::SameCall)) {
        for plan in &writing {
            same = earlier_call(call, origin, &plan.path)?.map(|logged| logged.id);
            if same.is_none() {
                break;
            }
        }
    }
    if let Some(id) = same {
        return Err(with_paths(&writing, done_as(id)));
    }
    // A person who types another command that inserts the same text again means it.
    let is_model = !call.caller.allows_unread();
    if is_model && writing.iter().all(|plan| is_in_place(plan, Evidence::TextAlone)) {
        let what = "The result is already in place: the new text is around the matched text.";
        return Err(with_paths(&writing, done_already(what)));
    }
    Ok(())
}

/// Remembers the result of a session's call for a file.
pub(crate) fn remember_change(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    id: OperationId,
    path: &[u8],
    after: Option<ContentId>,
) {
    let edit = origin.is_an_edit().then_some((id, origin.digest));
    call.memory.last_changes.put((call.caller.session.clone(), path.to_vec()), LastChange { edit, after });
}

/// Adds the paths that are written to an error.
fn with_paths(writing: &[&FilePlan], error: Error) -> Error {
    writing.iter().fold(error, |error, plan| error.evidence(plan.path.shown()))
}

/// The evidence for a repetition beside the text that is in place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// The session made the same call before.
    SameCall,
    /// None, so the text must be distinctive, and not be part of what was matched.
    TextAlone,
}

/// True when every edit of a plan keeps the text that it matched, and the added text is already next to it.
fn is_in_place(plan: &FilePlan, evidence: Evidence) -> bool {
    let raw = plan.before.raw();
    if plan.outcome.ops.is_empty() {
        return false;
    }
    if !plan.outcome.merged {
        return plan.outcome.ops.iter().all(|op| {
            let splices = op.changes.splices();
            !splices.is_empty() && splices.iter().all(|splice| is_beside(raw, splice, &op.old, evidence))
        });
    }
    // The operations were placed in another version.
    let splices = plan.changes.splices();
    let old = |splice: &Splice| plan.outcome.ops.iter().find(|op| op.op == splice.op as usize).map(|op| &*op.old);
    let touched = |op: &OpOutcome| splices.iter().any(|splice| splice.op as usize == op.op);
    !splices.is_empty()
        && plan.outcome.ops.iter().all(touched)
        && splices.iter().all(|splice| old(splice).is_some_and(|old| is_beside(raw, splice, old, evidence)))
}

/// True when a splice inserts text that is already right before or after it; without other evidence the text must be
/// distinctive and not be part of the matched text.
fn is_beside(raw: &[u8], splice: &Splice, old: &str, evidence: Evidence) -> bool {
    let (text, at) = (&*splice.text, splice.span.start());
    let there =
        raw.get(at..).is_some_and(|rest| rest.starts_with(text)) || raw.get(..at).is_some_and(|it| it.ends_with(text));
    if !splice.span.is_empty() || !there || evidence == Evidence::SameCall {
        return splice.span.is_empty() && there;
    }
    let added = text.trim_ascii();
    let substance = added.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count();
    !old.is_empty() && substance >= DISTINCTIVE_ALNUM_MIN && memchr::memmem::find(old.as_bytes(), added).is_none()
}
