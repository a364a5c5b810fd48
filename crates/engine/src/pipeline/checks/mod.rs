//! Checks of plans before they are written: formatters, hooks, validation, approval.

pub(crate) mod approval;
pub(crate) mod formatter;
pub(crate) mod hooks;
pub(crate) mod repeat;
mod shared_files;
pub(crate) mod syntax_warning;
pub(crate) mod validate;

use crate::context::call::Call;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::checks::hooks::before_edit;
use crate::pipeline::checks::repeat::check_not_repeated;
use crate::pipeline::checks::shared_files::join_plans;
use crate::pipeline::checks::syntax_warning::warn_of_syntax;
use crate::pipeline::checks::validate::validate;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::new_file::end_lines_of_new_files;
use crate::pipeline::plan::patching::check_blanks;
use emendate_core::Result;

/// Runs all checks but the approval, which a dry run only notes. An undo restores an earlier state byte by byte, so its
/// text is not checked. Of equal changes of one file through several names, one plan remains.
///
/// Errors: those of the checks.
pub(crate) fn check_plans(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    dry_run: bool,
    plans: &mut Vec<FilePlan>,
) -> Result<()> {
    join_plans(origin, plans)?;
    let is_edit = origin.is_an_edit();
    if is_edit {
        end_lines_of_new_files(&call, plans)?;
        check_blanks(plans, origin.whitespace)?;
    }
    check_not_repeated(call, origin, plans)?;
    if is_edit {
        warn_of_syntax(&call, plans);
        formatter::format(call, plans)?;
    }
    before_edit(call, &origin, dry_run, plans)?;
    if is_edit { validate(&call, plans, origin.allows_invalid) } else { Ok(()) }
}
