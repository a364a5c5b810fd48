//! Publishing: under the folders' locks everything is compared once more, then it becomes visible.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use emendate_core::Result;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::folder;
use super::look::{self, LOOK, same_bytes};
use super::record::Frame;
use super::stage::{Entry, OVERWRITE, Plan, failed_write};
use super::sys;
use super::temp::{self, Temp};
use super::{kernel, rollback};
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
        Ahead { stamps: stamps.collect(), made: self.made.iter().map(|made| made.path.clone()).collect() }
    }

    fn commit(mut self: Box<Self>) -> Result<Vec<Written>> {
        folder::lock_all(self.local, &self.folders)?;
        if self.entries.len() > 1 {
            // The later ones before the first is visible: what is known to fail need not be put back.
            (0..self.entries.len()).try_for_each(|index| self.still_expected(index, LOOK).map(drop))?;
        }
        if self.entries.len() > 1 || self.entries.iter().any(|entry| entry.temp.is_none()) {
            self.promise()?;
        }
        for index in 0..self.entries.len() {
            match self.publish(index) {
                Ok(method) => self.entries[index].done = Some(method),
                Err(error) => return Err(rollback::undo(&mut self, error)),
            }
        }
        self.settle()
    }
}

impl Plan<'_> {
    /// Writes into the journal what is to become of every file, before the first of them changes.
    fn promise(&mut self) -> Result<()> {
        if !self.book.is_kept() || self.entries.is_empty() {
            return Ok(());
        }
        if self.durability.syncs() {
            // The temporary names reach the disk before the record that speaks of them.
            let synced = self.sync_folders();
            synced.map_err(|errno| fault::os("sync the folder of", self.entries[0].path(), errno))?;
        }
        // The bytes first: with the last frame the record counts.
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.temp.is_none()) {
            self.book.note(&entry.bytes(index))?;
        }
        self.book.note(&Frame::Commit(self.entries.iter().map(Entry::step).collect()))?;
        self.book.sync()
    }

    pub(super) fn folder_of(&self, index: usize) -> BorrowedFd<'_> {
        self.folders[self.entries[index].folder].fd.as_fd()
    }

    /// Compares what is at the path now with what the draft expects; gives what is there, if there is to be something.
    fn still_expected(&self, index: usize, flags: OFlags) -> Result<Option<Held>> {
        let entry = &self.entries[index];
        let (place, path) = (entry.draft.place, entry.path());
        let folder = &self.folders[entry.folder];
        let (bytes, stamp) = match entry.draft.expect {
            Expect::Version { bytes, stamp } => (bytes, stamp),
            _ if !folder.in_place(self.local) => return Err(fault::raced(path, "has lost its folder")),
            Expect::Missing => {
                return match sys::statat(&folder.fd, entry.name) {
                    Err(Errno::NOENT) => Ok(None),
                    Ok(_) => Err(fault::raced(path, "was created meanwhile")),
                    Err(errno) => Err(fault::os("look at", path, errno)),
                };
            }
            Expect::Link { target } => {
                return match look::link_at(&folder.fd, entry.name, target) {
                    Ok(Some(stamp)) => Ok(Some(Held { file: None, stamp })),
                    Ok(None) => Err(fault::raced(path, "is not the link any more that it was")),
                    Err(errno) => Err(fault::os("look at", path, errno)),
                };
            }
        };
        // By the whole path again: the folder may have been moved away since it was opened.
        let file = match self.local.open_beneath(place.root(), place.relative(), flags) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Err(fault::raced(path, "was removed")),
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::ISDIR) => {
                return Err(fault::raced(path, "was replaced by something else"));
            }
            Err(errno) if flags == OVERWRITE => return Err(fault::os("open for writing", path, errno)),
            Err(errno) => return Err(fault::os("open", path, errno)),
        };
        let now = stamp_now(&file).map_err(|errno| fault::os("look at", path, errno))?;
        if !now.same_file(stamp) {
            return Err(fault::raced(path, "was replaced by another file"));
        }
        let same = now.size == bytes.len() as u64
            && same_bytes(&file, bytes).map_err(|errno| fault::os("compare", path, errno))?;
        if same { Ok(Some(Held { file: Some(file), stamp: now })) } else { Err(fault::raced(path, "was changed")) }
    }

    fn publish(&mut self, index: usize) -> Result<Method> {
        let draft = self.entries[index].draft;
        if matches!(draft.expect, Expect::Missing) {
            if self.entries.len() == 1 {
                self.still_expected(index, LOOK)?;
            }
            return self.create(index);
        }
        if self.entries[index].temp.is_none() {
            return self.overwrite(index);
        }
        match (self.still_expected(index, LOOK)?, draft.goal) {
            (Some(old), Goal::Gone) => self.remove(index, &old),
            (Some(old), _) => self.swap(index, &old),
            (None, _) => Err(fault::raced(self.entries[index].path(), "was removed")),
        }
    }

    /// A new name for the temporary file, unless there is one by now.
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

    /// What is there takes the name that was reserved for it, and is looked at once more before it is thrown away.
    fn remove(&mut self, index: usize, old: &Held) -> Result<Method> {
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
            Ok(true) => return Ok(Method::Removed),
            Ok(false) => fault::raced(path, "was changed at the last moment, and that change was put back"),
            Err(errno) => fault::os("compare", path, errno),
        };
        match rollback::give_back(folder, temp, entry.name) {
            Ok(()) => Err(cause),
            Err(what) => Err(fault::partial(&cause, &what)),
        }
    }

    /// The temporary file takes the old one's name. Where it can be, the two are exchanged and the displaced one is
    /// compared: a save that slipped in between the comparison and the exchange is put back, not lost.
    fn swap(&mut self, index: usize, old: &Held) -> Result<Method> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let overwrites = entry.overwrites();
        let Some(temp) = &mut entry.temp else {
            return self.overwrite(index);
        };
        let mut method = Method::Exchanged;
        let mut swapped = kernel::exchange(folder, &temp.name, entry.name);
        if swapped.is_err_and(kernel::unsupported) {
            method = Method::Renamed;
            swapped = sys::rename(folder, &temp.name, entry.name, RenameFlags::empty());
            temp.live = swapped.is_err();
        }
        match swapped {
            Ok(()) if method == Method::Exchanged => self.verify(index, old),
            Ok(()) => Ok(method),
            Err(errno @ (Errno::BUSY | Errno::XDEV | Errno::PERM | Errno::ACCESS)) if overwrites => {
                // A mounted file, or one that may be written but not replaced.
                entry.notes.push(format!("written in place: the name cannot be given to another file: {errno}"));
                let Some(mut temp) = entry.temp.take() else {
                    return self.overwrite(index);
                };
                let noted = if self.book.is_committed() {
                    self.book.note(&self.entries[index].bytes(index)).and_then(|()| self.book.sync())
                } else {
                    self.promise()
                };
                // Only now, when the record no longer needs it.
                let _ = temp.discard(self.folder_of(index));
                noted?;
                self.overwrite(index)
            }
            Err(Errno::NOENT) => Err(fault::raced(entry.path(), "was removed")),
            Err(Errno::ISDIR | Errno::NOTDIR) => Err(fault::raced(entry.path(), "was replaced by a directory")),
            Err(errno) => Err(fault::os("replace", entry.path(), errno)),
        }
    }

    /// Looks at what an exchange displaced; anything unexpected goes back to the name.
    fn verify(&mut self, index: usize, old: &Held) -> Result<Method> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let path = entry.draft.place.absolute();
        let Some(temp) = &mut entry.temp else {
            return Ok(Method::Exchanged);
        };
        let cause = match old.is_at(folder, temp, entry.draft.expect) {
            Ok(true) => return Ok(Method::Exchanged),
            Ok(false) => fault::raced(path, "was changed at the last moment, and that change was put back"),
            Err(errno) => fault::os("compare", path, errno),
        };
        match rollback::put_back(folder, temp, entry.name) {
            Ok(()) => Err(cause),
            Err(what) => Err(fault::partial(&cause, &what)),
        }
    }

    /// Writes the new bytes over the old ones, in the same inode.
    fn overwrite(&mut self, index: usize) -> Result<Method> {
        let Some(Held { file: Some(file), stamp: before }) = self.still_expected(index, OVERWRITE)? else {
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
        temp::reserve(&file, FallocateFlags::KEEP_SIZE, before.size, more)
            .map_err(|errno| failed_write(folder, entry, "write", errno))?;
        let (old_mode, mode) = (before.mode & 0o7777, goal.mode(before.mode));
        if mode != old_mode {
            // It was asked for, so it must not fail half-way.
            sys::fchmod(&file, Mode::from_raw_mode(mode))
                .map_err(|errno| fault::os("change the mode of", entry.path(), errno))?;
        }
        if let Err(errno) = replace_bytes(&file, goal.pieces(), sync) {
            let cause = failed_write(folder, entry, "write", errno);
            let mended =
                replace_bytes(&file, &[bytes], sync).and_then(|()| sys::fchmod(&file, Mode::from_raw_mode(old_mode)));
            return Err(match mended {
                Ok(()) => cause.evidence("The old content was written back."),
                Err(second) => fault::partial(&cause, &format!("{} is damaged: {second}", fault::show(entry.path()))),
            });
        }
        let mut after = stamp_now(&file).unwrap_or(before);
        if after.mode & 0o7777 != mode {
            // Writing takes the set-id bits off.
            match sys::fchmod(&file, Mode::from_raw_mode(mode)) {
                Ok(()) => after = stamp_now(&file).unwrap_or(after),
                Err(errno) => entry.notes.push(format!("mode {mode:04o} could not be kept: {errno}")),
            }
        }
        (entry.before, entry.stamp) = (Some(before), Some(after));
        Ok(Method::InPlace)
    }

    /// All is visible: removes what is left over, syncs the folders if asked, and takes the stamps.
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
        // What would be needed to go on after a power cut goes only now.
        if !self.finish_names() {
            // The record knows what is left, and the next start will try again.
            self.book.leave();
        }
        if let Err(errno) = self.book.close()
            && let Some(entry) = self.entries.first_mut()
        {
            entry.notes.push(format!("the record of it could not be removed from the journal: {errno}"));
        }
        (0..self.entries.len()).map(|index| self.report(index)).collect()
    }

    /// Leaves the record and what it speaks of to the next start.
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

    /// Removes the displaced files; false when one is left.
    fn finish_names(&mut self) -> bool {
        let mut all = true;
        for entry in &mut self.entries {
            if let Some(temp) = &mut entry.temp
                && let Err(errno) = temp.discard(self.folders[entry.folder].fd.as_fd())
            {
                all = false;
                entry.notes.push(format!("the old file is left as {}: {errno}", fault::show(&temp.name)));
            }
        }
        all
    }

    /// Syncs every folder in which names change, and those in which folders were made; the latter once.
    fn sync_folders(&mut self) -> rustix::io::Result<()> {
        let mut synced = Vec::new();
        for (index, folder) in self.folders.iter().enumerate().filter(|(_, folder)| folder.readable) {
            if self.entries.iter().any(|entry| entry.folder == index && entry.temp.is_some()) {
                sys::fsync(&folder.fd)?;
                synced.push(folder.id);
            }
        }
        if !self.made_synced {
            self.made.iter().rev().try_for_each(|made| made.sync_parent(&mut synced))?;
            self.made_synced = true;
        }
        Ok(())
    }
}

