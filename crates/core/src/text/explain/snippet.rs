//! The snippet of a reply: the changed places of the new version with line numbers, and removed lines without a
//! replacement.

use super::{DiffHunk, DiffLine, DiffText, LineKind};
use std::fmt::Write as _;

/// Maximum number of removed lines shown at one place; the others are counted.
const REMOVED_LINES_MAX: usize = 3;
/// Maximum number of characters shown of a removed line.
const REMOVED_LINE_CHARS_MAX: usize = 160;
/// Gutter of a removed line, which has no number any more.
const REMOVED_LINE_GUTTER: &str = "-      \t";

/// Formats the changed places of the new version with line numbers and `>` before changed lines, in about `limit` bytes
/// at most; a longer snippet is cut between lines, with a remark (seed 000). Where more lines were removed than added,
/// the removed ones are shown with `-` and without a number. A long line is trimmed so that the first change is always
/// shown.
pub fn snippet(hunks: &[DiffHunk], limit: usize) -> DiffText {
    let mut out = DiffText::default();
    for (nth, hunk) in hunks.iter().enumerate() {
        if nth > 0 {
            out.text.push_str("...\n");
        }
        let mut skipped = if nth == 0 { distant(&hunk.lines, limit) } else { 0 };
        let mut number = hunk.new_start + usize::from(hunk.new_lines == 0);
        for run in hunk.lines.chunk_by(|a, b| a.kind == b.kind) {
            if run.first().is_some_and(|line| line.kind == LineKind::Removed) {
                removed(hunk, run, limit, &mut out);
                continue;
            }
            let passed = skipped.min(run.len());
            (skipped, number) = (skipped - passed, number + passed);
            for line in &run[passed..] {
                if !numbered(line, number, limit, &mut out) {
                    out.cut = true;
                    break;
                }
                number += 1;
            }
            if out.cut {
                break;
            }
        }
        out.cut |= hunk.omitted.context + hunk.omitted.added > 0;
        if out.cut {
            out.text.push_str("... (truncated)\n");
            return out;
        }
    }
    out
}

/// Adds a line of the new version; false if there is no room for it.
fn numbered(line: &DiffLine, number: usize, limit: usize, out: &mut DiffText) -> bool {
    let mut digits = [b' '; 20];
    let mark = right_aligned(number, &mut digits);
    // The other three bytes are the mark, the tab and the line end.
    let room = limit.saturating_sub(out.text.len() + mark.len() + 3);
    let alone = out.lines.is_empty() && line.kind == LineKind::Added;
    let width = match line.kind {
        LineKind::Kept => room.min(limit / 4 + 1),
        _ if alone => room.max(limit / 2),
        _ => room,
    };
    if line.text.len() > width && width <= limit / 4 {
        return false;
    }
    let text = line.shown(width);
    out.text.push(if line.kind == LineKind::Added { '>' } else { ' ' });
    out.text.push_str(mark);
    out.text.push('\t');
    out.text.push_str(&text);
    out.text.push('\n');
    if text.len() == line.text.len() && line.is_whole() {
        out.mark_shown(number);
    }
    true
}

/// Adds removed lines if there are more of them than of their replacements: the first ones, and the number of the
/// others.
fn removed(hunk: &DiffHunk, run: &[DiffLine], limit: usize, out: &mut DiffText) {
    let Some(last) = run.last() else { return };
    let rest = hunk.lines.iter().skip_while(|line| !std::ptr::eq(*line, last)).skip(1);
    let (mut added, mut more, mut adding) = (0, hunk.omitted.removed, true);
    for line in rest {
        adding &= line.kind == LineKind::Added;
        added += usize::from(adding);
        if line.kind == LineKind::Removed {
            more = 0;
            break;
        }
    }
    let gone = run.len() + more;
    if gone <= added + if adding { hunk.omitted.added } else { 0 } {
        return;
    }
    let mut shown = 0;
    for line in run.iter().take(REMOVED_LINES_MAX) {
        let text = line.shown(REMOVED_LINE_CHARS_MAX);
        // The other half of the room is for the change itself.
        if out.text.len() + text.len() > limit / 2 {
            break;
        }
        out.text.extend([REMOVED_LINE_GUTTER, &text, "\n"]);
        shown += 1;
    }
    if gone > shown {
        let lines = if gone - shown == 1 { "line" } else { "lines" };
        let which = if shown == 0 { "" } else { "more " };
        // Writing to a String cannot fail.
        let _ = writeln!(out.text, "{REMOVED_LINE_GUTTER}⟪{} {which}{lines} removed⟫", gone - shown);
    }
}

