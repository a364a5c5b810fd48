//! Line diff of two versions, bounded on any input. The common prefix and suffix are skipped by comparing bytes. The
//! rarest lines that occur equally often on both sides become anchors. The gaps between anchors are compared in the
//! same way, and finally line by line, while the budget lasts.

use crate::text::lines::{line_start, line_stop, starts_line};
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work;
use core::ops::Range;
use foldhash::{HashMap, HashMapExt as _};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Cells (lines × lines) for all gaps of one comparison; about 50 ms at worst.
const COMPARISON_CELLS_MAX: usize = 40_000_000;
/// A gap with more cells than this is not compared line by line.
const GAP_CELLS_MAX: usize = 4_000_000;
/// Maximum number of occurrences of a line that may be an anchor.
const ANCHOR_OCCURRENCES_MAX: u32 = 64;
/// Depth of the recursion between anchors. Each level takes one pass over its range.
const ANCHOR_DEPTH_MAX: usize = 8;

/// Length of the common prefix.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut at = 0;
    for block in [4096, 64] {
        while at + block <= len && a[at..at + block] == b[at..at + block] {
            at += block;
        }
    }
    // The rest is short, as edits of lines are: compare it by words, then byte by byte.
    while let (Some(one), Some(other)) = (a[at..len].first_chunk::<8>(), b[at..len].first_chunk::<8>())
        && one == other
    {
        at += 8;
    }
    at + a[at..len].iter().zip(&b[at..len]).take_while(|(a, b)| a == b).count()
}

/// Length of the common suffix.
pub(crate) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[a.len() - len..], &b[b.len() - len..]);
    let mut left = len;
    for block in [4096, 64] {
        while left >= block && a[left - block..left] == b[left - block..left] {
            left -= block;
        }
    }
    while let (Some(one), Some(other)) = (a[..left].last_chunk::<8>(), b[..left].last_chunk::<8>())
        && one == other
    {
        left -= 8;
    }
    len - left + a[..left].iter().rev().zip(b[..left].iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Lengths of the common prefix and suffix of two texts, in whole characters.
pub(crate) fn common_text_ends(old: &str, new: &str) -> (usize, usize) {
    let mut head = common_prefix(old.as_bytes(), new.as_bytes());
    while !old.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = common_suffix(&old.as_bytes()[head..], &new.as_bytes()[head..]);
    while !old.is_char_boundary(old.len() - tail) {
        tail -= 1;
    }
    (head, tail)
}

/// Lengths of the common prefix and suffix of two texts, in whole lines.
pub(crate) fn common_line_ends(old: &str, new: &str) -> (usize, usize) {
    if old == new {
        return (old.len(), 0);
    }
    let (start, _) = common_text_ends(old, new);
    let head = line_start(old, start);
    let tail = common_suffix(&old.as_bytes()[head..], &new.as_bytes()[head..]);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let are_lines = starts_line(old, old_end) && starts_line(new, new_end);
    (head, if are_lines { tail } else { old.len() - line_stop(old, old_end) })
}

/// Returns the spans, old and new, of the whole lines that differ between two decoded texts.
pub(crate) fn text_hunks(old: &str, new: &str) -> Vec<(Span, Span)> {
    let (head, _) = common_text_ends(old, new);
    let start = line_start(old, head);
    let tail = common_suffix(&old.as_bytes()[start..], &new.as_bytes()[start..]);
    let (mut old_end, mut new_end) = (old.len() - tail, new.len() - tail);
    if !(starts_line(old, old_end) && starts_line(new, new_end)) {
        (old_end, new_end) = (line_stop(old, old_end), line_stop(new, new_end));
    }
    let (old_span, new_span) = (Span::new(start, old_end.max(start)), Span::new(start, new_end.max(start)));
    let (before, after) = (&old[old_span.range()], &new[new_span.range()]);
    if is_one_line(before) && is_one_line(after) {
        // At most one line on either side: the usual edit.
        return if before == after { Vec::new() } else { vec![(old_span, new_span)] };
    }
    let (a, b) = (TextLines::new(old, old_span), TextLines::new(new, new_span));
    line_hunks(&a.lines, &b.lines).into_iter().map(|(from, to)| (a.span(&from), b.span(&to))).collect()
}

/// True for a text of at most one line.
fn is_one_line(text: &str) -> bool {
    memchr::memchr(b'\n', text.as_bytes()).is_none_or(|end| end + 1 == text.len())
}

/// The lines of a part of a text.
struct TextLines<'a> {
    lines: Vec<&'a str>,
    starts: Vec<usize>,
}

