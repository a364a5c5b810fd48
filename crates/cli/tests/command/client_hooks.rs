//! Tests `emend hook` with the events of Cursor, VS Code, Windsurf and Cline, as their documentation shows them, from the
//! directory in which each client runs its hooks.

use crate::workspace::{Ran, TestWorkspace, feed};
use serde_json::{Map, Value, json};
use std::fs;

/// A client that runs hooks in the user's home.
struct HookRunner<'w> {
    workspace: &'w TestWorkspace,
    client: &'static str,
    /// The directory in which the client runs them, below the test's.
    directory: &'static str,
    /// The fields of every event.
    usual: Value,
}

impl HookRunner<'_> {
    fn hook(&self, moment: &str, event: &Value) -> Ran {
        let directory = self.workspace.beside(self.directory);
        fs::create_dir_all(&directory).unwrap();
        let mut command = self.workspace.command(&["--quiet", "hook", moment, "--client", self.client]);
        command.current_dir(directory);
        let mut whole: Map<String, Value> = self.usual.as_object().unwrap().clone();
        whole.extend(event.as_object().unwrap().clone());
        feed(command, Value::Object(whole).to_string().as_bytes())
    }

    /// Returns the answer, of which Cursor and Cline expect one to every event.
    fn answer(&self, moment: &str, event: &Value) -> Value {
        self.hook(moment, event).exits(0).json()
    }
}

fn with_files() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put("src/main.ts", "one\ntwo\n");
    workspace.put("emend.toml", "[policy]\ndeny = ['Edit(secret.txt)']\n");
    workspace.put("secret.txt", "x\n");
    workspace.put("../home/.config/emendate/config.toml", "[policy]\nask = ['Edit(asked.txt)']\n");
    workspace.put("asked.txt", "x\n");
    workspace
}

/// The kinds of the changes in the history, the newest first.
fn history(workspace: &TestWorkspace) -> Vec<String> {
    let history = workspace.run(&["history", "--json"]).exits(0).json();
    let operations = history["data"]["operations"].as_array().unwrap().clone();
    let kind = |operation: &Value| operation["files"][0]["type"].as_str().unwrap_or_default().to_owned();
    operations.iter().map(kind).collect()
}

/// Undoes the operation at that place of the history.
fn undo(workspace: &TestWorkspace, nth: usize) {
    let history = workspace.run(&["history", "--json"]).exits(0).json();
    workspace.run(&["undo", history["data"]["operations"][nth]["id"].as_str().unwrap()]).exits(0);
}

/// Asserts that a session has read a file, and that another one has not.
fn assert_read(workspace: &TestWorkspace, session: &str, name: &str, old: &str) {
    let edit = ["edit", name, "--old", old, "--new", "x", "--unread", "deny", "--dry-run", "--session"];
    workspace.run(&[&edit[..], &["somebody"]].concat()).exits(14);
    workspace.run(&[&edit[..], &[session]].concat()).exits(0);
}

fn cursor(workspace: &TestWorkspace) -> HookRunner<'_> {
    let usual = json!({
        "conversation_id": "c1", "generation_id": "g1", "model": "m", "model_id": "m", "cursor_version": "1.7.2",
        "workspace_roots": [workspace.work()], "user_email": null, "transcript_path": null,
    });
    HookRunner { workspace, client: "cursor", directory: "home/.cursor", usual }
}

