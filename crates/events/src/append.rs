//! Lines at the end of a file that other processes write, move and replace as well.

use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a file is opened anew, or its lock asked for, before the lines have to wait for another time.
const TRIES: usize = 50;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(1);

/// Appends whole lines. When the file is larger than `full` bytes then, `relieve` is called under its exclusive lock, if that
/// can be had at once: it puts another file at the path, or nothing.
///
/// A lock is held for a write, so that nobody puts the file aside meanwhile; it is never waited for long.
pub(crate) fn append(
    path: &Path,
    lines: &[u8],
    full: u64,
    relieve: impl FnOnce(&mut File, &Path) -> io::Result<()>,
) -> io::Result<()> {
    for _ in 0..TRIES {
        let mut file = opened(path)?;
        match file.try_lock_shared() {
            Ok(()) if is_at(&file, path) => {
                file.write_all(lines)?;
                let size = file.metadata()?.len();
                file.unlock()?;
                if size > full && file.try_lock().is_ok() && is_at(&file, path) {
                    relieve(&mut file, path)?;
                }
                return Ok(());
            }
            // It was put aside between opening and locking.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            // No locks here (some network file systems): lines of two processes still do not mix.
            Err(TryLockError::Error(_)) => return file.write_all(lines),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another process holds it"))
}

/// The file, made with its folder where it is missing. A pipe or a device is no place for events: it could hold us up.
fn opened(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let open = || OpenOptions::new().read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            open()?
        }
        other => other?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// True when the file is the one at the path.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |it: &fs::Metadata| (it.dev(), it.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(held), Ok(named)) if id(&held) == id(&named))
}

/// Moves a full file aside; the one that was there goes.
pub(crate) fn aside(_: &mut File, path: &Path) -> io::Result<()> {
    fs::rename(path, beside(path, ".1"))
}

/// The path with something at its end.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
