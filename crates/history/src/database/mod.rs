//! The store in an SQLite file that all processes of the user share.

mod append_log;
mod attributes;
mod cache;
mod copy;
mod entry;
mod failure;
mod flush;
mod found_file;
mod gaps;
mod log;
mod open;
mod outside;
mod reviews;
mod rows;
mod space;
mod spans;
mod sql_blob_store;
mod stat_file;
mod upkeep;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use emendate_core::explain::ReplacedSpan;
use emendate_core::{ContentId, Result, Tag};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tempfile::TempDir;

use crate::blob_store::{KeepOutcome, keep};
use crate::{
    ChangeContent, DiskUsage, GcStats, HistoryGap, HistoryLimits, KnownContent, KnownState, LogEntry, LogReceipt,
    LogStamp, NewlyKnown, Operation, OperationFilter, OperationId, OperationLog, OperationName, OutsideContent,
    OwnedByteReplacement, OwnedContent, Record, Retention, SessionUpdate, Sessions, StatCache, VersionBody, clock,
    delta_chain, operation, pack, prepared, prune,
};
pub(crate) use failure::of_io;
pub(crate) use open::identity;

use append_log::AppendLog;
use cache::HistoryCache;
use found_file::FoundFile;
use log::LogRequest;
use sql_blob_store::{CachedBlobStore, GraphCache, SqlBlobStore};

/// Sessions and operations in a file that all processes share. A file that is damaged, foreign or newer than this
/// program is set aside, and [`Sessions::notices`] reports it. Damage found during a call fails that call only: the
/// next one starts a new database.
///
/// A process that exits without dropping it leaves a write-ahead log that the next one has to read; so drop it, after
/// the reply.
pub struct Database {
    path: PathBuf,
    limits: HistoryLimits,
    /// The file is on a network file system.
    on_network: bool,
    state: Mutex<DatabaseState>,
    /// The directory of a [throwaway](Database::open_throwaway) copy, which is removed last.
    copy: Option<TempDir>,
}

struct DatabaseState {
    /// `None` after damage was found; the next call opens the database again.
    connection: Option<Connection>,
    /// Device and inode of the opened file.
    file: Option<(u64, u64)>,
    notices: Vec<String>,
    /// Number of records until the next check of the limits.
    until_upkeep: u32,
    /// Bytes of contents added since the last check.
    added: u64,
    append_log: AppendLog,
    /// The append log can take operations: this process has set the next number, and locks work.
    append_log_usable: bool,
    /// The append log was damaged, and that was not reported yet.
    append_log_damaged: bool,
    /// The file with what a first snapshot found, if this process created it.
    found_file: Option<FoundFile>,
    /// Generation in which there was no such file.
    found_file_missing_at: Option<u64>,
    cache: HistoryCache,
    /// Number of connections opened so far.
    connections_opened: u64,
    graph_cache: Option<GraphCache>,
}

impl Database {
    /// Opens `sessions.db` in `dir`, creating both as needed, accessible to the owner only. If this fails, the caller
    /// can fall back to [`MemoryHistory`](crate::MemoryHistory).
    pub fn open(dir: &Path, limits: HistoryLimits) -> Result<Database> {
        open::make_directory(dir)?;
        let path = dir.join("sessions.db");
        let mut notices = Vec::new();
        let connection = Some(open::open(&path, &mut notices)?);
        let file = open::identity(&path);
        // Most processes make one record and exit, so the clock decides which of them checks the limits.
        let until_upkeep = u32::try_from(clock::now_us().rem_euclid(prune::UPKEEP_EVERY_RECORDS.into())).unwrap_or(0);
        let (append_log, cache) = (AppendLog::open(&path)?, HistoryCache::default());
        let state = DatabaseState {
            connection,
            file,
            notices,
            until_upkeep,
            added: 0,
            append_log,
            append_log_usable: false,
            append_log_damaged: false,
            found_file: None,
            found_file_missing_at: None,
            cache,
            connections_opened: 1,
            graph_cache: None,
        };
        let on_network = emendate_os::is_network_file_system(dir);
        Ok(Database { on_network, path, limits, state: Mutex::new(state), copy: None })
    }

    /// Opens a copy of the database in `dir`, which is left as it is. The copy is removed when it is dropped.
    ///
    /// Errors: `lock.timeout` if other processes keep writing; those of the disk.
    pub fn open_throwaway(dir: &Path, limits: HistoryLimits) -> Result<Database> {
        let copy = tempfile::Builder::new().prefix("emend-").tempdir();
        let copy = copy.map_err(|error| failure::of_io(&error, "create", &std::env::temp_dir()))?;
        copy::copy_database(dir, copy.path())?;
        let mut database = Database::open(copy.path(), limits)?;
        database.copy = Some(copy);
        Ok(database)
    }

