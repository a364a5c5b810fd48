//! Sessions of callers that name none: a terminal, server processes, and a conversation of Claude Code.

use crate::workspace::{TestWorkspace, feed};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A client's server, `emend mcp`; this process is the client.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(workspace: &TestWorkspace, conversation: Option<&str>) -> Server {
        let mut command = workspace.command(&["mcp"]);
        if let Some(id) = conversation {
            command.env("CLAUDE_CODE_SESSION_ID", id);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Server { child, input, output }
    }

    /// Returns the text of a tool's result, and whether it is an error.
    fn call(&mut self, tool: &str, input: &Value) -> (bool, String) {
        let params = json!({ "name": tool, "arguments": input });
        writeln!(self.input, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
            .unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let reply: Value = serde_json::from_str(&line).unwrap();
        let result = &reply["result"];
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    }

    fn edit(&mut self, workspace: &TestWorkspace, old: &str, new: &str) -> (bool, String) {
        self.call("edit", &json!({ "file_path": workspace.path("a.txt"), "old_string": old, "new_string": new }))
    }

    fn read(&mut self, workspace: &TestWorkspace) {
        assert!(!self.call("read", &json!({ "file_path": workspace.path("a.txt") })).0);
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// The session of the newest operation.
fn last_session(workspace: &TestWorkspace) -> String {
    let out = workspace.run(&["history", "--json"]).exits(0).out;
    let told: Value = serde_json::from_str(&out).unwrap();
    told["data"]["operations"][0]["session"].as_str().unwrap().to_owned()
}

#[test]
fn reads_of_a_terminal_and_of_servers_count_for_themselves_only() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    let (mut first, mut second) = (Server::start(&workspace, None), Server::start(&workspace, None));
    workspace.run(&["read", "a.txt"]).exits(0);
    first.read(&workspace);
    let (failed, text) = second.edit(&workspace, "two", "2");
    assert!(failed && text.contains("has not been read yet") && text.contains("read"), "{text}");
    assert!(!first.edit(&workspace, "two", "2").0);
    assert!(last_session(&workspace).starts_with("mcp-"));
    // A read counts for all commands of the terminal.
    workspace.put("b.txt", "x\n");
    workspace.run(&["edit", "b.txt", "--old", "x", "--new", "y", "--unread", "deny"]).exits(14);
    workspace.run(&["read", "b.txt"]).exits(0);
    workspace.run(&["edit", "b.txt", "--old", "x", "--new", "y", "--unread", "deny"]).exits(0);
    assert!(last_session(&workspace).starts_with("cli-"));
    first.end();
    second.end();
}

#[test]
fn leader_of_the_terminal_may_be_outside_the_container() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    let container = ["--pid", "--fork", "--mount-proc"];
    if !Command::new("unshare").args(container).arg("true").status().is_ok_and(|it| it.success()) {
        println!("left out: process namespaces are not allowed here");
        return;
    }
    let plain = workspace.command(&[]);
    let script = "\"$0\" read a.txt && \"$0\" edit a.txt --old two --new 2 --unread deny";
    let mut command = Command::new("unshare");
    command
        .args(container)
        .args(["sh", "-ec", script])
        .arg(plain.get_program())
        .current_dir(workspace.work())
        .env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", "/usr/bin:/bin");
    feed(command, b"").exits(0);
    assert_eq!(workspace.get("a.txt"), "one\n2\n");
    assert!(last_session(&workspace).starts_with("cli-"));
}

