//! Requests of `emend serve`, read ahead of the calls, so that a line which cancels a call is seen while the call runs.
//! Calls that wait for a person come back here with the answer.

use crate::io_error;
use crate::waiting_calls::{WaitResult, WaitingCall};
use emendate::core::formats::malformed;
use emendate::core::{Code, Error, Result};
use emendate::{CallHandle, INPUT_BYTES_MAX};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read as _};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Bytes of the id of a request, as JSON: the reply repeats it.
const ID_BYTES_MAX: usize = 1024;
/// Bytes of a request line, which is the JSON of a call.
const LINE_BYTES_MAX: usize = INPUT_BYTES_MAX;
/// Bytes of waiting requests, without the running one, from which on no further line is read.
const AHEAD_BYTES_MAX: usize = 4 << 20;
/// Approximate bytes of memory that a request takes in addition to its line.
const REQUEST_BYTES: usize = 512;

/// A request line.
pub(crate) struct NdjsonRequest {
    /// Value that the reply repeats; null where it is absent or cannot be read.
    pub(crate) id: Value,
    /// The call, or the reason why the line is not a request.
    pub(crate) call: Result<NdjsonCall>,
    /// Handle by which a later line cancels the call.
    pub(crate) handle: CallHandle,
}

/// A tool and its input.
pub(crate) struct NdjsonCall {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// The reply may come later than those to further requests, if the call needs a person.
    pub(crate) waits: bool,
}

/// A message to the receiving end.
enum Incoming {
    Request(io::Result<NdjsonRequest>),
    Answered(Box<WaitingCall>, WaitResult),
    End,
}

/// Result of waiting or polling for the next request.
pub(crate) enum Next {
    Request(NdjsonRequest),
    /// A call that waited, with the end of its wait.
    Answered(Box<WaitingCall>, WaitResult),
    /// None has been read yet.
    Idle,
    /// The input has ended, and no call waits.
    End,
}

fn unread(error: &io::Error) -> Error {
    io_error("standard input", error)
}

/// The receiving end of the requests. Each must be reported as [answered](Requests::answered), in order.
pub(crate) struct Requests {
    lines: Receiver<Incoming>,
    inbox: Sender<Incoming>,
    unanswered: Arc<RequestQueue>,
    has_ended: Cell<bool>,
    /// The number of calls that wait for a person.
    waiting_count: Cell<usize>,
}

impl Requests {
    /// Starts to read on a thread of its own.
    ///
    /// Errors: when no thread can be started.
    pub(crate) fn read(input: impl io::Read + Send + 'static) -> Result<Requests> {
        let (sender, lines) = channel();
        let unanswered = Arc::new(RequestQueue::default());
        let shared = Arc::clone(&unanswered);
        let inbox = sender.clone();
        let thread = thread::Builder::new().name("emend-requests".to_owned());
        thread.spawn(move || forward_all(input, &sender, &shared)).map_err(|error| unread(&error))?;
        Ok(Requests { lines, inbox, unanswered, has_ended: Cell::new(false), waiting_count: Cell::new(0) })
    }

    /// Returns the next request that has been read; [`Next::Idle`] where none has.
    ///
    /// Errors: input that cannot be read.
    pub(crate) fn poll(&self) -> Result<Next> {
        loop {
            if self.is_over() {
                return Ok(Next::End);
            }
            match self.lines.try_recv() {
                Ok(incoming) => {
                    if let Some(next) = self.taken(incoming)? {
                        return Ok(next);
                    }
                }
                Err(TryRecvError::Empty) => return Ok(Next::Idle),
                Err(TryRecvError::Disconnected) => return Ok(Next::End),
            }
        }
    }

    /// Waits for the next request.
    ///
    /// Errors: input that cannot be read.
    pub(crate) fn wait(&self) -> Result<Next> {
        while !self.is_over() {
            let Ok(incoming) = self.lines.recv() else { break };
            if let Some(next) = self.taken(incoming)? {
                return Ok(next);
            }
        }
        Ok(Next::End)
    }

    /// True when no request and no answer of a person can come any more.
    fn is_over(&self) -> bool {
        self.has_ended.get() && self.waiting_count.get() == 0
    }

