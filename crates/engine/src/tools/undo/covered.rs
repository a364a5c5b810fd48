//! Operations of which nothing is left in the files, because a later one replaced what they wrote.

use crate::context::Context;
use crate::tools::undo::author;
use emendate_core::Error;
use emendate_history::{LogEntry, OperationFilter, OperationOutcome, Role};

/// Later operations of one file that are looked at.
const LATER_OPERATIONS_MAX: usize = 100;

/// Returns the newest operation in effect that changed a file of these operations after them. Undoing it may bring back
/// what they wrote, so they are not undone as long as it is in effect.
pub(super) fn covering(context: &Context, root: usize, all: &[LogEntry]) -> Option<LogEntry> {
    let last = all.first()?.id.number;
    let files = all.iter().flat_map(|logged| &logged.operation.files);
    let later = files.flat_map(|file| {
        let filter =
            OperationFilter { path: Some(&file.path), limit: LATER_OPERATIONS_MAX, ..OperationFilter::default() };
        context.history(root).operations(&filter).unwrap_or_default()
    });
    let in_effect = later.filter(|later| {
        let operation = &later.operation;
        later.id.number > last
            && later.undone_by.is_none()
            && !matches!(operation.role, Role::Undo(_))
            && matches!(operation.outcome, OperationOutcome::Done)
    });
    in_effect.max_by_key(|later| later.id.number)
}

/// Adds to the answer that nothing was left to undo which operation has to be undone first.
pub(super) fn explained(nothing: Error, later: &LogEntry) -> Error {
    let by = author(&later.operation);
    nothing
        .evidence(format!("Operation {} ({by}) changed the same file later and is in effect.", later.id))
        .next(format!("Undo operation {} first if this one is to be undone, too.", later.id))
        .fact("later", later.id.to_string())
}
