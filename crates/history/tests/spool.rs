//! Operations that are in the append log but not yet in the database: every process sees them, once, however another
//! one ends.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test may stop at the first fault, and these break files and race threads on purpose"
)]

mod suite;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use emendate_core::ContentId;
use emendate_history::{
    ByteReplacement, ChangeContent, Database, HistoryGap, HistoryLimits, KnownContent, LogEntry, LogReceipt,
    OperationFilter, OperationLog, Role, SessionUpdate, Sessions,
};
use suite::log::{file_state, operation, touched};
use suite::{PATH, noise, record};
use tempfile::tempdir;

fn open(dir: &Path) -> Database {
    Database::open(dir, HistoryLimits::default()).unwrap()
}

fn append_log_path(dir: &Path) -> PathBuf {
    dir.join("sessions.spool")
}

/// True while the append log has entries that are not in the database.
fn waits(dir: &Path) -> bool {
    let head = fs::read(append_log_path(dir)).unwrap();
    head[16..24] != 40_u64.to_le_bytes()
}

/// Logs that the session replaced a whole file, which it knows then.
fn replace(store: &Database, session: &str, before: &[u8], after: &[u8]) -> LogReceipt {
    let operation = operation(session, vec![touched(PATH, file_state(before, 0o644), file_state(after, 0o644))]);
    let swaps = [ByteReplacement { at: 0, old: before, new: after }];
    let change = ChangeContent { base: Some(ContentId::of(before)), replacements: &swaps, ..ChangeContent::default() };
    let record = record(after, &[(2, 3)]);
    store.log(&operation, &[change], &[SessionUpdate { path: PATH, record: &record }]).unwrap()
}

fn all(store: &Database) -> Vec<LogEntry> {
    let mut all = store.operations(&OperationFilter { limit: 10_000, ..OperationFilter::default() }).unwrap();
    all.reverse();
    all
}

/// Logs operations on one file, each on the result of the one before; all but the first go to the append log.
fn some(store: &Database, count: u64) -> Vec<LogReceipt> {
    (0..count).map(|number| replace(store, "s", &noise(300, number), &noise(300, number + 1))).collect()
}

#[test]
fn other_processes_see_entries_of_the_spool() {
    let temp = tempdir().unwrap();
    let (one, other) = (open(temp.path()), open(temp.path()));
    let entered = some(&one, 5);
    assert!(waits(temp.path()));
    let found = other.in_doubt().unwrap();
    assert!(!waits(temp.path()));
    let ids: Vec<_> = found.iter().rev().map(|logged| logged.id).collect();
    assert_eq!(ids, entered.iter().map(|entered| entered.id).collect::<Vec<_>>());
    assert!(found.iter().all(|logged| logged.owner == Some(std::process::id()) && logged.is_in_flight()));
    assert_eq!(found[0].operation.files[0].after, file_state(&noise(300, 5), 0o644));
    // The delta chain back leads through all of them.
    let last = noise(300, 5);
    let first =
        one.content(ContentId::of(&noise(300, 0)), &[KnownContent { id: ContentId::of(&last), bytes: &last }]).unwrap();
    assert_eq!(first, Some(noise(300, 0)));
    let known = other.latest("s", PATH).unwrap().unwrap();
    assert_eq!(known, record(&last, &[(2, 3)]));
    one.mark_committed(&ids).unwrap();
    assert!(other.in_doubt().unwrap().is_empty());
}

