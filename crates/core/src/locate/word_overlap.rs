//! The words that two lines have in common: whether one may be the other one after a change.

use crate::work;
use std::collections::HashSet;

/// Steps of work for each byte of lines whose words are compared.
const COMPARED_BYTE_STEPS: usize = 4;

/// Returns the words of a line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|ch: char| !ch.is_alphanumeric() && ch != '_').filter(|word| !word.is_empty())
}

/// The words of a line that is compared with several others, which are read once.
pub(crate) struct LineWords<'a> {
    count: usize,
    first: Option<&'a str>,
    known: HashSet<&'a str>,
}

/// The words that two lines have in common.
pub(crate) struct WordOverlap {
    /// The number of words of the old line.
    pub old: usize,
    /// The number of words of the new line.
    pub new: usize,
    /// The number of words of the new line that the old line has, too.
    pub common: usize,
    pub is_first_same: bool,
}

impl<'a> LineWords<'a> {
    /// Reads the words of a line; `None` once the work has to end.
    pub(crate) fn of(line: &'a str) -> Option<LineWords<'a>> {
        if work::spend_or_end(COMPARED_BYTE_STEPS * line.len()) {
            return None;
        }
        let (mut count, mut first, mut known) = (0, None, HashSet::new());
        for word in words(line) {
            if work::spend_or_end(1) {
                return None;
            }
            first = first.or(Some(word));
            count += 1;
            known.insert(word);
        }
        Some(LineWords { count, first, known })
    }

    /// True if a new line may be this one after a change: half of the words of each are the same, including the first.
    pub(crate) fn may_become(&self, new: &str) -> bool {
        self.overlap(new).is_some_and(|words| words.is_half_with_first())
    }

    /// Compares the line, which is the old one, with a new one; `None` once the work has to end.
    pub(crate) fn overlap(&self, new: &str) -> Option<WordOverlap> {
        if work::spend_or_end(1 + COMPARED_BYTE_STEPS * new.len()) {
            return None;
        }
        let mut new = words(new).peekable();
        let is_first_same = self.first == new.peek().copied();
        let (mut count, mut common) = (0, 0);
        for word in new {
            if work::spend_or_end(1) {
                return None;
            }
            count += 1;
            common += usize::from(self.known.contains(word));
        }
        Some(WordOverlap { old: self.count, new: count, common, is_first_same })
    }
}

impl WordOverlap {
    /// True if half of the words of each line are the same, including the first.
    pub(crate) fn is_half_with_first(&self) -> bool {
        self.common > 0 && self.is_first_same && 2 * self.common >= self.old.max(self.new)
    }

    /// True if two thirds of the words of each line are the same.
    pub(crate) fn is_most(&self) -> bool {
        self.common > 0 && 3 * self.common >= 2 * self.old.max(self.new)
    }

    /// True if half of the words of the shorter line are the same.
    pub(crate) fn is_half_of_shorter(&self) -> bool {
        2 * self.common >= self.old.min(self.new).max(1)
    }
}
