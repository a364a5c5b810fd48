//! Charts of the counters: how many calls succeed, where they fail, and how long they take.

use crate::html::{Html, query_text};
use crate::pages::frame::{self, NavItem};
use crate::view::PageContext;
use chrono::{DateTime, Utc};
use emendate::core::{Code, Error, Result};
use emendate::tallies::{CallTally, TallyKey, TallyRow};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Days of each period that can be chosen.
const PERIODS: &[u64] = &[1, 7, 30, 90];
/// Rows of a table.
const ROWS_MAX: usize = 12;
/// Size of the chart over time.
const CHART_HEIGHT: u64 = 120;
const BAR_WIDTH: u64 = 12;

/// Shows the charts.
///
/// Errors: counters that cannot be read.
pub(crate) fn page(page: &PageContext<'_>) -> Result<String> {
    let days = page.fields.number("days").map_or(7, |days| days as u64).clamp(1, 365);
    let mut main = Html::default();
    main.raw("<header class=\"scope\"><div class=\"title\"><h1>Charts</h1></div><div class=\"actions\">");
    let chosen = chosen(page);
    let filter = chosen.as_ref().map_or_else(String::new, |(key, value)| filter_query(*key, value));
    for period in PERIODS {
        main.raw("<a class=\"button\"").attr("href", &format!("/charts?days={period}{filter}"));
        if *period == days {
            main.raw(" aria-current=\"true\"");
        }
        let label = if *period == 1 { "1 day".to_owned() } else { format!("{period} days") };
        main.raw(">").text(&label).raw("</a>");
    }
    main.raw("</div></header><div class=\"charts\">");
    match &page.state.options.counters {
        None => {
            main.raw("<p class=\"empty\">Without a state directory nothing is counted.</p>");
        }
        Some(file) => {
            let now = Utc::now().timestamp_micros().unsigned_abs();
            let since = now.saturating_sub(days * 86_400_000_000);
            let mut tally = CallTally::since(file, since)
                .map_err(|error| Error::new(Code::IoFailed, format!("The counters cannot be read: {error}.")))?;
            if let Some((key, value)) = &chosen {
                tally.retain(*key, value);
                main.raw("<p class=\"chart wide chosen\">Only calls with ").text(key.name()).raw(" <strong>");
                main.text(if value.is_empty() { "(unknown)" } else { value }).raw("</strong> <a class=\"button\"");
                main.attr("href", &format!("/charts?days={days}")).raw(">All calls</a></p>");
            }
            charts(&mut main, &tally, days);
        }
    }
    main.raw("</div>");
    Ok(frame::page(page, "Charts", NavItem::Charts, "", main))
}

/// Returns the property that the calls of the charts share, if a person chose one.
fn chosen(page: &PageContext<'_>) -> Option<(TallyKey, String)> {
    let name = page.fields.text("by")?;
    let key = TallyKey::ALL.into_iter().find(|key| key.name() == name)?;
    Some((key, page.fields.text("value").unwrap_or_default().to_owned()))
}

/// Returns the fields of an address that choose calls by a property.
fn filter_query(key: TallyKey, value: &str) -> String {
    format!("&by={}&value={}", key.name(), query_text(value))
}

fn charts(out: &mut Html, tally: &CallTally, days: u64) {
    let total = tally.total();
    if total.calls == 0 {
        out.raw("<p class=\"empty\">No calls in this time. Every call through the engine is counted here.</p>");
        return;
    }
    out.raw("<section class=\"chart wide\"><h2>Do calls succeed?</h2><p class=\"big\">")
        .text(&share(&total))
        .raw(" <span>of ");
    out.number(total.calls).raw(" calls succeeded, ").text(&mean(&total)).raw(" each</span></p>");
    let hours = if days > 2 { 24 } else { 1 };
    over_time(out, &without_gaps(tally.over_time(hours), hours, days), hours);
    out.raw("</section>");
    for (key, question) in [
        (TallyKey::Tool, "Which tools work?"),
        (TallyKey::Format, "Which formats work?"),
        (TallyKey::Tier, "How much tolerance was needed? (tier 0 is exact)"),
        (TallyKey::Model, "Which models make good edits?"),
        (TallyKey::Transport, "Where do calls come from?"),
    ] {
        let rows = tally.by(key);
        if rows.is_empty() || key == TallyKey::Model && rows.iter().all(|row| row.name.is_empty()) {
            continue;
        }
        table(out, question, key, &rows, days);
    }
    let mut failures = tally.by(TallyKey::Code);
    failures.retain(|row| row.ok == 0 && row.asked == 0);
    if !failures.is_empty() {
        retries(out, &failures, total.calls);
    }
}

/// Fills in the periods without calls, up to now.
fn without_gaps(rows: Vec<(u64, TallyRow)>, hours: u64, days: u64) -> Vec<(u64, Option<TallyRow>)> {
    let now = Utc::now().timestamp().unsigned_abs() / 3600;
    let last = (now - now % hours).max(rows.last().map_or(0, |(hour, _)| *hour));
    let first = last.saturating_sub((days * 24).saturating_sub(hours));
    let mut known: BTreeMap<u64, TallyRow> = rows.into_iter().collect();
    let first = known.keys().next().map_or(first, |oldest| (*oldest).min(first));
    (first..=last).step_by(usize::try_from(hours).unwrap_or(1)).map(|hour| (hour, known.remove(&hour))).collect()
}

