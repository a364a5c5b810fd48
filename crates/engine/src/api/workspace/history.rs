//! The history through a session: its operations, and files as they were.

use crate::api::workspace::session::Session;
use crate::context::options::CallOptions;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::report::outcome::{CallReceipts, ChangeOutcome};
use crate::tools::review::Review;
use crate::tools::review::operations::{OperationPage, OperationQuery};
use crate::tools::undo::restore::{RestoreInput, restore_file};
use emendate_core::Result;
use std::path::{Path, PathBuf};

/// Operations of a page, unless the call says otherwise.
const PAGE_OPERATIONS_DEFAULT: usize = 100;
/// Files listed of each operation, unless the call says otherwise.
const LISTED_FILES_DEFAULT: usize = 100;

impl Session {
    /// Lists operations of the history, the newest first.
    pub fn history(&self) -> HistoryCall<'_> {
        let (most, files) = (PAGE_OPERATIONS_DEFAULT, LISTED_FILES_DEFAULT);
        HistoryCall { session: self, query: OperationQuery { most, files, ..OperationQuery::default() } }
    }

    /// Restores a file as it was after an operation, which the call names as
    /// [`OperationView::id`](crate::OperationView::id) does.
    pub fn restore(&self, path: impl AsRef<Path>, operation: impl Into<String>) -> RestoreCall<'_> {
        let path = self.absolute(path.as_ref());
        let file_path = path.to_string_lossy().into_owned();
        let input = RestoreInput { file_path, id: operation.into(), ..RestoreInput::default() };
        RestoreCall { session: self, path, input, diff: false }
    }
}

/// A list of operations; see [`Session::history`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct HistoryCall<'a> {
    session: &'a Session,
    query: OperationQuery,
}

emendate_core::setters! {
    impl HistoryCall<'a> {
        /// Sets the maximum number of operations (default: 100).
        limit(operations: usize) { query.most = operations }
        /// Sets the maximum number of files that are listed of each operation (default: 100).
        files(files: usize) { query.files = files }
        /// Continues after another page, by its [`OperationPage::next`].
        from(next: impl Into<String>) { query.from = Some(next.into()) }
    }
}

impl<'a> HistoryCall<'a> {
    /// Restricts the list to operations of this session.
    pub fn own(mut self) -> HistoryCall<'a> {
        self.query.session = Some(self.session.name().to_owned());
        self
    }

    /// Restricts the list to operations that changed this file.
    pub fn of_file(mut self, path: impl AsRef<Path>) -> HistoryCall<'a> {
        self.query.path = Some(self.session.absolute(path.as_ref()));
        self
    }

    /// Returns the operations, the newest first.
    ///
    /// Errors: `call.invalid` for a page that does not exist; those of the policy and of the history.
    pub fn run(self) -> Result<OperationPage> {
        self.session.run("history", |call| Review { context: call.context }.operations(&self.query))
    }
}

/// A restore of a file; see [`Session::restore`].
///
/// ```
/// use emendate::Workspace;
///
/// let workspace = Workspace::in_memory([("a.txt", "one\n")])?;
/// let session = workspace.session("agent-1");
/// session.read("a.txt").run()?;
/// session.write("a.txt", "two\n").run()?;
/// session.write("a.txt", "three\n").run()?;
/// let operations = session.history().own().run()?.operations;
/// session.restore("a.txt", &operations[1].id).run()?;
/// assert_eq!(session.read("a.txt").run()?.text, "two\n");
/// # Ok::<(), emendate::core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct RestoreCall<'a> {
    session: &'a Session,
    path: PathBuf,
    input: RestoreInput,
    diff: bool,
}

emendate_core::setters! {
    impl RestoreCall<'a> {
        /// Restores only these hunks of the operation; the first one is 1.
        hunks(hunks: impl IntoIterator<Item = usize>) { input.hunks = Some(hunks.into_iter().collect()) }
        /// Makes the call a dry run: it plans everything and writes nothing.
        dry_run() { input.dry_run = true }
        /// Allows a restore that cannot be undone afterwards.
        irreversible() { input.irreversible = true }
        /// Requests the change as a unified diff.
        diff() { diff = true }
    }
}

impl<'a> RestoreCall<'a> {
    /// Restores the file as it was before the operation (default: after it).
    pub fn before(mut self) -> RestoreCall<'a> {
        if !self.input.id.ends_with('^') {
            self.input.id.push('^');
        }
        self
    }

    /// Restores the file.
    ///
    /// Errors: `operation.not_found` for an unknown operation and for content that was not kept; `operation.conflict`
    /// for hunks that changed since; `edit.no_change`; those of the policy.
    pub fn run(self) -> Result<ChangeOutcome> {
        let RestoreCall { session, path, input, diff } = self;
        let parts = format!("{input:?}");
        let origin =
            CallOrigin { irreversible: input.irreversible, ..CallOrigin::of_parts("restore", &[parts.as_bytes()]) };
        session.run("restore", |call| {
            let options = CallOptions::new(call.caller, call.config(), origin);
            let receipts = restore_file(call, origin, &options, &input, &path)?.receipts;
            let dry_run = input.dry_run || call.caller.dry_run;
            let done = CallReceipts { receipts, dry_run, ..CallReceipts::default() };
            Ok(done.into_outcome(&call, diff))
        })
    }
}
