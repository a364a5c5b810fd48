//! Selection of everything that was done since a moment, for `undo` and `rewind`.

use crate::context::Context;
use crate::context::history_stores::logged_operations;
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
            if logged.undone_by.is_none() && logged.owner.is_none() && changes_effect(context, root, &logged, after)? {
                all.push(logged);
            }
        }
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

/// True if the reversal of an operation that is in effect restores what was in effect at the moment. That holds for every
/// edit; an undo matters if its change was in effect then, a redo if it was not.
///
/// Errors: `call.invalid` for an undo of operations of which some were in effect.
pub(crate) fn changes_effect(context: &Context, root: usize, logged: &LogEntry, after: u64) -> Result<bool> {
    let is_redo = match logged.operation.role {
        Role::Edit => return Ok(true),
        Role::Undo(_) => false,
        Role::Redo(_) => true,
    };
    let mut result = None;
    for was_in_effect in origins(context, root, logged, after)? {
        let differs = was_in_effect != is_redo;
        if result.is_some_and(|known| known != differs) {
            let what = format!("Operation {} undid operations from before and after that moment.", logged.id);
            return Err(Error::new(Code::CallInvalid, what).next(format!("Undo operation {} first.", logged.id)));
        }
        result = Some(differs);
    }
    Ok(result.unwrap_or(false))
}

/// Returns, for each change that an undo or redo is about, whether it was in effect at the moment.
fn origins(context: &Context, root: usize, logged: &LogEntry, after: u64) -> Result<Vec<bool>> {
    let mut open: Vec<(OperationId, usize)> = logged.operation.undoes().map(|id| (id, 0)).collect();
    let mut found = Vec::new();
    for _ in 0..REVERSALS_FOLLOWED_MAX {
        let Some((id, reversals)) = open.pop() else { break };
        let Some(earlier) = context.history(root).operation(id.into())? else { continue };
        if earlier.operation.role == Role::Edit {
            found.push(id.number <= after && reversals % 2 == 0);
        } else {
            let reversals = reversals + usize::from(id.number <= after);
            open.extend(earlier.operation.undoes().map(|id| (id, reversals)));
        }
    }
    Ok(found)
}
