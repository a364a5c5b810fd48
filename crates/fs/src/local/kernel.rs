//! Linux-only calls. A port to another system has to replace only this file and `raw.rs`.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{OFlags, RenameFlags, ResolveFlags};
use rustix::io::{Errno, Result};

use super::sys;

/// Retries of a lookup that the kernel gave up because of a concurrent rename.
const LOOKUP_RETRIES: u32 = 64;

/// Opens `relative` beneath `root` in one call; any symbolic link on the way, including the last component, is `ELOOP`.
pub(super) fn open_beneath(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let mut left = LOOKUP_RETRIES;
    loop {
        match sys::openat2(root, relative, flags | OFlags::CLOEXEC, resolve) {
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

/// Returns the kernel release as (major, minor); (0, 0) if unknown.
pub(super) fn release() -> (u32, u32) {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(|char: char| !char.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
