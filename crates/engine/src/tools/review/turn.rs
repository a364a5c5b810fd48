//! Turns: the operations between two prompts of a person, as callers and hooks reported them, or between two pauses.

use crate::context::Context;
use crate::context::history_stores::logged_operations;
use crate::session::turns::PAUSE_US;
use crate::tools::undo::select::{self, OperationRef};
use crate::tools::undo::since::{EffectDecision, operations_without};
use emendate_core::{Code, Error, Result};
use emendate_history::{LogEntry, OperationFilter, OperationId, TURN};
use std::collections::BTreeSet;

/// Beginnings of turns among which the next one is looked for.
const TURNS_READ_MAX: usize = 500;
/// Operations of one turn.
pub(crate) const TURN_OPERATIONS_MAX: usize = 1000;

/// The operations of one turn.
pub(crate) struct TurnOperations {
    pub(crate) root: usize,
    /// The number of the newest operation before the turn; 0 if there is none.
    pub(crate) after: u64,
    /// The operations of its session, the newest first.
    pub(crate) operations: Vec<LogEntry>,
}

/// Finds the turn that an operation belongs to.
///
/// Errors: `operation.not_found`, and `call.invalid` for a turn of too many operations.
pub(crate) fn turn_of(context: &Context, id: &str) -> Result<TurnOperations> {
    let (root, logged) = select::operation(context, OperationRef::read_name(id)?)?;
    let history = context.history(root);
    let session = Some(&*logged.operation.session);
    let number = logged.id.number;
    let all = OperationFilter { session, ..OperationFilter::default() };
    let turns = OperationFilter { tool: Some(TURN), limit: TURNS_READ_MAX, ..all };
    let start = history.operations(&OperationFilter { below: Some(number), limit: 1, ..turns })?.pop();
    let later = history.operations(&turns)?;
    let end = later.iter().map(|it| it.id.number).filter(|it| *it > number).min();
    let mut found: Vec<LogEntry> = Vec::new();
    let mut before = None;
    for it in logged_operations(history, OperationFilter { below: end, ..all }) {
        let it = it?;
        let is_before = start.as_ref().is_some_and(|start| it.id.number < start.id.number);
        let has_pause = start.is_none() && found.last().is_some_and(|later| later.at - it.at > PAUSE_US);
        if is_before || has_pause && found.iter().any(|it| it.id == logged.id) {
            before = Some(it);
            break;
        }
        if has_pause {
            found.clear();
        }
        if !it.operation.is_moment() {
            found.push(it);
        }
        if found.len() > TURN_OPERATIONS_MAX {
            return Err(Error::new(Code::CallInvalid, "The turn has too many operations to be shown together.")
                .next("Look at its operations one by one."));
        }
    }
    let after = start.or(before).map_or(0, |before| before.id.number);
    Ok(TurnOperations { root, after, operations: found })
}

/// Returns the operations, the newest first, whose undo takes back everything that a turn did, also if others brought it
/// back.
///
/// Errors: those of the session store, and `call.invalid` if an undo would have to be taken back in part.
pub(crate) fn effective_operations(context: &Context, turn: &TurnOperations) -> Result<Vec<String>> {
    let ids: BTreeSet<OperationId> = turn.operations.iter().map(|logged| logged.id).collect();
    let is_own = |it: EffectDecision| ids.contains(&it.by) || ids.contains(&it.edit);
    let undone = operations_without(context, turn.root, &turn.operations, turn.after, is_own)?;
    Ok(undone.iter().map(|logged| logged.id.to_string()).collect())
}
