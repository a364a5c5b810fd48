//! Hops 6 and 8: hook programs of the configuration. Before a read or an edit they may refuse, request approval,
//! rewrite the new text or send a message to the model; after an edit they may only send a message. One that fails,
//! hangs or exceeds its output limit has no effect except a note; if it is required, the edit is refused.

use crate::caller::Caller;
use crate::config::{Event, Hook};
use crate::engine::Engine;
use crate::log::Cause;
use crate::plan::{Becomes, Plan};
use crate::policy::Hit;
use crate::raw_path;
use crate::receipt::Receipt;
use crate::watch::{NEVER, cancelled};
use emendate_core::{Code, Error, Result};
use emendate_fs::Place;
use emendate_run::{Job, Said, run_until};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bytes of a text that a hook receives; for longer ones it receives the path only.
const TEXT: usize = 1 << 20;
/// Bytes of a hook's answer.
const ANSWER: usize = 4 << 20;
/// Characters of a hook's message to a model.
const MESSAGE: usize = 2000;
/// The exit status for a refusal, as in Claude Code: the reason is on standard error.
const REFUSED: i32 = 2;

/// The answer of a hook; an empty one allows.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Answer {
    decision: Option<Decision>,
    /// The reason, for the model and the person.
    reason: Option<String>,
    /// The whole text to write instead of the new one.
    content: Option<String>,
    /// For the model.
    message: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Deny,
    Ask,
}

impl Engine {
    /// Runs the hooks before a file is shown. Only a refusal has an effect, since there is no reply to add messages to.
    ///
    /// Errors: `access.denied`.
    pub(crate) fn before_read(&self, place: &Place) -> Result<()> {
        if self.config().hooks.is_empty() {
            return Ok(());
        }
        for hook in self.hooks(Event::BeforeRead, place) {
            let event =
                raw_path::beside(place.absolute(), json!({ "event": "before_read", "file_path": place.shown() }));
            let answer = self.consult(hook, place, (&event, &NEVER), &mut Vec::new())?.unwrap_or_default();
            if matches!(answer.decision, Some(Decision::Deny | Decision::Ask)) {
                return Err(refused(hook, place, answer.reason.as_deref()));
            }
        }
        Ok(())
    }

    /// Runs the hooks before planned edits are written.
    ///
    /// Errors: `access.denied`, `call.cancelled`.
    pub(crate) fn before_edit(&self, caller: &Caller, cause: &Cause, dry_run: bool, plans: &mut [Plan]) -> Result<()> {
        if self.config().hooks.is_empty() {
            return Ok(());
        }
        for plan in plans.iter_mut().filter(|plan| plan.writes()) {
            caller.go_on()?;
            for hook in self.hooks(Event::BeforeEdit, &plan.place) {
                let event = edit_event("before_edit", caller, cause, plan, dry_run);
                let mut notes = Vec::new();
                let answer = self.consult(hook, &plan.place, (&event, caller.stop()), &mut notes);
                plan.notes.append(&mut notes);
                let Some(answer) = answer? else { continue };
                plan.notes.extend(said(hook, answer.message.as_deref()));
                match answer.decision {
                    Some(Decision::Deny) => return Err(refused(hook, &plan.place, answer.reason.as_deref())),
                    Some(Decision::Ask) => plan.asked = Some(Hit::by_hook(hook, answer.reason.as_deref())),
                    Some(Decision::Allow) | None => {}
                }
                if plan.source.is_some() && answer.content.is_some() {
                    plan.notes.push(format!(
                        "What the hook {} would write was left out: the file is too large.",
                        hook.name()
                    ));
                } else if let Some(text) = answer.content.filter(|_| cause.is_an_edit()) {
                    plan.becomes_text(&format!("The hook {}", hook.name()), &text)?;
                }
            }
        }
        Ok(())
    }

