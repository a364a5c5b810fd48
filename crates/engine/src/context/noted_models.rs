//! The models of sessions, as far as this process noted them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Sessions that are remembered.
const SESSIONS_MAX: usize = 512;

/// The model that was noted last for each session.
#[derive(Default)]
pub(crate) struct NotedModels(Mutex<HashMap<String, String>>);

impl NotedModels {
    /// Remembers the model of a session; true if it is not the one that was remembered.
    pub(crate) fn is_new(&self, session: &str, model: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(session).is_some_and(|known| known == model) {
            return false;
        }
        if known.len() >= SESSIONS_MAX {
            known.clear();
        }
        known.insert(session.to_owned(), model.to_owned());
        true
    }
}
