//! The arguments of editing tools in other clients, and the equivalent ones for `edit`, `multi_edit`, `write` and
//! `text_editor`.

use super::fields::{self, FieldRole, folded, numbered, role};
use crate::locate::elided;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Names of the fields by which an edit in a text is recognised.
pub(in crate::formats) const PATH_FIELDS: [&str; 6] =
    ["file_path", "path", "filePath", "target_file", "filename", "file"];
pub(in crate::formats) const OLD_FIELDS: [&str; 9] =
    ["old_string", "oldString", "old_str", "old_text", "oldText", "search", "search_text", "find", "old"];
pub(in crate::formats) const NEW_FIELDS: [&str; 9] =
    ["new_string", "newString", "new_str", "new_text", "newText", "replace", "replace_text", "replacement", "new"];

/// Tools whose field `code` or `changes` is a snippet with placeholders, without signs.
const SNIPPET_TOOLS: [&str; 2] = ["inserteditintofile", "editexistingfile"];
/// Tools whose field `text` is the whole file, without signs.
const TEXT_TOOLS: [&str; 1] = ["fswrite"];

/// Fields of a call; those of one more are not read.
const FIELDS_MAX: usize = 500;

/// Path of a call without one.
const PLACEHOLDER_PATH: &str = "/absolute/path/of/FILE";

/// Returns the arguments of each file: those of a list whose entries name their files are a call for each entry.
pub(super) fn by_file(arguments: &Value) -> Vec<Value> {
    let each = || {
        let fields = arguments.as_object().filter(|fields| fields.len() <= FIELDS_MAX)?;
        let (_, list) = only(fields, FieldRole::List)?;
        let entries = entries(list)?;
        let named = entries.iter().all(|entry| entry.as_object().is_some_and(|fields| path_of(fields).is_some()));
        let is_remark = |(key, _): (&String, &Value)| matches!(role(key), Some(FieldRole::List | FieldRole::Remark));
        (named && !entries.is_empty() && fields.iter().all(is_remark)).then_some(entries)
    };
    each().unwrap_or_else(|| vec![arguments.clone()])
}

/// Returns the format of a call and its arguments in that format; `None` for a call that is not certainly an edit.
/// `file` is the path of calls without one.
pub(super) fn converted(name: Option<&str>, arguments: &Value, file: Option<&str>) -> Option<(&'static str, Value)> {
    let tool = name.and_then(folded);
    if let Some(inserted) = insertion(tool.as_deref(), arguments) {
        return Some(("text_editor", inserted));
    }
    if arguments.get("command").is_some_and(|command| command == "insert") {
        let fields = arguments.as_object()?;
        let names = ["command", "insert_line", "insert_text", "new_str", "path"];
        return fields.keys().all(|key| names.contains(&&**key)).then(|| ("text_editor", arguments.clone()));
    }
    let mut converted = call_of(tool.as_deref(), arguments)?;
    if converted.get("file_path")?.as_str()? == PLACEHOLDER_PATH {
        converted["file_path"] = file?.into();
    }
    let formats = ["edits", "old_string", "content"].iter().zip(["multi_edit", "replace", "write"]);
    let format = formats.into_iter().find(|(key, _)| converted.get(**key).is_some()).map(|(_, format)| format)?;
    fits_name(name, format).then_some((format, converted))
}

/// False for the name of a tool that does something else with such arguments.
pub(super) fn fits_name(name: Option<&str>, format: &str) -> bool {
    let Some(name) = name.map(str::to_lowercase) else { return true };
    if folded(&name).is_some_and(|name| SNIPPET_TOOLS.contains(&&*name)) {
        return true;
    }
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["append", "prepend", "insert", "delete", "remove", "rename", "move", "regex", "read", "view"]) {
        return false;
    }
    format != "write" || has(&["write", "create", "save", "file", "edit"])
}