/// Returns the number of unchanged lines at the beginning of a hunk for which a snippet has no room: half of the room
/// is for the change.
fn distant(lines: &[DiffLine], limit: usize) -> usize {
    let leading = lines.iter().take_while(|line| line.kind == LineKind::Kept).count();
    let mut room = limit / 2;
    for (at, line) in lines[..leading].iter().enumerate().rev() {
        let Some(left) = room.checked_sub(line.text.len() + 10) else { return at + 1 };
        room = left;
    }
    0
}

/// Formats a number in six columns, or more if needed. Every reply has about a dozen numbered lines, and the standard
/// formatter would take longer for the number than everything else in the line takes.
fn right_aligned(number: usize, digits: &mut [u8; 20]) -> &str {
    let (mut at, mut left) = (digits.len(), number);
    while at > 0 {
        at -= 1;
        digits[at] = b"0123456789"[left % 10];
        left /= 10;
        if left == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[at.min(digits.len() - 6)..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{hunks, stat};
    use super::snippet;
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;

    fn shown(text: &str, from: usize, to: usize, new: &str) -> String {
        let base = Snapshot::from_text(text);
        let changes = ChangeSet::new(&base, [Splice::new(Span::new(from, to), new.as_bytes(), 0)]).unwrap();
        snippet(&hunks(&base, &changes, 4), 1000).text
    }

    #[test]
    fn snippet_numbers_the_new_lines() {
        let base = Snapshot::from_text("a\nb\nc\n");
        let changes = ChangeSet::new(&base, [Splice::new(Span::new(2, 3), &b"B\nB2"[..], 0)]).unwrap();
        let hunks = hunks(&base, &changes, 4);
        assert_eq!(snippet(&hunks, 1000).text, "      1\ta\n>     2\tB\n>     3\tB2\n      4\tc\n");
        assert_eq!((stat(&hunks).added, stat(&hunks).removed), (2, 1));
        for number in [0, 7, 10, 99_999, 999_999, 1_000_000, usize::MAX] {
            assert_eq!(super::right_aligned(number, &mut [b' '; 20]), format!("{number:>6}"));
        }
    }

    #[test]
    fn snippet_of_a_deletion_shows_its_surroundings() {
        assert_eq!(shown("a\nb\nc\n", 2, 4, ""), "      1\ta\n-      \tb\n      2\tc\n");
        assert_eq!(shown("a\nb\nc\nd\n", 2, 6, "B\n"), "      1\ta\n-      \tb\n-      \tc\n>     2\tB\n      3\td\n");
        assert_eq!(shown("a\nb\nc\n", 2, 4, "B\n"), "      1\ta\n>     2\tB\n      3\tc\n");
        let many = shown(&"line\n".repeat(10), 0, 25, "");
        assert!(
            many.starts_with(
                "-      \tline\n-      \tline\n-      \tline\n-      \t⟪2 more lines removed⟫\n      1\tline\n"
            ),
            "{many}"
        );
        let long = shown(&format!("{}\nb\n", "x".repeat(5000)), 0, 5001, "");
        assert!(long.len() < 300 && long.contains("more characters⟫"), "{long}");
    }
}
