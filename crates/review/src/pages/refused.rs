//! Calls that were refused, with the reasons that the agents were given.

use crate::html::{Html, query_text};
use crate::pages::frame::{self, NavItem};
use crate::pages::{changes, timeline};
use crate::view::PageContext;
use emendate::tallies::Refusal;
use serde_json::Value;
use std::collections::BTreeMap;

/// Calls of one page.
const REFUSALS_PER_PAGE: usize = 50;
/// Calls that are read for a page that filters.
const REFUSALS_SEARCHED_MAX: usize = 2000;

/// Shows the newest refused calls.
pub(crate) fn page(page: &PageContext<'_>) -> String {
    let fields = page.fields;
    let start = fields.number("start").unwrap_or(0);
    let all = page.state.engine.review().refusals(REFUSALS_SEARCHED_MAX);
    let wanted: Vec<&Refusal> = all.iter().filter(|refusal| is_wanted(page, refusal)).collect();
    let mut main = Html::default();
    main.raw("<header class=\"scope\"><div class=\"title\"><h1>Refused calls</h1><span class=\"spring\"></span><span>");
    main.number(wanted.len() as u64).raw("</span></div>");
    filters(&mut main, page, &all);
    main.raw("</header><div class=\"refusals\">");
    if wanted.is_empty() {
        main.raw(
            "<p class=\"empty\">No call was refused. A refused call changes nothing, and its reason appears here.</p>",
        );
    }
    for refusal in wanted.iter().skip(start).take(REFUSALS_PER_PAGE) {
        one(&mut main, page, refusal);
    }
    let next = start + REFUSALS_PER_PAGE;
    if next < wanted.len() {
        let kept = ["code", "model", "session"].into_iter().filter_map(|name| Some((name, fields.text(name)?)));
        let kept: String = kept.map(|(name, value)| format!("&{name}={}", query_text(value))).collect();
        main.raw("<nav class=\"pager\" aria-label=\"Pages of refused calls\"><a")
            .attr("href", &format!("/refused?start={next}{kept}"))
            .raw(">Older calls</a></nav>");
    }
    main.raw("</div>");
    frame::page(page, "Refused calls", NavItem::Refused, "", main)
}

/// True for a call that the filters select.
fn is_wanted(page: &PageContext<'_>, refusal: &Refusal) -> bool {
    let is = |name: &str, value: &str| page.fields.text(name).is_none_or(|wanted| wanted == value);
    is("code", &refusal.code) && is("model", &refusal.model) && is("session", &refusal.session)
}

/// Adds the filters: codes with their numbers, and models.
fn filters(out: &mut Html, page: &PageContext<'_>, all: &[Refusal]) {
    out.raw("<form class=\"filters wide\" method=\"get\" action=\"/refused\">");
    for (name, label, counts) in [
        ("code", "Reason", count_by(all, |refusal| &refusal.code)),
        ("model", "Model", count_by(all, |refusal| &refusal.model)),
        ("session", "Session", count_by(all, |refusal| &refusal.session)),
    ] {
        if counts.is_empty() {
            continue;
        }
        out.raw("<label>").text(label).raw("<select").attr("name", name).raw("><option value=\"\">all</option>");
        for (value, number) in counts {
            out.raw("<option").attr("value", value);
            if page.fields.text(name) == Some(value) {
                out.raw(" selected");
            }
            out.raw(">").text(value).raw(" (").number(number).raw(")</option>");
        }
        out.raw("</select></label>");
    }
    out.raw("<button>Filter</button></form>");
}

/// Counts the refused calls by a field, without those that have no value.
fn count_by(all: &[Refusal], key: fn(&Refusal) -> &str) -> BTreeMap<&str, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for value in all.iter().map(key).filter(|value| !value.is_empty()) {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// Adds a refused call.
fn one(out: &mut Html, page: &PageContext<'_>, refusal: &Refusal) {
    out.raw("<section class=\"refusal\"><header><span class=\"tool\">").text(&refusal.tool).raw("</span>");
    out.element("span", "badge bad", &refusal.code);
    timeline::time(out, i64::try_from(refusal.at).unwrap_or(i64::MAX));
    out.raw("<span class=\"spring\"></span>");
    for text in [&refusal.model, &refusal.session] {
        if !text.is_empty() {
            out.element("span", "who", text);
        }
    }
    out.raw("</header><p>").text(&page.relative(&refusal.message)).raw("</p>");
    if !refusal.evidence.is_empty() {
        out.raw("<pre class=\"evidence\">").text(&page.relative(&refusal.evidence)).raw("</pre>");
    }
    if !refusal.next.is_empty() {
        out.raw("<p class=\"next\">Next: ").text(&page.relative(&refusal.next)).raw("</p>");
    }
    out.raw("<dl class=\"details\">");
    add_detail(out, "file", &page.relative(&refusal.path));
    add_detail(out, "format", &refusal.format);
    add_detail(out, "bytes of text in the call", &refusal.input.to_string());
    for (name, value) in &refusal.facts {
        match value {
            Value::String(text) => add_detail(out, name, text),
            value => add_detail(out, name, &value.to_string()),
        }
    }
    out.raw("</dl></section>");
}

/// Adds a detail, unless it is empty.
fn add_detail(out: &mut Html, name: &str, value: &str) {
    if !value.is_empty() {
        changes::add_detail(out, name, value);
    }
}
