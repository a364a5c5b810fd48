//! Guarantees of the database alone: it outlives the process, is shared, and survives damage.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test may stop at the first fault, and these break files and race threads on purpose"
)]

mod suite;

use std::fs;
use std::path::Path;

use emendate_core::{Code, ContentId};
use emendate_history::{Database, HistoryLimits, KnownContent, OperationFilter, OperationLog, Sessions, VersionBody};
use rusqlite::Connection;
use suite::log::{edit, wholly};
use suite::{noise, record};
use tempfile::tempdir;

const PATH: &[u8] = b"/some/file";

fn open(dir: &Path) -> Database {
    Database::open(dir, HistoryLimits::default()).unwrap()
}

/// Returns the names in `dir` that begin with `start`.
fn names(dir: &Path, start: &str) -> Vec<String> {
    let all = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    all.filter(|name| name.starts_with(start)).collect()
}

/// True for a file or directory with these permission bits. On Windows, the directory of the user decides.
fn has_mode(path: &Path, mode: u32) -> bool {
    cfg!(windows) || emendate_os::files::mode_of(&fs::metadata(path).unwrap()) & 0o777 == mode
}

#[test]
fn database_outlives_the_process_and_is_private() {
    let temp = tempdir().unwrap();
    let dir = temp.path().join("a/b");
    let one = record(b"one", &[(1, 2), (5, 8)]);
    let store = open(&dir);
    store.record("s", PATH, &one, &VersionBody::Bytes(b"one")).unwrap();
    assert!(has_mode(&dir, 0o700) && has_mode(store.path(), 0o600));
    for suffix in ["-wal", "-shm"] {
        assert!(has_mode(&dir.join(format!("sessions.db{suffix}")), 0o600), "{suffix}");
    }
    drop(store);
    for _ in 0..3 {
        let store = open(&dir);
        assert_eq!(store.latest("s", PATH).unwrap(), Some(one.clone()));
        assert_eq!(store.bytes(one.content).unwrap().as_deref(), Some(&b"one"[..]));
        assert!(store.notices().is_empty());
    }
}

#[test]
fn eight_concurrent_sessions_lose_nothing() {
    let temp = tempdir().unwrap();
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (dir, start) = (temp.path(), &start);
            scope.spawn(move || {
                start.wait();
                let store = open(dir);
                for number in 0..100 {
                    let body = noise(300, thread * 1000 + number);
                    let path = format!("/{number}");
                    store
                        .record(&thread.to_string(), path.as_bytes(), &record(&body, &[]), &VersionBody::Bytes(&body))
                        .unwrap();
                    // Several sessions know one file, each with its own lines.
                    store
                        .record(
                            &thread.to_string(),
                            PATH,
                            &record(b"all", &[(number * 2, number * 2)]),
                            &VersionBody::Bytes(b"all"),
                        )
                        .unwrap();
                }
                assert_eq!(store.notices(), Vec::<String>::new());
            });
        }
    });
    let store = open(temp.path());
    for thread in 0..8_u64 {
        for number in 0..100 {
            let body = noise(300, thread * 1000 + number);
            let path = format!("/{number}");
            let latest = store.latest(&thread.to_string(), path.as_bytes()).unwrap().unwrap();
            assert_eq!(store.bytes(latest.content).unwrap(), Some(body));
        }
        assert_eq!(store.latest(&thread.to_string(), PATH).unwrap().unwrap().lines.ranges().len(), 99);
    }
}

/// As on a network file system, where there is no shared memory for a write-ahead log.
#[test]
fn eight_concurrent_writers_log_once_with_a_rollback_journal() {
    let temp = tempdir().unwrap();
    drop(open(temp.path()));
    execute(temp.path(), "PRAGMA journal_mode=TRUNCATE");
    eight_log(temp.path());
    assert_eq!(names(temp.path(), "sessions.db-wal").len(), 0);
}

#[test]
fn eight_concurrent_writers_log_once() {
    eight_log(tempdir().unwrap().path());
}

