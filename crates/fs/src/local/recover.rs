//! Crash recovery: completes what a dead process left half done, or undoes it where it had begun to. A file that was
//! changed since stays as it is, and our version is kept beside it. Recovery is idempotent, and may itself be killed at
//! any point.

use emendate_os::fd::{AsFd, OwnedFd};
use emendate_os::ffi::OsStrExt;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use emendate_core::Result;
use emendate_os::fs::{AtFlags, Mode, OFlags};
use emendate_os::io::Errno;

use super::journal::{self, Journal, OpenRecord};
use super::journal_frame::{JournalFrame, JournalStep, PathState, decode_record, overwritten};
use super::parent_dir::{self, DirKey, ParentDir};
use super::temp::{self, TempOwner};
use super::{LocalStore, sys};
use crate::{SafePath, error};

mod step;

use step::{StepRecovery, StepState};

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
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
}

impl RecoveryReport {
    /// True if there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == RecoveryReport::default()
    }
}

/// Reason why a record is left in place.
enum SkipReason {
    /// The record refers to directories outside the roots of this store.
    Elsewhere,
    Failed(String),
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
    folders: &'a [ParentDir<'a>],
    /// The index of each directory.
    known: HashMap<DirKey<'a>, usize>,
    /// Old and new bytes of files that are written in place, by step.
    overwritten: HashMap<usize, (&'a [u8], &'a [u8])>,
}

impl RecoverySteps<'_> {
    /// Returns a step in its direction or `back`; `None` if its directory is gone.
    fn step(&self, back: bool, index: usize) -> Option<StepRecovery<'_>> {
        let step = &self.steps[index];
        let folder = self.folders.get(*self.known.get(&parent_dir::parent_key(&self.places[index])?)?)?;
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
    /// the notes.
    pub fn recover(&self) -> Result<RecoveryReport> {
        let mut out = RecoveryReport::default();
        let Some(journal) = &self.journal else {
            return Ok(out);
        };
        let records = journal.records().map_err(|errno| error::os_error("list the journal", journal.path(), errno))?;
        for name in records {
            match self.recover_one(journal, &name, &mut out) {
                Ok(()) | Err(SkipReason::Elsewhere) => {}
                Err(SkipReason::Failed(why)) => {
                    let record = error::show(journal.path().join(&name));
                    out.notes.push(format!("The record {record} could not be worked through and stays: {why}"));
                }
            }
        }
        Ok(out)
    }

    fn recover_one(
        &self,
        journal: &Journal,
        name: &OsStr,
        out: &mut RecoveryReport,
    ) -> std::result::Result<(), SkipReason> {
        let (Some(file), Some(batch)) = (journal.lock_orphan(name)?, journal::batch_of(name)) else {
            return Ok(());
        };
        let Some((frames, end)) = decode_record(&read_whole(&file)?) else {
            return Err(SkipReason::Failed("it is of another version.".to_owned()));
        };
        let steps = frames
            .iter()
            .find_map(|frame| if let JournalFrame::Commit(steps) = frame { Some(&steps[..]) } else { None });
        for frame in &frames {
            if let JournalFrame::TempDir(path) | JournalFrame::CreatedDir(path) = frame {
                self.find_root(path).ok_or(SkipReason::Elsewhere)?;
            }
        }
        let forward = if let Some(steps) = steps {
            self.finish_or_undo(&OpenRecord { batch, file: &file, end }, steps, &frames, out)?
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
        record: &OpenRecord<'_>,
        steps: &[JournalStep],
        frames: &[JournalFrame],
        out: &mut RecoveryReport,
    ) -> std::result::Result<bool, SkipReason> {
        let mut places = Vec::new();
        for step in steps {
            let (root, relative) = self.find_root(&step.path).ok_or(SkipReason::Elsewhere)?;
            places.push(SafePath::new(root, &self.infos[root].canonical, relative.to_owned(), &step.path, None));
        }
        let mut back = frames.contains(&JournalFrame::Abort);
        let (mut folders, mut known): (Vec<ParentDir<'_>>, HashMap<_, usize>) = (Vec::new(), HashMap::new());
        for (path, step) in places.iter().zip(steps) {
            if parent_dir::parent_key(path).is_some_and(|key| known.contains_key(&key)) {
                continue;
            }
            match ParentDir::open(self, path) {
                Ok(folder) => {
                    known.insert(folder.key, folders.len());
                    folders.push(folder);
                }
                // The directory was created for this file and is gone again.
                Err(_) if back && step.old == PathState::Missing => {}
                Err(error) => out.notes.push(format!("Left as it is: {}", error.message())),
            }
        }
        parent_dir::lock_all(self, &folders)?;
        let recovered = RecoverySteps {
            batch: record.batch,
            steps,
            places: &places,
            folders: &folders,
            known,
            overwritten: overwritten(frames),
        };
        if !back {
            let states: Vec<StepState> = (0..steps.len())
                .filter_map(|index| recovered.step(false, index))
                .map(|it| it.state())
                .collect::<Result<_, _>>()?;
            back = abort_if_blocked(record, steps, &states, out)?;
        }
        for step in (0..steps.len()).filter_map(|index| recovered.step(back, index)) {
            step.finish_step(out)?;
        }
        for folder in folders.iter().filter(|folder| folder.readable) {
            sys::fsync(&folder.fd)?;
        }
        Ok(!back)
    }
}

/// Records that a transaction is to be undone, if a step is blocked and none is final; returns whether it is.
fn abort_if_blocked(
    record: &OpenRecord<'_>,
    steps: &[JournalStep],
    states: &[StepState],
    out: &mut RecoveryReport,
) -> std::result::Result<bool, SkipReason> {
    let Some(blocked) = states.iter().position(|state| *state == StepState::Blocked) else { return Ok(false) };
    if states.contains(&StepState::Final) {
        return Ok(false);
    }
    // All or nothing can only mean nothing here. Recorded first, so that a second recovery decides the same.
    temp::write_at(record.file, &[&JournalFrame::Abort.encode()], record.end as u64)?;
    sys::fdatasync(record.file)?;
    let path = error::show(&steps[blocked].path);
    out.notes.push(format!(
        "{path} was changed by another program after a crash: it is left as it is, and the other files of \
         that call are as they were before it."
    ));
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
