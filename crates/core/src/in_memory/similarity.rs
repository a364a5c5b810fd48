//! The similarity of two texts, by the measure of Python's `difflib`.
//!
//! `SequenceMatcher` takes the longest common run (of several, the first one in the first text, then in the second),
//! and continues to the left and to the right of it. Its ratio is `2 · matched / (length of both)`. Finding the run
//! costs Python the product of both lengths; here a suffix automaton of one part finds it in linear time.

use super::limited;
use super::options::ApplyOptions;
use super::text::check_size;
use crate::error::Result;
use crate::work;
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
    measured(a, b, |text| text.chars().map(u32::from).collect())
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
    let mut numbers: HashMap<&str, u32> = HashMap::default();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (text, items) in [(a, &mut left), (b, &mut right)] {
        for line in text.split_inclusive('\n') {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            items.push(*numbers.entry(line).or_insert(next));
        }
    }
    limited(&ApplyOptions::new(), || {
        check_size("The first text", a, &ApplyOptions::new())?;
        check_size("The second text", b, &ApplyOptions::new())?;
        ratio(&left, &right)
    })
}

fn measured(a: &str, b: &str, items: impl Fn(&str) -> Vec<u32>) -> Result<f64> {
    let options = ApplyOptions::new();
    limited(&options, || {
        check_size("The first text", a, &options)?;
        check_size("The second text", b, &options)?;
        if a == b { Ok(1.0) } else { ratio(&items(a), &items(b)) }
    })
}

/// Computes the ratio of two sequences of items.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53, as in Python")]
fn ratio(a: &[u32], b: &[u32]) -> Result<f64> {
    match a.len() + b.len() {
        0 => Ok(1.0),
        all => Ok(2.0 * matched(a, b)? as f64 / all as f64),
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
    use super::{line_similarity, matched, similarity};
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

    proptest! {
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
}
