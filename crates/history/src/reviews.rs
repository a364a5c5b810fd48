//! Remarks of a person on operations: comments, and the hunks that they have reviewed. Both last as long as their
//! operation.

use emendate_core::Result;

/// Comments that a root keeps.
pub const COMMENTS_MAX: usize = 1000;
/// Marks of reviewed hunks that a root keeps.
pub const REVIEWED_HUNKS_MAX: usize = 100_000;

/// A comment that is to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewComment<'a> {
    /// Number of the operation.
    pub operation: u64,
    /// Bytes of the path of its file; `None` for a comment on the whole operation.
    pub path: Option<&'a [u8]>,
    /// Line of the file after the operation, from 1.
    pub line: Option<u64>,
    /// The session whose next reply delivers it.
    pub session: &'a str,
    /// The text.
    pub text: &'a str,
}

/// A stored comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredComment {
    /// The number of the comment, which is never reused.
    pub number: u64,
    /// Number of the operation.
    pub operation: u64,
    /// Bytes of the path of its file.
    pub path: Option<Vec<u8>>,
    /// Line of the file after the operation.
    pub line: Option<u64>,
    /// The session whose next reply delivers it.
    pub session: String,
    /// The text.
    pub text: String,
    /// Microseconds since the epoch at which it was written.
    pub at: i64,
    /// Microseconds since the epoch at which a reply delivered it; `None` while it is open.
    pub delivered_at: Option<i64>,
}

/// Selection of comments.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommentFilter<'a> {
    /// Only comments on this operation.
    pub operation: Option<u64>,
    /// Only comments for this session.
    pub session: Option<&'a str>,
    /// Only comments that no reply has delivered.
    pub open: bool,
    /// Maximum number of results.
    pub limit: usize,
}

/// The reviewed hunks of a file of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedHunks {
    /// Number of the operation.
    pub operation: u64,
    /// Bytes of the path of the file.
    pub path: Vec<u8>,
    /// Numbers of the hunks, as the operation's diff has them, in ascending order.
    pub hunks: Vec<u64>,
}

/// Comments and review marks of one root.
pub trait Reviews: Send + Sync {
    /// Stores a comment. Returns its number; `None` if too many are stored already.
    fn add_comment(&self, comment: NewComment<'_>) -> Result<Option<u64>>;

    /// Returns comments, the oldest first.
    fn comments(&self, filter: &CommentFilter<'_>) -> Result<Vec<StoredComment>>;

    /// Records that replies delivered these comments.
    fn mark_delivered(&self, numbers: &[u64]) -> Result<()>;

    /// Deletes a comment. False if there is none.
    fn delete_comment(&self, number: u64) -> Result<bool>;

    /// False if no comment is open. Costs at most one look-up of a file, so every call may ask.
    fn may_have_open_comments(&self) -> bool;

    /// Sets or clears the marks of some hunks of a file. False, changing nothing, if too many are set already.
    fn mark_reviewed(&self, marks: &ReviewedHunks, reviewed: bool) -> Result<bool>;

    /// Returns the reviewed hunks of an operation, or of the newest operations that have any, with the newest first.
    fn reviewed(&self, operation: Option<u64>, limit: usize) -> Result<Vec<ReviewedHunks>>;
}
