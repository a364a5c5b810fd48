//! Disambiguation of hunks that fit several places: by the section that they name, by the line numbers in their
//! headers, by the order of the hunks. Each rule may select a place only if its choice is unambiguous; otherwise the
//! hunk is refused.

use super::{HunkCandidate, HunkMatches, failure, insert, scope};
use crate::error::Result;
use crate::locate::find::search::SearchIndex;
use crate::locate::find::select::is_clearly_farther;
use crate::locate::op::Hunk;
use crate::work::{self, STEP_BYTES};

/// Maximum number of rounds: a placed hunk may determine the place of another one.
const DISAMBIGUATION_ROUNDS: usize = 8;

/// Selects one place for every hunk for which a rule decides.
pub(super) fn disambiguate(index: &SearchIndex<'_>, hunks: &[&Hunk], matches: &mut [Result<HunkMatches>]) {
    let disputed = by_section(index, hunks, matches);
    for _ in 0..DISAMBIGUATION_ROUNDS {
        let before = count_undecided(matches);
        if before == 0 {
            break;
        }
        by_number(hunks, matches, &disputed, is_exact);
        by_order(matches);
        by_number(hunks, matches, &disputed, nearest);
        if count_undecided(matches) == before {
            break;
        }
    }
    shift_insertions(index, hunks, matches);
}

/// Counts the hunks with several places.
fn count_undecided(matches: &[Result<HunkMatches>]) -> usize {
    matches.iter().flatten().filter(|it| it.candidates.len() > 1).count()
}

/// Keeps one place, and notes the reason.
fn keep(matches: &mut HunkMatches, at: usize, why: &str) {
    let of = matches.candidates.len();
    let chosen = matches.candidates.swap_remove(at);
    matches.notes.push(format!("Of {of} places the one at line {} was chosen, by {why}.", chosen.lines.start + 1));
    matches.candidates = vec![chosen];
}

/// Returns the hunks that fit in several places.
fn several<'a>(
    hunks: &'a [&Hunk],
    matches: &'a mut [Result<HunkMatches>],
) -> impl Iterator<Item = (usize, &'a Hunk, &'a mut HunkMatches)> {
    hunks.iter().zip(matches).enumerate().filter_map(|(nth, (hunk, matches))| {
        let matches = matches.as_mut().ok().filter(|it| it.candidates.len() > 1);
        matches.filter(|it| !work::spend_or_end(1 + it.candidates.len() / STEP_BYTES)).map(|it| (nth, *hunk, it))
    })
}

/// Selects the only place, or the only places, in the section that the header names.
///
/// Returns for each hunk whether its number names another place exactly, further down from the line of the section:
/// either of them may be wrong, so neither decides.
fn by_section(index: &SearchIndex<'_>, hunks: &[&Hunk], matches: &mut [Result<HunkMatches>]) -> Vec<bool> {
    let offsets = offsets(hunks, matches);
    let mut disputed = vec![false; hunks.len()];
    for (nth, hunk, matches) in several(hunks, matches) {
        let Some(name) = &hunk.section else { continue };
        let sections = scope::sections(index, name);
        let is_within = |it: &HunkCandidate| sections.covers(it.lines.start);
        let within: Vec<usize> =
            (0..matches.candidates.len()).filter(|&at| is_within(&matches.candidates[at])).collect();
        let number = picked(hunk, matches, offsets[nth].before.unwrap_or(0), is_exact);
        let stated = number.map(|at| &matches.candidates[at]).filter(|it| !is_within(it));
        disputed[nth] = !within.is_empty() && stated.is_some_and(|it| sections.nearness(it.lines.start).is_some());
        match &*within {
            _ if disputed[nth] => {}
            [] => {}
            [at] => keep(matches, *at, &format!("the section name `{name}`")),
            _ => matches.candidates.retain(is_within),
        }
    }
    disputed
}

/// Selects by the number in the header, corrected by the offset of the nearest placed hunks; `pick` receives the
/// distances.
fn by_number(
    hunks: &[&Hunk],
    matches: &mut [Result<HunkMatches>],
    disputed: &[bool],
    pick: impl Fn(&[usize]) -> Option<usize>,
) {
    let offsets = offsets(hunks, matches);
    for (nth, hunk, matches) in several(hunks, matches).filter(|(nth, ..)| !disputed[*nth]) {
        let Some(at) = picked(hunk, matches, offsets[nth].before.unwrap_or(0), &pick) else { continue };
        // The hunk below may show that the file has shifted, so that the number names another place.
        let other = offsets[nth].after.and_then(|offset| picked(hunk, matches, offset, &pick));
        if other.is_none_or(|other| other == at) {
            let stated = hunk.first.unwrap_or_default();
            keep(matches, at, &format!("the line number {stated} in its header"));
        }
    }
}

