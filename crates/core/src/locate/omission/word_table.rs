//! A table of words with what each of them means, made of lists of words.

use foldhash::{HashMap, HashMapExt as _};

/// Words with a sense, which is looked up instead of searching each list.
pub(super) struct WordTable<S>(HashMap<&'static str, S>);

impl<S: Copy + Default> WordTable<S> {
    pub(super) fn new() -> WordTable<S> {
        WordTable(HashMap::new())
    }

    /// Adds words, and marks the sense of each, which other lists may have marked as well.
    pub(super) fn with(mut self, words: impl IntoIterator<Item = &'static str>, mark: impl Fn(&mut S)) -> WordTable<S> {
        for word in words {
            mark(self.0.entry(word).or_default());
        }
        self
    }

    /// Returns the sense of a word; `None` for one that is in no list.
    pub(super) fn sense(&self, word: &str) -> Option<S> {
        self.0.get(word).copied()
    }
}
