//! The recorded versions of a file since an operation. They say what an undo has to restore where a comparison of
//! versions cannot: among equal lines, it finds a change at several positions, and in a version that never had it.

use crate::context::Context;
use crate::tools::undo::carried::PATH_OPERATIONS_MAX;
use crate::tools::undo::effects::EditEffects;
use crate::tools::undo::file_states::{current_state, is_regular, is_same_content};
use emendate_core::Result;
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileState, LogEntry, OperationFilter, OperationId};
use std::collections::BTreeSet;

/// The operations that rewrote a file in place, the newest first, as long as each begins with the version that the one
/// before it left. The newest left the version that is there now.
pub(super) struct RecordedChanges<'a> {
    pub(super) path: &'a SafePath,
    /// The path of the file in the history.
    key: &'a [u8],
    changes: Vec<RecordedChange>,
    effects: &'a EditEffects,
    /// The edits of the path, and those that undos and redos on it took back or brought back.
    edits: BTreeSet<OperationId>,
}

struct RecordedChange {
    entry: LogEntry,
    file: FileChange,
}

impl<'a> RecordedChanges<'a> {
    /// Reads the operations on the path of a change.
    ///
    /// Errors: those of the session store.
    pub(super) fn read(
        context: &Context,
        root: usize,
        path: &'a SafePath,
        key: &'a [u8],
        effects: &'a EditEffects,
    ) -> Result<RecordedChanges<'a>> {
        let filter = OperationFilter::newest_of(key, PATH_OPERATIONS_MAX);
        let entries = context.history(root).operations(&filter)?;
        let edits = entries.iter().flat_map(|entry| effects.changed_by(entry)).collect();
        let mut changes: Vec<RecordedChange> = Vec::new();
        for entry in entries {
            let file = entry.operation.file(key).cloned();
            // Content that was moved has changes which were recorded elsewhere.
            let Some(file) = file.filter(|file| entry.is_finished() && is_in_place(file)) else { break };
            let follows = match changes.last() {
                Some(later) => is_same_version(file.after, later.file.before),
                None => current_state(context, path).is_ok_and(|now| is_same_content(&now, file.after)),
            };
            if !follows {
                break;
            }
            changes.push(RecordedChange { entry, file });
        }
        Ok(RecordedChanges { path, key, changes, effects, edits })
    }

    /// Returns the version to which the undo of these operations leads, if it was there before: the same edits were in
    /// effect then. One before these operations comes first. `None` also if not all of these are known: another program
    /// wrote the file in between, or there are too many.
    pub(super) fn version_without(&self, undone: &[LogEntry]) -> Option<FileState> {
        let is_undone = |entry: &LogEntry| undone.iter().any(|it| it.id == entry.id);
        let is_recorded = |entry: &LogEntry| self.changes.iter().any(|it| it.entry.id == entry.id);
        let mut on_path = undone.iter().filter(|it| it.operation.files.iter().any(|file| file.path == self.key));
        if !on_path.all(is_recorded) {
            return None;
        }
        let oldest = self.changes.iter().rposition(|it| is_undone(&it.entry))?;
        let effects = self.effects;
        let after = effects.after_undo(undone.iter().map(|it| it.id));
        let will_be = |edit: OperationId| after.get(&edit).copied().unwrap_or_else(|| effects.is_in_effect(edit));
        let is_as_at =
            |moment: u64| self.edits.iter().all(|edit| will_be(*edit) == effects.was_in_effect(*edit, moment));
        let (newer, older) = self.changes.split_at(oldest);
        older.iter().chain(newer.iter().rev()).find(|it| is_as_at(it.entry.id.number - 1))?.file.before
    }

    /// Returns the operation that put the oldest edit into effect that was undone after a later operation, which is in
    /// effect.
    pub(super) fn undone_before(&self, operation: &LogEntry) -> Option<OperationId> {
        let moment = operation.id.number - 1;
        let undone = self
            .edits
            .iter()
            .filter(|edit| self.effects.was_in_effect(**edit, moment) && !self.effects.is_in_effect(**edit));
        undone.map(|edit| self.effects.decided_by(*edit, moment)).min_by_key(|id| id.number)
    }

    /// True if everything that was done after an operation only took back other operations: no edit is in effect that was
    /// not then.
    pub(super) fn are_reversals_after(&self, operation: &LogEntry) -> bool {
        let was_in_effect = |edit: OperationId| self.effects.was_in_effect(edit, operation.id.number);
        self.changes.iter().any(|it| it.entry.id == operation.id)
            && self.edits.iter().all(|edit| was_in_effect(*edit) || !self.effects.is_in_effect(*edit))
    }
}

/// True for a change of a regular file that stayed where it was.
fn is_in_place(file: &FileChange) -> bool {
    is_regular(file) && file.moved_from.is_none()
}

/// True if both are the same content.
fn is_same_version(left: Option<FileState>, right: Option<FileState>) -> bool {
    left.map(|it| it.content) == right.map(|it| it.content)
}
