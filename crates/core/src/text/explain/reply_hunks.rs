//! Hunks for replies: bounded in bytes, with long lines trimmed around their change.

use super::{DiffHunk, DiffLine, LineKind, hunks_within};
use crate::text::change::ChangeSet;
use crate::text::snapshot::Snapshot;
use std::borrow::Cow;

/// Maximum number of characters of one line in a reply.
pub const LINE_CHARS_MAX: usize = 1000;
/// Bytes that a line takes in addition to its text.
const LINE_OVERHEAD_BYTES: usize = 8;
/// Lines shorter than this many bytes are always shown completely, so that nothing has to be compared.
const SHORT_LINE_BYTES: usize = 200;

/// The part of a line that a reply shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineWindow {
    /// Characters of the line before the part.
    pub before: usize,
    /// Characters of the line after the part.
    pub after: usize,
    /// Byte of the part at which the line begins to differ from its counterpart.
    pub focus: usize,
}

/// Lines that a hunk counts but omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedLines {
    /// Unchanged lines.
    pub context: usize,
    /// Removed lines.
    pub removed: usize,
    /// Added lines.
    pub added: usize,
}

impl OmittedLines {
    /// The total number of omitted lines.
    pub const fn lines(self) -> usize {
        self.context + self.removed + self.added
    }

    pub(super) const fn count(&mut self, kind: LineKind, lines: usize) {
        match kind {
            LineKind::Kept => self.context += lines,
            LineKind::Removed => self.removed += lines,
            LineKind::Added => self.added += lines,
        }
    }
}

/// The remaining room for the lines of hunks, in bytes.
pub(super) struct LineBudget {
    pub(super) bytes: usize,
    width: usize,
}

impl LineBudget {
    pub(super) const fn unlimited() -> LineBudget {
        LineBudget { bytes: usize::MAX, width: usize::MAX }
    }

    pub(super) const fn none() -> LineBudget {
        LineBudget { bytes: 0, width: usize::MAX }
    }

    pub(super) const fn is_limited(&self) -> bool {
        self.width < usize::MAX
    }

    /// Returns how many of `wanted` lines there is room for.
    pub(super) fn of_lines(&self, wanted: usize) -> usize {
        wanted.min(self.bytes / LINE_OVERHEAD_BYTES)
    }

    /// Trims a line around the first difference from its counterpart, and subtracts its size from the room.
    pub(super) fn line(&mut self, kind: LineKind, line: &str, counterpart: &str, ended: bool) -> DiffLine {
        if !self.is_limited() || line.len() <= SHORT_LINE_BYTES {
            if self.is_limited() {
                self.bytes = self.bytes.saturating_sub(line.len() + LINE_OVERHEAD_BYTES);
            }
            return DiffLine { kind, text: line.to_owned(), ended, window: LineWindow::default() };
        }
        let focus = if kind == LineKind::Kept { 0 } else { first_difference(line, counterpart) };
        let part = part_around(line, focus, self.width);
        let window = LineWindow {
            before: line[..part.start].chars().count(),
            after: line[part.end..].chars().count(),
            focus: focus - part.start,
        };
        self.bytes = self.bytes.saturating_sub(part.len() + LINE_OVERHEAD_BYTES);
        DiffLine { kind, text: line[part].to_owned(), ended, window }
    }
}

/// Returns the offset of the first character in which two lines differ, or the end of the line.
fn first_difference(line: &str, other: &str) -> usize {
    let at = line.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    (0..=at).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0)
}

/// Returns at most `width` characters of a line, a quarter of them before `focus`.
fn part_around(line: &str, focus: usize, width: usize) -> core::ops::Range<usize> {
    let start = chars_before(line, focus, width / 4);
    match line[start..].char_indices().nth(width) {
        Some((at, _)) => start..start + at,
        // A part that reaches the end of the line shows more before the focus instead.
        None => chars_before(line, line.len(), width).min(start)..line.len(),
    }
}

/// Returns the offset that is `chars` characters before `end`.
fn chars_before(line: &str, end: usize, chars: usize) -> usize {
    line[..end].char_indices().rev().take(chars).last().map_or(end, |(at, _)| at)
}

impl DiffLine {
    /// True when `text` is the whole line.
    pub const fn is_whole(&self) -> bool {
        self.window.before == 0 && self.window.after == 0
    }

