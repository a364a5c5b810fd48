//! The decisions about a file: kept or not, with the buttons that change that.

use crate::html::Html;
use crate::pages::file::{self, FileRemarks};
use crate::pages::form::{ActionButton, button, change_fields};
use crate::view::PageContext;
use emendate::core::explain::DiffHunk;
use emendate::{ChangeScope, FileDifference, FileView};

/// Adds the buttons that decide about a whole file.
pub(crate) fn file_buttons(
    out: &mut Html,
    page: &PageContext<'_>,
    scope: &ChangeScope,
    view: &FileView,
    found: Option<&FileDifference>,
) {
    let versions = view.versions();
    let fields = change_fields(scope, view, &versions);
    if let Some(is_kept) = is_file_kept(page, scope, view, found) {
        let (label, on) = if is_kept { ("File kept ✓", b"0") } else { ("Keep file", b"1") };
        let hint = "Keep all changes of this file, or decide again";
        let keep = ActionButton { verb: "keep", label, hint, class: "quiet", key: "" };
        let fields: Vec<(&str, &[u8])> = fields.iter().copied().chain([("on", &on[..])]).collect();
        button(out, page, &keep, &fields);
    }
    let undo = ActionButton {
        verb: "undo_change",
        label: "Undo file",
        hint: "Undo all changes of this file",
        class: "quiet danger",
        key: "",
    };
    button(out, page, &undo, &fields);
}

/// True if all changes of a file are kept; `None` if there is nothing to decide.
fn is_file_kept(
    page: &PageContext<'_>,
    scope: &ChangeScope,
    view: &FileView,
    found: Option<&FileDifference>,
) -> Option<bool> {
    let remarks = file::remarks(page, scope, view);
    match found? {
        FileDifference::Text(text) if !text.hunks.is_empty() => {
            Some(text.hunks.iter().all(|hunk| is_kept(page, view, hunk, &remarks)))
        }
        // A change without text counts as one hunk of its operation.
        _ if remarks.operation.is_some() => Some(!remarks.reviewed.is_empty()),
        _ => None,
    }
}

/// True if a person decided to keep a hunk.
pub(crate) fn is_kept(page: &PageContext<'_>, view: &FileView, hunk: &DiffHunk, remarks: &FileRemarks) -> bool {
    match &remarks.operation {
        Some(_) => remarks.reviewed.contains(&(hunk.number as u64)),
        None => page.state.ticks.has(&file::hunk_tick(view, hunk)),
    }
}
