//! Operations of which nothing is left in the files, because a later one replaced what they wrote.

use crate::context::call::Call;
use crate::tools::undo::author;
use crate::tools::undo::carried::{MOVES_FOLLOWED_MAX, PATH_OPERATIONS_MAX};
use crate::tools::undo::reversal::first_hiding;
use crate::tools::undo::select::came_back;
use emendate_core::{Code, Error};
use emendate_history::{LogEntry, OperationFilter, OperationOutcome, Role};

/// Returns the newest later operation in effect whose undo, after that of newer ones, would bring back what this
/// operation wrote. As long as there is one, this operation must not count as undone: nothing could remove its text
/// afterwards. A later undo is none of them, because its redo can itself be undone.
pub(super) fn covering(call: Call<'_>, root: usize, logged: &LogEntry) -> Option<LogEntry> {
    let mut later: Vec<LogEntry> = Vec::new();
    let mut paths: Vec<Vec<u8>> = logged.operation.files.iter().map(|file| file.path.clone()).collect();
    let paths_max = paths.len() + MOVES_FOLLOWED_MAX;
    let mut nth = 0;
    while let Some(path) = paths.get(nth).cloned() {
        let filter = OperationFilter::newest_of(&path, PATH_OPERATIONS_MAX);
        // Without the history there is nothing that could be undone.
        let found = call.history(root).operations(&filter).unwrap_or_default();
        // What removed a file may have found it at another path.
        let files = found.iter().filter(|entry| entry.id.number > logged.id.number).flat_map(|it| &it.operation.files);
        for to in files.filter(|file| file.moved_from.as_ref() == Some(&path)) {
            if paths.len() < paths_max && !paths.contains(&to.path) {
                paths.push(to.path.clone());
            }
        }
        later.extend(found);
        nth += 1;
    }
    later.retain(|later| {
        let is_in_effect = match later.operation.role {
            Role::Undo(_) => false,
            Role::Redo(_) => later.undone_by.is_none(),
            Role::Edit => later.undone_by.is_none() || came_back(&call, root, later).unwrap_or(true),
        };
        later.id.number > logged.id.number
            && is_in_effect
            && !matches!(later.operation.outcome, OperationOutcome::Unknown)
    });
    later.sort_unstable_by_key(|later| std::cmp::Reverse(later.id.number));
    later.dedup_by_key(|later| later.id.number);
    first_hiding(call, root, logged, &later).cloned()
}

/// Adds to the conflict of an operation which later one changed the same lines, if the call may undo that, too:
/// `session` is the one whose operations it may undo, `None` for all. Advice about a move is better than this.
pub(super) fn changed_by(session: Option<&str>, error: Error, later: Option<LogEntry>) -> Error {
    let may_undo = |later: &LogEntry| {
        session.map_or(!later.operation.is_outside(), |session| *later.operation.session == *session)
    };
    let is_move = |later: &LogEntry| later.operation.files.iter().any(|file| file.moved_from.is_some());
    let Some(later) = later.filter(|later| may_undo(later) && !is_move(later)) else { return error };
    error.next(format!("Undo operation {} first.", later.id)).fact("later", later.id.to_string()).evidence(format!(
        "Operation {} ({}) changed the same lines and is in effect.",
        later.id,
        author(&later.operation)
    ))
}

/// The answer for an operation of which nothing is left, because a later one replaced it.
pub(super) fn replaced_by(logged: &LogEntry, later: &LogEntry) -> Error {
    let (id, by) = (logged.id, author(&later.operation));
    Error::new(
        Code::EditNoChange,
        format!("Nothing of operation {id} is left: a later operation replaced what it wrote."),
    )
    .evidence(format!("Operation {} ({by}) changed the same lines and is in effect.", later.id))
    .next(format!("Undo operation {} first if operation {id} is to be undone, too.", later.id))
    .fact("later", later.id.to_string())
}
