//! Tag wrappers: tool calls as models write them without JSON. The content is taken literally; entities are not
//! decoded.

use super::{UnwrappedText, fields, has_no_edit, lines};
use crate::text::fold;
use serde_json::Value;

/// The content of a wrapper.
#[derive(Clone, Copy, PartialEq)]
enum TagContent {
    /// The content is a text.
    Text,
    /// The content is a text. A file name may precede it, so the element must be the whole input.
    Alone,
    /// The content is one element per argument, or a text.
    Either,
    /// The content is one element per argument.
    Arguments,
}

const WRAPPERS: [(&str, TagContent); 13] = [
    ("apply_patch", TagContent::Either),
    ("applypatch", TagContent::Either),
    ("apply", TagContent::Either),
    ("apply_diff", TagContent::Arguments),
    ("replace_in_file", TagContent::Arguments),
    ("edit_file", TagContent::Arguments),
    ("invoke", TagContent::Arguments),
    ("function", TagContent::Arguments),
    ("function_calls", TagContent::Text),
    ("tool_call", TagContent::Text),
    ("tool_calls", TagContent::Text),
    ("patch", TagContent::Alone),
    ("diff", TagContent::Alone),
];

/// An opening tag.
struct OpeningTag<'a> {
    /// The name with its prefix, if it has one.
    full: &'a str,
    name: &'a str,
    /// The value of the tag's attribute, or the text after `=` in the name.
    value: &'a str,
    /// The text after the tag.
    rest: &'a str,
}

/// Parses the tag at the start of a text.
fn open(text: &str) -> Option<OpeningTag<'_>> {
    let inside = text.strip_prefix('<')?;
    let full = &inside[..inside.find(|ch: char| !(ch.is_ascii_alphanumeric() || "_-:".contains(ch)))?];
    let name = full.rsplit_once(':').map_or(full, |(_, name)| name);
    let line = inside[full.len()..].lines().next()?;
    let (attributes, _) = line.split_once('>')?;
    let rest = &inside[full.len() + attributes.len() + 1..];
    let value = attributes.split_once('=').map_or("", |(_, value)| value.trim().trim_matches(['"', '\'']));
    (!name.is_empty()).then_some(OpeningTag { full, name, value, rest })
}

/// Removes the first wrapper that begins a line.
pub(super) fn layer(text: &str) -> Option<UnwrappedText<'_>> {
    let (at, tag, holds) = lines(text).find_map(|(at, line)| {
        let at = at + line.len() - line.trim_start().len();
        let tag = line.trim_start().starts_with('<').then(|| open(&text[at..])).flatten()?;
        let (_, holds) = WRAPPERS.iter().find(|(name, _)| *name == tag.name)?;
        Some((at, tag, *holds))
    })?;
    let close = format!("</{}>", tag.full);
    let end = tag.rest.rfind(&close)?;
    let (inside, after) = (&tag.rest[..end], &tag.rest[end + close.len()..]);
    let again = lines(inside).filter(|(_, line)| line.trim_start().starts_with('<'));
    let again = again.filter_map(|(at, _)| open(inside[at..].trim_start())).any(|other| other.full == tag.full);
    let alone = text[..at].trim().is_empty() && after.trim().is_empty();
    if again || (holds == TagContent::Alone && !alone) || !(has_no_edit(&text[..at]) && has_no_edit(after)) {
        return None;
    }
    let called = [tag.value, tag.name][usize::from(tag.value.is_empty())];
    let arguments = || fields::layer(children(inside)?.into_iter(), &format!("the call of `{called}`"));
    let whole = || UnwrappedText::new(bare(inside), format!("The text inside <{}> was read.", tag.full));
    match holds {
        TagContent::Arguments => arguments(),
        TagContent::Either if is_element(inside) => arguments(),
        TagContent::Text | TagContent::Alone | TagContent::Either => Some(whole()),
    }
}

/// True if a text begins with the element of an argument.
fn is_element(text: &str) -> bool {
    open(text.trim_start()).is_some_and(|tag| fields::is_known(tag.name) || tag.name == "parameter")
}

/// Parses arguments: elements in sequence, with nothing between them.
fn children(text: &str) -> Option<Vec<(String, Value)>> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let tag = open(rest)?;
        let key = if tag.name == "parameter" { tag.value } else { tag.name };
        if !fields::is_known(key) {
            return None;
        }
        let close = format!("</{}>", tag.full);
        // The text may contain such a closing tag itself: the one that counts is followed by another argument or by
        // nothing.
        let end = memchr::memmem::find_iter(tag.rest.as_bytes(), &close).find(|&at| ends_tag(&tag, &close, at))?;
        out.push((key.to_owned(), Value::String(bare(&tag.rest[..end]).to_owned())));
        rest = tag.rest[end + close.len()..].trim_start();
    }
    Some(out)
}

/// True for a closing tag that is followed by an argument or by nothing.
fn ends_tag(tag: &OpeningTag<'_>, close: &str, at: usize) -> bool {
    let after = tag.rest[at + close.len()..].trim_start();
    after.is_empty() || is_element(after)
}

/// Returns the text of an element without the line end after its tag, the whitespace before the closing tag, and CDATA.
fn bare(text: &str) -> &str {
    let inside = text.trim().strip_prefix("<![CDATA[").and_then(|it| it.strip_suffix("]]>"));
    let text = inside.unwrap_or(text);
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    let blanks = fold::trim_blanks_end(text);
    if blanks.ends_with('\n') { blanks } else { text }
}
