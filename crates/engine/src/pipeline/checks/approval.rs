//! The approval of a change by a person. Nothing waits here. A call that needs approval ends with the question and with
//! the change it would make. The same call with the answer is planned again on the current file, and is carried out
//! only if it still makes the change that the person saw.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::config::PolicyMode;
use crate::context::policy::{self, Access, BlockingRule, check_creation, documentation};
use crate::model::approval::Approval;
use crate::model::call_context::ChangeDisplay;
use crate::model::question::{AskedFile, Question, StateAfter};
use crate::model::raw_path;
use crate::model::reply_limits::{FileBudget, QUESTION_DIFF_BYTES_MAX};
use crate::pipeline::plan::file_plan::{FilePlan, TargetState};
use crate::pipeline::report::receipt::Receipt;
use emendate_core::whole_text::whole_change;
use emendate_core::{Code, ContentId, Error, ErrorContext, OverlayEntry as _, Result, explain};
use emendate_fs::{SafePath, shown};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a proposed text that a question includes for a person to change.
const PROPOSED_TEXT_BYTES_MAX: usize = 256 << 10;

/// Maximum number of files whose states after the change are part of a question.
const STATES_MAX: usize = 100;

impl BlockingRule {
    /// Formats the sentence that names the rule.
    pub(crate) fn describe(&self, path: &SafePath) -> String {
        format!("{} matches the rule `{}` of {}.", path.shown(), self.rule, self.origin)
    }
}

impl Approval {
    /// Approves the change that was shown.
    pub fn granted(seal: &str) -> Approval {
        Approval { seal: seal.to_owned(), agreed: true, texts: Vec::new(), reason: None, is_stored: false }
    }

    /// Refuses it.
    pub fn denied(seal: &str) -> Approval {
        Approval { agreed: false, ..Approval::granted(seal) }
    }
}

/// Returns the plans if they need no approval or have it, with the texts that the person changed.
///
/// Errors: `access.ask` with the question, or for texts that the files have already; `access.denied` for documentation
/// that must not be created.
pub(crate) fn approve_plans(call: Call<'_>, mut plans: Vec<FilePlan>) -> Result<Vec<FilePlan>> {
    let mut asked: Vec<(usize, BlockingRule)> = Vec::new();
    for (nth, plan) in plans.iter().enumerate().filter(|(_, plan)| plan.writes()) {
        asked.extend(find_asking_rule(&call, plan)?.map(|hit| (nth, hit)));
    }
    let stored = call.caller.approval.as_ref().filter(|it| it.is_stored);
    if asked.is_empty() && stored.is_none() {
        return Ok(plans);
    }
    if asked.is_empty() {
        let another = |nth| (nth, BlockingRule::of_another_change());
        asked = plans.iter().enumerate().filter(|(_, plan)| plan.writes()).map(|(nth, _)| another(nth)).collect();
    }
    let digest = change_digest(&plans);
    let seal = question_seal(&call, &digest)?;
    let fits = |it: &&Approval| it.seal == if it.is_stored { &*digest } else { &*seal };
    let Some(approval) = call.caller.approval.as_ref().filter(fits) else {
        return Err(ask(plans, &asked, &seal, &digest, None));
    };
    if !approval.agreed {
        return Err(declined(approval.reason.as_deref()));
    }
    let mut corrected = Vec::with_capacity(approval.texts.len());
    for (path, text) in &approval.texts {
        // Without the person's text, the model's would be written.
        let nth = correctable(&plans, path).ok_or_else(|| not_correctable(path))?;
        match whole_change(&plans[nth].before, text) {
            Ok(changes) => corrected.push((nth, changes)),
            // The person can give another text.
            Err(error) => {
                let problem = format!("The text for {} cannot be written: {}", shown(path), error.message());
                return Err(ask(plans, &asked, &seal, &digest, Some(problem)));
            }
        }
    }
    for (nth, changes) in corrected {
        let plan = &mut plans[nth];
        plan.changes = changes;
        plan.outcome.corrected = std::mem::take(&mut plan.outcome.ops);
        plan.outcome.user_modified = true;
        plan.outcome.notes.push(
            "A person changed the text before it was written; the file now contains the text shown here.".to_owned(),
        );
    }
    if !approval.texts.is_empty() && !plans.iter().any(FilePlan::writes) {
        return Err(kept_as_it_is());
    }
    Ok(plans)
}

