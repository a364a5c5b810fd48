//! Edits of a file that an earlier step of the call changes.

use crate::context::options::CallOptions;
use crate::pipeline::plan::anchor_edits::named_twice;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::session::base;
use emendate_core::refusals::lines_already_changed;
use emendate_core::{Op, OpOrder, ResolveSettings, Result, anchor_map, line_edits, resolve};

/// Adds edits to the result of a plan, and returns the number of places that they change.
pub(crate) fn add_edits(plan: &mut FilePlan, ops: &[Op], order: OpOrder, options: &CallOptions) -> Result<usize> {
    if ops.is_empty() {
        return Ok(0);
    }
    if line_edits::are_line_edits(ops) {
        return Err(lines_already_changed(&plan.path.shown(), ops));
    }
    if anchor_map::are_anchor_edits(ops) {
        return Err(named_twice(&plan.path));
    }
    let current = plan.after()?;
    let settings = ResolveSettings { stale: plan.outcome.merged, ..options.resolve_settings() };
    let resolved = resolve(&current, ops, order, settings)?;
    plan.seen.lines = base::after_writing(&plan.seen.lines, &current, &resolved.changes);
    plan.changes = plan.changes.then(&plan.before, &resolved.changes);
    let (before, places) = (plan.outcome.ops.len(), resolved.places());
    plan.outcome.ops.extend(resolved.ops.into_iter().map(|mut op| {
        op.op += before;
        op
    }));
    plan.outcome.failed.extend(resolved.failed);
    plan.outcome.notes.extend(resolved.notes);
    Ok(places)
}