#[test]
fn operation_numbers_increase_across_stores() {
    let temp = tempdir().unwrap();
    let (one, other) = (open(temp.path()), open(temp.path()));
    let mut ids = Vec::new();
    for number in 0..20_u64 {
        let store = if number % 3 == 0 { &other } else { &one };
        let (before, after) = (noise(300, number), noise(if number % 5 == 0 { 40_000 } else { 300 }, number + 1));
        ids.push(replace(store, "s", &before, &after).id);
        if number % 7 == 0 {
            assert_eq!(store.operation(ids[0].to_string().parse().unwrap()).unwrap().unwrap().id, ids[0]);
        }
    }
    assert_eq!(ids.iter().map(|id| id.number).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
    assert_eq!(all(&open(temp.path())).iter().map(|logged| logged.id).collect::<Vec<_>>(), ids);
}

/// A process's cache of a session is never older than the changes of another process.
#[test]
fn cache_agrees_with_the_database() {
    let temp = tempdir().unwrap();
    let (one, other) = (open(temp.path()), open(temp.path()));
    let content = |store: &Database| store.latest("s", PATH).unwrap().map(|record| record.content);
    let at = |number: u64| Some(ContentId::of(&noise(300, number)));
    let ids: Vec<_> = some(&one, 3).iter().map(|entered| entered.id).collect();
    one.mark_committed(&ids).unwrap();
    assert_eq!(content(&one), at(3));
    replace(&other, "s", &noise(300, 3), &noise(300, 4));
    replace(&other, "s", &noise(300, 4), &noise(300, 5));
    assert!(waits(temp.path()));
    assert_eq!(content(&one), at(5));
    assert!(!waits(temp.path()));
    replace(&other, "s", &noise(300, 5), &noise(300, 6));
    assert!(waits(temp.path()));
    assert_eq!(content(&one), at(6));
    other.record("s", PATH, &record(&noise(300, 3), &[(9, 9)]), &emendate_history::VersionBody::None).unwrap();
    // Recorded twice with one content: both count.
    assert_eq!(one.latest("s", PATH).unwrap(), other.latest("s", PATH).unwrap());
    assert_eq!(one.latest("s", PATH).unwrap().unwrap().lines.ranges(), [(2, 3), (9, 9)]);
    other.forget("s", PATH).unwrap();
    assert_eq!(content(&one), None);
    let entered = replace(&one, "s", &noise(300, 5), &noise(300, 6));
    assert!(waits(temp.path()));
    assert_eq!(content(&other), at(6));
    other.abort(entered.id, false).unwrap();
    assert_eq!((content(&one), content(&other)), (None, None));
    // Known lines of a content are merged again, in the append log too.
    one.record("s", PATH, &record(&noise(300, 8), &[(20, 30)]), &emendate_history::VersionBody::None).unwrap();
    replace(&one, "s", &noise(300, 7), &noise(300, 8));
    assert_eq!(one.latest("s", PATH).unwrap().unwrap().lines.ranges(), [(2, 3), (20, 30)]);
}

/// The process died when everything was in the database but the append log was not cleared yet.
#[test]
fn entries_applied_twice_are_stored_once() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    let entered = some(&store, 6);
    let before = fs::read(append_log_path(temp.path())).unwrap();
    store.abort(entered[5].id, false).unwrap();
    store.mark_committed(&[entered[1].id]).unwrap();
    let told = all(&store);
    let known = store.versions("s", PATH).unwrap();
    drop(store);
    fs::write(append_log_path(temp.path()), before).unwrap();
    let store = open(temp.path());
    assert!(waits(temp.path()));
    assert_eq!(all(&store), told);
    assert_eq!((store.versions("s", PATH).unwrap(), told.len()), (known, 5));
    assert!(!waits(temp.path()) && store.notices().is_empty());
    assert_eq!(replace(&store, "s", b"x", b"y").id.number, 7);
}

#[test]
fn truncated_entry_loses_only_itself() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    let entered = some(&store, 4);
    let whole = fs::read(append_log_path(temp.path())).unwrap();
    fs::write(append_log_path(temp.path()), &whole[..whole.len() - 1]).unwrap();
    drop(store);
    let store = open(temp.path());
    let told = all(&store);
    assert_eq!(store.notices().len(), 1);
    // The first is in the database already; entries of an append log that ends too early are unknown.
    assert!(told.iter().zip(&entered).all(|(logged, entered)| logged.id == entered.id) && !told.is_empty());
    // A damaged head as well.
    fs::write(append_log_path(temp.path()), b"EmndSpl1 and nothing more of it, so that nobody knows where it ends")
        .unwrap();
    assert_eq!((all(&store), store.latest("s", PATH).unwrap().is_some()), (told, true));
    assert_eq!(store.notices().len(), 1);
    let next = replace(&store, "s", b"x", b"y").id;
    assert_eq!((next.number > 1, all(&store).last().unwrap().id), (true, next));
}

