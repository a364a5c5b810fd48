//! JSON with comments, edited by splices: existing text is never printed again.

use crate::invalid_file;
use crate::layout::{JsonLayout, indent, rest_of_line, skip_blanks};
use emendate_core::Result;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// Syntax that clients accept: JSON with comments and trailing commas.
const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A parsed file.
pub(crate) struct JsonFile<'t> {
    text: &'t str,
    name: &'t str,
    /// `None` for a file of whitespace and comments.
    root: Option<ast::Value<'t>>,
}

/// A value in the file.
pub(crate) struct JsonNode<'j, 't>(&'j ast::Value<'t>);

impl JsonNode<'_, '_> {
    /// Returns the value as data.
    pub(crate) fn value(&self) -> Value {
        data(self.0)
    }
}

/// Positions in a list or an object.
struct JsonContainer {
    /// Offset after the opening bracket.
    open: usize,
    /// Offset of the closing bracket.
    close: usize,
    /// Start and end of each member or item.
    items: Vec<(usize, usize)>,
}

impl<'t> JsonFile<'t> {
    /// Parses a file.
    ///
    /// Errors: `call.invalid` with line and column.
    pub(crate) fn parse(text: &'t str, name: &'t str) -> Result<JsonFile<'t>> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS);
        let root =
            parsed.map_err(|error| invalid_file(name, text, error.range().start, &error.kind().to_string()))?.value;
        let json = JsonFile { text, name, root };
        match &json.root {
            Some(ast::Value::Object(_)) | None => Ok(json),
            Some(other) => Err(json.wrong(other.range().start, "the file is not a JSON object")),
        }
    }

    fn wrong(&self, at: usize, what: &str) -> emendate_core::Error {
        invalid_file(self.name, self.text, at, what)
    }

    /// Returns the value at a path of keys.
    ///
    /// Errors: `call.invalid` if a value on the way is not an object, or a key occurs twice.
    pub(crate) fn get(&self, path: &[&str]) -> Result<Option<JsonNode<'_, 't>>> {
        let Some(mut at) = self.root.as_ref() else { return Ok(None) };
        for (depth, key) in path.iter().enumerate() {
            let ast::Value::Object(object) = at else {
                let what = format!("`{}` is not an object", path[..depth].join("."));
                return Err(self.wrong(at.range().start, &what));
            };
            match self.member(object, key)? {
                Some(member) => at = &member.value,
                None => return Ok(None),
            }
        }
        Ok(Some(JsonNode(at)))
    }

    /// Returns the object at a path of keys.
    ///
    /// Errors: as [`JsonFile::get`]; something else at the path.
    pub(crate) fn object(&self, path: &[&str]) -> Result<Option<Value>> {
        let Some(found) = self.get(path)? else { return Ok(None) };
        if matches!(found.0, ast::Value::Object(_)) {
            return Ok(Some(found.value()));
        }
        Err(self.wrong(found.0.range().start, &format!("`{}` is not an object", path.join("."))))
    }

    /// Returns the member of that name.
    fn member<'j>(&self, object: &'j ast::Object<'t>, key: &str) -> Result<Option<&'j ast::ObjectProp<'t>>> {
        let mut named = object.properties.iter().filter(|member| member.name.as_str() == key);
        let first = named.next();
        match named.next() {
            None => Ok(first),
            Some(second) => Err(self.wrong(second.range.start, &format!("`{key}` occurs here for the second time"))),
        }
    }

    /// Returns the text with this value at the path; creates missing objects on the way.
    ///
    /// Errors: as [`JsonFile::get`].
    pub(crate) fn set(&self, path: &[&str], value: &Value) -> Result<String> {
        if let Some(found) = self.get(path)? {
            if found.value() == *value {
                return Ok(self.text.to_owned());
            }
            let range = found.0.range();
            let value = self.layout().value(value, indent(self.text, range.start), false);
            return Ok(spliced(self.text, range.start..range.end, &value));
        }
        let Some((last, above)) = path.split_last() else {
            // Nothing but whitespace and comments.
            let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
            return Ok(format!("{}{gap}{}\n", self.text, self.layout().value(value, "", true)));
        };
        match self.get(above)? {
            Some(JsonNode(ast::Value::Object(object))) => Ok(self.insert(&members(object), Some(last), value)),
            Some(other) => Err(self.wrong(other.0.range().start, &format!("`{}` is not an object", above.join(".")))),
            None => self.set(above, &Value::Object(Map::from_iter([((*last).to_owned(), value.clone())]))),
        }
    }

    /// Returns the text with this value at the end of the list at the path, which is created if missing.
    pub(crate) fn push(&self, path: &[&str], value: &Value) -> Result<String> {
        match self.get(path)? {
            Some(JsonNode(ast::Value::Array(list))) => Ok(self.insert(&items(list), None, value)),
            Some(other) => Err(self.wrong(other.0.range().start, &format!("`{}` is not a list", path.join(".")))),
            None => self.set(path, &Value::Array(vec![value.clone()])),
        }
    }

    /// Returns the text without this value in the list at the path.
    pub(crate) fn remove_item(&self, path: &[&str], value: &Value) -> Result<String> {
        let Some(JsonNode(ast::Value::Array(list))) = self.get(path)? else { return Ok(self.text.to_owned()) };
        let Some(nth) = list.elements.iter().position(|item| data(item) == *value) else {
            return Ok(self.text.to_owned());
        };
        if list.elements.len() == 1 {
            return self.remove(path);
        }
        Ok(self.remove_entry(&items(list), nth))
    }

    /// Returns the text without the value at the path, and without the objects that are empty then.
    pub(crate) fn remove(&self, path: &[&str]) -> Result<String> {
        let Some((last, above)) = path.split_last() else { return Ok(self.text.to_owned()) };
        let Some(JsonNode(ast::Value::Object(object))) = self.get(above)? else { return Ok(self.text.to_owned()) };
        let Some(member) = self.member(object, last)? else { return Ok(self.text.to_owned()) };
        // An object with a comment is kept.
        let inside = &self.text[object.range.start..object.range.end];
        let bare = !inside.contains("//") && !inside.contains("/*");
        if object.properties.len() == 1 && bare && !above.is_empty() {
            return self.remove(above);
        }
        let nth = object.properties.iter().position(|it| it.range == member.range).unwrap_or(0);
        Ok(self.remove_entry(&members(object), nth))
    }

    fn layout(&self) -> JsonLayout<'t> {
        let first = match &self.root {
            Some(ast::Value::Object(object)) => object.properties.first().map(|member| member.range.start),
            _ => None,
        };
        JsonLayout::of(self.text, first)
    }

    /// Inserts a member (with a key) or an item after the others.
    fn insert(&self, container: &JsonContainer, key: Option<&str>, value: &Value) -> String {
        let (text, layout) = (self.text, self.layout());
        let outer = indent(text, container.open.saturating_sub(1));
        let Some(&(first, _)) = container.items.first() else {
            let end = text[..container.close].trim_end().len().max(container.open);
            // A new list stays on its line.
            if !layout.is_multi_line() || key.is_none() {
                return spliced(text, end..end, &entry_text(key, layout, value, outer, false));
            }
            let inner = layout.deeper(outer);
            let close = if text[end..container.close].contains('\n') { String::new() } else { format!("\n{outer}") };
            return spliced(
                text,
                end..end,
                &format!("\n{inner}{}{close}", entry_text(key, layout, value, &inner, true)),
            );
        };
        let last = container.items.last().map_or(container.open, |(_, end)| *end);
        let comma = skip_blanks(text, last);
        let trails = text[comma..].starts_with(',');
        let behind = rest_of_line(text, if trails { comma + 1 } else { last });
        let lines = text[container.open..first].contains('\n');
        let fresh = if lines {
            let inner = indent(text, first);
            format!(
                "\n{inner}{}{}",
                entry_text(key, layout, value, inner, layout.is_multi_line()),
                if trails { "," } else { "" }
            )
        } else {
            let separator = if trails { layout.comma().trim_start_matches(',') } else { layout.comma() };
            return spliced(
                text,
                behind..behind,
                &format!("{separator}{}", entry_text(key, layout, value, outer, false)),
            );
        };
        let with = spliced(text, behind..behind, &fresh);
        if trails { with } else { spliced(&with, last..last, ",") }
    }

    /// Removes the member or item `nth`, with its comma and the rest of its line.
    fn remove_entry(&self, container: &JsonContainer, nth: usize) -> String {
        let text = self.text;
        let (start, end) = container.items[nth];
        let comma = skip_blanks(text, end);
        let trails = text[comma..].starts_with(',');
        let past = rest_of_line(text, if trails { comma + 1 } else { end });
        let before = text[..start].trim_end_matches([' ', '\t']).len();
        let own_line = text[..before].ends_with('\n')
            && text[past..].trim_start_matches([' ', '\t']).starts_with(['\n', '}', ']']);
        let mut cut = if own_line {
            // Removes the line end before it and keeps the one after it.
            before - 1..past
        } else {
            let blanks = text[past..].len() - text[past..].trim_start_matches([' ', '\t']).len();
            start..past + if nth + 1 < container.items.len() { blanks } else { 0 }
        };
        let only = container.items.len() == 1;
        if only && text[container.open..start].trim().is_empty() && text[cut.end..container.close].trim().is_empty() {
            return spliced(text, container.open..container.close, "");
        }
        let last = nth + 1 == container.items.len();
        if !last || trails || only {
            return spliced(text, cut, "");
        }
        // The last one without a trailing comma: the one before becomes the last.
        let previous = container.items[nth - 1].1;
        let comma = skip_blanks(text, previous);
        if !own_line {
            cut.start = comma + 1;
        }
        let without = spliced(text, cut, "");
        spliced(&without, comma..comma + 1, "")
    }
}

