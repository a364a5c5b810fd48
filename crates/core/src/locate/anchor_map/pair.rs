//! Pairing of the lines of a new text with those of the old one, where it is certain. A line that occurs once in both
//! texts is paired wherever it moved. Equal lines are paired only if their surroundings leave no other possibility; the
//! others remain unpaired, because a word that changes costs a read, and a word that moves to another line costs a
//! wrong edit. Linear for any input.

use super::ReplacedRange;
use crate::text::diff::longest_increasing;
use crate::work;
use std::collections::{HashMap, HashSet};

/// Marks a line without a partner.
pub(super) const NO_LINE: u32 = u32::MAX;

/// For every line of `new`, returns the line of `old` it is paired with, or [`NO_LINE`]. Lines are given by their
/// hashes.
pub(super) fn pair(old: &[u64], new: &[u64]) -> Vec<u32> {
    let lines = (old.len() + new.len()) as u64;
    let mut pairing = Pairing { old, new, of_new: vec![NO_LINE; new.len()], work: lines * 12 + 4096, counts: None };
    let (head, tail) = equal_ends(old, new);
    let (head, tail) = certain_ends(old, new, head, tail);
    for at in 0..head {
        pairing.keep(at, at);
    }
    for back in 1..=tail {
        pairing.keep(old.len() - back, new.len() - back);
    }
    let mut gaps = vec![UnpairedLines { old: line_indices(head, tail, old), new: line_indices(head, tail, new) }];
    while let Some(gap) = gaps.pop() {
        pairing.gap(&gap, &mut gaps);
    }
    pairing.of_new
}

/// Returns the indices of the lines between equal ends.
fn line_indices(head: usize, tail: usize, lines: &[u64]) -> Vec<u32> {
    (head as u32..(lines.len() - tail) as u32).collect::<Vec<u32>>()
}

/// Pairs lines after a known edit: ranges of old lines and what replaced them, in order. `None` if the ranges do not
/// lead from the old text to the new one.
pub(super) fn pair_edit(old: &[u64], new: &[u64], changed: &[ReplacedRange]) -> Option<Vec<u32>> {
    let lines = (old.len() + new.len()) as u64;
    let mut pairing = Pairing { old, new, of_new: vec![NO_LINE; new.len()], work: lines * 12 + 4096, counts: None };
    let mut rest = UnpairedLines { old: Vec::new(), new: Vec::new() };
    let end = ReplacedRange { old: old.len()..old.len(), new: new.len()..new.len() };
    let (mut old_at, mut new_at) = (0, 0);
    for ReplacedRange { old: taken, new: put } in changed.iter().chain([&end]) {
        let kept = old_at..taken.start;
        if old.get(kept.clone())? != new.get(new_at..put.start)? {
            return None;
        }
        for (old, new) in kept.zip(new_at..) {
            pairing.keep(old, new);
        }
        rest.old.extend(taken.clone().map(|at| at as u32));
        rest.new.extend(put.clone().map(|at| at as u32));
        (old_at, new_at) = (taken.end, put.end);
    }
    // The changed ranges may contain lines that were moved.
    let mut gaps = vec![rest];
    while let Some(gap) = gaps.pop() {
        pairing.gap(&gap, &mut gaps);
    }
    Some(pairing.of_new)
}

/// Lengths of the equal prefix and suffix, which overlap on neither side.
fn equal_ends(old: &[u64], new: &[u64]) -> (usize, usize) {
    let len = old.len().min(new.len());
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old.iter().rev().zip(new.iter().rev()).take(len - head).take_while(|(a, b)| a == b).count();
    (head, tail)
}

/// Shortens the equal prefix and suffix to the part that is certain however the change was made: up to a line that the
/// rest does not contain.
fn certain_ends(old: &[u64], new: &[u64], mut head: usize, mut tail: usize) -> (usize, usize) {
    let rest = old[head..old.len() - tail].iter().chain(&new[head..new.len() - tail]);
    let rest: HashSet<u64> = rest.copied().collect();
    if rest.is_empty() {
        return (head, tail);
    }
    while head > 0 && rest.contains(&old[head - 1]) {
        head -= 1;
    }
    while tail > 0 && rest.contains(&old[old.len() - tail]) {
        tail -= 1;
    }
    (head, tail)
}

/// Unpaired lines between two pairs, in order.
struct UnpairedLines {
    old: Vec<u32>,
    new: Vec<u32>,
}

