//! Selection of everything that was done since a moment, for `undo` and `rewind`.

use crate::context::Context;
use crate::context::history_stores::logged_operations;
use crate::tools::history::operation_list::reversal_of;
use crate::tools::moments::Moment;
use crate::tools::undo::select::UndoSelection;
use emendate_core::{Advice, Code, Error, Result};
use emendate_history::{LogEntry, OperationFilter, OperationId, Role};

/// Maximum number of operations that one call may undo.
pub(crate) const SINCE_OPERATIONS_MAX: usize = 1000;
/// Undos and redos that are followed back to the change that they are about.
const REVERSALS_FOLLOWED_MAX: usize = 1000;

/// Selects the operations since a moment that are in effect, the newest first: their reversal restores what was in
/// effect then, as far as they changed it.
///
/// Errors: `operation.not_found`, and `call.invalid` for operations of several roots or too many.
pub(super) fn select_since(
    context: &Context,
    moment: &Moment,
    is_wanted: impl Fn(&LogEntry) -> bool,
) -> Result<UndoSelection> {
    let mut found: Option<(usize, Vec<LogEntry>)> = None;
    for (root, after) in moment.0.iter().enumerate().filter_map(|(root, after)| Some((root, (*after)?))) {
        let mut all = Vec::new();
        for logged in operations_after(context, root, after)? {
            if !is_wanted(&logged) || logged.operation.is_moment() {
                continue;
            }
            if logged.operation.role != Role::Edit && logged.is_in_flight() {
                return Ok(UndoSelection::UnderWay(root, Box::new(logged)));
            }
            if logged.undone_by.is_some() || logged.owner.is_some() {
                continue;
            }
            match since_moment(context, root, &logged, after)? {
                SinceMoment::Unchanged => {}
                SinceMoment::Changed => all.push(logged),
                SinceMoment::Redone(edits) => all.extend(edits),
            }
        }
        all.sort_unstable_by_key(|logged| std::cmp::Reverse(logged.id.number));
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

/// Returns the operations with a larger number, the newest first.
///
/// Errors: those of the session store.
pub(crate) fn operations_after(context: &Context, root: usize, after: u64) -> Result<Vec<LogEntry>> {
    let all = logged_operations(context.history(root), OperationFilter::default());
    all.take_while(|logged| logged.as_ref().map_or(true, |logged| logged.id.number > after)).collect()
}

/// The difference between the effects of an operation and those at a moment.
enum SinceMoment {
    /// Its reversal would restore nothing.
    Unchanged,
    /// Its reversal restores what was in effect then.
    Changed,
    /// Its reversal would also do what is not wanted, but that of these edits restores what was in effect then.
    Redone(Vec<LogEntry>),
}

/// True if the reversal of an operation that is in effect restores what was in effect at the moment. That holds for every
/// edit; an undo matters if its change was in effect then, a redo if it was not.
///
/// Errors: `call.invalid` for an undo of operations of which some were in effect.
pub(crate) fn changes_effect(context: &Context, root: usize, logged: &LogEntry, after: u64) -> Result<bool> {
    Ok(matches!(since_moment(context, root, logged, after)?, SinceMoment::Changed))
}

/// Compares the effects of an operation, which is in effect, with those at a moment.
///
/// Errors: `call.invalid` for an undo of operations of which some were in effect.
fn since_moment(context: &Context, root: usize, logged: &LogEntry, after: u64) -> Result<SinceMoment> {
    if logged.operation.role == Role::Edit {
        return Ok(SinceMoment::Changed);
    }
    let origins = origins(context, root, logged, after)?;
    let count = origins.len();
    let changed: Vec<ReversedEdit> = origins.into_iter().filter(|it| it.was_in_effect != it.is_in_effect).collect();
    if changed.is_empty() || changed.len() == count {
        return Ok(if changed.is_empty() { SinceMoment::Unchanged } else { SinceMoment::Changed });
    }
    if changed.iter().all(|it| it.is_in_effect) {
        return Ok(SinceMoment::Redone(changed.into_iter().map(|it| it.edit).collect()));
    }
    let what = format!("Operation {} undid operations from before and after that moment.", logged.id);
    Err(Error::new(Code::CallInvalid, what).next(format!("Undo operation {} first.", logged.id)))
}

/// An edit that an undo or redo is about.
struct ReversedEdit {
    edit: LogEntry,
    /// The edit was in effect at the moment.
    was_in_effect: bool,
    is_in_effect: bool,
}

/// Returns the edits on which an undo or redo decided last.
fn origins(context: &Context, root: usize, logged: &LogEntry, after: u64) -> Result<Vec<ReversedEdit>> {
    let mut open: Vec<(OperationId, usize)> = logged.operation.undoes().map(|id| (id, 0)).collect();
    let mut found = Vec::new();
    for _ in 0..REVERSALS_FOLLOWED_MAX {
        let Some((id, reversals)) = open.pop() else { break };
        let Some(earlier) = context.history(root).operation(id.into())? else { continue };
        if earlier.operation.role != Role::Edit {
            let reversals = reversals + usize::from(id.number <= after);
            open.extend(earlier.operation.undoes().map(|id| (id, reversals)));
            continue;
        }
        let Some(last) = reversal_of(context, root, &earlier)?.filter(|last| last.by == logged.id) else { continue };
        let was_in_effect = id.number <= after && reversals % 2 == 0 && !was_undone(context, root, &earlier, after)?;
        found.push(ReversedEdit { edit: earlier, was_in_effect, is_in_effect: last.redone });
    }
    Ok(found)
}

/// True for an edit that was not in effect at a moment although it was undone again later: it had come back in between.
fn was_undone(context: &Context, root: usize, edit: &LogEntry, after: u64) -> Result<bool> {
    if edit.undone_by.is_none_or(|by| by.number <= after) {
        return Ok(false);
    }
    let filter = OperationFilter { below: Some(after.saturating_add(1)), ..OperationFilter::default() };
    for logged in logged_operations(context.history(root), filter).take(REVERSALS_FOLLOWED_MAX) {
        let mut logged = logged?;
        if logged.id.number <= edit.id.number {
            break;
        }
        if !logged.operation.undoes().any(|id| id == edit.id) {
            continue;
        }
        let mut is_in_effect = true;
        while let Some(by) = logged.undone_by.filter(|by| by.number <= after) {
            let Some(next) = context.history(root).operation(by.into())? else { break };
            (logged, is_in_effect) = (next, !is_in_effect);
        }
        return Ok(is_in_effect);
    }
    Ok(false)
}
