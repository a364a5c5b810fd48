//! The calls of [`super`] on Windows, where they are built on those of its kernel (see `emendate-os`).

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::{Duration, SystemTime};

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use emendate_os::fs::{AtFlags, OFlags, RenameFlags};
use emendate_os::io::{Errno, Result};

use super::DirIdentity;

/// Opens a name without access to the file.
pub(in crate::local) const PATH: OFlags = OFlags::PATH;

/// An extended attribute that a user may set.
pub(in crate::local) const ANY_XATTR: &[u8] = b"windows.stream.emendate";

/// Flags for reading the metadata of a link's target.
pub(super) const FOLLOWED: AtFlags = AtFlags::empty();

/// Local file systems that return what was written.
const TRUSTED: [&str; 2] = ["NTFS", "ReFS"];

/// Returns the name that the system gives to the type.
pub(super) fn file_system(file: BorrowedFd<'_>) -> Result<String> {
    emendate_os::fs::file_system_name(file)
}

/// True for a local file system that is known to return what was written. Other machines may offer theirs under the
/// same name, so none is.
pub(in crate::local) fn is_trusted(file: impl AsFd) -> bool {
    let local = !emendate_os::fs::is_remote(&file);
    local && file_system(file.as_fd()).is_ok_and(|name| TRUSTED.contains(&name.as_str()))
}

/// True for a file system in which two files can share blocks by `copy_file_range`.
pub(in crate::local) fn shares_extents(_file: impl AsFd) -> bool {
    false
}

/// True if a change right after a read gets another time stamp. The time of a write may be stored when the file is
/// closed, so it does not.
pub(in crate::local) fn is_fine_grained(_file: impl AsFd) -> bool {
    false
}

pub(super) fn has_kernel_links(_folder: BorrowedFd<'_>) -> Result<bool> {
    Ok(false)
}

/// The time since the epoch.
pub(in crate::local) fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Always fails: every directory on the way is opened by its name alone, so that its name as it is stored becomes
/// known.
pub(super) fn open_beneath(_root: BorrowedFd<'_>, _path: &Path, _flags: OFlags) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Always fails: names that differ in case, or in being a short name, are equal, so a listing does not show which
/// exist.
pub(super) fn list_in_one_call(
    _folder: BorrowedFd<'_>,
    _room: &mut [MaybeUninit<u8>],
    _each: &mut dyn FnMut(&[u8]),
) -> Result<bool> {
    Ok(false)
}

pub(super) fn rename_with(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Result<()> {
    emendate_os::fs::renameat_with(folder, from, folder, to, flags)
}

pub(super) fn identity(folder: BorrowedFd<'_>) -> Result<DirIdentity> {
    let stat = emendate_os::fs::fstat(folder)?;
    Ok(DirIdentity { id: (stat.st_dev, stat.st_ino), fixed: false })
}

pub(super) fn copy_file_range(
    _from: BorrowedFd<'_>,
    _from_at: &mut u64,
    _to: BorrowedFd<'_>,
    _to_at: &mut u64,
    _most: usize,
) -> Result<usize> {
    Err(Errno::NOSYS)
}

/// Does nothing: a reservation would be given up when the file is closed.
pub(super) fn reserve(_file: BorrowedFd<'_>, _from: u64, _length: u64) -> Result<()> {
    Err(Errno::NOSYS)
}

pub(super) fn fdatasync(file: BorrowedFd<'_>) -> Result<()> {
    emendate_os::fs::fdatasync(file)
}

pub(super) fn fsync(file: BorrowedFd<'_>) -> Result<()> {
    emendate_os::fs::fsync(file)
}
