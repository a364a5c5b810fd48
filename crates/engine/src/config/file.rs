//! The shape of `emend.toml`; its JSON schema is made from this.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A configuration file of emend: that of a user, or of a project, which can only tighten what the user's says.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "emend.toml")]
#[schemars(rename = "File")]
pub(super) struct ConfigFile {
    pub(super) policy: PolicySection,
    pub(super) edit: EditSection,
    pub(super) reply: ReplySection,
    pub(super) write: WriteSection,
    pub(super) notebook: NotebookSection,
    pub(super) syntax: SyntaxSection,
    pub(super) validate: ValidateSection,
    pub(super) history: HistorySection,
    pub(super) events: EventsSection,
    /// JSON schemas that files have to fit when they are edited; all whose pattern covers the file.
    pub(super) schemas: Vec<SchemaEntry>,
    /// Programs that put files into shape when they are edited; the first whose pattern covers the file (user's file only).
    pub(super) formatters: Vec<FormatterEntry>,
    /// Programs that have a say before and after files are read and edited (user's file only).
    pub(super) hooks: Vec<HookEntry>,
    /// Programs that know a language and tell what is wrong with a file after an edit (user's file only).
    pub(super) lsp: Vec<LanguageServerEntry>,
    /// Encodings of files that are neither UTF-8 nor marked: a gitignore pattern, and a name of the Encoding Standard.
    pub(super) encoding: BTreeMap<String, String>,
}

/// Which files may be read and edited. Rules are gitignore patterns, for one action as `Read(PATTERN)` or `Edit(PATTERN)`.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Policy")]
pub(super) struct PolicySection {
    /// Neither read nor edited. Goes before ask and allow.
    pub(super) deny: Vec<String>,
    /// A person is asked first. Goes before allow.
    pub(super) ask: Vec<String>,
    /// Lifts the built-in guard, and the default below (user's file only).
    pub(super) allow: Vec<String>,
    /// What holds for edits that no rule is about: allow, ask or deny.
    pub(super) default: Option<String>,
    /// What holds for creating documentation (`*.md`, `README*`): allow, ask or deny. A rule `Write(docs/**)` in allow lets new files be created there.
    pub(super) documentation: Option<String>,
    /// Other programs whose rules for files count too: claude-code.
    pub(super) import: Vec<String>,
    /// What holds for changes of a model that could not be undone: deny (default) or allow (user's file only).
    pub(super) irreversible: Option<String>,
    /// Largest file to open, in bytes.
    pub(super) max_file: Option<u64>,
    /// Largest file to take into memory whole, in bytes.
    pub(super) max_whole: Option<u64>,
    /// Steps of work that one call may take; a step is about one comparison of two lines.
    pub(super) max_work: Option<u64>,
    /// Files of more bytes are gone through in parts, where that is enough for what is asked.
    pub(super) stream_from: Option<u64>,
}

/// How edits are matched.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Edit")]
pub(super) struct EditSection {
    /// How much matching may forgive: exact, strict or standard.
    pub(super) r#match: Option<String>,
    /// What becomes of an edit of a file that changed since it was read: merge, reject, markers or ask.
    pub(super) on_stale: Option<String>,
}

/// What replies say.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Reply")]
pub(super) struct ReplySection {
    /// What a reply shows of a change: snippet, or diff in the form that fits its size.
    pub(super) shows: Option<String>,
    /// Characters of text that a reply has at most; a project can only lower it.
    pub(super) text: Option<usize>,
    /// Bytes of data that a reply has at most, as JSON; a project can only lower it.
    pub(super) data: Option<usize>,
    /// Characters that a read shows at most; a project can only lower it.
    pub(super) read: Option<usize>,
}

/// How files are written.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Write")]
pub(super) struct WriteSection {
    /// What a success still means after a power cut: none, process or power (user's file only).
    pub(super) durability: Option<String>,
}

/// How notebooks are edited.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Notebook")]
pub(super) struct NotebookSection {
    /// A replaced code cell loses its outputs.
    pub(super) clear_outputs: Option<bool>,
}

/// What grammars say.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Syntax")]
pub(super) struct SyntaxSection {
    /// Warn when a file does not parse any more.
    pub(super) check: Option<bool>,
}

/// What results must be before they are written: JSON, JSONC, TOML and YAML by their names.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Validate")]
pub(super) struct ValidateSection {
    /// What becomes of an edit after which a file is not what it was before: refuse, warn or off.
    pub(super) syntax: Option<String>,
    /// Files that are not looked at, nor tried against schemas, as gitignore patterns (user's file only).
    pub(super) skip: Vec<String>,
}

