use super::pair::{NO_LINE, pair};
use super::{AnchorMap, ReplacedRange};
use crate::work::Meter;
use std::sync::Arc;

fn letters(text: &str) -> Vec<u64> {
    text.bytes().map(u64::from).collect()
}

#[test]
fn only_unambiguous_lines_are_paired() {
    // Old text, new text, and for each new line the old one it is paired with (`-`: none).
    for (old, new, want) in [
        ("abc", "abc", "012"),
        ("abc", "axc", "0-2"),
        ("abc", "cab", "201"),
        ("aaa", "aa", "--"),
        ("aaxaa", "aaxaaa", "012---"),
        ("abac", "bac", "123"),
        ("aba", "a", "-"),
        ("abca", "aabc", "--12"),
        ("axa", "aya", "0-2"),
        ("fooX}fooY}", "fooX}fooZ}", "01234567-9"),
        ("}f}g}", "}g}f}", "-3-1-"),
        ("", "ab", "--"),
        ("ab", "", ""),
    ] {
        let paired = pair(&letters(old), &letters(new));
        let words: String =
            paired.iter().map(|&at| if at == NO_LINE { "-".to_owned() } else { at.to_string() }).collect();
        assert_eq!(words, want, "{old} {new}");
    }
}

#[test]
fn known_edit_distinguishes_equal_lines() {
    let text = "}\n".repeat(9);
    let mut words = AnchorMap::new(&text).unwrap();
    let had = words.words().to_vec();
    words.follow_edit(&text.replacen("}\n}\n", "x\n", 1), &[ReplacedRange { old: 0..2, new: 0..1 }]).unwrap();
    assert_eq!(words.words()[1..], had[2..]);
    // A wrong description of the change is not used.
    let mut wrong = words.clone();
    wrong.follow_edit(&text, &[ReplacedRange { old: 3..4, new: 3..4 }]).unwrap();
    words.follow(&text).unwrap();
    assert_eq!((words.words(), wrong.words()), (&had[..], &had[..]));
}

#[test]
fn equal_texts_have_equal_words() {
    let text = "fn main() {\n}\n\nfn other() {\n}\n";
    let words = AnchorMap::new(text).unwrap();
    assert_eq!(words, AnchorMap::new(text).unwrap());
    assert_eq!(AnchorMap::from_bytes(&words.to_bytes()), Some(words.clone()));
    // A line appended at the end does not affect the others.
    let longer = AnchorMap::new(&format!("{text}more\n")).unwrap();
    assert_eq!(longer.words()[..5], *words.words());
    assert_eq!(AnchorMap::new("").unwrap().words(), []);
}

#[test]
fn damaged_bytes_are_not_trusted() {
    let mut words = AnchorMap::new("a\nb\nb\n").unwrap();
    words.follow("a\nc\nb\n").unwrap();
    let bytes = words.to_bytes();
    assert_eq!(AnchorMap::from_bytes(&bytes), Some(words));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert_eq!(AnchorMap::from_bytes(&damaged), None, "{at}");
        assert_eq!(AnchorMap::from_bytes(&bytes[..at]), None, "{at}");
    }
}

#[test]
fn words_survive_edits_elsewhere_and_undos() {
    let text: String = (0..200).map(|at| format!("line {at}\n{}", if at % 3 == 0 { "}\n" } else { "" })).collect();
    let mut words = AnchorMap::new(&text).unwrap();
    let before = words.words().to_vec();
    words.follow(&text.replace("line 7\n", "line 7\nnew\n").replace("line 150\n", "")).unwrap();
    assert_eq!(words.words()[..8], before[..8]);
    words.follow(&text.replace("line 9\n", "line nine\n")).unwrap();
    words.follow(&text).unwrap();
    assert_eq!(words.words(), before);
}

#[test]
fn word_of_a_deleted_line_does_not_pass_to_an_equal_one() {
    let text = |lines: &str| lines.chars().map(|line| format!("{line}\n")).collect::<String>();
    for (before, after, gone) in [("h}a}bcd", "h}abc}d", 3), (".a.bc", ".ab.c", 2), ("h}a}bcd", "h}abcd}", 3)] {
        let mut words = AnchorMap::new(&text(before)).unwrap();
        let gone = words.words()[gone];
        words.follow(&text(after)).unwrap();
        assert!(words.is_tombstone(gone), "{before} to {after}");
    }
    // A line without a twin keeps its word wherever it goes, also past lines that have twins.
    let mut words = AnchorMap::new(&text("h}am}b}c")).unwrap();
    let before = words.words().to_vec();
    words.follow(&text("h}a}b}cm")).unwrap();
    let order = [0, 1, 2, 4, 5, 6, 7, 3];
    assert_eq!(words.words(), order.map(|at| before[at]));
    // Equal lines next to lines that moved: an uncertain line separates them as a certain one does.
    let mut words = AnchorMap::new(&text("h}..re}re")).unwrap();
    let before = words.words().to_vec();
    words.follow_edit(&text("h.re}.}re"), &[ReplacedRange { old: 1..6, new: 1..6 }]).unwrap();
    for (at, &word) in words.words().iter().enumerate().filter(|(at, _)| [1, 5].contains(at)) {
        assert!(!before.contains(&word), "line {at} got {word}");
    }
}

#[test]
fn position_of_a_deleted_line_is_found_by_its_neighbours() {
    let words = |lines: &str| lines.chars().map(|line| format!("{line}\n")).collect::<String>();
    let mut of = AnchorMap::new(&words("abcdef")).unwrap();
    let named = of.words().to_vec();
    for (after, gone, place) in [
        ("abxdef", 2, Some((2, 4))),
        ("abxyef", 3, Some((3, 5))),
        ("axyef", 1, Some((1, 2))),
        ("axy", 5, Some((3, 3))),
        ("axy", 0, None),
        ("z", 3, Some((1, 1))),
        ("abcdef", 3, None),
    ] {
        of.follow(&words(after)).unwrap();
        assert_eq!(of.former_position(named[gone]).filter(|_| of.is_tombstone(named[gone])), place, "{after}");
    }
    of.follow("").unwrap();
    assert_eq!(of.former_position(named[3]), None);
}

#[test]
fn passes_over_lines_count_as_work() {
    let text = "a\nb\n".repeat(50_000);
    let edited = text.replacen("a\n", "c\n", 1);
    let new = Meter::new(u64::MAX, Arc::default());
    let entered = new.enter();
    let mut words = AnchorMap::new(&text).unwrap();
    drop(entered);
    assert!(new.spent() >= 100_000, "{}", new.spent());
    let followed = Meter::new(u64::MAX, Arc::default());
    let entered = followed.enter();
    words.follow_edit(&edited, &[ReplacedRange { old: 0..1, new: 0..1 }]).unwrap();
    drop(entered);
    assert!(followed.spent() > new.spent(), "{}", followed.spent());
}
