//! A file of a scope: its heading with buttons, and its hunks.

use crate::html::{Html, query_path};
use crate::pages::code::{CodeLine, of_line};
use crate::pages::form::{ActionButton, button, scope_fields};
use crate::pages::{PageContext, hunk, image, scope_of, scope_query, shown_path, timeline};
use emendate::core::explain::DiffHunk;
use emendate::core::{Code, Error, Result};
use emendate::{ChangeScope, FileDifference, FileView, HunkState, LineRange, OperationSide, TextDifference};
use std::os::unix::ffi::OsStrExt as _;

/// Bytes of text that a file's hunks show at first.
const TEXT_BYTES_SENT: usize = 48 << 10;
/// Bytes of text that they show on request.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Unchanged lines that are added at once.
const MORE_LINES: usize = 30;

/// Returns the name of a file in the page.
pub(crate) fn anchor(view: &FileView) -> String {
    let hash = blake3::hash(view.path.as_os_str().as_bytes()).to_hex();
    format!("f-{}", hash.get(..12).unwrap_or_default())
}

/// Returns a text that changes when the content of the file does.
fn version(view: &FileView) -> String {
    let digits = |version: [u8; 16]| version.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    view.after.map_or_else(|| "gone".to_owned(), |after| digits(after.version))
}

/// Returns the fields that name a file of a scope, for an address.
pub(crate) fn file_query(scope: &ChangeScope, view: &FileView) -> String {
    format!("{}&path={}", scope_query(scope), query_path(&view.path))
}

/// Adds a file with its hunks.
pub(crate) fn card(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, view: &FileView) {
    open(out, page, scope, view, false);
    out.raw("<div class=\"body\">");
    let bytes = if page.fields.flag("full") { TEXT_BYTES_MAX } else { TEXT_BYTES_SENT };
    match page.state.engine.difference(&page.state.caller, scope, &view.path, bytes) {
        Ok(FileDifference::Text(text)) => hunks(out, page, scope, view, &text),
        Ok(FileDifference::Binary { before, after }) => image::sides(out, scope, view, before, after),
        Ok(FileDifference::NotKept) => {
            out.raw("<p class=\"empty\">The contents of this change were not kept: they were too large, or may hold secrets.</p>");
        }
        Err(error) => {
            out.raw("<p class=\"empty\">").text(error.message()).raw("</p>");
        }
    }
    out.raw("</div></section>");
}

/// Adds a file whose hunks are fetched when it comes into view.
pub(crate) fn deferred(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, view: &FileView) {
    open(out, page, scope, view, true);
    out.raw("<div class=\"body\"><p class=\"empty\"><a").attr("href", &format!("/file?{}", file_query(scope, view)));
    out.raw(">Show the changes of this file</a></p></div></section>");
}

/// Returns a file alone.
///
/// Errors: `operation.not_found`, and those of the history.
pub(crate) fn part(page: &PageContext<'_>) -> Result<String> {
    let (scope, path) = named(page)?;
    let wanted = |view: &FileView| view.path == path;
    let found = page.state.engine.scope_files(&scope, &wanted, 0..1)?;
    let view =
        found.files.first().ok_or_else(|| Error::new(Code::OperationMissing, "The file is not among the changes."))?;
    let mut out = Html::default();
    card(&mut out, page, &scope, view);
    Ok(out.into_string())
}

/// Returns the scope and the file that an address names.
///
/// Errors: `call.invalid`.
pub(crate) fn named(page: &PageContext<'_>) -> Result<(ChangeScope, std::path::PathBuf)> {
    match (scope_of(page.fields), page.fields.path("path")) {
        (Some(scope), Some(path)) => Ok((scope, path)),
        _ => Err(Error::new(Code::CallInvalid, "The address names no file.").next("Choose one in the history.")),
    }
}

