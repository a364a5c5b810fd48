//! `emend tools`: the table of tools, for people and programs.

use crate::args::ToolsArgs;
use crate::{output, styled};
use emendate::core::{Code, Error, Result};
use emendate::{TOOLS, Tool, ToolView, describe, tool};
use serde_json::{Map, Value};

/// A tool with the name and the fields offered to a client.
struct ToolRow {
    name: &'static str,
    tool: &'static Tool,
    prompt: &'static str,
    schema: Map<String, Value>,
}

/// Lists the tools, or shows one.
pub(crate) fn run(args: &ToolsArgs, json: bool) -> Result<u8> {
    let rows: Vec<ToolRow> = match (args.profile, &args.name) {
        (None, None) => TOOLS.iter().copied().map(tool_row).collect(),
        (None, Some(name)) => tool(name).map(tool_row).into_iter().collect(),
        (Some(profile), None) => profile.views.iter().map(view_row).collect(),
        (Some(profile), Some(name)) => profile.view(name).map(view_row).into_iter().collect(),
    };
    if let (Some(name), []) = (&args.name, &*rows) {
        let names: Vec<&str> = match args.profile {
            None => TOOLS.iter().map(|tool| tool.name).collect(),
            Some(profile) => profile.views.iter().map(|offer| offer.name).collect(),
        };
        return Err(Error::new(Code::CallUnknownTool, format!("There is no tool `{name}`."))
            .next(format!("Use one of: {}.", names.join(", "))));
    }
    match (json, &args.name) {
        (true, None) => output::value(&rows.iter().map(described).collect())?,
        (true, Some(_)) => output::value(&rows.iter().map(described).collect::<Value>()[0])?,
        (false, None) => output::page(&list(&rows))?,
        (false, Some(_)) => output::page(&rows.iter().map(page).collect::<String>())?,
    }
    Ok(0)
}

/// Returns the row of a tool as a profile offers it.
fn view_row(offer: &'static ToolView) -> ToolRow {
    ToolRow { name: offer.name, tool: offer.tool_row(), prompt: offer.prompt(), schema: offer.schema() }
}

/// Returns the row of a tool under its own name.
fn tool_row(tool: &'static Tool) -> ToolRow {
    ToolRow { name: tool.name, tool, prompt: tool.prompt, schema: tool.schema() }
}

/// Describes a tool under its offered name.
fn described(row: &ToolRow) -> Value {
    let all = describe();
    let own = all.as_array().into_iter().flatten().find(|one| one["name"] == row.tool.name);
    let mut one = own.cloned().unwrap_or_default();
    one["name"] = row.name.into();
    one["description"] = row.prompt.into();
    one["inputSchema"] = Value::Object(row.schema.clone());
    one
}

fn list(rows: &[ToolRow]) -> String {
    let mut out = styled::columns("", rows.iter().map(|row| (row.name, row.tool.summary)));
    out.push_str("\n`emend tools NAME` shows the description for a model, the schema and an example.\n");
    out
}

fn page(row: &ToolRow) -> String {
    let schema = serde_json::to_string_pretty(&row.schema).unwrap_or_default();
    format!(
        "{}: {}\n\nDescription for the model:\n\n{}\n\nInput:\n\n{schema}\n\nExample:\n\n{}\n",
        row.name, row.tool.title, row.prompt, row.tool.example
    )
}
