//! Events of clients, translated from each client's form into one.

use emendate::core::{Code, Error, Result};
use emendate::{ToolView, client_tool, profile};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// An event of a client.
#[derive(Default)]
pub(super) struct ClientEvent {
    /// The client's id of the conversation.
    pub(super) conversation: String,
    /// The open directories, if the client runs its hooks elsewhere.
    pub(super) directories: Vec<PathBuf>,
    /// True for a command of the client's shell.
    pub(super) is_shell: bool,
    /// The calls of tools that read or change files.
    pub(super) uses: Vec<ToolUse>,
    /// True for an event of another client, which reads Claude Code's settings, too, and has hooks of its own.
    pub(super) is_foreign: bool,
}

/// A use of a client's own tool for files.
pub(super) struct ToolUse {
    /// Our tool that does the same.
    pub(super) view: &'static ToolView,
    /// The fields of the call that our tool knows. Without the new text, only the rules about the file apply.
    pub(super) fields: Map<String, Value>,
    /// The files that the call reads or changes.
    pub(super) files: Vec<String>,
    /// True if the event reports that the tool created the file.
    pub(super) created: bool,
}

/// A tool of a client.
pub(super) struct ClientTool {
    /// The client's name of the tool.
    name: &'static str,
    /// The tool of Claude Code that does the same.
    same_as: &'static str,
    /// The client's names of fields, and those of Claude Code.
    fields: &'static [(&'static str, &'static str)],
}

const fn tool(
    name: &'static str,
    same_as: &'static str,
    fields: &'static [(&'static str, &'static str)],
) -> ClientTool {
    ClientTool { name, same_as, fields }
}

/// Our name of the tool that runs commands.
const SHELL: &str = "Bash";
/// Our name of the tool that applies patches in the format of Codex.
const PATCH: &str = "apply_patch";
/// Our name of the tool that applies SEARCH/REPLACE blocks to one file.
const BLOCKS: &str = "replace_in_file";
/// The lines of such a patch that name files.
const PATCH_HEADERS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];

/// Tools under the names of Claude Code.
pub(super) const CLAUDE_TOOLS: &[ClientTool] = &[
    tool("Read", "Read", &[]),
    tool("Edit", "Edit", &[]),
    tool("MultiEdit", "MultiEdit", &[]),
    tool("Write", "Write", &[]),
    tool("NotebookEdit", "NotebookEdit", &[]),
    tool("Bash", SHELL, &[]),
];

/// Gemini CLI.
pub(super) const GEMINI_TOOLS: &[ClientTool] = &[
    tool("read_file", "Read", &[]),
    tool("replace", "Edit", &[("allow_multiple", "replace_all")]),
    tool("write_file", "Write", &[]),
    tool("run_shell_command", SHELL, &[]),
];

/// Cursor. Its documentation does not tell how the tool `Write` describes a change, so only the file counts.
pub(super) const CURSOR_TOOLS: &[ClientTool] = &[
    tool("Read", "Read", &[("path", "file_path"), ("target_file", "file_path")]),
    tool("Write", "Edit", &[("path", "file_path"), ("target_file", "file_path")]),
    tool("Delete", "Edit", &[("path", "file_path"), ("target_file", "file_path")]),
    tool("Shell", SHELL, &[]),
];

/// VS Code: the names of its tools, and those that its documentation uses in examples.
pub(super) const VSCODE_TOOLS: &[ClientTool] = &[
    tool("read_file", "Read", &[("filePath", "file_path")]),
    tool("create_file", "Write", &[("filePath", "file_path")]),
    tool(
        "replace_string_in_file",
        "Edit",
        &[("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string")],
    ),
    tool(
        "multi_replace_string_in_file",
        "MultiEdit",
        &[("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string")],
    ),
    tool("insert_edit_into_file", "Edit", &[("filePath", "file_path")]),
    tool("edit_notebook_file", "Edit", &[("filePath", "file_path")]),
    tool("apply_patch", PATCH, &[]),
    tool("run_in_terminal", SHELL, &[]),
    tool("editFiles", "Edit", &[("files", "file_path")]),
    tool("createFile", "Edit", &[("path", "file_path"), ("filePath", "file_path")]),
    tool("runTerminalCommand", SHELL, &[]),
];

/// Windsurf, whose events have names instead of its tools. What it reports of an edit need not be unique in the file,
/// so only the file counts.
pub(super) const WINDSURF_TOOLS: &[ClientTool] = &[
    tool("post_read_code", "Read", &[]),
    tool("pre_write_code", "Edit", &[]),
    tool("post_write_code", "Edit", &[]),
    tool("pre_run_command", SHELL, &[]),
    tool("post_run_command", SHELL, &[]),
];

/// Cline.
pub(super) const CLINE_TOOLS: &[ClientTool] = &[
    tool("read_file", "Read", &[("path", "file_path")]),
    tool("write_to_file", "Write", &[("path", "file_path")]),
    tool("replace_in_file", BLOCKS, &[]),
    tool("apply_patch", PATCH, &[]),
    tool("execute_command", SHELL, &[]),
];

