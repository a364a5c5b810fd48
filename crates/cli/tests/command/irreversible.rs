//! Irreversible changes are reported before they are written: a program's call is refused, a person gets a note.

use crate::limits::noise;
use crate::workspace::{Ran, TestWorkspace, feed};
use serde_json::{Value, json};
use std::fs;

/// Creates a workspace with two files that are too large for a small history.
fn large() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put("one", noise(1 << 20));
    workspace.put("two", noise(1 << 20));
    let config = workspace.beside("home/.config/emendate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[history]\nmegabytes = 1\n").unwrap();
    workspace
}

fn refused(ran: Ran, why: &str) {
    let reply = ran.exits(17).json();
    assert_eq!(reply["code"], "operation.irreversible", "{reply}");
    assert!(reply["message"].as_str().unwrap().contains(why), "{reply}");
}

#[test]
fn program_must_confirm_an_irreversible_change() {
    let workspace = large();
    let before = workspace.get("one");
    let write = |more: Value| {
        let mut input = json!({ "file_path": workspace.path("one"), "content": "small\n" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        workspace.feed(&["call", "write", "--unread", "allow"], input.to_string())
    };
    refused(write(json!({})), "more bytes than the history keeps");
    let patch = "*** Begin Patch\n*** Delete File: one\n*** Delete File: two\n*** End Patch\n";
    let both = json!({ "input": patch, "directory": workspace.work() });
    refused(
        workspace.feed(&["call", "apply", "--unread", "allow"], both.to_string()),
        "more bytes than the history keeps",
    );
    assert!(workspace.get("one") == before && workspace.get("two") == before);
    write(json!({ "irreversible": true })).exits(0);
    assert_eq!(workspace.get("one"), "small\n");
}

/// A change in many places is stored as what it replaced. Taking it back needs no more than that, nor does redoing it.
#[test]
fn many_places_of_a_large_file_are_undone() {
    let workspace = large();
    let before = workspace.get("one");
    let call =
        |tool: &str, input: Value| workspace.feed(&["call", tool, "--unread", "allow"], input.to_string()).exits(0);
    call("replace_in_files", json!({ "path": workspace.path("one"), "old_string": "a", "new_string": "bcd" }));
    let after = workspace.get("one");
    assert!(after != before);
    call("undo", json!({ "any_session": true }));
    assert!(workspace.get("one") == before);
    call("undo", json!({ "any_session": true, "redo": true }));
    assert!(workspace.get("one") == after);
}

#[test]
fn missing_history_is_reported_before_the_change() {
    let workspace = TestWorkspace::with("a\n");
    let note = "note: Changes cannot be undone: without a state directory";
    let edit = |more: &[&str]| {
        let args = ["edit", "a.txt", "--old", "a", "--new", "b", "--state", "none"];
        workspace.run(&[&args, more].concat()).exits(0).err
    };
    assert!(!edit(&["--dry-run"]).contains(note));
    assert!(edit(&[]).starts_with(note));
    for more in [&["--unread", "allow"][..], &[]] {
        let mut write = json!({ "file_path": workspace.path("new"), "content": "c\n" });
        let call =
            |input: &Value| workspace.feed(&[&["call", "write", "--state", "none"], more].concat(), input.to_string());
        refused(call(&write), "no history is kept");
        assert!(!std::path::Path::new(&workspace.path("new")).exists());
        write["irreversible"] = true.into();
        call(&write).exits(0);
        fs::remove_file(workspace.path("new")).unwrap();
    }
    assert!(!workspace.run(&["read", "a.txt", "--state", "none"]).exits(0).err.contains(note));
}

/// Without a terminal on standard input there is nobody to ask.
#[test]
fn person_is_warned_before_the_change() {
    let workspace = large();
    let ran = workspace.feed(&["write", "one"], "small\n").exits(0);
    assert!(ran.err.starts_with("note: This cannot be undone: "), "{ran:?}");
    assert_eq!(workspace.get("one"), "small\n");
    // A change that can be undone has no such note.
    assert_eq!(workspace.feed(&["write", "one"], "smaller\n").exits(0).err, "");
    assert_eq!(workspace.run(&["undo"]).exits(0).err, "");
    assert_eq!(workspace.get("one"), "small\n");
}

#[test]
fn unwritable_history_is_reported_before_the_change() {
    let workspace = TestWorkspace::with("a\n");
    workspace.put("file", "");
    let state = workspace.path("file") + "/state";
    let command = |args: &[&str]| {
        let mut command = workspace.command(args);
        command.env("EMEND_STATE", &state);
        command
    };
    let input = json!({ "file_path": workspace.path("a.txt"), "old_string": "a", "new_string": "b" });
    let call = |tool: &str, input: &Value| json!({ "tool": tool, "input": input }).to_string();
    refused(feed(command(&["call", "edit", "--unread", "allow"]), input.to_string().as_bytes()), "cannot be undone");
    assert_eq!(workspace.get("a.txt"), "a\n");
    // A process that serves several calls can undo its own changes.
    let calls = call("edit", &input) + "\n" + &call("undo", &json!({}));
    let ran = feed(command(&["serve", "--ndjson", "--unread", "allow"]), calls.as_bytes()).exits(0);
    assert_eq!(ran.out.matches("\"ok\":true").count(), 2, "{ran:?}");
    assert_eq!(workspace.get("a.txt"), "a\n");
    let ran = feed(command(&["edit", "a.txt", "--old", "a", "--new", "b"]), b"").exits(0);
    assert!(ran.err.starts_with("note: This cannot be undone: "), "{ran:?}");
    assert_eq!(workspace.get("a.txt"), "b\n");
}