#[test]
fn undo_reverts_the_callers_own_last_operation() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    workspace.put("b.txt", "x\n");
    let mut server = Server::start(&workspace, None);
    workspace.run(&["edit", "b.txt", "--old", "x", "--new", "y"]).exits(0);
    server.read(&workspace);
    assert!(!server.edit(&workspace, "two", "2").0);
    workspace.run(&["undo"]).exits(0);
    assert_eq!((workspace.get("a.txt"), workspace.get("b.txt")), ("one\n2\n".to_owned(), "x\n".to_owned()));
    // The terminal has no operation left to undo; the message says how to undo those of others.
    let ran = workspace.run(&["undo"]);
    assert!(ran.code != 0 && ran.err.contains("emend history") && ran.err.contains("--any-session"), "{}", ran.err);
    assert!(!workspace.run(&["undo", "--file", "a.txt"]).out.contains("Undone"));
    workspace.run(&["redo"]).exits(0);
    assert_eq!((workspace.get("a.txt"), workspace.get("b.txt")), ("one\n2\n".to_owned(), "y\n".to_owned()));
    // The last operation of all is the redo, which is this terminal's own; the one before it is the server's.
    workspace.run(&["undo", "--any-session", "--last", "2"]).exits(0);
    assert_eq!((workspace.get("a.txt"), workspace.get("b.txt")), ("one\ntwo\n".to_owned(), "x\n".to_owned()));
    // A model cannot undo operations of the terminal unless it says so, not even by their names.
    workspace.run(&["edit", "b.txt", "--old", "x", "--new", "z"]).exits(0);
    let (failed, text) = server.call("undo", &json!({ "id": "6" }));
    assert!(failed && text.contains("belongs to the session cli-"), "{text}");
    server.end();
}

#[test]
fn person_who_names_an_operation_undoes_it_whosever_it_is() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    let mut server = Server::start(&workspace, None);
    server.read(&workspace);
    assert!(!server.edit(&workspace, "two", "2").0);
    workspace.run(&["undo", "1"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
    server.end();
}

/// Reports an event of a conversation, as this client's hook.
fn hook(workspace: &TestWorkspace, moment: &str, conversation: &str, tool: &str) {
    let input = json!({ "file_path": workspace.path("a.txt") });
    let event = json!({ "session_id": conversation, "cwd": workspace.work(), "tool_name": tool, "tool_input": input });
    workspace.feed(&["hook", moment], event.to_string()).exits(0);
}

#[test]
fn server_and_hooks_of_a_conversation_are_one_session() {
    let workspace = TestWorkspace::with("one\ntwo\nthree\n");
    let mut server = Server::start(&workspace, None);
    hook(&workspace, "session-start", "c1", "");
    // Reads by the client's own tool count for the server.
    hook(&workspace, "post-tool-use", "c1", "Read");
    assert!(!server.edit(&workspace, "two", "2").0);
    assert_eq!(last_session(&workspace), "claude-c1");
    // The client begins another conversation, without starting the server again.
    hook(&workspace, "session-start", "c2", "");
    let (failed, text) = server.edit(&workspace, "one", "1");
    assert!(failed && text.contains("has not been read"), "{text}");
    server.end();
    // And resumes the first one, with a new server.
    let mut server = Server::start(&workspace, None);
    hook(&workspace, "session-start", "c1", "");
    assert!(!server.edit(&workspace, "one", "1").0);
    assert_eq!(last_session(&workspace), "claude-c1");
    server.end();
}

#[test]
fn conversation_of_the_environment_is_the_session() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    let mut server = Server::start(&workspace, Some("c3"));
    // A read by a command in the client's shell counts for the conversation.
    let ran = workspace.command(&["read", "a.txt"]).env("CLAUDE_CODE_SESSION_ID", "c3").output().unwrap();
    assert!(ran.status.success());
    assert!(!server.edit(&workspace, "two", "2").0);
    assert_eq!(last_session(&workspace), "claude-c3");
    server.end();
}

#[test]
fn session_that_is_named_is_the_session() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    hook(&workspace, "session-start", "c4", "");
    let call = |words: &[&str]| {
        let input = json!({ "file_path": workspace.path("a.txt") }).to_string();
        workspace.feed(words, input).exits(0);
    };
    call(&["call", "read", "--session", "mine"]);
    workspace.run(&["edit", "a.txt", "--old", "two", "--new", "2", "--unread", "deny", "--session", "mine"]).exits(0);
    assert_eq!(last_session(&workspace), "mine");
}

#[cfg(target_os = "linux")]
#[test]
fn file_about_a_conversation_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = TestWorkspace::with("one\n");
    hook(&workspace, "session-start", "c5", "");
    let file = workspace.beside("state/conversations").join(std::process::id().to_string());
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
}
