//! Limits of open files, and what standard input is.

use crate::fd::{AsFd, AsRawFd as _};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Grows the descriptor table for this many open files in one step. The kernel doubles it otherwise, and waits for all
/// processors each time.
pub fn grow_table(files: usize, any: impl AsFd) {
    if let Ok(high) = i32::try_from(files) {
        // Only an optimization, so failure is ignored.
        drop(rustix::io::fcntl_dupfd_cloexec(any, high));
    }
}

/// Returns the number of files that the process may have open.
pub fn limit() -> usize {
    let most = getrlimit(Resource::Nofile).current;
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Raises the limit of open files to `files`, or to the hard limit. Child processes inherit the limit, so it is raised
/// only when needed and no further.
pub fn raise_limit(files: usize) {
    let files = u64::try_from(files).unwrap_or(u64::MAX);
    let now = getrlimit(Resource::Nofile);
    if now.current.is_some_and(|current| current < files) {
        let current = now.maximum.map_or(files, |maximum| maximum.min(files));
        // If this is refused, the old limit stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..now });
    }
}

/// Returns the descriptor that the next opened file gets, which is about the number of open files.
pub fn lowest_free(any: impl AsFd) -> usize {
    let next = rustix::io::fcntl_dupfd_cloexec(any, 0);
    next.map_or_else(|_| limit(), |next| usize::try_from(next.as_raw_fd()).unwrap_or(0))
}

/// True if standard input was closed when this process started. The standard library then opens the null device in its
/// place, for reading and writing, which `< /dev/null` of a shell never does.
#[must_use]
pub fn is_stdin_absent() -> bool {
    let stdin = std::io::stdin();
    let is_open_for_both = rustix::fs::fcntl_getfl(&stdin).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::RDWR));
    let device = |stat: rustix::fs::Stat| (stat.st_mode, stat.st_rdev);
    let null = rustix::fs::stat("/dev/null").map(device);
    is_open_for_both && null.is_ok() && rustix::fs::fstat(&stdin).map(device) == null
}