/// Returns equivalent arguments for `edit`, `multi_edit` or `write`; `tool` is the folded name of the tool, if it is known.
pub(super) fn call_of(tool: Option<&str>, arguments: &Value) -> Option<Value> {
    match arguments {
        Value::Array(edits) => {
            let entries: Option<Vec<Value>> = edits.iter().map(edit).collect();
            let mut paths = edits.iter().filter_map(|edit| path_of(edit.as_object()?));
            let first = paths.next();
            if paths.any(|path| Some(&path) != first.as_ref()) {
                return None;
            }
            entries.filter(|edits| !edits.is_empty()).map(|edits| several(first, &edits))
        }
        Value::Object(fields) if fields.len() <= FIELDS_MAX => {
            let file = path_of(fields);
            if let Some(text) = snippet(tool, fields) {
                return part(fields, &file?, text);
            }
            if let Some((_, list)) = only(fields, FieldRole::List) {
                let edits = entries(list)?.iter().map(edit).collect::<Option<Vec<Value>>>();
                let edits = edits.filter(|edits| !edits.is_empty() && are_only(fields, &[FieldRole::List], EDITS));
                return edits.map(|edits| several(file, &edits));
            }
            if let Some(edits) = numbered_edits(fields) {
                return Some(several(file, &edits));
            }
            if let Some(mut one) = edit(arguments) {
                let fields = one.as_object_mut()?;
                fields.shift_insert(0, "file_path".to_owned(), named(file));
                return Some(one);
            }
            write(tool, fields, &file?)
        }
        _ => None,
    }
}

/// The value of `command` for replacements.
const EDITS: &[&str] = &["str_replace"];

/// True if the other fields of a call change nothing of what these say.
fn are_only(fields: &Map<String, Value>, roles: &[FieldRole], commands: &[&str]) -> bool {
    fields.iter().all(|(key, value)| match role(key) {
        Some(FieldRole::Path | FieldRole::Remark) => true,
        Some(FieldRole::Off) => is_false(value),
        Some(role) => roles.contains(&role),
        None => key == "command" && value.as_str().is_some_and(|command| commands.contains(&command)),
    })
}

fn is_false(value: &Value) -> bool {
    truth(value) == Some(false)
}

/// A truth value, which in tags is a text.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) => match text.trim() {
            "true" | "True" | "1" => Some(true),
            "false" | "False" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// The text of a call that shows only what changes.
fn snippet<'a>(tool: Option<&str>, fields: &'a Map<String, Value>) -> Option<&'a str> {
    let of_tool = || {
        let name = ["code", "changes"].into_iter().find(|name| fields.contains_key(*name))?;
        fields.get(name)?.as_str().filter(|_| tool.is_some_and(|tool| SNIPPET_TOOLS.contains(&tool)))
    };
    text_at(fields, FieldRole::Snippet).or_else(of_tool)
}

/// Returns the arguments of a call with a part of a file: without a placeholder it can only be a new file.
fn part(fields: &Map<String, Value>, file: &str, text: &str) -> Option<Value> {
    let is_text = |(key, value): (&String, &Value)| {
        let is_known = matches!(role(key), Some(FieldRole::Path | FieldRole::Remark | FieldRole::Snippet));
        is_known || value.as_str() == Some(text)
    };
    let mut out = json!({ "file_path": file, "content": text });
    if !elided::is_elided(text) {
        out["overwrite"] = false.into();
    }
    fields.iter().all(is_text).then_some(out)
}

/// Returns the arguments of a call that writes a whole file; `None` if another field may change their meaning.
fn write(tool: Option<&str>, fields: &Map<String, Value>, file: &str) -> Option<Value> {
    let is_text = tool.is_some_and(|tool| TEXT_TOOLS.contains(&tool)) && fields.contains_key("text");
    let mut rest = fields.clone();
    if is_text {
        let text = rest.shift_remove("text")?;
        rest.insert("content".to_owned(), text);
    }
    let mut content = text_at(&rest, FieldRole::Content)?.to_owned();
    let ends = only(fields, FieldRole::FinalLineEnd).and_then(|(_, value)| truth(value));
    if ends == Some(true) && !content.ends_with('\n') {
        content.push('\n');
    }
    are_only(&rest, &[FieldRole::Content, FieldRole::FinalLineEnd], &["create", "write"])
        .then(|| json!({ "file_path": file, "content": content }))
}

