//! The calls that only Linux has, so that another system needs to replace this file and `raw.rs` only.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{OFlags, RenameFlags, ResolveFlags};
use rustix::io::{Errno, Result};

use super::sys;

/// How often a lookup is repeated that the kernel gave up because something was renamed meanwhile.
const LOOKUPS: u32 = 64;

/// Opens `relative` beneath `root` in one step; any link on the way, the last part included, is `ELOOP`.
pub(super) fn open_beneath(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let mut left = LOOKUPS;
    loop {
        match sys::openat2(root, relative, flags | OFlags::CLOEXEC, resolve) {
            Err(Errno::AGAIN | Errno::INTR) if left > 0 => left -= 1,
            other => return other,
        }
    }
}

/// The two names of one folder change places, at once.
pub(super) fn exchange(folder: BorrowedFd<'_>, one: &OsStr, other: &OsStr) -> Result<()> {
    sys::rename(folder, one, other, RenameFlags::EXCHANGE)
}

/// Renames unless `to` exists (`EEXIST`).
pub(super) fn rename_new(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> Result<()> {
    sys::rename(folder, from, to, RenameFlags::NOREPLACE)
}

/// True when the kernel or the file system does not know the call or the flag.
pub(super) fn unsupported(errno: Errno) -> bool {
    // ENOTSUP and EOPNOTSUPP are one number on Linux, two elsewhere.
    errno == Errno::INVAL || errno == Errno::NOSYS || errno == Errno::NOTSUP || errno == Errno::OPNOTSUPP
}

/// Kernel release as (major, minor); (0, 0) when it cannot be told.
pub(super) fn release() -> (u32, u32) {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(|char: char| !char.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
