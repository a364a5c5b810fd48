//! The story of a call that changes files. A tool parses its input to a request; from there:
//!
//! 1. **plan**: every file is loaded, the version that the caller saw is found, and the edits are placed in it;
//! 2. **check**: line ends and whitespace, repetition, syntax, formatters, hooks and validation, on the plans; a dry run
//!    ends here;
//! 3. **approve**: a person is asked if a rule requires it;
//! 4. **commit**: all files are published together, or none. If another process wrote in between, it begins again at 1;
//! 5. **report**: receipts, from which a tool renders its reply and the typed interface makes its outcome.

use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::call_handle::CallPhase;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::checks::approval::{approve_plans, note_pending_approvals};
use crate::pipeline::checks::check_plans;
use crate::pipeline::checks::hooks::after_edit;
use crate::pipeline::checks::validate::validate_user_text;
use crate::pipeline::commit::disk_space::with_space_advice;
use crate::pipeline::commit::{check_writable, commit, create_receipts};
use crate::pipeline::plan::file_plan::{FilePlan, recycle};
use crate::pipeline::plan::large::fits_whole;
use crate::pipeline::plan::large::tag::compute_short_tags;
use crate::pipeline::plan::request_tree;
use crate::pipeline::plan::target::{self, ActionTarget, name_rejects};
use crate::pipeline::report::outcome::count_changes;
use crate::pipeline::report::receipt::Receipt;
use crate::session::names::name_in_header;
use crate::session::registers::{CallRegisters, load_registers, store_registers};
use emendate_core::line_edits::Registers;
use emendate_core::{Code, Error, Request, Result, work};
use emendate_fs::SafePath;

/// Applies a request to all its files, or to none. Returns one receipt per file, in the order of the request.
pub(crate) fn apply(call: Call<'_>, request: Request, options: &CallOptions) -> Result<Vec<Receipt>> {
    let mut targets = target::targets(&call, request)?;
    if options.patch.reject {
        name_rejects(&call, &mut targets)?;
    }
    let places = targets.iter().flat_map(|it| it.paths().chain(it.rejects.as_ref().map(SafePath::absolute)));
    let _locks = call.lock_paths(places);
    let actions: Vec<_> = targets.iter().map(|target| (&target.path, &target.action)).collect();
    let call_registers = load_registers(call, &actions)?;
    let (options, left) = (*options, Registers::default());
    let mut planner = RequestPlanner { call, targets: &targets, call_registers: &call_registers, options, left };
    let mut receipts = match plan_and_commit(call, options.origin, options.dry_run, || planner.plan()) {
        Err(error) if fits_whole(&call, &error) => {
            planner.options.whole = true;
            plan_and_commit(call, options.origin, options.dry_run, || planner.plan())?
        }
        other => other?,
    };
    if !options.dry_run
        && let Err(error) = store_registers(call, &call_registers, planner.left)
        && let Some(receipt) = receipts.first_mut()
    {
        // The files are already changed, so this is not a failure of the call.
        receipt.note(format!("What was cut under a name could not be kept for later calls: {}", error.message()));
    }
    Ok(receipts)
}

/// Plans a request, again after each write of another process.
struct RequestPlanner<'a> {
    call: Call<'a>,
    targets: &'a [ActionTarget],
    options: CallOptions,
    /// The registers before the call.
    call_registers: &'a CallRegisters,
    /// The registers after the last plan.
    left: Registers,
}

impl RequestPlanner<'_> {
    /// Plans all files of the request as they are now.
    fn plan(&mut self) -> Result<Vec<FilePlan>> {
        let (mut plans, left) =
            request_tree::plan(self.call, self.targets, self.call_registers.registers(), &self.options)?;
        name_failures(self.call, &mut plans);
        self.left = left;
        Ok(plans)
    }
}

