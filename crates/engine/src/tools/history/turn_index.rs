//! The turn of each operation in a list: as hooks or the caller reported it, or by pauses, as an undo of a turn sees
//! it.

use crate::context::Context;
use crate::context::history_stores::logged_operations;
use crate::session::turns::PAUSE_US;
use emendate_core::Result;
use emendate_history::{LogEntry, OperationFilter, OperationId, TURN};
use std::collections::HashMap;

/// Earlier operations among which a pause is looked for.
const EARLIER_OPERATIONS_MAX: usize = 1000;

/// A turn of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The operation with which it began: the beginning that was logged, or its first change.
    pub(crate) id: OperationId,
    /// The name that its caller gave it; may be empty.
    pub(crate) name: String,
}

/// The part of a session's turn that was looked up so far.
struct TurnSpan {
    /// `None` if its beginning is too far back.
    turn: Option<Turn>,
    /// The beginning was logged, so pauses do not end the turn.
    is_named: bool,
    /// Numbers of the first and of the last operation that belong to it.
    first: u64,
    last: u64,
    /// The time of the last one.
    last_at: i64,
}

/// The turns that were looked up last, one for each root and session.
#[derive(Default)]
pub(crate) struct TurnIndex {
    spans: HashMap<(usize, String), TurnSpan>,
}

impl TurnIndex {
    /// Returns the turn of an operation; `None` for what others did, and where its beginning is too far back.
    ///
    /// Errors: those of the session store.
    pub(crate) fn turn_of(&mut self, context: &Context, root: usize, logged: &LogEntry) -> Result<Option<Turn>> {
        if logged.operation.is_outside() {
            return Ok(None);
        }
        let (key, number) = ((root, logged.operation.session.clone()), logged.id.number);
        if let Some(span) = self.spans.get(&key)
            && (span.first..=span.last).contains(&number)
        {
            return Ok(span.turn.clone());
        }
        let span = find_span(context, root, logged)?;
        let turn = span.turn.clone();
        self.spans.insert(key, span);
        Ok(turn)
    }

    /// Returns the turn of an operation of a list that begins with the oldest one and has the beginnings of turns.
    ///
    /// Errors: those of the session store.
    pub(crate) fn next_turn(&mut self, context: &Context, root: usize, logged: &LogEntry) -> Result<Option<Turn>> {
        let key = (root, logged.operation.session.clone());
        if let Some(span) = self.spans.get_mut(&key).filter(|span| span.last < logged.id.number) {
            if logged.operation.tool == TURN {
                *span = TurnSpan::begun_by(logged);
            } else if !span.is_named && !logged.operation.is_moment() && logged.at - span.last_at > PAUSE_US {
                *span = TurnSpan { is_named: false, ..TurnSpan::begun_by(logged) };
            } else {
                let last_at = if logged.operation.is_moment() { span.last_at } else { logged.at };
                (span.last, span.last_at) = (logged.id.number, last_at);
            }
        }
        self.turn_of(context, root, logged)
    }
}

impl TurnSpan {
    /// The turn that begins with an operation.
    fn begun_by(logged: &LogEntry) -> TurnSpan {
        let name = if logged.operation.tool == TURN { logged.operation.note.clone() } else { String::new() };
        TurnSpan {
            turn: Some(Turn { id: logged.id, name }),
            is_named: true,
            first: logged.id.number,
            last: logged.id.number,
            last_at: logged.at,
        }
    }
}

/// Finds the part of a turn up to an operation.
fn find_span(context: &Context, root: usize, logged: &LogEntry) -> Result<TurnSpan> {
    let (history, number) = (context.history(root), logged.id.number);
    let session = Some(&*logged.operation.session);
    let up_to = Some(number.saturating_add(1));
    let turns = OperationFilter { session, tool: Some(TURN), below: up_to, ..OperationFilter::newest(1) };
    if let Some(turn) = history.operations(&turns)?.pop() {
        return Ok(TurnSpan { last: number, last_at: logged.at, ..TurnSpan::begun_by(&turn) });
    }
    let filter = OperationFilter { session, below: Some(number), ..OperationFilter::default() };
    let mut first = logged.clone();
    for (read, earlier) in logged_operations(history, filter).enumerate() {
        if read == EARLIER_OPERATIONS_MAX {
            return Ok(TurnSpan { turn: None, ..by_pause(&first, logged) });
        }
        let earlier = earlier?;
        if earlier.operation.is_moment() {
            continue;
        }
        if first.at - earlier.at > PAUSE_US {
            break;
        }
        first = earlier;
    }
    Ok(by_pause(&first, logged))
}

/// The turn from its first operation to a later one.
fn by_pause(first: &LogEntry, last: &LogEntry) -> TurnSpan {
    TurnSpan { is_named: false, last: last.id.number, last_at: last.at, ..TurnSpan::begun_by(first) }
}
