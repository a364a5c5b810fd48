//! Random sequences of edits, undos, redos, turns, marks and rewinds: after each rewind of a session that is alone, the
//! file is as it was at the mark; and always, it is what the edits in effect make of it.

use crate::fixture::{EngineFixture, code, few_cases, ok};
use emendate::{CallContext, Config, Reply};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

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
    /// Undoes the operation that many places before the newest one.
    UndoOne(usize),
    /// Undoes so many operations, of any session.
    UndoLast(usize),
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
        3 => (0..6_usize).prop_map(Act::UndoOne),
        1 => (1..4_usize).prop_map(Act::UndoLast),
        2 => Just(Act::Turn),
        3 => Just(Act::UndoTurn),
        2 => Just(Act::Mark),
        4 => (0..3_usize).prop_map(Act::Rewind),
    ]
}

fn cell_line(cell: usize, value: usize) -> String {
    format!("cell {cell}: {value}\n")
}

/// An operation in the history.
struct PlayedOperation {
    session: String,
    /// The cell that an edit changed, and its value.
    edit: Option<(usize, usize)>,
    /// Each edit whose effect it changed, with whether it is in effect afterwards.
    decided: BTreeMap<u64, bool>,
}

/// Sessions with one file.
struct RewindPlay {
    fixture: EngineFixture,
    sessions: usize,
    cells: [usize; CELLS],
    turn: usize,
    value: usize,
    /// The text of the file at each mark, with the number of its operation; its name is its index.
    marks: Vec<(String, u64)>,
    operations: BTreeMap<u64, PlayedOperation>,
    story: String,
}

impl RewindPlay {
    fn new(sessions: usize) -> RewindPlay {
        let fixture = EngineFixture::trusted(Config::default());
        let between: String = (0..LINES_BETWEEN).map(|line| format!("line {line}\n")).collect();
        fixture.put("a", &(0..CELLS).map(|cell| cell_line(cell, 0) + &between).collect::<String>());
        RewindPlay {
            fixture,
            sessions,
            cells: [0; CELLS],
            turn: 0,
            value: 0,
            marks: Vec::new(),
            operations: BTreeMap::new(),
            story: String::new(),
        }
    }

    fn call(&mut self, session: usize, tool: &str, input: Value) -> Reply {
        let (turn, session) = (Some(self.turn.to_string()), format!("s{session}"));
        let caller = CallContext { turn, session, ..self.fixture.caller.clone() };
        let reply = self.fixture.engine.call(&caller, tool, input);
        let before = self.cells;
        let text = self.fixture.get("a");
        let values = text.lines().filter_map(|line| line.strip_prefix("cell ")?.split_once(": ")?.1.parse().ok());
        self.cells = values.collect::<Vec<usize>>().try_into().unwrap();
        let (cells, code) = (self.cells, code(&reply));
        self.tell(format_args!(" {code} {cells:?}"));
        self.record_operations(&before);
        self.check_cells();
        reply
    }

    /// Adds to what a failed case prints.
    fn tell(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.story.write_fmt(what);
    }

    /// Adds the operations that the history has since the last call.
    fn record_operations(&mut self, before: &[usize; CELLS]) {
        let known = self.operations.keys().next_back().copied().unwrap_or(0);
        let listed = self.fixture.call("history", json!({ "limit": 1000 })).to_json();
        for row in listed["data"]["operations"].as_array().unwrap().iter().rev() {
            let number = number_of(&row["id"]);
            if number <= known {
                continue;
            }
            let mut decided = BTreeMap::new();
            let also = row["takesBackAlso"].as_array().unwrap();
            for undone in [&row["takesBack"]].into_iter().chain(also).filter(|id| id.is_string()).map(number_of) {
                let undone = (undone, &self.operations[&undone]);
                match undone.1.edit {
                    Some(_) => drop(decided.insert(undone.0, false)),
                    None => decided.extend(undone.1.decided.iter().map(|(edit, is_on)| (*edit, !is_on))),
                }
            }
            decided.retain(|edit, is_on| self.is_in_effect(*edit, number) != *is_on);
            let edit = (0..CELLS).find(|cell| row["tool"] == "edit" && before[*cell] != self.cells[*cell]);
            let edit = edit.map(|cell| (cell, self.cells[cell]));
            decided.extend(edit.map(|_| (number, true)));
            let session = row["session"].as_str().unwrap().to_owned();
            self.operations.insert(number, PlayedOperation { session, edit, decided });
        }
    }

