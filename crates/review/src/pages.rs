//! Pages: what is shown at each address.

pub(crate) mod changes;
pub(crate) mod charts;
pub(crate) mod code;
pub(crate) mod decisions;
pub(crate) mod edit;
pub(crate) mod file;
pub(crate) mod file_history;
pub(crate) mod form;
pub(crate) mod frame;
pub(crate) mod hunk;
pub(crate) mod image;
pub(crate) mod login;
pub(crate) mod outcome;
pub(crate) mod questions;
pub(crate) mod refused;
pub(crate) mod resolve;
pub(crate) mod timeline;
pub(crate) mod tree;
pub(crate) mod visit;

use crate::html::Html;
use crate::respond;
use crate::view::{PageContext, scope_of};
use emendate::ChangeScope;
use emendate::core::advice::NoNames;
use emendate::core::{Code, Error, Result};
use emendate_http::HttpResponse;
use hyper::StatusCode;

/// Shows the page at an address.
pub(crate) fn show(page: &PageContext<'_>, path: &str) -> HttpResponse {
    let shown = match path.split('/').skip(1).collect::<Vec<_>>()[..] {
        [""] => changes::latest(page),
        ["op", id] => changes::page(page, &ChangeScope::Operation(id.to_owned())),
        ["turn", id] => changes::page(page, &ChangeScope::Turn(id.to_owned())),
        ["between"] => between(page),
        ["since"] => visit::page(page),
        ["file"] => file_history::page(page),
        ["charts"] => charts::page(page),
        ["refused"] => Ok(refused::page(page)),
        ["questions"] => questions::page(page),
        ["resolve"] => resolve::page(page),
        ["edit"] => edit::page(page),
        ["part", "file"] => file::part(page),
        ["part", "lines"] => file::lines_part(page),
        ["part", "tree"] => tree::part(page),
        ["part", "timeline"] => timeline::part(page),
        ["image"] => return image::response(page).unwrap_or_else(|error| failed(page, error)),
        _ => Err(Error::new(Code::OperationMissing, "There is no such page.").next("Go to the history.")),
    };
    match shown {
        Ok(html) => respond::page(StatusCode::OK, html),
        Err(error) => failed(page, error),
    }
}

fn between(page: &PageContext<'_>) -> Result<String> {
    match scope_of(page.fields) {
        Some(scope) => changes::page(page, &scope),
        None => Err(Error::new(Code::CallInvalid, "The address names no moments.").next("Choose two in the history.")),
    }
}

/// Shows an error as a page.
fn failed(page: &PageContext<'_>, error: Error) -> HttpResponse {
    // The advice names no fields: a person has buttons.
    let error = error.rendered_for(&NoNames);
    let status = match error.code() {
        Code::OperationMissing | Code::FileMissing => StatusCode::NOT_FOUND,
        Code::InternalBug => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::CONFLICT,
    };
    let mut main = Html::default();
    main.raw("<div class=\"notice bad\">");
    outcome::explain(&mut main, &error);
    main.raw("</div>");
    respond::page(status, frame::page(page, "Not found", frame::NavItem::Other, "", main))
}
