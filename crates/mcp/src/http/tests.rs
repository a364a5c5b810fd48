//! The HTTP server, tested with raw bytes over real sockets, as no well-behaved client sends them.
#![allow(clippy::disallowed_methods, reason = "tests play the outside world")]

use super::{BearerToken, HttpLimits, HttpListener, listen};
use crate::ServerOptions;
use crate::server::McpServer;
use emendate::{CallContext, Config, Engine, StateLocation, profile};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

const SECRET: &str = "a-token-for-the-tests";
/// A timeout that must not expire.
const NEVER: Duration = Duration::from_secs(3600);
/// A timeout that must expire.
const SOON: Duration = Duration::from_millis(20);

struct ServerFixture {
    root: TempDir,
    port: u16,
    stop: mpsc::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

fn patient() -> HttpLimits {
    HttpLimits { head: NEVER, body: NEVER, write_timeout: NEVER, ..HttpLimits::default() }
}

impl ServerFixture {
    fn new(limits: HttpLimits) -> ServerFixture {
        ServerFixture::with(limits, Config::default())
    }

    fn with(limits: HttpLimits, config: Config) -> ServerFixture {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a.txt"), "one\ntwo\n").unwrap();
        let engine = Engine::open(&[root.path().to_owned()], StateLocation::Memory, config).unwrap();
        let options = ServerOptions { profile: profile("full").unwrap(), structured: false, session: None };
        let origins = ["https://app.example".to_owned()];
        let (listener, made) = HttpListener::open("0", Some(BearerToken::new(SECRET).unwrap()), &[], &origins).unwrap();
        assert!(made.is_none());
        let port = listener.bound.address.port();
        let (stop, stopped) = mpsc::channel(2);
        let server =
            tokio::spawn(listen(McpServer::new(engine, CallContext::default(), options), listener, limits, stopped));
        ServerFixture { root, port, stop, server }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Sends bytes and returns everything that is answered until the server closes.
    async fn talk(&self, said: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The server may have closed before everything was sent.
        let _ = stream.write_all(said).await;
        heard(&mut stream).await
    }

    fn head(&self, more: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {SECRET}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n{more}",
            self.port
        )
    }

    /// Sends a request of the newer era; `swap` changes its text before it is sent.
    async fn ask(&self, method: &str, params: Value, swap: (&str, &str)) -> String {
        self.talk(self.modern(method, params).replace(swap.0, swap.1).as_bytes()).await
    }

    fn modern(&self, method: &str, mut params: Value) -> String {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let more = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n",
            body.len()
        );
        self.head(&more) + &body
    }

    async fn call(&self, session: &str, name: &str, arguments: Value) -> String {
        let params = json!({ "name": name, "arguments": arguments });
        self.ask("tools/call", params, ("/mcp", &format!("/mcp{session}"))).await
    }

    /// Returns a request of the older era; `session` is the line with its id, or empty.
    fn older(&self, session: &str, message: &Value) -> String {
        let message = message.to_string();
        self.head(&format!("{session}Content-Length: {}\r\n\r\n{message}", message.len()))
    }

