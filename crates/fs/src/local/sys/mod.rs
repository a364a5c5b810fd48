//! Every system call of this backend, under its own name: the one place where a test can make a call fail, simulate the
//! death of the process, or log the calls. Outside tests, each is the plain call.

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ffi::{CString, OsStr};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::OnceLock;

use emendate_os::buffer::Buffer;
use emendate_os::fs::{
    Access, AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, RawMode, RenameFlags, Stat, StatVfs, Uid, XattrFlags,
};
use emendate_os::io::{Errno, Result};

#[cfg(test)]
use super::fault_injection::{self, DiskEvent};

/// In tests: counts the call, and fails it if a fault is injected here.
macro_rules! gate {
    () => {
        #[cfg(test)]
        {
            fn here() {}
            fault_injection::gate(fault_injection::name(here))?;
        }
    };
}

/// In tests: logs a change of the disk.
macro_rules! log {
    ($event:expr) => {
        #[cfg(test)]
        fault_injection::log(|| $event);
    };
}

// The calls that differ between systems. A new system gets a module of its own here, and nothing else.
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod os;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "posix.rs"]
mod os;
#[cfg(windows)]
#[path = "windows.rs"]
mod os;

mod parallel;

pub(super) use emendate_os::descriptors::{
    grow_table as grow_fd_table, limit as fd_limit, lowest_free as lowest_free_fd, raise_limit as raise_fd_limit,
};
pub(super) use os::{ANY_XATTR, PATH, is_fine_grained, is_trusted, now, shares_extents};
pub(super) use parallel::{PARALLEL_CALLS_MIN, close_all, fdatasync_all, in_parts, unlink_all};

/// Makes this system behave like a plain POSIX one, for tests: no exchange of names, no leases, no lookup beneath a
/// directory in one call.
const PLAIN_POSIX_VARIABLE: &str = "EMEND_PLAIN_POSIX";

/// Fails a call that plain POSIX systems lack, if the environment asks for that.
fn beyond_posix() -> Result<()> {
    static PLAIN: OnceLock<bool> = OnceLock::new();
    if *PLAIN.get_or_init(|| std::env::var_os(PLAIN_POSIX_VARIABLE).is_some()) { Err(Errno::NOSYS) } else { Ok(()) }
}

/// Device and inode of a directory, and whether it is append-only or immutable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirIdentity {
    pub(super) id: (u64, u64),
    pub(super) fixed: bool,
}

/// Converts permission bits and a file type; the width differs between systems.
#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "modes have 16 bits")]
pub(super) fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as RawMode)
}

/// Returns the file type that a mode contains.
#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "modes have 16 bits")]
pub(super) fn file_type(bits: u32) -> FileType {
    FileType::from_raw_mode(bits as RawMode)
}

pub(super) fn openat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    gate!();
    let fd = emendate_os::fs::openat(&folder, name.as_ref(), flags, mode)?;
    #[cfg(test)]
    fault_injection::opened(&fd);
    if flags.contains(OFlags::CREATE) {
        log!(DiskEvent::Create(
            fault_injection::path(&folder, name.as_ref()),
            fault_injection::inode(&fd),
            fault_injection::mode(&fd)
        ));
    }
    Ok(fd)
}

/// Opens a path beneath a directory in one call; a link on the way is `ELOOP`. `ENOSYS` where the kernel cannot.
pub(super) fn open_beneath(folder: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    gate!();
    beyond_posix()?;
    #[cfg(test)]
    fault_injection::check_refused(path.as_os_str())?;
    let fd = os::open_beneath(folder.as_fd(), path, flags)?;
    #[cfg(test)]
    fault_injection::opened(&fd);
    Ok(fd)
}

pub(super) fn list(folder: OwnedFd) -> Result<emendate_os::fs::Dir> {
    gate!();
    emendate_os::fs::Dir::new(folder)
}

/// Passes every name in a directory, including `.` and `..`, to `each`, as a snapshot; false if there are too many for
/// `room`.
pub(super) fn list_in_one_call(
    folder: impl AsFd,
    room: &mut [MaybeUninit<u8>],
    mut each: impl FnMut(&[u8]),
) -> Result<bool> {
    gate!();
    os::list_in_one_call(folder.as_fd(), room, &mut each)
}

pub(super) fn mkdirat(folder: impl AsFd, name: impl AsRef<OsStr>, mode: Mode) -> Result<()> {
    gate!();
    emendate_os::fs::mkdirat(&folder, name.as_ref(), mode)?;
    log!(DiskEvent::Folder(fault_injection::path(&folder, name.as_ref())));
    Ok(())
}

