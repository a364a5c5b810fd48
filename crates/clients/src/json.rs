//! JSON with comments, edited by splices: existing text is never printed again.

use crate::layout::{JsonLayout, ends_in_line_comment, indent, rest_of_line, skip_blanks};
use crate::{invalid_file, unverified};
use emendate_core::Result;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};
use std::ops::Range;

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

/// The end of a member or item.
#[derive(Clone, Copy)]
struct EntryEnd {
    /// Offset of its comma.
    comma: Option<usize>,
    /// Offset after its comma, and after the comments on the line of its end.
    past: usize,
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

    /// Returns the value at a path of keys; a number selects an item of a list.
    ///
    /// Errors: `call.invalid` if a value on the way is not an object, or a key occurs twice.
    pub(crate) fn get(&self, path: &[&str]) -> Result<Option<JsonNode<'_, 't>>> {
        let Some(mut at) = self.root.as_ref() else { return Ok(None) };
        for (depth, key) in path.iter().enumerate() {
            let inner = match (at, key.parse::<usize>()) {
                (ast::Value::Object(object), _) => self.member(object, key)?.map(|member| &member.value),
                (ast::Value::Array(list), Ok(nth)) => list.elements.get(nth),
                _ => {
                    let what = format!("`{}` is not an object", path[..depth].join("."));
                    return Err(self.wrong(at.range().start, &what));
                }
            };
            match inner {
                Some(inner) => at = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(JsonNode(at)))
    }

    /// Counts the commas behind last members and items.
    pub(crate) fn trailing_commas(&self) -> usize {
        self.root.as_ref().map_or(0, |root| self.commas_behind(root))
    }

    fn commas_behind(&self, value: &ast::Value<'t>) -> usize {
        let (container, inner): (_, Vec<_>) = match value {
            ast::Value::Object(object) => {
                (members(object), object.properties.iter().map(|member| &member.value).collect())
            }
            ast::Value::Array(list) => (items(list), list.elements.iter().collect()),
            _ => return 0,
        };
        let last = container.items.last().is_some_and(|&(_, end)| self.end_of_entry(end).comma.is_some());
        usize::from(last) + inner.into_iter().map(|value| self.commas_behind(value)).sum::<usize>()
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
            let fresh = self.layout().value(value, indent(self.text, range.start), false);
            return self.verified(spliced(self.text, range.start..range.end, &fresh), path, value);
        }
        let Some((last, above)) = path.split_last() else {
            // Nothing but whitespace and comments.
            let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
            return Ok(format!("{}{gap}{}\n", self.text, self.layout().value(value, "", true)));
        };
        match self.get(above)? {
            Some(JsonNode(ast::Value::Object(object))) => {
                self.verified(self.insert(&members(object), Some(last), value), path, value)
            }
            Some(other) => Err(self.wrong(other.0.range().start, &format!("`{}` is not an object", above.join(".")))),
            None => self.set(above, &Value::Object(Map::from_iter([((*last).to_owned(), value.clone())]))),
        }
    }

    /// Returns a changed text, in which this value is at the path.
    ///
    /// Errors: it is not; nothing else notices a denial or a hook that has no effect.
    fn verified(&self, text: String, path: &[&str], value: &Value) -> Result<String> {
        let found = JsonFile::parse(&text, self.name).ok().and_then(|json| Some(json.get(path).ok()??.value()));
        // A number is read with its spelling, as a text.
        let is_there = found.is_some_and(|it| it == *value || it.as_str() == Some(&*value.to_string()));
        if is_there { Ok(text) } else { Err(unverified(self.name)) }
    }

    /// Returns the text with this value at the end of the list at the path, which is created if missing.
    pub(crate) fn push(&self, path: &[&str], value: &Value) -> Result<String> {
        match self.get(path)? {
            Some(JsonNode(ast::Value::Array(list))) => {
                let nth = list.elements.len().to_string();
                self.verified(self.insert(&items(list), None, value), &[path, &[&*nth]].concat(), value)
            }
            Some(other) => Err(self.wrong(other.0.range().start, &format!("`{}` is not a list", path.join(".")))),
            None => self.set(path, &Value::Array(vec![value.clone()])),
        }
    }

    /// Returns the text without the first item of the list at the path that is meant, and without the list if that is
    /// empty then.
    pub(crate) fn remove_item(&self, path: &[&str], is_meant: impl Fn(&Value) -> bool) -> Result<String> {
        let Some(JsonNode(ast::Value::Array(list))) = self.get(path)? else { return Ok(self.text.to_owned()) };
        let Some(nth) = list.elements.iter().position(|item| is_meant(&data(item))) else {
            return Ok(self.text.to_owned());
        };
        if list.elements.len() == 1 && !self.is_kept(path)? {
            return self.remove(path);
        }
        Ok(self.remove_entry(&items(list), nth))
    }

    /// Returns the text without the value at the path, and without the objects that are empty then.
    pub(crate) fn remove(&self, path: &[&str]) -> Result<String> {
        let Some((last, above)) = path.split_last() else { return Ok(self.text.to_owned()) };
        let Some(JsonNode(ast::Value::Object(object))) = self.get(above)? else { return Ok(self.text.to_owned()) };
        let Some(member) = self.member(object, last)? else { return Ok(self.text.to_owned()) };
        if object.properties.len() == 1 && !self.is_kept(above)? {
            return self.remove(above);
        }
        let nth = object.properties.iter().position(|it| it.range == member.range).unwrap_or(0);
        Ok(self.remove_entry(&members(object), nth))
    }

