//! Lookups and renames as the kernel offers them, with its transient failures retried.

use emendate_os::fd::{BorrowedFd, OwnedFd};
use std::ffi::OsStr;
use std::path::Path;

use emendate_os::fs::{OFlags, RenameFlags};
use emendate_os::io::{Errno, Result};

use super::sys;

/// Retries of a lookup that the kernel gave up because of a concurrent rename.
const LOOKUP_RETRIES: u32 = 64;

/// Opens `relative` beneath `root` in one call; any symbolic link on the way, including the last component, is `ELOOP`.
pub(super) fn open_beneath(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd> {
    let mut left = LOOKUP_RETRIES;
    loop {
        match sys::open_beneath(root, relative, flags | OFlags::CLOEXEC) {
            Err(Errno::AGAIN | Errno::INTR) if left > 0 => left -= 1,
            other => return other,
        }
    }
}

/// Atomically exchanges two names in one directory.
pub(super) fn exchange(folder: BorrowedFd<'_>, one: &OsStr, other: &OsStr) -> Result<()> {
    sys::rename(folder, one, other, RenameFlags::EXCHANGE)
}

/// Renames unless `to` exists (`EEXIST`).
pub(super) fn rename_new(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> Result<()> {
    sys::rename(folder, from, to, RenameFlags::NOREPLACE)
}

/// True if the kernel or the file system does not support the call or the flag.
pub(super) fn unsupported(errno: Errno) -> bool {
    // ENOTSUP and EOPNOTSUPP are equal on Linux but not elsewhere.
    errno == Errno::INVAL || errno == Errno::NOSYS || errno == Errno::NOTSUP || errno == Errno::OPNOTSUPP
}
