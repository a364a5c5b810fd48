//! The log of operations in memory.

use std::collections::HashSet;

use emendate_core::{ContentId, Result};

use super::{Inner, Memory};
use crate::shelf::{Shelf, keep};
use crate::trail::{Link, keep_sides};
use crate::{
    Body, Change, Entered, Filter, Freed, Known, Leave, Limits, Logged, OnDisk, Operation, OperationId, OperationName,
    Operations, Outcome, OwnedSwap, clock, operation, pack, prune, trail,
};

/// An operation of the log.
pub(super) struct Entry {
    pub(super) logged: Logged,
    /// Its position in the order of records.
    pub(super) turn: u64,
    /// The operation was aborted and is hidden.
    withdrawn: bool,
}

/// A change whose versions are not both stored.
pub(super) struct Trail {
    /// Number of the operation it belongs to.
    number: u64,
    pub(super) base: ContentId,
    pub(super) result: ContentId,
    pub(super) data: Vec<u8>,
}

impl Operations for Memory {
    fn log(&self, operation: &Operation, changes: &[Change<'_>], known: &[Known<'_>]) -> Result<Entered> {
        operation::check(operation, changes)?;
        let inner = &mut *self.inner();
        if operation.taken().any(|taken| inner.is_taken_back(taken)) {
            return Err(operation::overtaken(operation));
        }
        let now = clock::now_us();
        inner.logged += 1;
        let id = OperationId::new(inner.logged, now);
        let (mut loose, mut lost) = (Vec::new(), Vec::new());
        for (nth, (touched, change)) in operation.files.iter().zip(changes).enumerate().filter(|_| operation.kept) {
            let Ok(kept) = keep_sides(&mut inner.shelves, touched, change, &self.limits);
            loose.extend(kept.loose);
            lost.extend(kept.lost.then_some(nth));
            if let Some(Link { base, result, data }) = kept.link {
                let data = pack::unpack(data.data.into_owned(), data.zstd, self.limits.change());
                inner.shelves.graph.take();
                inner.shelves.changes.extend(data.map(|data| Trail { number: id.number, base, result, data }));
            }
        }
        let owner = Some(std::process::id());
        let logged = Logged { id, at: now, undone_by: None, owner, operation: operation.clone() };
        inner.operations.push(Entry { logged, turn: inner.turn, withdrawn: false });
        inner.refresh_undone(operation);
        for Known { path, record } in known {
            let Ok(version) = inner.shelves.version(record.content);
            let alone = version.is_some_and(|version| version.contested);
            inner.know((&operation.session, path), record, alone, (now, self.limits.versions));
        }
        if inner.shelves.stored > self.limits.total || inner.logged.is_multiple_of(prune::EVERY.into()) {
            inner.upkeep(&self.limits, now);
        }
        Ok(Entered { id, loose, lost })
    }

    fn judge(&self, id: OperationId, certain: bool) -> Result<()> {
        let inner = &mut *self.inner();
        let pending = |entry: &&mut Entry| entry.logged.id == id && entry.logged.owner.is_some() && !entry.withdrawn;
        if let Some(entry) = inner.operations.iter_mut().find(pending) {
            entry.logged.owner = None;
            if !certain {
                entry.logged.operation.outcome = Outcome::Unsure;
            }
        }
        Ok(())
    }

    fn settle(&self, ids: &[OperationId]) -> Result<()> {
        let inner = &mut *self.inner();
        for &id in ids {
            let Some(entry) = inner.operations.iter_mut().find(|entry| entry.logged.id == id) else { continue };
            entry.logged.owner = None;
            if std::mem::take(&mut entry.withdrawn) {
                let operation = entry.logged.operation.clone();
                inner.refresh_undone(&operation);
            }
        }
        Ok(())
    }

