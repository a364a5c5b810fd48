use super::{Occurrence, Scan, ScanObstacle};
use crate::text::content::{ContentId, ShortHash, ShortTag};
use crate::text::snapshot::{FileSummary, Snapshot};
use proptest::prelude::*;

/// The results of a scan, in comparable form.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScannedText {
    whole: FileSummary,
    occurrences: Vec<Occurrence>,
    starts: Vec<Option<usize>>,
}

/// Scans a file in chunks of these sizes, used in turn.
fn scanned(raw: &[u8], chunks: &[usize], needles: &[&str], lines: &[usize]) -> Result<ScannedText, ScanObstacle> {
    let mut scan = Scan::new(needles, lines, raw.len()).with_short_tag().with_text();
    let (mut rest, mut decoded) = (raw, Vec::new());
    let mut sizes = chunks.iter().cycle();
    while !rest.is_empty() {
        let (chunk, more) = rest.split_at((*sizes.next().unwrap()).clamp(1, rest.len()));
        scan.feed(chunk)?;
        decoded.extend(scan.take_text(Vec::new()));
        rest = more;
    }
    scan.close()?;
    decoded.extend(scan.take_text(Vec::new()));
    let scanned = scan.finish()?;
    assert_eq!(decoded, Snapshot::open(raw.to_vec(), None).unwrap().text().as_bytes());
    // The prefix hash is such that the rest of the file can be hashed on top of it.
    let mark = scanned.summary.codec.mark;
    let (at, mut short) = scanned.before.unwrap_or((mark, ShortHash::default()));
    assert_eq!(short.tag(), ShortTag::of_pieces([&raw[mark..at]]));
    let first = scanned.starts.iter().flatten().min();
    assert!(first.is_none_or(|&first| at <= first || at == mark), "{at} {first:?}");
    short.update(&raw[at..]);
    assert_eq!(Some(short.tag()), scanned.summary.short);
    Ok(ScannedText { whole: scanned.summary, occurrences: scanned.occurrences, starts: scanned.starts })
}

/// Computes the same from the whole text.
fn plainly(raw: &[u8], needles: &[&str], lines: &[usize]) -> ScannedText {
    let snapshot = Snapshot::open(raw.to_vec(), None).unwrap();
    let text = snapshot.text();
    let mut occurrences = Vec::new();
    for (needle, of) in needles.iter().enumerate().filter(|(_, of)| !of.is_empty()) {
        let starts = (0..text.len()).filter(|&at| text.as_bytes()[at..].starts_with(of.as_bytes()));
        occurrences.extend(starts.map(|at| Occurrence {
            at: snapshot.to_raw(at),
            end: snapshot.to_raw(at + of.len()),
            needle,
            line: snapshot.lines().line_of(text, at),
        }));
    }
    occurrences.sort_unstable();
    let ends = snapshot.lines().ends();
    let start = |&line: &usize| match line {
        0 => None,
        1 => Some(0),
        line => (line - 1 <= ends).then(|| snapshot.to_raw(snapshot.lines().start_of(text, line))),
    };
    let whole = FileSummary {
        id: ContentId::of(raw),
        short: Some(ShortTag::of(text)),
        size: raw.len(),
        codec: snapshot.codec(),
        ends: snapshot.line_ends(),
        lines: snapshot.lines().count(text),
        open: !text.is_empty() && !text.ends_with('\n'),
        ascii: raw[snapshot.codec().mark..].is_ascii(),
    };
    ScannedText { whole, occurrences, starts: lines.iter().map(start).collect() }
}

fn texts() -> impl Strategy<Value = String> {
    let body = prop_oneof![
        "([ab]{0,3}(\r\n|\n|\r)?){0,60}",
        "(é|—|😀|a|\r\n|\n|\r){0,80}",
        "(    |\\}\r\n|x = \"é\";\n|fn a_rather_long_name\\(\\) \\{\r\n){0,30}",
    ];
    (any::<bool>(), body).prop_map(|(mark, body)| if mark { format!("\u{FEFF}{body}") } else { body })
}

proptest! {
    #[test]
    fn result_does_not_depend_on_chunk_sizes(
        text in texts(),
        chunks in prop::collection::vec(1_usize..40, 1..6),
        cuts in prop::collection::vec((0_usize..200, 0_usize..60), 0..7),
        lines in prop::collection::vec(0_usize..70, 0..4),
    ) {
        let snapshot = Snapshot::open(text.clone().into_bytes(), None).unwrap();
        let decoded = snapshot.text();
        let whole = |at: usize| (0..=at.min(decoded.len())).rev().find(|&at| decoded.is_char_boundary(at)).unwrap_or(0);
        let needles: Vec<&str> = cuts.iter().map(|&(at, len)| &decoded[whole(at)..whole(at + len)]).collect();
        let want = plainly(text.as_bytes(), &needles, &lines);
        prop_assert_eq!(scanned(text.as_bytes(), &chunks, &needles, &lines), Ok(want.clone()));
        prop_assert_eq!(scanned(text.as_bytes(), &[usize::MAX], &needles, &lines), Ok(want));
    }

    #[test]
    fn binary_files_are_recognized_as_in_memory(
        raw in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            prop::collection::vec(prop_oneof![Just(0xC3_u8), Just(0xA9), Just(0xE2), Just(0x80), Just(b'a'), Just(0)], 0..40),
        ],
        chunks in prop::collection::vec(1_usize..9, 1..4),
    ) {
        let utf8 = Snapshot::open(raw.clone(), None)
            .is_ok_and(|it| it.codec().charset == crate::Charset::Utf8 && std::str::from_utf8(&raw).is_ok());
        prop_assert_eq!(scanned(&raw, &chunks, &["a"], &[]).is_ok(), utf8, "{:?}", raw);
    }
}

#[test]
fn needles_with_too_many_matches_are_dropped() {
    let raw = vec![b'a'; super::OCCURRENCES_MAX + 1];
    assert_eq!(scanned(&raw, &[4096], &["a"], &[]), Err(ScanObstacle::Crowded));
    assert_eq!(scanned(&raw[1..], &[4096], &["a"], &[]).map(|it| it.occurrences.len()), Ok(super::OCCURRENCES_MAX));
    let long = "a".repeat(40);
    assert_eq!(scanned(&raw, &[4096], &[&long], &[]).map(|it| it.occurrences.len()), Ok(raw.len() - 39));
    assert_eq!(scanned(&[raw.clone(), raw].concat(), &[4096], &[&long], &[]), Err(ScanObstacle::Crowded));
}

#[test]
fn late_nul_is_text_and_early_one_is_binary() {
    let mut raw = "line\n".repeat(3000).into_bytes();
    raw[8192] = 0;
    assert!(scanned(&raw, &[1000], &[], &[]).is_ok());
    raw[8191] = 0;
    assert_eq!(scanned(&raw, &[1000], &[], &[]), Err(ScanObstacle::Binary));
    assert_eq!(scanned(b"%PDF-1.4 and more of it", &[3], &[], &[]), Err(ScanObstacle::Binary));
    assert_eq!(scanned(b"\xFF\xFEa\0", &[1], &[], &[]), Err(ScanObstacle::Encoding(0)));
    assert_eq!(scanned("é".repeat(20).as_bytes()[..39].as_ref(), &[7], &[], &[]), Err(ScanObstacle::Encoding(39)));
}