impl<'a> TextLines<'a> {
    fn new(text: &'a str, part: Span) -> TextLines<'a> {
        let lines: Vec<&str> = work::lines_with_ends(&text[part.range()]).collect();
        let mut at = part.start();
        let mut starts = vec![at];
        starts.extend(lines.iter().map(|line| {
            at += line.len();
            at
        }));
        TextLines { lines, starts }
    }

    fn span(&self, lines: &Range<usize>) -> Span {
        Span::new(self.starts[lines.start], self.starts[lines.end])
    }
}

/// Returns the raw spans, before and after, of the whole lines that differ. Both versions must have the same codec.
pub(crate) fn raw_hunks(before: &Snapshot, after: &Snapshot) -> Vec<(Span, Span)> {
    let (start, before_end, after_end) = differing_middle(before, after);
    let old = RawLines::new(before, Span::new(start, before_end));
    let new = RawLines::new(after, Span::new(start, after_end));
    line_hunks(&old.lines, &new.lines).into_iter().map(|(a, b)| (old.span(&a), new.span(&b))).collect()
}

/// Returns offsets in the decoded texts: the start of the first differing line (the same in both), and the ends of the
/// last differing lines.
fn differing_middle(before: &Snapshot, after: &Snapshot) -> (usize, usize, usize) {
    let (a, b) = (before.raw(), after.raw());
    let (a_text, b_text) = (before.text(), after.text());
    let head = common_prefix(a, b);
    let start = line_start(a_text, text_offset_at_most(before, head).0.min(text_offset_at_most(after, head).0));
    let raw_start = before.to_raw(start).min(head);
    let unit = before.codec().charset.unit();
    let tail = common_suffix(&a[raw_start..], &b[raw_start..]);
    let tail = (0..=tail)
        .rev()
        .take(unit)
        .find(|tail| (a.len() - tail).is_multiple_of(unit) && (b.len() - tail).is_multiple_of(unit))
        .unwrap_or(0);
    let ((mut a_end, a_exact), (mut b_end, b_exact)) =
        (text_offset_at_most(before, a.len() - tail), text_offset_at_most(after, b.len() - tail));
    if !(a_exact && b_exact && starts_line(a_text, a_end) && starts_line(b_text, b_end)) {
        (a_end, b_end) = (line_stop(a_text, a_end), line_stop(b_text, b_end));
    }
    (start, a_end.max(start), b_end.max(start))
}

/// Returns the last offset of the decoded text that is not after a raw offset, and whether the two positions are
/// exactly the same. Inside a character the result may lie inside that character's UTF-8, which is good enough to find
/// the line.
fn text_offset_at_most(of: &Snapshot, raw: usize) -> (usize, bool) {
    let at = of.to_text(raw);
    if of.to_raw(at) > raw { (at.saturating_sub(1), false) } else { (at, true) }
}

/// The lines of a part of a decoded text, each represented by its raw bytes.
struct RawLines<'a> {
    lines: Vec<&'a [u8]>,
    /// Raw offset of each line, and of the end of the last one.
    starts: Vec<usize>,
}

