//! Calls of `emend serve` that wait for a person, while further requests are answered.

use emendate::core::{Code, Error};
use emendate::{Approval, AskingCall, CallContext, CallHandle, Engine, Reply, SeedCodes, WaitEnd, WaitingQuestion};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval of the checks whether the call was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(100);

/// A call that waits.
pub(crate) struct WaitingCall {
    /// Value that the reply repeats.
    pub(crate) id: Value,
    tool: String,
    input: Value,
    /// Handle by which a line cancels the call.
    pub(crate) handle: CallHandle,
    /// The reply with the question.
    reply: Reply,
    question: WaitingQuestion,
    client_gone: Arc<AtomicBool>,
}

/// The end of the wait of a call.
pub(crate) enum WaitResult {
    /// A person answered.
    Answered(Approval),
    /// Nobody answered in time.
    TimeOver,
    /// A line cancelled the call.
    Cancelled,
}

/// A reply, or the call that waits for it.
pub(crate) enum Outcome {
    Reply(Value, Reply),
    Waiting(WaitingCall),
}

/// Makes a call that may wait; if it needs a person, it comes back as one that waits.
pub(crate) fn call(engine: &Engine, caller: &CallContext, id: Value, tool: String, input: Value) -> Outcome {
    let reply = engine.call(caller, &tool, input.clone());
    let call = AskingCall { profile: None, tool: &tool, input: &input };
    match (engine.questions().store(caller, call, &reply, None), &caller.handle) {
        (Some(question), Some(handle)) => {
            let (handle, client_gone) = (handle.clone(), engine.client_gone_flag());
            Outcome::Waiting(WaitingCall { id, tool, input, handle, reply, question, client_gone })
        }
        _ => Outcome::Reply(id, reply),
    }
}

impl WaitingCall {
    /// The id of its question.
    pub(crate) fn question(&self) -> &str {
        self.question.id()
    }

    /// Waits for the end; `None` if nobody reads the replies any more: then the question stays, and the process that
    /// answers it carries it out.
    pub(crate) fn wait(&self) -> Option<WaitResult> {
        while !self.client_gone.load(Ordering::Relaxed) {
            if self.handle.is_stopped() {
                return Some(WaitResult::Cancelled);
            }
            match self.question.wait(CANCEL_POLL) {
                Ok(WaitEnd::StillWaiting) => {}
                Ok(WaitEnd::Answered(approval)) => return Some(WaitResult::Answered(approval)),
                // Without the state directory there is no answer.
                _ => return Some(WaitResult::TimeOver),
            }
        }
        None
    }

    /// Continues the call after its wait. The answered call may need a person again.
    pub(crate) fn resume(self, engine: &Engine, caller: &CallContext, end: WaitResult) -> Outcome {
        let WaitingCall { id, tool, input, handle, mut reply, question, client_gone } = self;
        let approval = match end {
            WaitResult::Answered(approval) => approval,
            WaitResult::TimeOver => {
                question.withdraw();
                reply.result = reply.result.map_err(|error| question.time_over(error));
                return Outcome::Reply(id, reply);
            }
            WaitResult::Cancelled => {
                question.withdraw();
                let error = Error::new(Code::CallCancelled, "The call was cancelled while it waited for a person.");
                return Outcome::Reply(id, Reply::refusal(error, SeedCodes::None));
            }
        };
        let caller = CallContext { approval: Some(approval), handle: Some(handle.clone()), ..caller.clone() };
        let reply = engine.call(&caller, &tool, input.clone());
        let call = AskingCall { profile: None, tool: &tool, input: &input };
        let next = engine.questions().store(&caller, call, &reply, Some(question.until()));
        question.finish(&reply, next.as_ref());
        match next {
            Some(question) => Outcome::Waiting(WaitingCall { id, tool, input, handle, reply, question, client_gone }),
            None => Outcome::Reply(id, reply),
        }
    }
}
