//! Calls of dead processes that recovery has undone.

use std::path::Path;

use emendate_core::ContentId;

use super::super::journal_frame::{JournalStep, PathState};

/// A call of a dead process of which nothing is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneCall {
    steps: Vec<JournalStep>,
}

impl UndoneCall {
    pub(super) fn new(steps: &[JournalStep]) -> UndoneCall {
        UndoneCall { steps: steps.to_vec() }
    }

    /// True if the call was to change the file at this resolved path from one content to the other; `None` is the
    /// content of a missing file. In a directory that the call was to create or remove as a whole, any content is.
    pub fn was_to_change(&self, path: &Path, before: Option<ContentId>, after: Option<ContentId>) -> bool {
        self.steps.iter().any(|step| {
            let is_tree = [step.old, step.new].iter().any(|state| matches!(state, PathState::Tree(_)));
            is_tree && path.starts_with(&step.path)
                || path == step.path && content(step.old) == before && content(step.new) == after
        })
    }

    /// The number of paths that it was to change; a directory counts once.
    pub fn path_count(&self) -> usize {
        self.steps.len()
    }
}

/// Returns the content of a file or link.
fn content(state: PathState) -> Option<ContentId> {
    match state {
        PathState::File { content, .. } | PathState::Link(content) => Some(content),
        PathState::Missing | PathState::Tree(_) | PathState::Other => None,
    }
}