#[test]
fn edits_of_cursor_are_in_the_history() {
    let workspace = with_files();
    let cursor = cursor(&workspace);
    let start = json!({ "hook_event_name": "sessionStart", "session_id": "c1", "is_background_agent": false, "composer_mode": "agent" });
    assert_eq!(cursor.answer("session-start", &start), json!({}));
    let prompt = json!({ "hook_event_name": "beforeSubmitPrompt", "prompt": "edit", "attachments": [] });
    assert_eq!(cursor.answer("user-prompt-submit", &prompt), json!({ "continue": true }));
    let file = workspace.path("src/main.ts");
    let use_of = |event: &str, tool: &str, input: Value| json!({ "hook_event_name": event, "tool_name": tool, "tool_input": input, "tool_use_id": "abc123", "cwd": workspace.work() });
    let read = use_of("postToolUse", "Read", json!({ "file_path": file }));
    assert_eq!(cursor.answer("post-tool-use", &read), json!({}));
    assert_read(&workspace, "cursor-c1", "src/main.ts", "two");
    let write = |file: &str| use_of("preToolUse", "Write", json!({ "file_path": file, "content": "anything" }));
    assert_eq!(cursor.answer("pre-tool-use", &write(&file)), json!({}));
    workspace.put("src/main.ts", "one\n2\n");
    let edited = |file: &str, old: &str, new: &str| json!({ "hook_event_name": "afterFileEdit", "file_path": file, "edits": [{ "old_string": old, "new_string": new }] });
    assert_eq!(cursor.answer("post-tool-use", &edited(&file, "two", "2")), json!({}));
    assert_eq!(history(&workspace), ["update"]);
    // A file that was missing before is created; undoing that removes it.
    let new = workspace.path("src/new.ts");
    cursor.answer("pre-tool-use", &write(&new));
    workspace.put("src/new.ts", "new\n");
    cursor.answer("post-tool-use", &edited(&new, "", "new\n"));
    assert_eq!(history(&workspace), ["create", "update"]);
    undo(&workspace, 0);
    undo(&workspace, 2);
    assert!(!workspace.work().join("src/new.ts").exists());
    assert_eq!(workspace.get("src/main.ts"), "one\ntwo\n");
    // A deletion.
    cursor.answer("pre-tool-use", &use_of("preToolUse", "Delete", json!({ "path": file })));
    fs::remove_file(&file).unwrap();
    cursor.answer("post-tool-use", &use_of("postToolUse", "Delete", json!({ "path": file })));
    assert_eq!(history(&workspace)[0], "delete");
}

#[test]
fn rules_about_files_hold_for_cursor() {
    let workspace = with_files();
    let cursor = cursor(&workspace);
    let write = |name: &str| {
        let input = json!({ "file_path": workspace.path(name) });
        cursor.answer(
            "pre-tool-use",
            &json!({ "hook_event_name": "preToolUse", "tool_name": "Write", "tool_input": input }),
        )
    };
    let denied = write("secret.txt");
    assert_eq!(denied["permission"], "deny");
    assert!(denied["agent_message"].as_str().unwrap().contains("Edit(secret.txt)"), "{denied}");
    let asked = write("asked.txt");
    assert!(
        asked["permission"] == "ask" && asked["user_message"].as_str().unwrap().contains("Edit(asked.txt)"),
        "{asked}"
    );
    assert_eq!(write("../elsewhere.txt"), json!({}), "not ours");
    // The example of the documentation: a command of the shell, and a root that does not exist here.
    let shell = json!({
        "tool_name": "Shell", "tool_input": { "command": "npm install", "working_directory": "/project" },
        "tool_use_id": "abc123", "cwd": "/project", "model": "claude-opus-4-7-thinking-max",
        "agent_message": "Installing dependencies...", "workspace_roots": ["/project"],
    });
    assert_eq!(cursor.answer("pre-tool-use", &shell), json!({}));
    assert_eq!(cursor.answer("pre-tool-use", &json!({ "tool_name": "Grep", "tool_input": {} })), json!({}));
}

