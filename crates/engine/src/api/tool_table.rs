//! The tool table: one row per tool. Help, schemas, documentation, `emend call` and MCP iterate over it.

use crate::api::arguments::KnownFields;
use crate::api::tool_schema::merge_schemas;
use crate::model::raw_path::RAW_PATH_FIELD;
use crate::model::reply::SeedCodes;
use crate::tools::symbols::{edit, outline};
use crate::tools::tool_input::ToolInput;
use crate::tools::undo::{restore, rewind};
use crate::tools::{
    apply, check, convert, history, list, moments, read, replace as replace_in_files, search, snapshot, text_editor,
    undo,
};
use emendate_core::formats::{self, anchors, line_anchors, multi_edit, notebook_edit, replace, write};
use serde_json::{Map, Value};
use std::sync::{LazyLock, OnceLock};

/// Bytes of one call's input.
pub const INPUT_BYTES_MAX: usize = 64 << 20;

/// Effects of a tool, for clients that decide about approval. Only true statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// Changes nothing.
    pub read_only: bool,
    /// May replace or remove something, instead of only adding (`destructiveHint` of the protocol).
    pub destructive: bool,
    /// Repeating the call with the same arguments never has a further effect (`idempotentHint`).
    pub idempotent: bool,
}

/// A tool.
pub struct Tool {
    /// The name in calls.
    pub name: &'static str,
    /// The title in lists.
    pub title: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The description for a model.
    pub prompt: &'static str,
    /// The effects of the tool.
    pub annotations: Annotations,
    /// Table of the seed documents that defines the numeric codes of this tool's errors.
    pub seed: SeedCodes,
    /// The call that shows the omitted parts of a reply.
    pub rest: &'static str,
    /// A working input, for documentation.
    pub example: &'static str,
    /// The fields of a call, and what carries it out.
    pub(super) input: ToolInput,
}

/// Annotations of an edit: it replaces or deletes text, and an insertion that is made twice is there twice.
const EDIT_ANNOTATIONS: Annotations = Annotations { read_only: false, destructive: true, idempotent: false };

/// Advice for the fields that most replies to edits omit.
const REST_OF_EDIT_ADVICE: &str =
    "Read the file with offset and limit to see it as it is; history with the id of the operation shows the change.";