    /// Processes a message; `None` for the end of the input.
    ///
    /// Errors: input that cannot be read.
    fn taken(&self, incoming: Incoming) -> Result<Option<Next>> {
        match incoming {
            Incoming::Request(request) => request.map(|it| Some(Next::Request(it))).map_err(|error| unread(&error)),
            Incoming::Answered(call, end) => {
                self.waiting_count.set(self.waiting_count.get() - 1);
                self.unanswered.remove_waiting(&call);
                Ok(Some(Next::Answered(call, end)))
            }
            Incoming::End => {
                self.has_ended.set(true);
                Ok(None)
            }
        }
    }

    /// Lets a call wait for a person; it comes back as [`Next::Answered`]. A line can cancel it.
    ///
    /// Errors: when no thread can be started; the question stays then.
    pub(crate) fn start_waiting(&self, call: WaitingCall) -> Result<()> {
        self.unanswered.add_waiting(&call);
        self.waiting_count.set(self.waiting_count.get() + 1);
        let inbox = self.inbox.clone();
        let thread = thread::Builder::new().name("emend-question".to_owned()).spawn(move || {
            if let Some(end) = call.wait() {
                // Without a receiver the process is ending.
                let _ = inbox.send(Incoming::Answered(Box::new(call), end));
            }
        });
        thread.map(drop).map_err(|error| io_error("the thread of a question", &error))
    }

    /// Forgets the oldest request: a later line cannot cancel it any more.
    pub(crate) fn answered(&self) {
        self.unanswered.pop();
    }
}

/// Requests that have been read and not answered, the oldest first.
#[derive(Default)]
struct RequestQueue {
    queue: Mutex<Queue>,
    shorter: Condvar,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Entry>,
    /// Calls that wait for a person.
    waiting: Vec<(Value, CallHandle)>,
    /// Bytes of all of them.
    bytes: usize,
}

impl Queue {
    /// Bytes of all but the oldest, which runs: however large it is, a line that cancels it has to be seen.
    fn waiting_bytes(&self) -> usize {
        self.bytes - self.requests.front().map_or(0, |oldest| oldest.bytes)
    }
}

struct Entry {
    id: Value,
    handle: CallHandle,
    bytes: usize,
}

impl RequestQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another line may be read.
    fn wait_for_room(&self) {
        drop(
            self.shorter
                .wait_while(self.lock(), |queue| queue.waiting_bytes() >= AHEAD_BYTES_MAX)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn push(&self, request: &NdjsonRequest, bytes: usize) {
        let mut queue = self.lock();
        queue.bytes += bytes;
        queue.requests.push_back(Entry { id: request.id.clone(), handle: request.handle.clone(), bytes });
    }

    fn pop(&self) {
        let mut queue = self.lock();
        queue.bytes -= queue.requests.pop_front().map_or(0, |oldest| oldest.bytes);
        self.shorter.notify_one();
    }

    fn add_waiting(&self, call: &WaitingCall) {
        self.lock().waiting.push((call.id.clone(), call.handle.clone()));
    }

    fn remove_waiting(&self, call: &WaitingCall) {
        let mut queue = self.lock();
        if let Some(at) = queue.waiting.iter().position(|(id, _)| *id == call.id) {
            queue.waiting.swap_remove(at);
        }
    }

    /// Stops all calls of this id.
    fn cancel(&self, id: &Value) {
        let queue = self.lock();
        queue.requests.iter().filter(|entry| entry.id == *id).for_each(|entry| entry.handle.stop());
        queue.waiting.iter().filter(|(waiting_id, _)| waiting_id == id).for_each(|(_, handle)| handle.stop());
    }
}

/// Reads lines until the input ends or nobody receives them.
fn read_all(input: &mut impl BufRead, requests: &Sender<Incoming>, unanswered: &RequestQueue) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        unanswered.wait_for_room();
        let Some(fits) = read_line(input, &mut line)? else { return Ok(()) };
        if fits && line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let request = match if fits { parsed(&line) } else { Line::Request(too_long()) } {
            Line::Request(request) => request,
            Line::Cancel(id) => {
                unanswered.cancel(&id);
                continue;
            }
        };
        unanswered.push(&request, line.len() + REQUEST_BYTES);
        if requests.send(Incoming::Request(Ok(request))).is_err() {
            return Ok(());
        }
    }
}

/// Sends all requests of the input, and then that it has ended.
fn forward_all(input: impl io::Read, requests: &Sender<Incoming>, unanswered: &RequestQueue) {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let end = match read_all(&mut input, requests, unanswered) {
        Ok(()) => Incoming::End,
        Err(error) => Incoming::Request(Err(error)),
    };
    // Without a receiver the process is ending.
    let _ = requests.send(end);
}

