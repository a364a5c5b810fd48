//! Any valid diff is parsed as intended, and no text at all causes a panic.

use super::{good, hunks, read};
use crate::formats::Format;
use crate::formats::line_parser::ParseOptions;
use crate::formats::unified_diff::UnifiedDiff;
use crate::locate::op::{FileAction, Hunk, HunkLine, HunkLineKind, Locator, Op};
use crate::note::Notes;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::ops::Range;

/// Lines that look like something else once they have a mark.
const NASTY: [&str; 24] = [
    "", " ", "-- old", "++ new", "-- a/q", "--", "- ", "-", "+", "++", "- item", " item", "@@ -1 +1 @@", "@@",
    "diff --git a/x b/x", "```", "```diff", "\\ No newline at end of file", "2.43.0", "Index: x", "*** End Patch",
    "\tx", "text", "\\",
];

fn line() -> impl Strategy<Value = HunkLine> {
    let kind = prop_oneof![Just(HunkLineKind::Context), Just(HunkLineKind::Removed), Just(HunkLineKind::Added)];
    let text = prop_oneof![prop::sample::select(&NASTY[..]).prop_map(str::to_owned), "[ -~é]{0,12}"];
    (kind, text).prop_map(|(kind, text)| HunkLine { kind, text })
}

/// Generates a hunk that changes something, and the start of its new side.
fn hunk() -> impl Strategy<Value = (Hunk, usize)> {
    let section = prop::option::of("[a-z(){:]{1,3}( [a-z]{1,5})?");
    let parts = (prop::collection::vec(line(), 1..9), 1..900_usize, 1..900_usize, section, any::<(bool, bool)>());
    let whole = parts.prop_map(|(lines, first, new_first, section, open)| {
        let last = |without| lines.iter().rposition(|line: &HunkLine| line.kind != without);
        let (old, new) = (last(HunkLineKind::Added), last(HunkLineKind::Removed));
        // A line that ends both sides is unterminated on both or on none.
        let shared = old == new;
        let open = (open.0 && old.is_some(), if shared { open.0 } else { open.1 } && new.is_some());
        (Hunk { lines, first: Some(first), section, open, ..Hunk::default() }, new_first)
    });
    // Lines that are added as line 1 without old lines fill a file, which is not a hunk.
    let fills = |hunk: &Hunk, new: usize| (hunk.first, new) == (Some(1), 1) && hunk.old_text().is_empty();
    whole.prop_filter("it changes something", move |(hunk, new)| {
        hunk.old_text() != hunk.new_text() && !fills(hunk, *new)
    })
}