    fn withdraw(&self, id: OperationId) -> Result<()> {
        let inner = &mut *self.inner();
        let pending = |entry: &&mut Entry| entry.logged.id == id && entry.logged.owner.is_some() && !entry.withdrawn;
        let Some(entry) = inner.operations.iter_mut().find(pending) else { return Ok(()) };
        entry.withdrawn = true;
        let operation = entry.logged.operation.clone();
        inner.refresh_undone(&operation);
        for file in &operation.files {
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

    fn pending(&self) -> Result<Vec<Logged>> {
        let inner = self.inner();
        let pending = inner.operations.iter().rev().filter(|entry| entry.logged.owner.is_some() && !entry.withdrawn);
        Ok(pending.map(|entry| entry.logged.clone()).collect())
    }

    fn operations(&self, filter: &Filter<'_>) -> Result<Vec<Logged>> {
        let fits = |logged: &&Logged| {
            let touches = |path: &[u8]| {
                let mut files = logged.operation.files.iter();
                files.any(|file| file.path == path || file.moved_from.as_deref() == Some(path))
            };
            filter.session.is_none_or(|session| logged.operation.session == session)
                && filter.below.is_none_or(|below| logged.id.number < below)
                && filter.path.is_none_or(touches)
        };
        Ok(self
            .inner()
            .operations
            .iter()
            .rev()
            .filter(|entry| !entry.withdrawn)
            .map(|entry| &entry.logged)
            .filter(fits)
            .take(filter.limit)
            .cloned()
            .collect())
    }

    fn operation(&self, name: OperationName) -> Result<Option<Logged>> {
        let inner = self.inner();
        let mut told = inner.operations.iter().filter(|entry| !entry.withdrawn).map(|entry| &entry.logged);
        Ok(told.find(|logged| name.names(logged.id)).cloned())
    }

    fn content(&self, content: ContentId, at_hand: &[(ContentId, &[u8])]) -> Result<Option<Vec<u8>>> {
        let Ok(bytes) = trail::content(&self.inner().shelves, content, at_hand, &self.limits);
        Ok(bytes)
    }

    fn swaps(&self, from: ContentId, to: ContentId) -> Result<Option<Vec<OwnedSwap>>> {
        let Ok(swaps) = trail::swaps(&self.inner().shelves, from, to, &self.limits);
        Ok(swaps)
    }

    fn reaches(&self, content: ContentId, at_hand: &[ContentId]) -> Result<bool> {
        let Ok(found) = trail::reaches(&self.inner().shelves, content, at_hand);
        Ok(found)
    }

    fn lacking(&self, contents: &[ContentId]) -> Result<HashSet<ContentId>> {
        let Ok(lacking) = trail::lacking(&self.inner().shelves, contents);
        Ok(lacking)
    }

    fn keep(&self, versions: &[(ContentId, Vec<u8>)]) -> Result<()> {
        let inner = &mut *self.inner();
        for (content, bytes) in versions {
            let Ok(_) = keep(&mut inner.shelves, *content, &Body::Bytes(bytes), &self.limits);
        }
        Ok(())
    }

    fn on_disk(&self) -> Option<OnDisk> {
        None
    }

    fn free(&self, leave: Leave) -> Result<Freed> {
        let inner = &mut *self.inner();
        let count = |inner: &Inner| {
            let shelves = &inner.shelves;
            let contents = shelves.versions.values().filter(|(_, data)| data.is_some()).count() + shelves.changes.len();
            (inner.operations.len() as u64, contents as u64)
        };
        let before = count(inner);
        let held = inner.shelves.stored;
        inner.upkeep(&self.limits.narrowed(leave), clock::now_us());
        let after = count(inner);
        Ok(Freed {
            operations: before.0 - after.0,
            contents: before.1.saturating_sub(after.1),
            bytes: held.saturating_sub(inner.shelves.stored),
        })
    }
}

impl Inner {
    /// True if an operation that was not aborted undoes this one.
    fn is_taken_back(&self, taken: OperationId) -> bool {
        self.operations.iter().any(|entry| entry.logged.id == taken && entry.logged.undone_by.is_some())
    }

    /// Sets the mark which operation undoes each operation that this one would: the newest that was not aborted.
    fn refresh_undone(&mut self, operation: &Operation) {
        for taken in operation.taken() {
            let live = self.operations.iter().rev().filter(|entry| !entry.withdrawn);
            let by =
                live.map(|entry| &entry.logged).find(|it| it.operation.taken().any(|id| id == taken)).map(|it| it.id);
            if let Some(entry) = self.operations.iter_mut().find(|entry| entry.logged.id == taken) {
                entry.logged.undone_by = by;
            }
        }
    }

    /// Drops operations that are too old or too many, and changes without an operation or beyond the limit.
    pub(super) fn drop_operations(&mut self, limits: &Limits, now: i64) {
        let oldest = clock::days_before(now, limits.history_days);
        let aged = self.operations.iter().take_while(|entry| entry.logged.at < oldest).count();
        let surplus = self.operations.len().saturating_sub(limits.operations as usize);
        self.operations.drain(..aged.max(surplus));
        let first = self.operations.first().map_or(u64::MAX, |entry| entry.logged.id.number);
        let mut room = limits.total / 4;
        let newest = self.shelves.changes.iter().rev().take_while(|change| {
            let left = room.checked_sub(change.data.len() as u64).filter(|_| change.number >= first);
            room = left.unwrap_or(0);
            left.is_some()
        });
        let kept = newest.count();
        let gone = self.shelves.changes.len() - kept;
        self.shelves.changes.drain(..gone);
        self.shelves.graph.take();
    }
}
