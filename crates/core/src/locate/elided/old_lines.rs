//! The file that a lazy edit changes, by lines. It is read once, even if the edit is tried in several indentations.

use crate::text::lines::LineIndex;
use crate::text::span::Span;
use crate::work;
use core::ops::{Deref, Range};
use foldhash::{HashMap, HashMapExt as _, HashSet};

/// Steps of work to add a line to a table, or to look it up.
pub(super) const LOOKUP_STEPS: usize = 8;

/// The lines of the file, with tables for the look-ups that are made for every line of an edit.
pub(super) struct OldLines<'a> {
    text: &'a str,
    lines: Vec<&'a str>,
    index: LineIndex,
    /// The lines that are not blank.
    filled: Vec<usize>,
    /// For each line, and for the end, the number of lines before it that are not blank.
    filled_before: Vec<usize>,
    /// For each text of a line that is not blank, ignoring trailing whitespace, the zero-based lines that have it.
    places: HashMap<&'a str, Vec<usize>>,
    /// The lines without their indentation.
    bare: HashSet<&'a str>,
}

impl<'a> Deref for OldLines<'a> {
    type Target = [&'a str];

    fn deref(&self) -> &[&'a str] {
        &self.lines
    }
}

impl<'a> OldLines<'a> {
    /// Incomplete once the work has to end.
    pub(super) fn of(text: &'a str) -> OldLines<'a> {
        let lines: Vec<&str> = work::lines(text).collect();
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        let (mut filled, mut filled_before) = (Vec::new(), Vec::with_capacity(lines.len() + 1));
        for (at, line) in work::batched(lines.iter().enumerate()) {
            filled_before.push(filled.len());
            let line = line.trim_end();
            if line.is_empty() {
                continue;
            }
            if work::spend_or_end(LOOKUP_STEPS) {
                break;
            }
            places.entry(line).or_default().push(at);
            filled.push(at);
        }
        filled_before.resize(lines.len() + 1, filled.len());
        let bare = places.keys().map(|line| line.trim_start()).collect();
        OldLines { text, lines, index: LineIndex::new(text), filled, filled_before, places, bare }
    }

    /// Returns the lines that are not blank.
    pub(super) fn filled(&self) -> impl Iterator<Item = &'a str> {
        self.filled.iter().map(|&at| self.lines[at])
    }

    /// Returns the lines of a range that are not blank, in order.
    pub(super) fn filled_in(&self, lines: &Range<usize>) -> &[usize] {
        &self.filled[self.filled_before[lines.start]..self.filled_before[lines.end]]
    }

    /// Returns the nearest line before this one that is not blank.
    pub(super) fn filled_above(&self, at: usize) -> Option<usize> {
        self.filled_in(&(0..at)).last().copied()
    }

    /// Returns the nearest line after this one that is not blank.
    pub(super) fn filled_below(&self, at: usize) -> Option<usize> {
        self.filled_in(&(at + 1..self.lines.len())).first().copied()
    }

    /// Returns the lines with this text, ignoring trailing whitespace; none for a blank text.
    pub(super) fn places_of(&self, line: &str) -> &[usize] {
        self.places.get(line.trim_end()).map_or(&[], Vec::as_slice)
    }

    /// Returns the places of a line within a range of the file.
    pub(super) fn places_within(&self, line: &str, range: &Range<usize>) -> &[usize] {
        let all = self.places_of(line);
        let [from, to] = [range.start, range.end].map(|end| all.partition_point(|at| *at < end));
        all.get(from..to).unwrap_or_default()
    }

    /// True for a line that the file has, in any indentation.
    pub(super) fn has_bare(&self, line: &str) -> bool {
        self.bare.contains(line.trim())
    }

    /// Returns the span of zero-based lines, including their line ends.
    pub(super) fn span_of(&self, lines: &Range<usize>) -> Span {
        let [start, end] = [lines.start, lines.end].map(|line| self.index.start_of(self.text, line + 1));
        Span::new(start, end)
    }

    /// True if the last line has no line end.
    pub(super) fn is_open(&self) -> bool {
        !self.text.is_empty() && !self.text.ends_with('\n')
    }
}
