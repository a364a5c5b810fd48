//! The timeline: operations, grouped by turns.

use crate::html::{Html, query_text};
use crate::request::Fields;
use crate::view::{PageContext, path_contains, shown_path};
use chrono::{DateTime, Local};
use emendate::core::Result;
use emendate::{OperationCompletion, OperationPurpose, OperationQuery, OperationView};
use std::fmt::Write as _;

/// Operations of one page.
const OPERATIONS_PER_PAGE: usize = 60;
/// Operations that are read for a page that filters.
const OPERATIONS_SEARCHED_MAX: usize = 600;
/// Files that an operation of the list names.
const FILES_NAMED: usize = 1;

/// Adds the list with its filters.
pub(crate) fn list(out: &mut Html, page: &PageContext<'_>, selected: &str) {
    filters(out, page);
    out.raw("<div id=\"operations\">");
    if let Err(error) = operations(out, page, selected) {
        out.raw("<p class=\"notice bad\">").text(error.message()).raw("</p>");
    }
    out.raw("</div>");
}

/// Returns the list alone.
///
/// Errors: those of the history.
pub(crate) fn part(page: &PageContext<'_>) -> Result<String> {
    let mut out = Html::default();
    operations(&mut out, page, page.fields.text("selected").unwrap_or_default())?;
    Ok(out.into_string())
}

fn filters(out: &mut Html, page: &PageContext<'_>) {
    let fields = page.fields;
    out.raw("<form class=\"filters\" method=\"get\" action=\"/\" role=\"search\"><label class=\"hidden\" for=\"q\">Search the history</label>");
    out.raw("<input type=\"search\" id=\"q\" name=\"q\" placeholder=\"Search\" title=\"A file, session, model, tool, note or operation (/)\"");
    out.attr("value", fields.text("q").unwrap_or_default())
        .raw("><label class=\"hidden\" for=\"kind\">Show</label><select id=\"kind\" name=\"kind\">");
    let chosen = fields.text("kind").unwrap_or_default();
    for (value, label) in [
        ("", "Everything"),
        ("edit", "Edits"),
        ("outside", "Changes by others"),
        ("undo", "Undone and redone"),
        ("mark", "Marks"),
    ] {
        out.raw("<option").attr("value", value);
        if value == chosen {
            out.raw(" selected");
        }
        out.raw(">").text(label).raw("</option>");
    }
    out.raw("</select>");
    workspaces(out, page);
    models(out, page);
    out.raw("<button class=\"nojs\">Filter</button></form>");
    out.raw(
        "<details class=\"compare\"><summary>Compare two moments</summary><form method=\"get\" action=\"/between\">",
    );
    out.raw("<label>From after a mark or an operation<input type=\"text\" name=\"from\" required placeholder=\"before-refactoring, or 17\"></label>");
    out.raw("<label>To<input type=\"text\" name=\"to\" value=\"now\"></label><button>Compare</button></form>");
    mark(out, page);
    out.raw("</details>");
}

/// Adds the filter for workspaces, if there are several.
fn workspaces(out: &mut Html, page: &PageContext<'_>) {
    let names = page.state.engine.review().workspaces();
    if names.len() < 2 {
        return;
    }
    out.raw("<label class=\"hidden\" for=\"root\">Workspace</label><select id=\"root\" name=\"root\"><option value=\"\">All workspaces</option>");
    for (index, name) in names.iter().enumerate() {
        out.raw("<option").attr("value", &index.to_string());
        if page.fields.number("root") == Some(index) {
            out.raw(" selected");
        }
        out.raw(">").text(&shown_path(name)).raw("</option>");
    }
    out.raw("</select>");
}

/// Adds the filter for models, if any is known.
fn models(out: &mut Html, page: &PageContext<'_>) {
    let models = page.state.engine.review().models();
    if models.is_empty() {
        return;
    }
    out.raw("<label class=\"hidden\" for=\"model\">Model</label><select id=\"model\" name=\"model\"><option value=\"\">All models</option>");
    for model in &models {
        out.raw("<option").attr("value", model);
        if page.fields.text("model") == Some(model) {
            out.raw(" selected");
        }
        out.raw(">").text(model).raw("</option>");
    }
    out.raw("</select>");
}

/// Adds the form that gives this moment a name.
fn mark(out: &mut Html, page: &PageContext<'_>) {
    if page.state.options.read_only {
        return;
    }
    out.raw("<form method=\"post\" action=\"/act\" class=\"act wide\">");
    crate::pages::form::hidden(out, "csrf", page.csrf.as_bytes());
    crate::pages::form::hidden(out, "do", b"mark");
    out.raw("<label>Name of a mark<input type=\"text\" name=\"name\" required placeholder=\"before-release\"></label><button>Mark this moment</button></form>");
}

