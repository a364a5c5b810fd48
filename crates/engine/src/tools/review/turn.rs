//! Turns: the operations between two prompts of a person, as callers and hooks said, or between two pauses.

use crate::context::Context;
use crate::tools::moments::PAUSE_US;
use crate::tools::undo::since::changes_effect;
use crate::tools::undo::{OperationRef, select};
use emendate_core::{Code, Error, Result};
use emendate_history::{LogEntry, OperationFilter, TURN};

/// Beginnings of turns among which the next one is looked for.
const TURNS_READ_MAX: usize = 500;
/// Operations that are read together.
const OPERATIONS_PER_PAGE: usize = 50;
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
    let (root, logged) = select::operation(context, OperationRef::read(id)?.name)?;
    let history = context.history(root);
    let session = Some(&*logged.operation.session);
    let number = logged.id.number;
    let all = OperationFilter { session, ..OperationFilter::default() };
    let turns = OperationFilter { tool: Some(TURN), limit: TURNS_READ_MAX, ..all };
    let start = history.operations(&OperationFilter { below: Some(number), limit: 1, ..turns })?.pop();
    let later = history.operations(&turns)?;
    let end = later.iter().map(|it| it.id.number).filter(|it| *it > number).min();
    let mut found: Vec<LogEntry> = Vec::new();
    let mut below = end;
    loop {
        let page = history.operations(&OperationFilter { below, limit: OPERATIONS_PER_PAGE, ..all })?;
        below = page.last().map(|last| last.id.number);
        let is_last = page.len() < OPERATIONS_PER_PAGE;
        for it in page {
            let is_before = start.as_ref().is_some_and(|start| it.id.number < start.id.number);
            let has_pause = start.is_none() && found.last().is_some_and(|later| later.at - it.at > PAUSE_US);
            if is_before || has_pause && found.iter().any(|it| it.id == logged.id) {
                return finished(root, start.as_ref().map_or(it.id.number, |start| start.id.number), found);
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
        if is_last {
            return finished(root, start.map_or(0, |start| start.id.number), found);
        }
    }
}

fn finished(root: usize, after: u64, operations: Vec<LogEntry>) -> Result<TurnOperations> {
    Ok(TurnOperations { root, after, operations })
}

/// Returns the operations of a turn that are in effect, the newest first: their reversal restores what was in effect
/// when it began, as far as they changed it.
///
/// Errors: as [`turn_of`].
pub(crate) fn effective_operations(context: &Context, id: &str) -> Result<Vec<String>> {
    let turn = turn_of(context, id)?;
    let mut names = Vec::new();
    for logged in &turn.operations {
        let is_open = logged.undone_by.is_none() && logged.owner.is_none();
        if is_open && changes_effect(context, turn.root, logged, turn.after)? {
            names.push(logged.id.to_string());
        }
    }
    Ok(names)
}
