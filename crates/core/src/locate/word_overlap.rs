//! The words that two lines have in common: whether one may be the other one after a change.

use crate::work;
use std::collections::HashSet;

/// Steps of work for each byte of lines whose words are compared.
const COMPARED_BYTE_STEPS: usize = 4;

/// True if one line may be the other one after a change: half of the words of each are the same, including the first.
pub(crate) fn replaces(old: &str, new: &str) -> bool {
    WordOverlap::of(old, new)
        .is_some_and(|words| words.common > 0 && words.is_first_same && 2 * words.common >= words.old.max(words.new))
}

/// Returns the words of a line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|ch: char| !ch.is_alphanumeric() && ch != '_').filter(|word| !word.is_empty())
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

impl WordOverlap {
    /// Compares two lines; `None` once the work has to end.
    pub(crate) fn of(old: &str, new: &str) -> Option<WordOverlap> {
        if work::spend_or_end(1 + COMPARED_BYTE_STEPS * (old.len() + new.len())) {
            return None;
        }
        let (mut old, mut new) = (words(old).peekable(), words(new).peekable());
        let is_first_same = old.peek() == new.peek();
        let old: Vec<&str> = old.collect();
        let known: HashSet<&str> = old.iter().copied().collect();
        let (mut count, mut common) = (0, 0);
        for word in new.by_ref() {
            count += 1;
            common += usize::from(known.contains(word));
        }
        Some(WordOverlap { old: old.len(), new: count, common, is_first_same })
    }
}
