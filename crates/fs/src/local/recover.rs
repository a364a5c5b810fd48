//! Crash recovery: completes what a dead process left half done, or undoes it where it had begun to. A file that was
//! changed since stays as it is, and our version is kept beside it. Recovery is idempotent, and may itself be killed at
//! any point.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use emendate_core::{ContentId, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::folder::{self, Folder};
use super::journal::{self, Journal, OpenRecord};
use super::look::{self, LOOK};
use super::publish::{rename_new, replace_bytes};
use super::record::{Frame, State, Step, frames, overwritten};
use super::stage::OVERWRITE;
use super::temp::{self, Maker, Temp};
use super::{Local, kernel, rollback, sys};
use crate::{Place, fault};

/// Result of [`Local::recover`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
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

impl Recovered {
    /// True if there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Recovered::default()
    }
}

/// Reason why a record is left in place.
enum Stay {
    /// It refers to directories outside the roots of this store.
    Elsewhere,
    Failed(String),
}

impl From<Errno> for Stay {
    fn from(errno: Errno) -> Stay {
        Stay::Failed(errno.to_string())
    }
}

impl From<emendate_core::Error> for Stay {
    fn from(error: emendate_core::Error) -> Stay {
        Stay::Failed(error.message().to_owned())
    }
}

impl Local {
    /// Completes or undoes the transactions that dead processes left in the journal, as far as they are beneath these
    /// roots. Transactions of live processes are left alone. Call it once at start; without leftovers it costs one
    /// listing of the journal directory.
    ///
    /// Fails with `io.*` if the journal cannot be listed. A record that cannot be processed stays, and is reported in
    /// the notes.
    pub fn recover(&self) -> Result<Recovered> {
        let mut out = Recovered::default();
        let Some(journal) = &self.journal else {
            return Ok(out);
        };
        let records = journal.records().map_err(|errno| fault::os("list the journal", journal.path(), errno))?;
        for name in records {
            match self.recover_one(journal, &name, &mut out) {
                Ok(()) | Err(Stay::Elsewhere) => {}
                Err(Stay::Failed(why)) => {
                    let record = fault::show(journal.path().join(&name));
                    out.notes.push(format!("The record {record} could not be worked through and stays: {why}"));
                }
            }
        }
        Ok(out)
    }

    fn recover_one(&self, journal: &Journal, name: &OsStr, out: &mut Recovered) -> std::result::Result<(), Stay> {
        let (Some(file), Some(batch)) = (journal.take(name)?, journal::batch_of(name)) else {
            return Ok(());
        };
        let Some((frames, end)) = frames(&whole(&file)?) else {
            return Err(Stay::Failed("it is of another version.".to_owned()));
        };
        let steps =
            frames.iter().find_map(|frame| if let Frame::Commit(steps) = frame { Some(&steps[..]) } else { None });
        for frame in &frames {
            if let Frame::Folder(path) | Frame::Made(path) = frame {
                self.find_root(path).ok_or(Stay::Elsewhere)?;
            }
        }
        let forward = if let Some(steps) = steps {
            self.redo(&OpenRecord { batch, file: &file, end }, steps, &frames, out)?
        } else {
            self.clean(batch, &frames, out)?;
            false
        };
        if !forward {
            self.remove_made(&frames, out);
        }
        journal.remove(name)?;
        Ok(())
    }