/// Parses an event.
///
/// Errors: it is not JSON.
pub(super) fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&with_whole_characters(text))).map_err(|error| {
        Error::new(Code::CallInvalid, format!("The event is not JSON: {error}."))
            .next("Let the client call this: see `emend hook --help`.")
    })
}

/// Replaces escapes that are half of a character, as clients do when they write such a text to a file. JavaScript cuts
/// texts within a character.
fn with_whole_characters(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let pair = [escaped_unit(rest), rest.get(6..).and_then(escaped_unit)];
        let length = match pair {
            [Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)] => 12,
            [Some(0xd800..=0xdfff), _] => {
                out.push(char::REPLACEMENT_CHARACTER);
                rest = &rest[6..];
                continue;
            }
            // The backslash and the character behind it, which may be another backslash.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out + rest
}

/// Returns the number of the escape `\uXXXX` at the start of a text.
fn escaped_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// Reads an event of Claude Code, or of a client with the same form.
pub(super) fn claude_event(event: &Value, tools: &[ClientTool]) -> ClientEvent {
    let mut out = ClientEvent {
        conversation: text(event, &["session_id"]),
        is_foreign: is_foreign(event),
        ..ClientEvent::default()
    };
    out.add(event["tool_name"].as_str(), &event["tool_input"], tools, event["cwd"].as_str());
    let is_creation = event["tool_name"] == "Write" && event["tool_response"]["type"] == "create";
    out.uses.iter_mut().for_each(|made| made.created = is_creation);
    out
}

/// True for an event of Cursor or VS Code: both run the hooks in the settings of Claude Code as well.
fn is_foreign(event: &Value) -> bool {
    let transcript = event["transcript_path"].as_str().unwrap_or_default();
    event["cursor_version"].is_string() || event["sessionId"].is_string() || transcript.contains("GitHub.copilot-chat")
}

/// Reads an event of VS Code, whose documentation and versions spell the common fields in two ways.
pub(super) fn vscode_event(event: &Value, tools: &[ClientTool]) -> ClientEvent {
    let mut out = ClientEvent {
        conversation: text(event, &["session_id", "sessionId"]),
        directories: directories(&[&event["cwd"]]),
        ..ClientEvent::default()
    };
    out.add(event["tool_name"].as_str(), &event["tool_input"], tools, event["cwd"].as_str());
    out
}

/// Reads an event of Cursor. `afterFileEdit` names the file and no tool.
pub(super) fn cursor_event(event: &Value, tools: &[ClientTool]) -> ClientEvent {
    let roots: Vec<&Value> = event["workspace_roots"].as_array().into_iter().flatten().collect();
    let mut out = ClientEvent {
        conversation: text(event, &["conversation_id", "session_id"]),
        directories: directories(&roots),
        ..ClientEvent::default()
    };
    let directory = event["cwd"].as_str().or_else(|| roots.first()?.as_str());
    if event["hook_event_name"] == "afterFileEdit" {
        out.add(Some("Write"), event, tools, directory);
    } else {
        out.add(event["tool_name"].as_str(), &event["tool_input"], tools, directory);
    }
    out
}

/// Reads an event of Windsurf.
pub(super) fn windsurf_event(event: &Value, tools: &[ClientTool]) -> ClientEvent {
    let mut out = ClientEvent { conversation: text(event, &["trajectory_id"]), ..ClientEvent::default() };
    out.add(event["agent_action_name"].as_str(), &event["tool_info"], tools, None);
    out
}

/// Reads an event of Cline.
pub(super) fn cline_event(event: &Value, tools: &[ClientTool]) -> ClientEvent {
    let mut roots: Vec<&Value> = event["workspaceRoots"].as_array().into_iter().flatten().collect();
    roots.push(&event["workspacePath"]);
    let mut out = ClientEvent {
        conversation: text(event, &["taskId"]),
        directories: directories(&roots),
        ..ClientEvent::default()
    };
    let call = ["preToolUse", "postToolUse"].into_iter().find_map(|name| event.get(name));
    if let Some(call) = call {
        let name = call["toolName"].as_str().or_else(|| call["tool"].as_str());
        out.add(name, &call["parameters"], tools, roots.iter().find_map(|root| root.as_str()));
    }
    out
}

/// Returns the first of these fields that has a text.
fn text(event: &Value, names: &[&str]) -> String {
    let found = names.iter().find_map(|name| event[*name].as_str().filter(|text| !text.is_empty()));
    found.unwrap_or("unknown").to_owned()
}

/// Returns the directories that exist; a client may name one of another machine.
fn directories(names: &[&Value]) -> Vec<PathBuf> {
    let names = names.iter().filter_map(|name| name.as_str()).map(PathBuf::from);
    names.filter(|path| path.is_absolute() && path.is_dir()).collect()
}

