//! Calls of `emend serve` that wait for a person do not hold up those that follow.

use crate::bed::Bed;
use crate::questions::{asked, configure, pending};
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
    fn start(bed: &Bed) -> Serve {
        let mut command = bed.command(&["--unread", "allow", "serve", "--ndjson"]);
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

fn project() -> Bed {
    let bed = Bed::with("one\ntwo\n");
    bed.put("b.txt", "free\n");
    configure(&bed, "a.txt", "wait_seconds = 600");
    bed
}

fn edit(bed: &Bed, id: u64, wait: bool) -> Value {
    let input = json!({ "file_path": bed.path("a.txt"), "old_string": "two", "new_string": "2" });
    json!({ "id": id, "tool": "edit", "input": input, "wait": wait })
}

fn read(bed: &Bed, id: u64) -> Value {
    json!({ "id": id, "tool": "read", "input": { "file_path": bed.path("b.txt") } })
}

#[test]
fn call_that_waits_is_answered_after_later_ones() {
    let bed = project();
    let mut serve = Serve::start(&bed);
    serve.send(&edit(&bed, 1, true));
    serve.send(&read(&bed, 2));
    assert_eq!((serve.reply()["id"].clone(), pending(&bed).len()), (json!(2), 1));
    bed.run(&["approve", &asked(&bed)]).exits(0);
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["ok"], bed.get("a.txt").as_str()), (&json!(1), &json!(true), "one\n2\n"));
    // One that does not ask for it is refused at once, as before.
    bed.put("a.txt", "one\ntwo\n");
    serve.send(&edit(&bed, 3, false));
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["code"]), (&json!(3), &json!("access.ask")));
    assert!(pending(&bed).is_empty());
}

#[test]
fn denied_and_cancelled_calls_that_wait_are_answered() {
    let bed = project();
    let mut serve = Serve::start(&bed);
    serve.send(&edit(&bed, 1, true));
    bed.run(&["deny", &asked(&bed), "keep it"]).exits(0);
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["ok"]), (&json!(1), &json!(false)));
    assert!(reply.to_string().contains("keep it"), "{reply}");
    serve.send(&edit(&bed, 2, true));
    let id = asked(&bed);
    serve.send(&json!({ "cancel": 2 }));
    let reply = serve.reply();
    assert_eq!((&reply["id"], &reply["code"]), (&json!(2), &json!("call.cancelled")));
    // The question is withdrawn.
    bed.run(&["approve", &id]).exits(13);
    assert_eq!(bed.get("a.txt"), "one\ntwo\n");
}

#[test]
fn input_may_end_while_a_call_waits() {
    let bed = project();
    let mut serve = Serve::start(&bed);
    serve.send(&edit(&bed, 1, true));
    let id = asked(&bed);
    serve.input = None;
    bed.run(&["approve", &id]).exits(0);
    assert_eq!(serve.reply()["ok"], true);
    assert!(serve.output.next().is_none() && serve.child.wait().unwrap().success());
}

#[test]
fn question_outlives_the_server_that_asked() {
    let bed = project();
    let mut serve = Serve::start(&bed);
    serve.send(&edit(&bed, 1, true));
    let id = asked(&bed);
    drop(serve);
    bed.run(&["approve", &id]).exits(0);
    assert_eq!(bed.get("a.txt"), "one\n2\n");
}
