//! Conversion of values to the types of their fields: texts that are numbers, lists or paths.

use crate::api::arguments::aliases::normalize_name;
use crate::api::arguments::fields::{bare_path, has_type};
use crate::api::arguments::reader::{ArgumentReader, FieldLevel};
use crate::model::raw_path::PATH_FIELDS;
use emendate_core::{Advice, Code, Error, Note, Phrase, Result};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Names of the only field of an object that some models put around a list, and around the text of an edit.
const LIST_NAMES: &[&str] = &["edits", "edit", "item", "items", "list", "changes", "replacements"];
/// Fields whose texts some models send as lists of lines. They are joined only if a call sends several such lists,
/// because a single list does not show whether its text ends with a line end.
const LINE_LIST_FIELDS: &[&str] = &["old_string", "new_string"];
/// Maximum number of calls that the advice for a list of files names.
const ADVISED_CALLS_MAX: usize = 8;
const TEXT_NAMES: &[&str] = &["input", "patch", "patchtext", "diff", "text", "content"];

impl ArgumentReader<'_> {
    pub(super) fn value(
        &mut self,
        value: Value,
        schema: &'static Value,
        at: &str,
        field: Option<&str>,
    ) -> Result<Value> {
        let known = self.known;
        let schema = known.resolve_schema(schema);
        let value = self.unpacked(value, schema, at, field);
        let is_path = field.is_some_and(|field| PATH_FIELDS.contains(&field));
        if is_path && has_type(schema, "string") && !has_type(schema, "array") {
            self.check_single_path(&value, at)?;
        }
        let value = match value {
            Value::String(text) if !has_type(schema, "string") => self.parsed(text, schema, at, field)?,
            Value::Object(fields) if has_type(schema, "array") && !has_type(schema, "object") => {
                let numbered = numbered_entries(&fields);
                self.notes.push(match numbered {
                    Some(_) => format!("{at} was an object with numbers as keys; it was read as a list."),
                    None => format!("{at} was one entry without a list; it was read as a list of one."),
                });
                Value::Array(numbered.unwrap_or_else(|| vec![Value::Object(fields)]))
            }
            Value::Number(number) if has_type(schema, "integer") && !has_type(schema, "number") => whole(number),
            Value::Number(number) if has_type(schema, "boolean") && (number.as_u64().is_some_and(|it| it <= 1)) => {
                let is_true = number.as_u64() == Some(1);
                self.notes.push(format!("{at} was the number {number}; it was read as {is_true}."));
                Value::Bool(is_true)
            }
            Value::Number(number) if is_numeric_text(field) && (number.is_u64() || number.is_i64()) => {
                self.notes.push(format!("{at} was the number {number}; it was read as the text \"{number}\"."));
                Value::String(number.to_string())
            }
            other => other,
        };
        match value {
            Value::Object(fields) if has_type(schema, "object") => {
                let is_entry = at.rsplit('.').next().is_some_and(|last| last.starts_with("edits["));
                let level = if is_entry { FieldLevel::Entry } else { FieldLevel::Inner };
                Ok(Value::Object(self.object(fields, schema, at, level)?))
            }
            Value::Array(items) if has_type(schema, "array") => {
                let Some(each) = schema.get("items").filter(|each| each.is_object()) else {
                    return Ok(Value::Array(items));
                };
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, item)| {
                        let item = self.value(item, each, &format!("{at}[{index}]"), None)?;
                        Ok(if is_path { self.path(item) } else { item })
                    })
                    .collect::<Result<Vec<Value>>>()
                    .map(Value::Array)
            }
            value if is_path => Ok(self.path(value)),
            value => Ok(value),
        }
    }

    /// Errors: `call.invalid` for several paths in the field of one, with the calls of a read for each.
    fn check_single_path(&self, value: &Value, at: &str) -> Result<()> {
        let Some(paths) = value.as_array().filter(|paths| paths.len() > 1 && paths.iter().all(Value::is_string)) else {
            return Ok(());
        };
        let what = format!("{at} is the path of one file, and the call has {}.", paths.len());
        let error = Error::new(Code::CallInvalid, what);
        if self.tool.name != "read" {
            return Err(error.next("Send one call for each file; nothing was changed."));
        }
        let mut parts = vec![Phrase::from("Send one call for each: ")];
        for (nth, path) in paths.iter().take(ADVISED_CALLS_MAX).enumerate() {
            parts.extend((nth > 0).then(|| Phrase::from("; ")));
            parts.push(Phrase::Call("read", json!({ "file_path": path })));
        }
        parts.push(if paths.len() > ADVISED_CALLS_MAX { "; and so on." } else { "." }.into());
        Err(error.next(Advice::new(parts)))
    }

    /// Removes what some models put around a value: a list around a path, or an object around a list or a text. Joins a
    /// text that was sent as a list of its lines.
    fn unpacked(&mut self, value: Value, schema: &Value, at: &str, field: Option<&str>) -> Value {
        let takes_text = has_type(schema, "string");
        let is_path = field.is_some_and(|field| PATH_FIELDS.contains(&field));
        match value {
            Value::Array(mut items)
                if (is_path || field == Some("input")) && takes_text && matches!(&*items, [Value::String(_)]) =>
            {
                self.notes.push(format!("{at} was a list of one; its entry was read."));
                items.remove(0)
            }
            Value::Array(items)
                if field.is_some_and(|field| {
                    field == "new_source" || self.are_lists && LINE_LIST_FIELDS.contains(&field)
                }) && takes_text
                    && !items.is_empty()
                    && items.iter().all(Value::is_string) =>
            {
                self.notes.push(format!("{at} was a list of lines; it was read as one text."));
                Value::String(joined(&items))
            }
            Value::Object(mut fields) if fields.len() == 1 => {
                let name = fields.keys().next().cloned().unwrap_or_default();
                let (list, text) = (fields[&name].is_array(), fields[&name].is_string());
                let is_list = list && has_type(schema, "array") && LIST_NAMES.contains(&&*normalize_name(&name));
                let is_text =
                    text && takes_text && field == Some("input") && TEXT_NAMES.contains(&&*normalize_name(&name));
                if !is_list && !is_text {
                    return Value::Object(fields);
                }
                self.notes.push(format!("{at} was an object with the field `{name}`; that was read."));
                fields.shift_remove(&name).unwrap_or_default()
            }
            other => other,
        }
    }

    /// Parses a text for a field with a number, a boolean, a list or an object.
    fn parsed(&mut self, text: String, schema: &'static Value, at: &str, field: Option<&str>) -> Result<Value> {
        let word = text.trim();
        let list = has_type(schema, "array");
        let truth = boolean(word).filter(|_| has_type(schema, "boolean"));
        let read = if truth.is_some() {
            truth.map(Value::Bool)
        } else if has_type(schema, "integer") || has_type(schema, "number") {
            word.parse::<u64>().map(Value::from).or_else(|_| word.parse::<i64>().map(Value::from)).ok()
        } else {
            None
        };
        if let Some(read) = read {
            self.notes.push(format!("{at} was the text {text:?}; it was read as {read}."));
            return Ok(read);
        }
        if !list && !has_type(schema, "object") {
            return Ok(Value::String(text));
        }
        let texts = schema.get("items").is_some_and(|each| has_type(self.known.resolve_schema(each), "string"));
        let parsed = match serde_json::from_str::<Value>(strip_fence(word)) {
            // JSON that was encoded as a string twice.
            Ok(Value::String(inner)) if !texts => serde_json::from_str::<Value>(&inner),
            Err(error) => {
                let repaired = repaired_json(strip_fence(word)).and_then(|json| serde_json::from_str(&json).ok());
                if repaired.is_some() {
                    self.notes.push(format!("{at} was not quite JSON; line ends in its texts and commas before a bracket were read as meant."));
                }
                repaired.or_else(|| self.literal(word, at, field)).ok_or(error)
            }
            parsed => parsed,
        };
        match parsed {
            Ok(value @ Value::Array(_)) if list => {
                self.notes.push(format!("{at} was a string that contains a list; it was read as the list."));
                Ok(value)
            }
            Ok(value @ Value::Object(_)) if !texts => {
                self.notes.push(format!("{at} was a string that contains JSON; it was read as that."));
                Ok(if list { Value::Array(vec![value]) } else { value })
            }
            // `search` takes a single pattern, which is never split; a list of globs may be sent as one text.
            _ if list && texts && field == Some("glob") => {
                let patterns = patterns(&text);
                if patterns.len() > 1 {
                    self.notes.push(format!("{at} was one text; it was read as {} patterns.", patterns.len()));
                }
                Ok(patterns.into_iter().collect())
            }
            _ if list && texts => {
                self.notes.push(format!("{at} was one text without a list; it was read as a list of one."));
                Ok(Value::Array(vec![Value::String(text)]))
            }
            Err(error) if list => {
                Err(Error::new(Code::CallInvalid, format!("{at} is a string, and no JSON: {error}."))
                    .next(format!("Send {at} as a list, not as a string; nothing was changed.")))
            }
            _ => Ok(Value::String(text)),
        }
    }

    /// Parses a list or an object written as Python or JavaScript, and a range of lines.
    fn literal(&mut self, text: &str, at: &str, field: Option<&str>) -> Option<Value> {
        if field == Some("view_range") {
            let (from, to) = text.split_once(['-', ',', ':'])?;
            let number = |part: &str| part.trim().parse::<i64>().ok();
            let range = Value::from(vec![number(from)?, number(to)?]);
            self.notes.push(format!("{at} was the text {text:?}; it was read as a range of lines."));
            return Some(range);
        }
        let value = emendate_core::formats::literal_value(strip_fence(text))?;
        self.notes.push(format!("{at} was written as code, and not as JSON; its literals were read."));
        (value.is_array() || value.is_object()).then_some(value)
    }

    /// Makes a path absolute, if its root is unambiguous.
    pub(super) fn path(&mut self, value: Value) -> Value {
        let Value::String(text) = &value else { return value };
        let inner = bare_path(text);
        if inner != text {
            self.notes.push(format!("{text:?} was read as {inner}."));
            return self.path(Value::String(inner.to_owned()));
        }
        let drive = matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if text.is_empty() || text.starts_with(['/', '~']) || text.contains('\0') || text.contains("://") || drive {
            return value;
        }
        let linked = inside_link(text);
        let mut rest = linked.unwrap_or(text);
        if let (Some(inner), true) = (linked, rest.starts_with('/')) {
            self.notes.push(format!("{text} is a link; it was read as {inner}."));
            return Value::String(inner.to_owned());
        }
        while let Some(inner) = rest.strip_prefix("./") {
            rest = inner.trim_start_matches('/');
        }
        let rest = if rest == "." { "" } else { rest };
        let absolute = self.start.map(|start| if rest.is_empty() { start.to_owned() } else { start.join(rest) });
        let Some(absolute) = absolute.as_deref().and_then(Path::to_str) else { return value };
        let note = format!("{text} is relative; it was read as {absolute}.");
        let note = Note::from(note);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        Value::String(absolute.to_owned())
    }
}

