//! Every system call of this backend, under its own name: the one place where a test can make a call fail, simulate the
//! death of the process, or log the calls. Outside tests, each is the plain call.

use std::ffi::{CString, OsStr};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use rustix::buffer::Buffer;
use rustix::fs::{
    Access, AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, RawMode, RenameFlags, Stat, StatVfs, Uid, XattrFlags,
};
use rustix::io::{Errno, Result};

#[cfg(test)]
use super::fault_injection::{self, DiskEvent};
use super::raw;

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
#[cfg(not(target_os = "linux"))]
#[path = "posix.rs"]
mod os;

mod parallel;

pub(super) use os::{PATH, is_fine_grained, is_trusted, now, shares_extents};
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
    let fd = rustix::fs::openat(&folder, name.as_ref(), flags, mode)?;
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

pub(super) fn list(folder: OwnedFd) -> Result<rustix::fs::Dir> {
    gate!();
    rustix::fs::Dir::new(folder)
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
    rustix::fs::mkdirat(&folder, name.as_ref(), mode)?;
    log!(DiskEvent::Folder(fault_injection::path(&folder, name.as_ref())));
    Ok(())
}

pub(super) fn symlinkat(target: impl AsRef<OsStr>, folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<()> {
    gate!();
    rustix::fs::symlinkat(target.as_ref(), &folder, name.as_ref())?;
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
    rustix::fs::linkat(folder, from.as_ref(), to_folder, to.as_ref(), AtFlags::empty())
}

pub(super) fn unlinkat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: AtFlags) -> Result<()> {
    gate!();
    rustix::fs::unlinkat(&folder, name.as_ref(), flags)?;
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
        rustix::fs::renameat(&folder, from.as_ref(), &folder, to.as_ref())?;
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
    rustix::fs::readlinkat(folder, name.as_ref(), Vec::new())
}

pub(super) fn statat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Stat> {
    gate!();
    rustix::fs::statat(folder, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)
}

/// The same, following a link.
pub(super) fn statat_followed(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Stat> {
    gate!();
    rustix::fs::statat(folder, name.as_ref(), os::FOLLOWED)
}

pub(super) fn fstat(file: impl AsFd) -> Result<Stat> {
    gate!();
    rustix::fs::fstat(file)
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
    rustix::fs::fstatvfs(file)
}

pub(super) fn accessat(folder: impl AsFd, name: impl AsRef<OsStr>, access: Access, flags: AtFlags) -> Result<()> {
    gate!();
    rustix::fs::accessat(folder, name.as_ref(), access, flags)
}

pub(super) fn flock(file: impl AsFd, operation: FlockOperation) -> Result<()> {
    gate!();
    rustix::fs::flock(file, operation)
}

/// See [`raw::lease`].
pub(super) fn lease(file: impl AsFd) -> Result<()> {
    gate!();
    beyond_posix()?;
    raw::lease(file.as_fd())
}

/// See [`raw::is_leased`].
pub(super) fn is_leased(file: impl AsFd) -> Result<bool> {
    gate!();
    beyond_posix()?;
    raw::is_leased(file.as_fd())
}

/// See [`raw::unlease`].
pub(super) fn unlease(file: impl AsFd) -> Result<()> {
    gate!();
    raw::unlease(file.as_fd())
}

pub(super) fn read<B: Buffer<u8>>(file: impl AsFd, buffer: B) -> Result<B::Output> {
    gate!();
    rustix::io::read(file, buffer)
}

pub(super) fn pread<B: Buffer<u8>>(file: impl AsFd, buffer: B, at: u64) -> Result<B::Output> {
    gate!();
    rustix::io::pread(file, buffer, at)
}

pub(super) fn rewind(file: impl AsFd) -> Result<u64> {
    gate!();
    rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0))
}

pub(super) fn pwritev(file: impl AsFd, slices: &[IoSlice<'_>], at: u64) -> Result<usize> {
    #[cfg(test)]
    let cut = fault_injection::gate_write(slices)?;
    #[cfg(test)]
    let half = [IoSlice::new(cut.as_deref().unwrap_or_default())];
    #[cfg(test)]
    let slices = if cut.is_some() { &half } else { slices };
    let written = rustix::io::pwritev(&file, slices, at)?;
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

/// See [`raw::begin_writing`].
pub(super) fn begin_writing(file: impl AsFd, from: u64, len: u64) -> Result<()> {
    gate!();
    raw::begin_writing(file.as_fd(), from, len)
}

pub(super) fn ftruncate(file: impl AsFd, length: u64) -> Result<()> {
    gate!();
    rustix::fs::ftruncate(&file, length)?;
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
    rustix::fs::fchmod(&file, mode)?;
    log!(DiskEvent::Mode(fault_injection::inode(&file), u32::from(mode.as_raw_mode())));
    Ok(())
}

pub(super) fn fchown(file: impl AsFd, uid: Option<Uid>, gid: Option<Gid>) -> Result<()> {
    gate!();
    rustix::fs::fchown(file, uid, gid)
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

/// Grows the descriptor table for this many open files in one step. The kernel doubles it otherwise, and waits for all
/// processors each time.
pub(super) fn grow_fd_table(files: usize, any: impl AsFd) {
    if let Ok(high) = i32::try_from(files) {
        // Only an optimization, so failure is ignored.
        drop(rustix::io::fcntl_dupfd_cloexec(any, high));
    }
}

/// Returns the number of files that the process may have open.
pub(super) fn fd_limit() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Raises the limit of open files to `files`, or to the hard limit. Child processes inherit the limit, so it is raised
/// only when needed and no further.
pub(super) fn raise_fd_limit(files: usize) {
    let files = u64::try_from(files).unwrap_or(u64::MAX);
    let now = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if now.current.is_some_and(|current| current < files) {
        let current = now.maximum.map_or(files, |maximum| maximum.min(files));
        // If this is refused, the old limit stays.
        let _ = rustix::process::setrlimit(
            rustix::process::Resource::Nofile,
            rustix::process::Rlimit { current: Some(current), ..now },
        );
    }
}

/// Returns the descriptor that the next opened file gets, which is about the number of open files.
pub(super) fn lowest_free_fd(any: impl AsFd) -> usize {
    let next = rustix::io::fcntl_dupfd_cloexec(any, 0);
    next.map_or_else(|_| fd_limit(), |next| usize::try_from(next.as_raw_fd()).unwrap_or(0))
}

pub(super) fn fsync(file: impl AsFd) -> Result<()> {
    gate!();
    os::fsync(file.as_fd())?;
    log!(DiskEvent::SyncFolder(fault_injection::place(&file)));
    Ok(())
}

pub(super) fn flistxattr(file: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    gate!();
    rustix::fs::flistxattr(file, buffer)
}

pub(super) fn fgetxattr(file: impl AsFd, name: &[u8], buffer: &mut [u8]) -> Result<usize> {
    gate!();
    rustix::fs::fgetxattr(file, name, buffer)
}

pub(super) fn fsetxattr(file: impl AsFd, name: &[u8], value: &[u8]) -> Result<()> {
    gate!();
    rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())
}

pub(super) fn fremovexattr(file: impl AsFd, name: &[u8]) -> Result<()> {
    gate!();
    rustix::fs::fremovexattr(file, name)
}