    /// True for an edit that is in effect right before an operation.
    fn is_in_effect(&self, edit: u64, before: u64) -> bool {
        let decided = self.operations.range(..before).rev().find_map(|(_, it)| it.decided.get(&edit).copied());
        decided.unwrap_or(false)
    }

    /// Each cell is what the newest edit in effect made of it.
    fn check_cells(&self) {
        let mut want = [0; CELLS];
        for (number, it) in &self.operations {
            if let Some((cell, value)) = it.edit.filter(|_| self.is_in_effect(*number, u64::MAX)) {
                want[cell] = value;
            }
        }
        assert_eq!(self.cells, want, "{}", self.story);
    }

    fn act(&mut self, session: usize, act: Act) {
        self.tell(format_args!("\ns{session} {act:?}"));
        match act {
            Act::Edit(cell) => {
                self.value += 1;
                let (old, new) = (cell_line(cell, self.cells[cell]), cell_line(cell, self.value));
                let path = self.fixture.path("a");
                ok(&self.call(session, "edit", json!({ "file_path": path, "old_string": old, "new_string": new })));
            }
            Act::Undo => drop(self.call(session, "undo", json!({}))),
            Act::Redo => drop(self.call(session, "undo", json!({ "redo": true }))),
            Act::UndoOne(back) => {
                let Some(number) = self.operations.keys().rev().nth(back).copied() else { return };
                drop(self.call(session, "undo", json!({ "id": number.to_string(), "any_session": true })));
            }
            Act::UndoLast(times) => drop(self.call(session, "undo", json!({ "last": times, "any_session": true }))),
            Act::Turn => self.turn += 1,
            Act::UndoTurn => drop(self.call(session, "undo", json!({ "turn": true }))),
            Act::Mark => {
                ok(&self.call(session, "mark", json!({ "name": format!("m{}", self.marks.len()) })));
                let number = self.operations.keys().next_back().copied().unwrap();
                self.marks.push((self.fixture.get("a"), number));
            }
            Act::Rewind(back) => {
                let Some(mark) = self.marks.len().checked_sub(back + 1) else { return };
                if self.sessions > 1 {
                    return self.rewind_own(session, mark);
                }
                self.rewind(mark);
                assert_eq!(self.fixture.get("a"), self.marks[mark].0, "{}", self.story);
            }
        }
    }

    /// Rewinds to a mark. What others decided since then stays, and the rest is as it was; or the call is refused.
    fn rewind_own(&mut self, session: usize, mark: usize) {
        let (own, since) = (format!("s{session}"), self.marks[mark].1);
        let edits: Vec<u64> = self.operations.iter().filter(|(_, it)| it.edit.is_some()).map(|(id, _)| *id).collect();
        let wanted = |edit: &u64| {
            let mut counted = self.operations.iter().rev().filter(|(id, it)| **id <= since || it.session != own);
            counted.find_map(|(_, it)| it.decided.get(edit).copied()).unwrap_or(false)
        };
        let wanted: Vec<bool> = edits.iter().map(wanted).collect();
        let newest = self.operations.keys().next_back().copied();
        let reply = self.call(session, "rewind", json!({ "to": format!("m{mark}") }));
        if code(&reply) == "ok" {
            let found: Vec<bool> = edits.iter().map(|edit| self.is_in_effect(*edit, u64::MAX)).collect();
            assert_eq!(found, wanted, "{edits:?}{}", self.story);
        } else if code(&reply) != "edit.no_change" {
            assert_eq!(self.operations.keys().next_back().copied(), newest, "{}", self.story);
        }
    }

