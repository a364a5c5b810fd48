//! Tests `emend hook` with the events that Claude Code sends.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};

fn event(workspace: &TestWorkspace, tool: &str, name: &str, fields: Value) -> String {
    let mut input = fields;
    input["file_path"] = json!(workspace.path(name));
    json!({ "session_id": "s1", "cwd": workspace.work(), "tool_name": tool, "tool_input": input }).to_string()
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "old_string": old, "new_string": new, "replace_all": false, "something_new": 1 })
}

#[test]
fn edit_that_cannot_apply_is_denied_before_it_runs() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\ntwo\n");
    workspace.put("emend.toml", "[policy]\ndeny = ['Edit(b.txt)']\n");
    workspace.put("b.txt", "x\n");
    let pre = |event: String| workspace.feed(&["hook", "pre-tool-use"], event).exits(0).out;
    assert_eq!(pre(event(&workspace, "Edit", "a.txt", edit("two", "2"))), "");
    for (name, old, part) in [("a.txt", "three", "not found"), ("b.txt", "x", "Edit(b.txt)")] {
        let said: Value = serde_json::from_str(&pre(event(&workspace, "Edit", name, edit(old, "y")))).unwrap();
        let said = &said["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "deny");
        assert!(said["permissionDecisionReason"].as_str().unwrap().contains(part), "{said}");
    }
    assert_eq!(pre(event(&workspace, "Bash", "a.txt", json!({ "command": "ls" }))), "");
    assert_eq!(pre(event(&workspace, "Edit", "../elsewhere", edit("a", "b"))), "", "not ours");
    assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
    workspace.feed(&["hook", "pre-tool-use"], "no JSON").exits(2);
}

#[test]
fn reads_by_the_clients_tools_count() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\ntwo\n");
    let ours = ["edit", "a.txt", "--old", "two", "--new", "2", "--unread", "deny", "--session", "claude-s1"];
    workspace.run(&ours).exits(14);
    assert_eq!(
        workspace.feed(&["hook", "post-tool-use"], event(&workspace, "Read", "a.txt", json!({}))).exits(0).out,
        ""
    );
    workspace.run(&ours).exits(0);
    workspace.put("a.txt", "one\nthree\n");
    workspace.feed(&["hook", "post-tool-use"], event(&workspace, "Edit", "a.txt", edit("2", "three"))).exits(0);
    workspace
        .run(&["edit", "a.txt", "--old", "three", "--new", "3", "--unread", "deny", "--session", "claude-s1"])
        .exits(0);
    assert_eq!(workspace.get("a.txt"), "one\n3\n");
}

#[test]
fn file_that_the_client_creates_is_recorded_with_its_creation() {
    let workspace = TestWorkspace::new();
    let write = |name: &str, kind: &str| {
        let event = event(&workspace, "Write", name, json!({ "content": "new\n" }));
        let mut event: Value = serde_json::from_str(&event).unwrap();
        workspace.feed(&["hook", "pre-tool-use"], event.to_string()).exits(0);
        workspace.put(name, "new\n");
        event["tool_response"] = json!({ "type": kind, "filePath": workspace.path(name) });
        workspace.feed(&["hook", "post-tool-use"], event.to_string()).exits(0);
    };
    let operations = || workspace.run(&["history", "--json"]).exits(0).json()["data"]["operations"].clone();
    write("new.txt", "create");
    assert_eq!(operations()[0]["files"][0]["type"], "create");
    // A later change of it is recorded once, and a file that existed before is not recorded as created.
    write("new.txt", "create");
    workspace.put("old.txt", "old\n");
    write("old.txt", "update");
    let all = operations();
    assert_eq!((all.as_array().unwrap().len(), &all[0]["files"][0]["type"]), (2, &json!("update")));
    let first = all[1]["id"].as_str().unwrap();
    workspace.run(&["undo", first]).exits(0);
    assert!(!workspace.work().join("new.txt").exists());
}

