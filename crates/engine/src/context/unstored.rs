//! Contents that are to be stored.

use emendate_core::ContentId;
use emendate_fs::SafePath;

/// A version that so far exists only in the working file.
pub(crate) struct UnstoredVersion {
    /// Index of the root whose history will store it.
    pub(crate) root: usize,
    pub(crate) path: SafePath,
    pub(crate) content: ContentId,
}
