//! The row of the tool `read` in the tool table.

use super::{ReadInput, read};
use crate::model::raw_path::RawPath;
use crate::tools::aliases::{FILE_NAMES, alias};
use crate::tools::outputs::{FILES_BELOW, LINES_READ};
use crate::tools::tool::{Annotations, FieldWords, Tool};
use crate::tools::tool_input::{AnswerText, ToolInput};
use crate::tools::words::LINE_FORMAT_WORDS;
use schemars::schema_for;

/// The row of the tool `read` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "read",
    title: "Read a file",
    summary: "show lines of a text file, cells of a notebook, an image or pages of a PDF, and remember what was shown",
    prompt: "\
Reads a text file. Lines are shown as number, TAB, text; never copy the number and TAB into an edit. By default the first 2000 \
lines; give offset and limit for others. A file must be read before it is edited. Images, PDFs and notebooks are shown, too.",
    annotations: Annotations::READS,
    rest: "Read other lines with offset and limit.",
    example: r#"{"file_path": "/work/src/main.rs", "offset": 1, "limit": 200}"#,
    other_names: &["read_file", "read_tool", "file_read", "view_file"],
    aliases: &[
        alias("file_path", FILE_NAMES),
        alias("offset", &["start_line", "line_start", "from_line"]),
        alias("limit", &["line_count", "num_lines", "max_lines"]),
        alias("symbol", &["symbol_name"]),
    ],
    words: &[FieldWords { field: "format", words: LINE_FORMAT_WORDS }],
    outputs: &[&LINES_READ, &FILES_BELOW],
    input: ToolInput::Own {
        run: |call, _, input| read(call, input),
        schemas: || vec![schema_for!(ReadInput), schema_for!(RawPath)],
        text: AnswerText::Lines,
    },
    ..Tool::ROW
};
