//! The engine as front ends and embedding programs see it. All work is done by functions over its [`Context`].

use crate::api::questions::record::{AnswerOutcome, AskingCall};
use crate::api::questions::waiting::{self, WaitingQuestion};
use crate::api::questions::{self, PendingQuestion, PersonAnswer};
use crate::api::{call, events};
use crate::context::Context;
use crate::context::config::Config;
use crate::context::history_stores::StateLocation;
use crate::context::syntax::ParserIsolation;
use crate::model::call_context::CallContext;
use crate::model::reply::{Answer, Reply};
use crate::pipeline::checks::approval;
use crate::pipeline::commit::log;
use crate::session::comments;
use crate::session::outside;
use crate::session::refusals;
use crate::session::turns::log_moment;
use crate::tools::history;
use crate::tools::history::feed::{self, Feed, FeedOptions};
use crate::tools::history::page::{self, HistoryPage, OperationSide};
use crate::tools::preview::{self, LinePreview};
use crate::tools::remarks::{self, Comment, ReviewedFile};
use crate::tools::review::cells::{self, CellDifference};
use crate::tools::review::difference::{self, FileDifference, Resolution, VersionLines};
use crate::tools::review::large;
use crate::tools::review::operations::FileView;
use crate::tools::review::operations::{self, OperationPage, OperationQuery, OperationView};
use crate::tools::review::scope::{self, ChangeScope, ScopeChanges, ScopeFiles, ScopeFolder, ScopeRemarks};
use crate::tools::undo;
use emendate_core::{Handle, Op, Result, Vocabulary};
use emendate_events::Refusal;
use emendate_fs::Store;
use emendate_history::{Deadline, GcStats, Retention, TURN};
use emendate_syntax::{ColorSpan, LineRange};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Reads, edits and writes files below its roots, for any number of concurrent callers.
pub struct Engine {
    pub(in crate::api) context: Context,
}

impl Engine {
    /// Opens an engine over directories of the local disk. Reads `emend.toml` (or `.emend.toml`) of each root. With a
    /// state directory, half-finished writes of a dead process are first completed or rolled back, as the notices
    /// report.
    ///
    /// An invalid project configuration is a notice: files can be read, and edits are refused.
    ///
    /// Errors: a root that is not a directory.
    pub fn open(roots: &[PathBuf], state: StateLocation, config: Config) -> Result<Engine> {
        Ok(Engine { context: Context::open(roots, state, config)? })
    }

    /// Creates an engine over any store.
    ///
    /// Errors: an invalid configuration file.
    pub fn with_store(store: Box<dyn Store>, state: StateLocation, config: Config) -> Result<Engine> {
        Ok(Engine { context: Context::with_store(store, state, config)? })
    }

    /// Parses in separate processes, so that a crash of a grammar does not affect this one. `words` are a program and
    /// arguments that run [`answer_questions`](crate::answer_questions) on the standard streams.
    #[must_use]
    pub fn with_isolated_parsing(mut self, words: Vec<String>, apart: ParserIsolation) -> Engine {
        self.context.isolate_parsing(words, apart);
        self
    }

    /// Marks the engine as belonging to a process that ends after one call, and an in-memory history with it.
    #[must_use]
    pub fn with_process_lifetime(mut self) -> Engine {
        self.context.end_with_process();
        self
    }

    /// The flag to set when nothing reads the answers any more: calls then end before they write, or not at all.
    pub fn client_gone_flag(&self) -> Arc<AtomicBool> {
        self.context.client_gone_flag()
    }

    /// The canonical directories that can be accessed.
    pub fn roots(&self) -> Vec<&Path> {
        self.context.roots()
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        self.context.config()
    }

    /// Takes the messages for a person about the configuration and the session store; each is returned once.
    pub fn notices(&self) -> Vec<String> {
        self.context.notices()
    }

    /// Adds a message for a person.
    pub fn notice(&self, text: String) {
        self.context.notice(text);
    }

    /// Calls a tool and records an event. Never panics: an internal fault is reported as `internal.bug`.
    pub fn call(&self, caller: &CallContext, name: &str, input: Value) -> Reply {
        events::call_as(&self.context, caller, name, input, None)
    }

    /// Calls a tool with advice in the names of a client.
    pub fn call_as(&self, caller: &CallContext, name: &str, input: Value, names: Option<&dyn Vocabulary>) -> Reply {
        events::call_as(&self.context, caller, name, input, names)
    }

