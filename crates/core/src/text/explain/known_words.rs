//! The changed words of hunks, found from the ranges that an edit replaced. Lines that no range touches are never
//! marked; within a range, words that both sides share are not marked.

use super::compared_words::{COMMON_WORDS_PERCENT_MIN, COMPARISON_CELLS_MAX, ComparedWords, WordSide};
use super::{DiffHunk, DiffLine, LineKind};
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::text::tokens::{is_word, tokens};
use core::ops::Range;

/// Percentage of words that two lines of a range of several lines must have in common to count as the same line.
const SIMILAR_WORDS_PERCENT_MIN: usize = 50;
/// Number of new lines among which the counterpart of an old line is searched for.
const LINES_AHEAD_MAX: usize = 20;

/// A replaced range of a change, without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacedSpan {
    /// Offset in the old version.
    pub at: usize,
    /// Number of old bytes.
    pub old: usize,
    /// Number of new bytes.
    pub new: usize,
}

/// The changed parts of each line of a hunk, as ranges of its shown text.
pub type HunkWords = Vec<Vec<Range<usize>>>;

/// Returns the changed words of each hunk between two versions, from the ranges that a change replaced; `None` if the
/// versions differ outside of them.
pub fn known_words(
    before: &Snapshot,
    after: &Snapshot,
    spans: &[ReplacedSpan],
    hunks: &[DiffHunk],
) -> Option<Vec<HunkWords>> {
    let pairs = replaced_text(before, after, spans)?;
    let marks = WordMarks::new(before.text(), after.text(), &pairs);
    let mut old = LineCursor::new(before.text(), &marks.old);
    let mut new = LineCursor::new(after.text(), &marks.new);
    let mut out = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        old.go_to(hunk.old_start + usize::from(hunk.old_lines == 0));
        new.go_to(hunk.new_start + usize::from(hunk.new_lines == 0));
        let mut words = Vec::with_capacity(hunk.lines.len());
        for line in &hunk.lines {
            words.push(match line.kind {
                LineKind::Removed => old.take(line),
                LineKind::Added => new.take(line),
                LineKind::Kept => {
                    old.take(line);
                    new.take(line);
                    Vec::new()
                }
            });
        }
        clear_whole_lines(hunk, &mut words);
        out.push(words);
    }
    Some(out)
}

/// True if all text outside of the marks of a line is whitespace.
fn is_all_marked(line: &str, words: &[Range<usize>]) -> bool {
    let mut at = 0;
    let mut rest = words.iter().map(|word| {
        let rest = &line[at..word.start];
        at = word.end;
        rest
    });
    let is_blank = rest.by_ref().all(|rest| rest.trim().is_empty());
    is_blank && line[at..].trim().is_empty()
}

/// Removes the marks of lines that only one side has, and of lines that are marked completely: such lines are new or
/// removed as a whole, which a diff shows without marks.
fn clear_whole_lines(hunk: &DiffHunk, words: &mut [Vec<Range<usize>>]) {
    let mut at = 0;
    for run in hunk.lines.chunk_by(|left, right| (left.kind == LineKind::Kept) == (right.kind == LineKind::Kept)) {
        let has = |kind| run.iter().any(|line| line.kind == kind);
        if !(has(LineKind::Removed) && has(LineKind::Added)) {
            words[at..at + run.len()].iter_mut().for_each(Vec::clear);
        }
        for (line, words) in run.iter().zip(&mut words[at..at + run.len()]) {
            if is_all_marked(&line.text, words) {
                words.clear();
            }
        }
        at += run.len();
    }
}