    /// Removes the temporary files of a transaction that had not become visible.
    fn clean(&self, batch: u32, frames: &[Frame], out: &mut Recovered) -> std::result::Result<(), Stay> {
        for frame in frames {
            let Frame::Folder(path) = frame else { continue };
            let Some((root, relative)) = self.find_root(path) else { continue };
            let folder = match self.open_beneath(root, relative, OFlags::RDONLY | OFlags::DIRECTORY) {
                // The directory was removed with all its content.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                other => other?,
            };
            let list = sys::openat(&folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            for entry in sys::list(list)? {
                let entry = entry?;
                if temp::maker(entry.file_name().to_bytes()) == Some(Maker::Batch(batch)) {
                    sys::unlinkat(&folder, OsStr::from_bytes(entry.file_name().to_bytes()), AtFlags::empty())?;
                    out.cleaned += 1;
                }
            }
        }
        Ok(())
    }

    /// Removes created directories that are still empty.
    fn remove_made(&self, frames: &[Frame], out: &mut Recovered) {
        for frame in frames.iter().rev() {
            let Frame::Made(path) = frame else { continue };
            let (Some((root, relative)), Some(name)) = (self.find_root(path), path.file_name()) else { continue };
            let parent = relative.parent().unwrap_or(Path::new(""));
            let folder = self.open_beneath(root, parent, OFlags::PATH | OFlags::DIRECTORY);
            let removed = folder.and_then(|folder| sys::unlinkat(folder, name, AtFlags::REMOVEDIR));
            out.cleaned += usize::from(removed.is_ok());
        }
    }

    /// Completes a staged transaction; returns false if it was undone instead.
    fn redo(
        &self,
        record: &OpenRecord<'_>,
        steps: &[Step],
        frames: &[Frame],
        out: &mut Recovered,
    ) -> std::result::Result<bool, Stay> {
        let (batch, mut places) = (record.batch, Vec::new());
        for step in steps {
            let (root, relative) = self.find_root(&step.path).ok_or(Stay::Elsewhere)?;
            places.push(Place::new(root, &self.infos[root].canonical, relative.to_owned(), &step.path, None));
        }
        let mut back = frames.contains(&Frame::Abort);
        let (mut folders, mut known): (Vec<Folder<'_>>, HashMap<_, usize>) = (Vec::new(), HashMap::new());
        for (place, step) in places.iter().zip(steps) {
            if folder::key(place).is_some_and(|key| known.contains_key(&key)) {
                continue;
            }
            match Folder::open(self, place) {
                Ok(folder) => {
                    known.insert(folder.key, folders.len());
                    folders.push(folder);
                }
                // The directory was created for this file and is gone again.
                Err(_) if back && step.old == State::Missing => {}
                Err(error) => out.notes.push(format!("Left as it is: {}", error.message())),
            }
        }
        folder::lock_all(self, &folders)?;
        let overwritten = overwritten(frames);
        let work = |back: bool, index: usize| {
            let step = &steps[index];
            let folder = folders.get(*known.get(&folder::key(&places[index])?)?)?;
            let bytes = overwritten.get(&index).copied();
            let (want, from) = if back { (step.old, step.new) } else { (step.new, step.old) };
            let bytes = bytes.map(|(old, new)| if back { (new, old) } else { (old, new) });
            Some(Work { folder: folder.fd.as_fd(), name: step.path.file_name()?, step, want, from, bytes, back, batch })
        };
        if !back {
            let lies: Vec<Lie> =
                (0..steps.len()).filter_map(|index| work(false, index)).map(|it| it.lie()).collect::<Result<_, _>>()?;
            if let Some(blocked) = lies.iter().position(|lie| *lie == Lie::Blocked)
                && !lies.contains(&Lie::Over)
            {
                // All or nothing can only mean nothing here. Recorded first, so that a second recovery decides the
                // same.
                temp::write_at(record.file, &[&Frame::Abort.encode()], record.end as u64)?;
                sys::fdatasync(record.file)?;
                let path = fault::show(&steps[blocked].path);
                out.notes.push(format!(
                    "{path} was changed by another program after a crash: it is left as it is, and the other files of \
                     that call are as they were before it."
                ));
                back = true;
            }
        }
        for work in (0..steps.len()).filter_map(|index| work(back, index)) {
            work.finish_step(out)?;
        }
        for folder in folders.iter().filter(|folder| folder.readable) {
            sys::fsync(&folder.fd)?;
        }
        Ok(!back)
    }
}

/// State of a step before recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// It can be completed or undone.
    Free,
    /// It was not done yet, and another program changed the file.
    Blocked,
    /// It was done and cannot be undone: the displaced file is gone, or another program changed the file after it.
    Over,
}

/// One step during recovery.
struct Work<'a> {
    folder: BorrowedFd<'a>,
    name: &'a OsStr,
    step: &'a Step,
    want: State,
    from: State,
    /// For a file that is overwritten in place: the bytes of `from` and of `want`.
    bytes: Option<(&'a [u8], &'a [u8])>,
    back: bool,
    batch: u32,
}

