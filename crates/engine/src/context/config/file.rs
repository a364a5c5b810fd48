//! The shape of `emend.toml`; its JSON schema is made from this.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A configuration file of emend: that of a user, or of a project, which can only make the user's rules stricter.
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
    pub(super) ask: AskSection,
    pub(super) terminal: TerminalSection,
    /// JSON schemas that files have to fit when they are edited; all whose pattern covers the file.
    pub(super) schemas: Vec<SchemaEntry>,
    /// Programs that format files when they are edited; the first whose pattern covers the file (user's file only).
    pub(super) formatters: Vec<FormatterEntry>,
    /// Programs that are asked before, or informed after, files are read or edited (user's file only).
    pub(super) hooks: Vec<HookEntry>,
    /// Language servers that report problems in a file after an edit (user's file only).
    pub(super) lsp: Vec<LanguageServerEntry>,
    /// Encodings of files that are neither UTF-8 nor marked: a gitignore pattern, and a name of the Encoding Standard.
    pub(super) encoding: BTreeMap<String, String>,
}

/// Which files may be read and edited. Rules are gitignore patterns, for one action as `Read(PATTERN)` or `Edit(PATTERN)`.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Policy")]
pub(super) struct PolicySection {
    /// Files that are neither read nor edited. Takes precedence over ask and allow.
    pub(super) deny: Vec<String>,
    /// Files for which a person is asked first. Takes precedence over allow.
    pub(super) ask: Vec<String>,
    /// Files that are allowed despite the built-in guard and the default below (user's file only).
    pub(super) allow: Vec<String>,
    /// The default for edits that no rule covers: allow, ask or deny.
    pub(super) default: Option<String>,
    /// The default for creating documentation (`*.md`, `README*`): allow, ask or deny. A rule `Write(docs/**)` in allow lets new files be created there.
    pub(super) documentation: Option<String>,
    /// Other programs whose rules for files also apply: claude-code.
    pub(super) import: Vec<String>,
    /// Whether a model may make changes that cannot be undone: deny (default) or allow (user's file only).
    pub(super) irreversible: Option<String>,
    /// Largest file to open, in bytes.
    pub(super) max_file: Option<u64>,
    /// Largest file to load into memory as a whole, in bytes.
    pub(super) max_whole: Option<u64>,
    /// Steps of work that one call may take; a step is about one comparison of two lines.
    pub(super) max_work: Option<u64>,
    /// Files of more bytes are processed in parts, where the call allows it.
    pub(super) stream_from: Option<u64>,
}

/// How edits are matched.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Edit")]
pub(super) struct EditSection {
    /// How lenient matching is: exact, strict or standard.
    pub(super) r#match: Option<String>,
    /// How to handle an edit of a file that changed since it was read: merge, reject, markers or ask.
    pub(super) on_stale: Option<String>,
}

/// Contents and size of replies.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Reply")]
pub(super) struct ReplySection {
    /// How a reply shows a change: snippet, or diff in the form that fits its size.
    pub(super) shows: Option<String>,
    /// Maximum characters of text in a reply; a project can only lower it.
    pub(super) text: Option<usize>,
    /// Maximum bytes of data in a reply, as JSON; a project can only lower it.
    pub(super) data: Option<usize>,
    /// Maximum characters that a read shows; a project can only lower it.
    pub(super) read: Option<usize>,
    /// Return the former text of a changed file, up to 64 KiB, in the data of the reply (`originalFile`).
    pub(super) original: Option<bool>,
}

/// How files are written.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Write")]
pub(super) struct WriteSection {
    /// Event that a completed change survives: none, process (death of the process) or power (a power cut; user's file only).
    pub(super) durability: Option<String>,
}

/// How notebooks are edited.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Notebook")]
pub(super) struct NotebookSection {
    /// Clear the outputs of a code cell when its source is replaced.
    pub(super) clear_outputs: Option<bool>,
}

/// Warnings of grammars.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Syntax")]
pub(super) struct SyntaxSection {
    /// Warn when a file no longer parses.
    pub(super) check: Option<bool>,
}

/// Validation of results before they are written: JSON, JSONC, TOML and YAML, detected by file name.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Validate")]
pub(super) struct ValidateSection {
    /// How to handle an edit that makes a valid file invalid: refuse, warn or off.
    pub(super) syntax: Option<String>,
    /// Files that are neither validated nor checked against schemas, as gitignore patterns (user's file only).
    pub(super) skip: Vec<String>,
}

/// Contents and size of the history (user's file only).
#[derive(Deserialize, Default, PartialEq, Eq, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "History")]
pub(super) struct HistorySection {
    /// Days for which operations can be undone.
    pub(super) days: Option<u32>,
    /// Megabytes of contents, per root.
    pub(super) megabytes: Option<u64>,
    /// Which changes by other programs become operations: seen (when a file is read or edited), snapshots (also around
    /// the shell commands of a client with hooks) or off.
    pub(super) outside: Option<String>,
}

