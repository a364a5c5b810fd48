//! The row of the tool `history` in the tool table.

use super::{HistoryInput, history_tool};
use crate::model::raw_path::RawPath;
use crate::tools::aliases::{FILE_NAMES, alias};
use crate::tools::outputs::{OutputGroup, any, flag, list, number, object, text};
use crate::tools::tool::{Annotations, Tool};
use crate::tools::tool_input::ToolInput;
use schemars::schema_for;

/// The fields that the data of a reply may have.
const OPERATIONS: OutputGroup = OutputGroup {
    title: "Operations of the history",
    fields: &[
        list(
            "operations",
            "One entry an operation: id, time, session, turn (the operation with which it began), tool, files and its outcome.",
        ),
        any("next", "The id from which on older ones are listed."),
        text("summary", "The operation in one line."),
        object("shown", "The operation that is shown."),
        list(
            "files",
            "One entry a file: filePath, type, linesAdded, linesRemoved, structuredPatch (with `hunk`, the number, where there are several); at most 100.",
        ),
        number("filesTotal", "The number of all files."),
        flag("dryRun", "Nothing was written: the change is only shown."),
    ],
};

/// The row of the tool `history` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "history",
    title: "What was done",
    summary: "list operations on files, show one operation as a diff, or the difference between two",
    prompt: "\
Lists operations, the newest first: name, time, session, tool, files, lines added and removed. With id, one operation as a diff; with id \
and to, what changed between the two. undo and restore take the names.",
    annotations: Annotations::READS,
    rest: "Lower limit, or name one file of an operation with file_path.",
    example: r#"{"file_path": "/work/src/main.rs", "limit": 5}"#,
    aliases: &[alias("id", &["operation", "operation_id"]), alias("file_path", FILE_NAMES)],
    outputs: &[&OPERATIONS],
    input: ToolInput::new(
        |call, _, input| history_tool(call, input),
        || vec![schema_for!(HistoryInput), schema_for!(RawPath)],
    ),
    ..Tool::ROW
};