    /// Calls a tool with JSON text, as `emend call` and NDJSON do.
    pub fn call_json(&self, caller: &CallContext, name: &str, input: &str) -> Reply {
        call::call_json(&self.context, caller, name, input)
    }

    /// Returns the preview of a line operation on the file at `path`, whose numbers refer to the version `base`. Blocks
    /// are looked up; one that cannot be found is left out, as are lines named by anchors.
    pub fn preview_lines(
        &self,
        caller: &CallContext,
        path: &Path,
        op: &Op,
        base: Option<Handle>,
    ) -> Option<LinePreview> {
        preview::preview_lines(&self.context, caller, path, op, base)
    }

    /// Returns the rule that requires approval before a file is written; for hooks of clients, which ask themselves.
    ///
    /// Errors: `path.*`, `access.denied`, `io.*`.
    pub fn approval_rule_for(&self, path: &Path) -> Result<Option<String>> {
        approval::approval_rule_for(&self.context, path)
    }

    /// Returns operations of all roots, the newest first, at most `most`; `from` is the `next` of the previous page.
    ///
    /// Errors: `call.invalid` for a `from` that no page returned; those of the session store.
    pub fn entries(&self, from: Option<&str>, most: usize) -> Result<HistoryPage> {
        page::entries(&self.context, from, most)
    }

    /// Stores the question of a reply, so that a person can answer it in any process. It waits `until` then, or for the
    /// time of the configuration. `None` if the reply has no question, calls do not wait by the
    /// configuration, or the question cannot be stored: without a state directory, for secrets, or if too many wait.
    pub fn store_question(
        &self,
        caller: &CallContext,
        call: AskingCall<'_>,
        reply: &Reply,
        until: Option<Deadline>,
    ) -> Option<WaitingQuestion> {
        waiting::store_question(&self.context, caller, call, reply, until)
    }

    /// Waits for the person whom a call needs by its reply, until the time limit of the configuration, and makes it
    /// again with their answer. Any other reply is returned at once. `asked` is called with the id of each question. No
    /// lock is held while it waits.
    pub fn wait_for_person(
        &self,
        caller: &CallContext,
        call: AskingCall<'_>,
        reply: Reply,
        make: impl Fn(&CallContext) -> Reply,
        asked: impl Fn(&str),
    ) -> Reply {
        waiting::wait_for_person(&self.context, caller, call, reply, make, asked)
    }

    /// Returns the questions that have no result yet, the oldest first.
    ///
    /// Errors: those of the state directory.
    pub fn pending_questions(&self) -> Result<Vec<PendingQuestion>> {
        questions::pending_questions(&self.context)
    }

    /// Answers a question. The first answer wins. If the process of its call waits, that carries it out; otherwise this
    /// process does, if the change is still the one that was shown.
    ///
    /// Errors: `operation.not_found`; `conflict.raced` if it has an answer already; `call.invalid` for texts of other
    /// files; those of the state directory.
    pub fn answer_question(&self, id: &str, answer: &PersonAnswer) -> Result<AnswerOutcome> {
        questions::answer_question(self, id, answer)
    }

    /// Says that the replies of a session, or of all, are out: the comments that they had need not be delivered again.
    /// For front ends; dropping the engine does it, too.
    pub fn confirm_replies(&self, session: Option<&str>) {
        comments::record_deliveries(&self.context, session);
    }

    /// Says that the last replies of a session, or of all, may not have been read, e.g. because a call was cancelled when
    /// its reply was ready: the next ones deliver the comments again.
    pub fn recall_replies(&self, session: Option<&str>) {
        comments::recall_deliveries(&self.context, session);
    }

    /// Adds a comment on an operation, a file of it, or a line of that file after it. The next reply to the session of
    /// the operation delivers it.
    ///
    /// Errors: `operation.not_found`; `call.invalid` for an empty text, a file that the operation did not change, or a
    /// line without a file; `call.too_large`; those of the session store.
    pub fn add_comment(&self, operation: &str, path: Option<&Path>, line: Option<u64>, text: &str) -> Result<Comment> {
        remarks::add_comment(&self.context, operation, path, line, text)
    }

