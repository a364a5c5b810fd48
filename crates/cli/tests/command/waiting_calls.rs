//! Calls of `emend serve` that wait for a person do not hold up those that follow.

use crate::questions::{asked, configure, pending};
use crate::workspace::TestWorkspace;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A process of `emend serve`.
struct Serve {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Serve {
    fn start(workspace: &TestWorkspace) -> Serve {
        let mut command = workspace.command(&["--unread", "allow", "serve", "--ndjson"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Serve { input: child.stdin.take(), child, output }
    }

    fn send(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn reply(&mut self) -> Value {
        serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn project() -> TestWorkspace {
    let workspace = TestWorkspace::with("one\ntwo\n");
    workspace.put("b.txt", "free\n");
    configure(&workspace, "a.txt", "wait_seconds = 600");
    workspace
}

fn edit(workspace: &TestWorkspace, id: u64, wait: bool) -> Value {
    let input = json!({ "file_path": workspace.path("a.txt"), "old_string": "two", "new_string": "2" });
    json!({ "id": id, "tool": "edit", "input": input, "wait": wait })
}

fn read(workspace: &TestWorkspace, id: u64) -> Value {
    json!({ "id": id, "tool": "read", "input": { "file_path": workspace.path("b.txt") } })
}

#[test]
fn call_that_waits_is_answered_after_later_ones() {
    let workspace = project();
    let mut serve = Serve::start(&workspace);
    serve.send(&edit(&workspace, 1, true));
    serve.send(&read(&workspace, 2));
    assert_eq!((serve.reply()["id"].clone(), pending(&workspace).len()), (json!(2), 1));
    workspace.run(&["approve", &asked(&workspace)]).exits(0);
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["ok"], workspace.get("a.txt").as_str()), (&json!(1), &json!(true), "one\n2\n"));
    // One that does not ask for it is refused at once, as before.
    workspace.put("a.txt", "one\ntwo\n");
    serve.send(&edit(&workspace, 3, false));
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["code"]), (&json!(3), &json!("access.ask")));
    assert!(pending(&workspace).is_empty());
}

#[test]
fn denied_and_cancelled_calls_that_wait_are_answered() {
    let workspace = project();
    let mut serve = Serve::start(&workspace);
    serve.send(&edit(&workspace, 1, true));
    workspace.run(&["deny", &asked(&workspace), "keep it"]).exits(0);
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["ok"]), (&json!(1), &json!(false)));
    assert!(reply.to_string().contains("keep it"), "{reply}");
    serve.send(&edit(&workspace, 2, true));
    let id = asked(&workspace);
    serve.send(&json!({ "cancel": 2 }));
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["code"]), (&json!(2), &json!("call.cancelled")));
    // The question is withdrawn.
    workspace.run(&["approve", &id]).exits(13);
    assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
}

#[test]
fn input_may_end_while_a_call_waits() {
    let workspace = project();
    let mut serve = Serve::start(&workspace);
    serve.send(&edit(&workspace, 1, true));
    let id = asked(&workspace);
    serve.input = None;
    workspace.run(&["approve", &id]).exits(0);
    assert_eq!(serve.reply()["ok"], true);
    assert!(serve.output.next().is_none() && serve.child.wait().unwrap().success());
}

#[test]
fn question_outlives_the_server_that_asked() {
    let workspace = project();
    let mut serve = Serve::start(&workspace);
    serve.send(&edit(&workspace, 1, true));
    let id = asked(&workspace);
    drop(serve);
    workspace.run(&["approve", &id]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\n2\n");
}
