//! Questions that wait for a person: asked by one process, answered by another, whichever of them is killed.

use crate::workspace::{Ran, TestWorkspace};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const CALLS: [&str; 7] = ["pwrite64", "renameat2", "unlink", "fdatasync", "linkat", "write", "flock"];

/// A workspace in which a person is asked about `a.txt`, and calls wait.
fn asking(settings: &str) -> TestWorkspace {
    let workspace = TestWorkspace::with("one\ntwo\n");
    workspace.put("b.txt", "free\n");
    configure(&workspace, "a.txt", settings);
    workspace
}

/// Makes a person be asked about a file.
pub(crate) fn configure(workspace: &TestWorkspace, file: &str, settings: &str) {
    let folder = workspace.beside("home/.config/emendate");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("[policy]\nask = [\"Edit({file})\"]\n[ask]\n{settings}\n");
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn waiting() -> TestWorkspace {
    asking("wait_seconds = 600")
}

fn edit(workspace: &TestWorkspace) -> Value {
    json!({ "file_path": workspace.path("a.txt"), "old_string": "two", "new_string": "2" })
}

/// Makes the edit with `emend call`.
fn call(workspace: &TestWorkspace) -> Ran {
    workspace.feed(&["--unread", "allow", "call", "edit"], edit(workspace).to_string())
}

/// A process of `emend mcp` for a client that cannot ask.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(workspace: &TestWorkspace) -> Server {
        let mut child = workspace
            .command(&["mcp", "--unread", "allow"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Server { child, input, output };
        let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        server.send(&json!({ "id": 0, "method": "initialize", "params": client }));
        server.reply(0);
        server.send(&json!({ "method": "notifications/initialized" }));
        server
    }

    /// Closes its streams, and waits for its end.
    fn leave(mut self) {
        let mut nothing = Command::new("true").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        self.input = nothing.stdin.take().unwrap();
        self.output = BufReader::new(nothing.stdout.take().unwrap());
        nothing.wait().unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        writeln!(self.input, "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": id } });
        self.send(&json!({ "id": id, "method": "tools/call", "params": params }));
    }

    /// Returns the next message.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the reply with this id, which is the next one.
    fn reply(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message.get("method").is_none() {
                assert_eq!(message["id"], id, "{message}");
                return message["result"].clone();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(reply: &Value) -> &str {
    reply["content"][0]["text"].as_str().unwrap()
}

pub(crate) fn pending(workspace: &TestWorkspace) -> Vec<Value> {
    workspace.run(&["pending", "--json"]).exits(0).json()["data"]["questions"].as_array().unwrap().clone()
}

/// Waits until a question is stored; its id.
pub(crate) fn asked(workspace: &TestWorkspace) -> String {
    loop {
        if let Some(question) = pending(workspace).first() {
            return question["id"].as_str().unwrap().to_owned();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn operations(workspace: &TestWorkspace) -> Vec<Value> {
    workspace.run(&["history", "--json"]).exits(0).json()["data"]["operations"].as_array().unwrap().clone()
}

#[test]
fn call_waits_and_blocks_no_other_until_it_is_approved() {
    let workspace = waiting();
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &edit(&workspace));
    let id = asked(&workspace);
    // More calls than there are threads for them.
    for nth in 2..20 {
        server.call(nth, "read", &json!({ "file_path": workspace.path("b.txt") }));
        assert!(text(&server.reply(nth)).contains("free"));
    }
    server.call(
        20,
        "edit",
        &json!({ "file_path": workspace.path("b.txt"), "old_string": "free", "new_string": "changed" }),
    );
    assert_eq!(server.reply(20)["isError"], false);
    assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
    let listed = workspace.run(&["pending"]).exits(0);
    assert!(listed.out.starts_with(&id) && listed.out.contains("a.txt  (waits)"), "{listed:?}");
    let shown = workspace.run(&["pending", &id]).exits(0);
    assert!(shown.out.contains("-two\n+2\n") && shown.out.contains("Edit(a.txt)"), "{shown:?}");
    // A dry run answers nothing.
    workspace.run(&["--dry-run", "approve", &id]).exits(0);
    let done = workspace.run(&["approve", &id, "--json"]).exits(0).json();
    assert_eq!((&done["data"]["outcome"], workspace.get("a.txt").as_str()), (&json!("written"), "one\n2\n"));
    assert_eq!(server.reply(1)["isError"], false);
    assert_eq!(done["data"]["operation"], operations(&workspace)[0]["id"]);
    assert!(pending(&workspace).is_empty());
    let late = workspace.run(&["deny", &id, "too late"]).exits(13);
    assert!(late.err.contains("has its answer already"), "{late:?}");
    workspace.run(&["approve", "00000000"]).exits(10);
}

#[test]
fn reason_and_corrected_text_reach_the_model() {
    let workspace = waiting();
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &edit(&workspace));
    workspace.run(&["deny", &asked(&workspace), "Numbers are words here."]).exits(0);
    let reply = server.reply(1);
    assert!(reply["isError"] == true && text(&reply).contains("Their reason: Numbers are words here."), "{reply}");
    server.call(2, "edit", &edit(&workspace));
    let id = asked(&workspace);
    std::fs::write(workspace.beside("better"), "one\nTWO\n").unwrap();
    workspace.run(&["correct", &id, "b.txt", "--from", "../better"]).exits(2);
    workspace.run(&["correct", &id, "--from", "../better"]).exits(0);
    let reply = server.reply(2);
    assert!(text(&reply).contains("A person changed the text"), "{reply}");
    assert_eq!(workspace.get("a.txt"), "one\nTWO\n");
    // In an editor.
    server.call(3, "edit", &json!({ "file_path": workspace.path("a.txt"), "old_string": "TWO", "new_string": "2" }));
    let id = asked(&workspace);
    let mut editor = workspace.command(&["correct", &id]);
    editor.env("EDITOR", "sed -i s/2/zwei/");
    assert!(editor.output().unwrap().status.success());
    assert_eq!((server.reply(3)["isError"].clone(), workspace.get("a.txt").as_str()), (json!(false), "one\nzwei\n"));
}

#[test]
fn corrected_text_reaches_a_file_whose_name_cannot_be_shown() {
    let workspace = waiting();
    configure(&workspace, "g*", "wait_seconds = 600");
    let name = "g\u{202e}x.txt";
    workspace.put(name, "one\ntwo\n");
    let mut server = Server::start(&workspace);
    let input = json!({ "file_path": workspace.path(name), "old_string": "two", "new_string": "2" });
    server.call(1, "edit", &input);
    std::fs::write(workspace.beside("better"), "one\nTWO\n").unwrap();
    workspace.run(&["correct", &asked(&workspace), "--from", "../better"]).exits(0);
    assert!(text(&server.reply(1)).contains("A person changed the text"));
    assert_eq!(workspace.get(name), "one\nTWO\n");
}

#[test]
fn approval_is_for_the_change_that_was_shown() {
    let workspace = waiting();
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &edit(&workspace));
    let first = asked(&workspace);
    workspace.put("a.txt", "zero\none\ntwo\n");
    let again = workspace.run(&["approve", &first, "--json"]).exits(14).json();
    assert_eq!(
        (&again["data"]["outcome"], workspace.get("a.txt").as_str()),
        (&json!("asked_again"), "zero\none\ntwo\n")
    );
    let next = again["data"]["next"].as_str().unwrap();
    assert_eq!(asked(&workspace), next);
    workspace.run(&["approve", next]).exits(0);
    assert_eq!((server.reply(1)["isError"].clone(), workspace.get("a.txt").as_str()), (json!(false), "zero\none\n2\n"));
    // The text to replace is gone.
    workspace.put("a.txt", "one\ntwo\n");
    server.call(2, "edit", &edit(&workspace));
    let id = asked(&workspace);
    workspace.put("a.txt", "something else\n");
    let failed = workspace.run(&["approve", &id]).exits(10);
    assert!(failed.err.contains("not found"), "{failed:?}");
    assert!(text(&server.reply(2)).contains("not found"));
    assert_eq!(workspace.get("a.txt"), "something else\n");
}

#[test]
fn question_of_a_cancelled_call_is_withdrawn_and_time_ends() {
    let workspace = waiting();
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &edit(&workspace));
    let id = asked(&workspace);
    // The client hears that the call waits.
    let progress = server.next();
    assert!(progress["params"]["message"].as_str().unwrap().contains(&format!("emend approve {id}")), "{progress}");
    server.send(&json!({ "method": "notifications/cancelled", "params": { "requestId": 1, "reason": "no" } }));
    while !pending(&workspace).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    workspace.run(&["approve", &id]).exits(13);
    drop(server);
    let workspace = asking("wait_seconds = 1");
    let ended = call(&workspace).exits(14).json();
    assert_eq!(ended["code"], "access.ask");
    assert!(ended["evidence"].as_str().unwrap().contains("Nobody answered the question in time."), "{ended}");
    // Without the setting, nothing waits.
    let workspace = asking("");
    let ended = call(&workspace).exits(14).json();
    assert!(!ended["evidence"].as_str().unwrap().contains("Nobody answered"), "{ended}");
    assert!(pending(&workspace).is_empty());
}

#[test]
fn notification_command_may_answer() {
    let script = |answer: &str| {
        asking(&format!("wait_seconds = 60\nnotify = ['sh', '-c', 'cat > ../question; printf %s \"$0\"', '{answer}']"))
    };
    let workspace = script("approve");
    workspace.run(&["edit", "a.txt", "--old", "two", "--new", "2"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\n2\n");
    let question: Value =
        serde_json::from_str(&std::fs::read_to_string(workspace.beside("question")).unwrap()).unwrap();
    assert_eq!((&question["state"], &question["files"][0]["proposed"]), (&json!("waiting"), &json!("one\n2\n")));
    let workspace = script("deny not on a Friday");
    let denied = call(&workspace).exits(14);
    assert!(denied.out.contains("Their reason: not on a Friday"), "{denied:?}");
    let workspace = asking("wait_seconds = 1\nnotify = ['false']");
    let ended = call(&workspace).exits(14);
    assert!(ended.out.contains("The notification command did not work"), "{ended:?}");
}

#[test]
fn first_of_many_answers_wins() {
    let workspace = waiting();
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &edit(&workspace));
    let id = asked(&workspace);
    let answers: Vec<Ran> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|nth| {
                let (workspace, id) = (&workspace, &id);
                scope.spawn(
                    move || if nth % 2 == 0 { workspace.run(&["approve", id]) } else { workspace.run(&["deny", id]) },
                )
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let won: Vec<usize> = (0..6).filter(|nth| answers[*nth].code == 0).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| [0, 13].contains(&answer.code)), "{answers:?}");
    let text = if won[0].is_multiple_of(2) { "one\n2\n" } else { "one\ntwo\n" };
    assert_eq!((server.reply(1)["isError"].clone(), workspace.get("a.txt").as_str()), (json!(won[0] % 2 == 1), text));
}

#[test]
fn question_survives_the_death_of_its_server() {
    let workspace = waiting();
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &edit(&workspace));
    let id = asked(&workspace);
    drop(server);
    assert_eq!(pending(&workspace)[0]["state"], "abandoned");
    let session = pending(&workspace)[0]["session"].clone();
    let done = workspace.run(&["approve", &id]).exits(0);
    assert!(done.out.contains("a.txt"), "{done:?}");
    assert_eq!(workspace.get("a.txt"), "one\n2\n");
    assert_eq!((operations(&workspace).len(), &operations(&workspace)[0]["session"]), (1, &session));
    // A client that goes away has the same effect.
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &json!({ "file_path": workspace.path("a.txt"), "old_string": "2", "new_string": "two" }));
    let id = asked(&workspace);
    server.leave();
    assert_eq!(pending(&workspace)[0]["state"], "abandoned");
    workspace.run(&["deny", &id]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\n2\n");
    // Another one is answered after the file changed.
    let mut server = Server::start(&workspace);
    server.call(1, "edit", &json!({ "file_path": workspace.path("a.txt"), "old_string": "one", "new_string": "1" }));
    let id = asked(&workspace);
    drop(server);
    workspace.put("a.txt", "one\n2\n3\n");
    let again = workspace.run(&["approve", &id, "--json"]).exits(14).json();
    workspace.run(&["approve", again["data"]["next"].as_str().unwrap()]).exits(0);
    assert_eq!(workspace.get("a.txt"), "1\n2\n3\n");
}