/// Records of calls, kept on this machine for its owner (user's file only).
#[derive(Deserialize, Default, PartialEq, Eq, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Events")]
pub(super) struct EventsSection {
    /// A file that gets one line of JSON for each call: an absolute path, one with `~/`, or a name in the state
    /// directory. Default: no file.
    pub(super) file: Option<String>,
    /// Maximum size of that file in megabytes; a full one is kept as FILE.1 until the next is full.
    pub(super) megabytes: Option<u64>,
    /// Include the paths of a call's files in events. Events never contain file contents.
    pub(super) paths: Option<bool>,
    /// Count calls by tool, format, code, tier and model, for `emend stats`.
    pub(super) counts: Option<bool>,
    /// No effect: versions up to 0.1 could send events themselves. Let a collector read `file` instead.
    #[schemars(skip)]
    pub(super) otlp: Option<bool>,
    /// No effect, as `otlp`.
    #[schemars(skip)]
    pub(super) otlp_paths: Option<bool>,
}

/// Questions to a person (user's file only).
#[derive(Deserialize, Default, PartialEq, Eq, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Ask")]
pub(super) struct AskSection {
    /// Seconds that a call which needs a person waits for `emend approve`, `deny` or `correct`, at most 86,400; then it
    /// ends with `access.ask`. Default: 0, it ends at once.
    pub(super) wait_seconds: Option<u64>,
    /// Program and arguments that tell the person. It reads the question as JSON, as `emend pending --json` prints it, and
    /// may print the answer: `approve`, `deny REASON`, or `{"answer": "correct", "texts": [{"file_path", "text"}]}`.
    pub(super) notify: Option<Vec<String>>,
}

/// The output of `emend` on a terminal (user's file only).
#[derive(Deserialize, Default, PartialEq, Eq, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Terminal")]
pub(super) struct TerminalSection {
    /// Command that shows output which is longer than the terminal, as `core.pager` of git; empty for none. Default:
    /// `$PAGER`, or `less`.
    pub(super) pager: Option<String>,
}

/// A JSON schema for some files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Schema")]
pub(super) struct SchemaEntry {
    /// The files, as a gitignore pattern.
    pub(super) files: String,
    /// The file of the schema, relative to the directory of this file.
    pub(super) schema: String,
}

/// A program that formats a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Formatter")]
pub(super) struct FormatterEntry {
    /// The files, as a gitignore pattern.
    pub(super) files: String,
    /// The name of a built-in formatter (see `emend config formatters`), or the program and arguments of a command that reads
    /// standard input and writes standard output; `{path}` is replaced by the path of the file. A command that changes files in
    /// place has `{file}` among its arguments: a copy of the text, with the same name in a temporary directory.
    pub(super) command: CommandEntry,
    /// When to format: `formatted` skips files that were not formatted before the edit, `always` formats every file.
    pub(super) when: Option<String>,
    /// Time limit in seconds, 1 to 600 (default: 10).
    pub(super) seconds: Option<u64>,
}

/// A command, by name or in words.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Command")]
pub(super) enum CommandEntry {
    /// The name of a built-in one.
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
    /// The files, as a gitignore pattern (default: all).
    pub(super) files: Option<String>,
    /// Program and arguments.
    pub(super) command: Vec<String>,
    /// Time limit in seconds, 1 to 600 (default: 10).
    pub(super) seconds: Option<u64>,
    /// Refuse the read or edit if the program fails (default: true for `before_read`). Otherwise its failure is only
    /// reported.
    pub(super) required: Option<bool>,
}

/// A language server. A built-in one (see `emend config servers`) needs only its name.
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
    /// Names of files that mark the server's project directory; the first that is found above a file counts.
    pub(super) root_markers: Option<Vec<String>>,
    /// When the server is asked: `edit` after every edit, `batch` after those of several files, `check` only by check, `off`.
    pub(super) when: Option<String>,
    /// Milliseconds that a reply to an edit may wait for the server, at most 120,000 (default: 3000).
    pub(super) timeout_ms: Option<u64>,
    /// For a server whose messages do not name the version of the text: milliseconds of silence after which its messages are
    /// taken to be about the new text. Without it, the result of such a server is unknown.
    pub(super) settle_ms: Option<u64>,
    /// The lowest severity to report: error, warning (default), information or hint.
    pub(super) least: Option<String>,
    /// Settings to send when the server asks for them: sections by name.
    pub(super) settings: Option<Value>,
    /// Options to send when the server starts.
    pub(super) initialization_options: Option<Value>,
}