fn print(out: &mut String, hunk: &Hunk, new_first: usize, short: bool) {
    let count = |without| hunk.lines.iter().filter(|line| line.kind != without).count();
    let (old, new) = (count(HunkLineKind::Added), count(HunkLineKind::Removed));
    let range =
        |first: usize, count: usize| if short && count == 1 { first.to_string() } else { format!("{first},{count}") };
    let section = hunk.section.as_ref().map_or(String::new(), |section| format!(" {section}"));
    let _ = writeln!(out, "@@ -{} +{} @@{section}", range(hunk.first.unwrap(), old), range(new_first, new));
    let last = |without| hunk.lines.iter().rposition(|line| line.kind != without);
    for (index, line) in hunk.lines.iter().enumerate() {
        let (mark, open) = match line.kind {
            HunkLineKind::Removed => ('-', hunk.open.0 && last(HunkLineKind::Added) == Some(index)),
            HunkLineKind::Added => ('+', hunk.open.1 && last(HunkLineKind::Removed) == Some(index)),
            _ => {
                let open = hunk.open.0 && last(HunkLineKind::Added) == Some(index);
                (' ', open || hunk.open.1 && last(HunkLineKind::Removed) == Some(index))
            }
        };
        let _ = writeln!(out, "{mark}{}", line.text);
        if open {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}

/// True if the hunk can be printed. A marker below a context line applies to both sides, so it cannot be printed if
/// only one side ends with that line.
fn sayable(hunk: &Hunk) -> bool {
    let last = |without| hunk.lines.iter().rposition(|line| line.kind != without);
    let is_context = |at: Option<usize>| at.is_some_and(|at| hunk.lines[at].kind == HunkLineKind::Context);
    let (old, new) = (last(HunkLineKind::Added), last(HunkLineKind::Removed));
    old == new || !(hunk.open.0 && is_context(old) || hunk.open.1 && is_context(new))
}

fn patch() -> impl Strategy<Value = (Vec<Vec<(Hunk, usize)>>, bool)> {
    let hunk = hunk().prop_filter("it can be written", |(hunk, _)| sayable(hunk));
    (prop::collection::vec(prop::collection::vec(hunk, 1..4), 1..4), any::<bool>())
}

fn text(files: &[Vec<(Hunk, usize)>], short: bool) -> String {
    let mut out = String::new();
    for (index, hunks) in files.iter().enumerate() {
        let _ = write!(out, "--- a/f{index}\n+++ b/f{index}\n");
        for (hunk, new_first) in hunks {
            print(&mut out, hunk, *new_first, short);
        }
    }
    out
}

/// Checks the invariants for any text: there is no panic, and detected ranges are in order and within bounds.
fn check_invariants(text: &str) {
    let _ = read(text);
    let _ = crate::formats::line_parser::parse_text(
        UnifiedDiff
            .line_parser(&ParseOptions {
                reverse: true,
                file: Some("f".to_owned()),
                strip: Some(1),
                ..ParseOptions::default()
            })
            .unwrap(),
        text,
    );
    let ranges = UnifiedDiff.detected_ranges(text);
    let lines = text.lines().count();
    assert!(ranges.iter().all(|range| range.start < range.end && range.end <= lines), "{ranges:?}");
    assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
}

proptest! {
    #[test]
    fn valid_diffs_are_parsed_as_written((files, short) in patch()) {
        let text = text(&files, short);
        let request = good(&text);
        prop_assert_eq!(&request.notes, &Notes::new(), "{}", text);
        prop_assert_eq!(request.files.len(), files.len(), "{}", text);
        for (index, (file, printed)) in request.files.iter().zip(&files).enumerate() {
            prop_assert_eq!(&file.path, &format!("f{index}"));
            let read: Vec<Hunk> = hunks(file).into_iter().map(|hunk| Hunk { source_line: 0, ..hunk.clone() }).collect();
            let printed: Vec<Hunk> = printed.iter().map(|(hunk, _)| hunk.clone()).collect();
            // Without old lines the number is that of the preceding line; with old lines it is never 0 here.
            prop_assert_eq!(read, printed, "{}", text);
        }
        prop_assert_eq!(UnifiedDiff.detected_ranges(&text), vec![Range { start: 0, end: text.lines().count() }]);
    }

    #[test]
    fn reversing_twice_is_the_identity((files, short) in patch()) {
        let request = good(&text(&files, short));
        let back = request.clone().reverse().unwrap().reverse().unwrap();
        let sides = |request: &crate::locate::op::Request| -> Vec<(String, String)> {
            request.files.iter().flat_map(hunks).map(|hunk| (hunk.old_text(), hunk.new_text())).collect()
        };
        prop_assert_eq!(sides(&back), sides(&request));
    }

    #[test]
    fn damaged_diffs_do_not_panic((files, short) in patch(), cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4_u8), 0..6)) {
        let text = text(&files, short);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (at, other, how) in cuts {
            let (at, other) = (at.index(lines.len()), other.index(lines.len()));
            match how {
                0 if lines.len() > 1 => { lines.remove(at); }
                1 => { let line = lines[other].clone(); lines.insert(at, line); }
                2 => { lines[at] = lines[at].chars().skip(1).collect(); }
                _ => lines.swap(at, other),
            }
        }
        check_invariants(&lines.join("\n"));
    }

    #[test]
    fn no_text_panics(parts in prop::collection::vec(prop_oneof![
        prop::sample::select(&NASTY[..]).prop_map(str::to_owned),
        prop::sample::select(vec!["--- a/x", "+++ b/x", "--- /dev/null", "@@ -1,2 +1,2 @@", "@@ -0,0 +1 @@", "rename from x", "rename to y",
            "new file mode 100644", "deleted file mode 120000", "index 1234567..e69de29 100644", "GIT binary patch", "literal 3",
            "delta 5", "HcmV?d00001", "=====", "-a", "+b", " c", "diff --cc x", "copy from a", "copy to b"]).prop_map(str::to_owned),
        "\\PC{0,20}",
    ], 0..30), end in prop::sample::select(vec!["\n", "\r\n", "\n\n"])) {
        check_invariants(&parts.join(end));
    }
}

/// Generates lines of typical code.
fn plain() -> impl Strategy<Value = HunkLine> {
    let kind = prop_oneof![Just(HunkLineKind::Context), Just(HunkLineKind::Removed), Just(HunkLineKind::Added)];
    let text = prop_oneof![3 => "( {0}| {2,4})[a-z]{1,6}[(){};]?", 1 => Just(String::new())];
    (kind, text).prop_map(|(kind, text)| HunkLine { kind, text })
}

/// True if the two sides differ.
fn changes(lines: &[HunkLine]) -> bool {
    let side = |without| lines.iter().filter(move |line| line.kind != without).map(|line| &line.text);
    !side(HunkLineKind::Added).eq(side(HunkLineKind::Removed))
}

/// Returns the number of lines up to the last change.
fn needed(lines: &[HunkLine]) -> usize {
    lines.iter().rposition(|line| line.kind != HunkLineKind::Context).map_or(0, |at| at + 1)
}

