//! The path of a file that a later operation moved away.

use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::pipeline::plan::file_plan::CurrentState;
use crate::tools::undo::carried::{MOVES_FOLLOWED_MAX, PATH_OPERATIONS_MAX};
use crate::tools::undo::file_states::{current_state, logged_place};
use crate::tools::undo::select::is_foreign;
use emendate_core::{Advice, Phrase, advice};
use emendate_history::{LogEntry, OperationFilter, OperationId};
use serde_json::json;

/// The last move of a file.
pub(super) struct LaterMove {
    /// The path at which the file is now, as the log has it.
    to: Vec<u8>,
    by: LogEntry,
}

/// Returns the last of the operations in effect after another one that moved the file of a path, if the file is still
/// where that left it.
pub(super) fn later_move(call: Call<'_>, root: usize, path: &[u8], after: OperationId) -> Option<LaterMove> {
    let (mut last, mut after) = (None::<LaterMove>, after.number);
    for _ in 0..MOVES_FOLLOWED_MAX {
        let from = last.as_ref().map_or(path, |last| &last.to);
        let Some(moved) = move_from(call, root, from, after) else { break };
        after = moved.by.id.number;
        last = Some(moved);
    }
    let last = last?;
    let place = logged_place(&call, &last.to).ok()?;
    let is_there = current_state(&call, &place).is_ok_and(|now| !matches!(now, CurrentState::Nothing));
    is_there.then_some(last)
}

/// Returns the newest operation in effect with a larger number that moved the file of this path.
fn move_from(call: Call<'_>, root: usize, path: &[u8], after: u64) -> Option<LaterMove> {
    let filter = OperationFilter::newest_of(path, PATH_OPERATIONS_MAX);
    let entries = call.history(root).operations(&filter).ok()?;
    entries.into_iter().take_while(|entry| entry.id.number > after).find_map(|entry| {
        if entry.undone_by.is_some() || !entry.is_finished() {
            return None;
        }
        let file = entry.operation.files.iter().find(|file| file.moved_from.as_deref() == Some(path))?;
        let to = file.path.clone();
        Some(LaterMove { to, by: entry })
    })
}

impl LaterMove {
    /// Says what happened to the file.
    pub(super) fn description(&self) -> String {
        format!("operation {} moved the file to {}", self.by.id, emendate_fs::shown(log_path(&self.to)))
    }

    /// Returns the advice for the undo of an operation that needs the file at its former path.
    pub(super) fn advice(&self, call: Call<'_>, undone: OperationId) -> Advice {
        take_back_move(call, "Make the change there with an edit", self.by.id, Some(&self.by), undone)
    }
}

/// Returns the advice to do something else, or to take back the move of a file before the undo of an operation. `by` is
/// the operation that moved it, if the history has it.
pub(super) fn take_back_move(
    call: Call<'_>,
    instead: &str,
    moved_by: OperationId,
    by: Option<&LogEntry>,
    undone: OperationId,
) -> Advice {
    let is_others = |by: &LogEntry| is_foreign(by, &call.caller.session) && !call.caller.allows_unread();
    let id = moved_by.to_string();
    let undo = if by.is_some_and(is_others) { json!({ "id": id, "any_session": true }) } else { json!({ "id": id }) };
    advice![
        format!("{instead}; or call "),
        Phrase::Call("undo", undo),
        format!(" to take back the move, then repeat this call for operation {undone}.")
    ]
    .or(format!("{instead}."))
}
