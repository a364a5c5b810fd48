//! Profiles: the tools offered to one kind of client, with their names and fields. Selected by a flag at start, never
//! by the connection.

pub(crate) mod adapters;
pub(crate) mod lean;
pub(crate) mod names;
pub(crate) mod peers;
pub(crate) mod prompts;

use crate::api::call::parse_json;
use crate::api::engine::Engine;
use crate::api::profile::prompts::{
    ANCHORED_READ_PROMPT, ANCHORED_SEARCH_PROMPT, CELL_MODE_DESCRIPTION, CLAUDE_EDIT_PROMPT, CLAUDE_MULTIEDIT_PROMPT,
    EDIT_WITH_CELLS_PROMPT, GREP_PROMPT, ORDER_DESCRIPTION, SEARCH_FIELDS, SHORT_SEARCH_PROMPT, SHORT_UNDO_PROMPT,
    TAGGED_READ_PROMPT, TAGGED_SEARCH_PROMPT,
};
use crate::api::tool_table::{TOOLS, tool, tool_named};
use crate::model::call_context::CallContext;
use crate::model::reply::{Reply, SeedCodes};
use crate::pipeline::plan::patching::PATCH_FIELDS;
use crate::tools::tool::Tool;
use emendate_core::formats::{apply_patch, hashline, search_replace};
use emendate_core::line_format::LineFormat;
use emendate_core::{Code, Error};
use serde_json::{Map, Value};

/// A tool as a profile offers it.
pub struct ToolView {
    /// The name in that profile.
    pub name: &'static str,
    /// The row of [`TOOLS`].
    pub tool: &'static str,
    /// The fields offered; `None` for all.
    fields: Option<&'static [&'static str]>,
    /// Fields that are not offered.
    omitted_fields: &'static [&'static str],
    /// The required fields, if they differ from the tool's.
    required: Option<&'static [&'static str]>,
    /// The description for a model, if it differs from the tool's.
    prompt: Option<&'static str>,
    /// Descriptions of fields that differ from the tool's.
    descriptions: &'static [(&'static str, &'static str)],
    /// True if the tool also takes the fields for notebook cells: a call that has one is an edit of a cell.
    cells: bool,
    /// The line format for calls that do not name one.
    line_format: Option<&'static str>,
    /// Renamed fields: the profile's name, then the tool's.
    renamed_fields: &'static [(&'static str, &'static str)],
    /// The fields that an entry of `edits` offers; `None` for all.
    entry_fields: Option<&'static [&'static str]>,
    /// True if the tool of the client counts lines from 0.
    lines_from_zero: bool,
}

/// A set of tools for one kind of client. Selected by a flag at start, never by the connection.
pub struct Profile {
    /// The name for `--profile`.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The common instructions for a model, in at most 512 characters. The tools have their own descriptions.
    pub instructions: &'static str,
    /// Lines shown by an error count as read.
    counts_as_read: bool,
    /// The tools.
    pub views: &'static [ToolView],
}

/// A tool with another name than that of the table.
const fn all_named(name: &'static str, tool: &'static str) -> ToolView {
    ToolView { name, ..all(tool) }
}

/// A tool with all of its fields.
const fn all(name: &'static str) -> ToolView {
    ToolView {
        name,
        tool: name,
        fields: None,
        omitted_fields: &[],
        required: None,
        prompt: None,
        descriptions: &[],
        cells: false,
        line_format: None,
        renamed_fields: &[],
        entry_fields: None,
        lines_from_zero: false,
    }
}

/// Builds [`Profile::instructions`]. Profiles differ only in how an edit refers to a place in a file.
macro_rules! instructions {
    ($how:literal) => {
        concat!(
            "To change a file: read it; then edit it ",
            $how,
            " Put several changes of one file into one call: all are made or none. The reply shows the result, so there is \
             no need to read again before the next edit. If a call fails, nothing was written and the reply says what to \
             send instead: follow it. A file that others changed meanwhile is merged or refused, never overwritten. Paths \
             are absolute."
        )
    };
}

const PATCH_INSTRUCTIONS: &str =
    instructions!("by a patch (apply_patch) whose context is copied from it. Names in it start from the first root.");
const TEXT_INSTRUCTIONS: &str = instructions!("with text copied exactly from what was read, without line numbers.");

