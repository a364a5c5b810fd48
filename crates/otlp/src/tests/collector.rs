//! A small collector: takes requests over HTTP, keeps them, and answers as a test wants it to.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses its part; what fails here fails the test")]

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(120);

/// One request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// The spans, records or metrics in it.
    pub(crate) fn items(&self) -> &[Value] {
        let (outer, inner, name) = match &*self.path {
            "/v1/traces" => ("resourceSpans", "scopeSpans", "spans"),
            "/v1/metrics" => ("resourceMetrics", "scopeMetrics", "metrics"),
            _ => ("resourceLogs", "scopeLogs", "logRecords"),
        };
        self.body[outer][0][inner][0][name].as_array().unwrap()
    }

    /// A value of the attributes of an item, without the name of its kind.
    pub(crate) fn attribute<'a>(item: &'a Value, key: &str) -> &'a Value {
        let all = item["attributes"].as_array().unwrap();
        let found = all.iter().find(|it| it["key"] == key);
        found.and_then(|it| it["value"].as_object()?.values().next()).unwrap_or(&Value::Null)
    }
}

/// What is answered: the text of a response, or `None` to say nothing and to keep the connection open. An empty one closes it.
pub(crate) type Answers = fn(usize) -> Option<&'static str>;

pub(crate) const TAKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

pub(crate) struct Collector {
    pub(crate) url: String,
    requests: Receiver<Request>,
}

impl Collector {
    /// Answers the request of each number, from 0 on.
    pub(crate) fn new(answers: Answers) -> Collector {
        Collector::over(answers, |stream| stream)
    }

    /// The same behind what is put around each connection.
    pub(crate) fn over<S: Read + Write + Send + 'static>(
        answers: Answers,
        around: impl Fn(std::net::TcpStream) -> S + Send + 'static,
    ) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        thread::spawn(move || {
            let mut open = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { break };
                if let Some(held) = one(around(stream), answers(number), &sender) {
                    open.push(held);
                }
            }
        });
        Collector { url, requests }
    }

    /// The next request.
    pub(crate) fn next(&self) -> Request {
        self.requests.recv_timeout(PATIENCE).expect("a request")
    }

    /// The next three: of traces, metrics and logs.
    pub(crate) fn three(&self) -> [Request; 3] {
        [self.next(), self.next(), self.next()]
    }

    /// Requests that are there already.
    pub(crate) fn rest(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

/// Takes one request; gives the connection back where it is to stay open.
fn one<S: Read + Write>(stream: S, answer: Option<&str>, sender: &Sender<Request>) -> Option<S> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((key, value)) = line.trim_end().split_once(':') else { break };
        headers.push((key.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(key, _)| key == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    // First, so that who was answered finds it.
    let _ = sender.send(Request { path, headers, body });
    let mut stream = reader.into_inner();
    match answer {
        Some(text) => {
            let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
            None
        }
        None => Some(stream),
    }
}
