//! Locks of files and directories.
//!
//! Windows locks ranges of a file against reading and writing. A range far beyond the end of any file is a lock that
//! affects only those who ask for it. A directory has no ranges: a process that locks one creates a kernel object whose
//! name contains the directory's identity, and which disappears with the process at the latest.

use super::errno::{Errno, Result};
use super::fd::{AsFd, BorrowedFd};
use super::stat::{basic, fstat};
use super::win32;
use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_DIRECTORY;

/// An operation on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlockOperation {
    /// Takes the lock for this process alone, without waiting.
    NonBlockingLockExclusive,
    /// Releases the lock.
    Unlock,
}

/// Takes or releases the lock of a file or directory. Closing it releases the lock, too.
///
/// Errors: `EWOULDBLOCK` if another process has it.
pub fn flock(file: impl AsFd, operation: FlockOperation) -> Result<()> {
    let file = file.as_fd();
    let is_directory = basic(file.handle())?.attributes & FILE_ATTRIBUTE_DIRECTORY != 0;
    match (operation, is_directory) {
        (FlockOperation::NonBlockingLockExclusive, true) => lock_directory(file),
        (FlockOperation::Unlock, true) => {
            file.keep_lock(None);
            Ok(())
        }
        (FlockOperation::NonBlockingLockExclusive, false) => win32::lock(file.handle(), true),
        (FlockOperation::Unlock, false) => win32::unlock(file.handle()),
    }
}

fn lock_directory(folder: BorrowedFd<'_>) -> Result<()> {
    if folder.has_lock() {
        return Ok(());
    }
    let stat = fstat(folder)?;
    let object = win32::create_named(&format!("emendate-directory-{:x}-{:x}", stat.st_dev, stat.st_ino))?;
    if folder.keep_lock(Some(object)) { Ok(()) } else { Err(Errno::NOLCK) }
}