/// True for a field whose text may consist of digits: the text of an edit, or the name of an operation.
fn is_numeric_text(field: Option<&str>) -> bool {
    let texts = ["old_string", "new_string", "old_str", "new_str", "id", "since", "to"];
    field.is_some_and(|field| texts.contains(&field))
}

/// Reads a word for true or false.
fn boolean(word: &str) -> Option<bool> {
    match &*word.to_ascii_lowercase() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Splits a text with several patterns at its commas; those in braces are parts of a pattern.
fn patterns(text: &str) -> Vec<Value> {
    let mut depth = 0_usize;
    let parts = text.split(|ch| {
        match ch {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        ch == ',' && depth == 0
    });
    let parts: Vec<&str> = parts.map(str::trim).collect();
    let are_patterns = parts.iter().all(|part| part.contains(['*', '?', '/', '.']));
    if are_patterns { parts.into_iter().map(Value::from).collect() } else { vec![text.into()] }
}

/// Joins the lines of a text, which may have their line ends.
fn joined(lines: &[Value]) -> String {
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    let ended =
        lines.split_last().is_some_and(|(_, rest)| !rest.is_empty() && rest.iter().all(|it| it.ends_with('\n')));
    if ended { lines.concat() } else { lines.join("\n") }
}

/// Returns the entries of an object whose keys count them.
fn numbered_entries(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let first = fields.keys().next()?.parse::<usize>().ok().filter(|first| *first <= 1)?;
    let counts = fields.keys().enumerate().all(|(nth, key)| key.parse() == Ok(first + nth));
    let objects = fields.values().all(Value::is_object);
    (counts && objects).then(|| fields.values().cloned().collect())
}

/// Returns the path in a Markdown link to itself, `[a.rs](src/a.rs)`; a route such as `[id](x)` is not one.
fn inside_link(text: &str) -> Option<&str> {
    let (shown, target) = text.strip_prefix('[')?.strip_suffix(')')?.split_once("](")?;
    let shown = shown.trim_matches('`');
    let same = target == shown || target.rsplit('/').next() == Some(shown) || target.trim_start_matches('/') == shown;
    (same && !target.is_empty()).then_some(target)
}

/// Converts a number without a fraction, as JavaScript writes it.
fn whole(number: serde_json::Number) -> Value {
    let float =
        number.as_f64().filter(|it| !number.is_u64() && !number.is_i64() && it.fract() == 0.0 && it.abs() < 9e15);
    float.and_then(|it| format!("{it:.0}").parse::<i64>().ok()).map_or(Value::Number(number), Value::from)
}

/// Returns JSON with line ends and tabs inside of its texts escaped, and without commas before a closing bracket; `None` if
/// it has neither.
fn repaired_json(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len() + 16);
    let (mut in_text, mut escaped) = (false, false);
    for (at, ch) in json.char_indices() {
        match ch {
            '\n' if in_text => out.push_str("\\n"),
            '\r' if in_text => out.push_str("\\r"),
            '\t' if in_text => out.push_str("\\t"),
            ',' if !in_text && json[at + 1..].trim_start().starts_with([']', '}']) => {}
            ch => out.push(ch),
        }
        in_text ^= ch == '"' && !escaped;
        escaped = in_text && ch == '\\' && !escaped;
    }
    (out != json && !in_text).then_some(out)
}

/// A text without a fence around all of it.
fn strip_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, inside)| inside)
}
