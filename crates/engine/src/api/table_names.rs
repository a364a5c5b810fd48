//! Names of tools and fields for calls without a profile, as the tool table has them.

use crate::tools::tool::Tool;
use emendate_core::Vocabulary;
use emendate_core::advice::json_call;
use serde_json::{Map, Value, json};

/// The text editor, and its names of fields of the other tools.
pub(super) const EDITOR_TOOL: &str = "text_editor";
const EDITOR_FIELDS: [(&str, &str); 3] = [("old_string", "old_str"), ("new_string", "new_str"), ("file_path", "path")];

/// Returns a tool's own name of a field.
pub(super) fn own_name<'f>(tool: &str, field: &'f str) -> &'f str {
    let own = EDITOR_FIELDS.iter().find(|(name, _)| tool == EDITOR_TOOL && *name == field);
    own.map_or(field, |(_, own)| own)
}

/// Returns the command of the text editor that does what this tool does.
pub(super) fn editor_command(tool: &str) -> Option<String> {
    let command = match tool {
        "write" => "create",
        "edit" => "str_replace",
        _ => return None,
    };
    Some(format!("the command {command}"))
}

/// True for a field that a schema has, or has in an entry of `edits`.
pub(super) fn is_published(name: &str, schema: &Map<String, Value>) -> bool {
    let entry = schema.get("properties").and_then(|it| it.get("edits")?.get("items"));
    let definition = entry.and_then(|it| it.get("$ref")?.as_str()?.strip_prefix("#/$defs/"));
    let entry = definition.map_or(entry, |definition| schema.get("$defs")?.get(definition));
    let of_entry = entry.and_then(|it| it.get("properties")?.get(name));
    of_entry.is_some() || schema.get("properties").is_some_and(|it| it.get(name).is_some())
}

/// The names of the tool table, for calls of one of its tools: all tools exist, and the fields of this one.
pub(crate) struct TableNames(pub(crate) &'static Tool);

impl Vocabulary for TableNames {
    fn tool(&self, name: &str) -> Option<String> {
        let command = editor_command(name).filter(|_| self.0.name == EDITOR_TOOL);
        Some(command.unwrap_or_else(|| name.to_owned()))
    }

    fn field(&self, name: &str) -> Option<String> {
        let own = own_name(self.0.name, name);
        self.0.known().have(own).then(|| own.to_owned())
    }

    fn field_of(&self, tool: &str, name: &str) -> Option<String> {
        let is_command = self.0.name == EDITOR_TOOL && editor_command(tool).is_some();
        if is_command { self.field(name) } else { Some(name.to_owned()) }
    }

    fn call(&self, tool: &str, fields: &Map<String, Value>) -> Option<String> {
        let by_editor = viewed(fields).filter(|_| self.0.name == EDITOR_TOOL && tool == "read");
        Some(by_editor.map_or_else(|| json_call(tool, fields), |fields| json_call(EDITOR_TOOL, &fields)))
    }
}

/// Converts a read to the command `view` of a text editor.
pub(super) fn viewed(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let path = fields.get("file_path")?.clone();
    let mut out = Map::from_iter([("command".to_owned(), "view".into()), ("path".to_owned(), path)]);
    if fields.keys().any(|name| !["file_path", "offset", "limit"].contains(&&**name)) {
        return None;
    }
    let (from, count) = (number_of(fields, "offset"), number_of(fields, "limit"));
    if from.is_some() || count.is_some() {
        let from = from.unwrap_or(1);
        let last = count.map_or(json!(-1), |count| json!(from + count.max(1) - 1));
        out.insert("view_range".to_owned(), json!([from, last]));
    }
    Some(out)
}

/// Returns a field that is a number.
fn number_of(fields: &Map<String, Value>, name: &str) -> Option<u64> {
    fields.get(name).and_then(Value::as_u64)
}
