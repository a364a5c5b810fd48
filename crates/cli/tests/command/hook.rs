//! Tests `emend hook` with the events that Claude Code sends.

use crate::bed::Bed;
use serde_json::{Value, json};

fn event(bed: &Bed, tool: &str, name: &str, fields: Value) -> String {
    let mut input = fields;
    input["file_path"] = json!(bed.path(name));
    json!({ "session_id": "s1", "cwd": bed.work(), "tool_name": tool, "tool_input": input }).to_string()
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "old_string": old, "new_string": new, "replace_all": false, "something_new": 1 })
}

#[test]
fn edit_that_cannot_apply_is_denied_before_it_runs() {
    let bed = Bed::new();
    bed.put("a.txt", "one\ntwo\n");
    bed.put("emend.toml", "[policy]\ndeny = ['Edit(b.txt)']\n");
    bed.put("b.txt", "x\n");
    let pre = |event: String| bed.feed(&["hook", "pre-tool-use"], event).exits(0).out;
    assert_eq!(pre(event(&bed, "Edit", "a.txt", edit("two", "2"))), "");
    for (name, old, part) in [("a.txt", "three", "not found"), ("b.txt", "x", "Edit(b.txt)")] {
        let said: Value = serde_json::from_str(&pre(event(&bed, "Edit", name, edit(old, "y")))).unwrap();
        let said = &said["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "deny");
        assert!(said["permissionDecisionReason"].as_str().unwrap().contains(part), "{said}");
    }
    assert_eq!(pre(event(&bed, "Bash", "a.txt", json!({ "command": "ls" }))), "");
    assert_eq!(pre(event(&bed, "Edit", "../elsewhere", edit("a", "b"))), "", "not ours");
    assert_eq!(bed.get("a.txt"), "one\ntwo\n");
    bed.feed(&["hook", "pre-tool-use"], "no JSON").exits(2);
}

#[test]
fn reads_by_the_clients_tools_count() {
    let bed = Bed::new();
    bed.put("a.txt", "one\ntwo\n");
    let ours = ["edit", "a.txt", "--old", "two", "--new", "2", "--unread", "deny", "--session", "claude-s1"];
    bed.run(&ours).exits(14);
    assert_eq!(bed.feed(&["hook", "post-tool-use"], event(&bed, "Read", "a.txt", json!({}))).exits(0).out, "");
    bed.run(&ours).exits(0);
    bed.put("a.txt", "one\nthree\n");
    bed.feed(&["hook", "post-tool-use"], event(&bed, "Edit", "a.txt", edit("2", "three"))).exits(0);
    bed.run(&["edit", "a.txt", "--old", "three", "--new", "3", "--unread", "deny", "--session", "claude-s1"]).exits(0);
    assert_eq!(bed.get("a.txt"), "one\n3\n");
}

#[test]
fn file_that_the_client_creates_is_recorded_with_its_creation() {
    let bed = Bed::new();
    let write = |name: &str, kind: &str| {
        let event = event(&bed, "Write", name, json!({ "content": "new\n" }));
        let mut event: Value = serde_json::from_str(&event).unwrap();
        bed.feed(&["hook", "pre-tool-use"], event.to_string()).exits(0);
        bed.put(name, "new\n");
        event["tool_response"] = json!({ "type": kind, "filePath": bed.path(name) });
        bed.feed(&["hook", "post-tool-use"], event.to_string()).exits(0);
    };
    let operations = || bed.run(&["history", "--json"]).exits(0).json()["data"]["operations"].clone();
    write("new.txt", "create");
    assert_eq!(operations()[0]["files"][0]["type"], "create");
    // A later change of it is recorded once, and a file that existed before is not recorded as created.
    write("new.txt", "create");
    bed.put("old.txt", "old\n");
    write("old.txt", "update");
    let all = operations();
    assert_eq!((all.as_array().unwrap().len(), &all[0]["files"][0]["type"]), (2, &json!("update")));
    let first = all[1]["id"].as_str().unwrap();
    bed.run(&["undo", first]).exits(0);
    assert!(!bed.work().join("new.txt").exists());
}

/// Returns the hook's decision on an event with its reason, or nothing.
fn decided(bed: &Bed, event: String) -> Option<(String, String)> {
    let out = bed.feed(&["hook", "pre-tool-use"], event).exits(0).out;
    if out.is_empty() {
        return None;
    }
    let said: Value = serde_json::from_str(&out).unwrap();
    let said = &said["hookSpecificOutput"];
    let text = |name: &str| said[name].as_str().unwrap().to_owned();
    Some((text("permissionDecision"), text("permissionDecisionReason")))
}

fn content(text: &str) -> Value {
    json!({ "content": text })
}

#[test]
fn ask_rules_are_passed_to_the_client() {
    let bed = Bed::new();
    let own = "[policy]\nask = ['Edit(a.txt)', 'Write(**/*.md)']\ndeny = ['Write(gen/**)']\n\n\
        [[hooks]]\non = 'before_edit'\nfiles = 'b.txt'\ncommand = ['sh', '-c', 'echo \"{\\\"decision\\\": \\\"ask\\\", \\\"reason\\\": \\\"look first\\\"}\"']\n";
    bed.put("../home/.config/emendate/config.toml", own);
    for name in ["a.txt", "b.txt", "c.txt", "old.md"] {
        bed.put(name, "one\ntwo\n");
    }
    let ask = |event: String, part: &str| {
        let (decision, reason) = decided(&bed, event).unwrap();
        assert_eq!(decision, "ask", "{reason}");
        assert!(reason.contains(part), "{reason}");
    };
    ask(event(&bed, "Edit", "a.txt", edit("two", "2")), "Edit(a.txt)");
    ask(event(&bed, "Edit", "b.txt", edit("two", "2")), "look first");
    ask(event(&bed, "Write", "NEW.md", content("# New\n")), "Write(**/*.md)");
    assert_eq!(decided(&bed, event(&bed, "Edit", "c.txt", edit("two", "2"))), None);
    // The rule applies only to new files.
    assert_eq!(decided(&bed, event(&bed, "Edit", "old.md", edit("two", "2"))), None);
    assert_eq!(decided(&bed, event(&bed, "Write", "gen/x.txt", content("x\n"))).unwrap().0, "deny");
    // An edit that cannot be applied is refused without a question.
    assert_eq!(decided(&bed, event(&bed, "Edit", "a.txt", edit("three", "3"))).unwrap().0, "deny");
}

#[test]
fn edits_that_the_clients_own_tool_can_make_are_not_denied() {
    let bed = Bed::new();
    bed.put("a.txt", "say \u{201c}foo\u{201d}\nhe\u{2019}s here\n");
    for (old, new) in [("\"foo\"", "\"bar\""), ("e's", "e is"), ("say \"foo\"\nhe's here", "x")] {
        assert_eq!(decided(&bed, event(&bed, "Edit", "a.txt", edit(old, new))), None, "{old}");
    }
}

#[test]
fn documentation_is_refused_if_configured() {
    let bed = Bed::new();
    bed.put("emend.toml", "[policy]\ndocumentation = 'deny'\n");
    let (decision, reason) = decided(&bed, event(&bed, "Write", "NEW.md", content("# New\n"))).unwrap();
    assert_eq!(decision, "deny");
    assert!(reason.contains("Write(**/*.md)"), "{reason}");
    assert_eq!(decided(&bed, event(&bed, "Write", "new.rs", content("fn a() {}\n"))), None);
}

#[test]
fn notebook_edits_are_checked_first_and_count_as_reads() {
    let bed = Bed::new();
    let cell = json!({ "cell_type": "code", "id": "one", "metadata": {}, "source": ["x = 1"], "outputs": [], "execution_count": null });
    let notebook = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    bed.put("n.ipynb", notebook.to_string());
    let event = |id: &str| {
        let input = json!({ "notebook_path": bed.path("n.ipynb"), "cell_id": id, "new_source": "x = 2" });
        json!({ "session_id": "s1", "cwd": bed.work(), "tool_name": "NotebookEdit", "tool_input": input }).to_string()
    };
    assert_eq!(decided(&bed, event("one")), None);
    assert_eq!(decided(&bed, event("none")).unwrap().0, "deny");
    bed.feed(&["hook", "post-tool-use"], event("one")).exits(0);
    let call = json!({ "notebook_path": bed.path("n.ipynb"), "cell_id": "one", "new_source": "x = 3" });
    bed.feed(&["call", "notebook_edit", "--session", "claude-s1"], call.to_string()).exits(0);
}

#[test]
fn text_that_only_the_engine_would_write_as_meant_is_denied() {
    let bed = Bed::new();
    let file =
        "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n";
    bed.put("a.py", file);
    bed.feed(&["hook", "post-tool-use"], event(&bed, "Read", "a.py", json!({}))).exits(0);
    let whole = |text: &str| decided(&bed, event(&bed, "Write", "a.py", json!({ "content": text })));
    let lazy = file.replace("return 1", "return 11").replace("def two():\n    return 2\n", "# ... existing code ...\n");
    let numbered: String = (1..).zip(file.lines()).map(|(at, line)| format!("{at:>6}\t{line}\n")).collect();
    for text in [lazy, numbered.replace("return 1", "return 11"), format!("```python\n{file}x = 1\n```\n")] {
        let (decision, reason) = whole(&text).unwrap();
        assert!(decision == "deny" && reason.contains("Write would write this text as it is"), "{reason}");
    }
    let (decision, reason) =
        decided(&bed, event(&bed, "Edit", "a.py", edit("    return 1\n", "     5\t    return 11\n"))).unwrap();
    assert!(decision == "deny" && reason.contains("line numbers"), "{reason}");
    let partly = edit("def one():\n", "     4\tdef one():\n    \"\"\"One.\"\"\"\n");
    let (decision, reason) = decided(&bed, event(&bed, "Edit", "a.py", partly)).unwrap();
    assert!(decision == "deny" && reason.contains("a line number"), "{reason}");
    let numbered_file = json!({ "content": "     1\tx = 1\n     2\ty = 2\n" });
    let (decision, reason) = decided(&bed, event(&bed, "Write", "new.py", numbered_file)).unwrap();
    assert!(decision == "deny" && reason.contains("a line number"), "{reason}");
    let (decision, reason) = whole("import os\n\n\n# etc.\n").unwrap();
    assert!(decision == "deny" && !reason.contains("existing code"), "{reason}");
    assert_eq!(whole(&file.replace("return 1", "return 11")), None);
    assert_eq!(decided(&bed, event(&bed, "Edit", "a.py", edit("    return 1\n", "    return 11\n"))), None);
}

#[test]
fn edits_by_the_clients_own_tools_are_recorded() {
    let bed = Bed::new();
    bed.put("a.txt", "one\ntwo\n");
    let call = || event(&bed, "Edit", "a.txt", edit("two", "2"));
    assert_eq!(decided(&bed, call()), None);
    // The hook's own read of the file does not count as a read by the model.
    let ours = ["edit", "a.txt", "--old", "two", "--new", "II", "--unread", "deny", "--session", "claude-s1"];
    bed.run(&ours).exits(14);
    bed.put("a.txt", "one\n2\n");
    bed.feed(&["hook", "post-tool-use"], call()).exits(0);
    let history = bed.run(&["history"]).exits(0).out;
    assert!(history.contains("a.txt") && history.lines().count() == 1, "{history}");
    bed.run(&["undo", "1"]).exits(0);
    assert_eq!(bed.get("a.txt"), "one\ntwo\n");
}

#[test]
fn events_of_gemini_cli_are_understood() {
    let bed = Bed::new();
    bed.put("a.txt", "one\ntwo\n");
    let own = "../home/.config/emendate/config.toml";
    bed.put(own, "[history]\noutside = 'snapshots'\n");
    let event = |tool: &str, input: Value| {
        json!({ "session_id": "g1", "cwd": bed.work(), "hook_event_name": "x", "tool_name": tool, "tool_input": input })
            .to_string()
    };
    let hook = |moment: &str, event: String| bed.feed(&["hook", moment, "--client", "gemini-cli"], event).exits(0).out;
    let ours = ["edit", "a.txt", "--old", "two", "--new", "2", "--unread", "deny", "--session", "gemini-g1"];
    bed.run(&ours).exits(14);
    hook("user-prompt-submit", event("", json!({})));
    assert_eq!(hook("post-tool-use", event("read_file", json!({ "file_path": bed.path("a.txt") }))), "");
    bed.run(&ours).exits(0);
    let edit =
        json!({ "file_path": bed.path("a.txt"), "old_string": "three", "new_string": "3", "allow_multiple": true });
    let said: Value = serde_json::from_str(&hook("pre-tool-use", event("replace", edit))).unwrap();
    assert_eq!(said["decision"], "deny");
    assert!(said["reason"].as_str().unwrap().contains("not found"), "{said}");
    hook("pre-tool-use", event("run_shell_command", json!({ "command": "x" })));
    bed.put("b.txt", "from the shell\n");
    hook("post-tool-use", event("run_shell_command", json!({ "command": "x" })));
    let history = bed.run(&["history", "--json"]).exits(0).out;
    assert!(history.contains("during a shell command of gemini-g1"), "{history}");
    // A rule that asks is shown to the person, whom Gemini CLI asks itself.
    bed.put(own, "[policy]\nask = ['Edit(a.txt)']\n");
    let edit = json!({ "file_path": bed.path("a.txt"), "old_string": "one", "new_string": "1" });
    let said: Value = serde_json::from_str(&hook("pre-tool-use", event("replace", edit))).unwrap();
    assert!(said["decision"].is_null() && said["systemMessage"].as_str().unwrap().contains("Edit(a.txt)"), "{said}");
}

#[test]
fn conversations_of_other_clients_have_sessions_of_their_own() {
    let bed = Bed::with("one\n");
    for (client, session) in [("codex", "codex-s1"), ("opencode", "opencode-s1"), ("pi", "pi-s1")] {
        let read = event(&bed, "Read", "a.txt", json!({}));
        bed.feed(&["hook", "post-tool-use", "--client", client], read).exits(0);
        let edit = ["edit", "a.txt", "--old", "one", "--new", "two", "--unread", "deny", "--dry-run", "--session"];
        bed.run(&[&edit[..], &[session]].concat()).exits(0);
    }
    bed.run(&["hook", "session-start", "--client", "emacs"]).exits(2);
}
