//! `emend hook`: a hook of Claude Code and of other clients. Files read by its own tools count as read here, and its edits are first tried
//! as a dry run: an edit that would be refused is answered with our error instead of theirs.

use crate::context::CliContext;
use crate::{input, output, session};
use clap::{Args, Subcommand};
use emendate::core::{Code, Error, ErrorContext, Note, Result};
use emendate::fs::shown;
use emendate::{CallContext, Engine, OutsideChanges, ToolView, UnreadPolicy, client_tool, shell_command_note};
use serde_json::{Map, Value, json};
use std::path::Path;

/// `emend hook`.
#[derive(Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    pub(crate) moment: HookPhase,
    /// Session in which reads count [default: one of the client's conversation]
    #[arg(long = "as", value_name = "SESSION", global = true)]
    pub(crate) reader: Option<String>,
    /// The client whose event it is
    #[arg(long, value_name = "NAME", global = true, default_value = "claude-code", value_parser = ["claude-code", "codex", "gemini-cli", "opencode", "pi"])]
    pub(crate) client: String,
}

/// The moments of a tool call.
#[derive(Subcommand, Clone, Copy)]
pub(crate) enum HookPhase {
    /// Before a tool is used: refuses edits that rules deny or that would not apply
    PreToolUse,
    /// After a tool was used: remembers what was read and written
    PostToolUse,
    /// When the user sends a prompt: a turn begins, which `emend undo --turn` takes back
    UserPromptSubmit,
    /// At the start or continuation of a conversation: reports its id to the server
    SessionStart,
}

/// Reads the event from standard input and answers on standard output; no output means consent. Returns the exit
/// status.
///
/// Errors: an event that cannot be parsed; an invalid configuration.
pub(crate) fn run(context: &CliContext<'_>, args: &HookArgs) -> Result<u8> {
    let (moment, reader, client) = (args.moment, args.reader.as_deref(), &*args.client);
    let text = input::stdin("the event as JSON")?;
    let mut event: Value = serde_json::from_str(&text).map_err(|error| {
        Error::new(Code::CallInvalid, format!("The event is not JSON: {error}."))
            .next("Let the client call this: see `emend hook --help`.")
    })?;
    if client == GEMINI {
        translate(&mut event);
    }
    let session = session::of_conversation(client, event["session_id"].as_str().unwrap_or("unknown"));
    if let Some(file) = context.conversation_file().filter(|_| reader.is_none())
        && let Err(error) = file.write(&session)
    {
        output::note(&format!("The id of the conversation could not be written for the server: {error}."));
    }
    if matches!(moment, HookPhase::UserPromptSubmit) {
        return begin_turn(context, &session);
    }
    if is_shell(&event) {
        return snapshot(context, moment, &session);
    }
    let Some((offer, fields)) = call(&event) else { return Ok(0) };
    let engine = context.open()?;
    // Claude Code itself checks whether the file was read before.
    let caller = CallContext {
        session: reader.map_or(session, str::to_owned),
        unread: UnreadPolicy::Allow,
        ..context.caller_for_client("hook", "")
    };
    match moment {
        HookPhase::PreToolUse if offer.tool != "read" => {
            know_before(&engine, &caller, &fields);
            if let Some((decision, reason)) = decision(&engine, caller, offer, fields) {
                answer(client, decision, &reason)?;
            }
        }
        HookPhase::PreToolUse | HookPhase::SessionStart | HookPhase::UserPromptSubmit => {}
        HookPhase::PostToolUse => {
            // Before the read, after which the file would be known.
            if let Some(path) = created(&event, &fields)
                && let Err(error) = engine.history().record_creation(path)
            {
                output::note(&format!("The new file is not in the history: {error}"));
            }
            remember(&engine, &caller, offer, fields);
        }
    }
    output::notices(&engine);
    Ok(0)
}

/// The client whose events have other names and fields.
const GEMINI: &str = "gemini-cli";

/// Gemini CLI's names of tools, and ours.
const GEMINI_TOOLS: [(&str, &str); 4] =
    [("read_file", "Read"), ("replace", "Edit"), ("write_file", "Write"), ("run_shell_command", "Bash")];

/// Gives an event of Gemini CLI the names of Claude Code.
fn translate(event: &mut Value) {
    let known = GEMINI_TOOLS.iter().find(|(theirs, _)| event["tool_name"] == *theirs);
    if let Some((_, name)) = known {
        event["tool_name"] = (*name).into();
    }
    if let Some(fields) = event["tool_input"].as_object_mut()
        && let Some(all) = fields.shift_remove("allow_multiple")
    {
        fields.insert("replace_all".to_owned(), all);
    }
}

