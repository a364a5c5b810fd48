//! The field `limit` of tools whose reply shows some of what they find.

use emendate_core::{Advice, Code, Error, Notes, Result};

/// The number of entries of one kind in a reply.
pub(crate) struct ShownCount {
    /// The number that is shown by default.
    pub(crate) default: usize,
    /// The largest number that a call can request.
    pub(crate) most: usize,
    /// The entries, in the plural.
    pub(crate) what: &'static str,
}

impl ShownCount {
    /// Returns the number that a call requests; a note reports that a larger one was lowered.
    ///
    /// Errors: `call.invalid` for none.
    pub(crate) fn checked(&self, limit: Option<usize>, notes: &mut Notes) -> Result<usize> {
        let limit = limit.unwrap_or(self.default);
        if limit == 0 {
            return Err(zero_limit(self.what));
        }
        if limit > self.most {
            notes.push(format!("limit: at most {} {} are shown.", self.most, self.what));
        }
        Ok(limit.min(self.most))
    }
}

/// Refuses a limit of zero.
pub(crate) fn zero_limit(what: &str) -> Error {
    Error::new(Code::CallInvalid, "limit must be at least 1.")
        .next(Advice::named("Omit {limit}, or give a number.").or(format!("Ask for at least one of the {what}.")))
}
