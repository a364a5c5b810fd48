//! Edits by line number of a file of any size.

use crate::context::Context;
use crate::context::options::CallOptions;
use crate::model::call_context::CallContext;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::line_edits::plan_big_rows;
use crate::pipeline::plan::large::{LoadedSource, load_sized};
use crate::pipeline::plan::line_edits::{RegisterOps, plan_rows_in};
use crate::pipeline::plan::notebook::refuse_text_edit;
use crate::session::base::find_base;
use crate::session::suggest::file_not_found;
use emendate_core::line_edits::Registers;
use emendate_core::{Op, Result};
use emendate_fs::SafePath;

/// Plans edits by line number.
pub(crate) fn plan_rows(
    context: &Context,
    caller: &CallContext,
    place: SafePath,
    ops: &[Op],
    options: &CallOptions,
    registers: &mut Registers,
) -> Result<FilePlan> {
    let now = match load_sized(context, &place)? {
        LoadedSource::Whole(version) => version,
        LoadedSource::Big(source) => match plan_big_rows(context, caller, &place, source, ops, options, registers)? {
            Some(plan) => return Ok(plan),
            None => context.version(&place)?,
        },
    };
    let fresh: String = ops.iter().map(|op| &*op.text).collect();
    let Some(now) = now.map(|now| context.load_decoded(&place, now, options.declared, &fresh)).transpose()? else {
        return Err(file_not_found(context, &place, caller));
    };
    refuse_text_edit(context, caller, &place, &now.snapshot, ops)?;
    let base = find_base(context, caller, options, &place, &now);
    plan_rows_in(context, caller, place, now, base, RegisterOps { ops, registers }, options)
}