/// Every tool.
pub static TOOLS: &[Tool] = &[
    Tool {
        name: "read",
        title: "Read a file",
        summary: "show lines of a text file, cells of a notebook, an image or pages of a PDF, and remember what was shown",
        prompt: "\
Reads a text file. Lines are shown as number, TAB, text; never copy the number and TAB into an edit. By default the first 2000 \
lines; give offset and limit for others. A file must be read before it is edited. Images, PDFs and notebooks are shown, too.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "Read other lines with offset and limit.",
        example: r#"{"file_path": "/work/src/main.rs", "offset": 1, "limit": 200}"#,
        input: read::INPUT,
    },
    Tool {
        name: "search",
        title: "Search files",
        summary: "find lines by a regular expression or plain text, ready to be edited",
        prompt: "\
Searches files for a regular expression, or for plain text with literal. path is a directory or a file. Hits are grouped by file and shown as \
read shows lines; what is shown counts as read, so it can be edited right away. Ignored (.gitignore) and hidden files are skipped unless no_ignore or hidden is set; glob picks files (\"*.rs\", \"!tests/**\"). Set context to see the lines around a hit.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "Narrow the pattern, path or glob, or lower limit and context.",
        example: r#"{"pattern": "fn \\w+_at\\(", "path": "/work/src", "glob": ["*.rs"], "context": 2}"#,
        input: search::INPUT,
    },
    Tool {
        name: "list",
        title: "List files",
        summary: "list the files below a directory, without ignored and hidden ones",
        prompt: "\
Lists the files below a directory, one path a line, relative to it. Ignored (.gitignore) and hidden files are skipped unless no_ignore or hidden is set; glob picks files. With depth, what is deeper is counted by directory.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "Name a directory below it, or give depth or glob.",
        example: r#"{"path": "/work/src", "depth": 2}"#,
        input: list::INPUT,
    },
    Tool {
        name: "edit",
        title: "Edit a file",
        summary: "replace text in a file: one replacement, or several in edits[], all or nothing",
        prompt: "\
Replaces text in a file that was read before. old_string is copied from the file exactly, with its indentation, without line \
numbers, and must occur once: add surrounding lines, or set replace_all. Several replacements go into edits[], all or nothing. \
Empty new_string deletes.",
        annotations: EDIT_ANNOTATIONS,
        seed: SeedCodes::Edit,
        rest: REST_OF_EDIT_ADVICE,
        example: r#"{"file_path": "/work/src/main.rs", "old_string": "let x = 1;", "new_string": "let x = 2;"}"#,
        input: ToolInput::Formats {
            formats: &[&replace::ReplaceFormat, &multi_edit::MultiEdit, &line_anchors::LineAnchors],
            also: &[&notebook_edit::NotebookEdit],
        },
    },
    Tool {
        name: "multi_edit",
        title: "Edit a file in several places",
        summary: "several replacements in one file, all or nothing",
        prompt: "\
Makes several replacements in one file that was read before, all or nothing. Each old_string is matched against the file as it was \
read; set order to in_turn if an edit needs the result of an earlier one.",
        annotations: EDIT_ANNOTATIONS,
        seed: SeedCodes::Edit,
        rest: REST_OF_EDIT_ADVICE,
        example: r#"{"file_path": "/work/src/main.rs", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]}"#,
        input: ToolInput::Formats { formats: &[&multi_edit::MultiEdit], also: &[] },
    },
    Tool {
        name: "edit_anchors",
        title: "Edit lines by their words",
        summary: "replace, insert and delete lines named by the words that read shows with format anchors",
        prompt: anchors::PROMPT,
        annotations: EDIT_ANNOTATIONS,
        seed: SeedCodes::Edit,
        rest: REST_OF_EDIT_ADVICE,
        example: r#"{"path": "/work/src/main.rs", "edits": [{"anchor": "Table:let x = 1;", "edit_type": "replace", "text": "let x = 2;"}]}"#,
        input: ToolInput::Formats { formats: &[&anchors::WordAnchors], also: &[] },
    },
    Tool {
        name: "write",
        title: "Write a file",
        summary: "create a file, or replace its whole text",
        prompt: "\
Writes a whole file: creates it with its directories, or replaces its text. An existing file must have been read first. Prefer edit for \
changes to part of a file.",
        annotations: Annotations { read_only: false, destructive: true, idempotent: true },
        seed: SeedCodes::Write,
        rest: REST_OF_EDIT_ADVICE,
        example: r#"{"file_path": "/work/notes.txt", "content": "Hello\n"}"#,
        input: ToolInput::Formats { formats: &[&write::WriteFormat], also: &[] },
    },
    Tool {
        name: "notebook_edit",
        title: "Edit a notebook",
        summary: "replace, insert or delete cells of a Jupyter notebook",
        prompt: notebook_edit::PROMPT,
        annotations: EDIT_ANNOTATIONS,
        seed: SeedCodes::Edit,
        rest: REST_OF_EDIT_ADVICE,
        example: r#"{"notebook_path": "/work/model.ipynb", "cell_id": "a1b2c3d4", "new_source": "x = 1\nx"}"#,
        input: ToolInput::Formats { formats: &[&notebook_edit::NotebookEdit], also: &[] },
    },
    Tool {
        name: "text_editor",
        title: "View and edit files",
        summary: "view, create, str_replace, insert: Anthropic's text editor tool",
        prompt: formats::text_editor::PROMPT,
        annotations: Annotations { read_only: false, destructive: true, idempotent: false },
        seed: SeedCodes::Edit,
        rest: "View other lines with view_range.",
        example: r#"{"command": "str_replace", "path": "/work/src/main.rs", "old_str": "let x = 1;", "new_str": "let x = 2;"}"#,
        input: text_editor::INPUT,
    },
    Tool {
        name: "apply",
        title: "Apply edits written as text",
        summary: "apply patches, diffs or SEARCH/REPLACE blocks, for any number of files, all or nothing",
        prompt: "\
Applies edits written as text to any number of files that were read before, all or nothing; the format is recognised. SEARCH/REPLACE \
blocks: the file's path alone on a line, <<<<<<< SEARCH, lines of the file as they are, =======, the new lines, >>>>>>> REPLACE. \
Patches: *** Begin Patch … *** End Patch with *** Update File, Add File, Delete File, Move to; or a unified diff (numbers may be \
wrong). Context must make each place unique. Relative paths start from directory.",
        annotations: EDIT_ANNOTATIONS,
        seed: SeedCodes::Edit,
        rest: "history with the id of the operation and file_path shows the change of one file.",
        example: r#"{"input": "src/main.rs\n<<<<<<< SEARCH\nlet x = 1;\n=======\nlet x = 2;\n>>>>>>> REPLACE\n", "directory": "/work"}"#,
        input: apply::INPUT,
    },
    Tool {
        name: "replace_in_files",
        title: "Replace in many files",
        summary: "replace a text, or a regular expression, in every file below a directory, all or nothing",
        prompt: "\
Replaces a text in every file below a directory, in one operation: all files or none. old_string is plain text, taken exactly; or pattern with \
regex: true, where $1 in new_string is what the first group matched. glob picks files (\"*.rs\", \"!tests/**\"); ignored and hidden files are \
skipped as in search. expected is the number of replacements in all files together; without it the reply counts and lists them and writes \
nothing. dry_run shows the diffs.",
        annotations: Annotations { read_only: false, destructive: true, idempotent: false },
        seed: SeedCodes::None,
        rest: "history with the id of the operation and file_path shows the change of one file.",
        example: r#"{"path": "/work/src", "old_string": "old_name(", "new_string": "new_name(", "glob": ["*.rs"], "expected": 12}"#,
        input: replace_in_files::INPUT,
    },
    Tool {
        name: "convert",
        title: "Rewrite edits in another format",
        summary: "resolve edits against the files and write them as a unified diff, a patch or blocks",
        prompt: "\
Takes edits as apply does, resolves them against the current files and returns the same change in another format: \
to is unified_diff, apply_patch, search_replace, whole_file, hashline or anchors. Nothing is written.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "Convert fewer files in one call.",
        example: r#"{"input": "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-let x = 1;\n+let x = 2;\n*** End Patch\n", "to": "unified_diff", "directory": "/work"}"#,
        input: convert::INPUT,
    },
    Tool {
        name: "outline",
        title: "Outline of a file",
        summary: "list the definitions in a source file or a directory: functions, types, keys, with their lines",
        prompt: "\
Lists the definitions in a file of a known language, with first and last line: functions, classes, methods, keys, sections. read and edit_symbol \
take these names, joined by dots (Parser.next). For a directory, it lists those of all its files. It shows no text, so it does not count as a read.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "Read parts of the file with offset and limit.",
        example: r#"{"file_path": "/work/src/main.rs"}"#,
        input: outline::INPUT,
    },
    Tool {
        name: "check",
        title: "Check files",
        summary: "problems that the grammar and the configured language servers find in files on disk",
        prompt: "\
Lists problems in files, or in the files of directories, as they are on disk: whether they parse, and errors and warnings of the configured language servers, with line and column. A server that has just been started may need timeout_ms; a missing answer means unknown, not good. \
The reply to an edit already lists new problems.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "Check fewer files in one call.",
        example: r#"{"paths": ["/work/src/main.rs"]}"#,
        input: check::INPUT,
    },
    Tool {
        name: "edit_symbol",
        title: "Edit a symbol",
        summary: "replace, delete or rename a function, class or key by its name, or insert text beside it",
        prompt: "\
Edits a definition by its name, as outline lists it (Parser.next; the last name is enough if it is unique). action: replace (text is \
the whole new definition; comments and attributes above are kept unless text has its own), insert_before, insert_after, delete (with the \
comments above), rename (text is the new name; only where the meaning of the name is certain). The file must have been read. An edit that \
would make the file unparsable is refused.",
        annotations: EDIT_ANNOTATIONS,
        seed: SeedCodes::Edit,
        rest: REST_OF_EDIT_ADVICE,
        example: r#"{"file_path": "/work/src/main.rs", "symbol": "Parser.next", "action": "replace", "text": "fn next(&mut self) -> u8 {\n    0\n}"}"#,
        input: edit::INPUT,
    },
    Tool {
        name: "undo",
        title: "Undo an operation",
        summary: "undo the last call, or a named one, in all of its files; or redo it",
        prompt: "\
Reverts what a call did, in all of its files or none: contents, permissions, files that were created, removed or moved. Without \
arguments the last operation of this session; id names another one (data.operation of its reply, or history). If a file changed \
since on other lines, those changes are kept; on the same lines, nothing is done and the reply says what to do. The undo can be undone \
with redo.",
        annotations: Annotations { read_only: false, destructive: true, idempotent: false },
        seed: SeedCodes::None,
        rest: "history with the id of the operation and file_path shows the change of one file.",
        example: r#"{"id": "17-3fa9"}"#,
        input: undo::INPUT,
    },
    Tool {
        name: "restore",
        title: "Restore a file",
        summary: "restore a file to its state after an operation of the history",
        prompt: "\
Restores one file to its state after an operation, or before it with ^ after the name, whatever changed since. It \
must have been read, if it exists. This is an operation itself, so undo reverts it.",
        annotations: Annotations { read_only: false, destructive: true, idempotent: true },
        seed: SeedCodes::None,
        rest: "history with the id of the operation and file_path shows the change of one file.",
        example: r#"{"file_path": "/work/src/main.rs", "id": "17-3fa9^"}"#,
        input: restore::INPUT,
    },
    Tool {
        name: "history",
        title: "What was done",
        summary: "list operations on files, show one operation as a diff, or the difference between two",
        prompt: "\
Lists operations, the newest first: name, time, session, tool, files, lines added and removed. With id, one operation as a diff; with id \
and to, what changed between the two. undo and restore take the names.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "Lower limit, or name one file of an operation with file_path.",
        example: r#"{"file_path": "/work/src/main.rs", "limit": 5}"#,
        input: history::INPUT,
    },
    Tool {
        name: "mark",
        title: "Name this moment",
        summary: "give this moment of the history a name, to which rewind goes back",
        prompt: "\
Gives this moment a name. rewind takes back what you did since; undo (since) and history (id, to) take the name, too. The newest mark of a name counts.",
        annotations: Annotations { read_only: false, destructive: false, idempotent: false },
        seed: SeedCodes::None,
        rest: "",
        example: r#"{"name": "before-refactoring"}"#,
        input: moments::INPUT,
    },
    Tool {
        name: "rewind",
        title: "Return to a moment",
        summary: "take back everything that the session did since a mark, and keep what others did",
        prompt: "\
Takes back everything that you did since a mark or an operation, in all files, as one operation, which undo with redo takes back. What others did since \
then is kept and listed; where both changed the same lines, nothing is done and the conflict is shown. With shell, also what snapshots found \
during your shell commands.",
        annotations: Annotations { read_only: false, destructive: true, idempotent: false },
        seed: SeedCodes::None,
        rest: "history with the id of the operation and file_path shows the change of one file.",
        example: r#"{"to": "before-refactoring"}"#,
        input: rewind::INPUT,
    },
    Tool {
        name: "snapshot",
        title: "Record changes of others",
        summary: "record the files that were changed, created or deleted since the last snapshot, by whatever program",
        prompt: "\
Records every file below the roots that was changed, created or deleted since the last snapshot, by whatever program, as one operation, which \
history shows and undo takes back by its id. Take one before and after a command that changes files. The first snapshot only records what is there. \
Ignored files (.gitignore), secrets and files of more than 8 MiB are skipped.",
        annotations: Annotations { read_only: false, destructive: false, idempotent: true },
        seed: SeedCodes::None,
        rest: "history with the id of the operation shows its files.",
        example: r#"{"note": "cargo fmt"}"#,
        input: snapshot::INPUT,
    },
];

/// Returns the tool of that name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    /// Returns the schema for parsing arguments; computed once.
    pub(crate) fn known(&self) -> &'static KnownFields {
        static KNOWN_FIELDS: LazyLock<Vec<OnceLock<KnownFields>>> =
            LazyLock::new(|| TOOLS.iter().map(|_| OnceLock::new()).collect());
        let row = TOOLS.iter().position(|tool| tool.name == self.name).unwrap_or_default();
        KNOWN_FIELDS[row].get_or_init(|| KnownFields::new(TOOLS[row].schema()))
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
    fn every_description_fits_client_limits() {
        for tool in TOOLS {
            assert!(tool.prompt.len() <= 2048 && !tool.summary.is_empty() && !tool.title.is_empty(), "{}", tool.name);
        }
    }
}