proptest! {
    /// Whatever the counts, every change is parsed, nothing is added, and context is lost only at the end.
    #[test]
    fn wrong_counts_lose_no_change(
        files in prop::collection::vec(prop::collection::vec((prop::collection::vec(plain(), 1..8).prop_filter("it changes something", |lines| changes(lines)), 0..9_usize, 0..9_usize), 1..3), 1..3),
        naked in any::<bool>(),
        numbers in any::<bool>(),
    ) {
        let mut text = "Like this:\n\n```diff\n".to_owned();
        let mut expected = Vec::new();
        for (index, hunks) in files.iter().enumerate() {
            let _ = write!(text, "--- a/f{index}\n+++ b/f{index}\n");
            for (lines, old, new) in hunks {
                let _ = if numbers { writeln!(text, "@@ -7,{old} +7,{new} @@") } else { writeln!(text, "@@") };
                for line in lines {
                    let mark = match line.kind {
                        HunkLineKind::Removed => "-",
                        HunkLineKind::Added => "+",
                        _ if naked && line.text.is_empty() => "",
                        _ => " ",
                    };
                    let _ = writeln!(text, "{mark}{}", line.text);
                }
                expected.push(lines);
            }
        }
        text.push_str("```\nDone.\n");
        let is_marked = |line: &&HunkLine| !(naked && line.kind == HunkLineKind::Context && line.text.is_empty());
        let ends_in_removed = |lines: &&Vec<HunkLine>| lines.iter().rfind(is_marked).is_some_and(|it| it.kind == HunkLineKind::Removed);
        let request = match read(&text) {
            // The counts announce the lines that replace the last line.
            Err(error) if numbers && expected.iter().any(ends_in_removed) => {
                prop_assert!(error.to_string().contains("what replaces the line is missing"), "{}\n{}", text, error);
                return Ok(());
            }
            read => read.unwrap_or_else(|error| panic!("{text}\n{error}")),
        };
        let read: Vec<&Hunk> = request.files.iter().flat_map(hunks).collect();
        prop_assert_eq!(read.len(), expected.len(), "{}", text);
        for (hunk, lines) in read.iter().zip(expected) {
            let shared = hunk.lines.len().min(lines.len());
            prop_assert!(shared >= needed(lines) && hunk.lines.len() <= lines.len(), "{}\n{:?}", text, hunk);
            prop_assert_eq!(&hunk.lines[..shared], &lines[..shared], "{}", text);
        }
    }
}

proptest! {
    /// However a patch is damaged, a changed line is parsed or the patch is refused: no change is dropped silently.
    #[test]
    fn no_change_is_lost(
        files in prop::collection::vec(prop::collection::vec((prop::collection::vec(0..3_u8, 1..6), 0..3_usize, 0..3_usize), 1..3), 1..3),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5_u8), 1..4),
    ) {
        let mut lines: Vec<String> = Vec::new();
        for (index, hunks) in files.iter().enumerate() {
            lines.extend([format!("--- a/f{index}"), format!("+++ b/f{index}")]);
            for (kinds, old, new) in hunks {
                let count = |without: u8| kinds.iter().filter(|kind| **kind != without).count();
                lines.push(format!("@@ -1,{} +1,{} @@", (count(2) + old).saturating_sub(1), (count(1) + new).saturating_sub(1)));
                for kind in kinds {
                    let mark = [' ', '-', '+'][usize::from(*kind)];
                    lines.push(format!("{mark}t{}", lines.len()));
                }
            }
        }
        let is_header = |line: &str| ["--- ", "+++ ", "@@"].iter().any(|start| line.starts_with(start));
        for (at, other, how) in damage {
            let (at, other) = (at.index(lines.len()), other.index(lines.len()));
            match how {
                _ if lines[at].starts_with("+++ ") => {}
                0 => lines.insert(at, String::new()),
                1 => lines.insert(at, "words".to_owned()),
                // Without its headers, a patch cannot be distinguished from prose, so they are not damaged.
                _ if is_header(&lines[at]) || is_header(&lines[other]) => {}
                2 => lines[at] = lines[at].chars().skip(1).collect(),
                3 => lines[at].insert(0, ' '),
                _ => lines.swap(at, other),
            }
        }
        let text = format!("{}\n", lines.join("\n"));
        let Ok(request) = read(&text) else { return Ok(()) };
        let mut read: Vec<String> = Vec::new();
        for file in &request.files {
            if let FileAction::Edit { ops, .. } = &file.action
                && let [Op { at: Locator::Blank, text }] = &**ops
            {
                read.extend(text.lines().map(|line| format!("+{line}")));
                continue;
            }
            for line in hunks(file).into_iter().flat_map(|hunk| &hunk.lines) {
                match line.kind {
                    HunkLineKind::Removed => read.push(format!("-{}", line.text)),
                    HunkLineKind::Added => read.push(format!("+{}", line.text)),
                    _ => {}
                }
            }
        }
        for line in &lines {
            let token = line.starts_with("-t") || line.starts_with("+t");
            prop_assert!(!token || read.contains(line), "{} is lost:\n{}", line, text);
        }
    }
}
