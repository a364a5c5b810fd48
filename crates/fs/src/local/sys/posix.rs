//! The calls of [`super`] on systems other than Linux: macOS, and plain POSIX. A call that a system lacks fails with
//! `ENOSYS`; the callers then use what POSIX guarantees.

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::{Duration, SystemTime};

use emendate_os::fs::{AtFlags, OFlags, RenameFlags};
use emendate_os::io::{Errno, Result};

use super::DirIdentity;

/// Opens a name without access to the file, as far as the system has that. A FIFO does not block.
#[cfg(target_vendor = "apple")]
pub(in crate::local) const PATH: OFlags = OFlags::from_bits_retain(libc::O_EVTONLY as u32).union(OFlags::NONBLOCK);
#[cfg(not(target_vendor = "apple"))]
pub(in crate::local) const PATH: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// An extended attribute that a user may set.
pub(in crate::local) const ANY_XATTR: &[u8] = b"user.emendate";

/// Flags for reading the metadata of a link's target.
pub(super) const FOLLOWED: AtFlags = AtFlags::empty();

/// Local file systems that return what was written.
const TRUSTED: [&str; 5] = ["apfs", "hfs", "ufs", "ffs", "zfs"];

/// Returns the name that the system gives to the type.
#[allow(clippy::cast_sign_loss, reason = "the bytes of a name")]
pub(super) fn file_system(file: BorrowedFd<'_>) -> Result<String> {
    let found = emendate_os::fs::fstatfs(file)?;
    let name: Vec<u8> = found.f_fstypename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// True for a local file system that is known to return what was written.
pub(in crate::local) fn is_trusted(file: impl AsFd) -> bool {
    file_system(file.as_fd()).is_ok_and(|name| TRUSTED.contains(&name.as_str()))
}

/// True for a file system in which two files can share blocks by `copy_file_range`.
pub(in crate::local) fn shares_extents(_file: impl AsFd) -> bool {
    false
}

/// True if a change right after a read gets another time stamp. APFS counts nanoseconds.
pub(in crate::local) fn is_fine_grained(file: impl AsFd) -> bool {
    file_system(file.as_fd()).is_ok_and(|name| name == "apfs")
}

pub(super) fn has_kernel_links(_folder: BorrowedFd<'_>) -> Result<bool> {
    Ok(false)
}

/// The time since the epoch.
pub(in crate::local) fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

pub(super) fn open_beneath(_root: BorrowedFd<'_>, _path: &Path, _flags: OFlags) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// A directory is not read in one call here, so the names are unknown.
pub(super) fn list_in_one_call(
    _folder: BorrowedFd<'_>,
    _room: &mut [MaybeUninit<u8>],
    _each: &mut dyn FnMut(&[u8]),
) -> Result<bool> {
    Ok(false)
}

#[cfg(target_vendor = "apple")]
pub(super) fn rename_with(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Result<()> {
    emendate_os::fs::renameat_with(folder, from, folder, to, flags)
}

#[cfg(not(target_vendor = "apple"))]
pub(super) fn rename_with(_folder: BorrowedFd<'_>, _from: &OsStr, _to: &OsStr, _flags: RenameFlags) -> Result<()> {
    Err(Errno::NOSYS)
}

#[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "the fields' widths differ between systems")]
pub(super) fn identity(folder: BorrowedFd<'_>) -> Result<DirIdentity> {
    let stat = emendate_os::fs::fstat(folder)?;
    let fixed = libc::UF_IMMUTABLE | libc::UF_APPEND | libc::SF_IMMUTABLE | libc::SF_APPEND;
    let fixed = stat.st_flags as u64 & fixed as u64 != 0;
    Ok(DirIdentity { id: (stat.st_dev as u64, stat.st_ino as u64), fixed })
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

/// Reservations here also lengthen the file, so there are none.
pub(super) fn reserve(_file: BorrowedFd<'_>, _from: u64, _length: u64) -> Result<()> {
    Err(Errno::NOSYS)
}

/// On Apple's systems `fsync` leaves data in the drive's cache; `F_FULLFSYNC` does not. Not every file system has it.
#[cfg(target_vendor = "apple")]
pub(super) fn fsync(file: BorrowedFd<'_>) -> Result<()> {
    match emendate_os::fs::fcntl_fullfsync(file) {
        Err(Errno::NOTSUP | Errno::INVAL | Errno::NOTTY) => emendate_os::fs::fsync(file),
        other => other,
    }
}

#[cfg(not(target_vendor = "apple"))]
pub(super) fn fsync(file: BorrowedFd<'_>) -> Result<()> {
    emendate_os::fs::fsync(file)
}

pub(super) fn fdatasync(file: BorrowedFd<'_>) -> Result<()> {
    fsync(file)
}
