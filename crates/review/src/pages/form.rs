//! Buttons that change something: forms, which work without scripts.

use crate::html::{Html, is_invisible};
use crate::view::PageContext;
use emendate::FileView;
use emendate_os::ffi::OsStrExt as _;

/// A button with the fields that it sends.
pub(crate) struct ActionButton<'a> {
    /// The action.
    pub(crate) verb: &'a str,
    /// The text.
    pub(crate) label: &'a str,
    /// A hint about its effect.
    pub(crate) hint: &'a str,
    /// The class of the button.
    pub(crate) class: &'a str,
    /// The key that presses the button.
    pub(crate) key: &'a str,
}

/// Adds a button; none in a read-only server. `fields` are sent with it.
pub(crate) fn button(out: &mut Html, page: &PageContext<'_>, button: &ActionButton<'_>, fields: &[(&str, &[u8])]) {
    if page.state.options.read_only {
        return;
    }
    out.raw("<form method=\"post\" action=\"/act\" class=\"act\">");
    hidden(out, "csrf", page.csrf.as_bytes());
    hidden(out, "do", button.verb.as_bytes());
    for (name, value) in fields {
        hidden(out, name, value);
    }
    out.raw("<button").attr("class", button.class).attr("title", button.hint);
    if !button.key.is_empty() {
        out.attr("data-key", button.key);
    }
    out.raw(">").text(button.label).raw("</button></form>");
}

/// Adds a hidden field. Bytes that are not UTF-8 cannot be sent by a form, and characters that are invisible are shown as
/// signs in markup, so both are percent-encoded with a mark.
pub(crate) fn hidden(out: &mut Html, name: &str, value: &[u8]) {
    out.raw("<input type=\"hidden\"");
    match std::str::from_utf8(value) {
        Ok(text) if !text.chars().any(|char| char.is_control() || is_invisible(char)) => {
            out.attr("name", name).attr("value", text);
        }
        // Browsers change line ends in fields.
        _ => {
            out.attr("name", &format!("{name}%")).attr("value", &crate::html::query_bytes(value));
        }
    }
    out.raw(">");
}

/// Returns the fields that name a scope.
pub(crate) fn scope_fields(scope: &emendate::ChangeScope) -> Vec<(&str, &[u8])> {
    match scope {
        emendate::ChangeScope::Operation(id) => vec![("op", id.as_bytes())],
        emendate::ChangeScope::Turn(id) => vec![("turn", id.as_bytes())],
        emendate::ChangeScope::Between(from, to) => vec![("from", from.as_bytes()), ("to", to.as_bytes())],
    }
}

/// Returns the fields that name the change of a file in a scope as it is shown.
pub(crate) fn change_fields<'f>(
    scope: &'f emendate::ChangeScope,
    view: &'f FileView,
    versions: &'f str,
) -> Vec<(&'f str, &'f [u8])> {
    let mut fields = scope_fields(scope);
    fields.extend([("path", view.path.as_os_str().as_bytes()), ("versions", versions.as_bytes())]);
    fields
}
