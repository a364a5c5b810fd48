//! Publishing: under the directory locks, every file is compared once more and then becomes visible.

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use emendate_os::files;
use std::ffi::OsStr;
use std::sync::PoisonError;

use emendate_core::Result;
use emendate_os::fs::{AtFlags, Mode, OFlags, RenameFlags};
use emendate_os::io::Errno;

use super::journal_frame::JournalFrame;
use super::lease::{LeasedFile, OpenMode};
use super::parent_dir;
use super::read::current_meta;
use super::sys::{self, NameAt};
use super::temp::{self, TempFile};
use super::transaction::{LocalTransaction, StagedFile, failed_write};
use super::{kernel, publish_batch, rollback, splice};
use crate::{CommitPreview, NewState, Precondition, Transaction, WriteMethod, WriteReport, error};

impl Transaction for LocalTransaction<'_> {
    fn preview(&self) -> CommitPreview {
        self.preview_files()
    }

    fn commit(mut self: Box<Self>) -> Result<Vec<WriteReport>> {
        if self.budget.syncs_late {
            // The latest possible moment: the disk has been writing while the rest was prepared.
            self.sync(0)?;
        }
        parent_dir::lock_all(self.local, &self.folders)?;
        if self.entries.len() > 1 {
            // Checks all files before the first becomes visible: a failure found now needs no rollback.
            let mut all: Vec<usize> = (0..self.entries.len()).collect();
            sys::in_parts(&mut all, |part| {
                part.iter().try_for_each(|index| self.still_expected(*index, OpenMode::Compare).map(drop))
            })
            .into_iter()
            .collect::<Result<()>>()?;
        }
        let needs_record = self.entries.len() > 1 || self.entries.iter().any(|entry| entry.temp.is_none());
        if needs_record && let Err(error) = self.write_intent() {
            return Err(rollback::undo(&mut self, error));
        }
        if let Err(error) = self.exchange_in_parallel() {
            return Err(rollback::undo(&mut self, error));
        }
        for index in 0..self.entries.len() {
            if self.entries[index].published_by.is_some() {
                continue;
            }
            match self.publish(index) {
                Ok(method) => self.entries[index].published_by = Some(method),
                Err(error) => return Err(rollback::undo(&mut self, error)),
            }
        }
        self.finish()
    }
}