struct Pairing<'a> {
    old: &'a [u64],
    new: &'a [u64],
    of_new: Vec<u32>,
    /// Remaining number of lines that may be examined; once it is used up, gaps are closed as they are.
    work: u64,
    /// For each line, how often it occurs in both texts; counted once it is needed.
    counts: Option<HashMap<u64, u32>>,
}

/// Occurrences of a line on both sides, and the position of the last one.
#[derive(Clone, Copy, Default)]
struct LineOccurrences {
    old: u32,
    new: u32,
    old_at: u32,
    new_at: u32,
}

/// For each line of a gap, true if it has a partner.
struct PairedLines {
    old: Vec<bool>,
    new: Vec<bool>,
    /// The old lines whose partner is uncertain. They divide the gap like the others, and do not keep their words.
    uncertain: HashSet<u32>,
}

impl Pairing<'_> {
    fn keep(&mut self, old: usize, new: usize) {
        self.of_new[new] = old as u32;
    }

    fn gap(&mut self, gap: &UnpairedLines, gaps: &mut Vec<UnpairedLines>) {
        if gap.old.is_empty() || gap.new.is_empty() {
            return;
        }
        let size = (gap.old.len() + gap.new.len()) as u64;
        let mut occurrences: HashMap<u64, LineOccurrences> = HashMap::with_capacity(gap.old.len());
        for (at, &line) in work::batched((0..).zip(&gap.old)) {
            let place = occurrences.entry(self.old[line as usize]).or_default();
            (place.old, place.old_at) = (place.old + 1, at);
        }
        for (at, &line) in work::batched((0..).zip(&gap.new)) {
            let place = occurrences.entry(self.new[line as usize]).or_default();
            (place.new, place.new_at) = (place.new + 1, at);
        }
        if work::spend_or_end(1) {
            return;
        }
        let once = occurrences.values().filter(|place| (place.old, place.new) == (1, 1));
        let mut pairs: Vec<(u32, u32)> = once.map(|place| (place.old_at, place.new_at)).collect();
        pairs.sort_unstable();
        let uncertain = self.uncertain_pairs(gap, &pairs);
        let spent = self.work < size;
        self.work = self.work.saturating_sub(size);
        if pairs.is_empty() || spent {
            for (old, new) in pairs.into_iter().filter(|(old, _)| !uncertain.contains(old)) {
                self.keep(gap.old[old as usize] as usize, gap.new[new as usize] as usize);
            }
            if spent || !self.trim(gap, gaps) {
                self.close(gap, &occurrences);
            }
            return;
        }
        self.split(gap, &pairs, uncertain, gaps);
    }

    /// Returns the old lines of pairs that changed their order with another one and have an equal line outside of the
    /// gap: one of the two equal lines may be gone, and a new one elsewhere.
    fn uncertain_pairs(&mut self, gap: &UnpairedLines, pairs: &[(u32, u32)]) -> HashSet<u32> {
        let mut uncertain = HashSet::new();
        if pairs.is_sorted_by_key(|pair| pair.1) {
            return uncertain;
        }
        let mut least_below: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
        for at in (1..pairs.len()).rev() {
            least_below[at - 1] = least_below[at - 1].min(least_below[at]);
        }
        let mut most_above = None;
        for (&(old, new), least_below) in pairs.iter().zip(least_below) {
            let is_ordered = most_above < Some(new) && least_below == new;
            most_above = most_above.max(Some(new));
            if !is_ordered && !self.is_unique(self.old[gap.old[old as usize] as usize]) {
                uncertain.insert(old);
            }
        }
        uncertain
    }

    /// True for a line that occurs once in either text.
    fn is_unique(&mut self, line: u64) -> bool {
        let (old, new) = (self.old, self.new);
        let counts = self.counts.get_or_insert_with(|| {
            let mut counts = HashMap::with_capacity(old.len());
            for &line in work::batched(old.iter().chain(new)) {
                *counts.entry(line).or_default() += 1;
            }
            counts
        });
        counts.get(&line) == Some(&2)
    }

    /// Keeps the pairs, extends them to lines that moved along, and collects the gaps between pairs that did not move.
    fn split(
        &mut self,
        gap: &UnpairedLines,
        pairs: &[(u32, u32)],
        uncertain: HashSet<u32>,
        gaps: &mut Vec<UnpairedLines>,
    ) {
        let mut done = PairedLines { old: vec![false; gap.old.len()], new: vec![false; gap.new.len()], uncertain };
        for &(old, new) in pairs {
            self.keep_pair(gap, &mut done, old, new);
        }
        let chain = longest_increasing(pairs);
        let mut ranks: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
        ranks.sort_unstable();
        let rank = |new: u32| ranks.partition_point(|&other| other < new);
        for two in pairs.windows(2) {
            let ((old, new), (old_next, new_next)) = (two[0], two[1]);
            let moved = chain.binary_search(&two[0]).is_err() || chain.binary_search(&two[1]).is_err();
            let together = new < new_next && old_next - old == new_next - new && rank(new) + 1 == rank(new_next);
            let mut between = (old + 1..old_next).zip(new + 1..new_next);
            if moved
                && together
                && between.clone().all(|(old, new)| {
                    self.old[gap.old[old as usize] as usize] == self.new[gap.new[new as usize] as usize]
                })
            {
                if done.uncertain.contains(&old) || done.uncertain.contains(&old_next) {
                    done.uncertain.extend(old + 1..old_next);
                }
                between.by_ref().for_each(|(old, new)| self.keep_pair(gap, &mut done, old, new));
            }
        }
        let ends = [(gap.old.len() as u32, gap.new.len() as u32)];
        let (mut old_from, mut new_from) = (0, 0);
        for &(old_to, new_to) in chain.iter().chain(&ends) {
            let old = remaining(&gap.old, &done.old, old_from, old_to);
            let new = remaining(&gap.new, &done.new, new_from, new_to);
            if !(old.is_empty() || new.is_empty()) {
                gaps.push(UnpairedLines { old, new });
            }
            (old_from, new_from) = (old_to + 1, new_to + 1);
        }
    }

    /// Marks a pair of lines of the gap, and keeps it if it is certain.
    fn keep_pair(&mut self, gap: &UnpairedLines, done: &mut PairedLines, old: u32, new: u32) {
        (done.old[old as usize], done.new[new as usize]) = (true, true);
        if !done.uncertain.contains(&old) {
            self.keep(gap.old[old as usize] as usize, gap.new[new as usize] as usize);
        }
    }

    /// Pairs equal lines at both ends of a gap without unique lines; false if there are none.
    fn trim(&mut self, gap: &UnpairedLines, gaps: &mut Vec<UnpairedLines>) -> bool {
        let old: Vec<u64> = gap.old.iter().map(|&at| self.old[at as usize]).collect();
        let new: Vec<u64> = gap.new.iter().map(|&at| self.new[at as usize]).collect();
        let (head, tail) = equal_ends(&old, &new);
        let (head, tail) = certain_ends(&old, &new, head, tail);
        for at in 0..head {
            self.keep(gap.old[at] as usize, gap.new[at] as usize);
        }
        for back in 1..=tail {
            self.keep(gap.old[old.len() - back] as usize, gap.new[new.len() - back] as usize);
        }
        if head + tail > 0 {
            gaps.push(UnpairedLines {
                old: gap.old[head..old.len() - tail].to_vec(),
                new: gap.new[head..new.len() - tail].to_vec(),
            });
        }
        head + tail > 0
    }

    /// Pairs lines that occur several times, if there are as many as before, in the same order.
    fn close(&mut self, gap: &UnpairedLines, occurrences: &HashMap<u64, LineOccurrences>) {
        let old: Vec<u32> = gap.old.iter().copied().filter(|&at| is_even(occurrences, self.old[at as usize])).collect();
        let new: Vec<u32> = gap.new.iter().copied().filter(|&at| is_even(occurrences, self.new[at as usize])).collect();
        if old.iter().zip(&new).all(|(&old, &new)| self.old[old as usize] == self.new[new as usize]) {
            old.iter().zip(&new).for_each(|(&old, &new)| self.keep(old as usize, new as usize));
        }
    }
}

/// True for a line that occurs several times, equally often on both sides.
fn is_even(occurrences: &HashMap<u64, LineOccurrences>, hash: u64) -> bool {
    occurrences.get(&hash).is_some_and(|place| place.old == place.new && place.old > 1)
}

/// Returns the lines of a range that have no partner.
fn remaining(lines: &[u32], done: &[bool], from: u32, to: u32) -> Vec<u32> {
    (from..to).filter(|&at| !done[at as usize]).map(|at| lines[at as usize]).collect()
}
