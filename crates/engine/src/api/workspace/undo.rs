//! Undo and redo through a session.

use crate::api::workspace::session::Session;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::report::outcome::{CallReceipts, ChangeOutcome};
use crate::tools::undo::input::UndoInput;
use crate::tools::undo::{UndoneOperations, undo_operations};
use emendate_core::Notes;
use emendate_core::Result;
use emendate_history::OperationId;
use std::path::{Path, PathBuf};

impl Session {
    /// Undoes an operation: the last one of this session, unless the call says otherwise.
    pub fn undo(&self) -> UndoCall<'_> {
        UndoCall::new(self)
    }
}

/// An undo or a redo; see [`Session::undo`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct UndoCall<'a> {
    session: &'a Session,
    operation: Option<OperationId>,
    last: Option<usize>,
    path: Option<PathBuf>,
    redo: bool,
    any_session: bool,
    dry_run: bool,
    irreversible: bool,
    diff: bool,
}

/// The outcome of an undo or a redo.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UndoOutcome {
    /// The operations that were undone, the newest first; for a redo, the undo that was undone.
    pub undone: Vec<OperationId>,
    /// The change of the files, which is an operation of its own.
    pub change: ChangeOutcome,
}

impl<'a> UndoCall<'a> {
    pub(super) fn new(session: &'a Session) -> UndoCall<'a> {
        UndoCall {
            session,
            operation: None,
            last: None,
            path: None,
            redo: false,
            any_session: false,
            dry_run: false,
            irreversible: false,
            diff: false,
        }
    }

    /// Selects this operation, as [`ChangeOutcome::operation`] names it.
    pub fn operation(self, operation: OperationId) -> UndoCall<'a> {
        UndoCall { operation: Some(operation), ..self }
    }

    /// Selects that many operations, the newest first: all or none.
    pub fn last(self, count: usize) -> UndoCall<'a> {
        UndoCall { last: Some(count), ..self }
    }

    /// Selects the last operation that changed this file; all its files are undone.
    pub fn of_file(self, path: impl AsRef<Path>) -> UndoCall<'a> {
        UndoCall { path: Some(path.as_ref().to_owned()), ..self }
    }

    /// Undoes the last undo instead.
    pub fn redo(self) -> UndoCall<'a> {
        UndoCall { redo: true, ..self }
    }

    /// Also selects operations of other sessions.
    pub fn any_session(self) -> UndoCall<'a> {
        UndoCall { any_session: true, ..self }
    }

    /// Makes the call a dry run: it plans everything and writes nothing.
    pub fn dry_run(self) -> UndoCall<'a> {
        UndoCall { dry_run: true, ..self }
    }

    /// Allows an undo that cannot be redone afterwards.
    pub fn irreversible(self) -> UndoCall<'a> {
        UndoCall { irreversible: true, ..self }
    }

    /// Requests the change of each file as a unified diff.
    pub fn diff(self) -> UndoCall<'a> {
        UndoCall { diff: true, ..self }
    }

    /// Undoes the operations, all or none.
    ///
    /// Errors: `operation.not_found`, `operation.conflict` and others of an undo; `call.invalid` for contradictory
    /// options.
    pub fn run(self) -> Result<UndoOutcome> {
        let raw = self.path.as_deref().map(|path| self.session.absolute(path));
        let input = UndoInput {
            id: self.operation.map(|id| id.to_string()),
            last: self.last,
            file_path: raw.as_ref().map(|path| path.to_string_lossy().into_owned()),
            redo: self.redo,
            any_session: self.any_session,
            dry_run: self.dry_run,
            irreversible: self.irreversible,
            ..UndoInput::default()
        };
        let parts = format!("{input:?}");
        let origin =
            CallOrigin { irreversible: self.irreversible, ..CallOrigin::of_parts("undo", &[parts.as_bytes()]) };
        self.session.run("undo", |context, caller| {
            let done = undo_operations(context, caller, origin, &input, raw.as_deref())?;
            let UndoneOperations { operations, receipts } = done;
            let dry_run = self.dry_run || caller.dry_run;
            let receipts = CallReceipts { receipts, format: "", notes: Notes::new(), dry_run };
            Ok(UndoOutcome {
                undone: operations.iter().map(|logged| logged.id).collect(),
                change: receipts.into_outcome(context, self.diff),
            })
        })
    }
}
