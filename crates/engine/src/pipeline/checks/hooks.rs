//! Hook programs of the configuration. Before a read or an edit they may refuse, request approval,
//! rewrite the new text or send a message to the model; after an edit they may only send a message. One that fails,
//! hangs or exceeds its output limit has no effect except a note; if it is required, the edit is refused.

use crate::context::Context;
use crate::context::config::{Hook, HookEvent};
use crate::context::policy::BlockingRule;
use crate::model::call_context::CallContext;
use crate::model::call_handle::{NEVER_STOPPED, cancelled};
use crate::model::file_plan::{FilePlan, TargetState};
use crate::model::raw_path;
use crate::pipeline::commit::log::CallOrigin;
use crate::pipeline::report::receipt::Receipt;
use emendate_core::{Code, Error, Result};
use emendate_fs::SafePath;
use emendate_run::{CommandJob, CommandOutput, run_until};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bytes of a text that a hook receives; for longer ones it receives the path only.
const HOOK_TEXT_BYTES_MAX: usize = 1 << 20;
/// Bytes of a hook's answer.
const HOOK_ANSWER_BYTES_MAX: usize = 4 << 20;
/// Characters of a hook's message to a model.
const HOOK_MESSAGE_CHARS_MAX: usize = 2000;
/// The exit status for a refusal, as in Claude Code: the reason is on standard error.
const REFUSAL_EXIT_STATUS: i32 = 2;

/// The answer of a hook; an empty one allows.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct HookAnswer {
    decision: Option<HookDecision>,
    /// The reason, for the model and the person.
    reason: Option<String>,
    /// The whole text to write instead of the new one.
    content: Option<String>,
    /// For the model.
    message: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum HookDecision {
    Allow,
    Deny,
    Ask,
}

/// Runs the hooks before a file is shown. Only a refusal has an effect, since there is no reply to add messages to.
///
/// Errors: `access.denied`.
pub(crate) fn before_read(context: &Context, place: &SafePath) -> Result<()> {
    if context.config().hooks.is_empty() {
        return Ok(());
    }
    for hook in hooks(context, HookEvent::BeforeRead, place) {
        let event =
            raw_path::file_json(place.absolute(), json!({ "event": "before_read", "file_path": place.shown() }));
        let answer = consult(context, hook, place, &event, &NEVER_STOPPED, &mut Vec::new())?.unwrap_or_default();
        if matches!(answer.decision, Some(HookDecision::Deny | HookDecision::Ask)) {
            return Err(refused(hook, place, answer.reason.as_deref()));
        }
    }
    Ok(())
}

/// Runs the hooks before planned edits are written.
///
/// Errors: `access.denied`, `call.cancelled`.
pub(crate) fn before_edit(
    context: &Context,
    caller: &CallContext,
    cause: &CallOrigin,
    dry_run: bool,
    plans: &mut [FilePlan],
) -> Result<()> {
    if context.config().hooks.is_empty() {
        return Ok(());
    }
    for plan in plans.iter_mut().filter(|plan| plan.writes()) {
        caller.check_cancelled()?;
        for hook in hooks(context, HookEvent::BeforeEdit, &plan.place) {
            let event = edit_event("before_edit", caller, cause, plan, dry_run);
            let mut notes = Vec::new();
            let answer = consult(context, hook, &plan.place, &event, caller.stop_flag(), &mut notes);
            plan.notes.append(&mut notes);
            let Some(answer) = answer? else { continue };
            plan.notes.extend(said(hook, answer.message.as_deref()));
            match answer.decision {
                Some(HookDecision::Deny) => return Err(refused(hook, &plan.place, answer.reason.as_deref())),
                Some(HookDecision::Ask) => {
                    plan.asking_rule = Some(BlockingRule::by_hook(hook, answer.reason.as_deref()));
                }
                Some(HookDecision::Allow) | None => {}
            }
            if plan.source.is_some() && answer.content.is_some() {
                plan.notes
                    .push(format!("What the hook {} would write was left out: the file is too large.", hook.name()));
            } else if let Some(text) = answer.content.filter(|_| cause.is_an_edit()) {
                plan.replace_text(&format!("The hook {}", hook.name()), &text)?;
            }
        }
    }
    Ok(())
}

/// Runs the hooks after edits were made. The files are written, so a failure here is not a failure of the call.
pub(crate) fn after_edit(context: &Context, caller: &CallContext, cause: &CallOrigin, receipts: &mut [Receipt]) {
    if context.config().hooks.is_empty() {
        return;
    }
    for receipt in receipts.iter_mut().filter(|receipt| receipt.is_written()) {
        let mut notes = Vec::new();
        for hook in hooks(context, HookEvent::AfterEdit, &receipt.plan().place) {
            let event = edit_event("after_edit", caller, cause, receipt.plan(), false);
            match consult(context, hook, &receipt.plan().place, &event, &NEVER_STOPPED, &mut notes) {
                Ok(answer) => {
                    let answer = answer.unwrap_or_default();
                    notes.extend(said(hook, answer.reason.as_deref()));
                    notes.extend(said(hook, answer.message.as_deref()));
                }
                Err(error) => notes.push(error.message().to_owned()),
            }
        }
        receipt.add_notes(notes);
    }
}

