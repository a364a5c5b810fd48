//! Private files, their identities, and locks.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

pub use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};

/// Flag for opening a file that may be a pipe or a device: neither blocks.
pub const NONBLOCK: i32 = libc::O_NONBLOCK;

/// A removed file may keep its name until the last program closes it.
pub const REMOVED_KEEPS_NAME: bool = false;

/// Device and inode of the file at a path; a link counts as itself.
pub fn id_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Device and inode of the file at a path, following links.
pub fn id_followed(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Device and inode of an open file.
pub fn id_of(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// True if an open file has no name any more.
///
/// Errors: those of the system.
pub fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

/// Identity, size and time of the last change of a file.
pub type FileStamp = [i128; 4];

/// Returns the stamp of the file at a path.
///
/// Errors: those of the system.
pub fn stamp(path: &Path) -> io::Result<FileStamp> {
    let found = std::fs::metadata(path)?;
    let changed = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    Ok([i128::from(found.dev()), i128::from(found.ino()), i128::from(found.len()), changed])
}

/// The permission bits of a file.
pub fn mode_of(found: &Metadata) -> u32 {
    found.permissions().mode()
}

/// Takes an exclusive lock on a file, without waiting.
///
/// Errors: another process has a lock, or the file system has no locks.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Takes a shared lock on a file, without waiting.
///
/// Errors: another process has an exclusive lock, or the file system has no locks.
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    file.try_lock_shared()
}

/// Releases the lock.
///
/// Errors: those of the system.
pub fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}
