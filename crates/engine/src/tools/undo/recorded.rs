//! The recorded versions of a file since an operation. They say what an undo has to restore where a comparison of
//! versions cannot: among equal lines, it finds a change at several positions, and in a version that never had it.

use crate::context::Context;
use crate::tools::undo::file_states::{current_state, is_regular, is_same_content};
use crate::tools::undo::since::changes_effect;
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileState, LogEntry, OperationFilter, OperationId, OperationOutcome, Role};

/// Operations of one file that are looked at.
const RECORDED_OPERATIONS_MAX: usize = 100;

/// The operations that rewrote a file in place, the newest first, as long as each begins with the version that the one
/// before it left. The newest left the version that is there now.
pub(super) struct RecordedChanges<'a> {
    context: &'a Context,
    root: usize,
    pub(super) path: &'a SafePath,
    /// The path of the file in the history.
    key: &'a [u8],
    changes: Vec<RecordedChange>,
}

struct RecordedChange {
    entry: LogEntry,
    file: FileChange,
    /// The operation that decides whether this one is in effect: itself, or the last undo or redo that is about it. One
    /// that found nothing left to do in the files is not among the operations on the path.
    last: LogEntry,
}

impl<'a> RecordedChanges<'a> {
    /// Reads the operations on the path of a change.
    pub(super) fn read(context: &'a Context, root: usize, path: &'a SafePath, key: &'a [u8]) -> RecordedChanges<'a> {
        let filter = OperationFilter { path: Some(key), ..OperationFilter::newest(RECORDED_OPERATIONS_MAX) };
        // Without them, versions are compared.
        let entries = context.history(root).operations(&filter).unwrap_or_default();
        let mut changes: Vec<RecordedChange> = Vec::new();
        for entry in entries {
            let file = entry.operation.files.iter().find(|file| file.path == key).cloned();
            // Content that was moved has changes which were recorded elsewhere.
            let Some(file) = file.filter(|file| is_finished(&entry) && is_in_place(file)) else { break };
            let follows = match changes.last() {
                Some(later) => is_same_version(file.after, later.file.before),
                None => current_state(context, path).is_ok_and(|now| is_same_content(&now, file.after)),
            };
            if !follows {
                break;
            }
            let Some(last) = last_reversal(context, root, &entry) else { break };
            changes.push(RecordedChange { entry, file, last });
        }
        RecordedChanges { context, root, path, key, changes }
    }

    /// Returns the version to which the undo of these operations leads, if it was there before: nothing else that was
    /// done since then is in effect. `None` also if not all of these are known: another program wrote the file in
    /// between, or there are too many.
    pub(super) fn version_without(&self, undone: &[LogEntry]) -> Option<FileState> {
        let is_undone = |entry: &LogEntry| undone.iter().any(|it| it.id == entry.id);
        let is_recorded = |entry: &LogEntry| self.changes.iter().any(|it| it.entry.id == entry.id);
        let mut on_path = undone.iter().filter(|it| it.operation.files.iter().any(|file| file.path == self.key));
        if !on_path.all(is_recorded) {
            return None;
        }
        let oldest = self.changes.iter().rposition(|it| is_undone(&it.entry))?;
        let is_restored = |since: &[RecordedChange], moment: u64| {
            since.iter().all(|it| {
                let restores = changes_effect(self.context, self.root, &it.last, moment);
                restores.is_ok_and(|restores| restores == is_undone(&it.last))
            })
        };
        let mut candidates = self.changes.iter().enumerate().skip(oldest);
        let found = candidates.find(|(index, it)| is_restored(&self.changes[..=*index], it.entry.id.number - 1));
        found?.1.file.before
    }

    /// Returns the oldest operation that was undone after a later one that is in effect.
    pub(super) fn undone_before(&self, operation: &LogEntry) -> Option<OperationId> {
        let undos = self.after(operation).filter(|it| is_undo(&it.entry) && is_undo(&it.last));
        let undone = undos.flat_map(|it| it.entry.operation.undoes()).filter(|id| id.number < operation.id.number);
        undone.min_by_key(|id| id.number)
    }

    /// True if everything that was done after an operation only took back other operations.
    pub(super) fn are_reversals_after(&self, operation: &LogEntry) -> bool {
        self.changes.iter().any(|it| it.entry.id == operation.id) && self.after(operation).all(|it| is_undo(&it.last))
    }

    /// Returns the changes after an operation.
    fn after(&self, operation: &LogEntry) -> impl Iterator<Item = &RecordedChange> {
        let id = operation.id;
        self.changes.iter().take_while(move |it| it.entry.id != id)
    }
}

/// Returns the last undo or redo that is about an operation, or the operation itself.
fn last_reversal(context: &Context, root: usize, entry: &LogEntry) -> Option<LogEntry> {
    let mut last = entry.clone();
    for _ in 0..RECORDED_OPERATIONS_MAX {
        let Some(id) = last.undone_by else { return Some(last) };
        last = context.history(root).operation(id.into()).ok()??;
    }
    None
}

fn is_undo(entry: &LogEntry) -> bool {
    matches!(entry.operation.role, Role::Undo(_))
}

/// True for an operation whose result is known.
fn is_finished(entry: &LogEntry) -> bool {
    entry.owner.is_none() && entry.operation.outcome != OperationOutcome::Unknown
}

/// True for a change of a regular file that stayed where it was.
fn is_in_place(file: &FileChange) -> bool {
    is_regular(file) && file.moved_from.is_none()
}

/// True if both are the same content.
fn is_same_version(left: Option<FileState>, right: Option<FileState>) -> bool {
    left.map(|it| it.content) == right.map(|it| it.content)
}
