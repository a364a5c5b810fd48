//! The difference of two versions by lines, bounded on any input: equal ends are skipped by comparing bytes, lines that
//! are unique on both sides anchor the rest, and what lies between two anchors is compared while the budget lasts.

use crate::lines::{line_start, line_stop, starts_line};
use crate::snapshot::Snapshot;
use crate::span::Span;
use core::ops::Range;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;

/// Cells (lines × lines) that all gaps of one comparison may cost together; ~50 ms at worst.
const BUDGET: usize = 40_000_000;
/// A gap larger than this is not compared line by line.
const GAP: usize = 4_000_000;

/// Length of the common prefix.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut at = 0;
    for block in [4096, 64] {
        while at + block <= len && a[at..at + block] == b[at..at + block] {
            at += block;
        }
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
    len - left + a[..left].iter().rev().zip(b[..left].iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Lengths of the common head and tail of two texts, whole characters only.
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

/// Spans, old and new, of the whole lines that differ between two readings.
pub(crate) fn text_hunks(old: &str, new: &str) -> Vec<(Span, Span)> {
    let (head, _) = common_text_ends(old, new);
    let start = line_start(old, head);
    let tail = common_suffix(&old.as_bytes()[start..], &new.as_bytes()[start..]);
    let (mut old_end, mut new_end) = (old.len() - tail, new.len() - tail);
    if !(starts_line(old, old_end) && starts_line(new, new_end)) {
        (old_end, new_end) = (line_stop(old, old_end), line_stop(new, new_end));
    }
    let (old_span, new_span) = (Span::new(start, old_end.max(start)), Span::new(start, new_end.max(start)));
    let (a, b) = (TextLines::new(old, old_span), TextLines::new(new, new_span));
    line_hunks(&a.lines, &b.lines).into_iter().map(|(from, to)| (a.span(&from), b.span(&to))).collect()
}

/// The lines of a part of a text.
struct TextLines<'a> {
    lines: Vec<&'a str>,
    starts: Vec<usize>,
}

impl<'a> TextLines<'a> {
    fn new(text: &'a str, part: Span) -> TextLines<'a> {
        let lines: Vec<&str> = text[part.range()].split_inclusive('\n').collect();
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

/// Raw spans, before and after, of the whole lines that differ. Both versions have the same codec.
pub(crate) fn raw_hunks(before: &Snapshot, after: &Snapshot) -> Vec<(Span, Span)> {
    let (start, before_end, after_end) = differing_middle(before, after);
    let old = Lines::new(before, Span::new(start, before_end));
    let new = Lines::new(after, Span::new(start, after_end));
    line_hunks(&old.lines, &new.lines).into_iter().map(|(a, b)| (old.span(&a), new.span(&b))).collect()
}

/// Offsets in the readings: start of the first differing line (the same in both), ends of the last ones.
fn differing_middle(before: &Snapshot, after: &Snapshot) -> (usize, usize, usize) {
    let (a, b) = (before.raw(), after.raw());
    let (a_text, b_text) = (before.text(), after.text());
    let head = common_prefix(a, b);
    let start = line_start(a_text, floor(before, head).0.min(floor(after, head).0));
    let raw_start = before.to_raw(start).min(head);
    let unit = before.codec().charset.unit();
    let whole = |tail: &usize| (a.len() - tail).is_multiple_of(unit) && (b.len() - tail).is_multiple_of(unit);
    let tail = common_suffix(&a[raw_start..], &b[raw_start..]);
    let tail = (0..=tail).rev().take(unit).find(whole).unwrap_or(0);
    let ((mut a_end, a_exact), (mut b_end, b_exact)) = (floor(before, a.len() - tail), floor(after, b.len() - tail));
    if !(a_exact && b_exact && starts_line(a_text, a_end) && starts_line(b_text, b_end)) {
        (a_end, b_end) = (line_stop(a_text, a_end), line_stop(b_text, b_end));
    }
    (start, a_end.max(start), b_end.max(start))
}

/// The last offset of the reading that does not lie behind a raw offset, and whether it is the very place. Inside a
/// character it may be inside that character's UTF-8, which is good enough for finding the line.
fn floor(of: &Snapshot, raw: usize) -> (usize, bool) {
    let at = of.to_text(raw);
    if of.to_raw(at) > raw { (at.saturating_sub(1), false) } else { (at, true) }
}

/// The lines of a part of a reading, each as its raw bytes.
struct Lines<'a> {
    lines: Vec<&'a [u8]>,
    /// Raw offset of each line, and of the end.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(of: &'a Snapshot, part: Span) -> Lines<'a> {
        let text = &of.text().as_bytes()[part.range()];
        let ends = memchr::memchr_iter(b'\n', text).map(|at| part.start() + at + 1);
        let mut starts = vec![of.to_raw(part.start())];
        starts.extend(ends.filter(|&end| end < part.end()).map(|end| of.to_raw(end)));
        if !part.is_empty() {
            starts.push(of.to_raw(part.end()));
        }
        let lines = starts.windows(2).map(|pair| &of.raw()[pair[0]..pair[1]]).collect();
        Lines { lines, starts }
    }

    fn span(&self, lines: &Range<usize>) -> Span {
        Span::new(self.starts[lines.start], self.starts[lines.end])
    }
}

/// Ranges of lines that differ, in order.
pub(crate) fn line_hunks<T: AsRef<[u8]> + Eq + core::hash::Hash + Ord>(
    a: &[T],
    b: &[T],
) -> Vec<(Range<usize>, Range<usize>)> {
    if let Some(hunks) = line_by_line(a, b) {
        return hunks;
    }
    let mut budget = BUDGET;
    let mut out: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut push = |old: Range<usize>, new: Range<usize>| {
        if old.is_empty() && new.is_empty() {
            return;
        }
        match out.last_mut() {
            Some((last_old, last_new)) if last_old.end == old.start && last_new.end == new.start => {
                (last_old.end, last_new.end) = (old.end, new.end);
            }
            _ => out.push((old, new)),
        }
    };
    let end = (a.len(), b.len());
    let mut from = (0, 0);
    for anchor in anchors(a, b).into_iter().chain([end]) {
        let (old, new) = (from.0..anchor.0, from.1..anchor.1);
        let cells = old.len().saturating_mul(new.len());
        if old.is_empty() || new.is_empty() || cells > GAP || cells > budget {
            push(old, new);
        } else {
            budget -= cells;
            for op in capture_diff_slices(Algorithm::Myers, &a[old.clone()], &b[new.clone()]) {
                if !matches!(op, DiffOp::Equal { .. }) {
                    let (o, n) = (op.old_range(), op.new_range());
                    push(old.start + o.start..old.start + o.end, new.start + n.start..new.start + n.end);
                }
            }
        }
        from = (anchor.0 + 1, anchor.1 + 1);
    }
    out
}

/// The hunks of a few lines that were changed where they stand, which is what most edits are: as many lines as before,
/// and no changed one found again elsewhere. `None` when a real comparison is needed.
fn line_by_line<T: Eq>(a: &[T], b: &[T]) -> Option<Vec<(Range<usize>, Range<usize>)>> {
    const FEW: usize = 32;
    if a.len() != b.len() || a.len() > FEW {
        return None;
    }
    let changed: Vec<usize> = (0..a.len()).filter(|&at| a[at] != b[at]).collect();
    if changed.iter().any(|&old| changed.iter().any(|&new| a[old] == b[new])) {
        return None;
    }
    let runs = changed.chunk_by(|a, b| a + 1 == *b);
    Some(runs.filter_map(|run| Some((*run.first()?..run.last()? + 1, *run.first()?..run.last()? + 1))).collect())
}

/// Pairs of equal lines, unique on both sides, in an order common to both: the longest such chain.
fn anchors<T: Eq + core::hash::Hash>(a: &[T], b: &[T]) -> Vec<(usize, usize)> {
    if a.len().saturating_mul(b.len()) <= GAP / 4 {
        // Small enough to be compared as it is.
        return Vec::new();
    }
    const MANY: usize = usize::MAX;
    let mut places: HashMap<&T, (usize, usize)> = HashMap::with_capacity(a.len());
    for (at, line) in a.iter().enumerate() {
        places.entry(line).and_modify(|place| place.0 = MANY).or_insert((at, MANY - 1));
    }
    for (at, line) in b.iter().enumerate() {
        if let Some(place) = places.get_mut(line) {
            place.1 = if place.1 == MANY - 1 { at } else { MANY };
        }
    }
    let mut pairs: Vec<(usize, usize)> = places.into_values().filter(|&(a, b)| a < MANY - 1 && b < MANY - 1).collect();
    pairs.sort_unstable();
    longest_rise(&pairs)
}

/// The longest subsequence whose second members rise, by patience sorting. Sorted by the first members.
pub(crate) fn longest_rise<T: Copy + Ord>(pairs: &[(T, T)]) -> Vec<(T, T)> {
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
