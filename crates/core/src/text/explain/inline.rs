//! Changes within lines, by words: for a terminal that highlights them, and for a word diff.

use super::compared_words::{COMMON_WORDS_PERCENT_MIN, COMPARISON_CELLS_MAX, ComparedWords, WordSide};
use super::{DiffHunk, DiffText, LineKind, cut_mark};
use crate::text::tokens::tokens;
use std::borrow::Cow;
use std::fmt::Write as _;

/// A line with its kind.
type MarkedLine<'a> = (LineKind, &'a str);

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSegment<'a> {
    /// True if the part is only on this side.
    pub changed: bool,
    /// The text of the part.
    pub text: &'a str,
}

/// Splits each line into segments. Removed lines are compared with the added ones that follow them; unchanged lines,
/// and lines that have too little in common with their replacement, are one unmarked segment.
pub fn inline<'a>(lines: &[MarkedLine<'a>]) -> Vec<Vec<LineSegment<'a>>> {
    let mut out = Vec::with_capacity(lines.len());
    let mut budget = COMPARISON_CELLS_MAX;
    for (removed, added) in runs(lines) {
        match compared(removed, added, &mut budget) {
            Some(words) => out.extend([&words.old, &words.new].into_iter().flat_map(by_line)),
            None => {
                out.extend(removed.iter().chain(added).map(|line| vec![LineSegment { changed: false, text: line.1 }]));
            }
        }
    }
    out
}

/// Formats the hunks with `[-old-]` and `{+new+}` around words that differ, in at most `limit` bytes. A longer diff is
/// cut between lines, with a remark.
pub fn by_words(path: &str, hunks: &[DiffHunk], limit: usize) -> DiffText {
    let mut out = DiffText { text: format!("--- {path}\n+++ {path}\n"), ..DiffText::default() };
    let mut budget = COMPARISON_CELLS_MAX;
    let mut shown = 0;
    for hunk in hunks {
        let mut number = hunk.new_start + usize::from(hunk.new_lines == 0);
        // Writing to a String cannot fail.
        let _ = writeln!(out.text, "@@ line {number} @@");
        let texts: Vec<Cow<'_, str>> = hunk.lines.iter().map(|line| line.shown(usize::MAX)).collect();
        let lines: Vec<MarkedLine<'_>> =
            hunk.lines.iter().zip(&texts).map(|(line, text)| (line.kind, &**text)).collect();
        let mut at = 0;
        for (removed, added) in runs(&lines) {
            let text = merged(removed, added, &mut budget);
            if out.text.len() + text.len() > limit {
                out.cut = true;
                break;
            }
            out.text.push_str(&text);
            let kept = removed.first().is_some_and(|line| line.0 == LineKind::Kept);
            if kept && hunk.lines[at].is_whole() {
                out.mark_shown(number);
            }
            number += if kept { 1 } else { added.len() };
            at += removed.len() + added.len();
        }
        shown += at;
        out.cut |= hunk.omitted.lines() > 0;
        if out.cut {
            out.text.push_str(&cut_mark(hunks, shown));
            return out;
        }
    }
    out
}

/// Groups lines into pairs of removed lines and the added ones that replace them; an unchanged line is a pair of its
/// own, on the first side.
fn runs<'l, 'a>(mut lines: &'l [MarkedLine<'a>]) -> Vec<(&'l [MarkedLine<'a>], &'l [MarkedLine<'a>])> {
    let mut out = Vec::new();
    while let Some(first) = lines.first() {
        let removed = if first.0 == LineKind::Kept { 1 } else { run_length(lines, LineKind::Removed) };
        let added = if first.0 == LineKind::Kept { 0 } else { run_length(&lines[removed..], LineKind::Added) };
        let (run, rest) = lines.split_at(removed + added);
        out.push(run.split_at(removed));
        lines = rest;
    }
    out
}

/// Counts the lines of one kind at the beginning.
fn run_length(lines: &[MarkedLine<'_>], kind: LineKind) -> usize {
    lines.iter().take_while(|line| line.0 == kind).count()
}

/// Splits the words of some lines, each ended by a line end, into the segments of each line.
fn by_line<'a>(side: &WordSide<'a>) -> Vec<Vec<LineSegment<'a>>> {
    let mut out = Vec::new();
    let mut line = Vec::new();
    for (text, kept) in side.words.iter().zip(&side.kept) {
        if *text == "\n" {
            out.push(std::mem::take(&mut line));
        } else {
            line.push(LineSegment { changed: !kept, text });
        }
    }
    out
}

