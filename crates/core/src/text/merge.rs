//! Three-way merge with conflict markers, used only where a caller asks for markers. Both sides are compared with the
//! base by the bounded comparison of [`crate::text::diff`], so that no input makes it slow.

use crate::text::diff;
use core::ops::Range;

/// The line that begins a conflict.
pub const CONFLICT_BEGIN: &str = "<<<<<<< your edit\n";

/// Merges two texts made from `base` by lines. Where both changed the same lines, both versions are kept between
/// conflict markers (`<<<<<<< your edit`, `||||||| as read`, `=======`, `>>>>>>> on disk`).
pub fn merge_with_markers(base: &str, ours: &str, theirs: &str) -> String {
    let [base, ours, theirs] = [base, ours, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<&str>>());
    let (ours, theirs) = (MergeSide::new(&base, ours), MergeSide::new(&base, theirs));
    let mut out = String::new();
    let (mut at, mut one, mut other) = (0, 0, 0);
    loop {
        let starts = [ours.start(one), theirs.start(other)].into_iter().flatten();
        let Some(start) = starts.min() else { break };
        let mut region = MergeRegion { base: start..start, ours: one..one, theirs: other..other };
        region.grow(&ours, &theirs);
        out.extend(base[at..region.base.start].iter().copied());
        region.write(&base, &ours, &theirs, &mut out);
        (at, one, other) = (region.base.end, region.ours.end, region.theirs.end);
    }
    out.extend(base[at..].iter().copied());
    out
}

/// One of the two texts and its differences from the base.
struct MergeSide<'t> {
    lines: Vec<&'t str>,
    hunks: Vec<(Range<usize>, Range<usize>)>,
}

impl<'t> MergeSide<'t> {
    fn new(base: &[&'t str], lines: Vec<&'t str>) -> MergeSide<'t> {
        let hunks = diff::line_hunks(base, &lines);
        MergeSide { lines, hunks }
    }

    /// The line of the base at which a hunk begins.
    fn start(&self, hunk: usize) -> Option<usize> {
        self.hunks.get(hunk).map(|(old, _)| old.start)
    }

    /// Adds the next hunks that touch `base` to `hunks`, and extends `base` by them.
    fn take(&self, hunks: &mut Range<usize>, base: &mut Range<usize>) -> bool {
        let before = hunks.end;
        while let Some((old, _)) = self.hunks.get(hunks.end) {
            // An insertion touches a range that begins or ends at its position.
            let touches = old.start == base.end && (old.is_empty() || base.start == base.end);
            if old.start >= base.end && !touches {
                break;
            }
            base.end = base.end.max(old.end);
            hunks.end += 1;
        }
        hunks.end > before
    }

    /// Returns the lines of this side that replace `base`, which contains these hunks.
    fn lines(&self, hunks: &Range<usize>, base: &Range<usize>) -> &[&'t str] {
        if hunks.is_empty() {
            return &[];
        }
        let (Some(first), Some(last)) = (self.hunks.get(hunks.start), self.hunks[..hunks.end].last()) else {
            return &[];
        };
        &self.lines[first.1.start - (first.0.start - base.start)..last.1.end + (base.end - last.0.end)]
    }
}

/// A range of lines of the base that at least one side changed.
struct MergeRegion {
    base: Range<usize>,
    ours: Range<usize>,
    theirs: Range<usize>,
}

impl MergeRegion {
    /// Extends the region by every hunk of either side that touches it.
    fn grow(&mut self, ours: &MergeSide<'_>, theirs: &MergeSide<'_>) {
        while ours.take(&mut self.ours, &mut self.base) | theirs.take(&mut self.theirs, &mut self.base) {}
    }

    fn write(&self, base: &[&str], ours: &MergeSide<'_>, theirs: &MergeSide<'_>, out: &mut String) {
        let (one, other) = (ours.lines(&self.ours, &self.base), theirs.lines(&self.theirs, &self.base));
        if self.ours.is_empty() || self.theirs.is_empty() || one == other {
            let lines = if self.ours.is_empty() { other } else { one };
            return out.extend(lines.iter().copied());
        }
        let parts = [(CONFLICT_BEGIN, one), ("||||||| as read\n", &base[self.base.clone()]), ("=======\n", other)];
        for (marker, lines) in parts {
            out.push_str(marker);
            out.extend(lines.iter().copied());
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        out.push_str(">>>>>>> on disk\n");
    }
}

#[cfg(test)]
mod tests {
    use super::merge_with_markers;
    use proptest::prelude::*;

    #[test]
    fn only_ranges_changed_by_both_sides_are_marked() {
        let merged = merge_with_markers("a\nb\nc\nd\ne\n", "A\nb\nC1\nd\ne\n", "a\nb\nC2\nd\nE\n");
        let marked = "<<<<<<< your edit\nC1\n||||||| as read\nc\n=======\nC2\n>>>>>>> on disk\n";
        assert_eq!(merged, format!("A\nb\n{marked}d\nE\n"));
        let both = merge_with_markers("a\nz", "a\nx\nz", "a\ny\nz");
        assert_eq!(both, "a\n<<<<<<< your edit\nx\n||||||| as read\n=======\ny\n>>>>>>> on disk\nz");
    }

    proptest! {
        /// If one side changed nothing, the result is the other side, without markers.
        #[test]
        fn change_of_one_side_is_taken_completely(base in "([abc]\n){0,12}", ours in "([abcd]\n){0,12}") {
            prop_assert_eq!(&merge_with_markers(&base, &ours, &base), &ours);
            prop_assert_eq!(&merge_with_markers(&base, &base, &ours), &ours);
            prop_assert_eq!(&merge_with_markers(&base, &ours, &ours), &ours);
        }

        /// Both sides are between the markers; choosing the same side at each conflict leaves its lines in order.
        #[test]
        fn no_line_is_lost(base in "([abc]\n){0,9}", ours in "([abd]\n){0,9}", theirs in "([ace]\n){0,9}") {
            let merged = merge_with_markers(&base, &ours, &theirs);
            let count = |text: &str, ch: char| text.chars().filter(|it| *it == ch).count();
            let plain: String = merged.lines().filter(|line| line.len() == 1).collect();
            prop_assert!(count(&plain, 'd') >= count(&ours, 'd') && count(&plain, 'e') >= count(&theirs, 'e'));
        }
    }
}
