//! Publishing: under the directory locks, every file is compared once more and then becomes visible.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;

use emendate_core::Result;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::folder;
use super::held::{Held, Look};
use super::look;
use super::record::Frame;
use super::stage::{Entry, Plan, failed_write};
use super::sys::{self, NameAt};
use super::temp::{self, Temp};
use super::{kernel, named, rollback, splice, together};
use crate::{Ahead, Expect, Goal, Method, Stamp, Transaction, Written, fault};

impl Transaction for Plan<'_> {
    fn ahead(&self) -> Ahead {
        let stamps = self.entries.iter().map(|entry| {
            let before = entry.before.unwrap_or_default();
            let Some(temp) = &entry.temp else {
                let size = temp::length(entry.draft.goal.pieces());
                return Stamp { mode: before.mode & !0o7777 | entry.draft.goal.mode(before.mode), size, ..before };
            };
            let now = temp.fd.as_ref().and_then(|fd| stamp_now(fd).ok());
            now.unwrap_or(temp.stamp)
        });
        let made = self.made.iter().map(|made| made.path.clone()).collect();
        Ahead { stamps: stamps.collect(), made, spliced: self.entries.first().and_then(|entry| entry.spliced) }
    }

    fn commit(mut self: Box<Self>) -> Result<Vec<Written>> {
        if self.room.late {
            // The latest possible moment: the disk has been writing while the rest was prepared.
            self.sync(0)?;
        }
        folder::lock_all(self.local, &self.folders)?;
        if self.entries.len() > 1 {
            // Checks all files before the first becomes visible: a failure found now needs no rollback.
            let mut all: Vec<usize> = (0..self.entries.len()).collect();
            let one = |index: &usize| self.still_expected(*index, Look::Only).map(drop);
            sys::in_parts(&mut all, |part| part.iter().try_for_each(one)).into_iter().collect::<Result<()>>()?;
        }
        let needs_record = self.entries.len() > 1 || self.entries.iter().any(|entry| entry.temp.is_none());
        if needs_record && let Err(error) = self.promise() {
            return Err(rollback::undo(&mut self, error));
        }
        if let Err(error) = self.exchange_together() {
            return Err(rollback::undo(&mut self, error));
        }
        for index in 0..self.entries.len() {
            if self.entries[index].done.is_some() {
                continue;
            }
            match self.publish(index) {
                Ok(method) => self.entries[index].done = Some(method),
                Err(error) => return Err(rollback::undo(&mut self, error)),
            }
        }
        self.finish()
    }
}

