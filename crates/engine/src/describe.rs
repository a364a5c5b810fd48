//! Descriptions of tools and formats for programs.

use crate::tools::{TOOLS, Tool};
use emendate_core::formats::{self, FormatSpec};
use serde_json::{Value, json};

/// Returns the descriptions of all formats, for documentation.
pub fn format_specs() -> Vec<&'static FormatSpec> {
    formats::FORMATS.iter().map(|format| format.spec()).collect()
}

/// Describes all tools, as `emend tools --json` prints it.
pub fn describe() -> Value {
    let one = |tool: &Tool| {
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
    };
    TOOLS.iter().map(one).collect()
}
