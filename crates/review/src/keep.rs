//! Decisions to keep: a hunk, a file, or everything of an operation, a turn or a time is marked as reviewed. Marks of an
//! operation are stored with the history; those of several operations are ticks, which end when the file changes.

use crate::pages::file::hunk_tick;
use crate::request::Fields;
use crate::state::ReviewState;
use crate::view::scope_of;
use emendate::core::{Code, Error, Result};
use emendate::{ChangeScope, FileDifference, FileView};
use std::path::Path;

/// Files of several operations that one decision keeps.
const FILES_KEPT_MAX: usize = 200;

/// Keeps what the fields name, or takes that back. Returns what was done, for the person.
///
/// Errors: `call.invalid`, `call.too_large`; those of the history, and of the file of ticks.
pub(crate) fn set_kept(state: &ReviewState, fields: &Fields) -> Result<String> {
    let scope = scope_of(fields)
        .ok_or_else(|| Error::new(Code::CallInvalid, "The form names no changes.").next("Reload the page."))?;
    let (path, is_kept) = (fields.path("path"), fields.text("on") != Some("0"));
    let what = if let ChangeScope::Operation(id) = &scope {
        let hunk = fields.number("hunk").map(|number| [number]);
        let hunks = hunk.as_ref().map(|number| &number[..]);
        state.engine.remarks().mark_reviewed(&state.caller, id, path.as_deref(), hunks, is_kept)?;
        if hunk.is_some() { "The change" } else { "All changes" }
    } else {
        tick_files(state, &scope, path.as_deref(), is_kept)?;
        "All changes"
    };
    let of = path.as_deref().map_or_else(String::new, |path| format!(" of {}", emendate::fs::shown(path)));
    Ok(format!("{what}{of} {}.", if is_kept { "will be kept" } else { "can be decided again" }))
}

/// Sets or removes the ticks of all hunks of some files.
fn tick_files(state: &ReviewState, scope: &ChangeScope, path: Option<&Path>, is_kept: bool) -> Result<()> {
    let changes = state.changes(scope)?;
    let views: Vec<FileView> = match path {
        Some(path) => vec![state.engine.review().scope_file(&changes, path)?],
        None => state.engine.review().scope_files(&changes, None, 0..FILES_KEPT_MAX + 1).files,
    };
    if views.len() > FILES_KEPT_MAX {
        let what = format!("At most {FILES_KEPT_MAX} files of several operations are kept at once.");
        return Err(Error::new(Code::CallTooLarge, what).next("Keep them operation by operation."));
    }
    let mut names = Vec::new();
    for view in &views {
        if let FileDifference::Text(text) = state.engine.review().difference(&state.caller, &changes, &view.path, 0)? {
            names.extend(text.hunks.iter().map(|hunk| hunk_tick(view, hunk)));
        }
    }
    match state.ticks.set_all(&names, is_kept) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::new(Code::IoFailed, format!("The decision was not stored: {error}."))),
    }
}
