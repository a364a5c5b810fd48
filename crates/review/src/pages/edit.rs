//! The lines of one change as the file has them, in a form in which a person corrects them.

use crate::html::Html;
use crate::pages::file::{TEXT_BYTES_MAX, named};
use crate::pages::form::{hidden, scope_fields};
use crate::pages::frame::{self, NavItem};
use crate::pages::questions::editable;
use crate::view::{PageContext, scope_address};
use emendate::core::explain::{DiffHunk, DiffLine, LineKind};
use emendate::core::{Code, Error, Result};
use emendate::{FileDifference, HunkState};
use emendate_os::ffi::OsStrExt as _;

/// True if a form can hold the lines, and the file may have them.
pub(crate) fn can_edit(hunk: &DiffHunk, state: HunkState) -> bool {
    is_shown(hunk) && is_there(state)
}

/// True if the lines of a change are known completely.
fn is_shown(hunk: &DiffHunk) -> bool {
    hunk.omitted.lines() == 0 && hunk.lines.iter().all(DiffLine::is_whole)
}

/// True unless the file is known to have other lines now.
fn is_there(state: HunkState) -> bool {
    matches!(state, HunkState::InEffect | HunkState::Unknown)
}

/// Shows the form for the change that the address names.
///
/// Errors: `call.invalid` if it names none that can be edited; those of the history.
pub(crate) fn page(page: &PageContext<'_>) -> Result<String> {
    let (scope, path) = named(page)?;
    let changes = page.state.changes(&scope)?;
    let difference = page.state.engine.review().difference(&page.state.caller, &changes, &path, TEXT_BYTES_MAX)?;
    let FileDifference::Text(text) = difference else { return Err(nothing_to_edit()) };
    let number = page.fields.number("hunk").unwrap_or(1);
    let hunk = text.hunks.iter().find(|hunk| hunk.number == number).ok_or_else(nothing_to_edit)?;
    let state = text.states.get(number - 1).copied().unwrap_or(HunkState::Unknown);
    if !is_shown(hunk) {
        return Err(nothing_to_edit());
    }
    let lines = new_lines(hunk);
    let mut main = Html::default();
    main.raw("<header class=\"scope\"><div class=\"title\"><h1>Edit lines of <bdi>").text(&page.path_below_root(&path));
    main.raw("</bdi></h1></div></header><div class=\"resolve\"><p>Saving replaces these lines of the file, as an operation that can be undone. If they changed in the meantime, nothing is written.</p>");
    // The form stays: somebody may be writing in it.
    if !is_there(state) {
        main.raw("<p class=\"notice bad\">The file no longer has these lines.</p>");
    }
    if page.state.options.read_only {
        main.raw("<pre class=\"evidence\">").text(&lines).raw("</pre></div>");
        return Ok(frame::page(page, "Edit lines", NavItem::Other, "", main));
    }
    let back = scope_address(&scope);
    main.raw("<form method=\"post\" action=\"/act\" class=\"act wide\"").attr("data-then", &back).raw(">");
    hidden(&mut main, "csrf", page.csrf.as_bytes());
    hidden(&mut main, "do", b"edit_lines");
    for (name, value) in scope_fields(&scope) {
        hidden(&mut main, name, value);
    }
    hidden(&mut main, "path", path.as_os_str().as_bytes());
    hidden(&mut main, "line", hunk.new_start.to_string().as_bytes());
    hidden(&mut main, "old", lines.as_bytes());
    let last = hunk.new_start + hunk.new_lines.saturating_sub(1);
    let label = format!("Lines {} to {last}", hunk.new_start);
    main.raw("<label for=\"new\">").text(&label).raw("</label><textarea id=\"new\" name=\"new\"");
    main.attr("rows", &(hunk.new_lines + 2).clamp(5, 40).to_string()).raw(" spellcheck=\"false\">\n");
    editable(&mut main, &lines);
    main.raw("</textarea><div class=\"actions\"><button>Save</button><a class=\"button\"");
    main.attr("href", &back).raw(">Back</a></div></form></div>");
    Ok(frame::page(page, "Edit lines", NavItem::Other, "", main))
}

/// Returns the lines of the new side, without the end of the last one.
fn new_lines(hunk: &DiffHunk) -> String {
    let new = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed);
    new.map(|line| &*line.text).collect::<Vec<&str>>().join("\n")
}

fn nothing_to_edit() -> Error {
    Error::new(Code::CallInvalid, "These lines cannot be edited here: there are none, or they are too long.")
        .next("Go back to the changes, and reload them.")
}