/// Returns the replaced ranges of both texts; `None` if the versions differ elsewhere.
fn replaced_text(before: &Snapshot, after: &Snapshot, spans: &[ReplacedSpan]) -> Option<Vec<(Span, Span)>> {
    let (mut old_at, mut new_at) = (0, 0);
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        let kept = before.raw().get(old_at..span.at)?;
        if after.raw().get(new_at..)?.get(..kept.len())? != kept {
            return None;
        }
        new_at += kept.len();
        let (old_end, new_end) = (span.at.checked_add(span.old)?, new_at.checked_add(span.new)?);
        if old_end > before.raw().len() || new_end > after.raw().len() {
            return None;
        }
        let old = before.text_span(Span::new(span.at, old_end));
        let new = after.text_span(Span::new(new_at, new_end));
        before.text().get(old.range())?;
        after.text().get(new.range())?;
        out.push((old, new));
        (old_at, new_at) = (old_end, new_end);
    }
    (before.raw().get(old_at..)? == after.raw().get(new_at..)?).then_some(out)
}

/// The changed parts of both texts, in the order of the text.
#[derive(Default)]
struct WordMarks {
    old: Vec<Range<usize>>,
    new: Vec<Range<usize>>,
}

impl WordMarks {
    fn new(old: &str, new: &str, pairs: &[(Span, Span)]) -> WordMarks {
        let mut marks = WordMarks::default();
        let mut budget = COMPARISON_CELLS_MAX;
        let mut done = SidesOffset::default();
        for (nth, (left, right)) in pairs.iter().enumerate() {
            let next = pairs.get(nth + 1).map_or(SidesOffset { old: old.len(), new: new.len() }, |(left, right)| {
                SidesOffset { old: left.start(), new: right.start() }
            });
            let mut replaced = ReplacedText { old, new, left: left.range(), right: right.range(), done, next };
            replaced.extend_to_words();
            replaced.extend_to_lines();
            done = SidesOffset { old: replaced.left.end, new: replaced.right.end };
            marks.add(&replaced, &mut budget);
        }
        marks
    }

    /// Adds the words of a replaced range that differ. A range within one line is marked completely if the sides have
    /// too little in common; in a longer range, such lines are not marked.
    fn add(&mut self, replaced: &ReplacedText<'_>, budget: &mut usize) {
        if replaced.has_line_end() {
            self.add_lines(replaced, budget);
            return;
        }
        let ReplacedText { old, new, left, right, .. } = replaced;
        match compared(&old[left.clone()], &new[right.clone()], budget) {
            Some(words) if words.has_common(COMMON_WORDS_PERCENT_MIN) => {
                self.add_words(&words, left.start, right.start);
            }
            _ => {
                push(&mut self.old, left.clone());
                push(&mut self.new, right.clone());
            }
        }
    }

    /// Adds the words that differ between lines that resemble each other. All other lines are new or removed as a
    /// whole.
    fn add_lines(&mut self, replaced: &ReplacedText<'_>, budget: &mut usize) {
        let ReplacedText { old, new, left, right, .. } = replaced;
        let (old_lines, new_lines) = (line_ranges(old, left.clone()), line_ranges(new, right.clone()));
        let mut next = 0;
        for line in old_lines {
            let ahead = new_lines.iter().enumerate().skip(next).take(LINES_AHEAD_MAX);
            for (at, other) in ahead {
                let Some(words) = compared(&old[line.clone()], &new[other.clone()], budget) else { return };
                if words.has_common(SIMILAR_WORDS_PERCENT_MIN) {
                    self.add_words(&words, line.start, other.start);
                    next = at + 1;
                    break;
                }
            }
        }
    }

    fn add_words(&mut self, words: &ComparedWords<'_>, old_start: usize, new_start: usize) {
        push_differing(&mut self.old, old_start, &words.old);
        push_differing(&mut self.new, new_start, &words.new);
    }
}

/// Compares the words of two texts; `None` if the budget is used up.
fn compared<'a>(old: &'a str, new: &'a str, budget: &mut usize) -> Option<ComparedWords<'a>> {
    ComparedWords::new(tokens(old), tokens(new), budget)
}

/// Returns the ranges of the lines in a part of a text, without their line ends.
fn line_ranges(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mut at = part.start;
    let mut out = Vec::new();
    for line in text[part].split('\n') {
        out.push(at..at + line.len());
        at += line.len() + 1;
    }
    out
}

