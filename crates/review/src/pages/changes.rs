//! The changes of a scope: their description, their files, and the differences of those on the screen.

use crate::html::Html;
use crate::pages::form::{ActionButton, button, scope_fields};
use crate::pages::frame::{self, NavItem};
use crate::pages::{file, timeline, tree};
use crate::view::{PageContext, path_contains, scope_address};
use emendate::core::Result;
use emendate::{
    ChangeScope, FileView, OperationCompletion, OperationPurpose, OperationQuery, OperationView, ScopeFiles,
};

/// Files of one page.
pub(crate) const FILES_PER_PAGE: usize = 50;
/// Files whose differences are sent with the page; others are fetched when they come into view.
const FILES_SENT: usize = 5;
/// Bytes of HTML after which no further differences are sent with the page.
const SENT_BYTES_MAX: usize = 200 << 10;

/// Shows the newest operation.
///
/// Errors: those of the history.
pub(crate) fn latest(page: &PageContext<'_>) -> Result<String> {
    let mut query = OperationQuery { most: 20, ..OperationQuery::default() };
    query.session = page.fields.text("session").map(str::to_owned);
    let found = page.state.engine.review().operations(&query)?;
    let newest = found.operations.iter().find(|view| view.purpose != OperationPurpose::Mark);
    match newest {
        Some(view) => scope_page(page, &ChangeScope::Operation(view.id.clone()), NavItem::History, None),
        None => Ok(frame::page(page, "History", NavItem::History, "", welcome())),
    }
}

fn welcome() -> Html {
    let mut out = Html::default();
    out.raw(
        "<div class=\"welcome\"><h1>Nothing has been changed yet</h1><p>This page shows each change as it is made: by agents \
         through their edit tools, and by shells and editors as they are noticed.</p><p>Install the tools with \
         <code>emend mcp install claude-code</code>, or try <code>emend edit FILE --old TEXT --new TEXT</code>.</p></div>",
    );
    out
}

/// Shows a scope.
///
/// Errors: those of the history.
pub(crate) fn page(page: &PageContext<'_>, scope: &ChangeScope) -> Result<String> {
    scope_page(page, scope, NavItem::History, None)
}

/// Shows a scope below a heading of its own.
///
/// Errors: those of the history.
pub(crate) fn scope_page(
    page: &PageContext<'_>,
    scope: &ChangeScope,
    nav_item: NavItem,
    heading: Option<&str>,
) -> Result<String> {
    let engine = &page.state.engine;
    let words = page.fields.text("files").unwrap_or_default().to_lowercase();
    let start = page.fields.number("start").unwrap_or(0);
    let below = page.fields.path("below");
    let wanted = |file: &FileView| {
        path_contains(&file.below_root, &words) && below.as_ref().is_none_or(|below| file.below_root.starts_with(below))
    };
    let part = start..start.saturating_add(FILES_PER_PAGE);
    let changes = page.state.changes(scope)?;
    let is_filtered = is_filtered(page);
    let found = engine.review().scope_files(&changes, if is_filtered { Some(&wanted) } else { None }, part);
    let operation = match scope {
        ChangeScope::Operation(id) | ChangeScope::Turn(id) => Some(engine.review().operation(id, 0..0)?),
        ChangeScope::Between(..) => None,
    };
    let mut main = Html::default();
    let all = if is_filtered { engine.review().scope_files(&changes, None, 0..0).total } else { found.total };
    let whole = WholeScope { scope, operation: operation.as_ref(), files: all, versions: changes.versions() };
    head(&mut main, page, &whole, &found, heading);
    main.raw("<div class=\"changes\">");
    tree::files(&mut main, page, scope, &found);
    main.raw("<div class=\"diffs\">");
    if found.files.is_empty() {
        let none = if is_filtered { "No file has such a name." } else { "These changes have no file." };
        main.raw("<p class=\"empty\">").text(none).raw("</p>");
    }
    let begun = main.len();
    for (nth, view) in found.files.iter().enumerate() {
        if nth < FILES_SENT && main.len() - begun < SENT_BYTES_MAX && !engine.review().is_large(&view.path) {
            file::card(&mut main, page, scope, view);
        } else {
            file::deferred(&mut main, page, scope, view);
        }
    }
    pager(&mut main, page, scope, &found, start);
    main.raw("</div></div>");
    let (title, selected) = match (scope, &operation) {
        (ChangeScope::Turn(id), _) => (format!("Turn of {id}"), format!("turn {id}")),
        (_, Some(view)) => (format!("{} {}", view.tool, view.id), view.id.clone()),
        (_, None) => (heading.unwrap_or("Changes").to_owned(), String::new()),
    };
    Ok(frame::page(page, &title, nav_item, &selected, main))
}

