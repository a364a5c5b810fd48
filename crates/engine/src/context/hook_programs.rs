//! Hook programs: how they are run, and those before a read. One that fails, hangs or exceeds its output limit has no
//! effect except a note; if it is required, the call is refused.

use crate::context::Context;
use crate::context::config::{Hook, HookEvent};
use crate::model::call_handle::{NEVER_STOPPED, cancelled};
use crate::model::raw_path;
use emendate_core::{Code, Error, Notes, Result};
use emendate_fs::SafePath;
use emendate_run::{CommandJob, CommandOutput, run_until};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bytes of a hook's answer.
const HOOK_ANSWER_BYTES_MAX: usize = 4 << 20;

/// Characters of a hook's message to a model.
pub(crate) const HOOK_MESSAGE_CHARS_MAX: usize = 2000;

/// The exit status for a refusal, as in Claude Code: the reason is on standard error.
const REFUSAL_EXIT_STATUS: i32 = 2;

/// The answer of a hook; an empty one allows.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HookAnswer {
    pub(crate) decision: Option<HookDecision>,
    /// The reason, for the model and the person.
    pub(crate) reason: Option<String>,
    /// The whole text to write instead of the new one.
    pub(crate) content: Option<String>,
    /// A message for the model.
    pub(crate) message: Option<String>,
}

/// The decision of a hook.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HookDecision {
    #[serde(alias = "approve")]
    Allow,
    #[serde(alias = "block")]
    Deny,
    Ask,
}

/// Runs the hooks before text of a file is shown. Only a refusal has an effect, since there is no reply to add messages
/// to; the failure of a hook that is not required is a notice for the person.
///
/// Errors: `access.denied`.
pub(crate) fn before_read(context: &Context, path: &SafePath) -> Result<()> {
    if context.config().hooks.is_empty() {
        return Ok(());
    }
    for hook in hooks(context, HookEvent::BeforeRead, path) {
        let event = raw_path::file_json(path.absolute(), json!({ "event": "before_read", "file_path": path.shown() }));
        let mut notes = Notes::new();
        let answer = consult(context, hook, path, &event, &NEVER_STOPPED, &mut notes)?.unwrap_or_default();
        for note in &notes {
            context.notice_once(format!("Read without a check: {note}"));
        }
        if matches!(answer.decision, Some(HookDecision::Deny | HookDecision::Ask)) {
            return Err(refused(hook, path, answer.reason.as_deref()));
        }
    }
    Ok(())
}

/// Runs the hooks before a read for a file that is to be changed, if it exists: the reply shows text of it, and a move
/// takes it to another name. The caller knows the text of a file that it creates.
///
/// Errors: `access.denied`.
pub(crate) fn before_change(context: &Context, path: &SafePath) -> Result<()> {
    let is_free = context.config().hooks.is_empty() || hooks(context, HookEvent::BeforeRead, path).next().is_none();
    if is_free || !context.path_exists(path) { Ok(()) } else { before_read(context, path) }
}

/// Returns the hooks for an event on a file.
pub(crate) fn hooks<'e>(
    context: &'e Context,
    on: HookEvent,
    path: &SafePath,
) -> impl Iterator<Item = &'e Hook> + use<'e> {
    let (relative, absolute) = (path.relative().to_owned(), path.absolute().to_owned());
    context.config().hooks.iter().filter(move |hook| hook.on == on && hook.files.matches(&relative, &absolute))
}

/// Runs a hook and returns its answer; `None` if it failed, which is noted.
///
/// Errors: `access.denied` if a required one failed, or one refuses by its exit status; `call.cancelled`.
pub(crate) fn consult(
    context: &Context,
    hook: &Hook,
    path: &SafePath,
    event: &Value,
    stop: &AtomicBool,
    notes: &mut Notes,
) -> Result<Option<HookAnswer>> {
    let root = context.root_path(path.root()).unwrap_or(Path::new("/"));
    let input = event.to_string();
    let job = CommandJob {
        argv: &hook.command,
        directory: root,
        input: input.as_bytes(),
        time: hook.time,
        output_bytes_max: HOOK_ANSWER_BYTES_MAX,
    };
    let why = match run_until(job, stop) {
        Err(error) if error.code() == Code::CallCancelled => return Err(cancelled()),
        Err(error) => error.message().to_owned(),
        // The edit has been made, so nothing can be refused any more: the reason is passed on as a message.
        Ok(ran @ CommandOutput { status: Some(REFUSAL_EXIT_STATUS), .. }) if hook.on == HookEvent::AfterEdit => {
            return Ok(Some(HookAnswer { message: Some(complaint(ran)), ..HookAnswer::default() }));
        }
        Ok(ran @ CommandOutput { status: Some(REFUSAL_EXIT_STATUS), .. }) => {
            return Err(refused(hook, path, Some(&complaint(ran))));
        }
        Ok(CommandOutput { status: Some(0), output, .. }) => {
            if output.trim_ascii().is_empty() {
                return Ok(Some(HookAnswer::default()));
            }
            match serde_json::from_slice(&output) {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) => format!("its answer is not JSON of the right shape: {error}."),
            }
        }
        Ok(CommandOutput { stderr: complaint, .. }) => {
            format!("it failed: {}.", first_line(&complaint))
        }
    };
    if hook.required && hook.on != HookEvent::AfterEdit {
        return Err(refused(hook, path, Some(&format!("it is required, and {why}"))));
    }
    notes.push(format!("The hook {} did not work: {why}", hook.name()));
    Ok(None)
}

/// Returns the text of a hook that ended with the status of a refusal: its standard error, or its output if that is empty.
fn complaint(ran: CommandOutput) -> String {
    if ran.stderr.trim().is_empty() { String::from_utf8_lossy(&ran.output).into_owned() } else { ran.stderr }
}

/// Returns the first line of a hook's output.
pub(crate) fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or("it said nothing").trim_end_matches('.')
}

/// Creates the refusal by a hook.
pub(crate) fn refused(hook: &Hook, path: &SafePath, reason: Option<&str>) -> Error {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty()).unwrap_or("It gave no reason.");
    let reason: String = reason.chars().take(HOOK_MESSAGE_CHARS_MAX).collect();
    Error::new(Code::AccessDenied, format!("The hook {} refused this.", hook.name()))
        .evidence(format!("{}: {reason}", path.shown()))
        .next("Do what the reason says, or ask a person; nothing was changed.")
        .fact("rule", hook.name())
        .fact("origin", hook.files.origin.clone())
}
