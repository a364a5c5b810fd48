//! The advice of a refused undo, redo or restore works when it is followed: after random calls of two sessions and
//! changes of another program.

use crate::undo::fixture::{UndoFixture, code, data, name_of, person};
use emendate::{CallContext, Reply};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Lines of the file, with others between them.
const LINES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    /// A session changes a line, or another program does.
    Edit(usize, usize),
    Outside(usize, usize),
    /// The first version is back, perhaps with a change.
    Checkout(usize),
    /// A block of lines is deleted.
    Delete(usize),
    /// The file is moved away, or back.
    Move(usize),
    /// An operation is undone or redone by its id, or the last one.
    Undo(usize, usize, bool),
    Last(usize, bool),
    Restore(usize, usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let session = || 0..2_usize;
    prop_oneof![
        5 => (session(), 0..LINES).prop_map(|(session, line)| Step::Edit(session, line)),
        2 => (0..LINES, 0..9_usize).prop_map(|(line, value)| Step::Outside(line, value)),
        1 => (0..LINES).prop_map(Step::Checkout),
        1 => session().prop_map(Step::Delete),
        1 => session().prop_map(Step::Move),
        5 => (session(), 0..9_usize, any::<bool>()).prop_map(|(session, nth, redo)| Step::Undo(session, nth, redo)),
        3 => (session(), any::<bool>()).prop_map(|(session, redo)| Step::Last(session, redo)),
        1 => (session(), 0..9_usize, any::<bool>()).prop_map(|(session, nth, old)| Step::Restore(session, nth, old)),
        1 => Just(Step::Last(0, true)),
    ]
}

/// The calls of two sessions, which may undo each other's operations by their ids.
struct AdvisedPlay {
    fixture: UndoFixture,
    operations: Vec<String>,
    value: usize,
    story: String,
}

impl AdvisedPlay {
    fn new() -> AdvisedPlay {
        let fixture = UndoFixture::new();
        fixture.put("f", &first_version());
        AdvisedPlay { fixture, operations: Vec::new(), value: 10, story: String::new() }
    }

    /// The name under which the file is now.
    fn name(&self) -> &'static str {
        if self.fixture.path("f").exists() { "f" } else { "g" }
    }

    fn call(&mut self, session: usize, tool: &str, input: Value) {
        let caller = session_of(session);
        let _ = write!(self.story, "\n{session} {tool} {input}");
        let reply = self.fixture.call(&caller, tool, input);
        let _ = write!(self.story, " -> {}\n{}", code(&reply), reply.text());
        if code(&reply) == "ok" && !name_of(&reply).is_empty() {
            self.operations.push(name_of(&reply));
        }
        if code(&reply) == "operation.conflict" {
            self.check_advice(&caller, &reply);
        }
    }

    /// Tries what the advice says.
    fn check_advice(&self, caller: &CallContext, reply: &Reply) {
        let advice = reply.result.as_ref().err().map_or("", |error| error.next_step());
        let check = |tool: &str, mut input: Value, expected: &[&str]| {
            input["dry_run"] = true.into();
            let followed = self.fixture.call(caller, tool, input);
            assert!(expected.contains(&code(&followed)), "{}\nFollowed: {}", self.story, followed.text());
        };
        if let Some(since) = data(reply)["since"].as_str() {
            check("undo", json!({ "since": since }), &["ok", "edit.no_change"]);
        }
        if let Some((_, call)) = advice.split_once("call restore with ") {
            let input = serde_json::Deserializer::from_str(call).into_iter::<Value>().next();
            check("restore", input.unwrap().unwrap(), &["ok"]);
        }
        if let Some(later) = data(reply)["later"].as_str() {
            // That may in turn have to wait for another one.
            check("undo", json!({ "id": later }), &["ok", "operation.conflict"]);
        }
    }

    fn step(&mut self, step: &Step) {
        if matches!(step, Step::Outside(..) | Step::Checkout(_)) {
            // The engine keeps the version that others replace.
            self.fixture.reopen();
        }
        let path = self.fixture.path(self.name());
        let text = self.fixture.get(self.name());
        let operation = |nth: &usize| self.operations.get(nth % self.operations.len().max(1)).cloned();
        match step {
            Step::Edit(session, line) => {
                self.value += 1;
                let Some(old) = current_line(&text, *line) else { return };
                let new = format!("line {line}: {}\n", self.value);
                self.call(*session, "edit", json!({ "file_path": path, "old_string": old, "new_string": new }));
            }
            Step::Outside(line, value) => {
                let Some(old) = current_line(&text, *line) else { return };
                let new = format!("line {line}: {value}\n");
                self.fixture.put(self.name(), &text.replacen(&old, &new, 1));
                let _ = write!(self.story, "\nothers {new}");
            }
            Step::Checkout(line) => {
                let old = current_line(&first_version(), *line).unwrap();
                self.fixture.put(self.name(), &first_version().replacen(&old, &format!("line {line}: 9\n"), 1));
                self.story += "\ncheckout";
            }
            Step::Delete(session) => {
                let kept: String =
                    text.lines().filter(|line| !line.contains(": ")).map(|it| format!("{it}\n")).collect();
                self.call(*session, "write", json!({ "file_path": path, "content": kept }));
            }
            Step::Move(session) => {
                let (from, to) = if self.name() == "f" { ("f", "g") } else { ("g", "f") };
                let patch = format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n*** End Patch\n");
                self.call(*session, "apply", json!({ "input": patch }));
            }
            Step::Undo(session, nth, redo) => {
                let Some(id) = operation(nth) else { return };
                self.call(*session, "undo", json!({ "id": id, "redo": redo }));
            }
            Step::Last(session, redo) => self.call(*session, "undo", json!({ "redo": redo })),
            Step::Restore(session, nth, is_before) => {
                let Some(id) = operation(nth) else { return };
                let id = if *is_before { format!("{id}^") } else { id };
                self.call(*session, "restore", json!({ "file_path": self.fixture.path("f"), "id": id }));
            }
        }
    }
}

fn session_of(session: usize) -> CallContext {
    CallContext { session: format!("s{session}"), ..person() }
}

fn first_version() -> String {
    (0..LINES).map(|line| format!("line {line}: 0\nbetween {line}\nand {line}\n")).collect()
}

/// The present form of a line.
fn current_line(text: &str, line: usize) -> Option<String> {
    let start = format!("line {line}: ");
    text.lines().find(|it| it.starts_with(&start)).map(|it| format!("{it}\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn advice_of_conflicts_works(steps in vec(step(), 3..14)) {
        let mut play = AdvisedPlay::new();
        for step in &steps {
            play.step(step);
        }
    }
}
