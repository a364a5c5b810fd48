//! The history as a whole, as front ends use it: its pages, its feed, and its upkeep.

use crate::api::call;
use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::pipeline::commit::log;
use crate::session::outside;
use crate::session::turns::log_moment;
use crate::tools::history;
use crate::tools::history::feed::{self, Feed, FeedOptions};
use crate::tools::history::page::{self, HistoryPage, OperationSide};
use emendate_core::Result;
use emendate_history::{GcStats, Retention, TURN};
use std::path::Path;

/// The history as a whole: [`Engine::history`](super::Engine::history).
#[derive(Clone, Copy)]
pub struct HistoryAccess<'a> {
    pub(super) context: &'a Context,
}

impl<'a> HistoryAccess<'a> {
    /// Returns operations of all roots, the newest first, at most `most`; `from` is the `next` of the previous page.
    ///
    /// Errors: `call.invalid` for a `from` that no page returned; those of the session store.
    pub fn entries(&self, from: Option<&str>, most: usize) -> Result<HistoryPage> {
        page::entries(self.context, from, most)
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
        let call = Call::new(self.context, caller);
        call::metered(call, || page::stored_content(self.context, id, path, moment, lines))
    }

    /// Follows the history: each new operation of any process is an item of the feed, once.
    ///
    /// ```
    /// use emendate::{FeedItem, FeedOptions, Workspace};
    /// use std::time::Duration;
    ///
    /// let workspace = Workspace::in_memory([("a.txt", "one\n")])?;
    /// let mut feed = workspace.engine().history().follow(&FeedOptions::default())?;
    /// workspace.session("agent-1").write("b.txt", "two\n").run()?;
    /// let Some(FeedItem::Operation(operation)) = feed.wait(Duration::from_secs(10))? else { panic!() };
    /// assert_eq!(operation.row["files"][0]["filePath"], "/b.txt");
    /// # Ok::<(), emendate::core::Error>(())
    /// ```
    ///
    /// Errors: `call.invalid` and `operation.not_found` for a beginning that does not exist; those of the policy and of
    /// the session store.
    pub fn follow(&self, options: &FeedOptions) -> Result<Feed<'a>> {
        feed::follow(self.context, options)
    }

    /// Records a file that a client's own tool created, as the client reports it.
    ///
    /// Errors: those of the policy, of the session store and of the disk.
    pub fn record_creation(&self, path: &Path) -> Result<()> {
        outside::record_creation(self.context, path)
    }

    /// Begins a turn of a session: an undo of the turn undoes everything that it does from now on.
    ///
    /// Errors: those of the session store.
    pub fn begin_turn(&self, session: &str) -> Result<()> {
        log_moment(self.context, session, TURN, "").map(drop)
    }

    /// Deletes contents that are too old or exceed the limits of the histories. For a person; deleted contents cannot
    /// be restored.
    ///
    /// Errors: those of the session store.
    pub fn collect_garbage(&self, retention: Retention) -> Result<GcStats> {
        history::collect_garbage(self.context, retention)
    }

    /// Finishes background work of calls: stores contents for the history, and writes events. For front ends, after
    /// sending an answer; the rest is done when the engine is dropped.
    pub fn finish_background_work(&self) {
        log::store_unstored_contents(self.context);
        self.context.events.flush_if_due();
    }

    /// Stores contents that so far exist only in working files. For front ends, after sending an answer; the rest is
    /// done when the engine is dropped.
    pub fn store_unstored_contents(&self) {
        log::store_unstored_contents(self.context);
    }
}