#[test]
fn edits_of_vscode_are_in_the_history() {
    let workspace = with_files();
    let usual = json!({
        "timestamp": "2026-02-09T10:30:00.000Z", "cwd": workspace.work(), "sessionId": "v1",
        "hookEventName": "PreToolUse", "transcript_path": "/path/to/transcript.json",
    });
    let vscode = HookRunner { workspace: &workspace, client: "vscode", directory: "home", usual };
    let use_of =
        |tool: &str, input: Value| json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "tool-123" });
    let consents = |moment: &str, event: &Value| assert_eq!(vscode.hook(moment, event).exits(0).out, "", "{event}");
    consents("session-start", &json!({ "source": "new" }));
    consents("user-prompt-submit", &json!({ "prompt": "edit" }));
    consents(
        "post-tool-use",
        &use_of("read_file", json!({ "filePath": workspace.path("src/main.ts"), "startLine": 1, "endLine": 2 })),
    );
    assert_read(&workspace, "vscode-v1", "src/main.ts", "two");
    // The example of the documentation.
    let mut edit = use_of("editFiles", json!({ "files": ["src/main.ts"] }));
    consents("pre-tool-use", &edit);
    workspace.put("src/main.ts", "one\n2\n");
    edit["tool_response"] = "File edited successfully".into();
    consents("post-tool-use", &edit);
    assert_eq!(history(&workspace), ["update"]);
    let replace = |old: &str| {
        let input = json!({ "filePath": workspace.path("src/main.ts"), "oldString": old, "newString": "II" });
        use_of("replace_string_in_file", input)
    };
    consents("pre-tool-use", &replace("2"));
    let refused = |event: &Value, part: &str| {
        let said = vscode.hook("pre-tool-use", event).exits(0).json();
        let said = &said["hookSpecificOutput"];
        assert!(said["hookEventName"] == "PreToolUse" && said["permissionDecision"] == "deny", "{said}");
        assert!(said["permissionDecisionReason"].as_str().unwrap().contains(part), "{said}");
    };
    refused(&replace("three"), "not found");
    refused(&use_of("editFiles", json!({ "files": ["src/main.ts", "secret.txt"] })), "Edit(secret.txt)");
    let several = |old: &str| {
        let replacement =
            |name: &str, old: &str| json!({ "filePath": workspace.path(name), "oldString": old, "newString": "y" });
        let all =
            json!([replacement("src/main.ts", "one"), replacement("asked.txt", "x"), replacement("src/main.ts", old)]);
        use_of("multi_replace_string_in_file", json!({ "explanation": "", "replacements": all }))
    };
    refused(&several("three"), "not found");
    let asked = vscode.hook("pre-tool-use", &several("2")).exits(0).json();
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask", "{asked}");
    // A patch with two files, one of them new.
    let main = workspace.path("src/main.ts");
    let text =
        format!("*** Begin Patch\n*** Update File: {main}\n@@\n-2\n+II\n*** Add File: {main}x\n+new\n*** End Patch");
    let patch = use_of("apply_patch", json!({ "input": text, "explanation": "" }));
    consents("pre-tool-use", &patch);
    workspace.put("src/main.ts", "one\nII\n");
    workspace.put("src/main.tsx", "new\n");
    consents("post-tool-use", &patch);
    assert_eq!(history(&workspace).len(), 3);
    assert!(history(&workspace).contains(&"create".to_owned()));
    refused(&use_of("apply_patch", json!({ "input": text })), "");
}

#[test]
fn edits_of_windsurf_are_in_the_history() {
    let workspace = with_files();
    let usual = json!({ "trajectory_id": "w1", "execution_id": "e1", "timestamp": "2026-02-09T10:30:00Z" });
    let windsurf = HookRunner { workspace: &workspace, client: "windsurf", directory: "work", usual };
    let action = |name: &str, info: Value| json!({ "agent_action_name": name, "tool_info": info });
    let consents = |moment: &str, event: &Value| {
        let ran = windsurf.hook(moment, event).exits(0);
        assert!(ran.out.is_empty() && ran.err.is_empty(), "{ran:?}");
    };
    consents(
        "user-prompt-submit",
        &action("pre_user_prompt", json!({ "user_prompt": "can you run the echo hello command" })),
    );
    let file = workspace.path("src/main.ts");
    consents("post-tool-use", &action("post_read_code", json!({ "file_path": file })));
    consents("post-tool-use", &action("post_read_code", json!({ "file_path": workspace.path("src") })));
    assert_read(&workspace, "windsurf-w1", "src/main.ts", "two");
    let edits = json!([{ "old_string": "import os", "new_string": "import os\nimport sys" }]);
    consents("pre-tool-use", &action("pre_write_code", json!({ "file_path": file, "edits": edits })));
    workspace.put("src/main.ts", "one\n2\n");
    consents("post-tool-use", &action("post_write_code", json!({ "file_path": file, "edits": edits })));
    assert_eq!(history(&workspace), ["update"]);
    let command = json!({ "command_line": "npm install package-name", "cwd": "/Users/yourname/project" });
    consents("pre-tool-use", &action("pre_run_command", command));
    // It blocks on exit status 2, with the reason for the model on standard error, and has no question.
    let denied =
        windsurf.hook("pre-tool-use", &action("pre_write_code", json!({ "file_path": workspace.path("secret.txt") })));
    let denied = denied.exits(2);
    assert!(denied.err.contains("Edit(secret.txt)") && denied.out.is_empty(), "{denied:?}");
    consents("pre-tool-use", &action("pre_write_code", json!({ "file_path": workspace.path("asked.txt") })));
}