impl Plan<'_> {
    /// Writes the intended state of every file into the journal, before the first of them changes.
    fn promise(&mut self) -> Result<()> {
        if !self.book.is_kept() || self.entries.is_empty() {
            return Ok(());
        }
        if self.durability.syncs() {
            // The temporary names must be on disk before the record that refers to them.
            let synced = self.sync_folders();
            synced.map_err(|errno| fault::os("sync the folder of", self.entries[0].path(), errno))?;
        }
        // The bytes first: the last frame makes the record valid.
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.temp.is_none()) {
            self.book.note(&entry.bytes(index))?;
        }
        self.book.note(&Frame::Commit(self.entries.iter().map(Entry::step).collect()))?;
        self.book.sync()
    }

    pub(super) fn folder_of(&self, index: usize) -> BorrowedFd<'_> {
        self.folders[self.entries[index].folder].fd.as_fd()
    }

    fn publish(&mut self, index: usize) -> Result<Method> {
        let draft = self.entries[index].draft;
        if matches!(draft.expect, Expect::Missing) {
            if self.entries.len() == 1 {
                self.still_expected(index, Look::Only)?;
            }
            return self.create(index);
        }
        if self.entries[index].temp.is_none() {
            return self.overwrite(index);
        }
        if let Goal::Spliced { source, .. } = draft.goal
            && source.leased().is_some_and(splice::Leased::is_wanted)
        {
            // Another process has already resolved this name and is blocked in `open` until we release the lease.
            return Err(fault::raced(draft.place.absolute(), "is being opened for writing by another program"));
        }
        let Some(old) = self.still_expected(index, Look::Hold)? else {
            return Err(fault::raced(self.entries[index].path(), "was removed"));
        };
        if old.is_open_elsewhere() {
            if let Goal::Spliced { .. } = draft.goal {
                let size = old.stamp.size;
                return Err(splice::only_aside(
                    draft.place.absolute(),
                    size,
                    "another program has it open for writing",
                ));
            }
            if matches!(draft.goal, Goal::File { like: None, .. }) {
                // Its writes must go into the file that has the name.
                return self.overwrite_instead(index, old, "another program has it open for writing");
            }
            let lost =
                "another program has it open for writing; what it writes there from now on goes with the old file";
            self.entries[index].notes.push(lost.to_owned());
        }
        match draft.goal {
            Goal::Gone => self.remove(index, old),
            _ => self.swap(index, old),
        }
    }

    /// Renames the temporary file to a name that must not exist.
    fn create(&mut self, index: usize) -> Result<Method> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let path = entry.draft.place.absolute();
        let Some(temp) = &mut entry.temp else {
            return Err(fault::raced(path, "was removed"));
        };
        let renamed = rename_new(folder, &temp.name, entry.name);
        temp.live = renamed.is_err();
        match renamed {
            Ok(()) => Ok(Method::Created),
            Err(Errno::EXIST) => Err(fault::raced(path, "was created meanwhile")),
            Err(Errno::NOENT) => Err(fault::raced(path, "lost its folder")),
            Err(errno) => Err(fault::os("create", path, errno)),
        }
    }

    /// Moves the file to its reserved name, and verifies it before it is deleted.
    fn remove(&mut self, index: usize, old: Held) -> Result<Method> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let path = entry.draft.place.absolute();
        let Some(temp) = &mut entry.temp else {
            return Err(fault::raced(path, "was removed"));
        };
        match sys::rename(folder, entry.name, &temp.name, RenameFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(fault::raced(path, "was removed")),
            Err(errno) => return Err(fault::os("remove", path, errno)),
        }
        temp.live = true;
        let cause = match old.is_at(folder, temp, entry.draft.expect) {
            Ok(true) => {
                entry.displaced = Some(old).filter(|_| self.room.keeps);
                return Ok(Method::Removed);
            }
            Ok(false) => fault::raced(path, "was changed at the last moment, and that change was put back"),
            Err(errno) => fault::os("compare", path, errno),
        };
        match rollback::give_back(folder, temp, entry.name) {
            Ok(()) => Err(cause),
            Err(what) => Err(fault::partial(&cause, &what)),
        }
    }

    /// Gives the name to the temporary file. If possible, the two files are exchanged and the displaced one is
    /// compared, so that a save between comparison and exchange is put back instead of lost.
    fn swap(&mut self, index: usize, old: Held) -> Result<Method> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let (overwrites, keeps) = (entry.overwrites(), self.room.keeps);
        let Some(temp) = &mut entry.temp else {
            return self.overwrite(index);
        };
        let swapped = match kernel::exchange(folder, &temp.name, entry.name) {
            Err(errno) if kernel::unsupported(errno) => replace(folder, temp, entry.name, self.batch),
            exchanged => exchanged.map(|()| Method::Exchanged),
        };
        match swapped {
            Ok(Method::Exchanged) => together::verify(folder, entry, old, keeps),
            Ok(method) => Ok(method),
            Err(errno @ (Errno::BUSY | Errno::XDEV | Errno::PERM | Errno::ACCESS)) if overwrites => {
                // A mount point, or a file that may be written but not replaced.
                self.overwrite_instead(index, old, &format!("the name cannot be given to another file: {errno}"))
            }
            Err(Errno::NOENT) => Err(fault::raced(entry.path(), "was removed")),
            Err(Errno::ISDIR | Errno::NOTDIR) => Err(fault::raced(entry.path(), "was replaced by a directory")),
            Err(errno) => Err(fault::os("replace", entry.path(), errno)),
        }
    }

    /// Overwrites the file although a temporary file was written.
    fn overwrite_instead(&mut self, index: usize, old: Held, why: &str) -> Result<Method> {
        // Our own lease would block us.
        drop(old);
        let entry = &mut self.entries[index];
        entry.notes.push(format!("written in place: {why}"));
        let Some(mut temp) = entry.temp.take() else {
            return self.overwrite(index);
        };
        let noted = if self.book.is_committed() {
            self.book.note(&self.entries[index].bytes(index)).and_then(|()| self.book.sync())
        } else {
            self.promise()
        };
        // Only now does the record no longer need the temporary file.
        let _ = temp.discard(self.folder_of(index));
        noted?;
        self.overwrite(index)
    }

    /// Writes the new bytes over the old ones, in the same inode.
    fn overwrite(&mut self, index: usize) -> Result<Method> {
        let held = self.still_expected(index, Look::Write)?;
        let Some((file, before)) = held.as_ref().and_then(|held| Some((held.file.as_ref()?, held.stamp))) else {
            return Err(fault::raced(self.entries[index].path(), "was removed"));
        };
        let sync = self.durability.syncs();
        let entry = &mut self.entries[index];
        let folder = &self.folders[entry.folder];
        let (Expect::Version { bytes, .. }, goal) = (entry.draft.expect, entry.draft.goal) else {
            return Err(fault::raced(entry.path(), "was removed"));
        };
        let new = temp::length(goal.pieces());
        let more = new.saturating_sub(before.size);
        temp::within_limit(new)
            .and_then(|()| temp::reserve(file, FallocateFlags::KEEP_SIZE, before.size, more))
            .map_err(|errno| failed_write(folder, entry, "write", errno))?;
        let mode = goal.mode(before.mode);
        if mode != before.mode & 0o7777 {
            // The caller asked for this mode, so failing later would leave the file half changed.
            sys::fchmod(file, Mode::from_raw_mode(mode))
                .map_err(|errno| fault::os("change the mode of", entry.path(), errno))?;
        }
        if let Err(errno) = replace_bytes(file, goal.pieces(), sync) {
            let cause = failed_write(folder, entry, "write", errno);
            return Err(match rollback::mend(folder.fd.as_fd(), entry.name, &before, bytes, sync) {
                Ok(()) => cause.evidence("The old content was written back."),
                Err(second) => fault::partial(&cause, &format!("{} is damaged: {second}", fault::show(entry.path()))),
            });
        }
        let mut after = stamp_now(file).unwrap_or(before);
        if after.mode & 0o7777 != mode {
            // Writing clears the set-id bits.
            match sys::fchmod(file, Mode::from_raw_mode(mode)) {
                Ok(()) => after = stamp_now(file).unwrap_or(after),
                Err(errno) => entry.notes.push(format!("mode {mode:04o} could not be kept: {errno}")),
            }
        }
        (entry.before, entry.stamp) = (Some(before), Some(after));
        Ok(Method::InPlace)
    }

    /// Checks a last time, after all files are visible, whether a writer is waiting for a displaced file.
    fn finish(&mut self) -> Result<Vec<Written>> {
        let wanted = |entry: &&Entry<'_>| entry.displaced.as_ref().is_some_and(Held::is_wanted);
        if let Some(entry) = self.entries.iter().find(wanted) {
            let cause = fault::raced(entry.path(), "is being opened for writing by another program");
            return Err(rollback::undo(self, cause));
        }
        self.settle()
    }

    /// Removes the temporary names, syncs the directories if requested, and collects the metadata.
    fn settle(&mut self) -> Result<Vec<Written>> {
        if !self.book.is_committed() {
            self.finish_names();
        }
        let synced = if self.durability.syncs() { self.sync_folders() } else { Ok(()) };
        self.made.clear();
        if let (Err(errno), Some(entry)) = (synced, self.entries.first()) {
            let cause = fault::os("sync the folder of", entry.path(), errno);
            self.leave();
            return Err(fault::partial(
                &cause,
                "All is written and in place, but a power cut may bring the old state back.",
            ));
        }
        // Needed for recovery after a power cut, so removed only now.
        if !self.finish_names() {
            // The record names what is left; recovery will remove it.
            self.book.leave();
        }
        if let Err(errno) = self.book.close()
            && let Some(entry) = self.entries.first_mut()
        {
            entry.notes.push(format!("the record of it could not be removed from the journal: {errno}"));
        }
        let spent: Vec<OwnedFd> =
            self.entries.iter_mut().filter_map(|entry| entry.displaced.take()?.release()).collect();
        self.local.spent.lock().unwrap_or_else(PoisonError::into_inner).extend(spent);
        let mut touched = self.local.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let folders = self.folders.iter().map(|folder| (folder.key.root, folder.key.path.to_owned()));
        touched.extend(folders.take(named::AGAIN));
        let from = touched.len().saturating_sub(named::AGAIN);
        touched.drain(..from);
        drop(touched);
        (0..self.entries.len()).map(|index| self.report(index)).collect()
    }

    /// Keeps the record and its temporary files for recovery.
    pub(super) fn leave(&mut self) {
        if self.book.is_committed() {
            self.book.leave();
            self.entries.iter_mut().filter_map(|entry| entry.temp.as_mut()).for_each(|temp| temp.live = false);
        }
    }

    fn report(&mut self, index: usize) -> Result<Written> {
        let folder = self.folder_of(index);
        let entry = &self.entries[index];
        let ours = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
        let known = if entry.done == Some(Method::Removed) { entry.before } else { entry.stamp };
        let stamp = match (known, ours) {
            (Some(stamp), _) => Ok(stamp),
            (None, Some(fd)) => stamp_now(fd),
            (None, None) => sys::statat(folder, entry.name).map(|stat| look::stamp_of(&stat)),
        };
        let stamp = stamp.map_err(|errno| {
            fault::partial(&fault::os("look at", entry.path(), errno), "All is written and in place.")
        })?;
        let entry = &mut self.entries[index];
        let method = entry.done.unwrap_or(Method::Renamed);
        Ok(Written { stamp, method, notes: std::mem::take(&mut entry.notes) })
    }

    /// Removes the displaced files; false if one is left.
    fn finish_names(&mut self) -> bool {
        let temps = self.entries.iter().filter_map(|entry| Some((entry.folder, entry.temp.as_ref()?)));
        let names: Vec<NameAt<'_>> = temps
            .filter(|(_, temp)| temp.live)
            .map(|(folder, temp)| NameAt { folder: self.folders[folder].fd.as_fd(), name: &temp.name })
            .collect();
        let mut removed = sys::unlink_all(&names, self.room.keeps).into_iter();
        let mut all = true;
        for entry in &mut self.entries {
            let Some(temp) = entry.temp.as_mut().filter(|temp| temp.live) else { continue };
            temp.live = false;
            match removed.next() {
                Some(Ok(()) | Err(Errno::NOENT)) | None => {}
                Some(Err(errno)) => {
                    all = false;
                    entry.notes.push(format!("the old file is left as {}: {errno}", fault::show(&temp.name)));
                }
            }
        }
        all
    }

    /// Syncs every directory in which names change, and the parents of created directories once.
    fn sync_folders(&mut self) -> rustix::io::Result<()> {
        let mut synced = Vec::new();
        let mut changed = vec![false; self.folders.len()];
        self.entries.iter().filter(|entry| entry.temp.is_some()).for_each(|entry| changed[entry.folder] = true);
        for (folder, _) in self.folders.iter().zip(changed).filter(|(folder, changed)| *changed && folder.readable) {
            sys::fsync(&folder.fd)?;
            synced.push(folder.id);
        }
        if !self.made_synced {
            self.made.iter().rev().try_for_each(|made| made.sync_parent(&mut synced))?;
            self.made_synced = true;
        }
        Ok(())
    }
}