fn open(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, view: &FileView, is_deferred: bool) {
    let anchor = anchor(view);
    let query = file_query(scope, view);
    out.raw("<section class=\"file\"").attr("id", &anchor).attr("data-version", &version(view));
    out.attr("aria-labelledby", &format!("{anchor}-name")).raw(" tabindex=\"-1\"");
    if is_deferred {
        out.attr("data-part", &format!("/part/file?{query}"));
    }
    out.raw("><header><button type=\"button\" class=\"fold js\" aria-expanded=\"true\" aria-label=\"Fold the file\"></button><h2");
    out.attr("id", &format!("{anchor}-name"))
        .raw("><a")
        .attr("href", &format!("/file?{query}"))
        .attr("title", "The history of this file");
    out.raw("><bdi>");
    let shown = shown_path(&view.below_root);
    let name = shown.rfind('/').map_or(0, |at| at + 1);
    out.raw("<span class=\"dir\">").text(&shown[..name]).raw("</span>").text(&shown[name..]).raw("</bdi></a></h2>");
    if view.kind != "update" {
        out.element("span", &format!("badge {}", view.kind), kind_label(view.kind));
    }
    if let Some(from) = &view.moved_from {
        out.raw("<span class=\"from\">from <bdi>").text(&shown_path(from)).raw("</bdi></span>");
    }
    if let (Some(before), Some(after)) = (view.before, view.after)
        && before.mode != after.mode
    {
        out.element("span", "badge", &format!("mode {:o} → {:o}", before.mode, after.mode));
    }
    timeline::stat(out, view.added, view.removed);
    out.raw("<span class=\"spring\"></span><label class=\"viewed js\"><input type=\"checkbox\" data-key=\"v\">Viewed</label>");
    let path = view.path.as_os_str().as_bytes();
    let mut fields = scope_fields(scope);
    fields.push(("path", path));
    let undo = ActionButton {
        verb: "undo_change",
        label: "Undo file",
        hint: "Undo all changes of this file",
        class: "quiet",
        key: "",
    };
    button(out, page, &undo, &fields);
    out.raw("</header>");
}

fn kind_label(kind: &str) -> &str {
    match kind {
        "create" => "new",
        "delete" => "deleted",
        "move" => "moved",
        other => other,
    }
}

fn hunks(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, view: &FileView, text: &TextDifference) {
    if text.hunks.is_empty() {
        out.raw("<p class=\"empty\">The text is the same before and after.</p>");
    }
    let mut next_line = 1;
    let mut delta = 0isize;
    for hunk in &text.hunks {
        let first = hunk.new_start + usize::from(hunk.new_lines == 0);
        gap(out, scope, view, next_line..first, delta, true);
        one(out, page, scope, view, text, hunk);
        next_line = first + hunk.new_lines;
        let old_next = hunk.old_start + usize::from(hunk.old_lines == 0) + hunk.old_lines;
        delta = old_next.cast_signed() - next_line.cast_signed();
    }
    if !text.hunks.is_empty() && view.after.is_some() {
        gap(out, scope, view, next_line..text.new_lines + 1, delta, false);
    }
    let omitted: usize = text.hunks.iter().map(|hunk| hunk.omitted.lines()).sum();
    if omitted > 0 && !page.fields.flag("full") {
        let address = format!("{}&full=1", file_query(scope, view));
        out.raw("<p class=\"rest\"><a")
            .attr("href", &format!("/file?{address}"))
            .attr("data-card", &format!("/part/file?{address}"));
        out.raw(">Show ").number(omitted as u64).raw(" more lines of this change</a></p>");
    }
}

/// Adds the place of unchanged lines that can be shown. `is_above`: those next to the following hunk come first.
fn gap(
    out: &mut Html,
    scope: &ChangeScope,
    view: &FileView,
    lines: std::ops::Range<usize>,
    delta: isize,
    is_above: bool,
) {
    if lines.is_empty() || view.after.is_none() || view.before.is_none() {
        return;
    }
    let query = file_query(scope, view);
    let way = if is_above { "up" } else { "down" };
    let address = format!("/part/lines?{query}&first={}&last={}&delta={delta}&way={way}", lines.start, lines.end - 1);
    out.raw("<div class=\"gap\"><a").attr("href", &format!("/file?{query}&all=1")).attr("data-lines", &address);
    out.raw("><span aria-hidden=\"true\">⋯</span> ").number(lines.len() as u64).raw(" unchanged lines</a></div>");
}

