//! Appending lines to a file that other processes append to, move and replace as well.

use emendate_os::files::{self, OpenOptionsExt as _};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Attempts to open the file and get its lock before the lines have to wait.
const LOCK_ATTEMPTS: usize = 50;
/// Pause between two attempts.
const LOCK_POLL: Duration = Duration::from_millis(1);

/// Appends whole lines. If the file is then larger than `full` bytes and its exclusive lock is free, calls `relieve`
/// under that lock, which puts another file at the path, or none.
///
/// Writers hold a shared lock, so that nobody moves the file aside meanwhile; they never wait long for it.
pub(crate) fn append(
    path: &Path,
    lines: &[u8],
    full: u64,
    relieve: impl FnOnce(&mut File, &Path) -> io::Result<()>,
) -> io::Result<()> {
    for _ in 0..LOCK_ATTEMPTS {
        let mut file = open_log(path)?;
        match files::try_lock_shared(&file) {
            Ok(()) if is_at(&file, path) => {
                file.write_all(lines)?;
                let size = file.metadata()?.len();
                files::unlock(&file)?;
                if size > full && files::try_lock(&file).is_ok() && is_at(&file, path) {
                    relieve(&mut file, path)?;
                }
                return Ok(());
            }
            // The file was moved aside between opening and locking.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
            // No locks here (some network file systems): lines of two processes still do not mix.
            Err(TryLockError::Error(_)) => return file.write_all(lines),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another process holds it"))
}

/// Opens the file, creating it and its directory if missing. Refuses a pipe or a device, which could block.
fn open_log(path: &Path) -> io::Result<File> {
    let file = match open_to_append(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            open_to_append(path)?
        }
        other => other?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Examines whether lines can be appended, without appending any. Creates a missing file, as the first line would do.
pub(crate) fn examine(path: &Path) -> io::Result<()> {
    let file = open_log(path)?;
    // Not all file systems say how much space is left.
    if emendate_os::fs::fstatvfs(&file).is_ok_and(|space| space.f_bavail == 0) {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "no space is left"));
    }
    Ok(())
}

/// Opens a file to append to, and creates it if it is missing.
fn open_to_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).custom_flags(files::NONBLOCK).open(path)
}

/// Creates a file for its owner, in place of another one.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// True if the file is the one at the path.
fn is_at(file: &File, path: &Path) -> bool {
    matches!((files::id_of(file), files::id_followed(path)), (Some(held), Some(named)) if held == named)
}

/// Moves a full file aside, replacing the previous one.
pub(crate) fn rotate(_: &mut File, path: &Path) -> io::Result<()> {
    fs::rename(path, with_suffix(path, ".1"))
}

/// Appends a suffix to a path.
pub(crate) fn with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