/// The filters above the list.
struct TimelineFilter<'a> {
    words: &'a str,
    kind: &'a str,
    model: &'a str,
    root: Option<usize>,
}

impl<'a> TimelineFilter<'a> {
    fn of(fields: &'a Fields) -> TimelineFilter<'a> {
        let text = |name| fields.text(name).unwrap_or_default();
        TimelineFilter { words: text("q"), kind: text("kind"), model: text("model"), root: fields.number("root") }
    }

    /// True if it selects some operations only.
    fn is_set(&self) -> bool {
        !self.words.is_empty() || !self.kind.is_empty() || !self.model.is_empty() || self.root.is_some()
    }
}

/// True for an operation that the filters select.
fn is_wanted(view: &OperationView, filter: &TimelineFilter<'_>) -> bool {
    let TimelineFilter { words, kind, model, root } = *filter;
    let of_kind = match kind {
        "edit" => view.purpose == OperationPurpose::Edit,
        "outside" => view.purpose == OperationPurpose::Outside,
        "undo" => matches!(view.purpose, OperationPurpose::Undo | OperationPurpose::Redo) || view.reversal.is_some(),
        "mark" => view.purpose == OperationPurpose::Mark,
        _ => true,
    };
    of_kind
        && root.is_none_or(|root| view.root == root)
        && (model.is_empty() || view.model == model)
        && words.split_whitespace().all(|word| contains_word(view, &word.to_lowercase()))
}

/// True for an operation with this lower-case word in its fields or in the path of a file.
fn contains_word(view: &OperationView, word: &str) -> bool {
    [&view.id, &view.session, &view.model, &view.tool, &view.format, &view.note]
        .into_iter()
        .any(|text| text.to_lowercase().contains(word))
        || view.files.iter().any(|file| {
            [Some(&file.below_root), file.moved_from.as_ref()]
                .into_iter()
                .flatten()
                .any(|path| path_contains(path, word))
        })
}

fn operations(out: &mut Html, page: &PageContext<'_>, selected: &str) -> Result<()> {
    let fields = page.fields;
    let filter = TimelineFilter::of(fields);
    let is_filtered = filter.is_set();
    let mut query = OperationQuery {
        from: fields.text("after").map(str::to_owned),
        session: fields.text("session").map(str::to_owned),
        path: fields.path("path").filter(|_| fields.flag("only")),
        most: OPERATIONS_PER_PAGE,
        // A file may be any one of its operation.
        files: if filter.words.is_empty() { FILES_NAMED } else { usize::MAX },
    };
    let mut shown = Vec::new();
    let mut searched = 0;
    let next = loop {
        let found = page.state.engine.review().operations(&query)?;
        searched += found.operations.len();
        shown.extend(found.operations.into_iter().filter(|view| is_wanted(view, &filter)));
        query.from = found.next;
        let is_full = !is_filtered || shown.len() >= OPERATIONS_PER_PAGE || searched >= OPERATIONS_SEARCHED_MAX;
        if query.from.is_none() || is_full {
            break query.from.take();
        }
    };
    if shown.is_empty() {
        let none =
            if is_filtered { "Nothing matches." } else { "Nothing has been changed yet. What agents do appears here." };
        out.raw("<p class=\"empty\">").text(none).raw("</p>");
    }
    groups(out, page, &shown, selected);
    if let Some(next) = next {
        let mut address = format!("after={}", query_text(&next));
        for name in ["q", "kind", "root", "model", "session"] {
            if let Some(value) = fields.text(name) {
                // Writing to a String cannot fail.
                let _ = write!(address, "&{name}={}", query_text(value));
            }
        }
        out.raw("<a class=\"more\"")
            .attr("href", &format!("/?{address}"))
            .attr("data-part", &format!("/part/timeline?{address}"));
        out.raw(">Older operations</a>");
    }
    Ok(())
}

/// Adds the operations by turns.
fn groups(out: &mut Html, page: &PageContext<'_>, shown: &[OperationView], selected: &str) {
    let mut day = String::new();
    for group in shown.chunk_by(|left, right| left.turn == right.turn) {
        let Some(first) = group.first() else { continue };
        let date = local(first.at).format("%A, %-d %B %Y").to_string();
        if date != day {
            out.element("h2", "day", &date);
            day = date;
        }
        out.raw("<section class=\"turn\"><header>");
        let (added, removed) = group.iter().fold((0, 0), |sum, it| (sum.0 + it.added, sum.1 + it.removed));
        let (name, class) = actor(first);
        out.raw("<span").attr("class", class).attr("title", &first.session).raw("></span>");
        if group.len() > 1 {
            out.raw("<a class=\"who\"").attr("href", &format!("/turn/{}", first.id));
            if selected == format!("turn {}", first.id) {
                out.raw(" aria-current=\"true\"");
            }
            out.raw(">").text(&name).raw("</a>");
            out.raw("<span class=\"count\">").number(group.len() as u64).raw(" operations</span>");
        } else {
            out.element("span", "who", &name);
        }
        out.raw("<span class=\"spring\"></span>");
        stat(out, added, removed);
        out.raw("</header><ol>");
        for view in group {
            operation(out, page, view, selected);
        }
        out.raw("</ol></section>");
    }
}

/// Returns who made an operation: a name, and the class of its sign.
pub(crate) fn actor(view: &OperationView) -> (String, &'static str) {
    match view.purpose {
        OperationPurpose::Outside => ("changed by others".to_owned(), "actor others"),
        _ if view.session.starts_with("review-") => ("you, on this page".to_owned(), "actor you"),
        _ if view.session.starts_with("cli-") => ("command line".to_owned(), "actor you"),
        _ if view.session.is_empty() => ("no session".to_owned(), "actor"),
        _ => (view.session.clone(), "actor agent"),
    }
}

fn operation(out: &mut Html, _: &PageContext<'_>, view: &OperationView, selected: &str) {
    let mut class = match view.purpose {
        OperationPurpose::Edit => "op edit",
        OperationPurpose::Outside => "op outside",
        OperationPurpose::Mark => "op mark",
        OperationPurpose::Undo => "op undo",
        OperationPurpose::Redo => "op redo",
    }
    .to_owned();
    if view.reversal.as_ref().is_some_and(|last| last.is_undone) {
        class.push_str(" undone");
    }
    out.raw("<li").attr("class", &class).raw("><a").attr("href", &format!("/op/{}", view.id));
    if selected == view.id {
        out.raw(" aria-current=\"true\"");
    }
    out.raw("><span class=\"top\">").element("span", "tool", &view.tool);
    let what = match (&*view.files, view.purpose) {
        (_, OperationPurpose::Mark) => view.note.clone(),
        ([only], _) if view.files_total == 1 => shown_path(&only.below_root),
        ([], _) => "no file".to_owned(),
        _ => format!("{} files", view.files_total),
    };
    // The end of a long path says most, so its beginning is cut.
    out.raw("<span class=\"what\"").attr("title", &what).raw("><bdi dir=\"ltr\">").text(&what);
    out.raw("</bdi></span></span><span class=\"under\">");
    time(out, view.at);
    out.element("span", "id", &view.id);
    for (label, shows) in [
        ("undone", view.reversal.as_ref().is_some_and(|last| last.is_undone)),
        ("partial", view.completion == OperationCompletion::Partial),
        ("unsure", view.completion == OperationCompletion::Unknown),
        ("running", view.completion == OperationCompletion::Pending),
        ("secret", !view.keeps_content),
    ] {
        if shows {
            out.element("span", "badge", label);
        }
    }
    out.raw("<span class=\"spring\"></span>");
    stat(out, view.added, view.removed);
    out.raw("</span></a></li>");
}

/// Adds numbers of lines.
pub(crate) fn stat(out: &mut Html, added: u64, removed: u64) {
    if added + removed == 0 {
        return;
    }
    out.raw("<span class=\"stat\">");
    if added > 0 {
        out.raw("<span class=\"plus\">+").number(added).raw("</span>");
    }
    if removed > 0 {
        out.raw("<span class=\"minus\">−").number(removed).raw("</span>");
    }
    out.raw("</span>");
}

/// Returns a moment in the time zone of the server.
pub(crate) fn local(at: i64) -> DateTime<Local> {
    DateTime::from_timestamp_micros(at).unwrap_or_default().with_timezone(&Local)
}

/// Adds a moment.
pub(crate) fn time(out: &mut Html, at: i64) {
    let at = local(at);
    out.raw("<time").attr("datetime", &at.to_rfc3339()).attr("title", &at.format("%Y-%m-%d %H:%M:%S").to_string());
    out.raw(">").text(&at.format("%H:%M:%S").to_string()).raw("</time>");
}