/// Replaces an exchange where there is none: the old file gets a second name first, so that it can be compared
/// afterwards and put back. A rename onto the name between the two steps goes unnoticed.
fn replace(folder: BorrowedFd<'_>, temp: &mut Temp, name: &OsStr, batch: Option<u32>) -> rustix::io::Result<Method> {
    let mut second = Temp::reserve(name, temp.stamp, batch)?;
    match sys::linkat(folder, name, folder, &second.name) {
        Ok(()) => second.live = true,
        // No hard links either: the displaced file is lost.
        Err(errno) if errno == Errno::PERM || errno == Errno::MLINK || kernel::unsupported(errno) => {}
        Err(errno) => return Err(errno),
    }
    let renamed = sys::rename(folder, &temp.name, name, RenameFlags::empty());
    match renamed {
        Ok(()) if second.live => {
            temp.name = second.name;
            Ok(Method::Exchanged)
        }
        Ok(()) => {
            temp.live = false;
            Ok(Method::Renamed)
        }
        Err(errno) => {
            second.discard(folder)?;
            Err(errno)
        }
    }
}

/// Renames to a name that must not exist, also where `rename` cannot check that.
pub(super) fn rename_new(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    match kernel::rename_new(folder, from, to) {
        Err(errno) if kernel::unsupported(errno) => {}
        other => return other,
    }
    match sys::linkat(folder, from, folder, to) {
        Ok(()) => {
            // The file has its new name; failing to remove the old one is not a failure of the write.
            let _ = sys::unlinkat(folder, from, AtFlags::empty());
            Ok(())
        }
        // No hard links either: an empty file reserves the name.
        Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            drop(sys::openat(folder, to, flags, Mode::from_raw_mode(0o600))?);
            sys::rename(folder, from, to, RenameFlags::empty()).inspect_err(|_| {
                let _ = sys::unlinkat(folder, to, AtFlags::empty());
            })
        }
        Err(errno) => Err(errno),
    }
}