impl Work<'_> {
    fn done(&self, out: &mut Recovered) {
        let list = if self.back { &mut out.rolled_back } else { &mut out.rolled_forward };
        list.push(self.step.path.clone());
    }

    /// Determines the state of the step when completing the transaction.
    fn lie(&self) -> rustix::io::Result<Lie> {
        let (at_name, modified) = state_at(self.folder, self.name)?;
        if let Some((from, want)) = self.bytes {
            return Ok(match at_name {
                State::File { .. } if is_torn(&self.content()?, from, want) => Lie::Free,
                _ => Lie::Blocked,
            });
        }
        let (at_temp, _) = state_at(self.folder, &self.step.temp)?;
        let holds = |state, other| at_temp != State::Missing && is(at_temp, state, other);
        Ok(if is(at_name, self.want, self.from) {
            let undone = self.from == State::Missing || holds(self.from, self.want);
            if undone { Lie::Free } else { Lie::Over }
        } else if is(at_name, self.from, self.want) {
            let same = self.want != State::Missing || modified == self.step.modified;
            if same { Lie::Free } else { Lie::Blocked }
        } else if holds(self.want, self.from) || self.want == State::Missing && at_temp == State::Missing {
            Lie::Blocked
        } else {
            Lie::Over
        })
    }

    /// Returns the current bytes of the file.
    fn content(&self) -> rustix::io::Result<Vec<u8>> {
        whole(&sys::openat(self.folder, self.name, LOOK, Mode::empty())?)
    }

    fn finish_step(&self, out: &mut Recovered) -> std::result::Result<(), Stay> {
        match self.bytes {
            Some((from, want)) => self.overwrite(from, want, out),
            None => self.exchange(out),
        }
    }

    /// Completes a step by names: the wanted file has one of two names and gets the other.
    fn exchange(&self, out: &mut Recovered) -> std::result::Result<(), Stay> {
        let temp = &*self.step.temp;
        if temp.is_empty() {
            return Err(Stay::Failed("it lacks the bytes of a file.".to_owned()));
        }
        let (at_name, modified) = state_at(self.folder, self.name)?;
        let (at_temp, _) = state_at(self.folder, temp)?;
        if is(at_name, self.want, self.from) {
            return self.finish(temp, at_temp, out);
        }
        // A removal applies only to the very file that was to go: another program may have created an equal one since.
        let same = self.back || self.want != State::Missing || modified == self.step.modified;
        if !is(at_name, self.from, self.want) || !same {
            return self.conflict(temp, at_temp, out);
        }
        if !is(at_temp, self.want, self.from) {
            if at_temp == State::Missing {
                // Done long ago; another program restored the other content since.
                return Ok(());
            }
            out.notes.push(format!(
                "{} is as it was: what was to be written beside it was lost in a power cut.",
                fault::show(&self.step.path)
            ));
            return self.forget(temp, at_temp, out);
        }
        match (self.from, self.want) {
            (_, State::Missing) => sys::rename(self.folder, self.name, temp, RenameFlags::empty())?,
            (State::Missing, _) => {
                rename_new(self.folder, temp, self.name)?;
                self.done(out);
                return Ok(());
            }
            _ => match kernel::exchange(self.folder, temp, self.name) {
                Err(errno) if kernel::unsupported(errno) => {
                    sys::rename(self.folder, temp, self.name, RenameFlags::empty())?;
                    self.done(out);
                    return Ok(());
                }
                other => other?,
            },
        }
        // Verifies the displaced file, as in any transaction.
        let (displaced, _) = state_at(self.folder, temp)?;
        if is(displaced, self.from, self.want) {
            self.done(out);
        }
        self.finish(temp, displaced, out)
    }

    /// Removes the displaced file once the wanted one has its name, unless it is a save that nothing has checked yet.
    fn finish(&self, temp: &OsStr, displaced: State, out: &mut Recovered) -> std::result::Result<(), Stay> {
        if displaced == State::Missing || is(displaced, self.from, self.want) || is(displaced, self.want, self.from) {
            return self.forget(temp, displaced, out);
        }
        self.put_back(temp)?;
        self.conflict(temp, state_at(self.folder, temp)?.0, out)
    }

    /// Restores the name of a file that was displaced by mistake.
    fn put_back(&self, temp: &OsStr) -> std::result::Result<(), Stay> {
        let Ok(ours) = sys::statat(self.folder, self.name) else {
            return Ok(rename_new(self.folder, temp, self.name)?);
        };
        let mut ours = Temp { name: temp.to_owned(), fd: None, stamp: look::stamp_of(&ours), live: true };
        rollback::put_back(self.folder, &mut ours, self.name).map_err(Stay::Failed)
    }

    /// Removes the file with the temporary name.
    fn forget(&self, temp: &OsStr, there: State, out: &mut Recovered) -> std::result::Result<(), Stay> {
        if there != State::Missing {
            sys::unlinkat(self.folder, temp, AtFlags::empty())?;
            out.cleaned += 1;
        }
        Ok(())
    }

    /// Keeps our version beside a file that was changed since.
    fn conflict(&self, temp: &OsStr, there: State, out: &mut Recovered) -> std::result::Result<(), Stay> {
        if there == State::Missing {
            // Done long ago and changed since, or a removal of a file that is not the one to remove.
            return Ok(());
        }
        if is(there, self.from, self.want) {
            // Done, and changed since.
            return self.forget(temp, there, out);
        }
        let mut copy = self.copy_name();
        rename_new(self.folder, temp, &copy)?;
        self.kept(&mut copy, out);
        Ok(())
    }

    fn copy_name(&self) -> OsString {
        let mut copy = self.name.to_owned();
        copy.push(format!(".conflict-{:08x}", self.batch));
        copy
    }

    fn kept(&self, copy: &mut OsString, out: &mut Recovered) {
        let copy = self.step.path.with_file_name(std::mem::take(copy));
        out.notes.push(format!(
            "{} was changed by another program after a crash and is left as it is; what was to be there is kept as {}.",
            fault::show(&self.step.path),
            fault::show(&copy)
        ));
        out.conflicts.push(copy);
    }

    /// Completes a step by bytes: a file with either content, or torn between both, gets the wanted one.
    fn overwrite(&self, from: &[u8], want: &[u8], out: &mut Recovered) -> std::result::Result<(), Stay> {
        let (at_name, _) = state_at(self.folder, self.name)?;
        if at_name == self.want {
            return Ok(());
        }
        let file = match sys::openat(self.folder, self.name, OVERWRITE, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        };
        if !matches!(at_name, State::File { .. }) || !is_torn(&whole(&file)?, from, want) {
            let mut copy = self.copy_name();
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match sys::openat(self.folder, &copy, flags, Mode::from_raw_mode(0o600)) {
                Ok(kept) => replace_bytes(&kept, &[want], true)?,
                // Left by a recovery that was killed.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.kept(&mut copy, out);
            return Ok(());
        }
        replace_bytes(&file, &[want], true)?;
        if let State::File { mode, .. } = self.want {
            sys::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        self.done(out);
        Ok(())
    }
}

/// True if `found` is `state` and not `other`, which may differ from it in the mode only.
fn is(found: State, state: State, other: State) -> bool {
    if state.same_content(other) { found == state } else { found.same_content(state) }
}

/// True if every byte of `found` equals the byte of either version at its offset, or is zero beyond the end of the
/// shorter one. A crash during a write leaves this, and hardly any editor does. A growing file has zeros where nothing
/// is written yet; XFS zeroes the part beyond the new end of a shrinking file before the new length is on disk.
fn is_torn(found: &[u8], from: &[u8], want: &[u8]) -> bool {
    let shorter = from.len().min(want.len());
    found.len() <= from.len().max(want.len())
        && found.len() >= from.len().min(want.len())
        && found
            .iter()
            .enumerate()
            .all(|(at, byte)| from.get(at) == Some(byte) || want.get(at) == Some(byte) || (*byte == 0 && at >= shorter))
}

/// Returns the state of a name and the file's modification time.
fn state_at(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<(State, i64)> {
    let stamp = match sys::statat(folder, name) {
        Err(Errno::NOENT) => return Ok((State::Missing, 0)),
        other => look::stamp_of(&other?),
    };
    let state = match FileType::from_raw_mode(stamp.mode) {
        FileType::Symlink => State::Link(ContentId::of(sys::readlinkat(folder, name)?.as_bytes())),
        FileType::RegularFile => {
            let file = sys::openat(folder, name, LOOK, Mode::empty())?;
            State::File { content: ContentId::of(&whole(&file)?), mode: stamp.mode & 0o7777 }
        }
        _ => State::Other,
    };
    Ok((state, stamp.mtime_ns))
}

/// Reads all bytes of an open file.
fn whole(file: &OwnedFd) -> rustix::io::Result<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::is_torn;

    #[test]
    fn torn_contents_are_recognized() {
        let (long, short) = (&b"old text"[..], &b"new"[..]);
        for found in [
            &b"old text"[..],
            b"new",
            b"new text",
            b"ned text",
            b"new\0\0\0\0\0",
            b"new\0",
            b"new t\0\0\0",
            b"old\0\0\0\0\0",
        ] {
            assert!(is_torn(found, long, short) && is_torn(found, short, long), "{found:?}");
        }
        for found in [&b"n\0w text"[..], b"new!text", b"ne", b"old texts"] {
            assert!(!is_torn(found, long, short), "{found:?}");
        }
    }
}
