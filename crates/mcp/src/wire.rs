//! The transport: one message per line, in both directions. Invalid lines are answered here and never reach the
//! service.

use crate::batches::{Batch, Batches, OutputLine};
use crate::id_scan::IdScan;
use crate::message::{self, BATCH_MESSAGES_MAX, InputLine};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Notify};
use tokio::time::sleep;

/// The capacity of a Linux pipe.
const PIPE_BYTES: usize = 64 << 10;
/// Bytes of a buffer that is kept after a line; a larger one is freed.
const KEPT_BUFFER_BYTES_MAX: usize = 1 << 20;
/// Pause before input that is not ready is read again. Usually the system waits for input.
const UNREADY_PAUSE: Duration = Duration::from_millis(10);

type PendingWrite = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A transport of lines.
pub(crate) struct Wire<R, W> {
    input: BufReader<R>,
    output: Arc<Mutex<W>>,
    /// The line so far.
    line: Vec<u8>,
    limit: usize,
    /// Set while the rest of a line that is too long is skipped.
    skipping: Option<IdScan>,
    /// The pending writes of answers that the service does not give. They are stored here and not in `receive`, which
    /// may be dropped at any await point: half an answer would corrupt the output.
    answers: VecDeque<PendingWrite>,
    /// Messages of a batch that the service has not received yet.
    batched: VecDeque<ClientJsonRpcMessage>,
    exchange: Arc<Exchange>,
}

/// The requests without an answer so far.
#[derive(Default)]
struct Exchange {
    open: std::sync::Mutex<OpenRequests>,
    /// Notified after each message to the client.
    sent: Notify,
}

#[derive(Default)]
struct OpenRequests {
    /// Ids of the client's requests in progress.
    of_client: HashSet<RequestId>,
    /// Ids of the server's questions to the client.
    of_server: HashSet<RequestId>,
    batches: Batches,
}

impl Exchange {
    fn open(&self) -> MutexGuard<'_, OpenRequests> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a message from the client; false if it is a request with the id of another one in progress. A
    /// cancelled request has no answer, so its id is free again.
    fn receives(&self, message: &ClientJsonRpcMessage) -> bool {
        let mut open = self.open();
        match message {
            ClientJsonRpcMessage::Request(request) => return open.of_client.insert(request.id.clone()),
            ClientJsonRpcMessage::Notification(it) => {
                if let ClientNotification::CancelledNotification(cancelled) = &it.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    open.of_client.remove(id);
                }
            }
            ClientJsonRpcMessage::Response(answer) => _ = open.of_server.remove(&answer.id),
            ClientJsonRpcMessage::Error(answer) => _ = answer.id.as_ref().map(|id| open.of_server.remove(id)),
        }
        true
    }

    /// Registers a message to the client; returns what is to be written now.
    fn sends(&self, message: ServerJsonRpcMessage) -> Option<OutputLine> {
        let mut open = self.open();
        match &message {
            ServerJsonRpcMessage::Request(question) => _ = open.of_server.insert(question.id.clone()),
            ServerJsonRpcMessage::Response(answer) => _ = open.of_client.remove(&answer.id),
            ServerJsonRpcMessage::Error(answer) => _ = answer.id.as_ref().map(|id| open.of_client.remove(id)),
            ServerJsonRpcMessage::Notification(_) => {}
        }
        let line = open.batches.collect(message);
        drop(open);
        self.sent.notify_one();
        line
    }

    /// Waits until all requests of the client are answered, after the end of its input. Questions to the client get
    /// errors as their answers. Cancel-safe.
    async fn finish(&self) -> Option<ClientJsonRpcMessage> {
        loop {
            {
                let mut open = self.open();
                let question = open.of_server.iter().next().cloned();
                if let Some(id) = question {
                    open.of_server.remove(&id);
                    let error = ErrorData::internal_error("The client closed its side; nobody answers.", None);
                    return Some(ClientJsonRpcMessage::error(error, Some(id)));
                }
                if open.of_client.is_empty() {
                    return None;
                }
            }
            self.sent.notified().await;
        }
    }
}

