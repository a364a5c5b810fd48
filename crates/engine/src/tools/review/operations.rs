//! Operations as values.

use crate::context::Context;
use crate::context::history_stores::{key, log_path};
use crate::context::policy::Access;
use crate::session::in_doubt::resolve_all_in_doubt;
use crate::session::refusals::models;
use crate::session::turns::TurnIndex;
use crate::tools::history::operation_list::{
    LastUndo, change_kind, from_its_source, reversal_of, tool_name, visible_files,
};
use crate::tools::history::page::{HistoryQuery, newest_operations};
use crate::tools::review::Review;
use crate::tools::review::workspace::below_root;
use crate::tools::undo::select::{self, OperationRef};
use data_encoding::HEXLOWER;
use emendate_core::Result;
use emendate_events::SessionModels;
use emendate_history::{FileChange, FileState, LogEntry, OperationOutcome, Role};
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

/// A query for operations.
#[derive(Clone, Debug, Default)]
pub struct OperationQuery {
    /// The [`OperationPage::next`] of the previous page, to continue from there.
    pub from: Option<String>,
    /// The session of the operations; `None` for all.
    pub session: Option<String>,
    /// The file that they changed, absolute; `None` for all.
    pub path: Option<PathBuf>,
    /// The maximum number of operations.
    pub most: usize,
    /// The number of files to list of each.
    pub files: usize,
}

/// A page of operations, the newest first.
#[derive(Clone, Debug, Default)]
pub struct OperationPage {
    /// The operations.
    pub operations: Vec<OperationView>,
    /// The name of the next page, if there is one.
    pub next: Option<String>,
}

/// The purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationPurpose {
    /// A change by a session.
    Edit,
    /// A change that was made without the engine.
    Outside,
    /// A named moment.
    Mark,
    /// The operation undid others.
    Undo,
    /// The operation redid others.
    Redo,
}

/// The degree of completion of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationCompletion {
    /// All of it.
    Done,
    /// Some edits were skipped, as the caller had allowed.
    Partial,
    /// The process of the operation ended during it.
    Unknown,
    /// The operation is not finished.
    Pending,
}

/// The last undo or redo of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReversalView {
    /// The undo or redo.
    pub by: String,
    /// The operation is not in effect because of it.
    pub is_undone: bool,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct OperationView {
    /// The name of the operation: a number and four hexadecimal digits.
    pub id: String,
    /// The index of its root.
    pub root: usize,
    /// Microseconds since 1970.
    pub at: i64,
    /// The session that made it.
    pub session: String,
    /// The model behind the session; empty if it is not known.
    pub model: String,
    /// The tool, by the name of the command.
    pub tool: String,
    /// The format of its input; empty if there is none.
    pub format: String,
    /// The name of a mark, or a note on the operation; may be empty.
    pub note: String,
    /// The purpose of the operation.
    pub purpose: OperationPurpose,
    /// The operations that it undid or redid, the newest first.
    pub undoes: Vec<String>,
    /// The last undo or redo of the operation.
    pub reversal: Option<ReversalView>,
    /// The degree of completion of the operation.
    pub completion: OperationCompletion,
    /// False for secrets, whose contents are not stored.
    pub keeps_content: bool,
    /// In a list, the turn that it belongs to: operations of one turn have the same text here.
    pub turn: String,
    /// The number of its files.
    pub files_total: usize,
    /// The number of added lines.
    pub added: u64,
    /// The number of removed lines.
    pub removed: u64,
    /// Some of its files.
    pub files: Vec<FileView>,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The path of the file relative to its root; with several roots, after the name of its root.
    pub below_root: PathBuf,
    /// create, update, delete, move or link.
    pub kind: &'static str,
    /// The path that it was moved from, in the same way.
    pub moved_from: Option<PathBuf>,
    /// The number of added lines.
    pub added: u64,
    /// The number of removed lines.
    pub removed: u64,
    /// The state before; `None` if there was nothing.
    pub before: Option<FileState>,
    /// The state after; `None` if there is nothing.
    pub after: Option<FileState>,
}

impl FileView {
    /// Returns a name for the two versions that differ: the change of a file in a scope is another one as soon as it is
    /// different.
    pub fn versions(&self) -> String {
        name_versions(self.before, self.after)
    }
}

/// Returns the same name as [`FileView::versions`].
pub(crate) fn versions_of(file: &FileChange) -> String {
    name_versions(file.before, file.after)
}

fn name_versions(before: Option<FileState>, after: Option<FileState>) -> String {
    let name = |state: Option<FileState>| {
        state.map_or_else(
            || "none".to_owned(),
            |it| format!("{}.{:o}", HEXLOWER.encode(&it.content.to_bytes()), it.mode),
        )
    };
    format!("{}-{}", name(before), name(after))
}