fn eight_log(dir: &Path) {
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let store = open(dir);
                for number in 0..50 {
                    let (before, after) = (noise(300, thread * 1000 + number), noise(300, thread * 1000 + number + 1));
                    wholly(&store, &thread.to_string(), format!("/{number}").as_bytes(), &before, &after);
                }
                assert_eq!(store.notices(), Vec::<String>::new());
            });
        }
    });
    let store = open(dir);
    let all = store.operations(&OperationFilter { limit: 1000, ..OperationFilter::default() }).unwrap();
    let numbers: Vec<u64> = all.iter().map(|logged| logged.id.number).collect();
    assert_eq!(numbers, (1..=400).rev().collect::<Vec<u64>>());
    for thread in 0..8_u64 {
        let session = thread.to_string();
        let own = store
            .operations(&OperationFilter { session: Some(&session), limit: 1000, ..OperationFilter::default() })
            .unwrap();
        assert_eq!(own.len(), 50);
        for (logged, number) in own.iter().rev().zip(0..) {
            let before = logged.operation.files[0].before.unwrap().content;
            let after = noise(300, thread * 1000 + number + 1);
            let at_hand = [KnownContent { id: ContentId::of(&after), bytes: &after }];
            assert_eq!(store.content(before, &at_hand).unwrap(), Some(noise(300, thread * 1000 + number)));
        }
    }
}

/// Removes the additions of schema versions 4 and 5 from a database.
const WITHOUT_MORE: &str = "ALTER TABLE operations DROP COLUMN pending; ALTER TABLE operations DROP COLUMN also;
    DROP TABLE attributes; DROP TABLE folders; DROP TABLE registers; DROP TABLE gaps; PRAGMA user_version=3;";

/// Schema version 3: operations logged with it count as committed.
#[test]
fn schema_3_is_migrated() {
    let temp = used();
    let store = open(temp.path());
    let id = edit(&store, "s", PATH, b"one", b"two").id;
    drop(store);
    execute(temp.path(), WITHOUT_MORE);
    let store = open(temp.path());
    assert_eq!((store.in_doubt().unwrap(), store.notices()), (Vec::new(), Vec::new()));
    assert_eq!(store.operation("1".parse().unwrap()).unwrap().map(|it| (it.id, it.owner)), Some((id, None)));
    edit(&store, "s", PATH, b"two", b"three");
    assert_eq!(store.in_doubt().unwrap().len(), 1);
}

/// Schema version 2: the words are added, and nothing is lost.
#[test]
fn schema_2_is_migrated() {
    let temp = used();
    let known = open(temp.path()).latest("s", PATH).unwrap();
    assert!(known.is_some());
    execute(temp.path(), &format!("{WITHOUT_MORE} DROP TABLE words; PRAGMA user_version=2"));
    let store = open(temp.path());
    assert!(store.keep_words(PATH, b"words", None).unwrap());
    assert_eq!((store.words(PATH).unwrap().as_deref(), store.notices()), (Some(&b"words"[..]), Vec::new()));
    assert_eq!(store.latest("s", PATH).unwrap(), known);
}

/// Schema version 1: the log is added, and nothing is lost.
#[test]
fn schema_1_is_migrated() {
    let temp = used();
    let known = open(temp.path()).latest("s", PATH).unwrap();
    let without_log = "DROP TABLE operations; DROP TABLE touched; DROP TABLE changes; PRAGMA user_version=1";
    execute(temp.path(), &format!("{WITHOUT_MORE} {without_log}"));
    let start = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                start.wait();
                let store = open(temp.path());
                edit(&store, "s", PATH, b"one", b"two");
                assert!(store.notices().is_empty());
            });
        }
    });
    let store = open(temp.path());
    assert_eq!(store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap().len(), 4);
    assert!(known.is_some() && store.latest("s", PATH).unwrap() == known);
}

