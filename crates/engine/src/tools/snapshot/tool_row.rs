//! The row of the tool `snapshot` in the tool table.

use super::{SnapshotInput, snapshot};
use crate::tools::aliases::alias;
use crate::tools::outputs::{OutputGroup, any, flag, list, number};
use crate::tools::tool::{Annotations, Tool};
use crate::tools::tool_input::ToolInput;
use schemars::schema_for;

/// The fields that the data of a reply may have.
const SNAPSHOT: OutputGroup = OutputGroup {
    title: "A snapshot",
    fields: &[
        any("operation", "The operation that has the changes; null if nothing changed."),
        list("operations", "All of them: one for each root with changes."),
        list("files", "One entry a changed file: filePath, type, linesAdded, linesRemoved; at most 100."),
        number("filesTotal", "The number of all changed files."),
        number("scanned", "The number of files that the snapshot has."),
        flag("dryRun", "Nothing was recorded."),
    ],
};

/// The row of the tool `snapshot` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "snapshot",
    title: "Record changes of others",
    summary: "record the files that were changed, created or deleted since the last snapshot, by whatever program",
    prompt: "\
Records every file below the roots that was changed, created or deleted since the last snapshot, by whatever program, as one operation, which \
history shows and undo takes back by its id. Take one before and after a command that changes files. The first snapshot only records what is there. \
Ignored files (.gitignore), secrets and files of more than 8 MiB are skipped.",
    annotations: Annotations::RECORDS,
    rest: "history with the id of the operation shows its files.",
    example: r#"{"note": "cargo fmt"}"#,
    aliases: &[alias("note", &["message", "description"])],
    outputs: &[&SNAPSHOT],
    input: ToolInput::new(|call, _, input| snapshot(call, input), || vec![schema_for!(SnapshotInput)]),
    ..Tool::ROW
};
