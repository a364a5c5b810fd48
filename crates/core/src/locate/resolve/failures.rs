//! Edits that cannot be placed: how many are explained, which of the others are tried, and what they come to.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::find;
use crate::locate::op::{Locator, Op, ResolveSettings};
use crate::text::snapshot::Snapshot;

/// Maximum number of failures of one call that are explained; of the edits after them, a call that accepts partial
/// results tries those that occur literally, and other calls none.
pub(crate) const EXPLAINED_FAILURES_MAX: usize = 20;
/// Bytes of a file that are searched for all of them together, if the first one already prevents the change.
const EXPLAINED_BYTES_MAX: usize = 16 << 20;

/// True if the old text of an operation occurs literally.
pub(super) fn is_there(base: &Snapshot, op: &Op) -> bool {
    match &op.at {
        Locator::Find(find) => find::occurs(base.text(), &find.old),
        Locator::Hunk(hunk) => find::occurs(base.text(), hunk.old_text().trim_end_matches('\n')),
        _ => false,
    }
}

/// Creates the error for an edit that was not tried because of too many failures before it.
pub(super) fn not_tried() -> Error {
    Error::new(Code::MatchNotFound, "It was not tried: too many before it failed, and its text does not occur exactly.")
        .next("Correct those first.")
}

/// Returns the number of failures after which no further operation is tried.
pub(super) fn failures_explained(base: &Snapshot, settings: ResolveSettings) -> usize {
    if settings.partial {
        return EXPLAINED_FAILURES_MAX;
    }
    (EXPLAINED_BYTES_MAX / base.text().len().max(1)).clamp(1, EXPLAINED_FAILURES_MAX)
}

/// Turns failures into an error, unless the call accepts partial results and at least one operation succeeded.
pub(super) fn tolerated(failed: Vec<Error>, tried: usize, of: usize, settings: ResolveSettings) -> Result<Vec<Error>> {
    if settings.partial && failed.len() < of {
        return Ok(failed);
    }
    let error = Error::combine(failed, of);
    let error =
        error.map(|error| if tried < of { error.evidence("The edits after these were not tried.") } else { error });
    error.map_or(Ok(Vec::new()), Err)
}
