//! The similarity of two texts, by the measure of Python's `difflib`.
//!
//! `SequenceMatcher` takes the longest common run (of several, the first one in the first text, then in the second),
//! and continues to the left and to the right of it. Its ratio is `2 · matched / (length of both)`. Finding the run
//! costs Python the product of both lengths; here a suffix automaton of one part finds it in linear time. Lines, most of
//! which are equal to few others, are compared at the places where runs can begin, which is faster still.

use super::function_names::TextFunction;
use super::limited;
use super::options::ApplyOptions;
use super::text::check_size;
use crate::error::Result;
use crate::text::diff;
use crate::text::lines::count_lines;
use crate::work;
use core::ops::Range;
use foldhash::HashMap;

/// Largest product of two lengths for which a table is faster than an automaton.
const TABLE_CELLS_MAX: usize = 4096;

/// Returns how similar two texts are, from 0 to 1: exactly the value of Python's
/// `difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()` for their characters.
///
/// ```
/// assert_eq!(emendate_core::similarity("abcd", "bcde")?, 0.75);
/// assert_eq!(emendate_core::similarity("", "")?, 1.0);
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: `call.too_large`, and `call.too_much_work` for texts whose common runs are many and short.
pub fn similarity(a: &str, b: &str) -> Result<f64> {
    measured(a, b, |a, b| {
        let items = |text: &str| text.chars().map(u32::from).collect();
        let (a, b): (Vec<u32>, Vec<u32>) = (items(a), items(b));
        Ok(ratio(a.len() + b.len(), matched(&a, &b)?))
    })
}

/// Returns how similar two texts are, as [`similarity`] does, with lines in place of characters.
///
/// ```
/// assert_eq!(emendate_core::line_similarity("a\nb\n", "a\nc\n")?, 0.5);
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: as [`similarity`].
pub fn line_similarity(a: &str, b: &str) -> Result<f64> {
    measured(a, b, |a, b| {
        let Lines { left, right, kinds } = Lines::of(a, b)?;
        let runs = match RunStarts::new(&left, &right, kinds)? {
            Some(runs) => runs.matched()?,
            None => matched(&left, &right)?,
        };
        Ok(ratio(left.len() + right.len(), runs))
    })
}

/// Runs a comparison of texts that differ, within the limits of a call.
fn measured(a: &str, b: &str, compare: impl Fn(&str, &str) -> Result<f64>) -> Result<f64> {
    let options = ApplyOptions::new();
    limited(&options, TextFunction::Other, || {
        check_size("The first text", a, &options)?;
        check_size("The second text", b, &options)?;
        if a == b { Ok(1.0) } else { compare(a, b) }
    })
}

/// Computes the ratio of two sequences with `all` items together, of which `matched` in each are in common runs.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53, as in Python")]
fn ratio(all: usize, matched: usize) -> f64 {
    if all == 0 { 1.0 } else { 2.0 * matched as f64 / all as f64 }
}

/// Most different lines for which there is room from the start.
const NUMBERED_LINES_ROOM: usize = 4096;

/// The lines of two texts as numbers: equal lines have the same one.
struct Lines {
    left: Vec<u32>,
    right: Vec<u32>,
    /// The number of different lines.
    kinds: usize,
}

impl Lines {
    fn of(a: &str, b: &str) -> Result<Lines> {
        let mut numbers: HashMap<&str, u32> = HashMap::default();
        numbers.reserve(count_lines(a).min(NUMBERED_LINES_ROOM));
        let mut number = |line| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(line).or_insert(next)
        };
        let left: Vec<u32> = work::lines_with_ends(a).map(&mut number).collect();
        work::check()?;
        // The lines that both texts have at their ends are looked up once.
        let head = diff::common_prefix(a.as_bytes(), b.as_bytes());
        let head = memchr::memrchr(b'\n', &a.as_bytes()[..head]).map_or(0, |at| at + 1);
        let tail = diff::common_suffix(&a.as_bytes()[head..], &b.as_bytes()[head..]);
        let end = memchr::memchr(b'\n', &a.as_bytes()[a.len() - tail..]);
        let tail = end.map_or("", |at| &a[a.len() - tail + at + 1..]);
        let mut right = left[..count_lines(&a[..head])].to_vec();
        right.extend(work::lines_with_ends(&b[head..b.len() - tail.len()]).map(number));
        right.extend_from_slice(&left[left.len() - count_lines(tail)..]);
        work::check()?;
        Ok(Lines { left, right, kinds: numbers.len() })
    }
}

