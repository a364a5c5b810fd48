//! The syntax trees of texts that calls have just left behind: the next edit of such a file parses only what it changes.

use emendate_core::ContentId;
use emendate_syntax::{Kept, Language, Limits, Parsed, Proof};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Trees that are kept. The texts are small: more is not parsed beside an edit.
const TREES: usize = 16;

/// Trees of texts that parse, the latest first.
#[derive(Default)]
pub(crate) struct Trees(Mutex<VecDeque<(ContentId, Kept)>>);

impl Trees {
    /// A text, to compare others to; as [`Proof::of`].
    pub(super) fn proof<'t>(&self, id: ContentId, text: &'t str, language: Language) -> Option<Proof<'t>> {
        let is_it = |(of, kept): &&(ContentId, Kept)| *of == id && kept.is_of(text, language);
        let kept = self.all().iter().find(is_it).map(|(_, kept)| kept.clone());
        match kept {
            Some(kept) => Some(Proof::again(kept.of(text), Limits::CHECK)),
            None => Proof::of(text, language, Limits::CHECK),
        }
    }

    /// Keeps the tree of a text that parses.
    pub(super) fn keep(&self, id: ContentId, parsed: Parsed<'_>) {
        let mut trees = self.all();
        trees.truncate(TREES - 1);
        trees.push_front((id, parsed.keep()));
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<(ContentId, Kept)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
