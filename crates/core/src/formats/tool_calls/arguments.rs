//! The arguments of editing tools in other clients, and the equivalent ones for `edit`, `multi_edit`, `write` and
//! `text_editor`.

use serde_json::{Map, Value, json};

/// Field names of different tools for the path.
pub(in crate::formats) const PATH_FIELDS: [&str; 6] =
    ["file_path", "path", "filePath", "target_file", "filename", "file"];
pub(in crate::formats) const OLD_FIELDS: [&str; 9] =
    ["old_string", "oldString", "old_str", "old_text", "oldText", "search", "search_text", "find", "old"];
pub(in crate::formats) const NEW_FIELDS: [&str; 9] =
    ["new_string", "newString", "new_str", "new_text", "newText", "replace", "replace_text", "replacement", "new"];
/// Field names for the whole text of a file.
pub(super) const CONTENT_FIELDS: [&str; 3] = ["content", "contents", "file_text"];
/// Fields that contain a reason or a description.
const REMARK_FIELDS: [&str; 5] = ["description", "explanation", "instruction", "instructions", "line_count"];
/// Fields that contain a list of edits.
const LIST_FIELDS: [&str; 3] = ["edits", "replacements", "changes"];

/// Path of a call without one.
const PLACEHOLDER_PATH: &str = "/absolute/path/of/FILE";

/// Returns the format of a call and its arguments in that format; `None` for a call that is not certainly an edit.
/// `file` is the path of calls without one.
pub(super) fn converted(name: Option<&str>, arguments: &Value, file: Option<&str>) -> Option<(&'static str, Value)> {
    if arguments.get("command").is_some_and(|command| command == "insert") {
        let fields = arguments.as_object()?;
        let names = ["command", "insert_line", "insert_text", "new_str", "path"];
        return fields.keys().all(|key| names.contains(&&**key)).then(|| ("text_editor", arguments.clone()));
    }
    let mut converted = same_call(arguments)?;
    if converted.get("file_path")?.as_str()? == PLACEHOLDER_PATH {
        converted["file_path"] = file?.into();
    }
    let formats = LIST_FIELDS[..1].iter().chain(&["old_string", "content"]).zip(["multi_edit", "replace", "write"]);
    let format = formats.into_iter().find(|(key, _)| converted.get(**key).is_some()).map(|(_, format)| format)?;
    fits_name(name, format).then_some((format, converted))
}

/// False for the name of a tool that does something else with such arguments.
pub(super) fn fits_name(name: Option<&str>, format: &str) -> bool {
    let Some(name) = name.map(str::to_lowercase) else { return true };
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["append", "prepend", "insert", "delete", "remove", "rename", "move", "regex", "read", "view"]) {
        return false;
    }
    format != "write" || has(&["write", "create", "save", "file", "edit"])
}

/// Returns equivalent arguments for `edit`, `multi_edit` or `write`.
pub(super) fn same_call(arguments: &Value) -> Option<Value> {
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
        Value::Object(fields) => {
            let file = path_of(fields);
            if let Some(list) = LIST_FIELDS.iter().find_map(|key| fields.get(*key)) {
                let known = [&PATH_FIELDS[..], &LIST_FIELDS, &REMARK_FIELDS];
                if !fields.keys().all(|key| known.iter().any(|names| names.contains(&&**key))) {
                    return None;
                }
                let edits = entries(list)?.iter().map(edit).collect::<Option<Vec<Value>>>();
                return edits.filter(|edits| !edits.is_empty()).map(|edits| several(file, &edits));
            }
            if let Some(mut one) = edit(arguments) {
                let fields = one.as_object_mut()?;
                fields.shift_insert(0, "file_path".to_owned(), named(file));
                return Some(one);
            }
            write(fields, file?)
        }
        _ => None,
    }
}

/// Returns the arguments of a call that writes a whole file; `None` if another field may change their meaning.
fn write(fields: &Map<String, Value>, file: String) -> Option<Value> {
    let content = text_at(fields, &CONTENT_FIELDS)?;
    let known = [&CONTENT_FIELDS[..], &PATH_FIELDS, &REMARK_FIELDS];
    let writes = fields.iter().all(|(key, value)| {
        known.iter().any(|names| names.contains(&&**key)) || key == "command" && (value == "create" || value == "write")
    });
    writes.then(|| json!({ "file_path": named(Some(file)), "content": content }))
}

/// Returns the path of a call.
fn path_of(of: &Map<String, Value>) -> Option<String> {
    Some(text_at(of, &PATH_FIELDS)?.to_owned())
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

fn several(path: Option<String>, edits: &[Value]) -> Value {
    json!({ "file_path": named(path), "edits": edits })
}

fn named(path: Option<String>) -> Value {
    path.unwrap_or_else(|| PLACEHOLDER_PATH.to_owned()).into()
}

/// Converts one replacement to our field names; `None` if it has more than the two texts and a flag for all
/// occurrences.
fn edit(value: &Value) -> Option<Value> {
    let fields = value.as_object()?;
    let mut out = json!({ "old_string": text_at(fields, &OLD_FIELDS)?, "new_string": text_at(fields, &NEW_FIELDS)? });
    for (key, value) in fields {
        match (&**key, value) {
            ("replace_all" | "replaceAll", Value::Bool(all)) => out["replace_all"] = (*all).into(),
            ("expected_replacements" | "expectedReplacements", Value::Number(count)) => {
                out["expected_replacements"] = count.clone().into();
            }
            (key, Value::String(_))
                if [&OLD_FIELDS[..], &NEW_FIELDS, &PATH_FIELDS].iter().any(|names| names.contains(&key)) => {}
            (key, _) if REMARK_FIELDS.contains(&key) => {}
            ("command", Value::String(command)) if command == "str_replace" => {}
            _ => return None,
        }
    }
    Some(out)
}

/// Returns the text in the first of these fields that exists.
fn text_at<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    let mut found = names.iter().filter_map(|name| fields.get(*name));
    found.next().filter(|_| found.next().is_none())?.as_str()
}
