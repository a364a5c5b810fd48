//! Profiles with the names and fields of other agents' tools, and the tools of Claude Code as its hooks see them.

use crate::api::profile::prompts::{ANCHORED_READ_PROMPT, SHORT_UNDO_PROMPT};
use crate::api::profile::{Profile, TEXT_INSTRUCTIONS, ToolView, all, all_named};

const PEER_INSTRUCTIONS: &str = "\
Read a file before it is changed; the reply shows the result, so it need not be read again. If a call fails, nothing was written and the reply says \
what to send instead. Paths are absolute.";

const PATH_RENAMES: &[(&str, &str)] = &[("path", "file_path")];

const REPLACE_IN_FILE_PROMPT: &str = "\
Replaces parts of a file that was read before. diff contains one or more blocks: a line ------- SEARCH, lines of the file exactly as they are, a \
line =======, the new lines, a line +++++++ REPLACE. Each SEARCH part must be unique in the file; all blocks are applied or none.";

/// Anthropic's tool.
pub(super) const ANTHROPIC: Profile = Profile {
    name: "anthropic",
    summary: "Anthropic's text editor tool: view, create, str_replace, insert",
    instructions: TEXT_INSTRUCTIONS,
    counts_as_read: true,
    views: &[ToolView {
        fields: Some(&[
            "command", "path", "file_text", "old_str", "new_str", "insert_line", "insert_text", "view_range",
        ]),
        ..all_named("str_replace_based_edit_tool", "text_editor")
    }],
};

/// Cline's names.
pub(super) const CLINE: Profile = Profile {
    name: "cline",
    summary: "Cline's names: read_file, write_to_file, replace_in_file",
    instructions: PEER_INSTRUCTIONS,
    counts_as_read: true,
    views: &[
        ToolView {
            fields: Some(&["file_path", "offset", "limit"]),
            renamed_fields: PATH_RENAMES,
            ..all_named("read_file", "read")
        },
        ToolView {
            fields: Some(&["file_path", "content"]),
            renamed_fields: PATH_RENAMES,
            ..all_named("write_to_file", "write")
        },
        ToolView {
            fields: Some(&["file", "input"]),
            required: Some(&["path", "diff"]),
            renamed_fields: &[("path", "file"), ("diff", "input")],
            prompt: Some(REPLACE_IN_FILE_PROMPT),
            descriptions: &[("path", "The path of the file."), ("diff", "The SEARCH/REPLACE blocks.")],
            ..all_named("replace_in_file", "apply")
        },
    ],
};

const CAMEL_CASE_RENAMES: &[(&str, &str)] = &[
    ("filePath", "file_path"),
    ("oldString", "old_string"),
    ("newString", "new_string"),
    ("replaceAll", "replace_all"),
];

const OPENCODE_EDIT_PROMPT: &str = "\
Replaces text in a file that was read before. Copy oldString from what read shows after the line number, with its exact indentation. It must \
be unique in the file, or set replaceAll. An empty newString deletes.";

const OPENCODE_MULTIEDIT_PROMPT: &str = "\
Makes several replacements in one file that was read before, all or none. Each oldString is looked for in the file as it was read, and must \
be unique there.";

const ALLOW_MULTIPLE: &[(&str, &str)] = &[("allow_multiple", "replace_all")];

const GEMINI_REPLACE_PROMPT: &str = "\
Replaces text in a file that was read before. old_string must be copied from the file with its exact indentation, and be unique there, or set \
allow_multiple. An empty new_string deletes.";

/// Gemini CLI's names.
pub(super) const GEMINI: Profile = Profile {
    name: "gemini",
    summary: "Gemini CLI's names: read_file, replace, write_file",
    instructions: PEER_INSTRUCTIONS,
    counts_as_read: true,
    views: &[
        ToolView { fields: Some(&["file_path", "offset", "limit"]), ..all_named("read_file", "read") },
        ToolView {
            fields: Some(&["file_path", "old_string", "new_string", "replace_all"]),
            required: Some(&["file_path", "old_string", "new_string"]),
            renamed_fields: ALLOW_MULTIPLE,
            prompt: Some(GEMINI_REPLACE_PROMPT),
            descriptions: &[("allow_multiple", "Replace all occurrences (default false).")],
            ..all_named("replace", "edit")
        },
        ToolView { fields: Some(&["file_path", "content"]), ..all_named("write_file", "write") },
    ],
};