/// Prints the answer to an event in the client's form. Gemini CLI accepts no question as an answer: its own settings
/// decide whether it asks before edits.
fn answer(client: &str, decision: &str, reason: &str) -> Result<()> {
    if client != GEMINI {
        let said = json!({ "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason });
        return output::value(&json!({ "hookSpecificOutput": said }));
    }
    let field = if decision == "deny" { "reason" } else { "systemMessage" };
    let mut said = json!({ field: reason });
    if decision == "deny" {
        said["decision"] = decision.into();
    }
    output::value(&said)
}

/// Begins a turn. A failure does not stop the prompt: its operations then belong to the turn before.
fn begin_turn(context: &CliContext<'_>, session: &str) -> Result<u8> {
    let engine = context.open()?;
    if let Err(error) = engine.history().begin_turn(session) {
        output::note(&format!("The turn is not in the history: {error}"));
    }
    output::notices(&engine);
    Ok(0)
}

/// True for a call of the client's shell.
fn is_shell(event: &Value) -> bool {
    event["tool_name"] == "Bash"
}

/// Takes a snapshot before or after a command of the client's shell, if the configuration asks for that. A failure does
/// not stop the command: its changes are then found later.
fn snapshot(context: &CliContext<'_>, moment: HookPhase, session: &str) -> Result<u8> {
    let engine = context.open()?;
    if engine.config().outside_changes() != OutsideChanges::Snapshots {
        return Ok(0);
    }
    let note = match moment {
        HookPhase::PostToolUse => shell_command_note(session),
        HookPhase::PreToolUse | HookPhase::SessionStart | HookPhase::UserPromptSubmit => {
            format!("before a shell command of {session}")
        }
    };
    let caller = CallContext { unread: UnreadPolicy::Allow, ..context.caller_for_client("hook", "") };
    if let Err(error) = engine.call(&caller, "snapshot", json!({ "note": note })).result {
        output::note(&format!("No snapshot was taken: {error}"));
    }
    output::notices(&engine);
    Ok(0)
}

/// The session for reads that only show the engine a file before the client changes it.
const BEFORE_EDITS: &str = "before-edits-of-clients";

/// Reads a file before the client's own tool changes it, so that the engine finds and records the change afterwards.
/// The conversation has not seen the file by that: the read belongs to a session of its own.
fn know_before(engine: &Engine, caller: &CallContext, fields: &Map<String, Value>) {
    let Some(path) = ["file_path", "notebook_path"].into_iter().find_map(|name| fields.get(name)) else { return };
    let caller = CallContext { session: BEFORE_EDITS.to_owned(), ..caller.clone() };
    let _ = engine.call(&caller, "read", json!({ "file_path": path, "limit": 1 }));
}

/// Returns our tool with the name of the called one, and the fields it knows; `None` for other tools.
fn call(event: &Value) -> Option<(&'static ToolView, Map<String, Value>)> {
    let offer = client_tool(event["tool_name"].as_str()?)?;
    let schema = offer.schema();
    let mut fields = event["tool_input"].as_object()?.clone();
    fields.retain(|name, value| schema.get("properties").is_some_and(|it| it.get(name).is_some()) && !value.is_null());
    if let (Some(cwd), Some(path)) = (event["cwd"].as_str(), fields.get("file_path").and_then(Value::as_str)) {
        let absolute = shown(Path::new(cwd).join(path));
        fields.insert("file_path".to_owned(), absolute.into());
    }
    Some((offer, fields))
}

/// Decides by a dry run of the edit: `deny`, or `ask` if a rule or a hook requires approval, each with the reason.
/// Files outside of the roots and the like are not denied.
fn decision(
    engine: &Engine,
    caller: CallContext,
    offer: &'static ToolView,
    fields: Map<String, Value>,
) -> Option<(&'static str, String)> {
    let path = ["file_path", "notebook_path"].into_iter().find_map(|name| fields.get(name)?.as_str());
    let path = path.map(str::to_owned);
    let caller = CallContext { dry_run: true, ..caller };
    match offer.call(engine, &caller, Value::Object(fields)).result {
        Ok(answer) => match rewritten_text(&answer.notes, offer) {
            Some(reason) => Some(("deny", reason)),
            None => Some(("ask", answer.data.get("asks")?.as_str()?.to_owned())),
        },
        Err(error) if is_ours(&error) => Some(("deny", error.to_string())),
        // The new text is unknown, but rules about the path apply nevertheless.
        Err(_) => Some(("ask", engine.approval_rule_for(Path::new(&path?)).ok().flatten()?)),
    }
}

/// Returns the reason against an edit of which the engine would not write the new text as it was sent: the client's own
/// tool makes the edit, and would write the placeholder, the numbers or the fence into the file.
fn rewritten_text(notes: &[Note], offer: &ToolView) -> Option<String> {
    let note = notes.iter().find(|note| note.rewrites_sent_text())?;
    Some(format!(
        "{} would write this text as it is, with what is not part of the file. The text that was meant is known:\n{note}\n\
         Next: Send the text exactly as it should be in the file: whole, without placeholders, line numbers or a fence.",
        offer.name
    ))
}

/// True for an error that the client's own tool would not find, or explain less well. Line numbers in new text are the
/// only fault of arguments among them: the client would write them.
fn is_ours(error: &Error) -> bool {
    let is_numbers = error.is_about(&ErrorContext::LineNumbers);
    let other = matches!(error.code(), Code::PathOutside | Code::InternalBug | Code::CallInvalid) && !is_numbers;
    !other && !error.code().as_str().starts_with("io.")
}

/// Returns the file that the client's own tool created, as its event reports.
fn created<'a>(event: &Value, fields: &'a Map<String, Value>) -> Option<&'a Path> {
    let path = fields.get("file_path").and_then(Value::as_str).map(Path::new);
    path.filter(|_| event["tool_name"] == "Write" && event["tool_response"]["type"] == "create")
}

/// Marks a file that a tool read or wrote as read. Files outside of the roots are ignored.
fn remember(engine: &Engine, caller: &CallContext, offer: &'static ToolView, mut fields: Map<String, Value>) {
    if offer.tool != "read" {
        if let Some(path) = fields.shift_remove("notebook_path") {
            fields.insert("file_path".to_owned(), path);
        }
        fields.retain(|name, _| name == "file_path");
    }
    let _ = engine.call(caller, "read", Value::Object(fields));
}
