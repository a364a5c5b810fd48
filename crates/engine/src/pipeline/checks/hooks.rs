//! Hooks before and after edits. Before an edit they may refuse, request approval, rewrite the new text or send a message
//! to the model; after an edit they may only send a message.

use crate::context::call::Call;
use crate::context::config::{Hook, HookEvent};
use crate::context::hook_programs::{
    HOOK_MESSAGE_CHARS_MAX, HookDecision, before_read, consult, first_line, hooks, refused,
};
use crate::context::policy::BlockingRule;
use crate::model::call_context::CallContext;
use crate::model::call_handle::NEVER_STOPPED;
use crate::model::call_origin::CallOrigin;
use crate::model::raw_path;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::pipeline::report::receipt::Receipt;
use emendate_core::{Notes, Result};
use serde_json::{Value, json};

/// Bytes of a text that a hook receives; for a longer one it receives only the path.
const HOOK_TEXT_BYTES_MAX: usize = 1 << 20;

/// Runs the hooks before planned edits are written.
///
/// Errors: `access.denied`, `call.cancelled`.
pub(crate) fn before_edit(call: Call<'_>, origin: &CallOrigin, dry_run: bool, plans: &mut [FilePlan]) -> Result<()> {
    if call.config().hooks.is_empty() {
        return Ok(());
    }
    for plan in plans.iter_mut().filter(|plan| plan.writes()) {
        call.caller.check_cancelled()?;
        // Text of the history is new to the caller, who has to be allowed to read it.
        if !origin.is_an_edit() && matches!(plan.current, CurrentState::Nothing) && plan.source_file.is_none() {
            before_read(&call, &plan.path)?;
        }
        for hook in hooks(&call, HookEvent::BeforeEdit, &plan.path) {
            let event = edit_event("before_edit", call.caller, origin, plan, dry_run);
            let mut notes = Notes::new();
            let answer = consult(&call, hook, &plan.path, &event, call.caller.stop_flag(), &mut notes);
            plan.outcome.notes.append(&mut notes);
            let Some(answer) = answer? else { continue };
            plan.outcome.notes.extend(message_note(hook, answer.message.as_deref()));
            match answer.decision {
                Some(HookDecision::Deny) => return Err(refused(hook, &plan.path, answer.reason.as_deref())),
                Some(HookDecision::Ask) => {
                    plan.outcome.asking_rule = Some(BlockingRule::by_hook(hook, answer.reason.as_deref()));
                }
                Some(HookDecision::Allow) | None => {}
            }
            if plan.source.is_some() && answer.content.is_some() {
                plan.outcome
                    .notes
                    .push(format!("What the hook {} would write was ignored: the file is too large.", hook.name()));
            } else if let Some(text) = answer.content.filter(|_| origin.is_an_edit()) {
                plan.replace_text(&format!("The hook {}", hook.name()), &text)?;
            }
        }
    }
    Ok(())
}

/// Runs the hooks after edits were made. The files are written, so a failure here is not a failure of the call.
pub(crate) fn after_edit(call: Call<'_>, origin: &CallOrigin, receipts: &mut [Receipt]) {
    if call.config().hooks.is_empty() {
        return;
    }
    for receipt in receipts.iter_mut().filter(|receipt| receipt.is_written()) {
        let mut notes = Notes::new();
        for hook in hooks(&call, HookEvent::AfterEdit, &receipt.plan.path) {
            let event = edit_event("after_edit", call.caller, origin, &receipt.plan, false);
            match consult(&call, hook, &receipt.plan.path, &event, &NEVER_STOPPED, &mut notes) {
                Ok(answer) => {
                    let answer = answer.unwrap_or_default();
                    notes.extend(message_note(hook, answer.reason.as_deref()));
                    notes.extend(message_note(hook, answer.message.as_deref()));
                }
                Err(error) => notes.push(error.message().to_owned()),
            }
        }
        receipt.plan.outcome.notes.extend(notes);
    }
}

impl BlockingRule {
    fn by_hook(hook: &Hook, reason: Option<&str>) -> BlockingRule {
        let why = reason.map_or(String::new(), |reason| format!(": {}", first_line(reason)));
        BlockingRule::new(format!("the hook {}{why}", hook.name()), hook.files.origin.clone())
    }
}

/// Creates the input of a hook about an edit.
fn edit_event(event: &str, caller: &CallContext, origin: &CallOrigin, plan: &FilePlan, dry_run: bool) -> Value {
    let mut out = json!({
        "event": event, "tool": origin.tool, "session": caller.session, "file_path": plan.path.shown(), "dry_run": dry_run,
        "creates": plan.creates(), "removes": plan.target == TargetState::Nothing,
    });
    let after = plan.after().ok().filter(|after| plan.target == TargetState::File && !after.is_binary());
    let after = after.filter(|_| plan.source.is_none());
    if let Some(after) = after.filter(|after| after.text().len() + plan.before.text().len() <= HOOK_TEXT_BYTES_MAX) {
        out["old_text"] = plan.before.text().into();
        out["new_text"] = after.text().into();
    }
    raw_path::file_json(plan.path.absolute(), out)
}

fn message_note(hook: &Hook, message: Option<&str>) -> Option<String> {
    let message = message.map(str::trim).filter(|message| !message.is_empty())?;
    let cut: String = message.chars().take(HOOK_MESSAGE_CHARS_MAX).collect();
    let more = if cut.len() < message.len() { " …" } else { "" };
    Some(format!("The hook {} says: {cut}{more}", hook.name()))
}