fn hooks<'e>(context: &'e Context, on: HookEvent, place: &SafePath) -> impl Iterator<Item = &'e Hook> + use<'e> {
    let (relative, absolute) = (place.relative().to_owned(), place.absolute().to_owned());
    context.config().hooks.iter().filter(move |hook| hook.on == on && hook.files.matches(&relative, &absolute))
}

/// Runs a hook and returns its answer; `None` if it failed, which is noted.
///
/// Errors: `access.denied` if a required one failed, or one refuses by its exit status; `call.cancelled`.
fn consult(
    context: &Context,
    hook: &Hook,
    place: &SafePath,
    event: &Value,
    stop: &AtomicBool,
    notes: &mut Vec<String>,
) -> Result<Option<HookAnswer>> {
    let root = context.store().roots().get(place.root()).map_or(Path::new("/"), |root| &*root.canonical);
    let input = event.to_string();
    let job = CommandJob {
        argv: &hook.words,
        directory: root,
        input: input.as_bytes(),
        time: hook.time,
        output_bytes_max: HOOK_ANSWER_BYTES_MAX,
    };
    let why = match run_until(job, stop) {
        Err(error) if error.code() == Code::CallCancelled => return Err(cancelled()),
        Err(error) => error.message().to_owned(),
        // The edit is made: there is nothing to refuse any more, but a message to pass on.
        Ok(CommandOutput { status: Some(REFUSAL_EXIT_STATUS), stderr: complaint, .. })
            if hook.on == HookEvent::AfterEdit =>
        {
            return Ok(Some(HookAnswer { message: Some(complaint), ..HookAnswer::default() }));
        }
        Ok(CommandOutput { status: Some(REFUSAL_EXIT_STATUS), stderr: complaint, .. }) => {
            return Err(refused(hook, place, Some(&complaint)));
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
            format!("it ended with a failure: {}.", first_line(&complaint))
        }
    };
    if hook.required && hook.on != HookEvent::AfterEdit {
        return Err(refused(hook, place, Some(&format!("it is required, and {why}"))));
    }
    notes.push(format!("The hook {} did not work: {why}", hook.name()));
    Ok(None)
}

impl BlockingRule {
    fn by_hook(hook: &Hook, reason: Option<&str>) -> BlockingRule {
        let why = reason.map_or(String::new(), |reason| format!(": {}", first_line(reason)));
        BlockingRule::new(format!("the hook {}{why}", hook.name()), hook.files.origin.clone())
    }
}

/// Creates the input of a hook about an edit.
fn edit_event(event: &str, caller: &CallContext, cause: &CallOrigin, plan: &FilePlan, dry_run: bool) -> Value {
    let mut out = json!({
        "event": event, "tool": cause.tool, "session": caller.session, "file_path": plan.place.shown(), "dry_run": dry_run,
        "creates": plan.creates(), "removes": plan.target == TargetState::Nothing,
    });
    let after = plan.after().ok().filter(|after| plan.target == TargetState::File && !after.is_binary());
    let after = after.filter(|_| plan.source.is_none());
    if let Some(after) = after.filter(|after| after.text().len() + plan.before.text().len() <= HOOK_TEXT_BYTES_MAX) {
        out["old_text"] = plan.before.text().into();
        out["new_text"] = after.text().into();
    }
    raw_path::file_json(plan.place.absolute(), out)
}

fn said(hook: &Hook, message: Option<&str>) -> Option<String> {
    let message = message.map(str::trim).filter(|message| !message.is_empty())?;
    let cut: String = message.chars().take(HOOK_MESSAGE_CHARS_MAX).collect();
    let more = if cut.len() < message.len() { " …" } else { "" };
    Some(format!("The hook {} says: {cut}{more}", hook.name()))
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or("it said nothing").trim_end_matches('.')
}

fn refused(hook: &Hook, place: &SafePath, reason: Option<&str>) -> Error {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty()).unwrap_or("It gave no reason.");
    let reason: String = reason.chars().take(HOOK_MESSAGE_CHARS_MAX).collect();
    Error::new(Code::AccessDenied, format!("The hook {} refused this.", hook.name()))
        .evidence(format!("{}: {reason}", place.shown()))
        .next("Do what the reason says, or ask a person; nothing was changed.")
        .fact("rule", hook.name())
        .fact("origin", hook.files.origin.clone())
}
