//! Opening the database: fast if all is well, under a lock if the file has to be created or set aside.

use emendate_os::files::{self, DirBuilderExt, OpenOptionsExt};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use emendate_core::{Code, Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::failure::{is_damage, of_io, of_sql};
use super::{found_file, gaps};
use crate::clock;

/// `application_id` of our databases: "Emnd".
pub(super) const APPLICATION_ID: i32 = 0x456d_6e64;
/// `user_version` of the schema below. Version 1 had no log of operations, 2 no `words`, 3 nothing of [`SCHEMA_V4`], 4 no
/// gaps, 5 no spans.
pub(super) const SCHEMA_VERSION: i32 = 6;
/// Older SQLite can corrupt a database when two connections race at a WAL reset.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// A write-ahead log of at most this size stays when the last connection closes. Writing it back and starting another
/// costs two or three `fsync`, more than the rest of a short process; reading it at the next opening costs about 2 µs
/// per page. At this size both cost the same.
const WAL_KEPT_AT_CLOSE_BYTES: u64 = 256 << 10;
/// Processes that exited without closing left a log longer than this, and each would add to it.
const WAL_KEPT_AT_OPEN_BYTES: u64 = 6 << 20;
/// Maximum wait for another process.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Contents are in a table of their own, so that choosing what to drop does not read them.
/// `seen.at` is in microseconds and increases with every record of a session and path, so it gives their order.
const SEEN_SCHEMA: &str = "
    CREATE TABLE seen(
        session TEXT NOT NULL, path BLOB NOT NULL, content BLOB NOT NULL, tag INTEGER NOT NULL, at INTEGER NOT NULL,
        how INTEGER NOT NULL, racy INTEGER NOT NULL, stamp BLOB NOT NULL, lines BLOB NOT NULL,
        first INTEGER, count INTEGER,
        PRIMARY KEY(session, path, content)) WITHOUT ROWID;
    CREATE INDEX seen_by_tag ON seen(path, tag);
    CREATE TABLE versions(
        content BLOB PRIMARY KEY NOT NULL, hash BLOB, size INTEGER NOT NULL, stored INTEGER, zstd INTEGER NOT NULL,
        base BLOB, depth INTEGER NOT NULL, contested INTEGER NOT NULL, body INTEGER) WITHOUT ROWID;
    CREATE TABLE bodies(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE upkeep(id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
    INSERT INTO upkeep VALUES(1, 0);";

/// Schema of the log. The last operation always stays, so that no number is reused. The log is written with every edit,
/// so it has no index, which would be one more page to write. `changes` contains the deltas between versions that are
/// not stored whole; `taken` is the operation that this one undoes, `undone` the one that undid it, each with its time.
const LOG_SCHEMA: &str = "
    CREATE TABLE operations(
        number INTEGER PRIMARY KEY, at INTEGER NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL,
        format TEXT NOT NULL, digest BLOB NOT NULL, note TEXT NOT NULL, outcome INTEGER NOT NULL, kept INTEGER NOT NULL,
        role INTEGER NOT NULL, taken INTEGER, taken_at INTEGER, undone INTEGER, undone_at INTEGER);
    CREATE TABLE touched(
        operation INTEGER NOT NULL, nth INTEGER NOT NULL, path BLOB NOT NULL, moved_from BLOB,
        before BLOB, before_mode INTEGER, before_link INTEGER, after BLOB, after_mode INTEGER, after_link INTEGER,
        added INTEGER NOT NULL, removed INTEGER NOT NULL,
        PRIMARY KEY(operation, nth)) WITHOUT ROWID;
    CREATE TABLE changes(
        id INTEGER PRIMARY KEY, operation INTEGER NOT NULL, base BLOB NOT NULL, result BLOB NOT NULL,
        data BLOB NOT NULL, zstd INTEGER NOT NULL);";

/// Schema of the anchor words of a path's lines. Independent of the rest: losing them costs one read.
const WORDS_SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS words(
        id INTEGER PRIMARY KEY, path BLOB UNIQUE NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL, zstd INTEGER NOT NULL);";

/// Additions to the log. A process with an older schema open is not disturbed, because it names the columns it fills.
/// `pending` is 0 for committed operations, -1 for aborted ones, and otherwise the id of the process that performs it;
/// `also` has the number and time of each further operation that is undone. `registers` contains the text that sessions
/// cut.
const SCHEMA_V4: &str = "
    ALTER TABLE operations ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE operations ADD COLUMN also BLOB;
    CREATE TABLE attributes(
        operation INTEGER NOT NULL, nth INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(operation, nth)) WITHOUT ROWID;
    CREATE TABLE folders(
        operation INTEGER NOT NULL, nth INTEGER NOT NULL, path BLOB NOT NULL, PRIMARY KEY(operation, nth)) WITHOUT ROWID;
    CREATE TABLE registers(
        id INTEGER PRIMARY KEY, session TEXT UNIQUE NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL,
        zstd INTEGER NOT NULL);";

/// Schema of the ranges that operations replaced, for the pages that show which words changed.
const SPANS_SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS spans(
        operation INTEGER NOT NULL, nth INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(operation, nth)) WITHOUT ROWID;";

/// State of the file at the path of the database.
enum DatabaseFile {
    /// Our database.
    Ours(Connection),
    /// A database without tables.
    Empty(Connection),
    /// Our database with this older schema version.
    Outdated(Connection, i32),
    /// No file.
    Missing,
    /// Not usable; the reason completes a sentence that begins with the file's name.
    Unusable(String),
}

/// Path of the mark that requests setting the database aside before its next use.
fn damage_mark(path: &Path) -> PathBuf {
    beside(path, ".damaged")
}

/// Creates the mark that makes the next opening, by any process, set the file aside.
pub(super) fn mark_damaged(path: &Path) {
    // If this fails, the next operation finds the damage and reports it again.
    let _ = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(damage_mark(path));
}

/// Creates the directory, accessible to its owner only.
pub(super) fn make_directory(dir: &Path) -> Result<()> {
    // Checking a directory that exists, as nearly always, is cheaper than trying to create it.
    if fs::metadata(dir).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| of_io(&error, "create", dir))
}

/// Opens the database at `path`, creating it or setting an unusable one aside as needed.
pub(super) fn open(path: &Path, notices: &mut Vec<String>) -> Result<Connection> {
    open_on(path, emendate_os::is_network_file_system(path.parent().unwrap_or(path)), notices)
}

/// Opens the database; `distant` means a network file system.
fn open_on(path: &Path, distant: bool, notices: &mut Vec<String>) -> Result<Connection> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        let version = rusqlite::version();
        return Err(Error::new(Code::InternalBug, format!("SQLite {version} is too old to be trusted.")));
    }
    let marked = fs::symlink_metadata(damage_mark(path)).is_ok();
    // Any other state, and every error, may be due to another process that is creating the file: judged under the lock.
    if !marked && let Ok(DatabaseFile::Ours(connection)) = inspect(path, distant) {
        if log_size(path) > WAL_KEPT_AT_OPEN_BYTES {
            // If a reader prevents this, the next process tries again.
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
        return Ok(connection);
    }
    let _turn = lock_setup(path)?;
    if fs::symlink_metadata(damage_mark(path)).is_ok() {
        set_aside(path, "was damaged", notices)?;
        fs::remove_file(damage_mark(path)).map_err(|error| of_io(&error, "remove", &damage_mark(path)))?;
    }
    // Another process may have fixed it while we waited.
    match inspect(path, distant)? {
        DatabaseFile::Ours(connection) => return Ok(connection),
        DatabaseFile::Empty(connection) => return create_schema(connection, path, distant),
        DatabaseFile::Outdated(connection, version) => return migrate(connection, version, path, distant),
        DatabaseFile::Unusable(why) => set_aside(path, &why, notices)?,
        DatabaseFile::Missing => {}
    }
    create(path, distant)?;
    match inspect(path, distant)? {
        DatabaseFile::Ours(connection) => Ok(connection),
        DatabaseFile::Empty(connection) => create_schema(connection, path, distant),
        DatabaseFile::Outdated(connection, version) => migrate(connection, version, path, distant),
        DatabaseFile::Missing => Err(Error::new(Code::IoFailed, format!("{} vanished.", path.display()))),
        DatabaseFile::Unusable(why) => Err(Error::new(Code::IoFailed, format!("{} {why}.", path.display()))),
    }
}

fn log_size(path: &Path) -> u64 {
    fs::symlink_metadata(beside(path, "-wal")).map_or(0, |log| log.len())
}

/// Size of the database on disk, including its log and what will be moved to it.
pub(super) fn size(path: &Path) -> u64 {
    log_size(path) + found_file::size(path) + fs::symlink_metadata(path).map_or(0, |file| file.len())
}

/// Device and inode of the file at `path`.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    files::id_at(path)
}

