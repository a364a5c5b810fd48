//! Windows: the calls of POSIX on those of the kernel (`Nt…`), which open names relative to an open directory too.

mod attributes;
pub mod buffer;
pub mod descriptors;
mod directory;
pub mod ending;
mod errno;
pub mod fd;
pub mod ffi;
pub mod files;
mod links;
mod locks;
#[path = "../no_notifications.rs"]
mod notifications;
mod nt;
mod open;
pub mod paths;
pub mod pipes;
pub mod process;
pub mod processes;
mod stat;
mod volume;
mod win32;

/// Files and directories.
pub mod fs {
    pub use super::attributes::{
        Gid, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, flistxattr_query, fremovexattr, fsetxattr,
    };
    pub use super::directory::{Dir, DirEntry};
    pub use super::links::{linkat, readlinkat, renameat, renameat_with, symlinkat, unlinkat};
    pub use super::locks::{FlockOperation, flock};
    pub use super::open::{
        Access, AtFlags, Mode, OFlags, RawMode, RenameFlags, accessat, mkdirat, open, openat, statat, stored_name,
    };
    pub use super::stat::{FileType, SeekFrom, Stat, fdatasync, fstat, fsync, ftruncate, seek};
    pub use super::volume::{StatVfs, file_system_name, fstatvfs, is_remote};
}

/// Reading, writing, and error numbers.
pub mod io {
    pub use super::errno::{Errno, Result};
    pub use super::stat::{pread, pwritev, read};
}

pub use notifications::NoNotifications as Notifications;
pub use volume::is_network_file_system;

/// Writes beyond a limit on sizes fail; there is no signal here.
pub const fn outlive_size_limit() {}

/// The allocator of Windows returns memory by itself.
pub(crate) const fn trim_c_memory() {}

/// Windows has no leases: a file is opened with a sharing mode that excludes others instead.
///
/// Errors: always `ENOSYS`.
pub const fn lease(_file: fd::BorrowedFd<'_>) -> io::Result<()> {
    Err(io::Errno::NOSYS)
}

/// See [`lease`].
///
/// Errors: always `ENOSYS`.
pub const fn is_leased(_file: fd::BorrowedFd<'_>) -> io::Result<bool> {
    Err(io::Errno::NOSYS)
}

/// See [`lease`].
///
/// Errors: always `ENOSYS`.
pub const fn unlease(_file: fd::BorrowedFd<'_>) -> io::Result<()> {
    Err(io::Errno::NOSYS)
}

/// The cache manager begins to write by itself.
///
/// Errors: always `ENOSYS`.
pub const fn begin_writing(_file: fd::BorrowedFd<'_>, _from: u64, _len: u64) -> io::Result<()> {
    Err(io::Errno::NOSYS)
}