impl LocalTransaction<'_> {
    /// Writes the intended state of every file into the journal, before the first of them changes.
    fn write_intent(&mut self) -> Result<()> {
        if !self.record.has_journal() || self.entries.is_empty() {
            return Ok(());
        }
        if self.durability.syncs() {
            // The temporary names must be on disk before the record that refers to them.
            let synced = self.sync_folders();
            synced.map_err(|errno| error::os_error("sync the directory of", self.entries[0].path(), errno))?;
        }
        // The bytes first: the last frame makes the record valid.
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.temp.is_none()) {
            self.record.append(&entry.bytes(index))?;
        }
        self.record.append(&JournalFrame::Commit(self.entries.iter().map(StagedFile::step).collect()))?;
        self.record.sync()
    }

    pub(super) fn folder_of(&self, index: usize) -> BorrowedFd<'_> {
        self.folders[self.entries[index].folder].fd.as_fd()
    }

    fn publish(&mut self, index: usize) -> Result<WriteMethod> {
        let write = self.entries[index].write;
        if self.entries[index].tree.is_some() {
            return self.exchange_tree(index);
        }
        if matches!(write.precondition, Precondition::Missing) {
            if self.entries.len() == 1 {
                self.still_expected(index, OpenMode::Compare)?;
            }
            return self.create(index);
        }
        if self.entries[index].temp.is_none() {
            return self.overwrite(index);
        }
        if let NewState::Spliced { source, .. } = write.new_state
            && source.leased().is_some_and(splice::LeasedSource::has_waiting_writer)
        {
            // Another process has already resolved this name and is blocked in `open` until we release the lease.
            return Err(error::raced(write.path.absolute(), "is being opened for writing by another program"));
        }
        let Some(old) = self.still_expected(index, OpenMode::Lease)? else {
            return Err(error::raced(self.entries[index].path(), "was removed"));
        };
        if old.is_open_for_writing() {
            if let NewState::Spliced { .. } = write.new_state {
                let size = old.meta.size;
                return Err(splice::needs_temp_file(
                    write.path.absolute(),
                    size,
                    "another program has it open for writing",
                ));
            }
            if matches!(write.new_state, NewState::File { like: None, .. }) {
                // The writes of that program must go into the file that has the name.
                return self.overwrite_instead(index, old, "another program has it open for writing");
            }
            // With other names, the old file is not lost.
            if old.meta.links < 2 {
                let lost =
                    "another program has it open for writing; what it writes from now on is lost with the old file";
                self.entries[index].notes.push(lost.to_owned());
            }
        }
        match write.new_state {
            NewState::Absent => self.remove(index, old),
            _ => self.exchange(index, old),
        }
    }

    /// Renames the temporary file to a name that must not exist.
    fn create(&mut self, index: usize) -> Result<WriteMethod> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let path = entry.write.path.absolute();
        let Some(temp) = &mut entry.temp else {
            return Err(error::raced(path, "was removed"));
        };
        let renamed = rename_new(folder, &temp.name, entry.name);
        temp.exists = renamed.is_err();
        match renamed {
            Ok(()) => Ok(WriteMethod::Created),
            Err(Errno::EXIST) => Err(error::raced(path, "was created meanwhile")),
            Err(Errno::NOENT) => Err(error::raced(path, "is no longer there: its directory was moved or removed")),
            Err(errno) => Err(error::os_error("create", path, errno)),
        }
    }

    /// Moves the file to its reserved name, and verifies it before it is deleted.
    fn remove(&mut self, index: usize, old: LeasedFile) -> Result<WriteMethod> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let path = entry.write.path.absolute();
        let Some(temp) = &mut entry.temp else {
            return Err(error::raced(path, "was removed"));
        };
        match sys::rename(folder, entry.name, &temp.name, RenameFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(error::raced(path, "was removed")),
            Err(errno) => return Err(error::os_error("remove", path, errno)),
        }
        temp.exists = true;
        let cause = match old.is_displaced_file(folder, temp, entry.write.precondition) {
            Ok(true) => {
                entry.displaced = Some(old).filter(|_| self.budget.keeps_displaced);
                return Ok(WriteMethod::Removed);
            }
            Ok(false) => error::raced(path, "was changed at the last moment, and that change was put back"),
            Err(errno) => error::os_error("compare", path, errno),
        };
        match rollback::rename_back_to(folder, temp, entry.name) {
            Ok(()) => Err(cause),
            Err(what) => Err(error::partial(&cause, &what)),
        }
    }

    /// Gives the name to the temporary file. If possible, the two files are exchanged and the displaced one is
    /// compared, so that a save between comparison and exchange is put back instead of lost.
    fn exchange(&mut self, index: usize, mut old: LeasedFile) -> Result<WriteMethod> {
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let (overwrites, keeps) = (entry.overwrites(), self.budget.keeps_displaced);
        let Some(temp) = &mut entry.temp else {
            return self.overwrite(index);
        };
        let swapped = match kernel::exchange(folder, &temp.name, entry.name) {
            Err(errno) if kernel::unsupported(errno) => {
                let renamed = link_and_rename(folder, temp, entry.name, self.batch);
                // Some file systems do not replace a file that is open, not even by us.
                if matches!(renamed, Err(Errno::ACCESS | Errno::TXTBSY)) && old.close() {
                    let renamed = link_and_rename(folder, temp, entry.name, self.batch);
                    old.open_again(folder, if renamed.is_ok() { &temp.name } else { entry.name });
                    renamed
                } else {
                    renamed
                }
            }
            exchanged => exchanged.map(|()| WriteMethod::Exchanged),
        };
        match swapped {
            Ok(WriteMethod::Exchanged) => publish_batch::verify(folder, entry, old, keeps),
            Ok(method) => Ok(method),
            Err(errno @ (Errno::BUSY | Errno::TXTBSY | Errno::XDEV | Errno::PERM | Errno::ACCESS)) if overwrites => {
                // A mount point, or a file that may be written but not replaced.
                self.overwrite_instead(index, old, &format!("the name cannot be given to another file: {errno}"))
            }
            Err(Errno::NOENT) => Err(error::raced(entry.path(), "was removed")),
            Err(Errno::ISDIR | Errno::NOTDIR) => Err(error::raced(entry.path(), "was replaced by a directory")),
            Err(errno) => Err(error::os_error("replace", entry.path(), errno)),
        }
    }

    /// Overwrites the file although a temporary file was written.
    fn overwrite_instead(&mut self, index: usize, old: LeasedFile, why: &str) -> Result<WriteMethod> {
        // Our own lease would block us.
        drop(old);
        let entry = &mut self.entries[index];
        entry.notes.push(format!("written in place: {why}"));
        let Some(mut temp) = entry.temp.take() else {
            return self.overwrite(index);
        };
        let noted = if self.record.is_committed() {
            self.record.append(&self.entries[index].bytes(index)).and_then(|()| self.record.sync())
        } else {
            self.write_intent()
        };
        // Only now does the record no longer need the temporary file.
        let _ = temp.discard(self.folder_of(index));
        noted?;
        self.overwrite(index)
    }

    /// Writes the new bytes over the old ones, in the same inode.
    fn overwrite(&mut self, index: usize) -> Result<WriteMethod> {
        let held = self.still_expected(index, OpenMode::Overwrite)?;
        let Some((file, before)) = held.as_ref().and_then(|held| Some((held.file.as_ref()?, held.meta))) else {
            return Err(error::raced(self.entries[index].path(), "was removed"));
        };
        let sync = self.durability.syncs();
        let entry = &mut self.entries[index];
        let folder = &self.folders[entry.folder];
        let (Precondition::Version { bytes, .. }, new_state) = (entry.write.precondition, entry.write.new_state) else {
            return Err(error::raced(entry.path(), "was removed"));
        };
        let new = temp::length(new_state.chunks());
        let more = new.saturating_sub(before.size);
        temp::within_limit(new)
            .and_then(|()| temp::reserve(file, before.size, more))
            .map_err(|errno| failed_write(folder, entry, "write", errno))?;
        let mode = new_state.mode(before.mode);
        if mode != before.mode & 0o7777 {
            // The caller asked for this mode, so failing later would leave the file half changed.
            sys::fchmod(file, sys::mode(mode))
                .map_err(|errno| error::os_error("change the mode of", entry.path(), errno))?;
        }
        if let Err(errno) = replace_bytes(file, new_state.chunks(), sync) {
            let cause = failed_write(folder, entry, "write", errno);
            return Err(match rollback::restore_bytes(folder.fd.as_fd(), entry.name, &before, bytes, sync) {
                Ok(()) => cause.evidence("The old content was written back."),
                Err(second) => error::partial(&cause, &format!("{} is damaged: {second}", error::show(entry.path()))),
            });
        }
        let mut after = current_meta(file).unwrap_or(before);
        if after.mode & 0o7777 != mode {
            // Writing clears the set-id bits.
            match sys::fchmod(file, sys::mode(mode)) {
                Ok(()) => after = current_meta(file).unwrap_or(after),
                Err(errno) => entry.notes.push(format!("mode {mode:04o} could not be kept: {errno}")),
            }
        }
        (entry.before, entry.meta) = (Some(before), Some(after));
        Ok(WriteMethod::InPlace)
    }

    /// Checks a last time, after all files are visible, whether a writer is waiting for a displaced file.
    fn finish(&mut self) -> Result<Vec<WriteReport>> {
        if let Some(entry) =
            self.entries.iter().find(|entry| entry.displaced.as_ref().is_some_and(LeasedFile::has_waiting_writer))
        {
            let cause = error::raced(entry.path(), "is being opened for writing by another program");
            return Err(rollback::undo(self, cause));
        }
        self.clean_up()
    }

    /// Removes the temporary names, syncs the directories if requested, and collects the metadata.
    fn clean_up(&mut self) -> Result<Vec<WriteReport>> {
        let finished = self.record.is_committed() || self.finish_names();
        let synced = if self.durability.syncs() { self.sync_folders() } else { Ok(()) };
        self.created_dirs.clear();
        if let (Err(errno), Some(entry)) = (synced, self.entries.first()) {
            let cause = error::os_error("sync the directory of", entry.path(), errno);
            self.keep_record();
            return Err(error::partial(
                &cause,
                "Everything is written and in place, but a power cut may bring the old state back.",
            ));
        }
        // Needed for recovery after a power cut, so removed only now.
        if !(self.finish_names() && finished) {
            // The record names what is left; recovery will remove it.
            self.record.keep_for_recovery();
        }
        if let Err(errno) = self.record.close()
            && let Some(entry) = self.entries.first_mut()
        {
            entry.notes.push(format!("the record of it could not be removed from the journal: {errno}"));
        }
        let spent: Vec<OwnedFd> =
            self.entries.iter_mut().filter_map(|entry| entry.displaced.take()?.release()).collect();
        if !files::REMOVED_KEEPS_NAME {
            self.local.displaced_files.lock().unwrap_or_else(PoisonError::into_inner).extend(spent);
        }
        self.reports()
    }

    /// Keeps the record and its temporary files for recovery.
    pub(super) fn keep_record(&mut self) {
        if self.record.is_committed() {
            self.record.keep_for_recovery();
            self.entries.iter_mut().filter_map(|entry| entry.temp.as_mut()).for_each(|temp| temp.exists = false);
        }
    }

    /// Removes the displaced files; false if one is left.
    fn finish_names(&mut self) -> bool {
        let temps = self.entries.iter().filter_map(|entry| Some((entry.folder, entry.temp.as_ref()?)));
        let names: Vec<NameAt<'_>> = temps
            .filter(|(_, temp)| temp.exists)
            .map(|(folder, temp)| NameAt { folder: self.folders[folder].fd.as_fd(), name: &temp.name })
            .collect();
        let mut removed = sys::unlink_all(&names, self.budget.keeps_displaced).into_iter();
        let mut all = true;
        for entry in &mut self.entries {
            let Some(temp) = entry.temp.as_mut().filter(|temp| temp.exists) else { continue };
            temp.exists = false;
            let gone = match removed.next() {
                Some(Err(Errno::ISDIR)) => Some(temp::unlink_any(&self.folders[entry.folder].fd, &temp.name)),
                other => other,
            };
            match gone {
                Some(Ok(()) | Err(Errno::NOENT)) | None => {}
                Some(Err(errno)) => {
                    all = false;
                    entry.notes.push(format!("the old file is left as {}: {errno}", error::show(&temp.name)));
                }
            }
        }
        all
    }

    /// Syncs every directory in which names change, and the parents of created directories once.
    fn sync_folders(&mut self) -> emendate_os::io::Result<()> {
        let mut synced = Vec::new();
        let mut changed = vec![false; self.folders.len()];
        self.entries.iter().filter(|entry| entry.temp.is_some()).for_each(|entry| changed[entry.folder] = true);
        for (folder, _) in self.folders.iter().zip(changed).filter(|(folder, changed)| *changed && folder.readable) {
            sys::fsync(&folder.fd)?;
            synced.push(folder.id);
        }
        if !self.created_dirs_synced {
            self.created_dirs.iter().rev().try_for_each(|made| made.sync_parent(&mut synced))?;
            self.created_dirs_synced = true;
        }
        Ok(())
    }
}