/// Every profile, the default first.
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        summary: "read, search, edit, write, apply, undo",
        instructions: TEXT_INSTRUCTIONS,
        counts_as_read: true,
        views: &[
            ToolView { fields: Some(&["file_path", "offset", "limit", "format"]), ..all("read") },
            ToolView { fields: Some(SEARCH_FIELDS), prompt: Some(SHORT_SEARCH_PROMPT), ..all("search") },
            ToolView {
                fields: Some(&[
                    "file_path", "old_string", "new_string", "replace_all", "expected_replacements", "at", "edits",
                    "order", "tag", "on_stale", "dry_run",
                ]),
                prompt: Some(EDIT_WITH_CELLS_PROMPT),
                cells: true,
                descriptions: &[
                    ("edits", "Several replacements instead; their fields mean the same."),
                    ("order", ORDER_DESCRIPTION),
                    ("cell_id", "Notebook: the cell by its id, as read shows it."),
                    ("cell_number", "Notebook: the cell by its number, 0 for the first."),
                    ("new_source", "Notebook: the whole new source of the cell; its outputs are cleared."),
                    ("cell_type", "Notebook: needed for insert; else the cell keeps its own."),
                    ("edit_mode", CELL_MODE_DESCRIPTION),
                ],
                ..all("edit")
            },
            ToolView { fields: Some(&["file_path", "content", "tag"]), ..all("write") },
            ToolView { fields: Some(&["input", "format", "directory", "partial", "dry_run"]), ..all("apply") },
            ToolView {
                fields: Some(&["id", "redo"]),
                prompt: Some(SHORT_UNDO_PROMPT),
                descriptions: &[("id", "The operation (default: the last one).")],
                ..all("undo")
            },
        ],
    },
    Profile {
        name: "claude",
        summary: "the names and fields of Claude Code's tools: Read, Edit, MultiEdit, Write, NotebookEdit",
        instructions: TEXT_INSTRUCTIONS,
        counts_as_read: true,
        views: &[
            ToolView { fields: Some(&["file_path", "offset", "limit", "cells", "pages"]), ..all_named("Read", "read") },
            ToolView {
                fields: Some(&["file_path", "old_string", "new_string", "replace_all", "expected_replacements"]),
                required: Some(&["file_path", "old_string", "new_string"]),
                prompt: Some(CLAUDE_EDIT_PROMPT),
                ..all_named("Edit", "edit")
            },
            ToolView {
                fields: Some(&["file_path", "edits"]),
                prompt: Some(CLAUDE_MULTIEDIT_PROMPT),
                ..all_named("MultiEdit", "multi_edit")
            },
            ToolView { fields: Some(&["file_path", "content"]), ..all_named("Write", "write") },
            ToolView {
                fields: Some(&[
                    "notebook_path", "cell_id", "cell_number", "new_source", "cell_type", "edit_mode", "edits",
                ]),
                ..all_named("NotebookEdit", "notebook_edit")
            },
        ],
    },
    Profile {
        name: "codex",
        summary: "Codex's names: apply_patch, read_file, grep_files",
        instructions: PATCH_INSTRUCTIONS,
        counts_as_read: true,
        views: &[
            ToolView {
                fields: Some(&["input"]),
                prompt: Some(apply_patch::PROMPT),
                ..all_named("apply_patch", "apply")
            },
            ToolView { fields: Some(&["file_path", "offset", "limit"]), ..all_named("read_file", "read") },
            ToolView {
                fields: Some(&["pattern", "path", "glob", "limit"]),
                prompt: Some(GREP_PROMPT),
                renamed_fields: &[("include", "glob")],
                ..all_named("grep_files", "search")
            },
        ],
    },
    peers::ANTHROPIC,
    Profile {
        name: "aider",
        summary: "editing by SEARCH/REPLACE blocks: read, search, edit, undo",
        instructions: instructions!("by SEARCH/REPLACE blocks whose SEARCH part is copied from it."),
        counts_as_read: true,
        views: &[
            ToolView { fields: Some(&["file_path", "offset", "limit"]), ..all("read") },
            ToolView { fields: Some(SEARCH_FIELDS), prompt: Some(SHORT_SEARCH_PROMPT), ..all("search") },
            ToolView {
                fields: Some(&["input", "directory", "dry_run"]),
                prompt: Some(search_replace::PROMPT),
                ..all_named("edit", "apply")
            },
            ToolView { fields: Some(&["id", "redo"]), prompt: Some(SHORT_UNDO_PROMPT), ..all("undo") },
        ],
    },
    Profile {
        name: "anchors",
        summary: "editing by the words of lines: read, search, edit, write, undo",
        instructions: instructions!("by the words in front of its lines."),
        counts_as_read: true,
        views: &[
            ToolView {
                fields: Some(&["file_path", "offset", "limit"]),
                prompt: Some(ANCHORED_READ_PROMPT),
                line_format: Some("anchors"),
                ..all("read")
            },
            ToolView {
                fields: Some(SEARCH_FIELDS),
                prompt: Some(ANCHORED_SEARCH_PROMPT),
                line_format: Some("anchors"),
                ..all("search")
            },
            ToolView { fields: Some(&["path", "edits", "files", "dry_run"]), ..all_named("edit", "edit_anchors") },
            ToolView { fields: Some(&["file_path", "content"]), line_format: Some("anchors"), ..all("write") },
            ToolView {
                fields: Some(&["id", "redo"]),
                prompt: Some(SHORT_UNDO_PROMPT),
                line_format: Some("anchors"),
                ..all("undo")
            },
        ],
    },
    Profile {
        name: "hashline",
        summary: "editing by line numbers of a tagged version: read, search, edit, write, undo",
        instructions: instructions!("by line number, under the header that read printed."),
        counts_as_read: true,
        views: &[
            ToolView {
                fields: Some(&["file_path", "offset", "limit"]),
                prompt: Some(TAGGED_READ_PROMPT),
                line_format: Some("hashline"),
                ..all("read")
            },
            ToolView {
                fields: Some(SEARCH_FIELDS),
                prompt: Some(TAGGED_SEARCH_PROMPT),
                line_format: Some("hashline"),
                ..all("search")
            },
            ToolView {
                fields: Some(&["input", "dry_run"]),
                prompt: Some(hashline::SEED_PROMPT),
                line_format: Some("hashline"),
                ..all_named("edit", "apply")
            },
            ToolView { fields: Some(&["file_path", "content"]), line_format: Some("hashline"), ..all("write") },
            ToolView {
                fields: Some(&["id", "redo"]),
                prompt: Some(SHORT_UNDO_PROMPT),
                line_format: Some("hashline"),
                ..all("undo")
            },
        ],
    },
    peers::CLINE,
    peers::OPENCODE,
    peers::GEMINI,
    peers::OPENHANDS,
    peers::DIRAC,
    Profile {
        name: "full",
        summary: "every tool with every field that a model needs",
        instructions: TEXT_INSTRUCTIONS,
        counts_as_read: true,
        views: &[
            all("read"),
            all("search"),
            all("list"),
            all("edit"),
            all("edit_anchors"),
            all("multi_edit"),
            all("write"),
            all("notebook_edit"),
            all("text_editor"),
            ToolView { omitted_fields: PATCH_FIELDS, ..all("apply") },
            all("replace_in_files"),
            all("convert"),
            all("undo"),
            all("restore"),
            all("history"),
            all("mark"),
            all("rewind"),
            all("snapshot"),
            all("outline"),
            all("check"),
            all("edit_symbol"),
        ],
    },
];

