//! Random sequences of all calls that change files or the history (edits, moves, undo, redo, hunks, turns, marks, rewind, restore,
//! snapshots, questions) by several sessions, while a user changes files without the engine and processes are killed at
//! any step, compared with a simple model: files are rows of cells, and an operation is a list of changed cells.

use crate::driven::{DrivenProcess, next_line, report, stop_at};
use crate::fixture::{SharedRoot, few_cases};
use emendate::{AskingCall, CallContext, Config, Engine, PersonAnswer, UnreadPolicy};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const SESSIONS: usize = 3;
/// A person is asked before the last one is edited.
const FILES: [&str; 3] = ["a", "b", "asked"];
const ASKED: usize = 2;
const CELLS: usize = 5;
/// The cell with the number in the name of the file; 0 for the name without one. Each move gives it a new number.
const NAME: usize = CELLS;
/// Lines between two cells, so that each change is a hunk of its own.
const LINES_BETWEEN: usize = 9;
const CONFIG: &str = "[policy]\nask = ['Edit(asked)']\n[ask]\nwait_seconds = 600\n";

/// The values of the cells of each file.
type Tree = Vec<Vec<u32>>;

#[derive(Clone, Debug)]
enum Act {
    /// A call by a session; with a number, its process is killed at that step.
    Call(usize, Call, Option<usize>),
    /// The user changes a cell with another program.
    Outside(usize, usize),
    /// The session begins another turn.
    Turn(usize),
}

#[derive(Clone, Debug)]
enum Call {
    Edit(usize, BTreeSet<usize>),
    /// Moves a file, and perhaps changes a cell.
    Move(usize, Option<usize>),
    Undo,
    Redo,
    /// Undoes the operation that many places before the newest one.
    UndoOne(usize),
    /// The file is named by its present path, or by that of the operation.
    UndoHunk(usize, usize, bool),
    UndoTurn,
    UndoSince(usize),
    Mark,
    Rewind(usize),
    Restore(usize, usize),
    Snapshot,
    /// Answers the oldest question.
    Answer(bool),
}

fn act() -> impl Strategy<Value = Act> {
    let cells = || proptest::collection::btree_set(0..CELLS, 1..3);
    let call = prop_oneof![
        10 => (0..FILES.len(), cells()).prop_map(|(file, cells)| Call::Edit(file, cells)),
        3 => (0..ASKED, proptest::option::of(0..CELLS)).prop_map(|(file, cell)| Call::Move(file, cell)),
        5 => Just(Call::Undo),
        3 => Just(Call::Redo),
        4 => (0..8_usize).prop_map(Call::UndoOne),
        4 => (0..8_usize, 1..3_usize, any::<bool>())
            .prop_map(|(back, hunk, is_present)| Call::UndoHunk(back, hunk, is_present)),
        2 => Just(Call::UndoTurn),
        2 => (0..3_usize).prop_map(Call::UndoSince),
        3 => Just(Call::Mark),
        3 => (0..3_usize).prop_map(Call::Rewind),
        3 => (0..FILES.len(), 0..10_usize).prop_map(|(file, back)| Call::Restore(file, back)),
        2 => Just(Call::Snapshot),
        3 => any::<bool>().prop_map(Call::Answer),
    ];
    prop_oneof![
        12 => (0..SESSIONS, call, proptest::option::weighted(0.12, 1..7_usize))
            .prop_map(|(session, call, kill)| Act::Call(session, call, kill)),
        3 => (0..FILES.len(), 0..CELLS).prop_map(|(file, cell)| Act::Outside(file, cell)),
        1 => (0..SESSIONS).prop_map(Act::Turn),
    ]
}

fn configured() -> Config {
    Config::default().with_file(CONFIG, "config.toml", true).unwrap()
}

fn write_cells(fixture: &SharedRoot, file: usize, cells: &[u32]) {
    fs::write(fixture.path(name_of(file, cells)), text_of(cells)).unwrap();
}

