//! Sets of lines of a version that were shown.

/// The last possible line: a range that reaches it means "to the end, whatever the length".
const LAST_LINE: u64 = u64::MAX;

/// Lines shown to a session: 1-based inclusive ranges, sorted, disjoint, adjacent ones merged. Equal sets are equal
/// values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSet(Vec<(u64, u64)>);

impl LineSet {
    /// The empty set.
    pub fn none() -> LineSet {
        LineSet(Vec::new())
    }

    /// The whole file, whatever its length.
    pub fn all() -> LineSet {
        LineSet(vec![(1, LAST_LINE)])
    }

    /// Adds the lines `from..=to`. Line 0 does not exist, and an inverted range is empty.
    pub fn add(&mut self, from: u64, to: u64) {
        let from = from.max(1);
        if from > to {
            return;
        }
        // The ranges that touch the new one, including adjacent ones, are consecutive in the sorted list.
        let first = self.0.partition_point(|&(_, end)| end < from.saturating_sub(1));
        let past = self.0.partition_point(|&(start, _)| start <= to.saturating_add(1));
        let run = self.0.get(first..past).unwrap_or_default();
        let merged =
            (run.first().map_or(from, |&(start, _)| start.min(from)), run.last().map_or(to, |&(_, end)| end.max(to)));
        self.0.splice(first..past, [merged]);
    }

    /// True if the whole file was shown, whatever its length.
    pub fn is_all(&self) -> bool {
        self.0 == [(1, LAST_LINE)]
    }

    /// True if every line of `from..=to` was shown; an empty range is always covered.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        let from = from.max(1);
        if from > to {
            return true;
        }
        let at = self.0.partition_point(|&(_, end)| end < from);
        self.0.get(at).is_some_and(|&(start, end)| start <= from && to <= end)
    }

    /// Returns the lines of `1..=total` that were never shown, as sorted ranges.
    pub fn missing(&self, total: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut next = 1;
        for &(start, end) in &self.0 {
            if start > total {
                break;
            }
            if next < start {
                gaps.push((next, start - 1));
            }
            if end >= total {
                return gaps;
            }
            next = end + 1;
        }
        if next <= total {
            gaps.push((next, total));
        }
        gaps
    }

    /// Returns the ranges. The whole file is `[(1, u64::MAX)]`.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Adds all lines of `other`.
    pub fn union(&mut self, other: &LineSet) {
        for &(from, to) in &other.0 {
            self.add(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::LineSet;
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    /// Asserts that both sets agree on everything within `1..=top`.
    fn agree(lines: &LineSet, set: &BTreeSet<u64>, top: u64) {
        for from in 0..=top {
            for to in 0..=top {
                let naive = (from.max(1)..=to).all(|line| set.contains(&line));
                assert_eq!(lines.covers(from, to), naive, "{from}..={to} of {lines:?}");
            }
        }
        for total in 0..=top {
            let missing: BTreeSet<u64> = lines.missing(total).iter().flat_map(|&(from, to)| from..=to).collect();
            let naive: BTreeSet<u64> = (1..=total).filter(|line| !set.contains(line)).collect();
            assert_eq!(missing, naive);
        }
        let apart = |pair: &[(u64, u64)]| pair[0].1 + 1 < pair[1].0;
        assert!(
            lines.ranges().windows(2).all(apart) && lines.ranges().iter().all(|&(from, to)| 1 <= from && from <= to)
        );
        assert!(!lines.is_all());
    }

    proptest! {
        #[test]
        fn line_set_behaves_like_a_set(added in vec((0_u64..24, 0_u64..24), 0..8), more in vec((0_u64..24, 0_u64..24), 0..8)) {
            let build = |ranges: &[(u64, u64)]| {
                let (mut lines, mut set) = (LineSet::none(), BTreeSet::new());
                for &(from, to) in ranges {
                    lines.add(from, to);
                    set.extend(from.max(1)..=to);
                }
                (lines, set)
            };
            let (mut lines, mut set) = build(&added);
            agree(&lines, &set, 26);
            let (others, other_set) = build(&more);
            lines.union(&others);
            set.extend(other_set);
            agree(&lines, &set, 26);
            // Equal sets are equal values, whatever the order of additions.
            let mut turned = others;
            turned.union(&build(&added).0);
            prop_assert_eq!(&turned, &lines);
            lines.union(&LineSet::all());
            prop_assert!(lines.is_all());
        }
    }

    #[test]
    fn whole_file_and_last_line_are_covered() {
        let mut lines = LineSet::all();
        assert!(lines.covers(1, u64::MAX) && lines.missing(u64::MAX).is_empty());
        lines.add(5, u64::MAX);
        assert_eq!(lines, LineSet::all());
        let mut lines = LineSet::none();
        lines.add(2, u64::MAX);
        assert_eq!(lines.missing(9), [(1, 1)]);
        lines.add(0, 1);
        assert!(lines.is_all());
        assert_eq!(LineSet::none().missing(3), [(1, 3)]);
        assert_eq!(LineSet::none().missing(0), []);
    }
}
