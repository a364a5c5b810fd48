//! The engine as front ends and embedding programs see it. All work is done by functions over its [`Context`].

pub(crate) mod questions;

use crate::api::engine::questions::Questions;
use crate::api::{call, events};
use crate::context::Context;
use crate::context::call::Call;
use crate::context::config::Config;
use crate::context::history_stores::StateLocation;
use crate::context::syntax::{ParserIsolation, Parsers};
use crate::model::call_context::CallContext;
use crate::model::reply::Reply;
use crate::pipeline::checks::approval;
use crate::pipeline::commit::log;
use crate::session::comments;
use crate::session::in_doubt::resolve_all_in_doubt;
use crate::tools::history::page::HistoryAccess;
use crate::tools::preview::{self, LinePreview};
use crate::tools::remarks::Remarks;
use crate::tools::review::Review;
use emendate_core::{Handle, Op, Result, Vocabulary};
use emendate_events::EventFileCheck;
use emendate_fs::Store;
use serde_json::Value;
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
        let context = Context::open(roots, state, config)?;
        if context.has_undone() {
            // Only this process knows that nothing is left of these calls.
            let _ = resolve_all_in_doubt(&context);
        }
        Ok(Engine { context })
    }

    /// Creates an engine over any store.
    ///
    /// Errors: none at present; an invalid project configuration is a notice, as for [`Engine::open`].
    pub fn with_store(store: Box<dyn Store>, state: StateLocation, config: Config) -> Result<Engine> {
        Ok(Engine { context: Context::with_store(store, state, config) })
    }

    /// Parses in separate processes, so that a crash of a grammar does not affect this one. `command` is a program and
    /// arguments that run [`answer_questions`](crate::answer_questions) on the standard streams.
    #[must_use]
    pub fn with_isolated_parsing(mut self, command: Vec<String>, isolation: ParserIsolation) -> Engine {
        self.context.memory.parsers = Parsers::isolated(command, isolation);
        self
    }

    /// Marks the engine as belonging to a process that ends after one call, and an in-memory history with it.
    #[must_use]
    pub fn with_process_lifetime(mut self) -> Engine {
        self.context.history_stores.one_call = true;
        self
    }

    /// The flag to set when nothing reads the answers any more: a running call then stops before it writes anything, or
    /// not at all.
    pub fn client_gone_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.context.memory.client_gone)
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

    /// Describes the calls of dead processes that could neither be completed nor undone; the notices report them, too.
    /// Their files cannot be changed until that is possible.
    pub fn unfinished_calls(&self) -> Vec<String> {
        self.context.store().unfinished_calls()
    }

    /// Examines the file of events, if there is one, without writing a line. Creates a missing file. A dry run has none.
    pub fn examine_event_file(&self) -> Option<EventFileCheck> {
        self.context.events.examine_file()
    }

    /// Adds a message for a person.
    pub fn notice(&self, text: String) {
        self.context.notice(text);
    }

    /// Calls a tool and records an event. Never panics: an internal fault is reported as `internal.bug`.
    pub fn call(&self, caller: &CallContext, name: &str, input: Value) -> Reply {
        events::call_as(Call::new(&self.context, caller), name, input, None)
    }

    /// Calls a tool with advice in the names of a client.
    pub fn call_as(&self, caller: &CallContext, name: &str, input: Value, names: Option<&dyn Vocabulary>) -> Reply {
        events::call_as(Call::new(&self.context, caller), name, input, names)
    }

    /// Calls a tool with JSON text, as `emend call` and NDJSON do.
    pub fn call_json(&self, caller: &CallContext, name: &str, input: &str) -> Reply {
        call::call_json(Call::new(&self.context, caller), name, input)
    }

    /// Returns the preview of a line operation on the file at `path`, whose numbers refer to the version `base`. Blocks
    /// are looked up; one that cannot be found is omitted, as are lines named by anchors.
    pub fn preview_lines(
        &self,
        caller: &CallContext,
        path: &Path,
        op: &Op,
        base: Option<Handle>,
    ) -> Option<LinePreview> {
        preview::preview_lines(Call::new(&self.context, caller), path, op, base)
    }

    /// Returns the rule that requires approval before a file is written; for hooks of clients, which ask themselves.
    ///
    /// Errors: `path.*`, `access.denied`, `io.*`.
    pub fn approval_rule_for(&self, path: &Path) -> Result<Option<String>> {
        approval::approval_rule_for(&self.context, path)
    }

    /// The questions to a person that wait.
    pub fn questions(&self) -> Questions<'_> {
        Questions { engine: self }
    }

    /// The comments and review marks of people.
    pub fn remarks(&self) -> Remarks<'_> {
        Remarks { context: &self.context }
    }

    /// The changes of the history as values, for a review by a person.
    pub fn review(&self) -> Review<'_> {
        Review { context: &self.context }
    }

    /// The history as a whole: its pages, its feed, and its upkeep.
    pub fn history(&self) -> HistoryAccess<'_> {
        HistoryAccess { context: &self.context }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        comments::record_deliveries(&self.context, None);
        log::flush_log(&self.context);
    }
}