/// True if the page lists only files with some words in their paths, or those below a directory.
pub(crate) fn is_filtered(page: &PageContext<'_>) -> bool {
    page.fields.text("files").is_some() || page.fields.path("below").is_some()
}

/// Adds links to the pages of many files.
fn pager(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, found: &ScopeFiles, start: usize) {
    if found.total <= FILES_PER_PAGE {
        return;
    }
    let scope = scope_address(scope);
    let address = format!("{scope}{}start=", if scope.contains('?') { '&' } else { '?' });
    let words = page.fields.text("files").map(|words| format!("&files={}", crate::html::query_text(words)));
    let below = page.fields.path("below").map(|below| format!("&below={}", crate::html::query_path(&below)));
    let words = words.unwrap_or_default() + &below.unwrap_or_default();
    out.raw("<nav class=\"pager\" aria-label=\"Pages of files\">");
    if start > 0 {
        add_link(out, &format!("{address}{}{words}", start.saturating_sub(FILES_PER_PAGE)), "Previous files");
    }
    let last = (start + found.files.len()).min(found.total);
    out.raw("<span>Files ")
        .number((start + 1) as u64)
        .raw(" to ")
        .number(last as u64)
        .raw(" of ")
        .number(found.total as u64);
    out.raw("</span>");
    if last < found.total {
        add_link(out, &format!("{address}{last}{words}"), "Next files");
    }
    out.raw("</nav>");
}

/// Adds a link to an address of this server.
fn add_link(out: &mut Html, address: &str, label: &str) {
    out.raw("<a").attr("href", address).raw(">").text(label).raw("</a>");
}

/// All changes of a scope, also those of files that the page does not list.
struct WholeScope<'a> {
    scope: &'a ChangeScope,
    /// The operation, or one of the turn.
    operation: Option<&'a OperationView>,
    /// The number of files.
    files: usize,
    /// The versions that forms name.
    versions: String,
}

/// Adds a description of the changes, and the buttons for all of them.
fn head(out: &mut Html, page: &PageContext<'_>, whole: &WholeScope<'_>, found: &ScopeFiles, heading: Option<&str>) {
    let WholeScope { scope, operation, .. } = *whole;
    out.raw("<header class=\"scope\"><div class=\"title\"><h1>");
    match (heading, scope, operation) {
        (Some(heading), ..) => out.text(heading),
        (None, ChangeScope::Turn(_), Some(view)) => out.text("Turn of ").text(&timeline::actor(view).0),
        (None, _, Some(view)) => title(out, view),
        (None, ChangeScope::Between(from, to), _) => out.text("From ").text(from).text(" to ").text(to),
        _ => out.text("Changes"),
    };
    out.raw("</h1><span class=\"spring\"></span><span class=\"progress js\" aria-live=\"polite\"></span>");
    out.raw("<span class=\"files-count\">").number(found.total as u64).raw(if found.total == 1 {
        " file"
    } else {
        " files"
    });
    out.raw("</span>");
    timeline::stat(out, found.added, found.removed);
    out.raw("</div>");
    if let (Some(view), false) = (operation, matches!(scope, ChangeScope::Turn(_))) {
        details(out, view);
    }
    out.raw("<div class=\"actions\">");
    actions(out, page, whole);
    out.raw("<span class=\"spring\"></span>");
    view_links(out, page, scope);
    out.raw("</div></header>");
}

/// Adds the title of an operation.
fn title<'h>(out: &'h mut Html, view: &OperationView) -> &'h mut Html {
    let verb = match view.purpose {
        OperationPurpose::Edit => view.tool.clone(),
        OperationPurpose::Outside => "Changed by others".to_owned(),
        OperationPurpose::Mark => format!("Mark {}", view.note),
        OperationPurpose::Undo => format!("Undo of {}", view.undoes.join(", ")),
        OperationPurpose::Redo => format!("Redo of {}", view.undoes.join(", ")),
    };
    out.text(&verb).raw(" <span class=\"id\">").text(&view.id).raw("</span>")
}

/// Adds the details of an operation, such as its time, its author and its format.
fn details(out: &mut Html, view: &OperationView) {
    out.raw("<dl class=\"details\">");
    let when = timeline::local(view.at).format("%Y-%m-%d %H:%M:%S").to_string();
    add_detail(out, "when", &when);
    add_detail(out, "by", &timeline::actor(view).0);
    if !view.model.is_empty() {
        add_detail(out, "model", &view.model);
    }
    if !view.format.is_empty() {
        add_detail(out, "format", &view.format);
    }
    if !view.note.is_empty() && view.purpose != OperationPurpose::Mark {
        add_detail(out, "notes", &view.note);
    }
    let completion = match view.completion {
        OperationCompletion::Done => "",
        OperationCompletion::Partial => "some edits were skipped, as the caller allowed",
        OperationCompletion::Unknown => "its process ended during it, so it may be incomplete",
        OperationCompletion::Pending => "not finished",
    };
    if !completion.is_empty() {
        add_detail(out, "completed", completion);
    }
    if !view.keeps_content {
        add_detail(out, "contents", "not stored, because the files may hold secrets");
    }
    if let Some(last) = &view.reversal {
        add_detail(out, if last.is_undone { "undone by" } else { "redone by" }, &last.by);
    }
    out.raw("</dl>");
}

