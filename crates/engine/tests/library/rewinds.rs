//! Random sequences of edits, undos, redos, turns, marks and rewinds by one session: after each rewind the file is as
//! it was at the mark.

use crate::fixture::{EngineFixture, code, few_cases, ok};
use emendate::{CallContext, Config, Reply};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use serde_json::json;

const CELLS: usize = 4;
/// Lines between two cells, so that their changes do not meet.
const LINES_BETWEEN: usize = 6;
/// Operations that have to be undone by themselves before a rewind.
const ADVICE_FOLLOWED_MAX: usize = 20;

#[derive(Clone, Copy, Debug)]
enum Act {
    Edit(usize),
    Undo,
    Redo,
    Turn,
    UndoTurn,
    Mark,
    /// Rewinds to the mark that many places before the newest one.
    Rewind(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..CELLS).prop_map(Act::Edit),
        3 => Just(Act::Undo),
        2 => Just(Act::Redo),
        2 => Just(Act::Turn),
        3 => Just(Act::UndoTurn),
        2 => Just(Act::Mark),
        4 => (0..3_usize).prop_map(Act::Rewind),
    ]
}

fn cell_line(cell: usize, value: usize) -> String {
    format!("cell {cell}: {value}\n")
}

/// A session with one file.
struct RewindPlay {
    fixture: EngineFixture,
    cells: [usize; CELLS],
    turn: usize,
    value: usize,
    /// The text of the file at each mark; its name is its index.
    marks: Vec<String>,
}

impl RewindPlay {
    fn new() -> RewindPlay {
        let fixture = EngineFixture::trusted(Config::default());
        let between: String = (0..LINES_BETWEEN).map(|line| format!("line {line}\n")).collect();
        fixture.put("a", &(0..CELLS).map(|cell| cell_line(cell, 0) + &between).collect::<String>());
        RewindPlay { fixture, cells: [0; CELLS], turn: 0, value: 0, marks: Vec::new() }
    }

    fn call(&mut self, tool: &str, input: serde_json::Value) -> Reply {
        let caller = CallContext { turn: Some(self.turn.to_string()), ..self.fixture.caller.clone() };
        let reply = self.fixture.engine.call(&caller, tool, input);
        let text = self.fixture.get("a");
        let values = text.lines().filter_map(|line| line.strip_prefix("cell ")?.split_once(": ")?.1.parse().ok());
        self.cells = values.collect::<Vec<usize>>().try_into().unwrap();
        reply
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Edit(cell) => {
                self.value += 1;
                let (old, new) = (cell_line(cell, self.cells[cell]), cell_line(cell, self.value));
                let path = self.fixture.path("a");
                ok(&self.call("edit", json!({ "file_path": path, "old_string": old, "new_string": new })));
            }
            Act::Undo => drop(self.call("undo", json!({}))),
            Act::Redo => drop(self.call("undo", json!({ "redo": true }))),
            Act::Turn => self.turn += 1,
            Act::UndoTurn => drop(self.call("undo", json!({ "turn": true }))),
            Act::Mark => {
                ok(&self.call("mark", json!({ "name": format!("m{}", self.marks.len()) })));
                self.marks.push(self.fixture.get("a"));
            }
            Act::Rewind(back) => {
                let Some(mark) = self.marks.len().checked_sub(back + 1) else { return };
                self.rewind(mark);
                assert_eq!(self.fixture.get("a"), self.marks[mark]);
            }
        }
    }

    /// Rewinds to a mark; does what the replies advise.
    fn rewind(&mut self, mark: usize) {
        for _ in 0..ADVICE_FOLLOWED_MAX {
            let reply = self.call("rewind", json!({ "to": format!("m{mark}") }));
            match code(&reply) {
                "ok" | "operation.not_found" => return,
                // Nothing of an operation is left; the reply says to repeat the call.
                "edit.no_change" => continue,
                _ => {}
            }
            let text = reply.text();
            let id = text.split_once("Undo operation ").and_then(|(_, rest)| rest.split(' ').next());
            let id = id.unwrap_or_else(|| panic!("{text}")).to_owned();
            let reply = self.call("undo", json!({ "id": id }));
            assert_eq!(code(&reply), "ok", "{text}\n{}", reply.text());
        }
        panic!("the advice leads nowhere");
    }
}

fn play(acts: &[Act]) {
    let mut play = RewindPlay::new();
    for act in acts {
        play.act(*act);
    }
}

/// The undo of the turn takes back a rewind together with an edit: what the rewind took back is in effect again.
#[test]
fn edit_that_came_back_with_an_undone_rewind_is_rewound() {
    use Act::{Edit, Mark, Redo, Rewind, Turn, Undo, UndoTurn};
    play(&[Mark, Edit(0), Turn, Rewind(0), Edit(1), UndoTurn, Rewind(0), Undo, Redo, Redo, Rewind(0)]);
}

proptest! {
    #![proptest_config(few_cases(300))]

    #[test]
    fn rewind_leads_to_the_state_at_the_mark(acts in vec(act(), 1..40)) {
        play(&acts);
    }
}
