//! A file of a scope: its heading with buttons, and its hunks.

use crate::html::{Html, query_path};
use crate::pages::code::{CodeLine, of_line};
use crate::pages::form::{ActionButton, button, change_fields, hidden};
use crate::pages::{decisions, edit, hunk, image, timeline};
use crate::view::{PageContext, scope_of, scope_query, shown_path};
use emendate::core::explain::{DiffHunk, LineKind};
use emendate::core::{Code, Error, Result};
use emendate::{
    CellDifference, ChangeScope, Comment, FileDifference, FileView, HunkState, LineRange, OperationSide, TextDifference,
};
use emendate_os::ffi::OsStrExt as _;

/// Bytes of text that a file's hunks show at first.
const TEXT_BYTES_SENT: usize = 48 << 10;
/// Bytes of text that they show on request.
pub(crate) const TEXT_BYTES_MAX: usize = 1 << 20;
/// Unchanged lines that are added at once.
const MORE_LINES: usize = 30;

/// Returns the name of a file in the page.
pub(crate) fn anchor(view: &FileView) -> String {
    let hash = blake3::hash(view.path.as_os_str().as_bytes()).to_hex();
    format!("f-{}", hash.get(..12).unwrap_or_default())
}

/// Returns the fields that name a file of a scope, for an address.
pub(crate) fn file_query(scope: &ChangeScope, view: &FileView) -> String {
    format!("{}&path={}", scope_query(scope), query_path(&view.path))
}

/// Adds a file with its hunks.
pub(crate) fn card(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, view: &FileView) {
    let bytes = if page.fields.flag("full") { TEXT_BYTES_MAX } else { TEXT_BYTES_SENT };
    let engine = &page.state.engine;
    let found = page.state.changes(scope);
    let found = found.and_then(|changes| engine.review().difference(&page.state.caller, &changes, &view.path, bytes));
    open(out, page, scope, view, found.as_ref().ok());
    out.raw("<div class=\"body\">");
    match found {
        Ok(FileDifference::Text(text)) => match cells(page, scope, view, bytes) {
            Some(changed) => {
                cell_list(out, page, &changed);
                out.raw("<details class=\"as-text\"><summary>The same as text</summary>");
                hunks(out, page, scope, view, &text);
                out.raw("</details>");
            }
            None => hunks(out, page, scope, view, &text),
        },
        Ok(FileDifference::Binary { before, after }) => image::sides(out, scope, view, before, after),
        Ok(FileDifference::TooLarge) => {
            out.raw("<p class=\"empty\">The file is large, and changed since or has no record of this change alone. Its difference would need all of it.</p>");
        }
        Ok(FileDifference::NotKept) => {
            out.raw("<p class=\"empty\">The contents of this change were not kept: they were too large, or may hold secrets.</p>");
        }
        Err(error) => {
            out.raw("<p class=\"empty\">").text(error.message()).raw("</p>");
        }
    }
    out.raw("</div></section>");
}

/// The marks and comments of a person on a file of an operation.
#[derive(Default)]
pub(crate) struct FileRemarks {
    /// The operation; `None` for changes of several.
    pub(crate) operation: Option<String>,
    pub(crate) reviewed: Vec<u64>,
    comments: Vec<Comment>,
}

/// Returns the marks and comments of a file. Those of several operations together have none.
pub(crate) fn remarks(page: &PageContext<'_>, scope: &ChangeScope, view: &FileView) -> FileRemarks {
    let all = page.remarks(scope);
    let of_file = all.reviewed.iter().filter(|file| file.path == view.path);
    let comments = all.comments.iter().filter(|comment| comment.path.as_ref() == Some(&view.path));
    FileRemarks {
        operation: all.operation.clone(),
        reviewed: of_file.flat_map(|file| file.hunks.iter().copied()).collect(),
        comments: comments.cloned().collect(),
    }
}

/// Returns the cells that differ, if the file is a notebook.
fn cells(page: &PageContext<'_>, scope: &ChangeScope, view: &FileView, bytes: usize) -> Option<Vec<CellDifference>> {
    let is_notebook = view.path.extension().is_some_and(|extension| extension == "ipynb");
    let engine = &page.state.engine;
    is_notebook
        .then(|| engine.review().cell_differences(&page.state.caller, scope, &view.path, bytes).ok().flatten())
        .flatten()
}