/// Creates a directory with a closed database that contains something.
fn used() -> tempfile::TempDir {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    for seed in 0..40 {
        let body = noise(20_000, seed);
        store.record("s", PATH, &record(&body, &[]), &VersionBody::Bytes(&body)).unwrap();
    }
    temp
}

/// Asserts that the store works, reports one notice about its past, and that the old file still exists.
fn begins_anew(dir: &Path, why: &str) {
    let store = open(dir);
    let notices = store.notices();
    assert!(notices.len() == 1 && notices[0].contains(why), "{notices:?}");
    assert!(store.notices().is_empty());
    assert_eq!(store.latest("s", PATH).unwrap(), None);
    store.record("s", PATH, &record(b"new", &[]), &VersionBody::Bytes(b"new")).unwrap();
    drop(store);
    let store = open(dir);
    assert!(store.notices().is_empty() && store.latest("s", PATH).unwrap().is_some());
    let aside = names(dir, "sessions.db.set-aside-");
    assert!(!aside.is_empty() && notices[0].contains(&aside.iter().min().unwrap()[..]), "{aside:?} {notices:?}");
}

fn execute(dir: &Path, sql: &str) {
    Connection::open(dir.join("sessions.db")).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn unusable_file_is_set_aside() {
    type Harm<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Harm<'_>); 7] = [
        ("damaged", &|file| fs::write(file, noise(50_000, 1)).unwrap()),
        ("damaged", &|file| fs::write(file, b"short").unwrap()),
        ("damaged", &|file| fs::File::options().write(true).open(file).unwrap().set_len(20_000).unwrap()),
        ("another program", &|file| execute(file.parent().unwrap(), "PRAGMA application_id=42")),
        ("another program", &|file| execute(file.parent().unwrap(), "PRAGMA application_id=0; PRAGMA user_version=0")),
        ("newer version", &|file| execute(file.parent().unwrap(), "PRAGMA user_version=99")),
        ("not a file", &|file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
    ];
    for (why, harm) in cases {
        let temp = used();
        assert!(names(temp.path(), "sessions.db-").is_empty(), "a long log is written back at the end");
        harm(&temp.path().join("sessions.db"));
        begins_anew(temp.path(), why);
    }
}

#[test]
fn empty_file_becomes_a_database() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("sessions.db"), b"").unwrap();
    let store = open(temp.path());
    store.record("s", PATH, &record(b"new", &[]), &VersionBody::None).unwrap();
    assert!(store.notices().is_empty() && store.latest("s", PATH).unwrap().is_some());
}

