//! Capabilities of a root's file system.

use emendate_os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use emendate_os::ffi::{OsStrExt, OsStringExt};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::Ordering;

use emendate_core::{Code, Error, Result};
use emendate_os::fs::{Access, AtFlags, Mode, OFlags, XattrFlags};

use super::read::READ_FLAGS;
use super::sys;
use super::temp::TempFile;
use super::{LocalStore, kernel};
use crate::error;

/// Coarsest time stamp granularity in nanoseconds, assumed where nothing better is known: FAT's two seconds.
pub(super) const COARSE_STAMP_NS: i64 = 2_100_000_000;

/// Granularity where the kernel switches to a finer stamp once the current one has been read.
pub(super) const FINE_STAMP_NS: i64 = 10_000_000;

/// Capabilities of a root's file system, determined by experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name of the file system type, e.g. `ext4` (also ext2 and ext3), or the magic number in hexadecimal if unknown.
    pub file_system: String,
    /// Two names can be exchanged atomically. False if it could not be tried because the root is not writable.
    pub exchange: bool,
    /// The kernel resolves paths beneath a directory (`openat2`).
    pub openat2: bool,
    /// Read leases block new writers while a file is replaced. False if it could not be tried, and on file systems that
    /// other machines may write.
    pub leases: bool,
    /// `user.*` attributes can be set; if the root is not writable, listed.
    pub xattr: bool,
    /// `a` and `A` are two names. True if it could not be tried.
    pub case_sensitive: bool,
    /// The caller may create files in the root.
    pub writable: bool,
}

/// Returns the time after a change during which another change may get the same time stamp.
pub(super) fn stamp_granularity_ns(root: &OwnedFd) -> i64 {
    if sys::is_fine_grained(root) { FINE_STAMP_NS } else { COARSE_STAMP_NS }
}

impl LocalStore {
    /// Probes the file system of a root; `root` is an index into [`Store::roots`](crate::Store::roots). Creates two
    /// temporary files in the root if it is writable, and removes them. Fails with `path.invalid` for another index, or
    /// `io.*`.
    pub fn probe(&self, root: usize) -> Result<Probe> {
        let Some(info) = self.infos.get(root) else {
            return Err(Error::new(
                Code::PathInvalid,
                format!("There is no root {root}; there are {}.", self.roots.len()),
            )
            .next("Count roots from 0."));
        };
        let open = self.root(root);
        let failed = |errno| error::os_error("probe", &info.canonical, errno);
        let file_system = sys::file_system(&open.fd).map_err(failed)?;
        let here = open.fd.as_fd();
        let openat2 =
            self.openat2.load(Ordering::Relaxed) && kernel::open_beneath(here, Path::new("."), sys::PATH).is_ok();
        let access = Access::WRITE_OK | Access::EXEC_OK;
        // A temporary file could not be removed from an append-only directory.
        let writable = sys::accessat(here, ".", access, AtFlags::EACCESS).is_ok()
            && sys::identity(here).is_ok_and(|found| !found.fixed);
        let mut probe = Probe {
            file_system,
            exchange: false,
            openat2,
            leases: false,
            xattr: false,
            case_sensitive: true,
            writable,
        };
        if writable {
            probe_by_writing(here, &mut probe).map_err(failed)?;
            probe.leases &= open.trusted;
        } else if let Ok(folder) = self.open_beneath(root, Path::new(""), OFlags::RDONLY | OFlags::DIRECTORY) {
            probe.xattr = emendate_os::fs::flistxattr_query(folder).is_ok();
        }
        Ok(probe)
    }
}

fn probe_by_writing(folder: BorrowedFd<'_>, probe: &mut Probe) -> emendate_os::io::Result<()> {
    let create = || TempFile::create(folder, OsStr::new("emendate-probe"), Mode::from_raw_mode(0o600), None);
    let Ok(mut one) = create() else {
        // Permissions allow it, but the file system does not.
        probe.writable = false;
        return Ok(());
    };
    if let Ok(mut other) = create() {
        probe.exchange = kernel::exchange(folder, &one.name, &other.name).is_ok();
        other.discard(folder)?;
    }
    if let Some(fd) = &one.fd {
        probe.xattr = emendate_os::fs::fsetxattr(fd, sys::ANY_XATTR, b"1", XattrFlags::empty()).is_ok();
    }
    // A descriptor open for writing prevents a lease.
    one.fd = None;
    let file = sys::openat(folder, &one.name, READ_FLAGS, Mode::empty())?;
    probe.leases = sys::lease(&file).is_ok();
    let _ = sys::unlease(file);
    let upper = OsString::from_vec(one.name.as_bytes().to_ascii_uppercase());
    probe.case_sensitive = sys::statat(folder, upper).is_err();
    one.discard(folder)
}
