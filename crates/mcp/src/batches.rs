//! Batches of messages, which only one revision of the protocol has: the answers to a batch are sent together.

use rmcp::model::{ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult};
use std::collections::HashSet;

/// A line of output.
pub(crate) enum OutputLine {
    Message(Box<ServerJsonRpcMessage>),
    Batch(Vec<ServerJsonRpcMessage>),
}

impl OutputLine {
    /// Returns the line as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            OutputLine::Message(message) => serde_json::to_vec(message),
            OutputLine::Batch(answers) => serde_json::to_vec(answers),
        }
    }
}

/// The batches whose answers are not complete.
#[derive(Default)]
pub(crate) struct Batches {
    /// The negotiated revision of the protocol has batches.
    allowed: bool,
    open: Vec<Batch>,
}

/// A batch of the client.
#[derive(Default)]
pub(crate) struct Batch {
    /// Ids of the requests without an answer.
    pub(crate) waiting: HashSet<RequestId>,
    pub(crate) answers: Vec<ServerJsonRpcMessage>,
}

impl Batches {
    /// True if the client may send batches.
    pub(crate) fn are_allowed(&self) -> bool {
        self.allowed
    }

    /// Adds a batch; returns its answers if no request waits for one. Notifications alone have no answer.
    pub(crate) fn add(&mut self, batch: Batch) -> Option<OutputLine> {
        self.open.push(batch);
        self.complete()
    }

    /// Takes a message to the client; returns what is to be written now. An answer to a request of a batch waits for
    /// the others.
    pub(crate) fn collect(&mut self, message: ServerJsonRpcMessage) -> Option<OutputLine> {
        let id = match &message {
            ServerJsonRpcMessage::Response(answer) => {
                if let ServerResult::InitializeResult(result) = &answer.result {
                    self.allowed = result.protocol_version == ProtocolVersion::V_2025_03_26;
                }
                Some(&answer.id)
            }
            ServerJsonRpcMessage::Error(answer) => answer.id.as_ref(),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        let batch = id.and_then(|id| Some((self.open.iter_mut().find(|batch| batch.waiting.contains(id))?, id)));
        let Some((batch, id)) = batch else { return Some(OutputLine::Message(Box::new(message))) };
        batch.waiting.remove(id);
        batch.answers.push(message);
        self.complete()
    }

    /// Waits no longer for the answer to a cancelled request; returns the answers of its batch if they are complete.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<OutputLine> {
        self.open.iter_mut().for_each(|batch| _ = batch.waiting.remove(id));
        self.complete()
    }

    /// Removes the batch whose answers are complete, and returns them.
    fn complete(&mut self) -> Option<OutputLine> {
        let nth = self.open.iter().position(|batch| batch.waiting.is_empty())?;
        let answers = self.open.swap_remove(nth).answers;
        (!answers.is_empty()).then_some(OutputLine::Batch(answers))
    }
}
