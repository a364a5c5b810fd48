//! `emend tools`: the table of tools, for people and programs.

use crate::args::ToolsArgs;
use crate::show;
use emendate::core::{Code, Error, Result};
use emendate::{Offer, TOOLS, Tool, describe, tool};
use serde_json::{Map, Value};

/// A tool with the name and the fields offered to a client.
struct Row {
    name: &'static str,
    tool: &'static Tool,
    prompt: &'static str,
    schema: Map<String, Value>,
}

/// Lists the tools, or shows one.
pub(crate) fn run(args: &ToolsArgs, json: bool) -> Result<u8> {
    let own = |tool: &'static Tool| Row { name: tool.name, tool, prompt: tool.prompt, schema: tool.schema() };
    let offered = |offer: &'static Offer| Row {
        name: offer.name,
        tool: offer.row(),
        prompt: offer.prompt(),
        schema: offer.schema(),
    };
    let rows: Vec<Row> = match (args.profile, &args.name) {
        (None, None) => TOOLS.iter().map(own).collect(),
        (None, Some(name)) => tool(name).map(own).into_iter().collect(),
        (Some(profile), None) => profile.offers.iter().map(offered).collect(),
        (Some(profile), Some(name)) => profile.offer(name).map(offered).into_iter().collect(),
    };
    if let (Some(name), []) = (&args.name, &*rows) {
        let names: Vec<&str> = match args.profile {
            None => TOOLS.iter().map(|tool| tool.name).collect(),
            Some(profile) => profile.offers.iter().map(|offer| offer.name).collect(),
        };
        return Err(Error::new(Code::CallUnknownTool, format!("There is no tool `{name}`."))
            .next(format!("Use one of: {}.", names.join(", "))));
    }
    match (json, &args.name) {
        (true, None) => show::value(&rows.iter().map(described).collect())?,
        (true, Some(_)) => show::value(&rows.iter().map(described).collect::<Value>()[0])?,
        (false, None) => show::page(&list(&rows))?,
        (false, Some(_)) => show::page(&rows.iter().map(page).collect::<String>())?,
    }
    Ok(0)
}

/// Describes a tool under its offered name.
fn described(row: &Row) -> Value {
    let all = describe();
    let own = all.as_array().into_iter().flatten().find(|one| one["name"] == row.tool.name);
    let mut one = own.cloned().unwrap_or_default();
    one["name"] = row.name.into();
    one["description"] = row.prompt.into();
    one["inputSchema"] = Value::Object(row.schema.clone());
    one
}

fn list(rows: &[Row]) -> String {
    let mut out = show::columns("", rows.iter().map(|row| (row.name, row.tool.summary)));
    out.push_str("\n`emend tools NAME` shows what a model is taught, the schema and an example.\n");
    out
}

fn page(row: &Row) -> String {
    let schema = serde_json::to_string_pretty(&row.schema).unwrap_or_default();
    format!(
        "{}: {}\n\nWhat a model is taught:\n\n{}\n\nInput:\n\n{schema}\n\nExample:\n\n{}\n",
        row.name, row.tool.title, row.prompt, row.tool.example
    )
}