/// Writes a line, if there is one.
async fn write<W: AsyncWrite + Unpin>(output: Arc<Mutex<W>>, item: Option<OutputLine>) -> io::Result<()> {
    let Some(item) = item else { return Ok(()) };
    let mut line = item.to_json()?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// The next input.
enum NextLine {
    Line,
    TooLong(Option<RequestId>),
    End,
}

impl<R, W> Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport for lines of up to `limit` bytes.
    pub(crate) fn new(input: R, output: W, limit: usize) -> Wire<R, W> {
        Wire {
            input: BufReader::with_capacity(PIPE_BYTES, input),
            output: Arc::new(Mutex::new(output)),
            line: Vec::new(),
            limit,
            skipping: None,
            answers: VecDeque::new(),
            batched: VecDeque::new(),
            exchange: Arc::default(),
        }
    }

    /// Reads until there is a line. Cancel-safe: the bytes read so far are in `self`.
    async fn next(&mut self) -> NextLine {
        loop {
            let piece = match self.input.fill_buf().await {
                Ok(piece) => piece,
                // Another process that has the same stream, such as a wrapper in Node, made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    sleep(UNREADY_PAUSE).await;
                    continue;
                }
                Err(_) => return NextLine::End,
            };
            if piece.is_empty() {
                // The last line counts even without a line end.
                return if self.line.is_empty() { NextLine::End } else { NextLine::Line };
            }
            let end = piece.iter().position(|&byte| byte == b'\n');
            let taken = end.unwrap_or(piece.len());
            let text = &piece[..taken];
            if let Some(scan) = &mut self.skipping {
                scan.feed(text);
            } else if self.line.len() + taken > self.limit {
                let mut scan = IdScan::default();
                scan.feed(&self.line);
                scan.feed(text);
                self.skipping = Some(scan);
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(text);
            }
            self.input.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                return self.skipping.take().map_or(NextLine::Line, |scan| NextLine::TooLong(scan.id()));
            }
        }
    }

    /// Clears the line, but keeps its buffer if it is small.
    fn forget(&mut self) {
        if self.line.capacity() > KEPT_BUFFER_BYTES_MAX {
            self.line = Vec::new();
        } else {
            self.line.clear();
        }
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.write_answer(Some(OutputLine::Message(Box::new(ServerJsonRpcMessage::error(error, id)))));
    }

    fn write_answer(&mut self, line: Option<OutputLine>) {
        self.answers.push_back(Box::pin(write(Arc::clone(&self.output), line)));
    }

    /// Registers a message; returns it for the service unless it is refused here.
    fn accept(&mut self, message: ClientJsonRpcMessage) -> Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>> {
        if let ClientJsonRpcMessage::Notification(it) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &it.notification
            && let Some(id) = &cancelled.params.request_id
        {
            let line = self.exchange.open().batches.cancel(id);
            self.write_answer(line);
        }
        if self.exchange.receives(&message) {
            return Ok(message);
        }
        let id = if let ClientJsonRpcMessage::Request(it) = message { Some(it.id) } else { None };
        let message = "A request with this id is still running; give every request a different id.";
        Err(Box::new(ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), id)))
    }

    /// Takes a batch apart: its messages go to the service one by one, and their answers to the client together.
    fn unpack(&mut self, lines: Vec<InputLine>) {
        if !self.exchange.open().batches.are_allowed() {
            let message = "Only revision 2025-03-26 of the protocol has batches; send one message per line.";
            return self.refuse(ErrorData::invalid_request(message, None), None);
        }
        if lines.is_empty() {
            return self.refuse(ErrorData::invalid_request("This batch is empty.", None), None);
        }
        if lines.len() > BATCH_MESSAGES_MAX {
            return self.refuse(ErrorData::invalid_request(message::too_many_messages(), None), None);
        }
        let mut batch = Batch::default();
        for line in lines {
            match line {
                InputLine::Message(message) => match self.accept(*message) {
                    Ok(message) => {
                        if let ClientJsonRpcMessage::Request(request) = &message {
                            batch.waiting.insert(request.id.clone());
                        }
                        self.batched.push_back(message);
                    }
                    Err(refusal) => batch.answers.push(*refusal),
                },
                InputLine::Fault(error, id) => batch.answers.push(ServerJsonRpcMessage::error(error, id)),
                InputLine::Batch(_) | InputLine::Nothing => {}
            }
        }
        let line = self.exchange.open().batches.add(batch);
        self.write_answer(line);
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = self.exchange.sends(item);
        write(Arc::clone(&self.output), line)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            while let Some(answer) = self.answers.front_mut() {
                // A client that does not read is no reason to stop: the end of its input is.
                let _ = answer.await;
                self.answers.pop_front();
            }
            if let Some(message) = self.batched.pop_front() {
                return Some(message);
            }
            match self.next().await {
                // The end of the input is no reason to lose answers.
                NextLine::End => return self.exchange.finish().await,
                NextLine::TooLong(id) => {
                    let message = format!("The message has more than {} bytes; send smaller ones.", self.limit);
                    self.refuse(ErrorData::invalid_request(message, None), id);
                }
                NextLine::Line => {
                    let line = message::read(&self.line);
                    self.forget();
                    match line {
                        InputLine::Message(message) => match self.accept(*message) {
                            Ok(message) => return Some(message),
                            Err(refusal) => self.write_answer(Some(OutputLine::Message(refusal))),
                        },
                        InputLine::Batch(lines) => self.unpack(lines),
                        InputLine::Fault(error, id) => self.refuse(error, id),
                        InputLine::Nothing => {}
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}
