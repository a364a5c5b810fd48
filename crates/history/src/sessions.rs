//! The interface of the session records, and the limits of the store.

use emendate_core::{ContentId, Result, Tag};

use crate::{Record, Retention, VersionBody};

/// The records of what sessions were shown. `path` is the bytes of a canonical absolute path.
pub trait Sessions: Send + Sync {
    /// Stores a record. A second record of the same content merges the lines (union) and replaces everything else;
    /// either becomes the latest of that session and path. Bytes that do not match the record's content id are not
    /// stored.
    ///
    /// Two different contents with the same [`ContentId`] cannot occur by accident, only by design of the author of the
    /// files. Such an id no longer identifies any bytes: [`Sessions::bytes`] returns `None` for it, nothing is rebuilt
    /// from it, and lines are replaced instead of merged.
    fn record(&self, session: &str, path: &[u8], record: &Record, body: &VersionBody<'_>) -> Result<()>;

    /// Returns the latest record of this session for the path.
    fn latest(&self, session: &str, path: &[u8]) -> Result<Option<Record>>;

    /// Returns the latest record of each path, in order, with few queries.
    fn latest_of(&self, session: &str, paths: &[&[u8]]) -> Result<Vec<Option<Record>>>;

    /// Returns every record of this session for the path, the latest first.
    fn versions(&self, session: &str, path: &[u8]) -> Result<Vec<Record>>;

    /// Returns the newest record of the path with this tag, of any session in this store: callers may pass tags to each
    /// other.
    fn by_tag(&self, path: &[u8], tag: Tag) -> Result<Option<Record>>;

    /// Returns the paths with records of this session, in any order.
    fn paths(&self, session: &str) -> Result<Vec<Vec<u8>>>;

    /// Returns the stored bytes of a version, verified against the id; `None` if they were not stored.
    fn bytes(&self, content: ContentId) -> Result<Option<Vec<u8>>>;

    /// Drops all records of this session for the path (the file is gone).
    fn forget(&self, session: &str, path: &[u8]) -> Result<()>;

    /// Returns the anchor words of the path's lines, as stored by [`Sessions::keep_words`]: the same for every session.
    fn words(&self, path: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Stores the anchor words of the path's lines in place of `before`, the result of [`Sessions::words`]; returns
    /// false, doing nothing, if another process stored others meanwhile. More than [`HistoryLimits::blob`] bytes are
    /// not stored.
    fn keep_words(&self, path: &[u8], words: &[u8], before: Option<&[u8]>) -> Result<bool>;

    /// Returns the session's registers, as stored by [`Sessions::keep_registers`].
    fn registers(&self, session: &str) -> Result<Option<Vec<u8>>>;

    /// Replaces the session's registers; an empty value, or one of more than [`HistoryLimits::blob`] bytes, deletes
    /// them.
    fn keep_registers(&self, session: &str, registers: &[u8]) -> Result<()>;

    /// Returns messages about the state of the store itself, each once.
    fn notices(&self) -> Vec<String>;
}

/// Maximum bytes of any content: undoing a change needs all of it in memory.
pub const CONTENT_BYTES_MAX: u64 = 1 << 30;

/// Size limits of one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeLimit {
    /// Raw bytes.
    pub(crate) raw: u64,
    /// Bytes in stored form.
    pub(crate) stored: u64,
}

/// Limits of the store. The oldest contents are dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Maximum bytes of a stored content. Larger ones are remembered by identity only, except for contents that an
    /// operation replaces or removes and that nothing else could restore: those are stored if they take at most half of
    /// `total` in stored form.
    pub blob: u64,
    /// Maximum bytes of all stored contents. A store may exceed it by an eighth between two clean-ups.
    pub total: u64,
    /// Days after which records that no session used are dropped.
    pub age_days: u32,
    /// Maximum number of versions per session and path.
    pub versions: u32,
    /// Maximum number of operations in the log.
    pub operations: u32,
    /// Days that an operation stays in the log.
    pub history_days: u32,
}

impl HistoryLimits {
    /// Returns these limits, reduced by those that `retention` requests.
    pub(crate) fn narrowed(&self, retention: Retention) -> HistoryLimits {
        HistoryLimits {
            age_days: days_within(retention, self.age_days),
            history_days: days_within(retention, self.history_days),
            total: retention.bytes.map_or(self.total, |bytes| bytes.min(self.total)),
            ..*self
        }
    }

    /// Limits for a content that a session saw.
    pub(crate) fn session_content(&self) -> SizeLimit {
        SizeLimit { raw: self.blob, stored: self.blob }
    }

    /// Limits for the last copy of a content. Zero if the store keeps nothing.
    pub(crate) fn last_copy(&self) -> SizeLimit {
        let raw = if self.blob == 0 { 0 } else { self.blob.max(CONTENT_BYTES_MAX) };
        SizeLimit { raw, stored: self.total / 2 }
    }

    /// Maximum bytes of the texts of a stored change: more than a quarter of `total` would be dropped by the next
    /// clean-up.
    pub(crate) fn delta_texts_max(&self) -> u64 {
        self.blob.min(self.total / 4)
    }

    /// Maximum bytes of a serialized change: its texts and the numbers between them.
    pub(crate) fn delta_bytes_max(&self) -> u64 {
        self.blob.saturating_mul(4).max(CONTENT_BYTES_MAX + (1 << 20))
    }
}

/// Returns the days to keep, at most the limit.
fn days_within(retention: Retention, limit: u32) -> u32 {
    retention.days.map_or(limit, |days| days.min(limit))
}

impl Default for HistoryLimits {
    fn default() -> HistoryLimits {
        HistoryLimits {
            blob: 8 << 20,
            total: 256 << 20,
            age_days: 14,
            versions: 32,
            operations: 10_000,
            history_days: 60,
        }
    }
}
