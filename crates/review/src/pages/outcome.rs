//! The result of an action for a browser without scripts, and errors.

use crate::action::ActionOutcome;
use crate::html::Html;
use crate::pages::form::{ActionButton, button};
use crate::pages::frame::{self, NavItem};
use crate::request::Fields;
use crate::view::{PageContext, scope_address, scope_of};
use emendate::core::Error;

/// Returns the page after an action.
pub(crate) fn page(page: &PageContext<'_>, fields: &Fields, outcome: &ActionOutcome) -> String {
    let mut main = Html::default();
    let selected = match &outcome.0 {
        Ok(done) => {
            main.raw("<div class=\"notice good\"><h1>").text(&done.summary).raw("</h1>");
            if let Some(id) = &done.operation {
                main.raw("<p>This is operation <a")
                    .attr("href", &format!("/op/{id}"))
                    .raw(">")
                    .text(id)
                    .raw("</a>.</p>");
                let undo = ActionButton { verb: "undo", label: "Undo this", hint: "Take it back", class: "", key: "" };
                button(&mut main, page, &undo, &[("id", id.as_bytes())]);
            }
            main.raw("</div>");
            done.operation.clone().unwrap_or_default()
        }
        Err(error) => {
            main.raw("<div class=\"notice bad\">");
            explain(&mut main, error);
            if let Some(address) = outcome.resolve_address(page.state, fields) {
                main.raw("<p><a class=\"button\"").attr("href", &address).raw(">Resolve the conflict</a></p>");
            }
            main.raw("</div>");
            String::new()
        }
    };
    if let Some(scope) = scope_of(fields) {
        main.raw("<p><a class=\"button\"").attr("href", &scope_address(&scope)).raw(">Back to the changes</a></p>");
    } else if let Some(id) = fields.text("id") {
        main.raw("<p><a class=\"button\"")
            .attr("href", &format!("/op/{}", id.trim_end_matches('^')))
            .raw(">Back</a></p>");
    }
    frame::page(page, "Done", NavItem::Other, &selected, main)
}

/// Adds an error with its explanation.
pub(crate) fn explain(out: &mut Html, error: &Error) {
    out.element("h1", "", error.message());
    if !error.evidence_text().is_empty() {
        out.element("pre", "evidence", error.evidence_text());
    }
    if !error.next_step().is_empty() {
        out.element("p", "", error.next_step());
    }
    out.element("p", "code", error.code().as_str());
}
