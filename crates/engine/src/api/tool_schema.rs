//! Input schemas of tools.

use crate::api::tool_table::{Tool, ToolInput};
use crate::context::options::OptionFields;
use crate::model::raw_path::RawPath;
use crate::pipeline::plan::patching::PatchFields;
use crate::tools::symbols::edit::EditSymbolInput;
use crate::tools::symbols::outline;
use crate::tools::undo::{self, rewind};
use crate::tools::{
    apply, convert, history as history_tool, list, moments, read, replace as replace_in, search, snapshot,
};
use emendate_core::formats::text_editor;
use serde_json::{Map, Value};

impl Tool {
    /// Returns the JSON schema of its input, including descriptions.
    pub fn schema(&self) -> Map<String, Value> {
        let parts: Vec<schemars::Schema> = match self.input {
            ToolInput::Read => vec![schemars::schema_for!(read::ReadInput), schemars::schema_for!(RawPath)],
            ToolInput::Search => vec![schemars::schema_for!(search::SearchInput), schemars::schema_for!(RawPath)],
            ToolInput::List => vec![schemars::schema_for!(list::ListInput), schemars::schema_for!(RawPath)],
            ToolInput::Replace => vec![schemars::schema_for!(replace_in::ReplaceInput)],
            ToolInput::Undo => vec![schemars::schema_for!(undo::input::UndoInput), schemars::schema_for!(RawPath)],
            ToolInput::History => {
                vec![schemars::schema_for!(history_tool::HistoryInput), schemars::schema_for!(RawPath)]
            }
            ToolInput::Mark => vec![schemars::schema_for!(moments::MarkInput)],
            ToolInput::Rewind => vec![schemars::schema_for!(rewind::RewindInput)],
            ToolInput::Snapshot => vec![schemars::schema_for!(snapshot::SnapshotInput)],
            ToolInput::Outline => vec![schemars::schema_for!(outline::OutlineInput), schemars::schema_for!(RawPath)],
            ToolInput::Check => vec![schemars::schema_for!(crate::tools::check::CheckInput)],
            ToolInput::Symbol => {
                let own = schemars::schema_for!(EditSymbolInput);
                vec![own, schemars::schema_for!(RawPath), schemars::schema_for!(OptionFields)]
            }
            ToolInput::Restore => vec![schemars::schema_for!(undo::RestoreArgs), schemars::schema_for!(RawPath)],
            ToolInput::Text => {
                let own = schemars::schema_for!(apply::ApplyInput);
                vec![own, schemars::schema_for!(OptionFields), schemars::schema_for!(PatchFields)]
            }
            ToolInput::Convert => vec![schemars::schema_for!(convert::ConvertInput)],
            ToolInput::Editor => {
                vec![schemars::schema_for!(text_editor::TextEditorInput), schemars::schema_for!(OptionFields)]
            }
            ToolInput::Formats(formats) | ToolInput::FormatsAnd(formats, _) => {
                let specs = formats.iter().filter_map(|format| format.spec().schema).map(|schema| schema());
                specs.chain([schemars::schema_for!(RawPath), schemars::schema_for!(OptionFields)]).collect()
            }
        };
        merge_schemas(&parts)
    }
}

/// Merges the parts to one object schema with all their fields; fields are required if every edit part requires them.
fn merge_schemas(parts: &[schemars::Schema]) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut definitions = Map::new();
    let mut required: Option<Vec<Value>> = None;
    for part in parts {
        let part = part.as_value();
        for (name, field) in object_field(part, "properties") {
            properties.entry(name).or_insert(field);
        }
        definitions.extend(object_field(part, "$defs"));
        if let Some(list) = part.get("required").and_then(Value::as_array) {
            let both = required.map(|known| known.into_iter().filter(|name| list.contains(name)).collect());
            required = Some(both.unwrap_or_else(|| list.clone()));
        }
    }
    let mut out = Map::new();
    out.insert("type".to_owned(), "object".into());
    out.insert("properties".to_owned(), Value::Object(properties));
    out.insert("required".to_owned(), Value::Array(required.unwrap_or_default()));
    out.insert("additionalProperties".to_owned(), Value::Bool(false));
    if !definitions.is_empty() {
        out.insert("$defs".to_owned(), Value::Object(definitions));
    }
    out
}

/// Returns a field that is an object.
fn object_field(part: &Value, key: &str) -> Map<String, Value> {
    part.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}
