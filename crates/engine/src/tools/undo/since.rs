//! Selection of everything that was done since a moment, for `undo` and `rewind`.

use crate::context::Context;
use crate::context::history_stores::logged_operations;
use crate::tools::moments::Moment;
use crate::tools::undo::effects::{EditEffects, EffectMap};
use crate::tools::undo::select::UndoSelection;
use emendate_core::{Advice, Code, Error, Phrase, Result, advice};
use emendate_history::{LogEntry, OperationFilter, OperationId, Role};
use serde_json::json;
use std::collections::{BTreeSet, HashSet};

/// Maximum number of operations that one call may undo.
pub(crate) const SINCE_OPERATIONS_MAX: usize = 1000;

/// Selects the operations, the newest first, whose undo takes back everything that the wanted ones did since a moment.
/// What others took back or brought back since then stays.
///
/// Errors: `operation.not_found`, and `call.invalid` for operations of several roots or too many.
pub(super) fn select_since(
    context: &Context,
    moment: &Moment,
    is_wanted: impl Fn(&LogEntry) -> bool,
) -> Result<UndoSelection> {
    let mut found: Option<(usize, Vec<LogEntry>)> = None;
    for (root, after) in moment.0.iter().enumerate().filter_map(|(root, after)| Some((root, (*after)?))) {
        let mut own = operations_after(context, root, after)?;
        own.retain(|logged| is_wanted(logged) && !logged.operation.is_moment());
        if let Some(running) = own.iter().find(|it| it.operation.role != Role::Edit && it.is_in_flight()) {
            return Ok(UndoSelection::UnderWay(root, Box::new(running.clone())));
        }
        let ids: HashSet<OperationId> = own.iter().map(|logged| logged.id).collect();
        let all = operations_without(context, root, &own, after, |decision| ids.contains(&decision.by))?;
        if all.is_empty() {
            continue;
        }
        if found.is_some() {
            return Err(Error::new(
                Code::CallInvalid,
                "Operations of several roots were done since then; nothing was done.",
            )
            .next("Undo them one by one, by their ids."));
        }
        found = Some((root, all));
    }
    match found {
        None => Err(Error::new(Code::OperationMissing, "Nothing was done since then that could be undone.")
            .next(Advice::named("Call {history()} to see what was done.").or("Make the change with an edit."))),
        Some((_, all)) if all.len() > SINCE_OPERATIONS_MAX => {
            let what =
                format!("{} operations were done since then; one call takes back {SINCE_OPERATIONS_MAX}.", all.len());
            Err(Error::new(Code::CallInvalid, what).next("Name a later moment first."))
        }
        Some((root, all)) => Ok(UndoSelection::Known(root, all)),
    }
}

/// Names the moment before an older operation that was undone, which changed the same lines: if everything since then
/// is undone together, the version of that moment is restored.
pub(super) fn undo_since(error: Error, undone: OperationId) -> Error {
    let since = format!("{undone}^");
    let call = Phrase::Call("undo", json!({ "since": since }));
    error
        .next(
            advice![
                "Call ",
                call,
                " to take back everything since operation ",
                undone.to_string(),
                ", already undone."
            ]
            .or("Make the change with an edit."),
        )
        .fact("since", since)
}

/// Returns the operations with a larger number, the newest first.
///
/// Errors: those of the session store.
pub(crate) fn operations_after(context: &Context, root: usize, after: u64) -> Result<Vec<LogEntry>> {
    let all = logged_operations(context.history(root), OperationFilter::default());
    all.take_while(|logged| logged.as_ref().map_or(true, |logged| logged.id.number > after)).collect()
}

/// Returns the operations, the newest first, whose undo leads to the effects that there would be if some of the operations
/// since a moment had not been done: those of `own`, and all that `is_own` accepts. What is left out cancels itself out if
/// it was taken back by others that are left out.
///
/// Errors: `call.invalid` if an undo would have to be taken back in part.
pub(crate) fn operations_without(
    context: &Context,
    root: usize,
    own: &[LogEntry],
    after: u64,
    is_own: impl Fn(EffectDecision) -> bool,
) -> Result<Vec<LogEntry>> {
    let effects = EditEffects::read(context, root)?;
    let edits: BTreeSet<OperationId> = own.iter().flat_map(|logged| effects.changed_by(logged)).collect();
    let wanted = |edit| effects.is_in_effect_without(edit, after, |by| is_own(EffectDecision { edit, by }));
    let mut changed: EffectMap = edits.into_iter().map(|edit| (edit, wanted(edit))).collect();
    changed.retain(|edit, is_wanted| effects.is_in_effect(*edit) != *is_wanted);
    let (mut undone, mut partial) = (BTreeSet::new(), None);
    for (&edit, &is_wanted) in &changed {
        let by = effects.decided_by(edit, u64::MAX);
        // The undo of an operation also decides about the other edits that it changed.
        let is_as_wanted = |(edit, is_in_effect): (OperationId, bool)| {
            is_in_effect == changed.get(&edit).copied().unwrap_or_else(|| effects.is_in_effect(edit))
        };
        if effects.after_undo([by]).into_iter().all(is_as_wanted) {
            undone.insert(by);
        } else if !is_wanted {
            undone.insert(edit);
        } else {
            partial = partial.max(Some(by));
        }
    }
    if let Some(partial) = partial {
        return Err(undone_in_part(partial, undone.last().copied()));
    }
    let entries = undone.into_iter().rev().map(|id| context.history(root).operation(id.into()));
    let entries = entries.filter_map(Result::transpose).collect::<Result<Vec<LogEntry>>>()?;
    Ok(entries.into_iter().filter(|logged| logged.owner.is_none()).collect())
}

/// Returns the error for an operation whose undo would have to be taken back in part. A later one among those to be
/// undone may be in its way.
fn undone_in_part(partial: OperationId, newest: Option<OperationId>) -> Error {
    let what = format!("Operation {partial} undid operations from before and after that moment, or of others.");
    let next = match newest.filter(|newest| *newest > partial) {
        Some(newest) => format!("Undo operation {newest} first, then operation {partial}; then repeat the call."),
        None => format!("Undo operation {partial} first, then repeat the call."),
    };
    Error::new(Code::CallInvalid, what).next(next)
}

/// An operation that decided whether an edit is in effect: the edit itself, an undo or a redo.
#[derive(Clone, Copy)]
pub(crate) struct EffectDecision {
    pub(crate) edit: OperationId,
    pub(crate) by: OperationId,
}
