//! The lines of one change as the file has them, in a form in which a person corrects them.

use crate::html::{Html, survives_forms};
use crate::pages::file::{TEXT_BYTES_MAX, named};
use crate::pages::form::{change_fields, hidden};
use crate::pages::frame::{self, NavItem};
use crate::pages::questions::editable;
use crate::view::{PageContext, scope_address};
use emendate::core::explain::{DiffHunk, LineKind};
use emendate::core::{Code, Error, Result};
use emendate::{FileDifference, HunkLines, HunkState, ShownChange};

/// True if a form can hold the lines, and the file may have them.
pub(crate) fn can_edit(hunk: &DiffHunk, state: HunkState) -> bool {
    is_shown(hunk) && is_there(state)
}

/// True if the lines of a change are known completely, and a browser sends them back as they are.
fn is_shown(hunk: &DiffHunk) -> bool {
    let lines = &hunk.lines;
    let is_sent_back = lines.iter().all(|line| line.is_whole() && survives_forms(&line.text));
    hunk.new_lines > 0 && hunk.omitted.lines() == 0 && is_sent_back
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
    let engine = &page.state.engine;
    let changes = page.state.changes(&scope)?;
    let difference = engine.review().difference(&page.state.caller, &changes, &path, TEXT_BYTES_MAX)?;
    let FileDifference::Text(text) = difference else { return Err(nothing_to_edit()) };
    let number = page.fields.number("hunk").unwrap_or(1);
    let hunk = text.hunks.iter().find(|hunk| hunk.number == number).ok_or_else(nothing_to_edit)?;
    if !is_shown(hunk) {
        return Err(nothing_to_edit());
    }
    let lines = new_lines(hunk);
    let view = engine.review().scope_file(&changes, &path)?;
    // The number of the hunk is that of the page with the link.
    let versions = page.fields.text("versions").map_or_else(|| view.versions(), str::to_owned);
    let shown = ShownChange { scope: &scope, path: &path, versions: Some(&versions) };
    let first = engine.review().line_now(&page.state.caller, shown, HunkLines { first: hunk.new_start, text: &lines });
    let mut main = Html::default();
    main.raw("<header class=\"scope\"><div class=\"title\"><h1>Edit lines of <bdi>").text(&page.path_below_root(&path));
    main.raw("</bdi></h1></div></header><div class=\"resolve\"><p>Saving replaces these lines of the file, as an operation that can be undone. If they changed in the meantime, nothing is written.</p>");
    // The form stays: somebody may be writing in it.
    if let Err(error) = &first {
        let what = format!("{} {}", error.message(), error.next_step());
        main.raw("<p class=\"notice bad\">").text(&what).raw("</p>");
    }
    if page.state.options.read_only {
        main.raw("<pre class=\"evidence\">").text(&lines).raw("</pre></div>");
        return Ok(frame::page(page, "Edit lines", NavItem::Other, "", main));
    }
    let back = scope_address(&scope);
    main.raw("<form method=\"post\" action=\"/act\" class=\"act wide\"").attr("data-then", &back).raw(">");
    hidden(&mut main, "csrf", page.csrf.as_bytes());
    hidden(&mut main, "do", b"edit_lines");
    for (name, value) in change_fields(&scope, &view, &versions) {
        hidden(&mut main, name, value);
    }
    hidden(&mut main, "line", hunk.new_start.to_string().as_bytes());
    hidden(&mut main, "old", lines.as_bytes());
    let first = first.unwrap_or(hunk.new_start);
    let label = format!("Lines {first} to {}; without any text, they are removed", first + hunk.new_lines - 1);
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
    Error::new(
        Code::CallInvalid,
        "These lines cannot be edited here: there are none, they are too long, or a browser would change them.",
    )
    .next("Go back to the changes and reload them, or change the lines in an editor.")
}
