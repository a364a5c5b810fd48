//! The ranges of a text that each format detects, and the choice of the format whose ranges contain all others.

use super::whole_file;
use super::{Format, text_formats};
use crate::work;
use std::ops::Range;

/// A format and the ranges of a text that it detected.
pub(super) type FormatRanges = (&'static dyn Format, Vec<Range<usize>>);

/// A cache of the ranges of the last examined text: several parsers examine a text without wrappers.
#[derive(Default)]
pub(super) struct KnownRanges {
    /// Length and hash of the text.
    text: (usize, u128),
    ranges: Vec<FormatRanges>,
}

impl KnownRanges {
    /// Returns the ranges that each format detects in the text.
    pub(super) fn of(&mut self, text: &str) -> Vec<FormatRanges> {
        let key = (text.len(), xxhash_rust::xxh3::xxh3_128(text.as_bytes()));
        if self.text != key {
            self.ranges = all_ranges(text);
            self.text = key;
        }
        self.ranges.clone()
    }
}

/// True if a text contains one of the signs without which it has no range in a format. A search of all bytes takes a
/// small part of the time in which the lines are examined.
pub(super) fn contains_any(text: &str, signs: &[&str]) -> bool {
    signs.iter().any(|sign| {
        let ends = work::spend_or_end(text.len() / work::STEP_BYTES);
        ends || memchr::memmem::find(text.as_bytes(), sign.as_bytes()).is_some()
    })
}

fn all_ranges(text: &str) -> Vec<FormatRanges> {
    let is_whole = |format: &dyn Format| format.spec().name == "whole_file";
    // Once the work has to end, nothing more is detected.
    let formats = text_formats().take_while(|_| work::check().is_ok());
    let detect = |format: &'static dyn Format| if is_whole(format) { Vec::new() } else { format.detected_ranges(text) };
    let mut ranges: Vec<FormatRanges> = formats.map(|format| (format, detect(format))).collect();
    let mut edits: Vec<Range<usize>> = ranges.iter().flat_map(|(_, found)| found.iter().cloned()).collect();
    edits.sort_by_key(|range| range.start);
    if let Some((_, found)) = ranges.iter_mut().find(|(format, _)| is_whole(*format)) {
        *found = whole_file::ranges_beside(text, &edits);
    }
    ranges.retain(|(_, found)| !found.is_empty());
    ranges
}

/// Returns the index of the format whose ranges contain all others.
pub(super) fn outermost_index(ranges: &[FormatRanges]) -> Option<usize> {
    ranges
        .iter()
        .enumerate()
        .find(|(at, (_, mine))| {
            let others = ranges.iter().enumerate().filter(|(other, _)| other != at);
            others.map(|(_, (_, theirs))| theirs).all(|theirs| holds(mine, theirs) && !holds(theirs, mine))
        })
        .map(|(at, _)| at)
}

/// Returns the format of a text, or of the beginning of one, as far as it can be detected.
pub(super) fn outermost(text: &str) -> Option<&'static dyn Format> {
    let ranges = all_ranges(text);
    outermost_index(&ranges).map(|at| ranges[at].0)
}

/// True if every inner range lies in an outer one; both lists are sorted.
fn holds(outer: &[Range<usize>], inner: &[Range<usize>]) -> bool {
    let mut outer = outer.iter().peekable();
    inner.iter().all(|inner| {
        while outer.next_if(|outer| outer.end < inner.end).is_some() {}
        outer.peek().is_some_and(|outer| outer.start <= inner.start)
    })
}

#[cfg(test)]
mod tests {
    use super::{holds, text_formats};
    use proptest::prelude::*;

    fn within(outer: &[(usize, usize)], inner: &[(usize, usize)]) -> bool {
        let ranges = |pairs: &[(usize, usize)]| pairs.iter().map(|(from, to)| *from..*to).collect::<Vec<_>>();
        holds(&ranges(outer), &ranges(inner))
    }

    #[test]
    fn nested_ranges_are_recognized() {
        let outer = [(0, 10), (20, 30)];
        assert!(within(&outer, &[(1, 2), (3, 10), (20, 21)]) && within(&outer, &[]));
        assert!(!within(&outer, &[(9, 11)]) && !within(&[(5, 6)], &[(0, 1)]) && !within(&[], &[(0, 1)]));
    }

    /// Lines that begin or end a range in some format, or nearly do.
    const PIECES: [&str; 32] = [
        "a.rs", "```", "~~~rust", "``", "<source>py", "</source>", "<file path=\"a\">", "</file>", "<write_to_file>",
        "</write_to_file>", "<path>a</path>", "*** Begin Patch", "** End Patch", "*** Add File: a", "*** note",
        "<<<<<<< SEARCH", "<<< a.rs", "--- SEARCH", "=======", ">>>>>>> REPLACE", "<old_text line=1>", "</old_text>",
        "--- a/x", "+++ b/x", "@@ -1 +1 @@", "@", "-a", "+b", " c", "diff --git a/x b/x", "Index: a",
        "GIT binary patch",
    ];

    proptest! {
        /// Prose with every sign opens no range, so it shows that a text without them was not skipped in error.
        #[test]
        fn no_text_with_a_range_is_skipped(at in prop::collection::vec(0..PIECES.len(), 0..8), end in "[\n ]?") {
            let text = at.iter().map(|at| PIECES[*at]).collect::<Vec<_>>().join("\n") + &end;
            let prose = "Prose: ** <<< --- ``` ~~~ <source> <file  @@ +++ diff -- Index: <old_text>";
            for format in text_formats() {
                if format.detected_ranges(&text).is_empty() {
                    let examined = format.detected_ranges(&format!("{text}\n\n\n{prose}\n"));
                    prop_assert!(examined.is_empty(), "{}: {examined:?}", format.spec().name);
                }
            }
        }
    }
}
