//! Guarantees of both back ends, tested by the same code.
#![allow(dead_code, reason = "each test binary uses its part")]

use emendate_core::ContentId;
use emendate_fs::FileMeta;
use emendate_history::{History, HistoryLimits, LineSet, Record, RecordOrigin, Sessions, VersionBody};

pub(crate) mod log;
mod reviews;

/// Opens an empty store with the given limits.
pub(crate) type Open<'a> = &'a dyn Fn(HistoryLimits) -> Box<dyn History>;

pub(crate) fn stamp(number: u64) -> FileMeta {
    FileMeta {
        dev: u64::MAX,
        ino: number,
        size: 1 << 40,
        mtime_ns: -5,
        ctime_ns: i64::MAX,
        mode: 0o100_644,
        links: 1,
        uid: u32::MAX,
        gid: 0,
    }
}

pub(crate) fn record(bytes: &[u8], lines: &[(u64, u64)]) -> Record {
    let mut shown = LineSet::none();
    for &(from, to) in lines {
        shown.add(from, to);
    }
    let content = ContentId::of(bytes);
    Record { content, meta: stamp(1), racy: false, lines: shown, origin: RecordOrigin::Read, offset: None, limit: None }
}

/// Returns text that does not compress.
pub(crate) fn noise(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..size).map(|_| next()).collect()
}

pub(crate) fn all(open: Open<'_>) {
    without_limits(open);
    totals(open);
    chains_survive_their_base(open);
    log::limits(open);
}

/// Everything but the limits of the whole store, which a store that is opened for each call reaches only gradually.
pub(crate) fn without_limits(open: Open<'_>) {
    latest_and_lines(open);
    latest_of_many(open);
    words(open);
    registers(open);
    tags(open);
    bodies(open);
    changes(open);
    chains(open);
    forgetting(open);
    versions(open);
    log::all(open);
    reviews::all(open);
}

pub(crate) const PATH: &[u8] = b"/tmp/\xff\xfe not utf-8";

fn latest_and_lines(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    assert_eq!(store.latest("s", PATH).unwrap(), None);
    let mut first = record(b"one", &[(1, 3)]);
    (first.offset, first.limit) = (Some(u64::MAX), Some(0));
    store.record("s", PATH, &first, &VersionBody::Bytes(b"one")).unwrap();
    assert_eq!(store.latest("s", PATH).unwrap(), Some(first.clone()));
    assert_eq!(store.latest("other", PATH).unwrap(), None);
    assert_eq!(store.latest("s", b"/other").unwrap(), None);

    let second = Record { origin: RecordOrigin::Write, racy: true, ..record(b"two", &[]) };
    store.record("s", PATH, &second, &VersionBody::None).unwrap();
    assert_eq!(store.latest("s", PATH).unwrap(), Some(second));

    // The same content again: lines merge, the rest comes from the newer record, which is the latest again.
    let again = Record { meta: stamp(2), origin: RecordOrigin::Shown, ..record(b"one", &[(4, 5), (9, 9)]) };
    store.record("s", PATH, &again, &VersionBody::None).unwrap();
    let latest = store.latest("s", PATH).unwrap().unwrap();
    assert_eq!(latest.lines.ranges(), [(1, 5), (9, 9)]);
    assert_eq!(Record { lines: again.lines.clone(), ..latest }, again);
    let whole = Record { lines: LineSet::all(), ..again };
    store.record("s", PATH, &whole, &VersionBody::None).unwrap();
    let all: Vec<_> = store.versions("s", PATH).unwrap().into_iter().map(|record| record.content).collect();
    assert_eq!(all, [whole.content, record(b"two", &[]).content]);
    assert_eq!(store.versions("other", PATH).unwrap(), []);
    assert_eq!(store.latest("s", PATH).unwrap(), Some(whole));
    assert_eq!(store.bytes(first.content).unwrap().as_deref(), Some(&b"one"[..]));
    assert!(store.notices().is_empty());
}

