//! Crash recovery: completes what a dead process left half done, or undoes it where it had begun to. A file that was
//! changed since stays as it is, and our version is kept beside it. Recovery is idempotent, and may itself be killed at
//! any point.

use emendate_os::fd::{AsFd, OwnedFd};
use emendate_os::ffi::OsStrExt;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use emendate_core::Result;
use emendate_os::fs::{AtFlags, Mode, OFlags};
use emendate_os::io::Errno;

use super::journal::{self, Journal, OpenRecord};
use super::journal_frame::{JournalFrame, JournalStep, decode_record, is_torn, overwritten, settled};
use super::parent_dir::{self, DirKey, ParentDir};
use super::temp::{self, TempOwner};
use super::{LocalStore, fd_budget, sys};
use crate::error::FdShortage;
use crate::{SafePath, error};

mod step;
mod undone;
mod unfinished;

use step::{StepRecovery, StepState};
pub use undone::UndoneCall;
pub(super) use unfinished::UnfinishedRecord;

/// Result of [`LocalStore::recover`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Files whose change was completed.
    pub rolled_forward: Vec<PathBuf>,
    /// Files that were restored to their old state.
    pub rolled_back: Vec<PathBuf>,
    /// Number of temporary files and directories removed.
    pub cleaned: usize,
    /// Copies of new contents for files that another program changed since; those files are unchanged.
    pub conflicts: Vec<PathBuf>,
    /// Calls of which nothing is left.
    pub undone: Vec<UndoneCall>,
    /// Notes for the user, one or two sentences each.
    pub notes: Vec<String>,
}

impl RecoveryReport {
    /// True if there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == RecoveryReport::default()
    }
}

/// Reason why a record is left in place.
#[derive(Debug)]
enum SkipReason {
    /// The record refers to this path outside the roots of this store.
    Elsewhere(PathBuf),
    Failed(String),
}

impl SkipReason {
    /// Describes the reason in a sentence.
    fn describe(&self) -> String {
        match self {
            SkipReason::Elsewhere(path) => format!("It also changes {}, outside of the roots.", error::show(path)),
            SkipReason::Failed(why) => why.clone(),
        }
    }
}

impl From<Errno> for SkipReason {
    fn from(errno: Errno) -> SkipReason {
        SkipReason::Failed(errno.to_string())
    }
}

impl From<emendate_core::Error> for SkipReason {
    fn from(error: emendate_core::Error) -> SkipReason {
        SkipReason::Failed(error.message().to_owned())
    }
}

/// The steps of an interrupted transaction, with the directories that they change.
struct RecoverySteps<'a> {
    batch: u32,
    steps: &'a [JournalStep],
    places: &'a [SafePath],
    dirs: &'a RecoveryDirs<'a>,
    /// Old and new bytes of files that are written in place, by step.
    overwritten: HashMap<usize, (&'a [u8], &'a [u8])>,
}

/// The directories of a transaction that exist, open and locked.
#[derive(Default)]
struct RecoveryDirs<'a> {
    open: Vec<ParentDir<'a>>,
    /// The index of each directory in `open`; `None` if it is missing.
    known: HashMap<DirKey<'a>, Option<usize>>,
}

impl RecoverySteps<'_> {
    /// Returns a step in its direction or `back`; `None` if its directory is missing.
    fn step(&self, back: bool, index: usize) -> Option<StepRecovery<'_>> {
        let step = &self.steps[index];
        let folder = &self.dirs.open[(*self.dirs.known.get(&parent_dir::parent_key(&self.places[index])?)?)?];
        let bytes = self.overwritten.get(&index).copied();
        let (want, from) = if back { (step.old, step.new) } else { (step.new, step.old) };
        let bytes = bytes.map(|(old, new)| if back { (new, old) } else { (old, new) });
        Some(StepRecovery {
            folder: folder.fd.as_fd(),
            name: step.path.file_name()?,
            step,
            want,
            from,
            bytes,
            back,
            batch: self.batch,
        })
    }
}