    /// Path of the database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn state(&self) -> MutexGuard<'_, DatabaseState> {
        // A transaction interrupted by a panic was rolled back, so the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the connection, and closes a file that proves to be damaged.
    fn with<T>(
        &self,
        state: &mut DatabaseState,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let connection = match &mut state.connection {
            Some(connection) => connection,
            none => {
                let connection = none.insert(open::open(&self.path, &mut state.notices)?);
                state.file = open::identity(&self.path);
                state.connections_opened += 1;
                connection
            }
        };
        work(connection).map_err(|error| {
            if failure::is_damage(&error) {
                open::mark_damaged(&self.path);
                state.connection = None;
            }
            failure::of_sql(&error, &self.path)
        })
    }

    /// Runs `work` on the stored versions and the changes between them, within one read transaction.
    fn with_graph<T>(&self, work: impl FnOnce(&CachedBlobStore<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let state = &mut *self.state();
        self.flush(state)?;
        // Opens the database if needed.
        self.with(state, |_| Ok(()))?;
        let (opened, graph_cache) = (state.connections_opened, RefCell::new(state.graph_cache.take()));
        let done = self.with(state, |connection| {
            let reading = connection.transaction()?;
            work(&CachedBlobStore { blobs: SqlBlobStore(&reading), opened, graph_cache: &graph_cache })
        });
        state.graph_cache = graph_cache.into_inner();
        done
    }

    /// Collects garbage when it is due.
    fn upkeep(&self, state: &mut DatabaseState, now: i64) -> Result<()> {
        if state.until_upkeep > 0 && state.added <= prune::UPKEEP_ADDED_BYTES.min(self.limits.total / 8) {
            state.until_upkeep -= 1;
            return Ok(());
        }
        state.until_upkeep = prune::UPKEEP_EVERY_RECORDS;
        state.added = 0;
        self.with(state, |connection| match upkeep::run(connection, &self.limits, now) {
            // The record is safe. If cleaning up failed, the next call tries again.
            Err(error) if !failure::is_damage(&error) => Ok(()),
            result => result,
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = &state.connection {
            open::before_close(connection, &self.path, state.file);
        }
    }
}

impl Sessions for Database {
    fn record(&self, session: &str, path: &[u8], record: &Record, body: &VersionBody<'_>) -> Result<()> {
        let state = &mut *self.state();
        let now = clock::now_us();
        self.change_records(state, |connection, cache_update| {
            let kept = keep(&mut SqlBlobStore(connection), record.content, body, &self.limits)?;
            let alone = kept == KeepOutcome::Contested;
            let lines = rows::record(connection, session, path, record, alone, now, self.limits.versions)?;
            cache_update.records.push((session.to_owned(), path.to_vec(), Record { lines, ..record.clone() }));
            outside::mark_unknown(connection, path, record.state(), now, cache_update)?;
            cache_update
                .stored
                .extend(delta_chain::is_stored(&SqlBlobStore(connection), record.content)?.then_some(record.content));
            if let KeepOutcome::Agreed(added) = kept {
                cache_update.added += added;
            }
            Ok(())
        })?;
        self.upkeep(state, now)
    }

    fn latest(&self, session: &str, path: &[u8]) -> Result<Option<Record>> {
        let state = self.state();
        if let Some(head) = state.append_log.read_head()
            && let Some(known) = state.cache.latest(head.generation, session, path)
        {
            return Ok(Some(known.clone()));
        }
        drop(state);
        self.ask(|connection| rows::latest(connection, session, path))
    }

    fn latest_of(&self, session: &str, paths: &[&[u8]]) -> Result<Vec<Option<Record>>> {
        self.ask(|connection| rows::latest_of(&*connection.transaction()?, session, paths))
    }

    fn versions(&self, session: &str, path: &[u8]) -> Result<Vec<Record>> {
        self.ask(|connection| rows::versions(connection, session, path))
    }

    fn by_tag(&self, path: &[u8], tag: Tag) -> Result<Option<Record>> {
        self.ask(|connection| rows::by_tag(connection, path, tag))
    }

    fn paths(&self, session: &str) -> Result<Vec<Vec<u8>>> {
        self.ask(|connection| rows::paths(connection, session))
    }

    fn bytes(&self, content: ContentId) -> Result<Option<Vec<u8>>> {
        self.with_graph(|along| delta_chain::content(along, content, &[], &self.limits))
    }

    fn forget(&self, session: &str, path: &[u8]) -> Result<()> {
        let state = &mut *self.state();
        self.change_records(state, |connection, _| {
            let mut delete = connection.prepare_cached("DELETE FROM seen WHERE session=?1 AND path=?2")?;
            delete.execute(rusqlite::params![session, path]).map(drop)
        })?;
        state.cache.forget(session, path);
        Ok(())
    }

    fn words(&self, path: &[u8]) -> Result<Option<Vec<u8>>> {
        let kept = self.with(&mut self.state(), |connection| rows::words(connection, path))?;
        Ok(kept.and_then(|(data, zstd)| pack::unpack(data, zstd, self.limits.blob)))
    }

    fn keep_words(&self, path: &[u8], words: &[u8], before: Option<&[u8]>) -> Result<bool> {
        let fits = words.len() as u64 <= self.limits.blob;
        let packed = fits.then(|| pack::pack(words));
        let now = clock::now_us();
        self.with(&mut self.state(), |connection| {
            let tx = Transaction::new(connection, TransactionBehavior::Immediate)?;
            let kept = rows::words(&tx, path)?.and_then(|(data, zstd)| pack::unpack(data, zstd, self.limits.blob));
            let same = kept.as_deref() == before;
            if same {
                rows::keep_words(&tx, path, packed.as_ref(), now)?;
            }
            tx.commit()?;
            Ok(same)
        })
    }

    fn registers(&self, session: &str) -> Result<Option<Vec<u8>>> {
        let kept = self.with(&mut self.state(), |connection| rows::registers(connection, session))?;
        Ok(kept.and_then(|(data, zstd)| pack::unpack(data, zstd, self.limits.blob)))
    }

    fn keep_registers(&self, session: &str, registers: &[u8]) -> Result<()> {
        let fits = !registers.is_empty() && registers.len() as u64 <= self.limits.blob;
        let packed = fits.then(|| pack::pack(registers));
        let now = clock::now_us();
        self.with(&mut self.state(), |connection| rows::keep_registers(connection, session, packed.as_ref(), now))
    }

    fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notices)
    }
}

impl OperationLog for Database {
    fn log(
        &self,
        operation: &Operation,
        changes: &[ChangeContent<'_>],
        known: &[SessionUpdate<'_>],
    ) -> Result<LogReceipt> {
        operation::check_changes(operation, changes.len())?;
        let state = &mut *self.state();
        let now = clock::now_us();
        let entered = self.log_operation(state, LogRequest { operation, changes, known }, now)?;
        self.upkeep(state, now).map(|()| entered)
    }

    fn skip_number(&self) -> Result<()> {
        self.skip_next_number(&mut self.state())
    }

    fn newest_seen(&self, paths: &[&[u8]]) -> Result<Vec<Option<ContentId>>> {
        self.newest_contents(paths)
    }

    fn last_known(&self, paths: &[&[u8]]) -> Result<Vec<Option<KnownState>>> {
        self.ask(|connection| outside::last_known(&*connection.transaction()?, paths))
    }

    fn log_outside(&self, operation: &Operation, contents: &[OutsideContent<'_>]) -> Result<Option<LogReceipt>> {
        operation::check_changes(operation, contents.len())?;
        let state = &mut *self.state();
        let now = clock::now_us();
        let logged = self.log_outside_change(state, operation, contents, now)?;
        self.upkeep(state, now).map(|()| logged)
    }

    fn remember_files(&self, found: &[NewlyKnown<'_>]) -> Result<()> {
        if !self.on_network {
            return self.keep_found(&mut self.state(), found);
        }
        // Before the database is locked.
        let prepared = prepared::of_found(found, &self.limits);
        let state = &mut *self.state();
        let now = clock::now_us();
        self.change_records(state, |connection, cache_update| {
            outside::remember_files(connection, found, &prepared, now, &self.limits, cache_update)
        })?;
        self.upkeep(state, now)
    }

    fn remember_changes(&self, changes: &[&crate::FileChange]) -> Result<()> {
        self.change_records(&mut self.state(), |connection, update| outside::mark_changes(connection, changes, update))
    }

    fn run_deferred(&self) -> Result<()> {
        self.flush_found(&mut self.state())
    }

    fn all_newest_seen(&self) -> Result<HashMap<Vec<u8>, ContentId>> {
        self.ask(|connection| outside::all_newest(connection))
    }

    fn known_paths(&self, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>> {
        self.ask(|connection| outside::known_paths(connection, is_wanted))
    }

    fn stat_cache(&self) -> Option<StatCache> {
        stat_file::read(&self.path)
    }

    fn keep_stat_cache(&self, cache: &StatCache) -> Result<()> {
        stat_file::write(&self.path, cache)
    }

    fn mark_committed(&self, ids: &[OperationId]) -> Result<()> {
        let state = &mut *self.state();
        state.graph_cache = None;
        self.change(state, |connection, _| log::mark_committed(connection, ids))?;
        self.upkeep(state, clock::now_us())
    }

    fn resolve(&self, id: OperationId, certain: bool) -> Result<()> {
        self.change(&mut self.state(), |connection, _| log::resolve(connection, id, certain))
    }

    fn abort(&self, id: OperationId, certain: bool) -> Result<()> {
        let state = &mut *self.state();
        self.change_records(state, |connection, _| log::abort(connection, id, certain))?;
        state.cache.clear();
        Ok(())
    }

    fn in_doubt(&self) -> Result<Vec<LogEntry>> {
        self.ask(|connection| log::in_doubt(&*connection.transaction()?))
    }

    fn operations(&self, filter: &OperationFilter<'_>) -> Result<Vec<LogEntry>> {
        self.ask(|connection| log::operations(&*connection.transaction()?, filter))
    }

    fn newest(&self) -> Result<Option<OperationId>> {
        self.ask(|connection| log::newest(connection))
    }

    fn operation(&self, name: OperationName) -> Result<Option<LogEntry>> {
        self.ask(|connection| log::operation(&*connection.transaction()?, name))
    }

    fn operations_after(&self, number: u64, limit: usize) -> Result<Vec<LogEntry>> {
        let state = &mut *self.state();
        if !state.append_log.stamp().has_log() {
            return Ok(Vec::new());
        }
        self.reopen_if_replaced(state)?;
        self.flush(state)?;
        self.with(state, |connection| log::operations_after(&*connection.transaction()?, number, limit))
    }

    fn stamp(&self) -> LogStamp {
        self.state().append_log.stamp()
    }

    fn directory(&self) -> Option<&Path> {
        self.path.parent()
    }

    fn gaps(&self) -> Result<Vec<HistoryGap>> {
        self.find_gaps(&mut self.state())
    }

    fn content(&self, content: ContentId, at_hand: &[KnownContent<'_>]) -> Result<Option<Vec<u8>>> {
        self.with_graph(|along| delta_chain::content(along, content, at_hand, &self.limits))
    }

    fn replacements(&self, from: ContentId, to: ContentId) -> Result<Option<Vec<OwnedByteReplacement>>> {
        self.with_graph(|along| delta_chain::replacements(along, from, to, &self.limits))
    }

    fn replaced_spans(&self, operation: u64, path: &[u8]) -> Result<Option<Vec<ReplacedSpan>>> {
        self.ask(|connection| spans::replaced_spans(connection, operation, path))
    }

    fn linked_versions(&self, content: ContentId, limit: usize) -> Result<Vec<ContentId>> {
        self.with_graph(|along| delta_chain::linked_versions(along, content, limit))
    }

    fn can_rebuild(&self, content: ContentId, at_hand: &[ContentId]) -> Result<bool> {
        self.with_graph(|along| delta_chain::can_rebuild(along, content, at_hand))
    }

    fn not_stored(&self, contents: &[ContentId]) -> Result<HashSet<ContentId>> {
        self.ask(|connection| delta_chain::not_stored(&SqlBlobStore(&*connection.transaction()?), contents))
    }

    fn store_versions(&self, versions: &[OwnedContent]) -> Result<()> {
        let state = &mut *self.state();
        self.change(state, |connection, cache_update| {
            for OwnedContent { id, bytes } in versions {
                let kept = keep(&mut SqlBlobStore(connection), *id, &VersionBody::Bytes(bytes), &self.limits)?;
                cache_update.added += delta_chain::added(kept);
                cache_update.stored.extend(delta_chain::is_stored(&SqlBlobStore(connection), *id)?.then_some(*id));
            }
            Ok(())
        })?;
        self.upkeep(state, clock::now_us())
    }

    fn disk_usage(&self) -> Option<DiskUsage> {
        let (device, _) = open::identity(&self.path)?;
        Some(DiskUsage { device, bytes: open::size(&self.path) })
    }

    fn collect_garbage(&self, retention: Retention) -> Result<GcStats> {
        let before = open::size(&self.path);
        let state = &mut *self.state();
        self.change_records(state, |_, _| Ok(()))?;
        let (operations, contents) =
            self.with(state, |connection| upkeep::free(connection, &self.limits, retention, clock::now_us()))?;
        state.cache.clear();
        let mut spool = self.lock(state)?;
        if spool.head().is_empty() {
            // Space that cannot be released is reused later.
            let _ = spool.shrink();
        }
        drop(spool);
        Ok(GcStats { operations, contents, bytes: before.saturating_sub(open::size(&self.path)) })
    }
}
