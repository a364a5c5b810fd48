//! The only place of a fragment at which no line would be lost, if every other place would delete lines that the text
//! does not show.

use super::innermost::Sides;
use super::placement::{Placement, matched_lines, new_lines};
use super::{Fragment, TextPair, is_filled};
use crate::locate::word_overlap::LineWords;
use crate::text::fold::count_alnum;
use crate::work;

/// Maximum number of places, and of lines of a fragment, that are examined for lines that would be lost.
const LOSSLESS_PLACES_MAX: usize = 200;
const LOSSLESS_LINES_MAX: usize = 500;
/// Steps of work for each line that is compared.
const COMPARED_LINE_STEPS: usize = 8;
/// Number of lines that a fragment would have to delete without showing them for a place to be excluded: a text that
/// shows its changes does not do that.
const UNSEEN_LINES_MIN: usize = 4;
/// Minimum number of letters and digits of an unchanged line that supports a place.
const SUPPORTING_ALNUM_MIN: usize = 4;
/// Number of lines that together prove that no other place is meant.
const PROOF_LINES: usize = 2;
/// Minimum number of letters and digits of a line that proves a place if it occurs once in the file.
const PROVING_ALNUM_MIN: usize = 8;

/// Returns the only place at which no line of the file would be lost: each line is kept, or replaced by a similar one.
/// At all other places the fragment would delete many lines that it does not show, and code that a text does not show
/// is kept. Either all places begin at one line, or this place has an unchanged line that occurs once in the file.
/// Every new line must be new to the file; otherwise the fragment may be an existing part with lines deleted. A place
/// that keeps all lines of the file, two of which occur nowhere else, is accepted even if there are places where the
/// text would be a second copy of those.
pub(super) fn only(texts: &TextPair<'_>, fragment: &Fragment, places: &[Placement]) -> Option<Placement> {
    let first = places.first()?;
    let is_comparable = |it: &&Placement| it.old.len() <= 2 * fragment.lines.len();
    let comparable = || places.iter().filter(is_comparable);
    if comparable().count() > LOSSLESS_PLACES_MAX || fragment.lines.len() > LOSSLESS_LINES_MAX {
        return None;
    }
    let mut found = comparable().filter_map(|it| Some((it, additions(texts, fragment, it)?)));
    let (only, added) = found.next().filter(|_| found.next().is_none())?;
    let matched = matched_lines(texts, &fragment.lines, &only.old);
    let pairs = fragment.lines.clone().zip(&matched);
    let proofs: Vec<usize> = pairs.filter_map(|(line, at)| at.filter(|_| is_proving(texts, line))).collect();
    if proofs.is_empty() && places.iter().any(|it| it.old.start != first.old.start) {
        return None;
    }
    let kept = matched.iter().flatten().filter(|&&at| !texts.old[at].trim().is_empty()).count();
    let keeps_all = proofs.len() >= PROOF_LINES && kept == texts.old.filled_in(&only.old).len();
    if work::spend_or_end(places.len() * (1 + proofs.len())) {
        return None;
    }
    // Lines that are added at one place may replace as many at another, and a few more lines may be deleted.
    let most = texts.old.filled_in(&only.old).len() + 2 * added + UNSEEN_LINES_MIN;
    // A new line may replace the definition of the same name, however long that is.
    let sides = Sides::of(texts, new_lines(texts, &fragment.lines, &matched).collect(), &only.old, places);
    let is_ruled_out = |it: &Placement| {
        let is_large = texts.old.filled_in(&it.old).len() >= most && !sides.has_named(it);
        is_large || keeps_all && !proofs.iter().any(|at| it.old.contains(at))
    };
    places.iter().filter(|it| *it != only).all(is_ruled_out).then(|| only.clone())
}

/// True for a line with many letters and digits that occurs once in the file.
pub(super) fn is_proving(texts: &TextPair<'_>, line: usize) -> bool {
    texts.new.get(line).is_some_and(|text| texts.old.places_of(text).len() == 1 && has_many_alnum(text))
}

/// True for a line that is hardly equal to another one by accident, because it has many letters and digits.
pub(super) fn has_many_alnum(line: &str) -> bool {
    count_alnum(line, PROVING_ALNUM_MIN) >= PROVING_ALNUM_MIN
}

/// True for a line that says something, because it has some letters and digits.
pub(super) fn is_significant(line: &str) -> bool {
    count_alnum(line, SUPPORTING_ALNUM_MIN) >= SUPPORTING_ALNUM_MIN
}

/// Counts the lines that a fragment adds at a place. `None` if it would delete lines there, unless it shows the lines
/// before and after them as neighbours; and if it adds lines that the file has elsewhere.
fn additions(texts: &TextPair<'_>, fragment: &Fragment, it: &Placement) -> Option<usize> {
    let lines = it.old.len() + fragment.lines.len();
    if work::spend_or_end(COMPARED_LINE_STEPS * lines) {
        return None;
    }
    let matched = matched_lines(texts, &fragment.lines, &it.old);
    let mut new_lines = new_lines(texts, &fragment.lines, &matched);
    let is_moved = |line: &str| is_significant(line) && texts.old.has_bare(line);
    let mut is_new = new_lines.clone().next().is_some();
    if new_lines.any(is_moved) || !matched.iter().flatten().any(|&at| is_significant(texts.old[at])) {
        return None;
    }
    let (mut old, mut new, mut added) = (it.old.start, fragment.lines.start, 0);
    let pairs = fragment.lines.clone().zip(&matched).filter_map(|(line, at)| Some((line, (*at)?)));
    for (line, at) in pairs.chain([(fragment.lines.end, it.old.end)]) {
        let mut fresh = texts.new[new..line].iter().copied();
        for gone in texts.old[old..at].iter().copied().filter(|line| is_filled(line)) {
            let gone = LineWords::of(gone)?;
            match fresh.position(|new| gone.may_become(new)) {
                Some(passed) => added += passed,
                // The line is deleted between two lines that the text shows as neighbours.
                None if new == line && is_proving(texts, new.wrapping_sub(1)) && is_proving(texts, line) => {
                    is_new = true;
                }
                None => return None,
            }
        }
        added += fresh.count();
        (old, new) = (at + 1, line + 1);
    }
    is_new.then_some(added)
}
