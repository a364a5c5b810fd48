//! The last changes of sessions, as far as this process knows them.

use emendate_core::ContentId;
use emendate_history::OperationId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Changes that this process remembers.
const REMEMBERED_CHANGES_MAX: usize = 512;

/// The last changes by session and path, as far as this process made or looked them up.
#[derive(Default)]
pub(crate) struct LastChanges(Mutex<HashMap<SessionFile, LastChange>>);

impl LastChanges {
    /// Returns the last change of a file by a session, if it is known.
    pub(crate) fn get(&self, session: &str, path: &[u8]) -> Option<LastChange> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(session.to_owned(), path.to_vec())).copied()
    }

    /// Remembers the last change of a file by a session.
    pub(crate) fn put(&self, session: &str, path: &[u8], change: LastChange) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED_CHANGES_MAX {
            known.clear();
        }
        known.insert((session.to_owned(), path.to_vec()), change);
    }
}

/// The last change of a file by a session.
#[derive(Clone, Copy)]
pub(crate) struct LastChange {
    /// The edit and the hash of its call's input; `None` if it was not an edit, or nothing is known.
    pub(crate) edit: Option<(OperationId, [u8; 16])>,
    /// The content after it.
    pub(crate) after: Option<ContentId>,
}

/// A session and a path.
type SessionFile = (String, Vec<u8>);
