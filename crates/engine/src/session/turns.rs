//! Moments that a caller names: marks, and the beginnings of turns. They are operations without files, so that they have
//! a place in the order of all operations, and last as long as those.

use crate::context::Context;
use crate::context::call::Call;
use emendate_core::Result;
use emendate_history::{Operation, OperationFilter, OperationId, TURN};

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
