//! Readings whose lines are the file's to the letter, indentation included.

use super::{DriftAlignment, DriftQuery};
use crate::find::align::{LinePairs, align};
use core::ops::Range;

impl DriftQuery<'_, '_> {
    /// True when all lines of a pairing are equal to the file's, including indentation.
    pub(super) fn is_verbatim(&self, pairs: &LinePairs) -> bool {
        pairs
            .iter()
            .all(|&(old, line)| self.search.pattern.old[self.at[old]].trim_end() == self.search.line(line).trim_end())
    }

    /// The pairings of as many lines by their text with its indentation, where the first and the last line are the file's.
    pub(super) fn verbatim_pairs(
        &self,
        lines: &Range<usize>,
        inner: &[usize],
        count: usize,
    ) -> Option<(LinePairs, LinePairs)> {
        let last = self.at.len() - 1;
        let old = |nth: usize| self.search.pattern.old[self.at[nth]].trim_end();
        let file = |at: usize| self.search.line(at).trim_end();
        if old(0) != file(lines.start) || old(last) != file(lines.end - 1) {
            return None;
        }
        let key = |line: &str| xxhash_rust::xxh3::xxh3_64(line.as_bytes());
        let inside: Vec<u64> = (1..last).map(|nth| key(old(nth))).collect();
        let others: Vec<u64> = inner.iter().map(|&at| key(file(at))).collect();
        let (early, late) = align(&inside, &others, |at| u32::try_from(self.weights[at + 1]).unwrap_or(u32::MAX >> 12));
        let whole = |inside: LinePairs| -> LinePairs {
            let inside = inside.into_iter().map(|(nth, line)| (nth + 1, inner[line]));
            [(0, lines.start)].into_iter().chain(inside).chain([(last, lines.end - 1)]).collect()
        };
        (early.len() + 2 == count).then(|| (whole(early), whole(late)))
    }

    /// True when every line of old is there to the letter, with one line of the file between them at most.
    pub(super) fn has_all(&self, reading: &DriftAlignment) -> bool {
        reading.missing.is_empty() && reading.typos == 0 && reading.extra <= 1 && self.is_verbatim(&reading.early)
    }
}
