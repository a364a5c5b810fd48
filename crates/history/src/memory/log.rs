//! The log of operations in memory.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use emendate_core::explain::ReplacedSpan;
use emendate_core::{ContentId, Result};

use super::{MemoryHistory, MemoryHistoryState};
use crate::blob_store::{BlobStore, keep};
use crate::delta_chain::{NewDelta, keep_sides};
use crate::{
    ChangeContent, DiskUsage, FileChange, FileState, GcStats, HistoryLimits, KnownContent, KnownState, LogEntry,
    LogReceipt, LogStamp, NewlyKnown, Operation, OperationFilter, OperationId, OperationLog, OperationName,
    OperationOutcome, OutsideContent, OwnedByteReplacement, OwnedContent, Retention, Role, SessionUpdate, StatCache,
    TURN, VersionBody, clock, delta_chain, operation, pack, prune, replacement,
};

/// An operation of the log.
pub(super) struct MemoryLogEntry {
    pub(super) logged: LogEntry,
    /// The position of the entry in the order of records.
    pub(super) order: u64,
    /// The operation was aborted and is hidden.
    aborted: bool,
    /// The ranges that it replaced, by the position of the file.
    spans: HashMap<usize, Vec<u8>>,
}

/// A change whose versions are not both stored.
pub(super) struct LoggedDelta {
    /// Number of the operation it belongs to.
    number: u64,
    pub(super) base: ContentId,
    pub(super) result: ContentId,
    pub(super) data: Vec<u8>,
}

