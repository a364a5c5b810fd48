//! `emend hook`: a hook of Claude Code and of other clients. Files read by its own tools count as read here, and its edits
//! are first tried as a dry run: an edit that would be refused is answered with our error instead of theirs.

mod answer;
mod event;
mod missing;

use crate::context::CliContext;
use crate::{input, output, session};
use answer::{DecisionKind, EventAnswer, UseDecision};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use data_encoding::BASE64;
use emendate::core::{Code, Error, ErrorContext, Note, Result};
use emendate::{CallContext, Engine, OutsideChanges, RAW_PATH, ToolView, UnreadPolicy};
use event::{ClientEvent, ClientTool, ToolUse};
use missing::MissingFiles;
use serde_json::{Value, json};
use std::path::Path;

/// A client whose hooks are calls of `emend hook`.
struct HookClient {
    name: &'static str,
    tools: &'static [ClientTool],
    /// Reads an event.
    read: fn(&Value, &[ClientTool]) -> ClientEvent,
    /// Words the answer.
    answer: fn(HookPhase, Option<&UseDecision>) -> EventAnswer,
}

/// A client with the names and the form of Claude Code.
const USUAL: HookClient = HookClient {
    name: "claude-code",
    tools: event::CLAUDE_TOOLS,
    read: event::claude_event,
    answer: answer::claude_answer,
};

/// All clients with hooks, the default first.
static HOOK_CLIENTS: &[HookClient] = &[
    USUAL,
    HookClient { name: "codex", ..USUAL },
    HookClient { name: "gemini-cli", tools: event::GEMINI_TOOLS, answer: answer::gemini_answer, ..USUAL },
    HookClient { name: "opencode", ..USUAL },
    HookClient { name: "pi", ..USUAL },
    HookClient { name: "cursor", tools: event::CURSOR_TOOLS, read: event::cursor_event, answer: answer::cursor_answer },
    HookClient { name: "vscode", tools: event::VSCODE_TOOLS, read: event::vscode_event, ..USUAL },
    HookClient {
        name: "windsurf",
        tools: event::WINDSURF_TOOLS,
        read: event::windsurf_event,
        answer: answer::windsurf_answer,
    },
    HookClient { name: "cline", tools: event::CLINE_TOOLS, read: event::cline_event, answer: answer::cline_answer },
];

/// `emend hook`.
#[derive(Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    pub(crate) moment: HookPhase,
    /// Session in which reads count [default: one of the client's conversation]
    #[arg(long = "as", value_name = "SESSION", global = true)]
    pub(crate) reader: Option<String>,
    /// The client whose event it is
    #[arg(long, value_name = "NAME", global = true, default_value = "claude-code", value_parser = client_names())]
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

/// Returns the names of the clients.
fn client_names() -> PossibleValuesParser {
    PossibleValuesParser::new(HOOK_CLIENTS.iter().map(|client| client.name))
}

/// Reads the event from standard input and answers on standard output. Returns the exit status. A failure refuses an
/// edit, which would be made unchecked. It stops nothing else: the exit status of an error erases prompts and blocks
/// commands of the shell.
///
/// Errors: a tool is about to be used, and the event cannot be parsed.
pub(crate) fn run(context: CliContext<'_>, args: &HookArgs) -> Result<u8> {
    let client = HOOK_CLIENTS.iter().find(|client| client.name == args.client).unwrap_or(&USUAL);
    let is_before = matches!(args.moment, HookPhase::PreToolUse);
    let event = match input::stdin("the event as JSON").and_then(|text| event::parse(&text)) {
        Ok(event) => (client.read)(&event, client.tools),
        Err(error) if is_before => return Err(error),
        Err(error) => {
            output::error(&error);
            return answer(client, args.moment, None);
        }
    };
    if event.is_foreign {
        return Ok(0);
    }
    let context = context.in_directories(event.directories.clone());
    let decision = react(&context, args, &event).unwrap_or_else(|error| {
        output::error(&error);
        let denial = UseDecision { kind: DecisionKind::Denial, reason: error.to_string() };
        (is_before && event.is_edit()).then_some(denial)
    });
    answer(client, args.moment, decision.as_ref())
}

/// Answers in the client's form; returns the exit status.
fn answer(client: &HookClient, moment: HookPhase, decision: Option<&UseDecision>) -> Result<u8> {
    let answer = (client.answer)(moment, decision);
    if let Some(reason) = &answer.reason {
        output::reason(reason);
    }
    if let Some(json) = &answer.json {
        output::value(json)?;
    }
    Ok(answer.status)
}

/// Does what the event calls for; returns the decision about a use of a tool.
///
/// Errors: an invalid configuration.
fn react(context: &CliContext<'_>, args: &HookArgs, event: &ClientEvent) -> Result<Option<UseDecision>> {
    let session = session::of_conversation(&args.client, &event.conversation);
    if let Some(file) = context.conversation_file().filter(|_| args.reader.is_none())
        && let Err(error) = file.write(&session)
    {
        output::note(&format!("The id of the conversation could not be written for the server: {error}."));
    }
    if matches!(args.moment, HookPhase::UserPromptSubmit) {
        return begin_turn(context, &session).map(|()| None);
    }
    if event.is_shell {
        return snapshot(context, args.moment, &session).map(|()| None);
    }
    if event.uses.is_empty() {
        return Ok(None);
    }
    let engine = context.open()?;
    // Claude Code itself checks whether the file was read before.
    let caller = CallContext {
        session: args.reader.clone().unwrap_or(session),
        unread: UnreadPolicy::Allow,
        ..context.caller_for_client("hook", "")
    };
    let missing = MissingFiles::of(context.state());
    let mut decisions = Vec::new();
    for made in &event.uses {
        match args.moment {
            HookPhase::PreToolUse if made.view.tool != "read" => {
                know_before(&engine, &caller, made, &missing);
                decisions.extend(decision(&engine, &caller, made));
            }
            HookPhase::PreToolUse | HookPhase::SessionStart | HookPhase::UserPromptSubmit => {}
            HookPhase::PostToolUse => {
                record_creations(&engine, made, &missing);
                remember(&engine, &caller, made);
            }
        }
    }
    output::notices(&engine);
    // A question is of no use for a call that is refused.
    let refusal = decisions.iter().position(|decision| decision.kind != DecisionKind::Question).unwrap_or(0);
    Ok(decisions.into_iter().nth(refusal))
}