/// Returns the hook's decision on an event with its reason, or nothing.
fn decided(workspace: &TestWorkspace, event: String) -> Option<(String, String)> {
    let out = workspace.feed(&["hook", "pre-tool-use"], event).exits(0).out;
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
    let workspace = TestWorkspace::new();
    let own = "[policy]\nask = ['Edit(a.txt)', 'Write(**/*.md)']\ndeny = ['Write(gen/**)']\n\n\
        [[hooks]]\non = 'before_edit'\nfiles = 'b.txt'\ncommand = ['sh', '-c', 'echo \"{\\\"decision\\\": \\\"ask\\\", \\\"reason\\\": \\\"look first\\\"}\"']\n";
    workspace.put("../home/.config/emendate/config.toml", own);
    for name in ["a.txt", "b.txt", "c.txt", "old.md"] {
        workspace.put(name, "one\ntwo\n");
    }
    let ask = |event: String, part: &str| {
        let (decision, reason) = decided(&workspace, event).unwrap();
        assert_eq!(decision, "ask", "{reason}");
        assert!(reason.contains(part), "{reason}");
    };
    ask(event(&workspace, "Edit", "a.txt", edit("two", "2")), "Edit(a.txt)");
    ask(event(&workspace, "Edit", "b.txt", edit("two", "2")), "look first");
    ask(event(&workspace, "Write", "NEW.md", content("# New\n")), "Write(**/*.md)");
    assert_eq!(decided(&workspace, event(&workspace, "Edit", "c.txt", edit("two", "2"))), None);
    // The rule applies only to new files.
    assert_eq!(decided(&workspace, event(&workspace, "Edit", "old.md", edit("two", "2"))), None);
    assert_eq!(decided(&workspace, event(&workspace, "Write", "gen/x.txt", content("x\n"))).unwrap().0, "deny");
    // An edit that cannot be applied is refused without a question.
    assert_eq!(decided(&workspace, event(&workspace, "Edit", "a.txt", edit("three", "3"))).unwrap().0, "deny");
}

#[test]
fn edits_that_the_clients_own_tool_can_make_are_not_denied() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "say \u{201c}foo\u{201d}\nhe\u{2019}s here\n");
    for (old, new) in [("\"foo\"", "\"bar\""), ("e's", "e is"), ("say \"foo\"\nhe's here", "x")] {
        assert_eq!(decided(&workspace, event(&workspace, "Edit", "a.txt", edit(old, new))), None, "{old}");
    }
}

#[test]
fn documentation_is_refused_if_configured() {
    let workspace = TestWorkspace::new();
    workspace.put("emend.toml", "[policy]\ndocumentation = 'deny'\n");
    let (decision, reason) = decided(&workspace, event(&workspace, "Write", "NEW.md", content("# New\n"))).unwrap();
    assert_eq!(decision, "deny");
    assert!(reason.contains("Write(**/*.md)"), "{reason}");
    assert_eq!(decided(&workspace, event(&workspace, "Write", "new.rs", content("fn a() {}\n"))), None);
}

#[test]
fn notebook_edits_are_checked_first_and_count_as_reads() {
    let workspace = TestWorkspace::new();
    let cell = json!({ "cell_type": "code", "id": "one", "metadata": {}, "source": ["x = 1"], "outputs": [], "execution_count": null });
    let notebook = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    workspace.put("n.ipynb", notebook.to_string());
    let event = |id: &str| {
        let input = json!({ "notebook_path": workspace.path("n.ipynb"), "cell_id": id, "new_source": "x = 2" });
        json!({ "session_id": "s1", "cwd": workspace.work(), "tool_name": "NotebookEdit", "tool_input": input })
            .to_string()
    };
    assert_eq!(decided(&workspace, event("one")), None);
    assert_eq!(decided(&workspace, event("none")).unwrap().0, "deny");
    workspace.feed(&["hook", "post-tool-use"], event("one")).exits(0);
    let call = json!({ "notebook_path": workspace.path("n.ipynb"), "cell_id": "one", "new_source": "x = 3" });
    workspace.feed(&["call", "notebook_edit", "--session", "claude-s1"], call.to_string()).exits(0);
}