/// Adds a name and its value to a list of details.
pub(super) fn add_detail(out: &mut Html, name: &str, value: &str) {
    out.raw("<div><dt>").text(name).raw("</dt><dd>").text(value).raw("</dd></div>");
}

/// Adds the buttons for all of the changes.
fn actions(out: &mut Html, page: &PageContext<'_>, whole: &WholeScope<'_>) {
    let WholeScope { scope, operation, files, ref versions } = *whole;
    match (scope, operation) {
        (ChangeScope::Turn(id), _) => {
            let undo = ActionButton {
                verb: "undo_turn",
                label: "Undo turn",
                hint: "Undo everything of this turn, in all of its files or none (X)",
                class: "danger",
                key: "X",
            };
            button(out, page, &undo, &[("id", id.as_bytes()), ("versions", versions.as_bytes())]);
        }
        (ChangeScope::Operation(_), Some(view)) if view.purpose != OperationPurpose::Mark => {
            let undone_by = view.reversal.as_ref().filter(|last| last.is_undone).map(|last| last.by.clone());
            let is_undo = view.purpose == OperationPurpose::Undo;
            let (label, hint) = match (&undone_by, is_undo) {
                (Some(_), _) => ("Redo operation", "Do again what was undone (X)"),
                (None, true) => ("Redo what it undid", "Take this undo back (X)"),
                (None, false) => ("Undo operation", "Undo it in all of its files, or in none (X)"),
            };
            let id = match &view.reversal {
                Some(last) => last.by.clone(),
                None => view.id.clone(),
            };
            let class = if undone_by.is_some() || is_undo { "" } else { "danger" };
            button(out, page, &ActionButton { verb: "undo", label, hint, class, key: "X" }, &[("id", id.as_bytes())]);
        }
        _ => {}
    }
    let is_mark = operation.is_some_and(|view| view.purpose == OperationPurpose::Mark);
    if !is_mark && files > 0 {
        let label = match (scope, files) {
            (ChangeScope::Operation(_), 1) => "Keep operation".to_owned(),
            (ChangeScope::Operation(_), files) => format!("Keep operation ({files} files)"),
            (ChangeScope::Turn(_), 1) => "Keep turn".to_owned(),
            (ChangeScope::Turn(_), files) => format!("Keep turn ({files} files)"),
            (ChangeScope::Between(..), 1) => "Keep all".to_owned(),
            (ChangeScope::Between(..), files) => format!("Keep all {files} files"),
        };
        let mut fields = scope_fields(scope);
        fields.extend([("versions", versions.as_bytes()), ("on", b"1")]);
        let hint = "Keep all of these changes, also those that are not on the screen (A)";
        button(out, page, &ActionButton { verb: "keep", label: &label, hint, class: "", key: "A" }, &fields);
    }
    if let Some(view) = operation {
        if matches!(scope, ChangeScope::Operation(_)) {
            out.raw("<a class=\"button\"").attr("href", &format!("/turn/{}", view.id)).raw(">Whole turn</a>");
        }
        let since = format!("/between?from={}%5E&to=now", crate::html::query_text(&view.id));
        out.raw("<a class=\"button\"").attr("href", &since).raw(">From here to now</a>");
    }
}

/// Adds the links that change how differences are shown.
fn view_links(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope) {
    let address = scope_address(scope);
    let sign = if address.contains('?') { '&' } else { '?' };
    let split = page.preferences.split;
    let (value, label) = if split { ("unified", "Unified") } else { ("split", "Side by side") };
    out.raw("<a class=\"button\" data-key=\"s\" title=\"Side by side or unified (s)\"");
    out.attr("href", &format!("{address}{sign}layout={value}")).raw(">").text(label).raw("</a>");
    let (value, label) = if page.preferences.ignore_space {
        ("show", "Show white space changes")
    } else {
        ("hide", "Hide white space changes")
    };
    out.raw("<a class=\"button\" data-key=\"w\" title=\"Mark or ignore white space (w)\"");
    out.attr("href", &format!("{address}{sign}ws={value}")).raw(">").text(label).raw("</a>");
}
