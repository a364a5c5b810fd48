//! Rows of the tools whose input is one of the formats of edits.

use crate::model::reply::SeedCodes;
use crate::tools::aliases::{
    AFTER_ALIAS, Alias, BEFORE_ALIAS, CELL_ALIASES, EDITS_NAMES, EXPECTED_NAMES, FILE_NAMES, LINE_NAMES, NEW_NAMES,
    OLD_NAMES, PATH_NAMES, PATTERN_ALIAS, REPLACE_ALL_NAMES, REPLACEMENT_ALIASES, alias,
};
use crate::tools::outputs::{CHANGED_FILE, SEVERAL_FILES};
use crate::tools::tool::{Annotations, FieldWords, REST_OF_EDIT, Tool};
use crate::tools::tool_input::ToolInput;
use emendate_core::formats::{anchors, line_anchors, multi_edit, notebook_edit, replace, write};

/// The row of the tool `edit` in the table.
pub(crate) const EDIT: Tool = Tool {
    name: "edit",
    title: "Edit a file",
    summary: "replace text in a file: one replacement, or several in edits[], all or nothing",
    prompt: "\
Replaces text in a file that was read before. old_string is copied from the file exactly, with its indentation, without line \
numbers, and must occur once: add surrounding lines, or set replace_all. Several replacements go into edits[], all or nothing. \
Empty new_string deletes.",
    annotations: Annotations::EDITS,
    seed: SeedCodes::Edit,
    rest: REST_OF_EDIT,
    example: r#"{"file_path": "/work/src/main.rs", "old_string": "let x = 1;", "new_string": "let x = 2;"}"#,
    other_names: &[
        "edit_tool", "edit_file", "str_replace", "file_edit", "file_edit_tool", "replace", "search_replace",
        "search_and_replace", "find_and_replace",
    ],
    aliases: &[
        alias("file_path", FILE_NAMES),
        alias("old_string", OLD_NAMES),
        alias("new_string", NEW_NAMES),
        // `new_text` is the field of edits by first and last line.
        Alias { field: "new_string", others: &["new_text"], unless: Some("start_line_text") },
        BEFORE_ALIAS,
        AFTER_ALIAS,
        PATTERN_ALIAS,
        alias("replace_all", REPLACE_ALL_NAMES),
        alias("expected_replacements", EXPECTED_NAMES),
        alias("line", LINE_NAMES),
        alias("edits", EDITS_NAMES),
    ],
    entry_aliases: REPLACEMENT_ALIASES,
    meant_empty: &["old_string", "new_string", "edits", "start_line_text", "end_line_text", "new_text"],
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES],
    input: ToolInput::Formats {
        formats: &[&replace::ReplaceFormat, &multi_edit::MultiEdit, &line_anchors::LineAnchors],
        also: &[&notebook_edit::NotebookEdit],
    },
    ..Tool::ROW
};

/// The row of the tool `multi_edit` in the table.
pub(crate) const MULTI_EDIT: Tool = Tool {
    name: "multi_edit",
    title: "Edit a file in several places",
    summary: "several replacements in one file, all or nothing",
    prompt: "\
Makes several replacements in one file that was read before, all or nothing. Each old_string is matched against the file as it was \
read; set order to in_turn if an edit needs the result of an earlier one.",
    annotations: Annotations::EDITS,
    seed: SeedCodes::Edit,
    rest: REST_OF_EDIT,
    example: r#"{"file_path": "/work/src/main.rs", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]}"#,
    other_names: &["multi_edit_tool"],
    aliases: &[alias("file_path", FILE_NAMES), alias("edits", EDITS_NAMES)],
    entry_aliases: REPLACEMENT_ALIASES,
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES],
    input: ToolInput::Formats { formats: &[&multi_edit::MultiEdit], also: &[] },
    ..Tool::ROW
};

/// The row of the tool `edit_anchors` in the table.
pub(crate) const EDIT_ANCHORS: Tool = Tool {
    name: "edit_anchors",
    title: "Edit lines by their words",
    summary: "replace, insert and delete lines named by the words that read shows with format anchors",
    prompt: anchors::PROMPT,
    annotations: Annotations::EDITS,
    seed: SeedCodes::Edit,
    rest: REST_OF_EDIT,
    example: r#"{"path": "/work/src/main.rs", "edits": [{"anchor": "Table:let x = 1;", "edit_type": "replace", "text": "let x = 2;"}]}"#,
    aliases: &[alias("path", PATH_NAMES), alias("edits", EDITS_NAMES)],
    entry_aliases: &[
        alias("anchor", &["start_anchor", "from"]),
        alias("end_anchor", &["to"]),
        alias("edit_type", &["type", "action"]),
        alias("text", &["new_text", "new_string", "content"]),
    ],
    words: &[FieldWords {
        field: "edit_type",
        words: &[("replace", &["update"]), ("insert_before", &[]), ("insert_after", &[]), ("delete", &["remove"])],
    }],
    meant_empty: &["text"],
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES],
    input: ToolInput::Formats { formats: &[&anchors::WordAnchors], also: &[] },
    ..Tool::ROW
};

/// The row of the tool `write` in the table.
pub(crate) const WRITE: Tool = Tool {
    name: "write",
    title: "Write a file",
    summary: "create a file, or replace its whole text",
    prompt: "\
Writes a whole file: creates it with its directories, or replaces its text. An existing file must have been read first. Prefer an edit for \
changes to part of a file.",
    annotations: Annotations::REPLACES,
    seed: SeedCodes::Write,
    rest: REST_OF_EDIT,
    example: r#"{"file_path": "/work/notes.txt", "content": "Hello\n"}"#,
    other_names: &["write_file", "write_tool", "write_to_file", "create_file", "file_write", "file_write_tool"],
    aliases: &[
        alias("file_path", FILE_NAMES),
        alias(
            "content",
            &["contents", "text", "file_text", "file_content", "new_content", "code", "code_content", "data", "body"],
        ),
    ],
    outputs: &[&CHANGED_FILE],
    input: ToolInput::Formats { formats: &[&write::WriteFormat], also: &[] },
    ..Tool::ROW
};

/// The row of the tool `notebook_edit` in the table.
pub(crate) const NOTEBOOK_EDIT: Tool = Tool {
    name: "notebook_edit",
    title: "Edit a notebook",
    summary: "replace, insert or delete cells of a Jupyter notebook",
    prompt: notebook_edit::PROMPT,
    annotations: Annotations::EDITS,
    seed: SeedCodes::Edit,
    rest: REST_OF_EDIT,
    example: r#"{"notebook_path": "/work/model.ipynb", "cell_id": "a1b2c3d4", "new_source": "x = 1\nx"}"#,
    other_names: &["notebook_edit_tool", "edit_notebook"],
    aliases: &[
        alias("notebook_path", &["file_path", "path", "file", "filename", "notebook"]),
        CELL_ALIASES[0],
        CELL_ALIASES[1],
        CELL_ALIASES[2],
        CELL_ALIASES[3],
        alias("edits", EDITS_NAMES),
    ],
    entry_aliases: CELL_ALIASES,
    words: &[
        FieldWords {
            field: "edit_mode",
            words: &[("replace", &["update"]), ("insert", &["add"]), ("delete", &["remove"])],
        },
        FieldWords { field: "cell_type", words: &[("code", &[]), ("markdown", &["md"]), ("raw", &[])] },
    ],
    meant_empty: &["new_source"],
    outputs: &[&CHANGED_FILE],
    input: ToolInput::Formats { formats: &[&notebook_edit::NotebookEdit], also: &[] },
};