/// A run that two sequences have in common.
#[derive(Clone, Copy, Default)]
struct SharedRun {
    in_a: usize,
    in_b: usize,
    len: usize,
}

/// Returns the number of items in matching runs.
fn matched(a: &[u32], b: &[u32]) -> Result<usize> {
    let (mut total, mut rest) = (0, vec![(a, b)]);
    let mut automaton = SuffixAutomaton::default();
    let mut table = RunTable::default();
    while let Some((a, b)) = rest.pop() {
        if a.is_empty() || b.is_empty() {
            continue;
        }
        let run = if a.len().saturating_mul(b.len()) <= TABLE_CELLS_MAX {
            table.longest(a, b)?
        } else {
            automaton.read(b)?;
            automaton.longest(a)?
        };
        if run.len > 0 {
            total += run.len;
            rest.push((&a[..run.in_a], &b[..run.in_b]));
            rest.push((&a[run.in_a + run.len..], &b[run.in_b + run.len..]));
        }
    }
    Ok(total)
}

/// Most pairs of equal items, for each item, for which comparing runs from their starts is faster than an automaton.
const PAIRS_PER_ITEM_MAX: usize = 32;

/// The places at which runs of two sequences can begin: for each item of `a`, its places in `b`.
struct RunStarts<'i> {
    a: &'i [u32],
    b: &'i [u32],
    /// The start of each item's places in `places`, and the end of the last one's.
    starts: Vec<u32>,
    /// The places in `b`, by item, and in order.
    places: Vec<u32>,
}

impl<'i> RunStarts<'i> {
    /// Indexes `b`. Items are below `kinds`. `None` for sequences with too many pairs of equal items.
    fn new(a: &'i [u32], b: &'i [u32], kinds: usize) -> Result<Option<RunStarts<'i>>> {
        work::spend((a.len() + b.len() + kinds) / 4 + 1)?;
        let mut starts = vec![0u32; kinds + 1];
        for &item in b {
            starts[item as usize + 1] += 1;
        }
        let pairs = a.iter().map(|item| starts[*item as usize + 1] as usize).sum::<usize>();
        if pairs > PAIRS_PER_ITEM_MAX * (a.len() + b.len()) {
            return Ok(None);
        }
        for item in 0..kinds {
            starts[item + 1] += starts[item];
        }
        let (mut next, mut places) = (starts.clone(), vec![0u32; b.len()]);
        for (at, &item) in b.iter().enumerate() {
            let free = &mut next[item as usize];
            places[*free as usize] = u32::try_from(at).unwrap_or(NONE);
            *free += 1;
        }
        Ok(Some(RunStarts { a, b, starts, places }))
    }

    /// Returns the number of items in matching runs.
    fn matched(&self) -> Result<usize> {
        let (mut total, mut rest) = (0, vec![(0..self.a.len(), 0..self.b.len())]);
        while let Some((a, b)) = rest.pop() {
            if a.is_empty() || b.is_empty() {
                continue;
            }
            let run = self.longest(a.clone(), b.clone())?;
            if run.len > 0 {
                total += run.len;
                rest.push((a.start..run.in_a, b.start..run.in_b));
                rest.push((run.in_a + run.len..a.end, run.in_b + run.len..b.end));
            }
        }
        Ok(total)
    }

    /// Returns the first longest run of two ranges.
    fn longest(&self, a: Range<usize>, b: Range<usize>) -> Result<SharedRun> {
        let mut best = SharedRun::default();
        let (left, right) = (&self.a[..a.end], &self.b[..b.end]);
        for in_a in a.clone() {
            // A run from here on is not longer.
            if a.end - in_a <= best.len {
                break;
            }
            let item = left[in_a] as usize;
            let places = &self.places[self.starts[item] as usize..self.starts[item + 1] as usize];
            let places = &places[places.partition_point(|at| (*at as usize) < b.start)..];
            let mut compared = 0;
            for in_b in places.iter().map(|at| *at as usize) {
                if (a.end - in_a).min(b.end.saturating_sub(in_b)) <= best.len {
                    break;
                }
                compared += 1;
                // The run begins earlier, or ends before it is longer.
                let is_inside = in_a > a.start && in_b > b.start && left[in_a - 1] == right[in_b - 1];
                if is_inside || left[in_a + best.len] != right[in_b + best.len] {
                    continue;
                }
                // All comparisons together are as many as there are pairs, because runs do not share their items.
                if left[in_a..in_a + best.len] != right[in_b..in_b + best.len] {
                    continue;
                }
                let (rest_a, rest_b) = (&left[in_a + best.len..], &right[in_b + best.len..]);
                let more = rest_a.iter().zip(rest_b).take_while(|(a, b)| a == b).count();
                best = SharedRun { in_a, in_b, len: best.len + more };
            }
            work::spend(compared / 8 + 1)?;
        }
        Ok(best)
    }
}

