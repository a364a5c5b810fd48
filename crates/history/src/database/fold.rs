//! Transfer from the spool to the database, so that every query sees both.

use emendate_core::Result;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::entry::{self, Entry};
use super::log::{self, Signed};
use super::memo::Learned;
use super::spool::{self, Locked};
use super::{Database, State, failure, gaps, open};
use crate::{Change, Entered, Gap, Known, Limits, Operation, OperationId, operation};

/// An operation, the changes of its files, and the resulting records of its session.
type Logging<'a> = (&'a Operation, &'a [Change<'a>], &'a [Known<'a>]);

impl Database {
    /// Runs `work` on the connection after flushing the spool into the database.
    pub(super) fn ask<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        let state = &mut *self.state();
        self.fold_in(state)?;
        self.with(state, work)
    }

    /// Flushes the spool into the database.
    pub(super) fn fold_in(&self, state: &mut State) -> Result<()> {
        if state.spool.look().is_none_or(|head| !head.is_empty()) {
            self.change(state, |_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Flushes the spool and runs `work`, in one transaction.
    pub(super) fn change<T>(
        &self,
        state: &mut State,
        work: impl FnOnce(&Connection, &mut Learned) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut spool = self.lock(state)?;
        self.write(state, &mut spool, Check::Always, work)
    }

    /// The same for changes of sessions' records, which invalidate the caches of other processes.
    pub(super) fn teach<T>(
        &self,
        state: &mut State,
        work: impl FnOnce(&Connection, &mut Learned) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut spool = self.lock(state)?;
        let before = spool.head().turn;
        spool.turn().map_err(|error| failure::of_io(&error, "write beside", &self.path))?;
        // The cache stays valid; if the change fails, it is cleared below.
        state.memo.go_on(before, spool.head().turn);
        let done = self.write(state, &mut spool, Check::Entries, work);
        if done.is_err() {
            state.memo.clear();
        }
        done
    }

    pub(super) fn lock(&self, state: &mut State) -> Result<Locked> {
        let (mut spool, whole) = state.spool.lock()?;
        if state.spool.was_removed() {
            self.go_on_anew(state);
        }
        if !whole {
            state.spools = false;
            state.spoilt = true;
            // If this fails, the next process finds the damage and reports it again.
            let _ = spool.clear();
        }
        Ok(spool)
    }

    /// Handles the removal of the spool. If the database was removed too, nothing would find what is written to its
    /// open file.
    fn go_on_anew(&self, state: &mut State) {
        if open::identity(&self.path) == state.file {
            return;
        }
        state.connection = None;
        state.spools = false;
        state.memo.clear();
        let path = self.path.display();
        state.notices.push(format!(
            "{path} was removed while it was in use, and a new one begun: files have to be read again before they are \
             edited, and what was done until now cannot be undone."
        ));
    }

    /// Reports a gap found in the log.
    fn report(&self, state: &mut State, gap: Option<Gap>) {
        let spoilt = std::mem::take(&mut state.spoilt);
        let notice = match gap {
            Some(gap) => format!(
                "{} was damaged, or replaced by an earlier state: {gap}. Undo and redo go further back than that only \
                 with the id of an operation.",
                self.path.display(),
            ),
            None if spoilt => {
                let path = self.path.with_extension("spool");
                format!("{} was damaged: what was done last may be missing from the history.", path.display())
            }
            None => return,
        };
        state.notices.push(notice);
    }

    fn write<T>(
        &self,
        state: &mut State,
        spool: &mut Locked,
        check: Check,
        work: impl FnOnce(&Connection, &mut Learned) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let (entries, whole) = spool.entries();
        // The database may have been set aside; the entries of other processes must not go into that file.
        if !entries.is_empty() && open::identity(&self.path) != state.file {
            state.connection = None;
        }
        let turn = spool.head().turn;
        state.memo.go_on(turn, turn);
        let mut learned = Learned::default();
        let checked = check == Check::Always || state.spoilt || !entries.is_empty();
        let next = spool.head().next;
        let (done, gap, unread) = self.with(state, |connection| {
            let all = Transaction::new(connection, TransactionBehavior::Immediate)?;
            if checked && next == 0 && gaps::highest(&all)? == 0 {
                // A database with operations but a spool without a number means that the spool was lost; a new log
                // begins with number 1.
                let _ = spool.number(1);
            }
            let before = if checked { gaps::find(&all, expected(&entries, next))? } else { None };
            let unread = fold(&all, &entries, &self.limits, &mut learned)?;
            let after = if unread > 0 || !whole { gaps::find(&all, next)? } else { None };
            let done = work(&all, &mut learned)?;
            let highest = if checked && spool.head().next == 0 { gaps::highest(&all)? } else { 0 };
            all.commit()?;
            if highest > 0 {
                // The gap is recorded, so it need not be found again.
                let _ = spool.number(highest + 1);
            }
            Ok((done, after.or(before), unread))
        })?;
        if !spool.head().is_empty() {
            // If this fails, the entries left there are recognized as applied next time.
            let _ = spool.clear();
        }
        state.spoilt |= !whole || unread > 0;
        self.report(state, gap);
        state.added = state.added.saturating_add(learned.added);
        state.memo.learn(learned);
        Ok(done)
    }

    /// Appends an operation to the spool; `None` if it has to go into the database.
    fn spool(
        &self,
        state: &mut State,
        spool: &mut Locked,
        (operation, changes, known): Logging<'_>,
        now: i64,
    ) -> Option<Entered> {
        // A caller that provides the new bytes wants them stored at once if the base is not stored.
        let settled = |change: &Change<'_>| change.new.is_none() || change.base.is_none_or(|it| state.memo.holds(it));
        if !state.spools || !changes.iter().all(settled) {
            return None;
        }
        let head = spool.head();
        let most = spool::room(operation.files.len()).min(usize::try_from(self.limits.link()).unwrap_or(spool::ENTRY));
        let entry = entry::pack((head.next, now, std::process::id()), operation, changes, known, most)?;
        // If this fails, the database reports the reason or takes the operation.
        if !spool.append(&entry).ok()? {
            return None;
        }
        state.memo.go_on(head.turn, spool.head().turn);
        for known in known {
            state.memo.forget(&operation.session, known.path);
        }
        let after = operation.files.iter().filter_map(|file| file.after);
        let loose = after.map(|side| side.content).collect();
        Some(Entered { id: OperationId::new(head.next, now), loose, lost: Vec::new() })
    }

    /// Logs an operation, in the spool if possible, else in the database.
    pub(super) fn enter(&self, state: &mut State, logging: Logging<'_>, now: i64) -> Result<Entered> {
        let mut spool = self.lock(state)?;
        if let Some(entered) = self.spool(state, &mut spool, logging, now) {
            return Ok(entered);
        }
        let io = |error| failure::of_io(&error, "write beside", &self.path);
        let before = spool.head();
        spool.turn().map_err(io)?;
        state.memo.go_on(before.turn, spool.head().turn);
        let entered = self.write(state, &mut spool, Check::Always, |all, learned| {
            let number = log::number(all, before.next)?;
            let signed = Signed { number, at: now, owner: std::process::id() };
            log::log(all, logging.0, logging.1, logging.2, (signed, &self.limits), learned)
        });
        let entered = match entered {
            Ok(Some(entered)) => entered,
            Ok(None) => return Err(operation::overtaken(logging.0)),
            Err(error) => {
                state.memo.clear();
                return Err(error);
            }
        };
        // From here on the spool knows the next number, even if it had been lost.
        state.spools = spool.number(entered.id.number + 1).is_ok() && !self.distant;
        Ok(entered)
    }
}

/// Condition for checking that the log is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Always,
    /// If there are entries to add.
    Entries,
}

/// Returns the number of the first operation that the database does not have yet; 0 if unknown.
fn expected(entries: &[Vec<u8>], next: u64) -> u64 {
    entries.first().and_then(|bytes| entry::unpack(bytes)).map_or(next, |entry| entry.number)
}

/// Applies the spool's entries to the database. Skips entries that are there already because a process ended before it
/// cleared the spool. Returns the number of unreadable entries.
fn fold(all: &Connection, entries: &[Vec<u8>], limits: &Limits, learned: &mut Learned) -> rusqlite::Result<usize> {
    let mut unread = 0;
    for bytes in entries {
        let Some(Entry { number: given, at, owner, operation, changes, known }) = entry::unpack(bytes) else {
            unread += 1;
            gaps::note(all, Gap { after: gaps::newest(all)?, until: None })?;
            continue;
        };
        let mut signed = Signed { number: given.cast_signed(), at, owner };
        match log::moment(all, given)? {
            Some(same) if same == at => continue,
            // Taken by a program that does not know the spool.
            Some(_) => signed.number = log::number(all, given)?,
            None => {}
        }
        let changes: Vec<Change<'_>> =
            changes.iter().map(|(base, swaps)| Change { base: *base, swaps, ..Change::default() }).collect();
        let known: Vec<Known<'_>> = known.iter().map(|(path, record)| Known { path, record }).collect();
        log::log(all, &operation, &changes, &known, (signed, limits), learned)?;
    }
    Ok(unread)
}
