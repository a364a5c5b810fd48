//! The files of a scope as a tree.

use crate::html::Html;
use crate::pages::{file, timeline};
use crate::view::{PageContext, scope_address};
use emendate::{ChangeScope, FileView, ScopeFiles};
use std::path::{Component, Path};

/// Adds the tree of the files that the page has.
pub(crate) fn files(out: &mut Html, page: &PageContext<'_>, scope: &ChangeScope, found: &ScopeFiles, start: usize) {
    if found.total < 2 && page.fields.text("files").is_none() {
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
        entry(out, view);
    }
    for _ in &open {
        out.raw("</ul></li>");
    }
    out.raw("</ul>");
    if found.total > start + found.files.len() {
        out.raw("<p class=\"empty\">and ")
            .number((found.total - start - found.files.len()) as u64)
            .raw(" more files</p>");
    }
    out.raw("</details></nav>");
}

/// Adds a file.
fn entry(out: &mut Html, view: &FileView) {
    let name = view.below_root.file_name().map_or(&*view.below_root, Path::new);
    out.raw("<li class=\"leaf\"")
        .attr("data-file", &file::anchor(view))
        .raw("><a")
        .attr("href", &format!("#{}", file::anchor(view)));
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
