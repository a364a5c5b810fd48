//! The history of one file: every version, with a slider over them.

use crate::html::{Html, query_path};
use crate::pages::form::{ActionButton, button};
use crate::pages::frame::{self, NavItem};
use crate::pages::{file, timeline};
use crate::view::{PageContext, scope_of, shown_path};
use emendate::core::{Code, Error, Result};
use emendate::{ChangeScope, OperationQuery, OperationView};
use emendate_os::ffi::OsStrExt as _;
use std::path::Path;

/// Versions that the slider has.
const VERSIONS_MAX: usize = 200;

/// Shows the history of a file.
///
/// Errors: those of the history.
pub(crate) fn page(page: &PageContext<'_>) -> Result<String> {
    let path = page.fields.path("path").ok_or_else(|| {
        Error::new(Code::CallInvalid, "The address names no file.").next("Choose one in the history.")
    })?;
    let query =
        OperationQuery { path: Some(path.clone()), most: VERSIONS_MAX, files: usize::MAX, ..OperationQuery::default() };
    let found = page.state.engine.review().operations(&query)?;
    let scope = scope_of(page.fields);
    let newest = found.operations.first();
    let id = match &scope {
        Some(ChangeScope::Operation(id)) => Some(id.clone()),
        _ => newest.map(|view| view.id.clone()),
    };
    let mut main = Html::default();
    main.raw("<header class=\"scope\"><div class=\"title\"><h1><bdi>")
        .text(&page.path_below_root(&path))
        .raw("</bdi></h1></div>");
    slider(&mut main, &path, &found.operations, id.as_deref());
    main.raw("<div class=\"actions\">");
    if let Some(id) = &id {
        let raw = path.as_os_str().as_bytes();
        let before = format!("{id}^");
        for (label, hint, id) in [
            ("Restore this version", "Make the file as it was after this operation", id),
            ("Restore the version before", "Make the file as it was before this operation", &before),
        ] {
            let restore = ActionButton { verb: "restore", label, hint, class: "", key: "" };
            button(&mut main, page, &restore, &[("id", id.as_bytes()), ("path", raw)]);
        }
    }
    main.raw("</div></header><div class=\"diffs\">");
    let shown = match (scope, &id) {
        (Some(scope), _) => Some(scope),
        (None, Some(id)) => Some(ChangeScope::Operation(id.clone())),
        (None, None) => None,
    };
    if let Some(scope) = shown {
        let view = page.state.engine.review().scope_file(&*page.state.changes(&scope)?, &path)?;
        file::card(&mut main, page, &scope, &view);
    } else {
        main.raw("<p class=\"empty\">No operation changed this file.</p>");
    }
    main.raw("</div>");
    let title = path.file_name().map(Path::new).map_or_else(|| shown_path(&path), shown_path);
    Ok(frame::page(page, &title, NavItem::History, id.as_deref().unwrap_or_default(), main))
}

/// Adds the versions, the oldest first.
fn slider(out: &mut Html, path: &Path, operations: &[OperationView], selected: Option<&str>) {
    if operations.is_empty() {
        return;
    }
    let at = operations.iter().rev().position(|view| Some(&*view.id) == selected).unwrap_or(operations.len() - 1);
    out.raw("<div class=\"versions\"><label class=\"js\">Version <input type=\"range\" id=\"slider\" min=\"0\"");
    out.attr("max", &(operations.len() - 1).to_string()).attr("value", &at.to_string()).raw("></label><ol>");
    for view in operations.iter().rev() {
        let address = format!("/file?op={}&path={}", view.id, query_path(path));
        out.raw("<li><a").attr("href", &address);
        if Some(&*view.id) == selected {
            out.raw(" aria-current=\"true\"");
        }
        out.raw(">").element("span", "tool", &view.tool);
        timeline::time(out, view.at);
        out.element("span", "id", &view.id);
        if let Some(file) = view.files.iter().find(|file| file.path == path) {
            timeline::stat(out, file.added, file.removed);
        }
        out.raw("</a></li>");
    }
    out.raw("</ol></div>");
}
