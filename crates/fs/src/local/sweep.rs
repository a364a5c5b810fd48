//! Sweeping: removes temporary files of dead processes from a directory when something is first written there.

use emendate_os::fd::AsFd;
use emendate_os::ffi::OsStrExt;
use std::ffi::OsStr;
use std::sync::PoisonError;

use emendate_os::fs::{FileType, FlockOperation, Mode, OFlags};
use emendate_os::io::Result;

use super::parent_dir::ParentDir;
use super::read::{self, READ_FLAGS};
use super::temp::{self, TempOwner, temp_owner};
use super::{LocalStore, sys};

/// Age in nanoseconds after which a temporary file without a lock counts as left over. A transaction takes milliseconds,
/// and one that loses its temporary files fails without harm.
const ORPHAN_AGE_NS: i64 = 600 * 1_000_000_000;

/// Sweeps a directory, unless this store has done so before or another process is working in it.
pub(super) fn sweep(local: &LocalStore, folder: &ParentDir<'_>) {
    let mut swept = local.swept.lock().unwrap_or_else(PoisonError::into_inner);
    if folder.append_only || !folder.readable || swept.contains(&folder.id) {
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

fn sweep_locked(local: &LocalStore, folder: &ParentDir<'_>) -> Result<()> {
    let list = sys::openat(&folder.fd, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for entry in sys::list(list)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let left = match temp_owner(name) {
            None => false,
            // Recovery handles the files of a record.
            Some(TempOwner::Batch(batch)) if local.journal.as_ref().is_some_and(|it| it.has_record(batch)) => false,
            Some(maker) => is_orphan(folder, OsStr::from_bytes(name), maker).unwrap_or(false),
        };
        if left {
            temp::unlink_any(&folder.fd, OsStr::from_bytes(name))?;
        }
    }
    Ok(())
}

/// True if the process that created a temporary file is dead.
fn is_orphan(folder: &ParentDir<'_>, name: &OsStr, maker: TempOwner) -> Result<bool> {
    if maker == TempOwner::Discarded {
        return Ok(true);
    }
    let stat = sys::statat(&folder.fd, name)?;
    let meta = read::file_meta(&stat);
    let user = emendate_os::process::geteuid().as_raw();
    if user != 0 && meta.uid != user {
        return Ok(false);
    }
    let old = read::now_ns().saturating_sub(meta.ctime_ns) > ORPHAN_AGE_NS;
    match sys::file_type(meta.mode) {
        FileType::RegularFile if old || maker == TempOwner::Single => {
            let file = sys::openat(&folder.fd, name, READ_FLAGS, Mode::empty())?;
            Ok(sys::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok())
        }
        FileType::Symlink | FileType::Directory => Ok(old),
        _ => Ok(false),
    }
}
