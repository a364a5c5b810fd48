//! A file that becomes a directory, or a directory that becomes a file: the new side is built under a temporary name and
//! exchanged with the old one, so nobody ever sees a part of either.

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use emendate_os::ffi::OsStrExt;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use emendate_core::{Code, ContentId, Error, Result};
use emendate_os::fs::{FileType, Mode, OFlags};
use emendate_os::io::Errno;

use super::journal_frame::PathState;
use super::lease::{LeasedFile, OpenMode};
use super::parent_dir::{self, ParentDir};
use super::precondition::still_expected;
use super::publish::rename_new;
use super::read::{self, READ_FLAGS};
use super::recover::read_whole;
use super::transaction::{LocalTransaction, StagedFile, TreeFile, TreeSwap, failed_write};
use super::write_temp::{self, TempOptions};
use super::{LocalStore, kernel, rollback, sys};
use crate::{FileMeta, FileWrite, NewState, Precondition, WriteMethod, WriteReport, error};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Names of files below a directory, with the kind and content of each.
#[derive(Default)]
struct TreeHash(BTreeMap<PathBuf, (u8, ContentId)>);

impl TreeHash {
    fn add_write(&mut self, below: PathBuf, write: &FileWrite<'_>) {
        let (kind, content) = match (write.new_state, write.precondition) {
            (NewState::Link { target }, _) | (NewState::Absent, Precondition::Link { target }) => {
                (b'l', ContentId::of(target.as_encoded_bytes()))
            }
            (NewState::Absent, Precondition::Version { bytes, .. }) => (b'f', ContentId::of(bytes)),
            (NewState::Absent, Precondition::Content { content, .. }) => (b'f', content),
            (state, _) => (b'f', ContentId::of_pieces(state.chunks().iter().copied())),
        };
        self.0.insert(below, (kind, content));
    }

    fn state(&self) -> PathState {
        let mut bytes = Vec::new();
        for (path, (kind, content)) in &self.0 {
            bytes.extend((path.as_os_str().len() as u64).to_le_bytes());
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(*kind);
            bytes.extend(content.to_bytes());
        }
        PathState::Tree(ContentId::of(&bytes))
    }
}

/// Entries below a directory: all names that are not directories, and directories without any.
#[derive(Default)]
struct TreeEntries {
    /// Directories, parents first; the directory itself is the first.
    folders: Vec<(PathBuf, OwnedFd)>,
    files: Vec<(PathBuf, usize, FileType)>,
    empty: Vec<PathBuf>,
}

impl TreeEntries {
    /// Lists everything below a directory; fails with `ENOTDIR` if it is not a directory.
    fn read(folder: BorrowedFd<'_>, name: &OsStr) -> emendate_os::io::Result<TreeEntries> {
        let mut out = TreeEntries::default();
        out.folders.push((PathBuf::new(), sys::openat(folder, name, DIRECTORY, Mode::empty())?));
        let mut at = 0;
        while at < out.folders.len() {
            let (path, list) =
                (out.folders[at].0.clone(), sys::openat(&out.folders[at].1, ".", DIRECTORY, Mode::empty())?);
            let mut is_empty = true;
            for entry in sys::list(list)? {
                let entry = entry?;
                let bytes = entry.file_name().to_bytes();
                if bytes == b"." || bytes == b".." {
                    continue;
                }
                is_empty = false;
                let inner = OsStr::from_bytes(bytes);
                let kind = FileType::from_raw_mode(sys::statat(&out.folders[at].1, inner)?.st_mode);
                if kind == FileType::Directory {
                    let fd = sys::openat(&out.folders[at].1, inner, DIRECTORY, Mode::empty())?;
                    out.folders.push((path.join(inner), fd));
                } else {
                    out.files.push((path.join(inner), at, kind));
                }
            }
            if is_empty {
                out.empty.push(path);
            }
            at += 1;
        }
        Ok(out)
    }
}

/// Returns the state of a directory for recovery: its files with their contents.
pub(super) fn state_at(folder: BorrowedFd<'_>, name: &OsStr) -> emendate_os::io::Result<PathState> {
    let entries = match TreeEntries::read(folder, name) {
        Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Ok(PathState::Other),
        other => other?,
    };
    let mut hash = TreeHash::default();
    for (path, at, kind) in &entries.files {
        let (folder, inner) = (&entries.folders[*at].1, path.file_name().unwrap_or_default());
        let content = match kind {
            FileType::Symlink => (b'l', ContentId::of(sys::readlinkat(folder, inner)?.as_bytes())),
            FileType::RegularFile => {
                (b'f', ContentId::of(&read_whole(&sys::openat(folder, inner, READ_FLAGS, Mode::empty())?)?))
            }
            _ => return Ok(PathState::Other),
        };
        hash.0.insert(path.clone(), content);
    }
    let bare = entries.empty.iter().any(|path| !path.as_os_str().is_empty());
    Ok(if bare { PathState::Other } else { hash.state() })
}

