//! The history for people who review it: operations, changed files and their differences as values. What is shown in
//! this way does not count as read by any session.

pub(crate) mod cells;
pub(crate) mod difference;
pub(crate) mod large;
pub(crate) mod line_correction;
pub(crate) mod operations;
pub(crate) mod reversal;
pub(crate) mod scope;
pub(crate) mod turn;
pub(crate) mod workspace;

use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::reply::Answer;
use crate::session::refusals;
use crate::tools::review::scope::{ChangeScope, changes_of};
use crate::tools::review::turn::{TurnOperations, effective_operations, turn_of};
use crate::tools::review::workspace::{below_root, workspace_names};
use crate::tools::undo;
use emendate_core::Result;
use emendate_events::Refusal;
use std::path::{Path, PathBuf};

/// The changes of the history for a review by a person: [`Engine::review`](crate::Engine::review).
#[derive(Clone, Copy)]
pub struct Review<'a> {
    pub(crate) context: &'a Context,
}

impl Review<'_> {
    /// Returns the newest refused calls with the reasons given to their callers, the newest first.
    pub fn refusals(&self, most: usize) -> Vec<Refusal> {
        refusals::refusals(self.context, most)
    }

    /// Returns a name for each root, in the order of [`Engine::roots`](crate::Engine::roots).
    pub fn workspaces(&self) -> Vec<PathBuf> {
        workspace_names(&self.context.roots())
    }

    /// Returns the name of a file for people: relative to its root, as in [`FileView::below_root`](crate::FileView::below_root).
    pub fn name_of_file(&self, path: &Path) -> PathBuf {
        below_root(&self.context.roots(), path)
    }

    /// True for a file that is too large to be loaded whole for display.
    pub fn is_large(&self, path: &Path) -> bool {
        let safe_path = self.context.store().resolve_no_follow(path);
        safe_path.is_ok_and(|safe_path| large::is_large(self.context, &safe_path))
    }

    /// Undoes everything of the turn that an operation belongs to, in all of its files or none. `versions` are those
    /// that a person saw, as [`crate::ScopeChanges::versions`] named them.
    ///
    /// Errors: `conflict.raced` if the turn has other changes by now; those of `undo`.
    pub fn undo_turn(&self, caller: &CallContext, id: &str, versions: &str) -> Result<Answer> {
        Call::new(self.context, caller).metered(|call| {
            let turn = turn_of(&call, id)?;
            let of_roots = [(turn.root, turn.operations)];
            changes_of(&ChangeScope::Turn(id.to_owned()), &of_roots).check_shown(None, versions)?;
            let [(root, operations)] = of_roots;
            let ids = effective_operations(&call, &TurnOperations { root, operations, ..turn })?;
            undo::undo_turn(call, id, ids)
        })
    }
}
