//! Disambiguation of hunks that fit several places: by the section that they name, by the line numbers in their
//! headers, by the order of the hunks. Each rule may select a place only if its choice is unambiguous; otherwise the
//! hunk is refused.

use super::{HunkMatches, scope};
use crate::error::Result;
use crate::locate::find::search::SearchIndex;
use crate::locate::find::select::is_clearly_farther;
use crate::locate::op::Hunk;
use crate::work::{self, STEP_BYTES};

/// Maximum number of rounds: a placed hunk may determine the place of another one.
const DISAMBIGUATION_ROUNDS: usize = 8;

/// Selects one place for every hunk for which a rule decides.
pub(super) fn disambiguate(index: &SearchIndex<'_>, hunks: &[&Hunk], sought: &mut [Result<HunkMatches>]) {
    by_section(index, hunks, sought);
    for _ in 0..DISAMBIGUATION_ROUNDS {
        let before = count_undecided(sought);
        if before == 0 {
            return;
        }
        by_number(hunks, sought, |distances| distances.iter().position(|&it| it == 0));
        by_order(sought);
        by_number(hunks, sought, nearest);
        if count_undecided(sought) == before {
            return;
        }
    }
}

/// Counts the hunks with several places.
fn count_undecided(sought: &[Result<HunkMatches>]) -> usize {
    sought.iter().flatten().filter(|it| it.candidates.len() > 1).count()
}

/// Keeps one place, and notes the reason.
fn keep(sought: &mut HunkMatches, at: usize, why: &str) {
    let of = sought.candidates.len();
    let chosen = sought.candidates.swap_remove(at);
    sought.notes.push(format!("Of {of} places the one at line {} was chosen, by {why}.", chosen.lines.start + 1));
    sought.candidates = vec![chosen];
}

/// Returns the hunks that fit in several places.
fn several<'a>(
    hunks: &'a [&Hunk],
    sought: &'a mut [Result<HunkMatches>],
) -> impl Iterator<Item = (usize, &'a Hunk, &'a mut HunkMatches)> {
    hunks.iter().zip(sought).enumerate().filter_map(|(nth, (hunk, sought))| {
        let sought = sought.as_mut().ok().filter(|it| it.candidates.len() > 1);
        sought.filter(|it| !work::spend_or_end(1 + it.candidates.len() / STEP_BYTES)).map(|it| (nth, *hunk, it))
    })
}

/// Selects the only place, or the only places, in the section that the header names.
fn by_section(index: &SearchIndex<'_>, hunks: &[&Hunk], sought: &mut [Result<HunkMatches>]) {
    for (_, hunk, sought) in several(hunks, sought) {
        let Some(name) = &hunk.section else { continue };
        let sections = scope::sections(index, name);
        let within: Vec<usize> =
            (0..sought.candidates.len()).filter(|&at| sections.covers(sought.candidates[at].lines.start)).collect();
        match &*within {
            [] => {}
            [at] => keep(sought, *at, &format!("the section name `{name}`")),
            _ => sought.candidates.retain(|it| sections.covers(it.lines.start)),
        }
    }
}

/// Selects by the number in the header, corrected by the offset of the preceding hunk; `pick` receives the distances.
fn by_number(hunks: &[&Hunk], sought: &mut [Result<HunkMatches>], pick: impl Fn(&[usize]) -> Option<usize>) {
    let offsets = offsets(hunks, sought);
    for (nth, hunk, sought) in several(hunks, sought) {
        // Models write "line 1" without counting.
        let Some(said) = hunk.first.filter(|&said| said > 1 || sought.candidates[0].lines.start == 0) else { continue };
        let Some(expected) = said.checked_add_signed(offsets[nth]) else { continue };
        // Without context on either side, no place is tied to the number.
        let distances: Option<Vec<usize>> = sought
            .candidates
            .iter()
            .map(|it| Some((it.lines.start + 1).abs_diff(it.left_out.first(expected)?)))
            .collect();
        let Some(distances) = distances else { continue };
        if let Some(at) = pick(&distances) {
            keep(sought, at, &format!("the line number {said} in its header"));
        }
    }
}

/// Returns for each hunk the offset of the header numbers: that of the nearest placed hunk before it.
fn offsets(hunks: &[&Hunk], sought: &[Result<HunkMatches>]) -> Vec<isize> {
    let mut offset = 0;
    let mut out = Vec::with_capacity(hunks.len());
    for (hunk, sought) in hunks.iter().zip(sought) {
        out.push(offset);
        if let (Some(said), Ok(HunkMatches { candidates, .. })) = (hunk.first, sought)
            && let [one] = &**candidates
            && !one.lines.is_empty()
            && let Some(expected) = one.left_out.first(said)
        {
            offset = (one.lines.start + 1).cast_signed().saturating_sub(expected.cast_signed());
        }
    }
    out
}

/// Returns the index of the nearest place, if it is clearly the nearest.
fn nearest(distances: &[usize]) -> Option<usize> {
    let (at, least) = distances.iter().copied().enumerate().min_by_key(|&(_, it)| it)?;
    let others = distances.iter().enumerate().filter(|&(other, _)| other != at);
    others.min_by_key(|&(_, it)| it).is_some_and(|(_, &next)| next > 0 && is_clearly_farther(next, least)).then_some(at)
}

/// Selects by the order of the hunks, if there is only one way to place each hunk below the previous one.
fn by_order(sought: &mut [Result<HunkMatches>]) {
    let starts: Option<Vec<Vec<usize>>> = sought
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
    for (nth, sought) in sought.iter_mut().enumerate().filter(|(nth, _)| first[*nth] == last[*nth]) {
        if let Ok(sought) = sought
            && sought.candidates.len() > 1
            && let Some(at) = sought.candidates.iter().position(|it| it.lines.start == first[nth])
        {
            keep(sought, at, "the order of the hunks");
        }
    }
}
