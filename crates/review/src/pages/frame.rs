//! The frame of every page: the bar on top, the timeline at the side, the main part.

use crate::assets;
use crate::html::Html;
use crate::pages::timeline;
use crate::view::{PageContext, Theme, shown_path};

/// The part of the page that the bar on top marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NavItem {
    /// The history.
    History,
    /// Since the last visit.
    Since,
    /// Questions that wait.
    Questions,
    /// Refused calls.
    Refused,
    /// Charts.
    Charts,
    /// None of them.
    Other,
}

/// The pages that the bar leads to.
const NAV_ITEMS: &[(NavItem, &str, &str)] = &[
    (NavItem::History, "/", "History"),
    (NavItem::Since, "/since", "Since my last visit"),
    (NavItem::Questions, "/questions", "Questions"),
    (NavItem::Refused, "/refused", "Refused"),
    (NavItem::Charts, "/charts", "Charts"),
];

/// Keys, each with what it does; the help lists them.
const KEYS: &[(&str, &str)] = &[
    ("j / k", "next and previous change"),
    ("n / p", "next and previous file"),
    ("a", "keep the change, or decide again"),
    ("A", "keep everything that is shown"),
    ("v", "mark the file as viewed, or not"),
    ("x", "undo the change"),
    ("X", "undo the operation or turn"),
    ("r", "redo the change"),
    ("u", "undo your last decision"),
    ("c", "comment on the change"),
    ("i", "edit the lines of the change"),
    ("s", "side by side, or unified"),
    ("w", "mark or ignore white space"),
    ("e", "show more lines around the change"),
    ("/", "search the history"),
    ("t", "dark or light"),
    ("g / G", "first and last change"),
    ("?", "this help"),
];

/// Returns a whole page. `selected` is the operation that the timeline marks.
pub(crate) fn page(page: &PageContext<'_>, title: &str, nav_item: NavItem, selected: &str, main: Html) -> String {
    let state = page.state;
    state.visits.record(&page.history.newest);
    let mut out = Html::default();
    out.raw("<!doctype html><html lang=\"en\"");
    match page.preferences.theme {
        Some(Theme::Dark) => out.raw(" data-theme=\"dark\""),
        Some(Theme::Light) => out.raw(" data-theme=\"light\""),
        None => &mut out,
    };
    out.raw("><head><meta charset=\"utf-8\"><title>").text(title).raw(
        " · emend review</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"",
    );
    out.raw(assets::address("icon.svg")).raw("\"><link rel=\"stylesheet\" href=\"").raw(assets::address("review.css"));
    out.raw("\"><script defer src=\"").raw(assets::address("review.js")).raw("\"></script></head><body");
    out.attr("data-csrf", page.csrf).attr("data-newest", &page.history.key);
    if state.options.read_only {
        out.raw(" data-read-only=\"1\"");
    }
    let class = match (page.preferences.split, page.preferences.ignore_space) {
        (true, true) => "split nows",
        (true, false) => "split",
        (false, true) => "nows",
        (false, false) => "",
    };
    out.attr("class", class).raw("><a class=\"skip\" href=\"#main\">Skip to the changes</a>");
    bar(&mut out, page, nav_item);
    out.raw("<div class=\"layout\"><aside id=\"timeline\" aria-label=\"History\">");
    timeline::list(&mut out, page, selected);
    out.raw("</aside><main id=\"main\" tabindex=\"-1\">").raw(&main.into_string()).raw("</main></div>");
    out.raw("<div id=\"toast\" role=\"status\" aria-live=\"polite\"></div>");
    help(&mut out);
    out.raw("</body></html>");
    out.into_string()
}

fn bar(out: &mut Html, page: &PageContext<'_>, nav_item: NavItem) {
    let roots = page.state.engine.roots();
    let first = page.state.engine.review().workspaces().first().map(|name| shown_path(name));
    let name = first.map(|name| if roots.len() < 2 { name } else { format!("{name} +{}", roots.len() - 1) });
    out.raw("<header class=\"bar\"><a class=\"brand\" href=\"/\"><span class=\"logo\" aria-hidden=\"true\"></span>emend review</a>");
    if let Some(name) = name {
        let all: Vec<String> = roots.iter().copied().map(emendate::fs::shown).collect();
        out.raw("<span class=\"root\"").attr("title", &all.join("\n")).raw(">").text(&name).raw("</span>");
    }
    out.raw("<nav aria-label=\"Pages\">");
    let waiting = page.state.engine.questions().pending().map_or(0, |questions| questions.len());
    for (of, address, label) in NAV_ITEMS {
        out.raw("<a").attr("href", address);
        if *of == nav_item {
            out.raw(" aria-current=\"page\"");
        }
        out.raw(">").text(label);
        if *of == NavItem::Questions && waiting > 0 {
            out.raw("<span class=\"nav-count\">").number(waiting as u64).raw("</span>");
        }
        out.raw("</a>");
    }
    out.raw("</nav><span class=\"spring\"></span>");
    if page.state.options.read_only {
        out.element("span", "badge", "read-only");
    }
    out.raw("<span id=\"live\" class=\"live\" title=\"Without scripts, reload the page for news\">●</span>");
    out.raw("<button type=\"button\" class=\"icon js\" data-key=\"t\" title=\"Dark or light (t)\" aria-label=\"Dark or light\">◐</button>");
    out.raw("<button type=\"button\" class=\"icon js\" data-key=\"?\" title=\"Keys (?)\" aria-label=\"Keys\">?</button></header>");
}

fn help(out: &mut Html) {
    out.raw("<dialog id=\"help\" aria-labelledby=\"help-title\"><h2 id=\"help-title\">Keys</h2><dl>");
    for (key, meaning) in KEYS {
        out.raw("<div><dt><kbd>").text(key).raw("</kbd></dt><dd>").text(meaning).raw("</dd></div>");
    }
    out.raw("</dl><form method=\"dialog\"><button>Close</button></form></dialog>");
}