#[test]
fn text_that_only_the_engine_would_write_as_meant_is_denied() {
    let workspace = TestWorkspace::new();
    let file =
        "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n";
    workspace.put("a.py", file);
    workspace.feed(&["hook", "post-tool-use"], event(&workspace, "Read", "a.py", json!({}))).exits(0);
    let whole = |text: &str| decided(&workspace, event(&workspace, "Write", "a.py", json!({ "content": text })));
    let lazy = file.replace("return 1", "return 11").replace("def two():\n    return 2\n", "# ... existing code ...\n");
    let numbered: String = (1..).zip(file.lines()).map(|(at, line)| format!("{at:>6}\t{line}\n")).collect();
    for text in [lazy, numbered.replace("return 1", "return 11"), format!("```python\n{file}x = 1\n```\n")] {
        let (decision, reason) = whole(&text).unwrap();
        assert!(decision == "deny" && reason.contains("Write would write this text as it is"), "{reason}");
    }
    let (decision, reason) =
        decided(&workspace, event(&workspace, "Edit", "a.py", edit("    return 1\n", "     5\t    return 11\n")))
            .unwrap();
    assert!(decision == "deny" && reason.contains("line numbers"), "{reason}");
    let partly = edit("def one():\n", "     4\tdef one():\n    \"\"\"One.\"\"\"\n");
    let (decision, reason) = decided(&workspace, event(&workspace, "Edit", "a.py", partly)).unwrap();
    assert!(decision == "deny" && reason.contains("a line number"), "{reason}");
    let numbered_file = json!({ "content": "     1\tx = 1\n     2\ty = 2\n" });
    let (decision, reason) = decided(&workspace, event(&workspace, "Write", "new.py", numbered_file)).unwrap();
    assert!(decision == "deny" && reason.contains("a line number"), "{reason}");
    let (decision, reason) = whole("import os\n\n\n# etc.\n").unwrap();
    assert!(decision == "deny" && !reason.contains("existing code"), "{reason}");
    assert_eq!(whole(&file.replace("return 1", "return 11")), None);
    assert_eq!(decided(&workspace, event(&workspace, "Edit", "a.py", edit("    return 1\n", "    return 11\n"))), None);
}

#[test]
fn edits_by_the_clients_own_tools_are_recorded() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\ntwo\n");
    let call = || event(&workspace, "Edit", "a.txt", edit("two", "2"));
    assert_eq!(decided(&workspace, call()), None);
    // The hook's own read of the file does not count as a read by the model.
    let ours = ["edit", "a.txt", "--old", "two", "--new", "II", "--unread", "deny", "--session", "claude-s1"];
    workspace.run(&ours).exits(14);
    workspace.put("a.txt", "one\n2\n");
    workspace.feed(&["hook", "post-tool-use"], call()).exits(0);
    let history = workspace.run(&["history"]).exits(0).out;
    assert!(history.contains("a.txt") && history.lines().count() == 1, "{history}");
    workspace.run(&["undo", "1"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
}

#[test]
fn events_of_gemini_cli_are_understood() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\ntwo\n");
    let own = "../home/.config/emendate/config.toml";
    workspace.put(own, "[history]\noutside = 'snapshots'\n");
    let event = |tool: &str, input: Value| {
        json!({ "session_id": "g1", "cwd": workspace.work(), "hook_event_name": "x", "tool_name": tool, "tool_input": input })
            .to_string()
    };
    let hook =
        |moment: &str, event: String| workspace.feed(&["hook", moment, "--client", "gemini-cli"], event).exits(0).out;
    let ours = ["edit", "a.txt", "--old", "two", "--new", "2", "--unread", "deny", "--session", "gemini-g1"];
    workspace.run(&ours).exits(14);
    hook("user-prompt-submit", event("", json!({})));
    assert_eq!(hook("post-tool-use", event("read_file", json!({ "file_path": workspace.path("a.txt") }))), "");
    workspace.run(&ours).exits(0);
    let edit = json!({ "file_path": workspace.path("a.txt"), "old_string": "three", "new_string": "3", "allow_multiple": true });
    let said: Value = serde_json::from_str(&hook("pre-tool-use", event("replace", edit))).unwrap();
    assert_eq!(said["decision"], "deny");
    assert!(said["reason"].as_str().unwrap().contains("not found"), "{said}");
    hook("pre-tool-use", event("run_shell_command", json!({ "command": "x" })));
    workspace.put("b.txt", "from the shell\n");
    hook("post-tool-use", event("run_shell_command", json!({ "command": "x" })));
    let history = workspace.run(&["history", "--json"]).exits(0).out;
    assert!(history.contains("during a shell command of gemini-g1"), "{history}");
    // A rule that asks is shown to the person, whom Gemini CLI asks itself.
    workspace.put(own, "[policy]\nask = ['Edit(a.txt)']\n");
    let edit = json!({ "file_path": workspace.path("a.txt"), "old_string": "one", "new_string": "1" });
    let said: Value = serde_json::from_str(&hook("pre-tool-use", event("replace", edit))).unwrap();
    assert!(said["decision"].is_null() && said["systemMessage"].as_str().unwrap().contains("Edit(a.txt)"), "{said}");
}