/// The command under strace, which kills it at the `nth` of these system calls.
fn killed_at(workspace: &TestWorkspace, args: &[&str], call: &str, nth: usize) -> Command {
    let model = workspace.command(args);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    strace.args(["-e", &format!("inject={call}:signal=SIGKILL:when={nth}")]);
    strace.arg(model.get_program()).args(args).current_dir(workspace.work()).env_clear();
    strace.envs(model.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    strace
}

#[test]
fn change_is_written_once_whenever_the_answering_process_is_killed() {
    if !external::has(&["strace"]) {
        return;
    }
    let mut kills = 0;
    for call in CALLS {
        for nth in 1.. {
            let workspace = waiting();
            let id = abandoned(&workspace, "a.txt");
            let status = killed_at(&workspace, &["approve", &id], call, nth).status().unwrap();
            if status.success() {
                break;
            }
            kills += 1;
            settle(&workspace, &format!("{call} {nth}"));
        }
    }
    assert!(kills > 10, "{kills}");
}

/// Answers what waits until nothing does, and checks that the change was made once.
fn settle(workspace: &TestWorkspace, why: &str) {
    while let Some(question) = pending(workspace).first() {
        let answered = workspace.run(&["approve", question["id"].as_str().unwrap()]);
        assert!([0, 14].contains(&answered.code), "{why}: {answered:?}");
    }
    assert_eq!(workspace.get("a.txt"), "one\n2\n", "{why}");
    assert_eq!(operations(workspace).len(), 1, "{why}");
}

/// Stores a question whose process is killed.
pub(crate) fn abandoned(workspace: &TestWorkspace, file: &str) -> String {
    let mut call = workspace.command(&["edit", file, "--old", "two", "--new", "2"]);
    let mut child = call.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let id = asked(workspace);
    child.kill().unwrap();
    child.wait().unwrap();
    id
}

#[test]
fn change_is_written_once_whenever_the_waiting_process_is_killed() {
    if !external::has(&["strace"]) {
        return;
    }
    let (mut kills, mut asked_before) = (0, 0);
    for call in CALLS {
        for nth in 1.. {
            let workspace = waiting();
            let mut child =
                killed_at(&workspace, &["edit", "a.txt", "--old", "two", "--new", "2"], call, nth).spawn().unwrap();
            let mut status = None;
            let question = loop {
                if let Some(question) = pending(&workspace).pop() {
                    break Some(question);
                }
                status = child.try_wait().unwrap();
                if status.is_some() {
                    break None;
                }
            };
            if let Some(question) = question {
                asked_before += 1;
                workspace.run(&["approve", question["id"].as_str().unwrap()]);
                let status = child.wait().unwrap();
                settle(&workspace, &format!("{call} {nth}"));
                if status.success() {
                    break;
                }
            } else {
                // It was killed before it asked.
                assert!(!status.unwrap().success());
                assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
            }
            kills += 1;
        }
    }
    assert!(kills > 10 && asked_before > 10, "{kills} {asked_before}");
}