fn read_cells(fixture: &SharedRoot) -> Tree {
    let entries = fs::read_dir(fixture.root()).unwrap();
    let names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let file = |file: usize| {
        let mut numbers = names.iter().filter_map(|name| number_in(name, file));
        let number = numbers.next().unwrap_or_else(|| panic!("{} is gone: {names:?}", FILES[file]));
        assert_eq!(numbers.next(), None, "{} is there twice: {names:?}", FILES[file]);
        let name = if number == 0 { FILES[file].to_owned() } else { format!("{}.{number}", FILES[file]) };
        [cells_of(&fs::read_to_string(fixture.path(name)).unwrap()), vec![number]].concat()
    };
    (0..FILES.len()).map(file).collect()
}

/// The name of a file.
fn name_of(file: usize, cells: &[u32]) -> String {
    if cells[NAME] == 0 { FILES[file].to_owned() } else { format!("{}.{}", FILES[file], cells[NAME]) }
}

/// Returns the number in the name of a file; `None` for the name of another one.
fn number_in(name: &str, file: usize) -> Option<u32> {
    let rest = name.strip_prefix(FILES[file])?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('.')?.parse().ok() }
}

fn line_of(cell: usize, value: u32) -> String {
    format!("cell {cell}: {value}\n")
}

fn text_of(cells: &[u32]) -> String {
    let between: String = (0..LINES_BETWEEN).map(|line| format!("line {line}\n")).collect();
    cells[..CELLS].iter().enumerate().map(|(cell, value)| line_of(cell, *value) + &between).collect()
}

fn cells_of(text: &str) -> Vec<u32> {
    let cells: Vec<u32> =
        text.lines().filter_map(|line| line.strip_prefix("cell ")?.split_once(": ")?.1.parse().ok()).collect();
    assert_eq!(text_of(&cells), text, "something beside the cells changed");
    cells
}

fn caller(session: usize, turn: u32) -> CallContext {
    CallContext {
        unread: UnreadPolicy::Allow,
        session: format!("s{session}"),
        turn: Some(format!("t{turn}")),
        ..CallContext::default()
    }
}