impl LocalStore {
    /// Completes or undoes the transactions that dead processes left in the journal, as far as they are beneath these
    /// roots. Transactions of live processes are left alone. Call it once at start; without leftovers it costs one
    /// listing of the journal directory.
    ///
    /// Fails with `io.*` if the journal cannot be listed. A record that cannot be processed stays, and is reported in
    /// the notes; until that succeeds, [`Store::stage`](crate::Store::stage) refuses to change its files.
    pub fn recover(&self) -> Result<RecoveryReport> {
        let mut out = RecoveryReport::default();
        let Some(journal) = &self.journal else {
            return Ok(out);
        };
        // Locked throughout: another thread waits before it stages a file of a record.
        let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        let records = journal.records().map_err(|errno| error::os_error("list the journal", journal.path(), errno))?;
        let known: Vec<String> = unfinished.drain(..).filter_map(|record| record.note()).collect();
        for name in records {
            let mut paths = HashSet::new();
            let Err(reason) = self.recover_one(journal, &name, &mut paths, &mut out) else { continue };
            let record = UnfinishedRecord { record: journal.path().join(&name), reason, paths };
            // A repeated recovery repeats no note.
            out.notes.extend(record.note().filter(|note| !known.contains(note)));
            unfinished.push(record);
        }
        Ok(out)
    }

    /// Works through one record; `paths` are set to the files that it still covers.
    fn recover_one(
        &self,
        journal: &Journal,
        name: &OsStr,
        paths: &mut HashSet<PathBuf>,
        out: &mut RecoveryReport,
    ) -> std::result::Result<(), SkipReason> {
        let (Some(file), Some(batch)) = (journal.lock_orphan(name)?, journal::batch_of(name)) else {
            return Ok(());
        };
        let bytes = read_whole(&file)?;
        let Some((frames, end)) = decode_record(&bytes) else {
            return Err(SkipReason::Failed("It is of another version.".to_owned()));
        };
        let steps = frames
            .iter()
            .find_map(|frame| if let JournalFrame::Commit(steps) = frame { Some(&steps[..]) } else { None });
        let settled = settled(&frames);
        let open = steps.unwrap_or_default().iter().enumerate().filter(|(index, _)| !settled.contains(index));
        paths.extend(open.map(|(_, step)| step.path.clone()));
        for frame in &frames {
            if let JournalFrame::TempDir(path) | JournalFrame::CreatedDir(path) = frame {
                self.find_root(path).ok_or_else(|| SkipReason::Elsewhere(path.clone()))?;
            }
        }
        if !is_torn(&bytes[end..]) {
            return Err(SkipReason::Failed(damaged(batch, end)));
        }
        let forward = if let Some(steps) = steps {
            self.finish_or_undo(&mut OpenRecord { batch, file: &file, end }, steps, &frames, out)?
        } else {
            self.remove_temp_files(batch, &frames, out)?;
            false
        };
        if !forward {
            self.remove_made(&frames, out);
        }
        journal.remove(name)?;
        Ok(())
    }

