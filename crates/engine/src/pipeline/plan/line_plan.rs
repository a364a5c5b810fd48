//! Edits by line number of a file of any size.

use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::{LoadedSource, StreamedEdit, load_sized};
use crate::pipeline::plan::line_edits::{RegisterOps, plan_rows_in};
use crate::pipeline::plan::notebook::refuse_text_edit;
use crate::pipeline::plan::placement::load_for_edit;
use crate::session::base::find_base;
use emendate_core::line_edits::Registers;
use emendate_core::{Op, Result};
use emendate_fs::SafePath;

/// Plans edits by line number.
pub(crate) fn plan_rows(
    call: Call<'_>,
    place: SafePath,
    ops: &[Op],
    options: &CallOptions,
    registers: &mut Registers,
) -> Result<FilePlan> {
    let now = match load_sized(&call, &place)? {
        LoadedSource::Whole(version) => version,
        LoadedSource::Big(source) => {
            let edit = StreamedEdit { call, place: &place, ops, options };
            match edit.plan_rows(source, registers)? {
                Some(plan) => return Ok(plan),
                None => call.version(&place)?,
            }
        }
    };
    let now = load_for_edit(call, &place, now, ops, options)?;
    refuse_text_edit(call, &place, &now.snapshot, ops)?;
    let base = find_base(call, options, &place, &now);
    plan_rows_in(call, place, now, base, RegisterOps { ops, registers }, options)
}
