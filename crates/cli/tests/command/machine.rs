//! Tests `call`, `serve` and `mcp`, the interfaces for programs.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn call_prints_one_json_object() {
    let workspace = TestWorkspace::with("a\nb\n");
    let read = json!({ "file_path": workspace.path("a.txt") });
    let edit = json!({ "file_path": workspace.path("a.txt"), "old_string": "a", "new_string": "A" });
    let denied = workspace.call("edit", &edit).exits(14).json();
    assert_eq!(
        (&denied["ok"], &denied["code"], &denied["error_code"]),
        (&json!(false), &json!("read.required"), &json!(6))
    );
    for key in ["message", "evidence", "next", "retryable"] {
        assert!(denied.get(key).is_some(), "{key}");
    }
    let shown = workspace.run(&["call", "read", &read.to_string()]).exits(0).json();
    assert!(shown["ok"] == true && shown["text"].is_string() && shown["data"]["tag"].is_string());
    let done = workspace.call("edit", &edit).exits(0).json();
    assert_eq!((&done["ok"], workspace.get("a.txt").as_str()), (&json!(true), "A\nb\n"));
    assert_eq!(workspace.run(&["call", "nope", "{}"]).exits(2).json()["code"], "call.unknown_tool");
    for input in ["", "{", "[]", r#"{"file_path": 7}"#, r#"{"x": 1}"#] {
        assert_eq!(workspace.feed(&["call", "read", "-"], input).exits(2).json()["code"], "call.invalid", "{input}");
    }
    // A relative path is resolved against the only root, with a note; an unknown field is ignored with a note.
    let relative = workspace.call("read", &json!({ "file_path": "a.txt", "x": 1 })).exits(0).json();
    assert!(relative["data"]["arguments"].as_array().is_some_and(|notes| notes.len() == 2), "{relative}");
    assert_eq!(workspace.run(&["call", "read", "{}", "--root", "/nowhere/at/all"]).json()["ok"], false);
}

#[test]
fn large_text_is_written_and_undone() {
    let workspace = TestWorkspace::new();
    let large = "0123456789abcde\n".repeat((10 << 20) / 16);
    workspace.put("a.txt", format!("head\n{large}tail\n"));
    let edit = json!({ "file_path": workspace.path("a.txt"), "old_string": large, "new_string": "" });
    let ran = workspace.feed(&["call", "edit", "--unread", "allow", "--durability", "none"], edit.to_string()).exits(0);
    assert_eq!((ran.json()["ok"].as_bool(), workspace.get("a.txt").as_str()), (Some(true), "head\ntail\n"));
    // The text is larger than the history keeps uncompressed, but it compresses well.
    workspace.run(&["undo"]).exits(0);
    assert!(workspace.get("a.txt") == format!("head\n{large}tail\n"));
    workspace.run(&["redo"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "head\ntail\n");
    let missing = json!({ "file_path": workspace.path("a.txt"), "old_string": large, "new_string": "" });
    let ran = workspace.feed(&["call", "edit"], missing.to_string());
    assert_eq!(ran.exits(10).json()["code"], "match.not_found");
}

#[test]
fn call_over_the_limit_is_refused() {
    let workspace = TestWorkspace::with("a\n");
    let ran = workspace.feed(&["write", "b.txt", "--json"], vec![b'x'; (64 << 20) + 1]).exits(2);
    assert_eq!(ran.json()["code"], "call.too_large");
    let mut lines = vec![b'x'; (64 << 20) + 5000];
    lines.extend_from_slice(b"\n{\"id\": 2, \"tool\": \"nope\"}\n");
    let ran = workspace.feed(&["serve", "--ndjson"], lines).exits(0);
    let replies: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&replies[0]["id"], &replies[0]["code"]), (&Value::Null, &json!("call.too_large")));
    assert_eq!((replies.len(), &replies[1]["id"]), (2, &json!(2)));
}

#[test]
fn serve_answers_in_order_and_survives_bad_lines() {
    let workspace = TestWorkspace::with("a\n");
    let path = workspace.path("a.txt");
    let lines = [
        json!({ "id": 1, "tool": "read", "input": { "file_path": path } }).to_string(),
        "nonsense".to_owned(),
        String::new(),
        json!({ "id": "b", "input": {} }).to_string(),
        json!([1]).to_string(),
        json!({ "id": [3], "tool": 3 }).to_string(),
        json!({ "id": 4, "tool": "read", "input": {}, "extra": 1 }).to_string(),
        json!({ "tool": "read" }).to_string(),
        json!({ "id": 5, "tool": "edit", "input": { "file_path": path, "old_string": "a", "new_string": "b" } })
            .to_string(),
    ];
    // The last line has no line end.
    let ran = workspace.feed(&["serve", "--ndjson", "--state", "none"], lines.join("\n")).exits(0);
    let replies: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = replies.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(json!(ids), json!([1, null, "b", null, [3], 4, null, 5]));
    let codes: Vec<&str> = replies.iter().filter_map(|reply| reply["code"].as_str()).collect();
    assert_eq!(codes, ["call.invalid"; 6]);
    assert!(replies[0]["ok"] == true && replies[7]["ok"] == true);
    assert_eq!(workspace.get("a.txt"), "b\n");
    assert!(workspace.feed(&["serve", "--ndjson"], b"\xff\xfe\n").exits(0).out.contains("call.invalid"));
    workspace.run(&["serve"]).exits(2);
}