/// Replaces an exchange where there is none: the old file gets a second name first, so that it can be compared
/// afterwards and put back. A rename onto the name between the two steps goes unnoticed.
fn link_and_rename(
    folder: BorrowedFd<'_>,
    temp: &mut TempFile,
    name: &OsStr,
    batch: Option<u32>,
) -> emendate_os::io::Result<WriteMethod> {
    let mut second = TempFile::reserve(name, temp.meta, batch)?;
    match sys::linkat(folder, name, folder, &second.name) {
        Ok(()) => second.exists = true,
        // No hard links either: the displaced file is lost.
        Err(errno) if errno == Errno::PERM || errno == Errno::MLINK || kernel::unsupported(errno) => {}
        Err(errno) => return Err(errno),
    }
    let renamed = sys::rename(folder, &temp.name, name, RenameFlags::empty());
    match renamed {
        Ok(()) if second.exists => {
            temp.name = second.name;
            Ok(WriteMethod::Exchanged)
        }
        Ok(()) => {
            temp.exists = false;
            Ok(WriteMethod::Renamed)
        }
        Err(errno) => {
            second.discard(folder)?;
            Err(errno)
        }
    }
}

/// Renames to a name that must not exist, also where `rename` cannot check that.
pub(super) fn rename_new(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> emendate_os::io::Result<()> {
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

/// Makes `pieces` the whole content of an open file.
pub(super) fn replace_bytes(file: &OwnedFd, pieces: &[&[u8]], sync: bool) -> emendate_os::io::Result<()> {
    temp::write(file, pieces)?;
    sys::ftruncate(file, temp::length(pieces))?;
    if sync { sys::fdatasync(file) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::fault_injection::{InjectedFault, run};
    use super::super::stage::stage;
    use super::{LeasedFile, NewState, OpenMode, Precondition, WriteMethod};
    use crate::{Durability, FileVersion, FileWrite, LocalStore, Store};
    use emendate_core::Code;
    use std::path::{Path, PathBuf};

    fn names(root: &Path) -> Vec<PathBuf> {
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Creates a directory with a file `f` that contains "old", and a store on it.
    fn open_store_with_file() -> (tempfile::TempDir, PathBuf, LocalStore) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let local = LocalStore::open(&[folder.path().to_owned()]).unwrap();
        (folder, path, local)
    }

    const NEW: NewState<'static> = NewState::content(&[b"new"]);

    /// Stages a new state of `f`, runs `interfere` between the last comparison and the exchange, then continues.
    fn publish_after(
        new_state: NewState<'_>,
        interfere: fn(&Path),
    ) -> (tempfile::TempDir, PathBuf, emendate_core::Result<WriteMethod>) {
        let (folder, path, local) = open_store_with_file();
        let safe_path = local.resolve_path(&path).unwrap();
        let FileVersion { bytes, meta, .. } = local.read(&safe_path, 100, Vec::new()).unwrap().unwrap();
        let expect = Precondition::Version { bytes: &bytes, meta: &meta };
        let writes = [FileWrite { path: &safe_path, precondition: expect, new_state }];
        let mut plan = stage(&local, &writes, Durability::Power).unwrap();
        let old = plan.still_expected(0, OpenMode::Compare).unwrap().unwrap();
        interfere(&path);
        let result = if matches!(new_state, NewState::Absent) { plan.remove(0, old) } else { plan.exchange(0, old) };
        drop(plan);
        (folder, path, result)
    }

    const INTERFERENCES: [fn(&Path); 2] = [
        |path| std::fs::write(path, "theirs").unwrap(),
        |path| {
            let other = path.with_extension("other");
            std::fs::write(&other, "theirs").unwrap();
            std::fs::rename(other, path).unwrap();
        },
    ];

    #[test]
    fn save_right_before_the_exchange_is_put_back() {
        for (interfere, new_state) in
            INTERFERENCES.into_iter().flat_map(|interfere| [(interfere, NEW), (interfere, NewState::Absent)])
        {
            for lacks in LACKS.into_iter().take(2) {
                let (folder, path, result) = run(lacks, || publish_after(new_state, interfere)).result;
                assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
                assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
                assert_eq!(names(folder.path()), [path]);
            }
        }
    }

    const LACKS: [&[(usize, InjectedFault)]; 3] =
        [&[], &[(0, InjectedFault::NoExchange)], &[(0, InjectedFault::NoExchange), (0, InjectedFault::NoLinks)]];

    #[test]
    fn file_created_before_ours_is_published_stays() {
        for lacks in LACKS {
            let (folder, path, local) = open_store_with_file();
            std::fs::remove_file(&path).unwrap();
            let safe_path = local.resolve_path(&path).unwrap();
            let writes = [FileWrite { path: &safe_path, precondition: Precondition::Missing, new_state: NEW }];
            for theirs in [true, false] {
                let mut plan = stage(&local, &writes, Durability::Power).unwrap();
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
                    assert_eq!((result.unwrap(), &now[..]), (WriteMethod::Created, &b"new"[..]));
                }
            }
            assert_eq!(names(folder.path()), [path]);
        }
    }

    #[test]
    fn without_exchange_a_second_name_or_a_rename_is_used() {
        for (lacks, method) in
            LACKS.into_iter().zip([WriteMethod::Exchanged, WriteMethod::Exchanged, WriteMethod::Renamed])
        {
            let (folder, path, result) = run(lacks, || publish_after(NEW, |_| {})).result;
            assert_eq!(result.unwrap(), method);
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            assert_eq!(names(folder.path()), [path]);
        }
    }

    /// Opens the file for writing after the comparison, by a path that leads to the old file: the writer blocks on our
    /// lease, and what it writes then must be in the file that has the name. `early`: it comes before the exchange,
    /// otherwise between exchange and end.
    fn waits_for_the_lease(new_state: NewState<'_>, early: bool) {
        let (folder, path, local) = open_store_with_file();
        let safe_path = local.resolve_path(&path).unwrap();
        let FileVersion { bytes, meta, .. } = local.read(&safe_path, 100, Vec::new()).unwrap().unwrap();
        let writes = [FileWrite {
            path: &safe_path,
            precondition: Precondition::Version { bytes: &bytes, meta: &meta },
            new_state,
        }];
        let mut plan = Box::new(stage(&local, &writes, Durability::Power).unwrap());
        let held = plan.still_expected(0, OpenMode::Lease).unwrap().unwrap();
        assert!(held.is_leased());
        // A path that keeps leading to the old file, as for a process that has already resolved the name.
        let known = std::fs::File::open(&path).unwrap();
        let known = format!("/proc/self/fd/{}", emendate_os::fd::AsRawFd::as_raw_fd(&known));
        let wait = |held: &LeasedFile| {
            while !held.has_waiting_writer() {
                std::thread::yield_now();
            }
        };
        let come = |held: Option<&LeasedFile>| {
            let known = known.clone();
            let writer = std::thread::spawn(move || std::fs::write(known, "theirs").unwrap());
            held.into_iter().for_each(wait);
            writer
        };
        let writer = early.then(|| come(Some(&held)));
        let result = if matches!(new_state, NewState::Absent) { plan.remove(0, held) } else { plan.exchange(0, held) };
        let (writer, result) = if let Some(writer) = writer {
            (writer, result.map(drop))
        } else {
            plan.entries[0].published_by = Some(result.unwrap());
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
        if !open_store_with_file().2.probe(0).unwrap().leases {
            // Some sandboxes have no leases.
            return;
        }
        for new_state in [NEW, NewState::Absent] {
            waits_for_the_lease(new_state, true);
            waits_for_the_lease(new_state, false);
        }
    }

    /// A program that keeps the file open must continue in the file that has the name.
    #[test]
    fn file_kept_open_by_a_writer_is_written_in_place() {
        let (folder, path, local) = open_store_with_file();
        if !local.probe(0).unwrap().leases {
            return;
        }
        let mut keeper = std::fs::File::options().append(true).open(&path).unwrap();
        let safe_path = local.resolve_path(&path).unwrap();
        let FileVersion { bytes, meta, .. } = local.read(&safe_path, 100, Vec::new()).unwrap().unwrap();
        let expect = Precondition::Version { bytes: &bytes, meta: &meta };
        let writes = [FileWrite { path: &safe_path, precondition: expect, new_state: NEW }];
        let written = local.stage(&writes, Durability::Power).unwrap().commit().unwrap();
        assert_eq!(written[0].method, WriteMethod::InPlace);
        assert!(written[0].notes[0].contains("open for writing"), "{written:?}");
        std::io::Write::write_all(&mut keeper, b", and more").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new, and more");
        assert_eq!(names(folder.path()), std::slice::from_ref(&path));
        // A removed file cannot keep its later writes; the notes say so.
        let FileVersion { bytes, meta, .. } = local.read(&safe_path, 100, Vec::new()).unwrap().unwrap();
        let expect = Precondition::Version { bytes: &bytes, meta: &meta };
        let writes = [FileWrite { path: &safe_path, precondition: expect, new_state: NewState::Absent }];
        let written = local.stage(&writes, Durability::Power).unwrap().commit().unwrap();
        assert_eq!((written[0].method, path.exists()), (WriteMethod::Removed, false));
        assert!(written[0].notes[0].contains("is lost with the old file"), "{written:?}");
    }

    #[test]
    fn replaced_file_is_freed_when_idle_or_by_the_next_edit() {
        let (_folder, path, local) = open_store_with_file();
        let safe_path = local.resolve_path(&path).unwrap();
        let held = || local.displaced_files.lock().unwrap().len();
        for settled in [true, false, false] {
            let FileVersion { bytes, meta, .. } = local.read(&safe_path, 100, Vec::new()).unwrap().unwrap();
            let expect = Precondition::Version { bytes: &bytes, meta: &meta };
            let writes = [FileWrite { path: &safe_path, precondition: expect, new_state: NEW }];
            let staged = local.stage(&writes, Durability::Process).unwrap();
            assert_eq!(held(), 0);
            staged.commit().unwrap();
            assert_eq!(held(), 1);
            if settled {
                local.run_deferred();
                assert_eq!(held(), 0);
            }
        }
    }

    #[test]
    fn file_removed_before_the_exchange_stays_removed() {
        for new_state in [NEW, NewState::Absent] {
            let (folder, _, result) = publish_after(new_state, |path| std::fs::remove_file(path).unwrap());
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
            assert!(names(folder.path()).is_empty());
            let (folder, path, result) = publish_after(new_state, |path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            });
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced);
            assert!(path.is_dir());
            assert_eq!(names(folder.path()), [path]);
        }
    }
}
