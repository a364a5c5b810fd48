//! Calls that wait for a person whom the client cannot ask: the question is stored, and answered in any process.

#[cfg(feature = "http")]
use crate::http::disconnected;
use crate::progress::report_question;
#[cfg(not(feature = "http"))]
use crate::server::disconnected;
use emendate::history::Deadline;
use emendate::{Approval, AskingCall, CallContext, Engine, Reply, WaitEnd, WaitingQuestion};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Interval between two reports that a call waits.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// Age of a question from which the client is informed that its call waits.
const FIRST_REPORT_AFTER: Duration = Duration::from_secs(1);
/// Interval at which the waiting thread checks whether anybody still needs it.
const THREAD_POLL: Duration = Duration::from_secs(1);
/// Bytes of the stack of that thread.
const THREAD_STACK_BYTES: usize = 256 << 10;

/// The questions of one request, one after another.
pub(crate) struct PersonQuestion {
    profile: &'static str,
    /// The client cannot ask a person, so the call may wait for another way.
    may_wait: bool,
    until: Option<Deadline>,
    waiting: Option<WaitingQuestion>,
    reported: Arc<AtomicUsize>,
    client_gone: Arc<AtomicBool>,
}

/// The end of the wait of a request.
enum RequestEnd {
    /// A person answered, or their time is over.
    Person(WaitEnd),
    /// Nothing waits for the request any more.
    Cancelled,
    /// Nobody reads the answers of this process any more.
    ClientGone,
}

impl PersonQuestion {
    /// Creates the state of a request without a question. `may_wait` is true if the client cannot ask a person itself.
    pub(crate) fn new(engine: &Engine, profile: &'static str, may_wait: bool) -> PersonQuestion {
        let client_gone = engine.client_gone_flag();
        PersonQuestion { profile, may_wait, until: None, waiting: None, reported: Arc::default(), client_gone }
    }

    /// The progress that was reported so far.
    pub(crate) fn reported(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.reported)
    }

    /// Stores the question of a reply, and reports what became of the one before. Blocks for the time of a write.
    pub(crate) fn next(
        mut self,
        engine: &Engine,
        caller: &CallContext,
        tool: &str,
        input: &Value,
        reply: &Reply,
    ) -> PersonQuestion {
        let call = AskingCall { profile: Some(self.profile), tool, input };
        let next = if self.may_wait { engine.questions().store(caller, call, reply, self.until) } else { None };
        if let Some(answered) = self.waiting.take() {
            answered.finish(reply, next.as_ref());
        }
        // All questions of a call share its time limit.
        self.until = self.until.or_else(|| next.as_ref().map(WaitingQuestion::until));
        self.waiting = next;
        self
    }

    /// Withdraws the question of a call that was cancelled.
    pub(crate) fn withdraw(&self) {
        if let Some(question) = &self.waiting {
            question.withdraw();
        }
    }

    /// Waits for the answer. Returns the reply of the call if there is no question, or no answer to it.
    pub(crate) async fn wait(&self, reply: Reply, context: &RequestContext<RoleServer>) -> Result<Approval, Reply> {
        let Some(question) = &self.waiting else { return Err(reply) };
        let mut reply = reply;
        match self.wait_for_answer(question, context).await {
            RequestEnd::Person(WaitEnd::Answered(approval)) => return Ok(approval),
            RequestEnd::Person(_) => reply.result = reply.result.map_err(|error| question.time_over(error)),
            RequestEnd::Cancelled => {}
            // The question stays: the process that answers it carries it out.
            RequestEnd::ClientGone => return Err(reply),
        }
        question.withdraw();
        Err(reply)
    }

    async fn wait_for_answer(&self, question: &WaitingQuestion, context: &RequestContext<RoleServer>) -> RequestEnd {
        let (send, receive) = oneshot::channel();
        let (waiting, gone) = (question.clone(), Arc::clone(&self.client_gone));
        // A thread of its own: those of calls are few.
        let thread = thread::Builder::new().name("emend-question".to_owned()).stack_size(THREAD_STACK_BYTES);
        if thread.spawn(move || forward_answer(&waiting, &gone, send)).is_err() {
            return RequestEnd::Cancelled;
        }
        let mut receive = std::pin::pin!(receive);
        let mut pause = FIRST_REPORT_AFTER;
        loop {
            tokio::select! {
                biased;
                end = &mut receive => return end.map_or(RequestEnd::ClientGone, RequestEnd::Person),
                () = context.ct.cancelled() => return RequestEnd::Cancelled,
                () = disconnected(context) => return RequestEnd::Cancelled,
                () = tokio::time::sleep(pause) => {
                    pause = REPORT_INTERVAL;
                    report_question(context, question.id(), &self.reported).await;
                }
            }
        }
    }
}

/// Sends the end of a question, unless the client is gone first or nobody receives it any more.
fn forward_answer(question: &WaitingQuestion, client_gone: &AtomicBool, send: oneshot::Sender<WaitEnd>) {
    while !send.is_closed() && !client_gone.load(Ordering::Relaxed) {
        match question.wait(THREAD_POLL) {
            Ok(WaitEnd::StillWaiting) => {}
            end => {
                let _ = send.send(end.unwrap_or(WaitEnd::TimeOver));
                return;
            }
        }
    }
}
