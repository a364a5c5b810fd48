//! Undo of a change whose file was moved since: it is made at the path to which recorded operations brought the file.

use crate::context::Context;
use crate::context::history_stores::{key, log_path};
use crate::pipeline::plan::file_plan::CurrentState;
use crate::tools::undo::file_states::{current_state, history_content, is_regular, logged_place};
use emendate_core::Result;
use emendate_fs::{SafePath, shown};
use emendate_history::{FileState, LogEntry, OperationFilter, OperationId};

/// Operations on one path that an undo looks at, the newest.
pub(super) const PATH_OPERATIONS_MAX: usize = 100;
/// Moves of files that an undo follows, one after another.
pub(super) const MOVES_FOLLOWED_MAX: usize = 100;

/// A file that later operations moved.
pub(super) struct MovedFile {
    /// The path to which they brought it.
    pub(super) place: SafePath,
    /// The last of them.
    pub(super) by: OperationId,
}

impl MovedFile {
    /// Follows the file that an operation left at a path of the log through all later operations, except for those that
    /// the call takes back. `None` if none of them moved it elsewhere, or if it is not certain where it is: it was removed,
    /// made again or covered by another file, or an operation is not finished.
    pub(super) fn follow(
        context: &Context,
        root: usize,
        path: &[u8],
        since: OperationId,
        taken_back: &[LogEntry],
    ) -> Option<MovedFile> {
        let (former, mut path, mut last) = (path, path.to_vec(), None);
        for _ in 0..MOVES_FOLLOWED_MAX {
            match next_move(context, root, &path, last.unwrap_or(since).number, taken_back) {
                NextMove::Unclear => return None,
                NextMove::To(to, by) => (path, last) = (to, Some(by)),
                NextMove::Nowhere if path == former => return None,
                NextMove::Nowhere => {
                    let place = logged_place(context, &path).ok()?;
                    let is_of_path = place.absolute() == log_path(&path);
                    return last.filter(|_| is_of_path).map(|by| MovedFile { place, by });
                }
            }
        }
        None
    }

    /// The path in the history.
    pub(super) fn key(&self) -> Vec<u8> {
        key(&self.place).to_vec()
    }

    /// The reason for a refusal if another file is at the former path.
    pub(super) fn covered(&self) -> String {
        format!(
            "operation {} moved the file to {}, and another one is at its former path.",
            self.by,
            self.place.shown()
        )
    }

    /// Says where the undo was made.
    pub(super) fn note(&self, path: &[u8]) -> String {
        format!(
            "The file was moved since from {} to {}, last by operation {}; the change was made there.",
            shown(log_path(path)),
            self.place.shown(),
            self.by
        )
    }
}

/// Returns the bytes of a version that a file at a path of the log had before it was moved. Right after the move, only
/// the file at its new path has them. `None` if they are lost.
pub(super) fn content_before_moves(
    context: &Context,
    root: usize,
    path: &[u8],
    state: FileState,
) -> Result<Option<Vec<u8>>> {
    let entries = context.history(root).operations(&OperationFilter::newest_of(path, PATH_OPERATIONS_MAX))?;
    let moved = entries.iter().flat_map(|entry| entry.operation.files.iter().map(move |file| (entry.id, file)));
    for (id, file) in moved.filter(|(_, file)| file.moved_from.as_deref() == Some(path)) {
        let place = match MovedFile::follow(context, root, &file.path, id, &[]) {
            Some(moved) => Ok(moved.place),
            None => logged_place(context, &file.path),
        };
        if let Ok(CurrentState::File(now)) = place.and_then(|place| current_state(context, &place))
            && let Some(bytes) = history_content(context, root, state, Some(&now))?
        {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// The next move of a file in the log.
enum NextMove {
    /// The operation moved it to this path.
    To(Vec<u8>, OperationId),
    /// The file stayed where it is.
    Nowhere,
    /// It is not certain which file is meant.
    Unclear,
}

/// Returns the first move of the file of this path by an operation with a larger number.
fn next_move(context: &Context, root: usize, path: &[u8], after: u64, taken_back: &[LogEntry]) -> NextMove {
    let filter = OperationFilter::newest_of(path, PATH_OPERATIONS_MAX);
    let Ok(entries) = context.history(root).operations(&filter) else { return NextMove::Unclear };
    // If there are more, the file is not followed.
    if entries.len() == PATH_OPERATIONS_MAX && entries.iter().all(|entry| entry.id.number > after) {
        return NextMove::Unclear;
    }
    let later = entries.iter().rev().filter(|entry| entry.id.number > after);
    for entry in later.filter(|entry| taken_back.iter().all(|it| it.id != entry.id)) {
        if !entry.is_finished() {
            return NextMove::Unclear;
        }
        let files = &entry.operation.files;
        let mut moved = files.iter().filter(|file| file.moved_from.as_deref() == Some(path));
        match (moved.next(), moved.next()) {
            (Some(to), None) => return NextMove::To(to.path.clone(), entry.id),
            (Some(_), Some(_)) => return NextMove::Unclear,
            (None, _) => {}
        }
        let is_rewritten = files.iter().any(|file| file.path == path && file.moved_from.is_none() && is_regular(file));
        if !is_rewritten {
            return NextMove::Unclear;
        }
    }
    NextMove::Nowhere
}
