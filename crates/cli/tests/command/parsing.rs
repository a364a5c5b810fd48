//! Grammars run in processes of their own: a crash or excessive memory use there does not end the server.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A server that receives one call at a time.
struct Server {
    child: Child,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start(mut command: Command) -> Server {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap()).lines();
        Server { child, replies }
    }

    fn ask(&mut self, message: &Value) -> Value {
        writeln!(self.child.stdin.as_ref().unwrap(), "{message}").unwrap();
        serde_json::from_str(&self.replies.next().unwrap().unwrap()).unwrap()
    }

    fn outline(&mut self, path: &str) -> Value {
        self.ask(&json!({ "id": 1, "tool": "outline", "input": { "file_path": path } }))
    }

    /// Returns the processes that the server started.
    fn parsers(&self) -> Vec<String> {
        let id = self.child.id();
        let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap().flatten();
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        children.flat_map(|it| it.split_whitespace().map(str::to_owned).collect::<Vec<String>>()).collect()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn server_outlives_its_parsers() {
    let workspace = TestWorkspace::new();
    workspace.put("good.sh", "f() {\n  echo {\u{e0001}}\n}\n");
    // Each bracket is a frame of the parser and a node of its stack: no amount of memory suffices.
    workspace.put("deep.json", "[".repeat(3 << 20));
    let mut server = Server::start(workspace.command(&["serve", "--ndjson"]));
    assert_eq!(server.outline(&workspace.path("good.sh"))["text"], "1-3\tfunction f\n");
    let parsers = server.parsers();
    assert_eq!(parsers.len(), 1, "{parsers:?}");
    // A parser answers more than one question: starting one costs more than an edit.
    for nth in 0..3 {
        let name = format!("other{nth}.sh");
        workspace.put(&name, format!("g{nth}() {{\n  echo\n}}\n"));
        assert_eq!(server.outline(&workspace.path(&name))["text"], format!("1-3\tfunction g{nth}\n"));
    }
    assert_eq!(server.parsers(), parsers);
    // If the parser is killed, the next call starts another one.
    for signal in ["-KILL", "-TERM"] {
        let parser = server.parsers().remove(0);
        assert!(Command::new("kill").args([signal, &parser]).status().unwrap().success());
        assert_eq!(server.outline(&workspace.path("good.sh"))["ok"], true);
    }
    // The answer is the same twice; the second time the result is cached.
    for _ in 0..2 {
        let refused = server.outline(&workspace.path("deep.json"));
        assert_eq!(refused["code"], "syntax.unknown", "{refused}");
        assert_eq!(server.outline(&workspace.path("good.sh"))["ok"], true);
    }
    let edit =
        json!({ "file_path": workspace.path("deep.json"), "old_string": "[", "new_string": "{", "replace_all": true });
    assert_eq!(server.ask(&json!({ "id": 2, "tool": "edit", "input": edit }))["ok"], false, "not read");
    server.end();
}

#[test]
fn restricted_server_can_start_its_parsers() {
    let workspace = TestWorkspace::new();
    workspace.put("good.sh", "f() {\n  echo {\u{e0001}}\n}\n");
    let mut server = Server::start(workspace.command(&["mcp", "--restrict", "--profile", "full"]));
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    server.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    for id in 2..4 {
        let arguments = json!({ "file_path": workspace.path("good.sh") });
        let params = json!({ "name": "outline", "arguments": arguments });
        let reply = server.ask(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        assert!(reply.to_string().contains("function f"), "{reply}");
        let parsers = server.parsers();
        assert_eq!(parsers.len(), 1, "{parsers:?}");
        assert!(Command::new("kill").args(["-KILL", &parsers[0]]).status().unwrap().success());
    }
    server.end();
}

#[test]
fn single_call_starts_a_parser_only_for_unusual_texts() {
    let workspace = TestWorkspace::new();
    workspace.put("deep.json", "[".repeat(3 << 20));
    workspace.put("good.sh", "f() {\n  echo {\u{e0001}}\n}\n");
    let refused = workspace.run(&["outline", "deep.json", "--json"]).exits(15).json();
    assert_eq!(refused["code"], "syntax.unknown", "{refused}");
    workspace.run(&["outline", "good.sh"]).exits(0);
}