fn stamp_now(file: &OwnedFd) -> rustix::io::Result<Stamp> {
    sys::fstat(file).map(|stat| look::stamp_of(&stat))
}

/// Makes `pieces` the whole content of an open file.
pub(super) fn replace_bytes(file: &OwnedFd, pieces: &[&[u8]], sync: bool) -> rustix::io::Result<()> {
    temp::write(file, pieces)?;
    sys::ftruncate(file, temp::length(pieces))?;
    if sync { sys::fdatasync(file) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::stage::stage;
    use super::super::trial::{Wrong, run};
    use super::{Expect, Goal, Held, Look, Method};
    use crate::{Draft, Durability, Local, Store, Version};
    use emendate_core::Code;
    use std::path::{Path, PathBuf};

    fn names(root: &Path) -> Vec<PathBuf> {
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Creates a directory with a file `f` that contains "old", and a store on it.
    fn bed() -> (tempfile::TempDir, PathBuf, Local) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let local = Local::open(&[folder.path().to_owned()]).unwrap();
        (folder, path, local)
    }

    const NEW: Goal<'static> = Goal::content(&[b"new"]);

    /// Stages a goal for `f`, runs `slip` between the last comparison and the exchange, then continues.
    fn slip_in(goal: Goal<'_>, slip: fn(&Path)) -> (tempfile::TempDir, PathBuf, emendate_core::Result<Method>) {
        let (folder, path, local) = bed();
        let place = local.admit(&path).unwrap();
        let Version { bytes, stamp, .. } = local.read(&place, 100, Vec::new()).unwrap().unwrap();
        let expect = Expect::Version { bytes: &bytes, stamp: &stamp };
        let drafts = [Draft { place: &place, expect, goal }];
        let mut plan = stage(&local, &drafts, Durability::Power).unwrap();
        let old = plan.still_expected(0, Look::Only).unwrap().unwrap();
        slip(&path);
        let result = if matches!(goal, Goal::Gone) { plan.remove(0, old) } else { plan.swap(0, old) };
        drop(plan);
        (folder, path, result)
    }

    const SLIPS: [fn(&Path); 2] = [
        |path| std::fs::write(path, "theirs").unwrap(),
        |path| {
            let other = path.with_extension("other");
            std::fs::write(&other, "theirs").unwrap();
            std::fs::rename(other, path).unwrap();
        },
    ];

    #[test]
    fn save_right_before_the_exchange_is_put_back() {
        for (slip, goal) in SLIPS.into_iter().flat_map(|slip| [(slip, NEW), (slip, Goal::Gone)]) {
            for lacks in LACKS.into_iter().take(2) {
                let (folder, path, result) = run(lacks, || slip_in(goal, slip)).result;
                assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
                assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
                assert_eq!(names(folder.path()), [path]);
            }
        }
    }

    const LACKS: [&[(usize, Wrong)]; 3] =
        [&[], &[(0, Wrong::NoExchange)], &[(0, Wrong::NoExchange), (0, Wrong::NoLinks)]];

    #[test]
    fn file_created_before_ours_is_published_stays() {
        for lacks in LACKS {
            let (folder, path, local) = bed();
            std::fs::remove_file(&path).unwrap();
            let place = local.admit(&path).unwrap();
            let drafts = [Draft { place: &place, expect: Expect::Missing, goal: NEW }];
            for theirs in [true, false] {
                let mut plan = stage(&local, &drafts, Durability::Power).unwrap();
                if theirs {
                    std::fs::write(&path, "theirs").unwrap();
                }
                let result = run(lacks, || plan.create(0)).result;
                drop(plan);
                let now = std::fs::read(&path).unwrap();
                if theirs {
                    assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
                    assert_eq!(now, b"theirs");
                    std::fs::remove_file(&path).unwrap();
                } else {
                    assert_eq!((result.unwrap(), &now[..]), (Method::Created, &b"new"[..]));
                }
            }
            assert_eq!(names(folder.path()), [path]);
        }
    }

    #[test]
    fn without_exchange_a_second_name_or_a_rename_is_used() {
        for (lacks, method) in LACKS.into_iter().zip([Method::Exchanged, Method::Exchanged, Method::Renamed]) {
            let (folder, path, result) = run(lacks, || slip_in(NEW, |_| {})).result;
            assert_eq!(result.unwrap(), method);
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            assert_eq!(names(folder.path()), [path]);
        }
    }

    /// Opens the file for writing after the comparison, by a path that leads to the old file: the writer blocks on our
    /// lease, and what it writes then must be in the file that has the name. `early`: it comes before the exchange,
    /// otherwise between exchange and end.
    fn waits_for_the_lease(goal: Goal<'_>, early: bool) {
        let (folder, path, local) = bed();
        let place = local.admit(&path).unwrap();
        let Version { bytes, stamp, .. } = local.read(&place, 100, Vec::new()).unwrap().unwrap();
        let drafts = [Draft { place: &place, expect: Expect::Version { bytes: &bytes, stamp: &stamp }, goal }];
        let mut plan = Box::new(stage(&local, &drafts, Durability::Power).unwrap());
        let held = plan.still_expected(0, Look::Hold).unwrap().unwrap();
        assert!(held.is_leased());
        // A path that keeps leading to the old file, as for a process that has already resolved the name.
        let known = std::fs::File::open(&path).unwrap();
        let known = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&known));
        let wait = |held: &Held| {
            while !held.is_wanted() {
                std::thread::yield_now();
            }
        };
        let come = |held: Option<&Held>| {
            let known = known.clone();
            let writer = std::thread::spawn(move || std::fs::write(known, "theirs").unwrap());
            held.into_iter().for_each(wait);
            writer
        };
        let writer = early.then(|| come(Some(&held)));
        let result = if matches!(goal, Goal::Gone) { plan.remove(0, held) } else { plan.swap(0, held) };
        let (writer, result) = if let Some(writer) = writer {
            (writer, result.map(drop))
        } else {
            plan.entries[0].done = Some(result.unwrap());
            let writer = come(plan.entries[0].displaced.as_ref());
            (writer, plan.finish().map(drop))
        };
        assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
        drop(plan);
        writer.join().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), [path]);
    }

    #[test]
    fn blocked_writer_finds_the_old_file_at_its_name() {
        if !bed().2.probe(0).unwrap().leases {
            // Some sandboxes have no leases.
            return;
        }
        for goal in [NEW, Goal::Gone] {
            waits_for_the_lease(goal, true);
            waits_for_the_lease(goal, false);
        }
    }

    /// A program that keeps the file open must continue in the file that has the name.
    #[test]
    fn file_kept_open_by_a_writer_is_written_in_place() {
        let (folder, path, local) = bed();
        if !local.probe(0).unwrap().leases {
            return;
        }
        let mut keeper = std::fs::File::options().append(true).open(&path).unwrap();
        let place = local.admit(&path).unwrap();
        let Version { bytes, stamp, .. } = local.read(&place, 100, Vec::new()).unwrap().unwrap();
        let expect = Expect::Version { bytes: &bytes, stamp: &stamp };
        let drafts = [Draft { place: &place, expect, goal: NEW }];
        let written = local.stage(&drafts, Durability::Power).unwrap().commit().unwrap();
        assert_eq!(written[0].method, Method::InPlace);
        assert!(written[0].notes[0].contains("open for writing"), "{written:?}");
        std::io::Write::write_all(&mut keeper, b", and more").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new, and more");
        assert_eq!(names(folder.path()), std::slice::from_ref(&path));
        // A removed file cannot keep its later writes; the notes say so.
        let Version { bytes, stamp, .. } = local.read(&place, 100, Vec::new()).unwrap().unwrap();
        let expect = Expect::Version { bytes: &bytes, stamp: &stamp };
        let drafts = [Draft { place: &place, expect, goal: Goal::Gone }];
        let written = local.stage(&drafts, Durability::Power).unwrap().commit().unwrap();
        assert_eq!((written[0].method, path.exists()), (Method::Removed, false));
        assert!(written[0].notes[0].contains("goes with the old file"), "{written:?}");
    }

    #[test]
    fn replaced_file_is_freed_when_idle_or_by_the_next_edit() {
        let (_folder, path, local) = bed();
        let place = local.admit(&path).unwrap();
        let held = || local.spent.lock().unwrap().len();
        for settled in [true, false, false] {
            let Version { bytes, stamp, .. } = local.read(&place, 100, Vec::new()).unwrap().unwrap();
            let expect = Expect::Version { bytes: &bytes, stamp: &stamp };
            let drafts = [Draft { place: &place, expect, goal: NEW }];
            let staged = local.stage(&drafts, Durability::Process).unwrap();
            assert_eq!(held(), 0);
            staged.commit().unwrap();
            assert_eq!(held(), 1);
            if settled {
                local.settle();
                assert_eq!(held(), 0);
            }
        }
    }

    #[test]
    fn file_removed_before_the_exchange_stays_removed() {
        for goal in [NEW, Goal::Gone] {
            let (folder, _, result) = slip_in(goal, |path| std::fs::remove_file(path).unwrap());
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
            assert!(names(folder.path()).is_empty());
            let (folder, path, result) = slip_in(goal, |path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            });
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
            assert!(path.is_dir());
            assert_eq!(names(folder.path()), [path]);
        }
    }
}
