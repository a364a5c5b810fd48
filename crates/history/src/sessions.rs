//! The store's one interface, and its limits.

use emendate_core::{ContentId, Result, Tag};

use crate::{Body, Leave, Record};

/// The memory of what sessions were shown. `path` is the bytes of a canonical absolute path.
pub trait Sessions: Send + Sync {
    /// Remembers. A second record of the same content merges the lines (union) and takes everything else from the newer
    /// one; either becomes the latest for that session and path. Bytes that are not those of the record's content are
    /// not kept.
    ///
    /// Two different contents under one [`ContentId`] cannot happen by accident, only by design of whoever wrote the
    /// files. Then the id names no bytes any more: [`Sessions::bytes`] answers `None` for it, nothing is rebuilt from
    /// it, and lines are replaced instead of merged.
    fn record(&self, session: &str, path: &[u8], record: &Record, body: &Body<'_>) -> Result<()>;

    /// The latest version this session knows of the path.
    fn latest(&self, session: &str, path: &[u8]) -> Result<Option<Record>>;

    /// The same of each of many paths, in their order, by a few questions for all of them.
    fn latest_of(&self, session: &str, paths: &[&[u8]]) -> Result<Vec<Option<Record>>>;

    /// Every version this session knows of the path, the latest first.
    fn versions(&self, session: &str, path: &[u8]) -> Result<Vec<Record>>;

    /// A version of the path, by its tag, that any session of this store knows (tags are handles that may be passed
    /// around); the newest if several.
    fn by_tag(&self, path: &[u8], tag: Tag) -> Result<Option<Record>>;

    /// The paths this session knows, in any order.
    fn paths(&self, session: &str) -> Result<Vec<Vec<u8>>>;

    /// The stored bytes of a version, verified against the id; `None` when they were not kept.
    fn bytes(&self, content: ContentId) -> Result<Option<Vec<u8>>>;

    /// Forgets everything this session knows of the path (the file is gone).
    fn forget(&self, session: &str, path: &[u8]) -> Result<()>;

    /// The words of the lines of the path, as [`Sessions::keep_words`] got them: whoever asks, the words are the same.
    fn words(&self, path: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Keeps the words of the lines of the path instead of `before`, which is what [`Sessions::words`] gave; false, and
    /// nothing is done, when somebody else has kept others meanwhile. More than [`Limits::blob`] bytes are not kept.
    fn keep_words(&self, path: &[u8], words: &[u8], before: Option<&[u8]>) -> Result<bool>;

    /// What the session cut and may put, as [`Sessions::keep_registers`] got it.
    fn registers(&self, session: &str) -> Result<Option<Vec<u8>>>;

    /// Keeps what the session cut instead of what was kept before; nothing, and more than [`Limits::blob`] bytes, are not
    /// kept.
    fn keep_registers(&self, session: &str, registers: &[u8]) -> Result<()>;

    /// Messages about the store's own health, each handed out once.
    fn notices(&self) -> Vec<String>;
}

/// The most bytes of any content: whoever takes it back holds it in memory.
pub const LARGEST: u64 = 1 << 30;

/// How large one content may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Its bytes.
    pub(crate) raw: u64,
    /// What it takes as it is stored.
    pub(crate) stored: u64,
}

/// How much is kept. The oldest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Contents of more bytes are remembered by identity only, but for those that an operation replaces or removes and that
    /// nothing else could bring back: they are kept where they take at most half of `total` as they are stored.
    pub blob: u64,
    /// Bytes of all stored contents together. A store may be over it by an eighth between two clean-ups.
    pub total: u64,
    /// What no session touched for so many days is forgotten.
    pub age_days: u32,
    /// Versions remembered per session and path.
    pub versions: u32,
    /// Operations in the log.
    pub operations: u32,
    /// Days that an operation stays in the log.
    pub history_days: u32,
}

impl Limits {
    /// These limits where `leave` does not ask for less.
    pub(crate) fn narrowed(&self, leave: Leave) -> Limits {
        let days = |limit: u32| leave.days.map_or(limit, |days| days.min(limit));
        Limits {
            age_days: days(self.age_days),
            history_days: days(self.history_days),
            total: leave.bytes.map_or(self.total, |bytes| bytes.min(self.total)),
            ..*self
        }
    }

    /// The room for a content of a session.
    pub(crate) fn usual(&self) -> Room {
        Room { raw: self.blob, stored: self.blob }
    }

    /// The room for a content that would be lost otherwise. Where nothing is kept, that is not either.
    pub(crate) fn last(&self) -> Room {
        let raw = if self.blob == 0 { 0 } else { self.blob.max(LARGEST) };
        Room { raw, stored: self.total / 2 }
    }

    /// The most bytes of the texts of a change that is kept: more than a quarter of all is dropped at the next clean-up.
    pub(crate) fn link(&self) -> u64 {
        self.blob.min(self.total / 4)
    }

    /// The most bytes of a serialised change: its texts, and the numbers between them.
    pub(crate) fn change(&self) -> u64 {
        self.blob.saturating_mul(4).max(LARGEST + (1 << 20))
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { blob: 8 << 20, total: 256 << 20, age_days: 14, versions: 32, operations: 10_000, history_days: 60 }
    }
}
