//! The history of one process, in memory.

mod log;
mod reviews;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use emendate_core::{ContentId, Result, Tag};

use crate::blob_store::{BlobStore, KeepOutcome, StoredVersion, keep};
use crate::delta_chain::{DeltaEdge, DeltaGraph};
use crate::prune::{EvictionCandidate, reduced_limit, versions_to_evict};
use crate::{FileState, HistoryLimits, Record, Sessions, StatCache, VersionBody, clock, delta_chain, prune};

/// Paths whose last known state is remembered.
const KNOWN_PATHS_MAX: usize = 1_000_000;

/// History in memory, lost with the process: for tests, and if no database can be opened.
pub struct MemoryHistory {
    limits: HistoryLimits,
    inner: Mutex<MemoryHistoryState>,
}

#[derive(Default)]
struct MemoryHistoryState {
    /// Records by path and session, the latest last.
    seen: HashMap<Vec<u8>, HashMap<String, Vec<SeenRecord>>>,
    blobs: MemoryBlobStore,
    /// The state in which each path was last known.
    known: HashMap<Vec<u8>, Option<FileState>>,
    /// The files of the last snapshot.
    stat_cache: Option<StatCache>,
    /// Anchor words of lines by path, with the time they were stored.
    words: HashMap<Vec<u8>, (i64, Vec<u8>)>,
    /// Registers by session, with the time they were stored.
    registers: HashMap<String, (i64, Vec<u8>)>,
    /// The log, the oldest operation first.
    operations: Vec<log::MemoryLogEntry>,
    /// Number of operations ever logged.
    logged: u64,
    /// Comments and review marks.
    reviews: reviews::MemoryReviews,
    /// Counter that orders records.
    next_order: u64,
}

struct SeenRecord {
    record: Record,
    at: i64,
    order: u64,
}

#[derive(Default)]
pub(crate) struct MemoryBlobStore {
    versions: HashMap<ContentId, (StoredVersion, Option<Vec<u8>>)>,
    stored: u64,
    changes: Vec<log::LoggedDelta>,
    /// Graph of the changes, built on first use.
    graph: OnceLock<Arc<DeltaGraph>>,
}

impl BlobStore for MemoryBlobStore {
    type Error = Infallible;

    fn version(&self, content: ContentId) -> Result<Option<StoredVersion>, Infallible> {
        Ok(self.versions.get(&content).map(|(version, _)| version.clone()))
    }

    fn data(&self, content: ContentId) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.versions.get(&content).and_then(|(_, data)| data.clone()))
    }

    fn put(&mut self, content: ContentId, version: &StoredVersion, data: Option<&[u8]>) -> Result<(), Infallible> {
        let old = self.versions.remove(&content).and_then(|(_, data)| data);
        self.stored -= stored_size(old.as_ref());
        let data = data.map(<[u8]>::to_vec).or(old);
        self.stored += stored_size(data.as_ref());
        self.versions.insert(content, (version.clone(), data));
        Ok(())
    }

    fn graph(&self) -> Result<Arc<DeltaGraph>, Infallible> {
        let graph = self.graph.get_or_init(|| {
            let edges = (0..).zip(&self.changes).map(|(data, change)| DeltaEdge {
                data,
                base: change.base,
                result: change.result,
            });
            Arc::new(DeltaGraph::of(edges))
        });
        Ok(Arc::clone(graph))
    }

    fn change(&self, data: i64, _: &HistoryLimits) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(usize::try_from(data).ok().and_then(|place| self.changes.get(place)).map(|change| change.data.clone()))
    }
}

/// Returns the length of a stored content.
fn stored_size(data: Option<&Vec<u8>>) -> u64 {
    data.map_or(0, Vec::len) as u64
}