/// What a draft replaces, found as expected.
struct Held {
    /// The open file; `None`: a symbolic link, which nobody can change, only replace.
    file: Option<OwnedFd>,
    stamp: Stamp,
}

impl Held {
    /// True when this, and still with the bytes that are expected, is what has the temporary name now.
    fn is_at(&self, folder: BorrowedFd<'_>, temp: &Temp, expect: Expect<'_>) -> rustix::io::Result<bool> {
        if identity_at(folder, temp)? != (self.stamp.dev, self.stamp.ino) {
            return Ok(false);
        }
        match (&self.file, expect) {
            (Some(file), Expect::Version { bytes, .. }) => same_bytes(file, bytes),
            _ => Ok(true),
        }
    }
}

/// Renames to a name that must be new, also where a rename cannot be told so.
pub(super) fn rename_new(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    match kernel::rename_new(folder, from, to) {
        Err(errno) if kernel::unsupported(errno) => {}
        other => return other,
    }
    match sys::linkat(folder, from, folder, to) {
        Ok(()) => {
            // The content is at its name; a second one that cannot be removed is no failure of the write.
            let _ = sys::unlinkat(folder, from, AtFlags::empty());
            Ok(())
        }
        // No links either: an empty file holds the name for a moment.
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

/// Device and inode of what the temporary name leads to.
pub(super) fn identity_at(folder: BorrowedFd<'_>, temp: &Temp) -> rustix::io::Result<(u64, u64)> {
    let stat = sys::statat(folder, &temp.name)?;
    let stamp = look::stamp_of(&stat);
    Ok((stamp.dev, stamp.ino))
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
    use super::{Expect, Goal, LOOK, Method};
    use crate::{Draft, Durability, Local, Store, Version};
    use emendate_core::Code;
    use std::path::{Path, PathBuf};

    fn names(root: &Path) -> Vec<PathBuf> {
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Stages `new` over `old`, or its removal, lets `slip` run between the last comparison and the exchange, then goes on.
    fn slip_in(removing: bool, slip: fn(&Path)) -> (tempfile::TempDir, PathBuf, emendate_core::Result<Method>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let local = Local::open(&[folder.path().to_owned()]).unwrap();
        let place = local.admit(&path).unwrap();
        let Version { bytes, stamp, .. } = local.read(&place, 100, Vec::new()).unwrap().unwrap();
        let expect = Expect::Version { bytes: &bytes, stamp: &stamp };
        let goal = if removing { Goal::Gone } else { Goal::content(&[b"new"]) };
        let drafts = [Draft { place: &place, expect, goal }];
        let mut plan = stage(&local, &drafts, Durability::Power).unwrap();
        let old = plan.still_expected(0, LOOK).unwrap().unwrap();
        slip(&path);
        let result = if removing { plan.remove(0, &old) } else { plan.swap(0, &old) };
        drop(plan);
        (folder, path, result)
    }

    #[test]
    fn a_save_that_slips_in_before_the_exchange_is_put_back() {
        let slips: [fn(&Path); 2] = [
            |path| std::fs::write(path, "theirs").unwrap(),
            |path| {
                let other = path.with_extension("other");
                std::fs::write(&other, "theirs").unwrap();
                std::fs::rename(other, path).unwrap();
            },
        ];
        for (slip, removing) in slips.into_iter().flat_map(|slip| [(slip, false), (slip, true)]) {
            let (folder, path, result) = slip_in(removing, slip);
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
            assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
            assert_eq!(names(folder.path()), [path]);
        }
    }

    #[test]
    fn a_file_that_goes_away_before_the_exchange_stays_away() {
        for removing in [false, true] {
            let (folder, _, result) = slip_in(removing, |path| std::fs::remove_file(path).unwrap());
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
            assert!(names(folder.path()).is_empty());
            let (folder, path, result) = slip_in(removing, |path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            });
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
            assert!(path.is_dir());
            assert_eq!(names(folder.path()), [path]);
        }
    }
}
