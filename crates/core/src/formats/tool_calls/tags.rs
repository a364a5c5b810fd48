//! Calls in tags: `<function=edit><parameter=path>…`, `<invoke name="Edit"><parameter name="path">…`, and a tag with
//! the name of the tool that contains one tag per argument. The content is taken literally; entities are not decoded.

use super::fields::{FieldRole, folded, role};
use super::json::{self, NamedArguments};
use crate::text::fold;
use serde_json::{Map, Value};

/// Tools whose name is a tag of its own, without signs. `write_to_file` is one of the whole-file format.
const TOOL_TAGS: [&str; 28] = [
    "edit", "editfile", "editexistingfile", "multiedit", "strreplace", "strreplaceeditor", "strreplacebasededittool",
    "searchreplace", "searchandreplace", "findandreplace", "singlefindandreplace", "replace", "replaceinfile",
    "replacestringinfile", "replacefilecontent", "inserteditintofile", "insertcontent", "writefile", "rewritefile",
    "createfile", "createnewfile", "savefile", "fswrite", "texteditor", "developertexteditor", "write", "create",
    "update",
];
/// Fields besides those that have a role.
const OTHER_FIELDS: [&str; 8] =
    ["command", "insert_line", "insert_text", "line", "code", "changes", "text", "description"];
/// Names of the tag around an argument whose name is in an attribute.
const PARAMETER_TAGS: [&str; 4] = ["parameter", "param", "arg", "argument"];
/// Maximum bytes of a tag.
const TAG_BYTES_MAX: usize = 600;

/// An opening tag.
#[derive(Debug)]
struct CallTag<'a> {
    /// The name with its prefix.
    full: &'a str,
    /// The name.
    name: &'a str,
    /// The text after `=` in the name.
    assigned: Option<&'a str>,
    /// The attributes.
    attributes: Vec<(&'a str, &'a str)>,
    /// The text after the tag.
    rest: &'a str,
}

impl<'a> CallTag<'a> {
    /// Parses the tag at the start of a text.
    fn read(text: &'a str) -> Option<CallTag<'a>> {
        let inside = text.strip_prefix('<')?;
        let len = inside.find(|ch: char| !(ch.is_ascii_alphanumeric() || "_-:".contains(ch)))?;
        let (full, rest) = inside.split_at(len);
        let name = full.rsplit_once(':').map_or(full, |(_, name)| name);
        let line = rest.get(..rest.find('\n').unwrap_or(rest.len()).min(TAG_BYTES_MAX)).unwrap_or(rest);
        let end = line.find('>')?;
        let (inner, rest) = (&rest[..end], &rest[end + 1..]);
        let assigned = inner.strip_prefix('=').map(unquoted);
        let attributes = if assigned.is_some() { Vec::new() } else { attributes(inner)? };
        (!name.is_empty()).then_some(CallTag { full, name, assigned, attributes, rest })
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// Returns the name of the argument that the tag contains.
    fn argument(&self) -> Option<&'a str> {
        if PARAMETER_TAGS.contains(&self.name) {
            return self.assigned.or_else(|| self.attribute("name"));
        }
        let is_known = || OTHER_FIELDS.contains(&self.name) || role(self.name).is_some();
        (self.assigned.is_none() && self.attributes.is_empty() && is_known()).then_some(self.name)
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// Parses `key="value"` pairs.
pub(in crate::formats) fn attributes(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|ch| ['"', '\''].contains(ch))?;
        let (value, after) = after[1..].split_once(quote)?;
        out.push((key.trim(), value));
        rest = after.trim_start();
    }
    Some(out)
}

/// True for the start of a call in tags that do not occur in other texts.
pub(super) fn begins(text: &str) -> bool {
    CallTag::read(text).is_some_and(|tag| match tag.name {
        "function" => tag.assigned.is_some(),
        "invoke" => tag.attribute("name").is_some(),
        _ => false,
    })
}

/// Parses the call in tags at the start of a text. Returns the call, and its length.
pub(super) fn call(text: &str) -> Option<(Vec<NamedArguments>, usize)> {
    let tag = CallTag::read(text)?;
    let name = match tag.name {
        "function" => tag.assigned.or_else(|| tag.attribute("name"))?,
        "invoke" => tag.attribute("name")?,
        name => {
            let folded = folded(name)?;
            TOOL_TAGS.contains(&&*folded).then_some(name)?
        }
    };
    let close = format!("</{}>", tag.full);
    let body = tag.rest.trim_start();
    let (arguments, rest) = if body.starts_with(['{', '[']) {
        let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let rest = body[values.byte_offset()..].trim_start().strip_prefix(&*close)?;
        let (_, arguments) = json::of_value(value, 0).filter(|calls| calls.len() == 1)?.pop()?;
        (arguments, rest)
    } else {
        let mut fields = Map::new();
        // The arguments may be attributes, as in `<edit file="src/a.rs">`.
        if tag.name == name {
            for (key, value) in &tag.attributes {
                (role(key) == Some(FieldRole::Path)).then(|| fields.insert((*key).to_owned(), (*value).into()))?;
            }
        }
        let rest = parameters(body, &close, &mut fields)?;
        (Value::Object(fields), rest)
    };
    Some((vec![(Some(name.to_owned()), arguments)], text.len() - rest.len()))
}

/// Parses consecutive arguments, with nothing between them, up to the end of the call. Returns the text after the call.
fn parameters<'a>(text: &'a str, close: &str, fields: &mut Map<String, Value>) -> Option<&'a str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(close) {
            return Some(after);
        }
        let tag = CallTag::read(rest)?;
        let name = tag.argument()?;
        let end = format!("</{}>", tag.full);
        // The text may contain such a closing tag itself: the one that counts is followed by another argument, or ends
        // the call.
        let at = memchr::memmem::find_iter(tag.rest.as_bytes(), &end).find(|at| {
            let after = tag.rest[at + end.len()..].trim_start();
            after.starts_with(close) || CallTag::read(after).is_some_and(|next| next.argument().is_some())
        })?;
        if fields.insert(name.to_owned(), value(&tag, name, &tag.rest[..at])).is_some() {
            return None;
        }
        rest = &tag.rest[at + end.len()..];
    }
}

/// Returns the value of an argument. A line end directly after the opening tag belongs to the tags, and so does then
/// the one before the closing tag; the text of a file keeps its last line end.
fn value(tag: &CallTag<'_>, name: &str, text: &str) -> Value {
    let role = role(name);
    let literal = text.trim().strip_prefix("<![CDATA[").and_then(|it| it.strip_suffix("]]>")).unwrap_or(text);
    if role == Some(FieldRole::Path) || name == "command" {
        return literal.trim().into();
    }
    if name == "insert_line" {
        let number = literal.trim();
        return number.parse::<u64>().map_or_else(|_| number.into(), Value::from);
    }
    let Some(inner) = literal.strip_prefix("\r\n").or_else(|| literal.strip_prefix('\n')) else {
        return literal.into();
    };
    // Whitespace before a closing tag on a line of its own is the indentation of the tag.
    let trimmed = fold::trim_blanks_end(inner);
    let inner = if trimmed.ends_with('\n') { trimmed } else { inner };
    let is_file = [FieldRole::Content, FieldRole::Snippet].map(Some).contains(&role) || name == "text";
    // `<parameter=content>` puts the value between two line ends of its own.
    if is_file && !(PARAMETER_TAGS.contains(&tag.name) && inner.ends_with("\n\n")) {
        return inner.into();
    }
    let inner = inner.strip_suffix('\n').map_or(inner, |it| it.strip_suffix('\r').unwrap_or(it));
    inner.into()
}
