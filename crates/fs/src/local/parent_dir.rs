//! Parent directories of a transaction: opened once, created if missing, and locked while files are published in them.

use emendate_os::fd::OwnedFd;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use emendate_core::{Code, Error, Result};
use emendate_os::fs::{AtFlags, FlockOperation, Mode, OFlags};
use emendate_os::io::Errno;

use super::LocalStore;
use super::journal::TxnRecord;
use super::journal_frame::JournalFrame;
use super::sys::{self, DirIdentity};
use crate::{SafePath, error};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory as a path beneath a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DirKey<'a> {
    pub(super) root: usize,
    pub(super) path: &'a Path,
}

/// An open parent directory.
pub(super) struct ParentDir<'a> {
    pub(super) fd: OwnedFd,
    /// Device and inode.
    pub(super) id: (u64, u64),
    /// The root and the path below it that led here.
    pub(super) key: DirKey<'a>,
    /// The directory was opened for reading, so it can be locked and synced.
    pub(super) readable: bool,
    /// Append-only or immutable: a name in it cannot be given to another file, and a temporary file could not be
    /// removed.
    pub(super) append_only: bool,
}

/// A directory that this transaction created.
pub(super) struct CreatedDir {
    parent: OwnedFd,
    name: OsString,
    pub(super) path: PathBuf,
}

impl CreatedDir {
    /// Removes the directory again unless it has entries.
    pub(super) fn remove(&self) {
        // A directory that is not empty is used by another process by now and stays.
        let _ = sys::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
    }

    /// Syncs the directory's parent so that the new name survives a power cut, unless the parent is in `synced`.
    pub(super) fn sync_parent(&self, synced: &mut Vec<(u64, u64)>) -> emendate_os::io::Result<()> {
        let parent = sys::openat(&self.parent, ".", OFlags::RDONLY | DIRECTORY, Mode::empty())?;
        let id = sys::identity(&parent)?.id;
        if synced.contains(&id) {
            return Ok(());
        }
        synced.push(id);
        sys::fsync(parent)
    }
}

/// Returns the root and parent path of a safe path; `None` for a root itself.
pub(super) fn parent_key(path: &SafePath) -> Option<DirKey<'_>> {
    Some(DirKey { root: path.root(), path: path.relative().parent()? })
}