/// Returns the rows of unchanged lines, and the rest of the place.
///
/// Errors: those of the history.
pub(crate) fn lines_part(page: &PageContext<'_>) -> Result<String> {
    let (scope, path) = named(page)?;
    let fields = page.fields;
    let (first, last) = (fields.number("first").unwrap_or(1).max(1), fields.number("last").unwrap_or(1));
    let delta: isize = fields.text("delta").and_then(|text| text.parse().ok()).unwrap_or(0);
    let is_up = fields.text("way") == Some("up");
    let count = (last + 1).saturating_sub(first).min(MORE_LINES);
    let range = if is_up {
        LineRange { first: last + 1 - count, last }
    } else {
        LineRange { first, last: first + count.max(1) - 1 }
    };
    let version = page.state.engine.version_lines(&page.state.caller, &scope, &path, OperationSide::After, range)?;
    let wanted = |view: &FileView| view.path == path;
    let found = page.state.engine.scope_files(&scope, &wanted, 0..1)?;
    let mut out = Html::default();
    let rest = if is_up { first..range.first } else { range.last + 1..last + 1 };
    if let (Some(view), true) = (found.files.first(), is_up) {
        gap(&mut out, &scope, view, rest.clone(), delta, true);
    }
    out.raw("<table class=\"diff\"><tbody>");
    for (text, number) in version.lines.iter().zip(range.first..) {
        let old = number.saturating_add_signed(delta);
        let shown = CodeLine { text, colors: of_line(&version.colors, number), changed: &[] };
        hunk::kept_row(&mut out, page.preferences.split, old, number, shown);
    }
    out.raw("</tbody></table>");
    if let (Some(view), false) = (found.files.first(), is_up) {
        gap(&mut out, &scope, view, rest, delta, false);
    }
    Ok(out.into_string())
}

fn one(
    out: &mut Html,
    page: &PageContext<'_>,
    scope: &ChangeScope,
    view: &FileView,
    text: &TextDifference,
    hunk: &DiffHunk,
) {
    let state = text.states.get(hunk.number - 1).copied().unwrap_or(HunkState::Unknown);
    let anchor = format!("{}-{}", anchor(view), hunk.number);
    let (label, class) = match state {
        HunkState::InEffect => ("", "hunk"),
        HunkState::Undone => ("undone", "hunk undone"),
        HunkState::Changed => ("changed since", "hunk changed"),
        HunkState::Unknown => ("", "hunk"),
    };
    out.raw("<section").attr("class", class).attr("id", &anchor).raw(" tabindex=\"-1\"");
    let name = format!("Change {} of {} in {}", hunk.number, text.hunks.len(), shown_path(&view.below_root));
    out.attr("aria-label", &name).raw("><header><span class=\"range\">");
    out.text(&format!("@@ −{},{} +{},{}", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines))
        .raw("</span>");
    if !label.is_empty() {
        out.element("span", "badge state", label);
    }
    out.raw("<span class=\"spring\"></span>");
    out.raw("<button type=\"button\" class=\"quiet js\" data-key=\"a\" aria-pressed=\"false\" title=\"Mark as reviewed (a)\">Reviewed</button>");
    let number = hunk.number.to_string();
    let mut fields = scope_fields(scope);
    fields.extend([("path", view.path.as_os_str().as_bytes()), ("hunk", number.as_bytes())]);
    let is_undone = state == HunkState::Undone;
    let pressed = if is_undone {
        ActionButton {
            verb: "redo_change",
            label: "Redo",
            hint: "Make this change again (r)",
            class: "quiet",
            key: "r",
        }
    } else {
        ActionButton {
            verb: "undo_change",
            label: "Undo",
            hint: "Undo this change (x)",
            class: "quiet danger",
            key: "x",
        }
    };
    // A file that was created or deleted has no parts.
    if view.before.is_some() && view.after.is_some() {
        button(out, page, &pressed, &fields);
    }
    out.raw("</header>");
    hunk::table(out, page, text, hunk);
    out.raw("</section>");
}