/// Returns the arguments of `text_editor` for a call that inserts in front of a line.
fn insertion(tool: Option<&str>, arguments: &Value) -> Option<Value> {
    let fields = arguments.as_object().filter(|fields| tool == Some("insertcontent") && fields.len() == 3)?;
    let line = fields.get("line")?;
    let line = line.as_u64().or_else(|| line.as_str()?.trim().parse().ok()).filter(|line| *line > 0)?;
    let (path, text) = (path_of(fields)?, text_at(fields, FieldRole::Content)?);
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(json!({ "command": "insert", "path": path, "insert_line": line - 1, "insert_text": text }))
}

/// Returns the path of a call.
fn path_of(of: &Map<String, Value>) -> Option<String> {
    Some(text_at(of, FieldRole::Path)?.to_owned())
}

/// Returns the entries of a list of edits, which may be JSON in a string, or a single entry.
fn entries(list: &Value) -> Option<Vec<Value>> {
    match list {
        Value::Array(edits) => Some(edits.clone()),
        Value::Object(_) => Some(vec![list.clone()]),
        Value::String(text) => {
            serde_json::from_str(text).ok().filter(|list: &Value| !list.is_string()).and_then(|it| entries(&it))
        }
        _ => None,
    }
}

/// The edits of a call whose fields are numbered: `old_str_1`, `new_str_1`, `old_str_2` and so on.
fn numbered_edits(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let mut edits: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
    let mut rest = Map::new();
    for (key, value) in fields {
        let Some((role, number)) = numbered(key) else {
            rest.insert(key.clone(), value.clone());
            continue;
        };
        let name = match role {
            FieldRole::Old => "old_string",
            FieldRole::New => "new_string",
            _ => continue,
        };
        edits.entry(number.parse().ok()?).or_default().insert(name.to_owned(), value.clone());
    }
    let list = edits.into_values().map(|fields| edit(&Value::Object(fields))).collect::<Option<Vec<Value>>>()?;
    (!list.is_empty() && are_only(&rest, &[], EDITS)).then_some(list)
}

fn several(path: Option<String>, edits: &[Value]) -> Value {
    json!({ "file_path": named(path), "edits": edits })
}

fn named(path: Option<String>) -> Value {
    path.unwrap_or_else(|| PLACEHOLDER_PATH.to_owned()).into()
}

/// Converts one replacement to our field names; `None` if it has more than the two texts and what counts them.
fn edit(value: &Value) -> Option<Value> {
    let fields = value.as_object().filter(|fields| fields.len() <= FIELDS_MAX)?;
    let mut out =
        json!({ "old_string": text_at(fields, FieldRole::Old)?, "new_string": text_at(fields, FieldRole::New)? });
    for (key, value) in fields {
        match (role(key), value) {
            (Some(FieldRole::All), value) => {
                if truth(value)? {
                    out["replace_all"] = true.into();
                }
            }
            (Some(FieldRole::Expected), Value::Number(count)) => out["expected_replacements"] = count.clone().into(),
            (Some(FieldRole::Off), value) if is_false(value) => {}
            (Some(FieldRole::Old | FieldRole::New | FieldRole::Path), Value::String(_))
            | (Some(FieldRole::Remark | FieldRole::Near), _) => {}
            (None, Value::String(command)) if key == "command" && EDITS.contains(&&**command) => {}
            _ => return None,
        }
    }
    Some(out)
}

/// Returns the text in the only field with this role.
fn text_at(fields: &Map<String, Value>, role: FieldRole) -> Option<&str> {
    only(fields, role)?.1.as_str()
}

/// Returns the only field with this role.
fn only(fields: &Map<String, Value>, role: FieldRole) -> Option<(&String, &Value)> {
    let mut found = fields.iter().filter(|(key, _)| fields::role(key) == Some(role));
    found.next().filter(|_| found.next().is_none())
}
