//! Refusals to remove, move or create entries because of the current ones; used by [`crate::pipeline::plan::request_tree`].

use emendate_core::{Code, Error, Snapshot, refusals};
use emendate_fs::SafePath;
use std::ffi::OsStr;

/// Creates the error for a link with another target than the patch removes.
pub(crate) fn other_link(target: &OsStr, text: &str) -> Error {
    Error::new(Code::MatchNotFound, "The symbolic link to delete has another target than the patch says; it was kept.")
        .evidence(format!(
            "Its target is `{}`; the patch says `{}`.",
            target.to_string_lossy(),
            text.trim_end_matches('\n')
        ))
        .fact("reason", "not_found")
        .next("Look at the link again; to remove it whatever its target, use *** Delete File.")
}

/// Creates the error for an existing entry at the destination of a move or copy.
pub(crate) fn occupied(to: &SafePath) -> Error {
    refusals::occupied(&to.shown())
}

pub(crate) fn file_gone(place: &SafePath) -> Error {
    refusals::file_gone(&place.shown())
}

/// Creates the error for an existing entry at the path of a new file; `text` is the current content and the new one.
pub(crate) fn file_exists(place: &SafePath, text: Option<(&Snapshot, &str)>) -> Error {
    refusals::file_exists(&place.shown(), text)
}