    /// Removes the temporary files of a transaction that had not become visible.
    fn remove_temp_files(
        &self,
        batch: u32,
        frames: &[JournalFrame],
        out: &mut RecoveryReport,
    ) -> std::result::Result<(), SkipReason> {
        for frame in frames {
            let JournalFrame::TempDir(path) = frame else { continue };
            let Some((root, relative)) = self.find_root(path) else { continue };
            let folder = match self.open_beneath(root, relative, OFlags::RDONLY | OFlags::DIRECTORY) {
                // The directory was removed with all its content.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                other => other?,
            };
            let list = sys::openat(&folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            for entry in sys::list(list)? {
                let entry = entry?;
                if temp::temp_owner(entry.file_name().to_bytes()) == Some(TempOwner::Batch(batch)) {
                    temp::unlink_any(&folder, OsStr::from_bytes(entry.file_name().to_bytes()))?;
                    out.cleaned += 1;
                }
            }
        }
        Ok(())
    }

    /// Removes created directories that are still empty.
    fn remove_made(&self, frames: &[JournalFrame], out: &mut RecoveryReport) {
        for frame in frames.iter().rev() {
            let JournalFrame::CreatedDir(path) = frame else { continue };
            let (Some((root, relative)), Some(name)) = (self.find_root(path), path.file_name()) else { continue };
            let parent = relative.parent().unwrap_or(Path::new(""));
            let folder = self.open_beneath(root, parent, sys::PATH | OFlags::DIRECTORY);
            let removed = folder.and_then(|folder| sys::unlinkat(folder, name, AtFlags::REMOVEDIR));
            out.cleaned += usize::from(removed.is_ok());
        }
    }

    /// Completes a staged transaction; returns false if it was undone instead.
    fn finish_or_undo(
        &self,
        record: &mut OpenRecord<'_>,
        steps: &[JournalStep],
        frames: &[JournalFrame],
        out: &mut RecoveryReport,
    ) -> std::result::Result<bool, SkipReason> {
        let mut places = Vec::new();
        for step in steps {
            let (root, relative) =
                self.find_root(&step.path).ok_or_else(|| SkipReason::Elsewhere(step.path.clone()))?;
            places.push(SafePath::new(root, &self.infos[root].canonical, relative.to_owned(), &step.path, None));
        }
        let settled = settled(frames);
        let open: Vec<usize> = (0..steps.len()).filter(|index| !settled.contains(index)).collect();
        let dirs = self.open_dirs(open.iter().map(|index| &places[*index]))?;
        let recovered = RecoverySteps {
            batch: record.batch,
            steps,
            places: &places,
            dirs: &dirs,
            overwritten: overwritten(frames),
        };
        let mut back = frames.contains(&JournalFrame::Abort);
        // An earlier recovery that has settled a step has chosen the direction.
        if !back && settled.is_empty() {
            let state = |index: &usize| match recovered.step(false, *index) {
                Some(step) => step.state().map_err(|errno| failed_step(&steps[*index], &errno.into())),
                None => Ok(StepState::Unreachable),
            };
            let states: Vec<StepState> = open.iter().map(state).collect::<Result<_, _>>()?;
            back = abort_if_blocked(record, steps, &states, out)?;
        }
        // A step that fails does not keep the others from being made.
        let mut left: Vec<(usize, SkipReason)> = Vec::new();
        for index in &open {
            match recovered.step(back, *index).map(|step| step.finish_step(out)) {
                Some(Ok(())) => {}
                Some(Err(reason)) => left.push((*index, failed_step(&steps[*index], &reason))),
                None if is_removed_dir(&steps[*index], frames) => {}
                None => left.push((*index, SkipReason::Failed(missing_dir(&steps[*index], back)))),
            }
        }
        for folder in dirs.open.iter().filter(|folder| folder.readable) {
            sys::fsync(&folder.fd)?;
        }
        if back && settled.is_empty() {
            // Also with steps that are left: nothing will remain of the call.
            out.undone.push(UndoneCall::new(steps));
        }
        if !left.is_empty() {
            let is_left = |index: &usize| left.iter().any(|(other, _)| other == index);
            let done: Vec<u32> =
                open.iter().filter(|index| !is_left(index)).filter_map(|index| u32::try_from(*index).ok()).collect();
            if !done.is_empty() {
                record.append(&JournalFrame::Settled(done))?;
            }
            return Err(left.swap_remove(0).1);
        }
        Ok(!back)
    }

    /// Opens and locks the directories of these files, before anything is changed. A missing one is no error.
    fn open_dirs<'p>(
        &self,
        places: impl Iterator<Item = &'p SafePath> + Clone,
    ) -> std::result::Result<RecoveryDirs<'p>, SkipReason> {
        let keys: HashSet<DirKey<'_>> = places.clone().filter_map(parent_dir::parent_key).collect();
        fd_budget::reserve_dirs(self, keys.len()).map_err(|shortage| {
            let FdShortage { directories, limit, enough, .. } = shortage;
            SkipReason::Failed(format!(
                "The call affects {directories} directories, which must stay open and locked; this process may open {limit} files. Start it with a higher limit (`ulimit -n {enough}`)."
            ))
        })?;
        let mut dirs = RecoveryDirs::default();
        for place in places {
            let Some(key) = parent_dir::parent_key(place) else { continue };
            if dirs.known.contains_key(&key) {
                continue;
            }
            let index = match ParentDir::find(self, key) {
                Ok(folder) => {
                    dirs.open.push(folder);
                    Some(dirs.open.len() - 1)
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
                Err(errno) => {
                    return Err(error::os_error("open the directory of", place.absolute(), errno).into());
                }
            };
            dirs.known.insert(key, index);
        }
        parent_dir::lock_all(self, &dirs.open)?;
        Ok(dirs)
    }
}