/// The error for a person's text that the files have already. An undo would count as done without it.
fn kept_as_it_is() -> Error {
    let what = "The person's text is the one that the file already has; nothing was changed.";
    Error::new(Code::AccessAsk, what)
        .about(ErrorContext::Declined)
        .next("Do not send it again. Ask the person what they want instead.")
}

/// Returns the index of the plan for a file whose whole text a person may change.
fn correctable(plans: &[FilePlan], path: &Path) -> Option<usize> {
    plans.iter().position(|plan| {
        plan.path.absolute() == path
            && plan.target == TargetState::File
            && !plan.before.is_binary()
            && plan.source.is_none()
    })
}

/// The error for a person's text for a file that the change does not write as text.
fn not_correctable(path: &Path) -> Error {
    let what = format!("The text of {} cannot be corrected; nothing was changed.", shown(path));
    Error::new(Code::CallInvalid, what)
        .next("Name a file of the question whose text is shown, or approve or deny the question.")
}

/// Returns the rule that requires approval before a file is written; for hooks of clients, which ask themselves.
///
/// Errors: `path.*`, `access.denied`, `io.*`.
pub(crate) fn approval_rule_for(context: &Context, path: &Path) -> Result<Option<String>> {
    let safe_path = context.resolve_path(path, Access::Write)?;
    let is_new = context.store().metadata(&safe_path)?.is_none();
    // A rule that denies the creation takes precedence over one that asks.
    let created = if is_new { creation(context, &safe_path)? } else { None };
    let hit = context.asking_rule(&safe_path)?.or(created);
    Ok(hit.map(|hit| hit.describe(&safe_path)))
}

/// Records the approval that each plan of a dry run would need.
///
/// Errors: as `approve_plans`, except for the question.
pub(crate) fn note_pending_approvals(context: &Context, plans: &mut [FilePlan]) -> Result<()> {
    for plan in plans.iter_mut().filter(|plan| plan.writes()) {
        plan.outcome.asking_rule = find_asking_rule(context, plan)?;
    }
    Ok(())
}

/// Returns the rule that requires approval for creating a file.
///
/// Errors: `access.denied`.
fn creation(context: &Context, path: &SafePath) -> Result<Option<BlockingRule>> {
    if let Some(hit) = check_creation(context.config(), path)? {
        return Ok(Some(hit));
    }
    let mode = context.config().documentation;
    if mode == PolicyMode::Allow { Ok(None) } else { documentation(context.config(), path, mode) }
}

/// Returns the rule that requires approval for a plan.
///
/// Errors: `access.denied`, `io.*`.
fn find_asking_rule(context: &Context, plan: &FilePlan) -> Result<Option<BlockingRule>> {
    // A rule that denies the creation takes precedence over one that asks.
    let created = match &plan.target {
        _ if !plan.creates() => None,
        TargetState::File => creation(context, &plan.path)?,
        _ => check_creation(context.config(), &plan.path)?,
    };
    let asking = match &plan.outcome.asking_rule {
        Some(hit) => Some(hit.clone()),
        None => context.asking_rule(&plan.path)?,
    };
    Ok(asking.or(created))
}

/// The error for a change that a person declined.
pub(crate) fn declined(reason: Option<&str>) -> Error {
    let error = Error::new(Code::AccessAsk, "The person declined this change; nothing was changed.")
        .about(ErrorContext::Declined)
        .next("Do not send it again. Ask the person what they want instead.");
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => error
            .evidence(format!("Their reason: {reason}"))
            .next("Do not send it again. Do what the reason says, or ask the person what they want instead."),
        None => error,
    }
}

