//! Where a line stood that is gone: what stands there now is what a caller who named it has to see.

use super::{Word, Words};
use std::collections::HashMap;

/// Lines that may stand in the place of one.
const MOST: usize = 30;

impl Words {
    /// The lines (1-based, the first and the last) that stand now where the line of a spent word stood, with the nearest
    /// ones around it that are still there. `None` when that is not known any more.
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
        // What surrounded it may have come apart.
        let to = if (from..=from + MOST).contains(&to) { to } else { (from + 1).min(self.names.len()) };
        (from <= to).then_some((from, to))
    }
}
