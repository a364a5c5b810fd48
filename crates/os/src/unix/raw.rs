//! Calls of the C library that no other library wraps: read leases, starting write-back, ignoring a signal, and
//! returning free memory.
//!
//! While we hold a read lease, the kernel blocks every process that opens the file for writing, and shows that one is
//! waiting. This closes the gap that no comparison can: a program that writes in place into the file that we displace.
//! Other systems than Linux have neither leases nor a way to start write-back.
#![allow(
    unsafe_code,
    reason = "fcntl, sync_file_range, signal and malloc_trim take and give plain integers here: nothing touches memory in \
              use, the descriptor is borrowed for the length of each call, and no handler of ours ever runs"
)]

use std::os::fd::BorrowedFd;

#[cfg(target_os = "linux")]
pub use leases::{begin_writing, is_leased, lease, unlease};
#[cfg(not(target_os = "linux"))]
pub use without_leases::{begin_writing, is_leased, lease, unlease};

#[cfg(target_os = "linux")]
mod leases {
    use super::BorrowedFd;
    use rustix::io::{Errno, Result};
    use std::os::fd::AsRawFd as _;

    /// `fcntl` command that chooses the lease signal; a generic Linux number that libc does not define.
    const F_SETSIG: libc::c_int = 10;

    /// Takes a read lease on a file that is open for reading only. `EAGAIN`: another process has it open for writing,
    /// or mapped so; `EACCES`: the file belongs to another user; `EINVAL`: no leases here.
    pub fn lease(file: BorrowedFd<'_>) -> Result<()> {
        // A broken lease signals its holder. The default signal would end the process; SIGURG is ignored by default.
        fcntl(file, F_SETSIG, libc::SIGURG)?;
        fcntl(file, libc::F_SETLEASE, libc::F_RDLCK).map(drop)
    }

    /// True while no writer is waiting: a lease that is being broken shows its target state instead.
    pub fn is_leased(file: BorrowedFd<'_>) -> Result<bool> {
        Ok(fcntl(file, libc::F_GETLEASE, 0)? == libc::F_RDLCK)
    }

    /// Releases the lease. Closing the descriptor would too, except that a child forked concurrently keeps a duplicate
    /// until it execs.
    pub fn unlease(file: BorrowedFd<'_>) -> Result<()> {
        fcntl(file, libc::F_SETLEASE, libc::F_UNLCK).map(drop)
    }

    /// Starts writing `len` bytes from `from` to disk, without waiting; the pages stay in the cache.
    pub fn begin_writing(file: BorrowedFd<'_>, from: u64, len: u64) -> Result<()> {
        let (Ok(from), Ok(len)) = (from.try_into(), len.try_into()) else { return Err(Errno::INVAL) };
        // SAFETY: the borrow keeps the descriptor open, and the other arguments are integers.
        checked(unsafe { libc::sync_file_range(file.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) }).map(drop)
    }

    fn fcntl(file: BorrowedFd<'_>, command: libc::c_int, argument: libc::c_int) -> Result<libc::c_int> {
        // SAFETY: the borrow keeps the descriptor open, and these commands take an integer argument.
        checked(unsafe { libc::fcntl(file.as_raw_fd(), command, argument) })
    }

    fn checked(answer: libc::c_int) -> Result<libc::c_int> {
        if answer < 0 {
            Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
        } else {
            Ok(answer)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod without_leases {
    use super::BorrowedFd;
    use rustix::io::{Errno, Result};

    /// Fails, because the system has no leases.
    pub fn lease(_file: BorrowedFd<'_>) -> Result<()> {
        Err(Errno::NOSYS)
    }

    /// Fails like [`lease`].
    pub fn is_leased(_file: BorrowedFd<'_>) -> Result<bool> {
        Err(Errno::NOSYS)
    }

    /// Fails like [`lease`].
    pub fn unlease(_file: BorrowedFd<'_>) -> Result<()> {
        Err(Errno::NOSYS)
    }

    /// Fails like [`lease`]: writing is not announced to other programs.
    pub fn begin_writing(_file: BorrowedFd<'_>, _from: u64, _len: u64) -> Result<()> {
        Err(Errno::NOSYS)
    }
}

/// Makes writes beyond the process's file size limit fail (`io.no_space`) instead of ending the process with `SIGXFSZ`.
/// Affects the whole process, so only programs should call it, not libraries.
pub fn outlive_size_limit() {
    // SAFETY: the signal is ignored, so no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Returns memory that the C library holds but nobody uses to the system. glibc keeps most of it otherwise; others are
/// left alone.
pub(crate) fn trim_c_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator takes its own locks, and memory in use stays where it is.
    unsafe {
        libc::malloc_trim(0);
    }
}