/// Reads one line into `line`, without its end; false when it was too long and has been skipped. `None` at the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    // One very large request must not keep its memory for good.
    line.shrink_to(1 << 20);
    line.clear();
    let read = input.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > LINE_BYTES_MAX {
        skip_line(input)?;
    }
    Ok(Some(line.len() <= LINE_BYTES_MAX))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (len, end) = (buffer.len(), buffer.iter().position(|&byte| byte == b'\n'));
        input.consume(end.map_or(len, |at| at + 1));
        if len == 0 || end.is_some() {
            return Ok(());
        }
    }
}

/// Meaning of a line.
enum Line {
    Request(NdjsonRequest),
    /// Cancels the calls of this id.
    Cancel(Value),
}

fn request(id: Value, call: Result<NdjsonCall>) -> NdjsonRequest {
    NdjsonRequest { id, call, handle: CallHandle::default() }
}

fn too_long() -> NdjsonRequest {
    let error = Error::new(Code::CallTooLarge, format!("The line has more than {LINE_BYTES_MAX} bytes."));
    request(Value::Null, Err(error.next("Send smaller edits in several calls.")))
}

fn invalid(id: Value, message: &str) -> Line {
    let error = Error::new(Code::CallInvalid, message)
        .next(r#"Send {"id": 1, "tool": "read", "input": {"file_path": "/a"}} on one line."#);
    Line::Request(request(id, Err(error)))
}

/// Takes a line apart: id, tool and input, or the id of a call to cancel. A failure keeps the id where it could be read.
fn parsed(line: &[u8]) -> Line {
    let mut fields = match serde_json::from_slice(line) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return invalid(Value::Null, "A request is a JSON object."),
        Err(error) => return Line::Request(request(Value::Null, Err(malformed(&error)))),
    };
    let id = fields.shift_remove("id").unwrap_or(Value::Null);
    if id.to_string().len() > ID_BYTES_MAX {
        return invalid(Value::Null, &format!("The id has more than {ID_BYTES_MAX} bytes."));
    }
    if id.is_f64() {
        // The reply would have another number.
        return invalid(Value::Null, "A number as id is a whole one of 64 bits; a text may be anything.");
    }
    if let Some(cancelled) = fields.shift_remove("cancel") {
        return if id.is_null() && fields.is_empty() && !cancelled.is_null() {
            Line::Cancel(cancelled)
        } else {
            let error = Error::new(Code::CallInvalid, "A line that cancels a call has the call's id and nothing else.");
            Line::Request(request(id, Err(error.next(r#"Send {"cancel": 1} to cancel the call with the id 1."#))))
        };
    }
    let tool = match fields.shift_remove("tool") {
        Some(Value::String(name)) => name,
        Some(_) => return invalid(id, "The field `tool` must be a string."),
        None => return invalid(id, "The request names no `tool`."),
    };
    let input = fields.shift_remove("input").unwrap_or_else(|| Value::Object(Map::new()));
    let waits = match fields.shift_remove("wait") {
        None => false,
        Some(Value::Bool(waits)) => waits,
        Some(_) => return invalid(id, "The field `wait` must be true or false."),
    };
    match fields.keys().next() {
        Some(unknown) => invalid(id, &format!("A request has no field `{unknown}`.")),
        None => Line::Request(request(id, Ok(NdjsonCall { tool, input, waits }))),
    }
}

#[cfg(test)]
mod tests {
    use super::{AHEAD_BYTES_MAX, Line, NdjsonRequest, Next, REQUEST_BYTES, Requests, parsed};
    use serde_json::{Value, json};
    use std::io::{Cursor, Read, Result};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn all(text: impl Into<Vec<u8>>) -> Vec<NdjsonRequest> {
        let requests = Requests::read(Cursor::new(text.into())).unwrap();
        // The end of the input is awaited before the first answer, so that all lines are seen.
        std::iter::from_fn(|| next(&requests)).collect()
    }

    fn next(requests: &Requests) -> Option<NdjsonRequest> {
        match requests.wait().unwrap() {
            Next::Request(request) => Some(request),
            Next::Answered(..) | Next::Idle | Next::End => None,
        }
    }

    #[test]
    fn cancel_line_cancels_earlier_calls_with_its_id() {
        let lines = [
            json!({ "id": 1, "tool": "read" }),
            json!({ "id": "1", "tool": "read" }),
            json!({ "id": 2, "tool": "read" }),
            json!({ "id": 1, "tool": "list" }),
            json!({ "cancel": 1 }),
            json!({ "cancel": 9 }),
            json!({ "id": 1, "tool": "search" }),
        ];
        let read = all(lines.map(|line| line.to_string()).join("\n"));
        let stopped: Vec<(&Value, bool)> = read.iter().map(|it| (&it.id, it.handle.is_stopped())).collect();
        let one = json!(1);
        let want = [(&one, true), (&json!("1"), false), (&json!(2), false), (&one, true), (&one, false)];
        assert_eq!(stopped, want);
    }

    #[test]
    fn answered_call_is_not_cancelled() {
        let requests =
            Requests::read(Cursor::new("{\"id\":1,\"tool\":\"read\"}\n{\"id\":1,\"tool\":\"read\"}\n")).unwrap();
        let (first, second) = (next(&requests).unwrap(), next(&requests).unwrap());
        requests.answered();
        requests.unanswered.cancel(&json!(1));
        assert_eq!((first.handle.is_stopped(), second.handle.is_stopped()), (false, true));
    }

    #[test]
    fn wait_is_a_flag() {
        let call = |line: &[u8]| match parsed(line) {
            Line::Request(request) => request.call.map(|call| call.waits).map_err(|error| error.to_string()),
            Line::Cancel(_) => panic!("no request"),
        };
        assert_eq!(call(br#"{"id": 1, "tool": "read", "wait": true}"#), Ok(true));
        assert_eq!(call(br#"{"id": 1, "tool": "read"}"#), Ok(false));
        assert!(call(br#"{"id": 1, "tool": "read", "wait": "yes"}"#).is_err_and(|it| it.contains("true or false")));
    }

    #[test]
    fn id_that_the_reply_could_not_repeat_is_refused() {
        for (line, is_kept) in [
            (r#"{"id": 18446744073709551615, "tool": "read"}"#, true),
            (r#"{"id": -9223372036854775808, "tool": "read"}"#, true),
            (r#"{"id": 18446744073709551616, "tool": "read"}"#, false),
            (r#"{"id": 1e2, "tool": "read"}"#, false),
        ] {
            let Line::Request(request) = parsed(line.as_bytes()) else { panic!("{line}") };
            assert_eq!((request.call.is_ok(), !request.id.is_null()), (is_kept, is_kept), "{line}");
        }
    }

    #[test]
    fn cancel_line_has_no_other_fields() {
        for line in [json!({ "cancel": null }), json!({ "cancel": 1, "tool": "read" }), json!({ "cancel": 1, "id": 2 })]
        {
            let Line::Request(request) = parsed(line.to_string().as_bytes()) else { panic!("{line}") };
            assert!(request.call.is_err_and(|error| error.to_string().contains("nothing else")), "{line}");
            assert_eq!(request.id, line.get("id").cloned().unwrap_or_default());
        }
        assert!(matches!(parsed(br#"{"cancel": "a"}"#), Line::Cancel(Value::String(_))));
    }

    /// Endless requests, counted in bytes.
    struct Endless(Arc<AtomicUsize>);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            let line = b"{\"id\":1,\"tool\":\"read\"}\n";
            let len = into.len() / line.len() * line.len();
            into[..len].chunks_exact_mut(line.len()).for_each(|part| part.copy_from_slice(line));
            self.0.fetch_add(len, Ordering::Relaxed);
            Ok(len)
        }
    }

    #[test]
    fn read_ahead_is_bounded() {
        let count = Arc::new(AtomicUsize::new(0));
        let requests = Requests::read(Endless(Arc::clone(&count))).unwrap();
        // The requests that may wait, and the one that runs.
        let ahead = AHEAD_BYTES_MAX.div_ceil(REQUEST_BYTES + 22) + 1;
        for _ in 0..ahead {
            assert!(next(&requests).is_some());
        }
        // Without an answer there is no further line.
        assert!(matches!(requests.poll(), Ok(Next::Idle)));
        requests.answered();
        assert!(next(&requests).is_some());
        assert!(count.load(Ordering::Relaxed) < AHEAD_BYTES_MAX);
    }

    #[test]
    fn large_request_can_be_cancelled() {
        let large = json!({ "id": 1, "tool": "read", "input": "x".repeat(2 * AHEAD_BYTES_MAX) });
        let lines = format!("{large}\n{}\n", json!({ "cancel": 1 }));
        let requests = Requests::read(Cursor::new(lines)).unwrap();
        let request = next(&requests).unwrap();
        let stopped = |_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            request.handle.is_stopped()
        };
        assert!((0..3_000).any(stopped));
    }
}
