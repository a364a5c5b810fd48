//! The changes of the history as values, as the review page shows them.

use crate::api::call;
use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::reply::Answer;
use crate::session::refusals;
use crate::tools::history::page::OperationSide;
use crate::tools::review::cells::{self, CellDifference};
use crate::tools::review::difference::{self, FileDifference, Resolution, VersionLines};
use crate::tools::review::large;
use crate::tools::review::operations::{self, FileView, OperationPage, OperationQuery, OperationView};
use crate::tools::review::scope::{self, ChangeScope, ScopeChanges, ScopeFiles, ScopeFolder, ScopeRemarks};
use crate::tools::review::workspace::{below_root, workspace_names};
use crate::tools::undo;
use emendate_core::Result;
use emendate_events::Refusal;
use emendate_syntax::{ColorSpan, LineRange};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The changes of the history for a review by a person: [`Engine::review`](super::Engine::review).
#[derive(Clone, Copy)]
pub struct Review<'a> {
    pub(super) context: &'a Context,
}

impl Review<'_> {
    /// Returns a page of operations as values, the newest first.
    ///
    /// Errors: `call.invalid` for a page that does not exist; those of the policy and of the session store.
    pub fn operations(&self, query: &OperationQuery) -> Result<OperationPage> {
        operations::operations(self.context, query)
    }

    /// Returns one operation with some of its files.
    ///
    /// Errors: `operation.not_found`, and those of the session store.
    pub fn operation(&self, id: &str, files: Range<usize>) -> Result<OperationView> {
        operations::operation(self.context, id, files)
    }

    /// Returns the names of the newest operations, one for each root that has any: they change with every operation.
    ///
    /// Errors: those of the session store.
    pub fn newest_operations(&self) -> Result<Vec<String>> {
        operations::newest_names(self.context)
    }

    /// Finds the changes of a scope.
    ///
    /// Errors: `operation.not_found`, `call.invalid`, and those of the session store.
    pub fn scope_changes(&self, scope: &ChangeScope) -> Result<ScopeChanges> {
        scope::scope_changes(self.context, scope)
    }

    /// Returns the files of a scope that are in `part` of the list sorted by path, and the line counts of all files.
    /// `wanted` selects the files to list and to count; without it, all are.
    pub fn scope_files(
        &self,
        changes: &ScopeChanges,
        wanted: Option<&dyn Fn(&FileView) -> bool>,
        part: Range<usize>,
    ) -> ScopeFiles {
        scope::scope_files(self.context, changes, wanted, part)
    }

    /// Returns one file of a scope.
    ///
    /// Errors: `operation.not_found`.
    pub fn scope_file(&self, changes: &ScopeChanges, path: &Path) -> Result<FileView> {
        scope::scope_file(self.context, changes, path)
    }

    /// Returns the comments and review marks of a person on the operation of a scope.
    ///
    /// Errors: those of the session store.
    pub fn scope_remarks(&self, changes: &ScopeChanges) -> Result<ScopeRemarks> {
        scope::scope_remarks(self.context, changes)
    }

    /// Returns the content of a directory of a scope: the directories directly below it, with the sums of their files,
    /// and its own files. `folder` is relative to the roots.
    pub fn scope_folder(&self, changes: &ScopeChanges, folder: &Path) -> ScopeFolder {
        scope::scope_folder(self.context, changes, folder)
    }

    /// Returns the newest refused calls with the reasons given to their callers, the newest first.
    pub fn refusals(&self, most: usize) -> Vec<Refusal> {
        refusals::refusals(self.context, most)
    }

    /// Returns a name for each root, in the order of [`Engine::roots`](crate::Engine::roots).
    pub fn workspaces(&self) -> Vec<PathBuf> {
        workspace_names(&self.context.roots())
    }

    /// Returns the name of a file for people: relative to its root, as in [`FileView::below_root`].
    pub fn name_of_file(&self, path: &Path) -> PathBuf {
        below_root(&self.context.roots(), path)
    }

    /// Returns the models of the sessions in the history, as far as the callers named them.
    pub fn models(&self) -> Vec<String> {
        operations::model_names(self.context)
    }

    /// True for a file that is too large to be loaded whole for display.
    pub fn is_large(&self, path: &Path) -> bool {
        let place = self.context.store().resolve_no_follow(path);
        place.is_ok_and(|place| large::is_large(self.context, &place))
    }

    /// Returns the difference of one file of a scope, with at most `bytes` of text.
    ///
    /// Errors: `operation.not_found` for a file that is not in it; those of the policy and of the session store.
    pub fn difference(
        &self,
        caller: &CallContext,
        changes: &ScopeChanges,
        path: &Path,
        bytes: usize,
    ) -> Result<FileDifference> {
        let call = Call::new(self.context, caller);
        call::metered(call, || difference::difference(call, changes, path, bytes))
    }

    /// Returns the colours of lines of a file as it is; none for a file that may not or cannot be read, or whose language
    /// is not known.
    pub fn line_colors(&self, caller: &CallContext, path: &Path, range: LineRange) -> Vec<ColorSpan> {
        let call = Call::new(self.context, caller);
        call::metered(call, || Ok(difference::line_colors(call, path, range))).unwrap_or_default()
    }

    /// Returns lines of a file before or after the changes of a scope, with their colours.
    ///
    /// Errors: those of [`Review::scope_content`], and those of a file that is not text.
    pub fn version_lines(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        moment: OperationSide,
        range: LineRange,
    ) -> Result<VersionLines> {
        let call = Call::new(self.context, caller);
        call::metered(call, || difference::version_lines(call, scope, path, moment, range))
    }

    /// Returns the bytes of a file before or after the changes of a scope.
    ///
    /// Errors: `operation.not_found` if the file is not among them, did not exist, or was not kept; those of the policy.
    pub fn scope_content(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        moment: OperationSide,
    ) -> Result<Vec<u8>> {
        let call = Call::new(self.context, caller);
        call::metered(call, || difference::scope_content(self.context, scope, path, moment))
    }

    /// Compares a notebook by cells, before and after the changes of a scope; `None` if a version is not a notebook.
    ///
    /// Errors: those of the policy and of the session store.
    pub fn cell_differences(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        bytes: usize,
    ) -> Result<Option<Vec<CellDifference>>> {
        let call = Call::new(self.context, caller);
        call::metered(call, || cells::cell_differences(self.context, scope, path, bytes))
    }

    /// Merges the reversal of a change into the file as it is, for a person who resolves the conflicts.
    ///
    /// Errors: those of [`Review::scope_content`]; `content.binary`, `file.too_large`.
    pub fn resolution(&self, caller: &CallContext, scope: &ChangeScope, path: &Path) -> Result<Resolution> {
        let call = Call::new(self.context, caller);
        call::metered(call, || difference::resolution(self.context, scope, path))
    }

    /// Undoes or redoes the change of one file in a scope: its hunks of these numbers, or all of it.
    ///
    /// Errors: `operation.not_found` for a file that is not in the scope; those of an undo and of a restore.
    pub fn reverse_change(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        hunks: Option<&[usize]>,
        redo: bool,
    ) -> Result<Answer> {
        let call = Call::new(self.context, caller);
        call::metered(call, || scope::reverse_change(call, scope, path, hunks, redo))
    }

    /// Undoes everything of the turn that an operation belongs to, in all of its files or none.
    ///
    /// Errors: those of `undo`.
    pub fn undo_turn(&self, caller: &CallContext, id: &str) -> Result<Answer> {
        let call = Call::new(self.context, caller);
        call::metered(call, || undo::undo_turn(call, id))
    }
}