#[test]
fn edits_of_cline_are_in_the_history() {
    let workspace = with_files();
    let usual = json!({
        "clineVersion": "3.17.0", "timestamp": "1736654400000", "taskId": "t1", "workspaceRoots": [workspace.work()], "userId": "u",
    });
    let cline = HookRunner { workspace: &workspace, client: "cline", directory: "home", usual };
    let consent = json!({ "cancel": false });
    let event =
        |phase: &str, tool: &str, parameters: Value| json!({ phase: { "toolName": tool, "parameters": parameters } });
    assert_eq!(
        cline.answer("session-start", &json!({ "taskStart": { "task": "Add authentication to the API" } })),
        consent
    );
    assert_eq!(cline.answer("user-prompt-submit", &json!({ "userPromptSubmit": { "prompt": "edit" } })), consent);
    let file = json!({ "path": "src/main.ts" });
    assert_eq!(cline.answer("post-tool-use", &event("postToolUse", "read_file", file.clone())), consent);
    assert_read(&workspace, "cline-t1", "src/main.ts", "two");
    let replace = json!({ "path": "src/main.ts", "diff": "------- SEARCH\ntwo\n=======\n2\n+++++++ REPLACE\n" });
    assert_eq!(cline.answer("pre-tool-use", &event("preToolUse", "replace_in_file", replace.clone())), consent);
    workspace.put("src/main.ts", "one\n2\n");
    assert_eq!(cline.answer("post-tool-use", &event("postToolUse", "replace_in_file", replace)), consent);
    assert_eq!(history(&workspace), ["update"]);
    let absent = json!({ "path": "src/main.ts", "diff": "------- SEARCH\nthree\n=======\n3\n+++++++ REPLACE\n" });
    let told = cline.answer("pre-tool-use", &event("preToolUse", "replace_in_file", absent));
    assert!(told["cancel"] == false && told["contextModification"].as_str().unwrap().contains("not found"), "{told}");
    let secret = json!({ "path": "secret.txt", "diff": "" });
    assert_eq!(cline.answer("pre-tool-use", &event("preToolUse", "replace_in_file", secret))["cancel"], true);
    // The form of the page on hooks, which calls two fields otherwise.
    let parameters = json!({ "path": "src/config.ts", "content": "export const a = 1;\n" });
    let mut write = json!({ "workspacePath": workspace.work(), "preToolUse": { "tool": "write_to_file", "parameters": parameters } });
    write["workspaceRoots"] = Value::Null;
    assert_eq!(cline.answer("pre-tool-use", &write), consent);
    workspace.put("src/config.ts", "export const a = 1;\n");
    write["postToolUse"] = write["preToolUse"].take();
    write.as_object_mut().unwrap().remove("preToolUse");
    assert_eq!(cline.answer("post-tool-use", &write), consent);
    assert_eq!(history(&workspace), ["create", "update"]);
    // A denial by a rule ends the task; an edit that would fail does not.
    let secret = json!({ "path": "secret.txt", "content": "y\n" });
    let denied = cline.answer("pre-tool-use", &event("preToolUse", "write_to_file", secret));
    assert!(
        denied["cancel"] == true && denied["errorMessage"].as_str().unwrap().contains("Edit(secret.txt)"),
        "{denied}"
    );
    let patch = json!({ "input": "*** Begin Patch\n*** Update File: src/main.ts\n@@\n-three\n+3\n*** End Patch" });
    let told = cline.answer("pre-tool-use", &event("preToolUse", "apply_patch", patch));
    assert!(
        told["cancel"] == false && told["contextModification"].as_str().unwrap().contains("The old lines"),
        "{told}"
    );
    let asked = json!({ "path": "asked.txt", "content": "y\n" });
    assert_eq!(cline.answer("pre-tool-use", &event("preToolUse", "write_to_file", asked)), consent);
    assert_eq!(
        cline.answer("pre-tool-use", &event("preToolUse", "execute_command", json!({ "command": "npm test" }))),
        consent
    );
}

#[test]
fn hooks_of_claude_code_leave_events_of_other_clients_alone() {
    let workspace = with_files();
    let input = json!({ "file_path": workspace.path("secret.txt"), "old_string": "x", "new_string": "y" });
    let event = |more: Value| {
        let mut event =
            json!({ "session_id": "s1", "cwd": workspace.work(), "tool_name": "Edit", "tool_input": input });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event.to_string()
    };
    let hook = |more: Value| workspace.feed(&["hook", "pre-tool-use"], event(more)).exits(0).out;
    assert!(hook(json!({})).contains("deny"));
    for other in [
        json!({ "cursor_version": "1.7.2" }),
        json!({ "sessionId": "v1" }),
        json!({ "transcript_path": "/x/GitHub.copilot-chat/transcripts/1.jsonl" }),
    ] {
        assert_eq!(hook(other), "");
    }
}