#[test]
fn serve_replies_while_the_next_line_is_being_written() {
    let workspace = TestWorkspace::with("a\n");
    let mut command = workspace.command(&["serve", "--ndjson"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut reply = String::new();
    for id in 0..3 {
        write!(stdin, "{{\"id\": {id}, \"tool\": \"nope\"}}\n{{\"id\": ").unwrap();
        reply.clear();
        stdout.read_line(&mut reply).unwrap();
        assert!(reply.starts_with(&format!("{{\"id\":{id},")), "{reply}");
        stdin.write_all(b"null}\n").unwrap();
        reply.clear();
        stdout.read_line(&mut reply).unwrap();
        assert!(reply.starts_with("{\"id\":null,"), "{reply}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn closed_output_is_not_an_error() {
    let workspace = TestWorkspace::new();
    workspace.put("long.txt", "a line of text\n".repeat(2000));
    workspace.put(
        "calls",
        format!("{}\n", json!({ "tool": "read", "input": { "file_path": workspace.path("long.txt") } })).repeat(200),
    );
    for args in [&["read", "long.txt"][..], &["serve", "--ndjson"], &["tools", "--json"], &["--help"], &["man"]] {
        let mut command = workspace.command(args);
        let calls = std::fs::File::open(workspace.work().join("calls")).unwrap();
        command.stdin(calls).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn mcp_ends_with_its_input() {
    let workspace = TestWorkspace::new();
    let ran = workspace.run(&["mcp", "--profile", "claude"]);
    assert!(ran.code == 0 && ran.out.is_empty(), "{ran:?}");
    workspace.run(&["mcp", "--profile", "none"]).exits(2);
}

/// Returns a call that takes far longer than the test waits: hunks that fit in very many places.
fn heavy(workspace: &TestWorkspace) -> Value {
    workspace.put("long.txt", "x = 1;\n".repeat(1_000_000));
    let hunk = |nth: usize| {
        let same = " x = 1;\n x = 1;\n";
        format!("@@ -{0},5 +{0},5 @@\n{same}-x = 1;\n+q{nth}\n{same}", 20 * nth + 1)
    };
    let hunks: String = (0..9_999).map(hunk).collect();
    let patch = format!("--- a/long.txt\n+++ b/long.txt\n{hunks}");
    json!({ "tool": "apply", "input": { "input": patch, "directory": workspace.work() } })
}

fn ndjson(workspace: &TestWorkspace) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut command = workspace.command(&["serve", "--ndjson", "--unread", "allow"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    (child, stdin, BufReader::new(stdout))
}

#[test]
fn serve_stops_calls_that_a_line_cancels() {
    let workspace = TestWorkspace::with("a\n");
    let mut heavy = heavy(&workspace);
    let (mut child, mut stdin, stdout) = ndjson(&workspace);
    for id in ["runs", "waits"] {
        heavy["id"] = json!(id);
        writeln!(stdin, "{heavy}").unwrap();
    }
    let read = json!({ "id": 3, "tool": "read", "input": { "file_path": workspace.path("a.txt") } });
    writeln!(stdin, "{read}\n{}\n{}", json!({ "cancel": "waits" }), json!({ "cancel": "nobody" })).unwrap();
    // The first call has begun by then; otherwise it would be cancelled while it waits.
    thread::sleep(Duration::from_millis(300));
    writeln!(stdin, "{}", json!({ "cancel": "runs" })).unwrap();
    drop(stdin);
    let replies: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let codes: Vec<Value> = replies.iter().map(|reply| json!([reply["id"], reply["code"]])).collect();
    let cancelled = "call.cancelled";
    assert_eq!(json!(codes), json!([["runs", cancelled], ["waits", cancelled], [3, null]]));
    assert!(child.wait().unwrap().success());
}

#[test]
fn serve_stops_if_its_output_is_closed() {
    let workspace = TestWorkspace::with("a\n");
    let heavy = heavy(&workspace);
    let (mut child, mut stdin, stdout) = ndjson(&workspace);
    let edit = json!({ "file_path": workspace.path("a.txt"), "old_string": "a", "new_string": "b" });
    writeln!(stdin, "{heavy}\n{}", json!({ "id": 2, "tool": "edit", "input": edit })).unwrap();
    thread::sleep(Duration::from_millis(300));
    drop(stdout);
    // Standard input is still open, so it is not the end of input that stops the server.
    assert!(child.wait().unwrap().success());
    assert_eq!(workspace.get("a.txt"), "a\n", "no further call is made");
}

/// Returns the memory of a process that is not backed by files, in KiB.
#[cfg(target_env = "gnu")]
fn anonymous_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[cfg(target_env = "gnu")]
#[test]
fn serve_returns_the_memory_of_large_calls() {
    let workspace = TestWorkspace::new();
    workspace.put("long.txt", "a b c d e f g h\n".repeat(100_000));
    let (mut child, mut stdin, mut stdout) = ndjson(&workspace);
    let mut call = |old: &str, new: &str| {
        let input = json!({ "path": workspace.path("long.txt"), "old_string": old, "new_string": new });
        writeln!(stdin, "{}", json!({ "tool": "replace_in_files", "input": input })).unwrap();
        let mut reply = String::new();
        stdout.read_line(&mut reply).unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        (reply["ok"] == true, anonymous_kib(child.id()))
    };
    let (refused, before) = call("absent", "b");
    let (done, after) = call("a", "xyz");
    assert!(!refused && done);
    assert!(after < before + 20_000, "{before} KiB before, {after} KiB after");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
