//! Comments and review marks of people, as front ends use them.

use crate::api::call;
use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::session::comments;
use crate::tools::remarks::{self, Comment, ReviewedFile};
use emendate_core::Result;
use std::path::Path;

/// The comments and review marks of people: [`Engine::remarks`](super::Engine::remarks).
#[derive(Clone, Copy)]
pub struct Remarks<'a> {
    pub(super) context: &'a Context,
}

impl Remarks<'_> {
    /// Confirms that the replies of a session (`None`: of all sessions) were sent, so that the comments in them need
    /// not be delivered again. For front ends; dropping the engine has the same effect.
    pub fn confirm_replies(&self, session: Option<&str>) {
        comments::record_deliveries(self.context, session);
    }

    /// Reports that the last replies of a session (`None`: of all sessions) may not have been read, e.g. because a call
    /// was cancelled when its reply was ready: the next replies deliver the comments again.
    pub fn recall_replies(&self, session: Option<&str>) {
        comments::recall_deliveries(self.context, session);
    }

    /// Adds a comment on an operation, on one of its files, or on a line of that file as the operation left it. The
    /// next reply to the session of the operation delivers it.
    ///
    /// Errors: `operation.not_found`; `call.invalid` for an empty text, a file that the operation did not change, or a
    /// line without a file; `call.too_large`; those of the session store.
    pub fn add_comment(&self, operation: &str, path: Option<&Path>, line: Option<u64>, text: &str) -> Result<Comment> {
        remarks::add_comment(self.context, operation, path, line, text)
    }

    /// Returns the comments on an operation (`None`: on all), the oldest first; with `open`, only those that were not
    /// delivered.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn comments(&self, operation: Option<&str>, open: bool) -> Result<Vec<Comment>> {
        remarks::comments(self.context, operation, open)
    }

    /// Deletes a comment.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn delete_comment(&self, id: &str) -> Result<()> {
        remarks::delete_comment(self.context, id)
    }

    /// Marks hunks of an operation as reviewed or not reviewed: the given hunks or all, in one file or in all. Returns
    /// the reviewed hunks of the operation.
    ///
    /// Errors: `operation.not_found`; `call.invalid` for a file or hunk that the operation does not have;
    /// `call.too_large`; those of the policy and of the session store.
    pub fn mark_reviewed(
        &self,
        caller: &CallContext,
        operation: &str,
        path: Option<&Path>,
        hunks: Option<&[usize]>,
        reviewed: bool,
    ) -> Result<Vec<ReviewedFile>> {
        let call = Call::new(self.context, caller);
        call::metered(call, || remarks::mark_reviewed(self.context, operation, path, hunks, reviewed))
    }

    /// Returns the reviewed hunks of an operation, or of the newest operations that have any.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn reviewed_hunks(&self, operation: Option<&str>) -> Result<Vec<ReviewedFile>> {
        remarks::reviewed_hunks(self.context, operation)
    }
}
