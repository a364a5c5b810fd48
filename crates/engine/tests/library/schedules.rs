//! Random schedules of several processes on one history: each is stopped between the steps of its calls (before and
//! after it writes the log, before and after it changes the files), others continue, and some are killed there.
//! Whatever the schedule, the log reports what happened, and undoing everything restores the initial state.

use crate::driven::{DrivenProcess, next_line, report, stop_at};
use crate::fixture::{SharedRoot, few_cases};
use emendate::{CallContext, Config, Engine, UnreadPolicy};
use emendate_history::Retention;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const PROCESSES: usize = 3;
const FILES: [&str; 2] = ["a", "b"];

#[derive(Clone, Debug)]
enum Act {
    /// Continues to the next point of its call, or begins the next call.
    Step(Call),
    /// Kills the process, and starts another one in its place.
    Kill,
}

#[derive(Clone, Debug)]
enum Call {
    /// Changes one line of a file.
    Edit(usize, usize, u16),
    /// Replaces both files in one operation.
    Both(u16),
    Undo,
    /// Undoes the newest operations together.
    UndoLast(usize),
    /// Undoes the operation of that number, whatever it was.
    UndoOne(u64),
    Redo,
    /// Restores a file to its state at the operation of that number.
    Restore(usize, u64),
    Free,
}

fn act() -> impl Strategy<Value = (usize, Act)> {
    let call = prop_oneof![
        6 => (0..FILES.len(), 0..6_usize, 0..1000_u16).prop_map(|(file, line, text)| Call::Edit(file, line, text)),
        2 => (0..1000_u16).prop_map(Call::Both),
        8 => Just(Call::Undo),
        2 => (2..4_usize).prop_map(Call::UndoLast),
        2 => (1..12_u64).prop_map(Call::UndoOne),
        4 => Just(Call::Redo),
        2 => (0..FILES.len(), 1..12_u64).prop_map(|(file, at)| Call::Restore(file, at)),
        1 => Just(Call::Free),
    ];
    (0..PROCESSES, prop_oneof![12 => call.prop_map(Act::Step), 1 => Just(Act::Kill)])
}

/// Creates a root with the files.
fn with_files(directory: &Path) -> SharedRoot {
    let fixture = SharedRoot::create(directory);
    for name in FILES {
        let text: String = (0..6).map(|line| format!("{line}: start of {name}\n")).collect();
        fs::write(fixture.path(name), text).unwrap();
    }
    fixture
}

fn texts(fixture: &SharedRoot) -> BTreeMap<&'static str, String> {
    FILES.iter().map(|name| (*name, fs::read_to_string(fixture.path(name)).unwrap())).collect()
}

fn input_of(fixture: &SharedRoot, call: &Call) -> (&'static str, Value) {
    let path = |nth: usize| fixture.path(FILES[nth]);
    match call {
        Call::Edit(file, line, text) => {
            let now = fs::read_to_string(path(*file)).unwrap();
            let old = now.lines().nth(*line).unwrap_or_default().to_owned();
            let new = format!("{line}: {text}");
            ("edit", json!({ "file_path": path(*file), "old_string": old, "new_string": new }))
        }
        Call::Both(text) => {
            let edit = |nth: usize| {
                let now = fs::read_to_string(path(nth)).unwrap();
                let old = now.lines().next().unwrap_or_default().to_owned();
                json!({ "file_path": path(nth), "old_string": old, "new_string": format!("0: {text}") })
            };
            ("multi_edit", json!({ "edits": [edit(0), edit(1)] }))
        }
        Call::Undo => ("undo", json!({ "any_session": true })),
        Call::UndoLast(times) => ("undo", json!({ "last": times, "any_session": true })),
        Call::UndoOne(number) => ("undo", json!({ "id": number.to_string() })),
        Call::Redo => ("undo", json!({ "redo": true, "any_session": true })),
        Call::Restore(file, at) => ("restore", json!({ "file_path": path(*file), "id": at.to_string() })),
        Call::Free => ("free", json!({})),
    }
}

/// Returns the line that makes a process carry out a call, with a stop at each point of it if `stops`.
fn line_of(fixture: &SharedRoot, call: &Call, stops: bool) -> String {
    let (tool, input) = input_of(fixture, call);
    json!({ "tool": tool, "input": input, "stops": stops }).to_string()
}

