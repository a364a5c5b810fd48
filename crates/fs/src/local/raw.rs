//! The calls that no library offers: read leases, the disk told to begin to write, and a signal that is not to end the
//! process.
//!
//! While we hold a read lease, the kernel holds up whoever opens the file for writing, and shows that somebody waits. That
//! closes the gap that no comparison can: a program that writes in place, into the file that we displace.
#![allow(
    unsafe_code,
    reason = "fcntl, sync_file_range and signal take and give plain integers here: nothing touches memory, the descriptor \
              is borrowed for the length of each call, and no handler of ours ever runs"
)]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::{Errno, Result};

/// Chooses the signal; the generic number of Linux, which libc leaves out.
const F_SETSIG: libc::c_int = 10;

/// A read lease on a file that is open for reading only. `EAGAIN`: somebody has it open for writing, or mapped so;
/// `EACCES`: it is not ours to lease; `EINVAL`: no leases here.
pub(super) fn lease(file: BorrowedFd<'_>) -> Result<()> {
    // A lease that is broken tells its holder by a signal, which would end the process. This one is ignored by default.
    command(file, F_SETSIG, libc::SIGURG)?;
    command(file, libc::F_SETLEASE, libc::F_RDLCK).map(drop)
}

/// True while nobody waits for the file: a lease that is being broken shows what it is to become.
pub(super) fn is_leased(file: BorrowedFd<'_>) -> Result<bool> {
    Ok(command(file, libc::F_GETLEASE, 0)? == libc::F_RDLCK)
}

/// Whoever waits goes on. Closing the file does the same, unless another thread forks in that moment: then the child has
/// the open file, too, until it runs its program.
pub(super) fn unlease(file: BorrowedFd<'_>) -> Result<()> {
    command(file, libc::F_SETLEASE, libc::F_UNLCK).map(drop)
}

/// The disk begins to write so many bytes from there on; nobody waits for them, and the pages stay as they are.
pub(super) fn begin_writing(file: BorrowedFd<'_>, from: u64, len: u64) -> Result<()> {
    let (Ok(from), Ok(len)) = (from.try_into(), len.try_into()) else { return Err(Errno::INVAL) };
    // SAFETY: the descriptor is open as long as it is borrowed, and the other arguments are integers.
    told(unsafe { libc::sync_file_range(file.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) }).map(drop)
}

fn command(file: BorrowedFd<'_>, command: libc::c_int, argument: libc::c_int) -> Result<libc::c_int> {
    // SAFETY: the descriptor is open as long as it is borrowed, and these commands read their argument as an integer.
    told(unsafe { libc::fcntl(file.as_raw_fd(), command, argument) })
}

fn told(answer: libc::c_int) -> Result<libc::c_int> {
    if answer < 0 {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    } else {
        Ok(answer)
    }
}

/// A file that would grow over what the process may write is an error (`io.no_space`) from now on, for every part of the
/// process, and not its end by a signal (`SIGXFSZ`). For programs, which own their process; a library leaves it alone.
pub fn outlive_size_limit() {
    // SAFETY: the signal is ignored, so no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