/// Requests that the log is written back if `connection`, which opened `file`, is the last one to close and the log is
/// long.
pub(super) fn before_close(connection: &Connection, path: &Path, file: Option<(u64, u64)>) {
    // SQLite removes the log by name: if the file was set aside meanwhile, that is the log of another one.
    if log_size(path) > WAL_KEPT_AT_CLOSE_BYTES && file.is_some() && identity(path) == file {
        // If this fails, the log is written back later.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
}

/// Opens the file and reads two numbers of its header; no more, because every process pays for it.
fn inspect(path: &Path, distant: bool) -> Result<DatabaseFile> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match Connection::open_with_flags(path, flags) {
        Ok(connection) => connection,
        Err(error) => {
            return match fs::symlink_metadata(path) {
                Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(DatabaseFile::Missing),
                Ok(found) if !found.is_file() => Ok(DatabaseFile::Unusable("was not a file".to_owned())),
                _ => Err(of_sql(&error, path)),
            };
        }
    };
    match identify(connection, distant) {
        Err(error) if is_damage(&error) => Ok(DatabaseFile::Unusable(format!("was damaged ({error})"))),
        other => other.map_err(|error| of_sql(&error, path)),
    }
    .and_then(|found| match found {
        // SQLite silently opens a file read-only if it may not write it.
        DatabaseFile::Ours(connection) | DatabaseFile::Empty(connection) | DatabaseFile::Outdated(connection, _)
            if connection.is_readonly("main").unwrap_or(true) =>
        {
            Err(Error::new(Code::IoReadOnly, format!("The session database {} cannot be written.", path.display()))
                .next("Make the file and its directory writable."))
        }
        found => Ok(found),
    })
}