/// Entry point of each process; run directly, it does nothing.
#[test]
fn one_process() {
    let Ok(fixture) = std::env::var("MODEL_BED") else { return };
    static STOPS: AtomicBool = AtomicBool::new(false);
    let stop = |point: &str| stop_at(point, &STOPS);
    let engine = SharedRoot(fixture.into()).watched_engine(configured(), Box::new(stop));
    loop {
        let call: Value = serde_json::from_str(&next_line()).unwrap();
        let number = |key: &str| u32::try_from(call[key].as_u64().unwrap()).unwrap();
        let person = caller(number("session") as usize, number("turn"));
        let (tool, input) = (call["tool"].as_str().unwrap(), &call["input"]);
        STOPS.store(call["stops"] == true, Ordering::Relaxed);
        let code = if tool == "answer" {
            let no = PersonAnswer::Deny { reason: String::new() };
            let answer = if input["yes"] == true { PersonAnswer::Approve } else { no };
            let outcome = engine.questions().answer(input["id"].as_str().unwrap(), &answer);
            outcome.map_or_else(|error| error.code().as_str().to_owned(), |it| it.code.unwrap_or("ok".to_owned()))
        } else {
            let reply = engine.call(&person, tool, input.clone());
            // Its process ends, so whoever answers carries it out.
            drop(engine.questions().store(&person, AskingCall { profile: None, tool, input }, &reply, None));
            reply.result.as_ref().map_or_else(|error| error.code().as_str(), |_| "ok").to_owned()
        };
        stop("the answer");
        engine.history().store_unstored_contents();
        report(&format!("done {code}"));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Edit,
    Undo,
    Redo,
}

/// A changed cell: file, cell, and the values before and after.
type Change = (usize, usize, u32, u32);

/// An operation of the model.
#[derive(Clone, Debug)]
struct Operation {
    session: String,
    turn: u32,
    role: Role,
    is_moment: bool,
    changes: Vec<Change>,
    /// The contents of the files that it touched, before and after.
    files: BTreeMap<usize, (Vec<u32>, Vec<u32>)>,
    undoes: Vec<u64>,
    undone_by: Option<u64>,
}

impl Operation {
    fn moves(&self, file: usize) -> bool {
        self.changes.iter().any(|it| (it.0, it.1) == (file, NAME))
    }
}

/// A question that waits: its id, and the files that it is about, as they were and as they would be.
struct Question {
    id: String,
    is_edit: bool,
    files: Vec<(usize, Vec<u32>, Vec<u32>)>,
}

struct Model {
    disk: Tree,
    /// The contents that the history knows.
    recorded: Tree,
    operations: BTreeMap<u64, Operation>,
    /// Names of marks, with the number of their operation and the files then.
    marks: Vec<(String, u64, Tree)>,
    questions: Vec<Question>,
    turns: [u32; SESSIONS],
    /// The last value that was given to a cell: each is used once.
    value: u32,
    story: String,
}

/// Takes operations back, the newest first; `None` for a conflict.
fn taken_back(disk: &Tree, operations: &[&Operation]) -> Option<Tree> {
    let mut tree = disk.clone();
    for (file, cell, before, after) in operations.iter().flat_map(|it| it.changes.iter().copied()) {
        let now = &mut tree[file][cell];
        if *now != after && *now != before {
            return None;
        }
        *now = before;
    }
    Some(tree)
}

fn changes_between(before: &Tree, after: &Tree) -> Vec<Change> {
    let cells = (0..FILES.len()).flat_map(|file| (0..=NAME).map(move |cell| (file, cell)));
    let change = |(file, cell): (usize, usize)| (file, cell, before[file][cell], after[file][cell]);
    cells.map(change).filter(|(.., before, after)| before != after).collect()
}

impl Model {
    /// Adds to what a failed case prints.
    fn tell(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.story.write_fmt(what);
    }

    fn fresh(&mut self) -> u32 {
        self.value += 1;
        self.value
    }

    /// The number of the operation that many places before the newest one.
    fn back(&self, places: usize) -> Option<u64> {
        self.operations.iter().rev().filter(|(_, it)| !it.is_moment).nth(places).map(|(number, _)| *number)
    }

    /// The operation that an undo without a name selects.
    fn last(&self, session: &str, redo: bool) -> Option<u64> {
        for (number, it) in self.operations.iter().rev() {
            match it.role {
                _ if it.session != session || it.is_moment => {}
                Role::Edit if redo => return None,
                _ if self.came_back(*number) => return Some(*number),
                _ if it.undone_by.is_some() => {}
                Role::Undo if redo => return Some(*number),
                Role::Edit | Role::Redo if !redo => return Some(*number),
                _ => {}
            }
        }
        None
    }

    /// True for an edit that came back with the undo of several operations.
    fn came_back(&self, number: u64) -> bool {
        let edit = &self.operations[&number];
        let mut last = edit;
        while let Some(by) = last.undone_by {
            last = &self.operations[&by];
        }
        edit.role == Role::Edit && edit.undone_by.is_some() && last.role == Role::Undo && self.is_in_effect(number, &[])
    }

    /// True for an operation that is in effect if these are taken back.
    fn is_in_effect(&self, number: u64, taken_back: &[u64]) -> bool {
        let is_undone = |by| self.is_in_effect(by, taken_back);
        !taken_back.contains(&number) && !self.operations[&number].undone_by.is_some_and(is_undone)
    }

    /// The files of these operations with all edits that are in effect without them, in order, and the others as they are.
    fn without(&self, taken_back: &[u64], disk: &Tree) -> Tree {
        let mut edited = vec![vec![0; NAME + 1]; FILES.len()];
        let edits = self.operations.iter().filter(|(_, it)| it.role == Role::Edit);
        for (_, it) in edits.filter(|(number, _)| self.is_in_effect(**number, taken_back)) {
            for &(file, cell, _, after) in &it.changes {
                edited[file][cell] = after;
            }
        }
        let mut tree = disk.clone();
        for file in taken_back.iter().flat_map(|number| self.operations[number].files.keys()) {
            tree[*file].clone_from(&edited[*file]);
        }
        tree
    }

    /// True if a later operation in effect changed one of the cells, so that undoing it may bring back the operation's
    /// values. The undo of an operation does not count: its redo can be undone.
    fn is_covered(&self, number: u64) -> bool {
        let cells: BTreeSet<(usize, usize)> =
            self.operations[&number].changes.iter().map(|&(file, cell, ..)| (file, cell)).collect();
        let mut later = self.operations.range(number + 1..);
        later.any(|(later, it)| {
            let is_in_effect = it.undone_by.is_none() && it.role != Role::Undo || self.came_back(*later);
            is_in_effect && it.changes.iter().any(|&(file, cell, ..)| cells.contains(&(file, cell)))
        })
    }

    /// The content of a file after an operation, as the log has it.
    fn content(&self, file: usize, number: u64) -> Option<Vec<u32>> {
        let until = self.operations.range(..=number).rev().find_map(|(_, it)| it.files.get(&file));
        let later = || self.operations.range(number + 1..).find_map(|(_, it)| it.files.get(&file));
        until.map(|it| it.1.clone()).or_else(|| later().map(|it| it.0.clone()))
    }

    /// Prepares a call: the tool, its input, and the expected effect. `None` if there is nothing yet that the call
    /// could refer to.
    fn prepare(
        &mut self,
        fixture: &SharedRoot,
        session: usize,
        call: &Call,
    ) -> Option<(&'static str, Value, Expected)> {
        let name = format!("s{session}");
        let reverse = |number: Option<u64>| Expected::Undoes(number);
        Some(match call {
            Call::Edit(file, cells) => {
                let (mut tree, mut edits) = (self.disk.clone(), Vec::new());
                for cell in cells {
                    let (old, new) = (self.disk[*file][*cell], self.fresh());
                    tree[*file][*cell] = new;
                    let (old, new) = (line_of(*cell, old), line_of(*cell, new));
                    edits.push(json!({ "old_string": old, "new_string": new }));
                }
                let input = json!({ "file_path": fixture.path(name_of(*file, &self.disk[*file])), "edits": edits });
                let asks = *file == ASKED;
                ("multi_edit", input, if asks { Expected::Asks(tree) } else { Expected::Tree(Some(tree)) })
            }
            Call::Move(file, cell) => self.prepare_move(fixture, *file, *cell),
            Call::Undo => ("undo", json!({}), reverse(self.last(&name, false))),
            Call::Redo => ("undo", json!({ "redo": true }), reverse(self.last(&name, true))),
            Call::UndoOne(back) => {
                let number = self.back(*back)?;
                let is_possible = self.operations[&number].undone_by.is_none() || self.came_back(number);
                let target = is_possible.then_some(number);
                ("undo", json!({ "id": number.to_string() }), reverse(target))
            }
            Call::UndoHunk(back, hunk, is_present) => {
                return self.prepare_undo_of_hunk(fixture, self.back(*back)?, *hunk, *is_present);
            }
            Call::UndoTurn => ("undo", json!({ "turn": true }), Expected::Turn),
            Call::UndoSince(mark) | Call::Rewind(mark) => {
                let (name, number, tree) = self.marks.iter().rev().nth(*mark)?.clone();
                let expected = Expected::Since(number, tree);
                match call {
                    Call::Rewind(_) => ("rewind", json!({ "to": name }), expected),
                    _ => ("undo", json!({ "since": name }), expected),
                }
            }
            Call::Mark => ("mark", json!({ "name": format!("m{}", self.fresh()) }), Expected::Mark),
            // A path of a file that was moved is that of another file, or of none.
            Call::Restore(file, _) if self.operations.values().any(|it| it.moves(*file)) => return None,
            Call::Restore(file, back) => {
                let number = self.back(*back)?;
                let tree = self.content(*file, number).map(|cells| {
                    let mut tree = self.disk.clone();
                    tree[*file] = cells;
                    tree
                });
                let input = json!({ "file_path": fixture.path(FILES[*file]), "id": number.to_string() });
                ("restore", input, Expected::Tree(tree.filter(|tree| *tree != self.disk)))
            }
            Call::Snapshot => ("snapshot", json!({}), Expected::Snapshot),
            Call::Answer(yes) => {
                let question = self.questions.first()?;
                let is_same = question.files.iter().all(|(file, before, _)| *before == self.disk[*file]);
                let mut tree = self.disk.clone();
                for (file, _, after) in &question.files {
                    tree[*file].clone_from(after);
                }
                let input = json!({ "id": question.id, "yes": yes });
                let tree = (*yes && is_same).then_some(tree);
                // The operation that it would undo may have been undone since.
                let must = question.is_edit;
                ("answer", input, if must { Expected::Tree(tree) } else { Expected::Perhaps(tree) })
            }
        })
    }
}

impl Model {
    fn prepare_move(
        &mut self,
        fixture: &SharedRoot,
        file: usize,
        cell: Option<usize>,
    ) -> (&'static str, Value, Expected) {
        let mut tree = self.disk.clone();
        tree[file][NAME] = self.fresh();
        let (from, to) = (name_of(file, &self.disk[file]), name_of(file, &tree[file]));
        let patch = if let Some(cell) = cell {
            tree[file][cell] = self.fresh();
            let (old, new) = (line_of(cell, self.disk[file][cell]), line_of(cell, tree[file][cell]));
            format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n@@\n-{old}+{new}*** End Patch\n")
        } else {
            format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
        };
        ("apply", json!({ "input": patch, "directory": fixture.root() }), Expected::Tree(Some(tree)))
    }

    fn prepare_undo_of_hunk(
        &self,
        fixture: &SharedRoot,
        number: u64,
        hunk: usize,
        is_present: bool,
    ) -> Option<(&'static str, Value, Expected)> {
        let operation = &self.operations[&number];
        let (file, (_, left)) = operation.files.iter().next()?;
        let all: Vec<Change> = operation.changes.iter().copied().filter(|it| it.0 == *file && it.1 != NAME).collect();
        let name = name_of(*file, if is_present { &self.disk[*file] } else { left });
        let tree = all.get(hunk - 1).and_then(|&(file, cell, before, after)| {
            let mut tree = self.disk.clone();
            let now = std::mem::replace(&mut tree[file][cell], before);
            (now == after).then_some(tree)
        });
        let input = json!({ "id": number.to_string(), "file_path": fixture.path(name), "hunks": [hunk] });
        Some(("undo", input, Expected::Tree(tree)))
    }
}

/// The expected effect of a call.
#[derive(Clone, Debug)]
enum Expected {
    /// The call leads to these files, or is refused (`None`).
    Tree(Option<Tree>),
    /// The call leads to these files, if it is carried out at all.
    Perhaps(Option<Tree>),
    /// A question, after whose approval these are the files.
    Asks(Tree),
    /// The reversal of this operation, or a refusal.
    Undoes(Option<u64>),
    /// The reversal of what the session did in its last turn.
    Turn,
    /// The reversal of what the session did since that operation, when these were the files.
    Since(u64, Tree),
    Mark,
    Snapshot,
}

/// A test in progress.
struct Play {
    fixture: SharedRoot,
    processes: Vec<DrivenProcess>,
    /// Reads the history, and resolves what a dead process left.
    observer: Engine,
    model: Model,
}

impl Play {
    fn new(directory: &Path) -> Play {
        let fixture = SharedRoot::create(directory);
        for file in 0..FILES.len() {
            write_cells(&fixture, file, &[0; NAME + 1]);
        }
        let observer = fixture.engine(configured());
        for file in FILES {
            // From now on the history knows the files.
            let reply = observer.call(&caller(0, 0), "read", json!({ "file_path": fixture.path(file) }));
            assert!(reply.result.is_ok());
        }
        let disk = read_cells(&fixture);
        let processes =
            (0..SESSIONS).map(|_| DrivenProcess::start("model::one_process", "MODEL_BED", &fixture.0)).collect();
        let model = Model {
            recorded: disk.clone(),
            disk,
            operations: BTreeMap::new(),
            marks: Vec::new(),
            questions: Vec::new(),
            turns: [0; SESSIONS],
            value: 0,
            story: String::new(),
        };
        Play { fixture, processes, observer, model }
    }

    fn act(&mut self, act: &Act) {
        self.model.tell(format_args!("\n{act:?}"));
        match act {
            Act::Turn(session) => self.model.turns[*session] += 1,
            Act::Outside(file, cell) => {
                let value = self.model.fresh();
                self.model.disk[*file][*cell] = value;
                write_cells(&self.fixture, *file, &self.model.disk[*file]);
            }
            Act::Call(session, call, kill) => {
                let Some((tool, input, expected)) = self.model.prepare(&self.fixture, *session, call) else { return };
                let code = self.call(*session, tool, &input, *kill);
                self.model.tell(format_args!(" → {}", code.as_deref().unwrap_or("killed")));
                self.check(*session, code.as_deref(), &input, &expected);
            }
        }
    }

    /// Makes a call; returns its code, or `None` if its process was killed.
    fn call(&mut self, session: usize, tool: &str, input: &Value, kill: Option<usize>) -> Option<String> {
        let turn = self.model.turns[session];
        let line = json!({ "session": session, "turn": turn, "tool": tool, "input": input, "stops": kill.is_some() });
        let process = &mut self.processes[session];
        let mut code = process.send(&line.to_string());
        for _ in 1..kill.unwrap_or(1) {
            if code.is_none() {
                code = process.send("go on");
            }
        }
        if kill.is_some() && code.is_none() {
            self.processes[session] = DrivenProcess::start("model::one_process", "MODEL_BED", &self.fixture.0);
        }
        code
    }

    /// Returns the operations that the history has and the model has not, the oldest first.
    fn new_rows(&self) -> Vec<(u64, Value)> {
        let reply = self.observer.call(&caller(0, 0), "history", json!({ "limit": 1000 })).to_json();
        let known = self.model.operations.keys().next_back().copied().unwrap_or(0);
        let rows = reply["data"]["operations"].as_array().unwrap().iter().rev();
        rows.map(|row| (number_of(&row["id"]), row.clone())).filter(|(number, _)| *number > known).collect()
    }

    fn check(&mut self, session: usize, code: Option<&str>, input: &Value, expected: &Expected) {
        let before = self.model.disk.clone();
        // Only this call can have changed files since.
        let rows = self.new_rows();
        let after = read_cells(&self.fixture);
        let story = self.model.story.clone();
        let mut own = None;
        for (number, row) in rows {
            assert_eq!((&row["pending"], &row["unsure"]), (&json!(false), &json!(false)), "{row:#}{story}");
            if row["tool"] == "outside" {
                self.record_outside(number, &row, &before);
            } else if matches!(row["tool"].as_str(), Some("mark" | "turn")) {
                self.record(number, &row, session, &after, &after);
                if row["tool"] == "mark" {
                    let name = input["name"].as_str().unwrap().to_owned();
                    self.model.marks.push((name, number, before.clone()));
                }
            } else {
                assert!(own.replace(number).is_none(), "two operations of one call: {row:#}{story}");
                self.record(number, &row, session, &before, &after);
            }
        }
        match own {
            None => assert_eq!(after, before, "files changed without an operation{story}"),
            Some(number) => self.check_operation(number, &before, &after, expected),
        }
        let is_done = own.is_some();
        let asks = code == Some("access.ask");
        assert!(!(asks && is_done), "done, although a person is asked{story}");
        match expected {
            _ if asks => {}
            Expected::Tree(Some(_)) if code.is_some() => assert!(is_done, "it was not done{story}"),
            Expected::Tree(None) | Expected::Mark | Expected::Snapshot | Expected::Asks(_) => {
                assert!(!is_done, "it was not refused{story}");
            }
            Expected::Undoes(Some(target)) if code.is_some() && !is_done => {
                let operation = &self.model.operations[target];
                let back = taken_back(&before, &[operation]);
                let is_left_in_effect = code == Some("edit.no_change") && self.model.is_covered(*target);
                let want = is_left_in_effect.then_some(&before);
                assert_eq!(back.as_ref(), want, "{operation:?} was not taken back{story}");
            }
            Expected::Undoes(None) => assert!(!is_done, "there was nothing to take back{story}"),
            Expected::Since(number, _) if code.is_some() && !is_done => {
                // It was refused: something that others did is in the way, or there was nothing to do.
                let name = format!("s{session}");
                let is_left = |cell: (usize, usize)| self.writers(cell, *number) == BTreeSet::from([&*name]);
                let tree = self.expected_since(&before, expected, &name);
                // A redo of what was done before and after the mark has to be undone by itself first.
                let is_mixed = self.model.operations.range(number + 1..).any(|(_, it)| it.role == Role::Redo);
                let has_conflict = self.has_mixed_cells(*number, &name) || code == Some("call.invalid") && is_mixed;
                assert!(has_conflict || tree == before, "{:?}{story}", cells().filter(|it| is_left(*it)).count());
            }
            _ => {}
        }
        self.model.disk = after;
        self.look_at_questions(code, expected);
    }

    /// Compares what an operation did with what it has to do.
    fn check_operation(&mut self, number: u64, before: &Tree, after: &Tree, expected: &Expected) {
        let story = &self.model.story;
        let operation = self.model.operations[&number].clone();
        if !operation.undoes.is_empty() {
            let targets: Vec<&Operation> = operation.undoes.iter().map(|id| &self.model.operations[id]).collect();
            // An undone hunk comes back only with the rest of its operation.
            if *after != self.model.without(&operation.undoes, before) {
                assert_eq!(taken_back(before, &targets).as_ref(), Some(after), "{operation:?}{story}");
            }
        }
        match expected {
            Expected::Tree(tree) => assert_eq!(tree.as_ref(), Some(after), "{story}"),
            // It may be about other files, too, for which nobody is asked.
            Expected::Perhaps(tree) => {
                assert_eq!(tree.as_ref().map(|tree| &tree[ASKED]), Some(&after[ASKED]), "{story}");
            }
            Expected::Undoes(target) => assert_eq!(operation.undoes, Vec::from_iter(*target), "{story}"),
            Expected::Turn => {
                let turns: BTreeSet<u32> = operation.undoes.iter().map(|id| self.model.operations[id].turn).collect();
                assert_eq!(turns.len(), 1, "{operation:?}{story}");
            }
            Expected::Since(since, _) => {
                for id in &operation.undoes {
                    assert!(*id > *since, "{operation:?}{story}");
                    assert_eq!(self.model.operations[id].session, operation.session, "{story}");
                }
                let want = self.expected_since(before, expected, &operation.session);
                assert_eq!(*after, want, "{story}");
            }
            Expected::Mark | Expected::Snapshot | Expected::Asks(_) => panic!("{operation:?}{story}"),
        }
        for &id in &operation.undoes {
            assert!(self.model.is_in_effect(id, &[]), "{operation:?}{story}");
            let target = self.model.operations.get_mut(&id).unwrap();
            target.undone_by = Some(number);
        }
    }

    /// The sessions that changed a cell after an operation.
    fn writers(&self, cell: (usize, usize), since: u64) -> BTreeSet<&str> {
        let later = self.model.operations.range(since + 1..).map(|(_, it)| it);
        later.filter(|it| it.changes.iter().any(|it| (it.0, it.1) == cell)).map(|it| &*it.session).collect()
    }

    fn has_mixed_cells(&self, since: u64, session: &str) -> bool {
        cells().any(|cell| {
            let writers = self.writers(cell, since);
            writers.contains(session) && writers.len() > 1 || self.is_changed_outside(cell)
        })
    }

    /// True for a cell that was changed outside, and the history does not know it yet.
    fn is_changed_outside(&self, (file, cell): (usize, usize)) -> bool {
        self.model.disk[file][cell] != self.model.recorded[file][cell]
    }

    /// The files after everything that the session did since a mark was taken back: its own cells are as they were, those
    /// of others as they are. Cells that both changed are compared by the reversal of the operations alone.
    fn expected_since(&self, now: &Tree, expected: &Expected, session: &str) -> Tree {
        let Expected::Since(since, then) = expected else { return now.clone() };
        let mut tree = now.clone();
        let left = read_cells(&self.fixture);
        for (file, cell) in cells() {
            if left[file] == now[file] && self.is_changed_outside((file, cell)) {
                // The call had no reason to look at this file, so the history does not know yet whose cell it is.
                continue;
            }
            let mut writers = self.writers((file, cell), *since);
            // The operation that was just made is the reversal.
            writers.retain(|it| !it.is_empty());
            if writers == BTreeSet::from([session]) {
                tree[file][cell] = then[file][cell];
            } else if writers.contains(session) {
                tree[file][cell] = left[file][cell];
            }
        }
        tree
    }

    /// Adds an operation of others, which has to be what the model knows of the disk.
    fn record_outside(&mut self, number: u64, row: &Value, before: &Tree) {
        let story = &self.model.story;
        let mut known = self.model.recorded.clone();
        for file in row["files"].as_array().unwrap() {
            let nth = file_of(file);
            assert_ne!(known[nth], before[nth], "a change that nobody made: {row:#}{story}");
            known[nth].clone_from(&before[nth]);
        }
        let recorded = self.model.recorded.clone();
        self.record(number, row, SESSIONS, &recorded, &known);
    }

    fn record(&mut self, number: u64, row: &Value, session: usize, before: &Tree, after: &Tree) {
        let undoes = std::iter::once(&row["takesBack"]).chain(row["takesBackAlso"].as_array().unwrap());
        let files: BTreeMap<usize, (Vec<u32>, Vec<u32>)> = row["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| (file_of(file), (before[file_of(file)].clone(), after[file_of(file)].clone())))
            .collect();
        for nth in files.keys() {
            self.model.recorded[*nth].clone_from(&after[*nth]);
        }
        let operation = Operation {
            session: row["session"].as_str().unwrap().to_owned(),
            turn: self.model.turns.get(session).copied().unwrap_or(0),
            role: match row["role"].as_str() {
                Some("undo") => Role::Undo,
                Some("redo") => Role::Redo,
                _ => Role::Edit,
            },
            is_moment: matches!(row["tool"].as_str(), Some("mark" | "turn")),
            changes: changes_between(before, after),
            files,
            undoes: undoes.filter(|id| id.is_string()).map(number_of).collect(),
            undone_by: None,
        };
        self.model.operations.insert(number, operation);
    }

    /// Adds the questions that are new, and removes those that have an answer.
    fn look_at_questions(&mut self, code: Option<&str>, expected: &Expected) {
        let pending = self.observer.questions().pending().unwrap();
        let ids: BTreeSet<&str> = pending.iter().map(|it| &*it.id).collect();
        self.model.questions.retain(|it| ids.contains(&*it.id));
        for found in &pending {
            if self.model.questions.iter().any(|it| it.id == found.id) {
                continue;
            }
            let files = found.files.iter().map(|it| {
                let file = file_named(&it.path);
                let name = self.model.disk[file][NAME];
                let proposed = [cells_of(it.proposed.as_ref().unwrap()), vec![name]].concat();
                (file, self.model.disk[file].clone(), proposed)
            });
            let question =
                Question { id: found.id.clone(), is_edit: found.tool == "multi_edit", files: files.collect() };
            self.model.questions.push(question);
        }
        if let (Some(code), Expected::Asks(tree)) = (code, expected) {
            assert_eq!(code, "access.ask", "{}", self.model.story);
            let question = self.model.questions.last().unwrap();
            assert_eq!(question.files[0].2, tree[ASKED], "{}", self.model.story);
        }
    }
}

fn cells() -> impl Iterator<Item = (usize, usize)> {
    (0..FILES.len()).flat_map(|file| (0..=NAME).map(move |cell| (file, cell)))
}

/// The file of a row of the history.
fn file_of(file: &Value) -> usize {
    file_named(Path::new(file["filePath"].as_str().unwrap()))
}

fn file_named(path: &Path) -> usize {
    let name = path.file_name().unwrap().to_str().unwrap();
    let file = (0..FILES.len()).find(|file| number_in(name, *file).is_some());
    file.unwrap_or_else(|| panic!("{} is none of the files", path.display()))
}

/// The number of an operation, whose name is `17-3fa9`.
fn number_of(id: &Value) -> u64 {
    id.as_str().unwrap().split('-').next().unwrap().parse().unwrap()
}

fn play(acts: &[Act]) {
    let directory = tempfile::tempdir().unwrap();
    let mut play = Play::new(directory.path());
    for act in acts {
        play.act(act);
    }
}

proptest! {
    #![proptest_config(few_cases(200))]

    #[test]
    fn history_does_what_a_simple_model_does(acts in vec(act(), 1..60)) {
        play(&acts);
    }
}