/// Returns a tool of Claude Code itself.
pub fn client_tool(name: &str) -> Option<&'static ToolView> {
    peers::CLAUDE_CODE.view(name)
}

/// All profiles, including those of the hooks and of adapters.
fn all_profiles() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter().chain([&peers::CLAUDE_CODE]).chain(adapters::ADAPTER_PROFILES)
}

/// The tool for notebook cells, its path, and its fields for one cell.
const NOTEBOOK_TOOL: &str = "notebook_edit";
const NOTEBOOK_PATH: &str = "notebook_path";
const CELL_FIELDS: &[&str] = &["cell_id", "cell_number", "new_source", "cell_type", "edit_mode"];

/// Returns the profile of that name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// Returns the profile of that name, or the one that an adapter has for the tools of its framework. No client is offered
/// the tools of the latter by this engine.
pub fn adapter_profile(name: &str) -> Option<&'static Profile> {
    profile(name).or_else(|| adapters::ADAPTER_PROFILES.iter().find(|profile| profile.name == name))
}

impl Profile {
    /// Returns the tool of that name.
    pub fn view(&self, name: &str) -> Option<&'static ToolView> {
        let offers: &'static [ToolView] = self.views;
        offers.iter().find(|offer| offer.name == name)
    }

    /// Calls a tool of this profile with JSON text. Tools that the profile does not offer do not exist for its caller.
    pub fn call_json(&'static self, engine: &Engine, caller: &CallContext, tool: &str, input: &str) -> Reply {
        if let Some(view) = self.find_view(tool) {
            return view.call_json(engine, caller, input);
        }
        let names: Vec<&str> = self.views.iter().map(|view| view.name).collect();
        let error = Error::new(Code::CallUnknownTool, format!("There is no tool `{tool}`."))
            .next(format!("Use one of: {}.", names.join(", ")));
        Reply::refusal(error, SeedCodes::None)
    }

    /// Returns the tool of that name, or the one that another client's name refers to.
    pub fn find_view(&self, name: &str) -> Option<&'static ToolView> {
        self.view(name).or_else(|| {
            let tool = tool_named(name)?;
            self.views.iter().find(|offer| offer.tool == tool.name)
        })
    }
}