/// Renders the advice of edits that are left out with the caller's names. That of a refused call is rendered with the
/// refusal.
fn name_failures(call: Call<'_>, plans: &mut [FilePlan]) {
    let Some(names) = call.names else { return };
    for failed in plans.iter_mut().flat_map(|plan| &mut plan.outcome.failed) {
        *failed = failed.clone().rendered_for(names);
    }
}

/// Retries of a request after a file changed between the check and the write. If eight processes keep editing one file,
/// each of them loses seven races of eight.
const RACE_RETRIES_MAX: usize = 256;

/// Plans, commits and records a request, and retries if another process writes in between. Callers in this process take
/// the locks of [`Context::lock_paths`] first, or in `plan` if that finds the files; changes by other processes are
/// detected by the check right before the write.
pub(crate) fn plan_and_commit(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    dry_run: bool,
    mut plan: impl FnMut() -> Result<Vec<FilePlan>>,
) -> Result<Vec<Receipt>> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut plans = apply_line_format(call, plan()?);
        compute_short_tags(&mut plans)?;
        check_plans(call, origin, dry_run, &mut plans)?;
        let room = call.reply_limits().file_budget(plans.iter().filter(|plan| plan.writes()).count());
        if dry_run {
            check_writable(&call, &plans)?;
            note_pending_approvals(&call, &mut plans)?;
            let receipts: Vec<Receipt> = plans.into_iter().map(|plan| Receipt::new(plan, true, room)).collect();
            note_changes(call, &receipts);
            return Ok(receipts);
        }
        let mut plans = approve_plans(call, plans)?;
        validate_user_text(&call, &mut plans);
        call.caller.check_cancelled()?;
        work::check()?;
        call.caller.begin(CallPhase::Writing, plans.len());
        match commit(call, origin, &mut plans) {
            // Plan again, and merge or refuse as for any other change.
            Err(error) if error.code() == Code::ConflictRaced && attempt < RACE_RETRIES_MAX => {
                work::restart();
                for plan in plans {
                    recycle(&call, plan);
                }
            }
            Err(error) if error.code() == Code::IoNoSpace => return Err(with_space_advice(&call, error, &plans)),
            Err(error) => return Err(race_error(error)),
            Ok(done) => {
                call.caller.note_written(plans.len());
                let mut receipts = create_receipts(&call, plans, done, room);
                note_changes(call, &receipts);
                after_edit(call, &origin, &mut receipts);
                if let Some(handle) = &call.caller.handle {
                    handle.release();
                }
                return Ok(receipts);
            }
        }
    }
}

/// Records what was changed for the event of the call, if events are kept.
fn note_changes(call: Call<'_>, receipts: &[Receipt]) {
    if let Some(handle) = call.caller.handle.as_ref().filter(|_| call.events.is_kept()) {
        handle.note_changes(count_changes(receipts));
    }
}

/// Shows the changed lines of every file in the caller's line format, unless something else determines it; each
/// header names its file.
fn apply_line_format(call: Call<'_>, mut plans: Vec<FilePlan>) -> Vec<FilePlan> {
    for plan in &mut plans {
        if let Some(format) =
            call.caller.line_format.filter(|_| plan.display.header.is_none() && plan.display.anchor_format.is_none())
        {
            plan.display.header = format.header;
            plan.display.anchor_format = Some(format).filter(|format| format.anchors);
        }
        if plan.display.header.is_some() && plan.display.name.is_empty() {
            plan.display.name = name_in_header(call, &plan.path);
        }
    }
    plans
}

/// Words the error of a race that was lost every time.
fn race_error(error: Error) -> Error {
    if error.code() != Code::ConflictRaced {
        return error;
    }
    let what = error.message().to_owned();
    Error::new(Code::ConflictRaced, "File has been unexpectedly modified. Read it again before attempting to write it.")
        .evidence(what)
        .evidence(error.evidence_text())
        .next("Another program keeps writing this file. Read it again, then repeat the call; nothing was changed.")
}
