//! Everything since the last visit.

use crate::html::Html;
use crate::pages::changes;
use crate::pages::frame::{self, NavItem};
use crate::view::PageContext;
use emendate::ChangeScope;
use emendate::core::Result;

/// Shows what changed since the last visit.
///
/// Errors: those of the history.
pub(crate) fn page(page: &PageContext<'_>) -> Result<String> {
    let Some(last) = page.state.visits.last() else {
        let mut main = Html::default();
        main.raw("<div class=\"welcome\"><h1>This is your first visit</h1><p>From the next one on, this page shows what changed since the one before.</p>");
        if page.state.engine.review().operation("1", 0..0).is_ok() {
            main.raw("<p><a class=\"button\" href=\"/between?from=1%5E&amp;to=now\">Everything so far</a></p>");
        }
        main.raw("</div>");
        return Ok(frame::page(page, "Since my last visit", NavItem::Since, "", main));
    };
    let newest = page.state.engine.review().newest_operations()?;
    if newest.iter().any(|name| name == last) {
        let mut main = Html::default();
        main.raw("<div class=\"welcome\"><h1>Nothing has changed since your last visit</h1></div>");
        return Ok(frame::page(page, "Since my last visit", NavItem::Since, "", main));
    }
    let scope = ChangeScope::Between(last.to_owned(), "now".to_owned());
    changes::scope_page(page, &scope, NavItem::Since, Some("Since my last visit"))
}