/// Entry point of each process of a schedule; run directly, it does nothing.
#[test]
fn one_process() {
    let Ok(fixture) = std::env::var("SCHEDULED_BED") else { return };
    static STOPS: AtomicBool = AtomicBool::new(true);
    let stop = |point: &str| stop_at(point, &STOPS);
    let engine = SharedRoot(fixture.into()).watched_engine(Config::default(), Box::new(stop));
    let person =
        CallContext { unread: UnreadPolicy::Allow, session: std::process::id().to_string(), ..CallContext::default() };
    loop {
        let call: Value = serde_json::from_str(&next_line()).unwrap();
        let tool = call["tool"].as_str().unwrap();
        STOPS.store(call["stops"] == true, Ordering::Relaxed);
        if tool == "free" {
            engine.history().collect_garbage(Retention::default()).unwrap();
            report("done ok");
            continue;
        }
        let reply = engine.call(&person, tool, call["input"].clone());
        let result = reply.result.as_ref().map_or_else(|error| error.code().as_str(), |_| "ok").to_owned();
        stop("the answer");
        engine.history().store_unstored_contents();
        report(&format!("done {result} {}", reply.text().replace('\n', " / ")));
    }
}

/// The operations of the log, the newest first.
fn operations(engine: &Engine) -> Vec<Value> {
    let person = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    let reply = engine.call(&person, "history", json!({ "limit": 1000 })).to_json();
    reply["data"]["operations"].as_array().unwrap().clone()
}

/// Each operation found the result of the one before it, each is undone by at most one, and that is what it reports.
fn check_log(operations: &[Value], schedule: &str) {
    let mut left: HashMap<String, Value> = HashMap::new();
    let mut taken: HashMap<String, String> = HashMap::new();
    for operation in operations.iter().rev() {
        assert_eq!((&operation["pending"], &operation["unsure"]), (&json!(false), &json!(false)), "{schedule}");
        for file in operation["files"].as_array().unwrap() {
            let path = file["filePath"].as_str().unwrap().to_owned();
            let found = left.insert(path, file["after"].clone());
            assert!(found.is_none_or(|found| found == file["before"]), "{operation:#} in {schedule}");
        }
        let also = operation["takesBackAlso"].as_array().unwrap().iter();
        for id in also.chain([&operation["takesBack"]]).filter_map(Value::as_str) {
            let id = taken.insert(id.to_owned(), operation["id"].as_str().unwrap().to_owned());
            assert!(id.is_none(), "{operation:#} in {schedule}");
        }
    }
    for operation in operations {
        let by = taken.get(operation["id"].as_str().unwrap()).map(String::as_str);
        assert_eq!(operation["undoneBy"].as_str(), by, "{operation:#} in {schedule}");
    }
}

fn play(acts: &[(usize, Act)]) {
    let dir = tempfile::tempdir().unwrap();
    let fixture = with_files(dir.path());
    let beginning = texts(&fixture);
    let mut processes: Vec<DrivenProcess> =
        (0..PROCESSES).map(|_| DrivenProcess::start("schedules::one_process", "SCHEDULED_BED", &fixture.0)).collect();
    let mut schedule = String::new();
    for (nth, act) in acts {
        let process = &mut processes[*nth];
        let done = match act {
            Act::Kill => {
                *process = DrivenProcess::start("schedules::one_process", "SCHEDULED_BED", &fixture.0);
                schedule.extend([format!("\n{nth} killed")]);
                None
            }
            Act::Step(_) if process.busy => process.send("go on"),
            Act::Step(call) => {
                schedule.extend([format!("\n{nth} {call:?}")]);
                process.send(&line_of(&fixture, call, true))
            }
        };
        schedule.extend(done.map(|done| format!("\n{nth} done: {done}")));
    }
    for (nth, process) in processes.iter_mut().enumerate() {
        while process.busy {
            let done = process.send("go on");
            schedule.extend(done.map(|done| format!("\n{nth} done: {done}")));
        }
    }
    drop(processes);
    undo_and_redo_everything(&fixture, &beginning, &schedule);
}

