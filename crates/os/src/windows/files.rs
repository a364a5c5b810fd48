//! Private files, their identities, and locks.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::windows::fs::{FileExt as _, OpenOptionsExt as WindowsOptions};
use std::os::windows::io::AsHandle as _;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT};

use super::errno::{Errno, Result};
use super::stat::{Stat, stat as stat_of};
use super::win32;

/// Flag for opening a file that may be a pipe or a device; no effect here.
pub const NONBLOCK: i32 = 0;

/// A removed file may keep its name until the last program closes it: so do volumes other than NTFS, and servers.
pub const REMOVED_KEEPS_NAME: bool = true;

/// Creation of directories for their owner only.
pub trait DirBuilderExt {
    /// Takes permission bits. Windows has none: a directory in the user's profile inherits an access control list that
    /// admits the user, the administrators and the system.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _mode: u32) -> &mut DirBuilder {
        self
    }
}

/// Creation of files for their owner only.
pub trait OpenOptionsExt {
    /// Takes permission bits; see [`DirBuilderExt::mode`].
    fn mode(&mut self, mode: u32) -> &mut Self;
    /// Takes flags of the system; none has an effect here.
    fn custom_flags(&mut self, flags: i32) -> &mut Self;
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, _mode: u32) -> &mut OpenOptions {
        self
    }

    fn custom_flags(&mut self, _flags: i32) -> &mut OpenOptions {
        self
    }
}

/// Access to parts of a file.
pub trait FileExt {
    /// Reads from a position.
    ///
    /// Errors: those of the system.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
    /// Fills the buffer from a position.
    ///
    /// Errors: the file ends before that.
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
    /// Writes all bytes at a position.
    ///
    /// Errors: those of the system.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.seek_read(buffer, at)
    }

    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let mut have = 0;
        while have < buffer.len() {
            match self.seek_read(buffer.get_mut(have..).unwrap_or_default(), at + have as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => have += read,
            }
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            done += self.seek_write(bytes.get(done..).unwrap_or_default(), at + done as u64)?;
        }
        Ok(())
    }
}

fn stat_at(path: &Path, link: u32) -> io::Result<Stat> {
    let mut options = OpenOptions::new();
    WindowsOptions::access_mode(&mut options, 0);
    WindowsOptions::custom_flags(&mut options, FILE_FLAG_BACKUP_SEMANTICS | link);
    let file = options.open(path)?;
    Ok(stat_of(file.as_handle())?)
}

/// Volume and number of the file at a path; a link counts as itself.
pub fn id_at(path: &Path) -> Option<(u64, u64)> {
    stat_at(path, FILE_FLAG_OPEN_REPARSE_POINT).ok().map(|found| (found.st_dev, found.st_ino))
}

/// Volume and number of the file at a path, following links.
pub fn id_followed(path: &Path) -> Option<(u64, u64)> {
    stat_at(path, 0).ok().map(|found| (found.st_dev, found.st_ino))
}

/// Volume and number of an open file.
pub fn id_of(file: &File) -> Option<(u64, u64)> {
    stat_of(file.as_handle()).ok().map(|found| (found.st_dev, found.st_ino))
}

/// True if an open file has no name any more.
///
/// Errors: those of the system.
pub fn is_removed(file: &File) -> io::Result<bool> {
    Ok(stat_of(file.as_handle())?.st_nlink == 0)
}

/// Identity, size and time of the last change of a file.
pub type FileStamp = [i128; 4];

/// Returns the stamp of the file at a path.
///
/// Errors: those of the system.
pub fn stamp(path: &Path) -> io::Result<FileStamp> {
    let found = stat_at(path, 0)?;
    let changed = i128::from(found.st_mtime) * 1_000_000_000 + i128::from(found.st_mtime_nsec);
    Ok([i128::from(found.st_dev), i128::from(found.st_ino), i128::from(found.st_size), changed])
}

/// The permission bits of a file.
pub fn mode_of(found: &Metadata) -> u32 {
    if found.permissions().readonly() { 0o444 } else { 0o644 }
}

fn locked(result: Result<()>) -> std::result::Result<(), TryLockError> {
    result.map_err(|errno| match errno {
        Errno::AGAIN => TryLockError::WouldBlock,
        other => TryLockError::Error(other.into()),
    })
}

/// Takes an exclusive lock on a file, without waiting. It does not keep others from reading or writing.
///
/// Errors: another process has a lock, or the file system has no locks.
pub fn try_lock(file: &File) -> std::result::Result<(), TryLockError> {
    locked(win32::lock(file.as_handle(), true))
}

/// Takes a shared lock on a file, without waiting.
///
/// Errors: another process has an exclusive lock, or the file system has no locks.
pub fn try_lock_shared(file: &File) -> std::result::Result<(), TryLockError> {
    locked(win32::lock(file.as_handle(), false))
}

/// Releases the lock.
///
/// Errors: those of the system.
pub fn unlock(file: &File) -> io::Result<()> {
    Ok(win32::unlock(file.as_handle())?)
}
