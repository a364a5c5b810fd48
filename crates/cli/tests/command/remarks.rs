//! Comments and review marks on the command line, delivered through each front end.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

/// A file whose change was made by the session `model`.
fn changed() -> (TestWorkspace, String) {
    let workspace = TestWorkspace::with("1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let edits = json!([{ "old_string": "1\n2", "new_string": "one\n2" }, { "old_string": "9", "new_string": "nine" }]);
    let done =
        workspace.feed(&["--session", "model", "--json", "multi-edit", "a.txt"], edits.to_string()).exits(0).json();
    let id = done["data"]["operation"].as_str().unwrap().to_owned();
    (workspace, id)
}

/// Sends lines to a server one after another, each after the reply to the one before; returns the replies.
fn converse(mut command: Command, lines: &[Value]) -> Vec<Value> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let replies = lines.iter().map(|line| {
        writeln!(input, "{line}").unwrap();
        let mut reply = String::new();
        output.read_line(&mut reply).unwrap();
        serde_json::from_str(&reply).unwrap()
    });
    let replies = replies.collect();
    drop(input);
    assert!(child.wait().unwrap().success());
    replies
}

#[test]
fn comment_reaches_the_session_through_each_front_end_once() {
    let (workspace, id) = changed();
    let comment = |text: &str| workspace.run(&["comment", &id, "a.txt:9", "-m", text]).exits(0);
    let open = || {
        let listed = workspace.run(&["comments", "--open", "--json"]).exits(0).json();
        listed["data"]["comments"].as_array().unwrap().len()
    };
    assert!(comment("by hand").out.contains("the next reply to model delivers it"));
    // A command.
    let args = ["--session", "model", "edit", "a.txt", "--old", "5", "--new", "five"];
    assert!(workspace.run(&args).exits(0).out.contains("commented on line 9 of a.txt, operation 1: by hand"));
    assert!(!workspace.run(&["--session", "model", "read", "a.txt"]).exits(0).out.contains("commented"));
    assert_eq!(open(), 0);
    // NDJSON.
    comment("by line");
    let read = json!({ "id": 1, "tool": "read", "input": { "file_path": workspace.path("a.txt") } });
    let replies = converse(workspace.command(&["--session", "model", "serve", "--ndjson"]), &[read.clone(), read]);
    assert_eq!(replies[0]["data"]["comments"][0]["text"], "by line");
    assert_eq!((&replies[1]["data"]["comments"], open()), (&Value::Null, 0));
    // MCP.
    comment("by protocol");
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "read", "arguments": { "file_path": workspace.path("a.txt") } } });
    let replies = converse(workspace.command(&["--session", "model", "mcp"]), &[call.clone(), call]);
    let text = |reply: &Value| reply["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text(&replies[0]).contains("by protocol") && !text(&replies[1]).contains("by protocol"), "{replies:?}");
    assert_eq!(open(), 0);
    let all = workspace.run(&["comments", &id]).exits(0).out;
    assert!(all.contains("a.txt:9  (delivered)\n    by hand"), "{all}");
    workspace.run(&["comments", "--delete", "1"]).exits(0);
    workspace.run(&["comments", "--delete", "1"]).exits(10);
}

#[test]
fn comment_on_a_line_that_the_file_does_not_have_is_refused() {
    let (workspace, id) = changed();
    let refused = workspace.run(&["comment", &id, "a.txt:500", "-m", "x"]).exits(2);
    assert!(refused.err.contains("has no line 500: it had 9 lines") && refused.err.contains("1 to 9"), "{refused:?}");
    // Later lines of the file do not count.
    workspace.put("a.txt", "more\n".repeat(20));
    workspace.run(&["comment", &id, "a.txt:10", "-m", "x"]).exits(2);
    workspace.run(&["comment", &id, "a.txt:9", "-m", "x"]).exits(0);
    assert_eq!(workspace.run(&["comments", "--json"]).json()["data"]["comments"].as_array().unwrap().len(), 1);
}

#[test]
fn comment_of_a_cancelled_call_is_delivered_again() {
    let (workspace, id) = changed();
    workspace.run(&["comment", &id, "a.txt:9", "-m", "Use a word."]).exits(0);
    let open = || {
        let listed = workspace.run(&["comments", "--open", "--json"]).exits(0).json();
        listed["data"]["comments"].as_array().unwrap().len()
    };
    let mut command = workspace.command(&["--session", "model", "mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut read = |id: u64, input: &mut ChildStdin| {
        let params = json!({ "name": "read", "arguments": { "file_path": workspace.path("a.txt") } });
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).unwrap();
        let reply: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        assert_eq!(reply["id"], id, "{reply}");
        reply.to_string().contains("Use a word.")
    };
    assert!(read(1, &mut input));
    // The client gave up just before the reply came.
    let cancel = json!({ "requestId": 1, "reason": "no longer needed" });
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel })).unwrap();
    while open() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(read(2, &mut input) && !read(3, &mut input));
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(open(), 0);
}

#[test]
fn reviewed_hunks_are_marked_and_listed() {
    let (workspace, id) = changed();
    assert!(workspace.run(&["reviewed"]).exits(0).out.contains("No hunk is marked."));
    assert!(workspace.run(&["reviewed", &id, "a.txt:2"]).exits(0).out.ends_with("a.txt  hunks 2\n"));
    workspace.run(&["reviewed", &id]).exits(0);
    let marked = workspace.run(&["reviewed", "--json"]).exits(0).json();
    assert_eq!(marked["data"]["reviewed"][0]["hunks"], json!([1, 2]));
    workspace.run(&["reviewed", &id, "a.txt:1", "--clear"]).exits(0);
    assert!(workspace.run(&["reviewed"]).exits(0).out.ends_with("a.txt  hunks 2\n"));
    workspace.run(&["reviewed", &id, "a.txt:7"]).exits(2);
    workspace.run(&["gc", "--days", "0"]).exits(0);
    assert!(workspace.run(&["reviewed"]).exits(0).out.contains(&id), "the last operation stays");
}