/// A search for short sequences: the lengths of the common runs that end at each item of `b`.
#[derive(Default)]
struct RunTable {
    row: Vec<u32>,
}

impl RunTable {
    /// Returns the first longest run.
    fn longest(&mut self, a: &[u32], b: &[u32]) -> Result<SharedRun> {
        work::spend(a.len() * b.len() / 16 + 1)?;
        self.row.clear();
        self.row.resize(b.len(), 0);
        let mut best = SharedRun::default();
        for (end_a, wanted) in a.iter().enumerate() {
            let mut before = 0;
            for (end_b, (item, run)) in b.iter().zip(&mut self.row).enumerate() {
                let longer = if item == wanted { before + 1 } else { 0 };
                before = std::mem::replace(run, longer);
                if longer as usize > best.len {
                    let len = longer as usize;
                    best = SharedRun { in_a: end_a + 1 - len, in_b: end_b + 1 - len, len };
                }
            }
        }
        Ok(best)
    }
}

/// Represents a missing state or edge.
const NONE: u32 = u32::MAX;

/// A state of the automaton: a set of substrings that end at the same places.
#[derive(Clone, Copy)]
struct State {
    /// The length of the longest of the substrings.
    len: u32,
    /// The state of the longest suffix of the substrings that ends at more places.
    link: u32,
    /// The end of the first occurrence.
    first_end: u32,
    /// The head of the list of edges.
    edge: u32,
}

/// An edge of a state, with the index of the next edge in its list.
#[derive(Clone, Copy)]
struct StateEdge {
    item: u32,
    to: u32,
    next: u32,
}

/// A suffix automaton: all substrings of a sequence. State 0 is the empty one. States have lists of edges, because most
/// have only one; the many edges of state 0 are in a map.
#[derive(Default)]
struct SuffixAutomaton {
    states: Vec<State>,
    edges: Vec<StateEdge>,
    from_empty: HashMap<u32, u32>,
}

impl SuffixAutomaton {
    /// Builds the automaton of a sequence; discards the previous one.
    fn read(&mut self, items: &[u32]) -> Result<()> {
        self.states.clear();
        self.edges.clear();
        self.from_empty.clear();
        self.states.push(State { len: 0, link: NONE, first_end: 0, edge: NONE });
        let mut last = 0;
        for (at, &item) in items.iter().enumerate() {
            work::spend(4)?;
            let end = u32::try_from(at).unwrap_or(NONE);
            last = self.push(last, item, end);
        }
        Ok(())
    }

    /// Appends an item; returns the state of the whole sequence.
    fn push(&mut self, last: u32, item: u32, end: u32) -> u32 {
        let current = self.add(State { len: end + 1, link: 0, first_end: end, edge: NONE });
        let mut from = last;
        while from != NONE && self.follow(from, item).is_none() {
            self.connect(from, item, current);
            from = self.states[from as usize].link;
        }
        let Some(next) = (from != NONE).then(|| self.follow(from, item)).flatten() else {
            return current;
        };
        let len = self.states[from as usize].len + 1;
        if self.states[next as usize].len == len {
            self.states[current as usize].link = next;
            return current;
        }
        let clone = self.add(State { len, edge: NONE, ..self.states[next as usize] });
        let mut edge = self.states[next as usize].edge;
        while edge != NONE {
            let StateEdge { item, to, next } = self.edges[edge as usize];
            self.connect(clone, item, to);
            edge = next;
        }
        while from != NONE && self.follow(from, item) == Some(next) {
            self.redirect(from, item, clone);
            from = self.states[from as usize].link;
        }
        self.states[next as usize].link = clone;
        self.states[current as usize].link = clone;
        current
    }