/// Adds the cells of a notebook.
fn cell_list(out: &mut Html, page: &PageContext<'_>, changed: &[CellDifference]) {
    if changed.is_empty() {
        out.raw("<p class=\"empty\">No cell differs.</p>");
    }
    for cell in changed {
        out.raw("<section class=\"hunk cell\" tabindex=\"-1\"").attr("aria-label", &format!("Cell {}", cell.number));
        out.raw("><header><span class=\"range\">Cell ")
            .number(cell.number as u64)
            .raw(" · ")
            .text(&cell.kind)
            .raw("</span>");
        let state = if cell.is_added {
            "new"
        } else if cell.is_removed {
            "removed"
        } else {
            ""
        };
        if !state.is_empty() {
            out.element("span", "badge", state);
        }
        let (before, after) = cell.outputs;
        if before + after > 0 {
            out.element("span", "badge", &format!("outputs {before} → {after}"));
        }
        out.raw("</header>");
        for hunk in &cell.source.hunks {
            hunk::table(out, page, &cell.source, hunk);
        }
        out.raw("</section>");
    }
}

/// Adds a file that is fetched when it comes into view: until then, only its name.
pub(crate) fn deferred(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, view: &FileView) {
    let query = file_query(scope, view);
    start(out, page, view);
    out.attr("data-part", &format!("/part/file?{query}"))
        .raw("><header><h2><a")
        .attr("href", &format!("/file?{query}"));
    out.raw("><bdi>").text(&shown_path(&view.below_root)).raw("</bdi></a></h2>");
    timeline::stat(out, view.added, view.removed);
    out.raw("</header></section>");
}

/// Begins the element of a file.
fn start(out: &mut Html, page: &PageContext<'_>, view: &FileView) {
    out.raw("<section class=\"file\"").attr("id", &anchor(view)).attr("data-version", &view.versions());
    if is_viewed(page, view) {
        out.raw(" data-viewed=\"1\"");
    }
    out.raw(" tabindex=\"-1\"");
}

/// True if a person has ticked this change of a file.
pub(crate) fn is_viewed(page: &PageContext<'_>, view: &FileView) -> bool {
    page.state.ticks.has(&format!("{}:{}", anchor(view), view.versions()))
}