/// True if the directory of a step was created by its call. If such a directory is missing, it was removed since, or
/// was never created.
fn is_removed_dir(step: &JournalStep, frames: &[JournalFrame]) -> bool {
    let parent = step.path.parent();
    frames.iter().any(|frame| matches!(frame, JournalFrame::CreatedDir(path) if parent == Some(path)))
}

/// Describes a record of which a part cannot be read.
fn damaged(batch: u32, end: usize) -> String {
    format!(
        "It is damaged after {end} bytes, so nothing is done by it. The record and its temporary files, \
         `.NAME.{batch:08x}*.txn~` beside the files NAME of its call, may have the only copy of what those contained \
         before: a person should compare them, and then remove the record."
    )
}

/// Describes a step that failed.
fn failed_step(step: &JournalStep, reason: &SkipReason) -> SkipReason {
    SkipReason::Failed(format!("{}: {}", error::show(&step.path), reason.describe()))
}

/// Describes a step that is left because its directory is missing.
fn missing_dir(step: &JournalStep, back: bool) -> String {
    let path = error::show(&step.path);
    let what = if back { "undone" } else { "completed" };
    format!(
        "The directory of {path} is missing; that part of the call is {what} at the next start with this directory. \
         If it is gone for good, remove the record."
    )
}

/// Records that a transaction is to be undone, if a step is blocked and none is final; returns whether it is.
fn abort_if_blocked(
    record: &mut OpenRecord<'_>,
    steps: &[JournalStep],
    states: &[StepState],
    out: &mut RecoveryReport,
) -> std::result::Result<bool, SkipReason> {
    let is_blocked = |state: &StepState| matches!(state, StepState::Blocked | StepState::Unreachable);
    let Some(blocked) = states.iter().position(is_blocked) else { return Ok(false) };
    if states.contains(&StepState::Final) {
        return Ok(false);
    }
    // All or nothing can only mean nothing here. Recorded first, so that a second recovery decides the same.
    record.append(&JournalFrame::Abort)?;
    let path = error::show(&steps[blocked].path);
    out.notes.push(if states[blocked] == StepState::Unreachable {
        format!(
            "The directory of {path} is missing after a crash: the other files of that call are as they were before it."
        )
    } else {
        format!(
            "{path} was changed by another program after a crash: it is left as it is, and the other files of that \
             call are as they were before it."
        )
    });
    Ok(true)
}

/// Reads all bytes of an open file.
pub(super) fn read_whole(file: &OwnedFd) -> emendate_os::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let at = out.len();
        out.resize(at + (64 << 10), 0);
        let read = match sys::pread(file, &mut out[at..], at as u64) {
            Err(Errno::INTR) => 0,
            other => {
                let read = other?;
                if read == 0 {
                    out.truncate(at);
                    return Ok(out);
                }
                read
            }
        };
        out.truncate(at + read);
    }
}