pub(super) fn symlinkat(target: impl AsRef<OsStr>, folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<()> {
    gate!();
    emendate_os::fs::symlinkat(target.as_ref(), &folder, name.as_ref())?;
    log!(DiskEvent::Symlink(fault_injection::path(&folder, name.as_ref()), target.as_ref().to_owned()));
    Ok(())
}

pub(super) fn linkat(
    folder: impl AsFd,
    from: impl AsRef<OsStr>,
    to_folder: impl AsFd,
    to: impl AsRef<OsStr>,
) -> Result<()> {
    gate!();
    #[cfg(test)]
    fault_injection::check_supported(fault_injection::InjectedFault::NoLinks)?;
    emendate_os::fs::linkat(&folder, from.as_ref(), &to_folder, to.as_ref(), AtFlags::empty())?;
    log!(DiskEvent::HardLink(
        fault_injection::path(&folder, from.as_ref()),
        fault_injection::path(&to_folder, to.as_ref())
    ));
    Ok(())
}

pub(super) fn unlinkat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: AtFlags) -> Result<()> {
    gate!();
    emendate_os::fs::unlinkat(&folder, name.as_ref(), flags)?;
    log!(DiskEvent::Remove(fault_injection::path(&folder, name.as_ref())));
    Ok(())
}

/// Renames within `folder`.
pub(super) fn rename(
    folder: impl AsFd,
    from: impl AsRef<OsStr>,
    to: impl AsRef<OsStr>,
    flags: RenameFlags,
) -> Result<()> {
    gate!();
    #[cfg(test)]
    if !flags.is_empty() {
        fault_injection::check_supported(fault_injection::InjectedFault::NoExchange)?;
    }
    if !flags.is_empty() {
        beyond_posix()?;
    }
    if flags.is_empty() {
        emendate_os::fs::renameat(&folder, from.as_ref(), &folder, to.as_ref())?;
    } else {
        os::rename_with(folder.as_fd(), from.as_ref(), to.as_ref(), flags)?;
    }
    log!(DiskEvent::Rename(
        fault_injection::path(&folder, from.as_ref()),
        fault_injection::path(&folder, to.as_ref()),
        flags.contains(RenameFlags::EXCHANGE)
    ));
    Ok(())
}

pub(super) fn readlinkat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<CString> {
    gate!();
    emendate_os::fs::readlinkat(folder, name.as_ref(), Vec::new())
}