impl Review<'_> {
    /// Returns a page of operations as values, the newest first.
    ///
    /// Errors: `call.invalid` for a page that does not exist; those of the policy and of the session store.
    pub fn operations(&self, query: &OperationQuery) -> Result<OperationPage> {
        if query.from.is_none() {
            // If the store cannot be written, pending operations are reported as pending.
            let _ = resolve_all_in_doubt(self.context);
        }
        let safe_path =
            query.path.as_deref().map(|path| self.context.resolve_no_follow(path, Access::Read)).transpose()?;
        let page = HistoryQuery {
            from: query.from.as_deref(),
            session: query.session.as_deref(),
            path: safe_path.as_ref().map(key),
            since: None,
            most: query.most,
        };
        let mut found = Vec::with_capacity(query.most.min(256));
        let next = newest_operations(self.context, page, |root, logged| {
            found.push((root, logged));
            Ok(ControlFlow::Continue(()))
        })?;
        let mut turns = TurnIndex::default();
        let mut operations = Vec::with_capacity(found.len());
        let models: Vec<SessionModels> =
            (0..self.context.root_count()).map(|root| models(self.context, root)).collect();
        for (root, logged) in &found {
            let mut view = operation_view(self.context, *root, logged, 0..query.files)?;
            view.turn = turns.name_of(self.context, *root, logged)?;
            view.model = models.get(*root).map_or(String::new(), |models| model_of(models, logged));
            operations.push(view);
        }
        Ok(OperationPage { operations, next })
    }

    /// Returns one operation with some of its files.
    ///
    /// Errors: `operation.not_found`, and those of the session store.
    pub fn operation(&self, id: &str, files: Range<usize>) -> Result<OperationView> {
        let (root, logged) = select::operation(self.context, OperationRef::read_name(id)?)?;
        let model = model_of(&models(self.context, root), &logged);
        Ok(OperationView { model, ..operation_view(self.context, root, &logged, files)? })
    }

    /// Returns the names of the newest operations, one for each root that has any: they change with every operation.
    ///
    /// Errors: those of the session store.
    pub fn newest_operations(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for root in 0..self.context.root_count() {
            names.extend(self.context.history(root).newest()?.map(|id| id.to_string()));
        }
        Ok(names)
    }

    /// Returns the models of the sessions in the history, as far as the callers named them.
    pub fn models(&self) -> Vec<String> {
        let all = (0..self.context.root_count()).map(|root| models(self.context, root));
        let names: BTreeSet<String> =
            all.flat_map(|models| models.names().into_iter().map(str::to_owned).collect::<Vec<_>>()).collect();
        names.into_iter().collect()
    }
}

/// Returns the model behind an operation. The model of a session is noted after its first change.
fn model_of(models: &SessionModels, logged: &LogEntry) -> String {
    let at = logged.at.unsigned_abs().saturating_add(MODEL_NOTED_WITHIN_US);
    models.model_of(&logged.operation.session, at).to_owned()
}

/// Longest time from a change until the model of its session was noted.
const MODEL_NOTED_WITHIN_US: u64 = 2_000_000;

fn operation_view(context: &Context, root: usize, logged: &LogEntry, files: Range<usize>) -> Result<OperationView> {
    let LogEntry { id, at, operation, .. } = logged;
    let reversal = reversal_of(context, root, logged)?
        .map(|LastUndo { by, redone }| ReversalView { by: by.to_string(), is_undone: !redone });
    let (added, removed) = visible_files(logged).fold((0, 0), |sum, it| (sum.0 + it.added, sum.1 + it.removed));
    let wanted = visible_files(logged).skip(files.start).take(files.len());
    Ok(OperationView {
        id: id.to_string(),
        root,
        at: *at,
        session: operation.session.clone(),
        model: String::new(),
        tool: tool_name(operation).to_owned(),
        format: operation.format.clone(),
        note: operation.note.clone(),
        purpose: match operation.role {
            _ if operation.is_moment() => OperationPurpose::Mark,
            _ if operation.is_outside() => OperationPurpose::Outside,
            Role::Edit => OperationPurpose::Edit,
            Role::Redo(_) => OperationPurpose::Redo,
            Role::Undo(_) => OperationPurpose::Undo,
        },
        undoes: operation.undoes().map(|id| id.to_string()).collect(),
        reversal,
        completion: match operation.outcome {
            _ if logged.owner.is_some() => OperationCompletion::Pending,
            OperationOutcome::Done => OperationCompletion::Done,
            OperationOutcome::Partial => OperationCompletion::Partial,
            OperationOutcome::Unknown => OperationCompletion::Unknown,
        },
        keeps_content: operation.keeps_content,
        turn: String::new(),
        files_total: visible_files(logged).count(),
        added,
        removed,
        files: wanted.map(|file| file_view(context, &from_its_source(file, logged))).collect(),
    })
}

/// Returns a changed file as a value.
pub(crate) fn file_view(context: &Context, file: &FileChange) -> FileView {
    let roots = context.roots();
    let below = |path: &[u8]| below_root(&roots, log_path(path));
    FileView {
        path: log_path(&file.path).to_owned(),
        below_root: below(&file.path),
        kind: change_kind(file).name(),
        moved_from: file.moved_from.as_deref().map(below),
        added: file.added,
        removed: file.removed,
        before: file.before,
        after: file.after,
    }
}