#[test]
fn conversations_of_other_clients_have_sessions_of_their_own() {
    let workspace = TestWorkspace::with("one\n");
    for (client, session) in [("codex", "codex-s1"), ("opencode", "opencode-s1"), ("pi", "pi-s1")] {
        let read = event(&workspace, "Read", "a.txt", json!({}));
        workspace.feed(&["hook", "post-tool-use", "--client", client], read).exits(0);
        let edit = ["edit", "a.txt", "--old", "one", "--new", "two", "--unread", "deny", "--dry-run", "--session"];
        workspace.run(&[&edit[..], &[session]].concat()).exits(0);
    }
    workspace.run(&["hook", "session-start", "--client", "emacs"]).exits(2);
}

#[test]
fn names_with_line_ends_and_backslashes_are_those_of_files() {
    let workspace = TestWorkspace::new();
    workspace.put("emend.toml", "[policy]\ndeny = ['Edit(secret.txt)']\n");
    workspace.put("secret.txt", "one\n");
    workspace.put("x\ny\u{202e}.txt", "one\n");
    workspace.put("t\\b.txt", "one\n");
    std::os::unix::fs::symlink("secret.txt", workspace.path("a\nb")).unwrap();
    let write = |name: &str| decided(&workspace, event(&workspace, "Write", name, content("x\n")));
    assert_eq!(write("a\nb").unwrap().0, "deny", "a link to a file that must not change");
    let undo = || {
        let history = workspace.run(&["history", "--json"]).exits(0).json();
        workspace.run(&["undo", history["data"]["operations"][0]["id"].as_str().unwrap()]).exits(0);
    };
    for name in ["x\ny\u{202e}.txt", "t\\b.txt"] {
        let call = || event(&workspace, "Edit", name, edit("one", "two"));
        assert_eq!(decided(&workspace, call()), None, "{name:?}");
        workspace.put(name, "two\n");
        workspace.feed(&["hook", "post-tool-use"], call()).exits(0);
        undo();
        assert_eq!(workspace.get(name), "one\n");
        // A deletion.
        decided(&workspace, call());
        std::fs::remove_file(workspace.path(name)).unwrap();
        workspace.feed(&["hook", "post-tool-use"], call()).exits(0);
        undo();
        assert_eq!(workspace.get(name), "one\n");
    }
}

#[test]
fn failures_stop_edits_and_nothing_else() {
    let workspace = TestWorkspace::new();
    workspace.put("a.txt", "one\n");
    let prompt = json!({ "session_id": "s1", "cwd": workspace.work(), "prompt": "hi" }).to_string();
    let bash = event(&workspace, "Bash", "a.txt", json!({ "command": "ls" }));
    let read = event(&workspace, "Read", "a.txt", json!({}));
    // Texts that JavaScript cut within a character are read.
    let half =
        |event: &str| event.replace("\"session_id\"", "\"cut\":\"\\\\ud83d \\ud83d\\ude00 \\ud83d\",\"session_id\"");
    workspace.feed(&["hook", "user-prompt-submit"], half(&prompt)).exits(0);
    workspace.feed(&["hook", "pre-tool-use"], half(&bash)).exits(0);
    assert_eq!(decided(&workspace, half(&event(&workspace, "Edit", "a.txt", edit("two", "2")))).unwrap().0, "deny");
    workspace.feed(&["hook", "post-tool-use"], half(&read)).exits(0);
    let ours =
        ["edit", "a.txt", "--old", "one", "--new", "1", "--unread", "deny", "--session", "claude-s1", "--dry-run"];
    workspace.run(&ours).exits(0);
    // What cannot be parsed.
    for moment in ["user-prompt-submit", "post-tool-use", "session-start"] {
        let ran = workspace.feed(&["--quiet", "hook", moment], "{\"prompt\": ").exits(0);
        assert!(ran.out.is_empty() && ran.err.contains("not JSON"), "{ran:?}");
    }
    workspace.feed(&["hook", "pre-tool-use"], "{\"tool_name\": ").exits(2);
    // A configuration that cannot be used.
    workspace.put("../home/.config/emendate/config.toml", "[policy]\nnonsense = 1\n");
    for (moment, event) in [("user-prompt-submit", &prompt), ("pre-tool-use", &bash), ("post-tool-use", &read)] {
        let ran = workspace.feed(&["--quiet", "hook", moment], event).exits(0);
        assert!(ran.out.is_empty() && ran.err.contains("nonsense"), "{moment}: {ran:?}");
    }
    let (decision, reason) = decided(&workspace, event(&workspace, "Edit", "a.txt", edit("one", "1"))).unwrap();
    assert!(decision == "deny" && reason.contains("nonsense"), "{reason}");
}