pub(super) fn statat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Stat> {
    gate!();
    emendate_os::fs::statat(folder, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the metadata of the file at a name in a directory, following a link.
pub(super) fn statat_followed(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Stat> {
    gate!();
    emendate_os::fs::statat(folder, name.as_ref(), os::FOLLOWED)
}

pub(super) fn fstat(file: impl AsFd) -> Result<Stat> {
    gate!();
    emendate_os::fs::fstat(file)
}

/// Returns the identity of an open directory.
pub(super) fn identity(folder: impl AsFd) -> Result<DirIdentity> {
    gate!();
    os::identity(folder.as_fd())
}

/// Returns the name of the file system type, e.g. `ext4`, or its number in hexadecimal if the name is unknown.
pub(super) fn file_system(file: impl AsFd) -> Result<String> {
    gate!();
    os::file_system(file.as_fd())
}

/// True if the links in this directory belong to the kernel and do not lead where their text says.
pub(super) fn has_kernel_links(folder: impl AsFd) -> Result<bool> {
    gate!();
    os::has_kernel_links(folder.as_fd())
}

pub(super) fn fstatvfs(file: impl AsFd) -> Result<StatVfs> {
    gate!();
    emendate_os::fs::fstatvfs(file)
}

pub(super) fn accessat(folder: impl AsFd, name: impl AsRef<OsStr>, access: Access, flags: AtFlags) -> Result<()> {
    gate!();
    emendate_os::fs::accessat(folder, name.as_ref(), access, flags)
}

pub(super) fn flock(file: impl AsFd, operation: FlockOperation) -> Result<()> {
    gate!();
    emendate_os::fs::flock(file, operation)
}

/// See [`emendate_os::lease`].
pub(super) fn lease(file: impl AsFd) -> Result<()> {
    gate!();
    beyond_posix()?;
    emendate_os::lease(file.as_fd())
}

/// See [`emendate_os::is_leased`].
pub(super) fn is_leased(file: impl AsFd) -> Result<bool> {
    gate!();
    beyond_posix()?;
    emendate_os::is_leased(file.as_fd())
}

/// See [`emendate_os::unlease`].
pub(super) fn unlease(file: impl AsFd) -> Result<()> {
    gate!();
    emendate_os::unlease(file.as_fd())
}

pub(super) fn read<B: Buffer<u8>>(file: impl AsFd, buffer: B) -> Result<B::Output> {
    gate!();
    emendate_os::io::read(file, buffer)
}

pub(super) fn pread<B: Buffer<u8>>(file: impl AsFd, buffer: B, at: u64) -> Result<B::Output> {
    gate!();
    emendate_os::io::pread(file, buffer, at)
}

pub(super) fn rewind(file: impl AsFd) -> Result<u64> {
    gate!();
    emendate_os::fs::seek(file, emendate_os::fs::SeekFrom::Start(0))
}

pub(super) fn pwritev(file: impl AsFd, slices: &[IoSlice<'_>], at: u64) -> Result<usize> {
    #[cfg(test)]
    let cut = fault_injection::gate_write(slices)?;
    #[cfg(test)]
    let half = [IoSlice::new(cut.as_deref().unwrap_or_default())];
    #[cfg(test)]
    let slices = if cut.is_some() { &half } else { slices };
    let written = emendate_os::io::pwritev(&file, slices, at)?;
    log!(DiskEvent::Write(
        fault_injection::inode(&file),
        at,
        slices.iter().flat_map(|it| it.iter()).take(written).copied().collect()
    ));
    #[cfg(test)]
    fault_injection::after_write()?;
    Ok(written)
}

/// Copies with explicit offsets; no file position moves.
pub(super) fn copy_file_range(
    from: impl AsFd,
    mut from_at: u64,
    to: impl AsFd,
    mut to_at: u64,
    most: usize,
) -> Result<usize> {
    gate!();
    #[cfg(test)]
    let at = to_at;
    beyond_posix()?;
    let copied = os::copy_file_range(from.as_fd(), &mut from_at, to.as_fd(), &mut to_at, most)?;
    log!(DiskEvent::Write(
        fault_injection::inode(&to),
        at,
        fault_injection::bytes(&from, from_at - copied as u64, copied)
    ));
    Ok(copied)
}

/// See [`emendate_os::begin_writing`].
pub(super) fn begin_writing(file: impl AsFd, from: u64, len: u64) -> Result<()> {
    gate!();
    emendate_os::begin_writing(file.as_fd(), from, len)
}

pub(super) fn ftruncate(file: impl AsFd, length: u64) -> Result<()> {
    gate!();
    emendate_os::fs::ftruncate(&file, length)?;
    log!(DiskEvent::Cut(fault_injection::inode(&file), length));
    Ok(())
}

/// Reserves disk space without changing the length of the file.
pub(super) fn reserve(file: impl AsFd, from: u64, length: u64) -> Result<()> {
    gate!();
    os::reserve(file.as_fd(), from, length)
}

#[allow(clippy::useless_conversion, reason = "the width of a mode differs between systems")]
pub(super) fn fchmod(file: impl AsFd, mode: Mode) -> Result<()> {
    gate!();
    emendate_os::fs::fchmod(&file, mode)?;
    log!(DiskEvent::Mode(fault_injection::inode(&file), u32::from(mode.as_raw_mode())));
    Ok(())
}

pub(super) fn fchown(file: impl AsFd, uid: Option<Uid>, gid: Option<Gid>) -> Result<()> {
    gate!();
    emendate_os::fs::fchown(file, uid, gid)
}

pub(super) fn fdatasync(file: impl AsFd) -> Result<()> {
    #[cfg(test)]
    fault_injection::gate_sync(&file)?;
    os::fdatasync(file.as_fd())?;
    log!(DiskEvent::Sync(fault_injection::inode(&file)));
    Ok(())
}

/// A name in an open directory.
#[derive(Clone, Copy)]
pub(super) struct NameAt<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
}

pub(super) fn fsync(file: impl AsFd) -> Result<()> {
    gate!();
    os::fsync(file.as_fd())?;
    log!(DiskEvent::SyncFolder(fault_injection::place(&file)));
    Ok(())
}

pub(super) fn flistxattr(file: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    gate!();
    emendate_os::fs::flistxattr(file, buffer)
}

pub(super) fn fgetxattr(file: impl AsFd, name: &[u8], buffer: &mut [u8]) -> Result<usize> {
    gate!();
    emendate_os::fs::fgetxattr(file, name, buffer)
}

pub(super) fn fsetxattr(file: impl AsFd, name: &[u8], value: &[u8]) -> Result<()> {
    gate!();
    emendate_os::fs::fsetxattr(file, name, value, XattrFlags::empty())
}

pub(super) fn fremovexattr(file: impl AsFd, name: &[u8]) -> Result<()> {
    gate!();
    emendate_os::fs::fremovexattr(file, name)
}
