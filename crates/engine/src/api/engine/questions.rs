//! Questions to a person that wait, as front ends use them.

use crate::api::engine::Engine;
use crate::api::questions::record::{AnswerOutcome, AskingCall};
use crate::api::questions::waiting::{self, WaitingQuestion};
use crate::api::questions::{self, PendingQuestion, PersonAnswer};
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::reply::Reply;
use emendate_core::Result;
use emendate_history::Deadline;

/// The questions to a person that wait: [`Engine::questions`].
#[derive(Clone, Copy)]
pub struct Questions<'a> {
    pub(super) engine: &'a Engine,
}

impl Questions<'_> {
    /// Stores the question of a reply, so that a person can answer it in any process. The question waits until `until`,
    /// or for the time of the configuration. `None` if the reply has no question, if the configuration disables
    /// waiting, or if the question cannot be stored: without a state directory, for secrets, or if too many wait.
    pub fn store(
        &self,
        caller: &CallContext,
        call: AskingCall<'_>,
        reply: &Reply,
        until: Option<Deadline>,
    ) -> Option<WaitingQuestion> {
        waiting::store_question(Call::new(&self.engine.context, caller), call, reply, until)
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
        waiting::wait_for_person(Call::new(&self.engine.context, caller), call, reply, make, asked)
    }

    /// Returns the questions that have no result yet, the oldest first.
    ///
    /// Errors: those of the state directory.
    pub fn pending(&self) -> Result<Vec<PendingQuestion>> {
        questions::pending_questions(&self.engine.context)
    }

    /// Answers a question. The first answer wins. If the process of its call waits, that carries it out; otherwise this
    /// process does, if the change is still the one that was shown.
    ///
    /// Errors: `operation.not_found`; `conflict.raced` if it has an answer already; `call.invalid` for texts of other
    /// files; those of the state directory.
    pub fn answer(&self, id: &str, answer: &PersonAnswer) -> Result<AnswerOutcome> {
        questions::answer_question(self.engine, id, answer)
    }
}
