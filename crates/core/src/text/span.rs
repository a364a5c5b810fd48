//! A byte range that is `Copy` and never inverted.

use core::ops::Range;
use serde::{Deserialize, Serialize};

/// Half-open byte range `start..end` with `start <= end`. Every function that returns one documents whether it counts
/// raw bytes of the file or bytes of the [decoded text](crate::Snapshot::text).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// Returns the span between two offsets, in either order.
    pub const fn new(a: usize, b: usize) -> Span {
        if a <= b { Span { start: a, end: b } } else { Span { start: b, end: a } }
    }

    /// Returns the empty span at `point`.
    pub const fn at(point: usize) -> Span {
        Span { start: point, end: point }
    }

    /// First byte.
    pub const fn start(self) -> usize {
        self.start
    }

    /// One past the last byte.
    pub const fn end(self) -> usize {
        self.end
    }

    /// The number of bytes that the span covers.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// True when the span covers no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The range, for indexing slices.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the smallest span that covers both and everything between them.
    #[must_use]
    pub fn hull(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// True when every byte of `other` is covered and its ends lie within.
    pub const fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// True when the two spans share a byte, or an empty one lies strictly inside the other.
    pub(crate) const fn clashes(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns the span moved by a signed distance, but not below zero.
    #[must_use]
    pub const fn shifted(self, by: isize) -> Span {
        Span::new(self.start.saturating_add_signed(by), self.end.saturating_add_signed(by))
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Span {
        Span::new(range.start, range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn insertion_clashes_only_strictly_inside() {
        let word = Span::new(2, 5);
        assert!(!Span::at(2).clashes(word) && !Span::at(5).clashes(word));
        assert!(Span::at(3).clashes(word) && word.clashes(Span::at(3)));
        assert!(!Span::at(3).clashes(Span::at(3)));
    }

    #[test]
    fn reversed_ends_are_swapped() {
        assert_eq!(Span::new(5, 2), Span::new(2, 5));
        assert_eq!(Span::new(3, 4).shifted(-10), Span::at(0));
    }
}