    /// Rewinds to a mark; does what the replies advise.
    fn rewind(&mut self, mark: usize) {
        for _ in 0..ADVICE_FOLLOWED_MAX {
            let reply = self.call(0, "rewind", json!({ "to": format!("m{mark}") }));
            match code(&reply) {
                "ok" | "operation.not_found" => return,
                // Nothing of an operation is left; the reply says to repeat the call.
                "edit.no_change" => continue,
                _ => {}
            }
            let text = reply.text();
            let id = text.split_once("Undo operation ").and_then(|(_, rest)| rest.split(' ').next());
            let id = id.unwrap_or_else(|| panic!("{text}{}", self.story)).to_owned();
            let reply = self.call(0, "undo", json!({ "id": id }));
            assert_eq!(code(&reply), "ok", "{text}\n{}", reply.text());
        }
        panic!("the advice leads nowhere");
    }
}

fn number_of(id: &Value) -> u64 {
    id.as_str().unwrap().split('-').next().unwrap().parse().unwrap()
}

fn play(acts: &[Act]) {
    let mut play = RewindPlay::new(1);
    for act in acts {
        play.act(0, *act);
    }
}

/// Makes calls, each by one of several sessions.
fn play_of_sessions(acts: &[(usize, Act)]) {
    let mut play = RewindPlay::new(2);
    for (session, act) in acts {
        play.act(*session, *act);
    }
}

/// The rewind takes back an edit and an undo, so an edit is in effect that the history calls undone.
#[test]
fn edit_that_came_back_is_in_the_way_of_an_older_one() {
    use Act::{Edit, Mark, Rewind, Undo, UndoOne};
    let before = [Edit(0), Edit(0), Mark, Undo, Edit(0), Rewind(0)];
    play(&[&before[..], &[UndoOne(5)]].concat());
    play(&[&before[..], &[Undo, Undo]].concat());
}

#[test]
fn rewind_keeps_the_work_of_others_that_was_undone_and_redone() {
    use Act::{Edit, Mark, Redo, Rewind, UndoLast};
    play_of_sessions(&[(0, Mark), (1, Edit(0)), (0, UndoLast(1)), (0, Redo), (0, Edit(1)), (0, Rewind(0))]);
    play_of_sessions(&[(0, Mark), (1, Edit(0)), (0, Edit(1)), (0, UndoLast(2)), (0, Redo), (0, Rewind(0))]);
}

/// The undo of the turn takes back a rewind together with an edit: what the rewind took back is in effect again.
#[test]
fn edit_that_came_back_with_an_undone_rewind_is_rewound() {
    use Act::{Edit, Mark, Redo, Rewind, Turn, Undo, UndoTurn};
    play(&[Mark, Edit(0), Turn, Rewind(0), Edit(1), UndoTurn, Rewind(0), Undo, Redo, Redo, Rewind(0)]);
}

/// The rewind to the second mark brings back an edit from before operations that the rewind to the last mark takes back:
/// its lines are as at that mark only if all of them are undone.
#[test]
fn rewind_after_a_rewind_to_an_older_mark_finds_the_version_of_its_mark() {
    use Act::{Edit, Mark, Redo, Rewind, UndoOne, UndoTurn};
    let first = [Mark, Edit(1), Rewind(0), Redo, Edit(0), Mark, UndoOne(1), Edit(0), Edit(0), Mark];
    play(&[&first[..], &[Edit(0), UndoTurn, Edit(0), Mark, Rewind(2), Rewind(0)]].concat());
}

proptest! {
    #![proptest_config(few_cases(300))]

    #[test]
    fn rewind_leads_to_the_state_at_the_mark(acts in vec(act(), 1..40)) {
        play(&acts);
    }

    #[test]
    fn rewind_takes_back_what_one_of_several_sessions_did(acts in vec((0..2_usize, act()), 1..40)) {
        play_of_sessions(&acts);
    }
}