#[test]
fn damage_found_concurrently_is_set_aside_once() {
    let temp = used();
    fs::write(temp.path().join("sessions.db"), noise(50_000, 1)).unwrap();
    let start = std::sync::Barrier::new(8);
    let notices: usize = std::thread::scope(|scope| {
        let work = || {
            start.wait();
            let store = open(temp.path());
            store.record("s", PATH, &record(b"new", &[]), &VersionBody::Bytes(b"new")).unwrap();
            store.notices().len()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((notices, names(temp.path(), "sessions.db.set-aside-").len()), (1, 1));
}

/// The child process of [`killed_processes_do_not_damage_the_database`]; does nothing by itself.
#[test]
fn child_of_several_processes() {
    let (Some(dir), Ok(name)) = (std::env::var_os("HISTORY_TEST_DIR"), std::env::var("HISTORY_TEST_NAME")) else {
        return;
    };
    let rounds = if name.starts_with("killed") { u64::MAX } else { 30 };
    for number in 0..rounds {
        // Each round opens and closes the store, like a whole process.
        let store = open(Path::new(&dir));
        let body = noise(9000, number);
        store.record(&name, format!("/{number}").as_bytes(), &record(&body, &[]), &VersionBody::Bytes(&body)).unwrap();
        assert!(store.notices().is_empty());
    }
}

#[test]
fn killed_processes_do_not_damage_the_database() {
    let temp = tempdir().unwrap();
    let start = |name: &str| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_of_several_processes"])
            .envs([("HISTORY_TEST_DIR", temp.path().as_os_str()), ("HISTORY_TEST_NAME", name.as_ref())])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut others: Vec<_> = (0..4).map(|number| start(&format!("whole {number}"))).collect();
    for round in 0..8 {
        let mut killed = start("killed");
        std::thread::sleep(std::time::Duration::from_millis(20 + 7 * round));
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    assert!(others.iter_mut().all(|other| other.wait().unwrap().success()));
    let store = open(temp.path());
    assert!(store.notices().is_empty());
    for (name, number) in (0..4).flat_map(|name| (0..30).map(move |number| (name, number))) {
        let latest = store.latest(&format!("whole {name}"), format!("/{number}").as_bytes()).unwrap().unwrap();
        assert_eq!(store.bytes(latest.content).unwrap(), Some(noise(9000, number)));
    }
    let connection = Connection::open(store.path()).unwrap();
    assert_eq!(connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
}

/// A connection to a file that was set aside under it must not touch the log of the new one.
#[test]
fn connection_to_a_set_aside_file_does_not_harm_the_new_one() {
    let temp = used();
    let old = open(temp.path());
    execute(temp.path(), "PRAGMA user_version=99");
    let new = open(temp.path());
    assert_eq!(new.notices().len(), 1);
    for (number, store) in [&old, &new].into_iter().enumerate() {
        for seed in 0..40 {
            let body = noise(20_000, seed + 100 * number as u64);
            store.record("s", PATH, &record(&body, &[]), &VersionBody::Bytes(&body)).unwrap();
        }
    }
    drop(old);
    assert_eq!(names(temp.path(), "sessions.db-wal").len(), 1);
    let latest = open(temp.path()).latest("s", PATH).unwrap();
    assert!(latest.is_some() && latest == new.latest("s", PATH).unwrap());
}

/// The header is intact, the pages after it are not.
#[test]
fn damage_found_during_a_call_fails_that_call_only() {
    let temp = used();
    let file = temp.path().join("sessions.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[4096..].fill(0xee);
    fs::write(&file, bytes).unwrap();
    let store = open(temp.path());
    assert!(store.notices().is_empty());
    let error = store.latest("s", PATH).unwrap_err();
    assert_eq!(error.code(), Code::IoFailed);
    assert!(error.message().contains("sessions.db") && error.next_step().contains("set aside"), "{error:?}");
    assert_eq!(store.latest("s", PATH).unwrap(), None);
    assert_eq!(store.notices().len(), 1);
    store.record("s", PATH, &record(b"new", &[]), &VersionBody::Bytes(b"new")).unwrap();
    drop(store);
    assert!(open(temp.path()).latest("s", PATH).unwrap().is_some());
    assert_eq!(names(temp.path(), "sessions.db.damaged").len(), 0);
}

#[test]
fn foreign_tables_count_as_damage() {
    let temp = used();
    execute(temp.path(), "DROP TABLE seen; CREATE TABLE seen(other)");
    let store = open(temp.path());
    assert_eq!(store.latest("s", PATH).unwrap_err().code(), Code::IoFailed);
    assert_eq!(store.latest("s", PATH).unwrap(), None);
    execute(temp.path(), "INSERT INTO seen VALUES('s', CAST('/some/file' AS BLOB), x'00', 0, 0, 7, 0, x'', x'', 0, 0)");
    assert_eq!(store.latest("s", PATH).unwrap_err().code(), Code::IoFailed);
    assert_eq!(store.latest("s", PATH).unwrap(), None);
}

#[test]
fn damaged_bytes_are_not_returned() {
    let temp = used();
    let body = noise(20_000, 39);
    execute(temp.path(), "UPDATE bodies SET data=x'0102'");
    assert_eq!(open(temp.path()).bytes(ContentId::of(&body)).unwrap(), None);
    execute(temp.path(), "UPDATE versions SET size=9000000000000000000, zstd=1");
    assert_eq!(open(temp.path()).bytes(ContentId::of(&body)).unwrap(), None);
    execute(temp.path(), "UPDATE versions SET size=100, base=content");
    assert_eq!(open(temp.path()).bytes(ContentId::of(&body)).unwrap(), None);
}

#[test]
fn impossible_directory_is_an_error() {
    let temp = tempdir().unwrap();
    let file = temp.path().join("file");
    fs::write(&file, b"").unwrap();
    for dir in [file.clone(), file.join("below"), Path::new("/proc/nowhere").to_owned()] {
        let error = Database::open(&dir, HistoryLimits::default()).err().unwrap();
        assert!(matches!(error.code(), Code::IoFailed | Code::IoPermission | Code::IoReadOnly), "{error:?}");
    }
}

#[test]
fn concurrent_transaction_is_waited_for() {
    let temp = used();
    let store = open(temp.path());
    let other = Connection::open(store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Readers continue; only writers wait.
    assert!(store.latest("s", PATH).unwrap().is_some());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| store.record("s", PATH, &record(b"new", &[]), &VersionBody::None));
        std::thread::sleep(std::time::Duration::from_millis(50));
        other.execute_batch("COMMIT").unwrap();
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn contested_id_names_no_content_and_lines_are_not_merged() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    let one = record(b"one", &[(1, 1)]);
    store.record("s", PATH, &one, &VersionBody::Bytes(b"one")).unwrap();
    execute(temp.path(), "UPDATE versions SET hash=zeroblob(32)");
    let again = record(b"one", &[(2, 2)]);
    store.record("s", PATH, &again, &VersionBody::Bytes(b"one")).unwrap();
    assert_eq!(store.latest("s", PATH).unwrap(), Some(again));
    assert_eq!(store.bytes(one.content).unwrap(), None);
}

#[test]
fn file_stays_bounded_and_old_records_are_dropped() {
    let temp = tempdir().unwrap();
    let total = 1 << 20;
    let limits = HistoryLimits { total, ..HistoryLimits::default() };
    let store = Database::open(temp.path(), limits).unwrap();
    store.record("old", PATH, &record(b"old", &[]), &VersionBody::Bytes(b"old")).unwrap();
    execute(temp.path(), "UPDATE seen SET at=1; UPDATE upkeep SET at=0");
    for seed in 0..1000 {
        let body = noise(10_000, seed);
        store
            .record("s", format!("/{}", seed % 9).as_bytes(), &record(&body, &[]), &VersionBody::Bytes(&body))
            .unwrap();
    }
    assert_eq!(store.latest("old", PATH).unwrap(), None);
    for number in 0..1200 {
        store.record("rows", number.to_string().as_bytes(), &record(b"", &[]), &VersionBody::None).unwrap();
    }
    execute(temp.path(), "UPDATE upkeep SET at=0");
    for seed in 1000..1065 {
        let body = noise(10_000, seed);
        store.record("s", b"/last", &record(&body, &[]), &VersionBody::Bytes(&body)).unwrap();
    }
    assert_eq!(store.latest("rows", b"0").unwrap(), None);
    assert!(store.latest("rows", b"1199").unwrap().is_some());
    assert_eq!(store.bytes(ContentId::of(b"old")).unwrap(), None);
    let newest = noise(10_000, 1064);
    assert_eq!(store.bytes(ContentId::of(&newest)).unwrap(), Some(newest));
    drop(store);
    let connection = Connection::open(temp.path().join("sessions.db")).unwrap();
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let stored = number("SELECT sum(stored) FROM versions");
    assert_eq!(stored, number("SELECT sum(length(data)) FROM bodies"));
    assert!(stored <= (total + total / 8 + 10_000).cast_signed(), "{stored}");
    assert!(number("SELECT count(*) FROM versions") <= 9 * 32 + 64);
    assert_eq!(connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
    let size = fs::metadata(temp.path().join("sessions.db")).unwrap().len();
    assert!(size < 2 * total, "{size}");
}