impl<'a> ParentDir<'a> {
    /// Opens the parent of `path`. Fails with `file.not_found` if there is no such directory, `conflict.raced` if it
    /// is something else.
    pub(super) fn open(local: &LocalStore, safe_path: &'a SafePath) -> Result<ParentDir<'a>> {
        let path = safe_path.absolute();
        let Some(key) = parent_key(safe_path) else {
            return Err(error::not_regular(path, "a directory"));
        };
        ParentDir::find(local, key).map_err(|errno| {
            let error = match errno {
                Errno::LOOP | Errno::NOTDIR => {
                    error::raced(path, "is no longer there: its directory was moved or removed")
                }
                errno => error::os_error("open the directory of", path, errno),
            };
            error.fact("path", error::show(path))
        })
    }

    /// Opens a directory.
    pub(super) fn find(local: &LocalStore, key: DirKey<'a>) -> emendate_os::io::Result<ParentDir<'a>> {
        match local.open_beneath(key.root, key.path, OFlags::RDONLY | DIRECTORY) {
            // Search permission without read permission: there is no lock then, only the comparison before the write.
            Err(Errno::ACCESS) => {
                ParentDir::of_io(local.open_beneath(key.root, key.path, sys::PATH | DIRECTORY)?, key, false)
            }
            opened => ParentDir::of_io(opened?, key, true),
        }
    }

    pub(super) fn of_io(fd: OwnedFd, key: DirKey<'a>, readable: bool) -> emendate_os::io::Result<ParentDir<'a>> {
        let DirIdentity { id, fixed } = sys::identity(&fd)?;
        Ok(ParentDir { fd, id, key, readable, append_only: fixed })
    }

    /// True while the directory's path still leads to this directory.
    pub(super) fn in_place(&self, local: &LocalStore) -> bool {
        local
            .open_beneath(self.key.root, self.key.path, sys::PATH | DIRECTORY)
            .and_then(sys::identity)
            .is_ok_and(|found| found.id == self.id)
    }
}

/// Creates every missing directory on the way, one by one through open descriptors; records them in `made`, and in the
/// journal before the first is created.
pub(super) fn create_missing<'a>(
    local: &LocalStore,
    safe_path: &'a SafePath,
    made: &mut Vec<CreatedDir>,
    record: &mut TxnRecord<'_>,
) -> Result<ParentDir<'a>> {
    let key = parent_key(safe_path).ok_or_else(|| error::not_regular(safe_path.absolute(), "a directory"))?;
    let mut so_far = local.infos[key.root].canonical.clone();
    let path = sys::PATH | DIRECTORY;
    let mut here =
        local.open_beneath(key.root, Path::new(""), path).map_err(|errno| create_failed(safe_path, errno))?;
    let mut announced = false;
    for part in key.path {
        so_far.push(part);
        let mut new = false;
        let next = match sys::openat(&here, part, path, Mode::empty()) {
            Err(Errno::NOENT) => {
                if !announced {
                    journal_created_dirs(record, &so_far, safe_path)?;
                    announced = true;
                }
                new = match sys::mkdirat(&here, part, Mode::from_raw_mode(0o777)) {
                    Ok(()) => true,
                    Err(Errno::EXIST) => false,
                    Err(errno) => return Err(create_failed(safe_path, errno)),
                };
                sys::openat(&here, part, path, Mode::empty()).map_err(|errno| {
                    if new {
                        let _ = sys::unlinkat(&here, part, AtFlags::REMOVEDIR);
                    }
                    create_failed(safe_path, errno)
                })?
            }
            other => other.map_err(|errno| create_failed(safe_path, errno))?,
        };
        let parent = std::mem::replace(&mut here, next);
        if new {
            made.push(CreatedDir { parent, name: part.to_owned(), path: so_far.clone() });
        }
    }
    let fd = sys::openat(&here, ".", OFlags::RDONLY | DIRECTORY, Mode::empty())
        .map_err(|errno| create_failed(safe_path, errno))?;
    ParentDir::of_io(fd, key, true).map_err(|errno| create_failed(safe_path, errno))
}

/// Returns the error for a directory that could not be created on the way to a file.
fn create_failed(path: &SafePath, errno: Errno) -> Error {
    match errno {
        // Every directory on the way was found or created a moment ago.
        Errno::NOENT => error::raced(path.absolute(), "cannot be created: its directory was moved or removed"),
        _ => error::os_error("create the directory of", path.absolute(), errno),
    }
}

/// Records in the journal which directories will be created, from `first` down to the parent of `path`, and that
/// temporary files will be in the last of them.
fn journal_created_dirs(record: &mut TxnRecord<'_>, first: &Path, path: &SafePath) -> Result<()> {
    let Some(last) = path.absolute().parent() else {
        return Ok(());
    };
    let of_batch = record.batch().is_some();
    let made: Vec<&Path> = last.ancestors().take_while(|folder| folder.starts_with(first)).collect();
    made.into_iter().rev().try_for_each(|folder| record.append(&JournalFrame::CreatedDir(folder.to_owned())))?;
    if of_batch {
        // The record of a batch already names the directories with temporary files, and an empty directory left behind
        // is harmless.
        return Ok(());
    }
    record.append(&JournalFrame::TempDir(last.to_owned()))?;
    record.sync()
}

/// Locks every directory, in the same order in all processes. Closing the directories releases the locks.
pub(super) fn lock_all(local: &LocalStore, folders: &[ParentDir<'_>]) -> Result<()> {
    let mut order: Vec<&ParentDir<'_>> = folders.iter().filter(|folder| folder.readable).collect();
    if order.len() > 1 {
        order.sort_unstable_by_key(|folder| folder.id);
        // A directory reached by two paths would deadlock on itself.
        order.dedup_by_key(|folder| folder.id);
    }
    let mut deadline = None;
    for folder in order {
        let mut pause = Duration::from_micros(100);
        loop {
            match sys::flock(&folder.fd, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => {}
                // No locks here (some network file systems): only the comparison before the write protects the file.
                Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::NOTSUP | Errno::INVAL | Errno::BADF) => break,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(error::os_error("lock the directory", &shown(local, folder), errno)),
            }
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + local.lock_timeout);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(timeout(local, folder));
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
    Ok(())
}

fn shown(local: &LocalStore, folder: &ParentDir<'_>) -> std::path::PathBuf {
    local.infos[folder.key.root].canonical.join(folder.key.path)
}

fn timeout(local: &LocalStore, folder: &ParentDir<'_>) -> Error {
    let path = error::show(shown(local, folder));
    let waited = local.lock_timeout.as_millis();
    Error::new(
        Code::LockTimeout,
        format!("{path} stayed locked by another process for {waited} ms; nothing was written."),
    )
    .next("Repeat the call; if it goes on, find the process with `lslocks`.")
    .fact("path", path)
}
