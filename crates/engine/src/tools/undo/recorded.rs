//! The recorded versions of a file since an operation. They say what an undo has to restore where a comparison of
//! versions cannot: among equal lines, it finds a change at several positions, and in a version that never had it.

use crate::context::Context;
use crate::tools::undo::file_states::{current_state, is_same_content};
use crate::tools::undo::since::changes_effect;
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileKind, FileState, LogEntry, OperationFilter, OperationOutcome, Role};

/// Operations of one file that are looked at.
const RECORDED_OPERATIONS_MAX: usize = 100;

/// The operations that rewrote a file in place, the newest first, as long as each begins with the version that the one
/// before it left. The newest left the version that is there now.
pub(super) struct RecordedChanges<'a> {
    context: &'a Context,
    root: usize,
    changes: Vec<(LogEntry, FileChange)>,
}

impl<'a> RecordedChanges<'a> {
    /// Reads the operations on the path of a change.
    pub(super) fn read(context: &'a Context, root: usize, place: &SafePath, path: &[u8]) -> RecordedChanges<'a> {
        let filter = OperationFilter { path: Some(path), limit: RECORDED_OPERATIONS_MAX, ..OperationFilter::default() };
        // Without them, versions are compared.
        let entries = context.history(root).operations(&filter).unwrap_or_default();
        let mut changes: Vec<(LogEntry, FileChange)> = Vec::new();
        for entry in entries {
            let file = entry.operation.files.iter().find(|file| file.path == path).cloned();
            // Content that was moved has changes which were recorded elsewhere.
            let Some(file) = file.filter(|file| is_finished(&entry) && is_in_place(file)) else { break };
            let follows = match changes.last() {
                Some((_, later)) => is_same_version(file.after, later.before),
                None => current_state(context, place).is_ok_and(|now| is_same_content(&now, file.after)),
            };
            if !follows {
                break;
            }
            changes.push((entry, file));
        }
        RecordedChanges { context, root, changes }
    }

    /// Returns the version to which the undo of these operations leads, if it was there before: nothing else that was
    /// done since then is in effect. The last of them is the oldest.
    pub(super) fn version_without(&self, undone: &[LogEntry]) -> Option<FileState> {
        let oldest = undone.last()?.id.number;
        let candidates = self.changes.iter().enumerate().filter(|(_, (entry, _))| entry.id.number <= oldest);
        let found = candidates.map(|(index, (entry, file))| (&self.changes[..=index], entry.id.number - 1, file));
        let mut restored = found.filter(|(since, moment, _)| {
            since.iter().filter(|(entry, _)| entry.undone_by.is_none()).all(|(entry, _)| {
                let is_undone = undone.iter().any(|it| it.id == entry.id);
                changes_effect(self.context, self.root, entry, *moment).is_ok_and(|restores| restores == is_undone)
            })
        });
        restored.next()?.2.before
    }

    /// Returns the last undo that is in effect and was made after an operation.
    pub(super) fn last_undo_after(&self, operation: &LogEntry) -> Option<&LogEntry> {
        let mut later = self.changes.iter().map(|(entry, _)| entry).take_while(|entry| entry.id != operation.id);
        later.find(|entry| entry.undone_by.is_none() && matches!(entry.operation.role, Role::Undo(_)))
    }

    /// True if everything that was done after an operation only took back other operations.
    pub(super) fn are_reversals_after(&self, operation: &LogEntry) -> bool {
        let mut later = self.changes.iter().take_while(|(entry, _)| entry.id != operation.id);
        self.changes.iter().any(|(entry, _)| entry.id == operation.id)
            && later.all(|(entry, _)| entry.undone_by.is_some() || matches!(entry.operation.role, Role::Undo(_)))
    }
}

/// True for an operation whose result is known.
fn is_finished(entry: &LogEntry) -> bool {
    entry.owner.is_none() && entry.operation.outcome != OperationOutcome::Unknown
}

/// True for a change of a regular file that stayed where it was.
fn is_in_place(file: &FileChange) -> bool {
    let is_regular = |side: Option<FileState>| side.is_some_and(|side| side.kind == FileKind::Regular);
    is_regular(file.before) && is_regular(file.after) && file.moved_from.is_none()
}

/// True if both are the same content.
fn is_same_version(left: Option<FileState>, right: Option<FileState>) -> bool {
    left.map(|it| it.content) == right.map(|it| it.content)
}