/// Returns a member, or a value of a list, as text.
fn entry_text(key: Option<&str>, layout: JsonLayout<'_>, value: &Value, indent: &str, lines: bool) -> String {
    match key {
        Some(key) => layout.member(key, value, indent, lines),
        None => layout.value(value, indent, false),
    }
}

fn members(object: &ast::Object<'_>) -> JsonContainer {
    let items = object.properties.iter().map(|member| (member.range.start, member.range.end)).collect();
    JsonContainer { open: object.range.start + 1, close: object.range.end - 1, items }
}

fn items(list: &ast::Array<'_>) -> JsonContainer {
    let items = list.elements.iter().map(|item| (item.range().start, item.range().end)).collect();
    JsonContainer { open: list.range.start + 1, close: list.range.end - 1, items }
}

fn spliced(text: &str, span: std::ops::Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..span.start], &text[span.end..])
}

/// Converts a value. Numbers become strings: nothing here calculates with them.
fn data(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(it) => Value::from(it.value.as_ref()),
        ast::Value::NumberLit(it) => Value::from(it.value),
        ast::Value::BooleanLit(it) => Value::Bool(it.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(list) => list.elements.iter().map(data).collect(),
        ast::Value::Object(object) => {
            Value::Object(object.properties.iter().map(|it| (it.name.as_str().to_owned(), data(&it.value))).collect())
        }
    }
}