/// Begins a turn. A failure does not stop the prompt: its operations then belong to the turn before.
fn begin_turn(context: &CliContext<'_>, session: &str) -> Result<()> {
    let engine = context.open()?;
    if let Err(error) = engine.history().begin_turn(session) {
        output::note(&format!("The turn is not in the history: {error}"));
    }
    output::notices(&engine);
    Ok(())
}

/// Takes a snapshot before or after a command of the client's shell, if the configuration asks for that. A failure does
/// not stop the command: its changes are then found later.
fn snapshot(context: &CliContext<'_>, moment: HookPhase, session: &str) -> Result<()> {
    let engine = context.open()?;
    if engine.config().outside_changes() != OutsideChanges::Snapshots {
        return Ok(());
    }
    let shell_of = matches!(moment, HookPhase::PostToolUse).then(|| session.to_owned());
    let input = match &shell_of {
        Some(_) => json!({}),
        None => json!({ "note": format!("before a shell command of {session}") }),
    };
    let caller = CallContext { unread: UnreadPolicy::Allow, shell_of, ..context.caller_for_client("hook", "") };
    if let Err(error) = engine.call(&caller, "snapshot", input).result {
        output::note(&format!("No snapshot was taken: {error}"));
    }
    output::notices(&engine);
    Ok(())
}

/// The session for reads that only show the engine a file before the client changes it.
const BEFORE_EDITS: &str = "before-edits-of-clients";

/// Reads the files before the client's own tool changes them, so that the engine finds and records the change afterwards.
/// The conversation has not seen the files by that: the read belongs to a session of its own.
fn know_before(engine: &Engine, caller: &CallContext, made: &ToolUse, missing: &MissingFiles) {
    let caller = CallContext { session: BEFORE_EDITS.to_owned(), ..caller.clone() };
    for file in &made.files {
        missing.remember(file);
        let mut read = named(file);
        read["limit"] = 1.into();
        let _ = engine.call(&caller, "read", read);
    }
}

/// Decides by a dry run of the edit: a refusal, or a question if a rule or a hook requires approval, each with the reason.
/// Files outside of the roots and the like are not refused.
fn decision(engine: &Engine, caller: &CallContext, made: &ToolUse) -> Option<UseDecision> {
    let caller = CallContext { dry_run: true, ..caller.clone() };
    let (kind, reason) = match made.view.call(engine, &caller, Value::Object(made.fields.clone())).result {
        Ok(answer) => match rewritten_text(&answer.notes, made.view) {
            Some(reason) => (DecisionKind::Denial, reason),
            None => (DecisionKind::Question, answer.data.get("asks")?.as_str()?.to_owned()),
        },
        Err(error) => {
            let failure = UseDecision { kind: refusal(&error), reason: error.to_string() };
            if failure.kind == DecisionKind::Denial {
                return Some(failure);
            }
            // The edit cannot be read, or would fail, but rules about the path apply nevertheless.
            let by_path = made.files.iter().find_map(|file| path_decision(engine, file));
            let is_better = |it: &UseDecision| it.kind == DecisionKind::Denial || !is_ours(&error);
            return by_path.filter(is_better).or_else(|| is_ours(&error).then_some(failure));
        }
    };
    Some(UseDecision { kind, reason })
}

/// Decides by the rules about a path.
fn path_decision(engine: &Engine, file: &str) -> Option<UseDecision> {
    let (kind, reason) = match engine.approval_rule_for(Path::new(file)) {
        Ok(rule) => (DecisionKind::Question, rule?),
        Err(error) if error.code() == Code::AccessDenied => (DecisionKind::Denial, error.to_string()),
        Err(_) => return None,
    };
    Some(UseDecision { kind, reason })
}

/// Distinguishes edits that rules forbid from those that would fail anyway.
fn refusal(error: &Error) -> DecisionKind {
    let is_numbers = error.is_about(&ErrorContext::LineNumbers);
    if error.code() == Code::AccessDenied || is_numbers { DecisionKind::Denial } else { DecisionKind::Failure }
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

/// Records the files that the client's own tool created: as its event reports, or because they were missing before.
fn record_creations(engine: &Engine, made: &ToolUse, missing: &MissingFiles) {
    for file in &made.files {
        let was_missing = missing.take(file);
        // Before the read, after which the file would be known.
        if (made.created || was_missing)
            && made.view.tool != "read"
            && let Err(error) = engine.history().record_creation(Path::new(file))
        {
            output::note(&format!("The new file is not in the history: {error}"));
        }
    }
}

/// Marks the files that a tool read or wrote as read. Files outside of the roots are ignored.
fn remember(engine: &Engine, caller: &CallContext, made: &ToolUse) {
    if made.view.tool == "read" {
        let _ = engine.call(caller, "read", Value::Object(made.fields.clone()));
        return;
    }
    for file in &made.files {
        let _ = engine.call(caller, "read", named(file));
    }
}

/// Returns the fields that name exactly this file: models' backslashes may be slashes, but a client's are not.
fn named(file: &str) -> Value {
    json!({ "file_path": file, RAW_PATH: BASE64.encode(file.as_bytes()) })
}
