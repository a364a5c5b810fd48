//! Capabilities of a root's file system.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::Ordering;

use emendate_core::{Code, Error, Result};
use rustix::fs::{Access, AtFlags, Mode, OFlags, XattrFlags};

use super::read::READ_FLAGS;
use super::sys;
use super::temp::TempFile;
use super::{LocalStore, kernel, parent_dir};
use crate::error;

/// Coarsest time stamp granularity in nanoseconds, assumed where nothing better is known: FAT's two seconds.
pub(super) const COARSE_STAMP_NS: i64 = 2_100_000_000;

/// Granularity where the kernel switches to a finer stamp once the current one has been read.
pub(super) const FINE_STAMP_NS: i64 = 10_000_000;

/// Magic numbers and names of file systems; the flag marks fine-grained stamps since Linux 6.13.
const FILE_SYSTEMS: [(u64, &str, bool); 19] = [
    (0xEF53, "ext4", true),
    (0x5846_5342, "xfs", true),
    (0x9123_683E, "btrfs", true),
    (0x0102_1994, "tmpfs", true),
    (0x794C_7630, "overlay", false),
    (0x6969, "nfs", false),
    (0xFF53_4D42, "cifs", false),
    (0xFE53_4D42, "smb2", false),
    (0x6573_5546, "fuse", false),
    (0x0102_1997, "9p", false),
    (0x2FC1_2FC1, "zfs", false),
    (0xF2F5_2010, "f2fs", false),
    (0x4D44, "vfat", false),
    (0x2011_BAB0, "exfat", false),
    (0x5346_544E, "ntfs", false),
    (0x7366_746E, "ntfs3", false),
    (0xCA45_1A4E, "bcachefs", false),
    (0x9FA0, "proc", false),
    (0x6265_6572, "sysfs", false),
];

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

fn file_system_magic(fd: impl AsFd) -> rustix::io::Result<u64> {
    // The field's type differs between architectures; the numbers have 32 bits.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "magic numbers have 32 bits")]
    sys::fstatfs(fd).map(|found| u64::from(found.f_type as u32))
}

/// Returns the time after a change during which another change may get the same time stamp.
pub(super) fn stamp_granularity_ns(root: &OwnedFd) -> i64 {
    let fine = kernel::release() >= (6, 13)
        && file_system_magic(root)
            .is_ok_and(|magic| FILE_SYSTEMS.iter().any(|&(number, _, fine)| number == magic && fine));
    if fine { FINE_STAMP_NS } else { COARSE_STAMP_NS }
}

/// True for a local file system that is known to return what was written.
pub(super) fn is_trusted(root: &OwnedFd) -> bool {
    const PLAIN: [&str; 8] = ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "f2fs", "zfs", "bcachefs"];
    is_file_system(root, &PLAIN)
}

/// True for a file system in which two files can share blocks.
pub(super) fn shares_extents(file: impl AsFd) -> bool {
    const SHARING: [&str; 3] = ["xfs", "btrfs", "bcachefs"];
    is_file_system(file, &SHARING)
}

fn is_file_system(file: impl AsFd, names: &[&str]) -> bool {
    let name = |magic| FILE_SYSTEMS.iter().find(|&&(number, ..)| number == magic).map(|&(_, name, _)| name);
    file_system_magic(file).ok().and_then(name).is_some_and(|name| names.contains(&name))
}

impl LocalStore {
    /// Probes the file system of a root; `root` is an index into [`Store::roots`](crate::Store::roots). Creates two
    /// temporary files in the root if it is writable, and removes them. Fails with `path.invalid` for another index, or
    /// `io.*`.
    pub fn probe(&self, root: usize) -> Result<Probe> {
        let (Some(info), Some(open)) = (self.infos.get(root), self.roots.get(root)) else {
            return Err(Error::new(
                Code::PathInvalid,
                format!("There is no root {root}; there are {}.", self.roots.len()),
            )
            .next("Count roots from 0."));
        };
        let failed = |errno| error::os_error("probe", &info.canonical, errno);
        let magic = file_system_magic(&open.fd).map_err(failed)?;
        let file_system = match FILE_SYSTEMS.iter().find(|(number, ..)| *number == magic) {
            Some((_, name, _)) => (*name).to_owned(),
            None => format!("{magic:#x}"),
        };
        let here = open.fd.as_fd();
        let openat2 =
            self.openat2.load(Ordering::Relaxed) && kernel::open_beneath(here, Path::new("."), OFlags::PATH).is_ok();
        let access = Access::WRITE_OK | Access::EXEC_OK;
        // A temporary file could not be removed from an append-only directory.
        let writable = sys::accessat(here, ".", access, AtFlags::EACCESS).is_ok()
            && parent_dir::identity(here).is_ok_and(|(_, fixed)| !fixed);
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
            probe.xattr = rustix::fs::flistxattr_query(folder).is_ok();
        }
        Ok(probe)
    }
}

fn probe_by_writing(folder: BorrowedFd<'_>, probe: &mut Probe) -> rustix::io::Result<()> {
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
        probe.xattr = rustix::fs::fsetxattr(fd, "user.emendate", b"1", XattrFlags::empty()).is_ok();
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