/// Builds the new side of a path that changes between file and directory; `entry` is the path itself.
pub(super) fn build<'a>(
    local: &LocalStore,
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'a>,
    below: &[&'a FileWrite<'a>],
    options: TempOptions,
    syncs: bool,
) -> Result<()> {
    write_temp::write_entry(local, folder, entry, options)?;
    let to_directory = matches!(entry.write.new_state, NewState::Absent);
    let mut swap = TreeSwap { to_directory, files: Vec::new(), tree: PathState::Other };
    let mut hash = TreeHash::default();
    for &write in below {
        let relative = write.path.relative().strip_prefix(entry.write.path.relative()).unwrap_or(Path::new(""));
        hash.add_write(relative.to_owned(), write);
    }
    swap.tree = hash.state();
    if to_directory {
        make_tree(local, folder, entry, below, &mut swap, options, syncs)?;
    } else {
        for &write in below {
            let folder = ParentDir::open(local, write.path)?;
            let mut inner = StagedFile::new(write, 0)?;
            write_temp::write_entry(local, &folder, &mut inner, options)?;
            let meta = inner.before.unwrap_or_default();
            swap.files.push(TreeFile { entry: inner, folder, meta });
        }
    }
    entry.tree = Some(Box::new(swap));
    if to_directory { Ok(()) } else { check_only(folder, entry) }
}

/// Writes the new files below a temporary directory.
fn make_tree<'a>(
    local: &LocalStore,
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'a>,
    below: &[&'a FileWrite<'a>],
    swap: &mut TreeSwap<'a>,
    options: TempOptions,
    syncs: bool,
) -> Result<()> {
    let path = entry.path().to_owned();
    let failed = |errno| error::os_error("create the directory", &path, errno);
    let Some(temp) = &mut entry.temp else { return Err(error::nothing_to_remove(&path)) };
    sys::mkdirat(&folder.fd, &temp.name, Mode::from_raw_mode(0o777)).map_err(failed)?;
    temp.exists = true;
    let top = sys::openat(&folder.fd, &temp.name, DIRECTORY, Mode::empty()).map_err(failed)?;
    temp.meta = read::file_meta(&sys::fstat(&top).map_err(failed)?);
    let mut folders: BTreeMap<PathBuf, OwnedFd> = BTreeMap::from([(PathBuf::new(), top)]);
    for &write in below {
        let relative = write.path.relative().strip_prefix(entry.write.path.relative()).unwrap_or(Path::new(""));
        let parent = relative.parent().unwrap_or(Path::new(""));
        make_folders(&mut folders, parent).map_err(failed)?;
        let (Some(here), Some(key)) = (folders.get(parent), parent_dir::parent_key(write.path)) else { continue };
        let fd = here.try_clone().map_err(|_| failed(Errno::MFILE))?;
        let inner_folder = ParentDir::of_io(fd, key, true).map_err(failed)?;
        let mut inner = StagedFile::new(write, 0)?;
        write_temp::write_entry(local, &inner_folder, &mut inner, options)?;
        let file = place_file(&inner_folder, &mut inner, syncs)
            .map_err(|errno| failed_write(&inner_folder, &inner, "create", errno))?;
        swap.files.push(TreeFile { entry: inner, folder: inner_folder, meta: file });
    }
    if syncs {
        folders.values().rev().try_for_each(sys::fsync).map_err(failed)?;
    }
    Ok(())
}

/// Creates the directories of a relative path.
fn make_folders(folders: &mut BTreeMap<PathBuf, OwnedFd>, path: &Path) -> emendate_os::io::Result<()> {
    let mut so_far = PathBuf::new();
    for part in path {
        let above = so_far.clone();
        so_far.push(part);
        if !folders.contains_key(&so_far) {
            let Some(parent) = folders.get(&above) else { return Err(Errno::NOENT) };
            sys::mkdirat(parent, part, Mode::from_raw_mode(0o777))?;
            let made = sys::openat(parent, part, DIRECTORY, Mode::empty())?;
            folders.insert(so_far.clone(), made);
        }
    }
    Ok(())
}

/// Gives a finished file its name in the new directory, and returns its metadata.
fn place_file(folder: &ParentDir<'_>, entry: &mut StagedFile<'_>, syncs: bool) -> emendate_os::io::Result<FileMeta> {
    let Some(temp) = &mut entry.temp else { return Err(Errno::NOENT) };
    if let Some(fd) = temp.fd.as_ref().filter(|_| syncs) {
        sys::fdatasync(fd)?;
    }
    rename_new(folder.fd.as_fd(), &temp.name, entry.name)?;
    let meta = read::file_meta(&sys::statat(&folder.fd, entry.name)?);
    temp.fd = None;
    temp.exists = false;
    Ok(meta)
}

