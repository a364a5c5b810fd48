//! Moments that a caller names: marks, and the beginnings of turns. They are operations without files, so that they have
//! a place in the order of all operations, and last as long as those. Every operation belongs to a turn: as hooks or the
//! caller reported it, else up to a pause.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::logged_operations;
use emendate_core::Result;
use emendate_history::{LogEntry, Operation, OperationFilter, OperationId, TURN};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Microseconds without an operation after which the next one belongs to another turn, where no turns are given.
pub(crate) const PAUSE_US: i64 = 5 * 60 * 1_000_000;

/// Characters of the name of a turn.
const TURN_CHARS_MAX: usize = 200;

fn moment(session: &str, tool: &str, name: &str) -> Operation {
    Operation {
        session: session.to_owned(),
        tool: tool.to_owned(),
        note: name.to_owned(),
        keeps_content: true,
        ..Operation::default()
    }
}

/// Logs a moment in every root. Returns its operation in the first one.
///
/// Errors: those of the session store.
pub(crate) fn log_moment(context: &Context, session: &str, tool: &str, name: &str) -> Result<Option<OperationId>> {
    let operation = moment(session, tool, name);
    let mut first = None;
    for root in 0..context.root_count() {
        let logged = context.history(root).log(&operation, &[], &[])?;
        first = first.or(Some(logged.id));
    }
    Ok(first)
}

/// Logs the beginning of the turn that a call says it belongs to, unless the last turn of its session is that one.
pub(crate) fn begin_turn_of_call(call: Call<'_>, root: usize) {
    let Some(turn) = &call.caller.turn else { return };
    let name: String = turn.chars().take(TURN_CHARS_MAX).collect();
    let session = Some(&*call.caller.session);
    let filter = OperationFilter { session, tool: Some(TURN), ..OperationFilter::newest(1) };
    let history = call.history(root);
    let last = history.operations(&filter).ok().and_then(|mut all| all.pop());
    if last.is_none_or(|last| last.operation.note != name) {
        // Without it, the operation belongs to the turn before.
        let _ = history.log(&moment(&call.caller.session, TURN, &name), &[], &[]);
    }
}

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
        Ok(if logged.operation.is_outside() { None } else { self.span_of(context, root, logged)?.turn.clone() })
    }

    /// Returns a text that the operations of one turn share in a list with the newest first, also what others did between
    /// two pauses.
    ///
    /// Errors: those of the session store.
    pub(crate) fn name_of(&mut self, context: &Context, root: usize, logged: &LogEntry) -> Result<String> {
        Ok(format!("{root}:{}", self.span_of(context, root, logged)?.first))
    }

    fn span_of(&mut self, context: &Context, root: usize, logged: &LogEntry) -> Result<&TurnSpan> {
        let find = || find_span(context, root, logged, EARLIER_OPERATIONS_MAX);
        Ok(match self.spans.entry((root, logged.operation.session.clone())) {
            Entry::Vacant(none) => none.insert(find()?),
            Entry::Occupied(known) => {
                let span = known.into_mut();
                if !(span.first..=span.last).contains(&logged.id.number) {
                    *span = find()?;
                }
                span
            }
        })
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

/// Returns the number of the operation with which the turn of an operation began.
///
/// Errors: those of the session store.
pub(crate) fn start_of_turn(context: &Context, root: usize, logged: &LogEntry) -> Result<u64> {
    find_span(context, root, logged, usize::MAX).map(|span| span.first)
}

/// Finds the part of a turn up to an operation; after a pause, among this many earlier operations.
fn find_span(context: &Context, root: usize, logged: &LogEntry, earlier_max: usize) -> Result<TurnSpan> {
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
        if read == earlier_max {
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
