//! Places of files of the history, of which a directory may be a link by now.

use crate::context::Context;
use crate::context::history_stores::{key, log_path};
use crate::context::policy::Access;
use crate::session::in_doubt::current_side;
use emendate_core::Result;
use emendate_fs::SafePath;
use emendate_history::{FileChange, OperationFilter};
use std::path::Path;

/// Resolves a file of an operation that is to be shown. A link where one of its directories was is followed only to the
/// file that the operation left, as an undo does: a deleted file is not behind it. The policy is not checked.
///
/// Errors: those of the disk.
pub(crate) fn place_of_change(context: &Context, file: &FileChange) -> Result<SafePath> {
    let followed = context.resolve_logged(&file.path);
    match &followed {
        Ok(place) if place.absolute() == log_path(&file.path) || is_as_left(context, place, file) => followed,
        _ => context.resolve_below_link(log_path(&file.path)).map_or(followed, Ok),
    }
}

fn is_as_left(context: &Context, place: &SafePath, file: &FileChange) -> bool {
    let Some(after) = file.after else { return false };
    let now = current_side(context, place).ok().flatten();
    now.is_some_and(|now| (now.content, now.kind) == (after.content, after.kind))
}

/// Resolves the path by which a call asks for operations. It is not followed through a link if the history knows the file
/// only from the time when the link was a directory.
///
/// Errors: those of the policy and of the disk.
pub(crate) fn place_asked_for(context: &Context, path: &Path) -> Result<SafePath> {
    let followed = context.resolve_no_follow(path, Access::Read);
    let is_of_path = |place: &SafePath| place.absolute() == path;
    if followed.as_ref().is_ok_and(|place| is_of_path(place) || is_in_history(context, place)) {
        return followed;
    }
    match context.resolve_below_link(path).filter(|place| is_in_history(context, place)) {
        Some(place) => context.check_access(&place, Access::Read).map(|()| place),
        None => followed,
    }
}

/// True if an operation of any root touched the path.
fn is_in_history(context: &Context, place: &SafePath) -> bool {
    let filter = OperationFilter::newest_of(key(place), 1);
    let has = |root| context.history(root).operations(&filter).is_ok_and(|found| !found.is_empty());
    (0..context.root_count()).any(has)
}
