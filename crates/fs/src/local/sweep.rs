//! Sweeping: removes temporary files of dead processes from a directory when something is first written there.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::PoisonError;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Result;
use rustix::time::{ClockId, clock_gettime};

use super::folder::Folder;
use super::look::{self, LOOK};
use super::temp::{Maker, maker};
use super::{Local, sys};

/// Age in seconds after which a temporary file without a lock counts as left over. A transaction takes milliseconds,
/// and one that loses its temporary files fails without harm.
const AGE: i64 = 600;

/// Sweeps a directory, unless this store has done so before or another process is working in it.
pub(super) fn sweep(local: &Local, folder: &Folder<'_>) {
    let mut swept = local.swept.lock().unwrap_or_else(PoisonError::into_inner);
    if folder.fixed || !folder.readable || swept.contains(&folder.id) {
        return;
    }
    // Names of displaced files are only used under this lock.
    if sys::flock(&folder.fd, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    // A file that cannot be read or removed is left alone; the write itself will report problems.
    let _ = sweep_locked(local, folder);
    let _ = sys::flock(&folder.fd, FlockOperation::Unlock);
    swept.insert(folder.id);
}

fn sweep_locked(local: &Local, folder: &Folder<'_>) -> Result<()> {
    let list = sys::openat(&folder.fd, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for entry in sys::list(list)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let left = match maker(name) {
            None => false,
            // Recovery handles the files of a record.
            Some(Maker::Batch(batch)) if local.journal.as_ref().is_some_and(|it| it.speaks_of(batch)) => false,
            Some(maker) => is_left(folder, OsStr::from_bytes(name), maker).unwrap_or(false),
        };
        if left {
            sys::unlinkat(&folder.fd, OsStr::from_bytes(name), AtFlags::empty())?;
        }
    }
    Ok(())
}

/// True if the process that created a temporary file is dead.
fn is_left(folder: &Folder<'_>, name: &OsStr, maker: Maker) -> Result<bool> {
    let stat = sys::statat(&folder.fd, name)?;
    let stamp = look::stamp_of(&stat);
    let user = rustix::process::geteuid().as_raw();
    if user != 0 && stamp.uid != user {
        return Ok(false);
    }
    let old = clock_gettime(ClockId::RealtimeCoarse).tv_sec - stamp.ctime_ns / 1_000_000_000 > AGE;
    match FileType::from_raw_mode(stamp.mode) {
        FileType::RegularFile if old || maker == Maker::Single => {
            let file = sys::openat(&folder.fd, name, LOOK, Mode::empty())?;
            Ok(sys::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok())
        }
        FileType::Symlink => Ok(old),
        _ => Ok(false),
    }
}
