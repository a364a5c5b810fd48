//! A call in progress.

use crate::context::Context;
use crate::context::syntax::Grammars;
use crate::model::call_context::CallContext;
use crate::model::reply_limits::ReplyLimits;
use std::ops::Deref;

/// A call in progress: the state that it works on, and who makes it. Nearly every stage needs both. Whatever
/// needs only the [`Context`] takes `&call`.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) context: &'a Context,
    pub(crate) caller: &'a CallContext,
}

impl<'a> Call<'a> {
    pub(crate) fn new(context: &'a Context, caller: &'a CallContext) -> Call<'a> {
        Call { context, caller }
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
