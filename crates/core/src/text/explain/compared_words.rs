//! The words that two sides of a change share.

use crate::text::tokens::token_runs;

/// Percentage of words that two sides must have in common before their differences are worth marking.
pub(super) const COMMON_WORDS_PERCENT_MIN: usize = 30;

/// Cells (words × words) for all comparisons of one diff; about 0.1 s at worst.
pub(super) const COMPARISON_CELLS_MAX: usize = 20_000_000;

/// The words of one side, in order, each with a flag whether it is also on the other side.
pub(super) struct WordSide<'a> {
    pub(super) words: Vec<&'a str>,
    pub(super) kept: Vec<bool>,
}

impl<'a> WordSide<'a> {
    fn new(words: Vec<&'a str>) -> WordSide<'a> {
        WordSide { kept: vec![false; words.len()], words }
    }
}

/// Both sides of a change.
pub(super) struct ComparedWords<'a> {
    pub(super) old: WordSide<'a>,
    pub(super) new: WordSide<'a>,
}

impl<'a> ComparedWords<'a> {
    /// Compares two sides; `None` if the budget is used up.
    pub(super) fn new(old: Vec<&'a str>, new: Vec<&'a str>, budget: &mut usize) -> Option<ComparedWords<'a>> {
        *budget = budget.checked_sub(old.len().saturating_mul(new.len()) + 1)?;
        let (mut old, mut new) = (WordSide::new(old), WordSide::new(new));
        for run in token_runs(&old.words, &new.words) {
            if let Some(kept) = run.kept {
                old.kept[kept].fill(true);
                new.kept[run.new].fill(true);
            }
        }
        Some(ComparedWords { old, new })
    }

    /// True if at least this percentage of the words is common. Whitespace does not count.
    pub(super) fn has_common(&self, percent: usize) -> bool {
        let is_telling = |word: &&str| !word.trim().is_empty();
        let common =
            self.new.words.iter().zip(&self.new.kept).filter(|(word, kept)| **kept && is_telling(word)).count();
        let telling = |side: &WordSide<'_>| side.words.iter().filter(|word| is_telling(word)).count();
        common > 0 && common * 100 >= telling(&self.old).max(telling(&self.new)) * percent
    }
}