fn latest_of_many(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let paths: Vec<Vec<u8>> = (0..40).map(|nth| format!("/many/{nth}").into_bytes()).collect();
    for (nth, path) in paths.iter().enumerate().filter(|(nth, _)| nth % 3 == 0) {
        for text in [b"first".to_vec(), format!("text {nth}").into_bytes()] {
            store.record("s", path, &record(&text, &[(1, 2)]), &VersionBody::None).unwrap();
        }
    }
    store.record("other", &paths[1], &record(b"theirs", &[]), &VersionBody::None).unwrap();
    let wanted: Vec<&[u8]> = paths.iter().rev().map(|path| &**path).collect();
    let alone = |session: &str| wanted.iter().map(|path| store.latest(session, path).unwrap()).collect::<Vec<_>>();
    for (session, known) in [("s", 14), ("other", 1), ("nobody", 0)] {
        let found = store.latest_of(session, &wanted).unwrap();
        assert_eq!((found.iter().flatten().count(), &found), (known, &alone(session)));
    }
}

fn words(open: Open<'_>) {
    let store = open(HistoryLimits { blob: 1000, ..HistoryLimits::default() });
    assert_eq!(store.words(b"/a").unwrap(), None);
    let mut before: Option<Vec<u8>> = None;
    for words in [noise(700, 1), vec![7; 900], noise(20, 2)] {
        assert!(store.keep_words(b"/a", &words, before.as_deref()).unwrap());
        assert_eq!(store.words(b"/a").unwrap().as_ref(), Some(&words));
        assert_eq!(store.words(b"/b").unwrap(), None);
        // A caller that knows no words, or others, has missed a change.
        for stale in [None, before.as_deref(), Some(&b"other"[..])] {
            assert!(!store.keep_words(b"/a", b"new", stale).unwrap());
        }
        assert_eq!(store.words(b"/a").unwrap().as_ref(), Some(&words));
        before = Some(words);
    }
    assert!(!store.keep_words(b"/b", b"new", before.as_deref()).unwrap());
    assert!(store.keep_words(b"/a", &noise(1001, 3), before.as_deref()).unwrap());
    assert_eq!(store.words(b"/a").unwrap(), None);
}

fn registers(open: Open<'_>) {
    let store = open(HistoryLimits { blob: 1000, ..HistoryLimits::default() });
    assert_eq!(store.registers("s").unwrap(), None);
    store.keep_registers("s", b"one").unwrap();
    store.keep_registers("s", &[7; 1000]).unwrap();
    store.keep_registers("t", b"two").unwrap();
    assert_eq!(store.registers("s").unwrap(), Some(vec![7; 1000]));
    store.keep_registers("s", &[7; 1001]).unwrap();
    store.keep_registers("t", b"").unwrap();
    assert_eq!((store.registers("s").unwrap(), store.registers("t").unwrap()), (None, None));
}

fn tags(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let one = record(b"one", &[(1, 1)]);
    let tag = one.content.tag();
    assert_eq!(store.by_tag(PATH, tag).unwrap(), None);
    store.record("a", PATH, &one, &VersionBody::None).unwrap();
    store.record("a", PATH, &record(b"two", &[]), &VersionBody::None).unwrap();
    assert_eq!(store.by_tag(PATH, tag).unwrap(), Some(one));
    assert_eq!(store.by_tag(b"/elsewhere", tag).unwrap(), None);
    let newer = record(b"one", &[(7, 7)]);
    store.record("b", PATH, &newer, &VersionBody::None).unwrap();
    assert_eq!(store.by_tag(PATH, tag).unwrap(), Some(newer));
}

fn bodies(open: Open<'_>) {
    let store = open(HistoryLimits { blob: 100_000, ..HistoryLimits::default() });
    let compressible = b"a line like any other\n".repeat(2000);
    for bytes in [Vec::new(), b"x".to_vec(), compressible, noise(5000, 1), noise(100_000, 2)] {
        let record = record(&bytes, &[]);
        assert_eq!(store.bytes(record.content).unwrap(), None);
        store.record("s", PATH, &record, &VersionBody::Bytes(&bytes)).unwrap();
        assert_eq!(store.bytes(record.content).unwrap(), Some(bytes));
    }
    // Too large: the record is there, the bytes are not.
    let large = noise(100_001, 3);
    let of_large = record(&large, &[(1, 2)]);
    for _ in 0..2 {
        store.record("s", PATH, &of_large, &VersionBody::Bytes(&large)).unwrap();
        assert_eq!(store.latest("s", PATH).unwrap().as_ref(), Some(&of_large));
        assert_eq!(store.bytes(of_large.content).unwrap(), None);
    }
    // Bytes that do not match the id are not stored.
    let wrong = record(b"right", &[]);
    store.record("s", PATH, &wrong, &VersionBody::Bytes(b"wrong")).unwrap();
    assert_eq!(store.bytes(wrong.content).unwrap(), None);
    store.record("s", PATH, &wrong, &VersionBody::Bytes(b"right")).unwrap();
    assert_eq!(store.bytes(wrong.content).unwrap().as_deref(), Some(&b"right"[..]));
}

