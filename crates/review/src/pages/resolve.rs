//! A conflict of an undo: both sides, and a text in which a person resolves it.

use crate::html::{Html, survives_forms};
use crate::pages::file::named;
use crate::pages::form::hidden;
use crate::pages::frame::{self, NavItem};
use crate::pages::questions::editable;
use crate::view::{PageContext, scope_address};
use emendate::core::Result;
use emendate_os::ffi::OsStrExt as _;

/// Shows the conflict.
///
/// Errors: those of the history; `file.too_large`.
pub(crate) fn page(page: &PageContext<'_>) -> Result<String> {
    let (scope, path) = named(page)?;
    let merged = page.state.engine.review().resolution(&page.state.caller, &scope, &path)?;
    let mut main = Html::default();
    main.raw("<header class=\"scope\"><div class=\"title\"><h1>Resolve a conflict in <bdi>")
        .text(&page.path_below_root(&path));
    main.raw("</bdi></h1></div></header><div class=\"resolve\"><p>");
    match merged.conflicts {
        0 => main.raw("The change can be undone without a conflict. "),
        1 => main.raw("One place changed since, so it is here twice: as it was before the change, between "),
        _ => main.raw("Some places changed since, so they are here twice: as they were before the change, between "),
    };
    if merged.conflicts > 0 {
        main.raw("<code>&lt;&lt;&lt;&lt;&lt;&lt;&lt;</code> and <code>|||||||</code>, and as the file has them now, between <code>=======</code> and <code>&gt;&gt;&gt;&gt;&gt;&gt;&gt;</code>. Keep what is right, and remove the markers. ");
    }
    main.raw("Saving writes the file, as an operation that can be undone.</p>");
    let hindrance = if !survives_forms(&merged.text) {
        "The text has carriage returns within lines, which a browser would turn into line ends. Resolve the conflict in an editor."
    } else if !merged.is_writable {
        "The encoding of the file is not declared, or lacks characters of this text. Declare it in .editorconfig (charset), or resolve the conflict in an editor."
    } else {
        ""
    };
    if !hindrance.is_empty() {
        main.raw("<p class=\"notice bad\">").text(hindrance).raw("</p>");
    }
    if page.state.options.read_only || !hindrance.is_empty() {
        main.raw("<pre class=\"evidence\">").text(&merged.text).raw("</pre></div>");
    } else {
        main.raw("<form method=\"post\" action=\"/act\" class=\"act wide\"");
        main.attr("data-then", &scope_address(&scope)).raw(">");
        hidden(&mut main, "csrf", page.csrf.as_bytes());
        hidden(&mut main, "do", b"write");
        hidden(&mut main, "path", path.as_os_str().as_bytes());
        hidden(&mut main, "tag", merged.tag.as_bytes());
        main.raw("<label for=\"content\">New text of the file</label><textarea id=\"content\" name=\"content\" rows=\"30\" spellcheck=\"false\">\n");
        editable(&mut main, &merged.text);
        main.raw("</textarea><div class=\"actions\"><button>Save</button><a class=\"button\"");
        main.attr("href", &scope_address(&scope)).raw(">Back</a></div></form></div>");
    }
    Ok(frame::page(page, "Resolve a conflict", NavItem::Other, "", main))
}
