//! Lost parts of the histories.

use crate::context::Context;
use emendate_core::Result;
use emendate_history::HistoryGap;

/// Returns the lost parts of all histories.
///
/// Errors: those of the session store.
pub(crate) fn history_gaps(context: &Context) -> Result<Vec<HistoryGap>> {
    let of_each = (0..context.root_count()).map(|root| context.history(root).gaps());
    Ok(of_each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
