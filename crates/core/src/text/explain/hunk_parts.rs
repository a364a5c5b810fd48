//! Selection of hunks: a change is divided into the part that some of its hunks show, and the rest.

use super::{blocks, hunk_groups};
use crate::text::change::ChangeSet;
use crate::text::snapshot::Snapshot;
use std::collections::BTreeSet;

/// A change divided by hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkParts {
    /// The number of hunks of the whole change.
    pub hunks: usize,
    /// The changes of the chosen hunks.
    pub chosen: ChangeSet,
    /// All changes outside of the chosen hunks.
    pub rest: ChangeSet,
}

/// Divides a change by the hunks that [`hunks`](super::hunks) returns for the same `context`. `numbers` are the numbers
/// of the chosen hunks, from 1; numbers without a hunk are ignored.
pub fn by_hunks(base: &Snapshot, changes: &ChangeSet, context: usize, numbers: &BTreeSet<usize>) -> HunkParts {
    let text = base.text();
    let blocks = blocks(base, changes);
    let ends: Vec<usize> =
        hunk_groups(text, &blocks, context).filter_map(|group| Some(group.last()?.old.end())).collect();
    // Splices and hunks are in order. A splice belongs to the first hunk that does not end before it.
    let mut nth = 0;
    let (chosen, rest) = changes.partition(|splice| {
        let start = base.text_span(splice.span).start();
        while ends.get(nth).is_some_and(|end| *end < start) {
            nth += 1;
        }
        numbers.contains(&(nth + 1))
    });
    HunkParts { hunks: ends.len(), chosen, rest }
}

#[cfg(test)]
mod tests {
    use super::super::{DiffHunk, LineKind, hunks};
    use super::by_hunks;
    use crate::text::change::ChangeSet;
    use crate::text::snapshot::Snapshot;
    use proptest::prelude::*;

    /// Returns the changed lines of a hunk with the number of its first old line.
    fn changed(hunk: &DiffHunk) -> (usize, Vec<(LineKind, String)>) {
        let lines = hunk.lines.iter().filter(|line| line.kind != LineKind::Kept);
        (hunk.old_start, lines.map(|line| (line.kind, line.text.clone())).collect())
    }

    proptest! {
        #[test]
        fn chosen_hunks_are_the_hunks_of_the_chosen_part(
            lines in prop::collection::vec("[ab]{0,2}", 0..40),
            edits in prop::collection::vec((0usize..40, 0usize..3, prop::collection::vec("[xy]{0,2}", 0..3)), 0..5),
            context in 0usize..4,
            wanted in prop::collection::btree_set(1usize..5, 0..3),
        ) {
            let mut after = lines.clone();
            for (at, removed, added) in edits {
                let at = at.min(after.len());
                let stop = (at + removed).min(after.len());
                after.splice(at..stop, added);
            }
            let [before, after] = [lines, after].map(|lines| Snapshot::from_text(&lines.join("\n")));
            let changes = ChangeSet::diff(&before, &after);
            let all = hunks(&before, &changes, context);
            let parts = by_hunks(&before, &changes, context, &wanted);
            prop_assert_eq!(parts.hunks, all.len());
            prop_assert_eq!(parts.chosen.splices().len() + parts.rest.splices().len(), changes.splices().len());
            let expected: Vec<_> = all.iter().filter(|hunk| wanted.contains(&hunk.number)).map(changed).collect();
            let found: Vec<_> = hunks(&before, &parts.chosen, context).iter().map(changed).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
