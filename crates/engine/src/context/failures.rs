//! The last failures of sessions.

use crate::model::call_context::CallContext;
use emendate_fs::SafePath;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Failures that are remembered for the next call.
const REMEMBERED_FAILURES_MAX: usize = 512;

/// The message of the last failure of each session on each path.
#[derive(Default)]
pub(crate) struct Failures(Mutex<HashMap<FailureKey, String>>);

/// A session, whether the call is a dry run, and a path. A program may make a dry run before the call itself, so a
/// failure of the dry run does not count as the call's first failure.
type FailureKey = (String, bool, PathBuf);

impl Failures {
    /// True if the last failure of the session on this path had the same message. Remembers this one.
    pub(crate) fn is_repeat(&self, caller: &CallContext, place: &SafePath, words: &str) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= REMEMBERED_FAILURES_MAX {
            last.clear();
        }
        let key = (caller.session.clone(), caller.dry_run, place.absolute().to_owned());
        last.insert(key, words.to_owned()).is_some_and(|before| before == words)
    }
}