    /// Returns the line in at most about `width` characters, with the number of omitted characters at either end.
    pub fn shown(&self, width: usize) -> Cow<'_, str> {
        let LineWindow { mut before, mut after, focus } = self.window;
        let mut text = &*self.text;
        if text.len() > width && text.chars().count() > width {
            let part = part_around(text, focus, width);
            before += text[..part.start].chars().count();
            after += text[part.end..].chars().count();
            text = &text[part];
        }
        match (before, after) {
            (0, 0) => Cow::Borrowed(text),
            (0, after) => Cow::Owned(format!("{text}⟪{after} more characters⟫")),
            (before, 0) => Cow::Owned(format!("⟪{before} characters⟫{text}")),
            (before, after) => Cow::Owned(format!("⟪{before} characters⟫{text}⟪{after} more characters⟫")),
        }
    }
}

/// Returns the hunks of a change set for a reply: their lines take about `bytes` at most, and a line at most
/// [`LINE_CHARS_MAX`] characters. The hunks count omitted lines as well.
pub fn reply_hunks(base: &Snapshot, changes: &ChangeSet, context: usize, bytes: usize) -> Vec<DiffHunk> {
    hunks_within(base, changes, context, &mut LineBudget { bytes, width: LINE_CHARS_MAX })
}

#[cfg(test)]
mod tests {
    use super::super::{DiffLine, LineKind, stat, structured};
    use super::{LINE_CHARS_MAX, LineWindow, reply_hunks};
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;
    use proptest::prelude::*;

    #[test]
    fn long_line_is_trimmed_around_the_change() {
        let line = format!("{}old{}\n", "a".repeat(3000), "b".repeat(5000));
        let base = Snapshot::from_text(&line);
        let changes = ChangeSet::new(&base, [Splice::new(Span::new(3000, 3003), &b"new"[..], 0)]).unwrap();
        let hunks = reply_hunks(&base, &changes, 4, 100_000);
        let [removed, added] = &*hunks[0].lines else { panic!("{hunks:?}") };
        assert_eq!(
            (removed.window, removed.text.len()),
            (LineWindow { before: 2750, after: 4253, focus: 250 }, LINE_CHARS_MAX)
        );
        let shown = added.shown(40);
        assert_eq!(shown, format!("⟪2990 characters⟫{}new{}⟪4973 more characters⟫", "a".repeat(10), "b".repeat(27)));
        assert!(structured(&hunks).to_string().len() < 2300);
    }

    #[test]
    fn omitted_lines_are_counted() {
        let base = Snapshot::from_text(&"line\n".repeat(1000));
        let changes =
            ChangeSet::new(&base, [Splice::new(Span::new(0, 5000), "word\n".repeat(2000).as_bytes(), 0)]).unwrap();
        let hunks = reply_hunks(&base, &changes, 1, 1200);
        assert_eq!((stat(&hunks).removed, stat(&hunks).added), (1000, 2000));
        assert_eq!((hunks[0].old_lines, hunks[0].new_lines), (1000, 2000));
        let count = |kind| hunks[0].lines.iter().filter(|line| line.kind == kind).count();
        assert_eq!((count(LineKind::Removed), count(LineKind::Added)), (50, 50));
        assert_eq!(structured(&hunks)[0]["omittedLines"], 2900);
    }

    proptest! {
        /// The length of the part and the numbers before and after it add up to the length of the line.
        #[test]
        fn omitted_characters_are_counted(line in "[aé]{0,60}", focus in 0usize..60, width in 1usize..30) {
            let focus = (0..=focus.min(line.len())).rev().find(|&at| line.is_char_boundary(at)).unwrap();
            let whole = DiffLine {
                kind: LineKind::Kept, text: line.clone(), ended: true, window: LineWindow { focus, ..LineWindow::default() },
            };
            let shown = whole.shown(width).into_owned();
            let number = |part: &str| part.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
            let (before, rest) = match shown.split_once(" characters⟫") {
                Some((n, rest)) if shown.starts_with('⟪') => (number(n), rest),
                _ => (0, &*shown),
            };
            let (text, after) = rest.split_once('⟪').map_or((rest, 0), |(text, n)| (text, number(n)));
            prop_assert_eq!(before + text.chars().count() + after, line.chars().count());
            prop_assert!(text.chars().count() <= width);
            prop_assert!(line.contains(text));
        }
    }
}