/// Records `after` as a change of `before`; returns whether the whole bytes were requested.
fn change(store: &dyn Sessions, before: &[u8], splices: &[(std::ops::Range<usize>, &[u8])]) -> (Vec<u8>, bool) {
    let mut after = before.to_vec();
    for (range, text) in splices.iter().rev() {
        after.splice(range.clone(), text.iter().copied());
    }
    let asked = std::cell::Cell::new(false);
    let full = || {
        asked.set(true);
        after.clone()
    };
    let body = VersionBody::Change { base: ContentId::of(before), splices, full: Some(&full) };
    store.record("s", PATH, &record(&after, &[]), &body).unwrap();
    assert_eq!(store.bytes(ContentId::of(&after)).unwrap().as_ref(), Some(&after));
    (after, asked.get())
}

fn changes(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let base = noise(4000, 4);
    let small: &[(std::ops::Range<usize>, &[u8])] =
        &[(0..0, b"start"), (10..20, b""), (20..20, b"+"), (3990..4000, b"end")];
    // Without its base, a change cannot be stored as one.
    assert!(change(&*store, &base, small).1);
    let store = open(HistoryLimits::default());
    store.record("s", PATH, &record(&base, &[]), &VersionBody::Bytes(&base)).unwrap();
    let (after, asked) = change(&*store, &base, small);
    assert!(!asked);
    // The same version read later agrees with the change.
    store.record("s", PATH, &record(&after, &[]), &VersionBody::Bytes(&after)).unwrap();
    assert_eq!(store.bytes(ContentId::of(&after)).unwrap(), Some(after.clone()));
    // A large change is stored whole; so is one to a version that is already known.
    assert!(change(&*store, &base, &[(0..1, &noise(2000, 5))]).1);
    assert!(change(&*store, &base, small).1);
    // Many tiny splices cost more than they save.
    let tiny: Vec<_> = (0..400).map(|at| (at * 10..at * 10 + 1, &b"#"[..])).collect();
    assert!(change(&*store, &base, &tiny).1);

    // Splices that do not fit, or are wrong, must not break anything.
    let odd: [&[(std::ops::Range<usize>, &[u8])]; 3] =
        [&[(5..4001, b"")], &[(9..12, b"a"), (10..11, b"b")], &[(std::ops::Range { start: 5, end: 3 }, b"")]];
    for (number, splices) in odd.into_iter().enumerate() {
        let after = noise(50, 100 + number as u64);
        let body = VersionBody::Change { base: ContentId::of(&base), splices, full: Some(&|| after.clone()) };
        store.record("s", PATH, &record(&after, &[]), &body).unwrap();
        assert_eq!(store.bytes(ContentId::of(&after)).unwrap().as_ref(), Some(&after));
    }
    let never = record(b"never", &[]);
    let lie = VersionBody::Change { base: ContentId::of(&base), splices: &[(0..1, b"?")], full: Some(&Vec::new) };
    store.record("s", PATH, &never, &lie).unwrap();
    assert_eq!(store.bytes(never.content).unwrap(), None);
}

fn chains(open: Open<'_>) {
    let store = open(HistoryLimits { versions: 100, ..HistoryLimits::default() });
    let mut states = vec![noise(3000, 6)];
    store.record("s", PATH, &record(&states[0], &[]), &VersionBody::Bytes(&states[0])).unwrap();
    let mut whole = Vec::new();
    for step in 1..=40_usize {
        let text = format!("<{step}>");
        let (after, asked) = change(&*store, &states[step - 1], &[(step * 20..step * 20 + 3, text.as_bytes())]);
        if asked {
            whole.push(step);
        }
        states.push(after);
    }
    assert_eq!(whole, [17, 34]);
    for state in &states {
        assert_eq!(store.bytes(ContentId::of(state)).unwrap().as_ref(), Some(state));
    }
}