/// Adds the ranges of the words that are not kept.
fn push_differing(marks: &mut Vec<Range<usize>>, mut at: usize, side: &WordSide<'_>) {
    for (word, kept) in side.words.iter().zip(&side.kept) {
        if !kept {
            push(marks, at..at + word.len());
        }
        at += word.len();
    }
}

/// Adds a range; if it touches the last one, the two are joined.
fn push(marks: &mut Vec<Range<usize>>, part: Range<usize>) {
    match marks.last_mut() {
        Some(last) if last.end >= part.start => last.end = last.end.max(part.end),
        _ if part.is_empty() => {}
        _ => marks.push(part),
    }
}

/// An offset in each of both texts.
#[derive(Clone, Copy, Default)]
struct SidesOffset {
    old: usize,
    new: usize,
}

/// A replaced range of both texts.
struct ReplacedText<'a> {
    old: &'a str,
    new: &'a str,
    left: Range<usize>,
    right: Range<usize>,
    /// The end of the range before; between it and this range both texts are equal.
    done: SidesOffset,
    /// The start of the next range; between this range and it both texts are equal.
    next: SidesOffset,
}

impl ReplacedText<'_> {
    fn has_line_end(&self) -> bool {
        self.old[self.left.clone()].contains('\n') || self.new[self.right.clone()].contains('\n')
    }

    /// Returns the number of bytes before the range that both sides share.
    fn common_before(&self) -> usize {
        (self.left.start - self.done.old).min(self.right.start - self.done.new)
    }

    /// Returns the number of bytes after the range that both sides share.
    fn common_after(&self) -> usize {
        (self.next.old - self.left.end).min(self.next.new - self.right.end)
    }

    /// Extends the range on both sides by the text around it, which is equal in both.
    fn extend(&mut self, before: usize, after: usize) {
        self.left = self.left.start - before..self.left.end + after;
        self.right = self.right.start - before..self.right.end + after;
    }

    /// Extends the range to whole words.
    fn extend_to_words(&mut self) {
        let (mut before, mut after) = (0, 0);
        if is_joined(self.old, self.left.start) || is_joined(self.new, self.right.start) {
            let head = self.old[..self.left.start].chars().rev().take_while(|&ch| is_word(ch));
            before = head.map(char::len_utf8).sum::<usize>().min(self.common_before());
        }
        if is_joined(self.old, self.left.end) || is_joined(self.new, self.right.end) {
            let tail = self.old[self.left.end..].chars().take_while(|&ch| is_word(ch));
            after = tail.map(char::len_utf8).sum::<usize>().min(self.common_after());
        }
        self.extend(before, after);
    }

    /// Extends a range that contains a line end to whole lines, because text that an edit shares with its surroundings
    /// can be matched with the text before or after it.
    fn extend_to_lines(&mut self) {
        if !self.has_line_end() {
            return;
        }
        let (before, after) = (self.common_before(), self.common_after());
        let head = &self.old[self.left.start - before..self.left.start];
        let tail = &self.old[self.left.end..self.left.end + after];
        let head = before - head.rfind('\n').map_or(0, |at| at + 1);
        let tail = tail.find('\n').unwrap_or(after);
        self.extend(head, tail);
    }
}

/// True if the characters before and after the offset belong to the same word.
#[inline]
fn is_joined(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    before.chars().next_back().is_some_and(is_word) && after.chars().next().is_some_and(is_word)
}

/// Iterates over the lines of a text and the marks on them.
struct LineCursor<'a> {
    text: &'a str,
    /// Number of the line at `at`, from 1.
    line: usize,
    at: usize,
    marks: &'a [Range<usize>],
}