fn undo_and_redo_everything(fixture: &SharedRoot, beginning: &BTreeMap<&str, String>, schedule: &str) {
    let engine = fixture.engine(Config::default());
    let person = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    check_log(&operations(&engine), schedule);
    let end = texts(fixture);
    let mut undone = 0;
    loop {
        let reply = engine.call(&person, "undo", json!({ "any_session": true }));
        match &reply.result {
            Err(error) if error.code().as_str() == "operation.not_found" => break,
            // There was nothing left to do for it; the next one continues.
            Err(error) => assert_eq!(error.code().as_str(), "edit.no_change", "{}\n{schedule}", reply.text()),
            Ok(_) => {}
        }
        undone += 1;
        assert!(undone < 1000, "no end of undoing: {}\n{schedule}", reply.text());
    }
    assert_eq!(&texts(fixture), beginning, "{schedule}");
    for _ in 0..undone {
        let reply = engine.call(&person, "undo", json!({ "redo": true, "any_session": true }));
        let code = reply.result.as_ref().map_or_else(|error| error.code().as_str(), |_| "ok");
        assert!(matches!(code, "ok" | "edit.no_change"), "{}\n{schedule}", reply.text());
    }
    assert_eq!(texts(fixture), end, "{schedule}");
    check_log(&operations(&engine), schedule);
    assert!(!Path::new(&fixture.state().join("sessions.db.damaged")).exists());
}

/// Two processes select the same operation; one of them is delayed at every point.
#[test]
fn simultaneous_undos_of_one_operation_succeed_once() {
    for first in 0..6 {
        let edits = (1..3).flat_map(|text| std::iter::repeat_n((2, Act::Step(Call::Edit(0, 1, text))), 6));
        let early = std::iter::repeat_n((0, Act::Step(Call::Undo)), first);
        let late = std::iter::repeat_n((1, Act::Step(Call::Undo)), 6);
        play(&edits.chain(early).chain(late).collect::<Vec<_>>());
    }
}

/// An undo is logged, and another process gives the file the same text before it is written. Whoever looks at the file
/// then takes the undo for committed, but its own process knows that it was not.
#[test]
fn operation_whose_result_another_one_made_is_aborted() {
    let steps = |process: usize, call: Call, times: usize| std::iter::repeat_n((process, Act::Step(call)), times);
    for until_written in 1..4 {
        let edits = steps(0, Call::Edit(1, 2, 455), 6).chain(steps(2, Call::Edit(1, 0, 447), 6));
        let restore = |times| steps(0, Call::Restore(1, 1), times);
        let both = restore(1).chain(steps(1, Call::Undo, 2)).chain(restore(until_written));
        play(&edits.chain(both).chain(steps(2, Call::UndoOne(1), 6)).collect::<Vec<_>>());
    }
}

/// Three edits are undone and two of them redone, by two processes at once, one of which is stopped at every point: the
/// final state is that of one call after the other.
#[test]
fn concurrent_undos_and_redos_keep_their_order() {
    for first in 1..6 {
        let dir = tempfile::tempdir().unwrap();
        let fixture = with_files(dir.path());
        let mut edits = vec![texts(&fixture)];
        let mut processes = [
            DrivenProcess::start("schedules::one_process", "SCHEDULED_BED", &fixture.0),
            DrivenProcess::start("schedules::one_process", "SCHEDULED_BED", &fixture.0),
        ];
        for text in 1..4 {
            processes[0].send(&line_of(&fixture, &Call::Edit(0, text, 7), false)).unwrap();
            edits.push(texts(&fixture));
        }
        let mut left = 3;
        for (call, times) in [(Call::Undo, 3), (Call::Redo, 2)] {
            let mut done = 0;
            while done < times {
                let [one, other] = &mut processes;
                let mut ended = vec![one.send(&line_of(&fixture, &call, true))];
                ended.extend((1..first).map_while(|_| one.busy.then(|| one.send("go on"))));
                if done + 1 < times {
                    ended.push(other.send(&line_of(&fixture, &call, false)));
                }
                while one.busy {
                    ended.push(one.send("go on"));
                }
                let ended: Vec<String> = ended.into_iter().flatten().collect();
                done += ended.iter().filter(|result| result.starts_with("ok")).count();
                let known = |it: &String| it.starts_with("ok") || it.starts_with("lock.timeout");
                assert!(ended.iter().all(known), "{ended:#?}");
            }
            left = if times == 3 { left - done } else { left + done };
            assert_eq!(texts(&fixture), edits[left], "{first}: {call:?}");
        }
        drop(processes);
        undo_and_redo_everything(&fixture, &edits[0], "undos and redos at once");
    }
}

proptest! {
    #![proptest_config(few_cases(64))]

    #[test]
    fn everything_can_be_undone_after_any_schedule(acts in vec(act(), 1..60)) {
        play(&acts);
    }
}
