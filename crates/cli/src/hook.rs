//! `emend hook`: a hook of Claude Code. What its own tools read counts as read here, and what they are about to write is
//! tried first: an edit that would be refused is answered with our lesson in place of theirs.

use crate::desk::Desk;
use crate::{input, show};
use clap::Subcommand;
use emendate::core::{Code, Error, Result};
use emendate::fs::shown;
use emendate::{Caller, Engine, Offer, Unread, client_tool};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The moments of a tool call.
#[derive(Subcommand, Clone, Copy)]
pub(crate) enum Moment {
    /// Before a tool is used: refuses edits that rules deny or that would not apply
    PreToolUse,
    /// After a tool was used: remembers what was read and written
    PostToolUse,
}

/// Reads the event on standard input and answers on standard output; silence is consent. The exit status.
///
/// Errors: an event that cannot be read; a configuration that is wrong.
pub(crate) fn run(desk: &Desk<'_>, moment: Moment) -> Result<u8> {
    let text = input::stdin("the event as JSON")?;
    let event: Value = serde_json::from_str(&text).map_err(|error| {
        Error::new(Code::CallInvalid, format!("The event is no JSON: {error}."))
            .next("Let Claude Code call this: see `emend hook --help`.")
    })?;
    let Some((offer, fields)) = call(&event) else { return Ok(0) };
    let engine = desk.open()?;
    let session = event["session_id"].as_str().unwrap_or("unknown");
    // Whether the file was read before is Claude Code's own question.
    let caller =
        Caller { session: format!("claude-{session}"), unread: Unread::Allow, ..desk.caller_through("hook", "") };
    match moment {
        Moment::PreToolUse if offer.tool != "read" => {
            let asked = question(&engine, &fields);
            let decision = match objection(&engine, caller, offer, fields) {
                Some(reason) => Some(("deny", reason)),
                None => asked.map(|rule| ("ask", rule)),
            };
            if let Some((decision, reason)) = decision {
                let said = json!({ "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason });
                show::value(&json!({ "hookSpecificOutput": said }))?;
            }
        }
        Moment::PreToolUse => {}
        Moment::PostToolUse => remember(&engine, &caller, offer, fields),
    }
    show::notices(&engine);
    Ok(0)
}

/// The tool of ours that has the name of the one that was called, and the fields it knows; nothing for other tools.
fn call(event: &Value) -> Option<(&'static Offer, Map<String, Value>)> {
    let offer = client_tool(event["tool_name"].as_str()?)?;
    let schema = offer.schema();
    let known = |name: &str| schema.get("properties").is_some_and(|it| it.get(name).is_some());
    let mut fields = event["tool_input"].as_object()?.clone();
    fields.retain(|name, value| known(name) && !value.is_null());
    if let (Some(cwd), Some(path)) = (event["cwd"].as_str(), fields.get("file_path").and_then(Value::as_str)) {
        let absolute = shown(Path::new(cwd).join(path));
        fields.insert("file_path".to_owned(), absolute.into());
    }
    Some((offer, fields))
}

/// Why an edit should not be made: what a dry run of it says. What is none of our business, as a file elsewhere, is not.
fn objection(engine: &Engine, caller: Caller, offer: &'static Offer, fields: Map<String, Value>) -> Option<String> {
    let caller = Caller { dry_run: true, ..caller };
    let error = offer.call(engine, &caller, Value::Object(fields)).result.err()?;
    let ours = !matches!(error.code(), Code::PathOutside | Code::InternalBug | Code::CallInvalid);
    let disk = error.code().as_str().starts_with("io.");
    (ours && !disk).then(|| error.to_string())
}

/// The rule by which a person is asked before the file is written; Claude Code puts the question.
fn question(engine: &Engine, fields: &Map<String, Value>) -> Option<String> {
    let path = ["file_path", "notebook_path"].into_iter().find_map(|name| fields.get(name)?.as_str())?;
    engine.asked_about(Path::new(path)).ok().flatten()
}

/// Makes what a tool read or wrote count as read. A file that is not ours is passed over.
fn remember(engine: &Engine, caller: &Caller, offer: &'static Offer, mut fields: Map<String, Value>) {
    if offer.tool != "read" {
        fields.retain(|name, _| name == "file_path");
    }
    let _ = engine.call(caller, "read", Value::Object(fields));
}