impl<'a> RawLines<'a> {
    fn new(of: &'a Snapshot, part: Span) -> RawLines<'a> {
        let text = &of.text().as_bytes()[part.range()];
        let ends = memchr::memchr_iter(b'\n', text).map(|at| part.start() + at + 1);
        let mut starts = vec![of.to_raw(part.start())];
        starts.extend(work::batched(ends.filter(|&end| end < part.end()).map(|end| of.to_raw(end))));
        if !part.is_empty() {
            starts.push(of.to_raw(part.end()));
        }
        let lines = starts.windows(2).map(|pair| &of.raw()[pair[0]..pair[1]]).collect();
        RawLines { lines, starts }
    }

    fn span(&self, lines: &Range<usize>) -> Span {
        Span::new(self.starts[lines.start], self.starts[lines.end])
    }
}

/// Returns the pairs of equal lines of two lists, in order: all lines that are in no hunk.
pub(crate) fn equal_lines(a: &[&str], b: &[&str]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut at = (0, 0);
    for (from, to) in line_hunks(a, b).into_iter().chain([(a.len()..a.len(), b.len()..b.len())]) {
        out.extend((at.0..from.start).zip(at.1..to.start));
        at = (from.end, to.end);
    }
    out
}

/// Returns the ranges of lines that differ, in order.
pub(crate) fn line_hunks<T: AsRef<[u8]> + Eq + core::hash::Hash + Ord>(
    a: &[T],
    b: &[T],
) -> Vec<(Range<usize>, Range<usize>)> {
    if let Some(hunks) = line_by_line(a, b) {
        return hunks;
    }
    let mut hunks = DiffRanges::default();
    if a.len().saturating_mul(b.len()) <= GAP_CELLS_MAX / 4 {
        hunks.compare(a, b, 0, 0);
        return hunks.0;
    }
    let Some((a, b, count)) = numbered(a, b) else {
        hunks.push(0..a.len(), 0..b.len());
        return hunks.0;
    };
    let mut work = LineComparison { budget: COMPARISON_CELLS_MAX, counts: vec![(0, 0); count], hunks };
    work.compare(&a, &b, 0, 0, 0);
    work.hunks.0
}

/// Numbers the lines, equal ones alike; also returns the number of distinct lines. `None` if the work has to end.
fn numbered<T: AsRef<[u8]>>(a: &[T], b: &[T]) -> Option<(Vec<u32>, Vec<u32>, usize)> {
    const COUNTED_LINES: usize = 4096;
    const DISTINCT_LINES_EXPECTED: usize = 1 << 16;
    let mut known: HashMap<&[u8], u32> = HashMap::with_capacity(a.len().min(DISTINCT_LINES_EXPECTED));
    let mut out = [Vec::with_capacity(a.len()), Vec::with_capacity(b.len())];
    for (lines, out) in [a, b].into_iter().zip(&mut out) {
        for chunk in lines.chunks(COUNTED_LINES) {
            if work::spend_or_end(COUNTED_LINES / 2) {
                return None;
            }
            for line in chunk {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                out.push(*known.entry(line.as_ref()).or_insert(next));
            }
        }
    }
    let [a, b] = out;
    Some((a, b, known.len()))
}

/// Ranges that differ, in order of discovery from left to right; adjacent ones are merged.
#[derive(Default)]
struct DiffRanges(Vec<(Range<usize>, Range<usize>)>);

impl DiffRanges {
    fn push(&mut self, old: Range<usize>, new: Range<usize>) {
        if old.is_empty() && new.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some((last_old, last_new)) if last_old.end == old.start && last_new.end == new.start => {
                (last_old.end, last_new.end) = (old.end, new.end);
            }
            _ => self.0.push((old, new)),
        }
    }

    /// Compares every line with every line of two ranges, given where they begin. If the budget runs out, all lines
    /// count as different.
    fn compare<T: Eq + core::hash::Hash + Ord>(&mut self, a: &[T], b: &[T], a_at: usize, b_at: usize) {
        if work::spend_or_end(a.len() + b.len() + a.len().saturating_mul(b.len()) / 8) {
            return self.push(a_at..a_at + a.len(), b_at..b_at + b.len());
        }
        for op in capture_diff_slices(Algorithm::Myers, a, b) {
            if !matches!(op, DiffOp::Equal { .. }) {
                let (old, new) = (op.old_range(), op.new_range());
                self.push(a_at + old.start..a_at + old.end, b_at + new.start..b_at + new.end);
            }
        }
    }
}

/// A comparison of two long texts, given as line numbers of [`numbered`].
struct LineComparison {
    /// Remaining cells.
    budget: usize,
    /// Occurrences of each line in the two current ranges; zero outside of a comparison.
    counts: Vec<(u32, u32)>,
    hunks: DiffRanges,
}