/// How much the history keeps (user's file only).
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "History")]
pub(super) struct HistorySection {
    /// Days for which operations can be undone.
    pub(super) days: Option<u32>,
    /// Megabytes of contents, per root.
    pub(super) megabytes: Option<u64>,
}

/// What is written down of calls, on this machine and for its owner (user's file only).
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Events")]
pub(super) struct EventsSection {
    /// A file that gets one JSON object a line for each call: an absolute path, one with `~/`, or a name in the state
    /// directory. None if nothing is said.
    pub(super) file: Option<String>,
    /// Megabytes of that file; a full one is kept as FILE.1 until the next is full.
    pub(super) megabytes: Option<u64>,
    /// Events name the files that a call was about. They never hold contents.
    pub(super) paths: Option<bool>,
    /// Calls are counted by tool, format, code, tier and model, for `emend stats`.
    pub(super) counts: Option<bool>,
    /// No effect: versions up to 0.1 could send events themselves. Let a collector read `file` instead.
    #[schemars(skip)]
    pub(super) otlp: Option<bool>,
    /// No effect, as `otlp`.
    #[schemars(skip)]
    pub(super) otlp_paths: Option<bool>,
}

/// A JSON schema for some files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Schema")]
pub(super) struct SchemaEntry {
    /// The files, as a gitignore pattern.
    pub(super) files: String,
    /// The file of the schema, from the folder of this file.
    pub(super) schema: String,
}

/// A program that reads a text and writes it in its right shape.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Formatter")]
pub(super) struct FormatterEntry {
    /// The files, as a gitignore pattern.
    pub(super) files: String,
    /// A formatter that is known by its name (see `emend config formatters`), or the words of a command that reads
    /// standard input and writes standard output; `{path}` stands for the path of the file. One that changes files in
    /// place has `{file}` among its words: a copy of the text, of the same name and in a temporary folder.
    pub(super) command: CommandEntry,
    /// When: `formatted` leaves files alone that were not in shape before, `always` does not.
    pub(super) when: Option<String>,
    /// Seconds it may take; 10 if nothing is said.
    pub(super) seconds: Option<u64>,
}

/// A command, by name or in words.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Command")]
pub(super) enum CommandEntry {
    /// The name of one that is known.
    Name(String),
    /// Program and arguments.
    Words(Vec<String>),
}

/// A program that reads one JSON object, `{"event", "file_path", "session", "tool", "old_text", "new_text", …}`, and answers
/// with nothing or with `{"decision": "allow" | "deny" | "ask", "reason", "content", "message"}`. Exit status 2 refuses too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Hook")]
pub(super) struct HookEntry {
    /// `before_read`, `before_edit` or `after_edit`.
    pub(super) on: String,
    /// The files, as a gitignore pattern; all if nothing is said.
    pub(super) files: Option<String>,
    /// Program and arguments.
    pub(super) command: Vec<String>,
    /// Seconds it may take; 10 if nothing is said.
    pub(super) seconds: Option<u64>,
    /// Refuse what it was to be asked about when it fails. Otherwise a failure is told and nothing else.
    #[serde(default)]
    pub(super) required: bool,
}

/// A language server. One that is known (see `emend config servers`) needs nothing but its name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LanguageServer")]
pub(super) struct LanguageServerEntry {
    /// Its name, in replies.
    pub(super) name: String,
    /// Program and arguments.
    pub(super) command: Option<Vec<String>>,
    /// Its files: gitignore patterns, each with the name that the Language Server Protocol has for the language.
    pub(super) files: Option<BTreeMap<String, String>>,
    /// Names of files in the folder that is the server's project; the first that is found above a file counts.
    pub(super) root_markers: Option<Vec<String>>,
    /// When it is asked: `edit` after every edit, `batch` after those of several files, `check` only by check, `off`.
    pub(super) when: Option<String>,
    /// Milliseconds that a reply to an edit may wait for it; 3000 if nothing is said.
    pub(super) timeout_ms: Option<u64>,
    /// For a server that does not say which version of a text it speaks of: milliseconds of silence after which it is
    /// believed. Without it, what such a server says is not known to be about the new text.
    pub(super) settle_ms: Option<u64>,
    /// The least that it is listened to for: error, warning (if nothing is said), information or hint.
    pub(super) least: Option<String>,
    /// What it gets when it asks for settings: sections by name.
    pub(super) settings: Option<Value>,
    /// What it is started with.
    pub(super) initialization_options: Option<Value>,
}