impl OperationLog for MemoryHistory {
    fn log(
        &self,
        operation: &Operation,
        changes: &[ChangeContent<'_>],
        known: &[SessionUpdate<'_>],
    ) -> Result<LogReceipt> {
        operation::check_changes(operation, changes.len())?;
        let inner = &mut *self.inner();
        if operation.undoes().any(|taken| inner.is_taken_back(taken)) {
            return Err(operation::already_undone(operation));
        }
        let logged =
            inner.log(operation, changes, known, Some(operation.owner()).filter(|owner| *owner > 0), &self.limits);
        Ok(logged)
    }

    fn newest_seen(&self, paths: &[&[u8]]) -> Result<Vec<Option<ContentId>>> {
        let inner = self.inner();
        Ok(paths
            .iter()
            .map(|path| inner.known.get(*path).map(|state| state.map_or(operation::NOTHING, |state| state.content)))
            .collect())
    }

    fn last_known(&self, paths: &[&[u8]]) -> Result<Vec<Option<KnownState>>> {
        Ok(self.inner().last_known(paths))
    }

    fn log_outside(&self, operation: &Operation, contents: &[OutsideContent<'_>]) -> Result<Option<LogReceipt>> {
        operation::check_changes(operation, contents.len())?;
        let inner = &mut *self.inner();
        let paths: Vec<&[u8]> = operation.files.iter().map(|file| &*file.path).collect();
        let known = inner.last_known(&paths);
        let (operation, contents) = operation::still_outside(operation, contents, &known);
        if operation.files.is_empty() {
            return Ok(None);
        }
        for (file, content) in operation.files.iter().zip(&contents).filter(|_| operation.keeps_content) {
            let (Some(after), Some(bytes)) = (file.after, content.new_bytes) else { continue };
            let Ok(_) = keep(&mut inner.blobs, after.content, &VersionBody::Bytes(bytes), &self.limits);
        }
        let changes: Vec<ChangeContent<'_>> = contents
            .iter()
            .map(|content| ChangeContent { old_bytes: content.old_bytes, ..ChangeContent::default() })
            .collect();
        Ok(Some(inner.log(&operation, &changes, &[], None, &self.limits)))
    }

    fn remember_files(&self, found: &[NewlyKnown<'_>]) -> Result<()> {
        let inner = &mut *self.inner();
        for NewlyKnown { path, state, bytes } in found {
            if inner.known.contains_key(*path) {
                continue;
            }
            inner.known.insert(path.to_vec(), Some(*state));
            if let Some(bytes) = bytes {
                let Ok(_) = keep(&mut inner.blobs, state.content, &VersionBody::Bytes(bytes), &self.limits);
            }
        }
        Ok(())
    }

    fn remember_changes(&self, changes: &[&FileChange]) -> Result<()> {
        let inner = &mut *self.inner();
        for change in changes {
            let known = inner.last_known(&[&change.path]).pop().flatten();
            if known.is_none_or(|known| known.is_before(change)) {
                inner.known.insert(change.path.clone(), change.after);
            }
        }
        Ok(())
    }

    fn all_newest_seen(&self) -> Result<HashMap<Vec<u8>, ContentId>> {
        let inner = self.inner();
        let newest = |state: &Option<FileState>| state.map_or(operation::NOTHING, |state| state.content);
        Ok(inner.known.iter().map(|(path, state)| (path.clone(), newest(state))).collect())
    }

    fn known_paths(&self, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>> {
        let inner = self.inner();
        let there = inner.known.iter().filter(|(path, state)| state.is_some() && is_wanted(path));
        Ok(there.map(|(path, _)| path.clone()).collect())
    }

    fn stat_cache(&self) -> Option<StatCache> {
        self.inner().stat_cache.clone()
    }

    fn keep_stat_cache(&self, cache: &StatCache) -> Result<()> {
        self.inner().stat_cache = Some(cache.clone());
        Ok(())
    }

    fn resolve(&self, id: OperationId, certain: bool) -> Result<()> {
        let inner = &mut *self.inner();
        if let Some(entry) = inner.operations.iter_mut().find(|entry| is_pending(entry, id)) {
            entry.logged.owner = None;
            if !certain {
                entry.logged.operation.outcome = OperationOutcome::Unknown;
            }
        }
        Ok(())
    }

    fn mark_committed(&self, ids: &[OperationId]) -> Result<()> {
        let inner = &mut *self.inner();
        for &id in ids {
            let Some(entry) = inner.operations.iter_mut().find(|entry| entry.logged.id == id) else { continue };
            entry.logged.owner = None;
            if std::mem::take(&mut entry.aborted) {
                let operation = entry.logged.operation.clone();
                inner.refresh_undone(&operation);
                operation.files.iter().for_each(|file| inner.refresh_known(file));
            }
        }
        Ok(())
    }

    fn abort(&self, id: OperationId, certain: bool) -> Result<()> {
        let inner = &mut *self.inner();
        let is_meant = |entry: &MemoryLogEntry| {
            if certain { entry.logged.id == id && !entry.aborted } else { is_pending(entry, id) }
        };
        let Some(entry) = inner.operations.iter_mut().find(|entry| is_meant(entry)) else { return Ok(()) };
        entry.aborted = true;
        let operation = entry.logged.operation.clone();
        inner.refresh_undone(&operation);
        for file in &operation.files {
            inner.refresh_known(file);
            let Some(after) = file.after.filter(|after| file.before.map(|it| it.content) != Some(after.content)) else {
                continue;
            };
            let known = inner.seen.get_mut(&file.path).and_then(|sessions| sessions.get_mut(&operation.session));
            if let Some(known) = known {
                known.retain(|seen| seen.record.content != after.content);
            }
        }
        Ok(())
    }

    fn in_doubt(&self) -> Result<Vec<LogEntry>> {
        let inner = self.inner();
        let pending = inner.operations.iter().rev().filter(|entry| entry.logged.owner.is_some() && !entry.aborted);
        Ok(pending.map(|entry| entry.logged.clone()).collect())
    }

    fn operations(&self, filter: &OperationFilter<'_>) -> Result<Vec<LogEntry>> {
        Ok(self
            .inner()
            .operations
            .iter()
            .rev()
            .filter(|entry| !entry.aborted)
            .map(|entry| &entry.logged)
            .filter(|logged| is_wanted(filter, logged))
            .take(filter.limit)
            .cloned()
            .collect())
    }

    fn operation(&self, name: OperationName) -> Result<Option<LogEntry>> {
        let inner = self.inner();
        let mut told = inner.operations.iter().filter(|entry| !entry.aborted).map(|entry| &entry.logged);
        Ok(told.find(|logged| name.names(logged.id)).cloned())
    }

    fn operations_after(&self, number: u64, limit: usize) -> Result<Vec<LogEntry>> {
        let inner = self.inner();
        let live = inner.operations.iter().filter(|entry| !entry.aborted).map(|entry| &entry.logged);
        Ok(live.filter(|logged| logged.id.number > number).take(limit).cloned().collect())
    }

    fn stamp(&self) -> LogStamp {
        let inner = self.inner();
        LogStamp { next: inner.logged + 1, ..LogStamp::default() }
    }

    fn directory(&self) -> Option<&Path> {
        None
    }

    fn content(&self, content: ContentId, at_hand: &[KnownContent<'_>]) -> Result<Option<Vec<u8>>> {
        let Ok(bytes) = delta_chain::content(&self.inner().blobs, content, at_hand, &self.limits);
        Ok(bytes)
    }

    fn replacements(&self, from: ContentId, to: ContentId) -> Result<Option<Vec<OwnedByteReplacement>>> {
        let Ok(swaps) = delta_chain::replacements(&self.inner().blobs, from, to, &self.limits);
        Ok(swaps)
    }

    fn replaced_spans(&self, operation: u64, path: &[u8]) -> Result<Option<Vec<ReplacedSpan>>> {
        let inner = self.inner();
        let Some(entry) = inner.operations.iter().find(|entry| entry.logged.id.number == operation) else {
            return Ok(None);
        };
        let nth = entry.logged.operation.files.iter().position(|file| *file.path == *path);
        let data = nth.and_then(|nth| entry.spans.get(&nth));
        Ok(data.and_then(|data| replacement::decode_spans(data)))
    }

    fn linked_versions(&self, content: ContentId, limit: usize) -> Result<Vec<ContentId>> {
        let Ok(linked) = delta_chain::linked_versions(&self.inner().blobs, content, limit);
        Ok(linked)
    }

    fn can_rebuild(&self, content: ContentId, at_hand: &[ContentId]) -> Result<bool> {
        let Ok(found) = delta_chain::can_rebuild(&self.inner().blobs, content, at_hand);
        Ok(found)
    }

    fn not_stored(&self, contents: &[ContentId]) -> Result<HashSet<ContentId>> {
        let Ok(lacking) = delta_chain::not_stored(&self.inner().blobs, contents);
        Ok(lacking)
    }

    fn store_versions(&self, versions: &[OwnedContent]) -> Result<()> {
        let inner = &mut *self.inner();
        for OwnedContent { id, bytes } in versions {
            let Ok(_) = keep(&mut inner.blobs, *id, &VersionBody::Bytes(bytes), &self.limits);
        }
        Ok(())
    }

    fn disk_usage(&self) -> Option<DiskUsage> {
        None
    }

    fn collect_garbage(&self, retention: Retention) -> Result<GcStats> {
        let inner = &mut *self.inner();
        let before = count_stored(inner);
        let held = inner.blobs.stored;
        inner.upkeep(&self.limits.narrowed(retention), clock::now_us());
        let after = count_stored(inner);
        Ok(GcStats {
            operations: before.0 - after.0,
            contents: before.1.saturating_sub(after.1),
            bytes: held.saturating_sub(inner.blobs.stored),
        })
    }
}

/// True for the entry of this operation, if it is in doubt.
fn is_pending(entry: &MemoryLogEntry, id: OperationId) -> bool {
    entry.logged.id == id && entry.logged.owner.is_some() && !entry.aborted
}

/// True for an operation that the filter selects.
fn is_wanted(filter: &OperationFilter<'_>, logged: &LogEntry) -> bool {
    filter.session.is_none_or(|session| logged.operation.session == session)
        && filter.tool.map_or(logged.operation.tool != TURN, |tool| logged.operation.tool == tool)
        && filter.since.is_none_or(|since| logged.at >= since)
        && (!filter.only_reversals || logged.operation.role != Role::Edit)
        && filter.below.is_none_or(|below| logged.id.number < below)
        && filter.path.is_none_or(|path| {
            let mut files = logged.operation.files.iter();
            files.any(|file| file.path == path || file.moved_from.as_deref() == Some(path))
        })
}

/// Counts the operations and the stored contents.
fn count_stored(inner: &MemoryHistoryState) -> (u64, u64) {
    let blobs = &inner.blobs;
    let contents = blobs.versions.values().filter(|(_, data)| data.is_some()).count() + blobs.changes.len();
    (inner.operations.len() as u64, contents as u64)
}

impl MemoryHistoryState {
    /// Logs an operation.
    fn log(
        &mut self,
        operation: &Operation,
        changes: &[ChangeContent<'_>],
        known: &[SessionUpdate<'_>],
        owner: Option<u32>,
        limits: &HistoryLimits,
    ) -> LogReceipt {
        let now = clock::now_us();
        self.logged += 1;
        let id = OperationId::new(self.logged, now);
        let (mut loose, mut lost, mut spans) = (Vec::new(), Vec::new(), HashMap::new());
        for (nth, (touched, change)) in
            operation.files.iter().zip(changes).enumerate().filter(|_| operation.keeps_content)
        {
            let Ok(kept) = keep_sides(&mut self.blobs, touched, change, limits);
            let replaced = change.base.and_then(|_| replacement::encode_spans(change.replacements));
            spans.extend(replaced.map(|data| (nth, data)));
            loose.extend(kept.unstored);
            lost.extend(kept.lost.then_some(nth));
            if let Some(NewDelta { base, result, data }) = kept.delta {
                let data = pack::unpack(data.data.into_owned(), data.zstd, limits.delta_bytes_max());
                self.blobs.graph.take();
                self.blobs.changes.extend(data.map(|data| LoggedDelta { number: id.number, base, result, data }));
            }
        }
        let logged = LogEntry { id, at: now, undone_by: None, owner, operation: operation.clone() };
        self.operations.push(MemoryLogEntry { logged, order: self.next_order, aborted: false, spans });
        self.refresh_undone(operation);
        for SessionUpdate { path, record } in known {
            let Ok(version) = self.blobs.version(record.content);
            let alone = version.is_some_and(|version| version.contested);
            self.add_record(&operation.session, path, record, alone, now, limits.versions);
        }
        for file in &operation.files {
            self.known.insert(file.path.clone(), file.after);
        }
        if self.blobs.stored > limits.total || self.logged.is_multiple_of(prune::UPKEEP_EVERY_RECORDS.into()) {
            self.upkeep(limits, now);
        }
        LogReceipt { id, unstored: loose, lost }
    }

    /// Resets the last known state of a file to the one that the newest operation left.
    fn refresh_known(&mut self, file: &FileChange) {
        let live = self.operations.iter().rev().filter(|entry| !entry.aborted);
        let mut files = live.flat_map(|entry| &entry.logged.operation.files);
        let left = files.find(|it| it.path == file.path).map_or(file.before, |it| it.after);
        self.known.insert(file.path.clone(), left);
    }

    /// Returns the state in which each path was last known.
    fn last_known(&self, paths: &[&[u8]]) -> Vec<Option<KnownState>> {
        let pending = self.operations.iter().filter(|entry| entry.logged.owner.is_some() && !entry.aborted);
        let in_doubt: HashSet<&[u8]> =
            pending.flat_map(|entry| &entry.logged.operation.files).map(|file| &*file.path).collect();
        let known = paths.iter().map(|path| {
            self.known.get(*path).map(|state| KnownState { state: *state, in_doubt: in_doubt.contains(path) })
        });
        known.collect()
    }

    /// True if an operation in effect undoes this one.
    fn is_taken_back(&self, taken: OperationId) -> bool {
        let (mut last, mut is_undone) = (taken, false);
        // The operations are in the order of the log, and each was undone by a later one.
        for entry in &self.operations {
            if entry.logged.id == last
                && let Some(by) = entry.logged.undone_by
            {
                (last, is_undone) = (by, !is_undone);
            }
        }
        is_undone
    }

    /// Updates, for each operation that this one would undo, which operation undoes it: the newest that was not
    /// aborted.
    fn refresh_undone(&mut self, operation: &Operation) {
        for taken in operation.undoes() {
            let live = self.operations.iter().rev().filter(|entry| !entry.aborted);
            let by =
                live.map(|entry| &entry.logged).find(|it| it.operation.undoes().any(|id| id == taken)).map(|it| it.id);
            if let Some(entry) = self.operations.iter_mut().find(|entry| entry.logged.id == taken) {
                entry.logged.undone_by = by;
            }
        }
    }

    /// Drops operations that are too old or too many, and changes without an operation or beyond the limit.
    pub(super) fn drop_operations(&mut self, limits: &HistoryLimits, now: i64) {
        let oldest = clock::days_before(now, limits.history_days);
        let aged = self.operations.iter().take_while(|entry| entry.logged.at < oldest).count();
        let surplus = self.operations.len().saturating_sub(limits.operations as usize);
        self.operations.drain(..aged.max(surplus));
        let first = self.operations.first().map_or(u64::MAX, |entry| entry.logged.id.number);
        self.reviews.drop_before(first);
        let mut room = limits.total / 4;
        let newest = self.blobs.changes.iter().rev().take_while(|change| {
            let left = room.checked_sub(change.data.len() as u64).filter(|_| change.number >= first);
            room = left.unwrap_or(0);
            left.is_some()
        });
        let kept = newest.count();
        let gone = self.blobs.changes.len() - kept;
        self.blobs.changes.drain(..gone);
        self.blobs.graph.take();
    }
}