impl LineComparison {
    /// Compares two ranges, given where they begin: recursively between anchors, until they are small enough to be
    /// compared line by line, or have no anchors.
    fn compare(&mut self, a: &[u32], b: &[u32], a_at: usize, b_at: usize, depth: usize) {
        let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b, a_at, b_at) = (&a[head..], &b[head..], a_at + head, b_at + head);
        let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
        let whole = (a_at..a_at + a.len(), b_at..b_at + b.len());
        let cells = a.len().saturating_mul(b.len());
        if cells == 0 {
            return self.hunks.push(whole.0, whole.1);
        }
        if cells <= GAP_CELLS_MAX / 4 && cells <= self.budget {
            self.budget -= cells;
            return self.hunks.compare(a, b, a_at, b_at);
        }
        let anchors = if depth < ANCHOR_DEPTH_MAX { self.anchors(a, b) } else { Vec::new() };
        if anchors.is_empty() {
            if cells > GAP_CELLS_MAX || cells > self.budget || work::spend_or_end(1) {
                return self.hunks.push(whole.0, whole.1);
            }
            self.budget -= cells;
            return self.hunks.compare(a, b, a_at, b_at);
        }
        let mut from = (0, 0);
        for anchor in anchors.into_iter().chain([(a.len(), b.len())]) {
            let gap = (&a[from.0..anchor.0], &b[from.1..anchor.1]);
            self.compare(gap.0, gap.1, a_at + from.0, b_at + from.1, depth + 1);
            from = (anchor.0 + 1, anchor.1 + 1);
        }
    }

    /// Returns the anchors: the longest chain of equal lines in an order common to both ranges. Candidates are the
    /// rarest of the lines that occur equally often in both, paired in order.
    fn anchors(&mut self, a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
        for line in work::batched(a.iter().copied()) {
            self.counts[line as usize].0 += 1;
        }
        for line in work::batched(b.iter().copied()) {
            self.counts[line as usize].1 += 1;
        }
        let rarest = work::batched(a.iter().copied())
            .filter_map(|line| self.even_count(line))
            .min()
            .filter(|&often| often <= ANCHOR_OCCURRENCES_MAX);
        let pairs = rarest.map(|_| {
            let pairs = self
                .positions_of(rarest, a)
                .into_iter()
                .zip(self.positions_of(rarest, b))
                .map(|((_, old), (_, new))| (old, new));
            let mut pairs: Vec<(usize, usize)> = pairs.collect();
            pairs.sort_unstable();
            pairs
        });
        if work::spend_or_end(1) {
            return Vec::new();
        }
        for &line in a.iter().chain(b) {
            self.counts[line as usize] = (0, 0);
        }
        pairs.map_or_else(Vec::new, |pairs| longest_increasing(&pairs))
    }

    /// Returns the lines that occur as often as the rarest, with their positions, in the order of the lines.
    fn positions_of(&self, rarest: Option<u32>, lines: &[u32]) -> Vec<(u32, usize)> {
        let lines = work::batched(lines.iter().copied().enumerate());
        let rare = lines.filter(|(_, line)| self.even_count(*line) == rarest);
        let mut positions: Vec<(u32, usize)> = rare.map(|(at, line)| (line, at)).collect();
        positions.sort_unstable();
        positions
    }

    /// Returns how often a line occurs if it does so equally on both sides.
    fn even_count(&self, line: u32) -> Option<u32> {
        let (old, new) = self.counts[line as usize];
        (old == new).then_some(old)
    }
}

/// Returns the hunks if a few lines were changed in place, as by most edits: there are as many lines as before, and no
/// changed line occurs elsewhere. `None` if a full comparison is needed.
fn line_by_line<T: Eq>(a: &[T], b: &[T]) -> Option<Vec<(Range<usize>, Range<usize>)>> {
    const SMALL_GAP_LINES: usize = 32;
    if a.len() != b.len() || a.len() > SMALL_GAP_LINES {
        return None;
    }
    let changed: Vec<usize> = (0..a.len()).filter(|&at| a[at] != b[at]).collect();
    if changed.iter().any(|&old| changed.iter().any(|&new| a[old] == b[new])) {
        return None;
    }
    let runs = changed.chunk_by(|a, b| a + 1 == *b);
    Some(runs.filter_map(|run| Some((*run.first()?..run.last()? + 1, *run.first()?..run.last()? + 1))).collect())
}

