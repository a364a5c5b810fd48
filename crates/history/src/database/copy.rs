//! A private copy of a database, for calls that must leave the state directory as it is.

use emendate_os::files;
use std::fs;
use std::io;
use std::path::Path;

use emendate_core::{Code, Error, Result};

use super::failure::of_io;

/// The files that make up a database. The memory shared by its processes is not among them: SQLite builds it again.
const DATABASE_FILES: [&str; 8] = [
    "sessions.db", "sessions.db-wal", "sessions.db-journal", "sessions.db.damaged", "sessions.spool", "sessions.found",
    "sessions.stat", "sessions.comments",
];
/// Attempts to copy the files while no other process writes them.
const ATTEMPTS_MAX: usize = 20;

/// Copies the files of the database in `from` into the directory `to`, as they were at one moment.
///
/// Errors: `lock.timeout` if other processes keep writing; those of the disk.
pub(super) fn copy_database(from: &Path, to: &Path) -> Result<()> {
    for _ in 0..ATTEMPTS_MAX {
        let before = stamps(from)?;
        for name in DATABASE_FILES {
            copy_file(&from.join(name), &to.join(name))?;
        }
        // The files belong together only if none of them changed while they were copied.
        if stamps(from)? == before {
            return Ok(());
        }
    }
    let what = format!("Other processes keep writing the session database in {}.", from.display());
    Err(Error::new(Code::LockTimeout, what).next("Repeat the call when they have finished."))
}

/// Copies a file; a missing one is missing in the copy, too.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    match fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(of_io(&error, "remove", to)),
            _ => Ok(()),
        },
        Err(error) => Err(of_io(&error, "copy", from)),
    }
}

/// Returns the stamps of all files of a database; `None` for a missing one.
fn stamps(directory: &Path) -> Result<Vec<Option<files::FileStamp>>> {
    DATABASE_FILES.iter().map(|name| stamp(&directory.join(name))).collect()
}

/// Returns the stamp of a file; `None` for a missing one.
fn stamp(path: &Path) -> Result<Option<files::FileStamp>> {
    match files::stamp(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(of_io(&error, "examine", path)),
    }
}

#[cfg(test)]
mod tests {
    use super::DATABASE_FILES;
    use crate::{Database, HistoryLimits, Sessions as _};
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
        let all = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
        all.map(|it| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap())).collect()
    }

    #[test]
    fn copy_knows_everything_and_changes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let database = Database::open(temp.path(), HistoryLimits::default()).unwrap();
        assert!(database.keep_words(b"/a", b"one", None).unwrap());
        drop(database);
        let before = contents(temp.path());
        assert!(DATABASE_FILES.iter().any(|name| before.contains_key(*name)), "{before:?}");
        let copy = Database::open_throwaway(temp.path(), HistoryLimits::default()).unwrap();
        assert_eq!(copy.words(b"/a").unwrap().as_deref(), Some(&b"one"[..]));
        assert!(copy.keep_words(b"/a", b"two", Some(b"one")).unwrap());
        let place = copy.path().to_owned();
        assert!(place.exists());
        drop(copy);
        assert_eq!(contents(temp.path()), before);
        assert!(!place.exists(), "the copy is removed");
    }

    #[test]
    fn copy_of_nothing_is_empty() {
        let temp = tempfile::tempdir().unwrap();
        let nothing = temp.path().join("no/such/directory");
        let copy = Database::open_throwaway(&nothing, HistoryLimits::default()).unwrap();
        assert_eq!(copy.words(b"/a").unwrap(), None);
        assert!(!nothing.exists());
    }
}
