//! The row of the tool `search` in the tool table.

use super::{SearchInput, search};
use crate::model::raw_path::RawPath;
use crate::tools::aliases::{SCOPE_ALIASES, alias};
use crate::tools::outputs::{OutputGroup, flag, list, number};
use crate::tools::tool::{Annotations, FieldWords, Tool};
use crate::tools::tool_input::ToolInput;
use crate::tools::words::LINE_FORMAT_WORDS;
use schemars::schema_for;

/// The fields that the data of a reply may have.
const LINES_FOUND: OutputGroup = OutputGroup {
    title: "Lines that were found",
    fields: &[
        list("files", "One entry a file: filePath, tag, hits and the ranges of lines that are shown."),
        number("hits", "The number of hits."),
        number("filesSearched", "The number of files that were searched."),
        flag("truncated", "The search ended early."),
    ],
};

/// The row of the tool `search` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "search",
    title: "Search files",
    summary: "find lines by a regular expression or plain text, ready to be edited",
    prompt: "\
Searches files for a regular expression, or for plain text with literal. path is a directory or a file. Hits are grouped by file and shown as \
read shows lines; what is shown counts as read, so it can be edited right away. Ignored (.gitignore) and hidden files are skipped unless no_ignore or hidden is set; glob picks files (\"*.rs\", \"!tests/**\"). Set context to see the lines around a hit.",
    annotations: Annotations::READS,
    rest: "Narrow the pattern, path or glob, or lower limit and context.",
    example: r#"{"pattern": "fn \\w+_at\\(", "path": "/work/src", "glob": ["*.rs"], "context": 2}"#,
    other_names: &["grep", "grep_tool", "grep_files", "search_files"],
    aliases: &[
        alias("pattern", &["query", "regex", "search"]),
        SCOPE_ALIASES[0],
        SCOPE_ALIASES[1],
        SCOPE_ALIASES[2],
        alias("literal", &["fixed_strings"]),
        alias("context", &["context_lines", "-C"]),
        alias("limit", &["max_results", "head_limit"]),
    ],
    words: &[FieldWords { field: "format", words: LINE_FORMAT_WORDS }],
    outputs: &[&LINES_FOUND],
    input: ToolInput::new(
        |call, _, input| search(call, input),
        || vec![schema_for!(SearchInput), schema_for!(RawPath)],
    ),
    ..Tool::ROW
};