/// The entries of a lost append log are missing. Every check for gaps reports them until no older operation is left.
#[test]
fn lost_spool_leaves_a_gap() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    some(&store, 4);
    drop(store);
    assert!(waits(temp.path()));
    fs::remove_file(append_log_path(temp.path())).unwrap();
    for _ in 0..2 {
        let store = open(temp.path());
        assert_eq!(store.gaps().unwrap(), [HistoryGap { after: 1, until: None }]);
        drop(store);
    }
    let store = open(temp.path());
    assert_eq!((store.gaps().unwrap().len(), some(&store, 3).len(), store.notices().len()), (1, 3, 0));
    drop(store);
    // Unreadable entries, and those after them.
    let mut harmed = fs::read(append_log_path(temp.path())).unwrap();
    harmed[60] ^= 1;
    fs::write(append_log_path(temp.path()), harmed).unwrap();
    let store = open(temp.path());
    assert_eq!(store.gaps().unwrap()[0], HistoryGap { after: 2, until: Some(4) });
    assert_eq!(store.notices().len(), 1);
    assert_eq!(replace(&store, "s", b"x", b"y").id.number, 5);
    assert_eq!(store.gaps().unwrap().len(), 2);
}

/// An operation that could not be logged is a gap: at the end, between entries that wait, and in a new store.
#[test]
fn skipped_number_leaves_a_gap() {
    let gap = |after| HistoryGap { after, until: Some(after + 1) };
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    // Upkeep, which may run at any time, drops a gap without an older operation.
    some(&store, 1);
    store.skip_number().unwrap();
    assert_eq!(store.gaps().unwrap(), [gap(1)]);
    some(&store, 2);
    store.skip_number().unwrap();
    assert_eq!(some(&store, 2)[0].id.number, 6);
    assert!(waits(temp.path()));
    assert_eq!(store.gaps().unwrap(), [gap(4), gap(1)]);
    store.skip_number().unwrap();
    drop(store);
    let store = open(temp.path());
    assert_eq!(store.gaps().unwrap(), [gap(7), gap(4), gap(1)]);
    assert_eq!(some(&store, 1)[0].id.number, 9);
    assert_eq!(store.gaps().unwrap(), [gap(7), gap(4), gap(1)]);
}

#[test]
fn new_or_cleaned_store_has_no_gap() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    assert_eq!(store.gaps().unwrap(), []);
    some(&store, 4);
    assert_eq!(store.gaps().unwrap(), []);
    store.collect_garbage(emendate_history::Retention { bytes: Some(0), days: Some(0) }).unwrap();
    assert_eq!((store.gaps().unwrap(), store.notices()), (Vec::new(), Vec::new()));
    assert_eq!(some(&open(temp.path()), 1)[0].id.number, 5);
}

#[test]
fn set_aside_database_takes_no_spool_entries_along() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    let entered = some(&store, 4);
    fs::write(temp.path().join("sessions.db.damaged"), b"").unwrap();
    let other = open(temp.path());
    assert_eq!(other.notices().len(), 1);
    // A process whose database was taken away still logs where others find it.
    let late = replace(&store, "s", &noise(300, 4), &noise(300, 5)).id;
    let ids: Vec<_> = entered[1..].iter().map(|entered| entered.id).chain([late]).collect();
    assert_eq!(all(&store).iter().map(|logged| logged.id).collect::<Vec<_>>(), ids);
    assert_eq!(all(&other).iter().map(|logged| logged.id).collect::<Vec<_>>(), ids);
    // A number is not reused, although the new database does not contain it.
    fs::write(temp.path().join("sessions.db.damaged"), b"").unwrap();
    assert_eq!(replace(&open(temp.path()), "s", b"x", b"y").id.number, 6);
}

