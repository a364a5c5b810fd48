//! The files of a scope as a tree.

use crate::html::{Html, query_path};
use crate::pages::{changes, file, timeline};
use crate::view::{PageContext, scope_address, scope_of, scope_query, shown_path};
use emendate::core::{Code, Error, Result};
use emendate::{ChangeScope, FileView, FolderSums, ScopeFiles};
use std::path::{Component, Path};

/// Adds the tree of the files: of all that the page has, or of directories if there are more.
pub(crate) fn files(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, found: &ScopeFiles) {
    if found.total < 2 && !changes::is_filtered(page) {
        return;
    }
    out.raw("<nav class=\"tree\" aria-label=\"Changed files\"><details open><summary>Files <span class=\"viewed-count\" data-total=\"");
    out.number(found.total as u64).raw("\"></span></summary>");
    out.raw("<form method=\"get\" class=\"filters\"")
        .attr("action", &scope_address(scope))
        .raw("><label class=\"hidden\" for=\"files\">Files with</label>");
    if let ChangeScope::Between(from, to) = scope {
        crate::pages::form::hidden(out, "from", from.as_bytes());
        crate::pages::form::hidden(out, "to", to.as_bytes());
    }
    out.raw("<input type=\"search\" id=\"files\" name=\"files\" placeholder=\"Filter files\"");
    out.attr("value", page.fields.text("files").unwrap_or_default()).raw("></form><ul>");
    if found.total > changes::FILES_PER_PAGE && !changes::is_filtered(page) {
        folder(out, page, scope, Path::new(""), true);
    } else {
        listed(out, page, found);
    }
    out.raw("</ul></details></nav>");
}

/// Adds the files that the page has, below their directories.
fn listed(out: &mut Html, page: &PageContext<'_>, found: &ScopeFiles) {
    let mut open: Vec<String> = Vec::new();
    for view in &found.files {
        let folders = folders(&view.below_root);
        let same = open.iter().zip(&folders).take_while(|(left, right)| left == right).count();
        for _ in same..open.len() {
            out.raw("</ul></li>");
        }
        open.truncate(same);
        for folder in &folders[same..] {
            out.raw("<li class=\"folder\"><span>").text(folder).raw("/</span><ul>");
            open.push(folder.clone());
        }
        entry(out, page, view, "");
    }
    for _ in &open {
        out.raw("</ul></li>");
    }
}

/// Adds the entries of a directory; those of directories below are fetched when they are opened.
fn folder(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, path: &Path, is_top: bool) {
    let Ok(found) = page.state.changes(scope) else { return };
    let here = page.state.engine.review().scope_folder(&found, path);
    let address = scope_address(scope);
    let sign = if address.contains('?') { '&' } else { '?' };
    // A directory that has everything is open from the beginning.
    let is_open = is_top && here.files.is_empty() && here.folders.len() == 1;
    for FolderSums { path: below, files, added, removed } in &here.folders {
        let name = shown_path(below.strip_prefix(path).unwrap_or(below));
        let part = format!("/part/tree?{}&path={}", scope_query(scope), query_path(below));
        out.raw("<li class=\"folder\"><details");
        if is_open {
            out.raw(" open");
        } else {
            out.attr("data-folder", &part);
        }
        out.raw("><summary><bdi>").text(&name);
        out.raw("/</bdi><span class=\"count\">").number(*files as u64).raw("</span>");
        timeline::stat(out, *added, *removed);
        if is_open {
            out.raw("</summary><ul>");
            folder(out, page, scope, below, false);
            out.raw("</ul></details></li>");
            continue;
        }
        let only = format!("{address}{sign}below={}", query_path(below));
        out.raw("</summary><ul><li><a").attr("href", &only).raw(">Show these files</a></li></ul></details></li>");
    }
    for (at, view) in &here.files {
        let start = at / changes::FILES_PER_PAGE * changes::FILES_PER_PAGE;
        entry(out, page, view, &format!("{address}{sign}start={start}"));
    }
    if here.omitted > 0 {
        out.raw("<li class=\"empty\">and ").number(here.omitted as u64).raw(" more</li>");
    }
}

/// Returns the entries of a directory alone.
///
/// Errors: those of the history.
pub(crate) fn part(page: &PageContext<'_>) -> Result<String> {
    let scope = scope_of(page.fields)
        .ok_or_else(|| Error::new(Code::CallInvalid, "The address names no changes.").next("Reload the page."))?;
    page.state.changes(&scope)?;
    let mut out = Html::default();
    folder(&mut out, page, &scope, &page.fields.path("path").unwrap_or_default(), false);
    Ok(out.into_string())
}

/// Adds a file.
fn entry(out: &mut Html, page: &PageContext<'_>, view: &FileView, address: &str) {
    let name = view.below_root.file_name().map_or(&*view.below_root, Path::new);
    let anchor = file::anchor(view);
    let class = if file::is_viewed(page, view) { "leaf viewed" } else { "leaf" };
    out.raw("<li").attr("class", class).attr("data-file", &anchor);
    out.raw("><a").attr("href", &format!("{address}#{anchor}"));
    out.raw("><span")
        .attr("class", &format!("kind {}", view.kind))
        .attr("title", view.kind)
        .raw(">")
        .raw(sign(view.kind))
        .raw("</span><bdi>");
    out.text(&emendate::fs::shown(name)).raw("</bdi>");
    timeline::stat(out, view.added, view.removed);
    out.raw("</a></li>");
}

/// Returns the letter of a kind of change, as git has it.
fn sign(kind: &str) -> &'static str {
    match kind {
        "create" => "A",
        "delete" => "D",
        "move" => "R",
        "link" => "L",
        _ => "M",
    }
}

/// Returns the names of the directories of a path.
fn folders(path: &Path) -> Vec<String> {
    let above = path.parent().into_iter().flat_map(Path::components);
    above
        .filter_map(|part| match part {
            Component::Normal(name) => Some(emendate::fs::shown(Path::new(name))),
            _ => None,
        })
        .collect()
}