fn forgetting(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let one = record(b"one", &[]);
    for (session, path) in [("a", PATH), ("b", PATH), ("a", b"/stays")] {
        store.record(session, path, &one, &VersionBody::Bytes(b"one")).unwrap();
    }
    let mut known = store.paths("a").unwrap();
    known.sort_unstable();
    assert_eq!(
        known,
        [&b"/stays"[..], PATH].into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    );
    store.forget("a", PATH).unwrap();
    assert_eq!(store.paths("a").unwrap(), [b"/stays"]);
    store.forget("nobody", PATH).unwrap();
    assert_eq!(store.latest("a", PATH).unwrap(), None);
    assert_eq!(store.latest("b", PATH).unwrap().as_ref(), Some(&one));
    assert_eq!(store.latest("a", b"/stays").unwrap(), Some(one));
}

fn versions(open: Open<'_>) {
    let store = open(HistoryLimits { versions: 3, ..HistoryLimits::default() });
    let records: Vec<_> = (0..5_u8).map(|number| record(&[number], &[(1, 1)])).collect();
    for record in &records[..4] {
        store.record("s", PATH, record, &VersionBody::None).unwrap();
    }
    // The first was dropped; the second was renewed, so the third is next.
    assert_eq!(store.by_tag(PATH, records[0].content.tag()).unwrap(), None);
    store.record("s", PATH, &records[1], &VersionBody::None).unwrap();
    store.record("s", PATH, &records[4], &VersionBody::None).unwrap();
    let kept: Vec<_> =
        records.iter().map(|record| store.by_tag(PATH, record.content.tag()).unwrap().is_some()).collect();
    assert_eq!(kept, [false, true, false, true, true]);
    assert_eq!(store.latest("s", PATH).unwrap().as_ref(), Some(&records[4]));
}

fn totals(open: Open<'_>) {
    let total = 400_000;
    let store = open(HistoryLimits { total, ..HistoryLimits::default() });
    let bodies: Vec<_> = (0..200).map(|seed| noise(10_000, 1000 + seed)).collect();
    for (number, body) in bodies.iter().enumerate() {
        let path = format!("/file {number}");
        store.record("s", path.as_bytes(), &record(body, &[]), &VersionBody::Bytes(body)).unwrap();
    }
    let kept: Vec<_> = bodies.iter().map(|body| store.bytes(ContentId::of(body)).unwrap().is_some()).collect();
    let count = kept.iter().filter(|kept| **kept).count() as u64;
    // Some versions stay: at most an eighth and one over the limit, and the newest ones.
    assert!(count * 10_000 <= total + total / 8 + 10_000, "{count}");
    assert!(count >= 10 && kept.is_sorted(), "{kept:?}");
    // The records outlive the bytes, and bytes that arrive again are stored again.
    let first = store.latest("s", b"/file 0").unwrap().unwrap();
    assert_eq!(store.bytes(first.content).unwrap(), None);
    store.record("s", b"/file 0", &first, &VersionBody::Bytes(&bodies[0])).unwrap();
    assert_eq!(store.bytes(first.content).unwrap().as_ref(), Some(&bodies[0]));
}

/// The base of a chain is the oldest version, but must stay as long as those rebuilt from it.
fn chains_survive_their_base(open: Open<'_>) {
    let store = open(HistoryLimits { total: 400_000, versions: 2, ..HistoryLimits::default() });
    let mut state = noise(20_000, 7);
    store.record("s", PATH, &record(&state, &[]), &VersionBody::Bytes(&state)).unwrap();
    for step in 0..10_usize {
        for number in 0..10 {
            let other = noise(10_000, 5000 + (step * 10 + number) as u64);
            let path = format!("/{step}/{number}");
            store.record("s", path.as_bytes(), &record(&other, &[]), &VersionBody::Bytes(&other)).unwrap();
        }
        let (after, asked) = change(&*store, &state, &[(step * 5..step * 5 + 1, b"!!")]);
        assert!(!asked, "{step}");
        state = after;
    }
}
