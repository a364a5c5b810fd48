//! What a root's file system can do.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::Ordering;

use emendate_core::{Code, Error, Result};
use rustix::fs::{Access, AtFlags, Mode, OFlags, XattrFlags};

use super::look::LOOK;
use super::sys;
use super::temp::Temp;
use super::{Local, folder, kernel};
use crate::fault;

/// How long, in nanoseconds, two changes may share a time stamp where nothing better is known: FAT's two seconds.
pub(super) const GRAIN_NS: i64 = 2_100_000_000;

/// The same where the kernel gives a finer stamp as soon as somebody has looked at the last one.
pub(super) const FINE_GRAIN_NS: i64 = 10_000_000;

/// Magic numbers and names of file systems; the flag says that Linux 6.13 and later stamps them finely.
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

/// What a root's file system can do, found by trying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name of the file system type, e.g. `ext4` (also ext2 and ext3); the magic number in hexadecimal when unknown.
    pub file_system: String,
    /// Two names can be exchanged at once. False when it could not be tried, because the root is not writable.
    pub exchange: bool,
    /// The kernel resolves paths beneath a folder by itself.
    pub openat2: bool,
    /// The kernel holds up who opens a file for writing while it is replaced. False when it could not be tried, and where
    /// others than this machine may write.
    pub leases: bool,
    /// `user.*` attributes can be set; listed, when the root is not writable.
    pub xattr: bool,
    /// `a` and `A` are two names. True when it could not be tried.
    pub case_sensitive: bool,
    /// The caller may create files in the root.
    pub writable: bool,
}

fn magic(fd: impl AsFd) -> rustix::io::Result<u64> {
    // The field's type differs between architectures; the numbers have 32 bits.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "magic numbers have 32 bits")]
    sys::fstatfs(fd).map(|found| u64::from(found.f_type as u32))
}

/// How long after a change its time stamp may still be given to another change.
pub(super) fn grain_ns(root: &OwnedFd) -> i64 {
    let fine = kernel::release() >= (6, 13)
        && magic(root).is_ok_and(|magic| FILE_SYSTEMS.iter().any(|&(number, _, fine)| number == magic && fine));
    if fine { FINE_GRAIN_NS } else { GRAIN_NS }
}

/// True on a local file system that is known to give back what was written.
pub(super) fn is_plain(root: &OwnedFd) -> bool {
    const PLAIN: [&str; 8] = ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "f2fs", "zfs", "bcachefs"];
    is_one_of(root, &PLAIN)
}

/// True where two files may have blocks in common.
pub(super) fn shares(file: impl AsFd) -> bool {
    const SHARING: [&str; 3] = ["xfs", "btrfs", "bcachefs"];
    is_one_of(file, &SHARING)
}

fn is_one_of(file: impl AsFd, names: &[&str]) -> bool {
    let name = |magic| FILE_SYSTEMS.iter().find(|&&(number, ..)| number == magic).map(|&(_, name, _)| name);
    magic(file).ok().and_then(name).is_some_and(|name| names.contains(&name))
}

impl Local {
    /// Finds out what the file system of a root can do; `root` is an index into [`Store::roots`](crate::Store::roots).
    /// Makes two temporary files in the root if it is writable, and removes them. `path.invalid` for another index, `io.*`.
    pub fn probe(&self, root: usize) -> Result<Probe> {
        let (Some(info), Some(open)) = (self.infos.get(root), self.roots.get(root)) else {
            return Err(Error::new(
                Code::PathInvalid,
                format!("There is no root {root}; there are {}.", self.roots.len()),
            )
            .next("Count roots from 0."));
        };
        let failed = |errno| fault::os("probe", &info.canonical, errno);
        let magic = magic(&open.fd).map_err(failed)?;
        let file_system = match FILE_SYSTEMS.iter().find(|(number, ..)| *number == magic) {
            Some((_, name, _)) => (*name).to_owned(),
            None => format!("{magic:#x}"),
        };
        let here = open.fd.as_fd();
        let openat2 =
            self.openat2.load(Ordering::Relaxed) && kernel::open_beneath(here, Path::new("."), OFlags::PATH).is_ok();
        let access = Access::WRITE_OK | Access::EXEC_OK;
        // In an append-only folder a temporary file could not be removed again.
        let writable = sys::accessat(here, ".", access, AtFlags::EACCESS).is_ok()
            && folder::identity(here).is_ok_and(|(_, fixed)| !fixed);
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
            try_out(here, &mut probe).map_err(failed)?;
            probe.leases &= open.plain;
        } else if let Ok(folder) = self.open_beneath(root, Path::new(""), OFlags::RDONLY | OFlags::DIRECTORY) {
            probe.xattr = rustix::fs::flistxattr_query(folder).is_ok();
        }
        Ok(probe)
    }
}

fn try_out(folder: BorrowedFd<'_>, probe: &mut Probe) -> rustix::io::Result<()> {
    let create = || Temp::create(folder, OsStr::new("emendate-probe"), Mode::from_raw_mode(0o600), None);
    let Ok(mut one) = create() else {
        // The permissions would allow it, the file system does not.
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
    // Who has it open for writing gets none.
    one.fd = None;
    let file = sys::openat(folder, &one.name, LOOK, Mode::empty())?;
    probe.leases = sys::lease(&file).is_ok();
    let _ = sys::unlease(file);
    let upper = OsString::from_vec(one.name.as_bytes().to_ascii_uppercase());
    probe.case_sensitive = sys::statat(folder, upper).is_err();
    one.discard(folder)
}