impl MemoryHistory {
    /// Creates an empty history.
    pub fn new(limits: HistoryLimits) -> MemoryHistory {
        MemoryHistory { limits, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, MemoryHistoryState> {
        // A panic leaves nothing half done that matters: at worst a version without a record.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions for MemoryHistory {
    fn record(&self, session: &str, path: &[u8], record: &Record, body: &VersionBody<'_>) -> Result<()> {
        let inner = &mut *self.inner();
        let Ok(kept) = keep(&mut inner.blobs, record.content, body, &self.limits);
        let now = clock::now_us();
        inner.add_record(session, path, record, kept == KeepOutcome::Contested, now, self.limits.versions);
        inner.known.entry(path.to_vec()).or_insert_with(|| Some(record.state()));
        if inner.blobs.stored > self.limits.total || inner.next_order.is_multiple_of(prune::UPKEEP_EVERY_RECORDS.into())
        {
            inner.upkeep(&self.limits, now);
        }
        Ok(())
    }

    fn latest(&self, session: &str, path: &[u8]) -> Result<Option<Record>> {
        Ok(self.inner().latest(session, path))
    }

    fn latest_of(&self, session: &str, paths: &[&[u8]]) -> Result<Vec<Option<Record>>> {
        let inner = self.inner();
        Ok(paths.iter().map(|path| inner.latest(session, path)).collect())
    }

    fn versions(&self, session: &str, path: &[u8]) -> Result<Vec<Record>> {
        let inner = self.inner();
        let known = inner.seen.get(path).and_then(|sessions| sessions.get(session));
        Ok(known.into_iter().flatten().rev().map(|seen| seen.record.clone()).collect())
    }

    fn by_tag(&self, path: &[u8], tag: Tag) -> Result<Option<Record>> {
        let inner = self.inner();
        let all = inner.seen.get(path).into_iter().flat_map(HashMap::values).flatten();
        let newest = all.filter(|seen| seen.record.content.tag() == tag).max_by_key(|seen| seen.order);
        Ok(newest.map(|seen| seen.record.clone()))
    }

    fn paths(&self, session: &str) -> Result<Vec<Vec<u8>>> {
        let inner = self.inner();
        let known = inner.seen.iter().filter(|(_, sessions)| sessions.contains_key(session));
        Ok(known.map(|(path, _)| path.clone()).collect())
    }

    fn bytes(&self, content: ContentId) -> Result<Option<Vec<u8>>> {
        let Ok(bytes) = delta_chain::content(&self.inner().blobs, content, &[], &self.limits);
        Ok(bytes)
    }

    fn forget(&self, session: &str, path: &[u8]) -> Result<()> {
        let inner = &mut *self.inner();
        if let Some(sessions) = inner.seen.get_mut(path) {
            sessions.remove(session);
            if sessions.is_empty() {
                inner.seen.remove(path);
            }
        }
        Ok(())
    }

    fn words(&self, path: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.inner().words.get(path).map(|(_, words)| words.clone()))
    }

    fn keep_words(&self, path: &[u8], words: &[u8], before: Option<&[u8]>) -> Result<bool> {
        let inner = &mut *self.inner();
        if inner.words.get(path).map(|(_, kept)| &kept[..]) != before {
            return Ok(false);
        }
        if words.len() as u64 > self.limits.blob {
            inner.words.remove(path);
            return Ok(true);
        }
        insert_bounded(&mut inner.words, path.to_vec(), words, prune::WORD_PATHS_MAX);
        Ok(true)
    }

    fn registers(&self, session: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.inner().registers.get(session).map(|(_, kept)| kept.clone()))
    }

    fn keep_registers(&self, session: &str, registers: &[u8]) -> Result<()> {
        let inner = &mut *self.inner();
        if registers.is_empty() || registers.len() as u64 > self.limits.blob {
            inner.registers.remove(session);
            return Ok(());
        }
        insert_bounded(&mut inner.registers, session.to_owned(), registers, prune::REGISTER_SESSIONS_MAX);
        Ok(())
    }

    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Inserts an entry, and drops the oldest if there are too many.
fn insert_bounded<K: Eq + std::hash::Hash + Clone>(
    map: &mut HashMap<K, (i64, Vec<u8>)>,
    key: K,
    data: &[u8],
    most: u32,
) {
    map.insert(key, (clock::now_us(), data.to_vec()));
    if map.len() > most as usize {
        let oldest = map.iter().min_by_key(|(_, (at, _))| *at).map(|(key, _)| key.clone());
        if let Some(key) = oldest {
            map.remove(&key);
        }
    }
}

impl MemoryHistoryState {
    fn latest(&self, session: &str, path: &[u8]) -> Option<Record> {
        self.seen.get(path)?.get(session)?.last().map(|seen| seen.record.clone())
    }

    /// Stores `record` as the latest of the session and path, merging the lines of an earlier record of the same
    /// content unless `alone`, and drops all but the newest `keep` records.
    fn add_record(&mut self, session: &str, path: &[u8], record: &Record, alone: bool, now: i64, keep: u32) {
        self.next_order += 1;
        let known = self.seen.entry(path.to_vec()).or_default().entry(session.to_owned()).or_default();
        let mut seen = SeenRecord { record: record.clone(), at: now, order: self.next_order };
        if let Some(place) = known.iter().position(|old| old.record.content == record.content) {
            let old = known.remove(place);
            if !alone {
                seen.record.lines.union(&old.record.lines);
            }
        }
        known.push(seen);
        let surplus = known.len().saturating_sub(keep.max(1) as usize);
        known.drain(..surplus);
    }

    /// Drops entries that are too old, versions without a reference, and the oldest contents beyond the limit.
    fn upkeep(&mut self, limits: &HistoryLimits, now: i64) {
        let oldest = clock::days_before(now, limits.age_days);
        self.words.retain(|_, (at, _)| *at >= oldest);
        self.registers.retain(|_, (at, _)| *at >= oldest);
        let mut ages: HashMap<ContentId, i64> = HashMap::new();
        self.seen.retain(|_, sessions| {
            sessions.retain(|_, known| {
                known.retain(|seen| seen.at >= oldest);
                for seen in known.iter() {
                    let turn = i64::try_from(seen.order).unwrap_or(i64::MAX);
                    let age = ages.entry(seen.record.content).or_insert(turn);
                    *age = turn.max(*age);
                }
                !known.is_empty()
            });
            !sessions.is_empty()
        });
        if self.known.len() > KNOWN_PATHS_MAX {
            self.known.clear();
        }
        self.drop_operations(limits, now);
        for log::MemoryLogEntry { logged, order: turn, .. } in &self.operations {
            let turn = i64::try_from(*turn).unwrap_or(i64::MAX);
            for side in logged.operation.files.iter().flat_map(|file| [file.before, file.after]).flatten() {
                let age = ages.entry(side.content).or_insert(turn);
                *age = turn.max(*age);
            }
        }
        for state in self.known.values().flatten() {
            ages.entry(state.content).or_insert(0);
        }
        let blobs = &mut self.blobs;
        loop {
            let bases: std::collections::HashSet<_> =
                blobs.versions.values().filter_map(|(version, _)| version.base).collect();
            let before = blobs.versions.len();
            blobs.versions.retain(|content, _| ages.contains_key(content) || bases.contains(content));
            if blobs.versions.len() == before {
                break;
            }
        }
        let weights: Vec<EvictionCandidate> = blobs
            .versions
            .iter()
            .filter_map(|(&content, (version, _))| {
                let (base, depth, stored) = (version.base, version.depth, version.stored?);
                Some(EvictionCandidate { content, base, depth, stored, at: ages.get(&content).copied().unwrap_or(0) })
            })
            .collect();
        blobs.stored = weights.iter().map(|weight| weight.stored).sum();
        let bytes_max = if blobs.stored > limits.total { reduced_limit(limits.total) } else { limits.total };
        for content in versions_to_evict(weights, bytes_max) {
            if let Some((version, data)) = blobs.versions.get_mut(&content) {
                blobs.stored -= version.stored.take().unwrap_or(0);
                *data = None;
                (version.base, version.depth, version.zstd) = (None, 0, false);
            }
        }
    }
}
