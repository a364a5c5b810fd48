//! Passes messages between the client here and the server there, and answers the calls that a lost connection leaves open.

use super::place::RemotePlace;
use emendate::core::{Code, Error, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Code of JSON-RPC for an error of the server itself.
const SERVER_ERROR: i32 = -32_000;

/// Maximum number of unanswered requests that are remembered. If a client has more, the others get no answer when the
/// connection is lost.
const OPEN_REQUESTS_MAX: usize = 10_000;

/// The part of a message that the relay reads.
#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<IgnoredAny>,
}

/// Requests of the client that have no answer yet.
type UnansweredRequests = Arc<Mutex<Vec<Value>>>;

/// Runs the server, and passes messages until it ends; returns the exit status.
///
/// Errors: the server cannot be started, or it ended before the client did.
pub(super) fn run(place: &RemotePlace, mut server: Command) -> Result<u8> {
    let child = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| crate::io_error(&place.to_string(), &error))?;
    let open = UnansweredRequests::default();
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { return Ok(0) };
    let requests = Arc::clone(&open);
    let ended = Arc::new(AtomicBool::new(false));
    let client_ended = Arc::clone(&ended);
    // Not joined: it waits for the client, which may outlive the connection.
    drop(thread::Builder::new().name("emend-relay".to_owned()).spawn(move || {
        // A failed write means that the server is gone, which the other direction reports.
        let _ = pass_requests(io::stdin().lock(), &mut input, &requests);
        client_ended.store(true, Ordering::SeqCst);
        // Now the server ends, too.
        drop(input);
    }));
    let passed = pass_answers(output, io::stdout().lock(), &open);
    if passed.is_err() {
        // The client is gone.
        let _ = child.kill();
    }
    finish(place, &mut child, &open, ended.load(Ordering::SeqCst))
}

/// Answers what is open, and reports a connection that ended before the client did.
fn finish(place: &RemotePlace, child: &mut Child, open: &UnansweredRequests, client_ended: bool) -> Result<u8> {
    let status = child.wait().map_err(|error| crate::io_error(&place.to_string(), &error))?;
    let lost = std::mem::take(&mut *open.lock().unwrap_or_else(PoisonError::into_inner));
    if client_ended && status.success() {
        return Ok(0);
    }
    let what = format!("The connection to {place} ended ({status}).");
    let mut out = io::stdout().lock();
    for id in lost {
        let message = format!(
            "{what} Whether this call was carried out is unknown; no file is half written. Connect again, and read the file \
             before the next edit."
        );
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": SERVER_ERROR, "message": message } });
        let written =
            serde_json::to_writer(&mut out, &answer).map_err(io::Error::from).and_then(|()| out.write_all(b"\n"));
        if written.and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    Err(Error::new(Code::IoFailed, what).next("Start the server again."))
}

/// Passes lines of the client, and remembers the requests among them. The last one needs no line end.
fn pass_requests(from: impl BufRead, mut to: impl Write, open: &UnansweredRequests) -> io::Result<()> {
    lines(from, |line| {
        if let Ok(Envelope { id: Some(id), method: Some(_) }) = serde_json::from_slice(line) {
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() < OPEN_REQUESTS_MAX {
                open.push(id);
            }
        }
        to.write_all(line)?;
        to.flush()
    })
}

/// Passes lines of the server, and forgets the requests that they answer. A last line without an end was cut off, and is
/// dropped.
fn pass_answers(from: impl Read, mut to: impl Write, open: &UnansweredRequests) -> io::Result<()> {
    lines(BufReader::with_capacity(64 << 10, from), |line| {
        if !line.ends_with(b"\n") {
            return Ok(());
        }
        to.write_all(line)?;
        to.flush()?;
        if let Ok(Envelope { id: Some(id), method: None }) = serde_json::from_slice(line) {
            open.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != id);
        }
        Ok(())
    })
}

/// Calls `each` with every line, including its end if it has one.
fn lines(mut from: impl BufRead, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        each(&line)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{UnansweredRequests, pass_answers, pass_requests};

    #[test]
    fn requests_without_an_answer_are_known() {
        let open = UnansweredRequests::default();
        let mut passed = Vec::new();
        let sent = "{\"id\":1,\"method\":\"a\"}\n{\"id\":\"x\",\"method\":\"b\"}\n{\"method\":\"note\"}\nno json\n{\"id\":9,\"method\":\"c\"}";
        pass_requests(sent.as_bytes(), &mut passed, &open).unwrap();
        assert_eq!(passed, sent.as_bytes(), "the last request needs no line end");
        let answers = "{\"id\":1,\"result\":{}}\n{\"id\":\"x\",\"method\":\"ask\"}\n{\"id\":7,\"result\":1}\n";
        let mut back = Vec::new();
        pass_answers(format!("{answers}{{\"id\":9,\"re").as_bytes(), &mut back, &open).unwrap();
        assert_eq!(back, answers.as_bytes(), "an answer that was cut off is dropped");
        assert_eq!(*open.lock().unwrap(), [serde_json::json!("x"), serde_json::json!(9)]);
    }
}
