//! Undo and redo through a session.

use crate::api::workspace::session::Session;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::report::outcome::{CallReceipts, ChangeOutcome};
use crate::tools::undo::input::UndoInput;
use crate::tools::undo::{UndoneOperations, undo_operations};
use emendate_core::Result;
use emendate_history::OperationId;
use std::path::{Path, PathBuf};

impl Session {
    /// Undoes an operation: the last one of this session, unless the call says otherwise.
    pub fn undo(&self) -> UndoCall<'_> {
        UndoCall { session: self, path: None, input: UndoInput::default(), diff: false }
    }
}

/// An undo or a redo; see [`Session::undo`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct UndoCall<'a> {
    session: &'a Session,
    path: Option<PathBuf>,
    input: UndoInput,
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

emendate_core::setters! {
    impl UndoCall<'a> {
        /// Selects this operation, as [`ChangeOutcome::operation`] names it.
        operation(operation: OperationId) { input.id = Some(operation.to_string()) }
        /// Selects that many operations, the newest first: all or none.
        last(count: usize) { input.last = Some(count) }
        /// Undoes the last undo instead.
        redo() { input.redo = true }
        /// Also selects operations of other sessions.
        any_session() { input.any_session = true }
        /// Makes the call a dry run: it plans everything and writes nothing.
        dry_run() { input.dry_run = true }
        /// Allows an undo that cannot be redone afterwards.
        irreversible() { input.irreversible = true }
        /// Requests the change of each file as a unified diff.
        diff() { diff = true }
    }
}

impl<'a> UndoCall<'a> {
    /// Selects the last operation that changed this file; all its files are undone.
    pub fn of_file(mut self, path: impl AsRef<Path>) -> UndoCall<'a> {
        let path = self.session.absolute(path.as_ref());
        self.input.file_path = Some(path.to_string_lossy().into_owned());
        UndoCall { path: Some(path), ..self }
    }

    /// Undoes the operations, all or none.
    ///
    /// Errors: `operation.not_found`, `operation.conflict` and others of an undo; `call.invalid` for contradictory
    /// options.
    pub fn run(self) -> Result<UndoOutcome> {
        let UndoCall { session, path, input, diff } = self;
        let parts = format!("{input:?}");
        let origin =
            CallOrigin { irreversible: input.irreversible, ..CallOrigin::of_parts("undo", &[parts.as_bytes()]) };
        session.run("undo", |call| {
            let UndoneOperations { operations, receipts } = undo_operations(call, origin, &input, path.as_deref())?;
            let dry_run = input.dry_run || call.caller.dry_run;
            let receipts = CallReceipts { receipts, dry_run, ..CallReceipts::default() };
            Ok(UndoOutcome {
                undone: operations.iter().map(|logged| logged.id).collect(),
                change: receipts.into_outcome(&call, diff),
            })
        })
    }
}