/// Compares both sides; `None` if they have too little in common, or the budget is used up. Each line end is a word.
fn compared<'a>(removed: &[MarkedLine<'a>], added: &[MarkedLine<'a>], budget: &mut usize) -> Option<ComparedWords<'a>> {
    if removed.is_empty() || added.is_empty() {
        return None;
    }
    let words = |lines: &[MarkedLine<'a>]| lines.iter().flat_map(|it| tokens(it.1).into_iter().chain(["\n"])).collect();
    let words = ComparedWords::new(words(removed), words(added), budget)?;
    words.has_common(COMMON_WORDS_PERCENT_MIN).then_some(words)
}

/// Formats one pair of runs as text with the changed words marked.
fn merged(removed: &[MarkedLine<'_>], added: &[MarkedLine<'_>], budget: &mut usize) -> String {
    let mut out = String::new();
    if let [(LineKind::Kept, line)] = removed {
        let _ = writeln!(out, "{line}");
        return out;
    }
    let Some(ComparedWords { old, new }) = compared(removed, added, budget) else {
        for (marks, lines) in [(("[-", "-]"), removed), (("{+", "+}"), added)] {
            for line in lines {
                let _ = writeln!(out, "{}{}{}", marks.0, line.1, marks.1);
            }
        }
        return out;
    };
    // Both sides contain the common words in the same order: everything between two of them differs.
    let (mut left, mut right) = (0, 0);
    while left < old.words.len() || right < new.words.len() {
        left = marked(&mut out, &old, left, "[-", "-]");
        right = marked(&mut out, &new, right, "{+", "+}");
        if let Some(word) = new.words.get(right) {
            out.push_str(word);
        }
        (left, right) = (left + 1, right + 1);
    }
    out
}

/// Writes the words from `at` up to the next common one between two marks; returns its index.
fn marked(out: &mut String, side: &WordSide<'_>, at: usize, open: &str, close: &str) -> usize {
    let end = at + side.kept.iter().skip(at).take_while(|kept| !**kept).count();
    let text: String = side.words.get(at..end).unwrap_or_default().concat();
    if !text.is_empty() {
        // A mark does not extend over a line end that is followed by another line.
        let ended = text.strip_suffix('\n');
        let _ = write!(out, "{}{}{}", open, ended.unwrap_or(&text), close);
        if ended.is_some() {
            out.push('\n');
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::{DiffHunk, DiffLine, LineKind, LineWindow, OmittedLines};
    use super::{LineSegment, by_words, inline};
    use proptest::prelude::*;

    fn kind(sign: char) -> LineKind {
        match sign {
            '-' => LineKind::Removed,
            '+' => LineKind::Added,
            _ => LineKind::Kept,
        }
    }

    fn marked(line: &[LineSegment<'_>]) -> String {
        line.iter().map(|it| if it.changed { format!("<{}>", it.text) } else { it.text.to_owned() }).collect()
    }

    fn lines_of(text: &str) -> Vec<(LineKind, &str)> {
        text.lines().map(|line| (kind(line.chars().next().unwrap()), &line[1..])).collect()
    }

    #[test]
    fn changed_words_are_marked() {
        let lines = lines_of(" a\n-let x = one(1);\n+let y = one(2);\n-gone\n-all of it\n+nothing shared\n b");
        let got: Vec<String> = inline(&lines).iter().map(|line| marked(line)).collect();
        let want = ["a", "let <x> = one(<1>);", "let <y> = one(<2>);", "gone", "all of it", "nothing shared", "b"];
        assert_eq!(got, want);
    }

    #[test]
    fn added_line_is_marked_as_a_whole() {
        let lines = lines_of("-f(a, b)\n+f(a, b)\n+g(c)");
        let got: Vec<String> = inline(&lines).iter().map(|line| marked(line)).collect();
        assert_eq!(got, ["f(a, b)", "f(a, b)", "<g><(><c><)>"]);
    }

    fn hunk(text: &str) -> DiffHunk {
        let line = |(kind, text): (LineKind, &str)| DiffLine {
            kind,
            text: text.to_owned(),
            ended: true,
            window: LineWindow::default(),
        };
        let lines: Vec<DiffLine> = lines_of(text).into_iter().map(line).collect();
        DiffHunk {
            number: 1,
            old_start: 3,
            old_lines: 1,
            new_start: 3,
            new_lines: 1,
            lines,
            omitted: OmittedLines::default(),
        }
    }

    #[test]
    fn word_diff_marks_removed_and_added_words() {
        let text = by_words("f", &[hunk(" a\n-let x = one(1);\n+let y = one(2);\n-gone\n")], 1000).text;
        assert_eq!(text, "--- f\n+++ f\n@@ line 3 @@\na\nlet [-x-]{+y+} = one([-1-]{+2+});\n[-gone-]\n");
        let text = by_words("f", &[hunk("-f(a, b)\n+f(a, b)\n+g(c)\n")], 1000).text;
        assert_eq!(text, "--- f\n+++ f\n@@ line 3 @@\nf(a, b)\n{+g(c)+}\n");
        assert!(by_words("f", &[hunk("-a\n+b\n")], 20).text.ends_with("… (2 of 2 lines of the diff are not shown)\n"));
    }

    proptest! {
        /// No text is omitted or added on either side.
        #[test]
        fn inline_parts_add_up_to_the_lines(seeds in prop::collection::vec(("[-+ ]", "[ab (]{0,8}"), 0..12)) {
            let lines: Vec<(LineKind, &str)> =
                seeds.iter().map(|(sign, text)| (kind(sign.chars().next().unwrap()), &**text)).collect();
            let pieces = inline(&lines);
            // Removed lines after added ones begin a run of their own, so the order of lines is preserved.
            let got: Vec<String> = pieces.iter().map(|line| line.iter().map(|it| it.text).collect()).collect();
            let want: Vec<String> = lines.iter().map(|line| line.1.to_owned()).collect();
            prop_assert_eq!(got, want);
        }

        /// Removing the marked parts from a word diff leaves one side or the other.
        #[test]
        fn word_diff_contains_both_sides(old in "[ab (,]{1,20}", new in "[ab (,]{1,20}") {
            let hunk = hunk(&format!("-{old}\n+{new}\n"));
            let text = by_words("f", &[hunk], 1000).text;
            let body = text.splitn(4, '\n').nth(3).unwrap();
            let without = |open: &str, close: &str, other: [&str; 2]| {
                let mut out = String::new();
                let mut rest = body;
                while let Some((before, inside)) = rest.split_once(open) {
                    out.push_str(before);
                    rest = inside.split_once(close).unwrap().1;
                }
                out.push_str(rest);
                out.replace(other[0], "").replace(other[1], "").trim_matches('\n').to_owned()
            };
            prop_assert_eq!(without("{+", "+}", ["[-", "-]"]), old);
            prop_assert_eq!(without("[-", "-]", ["{+", "+}"]), new);
        }
    }
}
