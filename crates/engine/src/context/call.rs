//! A call in progress.

use crate::context::Context;
use crate::context::history_stores::key;
use crate::context::syntax::Grammars;
use crate::model::call_context::CallContext;
use crate::model::call_handle::CallHandle;
use crate::model::reply_limits::ReplyLimits;
use emendate_core::work::Meter;
use emendate_core::{Advice, Result, Vocabulary};
use emendate_fs::SafePath;
use emendate_history::Record;
use std::ops::Deref;
use std::sync::Arc;

/// Steps of a call after which the memory that it used is returned to the system.
const LARGE_CALL_STEPS_MIN: u64 = 500_000;

/// A call in progress: the state that it works on, and who makes it. Nearly every stage needs both. Whatever
/// needs only the [`Context`] takes `&call`.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) context: &'a Context,
    pub(crate) caller: &'a CallContext,
    /// The client's names of tools and fields; `None` for those of the tool table.
    pub(crate) names: Option<&'a dyn Vocabulary>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(context: &'a Context, caller: &'a CallContext) -> Call<'a> {
        Call { context, caller, names: None }
    }

    /// Returns the limits of the reply.
    pub(crate) fn reply_limits(self) -> ReplyLimits {
        let configured = self.config().reply;
        let limits = if self.caller.person_reads { configured.for_person() } else { configured };
        if self.caller.original_file { limits.with_original() } else { limits }
    }

    /// Returns the grammars, whose parses end when the call is cancelled.
    pub(crate) fn grammars(self) -> Grammars<'a> {
        Grammars { parsers: &self.context.memory.parsers, stop: self.caller.stop_flag() }
    }

    /// Runs a call under its meter. If the meter ended the work, its incomplete result is dropped.
    pub(crate) fn metered<T>(self, run: impl FnOnce(Call<'a>) -> Result<T>) -> Result<T> {
        let meter = Meter::with_flag(
            self.config().max_work,
            self.caller.handle.as_ref().map(CallHandle::stop_flag).unwrap_or_default(),
            Arc::clone(&self.memory.client_gone),
        );
        let result = {
            let _entered = meter.enter();
            run(self)
        };
        if let Some(handle) = &self.caller.handle {
            handle.note_steps(meter.spent());
        }
        let result = match meter.halted() {
            Some(halt) => Err(halt.error()),
            None => result,
        };
        if meter.spent() >= LARGE_CALL_STEPS_MIN {
            emendate_fs::return_free_memory();
        }
        result
    }

    /// Returns the call of a client with these names of tools and fields.
    pub(crate) fn with_names(self, names: &'a dyn Vocabulary) -> Call<'a> {
        Call { names: Some(names), ..self }
    }

    /// Returns what the session of the caller knows of a file.
    pub(crate) fn latest_record(self, path: &SafePath) -> Result<Option<Record>> {
        self.sessions(path).latest(&self.caller.session, key(path))
    }

    /// Renders advice with the names of the client.
    pub(crate) fn render(self, advice: &Advice) -> String {
        self.names.map_or_else(|| advice.text(), |names| advice.text_for(names))
    }

    /// Returns the call as one of another caller, if there is one.
    pub(crate) fn of(self, caller: Option<&'a CallContext>) -> Call<'a> {
        Call { caller: caller.unwrap_or(self.caller), ..self }
    }
}

impl Deref for Call<'_> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context
    }
}
