//! The changes that the session itself made between two versions of a file. The log has them as they were made; a
//! comparison of the versions might take a line for an equal one.

use crate::context::call::Call;
use crate::context::history_stores::key;
use emendate_core::{ChangeSet, ContentId, Result, Snapshot, Span, Splice, work};
use emendate_fs::SafePath;
use emendate_history::{OperationFilter, Role};

/// Maximum number of edits between the versions.
const EDITS_MAX: usize = 32;

/// Returns the changes that lead from `seen` to `now`; `None` unless all of them are edits of the session, and the log
/// still has them.
///
/// Errors: those of the log.
pub(crate) fn own_changes(
    call: Call<'_>,
    path: &SafePath,
    seen: &Snapshot,
    now: &Snapshot,
) -> Result<Option<ChangeSet>> {
    if seen.is_sparse() || now.is_sparse() {
        return Ok(None);
    }
    let Some(versions) = versions_between(call, path, seen.id(), now.id())? else { return Ok(None) };
    let (mut made, mut at) = (ChangeSet::none(seen), seen.clone());
    for version in versions {
        let Some(replaced) = call.history(path.root()).replacements(at.id(), version)? else { return Ok(None) };
        let splices = replaced.into_iter().map(|it| Splice::new(Span::new(it.at, it.at + it.old.len()), it.new, 0));
        let Ok(step) = ChangeSet::new(&at, splices) else { return Ok(None) };
        made = made.then(seen, &step);
        work::spend_bytes(at.raw().len())?;
        at = at.reopen(step.apply(&at))?;
    }
    Ok((at.id() == now.id()).then_some(made))
}

/// Returns the versions after `from` up to `to` in their order, if each is the result of an edit of the session.
fn versions_between(call: Call<'_>, path: &SafePath, from: ContentId, to: ContentId) -> Result<Option<Vec<ContentId>>> {
    let filter = OperationFilter::newest_of(key(path), EDITS_MAX);
    let (mut versions, mut next) = (Vec::new(), to);
    for logged in call.history(path.root()).operations(&filter)? {
        let operation = &logged.operation;
        let is_own = operation.session == call.caller.session && operation.role == Role::Edit;
        let file = operation.files.iter().find(|file| file.path == key(path) && file.moved_from.is_none());
        let sides = file.filter(|_| is_own).and_then(|file| file.before.zip(file.after));
        let Some((before, after)) = sides.filter(|(_, after)| after.content == next) else { return Ok(None) };
        versions.push(after.content);
        next = before.content;
        if next == from {
            versions.reverse();
            return Ok(Some(versions));
        }
    }
    Ok(None)
}
