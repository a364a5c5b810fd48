//! Names of tools and fields as published by a profile, for the advice of errors.

use crate::api::profile::{CELL_FIELDS, NOTEBOOK_PATH, NOTEBOOK_TOOL, Profile, ToolView, all_profiles};
use crate::api::table_names::{EDITOR_TOOL, editor_command, is_published, own_name, viewed};
use emendate_core::Vocabulary;
use emendate_core::advice::json_call;
use serde_json::{Map, Value};
use std::sync::{LazyLock, OnceLock};

/// Returns the tools of every profile.
fn all_views() -> impl Iterator<Item = &'static ToolView> {
    all_profiles().flat_map(|profile| profile.views)
}

/// The names of a profile, for calls of one of its tools.
#[derive(Clone, Copy)]
pub(crate) struct ToolViewNames {
    profile: Option<&'static Profile>,
    /// The called tool; `None` for what a program does without a tool of the profile.
    view: Option<&'static ToolView>,
}

impl ToolView {
    /// Returns the names of the profile that this tool belongs to.
    pub(super) fn names(&'static self) -> ToolViewNames {
        let profile = all_profiles().find(|profile| profile.views.iter().any(|view| std::ptr::eq(view, self)));
        ToolViewNames { profile, view: Some(self) }
    }

    /// Returns the published name of a field of the tool, if it is published.
    pub fn published(&'static self, field: &str) -> Option<String> {
        let field = own_name(self.tool, field);
        let renamed = self.renamed_fields.iter().find(|(_, own)| *own == field).map(|(name, _)| *name);
        let name = renamed.unwrap_or(field);
        is_published(name, self.known_schema()).then(|| name.to_owned())
    }

    /// Returns the JSON schema of its input; computed once, because every call looks up names.
    fn known_schema(&'static self) -> &'static Map<String, Value> {
        static SCHEMAS: LazyLock<Vec<OnceLock<Map<String, Value>>>> =
            LazyLock::new(|| all_views().map(|_| OnceLock::new()).collect());
        let row = all_views().position(|view| std::ptr::eq(view, self)).unwrap_or_default();
        SCHEMAS[row].get_or_init(|| self.schema())
    }

    /// Returns the value of a field as the client gives it: lines have numbers from 1 for the engine.
    fn value_of(&self, field: &str, value: &Value) -> Value {
        match value.as_u64().filter(|_| field == "offset" && self.lines_from_zero) {
            Some(line) => line.saturating_sub(1).into(),
            None => value.clone(),
        }
    }
}

impl ToolViewNames {
    /// Returns the names for what a program does with this tool of the table.
    pub(crate) fn of_tool(profile: &'static Profile, tool: &str) -> ToolViewNames {
        let names = ToolViewNames { profile: Some(profile), view: None };
        ToolViewNames { view: names.find_view(tool), ..names }
    }

    fn views(&self) -> &'static [ToolView] {
        self.profile.map_or(&[], |profile| profile.views)
    }

    fn find_view(&self, tool: &str) -> Option<&'static ToolView> {
        self.find_exact_view(tool).or_else(|| match tool {
            "edit" => self.find_exact_view("multi_edit"),
            "multi_edit" => self.find_exact_view("edit"),
            NOTEBOOK_TOOL => self.views().iter().find(|view| view.cells),
            _ => None,
        })
    }

    /// Returns the profile's view of exactly this tool.
    fn find_exact_view(&self, tool: &str) -> Option<&'static ToolView> {
        self.views().iter().find(|view| view.tool == tool)
    }

    /// Returns the command that does what a tool does, in a call of the text editor.
    fn command(&self, tool: &str) -> Option<String> {
        self.view.filter(|view| view.tool == EDITOR_TOOL).and_then(|_| editor_command(tool))
    }

    fn editor(&self) -> Option<&'static ToolView> {
        self.views().iter().find(|view| view.tool == EDITOR_TOOL)
    }
}

impl Vocabulary for ToolViewNames {
    fn tool(&self, name: &str) -> Option<String> {
        self.command(name).or_else(|| self.find_view(name).map(|view| view.name.to_owned()))
    }

    fn field(&self, name: &str) -> Option<String> {
        self.view?.published(name)
    }

    fn set(&self, name: &str, value: &Value) -> Option<String> {
        Some(format!("\"{}\": {}", self.field(name)?, self.view?.value_of(name, value)))
    }

    fn field_of(&self, tool: &str, name: &str) -> Option<String> {
        if self.command(tool).is_some() { self.field(name) } else { self.find_view(tool)?.published(name) }
    }

    fn call(&self, tool: &str, fields: &Map<String, Value>) -> Option<String> {
        let by_editor = self.view.filter(|view| view.tool == EDITOR_TOOL && tool == "read");
        if let Some((view, fields)) = by_editor.zip(viewed(fields)) {
            return Some(json_call(view.name, &fields));
        }
        let Some(view) = self.find_view(tool) else {
            let editor = self.editor().filter(|_| tool == "read")?;
            return Some(json_call(editor.name, &viewed(fields)?));
        };
        let by_cells = tool == NOTEBOOK_TOOL && view.tool != NOTEBOOK_TOOL;
        let mut out = Map::new();
        for (field, value) in fields {
            let field = if by_cells && field == NOTEBOOK_PATH { "file_path" } else { field };
            let known = !by_cells || field == "file_path" || CELL_FIELDS.contains(&field);
            out.insert(view.published(field).filter(|_| known)?, view.value_of(field, value));
        }
        Some(json_call(view.name, &out))
    }

    fn counts_as_read(&self) -> bool {
        self.profile.is_none_or(|profile| profile.counts_as_read)
    }
}

#[cfg(test)]
mod tests {
    use super::all_views;

    #[test]
    fn every_tool_of_a_profile_looks_up_names_in_its_own_schema() {
        assert!(all_views().count() > 20);
        for view in all_views() {
            assert_eq!(view.known_schema(), &view.schema(), "{}", view.name);
        }
    }
}