    /// True if the value at a path has to stay when it is empty: the root, and one with a comment inside of it, at its
    /// name or behind it on its line.
    fn is_kept(&self, path: &[&str]) -> Result<bool> {
        let Some((last, above)) = path.split_last() else { return Ok(true) };
        let Some(JsonNode(ast::Value::Object(object))) = self.get(above)? else { return Ok(true) };
        let Some(member) = self.member(object, last)? else { return Ok(true) };
        let there = &self.text[member.range.start..self.end_of_entry(member.range.end).past];
        Ok(there.contains("//") || there.contains("/*"))
    }

    /// Finds the end of a member or item whose value ends at an offset.
    fn end_of_entry(&self, end: usize) -> EntryEnd {
        let next = skip_blanks(self.text, end);
        let comma = self.text[next..].starts_with(',').then_some(next);
        EntryEnd { comma, past: rest_of_line(self.text, comma.map_or(end, |comma| comma + 1)) }
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
        let (Some(&(first, _)), Some(&(start, last))) = (container.items.first(), container.items.last()) else {
            return self.insert_first(container, key, value);
        };
        let EntryEnd { comma, past } = self.end_of_entry(last);
        let trails = comma.is_some();
        let inner = if text[container.open..first].contains('\n') {
            indent(text, first)
        } else if ends_in_line_comment(&text[last..past]) {
            indent(text, start)
        } else {
            let separator = if trails { layout.comma().trim_start_matches(',') } else { layout.comma() };
            let entry = entry_text(key, layout, value, outer, false);
            return spliced(text, past..past, &format!("{separator}{entry}"));
        };
        let entry = entry_text(key, layout, value, inner, layout.is_multi_line());
        let with = spliced(text, past..past, &format!("\n{inner}{entry}{}", if trails { "," } else { "" }));
        if trails { with } else { spliced(&with, last..last, ",") }
    }

    /// Inserts a member or an item where there is no other one.
    fn insert_first(&self, container: &JsonContainer, key: Option<&str>, value: &Value) -> String {
        let (text, layout) = (self.text, self.layout());
        let outer = indent(text, container.open.saturating_sub(1));
        let end = text[..container.close].trim_end().len().max(container.open);
        let is_multi_line = layout.is_multi_line() && key.is_some();
        // A new list stays on its line, unless a comment ends there.
        if !is_multi_line && !ends_in_line_comment(&text[container.open..end]) {
            return spliced(text, end..end, &entry_text(key, layout, value, outer, false));
        }
        let inner = layout.deeper(outer);
        let close = if text[end..container.close].contains('\n') { String::new() } else { format!("\n{outer}") };
        let entry = entry_text(key, layout, value, &inner, is_multi_line);
        spliced(text, end..end, &format!("\n{inner}{entry}{close}"))
    }

    /// Removes the member or item `nth`, with its comma. If no other one is on its line, the line is removed.
    fn remove_entry(&self, container: &JsonContainer, nth: usize) -> String {
        let text = self.text;
        let (start, end) = container.items[nth];
        let EntryEnd { comma, past } = self.end_of_entry(end);
        let is_last = nth + 1 == container.items.len();
        let around = [&text[container.open..start], text[end..container.close].trim_start().trim_start_matches(',')];
        if container.items.len() == 1 && around.iter().all(|blanks| blanks.trim().is_empty()) {
            return spliced(text, container.open..container.close, "");
        }
        // The last one without a trailing comma: the one before becomes the last.
        let previous = nth.checked_sub(1).filter(|_| is_last && comma.is_none()).map(|nth| container.items[nth].1);
        let previous = previous.map(|end| skip_blanks(text, end));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        let gap = nth.checked_sub(1).map_or(container.open, |nth| container.items[nth].1);
        for cut in self.cuts(gap, previous, start..end, EntryEnd { comma, past }) {
            out.push_str(&text[at..cut.start]);
            at = cut.end;
        }
        out + &text[at..]
    }

    /// Returns what is removed with an entry, in ascending order. Comments remain, except those behind an entry on lines
    /// of its own. `gap` is the end of the entry before, and `previous` its comma, if that is removed, too.
    fn cuts(&self, gap: usize, previous: Option<usize>, entry: Range<usize>, end: EntryEnd) -> Vec<Range<usize>> {
        let text = self.text;
        let blanks = |at: usize| at + text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len();
        let before = text[..entry.start].trim_end_matches([' ', '\t']).len();
        let next = &text[blanks(end.past)..];
        // The bracket must not get into a comment of the line above.
        let closes = next.starts_with(['}', ']']) && !ends_in_line_comment(text[gap..before].trim_end());
        let mut out: Vec<Range<usize>> = previous.map(|comma| comma..comma + 1).into_iter().collect();
        if text[..before].ends_with('\n') && (next.starts_with(['\n', '\r']) || closes) {
            // Removes the line end before it and keeps the one after it.
            out.push(before - 1..end.past);
            return out;
        }
        let between = previous.filter(|comma| text[comma + 1..entry.start].trim().is_empty());
        out.push(between.map_or(entry.start, |comma| comma + 1)..entry.end);
        out.extend(end.comma.map(|comma| comma..blanks(comma + 1)));
        out
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

fn spliced(text: &str, span: Range<usize>, with: &str) -> String {
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