/// Returns a file alone.
///
/// Errors: `operation.not_found`, and those of the history.
pub(crate) fn part(page: &PageContext<'_>) -> Result<String> {
    let (scope, path) = named(page)?;
    let view = page.state.engine.review().scope_file(&*page.state.changes(&scope)?, &path)?;
    let mut out = Html::default();
    card(&mut out, page, &scope, &view);
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

/// Adds the heading of a file with its buttons.
fn open(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, view: &FileView, found: Option<&FileDifference>) {
    let anchor = anchor(view);
    let query = file_query(scope, view);
    start(out, page, view);
    out.attr("aria-labelledby", &format!("{anchor}-name"));
    out.raw("><header><button type=\"button\" class=\"fold js\" aria-expanded=\"true\" aria-label=\"Fold the file\"></button><h2");
    out.attr("id", &format!("{anchor}-name"))
        .raw("><a")
        .attr("href", &format!("/file?{query}"))
        .attr("title", "The history of this file");
    out.raw("><bdi>");
    let shown = shown_path(&view.below_root);
    let name = shown.rfind(std::path::is_separator).map_or(0, |at| at + 1);
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
    out.raw("<span class=\"spring\"></span><label class=\"viewed js\"><input type=\"checkbox\" data-key=\"v\"");
    out.raw(if is_viewed(page, view) { " checked" } else { "" }).raw(">Viewed</label>");
    decisions::file_buttons(out, page, scope, view, found);
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
    let has_changes_by_others =
        page.state.changes(scope).is_ok_and(|changes| changes.has_changes_by_others(&view.path));
    if has_changes_by_others {
        out.raw("<p class=\"empty\">Others changed this file during the turn: their changes are among these. “Undo file” leaves them as they are.</p>");
    }
    let remarks = remarks(page, scope, view);
    let mut next_line = 1;
    let mut delta = 0isize;
    for hunk in &text.hunks {
        let first = hunk.new_start + usize::from(hunk.new_lines == 0);
        if !text.is_partial {
            gap(out, scope, view, next_line..first, delta, true);
        }
        one(out, page, &HunkOfFile { scope, view, text, hunk, remarks: &remarks, has_changes_by_others });
        next_line = first + hunk.new_lines;
        let old_next = hunk.old_start + usize::from(hunk.old_lines == 0) + hunk.old_lines;
        delta = old_next.cast_signed() - next_line.cast_signed();
    }
    if !text.hunks.is_empty() && view.after.is_some() && !text.is_partial {
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

/// Adds a placeholder for unchanged lines that can be shown. If `is_above` is true, the lines next to the following
/// hunk are shown first.
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

/// Returns the rows of unchanged lines, and the placeholder for the remaining ones.
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
    let version =
        page.state.engine.review().version_lines(&page.state.caller, &scope, &path, OperationSide::After, range)?;
    let view = page.state.engine.review().scope_file(&*page.state.changes(&scope)?, &path)?;
    let mut out = Html::default();
    let rest = if is_up { first..range.first } else { range.last + 1..last + 1 };
    if is_up {
        gap(&mut out, &scope, &view, rest.clone(), delta, true);
    }
    out.raw("<table class=\"diff\"><tbody>");
    for (text, number) in version.lines.iter().zip(range.first..) {
        let old = number.saturating_add_signed(delta);
        let shown = CodeLine { text, colors: of_line(&version.colors, number), changed: &[] };
        hunk::kept_row(&mut out, page.preferences.split, old, number, shown);
    }
    out.raw("</tbody></table>");
    if !is_up {
        gap(&mut out, &scope, &view, rest, delta, false);
    }
    Ok(out.into_string())
}

/// A hunk with everything that is shown around it.
struct HunkOfFile<'a> {
    scope: &'a ChangeScope,
    view: &'a FileView,
    text: &'a TextDifference,
    hunk: &'a DiffHunk,
    remarks: &'a FileRemarks,
    /// The hunks are not those of the turn alone.
    has_changes_by_others: bool,
}

fn one(out: &mut Html, page: &PageContext<'_>, shown: &HunkOfFile<'_>) {
    let HunkOfFile { view, text, hunk, remarks, .. } = shown;
    let state = text.states.get(hunk.number - 1).copied().unwrap_or(HunkState::Unknown);
    let anchor = format!("{}-{}", anchor(view), hunk.number);
    let (label, class) = match state {
        HunkState::InEffect | HunkState::Unknown => ("", "hunk"),
        HunkState::Undone => ("undone", "hunk undone"),
        HunkState::Changed => ("changed since", "hunk changed"),
    };
    let is_reviewed = decisions::is_kept(page, view, hunk, remarks);
    let class = if is_reviewed { format!("{class} reviewed") } else { class.to_owned() };
    out.raw("<section").attr("class", &class).attr("id", &anchor).raw(" tabindex=\"-1\"");
    if remarks.operation.is_some() {
        out.raw(" data-marked=\"1\"");
    }
    let name = format!("Change {} of {} in {}", hunk.number, text.hunks.len(), shown_path(&view.below_root));
    out.attr("aria-label", &name).raw("><header><span class=\"range\">");
    let range = format!("@@ −{},{} +{},{}", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
    out.text(&range).raw("</span>");
    if !label.is_empty() {
        out.element("span", "badge state", label);
    }
    out.raw("<span class=\"spring\"></span>");
    hunk_buttons(out, page, shown, state, is_reviewed);
    out.raw("</header>");
    hunk::table(out, page, text, hunk);
    comments(out, page, shown);
    out.raw("</section>");
}

/// Returns the name of the tick of a hunk among the changes of several operations: it ends when the file changes, and
/// is not that of a hunk of another comparison, which may have more lines.
pub(crate) fn hunk_tick(view: &FileView, hunk: &DiffHunk) -> String {
    format!("{}:{}:{}-{}", anchor(view), view.versions(), hunk.old_start, hunk.new_start)
}

/// Adds the buttons of a hunk.
fn hunk_buttons(out: &mut Html, page: &PageContext<'_>, shown: &HunkOfFile<'_>, state: HunkState, is_reviewed: bool) {
    let HunkOfFile { scope, view, hunk, remarks, has_changes_by_others, .. } = shown;
    let (number, versions) = (hunk.number.to_string(), view.versions());
    let mut fields = change_fields(scope, view, &versions);
    fields.push(("hunk", number.as_bytes()));
    if remarks.operation.is_some() {
        let (label, next) = if is_reviewed { ("Kept ✓", b"0") } else { ("Keep", b"1") };
        let hint = "Keep this change, or decide again (a)";
        let mark = ActionButton { verb: "keep", label, hint, class: "quiet", key: "a" };
        let fields: Vec<(&str, &[u8])> = fields.iter().copied().chain([("on", &next[..])]).collect();
        button(out, page, &mark, &fields);
    } else {
        out.raw("<button type=\"button\" class=\"quiet js\" data-key=\"a\"");
        out.attr("data-tick", &hunk_tick(view, hunk)).attr("aria-pressed", if is_reviewed { "true" } else { "false" });
        out.raw(" title=\"Keep this change, or decide again (a)\">Keep</button>");
    }
    if *has_changes_by_others {
        return;
    }
    let pressed = if state == HunkState::Undone {
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
    if !page.state.options.read_only && view.after.is_some() && edit::can_edit(hunk, state) {
        let address = format!("/edit?{}&hunk={number}&versions={versions}", file_query(scope, view));
        out.raw("<a class=\"button quiet\" data-key=\"i\" title=\"Edit these lines (i)\"")
            .attr("href", &address)
            .raw(">Edit</a>");
    }
    // A file that was created or deleted has no parts.
    if view.before.is_some() && view.after.is_some() {
        button(out, page, &pressed, &fields);
    }
}

/// Adds the comments on a hunk, and the form for another one.
fn comments(out: &mut Html, page: &PageContext<'_>, shown: &HunkOfFile<'_>) {
    let HunkOfFile { view, text, hunk, remarks, .. } = shown;
    let Some(operation) = &remarks.operation else { return };
    let first = hunk.new_start as u64;
    // A comment on a line outside of all hunks is shown with the last hunk before it.
    let next = text.hunks.get(hunk.number).map_or(u64::MAX, |next| next.new_start as u64);
    let is_first = hunk.number == 1;
    for comment in &remarks.comments {
        let line = comment.line.unwrap_or(0);
        if !(line < next && (line >= first || is_first)) {
            continue;
        }
        out.raw("<div class=\"comment\"><p class=\"meta\">");
        if line > 0 {
            out.raw("Line ").number(line).raw(" · ");
        }
        out.raw(if comment.is_delivered { "delivered" } else { "reaches the agent with its next reply" });
        out.raw("</p><p>").text(&comment.text).raw("</p>");
        let delete = ActionButton {
            verb: "delete_comment",
            label: "Delete",
            hint: "Delete the comment",
            class: "quiet",
            key: "",
        };
        button(out, page, &delete, &[("id", comment.id.as_bytes())]);
        out.raw("</div>");
    }
    if page.state.options.read_only {
        return;
    }
    let line = hunk.lines.iter().take_while(|line| line.kind == LineKind::Kept).count() + hunk.new_start;
    out.raw("<details class=\"write-comment\"><summary data-key=\"c\" title=\"Comment (c)\">Comment</summary><form method=\"post\" action=\"/act\" class=\"act wide\">");
    hidden(out, "csrf", page.csrf.as_bytes());
    hidden(out, "do", b"comment");
    hidden(out, "op", operation.as_bytes());
    hidden(out, "path", view.path.as_os_str().as_bytes());
    out.raw("<label>Line<input type=\"number\" name=\"line\" min=\"1\"").attr("value", &line.to_string());
    out.raw("></label><label>Comment for the agent<textarea name=\"text\" rows=\"3\" required></textarea></label><div class=\"actions\"><button>Comment</button></div></form></details>");
}
