//! Descriptions of tools and formats for programs.

use crate::api::tool_table::TOOLS;
use crate::tools::tool::Tool;
use emendate_core::formats::{self, FormatSpec};
use serde_json::{Value, json};

/// Returns the descriptions of all formats, for documentation.
pub fn format_specs() -> Vec<&'static FormatSpec> {
    formats::FORMATS.iter().map(|format| format.spec()).collect()
}

/// Describes all tools, as `emend tools --json` prints it.
pub fn describe() -> Value {
    TOOLS.iter().copied().map(tool_data).collect()
}

/// Describes a tool as JSON.
fn tool_data(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.prompt,
        "inputSchema": tool.schema(),
        "annotations": {
            "readOnlyHint": tool.annotations.read_only,
            "destructiveHint": tool.annotations.destructive,
            "idempotentHint": tool.annotations.idempotent,
            "openWorldHint": false,
        },
    })
}