impl ToolView {
    /// The underlying row of the tool table.
    pub fn tool_row(&self) -> &'static Tool {
        // A test proves that every entry names a row.
        tool(self.tool).unwrap_or(TOOLS[0])
    }

    /// The description for a model.
    pub fn prompt(&self) -> &'static str {
        self.prompt.unwrap_or(self.tool_row().prompt)
    }

    /// Returns the JSON schema of its input.
    pub fn schema(&self) -> Map<String, Value> {
        let mut schema = self.tool_row().schema();
        if self.fields.is_none() && self.omitted_fields.is_empty() {
            return schema;
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let is_in = |fields: &[&str], name: &String| fields.contains(&name.as_str());
            properties
                .retain(|name, _| self.fields.is_none_or(|it| is_in(it, name)) && !is_in(self.omitted_fields, name));
        }
        for (name, field) in self.renamed_fields {
            lean::rename_field(&mut schema, name, field);
        }
        if let Some(required) = self.required {
            schema.insert("required".to_owned(), required.iter().map(|name| Value::from(*name)).collect());
        }
        if self.cells {
            let other = tool(NOTEBOOK_TOOL).map(Tool::schema).unwrap_or_default();
            for part in ["properties", "$defs"] {
                let Some(Value::Object(theirs)) = other.get(part) else { continue };
                let ours = schema.entry(part).or_insert_with(|| Map::new().into());
                let wanted = theirs.iter().filter(|(name, _)| part == "$defs" || CELL_FIELDS.contains(&&***name));
                let wanted = wanted.map(|(name, value)| (name.clone(), value.clone()));
                ours.as_object_mut().into_iter().for_each(|ours| ours.extend(wanted.clone()));
            }
        }
        lean::compact_schema(&mut schema);
        let entry =
            schema.get_mut("properties").and_then(|it| it.get_mut("edits")?.get_mut("items")?.get_mut("properties"));
        if let (Some(offered), Some(Value::Object(fields))) = (self.entry_fields, entry) {
            fields.retain(|name, _| offered.contains(&name.as_str()));
        }
        let entry = schema.get_mut("properties").and_then(|it| it.get_mut("edits")?.get_mut("items")?.as_object_mut());
        if let Some(entry) = entry {
            self.renamed_fields.iter().for_each(|(name, field)| lean::rename_field(entry, name, field));
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for (name, text) in self.descriptions {
                if let Some(Value::Object(field)) = properties.get_mut(*name) {
                    field.insert("description".to_owned(), (*text).into());
                }
            }
        }
        schema
    }

    /// Gives fields the names that the tool has for them.
    fn rename_fields(&self, fields: &mut Map<String, Value>) {
        for (name, field) in self.renamed_fields {
            if let Some(value) = fields.shift_remove(*name) {
                fields.insert((*field).to_owned(), value);
            }
        }
    }

    /// Calls the underlying tool. Every field of the tool is accepted, whether offered or not, because an error may
    /// advise one.
    pub fn call(&'static self, engine: &Engine, caller: &CallContext, mut input: Value) -> Reply {
        if let Value::Object(fields) = &mut input {
            self.rename_fields(fields);
            let entries = fields.get_mut("edits").and_then(Value::as_array_mut);
            entries.into_iter().flatten().filter_map(Value::as_object_mut).for_each(|entry| self.rename_fields(entry));
        }
        let names = self.names();
        let marked = self
            .line_format
            .and_then(LineFormat::by_name)
            .map(|format| CallContext { line_format: Some(format), ..caller.clone() });
        engine.call_as(marked.as_ref().unwrap_or(caller), self.tool, input, Some(&names))
    }

    /// [`ToolView::call`] with JSON text.
    pub fn call_json(&'static self, engine: &Engine, caller: &CallContext, input: &str) -> Reply {
        let seed = self.tool_row().seed;
        parse_json(input).map_or_else(|error| Reply::refusal(error, seed), |value| self.call(engine, caller, value))
    }
}