/// Adds bars of successes, questions and failures over time.
fn over_time(out: &mut Html, rows: &[(u64, Option<TallyRow>)], hours: u64) {
    let most = rows.iter().flat_map(|(_, row)| row).map(|row| row.calls).max().unwrap_or(1).max(1);
    let width = rows.len() as u64 * BAR_WIDTH;
    out.raw("<div class=\"plot\"><span class=\"most\">").number(most).raw("</span>");
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg class=\"bars\" viewBox=\"0 0 {width} {CHART_HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Calls over time\">"
    );
    for (nth, (hour, row)) in rows.iter().enumerate() {
        let Some(row) = row else { continue };
        let x = nth as u64 * BAR_WIDTH;
        let failed = row.calls - row.ok - row.asked;
        let mut y = CHART_HEIGHT;
        let at = period(*hour, hours);
        let _ = write!(svg, "<g><title>{at}: {} succeeded, {failed} failed, {} asked</title>", row.ok, row.asked);
        for (class, calls) in [("ok", row.ok), ("asked", row.asked), ("failed", failed)] {
            let height = calls * CHART_HEIGHT / most;
            y -= height;
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>",
                x + 1,
                BAR_WIDTH - 2
            );
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    out.raw(&svg).raw("<div class=\"axis\" aria-hidden=\"true\">");
    for at in [0, rows.len() / 2, rows.len().saturating_sub(1)] {
        let label = rows.get(at).map_or_else(String::new, |(hour, _)| period(*hour, hours));
        out.element("span", "", &label);
    }
    out.raw("</div></div>");
    out.raw("<p class=\"legend\"><span class=\"key ok\"></span>succeeded <span class=\"key asked\"></span>asked a person <span class=\"key failed\"></span>failed</p>");
}

/// Names a period for people.
fn period(hour: u64, hours: u64) -> String {
    let at = DateTime::from_timestamp((hour * 3600).cast_signed(), 0).unwrap_or_default();
    if hours < 24 { at.format("%-d %b %H:%M").to_string() } else { at.format("%-d %b").to_string() }
}

fn table(out: &mut Html, question: &str, key: TallyKey, rows: &[TallyRow], days: u64) {
    let name = key.name();
    out.raw("<section class=\"chart\"><h2>").text(question).raw("</h2><table><thead><tr><th scope=\"col\">").text(name);
    out.raw("</th><th scope=\"col\">calls</th><th scope=\"col\">succeeded</th><th scope=\"col\">time</th><th scope=\"col\">tokens in / out</th></tr></thead><tbody>");
    for row in rows.iter().take(ROWS_MAX) {
        let name = if row.name.is_empty() { "(unknown)" } else { &row.name };
        out.raw("<tr><th scope=\"row\"><a")
            .attr("href", &format!("/charts?days={days}{}", filter_query(key, &row.name)))
            .attr("title", "These calls only")
            .raw(">")
            .text(name)
            .raw("</a></th><td>")
            .number(row.calls)
            .raw("</td><td class=\"meter\">");
        let per_mille = row.per_mille().unwrap_or(0);
        out.raw("<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" width=\"1000\" height=\"10\"/><rect class=\"ok\" width=\"");
        out.number(per_mille)
            .raw("\" height=\"10\"/></svg>")
            .text(&share(row))
            .raw("</td><td>")
            .text(&mean(row))
            .raw("</td><td>");
        let [input, output] = row.mean_tokens();
        out.number(input).raw(" / ").number(output).raw("</td></tr>");
    }
    out.raw("</tbody></table></section>");
}

/// Adds the reasons for which calls had to be repeated.
fn retries(out: &mut Html, failures: &[TallyRow], calls: u64) {
    out.raw("<section class=\"chart\"><h2>Where did agents have to try again?</h2><table><thead><tr><th scope=\"col\">reason</th><th scope=\"col\">calls</th><th scope=\"col\">share of all</th></tr></thead><tbody>");
    let most = failures.iter().map(|row| row.calls).max().unwrap_or(1).max(1);
    for row in failures.iter().take(ROWS_MAX) {
        out.raw("<tr><th scope=\"row\"><a")
            .attr("href", &format!("/refused?code={}", query_text(&row.name)))
            .raw(">")
            .text(&row.name)
            .raw("</a></th><td>")
            .number(row.calls)
            .raw("</td><td class=\"meter\">");
        out.raw("<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" width=\"1000\" height=\"10\"/><rect class=\"failed\" width=\"");
        out.number(row.calls * 1000 / most).raw("\" height=\"10\"/></svg>");
        let per_mille = row.calls * 1000 / calls.max(1);
        out.text(&format!("{}.{} %", per_mille / 10, per_mille % 10)).raw("</td></tr>");
    }
    out.raw("</tbody></table></section>");
}

/// Formats the share of calls that succeeded.
fn share(row: &TallyRow) -> String {
    row.per_mille().map_or("–".to_owned(), |share| format!("{}.{} %", share / 10, share % 10))
}

/// Formats the mean time of a call.
fn mean(row: &TallyRow) -> String {
    let micros = row.mean();
    if micros < 1000 { format!("{micros} µs") } else { format!("{}.{} ms", micros / 1000, micros % 1000 / 100) }
}
