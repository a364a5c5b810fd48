//! The only place of a fragment that has its height and nearly all of its lines, each beside its counterpart.
//!
//! A text that shows a part of the file with a changed line has this shape. At every other place, equal lines would be
//! equal by accident, and lines that the text does not show would be deleted, or would be there twice.

use super::kept_line::KeptLine;
use super::lossless::is_significant;
use super::placement::Placement;
use super::{Fragment, TextPair, is_filled, same};
use crate::work;

/// Maximum number of lines of a fragment that are examined.
const FRAGMENT_LINES_MAX: usize = 500;
/// Steps of work for each line that is compared.
const COMPARED_LINE_STEPS: usize = 8;
/// Minimum number of unchanged lines that say something, and their minimum number for each changed line.
const UNCHANGED_LINES_MIN: usize = 4;
const UNCHANGED_PER_CHANGED: usize = 3;

/// Number of lines by which other places differ: that many are not deleted, nor repeated, by a text that does not show it.
const UNSEEN_LINES_MIN: usize = 4;

/// Returns that place if there is one.
pub(super) fn only(texts: &TextPair<'_>, fragment: &Fragment, places: &[Placement]) -> Option<Placement> {
    let height = fragment.lines.len();
    if height > FRAGMENT_LINES_MAX {
        return None;
    }
    let mut found = places.iter().filter(|it| it.old.len() == height && is_nearly_equal(texts, fragment, it));
    let only = found.next()?;
    (found.next().is_none() && is_apart(texts, only, places)).then(|| only.clone())
}

/// True if all other places would delete, or repeat, several lines more than this one.
pub(super) fn is_apart(texts: &TextPair<'_>, place: &Placement, places: &[Placement]) -> bool {
    let filled = |it: &Placement| texts.old.filled_in(&it.old).len();
    let is_far = |it: &&Placement| filled(it).abs_diff(filled(place)) >= UNSEEN_LINES_MIN;
    !work::spend_or_end(places.len()) && places.iter().filter(|it| *it != place).all(|it| is_far(&it))
}

/// True if nearly all lines are equal, and the others are similar to their counterparts and new to the file.
fn is_nearly_equal(texts: &TextPair<'_>, fragment: &Fragment, place: &Placement) -> bool {
    if work::spend_or_end(COMPARED_LINE_STEPS * fragment.lines.len()) {
        return false;
    }
    let (mut unchanged, mut changed) = (0, 0);
    for (old, new) in texts.old[place.old.clone()].iter().zip(&texts.new[fragment.lines.clone()]) {
        if same(old, new) {
            unchanged += usize::from(is_significant(old));
        } else if is_filled(old) && is_filled(new) && !texts.old.has_bare(new) && KeptLine::of(old).may_become(new) {
            changed += 1;
        } else {
            return false;
        }
    }
    unchanged >= UNCHANGED_LINES_MIN && unchanged >= UNCHANGED_PER_CHANGED * changed
}
