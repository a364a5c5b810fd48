//! The laws of change sets, over mixed line ends, marks and encodings.

use super::{ChangeSet, Splice, TieBreak};
use crate::text::charset::{Charset, DeclaredEncoding};
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use proptest::prelude::*;

const ENCODINGS: usize = 6;

/// Encodes the text in one of the encodings under test.
fn snapshot(text: &str, encoding: usize) -> Snapshot {
    let marked = |mark: &[u8], charset: Charset| [mark, &charset.encode(text).unwrap()].concat();
    let (raw, declared) = match encoding {
        0 | 1 => (text.as_bytes().to_vec(), None),
        2 => (marked(b"\xEF\xBB\xBF", Charset::Utf8), None),
        3 => (marked(b"\xFF\xFE", Charset::Utf16Le), None),
        4 => (marked(b"\xFE\xFF", Charset::Utf16Be), None),
        _ => {
            (Charset::Latin1.encode(text).unwrap(), Some(DeclaredEncoding { charset: Charset::Latin1, by_call: true }))
        }
    };
    Snapshot::open(raw, declared).unwrap()
}

/// Generates texts with every kind of line end; small alphabets make equal lines and equal ends likely.
fn text(max: usize) -> impl Strategy<Value = String> {
    let atom = prop_oneof![4 => Just("a"), 2 => Just("b"), 1 => Just("é"), 4 => Just("\n"), 3 => Just("\r\n"), 1 => Just(" "), 1 => Just("\r")];
    prop::collection::vec(atom, 0..max).prop_map(|atoms| atoms.concat())
}

/// Creates a change of `base`: ranges cut at character boundaries, replaced by short texts.
fn change(base: &Snapshot, seeds: &[(u16, u16, String)], op: u32) -> Option<ChangeSet> {
    let borders: Vec<usize> = (0..=base.raw().len()).filter(|&at| base.is_border(at)).collect();
    let mut points: Vec<usize> =
        seeds.iter().flat_map(|(a, b, _)| [*a, *b]).map(|at| borders[usize::from(at) % borders.len()]).collect();
    points.sort_unstable();
    let splices = points.chunks(2).zip(seeds).map(|(pair, (_, _, text))| {
        let text = base.codec().charset.encode(text).unwrap();
        Splice::new(Span::new(pair[0], pair[1]), text, op)
    });
    ChangeSet::new(base, splices).ok()
}

fn seeds() -> impl Strategy<Value = Vec<(u16, u16, String)>> {
    prop::collection::vec((any::<u16>(), any::<u16>(), text(4)), 0..4)
}

