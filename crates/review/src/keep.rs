//! Decisions to keep: a hunk, a file, or everything of an operation, a turn or a time is marked as reviewed. Marks of an
//! operation are stored with the history; those of several operations are ticks, which end when the file changes.

use crate::action::{incomplete, versions};
use crate::html::query_bytes;
use crate::pages::file::hunk_tick;
use crate::request::Fields;
use crate::state::ReviewState;
use crate::view::scope_of;
use emendate::core::{Code, Error, Result};
use emendate::{ChangeScope, FileDifference, FileView, ReviewedFile};
use emendate_os::ffi::{OsStrExt as _, OsStringExt as _};
use percent_encoding::percent_decode_str;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Files of several operations that one decision keeps.
const FILES_KEPT_MAX: usize = 200;

/// The effect of a decision.
pub(crate) struct KeepDecision {
    /// The decision, for the person.
    pub(crate) summary: String,
    /// The marks that it set or removed, without those that were so before: the field `marks` of the action that takes
    /// it back.
    pub(crate) marks: String,
}

/// Keeps what the fields name, or takes that back.
///
/// Errors: `call.invalid`, `call.too_large`; `conflict.raced` for changes that are not those that were shown; those of
/// the history, and of the file of ticks.
pub(crate) fn set_kept(state: &ReviewState, fields: &Fields) -> Result<KeepDecision> {
    let scope = scope_of(fields).ok_or_else(|| incomplete("the changes"))?;
    let (path, is_kept) = (fields.path("path"), fields.text("on") != Some("0"));
    let hunk = fields.sent_number("hunk")?;
    let what = if hunk.is_some() { "The change" } else { "All changes" };
    let marks = match (&scope, fields.sent("marks")) {
        (ChangeScope::Operation(id), Some(marks)) => set_marks(state, id, marks, is_kept)?,
        (ChangeScope::Operation(id), None) => mark_hunks(state, id, path.as_deref(), hunk, is_kept)?,
        (_, Some(marks)) => set_ticks(state, marks.split_whitespace().map(str::to_owned).collect(), is_kept)?,
        (_, None) => set_ticks(state, shown_ticks(state, &scope, path.as_deref(), versions(fields)?)?, is_kept)?,
    };
    let of = path.as_deref().map_or_else(String::new, |path| format!(" of {}", emendate::fs::shown(path)));
    let summary = format!("{what}{of} {}.", if is_kept { "will be kept" } else { "can be decided again" });
    Ok(KeepDecision { summary, marks })
}

/// Marks hunks of an operation. Returns the marks that changed.
fn mark_hunks(
    state: &ReviewState,
    id: &str,
    path: Option<&Path>,
    hunk: Option<usize>,
    is_kept: bool,
) -> Result<String> {
    let remarks = state.engine.remarks();
    let before = remarks.reviewed_hunks(Some(id))?;
    let hunks = hunk.map(|number| [number]);
    let after = remarks.mark_reviewed(&state.caller, id, path, hunks.as_ref().map(|number| &number[..]), is_kept)?;
    let (more, less) = if is_kept { (after, before) } else { (before, after) };
    Ok(difference(more, &less))
}

/// Returns the marks that only the first list has: each a file with the numbers of its hunks.
fn difference(more: Vec<ReviewedFile>, less: &[ReviewedFile]) -> String {
    let mut out = String::new();
    for ReviewedFile { path, hunks, .. } in more {
        let known = less.iter().filter(|file| file.path == path).flat_map(|file| &file.hunks).collect::<Vec<_>>();
        for hunk in hunks.iter().filter(|hunk| !known.contains(hunk)) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}:{hunk} ", query_bytes(path.as_os_str().as_bytes()));
        }
    }
    out
}

/// Sets or removes marks that another decision changed.
fn set_marks(state: &ReviewState, id: &str, marks: &str, is_kept: bool) -> Result<String> {
    let mut files: Vec<(PathBuf, Vec<usize>)> = Vec::new();
    for mark in marks.split_whitespace() {
        let (path, hunk) = mark.rsplit_once(':').ok_or_else(|| incomplete("what was decided"))?;
        let hunk = hunk.parse().map_err(|_| incomplete("what was decided"))?;
        let path = PathBuf::from(OsString::from_vec(percent_decode_str(path).collect()));
        match files.last_mut() {
            Some((last, hunks)) if *last == path => hunks.push(hunk),
            _ => files.push((path, vec![hunk])),
        }
    }
    for (path, hunks) in &files {
        state.engine.remarks().mark_reviewed(&state.caller, id, Some(path), Some(hunks), is_kept)?;
    }
    Ok(marks.to_owned())
}

/// Returns the ticks of all hunks of the shown files.
fn shown_ticks(state: &ReviewState, scope: &ChangeScope, path: Option<&Path>, versions: &str) -> Result<Vec<String>> {
    let changes = state.changes(scope)?;
    changes.check_shown(path, versions)?;
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
    Ok(names)
}

/// Sets or removes ticks. Returns those that changed.
fn set_ticks(state: &ReviewState, mut names: Vec<String>, is_kept: bool) -> Result<String> {
    names.retain(|name| state.ticks.has(name) != is_kept);
    match state.ticks.set_all(&names, is_kept) {
        Ok(true) => Ok(names.join(" ")),
        Ok(false) => Err(incomplete("what was decided")),
        Err(error) => Err(Error::new(Code::IoFailed, format!("The decision was not stored: {error}."))),
    }
}