    fn add(&mut self, state: State) -> u32 {
        self.states.push(state);
        u32::try_from(self.states.len() - 1).unwrap_or(NONE)
    }

    /// Returns the state after an item.
    fn follow(&self, state: u32, item: u32) -> Option<u32> {
        if state == 0 {
            return self.from_empty.get(&item).copied();
        }
        let mut edge = self.states[state as usize].edge;
        while edge != NONE {
            let found = self.edges[edge as usize];
            if found.item == item {
                return Some(found.to);
            }
            edge = found.next;
        }
        None
    }

    /// Adds an edge that does not exist yet.
    fn connect(&mut self, state: u32, item: u32, to: u32) {
        if state == 0 {
            self.from_empty.insert(item, to);
            return;
        }
        let next = self.states[state as usize].edge;
        self.states[state as usize].edge = u32::try_from(self.edges.len()).unwrap_or(NONE);
        self.edges.push(StateEdge { item, to, next });
    }

    /// Changes the target of an edge.
    fn redirect(&mut self, state: u32, item: u32, to: u32) {
        if state == 0 {
            self.from_empty.insert(item, to);
            return;
        }
        let mut edge = self.states[state as usize].edge;
        while edge != NONE && self.edges[edge as usize].item != item {
            edge = self.edges[edge as usize].next;
        }
        if let Some(edge) = self.edges.get_mut(edge as usize) {
            edge.to = to;
        }
    }

    /// Returns the first longest run of `a` that occurs in the sequence, and its first occurrence there.
    fn longest(&self, a: &[u32]) -> Result<SharedRun> {
        let (mut state, mut len) = (0, 0);
        let mut best = SharedRun::default();
        for (end, &item) in a.iter().enumerate() {
            work::spend(2)?;
            loop {
                if let Some(next) = self.follow(state, item) {
                    (state, len) = (next, len + 1);
                    break;
                }
                if state == 0 {
                    len = 0;
                    break;
                }
                state = self.states[state as usize].link;
                len = self.states[state as usize].len as usize;
            }
            if len > best.len {
                let first_end = self.states[state as usize].first_end as usize;
                best = SharedRun { in_a: end + 1 - len, in_b: first_end + 1 - len, len };
            }
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, RunStarts, line_similarity, matched, similarity};
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Computes the sum of the runs that `SequenceMatcher.find_longest_match` finds without junk, as `difflib` does it.
    fn matched_like_difflib(a: &[u32], b: &[u32]) -> usize {
        let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, item) in b.iter().enumerate() {
            places.entry(*item).or_default().push(at);
        }
        let (mut total, mut queue) = (0, vec![(0, a.len(), 0, b.len())]);
        while let Some((from_a, to_a, from_b, to_b)) = queue.pop() {
            let (mut best_a, mut best_b, mut best) = (from_a, from_b, 0);
            let mut ending: HashMap<usize, usize> = HashMap::new();
            for (at_a, item) in a.iter().enumerate().take(to_a).skip(from_a) {
                let mut now = HashMap::new();
                for &at_b in places.get(item).into_iter().flatten().filter(|at| (from_b..to_b).contains(*at)) {
                    let len = at_b.checked_sub(1).and_then(|at| ending.get(&at)).copied().unwrap_or(0) + 1;
                    now.insert(at_b, len);
                    if len > best {
                        (best_a, best_b, best) = (at_a + 1 - len, at_b + 1 - len, len);
                    }
                }
                ending = now;
            }
            if best > 0 {
                total += best;
                queue.push((from_a, best_a, from_b, best_b));
                queue.push((best_a + best, to_a, best_b + best, to_b));
            }
        }
        total
    }

    /// The runs of two sequences by the places at which they can begin.
    fn matched_by_starts(a: &[u32], b: &[u32]) -> Option<usize> {
        let kinds = a.iter().chain(b).max().map_or(0, |most| *most as usize + 1);
        Some(RunStarts::new(a, b, kinds).unwrap()?.matched().unwrap())
    }