#[cfg(test)]
mod tests {
    use super::{CallContext, Code, LineFormat, PROFILES, profile};
    use crate::api::arguments::foreign::is_field_of_a_tool;
    use crate::api::tool_table::tool;
    use crate::api::workspace::Workspace;

    #[test]
    fn a_profile_has_no_other_tools() {
        let workspace = Workspace::in_memory([("a", "x\n")]).unwrap();
        let (engine, caller) = (workspace.engine(), CallContext::default());
        let aider = profile("aider").unwrap();
        let refused = aider.call_json(engine, &caller, "write", r#"{"file_path": "/a", "content": "y"}"#);
        let error = refused.result.unwrap_err();
        assert_eq!((error.code(), error.next_step()), (Code::CallUnknownTool, "Use one of: read, search, edit, undo."));
        assert!(aider.call_json(engine, &caller, "read", r#"{"file_path": "/a"}"#).result.is_ok());
    }

    #[test]
    fn descriptions_name_only_offered_fields() {
        for view in super::PROFILES.iter().flat_map(|profile| profile.views) {
            let (all, offered) = (view.tool_row().schema(), serde_json::to_string(&view.schema()).unwrap());
            let words = view.prompt().split(|ch: char| !ch.is_ascii_lowercase() && ch != '_');
            // Other names of fields are usual words, too.
            let fields = words.filter(|word| word.contains('_') || *word == "order");
            for field in fields.filter(|word| all["properties"].get(word).is_some()) {
                assert!(offered.contains(&format!("\"{field}\"")), "{}: {field}", view.name);
            }
        }
    }

    #[test]
    fn every_view_names_a_tool_and_known_fields() {
        for profile in super::all_profiles() {
            for offer in profile.views {
                let row = tool(offer.tool).unwrap();
                let schema = row.schema();
                assert!(offer.line_format.is_none_or(|name| LineFormat::by_name(name).is_some()), "{}", offer.name);
                for field in offer.fields.unwrap_or(&[]).iter().chain(offer.omitted_fields) {
                    assert!(schema["properties"].get(field).is_some(), "{} {field}", offer.name);
                }
                // Other tools refuse the names of a profile, too.
                for (name, _) in offer.renamed_fields {
                    assert!(is_field_of_a_tool(name), "{} {name}", offer.name);
                }
            }
        }
    }

    #[test]
    fn profile_renames_fields_of_entries_too() {
        let profile = super::profile("opencode").unwrap();
        let schema = |name: &str| profile.view(name).unwrap().schema();
        let edit = schema("edit");
        for name in ["filePath", "oldString", "newString", "replaceAll"] {
            assert!(edit["properties"].get(name).is_some(), "{name}: {edit:?}");
        }
        assert_eq!(edit["required"], serde_json::json!(["filePath", "oldString", "newString"]));
        let entry = &schema("multiedit")["properties"]["edits"]["items"];
        let names: Vec<&String> = entry["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["oldString", "newString", "replaceAll"], "{entry}");
        assert_eq!(entry["required"], serde_json::json!(["oldString", "newString"]));
    }

    #[test]
    fn instructions_for_models_are_short() {
        for profile in PROFILES {
            assert!(profile.instructions.len() <= 512, "{}: {}", profile.name, profile.instructions.len());
        }
    }
}