/// Returns the longest subsequence with increasing second members, by patience sorting. The input is sorted by the
/// first members.
pub(crate) fn longest_increasing<T: Copy + Ord>(pairs: &[(T, T)]) -> Vec<(T, T)> {
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|&top| pairs[top].1 < pair.1);
        before.push(pile.checked_sub(1).map(|pile| piles[pile]));
        if pile == piles.len() { piles.push(at) } else { piles[pile] = at }
    }
    let mut out = Vec::with_capacity(piles.len());
    let mut at = piles.last().copied();
    while let Some(index) = at {
        out.push(pairs[index]);
        at = before[index];
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::{Range, common_line_ends, common_prefix, common_suffix, line_hunks};
    use proptest::prelude::*;

    /// Applies the hunks to `a`, and counts their lines.
    fn patched(a: &[String], b: &[String], hunks: &[(Range<usize>, Range<usize>)]) -> (Vec<String>, usize) {
        let (mut out, mut from, mut lines) = (Vec::new(), 0, 0);
        for (old, new) in hunks {
            assert!(old.start >= from, "in order: {hunks:?}");
            out.extend_from_slice(&a[from..old.start]);
            out.extend_from_slice(&b[new.clone()]);
            from = old.end;
            lines += old.len().max(new.len());
        }
        out.extend_from_slice(&a[from..]);
        (out, lines)
    }

    fn lines(count: usize, of: impl Fn(usize) -> String) -> Vec<String> {
        (0..count).map(of).collect()
    }

    proptest! {
        #[test]
        fn common_lines_are_those_of_a_comparison_by_lines(old in "[ab\né]{0,12}", new in "[ab\né]{0,12}") {
            let same = |(a, b): &(&str, &str)| a == b;
            let length = |lines: &mut dyn Iterator<Item = (&str, &str)>| lines.take_while(same).map(|(line, _)| line.len()).sum::<usize>();
            let head = length(&mut old.split_inclusive('\n').zip(new.split_inclusive('\n')));
            let (old_rest, new_rest) = (&old[head..], &new[head..]);
            let tail = length(&mut old_rest.split_inclusive('\n').rev().zip(new_rest.split_inclusive('\n').rev()));
            prop_assert_eq!(common_line_ends(&old, &new), (head, tail));
        }

        #[test]
        fn common_ends_are_maximal(
            same in "[ab]{0,200}", at in 0usize..200, before in "[ab]{0,20}", after in "[ab]{0,20}",
        ) {
            let at = at.min(same.len());
            let (a, b) = (same.clone(), format!("{}{before}{}", &same[..at], &same[at..]));
            let (c, d) = (format!("{a}{after}"), format!("{before}{a}"));
            for (one, other) in [(&a, &b), (&b, &c), (&c, &d), (&a, &a), (&d, &b)] {
                let (one, other) = (one.as_bytes(), other.as_bytes());
                let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
                let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
                prop_assert_eq!((common_prefix(one, other), common_suffix(one, other)), (head, tail));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// The texts are long enough to be compared by anchors.
        #[test]
        fn hunks_lead_from_one_text_to_the_other(
            seeds in prop::collection::vec((0u32..100_000, 0u32..8, 1u32..60), 10..60),
            kinds in prop_oneof![Just(2u32), Just(40), Just(3_000)],
            edits in prop::collection::vec((0usize..3_000, 0u32..4, 0usize..30), 0..40),
        ) {
            let block = |&(from, step, count): &(u32, u32, u32)| (0..count).map(move |nth| (from + nth * step) % kinds);
            let a: Vec<String> = seeds.iter().flat_map(block).chain((0..1100).map(|nth| nth % kinds)).map(|it| it.to_string()).collect();
            let mut b = a.clone();
            for (at, what, count) in &edits {
                let at = at % b.len();
                match what {
                    0 => b.insert(at, "new".to_owned()),
                    1 => drop(b.drain(at..b.len().min(at + count))),
                    2 => b.rotate_left(at),
                    _ => b[at] = "changed".to_owned(),
                }
                if b.is_empty() {
                    b.push("only".to_owned());
                }
            }
            let (made, _) = patched(&a, &b, &line_hunks(&a, &b));
            prop_assert_eq!(made, b);
        }
    }

    #[test]
    fn repetitive_text_has_a_small_diff() {
        // The same three thousand lines three times, every tenth of them changed.
        let a = lines(9_000, |nth| format!("line {}", nth % 3_000));
        let b = lines(9_000, |nth| if nth % 10 == 3 { format!("other {nth}") } else { a[nth].clone() });
        let (made, changed) = patched(&a, &b, &line_hunks(&a, &b));
        assert_eq!((made, changed), (b, 900));
        // One block removed, another one added.
        let b: Vec<String> =
            a[..2_000].iter().chain(&a[2_050..]).cloned().chain(lines(20, |nth| format!("end {nth}"))).collect();
        assert_eq!(patched(&a, &b, &line_hunks(&a, &b)).1, 70);
    }

    #[test]
    fn indistinguishable_lines_are_one_hunk() {
        let (a, b) = (lines(30_000, |nth| format!("old {nth}")), lines(30_000, |nth| format!("new {nth}")));
        assert_eq!(line_hunks(&a, &b), [(0..30_000, 0..30_000)]);
        let two = |seed: u64| lines(30_000, |nth| ((nth as u64 + 1).wrapping_mul(seed) >> 40 & 1).to_string());
        let (a, b) = (two(6_364_136_223_846_793_005), two(2_862_933_555_777_941_757));
        assert_eq!(patched(&a, &b, &line_hunks(&a, &b)).0, b);
    }
}