fn identify(connection: Connection, distant: bool) -> rusqlite::Result<DatabaseFile> {
    connection.busy_timeout(LOCK_WAIT)?;
    let (application, version) =
        (read_pragma(&connection, "PRAGMA application_id")?, read_pragma(&connection, "PRAGMA user_version")?);
    if (application, version) == (APPLICATION_ID, SCHEMA_VERSION) {
        configure(&connection, distant)?;
        return Ok(DatabaseFile::Ours(connection));
    }
    if application == APPLICATION_ID && (1..SCHEMA_VERSION).contains(&version) {
        return Ok(DatabaseFile::Outdated(connection, version));
    }
    if application == APPLICATION_ID && version > SCHEMA_VERSION {
        return Ok(DatabaseFile::Unusable("was written by a newer version of Emendate".to_owned()));
    }
    if (application, version) == (0, 0) && read_pragma(&connection, "SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(DatabaseFile::Empty(connection));
    }
    Ok(DatabaseFile::Unusable("belongs to another program".to_owned()))
}

/// Reads the number of a pragma.
fn read_pragma(connection: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    connection.query_row(pragma, [], |row| row.get::<_, i32>(0))
}

/// Configures a connection. A commit survives a crash of the process; a power cut may lose the last ones but corrupts
/// nothing.
fn configure(connection: &Connection, distant: bool) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(48);
    if distant {
        use_rollback_journal(connection)?;
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA synchronous=NORMAL")
}

/// Switches to a rollback journal: WAL needs memory shared by all processes, which network file systems cannot provide
/// between machines.
fn use_rollback_journal(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode=TRUNCATE", [], |_| Ok(()))
}

/// Creates the database under another name and renames it. So one `fsync` suffices, where SQLite makes seven for a
/// database that it creates in its place, and no process ever sees half of it.
fn create(path: &Path, distant: bool) -> Result<()> {
    let new = beside(path, ".new");
    // Removes what a process that was killed left behind, and the logs of a database that somebody removed: SQLite
    // would replay them into the new one.
    for suffix in ["-wal", "-shm", "-journal"] {
        remove_if_there(&beside(path, suffix))?;
        remove_if_there(&beside(&new, suffix))?;
    }
    remove_if_there(&new)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let file = file.map_err(|error| of_io(&error, "create", &new))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(&new, flags)
        .and_then(|connection| {
            connection.execute_batch("PRAGMA synchronous=OFF")?;
            create_tables(distant, &connection)?;
            connection.close().map_err(|(_, error)| error)
        })
        .map_err(|error| of_sql(&error, &new))?;
    file.sync_all().map_err(|error| of_io(&error, "sync", &new))?;
    drop(file);
    fs::rename(&new, path).map_err(|error| of_io(&error, "rename", &new))
}

/// Removes a file; no-op if there is none.
fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(of_io(&error, "remove", path)),
        _ => Ok(()),
    }
}

/// Creates our schema in an empty database.
fn create_schema(connection: Connection, path: &Path, distant: bool) -> Result<Connection> {
    create_tables(distant, &connection)
        .and_then(|()| configure(&connection, distant))
        .map_err(|error| of_sql(&error, path))?;
    Ok(connection)
}

/// Creates the tables in one transaction, and first the journal mode of a local database.
fn create_tables(distant: bool, connection: &Connection) -> rusqlite::Result<()> {
    if !distant {
        let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
        if !mode.eq_ignore_ascii_case("wal") {
            use_rollback_journal(connection)?;
        }
    }
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {SEEN_SCHEMA} {LOG_SCHEMA} {WORDS_SCHEMA} {SCHEMA_V4} {SPANS_SCHEMA} {gaps} PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={SCHEMA_VERSION}; COMMIT",
        gaps = gaps::GAPS_TABLE
    ))
}