    /// Runs the hooks after edits were made. The files are written, so a failure here is not a failure of the call.
    pub(crate) fn after_edit(&self, caller: &Caller, cause: &Cause, receipts: &mut [Receipt]) {
        if self.config().hooks.is_empty() {
            return;
        }
        for receipt in receipts.iter_mut().filter(|receipt| receipt.is_written()) {
            let mut notes = Vec::new();
            for hook in self.hooks(Event::AfterEdit, &receipt.plan().place) {
                let event = edit_event("after_edit", caller, cause, receipt.plan(), false);
                match self.consult(hook, &receipt.plan().place, (&event, &NEVER), &mut notes) {
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

    fn hooks<'e>(&'e self, on: Event, place: &Place) -> impl Iterator<Item = &'e Hook> + use<'e> {
        let (relative, absolute) = (place.relative().to_owned(), place.absolute().to_owned());
        self.config().hooks.iter().filter(move |hook| hook.on == on && hook.files.matches(&relative, &absolute))
    }

    /// Runs a hook and returns its answer; `None` if it failed, which is noted.
    ///
    /// Errors: `access.denied` if a required one failed, or one refuses by its exit status; `call.cancelled`.
    fn consult(
        &self,
        hook: &Hook,
        place: &Place,
        (event, stop): (&Value, &AtomicBool),
        notes: &mut Vec<String>,
    ) -> Result<Option<Answer>> {
        let root = self.store().roots().get(place.root()).map_or(Path::new("/"), |root| &*root.canonical);
        let input = event.to_string();
        let job = Job { words: &hook.words, folder: root, input: input.as_bytes(), time: hook.time, most: ANSWER };
        let why = match run_until(job, stop) {
            Err(error) if error.code() == Code::CallCancelled => return Err(cancelled()),
            Err(error) => error.message().to_owned(),
            // The edit is made: there is nothing to refuse any more, but a message to pass on.
            Ok(Said { status: Some(REFUSED), complaint, .. }) if hook.on == Event::AfterEdit => {
                return Ok(Some(Answer { message: Some(complaint), ..Answer::default() }));
            }
            Ok(Said { status: Some(REFUSED), complaint, .. }) => return Err(refused(hook, place, Some(&complaint))),
            Ok(Said { status: Some(0), output, .. }) => {
                if output.trim_ascii().is_empty() {
                    return Ok(Some(Answer::default()));
                }
                match serde_json::from_slice(&output) {
                    Ok(answer) => return Ok(Some(answer)),
                    Err(error) => format!("it answered what is no JSON of the right shape: {error}."),
                }
            }
            Ok(Said { complaint, .. }) => format!("it ended with a failure: {}.", first_line(&complaint)),
        };
        if hook.required && hook.on != Event::AfterEdit {
            return Err(refused(hook, place, Some(&format!("it is required, and {why}"))));
        }
        notes.push(format!("The hook {} did not work: {why}", hook.name()));
        Ok(None)
    }
}

impl Hit {
    fn by_hook(hook: &Hook, reason: Option<&str>) -> Hit {
        let why = reason.map_or(String::new(), |reason| format!(": {}", first_line(reason)));
        Hit::new(format!("the hook {}{why}", hook.name()), hook.files.origin.clone())
    }
}

/// Creates the input of a hook about an edit.
fn edit_event(event: &str, caller: &Caller, cause: &Cause, plan: &Plan, dry_run: bool) -> Value {
    let mut out = json!({
        "event": event, "tool": cause.tool, "session": caller.session, "file_path": plan.place.shown(), "dry_run": dry_run,
        "creates": plan.creates(), "removes": plan.becomes == Becomes::Nothing,
    });
    let after = plan.after().ok().filter(|after| plan.becomes == Becomes::File && !after.is_opaque());
    let after = after.filter(|_| plan.source.is_none());
    if let Some(after) = after.filter(|after| after.text().len() + plan.before.text().len() <= TEXT) {
        out["old_text"] = plan.before.text().into();
        out["new_text"] = after.text().into();
    }
    raw_path::beside(plan.place.absolute(), out)
}

fn said(hook: &Hook, message: Option<&str>) -> Option<String> {
    let message = message.map(str::trim).filter(|message| !message.is_empty())?;
    let cut: String = message.chars().take(MESSAGE).collect();
    let more = if cut.len() < message.len() { " …" } else { "" };
    Some(format!("The hook {} says: {cut}{more}", hook.name()))
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or("it said nothing").trim_end_matches('.')
}

fn refused(hook: &Hook, place: &Place, reason: Option<&str>) -> Error {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty()).unwrap_or("It gave no reason.");
    let reason: String = reason.chars().take(MESSAGE).collect();
    Error::new(Code::AccessDenied, format!("The hook {} refused this.", hook.name()))
        .evidence(format!("{}: {reason}", place.shown()))
        .next("Do what the reason says, or ask a person; nothing was changed.")
        .fact("rule", hook.name())
        .fact("origin", hook.files.origin.clone())
}
