//! Alignments whose lines are identical to the file's, including indentation.

use super::{DriftAlignment, DriftQuery};
use crate::locate::find::align::{LinePairs, align};
use core::ops::Range;

impl<'s> DriftQuery<'s, '_> {
    /// True if all lines of an alignment are equal to the file's, including indentation.
    pub(super) fn is_verbatim(&self, pairs: &LinePairs) -> bool {
        pairs
            .iter()
            .all(|&(old, line)| self.search.pattern.old[self.at[old]].trim_end() == self.search.line(line).trim_end())
    }

    /// Returns the earliest and latest alignment of lines with equal text and indentation, if the first and the last
    /// line match and they pair as many lines.
    pub(super) fn verbatim_pairs(
        &self,
        lines: &Range<usize>,
        inner: &[usize],
        count: usize,
    ) -> Option<(LinePairs, LinePairs)> {
        let last = self.at.len() - 1;
        if self.old_line(0) != self.file_line(lines.start) || self.old_line(last) != self.file_line(lines.end - 1) {
            return None;
        }
        let inside: Vec<u64> = (1..last).map(|nth| line_hash(self.old_line(nth))).collect();
        let others: Vec<u64> = inner.iter().map(|&at| line_hash(self.file_line(at))).collect();
        let (early, late) = align(&inside, &others, |at| u32::try_from(self.weights[at + 1]).unwrap_or(u32::MAX >> 12));
        (early.len() + 2 == count).then(|| (with_ends(inner, lines, last, early), with_ends(inner, lines, last, late)))
    }

    /// Returns a line of the file without trailing whitespace.
    fn file_line(&self, at: usize) -> &'s str {
        self.search.line(at).trim_end()
    }

    /// Returns an old line without trailing whitespace.
    fn old_line(&self, nth: usize) -> &'s str {
        self.search.pattern.old[self.at[nth]].trim_end()
    }

    /// True if every line of the old text is in the file verbatim, with at most one line of the file in between.
    pub(super) fn has_all(&self, alignment: &DriftAlignment) -> bool {
        alignment.missing.is_empty()
            && alignment.typos == 0
            && alignment.extra <= 1
            && self.is_verbatim(&alignment.early)
    }
}

/// Adds the first and the last line to the pairs between them.
fn with_ends(inner: &[usize], lines: &Range<usize>, last: usize, inside: LinePairs) -> LinePairs {
    let inside = inside.into_iter().map(|(nth, line)| (nth + 1, inner[line]));
    [(0, lines.start)].into_iter().chain(inside).chain([(last, lines.end - 1)]).collect()
}

/// Returns the hash of a line.
fn line_hash(line: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(line.as_bytes())
}
