//! Former positions of deleted lines: the lines there now are the evidence for a caller that names a deleted line.

use super::{Word, Words};
use std::collections::HashMap;

/// Lines that may have replaced a deleted one.
const MOST: usize = 30;

impl Words {
    /// Returns the 1-based lines, first and last, at the former position of a tombstone's line, with the nearest
    /// surviving lines around it. `None` if the position is no longer known.
    pub fn where_it_was(&self, word: Word) -> Option<(usize, usize)> {
        let mut then = self.names.clone();
        let mut earlier = self.past.iter().rev();
        let at = loop {
            then = earlier.next()?.before(&then)?;
            if let Some(at) = then.iter().position(|&it| it == word) {
                break at;
            }
        };
        let now: HashMap<Word, usize> = self.names.iter().copied().zip(1..).collect();
        let above = then[..at].iter().rev().find_map(|it| now.get(it).copied()).unwrap_or(0);
        let below = then[at + 1..].iter().find_map(|it| now.get(it).copied()).unwrap_or(self.names.len() + 1);
        let (from, to) = (above.max(1), below.min(self.names.len()));
        // The surviving neighbours may have moved apart.
        let to = if (from..=from + MOST).contains(&to) { to } else { (from + 1).min(self.names.len()) };
        (from <= to).then_some((from, to))
    }
}
