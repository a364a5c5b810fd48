//! A running server: its process, a thread for each of its streams, and its state.

use crate::diagnostic::{DIAGNOSTICS_MAX, single_line};
use crate::document::{OpenDocuments, PublishedDiagnostics};
use crate::frame;
use crate::message::{self, METHOD_NOT_FOUND, Message, ResponseError, ServerCapabilities};
use crate::servers::{DiagnosticsFailure, UnknownReason};
use crate::spec::ServerSpec;
use emendate_core::Result;
use emendate_run::Process;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum bytes queued for a server. One that does not read is given up.
const UNREAD_BYTES_MAX: usize = 64 << 20;
/// Bytes kept of the end of its standard error.
const STDERR_TAIL_BYTES: usize = 2 << 10;
/// Number of unreadable messages after which a server is given up.
const UNREADABLE_MESSAGES_MAX: usize = 100;
/// Maximum number of its progress tokens.
const PROGRESS_TOKENS_MAX: usize = 1000;
/// Polling interval for conditions that depend on time alone.
const TIME_POLL: Duration = Duration::from_millis(10);
/// Time that a server may take to exit after it closed its output.
const EXIT_WAIT: Duration = Duration::from_millis(200);
/// Time to wait for the end of its standard error, which a child process may keep open.
const STDERR_WAIT: Duration = Duration::from_secs(1);

/// Stage of a server's life.
pub(crate) enum ServerStage {
    /// The server has not answered `initialize` yet.
    Starting,
    Ready,
    /// The server ended, for this reason.
    Gone(String),
}

/// Answer to a request.
pub(crate) struct ServerAnswer {
    pub(crate) answer: Result<Value, ResponseError>,
    /// The server had loaded everything when the answer arrived. Recorded then, because its next message may report
    /// that loading has only just finished.
    pub(crate) loaded: bool,
}

/// State of a server.
pub(crate) struct ServerState {
    pub(crate) stage: ServerStage,
    pub(crate) abilities: ServerCapabilities,
    pub(crate) documents: OpenDocuments,
    /// Requests, with the answers that arrived.
    answers: HashMap<i64, Option<ServerAnswer>>,
    last_question: i64,
    /// The active progress tokens of the server.
    pub(crate) working: HashSet<String>,
    /// True if the server reported that everything is loaded, false if it reported the opposite; `None` if it reported
    /// nothing.
    quiescent: Option<bool>,
    /// The time of the last report that everything is loaded.
    pub(crate) loaded: Option<Instant>,
    unreadable: usize,
    /// Since when it owes an answer without having sent anything at all.
    silent: Option<Instant>,
}

impl ServerState {
    /// Processes a notification.
    fn handle_notification(&mut self, method: &str, mut params: Value) {
        match method {
            "textDocument/publishDiagnostics" => {
                let version = params["version"].as_i64();
                let Value::Array(mut items) = params["diagnostics"].take() else { return };
                // One more than are read shows that there are too many.
                items.truncate(DIAGNOSTICS_MAX + 1);
                let path = params["uri"].as_str().and_then(message::path);
                if let Some(document) = path.and_then(|path| self.documents.open.get_mut(&path)) {
                    document.published = Some(PublishedDiagnostics { version, items, when: Instant::now() });
                }
            }
            "$/progress" => {
                let token = params["token"].to_string();
                match params["value"]["kind"].as_str() {
                    Some("begin") if self.working.len() < PROGRESS_TOKENS_MAX => drop(self.working.insert(token)),
                    Some("end") => drop(self.working.remove(&token)),
                    _ => {}
                }
            }
            "experimental/serverStatus" => {
                let Some(quiescent) = params["quiescent"].as_bool() else { return };
                if quiescent && self.quiescent != Some(true) {
                    self.loaded = Some(Instant::now());
                }
                self.quiescent = Some(quiescent);
            }
            _ => {}
        }
    }

    /// True if it has loaded everything, as far as it reports that.
    pub(crate) fn has_loaded(&self, spec: &ServerSpec) -> bool {
        self.quiescent.unwrap_or(!spec.says_when_ready)
    }

    /// Returns the text of a version, if that is the last one shown.
    pub(crate) fn text_of(&self, path: &Path, version: i64) -> Result<Arc<str>, DiagnosticsFailure> {
        let document = self.documents.open.get(path).filter(|document| document.version == version);
        let text = document.map(|document| Arc::clone(&document.text));
        text.ok_or_else(|| {
            DiagnosticsFailure::new(UnknownReason::Version, "the file was changed again meanwhile".to_owned())
        })
    }
}

/// A running server.
pub(crate) struct RunningServer {
    pub(crate) spec: Arc<ServerSpec>,
    root: PathBuf,
    pub(crate) born: Instant,
    state: Mutex<ServerState>,
    changed: Condvar,
    /// `None` once the server should see the end of its input.
    outbox: Mutex<Option<Sender<Vec<u8>>>>,
    unread: AtomicUsize,
    process: Mutex<Process>,
    last_words: Mutex<StderrTail>,
    fell_silent: Condvar,
}

