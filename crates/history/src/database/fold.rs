//! Between the spool and the database: what goes where, and that whoever asks finds both together.

use emendate_core::Result;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::entry::{self, Entry};
use super::log::{self, Signed};
use super::memo::Learned;
use super::spool::{self, Locked};
use super::{Database, State, failure, open};
use crate::{Change, Entered, Known, Limits, Operation, OperationId, operation};

/// An operation, the changes of its files, and what its session knows then.
type Logging<'a> = (&'a Operation, &'a [Change<'a>], &'a [Known<'a>]);

impl Database {
    /// Runs `work` on the connection once everything is in the database.
    pub(super) fn ask<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        let state = &mut *self.state();
        self.fold_in(state)?;
        self.with(state, work)
    }

    /// Brings everything into the database.
    pub(super) fn fold_in(&self, state: &mut State) -> Result<()> {
        if state.spool.look().is_none_or(|head| !head.is_empty()) {
            self.change(state, |_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Brings everything into the database and runs `work`, in one transaction.
    pub(super) fn change<T>(
        &self,
        state: &mut State,
        work: impl FnOnce(&Connection, &mut Learned) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut spool = self.lock(state)?;
        self.write(state, &mut spool, work)
    }

    /// The same for what changes what sessions know.
    pub(super) fn teach<T>(
        &self,
        state: &mut State,
        work: impl FnOnce(&Connection, &mut Learned) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut spool = self.lock(state)?;
        let before = spool.head().turn;
        spool.turn().map_err(|error| failure::of_io(&error, "write beside", &self.path))?;
        // What is not so after all is asked for again.
        state.memo.go_on(before, spool.head().turn);
        let done = self.write(state, &mut spool, work);
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
            // Where that fails, the next one finds it as it is and says so again.
            let _ = spool.clear();
            self.tell_spoilt(state);
        }
        Ok(spool)
    }

    /// The spool was removed. Where the database went with it, what is written there now would be found by nobody.
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

    fn tell_spoilt(&self, state: &mut State) {
        let path = self.path.with_extension("spool");
        let path = path.display();
        state.notices.push(format!("{path} was damaged: what was done last may be missing from the history."));
    }

    fn write<T>(
        &self,
        state: &mut State,
        spool: &mut Locked,
        work: impl FnOnce(&Connection, &mut Learned) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let (entries, whole) = spool.entries();
        // What others wrote must not go into a file that was set aside.
        if !entries.is_empty() && open::identity(&self.path) != state.file {
            state.connection = None;
        }
        let turn = spool.head().turn;
        state.memo.go_on(turn, turn);
        let mut learned = Learned::default();
        let (done, unread) = self.with(state, |connection| {
            let all = Transaction::new(connection, TransactionBehavior::Immediate)?;
            let unread = fold(&all, &entries, &self.limits, &mut learned)?;
            let done = work(&all, &mut learned)?;
            all.commit()?;
            Ok((done, unread))
        })?;
        if !spool.head().is_empty() {
            // Where that fails, what is left there is known again.
            let _ = spool.clear();
        }
        if !whole || unread > 0 {
            self.tell_spoilt(state);
        }
        state.added = state.added.saturating_add(learned.added);
        state.memo.learn(learned);
        Ok(done)
    }

    /// Writes an operation into the spool; `None` where it has to go into the database.
    fn spool(
        &self,
        state: &mut State,
        spool: &mut Locked,
        (operation, changes, known): Logging<'_>,
        now: i64,
    ) -> Option<Entered> {
        // Who wants a version whole when its base is not kept gets it now.
        let settled = |change: &Change<'_>| change.new.is_none() || change.base.is_none_or(|it| state.memo.holds(it));
        if !state.spools || !changes.iter().all(settled) {
            return None;
        }
        let head = spool.head();
        let most = spool::room(operation.files.len()).min(usize::try_from(self.limits.link()).unwrap_or(spool::ENTRY));
        let entry = entry::pack((head.next, now, std::process::id()), operation, changes, known, most)?;
        // Where it fails, the database says why, or takes it.
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

    /// Logs an operation: in the spool if it can be, else in the database.
    pub(super) fn enter(&self, state: &mut State, logging: Logging<'_>, now: i64) -> Result<Entered> {
        let mut spool = self.lock(state)?;
        if let Some(entered) = self.spool(state, &mut spool, logging, now) {
            return Ok(entered);
        }
        let io = |error| failure::of_io(&error, "write beside", &self.path);
        let before = spool.head();
        spool.turn().map_err(io)?;
        state.memo.go_on(before.turn, spool.head().turn);
        let entered = self.write(state, &mut spool, |all, learned| {
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
        // From here on it knows the next number, whatever it knew before.
        state.spools = spool.number(entered.id.number + 1).is_ok() && !self.distant;
        Ok(entered)
    }
}

/// Brings what stands in the spool into the database. What is there already, because somebody ended before the spool was
/// cleared, is left as it is. Returns how many entries could not be read.
fn fold(all: &Connection, entries: &[Vec<u8>], limits: &Limits, learned: &mut Learned) -> rusqlite::Result<usize> {
    let mut unread = 0;
    for bytes in entries {
        let Some(Entry { number: given, at, owner, operation, changes, known }) = entry::unpack(bytes) else {
            unread += 1;
            continue;
        };
        let mut signed = Signed { number: given.cast_signed(), at, owner };
        match log::moment(all, given)? {
            Some(same) if same == at => continue,
            // Somebody who does not know of spools took it.
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
