//! The server over a pair of in-memory streams, driven by raw lines, including ones that real clients never send.
#![allow(clippy::disallowed_methods, reason = "tests play the outside world")]

use crate::server::McpServer;
use crate::wire::Wire;
use crate::{DATA_KEY, ServerOptions, serve_stream};
use emendate::{CallContext, Config, Engine, StateLocation, profile};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, serve_directly};
use rmcp::transport::Transport as _;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt as _, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadBuf, ReadHalf,
    WriteHalf,
};
use tokio::task::JoinHandle;

struct Client {
    root: TempDir,
    base: PathBuf,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: Option<WriteHalf<DuplexStream>>,
    server: JoinHandle<()>,
    last: i64,
}

/// The metadata of every request in the modern era.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl Client {
    fn new(name: &str, structured: bool, limit: Option<usize>) -> Client {
        let root = tempfile::tempdir().unwrap();
        let engine = Engine::open(&[root.path().to_owned()], StateLocation::Memory, Config::default()).unwrap();
        let base = engine.roots()[0].to_owned();
        let options = ServerOptions { profile: profile(name).unwrap(), structured, session: None };
        let server = McpServer::new(engine, CallContext::default(), options);
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let server = tokio::spawn(async move {
            match limit {
                None => serve_stream(server, input, output).await.unwrap(),
                Some(limit) => {
                    let wire = Wire::new(input, output, limit);
                    serve_directly::<RoleServer, _, _, _, _>(server, wire, None).waiting().await.unwrap();
                }
            }
        });
        let (input, output) = tokio::io::split(ours);
        Client { root, base, lines: BufReader::new(input).lines(), output: Some(output), server, last: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    async fn send(&mut self, line: &[u8]) {
        let output = self.output.as_mut().unwrap();
        output.write_all(line).await.unwrap();
        output.write_all(b"\n").await.unwrap();
    }

    async fn line(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        self.send(request.to_string().as_bytes()).await;
        let answer = self.line().await;
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments, "_meta": meta() })).await;
        answer["result"].clone()
    }

    /// Ends the input; the server must end, too. Returns the remaining output lines.
    async fn end(mut self) -> Vec<Value> {
        let mut output = self.output.take().unwrap();
        output.shutdown().await.unwrap();
        drop(output);
        let mut rest = Vec::new();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        self.server.await.unwrap();
        rest
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Bytes that a model pays for with every request. In the vocabulary of GPT-4o a token of these texts has 4.34 bytes,
/// so this is 2,000 tokens (`cargo run --release -p bench -- economy` counts them).
const SENT: usize = 8680;

#[tokio::test]
async fn request_overhead_for_models_is_small() {
    for name in ["default", "claude", "codex", "anthropic", "aider", "anchors", "hashline"] {
        let mut client = Client::new(name, false, None);
        let list = client.ask("tools/list", json!({})).await["result"].clone();
        let bytes = list.to_string().len() + profile(name).unwrap().instructions.len();
        assert!(bytes <= SENT, "{name}: {bytes} bytes");
        assert!(client.end().await.is_empty());
    }
}

#[tokio::test]
async fn profile_shows_lines_with_the_marks_that_its_edits_use() {
    let mut client = Client::new("anchors", false, None);
    let path = client.path("a.txt");
    let made = client.call("write", json!({ "file_path": path, "content": "one\ntwo\n" })).await;
    let word = text(&made).lines().find_map(|line| line.strip_suffix(":two")).unwrap().to_owned();
    let edits = json!([{ "anchor": word, "text": "2" }]);
    let edited = client.call("edit", json!({ "path": path, "edits": edits })).await;
    assert!(text(&edited).contains(":2\n"), "{edited}");
    let undone = client.call("undo", json!({})).await;
    assert!(text(&undone).contains(&format!("{word}:two\n")), "{undone}");
    client.call("undo", json!({ "redo": true })).await;
    for (tool, input) in
        [("read", json!({ "file_path": path })), ("search", json!({ "pattern": "one|2", "path": path }))]
    {
        let shown = client.call(tool, input).await;
        assert!(text(&shown).contains(":one\n") && text(&shown).contains(":2\n"), "{shown}");
    }
    assert!(client.end().await.is_empty());

    let mut client = Client::new("hashline", false, None);
    let path = client.path("a.txt");
    let made = client.call("write", json!({ "file_path": path, "content": "one\ntwo\n" })).await;
    let header = |result: &Value| text(result).lines().find(|line| line.starts_with('¶')).unwrap().to_owned();
    let input = format!("{}\nreplace 2..2:\n+2\n", header(&made));
    let edited = client.call("edit", json!({ "input": input })).await;
    let input = format!("{}\ninsert tail:\n+3\n", header(&edited));
    assert_eq!(client.call("edit", json!({ "input": input })).await["isError"], false);
    assert_ne!(header(&client.call("undo", json!({})).await), header(&made));
    client.call("undo", json!({ "redo": true })).await;
    let shown = client.call("read", json!({ "file_path": path })).await;
    assert!(text(&shown).ends_with("\n1:one\n2:2\n3:3\n"), "{shown}");
    assert_eq!(header(&client.call("search", json!({ "pattern": "o", "path": path })).await), header(&shown));
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn discovers_lists_reads_edits_and_writes() {
    let mut client = Client::new("default", false, None);
    let found = client.ask("server/discover", json!({ "_meta": meta() })).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")));
    assert_eq!(found["result"]["instructions"], profile("default").unwrap().instructions);

    let list = client.ask("tools/list", json!({ "_meta": meta() })).await["result"].clone();
    let names: Vec<&str> = list["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, profile("default").unwrap().views.iter().map(|it| it.name).collect::<Vec<_>>());
    assert!(list["ttlMs"].as_u64().unwrap() > 0 && list["cacheScope"] == "public" && list["resultType"] == "complete");
    for (tool, offer) in list["tools"].as_array().unwrap().iter().zip(profile("default").unwrap().views) {
        assert_eq!(tool["inputSchema"], Value::Object(offer.schema()));
        assert_eq!(tool["description"], offer.prompt());
        let told = offer.tool_row().annotations;
        let expected = json!({ "readOnlyHint": told.read_only, "destructiveHint": told.destructive,
            "idempotentHint": told.idempotent, "openWorldHint": false });
        assert_eq!(tool["annotations"], expected);
        assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"].is_u64(), told.read_only);
        assert!(tool.get("outputSchema").is_none());
    }

    let path = client.path("a.txt");
    let made = client.call("write", json!({ "file_path": path, "content": "one\ntwo\n" })).await;
    assert_eq!(made["isError"], false, "{made}");
    let shown = client.call("read", json!({ "file_path": path })).await;
    assert!(text(&shown).contains("two") && shown.get("structuredContent").is_none());
    let edited = client.call("edit", json!({ "file_path": path, "old_string": "two", "new_string": "2" })).await;
    assert_eq!(edited["isError"], false, "{edited}");
    assert!(edited["_meta"][DATA_KEY]["data"].is_object() && edited["_meta"][DATA_KEY].get("text").is_none());
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn structured_results_have_schemas() {
    let mut client = Client::new("full", true, None);
    let list = client.ask("tools/list", json!({ "_meta": meta() })).await["result"]["tools"].clone();
    let schema = |name: &str| {
        let tool = list.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        jsonschema::validator_for(&tool["outputSchema"]).unwrap()
    };
    let path = client.path("a.txt");
    for (tool, input) in [
        ("write", json!({ "file_path": path, "content": "one\ntwo\n" })),
        ("read", json!({ "file_path": path })),
        ("edit", json!({ "file_path": path, "old_string": "two", "new_string": "2" })),
        ("edit", json!({ "file_path": path, "old_string": "two", "new_string": "2" })),
        ("undo", json!({})),
    ] {
        let reply = client.call(tool, input).await;
        let fits = schema(tool).validate(&reply["structuredContent"]);
        assert!(fits.is_ok(), "{tool}: {reply}");
    }
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn failures_are_results_and_unknown_names_are_protocol_errors() {
    let mut client = Client::new("default", true, None);
    let path = client.path("none.txt");
    let failed = client.call("edit", json!({ "file_path": path, "old_string": "a", "new_string": "b" })).await;
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["_meta"][DATA_KEY]["code"], "file.not_found");
    assert_eq!(failed["_meta"][DATA_KEY]["error_code"], 4);
    assert!(failed["_meta"][DATA_KEY]["next"].is_string() && failed["_meta"][DATA_KEY]["retryable"].is_boolean());
    assert!(failed["_meta"][DATA_KEY].get("message").is_none());
    assert_eq!(failed["structuredContent"]["ok"], false);
    assert!(text(&failed).contains(failed["structuredContent"]["message"].as_str().unwrap()));
    let failed = client.call("read", json!({})).await;
    assert_eq!((&failed["isError"], &failed["_meta"][DATA_KEY]["code"]), (&json!(true), &json!("call.invalid")));
    let failed = client.call("edit", json!({ "file_path": path, "wrong": 1 })).await;
    assert_eq!(failed["_meta"][DATA_KEY]["code"], "call.invalid");

    let unknown = client.ask("tools/call", json!({ "name": "rm", "arguments": {}, "_meta": meta() })).await;
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("read, search, edit, write"));
    for params in [json!({}), json!({ "name": 1 }), json!({ "name": "read", "arguments": [] }), json!(null)] {
        assert_eq!(client.ask("tools/call", params).await["error"]["code"], -32602);
    }
    for method in ["nonsense", "tasks/list", "resources/subscribe", "logging/setLevel"] {
        assert_eq!(client.ask(method, json!({ "_meta": meta() })).await["error"]["code"], -32601, "{method}");
        assert_eq!(client.ask(method, json!({ "uri": "a:b", "level": "debug" })).await["error"]["code"], -32601);
    }
    assert_eq!(client.ask("initialize", json!({ "protocolVersion": 5 })).await["error"]["code"], -32602);
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn long_names_are_not_repeated() {
    let mut client = Client::new("default", false, None);
    let name = "q".repeat(500_000);
    for (method, params) in [
        ("tools/call", json!({ "name": name, "arguments": {}, "_meta": meta() })),
        ("resources/read", json!({ "uri": format!("file:///{name}"), "_meta": meta() })),
        ("resources/read", json!({ "uri": format!("emend://history/1/{name}/a"), "_meta": meta() })),
        (&*name, json!({})),
    ] {
        let answer = client.ask(method, params).await;
        assert!(answer["error"]["code"].is_i64() && answer.to_string().len() < 2_000, "{method:.40} {answer:.400}");
    }
    client.end().await;
}

#[tokio::test]
async fn serves_the_old_handshake() {
    let mut client = Client::new("claude", false, None);
    // A notification as the first message would end the library's own server.
    client.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    for (asked, agreed) in
        [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25"), ("x", "2025-11-25")]
    {
        let params =
            json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let answer = client.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], agreed);
        assert_eq!(answer["result"]["serverInfo"]["name"], "emendate");
        assert!(answer["result"]["capabilities"]["tools"].is_object());
    }
    client.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let list = client.ask("tools/list", json!({})).await["result"].clone();
    let names: Vec<&str> = list["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, profile("claude").unwrap().views.iter().map(|it| it.name).collect::<Vec<_>>());
    assert!(list.get("resultType").is_none() && list.get("ttlMs").is_none());
    assert!(client.ask("ping", json!({})).await["result"].is_object());
    let path = client.path("a.txt");
    let made = client
        .ask("tools/call", json!({ "name": "Write", "arguments": { "file_path": path, "content": "x\n" } }))
        .await;
    assert_eq!(made["result"]["isError"], false);
    assert!(made["result"].get("resultType").is_none());
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn structured_results_follow_the_revision() {
    for (revision, has) in [("2025-03-26", false), ("2025-06-18", true)] {
        let mut client = Client::new("full", true, None);
        let params =
            json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let agreed = client.ask("initialize", params).await;
        assert_eq!(agreed["result"]["protocolVersion"], revision);
        client.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        let list = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
        let arguments = json!({ "file_path": client.path("a.txt"), "content": "x\n" });
        let made = client.ask("tools/call", json!({ "name": "write", "arguments": arguments })).await;
        assert_eq!(list[0].get("outputSchema").is_some(), has, "{revision}");
        assert_eq!(made["result"].get("structuredContent").is_some(), has, "{revision}");
        assert!(client.end().await.is_empty());
    }
}

/// Only revision 2025-03-26 has batches.
#[tokio::test]
async fn batch_is_answered_at_once_where_the_revision_has_batches() {
    let mut client = Client::new("default", false, None);
    let params = |revision: &str| json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let ping = br#"[{"jsonrpc":"2.0","id":50,"method":"ping"}]"#;
    for (revision, code) in [("2025-06-18", -32600), ("2025-03-26", 0)] {
        client.ask("initialize", params(revision)).await;
        client.send(ping).await;
        let answer = client.line().await;
        assert_eq!(answer["error"]["code"].as_i64().unwrap_or(0), code, "{revision}: {answer}");
    }
    let read =
        json!({ "jsonrpc": "2.0", "id": 51, "method": "tools/call", "params": { "name": "read", "arguments": {} } });
    let batch = json!([read, 5, { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": 52, "method": "ping" }, { "jsonrpc": "2.0", "id": 52, "method": "ping" }]);
    client.send(batch.to_string().as_bytes()).await;
    let answers = client.line().await;
    let mut ids: Vec<String> = answers.as_array().unwrap().iter().map(|answer| answer["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["51", "52", "52", "null"], "{answers}");
    let many = vec![json!({ "jsonrpc": "2.0", "id": 53, "method": "ping" }); crate::message::BATCH_MESSAGES_MAX + 1];
    for refused in ["[]".to_owned(), Value::Array(many).to_string()] {
        client.send(refused.as_bytes()).await;
        assert_eq!(client.line().await["error"]["code"], -32600);
    }
    client.send(br#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#).await;
    assert!(client.ask("ping", json!({})).await["result"].is_object());
    let prompt = client.ask("prompts/get", json!({ "name": "nope" })).await;
    assert_eq!(prompt["error"]["message"], "Unknown prompt: nope. This server has no prompts, only tools.");
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn no_line_kills_or_blocks_the_server() {
    let mut client = Client::new("default", false, Some(4096));
    let ignored: &[&[u8]] = &[
        b"",
        b"  \r",
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
        br#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}"#,
        br#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        br#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#,
    ];
    for line in ignored {
        client.send(line).await;
    }
    let long = format!(r#"{{"jsonrpc":"2.0","id":31,"method":"x","params":{{"a":"{}"}}}}"#, "a".repeat(500_000));
    let deep = "[".repeat(4000);
    let answered: &[(&[u8], i64, Value)] = &[
        (b"garbage", -32700, Value::Null),
        (b"\xff\xfe{}", -32700, Value::Null),
        (deep.as_bytes(), -32700, Value::Null),
        (br#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"\ud800"}}"#, -32700, json!(12)),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (b"5", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":13}"#, -32600, json!(13)),
        (br#"{"id":14,"method":"tools/call","params":{}}"#, -32600, json!(14)),
        (br#"{"jsonrpc":"2.0","id":"s","method":5}"#, -32600, json!("s")),
        (long.as_bytes(), -32600, json!(31)),
    ];
    for (line, code, id) in answered {
        client.send(line).await;
        let answer = client.line().await;
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), id), "{shown}");
    }
    assert!(client.ask("ping", json!({})).await["result"].is_object());
    // The last line needs no line end.
    let output = client.output.as_mut().unwrap();
    output.write_all("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}".as_bytes()).await.unwrap();
    assert_eq!(client.end().await, [json!({ "jsonrpc": "2.0", "id": 99, "result": {} })]);
}

#[tokio::test]
async fn parallel_calls_complete_even_after_the_end_of_input() {
    let mut client = Client::new("default", false, None);
    let path = client.path("a.txt");
    let content = (0..50).map(|n| format!("line {n};\n")).collect::<Vec<_>>().concat();
    client.call("write", json!({ "file_path": path, "content": content })).await;
    for n in 0..50 {
        let arguments =
            json!({ "file_path": path, "old_string": format!("line {n};"), "new_string": format!("LINE {n};") });
        let params = json!({ "name": "edit", "arguments": arguments, "_meta": meta() });
        let request = json!({ "jsonrpc": "2.0", "id": 1000 + n, "method": "tools/call", "params": params });
        client.send(request.to_string().as_bytes()).await;
    }
    let checked = path.clone();
    let root = client.root.path().to_owned();
    let kept = std::mem::replace(&mut client.root, tempfile::tempdir().unwrap());
    let answers = client.end().await;
    assert_eq!(answers.len(), 50);
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
    let engine = Engine::open(&[root], StateLocation::Memory, Config::default()).unwrap();
    let now = engine.call(&CallContext::default(), "read", json!({ "file_path": checked })).text();
    assert_eq!(now.matches("LINE ").count(), 50, "{now}");
    drop(kept);
}

#[tokio::test]
async fn calls_of_a_session_take_effect_in_their_order() {
    let mut client = Client::new("default", false, None);
    let path = client.path("a.txt");
    client.call("write", json!({ "file_path": path, "content": "<0>\n" })).await;
    for n in 0..20 {
        let (old, new) = (format!("<{n}>"), format!("<{}>", n + 1));
        let edit = json!({ "file_path": path, "old_string": old, "new_string": new });
        for (name, arguments) in [("edit", edit), ("read", json!({ "file_path": path }))] {
            let params = json!({ "name": name, "arguments": arguments, "_meta": meta() });
            let id = 1000 + 2 * n + i32::from(name == "read");
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            client.send(request.to_string().as_bytes()).await;
        }
    }
    let kept = std::mem::replace(&mut client.root, tempfile::tempdir().unwrap());
    let answers = client.end().await;
    assert_eq!(answers.len(), 40);
    for answer in &answers {
        let id = answer["id"].as_u64().unwrap() - 1000;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        let shown = format!("<{}>", id / 2 + 1);
        assert!(id % 2 == 0 || text(&answer["result"]).contains(&shown), "{shown}: {answer}");
    }
    drop(kept);
}

#[tokio::test]
async fn cancelled_call_has_changed_all_files_or_none() {
    let mut client = Client::new("full", false, None);
    let names: Vec<PathBuf> = (0..300).map(|nth| client.path(&format!("f{nth}"))).collect();
    for name in &names {
        std::fs::write(name, "old\n").unwrap();
    }
    for (nth, (old, new)) in [("old", "new"), ("new", "old")].into_iter().enumerate() {
        let arguments = json!({ "path": client.base, "old_string": old, "new_string": new, "expected": 300 });
        let params = json!({ "name": "replace_in_files", "arguments": arguments, "_meta": meta() });
        let request = json!({ "jsonrpc": "2.0", "id": 500 + nth, "method": "tools/call", "params": params });
        client.send(request.to_string().as_bytes()).await;
        if nth == 0 {
            let wait = || std::thread::sleep(std::time::Duration::from_millis(20));
            tokio::task::spawn_blocking(wait).await.unwrap();
        }
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 500 + nth } });
        client.send(cancel.to_string().as_bytes()).await;
    }
    client.ask("ping", json!({})).await;
    let kept = std::mem::replace(&mut client.root, tempfile::tempdir().unwrap());
    client.end().await;
    let first = std::fs::read_to_string(&names[0]).unwrap();
    assert!(["old\n", "new\n"].contains(&&*first));
    assert!(names.iter().all(|name| std::fs::read_to_string(name).unwrap() == first));
    drop(kept);
}

#[tokio::test]
async fn id_of_a_pending_request_is_refused() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let mut wire = Wire::new(input, output, 1 << 16);
    let (answers, mut requests) = tokio::io::split(ours);
    let mut answers = BufReader::new(answers).lines();
    let ping = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
    requests.write_all((ping(1) + &ping(1) + &ping(2)).as_bytes()).await.unwrap();
    let id = |message| if let ClientJsonRpcMessage::Request(it) = message { it.id } else { panic!("{message:?}") };
    let first = id(wire.receive().await.unwrap());
    assert_eq!((&first, id(wire.receive().await.unwrap())), (&RequestId::Number(1), RequestId::Number(2)));
    let refused: Value = serde_json::from_str(&answers.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)), "{refused}");
    // The answer frees the id, and so does the end of a cancelled request.
    wire.send(ServerJsonRpcMessage::error(ErrorData::internal_error("x", None), Some(first))).await.unwrap();
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n";
    requests.write_all((ping(1) + cancel + &ping(2)).as_bytes()).await.unwrap();
    assert_eq!(id(wire.receive().await.unwrap()), RequestId::Number(1));
    assert!(matches!(wire.receive().await.unwrap(), ClientJsonRpcMessage::Notification(_)));
    assert_eq!(id(wire.receive().await.unwrap()), RequestId::Number(2));
}

/// Standard input that another process made non-blocking: before each piece it is not ready.
struct Unready(&'static [u8], bool);

impl AsyncRead for Unready {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.1 = !self.1;
        if self.1 {
            return Poll::Ready(Err(io::ErrorKind::WouldBlock.into()));
        }
        let (first, rest) = self.0.split_at(self.0.len().min(8));
        buf.put_slice(first);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn input_that_is_not_ready_is_not_at_its_end() {
    let input = Unready(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n", false);
    let mut wire = Wire::new(input, tokio::io::sink(), 1 << 16);
    assert!(matches!(wire.receive().await, Some(ClientJsonRpcMessage::Notification(_))));
    assert!(wire.receive().await.is_none());
}

#[tokio::test]
async fn the_end_of_the_input_waits_for_all_answers() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let mut wire = Wire::new(input, output, 1 << 16);
    let (mut answers, mut requests) = tokio::io::split(ours);
    requests.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    requests.shutdown().await.unwrap();
    let ClientJsonRpcMessage::Request(ping) = wire.receive().await.unwrap() else { panic!("no request") };
    // The request is in progress, so the end of the input is not reported.
    assert!(tokio::select! { biased; _ = wire.receive() => false, () = tokio::task::yield_now() => true });
    // Nobody can answer a question any more; the call that asked gets an error and can end.
    let question = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" });
    wire.send(serde_json::from_value(question).unwrap()).await.unwrap();
    let ClientJsonRpcMessage::Error(refused) = wire.receive().await.unwrap() else { panic!("no error") };
    assert_eq!(refused.id, Some(RequestId::Number(9)));
    assert!(tokio::select! { biased; _ = wire.receive() => false, () = tokio::task::yield_now() => true });
    let done = ErrorData::internal_error("done", None);
    wire.send(ServerJsonRpcMessage::error(done, Some(ping.id))).await.unwrap();
    assert!(wire.receive().await.is_none());
    drop(wire);
    let mut said = String::new();
    answers.read_to_string(&mut said).await.unwrap();
    assert_eq!((said.lines().count(), said.contains("done")), (2, true), "{said}");
}

#[tokio::test]
async fn resource_is_read_in_parts() {
    let mut client = Client::new("full", false, None);
    let path = client.path("a.txt");
    client.call("write", json!({ "file_path": path, "content": "1\n2\n3\n4\n5" })).await;
    let edit = json!({ "file_path": path, "old_string": "4", "new_string": "four" });
    let edited = client.call("edit", edit).await;
    let id = edited["_meta"][DATA_KEY]["data"]["operation"].as_str().unwrap().to_owned();
    let address = emendate_os::paths::in_address(&path).into_owned().into_string().unwrap();
    for (query, expected) in [
        ("", "1\n2\n3\nfour\n5"),
        ("?offset=3&limit=2", "3\nfour\n"),
        ("?limit=1", "1\n"),
        ("?offset=5", "5"),
        ("?offset=0&limit=0", ""),
        ("?limit=18446744073709551615&offset=2", "2\n3\nfour\n5"),
        ("?offset=6", ""),
        ("?offset=18446744073709551615", ""),
    ] {
        let uri = format!("emend://history/{id}/after{address}{query}");
        let read = client.ask("resources/read", json!({ "uri": uri, "_meta": meta() })).await;
        assert_eq!(read["result"]["contents"][0]["text"], expected, "{query}: {read}");
    }
    for query in ["?", "?offset=-1", "?limit=x", "?offset=1&page=2", "?offset", "?offset=18446744073709551616"] {
        let uri = format!("emend://history/{id}/after{address}{query}");
        let read = client.ask("resources/read", json!({ "uri": uri, "_meta": meta() })).await;
        assert!(read["error"]["message"].as_str().is_some_and(|it| it.contains("offset=N")), "{query}: {read}");
    }
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn short_call_is_answered_without_progress() {
    let mut client = Client::new("full", false, None);
    for name in ["a.txt", "b.txt"] {
        client.call("write", json!({ "file_path": client.path(name), "content": "one\n" })).await;
    }
    let mut told = meta();
    told["progressToken"] = json!("token");
    let arguments = json!({ "path": client.path(""), "old_string": "one", "new_string": "two", "expected": 2 });
    // `ask` takes the first line after the request for the answer.
    let answer =
        client.ask("tools/call", json!({ "name": "replace_in_files", "arguments": arguments, "_meta": told })).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(client.end().await, Vec::<Value>::new(), "and nothing follows it");
}

#[tokio::test]
async fn former_text_is_sent_on_request() {
    let mut client = Client::new("default", false, None);
    let path = client.path("a.txt");
    client.call("write", json!({ "file_path": path, "content": "one\n" })).await;
    let mut former = Vec::new();
    for (old, new, asks) in [("one", "two", false), ("two", "three", true)] {
        let mut told = meta();
        told[crate::ORIGINAL_KEY] = asks.into();
        let arguments = json!({ "file_path": path, "old_string": old, "new_string": new });
        let answer = client.ask("tools/call", json!({ "name": "edit", "arguments": arguments, "_meta": told })).await;
        former.push(answer["result"]["_meta"][DATA_KEY]["data"]["originalFile"].clone());
    }
    assert_eq!(former, [Value::Null, json!("two\n")]);
}
