//! Transfer from the append log to the database, so that every query sees both.

use emendate_core::{ContentId, Result};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::append_log::{self, AppendLog, AppendLogGuard};
use super::cache::CacheUpdate;
use super::entry::{self, AppendLogEntry};
use super::found_file::{self, FoundEntry, FoundFile, Frames};
use super::log::{self, LogRequest, LogSignature};
use super::{Database, DatabaseState, failure, gaps, open, outside};
use crate::{
    ChangeContent, HistoryGap, HistoryLimits, LogReceipt, NewlyKnown, Operation, OperationId, OutsideContent,
    SessionUpdate, clock, operation, prepared,
};

/// Paths that are looked up one by one; of more, everything between the first and the last is read.
const PATHS_READ_SINGLY_MAX: usize = 64;

impl Database {
    /// Runs `work` on the connection after flushing the append log into the database.
    pub(super) fn ask<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        let state = &mut *self.state();
        self.flush(state)?;
        self.with(state, work)
    }

    /// Flushes the append log into the database.
    pub(super) fn flush(&self, state: &mut DatabaseState) -> Result<()> {
        let head = state.append_log.read_head();
        let generation = head.map(|head| head.generation);
        // Every process that adds to the file increments the generation afterwards.
        let has_found = || generation != state.found_file_missing_at && found_file::exists(&self.path);
        if head.is_none_or(|head| !head.is_empty()) || has_found() {
            self.change(state, |_, _| Ok(()))?;
        }
        state.found_file_missing_at = generation;
        Ok(())
    }

    /// Keeps files that a snapshot found beside the database, until they are moved there.
    pub(super) fn keep_found(&self, state: &mut DatabaseState, found: &[NewlyKnown<'_>]) -> Result<()> {
        let mut log_guard = self.lock(state)?;
        let failed = |error: std::io::Error| failure::of_io(&error, "write beside", &self.path);
        if !state.found_file.as_ref().is_some_and(|file| file.is_current(&self.path)) {
            if found_file::exists(&self.path) {
                // Another process wrote it, perhaps not to its end.
                self.write(state, &mut log_guard, GapCheck::Entries, |_, _| Ok(()))?;
            }
            state.found_file = Some(FoundFile::create(&self.path).map_err(failed)?);
        }
        if let Some(file) = &mut state.found_file {
            file.append(found).map_err(failed)?;
        }
        log_guard.bump_generation().map_err(failed)?;
        state.cache.clear();
        Ok(())
    }

    /// Flushes the append log and runs `work`, in one transaction.
    pub(super) fn change<T>(
        &self,
        state: &mut DatabaseState,
        work: impl FnOnce(&Connection, &mut CacheUpdate) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut log_guard = self.lock(state)?;
        self.write(state, &mut log_guard, GapCheck::Always, work)
    }

    /// Flushes the append log and runs `work`, which changes sessions' records, in one transaction. The caches of other
    /// processes become invalid.
    pub(super) fn change_records<T>(
        &self,
        state: &mut DatabaseState,
        work: impl FnOnce(&Connection, &mut CacheUpdate) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut log_guard = self.lock(state)?;
        let before = log_guard.head().generation;
        log_guard.bump_generation().map_err(|error| failure::of_io(&error, "write beside", &self.path))?;
        // The cache stays valid; if the change fails, it is cleared below.
        state.cache.advance(before, log_guard.head().generation);
        let done = self.write(state, &mut log_guard, GapCheck::Entries, work);
        if done.is_err() {
            state.cache.clear();
        }
        done
    }

    /// Moves what a snapshot of this process found to the tables. The rest is moved by other processes, or by the next
    /// query.
    pub(super) fn flush_found(&self, state: &mut DatabaseState) -> Result<()> {
        if state.found_file.is_none() {
            return Ok(());
        }
        self.change(state, |_, _| Ok(()))?;
        self.upkeep(state, clock::now_us())
    }

    pub(super) fn lock(&self, state: &mut DatabaseState) -> Result<AppendLogGuard> {
        let (mut log_guard, whole) = state.append_log.lock()?;
        if state.append_log.take_recreated() {
            self.handle_removed_file(state);
        }
        if !whole {
            state.append_log_usable = false;
            state.append_log_damaged = true;
            // If this fails, the next process finds the damage and reports it again.
            let _ = log_guard.clear();
        }
        Ok(log_guard)
    }

    /// Handles the removal of the append log. If the database was removed too, nothing would find what is written to
    /// its open file.
    fn handle_removed_file(&self, state: &mut DatabaseState) {
        if open::identity(&self.path) == state.file {
            return;
        }
        state.connection = None;
        state.append_log_usable = false;
        state.cache.clear();
        let path = self.path.display();
        state.notices.push(format!(
            "{path} was removed while it was in use, and a new one was created: files must be read again before they are edited, and earlier operations cannot be undone."
        ));
    }

    /// Opens the files again if others are at their paths, for a process that only reads: a writer finds out when it
    /// takes the lock.
    pub(super) fn reopen_if_replaced(&self, state: &mut DatabaseState) -> Result<()> {
        if state.append_log.is_replaced() {
            state.append_log = AppendLog::open(&self.path)?;
        } else if open::identity(&self.path) == state.file {
            return Ok(());
        }
        state.connection = None;
        state.append_log_usable = false;
        state.cache.clear();
        Ok(())
    }

    /// Reports a gap found in the log.
    fn report(&self, state: &mut DatabaseState, gap: Option<HistoryGap>) {
        let spoilt = std::mem::take(&mut state.append_log_damaged);
        let notice = match gap {
            Some(gap) => format!(
                "{} was damaged or replaced by an earlier state, or could not be written: {gap}. Undo and redo go further back than that only \
                 with the id of an operation.",
                self.path.display(),
            ),
            None if spoilt => {
                let path = self.path.with_extension("spool");
                format!("{} was damaged: the latest operations may be missing from the history.", path.display())
            }
            None => return,
        };
        state.notices.push(notice);
    }

    fn write<T>(
        &self,
        state: &mut DatabaseState,
        log_guard: &mut AppendLogGuard,
        check: GapCheck,
        work: impl FnOnce(&Connection, &mut CacheUpdate) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let (entries, whole) = log_guard.entries();
        let found = if found_file::exists(&self.path) { Frames::open(&self.path).ok() } else { None };
        let has_found = found.is_some();
        // The database may have been set aside; the entries of other processes must not go into that file.
        if (has_found || !entries.is_empty()) && open::identity(&self.path) != state.file {
            state.connection = None;
        }
        let turn = log_guard.head().generation;
        state.cache.advance(turn, turn);
        let mut cache_update = CacheUpdate::default();
        let checked = check == GapCheck::Always || state.append_log_damaged || !entries.is_empty();
        let next = log_guard.head().next;
        let (done, gap, unread) = self.with(state, |connection| {
            let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
            if checked && next == 0 && gaps::highest(&transaction)? == 0 {
                // A database with operations but an append log without a number means that the append log was lost; a
                // new log begins with number 1.
                let _ = log_guard.raise_next_number(1);
            }
            let before = if checked { gaps::find_gap(&transaction, expected(&entries, next))? } else { None };
            // The found files were seen before any change in the entries, so they are added first.
            for frame in found.into_iter().flatten() {
                self.move_found(&transaction, &frame, &mut cache_update)?;
            }
            let unread = apply_entries(&transaction, &entries, &self.limits, &mut cache_update)?;
            let after = if unread > 0 || !whole { gaps::find_gap(&transaction, next)? } else { None };
            let done = work(&transaction, &mut cache_update)?;
            let highest = if checked && log_guard.head().next == 0 { gaps::highest(&transaction)? } else { 0 };
            transaction.commit()?;
            if highest > 0 {
                // The gap is recorded, so it need not be found again.
                let _ = log_guard.raise_next_number(highest + 1);
            }
            Ok((done, after.or(before), unread))
        })?;
        if has_found {
            state.found_file = None;
            found_file::remove(&self.path);
        }
        if !log_guard.head().is_empty() {
            // If this fails, the entries left there are recognized as applied next time.
            let _ = log_guard.clear();
        }
        state.append_log_damaged |= !whole || unread > 0;
        self.report(state, gap);
        state.added = state.added.saturating_add(cache_update.added);
        state.cache.update(cache_update);
        Ok(done)
    }

    /// Moves files that a snapshot found to the tables.
    fn move_found(
        &self,
        connection: &Connection,
        frame: &[FoundEntry],
        cache_update: &mut CacheUpdate,
    ) -> rusqlite::Result<()> {
        let found: Vec<NewlyKnown<'_>> = frame.iter().map(FoundEntry::as_known).collect();
        let prepared = prepared::of_found(&found, &self.limits);
        outside::remember_files(connection, &found, &prepared, clock::now_us(), &self.limits, cache_update)
    }

    /// Appends an operation to the append log; `None` if it has to go into the database.
    fn append(
        &self,
        state: &mut DatabaseState,
        log_guard: &mut AppendLogGuard,
        request: LogRequest<'_>,
        now: i64,
    ) -> Option<LogReceipt> {
        let LogRequest { operation, changes, known } = request;
        // A caller that provides the new bytes wants them stored at once if the base is not stored.
        if !state.append_log_usable
            || !changes
                .iter()
                .all(|change| change.new_bytes.is_none() || change.base.is_none_or(|it| state.cache.is_stored(it)))
        {
            return None;
        }
        let head = log_guard.head();
        let most = append_log::entry_bytes_max(operation.files.len())
            .min(usize::try_from(self.limits.delta_texts_max()).unwrap_or(append_log::ENTRY_BYTES_MAX));
        let entry = entry::pack(head.next, now, operation.owner(), operation, changes, known, most)?;
        // If this fails, the database reports the reason or takes the operation.
        if !log_guard.append(&entry).ok()? {
            return None;
        }
        state.cache.advance(head.generation, log_guard.head().generation);
        for known in known {
            state.cache.forget(&operation.session, known.path);
        }
        for file in &operation.files {
            let content = file.after.map_or(operation::NOTHING, |state| state.content);
            state.cache.set_newest(file.path.clone(), Some(content));
        }
        let after = operation.files.iter().filter_map(|file| file.after);
        let loose = after.map(|side| side.content).collect();
        Some(LogReceipt { id: OperationId::new(head.next, now), unstored: loose, lost: Vec::new() })
    }

    /// Returns the content that was last known at each path.
    pub(super) fn newest_contents(&self, paths: &[&[u8]]) -> Result<Vec<Option<ContentId>>> {
        let state = &mut *self.state();
        let head = state.append_log.read_head();
        let cached = |path: &&[u8]| state.cache.newest(head?.generation, path);
        if let Some(known) = paths.iter().map(cached).collect::<Option<Vec<_>>>() {
            return Ok(known);
        }
        self.flush(state)?;
        let known = self.with(state, |connection| {
            let reading = connection.transaction()?;
            if paths.len() > PATHS_READ_SINGLY_MAX {
                return outside::newest_of_many(&reading, paths);
            }
            paths.iter().map(|path| outside::newest_seen(&reading, path)).collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(known)
    }

    /// Logs a change that others made.
    pub(super) fn log_outside_change(
        &self,
        state: &mut DatabaseState,
        operation: &Operation,
        contents: &[OutsideContent<'_>],
        now: i64,
    ) -> Result<Option<LogReceipt>> {
        let mut log_guard = self.lock(state)?;
        let before = log_guard.head();
        log_guard.bump_generation().map_err(|error| failure::of_io(&error, "write beside", &self.path))?;
        state.cache.advance(before.generation, log_guard.head().generation);
        let logged = self.write(state, &mut log_guard, GapCheck::Always, |connection, cache_update| {
            // No process is still working on it.
            let signature = LogSignature { number: log::next_number(connection, before.next)?, at: now, owner: 0 };
            outside::log_outside(connection, operation, contents, signature, &self.limits, cache_update)
        });
        let logged = logged.inspect_err(|_| state.cache.clear())?;
        if let Some(logged) = &logged {
            state.append_log_usable = log_guard.raise_next_number(logged.id.number + 1).is_ok() && !self.on_network;
        }
        Ok(logged)
    }

    /// Logs an operation, in the append log if possible, else in the database.
    pub(super) fn log_operation(
        &self,
        state: &mut DatabaseState,
        request: LogRequest<'_>,
        now: i64,
    ) -> Result<LogReceipt> {
        let mut log_guard = self.lock(state)?;
        if let Some(entered) = self.append(state, &mut log_guard, request, now) {
            return Ok(entered);
        }
        let before = log_guard.head();
        log_guard.bump_generation().map_err(|error| failure::of_io(&error, "write beside", &self.path))?;
        state.cache.advance(before.generation, log_guard.head().generation);
        let entered = self.write(state, &mut log_guard, GapCheck::Always, |connection, cache_update| {
            let number = log::next_number(connection, before.next)?;
            let signature = LogSignature { number, at: now, owner: request.operation.owner() };
            log::log(connection, request, signature, &self.limits, cache_update)
        });
        let entered = match entered {
            Ok(Some(entered)) => entered,
            Ok(None) => return Err(operation::already_undone(request.operation)),
            Err(error) => {
                state.cache.clear();
                return Err(error);
            }
        };
        // From here on the append log knows the next number, even if it had been lost.
        state.append_log_usable = log_guard.raise_next_number(entered.id.number + 1).is_ok() && !self.on_network;
        Ok(entered)
    }
}

/// Condition for checking that the log is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GapCheck {
    Always,
    /// Only if there are entries to add.
    Entries,
}

/// Returns the number of the first operation that the database does not have yet; 0 if unknown.
fn expected(entries: &[Vec<u8>], next: u64) -> u64 {
    entries.first().and_then(|bytes| entry::unpack(bytes)).map_or(next, |entry| entry.number)
}

/// Applies the append log's entries to the database. Skips entries that are there already because a process ended
/// before it cleared the append log. Returns the number of unreadable entries.
fn apply_entries(
    connection: &Connection,
    entries: &[Vec<u8>],
    limits: &HistoryLimits,
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<usize> {
    let mut unread = 0;
    let mut expected = None;
    for bytes in entries {
        let Some(AppendLogEntry { number: given, at, owner, operation, changes, known }) = entry::unpack(bytes) else {
            unread += 1;
            gaps::record_gap(connection, HistoryGap { after: gaps::newest(connection)?, until: None })?;
            continue;
        };
        if expected.is_some_and(|expected| given > expected) {
            // An operation between them was carried out and could not be logged.
            gaps::find_gap(connection, given)?;
        }
        expected = Some(given + 1);
        let mut signature = LogSignature { number: given.cast_signed(), at, owner };
        match log::logged_at(connection, given)? {
            Some(same) if same == at => continue,
            // Taken by a program that does not know the append log.
            Some(_) => signature.number = log::next_number(connection, given)?,
            None => {}
        }
        let changes: Vec<ChangeContent<'_>> = changes
            .iter()
            .map(|(base, swaps)| ChangeContent { base: *base, replacements: swaps, ..ChangeContent::default() })
            .collect();
        let known: Vec<SessionUpdate<'_>> = known.iter().map(|(path, record)| SessionUpdate { path, record }).collect();
        let request = LogRequest { operation: &operation, changes: &changes, known: &known };
        log::log(connection, request, signature, limits, cache_update)?;
    }
    Ok(unread)
}