    /// Begins a session of the older era and returns the lines that name it.
    async fn session(&self) -> String {
        let client = json!({ "name": "t", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let welcome = self.talk(self.older("", &hello).as_bytes()).await;
        let id = welcome.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        let session = format!("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-11-25\r\n", id.trim());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.talk(self.older(&session, &ready).as_bytes()).await;
        session
    }

    /// Checks that a well-behaved client is served.
    async fn serves(&self) {
        let answer = self.ask("tools/list", json!({}), ("", "")).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("edit_anchors"), "{answer}");
    }

    fn path(&self, name: &str) -> String {
        self.root.path().canonicalize().unwrap().join(name).display().to_string()
    }

    async fn end(self) {
        self.serves().await;
        self.stop.send(()).await.unwrap();
        self.server.await.unwrap().unwrap();
    }
}

async fn heard(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// Returns the JSON of an answer's body.
fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn requests_without_the_token_are_refused() {
    let fixture = ServerFixture::new(patient());
    let write = json!({ "name": "write", "arguments": { "file_path": fixture.path("made.txt"), "content": "x" } });
    let said = format!("Authorization: Bearer {SECRET}\r\n");
    let twice = format!("{said}{said}");
    for instead in
        ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic YTpi\r\n", "Authorization:\r\n", &twice]
    {
        let answer = fixture.ask("tools/call", write.clone(), (&said, instead)).await;
        assert_eq!(status(&answer), "401", "{instead}: {answer}");
        assert!(answer.to_ascii_lowercase().contains("www-authenticate: bearer"), "{answer}");
    }
    assert!(!fixture.root.path().join("made.txt").exists());
    let answer = fixture.ask("tools/call", write, ("", "")).await;
    assert_eq!((status(&answer), fixture.root.path().join("made.txt").exists()), ("200", true), "{answer}");
    fixture.end().await;
}

#[tokio::test]
async fn requests_from_other_sites_are_refused() {
    let fixture = ServerFixture::new(patient());
    let list = |swap: (String, String)| {
        let fixture = &fixture;
        async move { status(&fixture.ask("tools/list", json!({}), (&swap.0, &swap.1)).await).to_owned() }
    };
    let host = format!("Host: 127.0.0.1:{}\r\n", fixture.port);
    let with = |line: &str| (host.clone(), line.to_owned());
    for wrong in
        ["Host: evil.example\r\n", "", "Host: \r\n", "Host: localhost\r\nHost: evil.example\r\n", "Host: 192.0.2.1\r\n"]
    {
        assert!(["403", "400"].contains(&&*list(with(wrong)).await), "{wrong}");
    }
    for origin in ["https://evil.example", "null", "http://localhost", "", "https://app.example.evil"] {
        assert_eq!(list(with(&format!("{host}Origin: {origin}\r\n"))).await, "403", "{origin}");
    }
    let both = format!("{host}Origin: https://app.example\r\nOrigin: https://evil.example\r\n");
    assert_eq!(list(with(&both)).await, "403");
    assert_eq!(list(("POST /mcp".into(), "POST http://evil.example/mcp".into())).await, "403");
    assert_eq!(list(with(&format!("{host}Origin: https://app.example\r\n"))).await, "200");
    assert_eq!(list(with("Host: localhost\r\n")).await, "200");
    fixture.end().await;
}

#[tokio::test]
async fn server_has_one_endpoint_with_sessions_below_it() {
    let fixture = ServerFixture::new(patient());
    for (path, expected) in [("/", "404"), ("/mcp2", "404"), ("/mcp/a/b", "404"), ("/mcp/%2e", "404"), ("/mcp/", "200")]
    {
        assert_eq!(status(&fixture.ask("tools/list", json!({}), ("/mcp", path)).await), expected, "{path}");
    }
    let edit = json!({ "file_path": fixture.path("a.txt"), "old_string": "one", "new_string": "1" });
    let read = json!({ "file_path": fixture.path("a.txt") });
    assert!(fixture.call("/ann", "read", read.clone()).await.contains("two"));
    // Reads of one session do not count for another; requests without a session have a third one.
    for other in ["/ben", ""] {
        assert!(fixture.call(other, "edit", edit.clone()).await.contains("read.required"), "{other}");
    }
    assert!(!fixture.call("/ann", "edit", edit).await.contains("read.required"));
    assert_eq!(std::fs::read_to_string(fixture.root.path().join("a.txt")).unwrap(), "1\ntwo\n");
    fixture.end().await;
}

#[tokio::test]
async fn body_size_is_limited_in_any_encoding() {
    let fixture = ServerFixture::new(HttpLimits { bytes: 10_000, ..patient() });
    let said = fixture.talk(fixture.head("Content-Length: 10001\r\n\r\n").as_bytes()).await;
    assert_eq!(status(&said), "413", "the body was not sent: {said}");
    let mut chunked = fixture.head("Transfer-Encoding: chunked\r\n\r\n");
    chunked.push_str(&format!("3e8\r\n{}\r\n", "x".repeat(1000)).repeat(11));
    assert_eq!(status(&fixture.talk(chunked.as_bytes()).await), "413");
    let large = "x".repeat(11_000);
    assert_eq!(status(&fixture.call("", "read", json!({ "file_path": large })).await), "413");
    let packed = fixture.talk(fixture.head("Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}").as_bytes()).await;
    assert_eq!(status(&packed), "415", "{packed}");
    let plain =
        fixture.talk(fixture.head("Content-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}").as_bytes()).await;
    assert_ne!(status(&plain), "415", "{plain}");
    fixture.end().await;
}

#[tokio::test]
async fn slow_clients_are_disconnected() {
    let fixture = ServerFixture::new(HttpLimits { head: SOON, ..patient() });
    // The server closes: otherwise nothing here would ever end.
    assert_eq!(fixture.talk(b"").await, "");
    assert!(["", "408"].contains(&status(&fixture.talk(b"POST /mcp HTTP/1.1\r\nHost: loc").await)));
    // On a machine that pauses for a moment, even a well-behaved client may be too slow.
    while status(&fixture.ask("tools/list", json!({}), ("", "")).await) != "200" {}
    fixture.stop.send(()).await.unwrap();
    fixture.server.await.unwrap().unwrap();
    let fixture = ServerFixture::new(HttpLimits { body: SOON, ..patient() });
    let begun = fixture.head("Content-Length: 100\r\n\r\n{\"jsonrpc\"");
    assert_eq!(status(&fixture.talk(begun.as_bytes()).await), "408");
    fixture.end().await;
}

#[tokio::test]
async fn slow_unauthenticated_clients_do_not_block_others() {
    let fixture = ServerFixture::new(HttpLimits { unauthenticated_connections: 3, ..patient() });
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = fixture.connect().await;
        stream.write_all(b"POST /mcp HTTP/1.1\r\nX: ").await.unwrap();
        slow.push(stream);
    }
    fixture.serves().await;
    for mut stream in slow.drain(..40) {
        assert_eq!(heard(&mut stream).await, "", "the oldest connection is closed");
    }
    drop(slow);
    fixture.end().await;
}

#[tokio::test]
async fn client_that_reads_no_answers_is_disconnected() {
    let fixture = ServerFixture::new(HttpLimits { connections: 1, write_timeout: SOON, ..patient() });
    std::fs::write(fixture.root.path().join("a.txt"), "a line of some length, so that answers are long\n".repeat(1500))
        .unwrap();
    let read = json!({ "name": "read", "arguments": { "file_path": fixture.path("a.txt") } });
    let request = fixture.modern("tools/call", read).replace("Connection: close\r\n", "");
    // More answers than all buffers can hold, and the client does not read them.
    let (mut deaf, mut mouth) = fixture.connect().await.into_split();
    let talking = tokio::spawn(async move { while mouth.write_all(request.as_bytes()).await.is_ok() {} });
    deaf.read_exact(&mut [0]).await.unwrap();
    while status(&fixture.ask("tools/list", json!({}), ("", "")).await) == "503" {}
    talking.await.unwrap();
    drop(deaf);
    fixture.end().await;
}

#[tokio::test]
async fn connections_are_limited_and_released() {
    let fixture = ServerFixture::new(HttpLimits { connections: 1, sessions: 1, ..patient() });
    let mut first = fixture.connect().await;
    let keeping = fixture.modern("tools/list", json!({})).replace("Connection: close\r\n", "");
    first.write_all(keeping.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    first.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    assert_eq!(status(&fixture.ask("tools/list", json!({}), ("", "")).await), "503");
    drop(first);
    while status(&fixture.ask("tools/list", json!({}), ("", "")).await) == "503" {}
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
    let hello = fixture.head(&format!("Content-Length: {}\r\n\r\n{hello}", hello.len()));
    let welcome = fixture.talk(hello.as_bytes()).await;
    let id = welcome.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
    assert_eq!(status(&fixture.talk(hello.as_bytes()).await), "503");
    let gone = fixture.head(&format!("Mcp-Session-Id: {id}\r\n\r\n")).replace("POST", "DELETE");
    assert_eq!(status(&fixture.talk(gone.as_bytes()).await), "204");
    assert_eq!(status(&fixture.talk(hello.as_bytes()).await), "200");
    fixture.end().await;
}

#[tokio::test]
async fn batch_is_answered_at_once_where_the_revision_has_batches() {
    let fixture = ServerFixture::new(patient());
    let session = fixture.session().await;
    let id = session.lines().next().unwrap().to_owned() + "\r\n";
    let read = json!({ "name": "read", "arguments": { "file_path": fixture.path("a.txt") } });
    let read = json!({ "jsonrpc": "2.0", "id": 51, "method": "tools/call", "params": read });
    let hello = json!({ "jsonrpc": "2.0", "id": 54, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let ping = json!({ "jsonrpc": "2.0", "id": 52, "method": "ping" });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let batch = json!([read, 5, ready, ping, hello, []]);
    let answer = fixture.talk(fixture.older(&id, &batch).as_bytes()).await;
    let answers = body(&answer);
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!((status(&answer), ids), ("200", vec![&json!(51), &Value::Null, &json!(52), &json!(54), &Value::Null]));
    assert!(answers[0]["result"]["content"][0]["text"].as_str().unwrap().contains("two"), "{answers}");
    // Notifications alone have no answer.
    assert_eq!(status(&fixture.talk(fixture.older(&id, &json!([ready])).as_bytes()).await), "202");
    let many = Value::Array(vec![ping.clone(); crate::message::BATCH_MESSAGES_MAX + 1]);
    let gone = "Mcp-Session-Id: gone\r\n";
    for (head, batch, part) in [
        (&*session, json!([ping]), "Only sessions of revision 2025-03-26"),
        ("", json!([ping]), "Only sessions of revision 2025-03-26"),
        (&id, json!([]), "is empty"),
        (&id, many, "more than 50 messages"),
    ] {
        let refused = fixture.talk(fixture.older(head, &batch).as_bytes()).await;
        assert_eq!(status(&refused), "400", "{refused}");
        assert!(body(&refused)["error"]["message"].as_str().unwrap().contains(part), "{refused}");
    }
    assert_eq!(status(&fixture.talk(fixture.older(gone, &json!([ping])).as_bytes()).await), "404");
    fixture.end().await;
}

#[tokio::test]
async fn duplicate_id_in_a_session_is_refused() {
    let fixture = ServerFixture::new(patient());
    std::fs::write(fixture.root.path().join("large.txt"), "a line without it\n".repeat(2_000_000)).unwrap();
    let post = |session: &str, message: Value| fixture.older(session, &message);
    let sessions = [fixture.session().await, fixture.session().await];
    let arguments = json!({ "path": fixture.path("large.txt"), "pattern": "(with|by) (all|none) of (it|them)$" });
    let long = json!({ "name": "search", "arguments": arguments });
    let long = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": long });
    let list = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    let mut stream = fixture.connect().await;
    stream.write_all(post(&sessions[0], long).as_bytes()).await.unwrap();
    // Until the server has read the first one, the second one is the first.
    let refused = async {
        loop {
            let answer = fixture.talk(post(&sessions[0], list.clone()).as_bytes()).await;
            if answer.contains("is still running") {
                return answer;
            }
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(60), refused).await.unwrap();
    assert_eq!((status(&refused), &body(&refused)["id"]), ("400", &json!(7)));
    // Another session has ids of its own.
    assert_eq!(status(&fixture.talk(post(&sessions[1], list.clone()).as_bytes()).await), "200");
    assert_eq!(status(&heard(&mut stream).await), "200");
    assert_eq!(status(&fixture.talk(post(&sessions[0], list).as_bytes()).await), "200");
    fixture.end().await;
}

#[tokio::test]
async fn a_closed_connection_stops_its_call_in_both_eras() {
    let formatter = "[[formatters]]\nfiles = '*.txt'\ncommand = ['sh', '-c', 'touch begun; sleep 3600']\n";
    let fixture = ServerFixture::with(patient(), Config::default().with_file(formatter, "test", true).unwrap());
    let session = fixture.session().await;
    let root = fixture.root.path().to_owned();
    for name in ["older.txt", "newer.txt"] {
        let arguments = json!({ "file_path": fixture.path(name), "content": "x\n" });
        let params = json!({ "name": "write", "arguments": arguments });
        let request = match name {
            "newer.txt" => fixture.modern("tools/call", params),
            _ => {
                fixture.older(&session, &json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }))
            }
        };
        let mut stream = fixture.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        while std::fs::remove_file(root.join("begun")).is_err() {
            tokio::time::sleep(SOON).await;
        }
        drop(stream);
    }
    let ServerFixture { root: kept, stop, server, .. } = fixture;
    // The server ends once all of its calls have ended.
    stop.send(()).await.unwrap();
    server.await.unwrap().unwrap();
    assert!(!root.join("older.txt").exists() && !root.join("newer.txt").exists());
    drop(kept);
}

#[tokio::test]
async fn invalid_http_ends_only_its_connection() {
    let fixture = ServerFixture::new(patient());
    let endless = format!("GET /{} HTTP/1.1\r\n", "x".repeat(200_000));
    let many = fixture.head(&"X: y\r\n".repeat(1000)) + "\r\n";
    let big = fixture.head(&format!("X: {}\r\n\r\n", "y".repeat(200_000)));
    let smuggled = fixture.head("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    let lengths = fixture.head("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!");
    let garbage: [&[u8]; 9] = [
        b"\r\n\r\n\0\xff\xfe garbage \r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        endless.as_bytes(),
        many.as_bytes(),
        big.as_bytes(),
        smuggled.as_bytes(),
        lengths.as_bytes(),
    ];
    for bytes in garbage {
        let mut stream = fixture.connect().await;
        let _ = stream.write_all(bytes).await;
        // Half of the connection is closed: no more data will come.
        let _ = stream.shutdown().await;
        let answer = heard(&mut stream).await;
        assert!(
            matches!(status(&answer), "" | "400" | "404" | "414" | "431"),
            "{}: {answer}",
            String::from_utf8_lossy(&bytes[..9])
        );
    }
    fixture.end().await;
}

#[tokio::test]
async fn invalid_message_is_refused_with_its_id() {
    let fixture = ServerFixture::new(patient());
    let told = async |text: &str| {
        let answer =
            fixture.talk((fixture.head(&format!("Content-Length: {}\r\n\r\n", text.len())) + text).as_bytes()).await;
        assert_eq!(status(&answer), "400", "{answer}");
        let error = body(&answer);
        (error["error"]["code"].as_i64().unwrap(), error["id"].clone())
    };
    assert_eq!(told("garbage").await, (-32700, Value::Null));
    assert_eq!(told("").await, (-32600, Value::Null));
    assert_eq!(told("[]").await, (-32600, Value::Null));
    assert_eq!(told(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"t":"\ud800"}}"#).await, (-32700, json!(7)));
    assert_eq!(told(r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":1}}"#).await, (-32602, json!(8)));
    let deep = "[".repeat(9000);
    assert_eq!(told(&deep).await.0, -32700);
    fixture.end().await;
}

#[tokio::test]
async fn unsuitable_methods_and_headers_are_refused() {
    let fixture = ServerFixture::new(patient());
    let empty = |method: &str, more: &str| fixture.head(&format!("{more}\r\n")).replace("POST", method);
    for (method, more, expected) in [
        ("PUT", "", "405"),
        ("OPTIONS", "", "405"),
        ("GET", "MCP-Protocol-Version: 2026-07-28\r\n", "405"),
        ("GET", "", "400"),
        ("GET", "Mcp-Session-Id: no-such-session\r\n", "404"),
        ("DELETE", "", "400"),
    ] {
        let answer = fixture.talk(empty(method, more).as_bytes()).await;
        assert_eq!(status(&answer), expected, "{method} {more}: {answer}");
    }
    for (swap, expected) in [
        (("application/json, text/event-stream", "text/html"), "406"),
        (("Content-Type: application/json", "Content-Type: text/plain"), "415"),
        (("MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2025-11-25"), "400"),
        (("Mcp-Method: tools/list", "Mcp-Method: tools/call"), "400"),
    ] {
        assert_eq!(status(&fixture.ask("tools/list", json!({}), swap).await), expected, "{swap:?}");
    }
    fixture.end().await;
}
