//! Former positions of deleted lines. A caller that names a deleted line is shown the lines that are there now.

use super::{AnchorMap, AnchorWord};
use std::collections::HashMap;

/// Maximum number of lines that may have replaced a deleted one.
const REPLACING_LINES_MAX: usize = 30;

impl AnchorMap {
    /// Returns the 1-based lines, first and last, at the former position of a tombstone's line, with the nearest
    /// surviving lines around it. `None` if the position is no longer known.
    pub(crate) fn former_position(&self, word: AnchorWord) -> Option<(usize, usize)> {
        let mut then = self.words.clone();
        let mut earlier = self.earlier_texts.iter().rev();
        let at = loop {
            then = earlier.next()?.before(&then)?;
            if let Some(at) = then.iter().position(|&it| it == word) {
                break at;
            }
        };
        let now: HashMap<AnchorWord, usize> = self.words.iter().copied().zip(1..).collect();
        let above = then[..at].iter().rev().find_map(|it| now.get(it).copied()).unwrap_or(0);
        let below = then[at + 1..].iter().find_map(|it| now.get(it).copied()).unwrap_or(self.words.len() + 1);
        let (from, to) = (above.max(1), below.min(self.words.len()));
        // If the surviving neighbours have moved apart, only the lines next to the first one are shown.
        let to = if (from..=from + REPLACING_LINES_MAX).contains(&to) { to } else { (from + 1).min(self.words.len()) };
        (from <= to).then_some((from, to))
    }
}
