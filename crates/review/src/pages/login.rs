//! The page that exchanges the token for a cookie.

use crate::assets;
use crate::html::Html;

/// Returns the page; `words` say why it is shown again.
pub(crate) fn page(words: &str) -> String {
    let mut out = Html::default();
    out.raw(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Open · emend review</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <link rel=\"icon\" href=\"",
    );
    out.raw(assets::address("icon.svg")).raw("\"><link rel=\"stylesheet\" href=\"").raw(assets::address("review.css"));
    out.raw("\"><script defer src=\"").raw(assets::address("login.js")).raw(
        "\"></script></head><body class=\"login\"><main id=\"main\"><h1><span class=\"logo\" aria-hidden=\"true\"></span>emend review</h1>",
    );
    if !words.is_empty() {
        out.raw("<p class=\"notice bad\" role=\"alert\">").text(words).raw("</p>");
    }
    out.raw(
        "<form method=\"post\" action=\"/login\"><label for=\"token\">Token, as <code>emend review</code> printed it behind \
         <code>#</code></label><input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"off\" required>\
         <button>Open</button></form></main></body></html>",
    );
    out.into_string()
}