/// Returns the index of the place that the number in the header means, if the lines of the file have this offset.
fn picked(
    hunk: &Hunk,
    matches: &HunkMatches,
    offset: isize,
    pick: impl Fn(&[usize]) -> Option<usize>,
) -> Option<usize> {
    // Models write "line 1" without counting.
    let stated = hunk.first.filter(|&stated| stated > 1 || matches.candidates[0].lines.start == 0)?;
    let expected = stated.checked_add_signed(offset)?;
    // Without context on either side, no place is tied to the number.
    let distances: Option<Vec<usize>> =
        matches.candidates.iter().map(|it| Some((it.lines.start + 1).abs_diff(it.dropped.first(expected)?))).collect();
    pick(&distances?)
}

/// Returns the index of the place that has the expected number.
fn is_exact(distances: &[usize]) -> Option<usize> {
    distances.iter().position(|&it| it == 0)
}

/// The offsets of header numbers that the nearest placed hunks show: the one above, and the one below.
#[derive(Clone, Copy, Debug, Default)]
struct HunkOffsets {
    before: Option<isize>,
    after: Option<isize>,
}

/// Returns for each hunk the offsets of the nearest placed hunks.
fn offsets(hunks: &[&Hunk], matches: &[Result<HunkMatches>]) -> Vec<HunkOffsets> {
    let known: Vec<Option<isize>> = hunks.iter().zip(matches).map(|(hunk, matches)| offset(hunk, matches)).collect();
    let mut out = vec![HunkOffsets::default(); hunks.len()];
    let mut last = None;
    for (nth, offset) in known.iter().enumerate() {
        out[nth].before = last;
        last = offset.or(last);
    }
    last = None;
    for (nth, offset) in known.iter().enumerate().rev() {
        out[nth].after = last;
        last = offset.or(last);
    }
    out
}

/// Returns the offset of the header number of a hunk that has only one place.
fn offset(hunk: &Hunk, matches: &Result<HunkMatches>) -> Option<isize> {
    let (stated, [one]) = (hunk.first?, &*matches.as_ref().ok()?.candidates) else { return None };
    let expected = one.dropped.first(stated).filter(|_| !one.lines.is_empty())?;
    Some((one.lines.start + 1).cast_signed().saturating_sub(expected.cast_signed()))
}

/// Moves the insertions that only a number places, if the other hunks show that the file has shifted.
fn shift_insertions(index: &SearchIndex<'_>, hunks: &[&Hunk], matches: &mut [Result<HunkMatches>]) {
    let offsets = offsets(hunks, matches);
    for ((hunk, matches), offsets) in hunks.iter().zip(matches).zip(offsets) {
        let Some(line) = insert::numbered_line(index, hunk).filter(|_| matches.is_ok()) else { continue };
        match (offsets.before, offsets.after) {
            (None | Some(0), None | Some(0)) => {}
            (Some(offset), after) if after.is_none_or(|after| after == offset) => {
                *matches = insert::at_number(index, hunk, line, offset);
            }
            _ => *matches = Err(failure::no_position(hunk)),
        }
    }
}

/// Returns the index of the nearest place, if it is clearly the nearest.
fn nearest(distances: &[usize]) -> Option<usize> {
    let (at, least) = distances.iter().copied().enumerate().min_by_key(|&(_, it)| it)?;
    let others = distances.iter().enumerate().filter(|&(other, _)| other != at);
    others.min_by_key(|&(_, it)| it).is_some_and(|(_, &next)| next > 0 && is_clearly_farther(next, least)).then_some(at)
}

/// Selects by the order of the hunks, if there is only one way to place each hunk below the previous one.
fn by_order(matches: &mut [Result<HunkMatches>]) {
    let starts: Option<Vec<Vec<usize>>> = matches
        .iter()
        .map(|it| it.as_ref().ok().map(|it| it.candidates.iter().map(|it| it.lines.start).collect()))
        .collect();
    // If a hunk has no place at all, the order decides nothing.
    let Some(starts) = starts else { return };
    let mut first = Vec::with_capacity(starts.len());
    let mut from = 0;
    for places in &starts {
        let Some(&at) = places.iter().find(|&&at| at >= from) else { return };
        first.push(at);
        from = at + 1;
    }
    let mut last = vec![0; starts.len()];
    let mut to = usize::MAX;
    for (nth, places) in starts.iter().enumerate().rev() {
        let Some(&at) = places.iter().rev().find(|&&at| at < to) else { return };
        last[nth] = at;
        to = at;
    }
    for (nth, matches) in matches.iter_mut().enumerate().filter(|(nth, _)| first[*nth] == last[*nth]) {
        if let Ok(matches) = matches
            && matches.candidates.len() > 1
            && let Some(at) = matches.candidates.iter().position(|it| it.lines.start == first[nth])
        {
            keep(matches, at, "the order of the hunks");
        }
    }
}