/// `OpenCode`'s names.
pub(super) const OPENCODE: Profile = Profile {
    name: "opencode",
    summary: "OpenCode's names: read, edit, multiedit, write with filePath, oldString, newString, replaceAll",
    instructions: PEER_INSTRUCTIONS,
    counts_as_read: true,
    views: &[
        ToolView { fields: Some(&["file_path", "offset", "limit"]), renamed_fields: CAMEL_CASE_RENAMES, ..all("read") },
        ToolView {
            fields: Some(&["file_path", "old_string", "new_string", "replace_all"]),
            required: Some(&["filePath", "oldString", "newString"]),
            renamed_fields: CAMEL_CASE_RENAMES,
            prompt: Some(OPENCODE_EDIT_PROMPT),
            descriptions: &[
                ("oldString", "The text to replace."),
                ("newString", "The text to put in its place."),
                ("replaceAll", "Replace all occurrences (default false)."),
            ],
            ..all("edit")
        },
        ToolView {
            fields: Some(&["file_path", "edits"]),
            entry_fields: Some(&["old_string", "new_string", "replace_all"]),
            renamed_fields: CAMEL_CASE_RENAMES,
            prompt: Some(OPENCODE_MULTIEDIT_PROMPT),
            ..all_named("multiedit", "multi_edit")
        },
        ToolView { fields: Some(&["file_path", "content"]), renamed_fields: CAMEL_CASE_RENAMES, ..all("write") },
    ],
};

const OPENHANDS_PROMPT: &str = "\
Shows, creates and edits text files. view shows a file with line numbers (view_range for a part) or lists a directory; a file must have been viewed before it is changed. str_replace: old_str must match the file exactly, without line numbers, and occur once; give more lines to \
make it unique. insert puts new_str after line insert_line as view numbered it. create makes a file or replaces all of it.";

/// The editor of `OpenHands`.
pub(super) const OPENHANDS: Profile = Profile {
    name: "openhands",
    summary: "the editor of OpenHands: str_replace_editor with view, create, str_replace, insert, undo_edit",
    instructions: "View a file before it is changed. If a call fails, nothing was written and the reply says what to send instead. Paths are \
absolute.",
    counts_as_read: true,
    views: &[ToolView {
        fields: Some(&["command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range"]),
        prompt: Some(OPENHANDS_PROMPT),
        descriptions: &[(
            "new_str",
            "For str_replace: the text to put in place of old_str; for insert: the lines to insert.",
        )],
        ..all_named("str_replace_editor", "text_editor")
    }],
};

/// Dirac's edits by anchors.
pub(super) const DIRAC: Profile = Profile {
    name: "dirac",
    summary: "Dirac's names: read_file with the words of lines, edit_file by them, write_to_file",
    instructions: "Read a file to see the words of its lines, then edit it by them. If a call fails, nothing was written and the reply says \
what to send instead. Paths are absolute.",
    counts_as_read: true,
    views: &[
        ToolView {
            fields: Some(&["file_path", "offset", "limit"]),
            renamed_fields: PATH_RENAMES,
            prompt: Some(ANCHORED_READ_PROMPT),
            line_format: Some("anchors"),
            ..all_named("read_file", "read")
        },
        ToolView { fields: Some(&["path", "edits", "files"]), ..all_named("edit_file", "edit_anchors") },
        ToolView {
            fields: Some(&["file_path", "content"]),
            renamed_fields: PATH_RENAMES,
            line_format: Some("anchors"),
            ..all_named("write_to_file", "write")
        },
        ToolView {
            fields: Some(&["id", "redo"]),
            prompt: Some(SHORT_UNDO_PROMPT),
            line_format: Some("anchors"),
            ..all("undo")
        },
    ],
};

/// Claude Code's own tools, as its hooks see them. Claude Code requires that its own tool has read a file before an
/// edit.
pub(super) static CLAUDE_CODE: Profile = Profile {
    name: "claude_code",
    summary: "the tools of Claude Code itself, for its hooks",
    instructions: "",
    counts_as_read: false,
    views: &[
        ToolView { fields: Some(&["file_path", "offset", "limit", "pages"]), ..all_named("Read", "read") },
        ToolView {
            fields: Some(&["file_path", "old_string", "new_string", "replace_all"]),
            required: Some(&["file_path", "old_string", "new_string"]),
            ..all_named("Edit", "edit")
        },
        ToolView {
            fields: Some(&["file_path", "edits"]),
            entry_fields: Some(&["old_string", "new_string", "replace_all"]),
            ..all_named("MultiEdit", "multi_edit")
        },
        ToolView { fields: Some(&["file_path", "content"]), ..all_named("Write", "write") },
        ToolView {
            fields: Some(&["notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"]),
            ..all_named("NotebookEdit", "notebook_edit")
        },
    ],
};