    proptest! {
        #[test]
        fn runs_from_their_starts_are_those_of_difflib(
            a in proptest::collection::vec(0u32..20, 0..60),
            b in proptest::collection::vec(0u32..20, 0..60),
            cuts in proptest::collection::vec((0usize..60, 0usize..60), 0..4),
        ) {
            let mut c = a.clone();
            for (from, to) in cuts {
                let (from, to) = (from.min(c.len()), to.min(c.len()));
                let part: Vec<u32> = c[from.min(to)..from.max(to)].to_vec();
                c.splice(to..to, part);
            }
            for other in [&b, &c] {
                prop_assert_eq!(matched_by_starts(&a, other), Some(matched_like_difflib(&a, other)));
            }
        }

        #[test]
        fn lines_are_numbered_as_if_one_by_one(a in "([ab]?\n|é){0,8}", b in "([ab]?\n|é){0,8}", ends in "[a\n]{0,4}") {
            for (a, b) in [(a.clone(), b.clone()), (format!("{ends}{a}{ends}"), format!("{ends}{b}{ends}"))] {
                let mut numbers: HashMap<String, u32> = HashMap::new();
                let mut of_line = |line: &str| {
                    let next = u32::try_from(numbers.len()).unwrap();
                    *numbers.entry(line.to_owned()).or_insert(next)
                };
                let mut of = |text: &str| text.split_inclusive('\n').map(&mut of_line).collect::<Vec<u32>>();
                let (left, right) = (of(&a), of(&b));
                let lines = Lines::of(&a, &b).unwrap();
                prop_assert_eq!((&lines.left, &lines.right, lines.kinds), (&left, &right, numbers.len()));
            }
        }

        #[test]
        fn runs_are_those_of_difflib(
            a in proptest::collection::vec(0u32..4, 0..400),
            b in proptest::collection::vec(0u32..4, 0..400),
        ) {
            prop_assert_eq!(matched(&a, &b).unwrap(), matched_like_difflib(&a, &b));
        }

        #[test]
        fn runs_of_similar_texts_are_those_of_difflib(
            a in proptest::collection::vec(0u32..30, 100..300),
            cuts in proptest::collection::vec((0usize..300, 0usize..300), 0..6),
        ) {
            let mut b = a.clone();
            for (from, to) in cuts {
                let (from, to) = (from % b.len(), to % b.len());
                let part: Vec<u32> = b[from.min(to)..from.max(to)].to_vec();
                b.splice(to..to, part);
                b.truncate(600);
            }
            prop_assert_eq!(matched(&a, &b).unwrap(), matched_like_difflib(&a, &b));
        }
    }

    #[test]
    fn values_are_those_of_python() {
        // Computed with CPython's difflib.
        for (a, b, ratio) in [("", "", 1.0), ("a", "", 0.0), ("private Thread", "private volatile", 0.6)] {
            assert_eq!(similarity(a, b).unwrap().to_bits(), f64::to_bits(ratio), "{a} {b}");
        }
        assert_eq!(similarity("😀a", "😀b").unwrap().to_bits(), 0.5f64.to_bits());
        assert_eq!(line_similarity("a\nb\nc", "a\nc").unwrap().to_bits(), 0.8f64.to_bits());
    }

    #[test]
    fn work_is_bounded() {
        // Every second item is common, so each run has only one item and is near the start.
        let a: Vec<u32> = (0..100_000).collect();
        let b: Vec<u32> = (0..100_000).map(|at| if at % 2 == 0 { at } else { 1_000_000 + at }).collect();
        let meter = crate::work::Meter::new(10_000_000, std::sync::Arc::default());
        let _entered = meter.enter();
        assert_eq!(matched(&a, &b).unwrap_err().code().as_str(), "call.too_much_work");
    }

    #[test]
    fn work_on_runs_from_their_starts_is_bounded() {
        let a: Vec<u32> = (0..100_000).collect();
        let b: Vec<u32> = (0..100_000).map(|at| if at % 2 == 0 { at } else { 1_000_000 + at }).collect();
        let meter = crate::work::Meter::new(10_000_000, std::sync::Arc::default());
        let _entered = meter.enter();
        let starts = RunStarts::new(&a, &b, 1_200_000).unwrap().unwrap();
        assert_eq!(starts.matched().unwrap_err().code().as_str(), "call.too_much_work");
    }

    #[test]
    fn equal_lines_that_are_too_many_are_left_to_the_automaton() {
        assert_eq!(matched_by_starts(&[0; 200], &[0; 200]), None);
        let (a, b) = ("x\n".repeat(200), "x\n".repeat(300));
        assert_eq!(line_similarity(&a, &b).unwrap().to_bits(), 0.8f64.to_bits());
    }
}
