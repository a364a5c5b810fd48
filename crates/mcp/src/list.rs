//! The tools of a profile as MCP shows them.

use emendate::{Offer, Profile};
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use std::sync::Arc;

/// Claude Code cuts longer results off, and puts them into a file, unless a tool asks for more under this key.
pub(crate) const SIZE_KEY: &str = "anthropic/maxResultSizeChars";
/// What is asked for: room for the engine's largest reply with all its line numbers.
pub(crate) const SIZE: u32 = 200_000;

/// Every tool of a profile, in its order.
pub(crate) fn tools(profile: &Profile) -> Vec<Tool> {
    profile.offers.iter().map(tool).collect()
}

/// The same with the schemas of structured results.
pub(crate) fn with_outputs(profile: &Profile) -> Vec<Tool> {
    let one = |offer: &Offer| tool(offer).with_raw_output_schema(Arc::new(offer.row().output_schema()));
    profile.offers.iter().map(one).collect()
}

fn tool(offer: &Offer) -> Tool {
    let row = offer.row();
    let told = row.annotations;
    let annotations = ToolAnnotations::new()
        .read_only(told.read_only)
        .destructive(told.destructive)
        .idempotent(told.idempotent)
        .open_world(false);
    let tool = Tool::new(offer.name, offer.prompt(), Arc::new(offer.schema()))
        .with_title(row.title)
        .with_annotations(annotations);
    // Only what reads gives long answers; the others' are snippets.
    if told.read_only { tool.with_meta(size()) } else { tool }
}

/// The metadata that asks for room.
pub(crate) fn size() -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(SIZE_KEY.to_owned(), SIZE.into());
    meta
}