/// Migrates a database to the current schema. Processes that have it open are not disturbed.
fn migrate(connection: Connection, version: i32, path: &Path, distant: bool) -> Result<Connection> {
    let log = if version < 2 { LOG_SCHEMA } else { "" };
    let (more, gaps) = (if version < 4 { SCHEMA_V4 } else { "" }, gaps::GAPS_TABLE);
    let sql = format!(
        "BEGIN IMMEDIATE; {log} {WORDS_SCHEMA} {more} {SPANS_SCHEMA} {gaps} PRAGMA user_version={SCHEMA_VERSION}; COMMIT"
    );
    connection
        .execute_batch(&sql)
        .and_then(|()| configure(&connection, distant))
        .map_err(|error| of_sql(&error, path))?;
    Ok(connection)
}

/// Waits until no other process is creating the file or setting it aside. Dropping the result releases the lock.
fn lock_setup(path: &Path) -> Result<File> {
    let lock = path.with_extension("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock)
        .map_err(|error| of_io(&error, "create", &lock))?;
    let step = Duration::from_millis(5);
    for _ in 0..LOCK_WAIT.as_millis() / step.as_millis() {
        match files::try_lock(&file) {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(step),
            // Without locks, the remaining races can only lose remembered state.
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(file),
            Err(fs::TryLockError::Error(error)) => return Err(of_io(&error, "lock", &lock)),
        }
    }
    Err(Error::new(Code::LockTimeout, format!("Another process holds {}.", lock.display()))
        .next("Repeat the call when the other process has finished."))
}

/// Renames the database and its side files out of the way. No-op if there is no file.
fn set_aside(path: &Path, why: &str, notices: &mut Vec<String>) -> Result<()> {
    let seconds = clock::now_us() / 1_000_000;
    let mut target = beside(path, &format!(".set-aside-{seconds}"));
    for number in 1.. {
        if fs::symlink_metadata(&target).is_err() {
            break;
        }
        target = beside(path, &format!(".set-aside-{seconds}-{number}"));
    }
    // The log first: if it were left behind, SQLite would replay it into the new database.
    for suffix in ["-wal", "-shm", "-journal", ""] {
        let from = beside(path, suffix);
        match fs::rename(&from, beside(&target, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(of_io(&error, "set aside", &from)),
        }
    }
    notices.push(format!(
        "The session database {} {why}. It was set aside as {} and a new one was created: files must be read again before they are edited, and earlier operations cannot be undone.",
        path.display(),
        target.display()
    ));
    Ok(())
}

/// Appends `suffix` to the file name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::open_on;

    /// Windows does not remove a database that is open.
    #[cfg(unix)]
    #[test]
    fn logs_of_a_removed_database_are_not_replayed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("sessions.db");
        let mut notices = Vec::new();
        let connection = open_on(&path, false, &mut notices).unwrap();
        connection.execute("INSERT INTO words(path, at, data, zstd) VALUES(x'00', 0, x'', 0)", []).unwrap();
        let log = std::fs::read(temp.path().join("sessions.db-wal")).unwrap();
        assert!(!log.is_empty());
        std::fs::remove_file(&path).unwrap();
        // A process that was killed while it created the database.
        std::fs::write(temp.path().join("sessions.db.new"), b"half").unwrap();
        let fresh = open_on(&path, false, &mut notices).unwrap();
        let count: i64 = fresh.query_row("SELECT count(*) FROM words", [], |row| row.get(0)).unwrap();
        assert_eq!((count, notices), (0, Vec::<String>::new()));
        assert!(!temp.path().join("sessions.db.new").exists());
    }

    /// Wherever the database was created, it has a WAL on a local file system and a rollback journal on a network one,
    /// and nothing is lost in the change.
    #[test]
    fn network_file_system_gets_a_rollback_journal() {
        for made_there in [false, true] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("sessions.db");
            let mut notices = Vec::new();
            let mut mode = |distant: bool, line: &str| {
                let connection = open_on(&path, distant, &mut notices).unwrap();
                let sql = "INSERT INTO words(path, at, data, zstd) VALUES(?1, 0, x'', 0)";
                connection.execute(sql, [line.as_bytes()]).unwrap();
                let count: i64 = connection.query_row("SELECT count(*) FROM words", [], |row| row.get(0)).unwrap();
                let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
                (mode, count)
            };
            assert_eq!(mode(made_there, "1").0, if made_there { "truncate" } else { "wal" });
            assert_eq!(mode(true, "2"), ("truncate".to_owned(), 2));
            assert_eq!(mode(true, "3"), ("truncate".to_owned(), 3));
            assert_eq!(notices, Vec::<String>::new());
            assert!(!temp.path().join("sessions.db-shm").exists());
        }
    }
}
