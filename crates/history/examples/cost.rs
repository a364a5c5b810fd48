//! Prints the cost of the database: opening, records of several sizes, an edit, reading back.
//! `cargo run --release -p emendate-history --example cost [directory]`
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement reads the clock, prints what it found and may stop at the first fault"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use emendate_core::ContentId;
use emendate_fs::FileMeta;
use emendate_history::{
    ByteReplacement, ChangeContent, Database, FileChange, FileKind, FileState, HistoryLimits, LineSet, Operation,
    OperationLog, OperationOutcome, Record, RecordOrigin, Role, SessionUpdate, Sessions, VersionBody,
};

const PATH: &[u8] = b"/home/user/project/src/some/module/file.rs";

fn record(content: ContentId) -> Record {
    let (mtime_ns, ctime_ns) = (1_790_000_000_123_456_789, 1_790_000_000_123_456_789);
    let stamp = FileMeta {
        dev: 64769,
        ino: 1_234_567,
        size: 1,
        mtime_ns,
        ctime_ns,
        mode: 0o100_644,
        links: 1,
        uid: 1000,
        gid: 1000,
    };
    Record {
        content,
        meta: stamp,
        racy: false,
        lines: LineSet::all(),
        origin: RecordOrigin::Read,
        offset: None,
        limit: None,
    }
}

/// Returns text that compresses about as well as source code.
fn text(size: usize, seed: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size + 80);
    let mut number = seed.wrapping_mul(0x9e37_79b9).wrapping_add(1);
    while out.len() < size {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (a, b) = (number >> 33, number >> 48);
        out.extend_from_slice(format!("    let value_{a:x} = compute(input[{b}], &options)?;\n").as_bytes());
    }
    out.truncate(size);
    out
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let micros = |at: usize| times[at.min(times.len() - 1)].as_secs_f64() * 1e6;
    let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e6 / f64::from(u32::try_from(times.len()).unwrap());
    let (median, p90) = (micros(times.len() / 2), micros(times.len() * 9 / 10));
    println!("{name:<34} median {median:>8.1} µs   p90 {p90:>8.1} µs   mean {mean:>8.1} µs");
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

fn one_shot(dir: &Path) {
    let mut parts: [Vec<Duration>; 5] = Default::default();
    for seed in 0..400 {
        let body = text(20_000, seed);
        let content = ContentId::of(&body);
        let (opened, store) = timed(|| Database::open(dir, HistoryLimits::default()).unwrap());
        let (looked, _) = timed(|| black_box(store.latest("session", PATH).unwrap()));
        let (recorded, ()) =
            timed(|| store.record("session", PATH, &record(content), &VersionBody::Bytes(&body)).unwrap());
        let (closed, ()) = timed(|| drop(store));
        for (part, time) in
            parts.iter_mut().zip([opened, looked, recorded, closed, opened + looked + recorded + closed])
        {
            part.push(time);
        }
    }
    for (name, times) in ["open", "latest", "record 20 KB", "close", "all four"].into_iter().zip(parts) {
        report(&format!("fresh connection: {name}"), times);
    }
}

fn warm(dir: &Path) {
    let store = Database::open(dir, HistoryLimits::default()).unwrap();
    for (size, rounds) in [(10_000, 400), (100_000, 200), (1_000_000, 50)] {
        let mut times: [Vec<Duration>; 5] = Default::default();
        let mut base = ContentId::of(b"");
        for seed in 0..rounds {
            let body = text(size, seed + size);
            let content = ContentId::of(&body);
            let whole = record(content);
            times[0].push(timed(|| store.record("warm", PATH, &whole, &VersionBody::Bytes(&body)).unwrap()).0);
            times[1].push(timed(|| store.record("warm", PATH, &whole, &VersionBody::Bytes(&body)).unwrap()).0);
            let mut after = body.clone();
            let new = format!("{seed:_>200}");
            after.splice(300..400, new.bytes());
            base = if seed == 0 { content } else { base };
            let change = record(ContentId::of(&after));
            let splices = [(300..400, new.as_bytes())];
            let body = VersionBody::Change { base: content, splices: &splices, full: Some(&|| after.clone()) };
            times[2].push(timed(|| store.record("warm", PATH, &change, &body).unwrap()).0);
            let (time, bytes) = timed(|| store.bytes(change.content).unwrap());
            assert_eq!(bytes.as_ref(), Some(&after));
            times[3].push(time);
            times[4].push(timed(|| black_box(store.latest("warm", PATH).unwrap())).0);
        }
        let names =
            ["record, new bytes", "record, known bytes", "record, change of 200 B", "bytes of the change", "latest"];
        for (name, times) in names.into_iter().zip(times) {
            report(&format!("{} KB: {name}", size / 1000), times);
        }
    }
}