/// Computes a hash of the changes that these plans would make.
fn change_digest(plans: &[FilePlan]) -> String {
    let mut hash = blake3::Hasher::new();
    for plan in plans {
        let after = ContentId::of_pieces(plan.changes.chunks(plan.before.raw()));
        let path = plan.path.absolute().as_os_str().as_encoded_bytes();
        hash.update(&(path.len() as u64).to_le_bytes()).update(path);
        hash.update(&plan.before.id().to_bytes()).update(&after.to_bytes());
        hash.update(format!("{:?} {:?} {:?}\n", plan.target, plan.executable, plan.mode).as_bytes());
        if plan.source.is_some() {
            // A sparse snapshot shows the text around a change, but not its position.
            hash.update(format!("{:?}\n", plan.chunks()).as_bytes());
        }
    }
    hash.finalize().to_hex().to_string()
}

/// Computes an unforgeable hash of the change with this digest.
///
/// Errors: `io.failed` if the system has no random numbers.
fn question_seal(context: &Context, digest: &str) -> Result<String> {
    Ok(blake3::keyed_hash(context.secret()?, digest.as_bytes()).to_hex()[..32].to_owned())
}

/// Returns the contents that the files would have after the change, for files that are written as a whole.
fn states_after(plans: &[FilePlan]) -> Option<Vec<StateAfter>> {
    let states = plans.iter().filter(|plan| plan.writes()).take(STATES_MAX + 1).map(|plan| {
        let after = match plan.target {
            TargetState::File if plan.source.is_none() => {
                Some(ContentId::of_pieces(plan.changes.chunks(plan.before.raw())).to_string())
            }
            TargetState::Nothing => Some(String::new()),
            _ => None,
        };
        StateAfter { file: raw_path::file_fields(plan.path.absolute()), after }
    });
    let states: Vec<StateAfter> = states.collect();
    (states.len() <= STATES_MAX).then_some(states)
}

/// Returns the index of the plan that shows what happens to a file: the plan of its new path, if it is moved.
fn shown_plan(plans: &[FilePlan], nth: usize) -> usize {
    let Some(plan) = plans.get(nth).filter(|plan| plan.is_move_source) else { return nth };
    plans.iter().position(|other| other.moved_from() == Some(plan.path.absolute())).unwrap_or(nth)
}

/// Creates the question about some of the plans. `problem` is what is wrong with the last answer.
fn ask(
    plans: Vec<FilePlan>,
    asked: &[(usize, BlockingRule)],
    seal: &str,
    digest: &str,
    problem: Option<String>,
) -> Error {
    let mut error =
        Error::new(Code::AccessAsk, "A person must approve this before it is written; nothing was changed.");
    error = problem.iter().fold(error, Error::evidence);
    let states = states_after(&plans);
    let has_secrets = plans.iter().any(|plan| policy::is_secret(&plan.path));
    let mut shown = BTreeMap::new();
    for (nth, hit) in asked {
        error = error.evidence(hit.describe(&plans[*nth].path));
        shown.entry(shown_plan(&plans, *nth)).or_insert(hit);
    }
    let mut files = Vec::with_capacity(shown.len());
    for (nth, plan) in plans.into_iter().enumerate() {
        let Some(hit) = shown.get(&nth) else { continue };
        let whole = plan.target == TargetState::File && plan.source.is_none();
        let after = plan.after().ok().filter(|after| whole && !after.is_binary());
        let hunks = after.as_ref().map(|_| explain::hunks(&plan.before, &plan.changes, 3));
        let change = hunks.map(|hunks| explain::unified(&plan.path.shown(), &hunks, QUESTION_DIFF_BYTES_MAX));
        let mut plan = plan;
        plan.outcome.asking_rule = None;
        let proposed = after.filter(|after| after.text().len() <= PROPOSED_TEXT_BYTES_MAX);
        files.push(AskedFile {
            data: Receipt::new(plan, true, FileBudget::default()).answer(false, ChangeDisplay::Diff).data,
            proposed: proposed.map(|after| after.text().to_owned()),
            change: change.map(|change| change.text),
            rule: hit.rule.clone(),
            origin: hit.origin.clone(),
        });
    }
    let (seal, digest) = (seal.to_owned(), digest.to_owned());
    let question = Question { seal, digest, states, secret: has_secrets, files, problem };
    error
        .next("Tell the person what you want to change and why: they can allow it in their configuration, or run it with `emend` in a terminal, which asks them.")
        .fact("question", json!(question))
}
