//! The calls that only Linux has.

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::Duration;

use emendate_os::fs::{AtFlags, FallocateFlags, Mode, OFlags, RenameFlags, ResolveFlags, StatxAttributes, StatxFlags};
use emendate_os::io::Result;
use emendate_os::time::{ClockId, clock_gettime};

use super::DirIdentity;

/// Opens a name without access to the file: a file that may not be read, or a directory that may only be searched.
pub(in crate::local) const PATH: OFlags = OFlags::PATH;

/// An extended attribute that a user may set.
pub(in crate::local) const ANY_XATTR: &[u8] = b"user.emendate";

/// Flags for reading the metadata of a link's target; an automatic mount is not triggered.
pub(super) const FOLLOWED: AtFlags = AtFlags::NO_AUTOMOUNT;

/// Magic number of `/proc`.
const PROC_MAGIC: u64 = 0x9FA0;

/// A type of file systems.
struct FileSystem {
    magic: u64,
    name: &'static str,
    /// The time stamps of the file system are finer than the clock tick, since Linux 6.13.
    fine: bool,
}

const fn fine(magic: u64, name: &'static str) -> FileSystem {
    FileSystem { magic, name, fine: true }
}

const fn coarse(magic: u64, name: &'static str) -> FileSystem {
    FileSystem { magic, name, fine: false }
}

const FILE_SYSTEMS: [FileSystem; 19] = [
    fine(0xEF53, "ext4"),
    fine(0x5846_5342, "xfs"),
    fine(0x9123_683E, "btrfs"),
    fine(0x0102_1994, "tmpfs"),
    coarse(0x794C_7630, "overlay"),
    coarse(0x6969, "nfs"),
    coarse(0xFF53_4D42, "cifs"),
    coarse(0xFE53_4D42, "smb2"),
    coarse(0x6573_5546, "fuse"),
    coarse(0x0102_1997, "9p"),
    coarse(0x2FC1_2FC1, "zfs"),
    coarse(0xF2F5_2010, "f2fs"),
    coarse(0x4D44, "vfat"),
    coarse(0x2011_BAB0, "exfat"),
    coarse(0x5346_544E, "ntfs"),
    coarse(0x7366_746E, "ntfs3"),
    coarse(0xCA45_1A4E, "bcachefs"),
    coarse(PROC_MAGIC, "proc"),
    coarse(0x6265_6572, "sysfs"),
];

/// Local file systems that return what was written.
const TRUSTED: [&str; 8] = ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "f2fs", "zfs", "bcachefs"];

/// File systems in which two files can share blocks.
const SHARING: [&str; 3] = ["xfs", "btrfs", "bcachefs"];

fn magic(file: BorrowedFd<'_>) -> Result<u64> {
    // The field's type differs between architectures; the numbers have 32 bits.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "magic numbers have 32 bits")]
    emendate_os::fs::fstatfs(file).map(|found| u64::from(found.f_type as u32))
}

fn known(file: BorrowedFd<'_>) -> Option<&'static FileSystem> {
    let magic = magic(file).ok()?;
    FILE_SYSTEMS.iter().find(|known| known.magic == magic)
}

pub(super) fn file_system(file: BorrowedFd<'_>) -> Result<String> {
    let magic = magic(file)?;
    let known = FILE_SYSTEMS.iter().find(|known| known.magic == magic);
    Ok(known.map_or_else(|| format!("{magic:#x}"), |known| known.name.to_owned()))
}

/// True for a local file system that is known to return what was written.
pub(in crate::local) fn is_trusted(file: impl AsFd) -> bool {
    known(file.as_fd()).is_some_and(|known| TRUSTED.contains(&known.name))
}

/// True for a file system in which two files can share blocks.
pub(in crate::local) fn shares_extents(file: impl AsFd) -> bool {
    known(file.as_fd()).is_some_and(|known| SHARING.contains(&known.name))
}

/// True if the kernel switches to a finer time stamp once the current one has been read.
pub(in crate::local) fn is_fine_grained(file: impl AsFd) -> bool {
    release() >= (6, 13) && known(file.as_fd()).is_some_and(|known| known.fine)
}

/// Returns the kernel release as (major, minor); (0, 0) if unknown.
fn release() -> (u32, u32) {
    let name = emendate_os::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(|char: char| !char.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

pub(super) fn has_kernel_links(folder: BorrowedFd<'_>) -> Result<bool> {
    magic(folder).map(|magic| magic == PROC_MAGIC)
}

/// The time since the epoch on the clock that the kernel uses for file stamps.
pub(in crate::local) fn now() -> Duration {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

pub(super) fn open_beneath(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    emendate_os::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

pub(super) fn list_in_one_call(
    folder: BorrowedFd<'_>,
    room: &mut [MaybeUninit<u8>],
    each: &mut dyn FnMut(&[u8]),
) -> Result<bool> {
    let mut list = emendate_os::fs::RawDir::new(folder, room);
    while let Some(entry) = list.next() {
        each(entry?.file_name().to_bytes());
        if list.is_buffer_empty() {
            return Ok(list.next().is_none());
        }
    }
    Ok(true)
}

pub(super) fn rename_with(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Result<()> {
    emendate_os::fs::renameat_with(folder, from, folder, to, flags)
}

pub(super) fn identity(folder: BorrowedFd<'_>) -> Result<DirIdentity> {
    let Ok(found) = emendate_os::fs::statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::INO) else {
        // Some sandboxes have no statx.
        let stat = emendate_os::fs::fstat(folder)?;
        return Ok(DirIdentity { id: (stat.st_dev, stat.st_ino), fixed: false });
    };
    let fixed = found.stx_attributes.intersects(StatxAttributes::APPEND | StatxAttributes::IMMUTABLE);
    Ok(DirIdentity { id: (emendate_os::fs::makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino), fixed })
}

pub(super) fn copy_file_range(
    from: BorrowedFd<'_>,
    from_at: &mut u64,
    to: BorrowedFd<'_>,
    to_at: &mut u64,
    most: usize,
) -> Result<usize> {
    emendate_os::fs::copy_file_range(from, Some(from_at), to, Some(to_at), most)
}

pub(super) fn reserve(file: BorrowedFd<'_>, from: u64, length: u64) -> Result<()> {
    emendate_os::fs::fallocate(file, FallocateFlags::KEEP_SIZE, from, length)
}

pub(super) fn fdatasync(file: BorrowedFd<'_>) -> Result<()> {
    emendate_os::fs::fdatasync(file)
}

pub(super) fn fsync(file: BorrowedFd<'_>) -> Result<()> {
    emendate_os::fs::fsync(file)
}