impl ClientEvent {
    /// True if a tool changes files.
    pub(super) fn is_edit(&self) -> bool {
        self.uses.iter().any(|made| made.view.tool != "read")
    }

    /// Adds the use of a tool. Tools that are not in the table are none of our business.
    fn add(&mut self, name: Option<&str>, input: &Value, tools: &[ClientTool], directory: Option<&str>) {
        let Some(tool) = tools.iter().find(|tool| name == Some(tool.name)) else { return };
        let Some(input) = input.as_object() else { return };
        match tool.same_as {
            SHELL => self.is_shell = true,
            PATCH => self.uses.extend(patch(input, directory)),
            BLOCKS => self.uses.extend(blocks(input, directory)),
            _ if input.contains_key("replacements") => self.add_replacements(tool, input, directory),
            same_as => self.add_call(same_as, &tool.renamed(input), directory),
        }
    }

    /// Adds the use of a tool of Claude Code: one for each file that it names.
    fn add_call(&mut self, name: &str, fields: &Map<String, Value>, directory: Option<&str>) {
        let Some(view) = client_tool(name) else { return };
        let schema = view.schema();
        let known = |name: &String| schema.get("properties").is_some_and(|it| it.get(name).is_some());
        let path = if fields.contains_key("notebook_path") { "notebook_path" } else { "file_path" };
        let named = match fields.get(path) {
            Some(Value::Array(files)) => files.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(file)) => vec![file.clone()],
            _ => Vec::new(),
        };
        for file in named {
            let file = absolute(&file, directory);
            let mut fields = fields.clone();
            fields.insert(path.to_owned(), file.clone().into());
            fields.retain(|name, value| known(name) && !value.is_null());
            self.uses.push(ToolUse { view, fields, files: vec![file], created: false });
        }
    }

    /// Adds a call with replacements in several files: one use for each file, with its replacements in their order.
    fn add_replacements(&mut self, tool: &ClientTool, input: &Map<String, Value>, directory: Option<&str>) {
        let mut files: Vec<(Value, Vec<Value>)> = Vec::new();
        for replacement in input["replacements"].as_array().into_iter().flatten().filter_map(Value::as_object) {
            let mut edit = tool.renamed(replacement);
            let Some(file) = edit.shift_remove("file_path") else { continue };
            edit.retain(|name, _| ["old_string", "new_string"].contains(&&**name));
            match files.iter_mut().find(|(known, _)| *known == file) {
                Some((_, edits)) => edits.push(Value::Object(edit)),
                None => files.push((file, vec![Value::Object(edit)])),
            }
        }
        for (file, edits) in files {
            let fields = Map::from_iter([("file_path".to_owned(), file), ("edits".to_owned(), edits.into())]);
            self.add_call(tool.same_as, &fields, directory);
        }
    }
}

impl ClientTool {
    /// Returns the fields under the names of Claude Code.
    fn renamed(&self, input: &Map<String, Value>) -> Map<String, Value> {
        let name = |theirs: &String| {
            let known = self.fields.iter().find(|(name, _)| name == theirs);
            known.map_or_else(|| theirs.clone(), |(_, ours)| (*ours).to_owned())
        };
        input.iter().map(|(theirs, value)| (name(theirs), value.clone())).collect()
    }
}

/// Returns the use of a patch in the format of Codex, with all files that it names.
fn patch(input: &Map<String, Value>, directory: Option<&str>) -> Option<ToolUse> {
    let text = input.get("input").or_else(|| input.get("patch"))?.as_str()?;
    let named = text.lines().filter_map(|line| PATCH_HEADERS.iter().find_map(|header| line.strip_prefix(header)));
    let files: Vec<String> = named.map(|file| absolute(file.trim(), directory)).collect();
    let mut fields = Map::from_iter([("input".to_owned(), Value::from(text))]);
    if let Some(directory) = directory {
        fields.insert("directory".to_owned(), json!(directory));
    }
    Some(ToolUse { view: profile("default")?.view("apply")?, fields, files, created: false })
}

/// Returns the use of SEARCH/REPLACE blocks for one file.
fn blocks(input: &Map<String, Value>, directory: Option<&str>) -> Option<ToolUse> {
    let file = absolute(input.get("path")?.as_str()?, directory);
    let mut fields = Map::from_iter([("path".to_owned(), Value::from(&*file))]);
    fields.extend(input.get("diff").map(|diff| ("diff".to_owned(), diff.clone())));
    Some(ToolUse { view: profile("cline")?.view(BLOCKS)?, fields, files: vec![file], created: false })
}

fn absolute(file: &str, directory: Option<&str>) -> String {
    let Some(directory) = directory else { return file.to_owned() };
    // Not escaped: this names the file. Nothing is lost, because both parts are text.
    Path::new(directory).join(file).to_string_lossy().into_owned()
}