/// Checks that a directory holds nothing but the files that the writes remove.
fn check_only(folder: &ParentDir<'_>, entry: &StagedFile<'_>) -> Result<()> {
    let Some(swap) = &entry.tree else { return Ok(()) };
    let path = entry.path();
    let entries = match TreeEntries::read(folder.fd.as_fd(), entry.name) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
            return Err(error::raced(path, "is no longer a directory"));
        }
        other => other.map_err(|errno| error::os_error("list the directory", path, errno))?,
    };
    let ours: Vec<&Path> = swap.files.iter().map(|file| file.entry.path()).collect();
    let files = entries.files.iter().map(|(inner, ..)| path.join(inner)).filter(|inner| !ours.contains(&&**inner));
    let empty = entries.empty.iter().filter(|inner| !inner.as_os_str().is_empty()).map(|inner| path.join(inner));
    let mut others: Vec<PathBuf> = files.chain(empty).collect();
    if others.is_empty() {
        return Ok(());
    }
    others.sort_unstable();
    let names: Vec<String> = others.iter().map(error::show).collect();
    Err(error::holds_more(path, &names))
}

impl LocalTransaction<'_> {
    /// Checks that both sides of a path that changes between file and directory are as expected.
    pub(super) fn tree_expected(&self, index: usize, look: OpenMode) -> Result<Option<LeasedFile>> {
        let (entry, folder) = (&self.entries[index], &self.folders[self.entries[index].folder]);
        let Some(swap) = &entry.tree else { return Ok(None) };
        if swap.to_directory {
            return still_expected(self.local, folder, entry, look);
        }
        if !folder.in_place(self.local) {
            return Err(error::raced(entry.path(), "is no longer there: its directory was moved or removed"));
        }
        for file in &swap.files {
            still_expected(self.local, &file.folder, &file.entry, OpenMode::Compare)?;
        }
        check_only(folder, entry).map(|()| None)
    }

    /// Exchanges both sides, and puts them back if the old one is not what was expected.
    pub(super) fn exchange_tree(&mut self, index: usize) -> Result<WriteMethod> {
        let old = self.tree_expected(index, OpenMode::Lease)?;
        let entry = &mut self.entries[index];
        let folder = self.folders[entry.folder].fd.as_fd();
        let path = entry.write.path.absolute();
        let (Some(temp), Some(swap)) = (&mut entry.temp, &entry.tree) else {
            return Err(error::raced(path, "was removed"));
        };
        match kernel::exchange(folder, &temp.name, entry.name) {
            Err(errno) if kernel::unsupported(errno) => return Err(no_exchange(path)),
            Err(Errno::NOENT) => return Err(error::raced(path, "was removed")),
            other => other.map_err(|errno| error::os_error("replace", path, errno))?,
        }
        let same = match &old {
            Some(old) => old.is_displaced_file(folder, temp, entry.write.precondition),
            None => state_at(folder, &temp.name).map(|state| state == swap.tree),
        };
        let cause = match same {
            Ok(true) => {
                entry.displaced = old.filter(|_| self.budget.keeps_displaced);
                return Ok(WriteMethod::Exchanged);
            }
            Ok(false) => error::raced(path, "was changed at the last moment, and that change was put back"),
            Err(errno) => error::os_error("compare", path, errno),
        };
        match rollback::put_back(folder, temp, entry.name) {
            Ok(()) => Err(cause),
            Err(what) => Err(error::partial(&cause, &what)),
        }
    }
}

/// Metadata of the files below the path, in the order of their writes.
pub(super) fn metadata(swap: &TreeSwap<'_>) -> Vec<FileMeta> {
    swap.files.iter().map(|file| file.meta).collect()
}

/// Reports of the files below the path, in the order of their writes.
pub(super) fn reports(swap: &TreeSwap<'_>) -> Vec<WriteReport> {
    let method = if swap.to_directory { WriteMethod::Created } else { WriteMethod::Removed };
    let report = |file: &TreeFile<'_>| WriteReport { meta: file.meta, method, notes: file.entry.notes.clone() };
    swap.files.iter().map(report).collect()
}

fn no_exchange(path: &Path) -> Error {
    let shown = error::show(path);
    Error::new(
        Code::IoFailed,
        format!(
            "{shown} cannot change between file and directory in one step: this file system cannot exchange two names."
        ),
    )
    .next("Send two calls: one that removes the old side, then one that creates the new one.")
    .fact("path", shown)
}
