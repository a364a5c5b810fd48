//! Rivals of a range between two anchors: longer ranges that share one of its anchors.
//!
//! Of two ranges with the same first line, the shorter one is always repeated at least as well, so that the share of
//! repeated lines says nothing about them. What the new text repeats of the lines that only the longer range has is the
//! evidence: it would be in the file twice if the shorter range were replaced.

use super::search::MatchSearch;
use crate::text::fold::{self, is_blank};
use crate::work;

/// Maximum number of cells (lines of the file × lines of the new text) for one range.
const RIVAL_CELLS_MAX: usize = 1 << 18;

/// Cells that take as long as one step of work.
const CELLS_PER_STEP: usize = 16;

/// Returns the farther anchor of the longer range that the new text repeats best; `None` unless it repeats the nearest
/// line beyond the range, or half of the lines up to that anchor.
///
/// `lines` begins behind the shared anchor and goes away from it; `own` is the index of the range's other anchor in it.
/// `new` goes in the same direction.
pub(super) fn farther_anchor(
    search: &MatchSearch<'_>,
    lines: impl Iterator<Item = usize>,
    own: usize,
    new: &[u64],
    is_anchor: impl Fn(usize) -> bool,
) -> Option<usize> {
    let lines: Vec<usize> = lines.take(RIVAL_CELLS_MAX / new.len().max(1)).collect();
    let beyond = lines.get(own + 1..)?;
    beyond.iter().find(|&&line| is_anchor(line))?;
    if work::spend_or_end(lines.len() + lines.len() * new.len() / CELLS_PER_STEP) {
        return None;
    }
    let repeated = repeated_weights(search, &lines, new);
    let nearest = beyond.iter().position(|&line| count_alnum(search, line) > 0).map(|at| own + 1 + at);
    let is_echoed = nearest.is_some_and(|at| repeated[at + 1] > repeated[at]);
    let (mut all, mut best) = (weight(search, lines[own]), None);
    for (at, &line) in lines.iter().enumerate().skip(own + 1) {
        let gain = repeated[at] - repeated[own];
        let score = (2 * gain).cast_signed() - all.cast_signed();
        let is_likely = is_echoed && nearest.is_some_and(|it| it < at) || gain > 0 && score >= 0;
        if is_likely && best.is_none_or(|(most, _)| score > most) && is_anchor(line) {
            best = Some((score, line));
        }
        all += weight(search, line);
    }
    best.map(|(_, line)| line)
}

/// Returns for each number of lines the weight of those that the new text repeats in order.
fn repeated_weights(search: &MatchSearch<'_>, lines: &[usize], new: &[u64]) -> Vec<usize> {
    let keys = search.run_hashes();
    let mut best = vec![0; new.len() + 1];
    let mut weights = vec![0];
    for &line in lines {
        let weight = weight(search, line);
        let mut diagonal = 0;
        for (at, key) in new.iter().enumerate().filter(|_| weight > 0) {
            let taken = if *key == keys[line] { diagonal + weight } else { 0 };
            diagonal = best[at + 1];
            best[at + 1] = taken.max(best[at]).max(diagonal);
        }
        weights.push(best[new.len()]);
    }
    weights
}

/// Returns the weight of a line of the file: its letters and digits, at least 1 unless it is blank.
fn weight(search: &MatchSearch<'_>, line: usize) -> usize {
    if is_blank(search.line(line)) { 0 } else { count_alnum(search, line).max(1) }
}

/// Counts the letters and digits of a line of the file.
fn count_alnum(search: &MatchSearch<'_>, line: usize) -> usize {
    fold::count_alnum(search.line(line), 1_000)
}
