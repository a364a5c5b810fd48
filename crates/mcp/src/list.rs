//! The tools of a profile in the form of MCP.

use emendate::{Profile, ToolView};
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use std::sync::Arc;

/// The key by which a tool requests more room: Claude Code cuts longer results off, and moves them to a file.
pub(crate) const SIZE_KEY: &str = "anthropic/maxResultSizeChars";
/// The requested room: enough for the engine's largest reply with all its line numbers.
pub(crate) const RESULT_CHARS_MAX: u32 = 200_000;

/// Returns the tools of a profile, in its order.
pub(crate) fn tools(profile: &Profile) -> Vec<Tool> {
    profile.views.iter().map(tool).collect()
}

/// Returns the tools with the schemas of structured results.
pub(crate) fn with_outputs(profile: &Profile) -> Vec<Tool> {
    profile
        .views
        .iter()
        .map(|offer| tool(offer).with_raw_output_schema(Arc::new(offer.tool_row().output_schema())))
        .collect()
}

fn tool(offer: &ToolView) -> Tool {
    let row = offer.tool_row();
    let hints = row.annotations;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(false);
    let tool = Tool::new(offer.name, offer.prompt(), Arc::new(offer.schema()))
        .with_title(row.title)
        .with_annotations(annotations);
    // Only reading tools give long answers; the others return snippets.
    if hints.read_only { tool.with_meta(size()) } else { tool }
}

/// Returns the metadata that requests room.
pub(crate) fn size() -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(SIZE_KEY.to_owned(), RESULT_CHARS_MAX.into());
    meta
}