/// The end of a server's standard error.
#[derive(Default)]
struct StderrTail {
    bytes: Vec<u8>,
    /// The stream has ended.
    all: bool,
}

impl RunningServer {
    /// Starts a server for the project in that directory. It is not ready when this returns.
    ///
    /// Errors: `io.failed` if the program cannot be started.
    pub(crate) fn start(spec: &Arc<ServerSpec>, root: &Path) -> Result<Arc<RunningServer>> {
        let mut process = Process::start(&spec.argv, root)?;
        let (stdin, stdout, stderr) = process.streams();
        let (sender, receiver) = channel();
        let state = ServerState {
            stage: ServerStage::Starting,
            abilities: ServerCapabilities::default(),
            documents: OpenDocuments::default(),
            answers: HashMap::new(),
            last_question: 0,
            working: HashSet::new(),
            quiescent: None,
            loaded: None,
            unreadable: 0,
            silent: None,
        };
        let live = Arc::new(RunningServer {
            spec: Arc::clone(spec),
            root: root.to_owned(),
            born: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            outbox: Mutex::new(Some(sender)),
            unread: AtomicUsize::new(0),
            process: Mutex::new(process),
            last_words: Mutex::default(),
            fell_silent: Condvar::new(),
        });
        // If no thread can be started, the server seems silent, which is handled like any silence.
        let speaker = Arc::clone(&live);
        drop(thread::Builder::new().spawn(move || speaker.write_messages(stdin, &receiver)));
        let complaints = Arc::clone(&live);
        drop(thread::Builder::new().spawn(move || complaints.read_stderr(stderr)));
        let listener = Arc::clone(&live);
        drop(thread::Builder::new().spawn(move || listener.read_messages(stdout)));
        let greeting = message::initialize(spec, root);
        live.ask(&mut live.state(), "initialize", &greeting);
        Ok(live)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` returns something, at most until `until`; `late` is the reason reported then.
    pub(crate) fn wait<T>(
        &self,
        until: Instant,
        late: UnknownReason,
        mut look: impl FnMut(&mut ServerState) -> Option<T>,
    ) -> Result<T, DiagnosticsFailure> {
        let mut state = self.state();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            if let ServerStage::Gone(why) = &state.stage {
                return Err(DiagnosticsFailure::new(UnknownReason::Crashed, why.clone()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DiagnosticsFailure::of(late));
            }
            let woken = self.changed.wait_timeout(state, left.min(TIME_POLL));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the server accepts texts.
    pub(crate) fn ready(&self, until: Instant) -> Result<(), DiagnosticsFailure> {
        self.wait(until, UnknownReason::Starting, |state| matches!(state.stage, ServerStage::Ready).then_some(()))
    }

    /// Sends a request and returns its number.
    pub(crate) fn ask(&self, state: &mut ServerState, method: &str, params: &Value) -> i64 {
        state.last_question += 1;
        let id = state.last_question;
        state.answers.insert(id, None);
        state.silent.get_or_insert_with(Instant::now);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the answer to a request. A later one is ignored.
    pub(crate) fn answer(&self, id: i64, until: Instant) -> Result<ServerAnswer, DiagnosticsFailure> {
        let answer =
            self.wait(until, UnknownReason::Timeout, |state| state.answers.get_mut(&id).and_then(Option::take));
        self.state().answers.remove(&id);
        if answer.as_ref().is_err_and(|unknown| unknown.reason == UnknownReason::Timeout) {
            self.notify("$/cancelRequest", &json!({ "id": id }));
        }
        answer
    }

    /// Sends a notification. If the order matters, the caller holds the state lock.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&self, message: &Value) {
        let bytes = frame::framed(message);
        let length = bytes.len();
        if self.unread.fetch_add(length, Ordering::Relaxed) + length > UNREAD_BYTES_MAX {
            // The server does not read; the next caller finds it silent and ends it.
            return;
        }
        if let Some(outbox) = &*self.outbox.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = outbox.send(bytes);
        }
    }

    fn write_messages(&self, stdin: Option<ChildStdin>, messages: &Receiver<Vec<u8>>) {
        let Some(mut stdin) = stdin else { return };
        for message in messages {
            // The end of its output will report a server that closed its input.
            if stdin.write_all(&message).and_then(|()| stdin.flush()).is_err() {
                return;
            }
            self.unread.fetch_sub(message.len(), Ordering::Relaxed);
        }
    }

    fn read_stderr(&self, stderr: Option<ChildStderr>) {
        let Some(mut stderr) = stderr else { return };
        let mut buffer = [0; 1 << 10];
        while let Ok(read @ 1..) = stderr.read(&mut buffer) {
            let words = &mut self.last_words().bytes;
            words.extend_from_slice(buffer.get(..read).unwrap_or_default());
            let surplus = words.len().saturating_sub(STDERR_TAIL_BYTES);
            words.drain(..surplus);
        }
        self.last_words().all = true;
        self.fell_silent.notify_all();
    }

    fn last_words(&self) -> MutexGuard<'_, StderrTail> {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_messages(&self, stdout: Option<ChildStdout>) {
        let Some(stdout) = stdout else { return };
        let mut pipe = BufReader::with_capacity(16 << 10, stdout);
        let why = loop {
            match frame::read(&mut pipe) {
                Ok(Some(body)) => {
                    if !self.handle_message(&body) {
                        break Some("wrote too much that is not a message".to_owned());
                    }
                }
                Ok(None) => break None,
                Err(why) => break Some(why),
            }
        };
        self.shut_down(why);
    }

    /// Ends the server; `why` follows "it", and `None` means that it ended by itself.
    pub(crate) fn shut_down(&self, why: Option<String>) {
        *self.outbox.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let patience = if why.is_some() { Duration::ZERO } else { EXIT_WAIT };
        let ended = self.process.lock().unwrap_or_else(PoisonError::into_inner).end_within(patience);
        let mut words = self.last_words();
        if why.is_none() {
            // The server wrote the reason before it ended, but that may not have been read yet.
            let silent = self.fell_silent.wait_timeout_while(words, STDERR_WAIT, |words| !words.all);
            words = silent.unwrap_or_else(PoisonError::into_inner).0;
        }
        let why = why.unwrap_or_else(|| match ended.and_then(|status| status.code()) {
            Some(code) => format!("ended with status {code}"),
            None => "was ended".to_owned(),
        });
        let words =
            String::from_utf8_lossy(&words.bytes).lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
        let words = words.map_or(String::new(), |words| format!(": {}", single_line(&words, 200)));
        let mut state = self.state();
        if !matches!(state.stage, ServerStage::Gone(_)) {
            state.stage = ServerStage::Gone(format!("it {why}{words}"));
        }
        self.changed.notify_all();
    }

    /// Time since when it owes an answer without having sent anything.
    pub(crate) fn silence(&self) -> Duration {
        self.state().silent.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Processes a message; false if too many were unreadable.
    fn handle_message(&self, body: &[u8]) -> bool {
        let mut state = self.state();
        match serde_json::from_slice::<Message>(body) {
            Ok(Message { method: Some(method), params, id, .. }) if id.is_null() => {
                state.handle_notification(&method, params);
            }
            Ok(Message { method: Some(method), params, id, .. }) => self.answer_request(&id, &method, &params),
            Ok(Message { id, result, error, .. }) => self.handle_answer(&mut state, &id, error.map_or(Ok(result), Err)),
            Err(_) => state.unreadable += 1,
        }
        state.silent = state.answers.values().any(Option::is_none).then(Instant::now);
        self.changed.notify_all();
        state.unreadable < UNREADABLE_MESSAGES_MAX
    }

    fn handle_answer(&self, state: &mut ServerState, id: &Value, answer: Result<Value, ResponseError>) {
        let Some(id) = id.as_i64() else { return };
        // The first request is `initialize`.
        if id == 1 && matches!(state.stage, ServerStage::Starting) {
            if let Ok(result) = &answer {
                state.abilities = ServerCapabilities::of(result);
                state.stage = ServerStage::Ready;
                self.notify("initialized", &json!({}));
                if self.spec.settings.is_object() {
                    self.notify("workspace/didChangeConfiguration", &json!({ "settings": self.spec.settings }));
                }
            }
            state.answers.remove(&id);
            if let Err(fault) = answer {
                let why = format!("it refuses to work: {}", single_line(&fault.message, 200));
                state.stage = ServerStage::Gone(why);
            }
        } else {
            let loaded = state.has_loaded(&self.spec);
            if let Some(slot) = state.answers.get_mut(&id) {
                *slot = Some(ServerAnswer { answer, loaded });
            }
        }
    }

    /// Answers a request of the server: provides information, performs nothing.
    fn answer_request(&self, id: &Value, method: &str, params: &Value) {
        let result = match method {
            "workspace/configuration" => message::configuration(&self.spec.settings, params),
            "workspace/workspaceFolders" => message::workspace_folders(&self.root),
            "workspace/applyEdit" => json!({ "applied": false, "failureReason": "emend edits files itself" }),
            "window/showDocument" => json!({ "success": false }),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Value::Null,
            other => {
                let error = json!({ "code": METHOD_NOT_FOUND, "message": format!("emend does not know {other}") });
                return self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
        };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Sends the shutdown request if the server is ready, and returns its number.
    pub(crate) fn ask_to_stop(&self) -> Option<i64> {
        let mut state = self.state();
        matches!(state.stage, ServerStage::Ready).then(|| self.ask(&mut state, "shutdown", &Value::Null))
    }

    /// Ends the server, politely as long as there is time.
    pub(crate) fn stop(&self, asked: Option<i64>, until: Instant) {
        let agreed = asked.is_some_and(|id| self.answer(id, until).is_ok());
        if agreed {
            self.notify("exit", &Value::Null);
        }
        *self.outbox.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let left = if agreed { until.saturating_duration_since(Instant::now()) } else { Duration::ZERO };
        self.process.lock().unwrap_or_else(PoisonError::into_inner).end_within(left);
        self.shut_down(Some("was stopped".to_owned()));
    }
}
