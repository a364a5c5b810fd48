//! Cache of database contents. It is never stale: every process that changes sessions' records first increments the
//! append log's generation.

use std::collections::{HashMap, HashSet};

use emendate_core::ContentId;

use crate::Record;

/// Maximum number of records; beyond it the cache is cleared.
const CACHED_RECORDS_MAX: usize = 256;

/// Contents that were added to the database.
#[derive(Default)]
pub(super) struct CacheUpdate {
    /// Bytes of contents added.
    pub(super) added: u64,
    /// Session, path and latest record.
    pub(super) records: Vec<(String, Vec<u8>, Record)>,
    /// Stored versions.
    pub(super) stored: Vec<ContentId>,
    /// Paths with the content that was seen or written last.
    pub(super) newest: Vec<(Vec<u8>, Option<ContentId>)>,
}

#[derive(Default)]
pub(super) struct HistoryCache {
    /// Generation of the append log for which the records are valid.
    generation: u64,
    /// Latest records by session and path.
    latest: HashMap<String, HashMap<Vec<u8>, Record>>,
    /// The content that was seen or written last, by path; `None` for a path that was never seen.
    newest: HashMap<Vec<u8>, Option<ContentId>>,
    /// Number of records added.
    count: usize,
    /// Versions that were stored when last checked; garbage collection may have dropped them since.
    stored: HashSet<ContentId>,
}

impl HistoryCache {
    /// Returns the latest record of the session and path, if cached in this generation.
    pub(super) fn latest(&self, turn: u64, session: &str, path: &[u8]) -> Option<&Record> {
        self.latest.get(session).filter(|_| self.generation == turn)?.get(path)
    }

    /// Returns what was seen or written last at the path, if cached in this generation.
    #[allow(clippy::option_option, reason = "not cached, never seen, seen")]
    pub(super) fn newest(&self, generation: u64, path: &[u8]) -> Option<Option<ContentId>> {
        self.newest.get(path).filter(|_| self.generation == generation).copied()
    }

    /// True if the version was stored.
    pub(super) fn is_stored(&self, content: ContentId) -> bool {
        self.stored.contains(&content)
    }

    /// Advances the generation after a change by this process alone; if `from` is not ours, other processes changed
    /// records and the cache is cleared.
    pub(super) fn advance(&mut self, from: u64, to: u64) {
        if self.generation != from {
            self.latest.clear();
            self.newest.clear();
            self.count = 0;
        }
        self.generation = to;
    }

    pub(super) fn update(&mut self, cache_update: CacheUpdate) {
        for (session, path, record) in cache_update.records {
            self.count += 1;
            if self.count > CACHED_RECORDS_MAX {
                self.latest.clear();
                self.count = 1;
            }
            self.latest.entry(session).or_default().insert(path, record);
        }
        for (path, content) in cache_update.newest {
            self.set_newest(path, content);
        }
        if self.stored.len() > CACHED_RECORDS_MAX {
            self.stored.clear();
        }
        self.stored.extend(cache_update.stored);
    }

    /// Remembers what was seen or written last at the path.
    pub(super) fn set_newest(&mut self, path: Vec<u8>, content: Option<ContentId>) {
        if self.newest.len() >= CACHED_RECORDS_MAX {
            self.newest.clear();
        }
        self.newest.insert(path, content);
    }

    /// Drops the record of the session and path.
    pub(super) fn forget(&mut self, session: &str, path: &[u8]) {
        self.newest.remove(path);
        if let Some(known) = self.latest.get_mut(session) {
            known.remove(path);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = HistoryCache::default();
    }
}