/// A program that does not know the append log took the number meanwhile: nothing is lost.
#[test]
fn taken_number_is_replaced() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    some(&store, 3);
    let connection = rusqlite::Connection::open(temp.path().join("sessions.db")).unwrap();
    let sql = "INSERT INTO operations(at, session, tool, format, digest, note, outcome, kept, role)
               SELECT at+1, 'other', tool, format, digest, note, outcome, kept, role FROM operations WHERE number=1";
    connection.execute(sql, []).unwrap();
    let sessions: Vec<_> = all(&store).into_iter().map(|logged| logged.operation.session).collect();
    assert_eq!(sessions.iter().filter(|session| *session == "s").count(), 3);
    assert_eq!(sessions.len(), 4);
}

#[test]
fn undo_and_secrets_bypass_the_spool() {
    let temp = tempdir().unwrap();
    let store = open(temp.path());
    let first = some(&store, 2)[1].id;
    let plain = operation("s", vec![touched(PATH, file_state(b"a", 0o644), file_state(b"hush", 0o644))]);
    let swaps = [ByteReplacement { at: 0, old: b"a", new: b"hush" }];
    let change = ChangeContent { base: Some(ContentId::of(b"a")), replacements: &swaps, ..ChangeContent::default() };
    let mut secret = plain.clone();
    secret.keeps_content = false;
    let mut undo = plain.clone();
    undo.role = Role::Undo(first);
    let mut folders = plain.clone();
    folders.created_dirs = vec![b"/made".to_vec()];
    for operation in [&secret, &undo, &folders] {
        store.log(operation, &[change], &[]).unwrap();
        assert!(!waits(temp.path()));
        let bytes = fs::read(append_log_path(temp.path())).unwrap();
        assert!(!bytes.windows(4).any(|bytes| bytes == b"hush"));
    }
    store.log(&plain, &[ChangeContent { old_bytes: Some(b"a"), ..change }], &[]).unwrap();
    assert!(!waits(temp.path()));
    store.log(&plain, &[change], &[]).unwrap();
    assert!(waits(temp.path()));
    // A clean-up leaves no text behind either.
    store.collect_garbage(emendate_history::Retention { bytes: Some(0), days: None }).unwrap();
    assert_eq!(fs::metadata(append_log_path(temp.path())).unwrap().len(), 40);
}

/// The child process of the next test: logs until it is killed, and prints what it has logged.
#[test]
fn child_that_logs_until_it_is_killed() {
    let Some(dir) = std::env::var_os("HISTORY_TEST_SPOOL") else { return };
    let store = open(Path::new(&dir));
    let session = std::process::id().to_string();
    for number in 0.. {
        let id = replace(&store, &session, &noise(300, number), &noise(300, number + 1)).id;
        println!("\nlogged {id}");
        if number % 11 == 0 {
            store.mark_committed(&[id]).unwrap();
        }
    }
}

#[test]
fn logged_operations_survive_kills() {
    let temp = tempdir().unwrap();
    let mut said = Vec::new();
    for round in 0..4 {
        let mut killed: Vec<_> = (0..3)
            .map(|_| {
                std::process::Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "--nocapture", "child_that_logs_until_it_is_killed"])
                    .env("HISTORY_TEST_SPOOL", temp.path())
                    .stdout(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in &mut killed {
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut own = || lines.by_ref().find_map(|line| line.unwrap().strip_prefix("logged ").map(str::to_owned));
            // Somewhere in the middle, at varying places.
            for _ in 0..30 + 7 * round {
                said.push(own().unwrap());
            }
            child.kill().unwrap();
            child.wait().unwrap();
            said.extend(std::iter::from_fn(own));
        }
    }
    let store = open(temp.path());
    let all = all(&store);
    let names: std::collections::HashSet<String> = all.iter().map(|logged| logged.id.to_string()).collect();
    let lost: Vec<_> = said.iter().filter(|name| !names.contains(*name)).collect();
    assert!(lost.is_empty(), "{lost:?} of {}", said.len());
    assert!(all.iter().zip(1..).all(|(logged, number)| logged.id.number == number));
    assert_eq!(store.notices(), Vec::<String>::new());
}