fn after(base: &Snapshot, change: &ChangeSet) -> Snapshot {
    let declared = DeclaredEncoding { charset: base.codec().charset, by_call: true };
    let marked = base.codec().mark > 0;
    Snapshot::open(change.apply(base), (!marked && base.codec().charset != Charset::Utf8).then_some(declared)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn apply_then_invert_is_identity(base in text(24), encoding in 0..ENCODINGS, x in seeds()) {
        let base = snapshot(&base, encoding);
        let Some(x) = change(&base, &x, 0) else { return Ok(()) };
        let middle = after(&base, &x);
        let back = x.invert(&base);
        prop_assert_eq!(back.apply(&middle), base.raw());
    }

    #[test]
    fn composition_equals_applying_twice(base in text(24), encoding in 0..ENCODINGS, x in seeds(), y in seeds()) {
        let base = snapshot(&base, encoding);
        let Some(x) = change(&base, &x, 0) else { return Ok(()) };
        let middle = after(&base, &x);
        let Some(y) = change(&middle, &y, 1) else { return Ok(()) };
        prop_assert_eq!(x.then(&base, &y).apply(&base), y.apply(&middle));
    }

    #[test]
    fn appending_small_changes_equals_composing_them(base in text(24), encoding in 0..ENCODINGS, all in prop::collection::vec(seeds(), 0..8)) {
        let base = snapshot(&base, encoding);
        let (mut appended, mut composed, mut middle) = (ChangeSet::none(&base), ChangeSet::none(&base), base.clone());
        for (nth, seeds) in all.iter().enumerate() {
            let Some(next) = change(&middle, &seeds[..seeds.len().min(1 + nth / 6)], 1) else { continue };
            composed = composed.then(&base, &next);
            appended.append(&base, &next);
            middle = after(&middle, &next);
            prop_assert_eq!(&appended, &composed);
            prop_assert_eq!(appended.apply(&base), middle.raw());
        }
    }

    #[test]
    fn diff_leads_from_one_text_to_the_other(a in text(40), b in text(40), encoding in 0..ENCODINGS) {
        let (a, b) = (snapshot(&a, encoding), snapshot(&b, encoding));
        let change = ChangeSet::diff(&a, &b);
        prop_assert_eq!(change.apply(&a), b.raw());
        prop_assert_eq!(change.is_empty(), a.raw() == b.raw());
    }

    #[test]
    fn other_encoding_replaces_everything(a in text(10), b in text(10), from in 0..ENCODINGS, to in 0..ENCODINGS) {
        let (a, b) = (snapshot(&a, from), snapshot(&b, to));
        prop_assert_eq!(ChangeSet::diff(&a, &b).apply(&a), b.raw());
    }

    #[test]
    fn bytes_outside_spans_survive(base in text(24), encoding in 0..ENCODINGS, x in seeds()) {
        let base = snapshot(&base, encoding);
        let Some(x) = change(&base, &x, 0) else { return Ok(()) };
        let out = x.apply(&base);
        let (mut old, mut new) = (0, 0);
        for splice in x.splices() {
            let kept = splice.span.start() - old;
            prop_assert_eq!(&base.raw()[old..old + kept], &out[new..new + kept]);
            prop_assert!(base.is_border(splice.span.start()) && base.is_border(splice.span.end()));
            for at in old + 1..splice.span.start() {
                prop_assert_eq!((x.map(at, false), x.map(at, true)), (new + at - old, new + at - old));
            }
            old = splice.span.end();
            new += kept + splice.text.len();
        }
        prop_assert_eq!(&base.raw()[old..], &out[new..]);
    }

    #[test]
    fn rebase_converges(base in text(24), encoding in 0..ENCODINGS, x in seeds(), y in seeds()) {
        let base = snapshot(&base, encoding);
        let (Some(x), Some(y)) = (change(&base, &x, 0), change(&base, &y, 1)) else { return Ok(()) };
        match (y.rebase(&base, &x, TieBreak::TheirsFirst), x.rebase(&base, &y, TieBreak::MineFirst)) {
            (Ok(yx), Ok(xy)) => {
                let left = yx.changes.apply(&after(&base, &x));
                let right = xy.changes.apply(&after(&base, &y));
                prop_assert_eq!(left, right);
            }
            (Err(a), Err(b)) => prop_assert!(!a.is_empty() && !b.is_empty()),
            (a, b) => prop_assert!(false, "a conflict seen from one side: {:?} / {:?}", a, b),
        }
    }
}

#[test]
fn trimming_never_cuts_a_crlf_or_a_character() {
    let base = snapshot("a\r\nb", 0);
    let one = ChangeSet::new(&base, [Splice::new(Span::new(0, 4), &b"a\nb"[..], 0)]).unwrap();
    assert_eq!(one.splices()[0].span, Span::new(1, 3));
    let base = snapshot("é", 0);
    let one = ChangeSet::new(&base, [Splice::new(Span::new(0, 2), "è".as_bytes(), 0)]).unwrap();
    assert_eq!(one.splices()[0].span, Span::new(0, 2));
}

#[test]
fn shared_context_does_not_overlap_once_trimmed() {
    let base = snapshot("a\nb\nc\nd\n", 0);
    let splices =
        [Splice::new(Span::new(0, 6), &b"A\nb\nc\n"[..], 0), Splice::new(Span::new(2, 8), &b"b\nc\nD\n"[..], 1)];
    assert_eq!(ChangeSet::new(&base, splices).unwrap().apply(&base), b"A\nb\nc\nD\n");
    let splices = [Splice::new(Span::new(0, 3), &b"xyz"[..], 0), Splice::new(Span::new(2, 5), &b"uvw"[..], 1)];
    let overlaps = ChangeSet::new(&base, splices).unwrap_err();
    assert_eq!((overlaps.len(), overlaps[0].first, overlaps[0].second), (1, 0, 1));
}

#[test]
fn touched_read_span_merges_and_is_reported() {
    let base = snapshot("a\nb\nc\nd\n", 0);
    let mine =
        ChangeSet::new(&base, [Splice::new(Span::new(0, 6), &b"A\nb\nc\n"[..], 7).with_read_span(Span::new(0, 6))])
            .unwrap();
    let onto = |text: &str| mine.rebase(&base, &ChangeSet::diff(&base, &snapshot(text, 0)), TieBreak::TheirsFirst);
    let near = onto("a\nb\nC!\nd\n").unwrap();
    assert_eq!(near.touched, [7]);
    assert_eq!(near.changes.apply(&snapshot("a\nb\nC!\nd\n", 0)), b"A\nb\nC!\nd\n");
    assert!(onto("a\nb\nc\nD!\n").unwrap().touched.is_empty());
    assert_eq!(onto("X\nb\nc\nd\n").unwrap_err()[0].op, 7);
    let done = onto("A\nb\nc\nd\n").unwrap();
    assert_eq!((done.already_made, done.changes.is_empty()), (vec![7], true));
}

#[test]
fn change_adjoining_a_line_touches_it() {
    let merge = |base: &str, mine: &str, theirs: &str| {
        let [base, mine, theirs] = [base, mine, theirs].map(|text| snapshot(text, 0));
        let [mine, other] = [&mine, &theirs].map(|it| ChangeSet::diff(&base, it));
        let ahead = mine.rebase(&base, &other, TieBreak::TheirsFirst).map(|it| it.changes.apply(&theirs));
        assert_eq!(ahead.is_err(), other.rebase(&base, &mine, TieBreak::MineFirst).is_err());
        ahead.ok().map(|it| String::from_utf8_lossy(&it).into_owned())
    };
    // One side inserts before a line or inside it, the other side changes the line.
    assert_eq!(merge("a\nbar\n", "a\nbaz\n", "a\n// bar\n"), None);
    assert_eq!(merge("a\nbar\n", "a\nmy bar\n", "a\n// bar\n"), None);
    assert_eq!(merge("a\nbar\n", "a\nbaz\n", "abar\n"), None);
    // Both sides insert after the last line, where one insertion would be joined to the other.
    assert_eq!(merge("a\n", "a\nmine\n", "a\ntheirs"), None);
    assert_eq!(merge("a\n", "a\nmine", "a\ntheirs"), None);
    assert_eq!(merge("a\n", "a\nmine\n", "a"), None);
    // Whole lines next to a line are not part of it.
    assert_eq!(merge("a\n", "a\nmine\n", "a\ntheirs\n").as_deref(), Some("a\ntheirs\nmine\n"));
    assert_eq!(merge("a\nb\n", "a\nB\n", "a\nx\nb\n").as_deref(), Some("a\nx\nB\n"));
    assert_eq!(merge("a\nb\n", "a\nb\nc", "A\nb\n").as_deref(), Some("A\nb\nc"));
}

#[test]
fn rebased_lines_end_like_their_neighbours() {
    let carried = |base: &str, mine: &str, theirs: &str| {
        let [base, mine, theirs] = [base, mine, theirs].map(|text| snapshot(text, 0));
        let other = ChangeSet::diff(&base, &theirs);
        let rebased = ChangeSet::diff(&base, &mine).rebase(&base, &other, TieBreak::TheirsFirst).unwrap().changes;
        String::from_utf8(rebased.with_line_ends_of(&base, &theirs).unwrap().apply(&theirs)).unwrap()
    };
    assert_eq!(carried("a\nb\n", "new\na\nb\n", "a\r\nb\r\nc\r\n"), "new\r\na\r\nb\r\nc\r\n");
    assert_eq!(carried("a\r\nb\r\n", "new\r\na\r\nb\r\n", "a\nb\nc\n"), "new\na\nb\nc\n");
    assert_eq!(carried("a", "a\nnew", "zero\r\na"), "zero\r\na\r\nnew");
    assert_eq!(carried("a\r\nb\r\n", "new\r\na\r\nb\r\n", "a"), "new\r\na");
    // If both versions mix line ends, lines keep the ends they were written with.
    assert_eq!(carried("a\nb\r\n", "new\na\nb\r\n", "a\nb\r\nc\r\n"), "new\na\nb\r\nc\r\n");
}

#[test]
fn hostile_inputs_stay_cheap() {
    // Ten thousand splices of one very long line, and texts of two alternating values, which are the worst case of a
    // line diff.
    let long = "ab".repeat(100_000);
    let base = snapshot(&long, 0);
    let at = |n: usize| Splice::new(Span::new(n * 20, n * 20 + 1), &b"X"[..], 0);
    let mine = ChangeSet::new(&base, (0..10_000).map(at)).unwrap();
    assert_eq!(mine.rebase(&base, &mine, TieBreak::MineFirst).unwrap().already_made.len(), 10_000);
    let bits = |seed: u64| {
        let mut state = seed;
        let mut bit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 { "a\n" } else { "b\n" }
        };
        (0..100_000).map(|_| bit()).collect::<String>()
    };
    let (a, b) = (snapshot(&bits(1), 0), snapshot(&bits(2), 0));
    assert_eq!(ChangeSet::diff(&a, &b).apply(&a), b.raw());
}

#[test]
fn lines_added_at_the_same_place_are_in_conflict_on_request() {
    let base = Snapshot::from_text("a\nb\nc\n");
    let to = |text: &str| ChangeSet::diff(&base, &Snapshot::from_text(text));
    let mine = to("a\nnew\nb\nc\n");
    for (theirs, is_conflict) in [
        ("a\nother\nb\nc\n", true),
        // A neighbour became more lines.
        ("A\nother\nb\nc\n", true),
        ("a\nother\nB\nc\n", true),
        // Another place, changes and deletions of neighbours, and the same change.
        ("a\nb\nother\nc\nother\n", false),
        ("A\nb\nc\n", false),
        ("b\nc\n", false),
        ("a\nc\n", false),
        ("a\nnew\nb\nc\n", false),
    ] {
        let theirs = to(theirs);
        assert_eq!(mine.rebase(&base, &theirs, TieBreak::Conflict).is_err(), is_conflict, "{theirs:?}");
        assert!(mine.rebase(&base, &theirs, TieBreak::TheirsFirst).is_ok(), "{theirs:?}");
    }
}