impl<'a> LineCursor<'a> {
    const fn new(text: &'a str, marks: &'a [Range<usize>]) -> LineCursor<'a> {
        LineCursor { text, line: 1, at: 0, marks }
    }

    /// Advances to a line.
    fn go_to(&mut self, line: usize) {
        while self.line < line && self.at < self.text.len() {
            self.next_line();
        }
    }

    /// Returns the range of the line, and advances to the next one.
    fn next_line(&mut self) -> Range<usize> {
        let start = self.at;
        let stop = memchr::memchr(b'\n', &self.text.as_bytes()[start..]).map(|end| start + end);
        self.at = stop.map_or(self.text.len(), |stop| stop + 1);
        self.line += 1;
        start..stop.unwrap_or(self.text.len())
    }

    /// Returns the marks of the line as ranges of the part of it in `shown`, and advances to the next line.
    fn take(&mut self, shown: &DiffLine) -> Vec<Range<usize>> {
        let range = self.next_line();
        let line = &self.text[range.clone()];
        let skipped = line.char_indices().nth(shown.window.before).map_or(line.len(), |(at, _)| at);
        // After omitted lines, the line number does not match the text; such lines get no marks.
        if !line[skipped..].starts_with(&*shown.text) {
            return Vec::new();
        }
        let start = range.start + skipped;
        let end = start + shown.text.len();
        let first = self.marks.partition_point(|mark| mark.end <= start);
        self.marks = &self.marks[first..];
        let here = self.marks.iter().take_while(|mark| mark.start < end);
        here.map(|mark| mark.start.max(start) - start..mark.end.min(end) - start).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LineKind, hunks};
    use super::{ReplacedSpan, known_words};
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;
    use proptest::prelude::*;

    /// Returns the changed lines of a change, with its changed words in angle brackets.
    fn marked(before: &str, splices: &[(usize, usize, &str)]) -> Vec<String> {
        let base = Snapshot::from_text(before);
        let parts = splices.iter().map(|(at, end, text)| Splice::new(Span::new(*at, *end), text.as_bytes(), 0));
        let changes = ChangeSet::new(&base, parts).unwrap();
        let after = Snapshot::from_text(&String::from_utf8(changes.apply(&base)).unwrap());
        let spans: Vec<ReplacedSpan> = changes
            .splices()
            .iter()
            .map(|it| ReplacedSpan { at: it.span.start(), old: it.span.len(), new: it.text.len() })
            .collect();
        let hunks = hunks(&base, &changes, 1);
        let words = known_words(&base, &after, &spans, &hunks).unwrap();
        let mut out = Vec::new();
        for (line, parts) in hunks.iter().flat_map(|hunk| &hunk.lines).zip(words.iter().flatten()) {
            let mut text = line.text.clone();
            for part in parts.iter().rev() {
                text.insert(part.end, '>');
                text.insert(part.start, '<');
            }
            if line.kind != LineKind::Kept {
                out.push(format!("{}{text}", line.kind.sign()));
            }
        }
        out
    }

    #[test]
    fn replaced_words_are_marked() {
        // A comparison of words cannot know which of two equal arguments is new.
        assert_eq!(marked("f(a, a)\n", &[(2, 2, "a, ")]), ["-f(a, a)", "+f(<a, >a, a)"]);
        // Marks cover whole words, also where only a part of a word was replaced.
        assert_eq!(marked("x = 19;\n", &[(5, 6, "7")]), ["-x = <19>;", "+x = <17>;"]);
        assert_eq!(marked("foo(1)\n", &[(3, 3, "bar")]), ["-<foo>(1)", "+<foobar>(1)"]);
        // Two ranges in one word mark the word as a whole.
        assert_eq!(marked("aXbYc d\n", &[(1, 2, "x"), (3, 4, "y")]), ["-<aXbYc> d", "+<axbyc> d"]);
        // A line whose text changed completely needs no marks.
        assert_eq!(marked("  one\n", &[(2, 5, "two")]), ["-  one", "+  two"]);
        assert_eq!(marked("TAX = 0.19\n", &[(3, 10, "_RATE = 0.07")]), ["-<TAX> = 0.<19>", "+<TAX_RATE> = 0.<07>"]);
        // A range over several lines is compared by words.
        let lines = "fn a() {\n    one(1);\n    two(2);\n}\n";
        assert_eq!(
            marked(lines, &[(13, 33, "one(7);\n    two(9);\n")])[..],
            ["-    one(<1>);", "-    two(<2>);", "+    one(<7>);", "+    two(<9>);"]
        );
        // Text that an edit shares with the text after it is not new.
        let json = "{\n  \"debug\": true,\n}\n";
        let new = "false,\n  \"currency\": \"EUR\"";
        let want = ["-  \"debug\": <true>,", "+  \"debug\": <false>,", "+  \"currency\": \"EUR\","];
        assert_eq!(marked(json, &[(13, 17, new)]), want);
        // Lines that differ completely are not marked; lines that share words are.
        assert_eq!(marked("one two\nthree\n", &[(0, 13, "x\ny z")]), ["-one two", "-three", "+x", "+y z"]);
        assert_eq!(marked("a b\nc d\n", &[(2, 5, "x\ny")]), ["-a <b>", "-<c> d", "+a <x>", "+<y> d"]);
        assert_eq!(marked("a\n", &[(2, 2, "new line\n")]), ["+new line"]);
    }

    #[test]
    fn other_versions_are_noticed() {
        let (before, after) = (Snapshot::from_text("abc\n"), Snapshot::from_text("axd\n"));
        let span = |at, old, new| known_words(&before, &after, &[ReplacedSpan { at, old, new }], &[]).is_some();
        assert!(span(1, 2, 2) && !span(1, 1, 1) && !span(1, 9, 9) && !span(usize::MAX, 1, 1));
    }

    proptest! {
        /// The marks are parts of their lines; if no line end is replaced, the unmarked text is the same on both sides.
        #[test]
        fn unmarked_text_is_common(
            base in "[ab é\n]{1,30}", seeds in prop::collection::vec((0usize..31, 0usize..31, "[ax é\n]{0,6}"), 0..4)
        ) {
            let base = Snapshot::from_text(&base);
            let cut = |at: usize| (0..=at.min(base.text().len())).rev().find(|&at| base.text().is_char_boundary(at)).unwrap();
            let splices = seeds.iter().map(|(a, b, text)| Splice::new(Span::new(cut(*a.min(b)), cut(*a.max(b))), text.as_bytes(), 0));
            let Ok(changes) = ChangeSet::new(&base, splices) else { return Ok(()) };
            let after = Snapshot::from_text(&String::from_utf8(changes.apply(&base)).unwrap());
            let spans: Vec<ReplacedSpan> = changes.splices().iter()
                .map(|it| ReplacedSpan { at: it.span.start(), old: it.span.len(), new: it.text.len() }).collect();
            let hunks = hunks(&base, &changes, 1);
            let words = known_words(&base, &after, &spans, &hunks).unwrap();
            let mut sides = [String::new(), String::new()];
            for (hunk, words) in hunks.iter().zip(&words) {
                prop_assert_eq!(hunk.lines.len(), words.len());
                for (line, parts) in hunk.lines.iter().zip(words) {
                    let mut text = line.text.clone();
                    prop_assert!(parts.windows(2).all(|two| two[0].end < two[1].start));
                    for part in parts.iter().rev() {
                        text.replace_range(part.clone(), "");
                    }
                    if line.kind == LineKind::Kept {
                        prop_assert!(parts.is_empty());
                    } else {
                        sides[usize::from(line.kind == LineKind::Added)].push_str(&text);
                    }
                }
            }
            let [old, new] = sides;
            let is_within_lines = changes.splices().iter()
                .all(|it| !it.text.contains(&b'\n') && !base.text()[it.span.range()].contains('\n'));
            let is_cleared = hunks.iter().zip(&words).any(|(hunk, words)| {
                hunk.lines.iter().zip(words).any(|(line, words)| line.kind != LineKind::Kept && words.is_empty())
            });
            prop_assert!(!is_within_lines || is_cleared || old == new, "{old:?} {new:?}");
        }
    }
}
