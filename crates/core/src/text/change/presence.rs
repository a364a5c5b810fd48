//! Detection whether a version already has a change, as when an undo is repeated.
//!
//! Where lines repeat, the comparison of two versions may report an insertion or deletion at any of several positions.
//! Two sides that made the same change then seem to have made different ones, and [`ChangeSet::rebase`] would make it
//! twice. The distance between `base` and `now` shows the difference: the change increases it if `now` lacks the
//! change, and reduces it if `now` has it.
//!
//! A deletion needs more: if its lines were changed instead, `now` lacks them and has others in their place. The
//! distances are then those of a version that made the deletion and inserted other lines there.

use super::ChangeSet;
use crate::text::diff;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;

/// Relation of a version to a change that another version underwent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The version does not have the change.
    Missing,
    /// The version has the change.
    Made,
    /// A part of the change may be there.
    Unclear,
}

impl ChangeSet {
    /// Returns whether `now`, which was made from `base`, already has this change of `base`. Takes about linear time,
    /// like [`ChangeSet::diff`].
    pub fn presence(&self, base: &Snapshot, now: &Snapshot) -> Presence {
        let Ok(target) = base.after(self) else { return Presence::Unclear };
        if target.codec() != now.codec() || base.codec() != now.codec() {
            return Presence::Unclear;
        }
        let (own, without, with) = (distance(base, &target), distance(base, now), distance(&target, now));
        if with >= without + own {
            Presence::Missing
        } else if with + own <= without && !has_lines_of_deletions(base, &target, now) {
            Presence::Made
        } else {
            Presence::Unclear
        }
    }
}

/// Returns the number of bytes in the lines in which two versions differ. Whole lines are counted, because the numbers
/// for changes of neighbouring lines then add up.
fn distance(before: &Snapshot, after: &Snapshot) -> usize {
    diff::raw_hunks(before, after).iter().map(|(old, new)| old.len() + new.len()).sum()
}

/// Returns whether `now` has more lines than `target` where `target` lacks lines of `base`: they may be the deleted
/// ones, changed.
fn has_lines_of_deletions(base: &Snapshot, target: &Snapshot, now: &Snapshot) -> bool {
    let hunks = diff::raw_hunks(base, target);
    let mut deletions = hunks.iter().filter(|(_, left)| left.is_empty()).map(|(_, left)| left.start()).peekable();
    if deletions.peek().is_none() {
        return false;
    }
    let lines = |version: &Snapshot, span: Span| memchr::memchr_iter(b'\n', &version.raw()[span.range()]).count();
    let mut grown = diff::raw_hunks(target, now);
    grown.retain(|&(old, new)| lines(now, new) > lines(target, old));
    deletions.any(|at| {
        let next = grown.partition_point(|(old, _)| old.end() < at);
        grown.get(next).is_some_and(|(old, _)| old.start() <= at)
    })
}

#[cfg(test)]
mod tests {
    use super::Presence;
    use crate::text::change::ChangeSet;
    use crate::text::snapshot::Snapshot;
    use proptest::prelude::*;

    fn presence(base: &str, target: &str, now: &str) -> Presence {
        let [base, target, now] = [base, target, now].map(Snapshot::from_text);
        ChangeSet::diff(&base, &target).presence(&base, &now)
    }

    #[test]
    fn equal_lines_are_counted_wherever_the_comparison_puts_them() {
        let (three, two) = ("x\ny\na\na\na\nz\n", "x\ny\na\na\nz\n");
        for (base, target) in [(three, two), (two, three)] {
            assert_eq!(presence(base, target, &format!("n\n{target}m\n")), Presence::Made);
            assert_eq!(presence(base, target, &format!("n\n{base}m\n")), Presence::Missing);
        }
        // A deleted line was changed, not deleted; a neighbour of a deleted line was changed.
        assert_eq!(presence("x\nnew\ny\n", "x\ny\n", "x\nnew, too\ny\n"), Presence::Unclear);
        assert_eq!(presence("x\nnew\ny\n", "x\ny\n", "x\nz\n"), Presence::Made);
        // More than the change was made at its place.
        assert_eq!(presence("x\nbig\ny\n", "x\nnew\ny\n", "x\nnot\ny\n"), Presence::Unclear);
    }

    proptest! {
        /// A change that was made and one that is missing are never confused.
        #[test]
        fn changes_are_made_once(
            base in prop::collection::vec("[ab]", 0..12),
            edits in prop::collection::vec((0usize..12, 0usize..3, prop::collection::vec("[ab]", 0..3)), 1..3),
            above in 1usize..3,
        ) {
            let mut target = base.clone();
            for (at, removed, added) in edits {
                let at = at.min(target.len());
                let stop = (at + removed).min(target.len());
                target.splice(at..stop, added);
            }
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (base, target) = (text(&base), text(&target));
            let above = "a line of its own\n".repeat(above);
            if base != target {
                prop_assert_ne!(presence(&base, &target, &(above.clone() + &target)), Presence::Missing);
                prop_assert_ne!(presence(&base, &target, &(above + &base)), Presence::Made);
            }
        }
    }
}