/// The cost of an edit: logging with the session's record in one step, compared with writing and renaming a small file.
fn log(dir: &Path) {
    let store = Database::open(dir, HistoryLimits::default()).unwrap();
    let mut plain = Vec::new();
    for seed in 0..400 {
        let body = text(8_000, seed);
        let (time, ()) = timed(|| {
            std::fs::write(dir.join("temp"), &body).unwrap();
            std::fs::rename(dir.join("temp"), dir.join("file")).unwrap();
        });
        plain.push(time);
    }
    report("write and rename 8 KB", plain);
    for size in [8_000, 100_000, 1_000_000, 8_000_000] {
        for known in [false, true] {
            let rounds = if size > 1_000_000 { 40 } else { 300 };
            let mut times: [Vec<Duration>; 2] = Default::default();
            let mut before = text(size, size);
            if known {
                store.record("log", PATH, &record(ContentId::of(&before)), &VersionBody::Bytes(&before)).unwrap();
            }
            for round in 0..rounds {
                let mut after = before.clone();
                let at = 300 + round % 500;
                let new = format!("{round:_>100}");
                after.splice(at..at + 100, new.bytes());
                let (path, moved_from) = (PATH.to_vec(), None);
                let file = FileChange {
                    path,
                    moved_from,
                    before: Some(file_state(&before)),
                    after: Some(file_state(&after)),
                    attributes: None,
                    added: 1,
                    removed: 1,
                };
                let swaps = [ByteReplacement { at, old: &before[at..at + 100], new: new.as_bytes() }];
                let change = ChangeContent {
                    base: Some(ContentId::of(&before)),
                    replacements: &swaps,
                    ..ChangeContent::default()
                };
                let operation = Operation {
                    session: "log".to_owned(),
                    tool: "edit".to_owned(),
                    format: "replace".to_owned(),
                    digest: [1; 16],
                    note: String::new(),
                    role: Role::Edit,
                    outcome: OperationOutcome::Done,
                    keeps_content: true,
                    files: vec![file],
                    also_undoes: Vec::new(),
                    created_dirs: Vec::new(),
                };
                let of_after = record(ContentId::of(&after));
                // Without the log, only this would be written.
                let other = record(ContentId::of(format!("{size} {known} {round}").as_bytes()));
                times[0].push(timed(|| store.record("log", b"/other", &other, &VersionBody::None).unwrap()).0);
                let known = [SessionUpdate { path: PATH, record: &of_after }];
                times[1].push(timed(|| store.log(&operation, &[change], &known).unwrap()).0);
                before = after;
            }
            let kind = if known { "read before" } else { "never read" };
            for (name, times) in ["record alone", "log and record"].into_iter().zip(times) {
                report(&format!("{} KB, {kind}: {name}", size / 1000), times);
            }
        }
    }
}

/// Returns the state of a file with these bytes.
fn file_state(bytes: &[u8]) -> FileState {
    FileState { content: ContentId::of(bytes), mode: 0o644, kind: FileKind::Regular }
}

fn main() {
    let given = std::env::args_os().nth(1);
    let dir = tempfile::tempdir_in(given.unwrap_or_else(|| std::env::temp_dir().into())).unwrap();
    one_shot(&dir.path().join("one"));
    warm(&dir.path().join("warm"));
    log(&dir.path().join("log"));
}
