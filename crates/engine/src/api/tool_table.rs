//! The tool table: one row per tool. Help, schemas, documentation, `emend call` and MCP iterate over it.

use crate::api::arguments::{KnownFields, normalize_name};
use crate::api::tool_schema::merge_schemas;
use crate::model::raw_path::RAW_PATH_FIELD;
use crate::tools::symbols::{edit, outline};
use crate::tools::tool::Tool;
use crate::tools::undo::{restore, rewind};
use crate::tools::{
    apply, check, convert, format_tools, history, list, moments, read, replace, search, snapshot, text_editor, undo,
};
use serde_json::{Map, Value};
use std::sync::{LazyLock, OnceLock};

/// Bytes of one call's input.
pub const INPUT_BYTES_MAX: usize = 64 << 20;

/// Every tool.
pub static TOOLS: &[&Tool] = &[
    &read::TOOL,
    &search::TOOL,
    &list::TOOL,
    &format_tools::EDIT,
    &format_tools::MULTI_EDIT,
    &format_tools::EDIT_ANCHORS,
    &format_tools::WRITE,
    &format_tools::NOTEBOOK_EDIT,
    &text_editor::TOOL,
    &apply::TOOL,
    &replace::TOOL,
    &convert::TOOL,
    &outline::TOOL,
    &check::TOOL,
    &edit::TOOL,
    &undo::TOOL,
    &restore::TOOL,
    &history::TOOL,
    &moments::TOOL,
    &rewind::TOOL,
    &snapshot::TOOL,
];

/// Returns the tool of that name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().copied().find(|tool| tool.name == name)
}

/// Returns the tool that another client's name refers to.
pub(crate) fn tool_named(name: &str) -> Option<&'static Tool> {
    let name = normalize_name(name);
    let is_name = |other: &&str| normalize_name(other) == name;
    TOOLS.iter().copied().find(|tool| [tool.name].iter().chain(tool.other_names).any(is_name))
}

impl Tool {
    /// Returns the schema for parsing arguments; computed once.
    pub(crate) fn known(&self) -> &'static KnownFields {
        static KNOWN_FIELDS: LazyLock<Vec<OnceLock<KnownFields>>> =
            LazyLock::new(|| TOOLS.iter().map(|_| OnceLock::new()).collect());
        let row = TOOLS.iter().position(|tool| tool.name == self.name).unwrap_or_default();
        KNOWN_FIELDS[row].get_or_init(|| KnownFields::new(TOOLS[row].schema(), TOOLS[row].meant_empty))
    }

    /// Returns the JSON schema of its input, including descriptions.
    pub fn schema(&self) -> Map<String, Value> {
        merge_schemas(&self.input.schemas())
    }

    /// True when a path may be given as bytes in base64.
    pub fn takes_raw_paths(&self) -> bool {
        self.schema()["properties"].get(RAW_PATH_FIELD).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::TOOLS;

    #[test]
    fn every_tool_has_its_texts_and_they_fit_client_limits() {
        for tool in TOOLS {
            assert!((1..=2048).contains(&tool.prompt.len()), "{}", tool.name);
            let texts = [tool.name, tool.title, tool.summary, tool.example];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}", tool.name);
        }
    }
}