    /// Returns the comments on an operation, or all, the oldest first; `open` for those that were not delivered.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn comments(&self, operation: Option<&str>, open: bool) -> Result<Vec<Comment>> {
        remarks::comments(&self.context, operation, open)
    }

    /// Deletes a comment.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn delete_comment(&self, id: &str) -> Result<()> {
        remarks::delete_comment(&self.context, id)
    }

    /// Marks hunks of an operation as reviewed, or not: of one file, or of all; the given ones, or all. Returns the
    /// reviewed hunks of the operation.
    ///
    /// Errors: `operation.not_found`; `call.invalid` for a file or hunk that the operation does not have;
    /// `call.too_large`; those of the policy and of the session store.
    pub fn mark_reviewed(
        &self,
        caller: &CallContext,
        operation: &str,
        path: Option<&Path>,
        hunks: Option<&[usize]>,
        reviewed: bool,
    ) -> Result<Vec<ReviewedFile>> {
        call::metered(&self.context, caller, || remarks::mark_reviewed(&self.context, operation, path, hunks, reviewed))
    }

    /// Returns the reviewed hunks of an operation, or of the newest operations that have any.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn reviewed_hunks(&self, operation: Option<&str>) -> Result<Vec<ReviewedFile>> {
        remarks::reviewed_hunks(&self.context, operation)
    }

    /// Follows the history: each new operation of any process is an item of the feed, once.
    ///
    /// ```
    /// use emendate::{FeedItem, FeedOptions, Workspace};
    /// use std::time::Duration;
    ///
    /// let workspace = Workspace::in_memory([("a.txt", "one\n")])?;
    /// let mut feed = workspace.engine().follow(&FeedOptions::default())?;
    /// workspace.session("agent-1").write("b.txt", "two\n").run()?;
    /// let Some(FeedItem::Operation(operation)) = feed.wait(Duration::from_secs(10))? else { panic!() };
    /// assert_eq!(operation.row["files"][0]["filePath"], "/b.txt");
    /// # Ok::<(), emendate::core::Error>(())
    /// ```
    ///
    /// Errors: `call.invalid` and `operation.not_found` for a beginning that does not exist; those of the policy and of
    /// the session store.
    pub fn follow(&self, options: &FeedOptions) -> Result<Feed<'_>> {
        feed::follow(&self.context, options)
    }

    /// Returns the content of a file before or after an operation: its bytes, or the target of a link. `lines` is the
    /// first line and the number of lines of a part; `None` means everything.
    ///
    /// Errors: `operation.not_found` if there is no such operation, it did not change the file, the file did not exist
    /// then, or its content was not kept; `read.too_large`; those of the policy.
    pub fn content_at(
        &self,
        caller: &CallContext,
        id: &str,
        path: &Path,
        moment: OperationSide,
        lines: Option<(usize, usize)>,
    ) -> Result<Vec<u8>> {
        call::metered(&self.context, caller, || page::stored_content(&self.context, id, path, moment, lines))
    }

    /// Returns a page of operations as values, the newest first.
    ///
    /// Errors: `call.invalid` for a page that does not exist; those of the policy and of the session store.
    pub fn operations(&self, query: &OperationQuery) -> Result<OperationPage> {
        operations::operations(&self.context, query)
    }

    /// Returns one operation with some of its files.
    ///
    /// Errors: `operation.not_found`, and those of the session store.
    pub fn operation(&self, id: &str, files: Range<usize>) -> Result<OperationView> {
        operations::operation(&self.context, id, files)
    }

    /// Returns the names of the newest operations, one for each root that has any: they change with every operation.
    ///
    /// Errors: those of the session store.
    pub fn newest_operations(&self) -> Result<Vec<String>> {
        operations::newest_names(&self.context)
    }

    /// Finds the changes of a scope.
    ///
    /// Errors: `operation.not_found`, `call.invalid`, and those of the session store.
    pub fn scope_changes(&self, scope: &ChangeScope) -> Result<ScopeChanges> {
        scope::scope_changes(&self.context, scope)
    }

    /// Returns some files of a scope, in the order of their paths, and the sums of all that are `wanted`; without it, of
    /// all.
    pub fn scope_files(
        &self,
        changes: &ScopeChanges,
        wanted: Option<&dyn Fn(&FileView) -> bool>,
        part: Range<usize>,
    ) -> ScopeFiles {
        scope::scope_files(&self.context, changes, wanted, part)
    }

    /// Returns one file of a scope.
    ///
    /// Errors: `operation.not_found`.
    pub fn scope_file(&self, changes: &ScopeChanges, path: &Path) -> Result<FileView> {
        scope::scope_file(&self.context, changes, path)
    }

    /// Returns what a person said about the operation of a scope.
    ///
    /// Errors: those of the session store.
    pub fn scope_remarks(&self, changes: &ScopeChanges) -> Result<ScopeRemarks> {
        scope::scope_remarks(&self.context, changes)
    }

    /// Returns what a directory of a scope has: the directories directly below it with the sums of their files, and its
    /// own files. `folder` is relative to the roots.
    pub fn scope_folder(&self, changes: &ScopeChanges, folder: &Path) -> ScopeFolder {
        scope::scope_folder(&self.context, changes, folder)
    }

    /// Returns the newest refused calls with the reasons that the callers were given, the newest first.
    pub fn refusals(&self, most: usize) -> Vec<Refusal> {
        refusals::refusals(&self.context, most)
    }

    /// Returns the models of the sessions in the history, as far as the callers named them.
    pub fn models(&self) -> Vec<String> {
        operations::model_names(&self.context)
    }

    /// True for a file that is too large to be loaded whole to be looked at.
    pub fn is_large(&self, path: &Path) -> bool {
        let place = self.context.store().resolve_no_follow(path);
        place.is_ok_and(|place| large::is_large(&self.context, &place))
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
        call::metered(&self.context, caller, || difference::difference(&self.context, caller, changes, path, bytes))
    }

    /// Returns the colours of lines of a file as it is; none for a file that may not or cannot be read, or whose language
    /// is not known.
    pub fn line_colors(&self, caller: &CallContext, path: &Path, range: LineRange) -> Vec<ColorSpan> {
        call::metered(&self.context, caller, || Ok(difference::line_colors(&self.context, caller, path, range)))
            .unwrap_or_default()
    }

    /// Returns lines of a file before or after the changes of a scope, with their colours.
    ///
    /// Errors: those of [`Engine::scope_content`], and those of a file that is not text.
    pub fn version_lines(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        moment: OperationSide,
        range: LineRange,
    ) -> Result<VersionLines> {
        let context = &self.context;
        call::metered(context, caller, || difference::version_lines(context, caller, scope, path, moment, range))
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
        call::metered(&self.context, caller, || difference::scope_content(&self.context, scope, path, moment))
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
        call::metered(&self.context, caller, || cells::cell_differences(&self.context, scope, path, bytes))
    }

    /// Merges the reversal of a change into the file as it is, for a person who resolves the conflicts.
    ///
    /// Errors: those of [`Engine::scope_content`]; `file.binary`, `file.too_large`.
    pub fn resolution(&self, caller: &CallContext, scope: &ChangeScope, path: &Path) -> Result<Resolution> {
        call::metered(&self.context, caller, || difference::resolution(&self.context, scope, path))
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
        let context = &self.context;
        call::metered(context, caller, || scope::reverse_change(context, caller, scope, path, hunks, redo))
    }

    /// Undoes everything of the turn that an operation belongs to, in all of its files or none.
    ///
    /// Errors: those of `undo`.
    pub fn undo_turn(&self, caller: &CallContext, id: &str) -> Result<Answer> {
        call::metered(&self.context, caller, || undo::undo_turn(&self.context, caller, id))
    }

    /// Records a file that a client's own tool created, as the client reports it.
    ///
    /// Errors: those of the policy, of the session store and of the disk.
    pub fn record_creation(&self, path: &Path) -> Result<()> {
        outside::record_creation(&self.context, path)
    }

    /// Begins a turn of a session: what it does from now on is taken back together by an undo of the turn.
    ///
    /// Errors: those of the session store.
    pub fn begin_turn(&self, session: &str) -> Result<()> {
        log_moment(&self.context, session, TURN, "").map(drop)
    }

    /// Deletes contents that are too old or exceed the limits of the histories. For a person; deleted contents cannot
    /// be restored.
    ///
    /// Errors: those of the session store.
    pub fn collect_garbage(&self, leave: Retention) -> Result<GcStats> {
        history::collect_garbage(&self.context, leave)
    }

    /// Finishes background work of calls: stores contents for the history, and writes events. For front ends, after
    /// sending an answer; the rest is done when the engine is dropped.
    pub fn finish_background_work(&self) {
        log::store_unstored_contents(&self.context);
        self.context.events().flush_if_due();
    }

    /// Stores contents that so far exist only in working files. For front ends, after sending an answer; the rest is
    /// done when the engine is dropped.
    pub fn store_unstored_contents(&self) {
        log::store_unstored_contents(&self.context);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        comments::record_deliveries(&self.context, None);
        log::settle_log(&self.context);
    }
}
