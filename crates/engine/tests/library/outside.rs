//! Changes by others become operations: each version that a call meets is in the history, and nothing is lost.

use crate::fixture::{EngineFixture, code, ok};
use emendate::fs::Durability;
use emendate::history::{Database, HistoryLimits, LogEntry, OperationFilter, OperationLog as _, root_key};
use emendate::{CallContext, Config, Reply, StateLocation};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

fn operations(fixture: &EngineFixture) -> Vec<Value> {
    let reply = fixture.call("history", json!({ "limit": 1000 }));
    reply.to_json()["data"]["operations"].as_array().unwrap().clone()
}

/// Returns, for each operation, whether it is one of others, the oldest first.
fn by_others(fixture: &EngineFixture) -> Vec<bool> {
    operations(fixture).iter().rev().map(|it| it["tool"] == "outside").collect()
}

#[test]
fn change_by_others_is_an_operation_of_its_own() {
    let fixture = EngineFixture::with_read("a", "one\ntwo\n");
    fixture.put_read("a", "one\nTWO\n");
    fixture.read("a");
    assert_eq!(by_others(&fixture), [true]);
    let shown = ok(&fixture.call("history", json!({ "id": "1" })));
    assert!(shown.contains("changed by others") && shown.contains("-two\n+TWO\n"), "{shown}");

    // The change is not an operation of the session, so it has to be named.
    assert_eq!(code(&fixture.call("undo", json!({}))), "operation.not_found");
    let undone = ok(&fixture.call("undo", json!({ "id": "1" })));
    assert!(undone.starts_with("Undone: operation 1-") && undone.contains("changed by others"), "{undone}");
    assert_eq!(fixture.get("a"), "one\ntwo\n");
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!(fixture.get("a"), "one\nTWO\n");
    assert_eq!(by_others(&fixture), [true, false, false]);
    assert_eq!(code(&fixture.call("undo", json!({ "any_session": true }))), "ok");
}

#[test]
fn edit_of_a_changed_file_records_the_change_first() {
    let fixture = EngineFixture::with_read("a", "one\ntwo\nthree\n");
    fixture.put("a", "ONE\ntwo\nthree\n");
    assert_eq!(code(&fixture.edit("a", "three", "3")), "ok");
    assert_eq!(by_others(&fixture), [true, false]);
    // Undoing the session's operation leaves that of others, and the other way round.
    ok(&fixture.call("undo", json!({})));
    assert_eq!(fixture.get("a"), "ONE\ntwo\nthree\n");
    ok(&fixture.call("undo", json!({ "id": "1" })));
    assert_eq!(fixture.get("a"), "one\ntwo\nthree\n");
}

#[test]
fn deletion_and_creation_by_others_are_known_after_the_first_call() {
    let fixture = EngineFixture::with_read("a", "one\n");
    fs::remove_file(fixture.path("a")).unwrap();
    assert_eq!(code(&fixture.read("a")), "file.not_found");
    assert_eq!(code(&fixture.read("a")), "file.not_found");
    fixture.put_read("a", "one\n");
    let kinds: Vec<Value> = operations(&fixture).iter().rev().map(|it| it["files"][0]["type"].clone()).collect();
    assert_eq!(kinds, ["delete", "create"]);
    ok(&fixture.call("undo", json!({ "id": "2" })));
    assert!(!fixture.path("a").exists());
    ok(&fixture.call("undo", json!({ "id": "1" })));
    assert_eq!(fixture.get("a"), "one\n");
}

#[test]
fn change_back_to_what_a_session_saw_is_recorded() {
    let fixture = EngineFixture::with_read("a", "one\n");
    ok(&fixture.edit("a", "one", "two"));
    // The session saw "one" before.
    fixture.put_read("a", "one\n");
    assert_eq!(by_others(&fixture), [false, true]);
}

#[test]
fn secrets_are_listed_without_their_contents() {
    let mut fixture = EngineFixture::new();
    fixture.caller.unread = emendate::UnreadPolicy::Allow;
    let path = fixture.put(".npmrc", "//registry/:_authToken=one\n");
    let write = |text: &str| fixture.call("write", json!({ "file_path": path, "content": text, "irreversible": true }));
    if code(&write("//registry/:_authToken=two\n")) != "ok" {
        // Guarded files are not written at all, so nothing is known of them.
        assert!(operations(&fixture).is_empty());
        return;
    }
    fixture.put(".npmrc", "//registry/:_authToken=three\n");
    write("//registry/:_authToken=four\n");
    let all = operations(&fixture);
    assert_eq!(all.iter().map(|it| it["undoable"].as_bool().unwrap()).collect::<Vec<_>>(), [false; 3]);
}

#[test]
fn nothing_is_recorded_when_it_is_off() {
    let config = Config::default().with_file("[history]\noutside = \"off\"\n", "emend.toml", true).unwrap();
    let fixture = EngineFixture::open(config, |_| StateLocation::Memory);
    fixture.put_read("a", "one\n");
    fixture.put_read("a", "two\n");
    assert!(operations(&fixture).is_empty());
    let error = Config::default().with_file("[history]\noutside = \"all\"\n", "emend.toml", true).unwrap_err();
    assert!(error.to_string().contains("seen, snapshots, off"), "{error}");
}

/// Session one's operation is undone by session two, later than anything that session one did.
#[test]
fn undo_by_another_session_does_not_confuse_the_owner() {
    let fixture = EngineFixture::with_read("a", "one\n");
    ok(&fixture.edit("a", "one", "two"));
    let other = CallContext { session: "other".to_owned(), ..fixture.caller.clone() };
    assert_eq!(code(&fixture.engine.call(&other, "undo", json!({ "id": "1", "any_session": true }))), "ok");
    assert_eq!(code(&fixture.call("undo", json!({}))), "operation.not_found");
    assert_eq!(code(&fixture.call("undo", json!({ "redo": true }))), "operation.not_found");
}

#[test]
fn no_session_has_the_name_of_changes_by_others() {
    let fixture = EngineFixture::with_read("a", "one\n");
    fixture.put_read("a", "two\n");
    let others = CallContext { session: "outside".to_owned(), ..fixture.caller.clone() };
    for (tool, input) in [
        ("undo", json!({})),
        ("edit", json!({ "file_path": fixture.path("a"), "old_string": "two", "new_string": "three" })),
        ("read", json!({ "file_path": fixture.path("a") })),
    ] {
        let reply = fixture.engine.call(&others, tool, input);
        assert_eq!(code(&reply), "call.invalid", "{tool}: {}", reply.text());
    }
    assert_eq!(fixture.get("a"), "two\n");
    let workspace = emendate::Workspace::in_memory([("a", "one\n")]).unwrap();
    let error = workspace.session("outside").read("a").run().unwrap_err();
    assert_eq!(error.code().as_str(), "call.invalid");
}

#[derive(Clone, Debug)]
enum Act {
    /// A session edits a line of a file.
    Edit(usize, usize, usize, u8),
    /// Another program changes a line, replaces the file, or deletes it.
    Line(usize, usize, u8),
    Replace(usize, u8),
    Delete(usize),
    Read(usize, usize),
    /// A session undoes its last operation, or one by its number.
    Undo(usize),
    UndoOne(usize, u64),
    Redo(usize),
    /// A snapshot of all files.
    Snapshot,
    Mark(usize),
    Rewind(usize),
    UndoTurn(usize),
    BeginTurn(usize),
}

const FILES: [&str; 2] = ["a", "b"];
const LINES: usize = 6;

fn act() -> impl Strategy<Value = Act> {
    let (file, session, line) = (0..FILES.len(), 0..2_usize, 0..LINES);
    prop_oneof![
        4 => (session.clone(), file.clone(), line.clone(), any::<u8>()).prop_map(|(s, f, l, x)| Act::Edit(s, f, l, x)),
        3 => (file.clone(), line, any::<u8>()).prop_map(|(f, l, x)| Act::Line(f, l, x)),
        1 => (file.clone(), any::<u8>()).prop_map(|(f, x)| Act::Replace(f, x)),
        1 => file.clone().prop_map(Act::Delete),
        2 => (session.clone(), file).prop_map(|(s, f)| Act::Read(s, f)),
        2 => session.clone().prop_map(Act::Undo),
        2 => (session.clone(), 1..20_u64).prop_map(|(s, n)| Act::UndoOne(s, n)),
        1 => session.clone().prop_map(Act::Redo),
        1 => session.clone().prop_map(Act::Mark),
        2 => session.clone().prop_map(Act::Rewind),
        1 => session.clone().prop_map(Act::UndoTurn),
        1 => session.prop_map(Act::BeginTurn),
        2 => Just(Act::Snapshot),
    ]
}

fn lines(seed: u8) -> Vec<String> {
    (0..LINES).map(|line| format!("line {line} {seed}")).collect()
}

/// The contents of the files; `None` for one that is not there.
fn disk(fixture: &EngineFixture) -> Vec<Option<String>> {
    FILES.iter().map(|name| fs::read_to_string(fixture.path(name)).ok()).collect()
}

fn with_line(text: &str, line: usize, new: String) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if let Some(old) = lines.get_mut(line) {
        *old = new;
    }
    lines.join("\n") + "\n"
}

/// A rewind succeeds, finds nothing to do, or reports a conflict.
fn check_rewind(reply: &Reply) {
    let known = ["ok", "operation.not_found", "operation.conflict", "edit.no_change", "call.invalid"];
    assert!(known.contains(&code(reply)), "{}", reply.text());
}

/// Performs an act; returns the files that a call of the engine met.
fn perform(fixture: &EngineFixture, sessions: &[CallContext], act: &Act) -> Vec<usize> {
    let call = |session: usize, tool: &str, input: Value| fixture.engine.call(&sessions[session], tool, input);
    match *act {
        Act::Edit(session, file, line, new) => {
            let path = fixture.path(FILES[file]);
            call(session, "read", json!({ "file_path": path }));
            let Ok(text) = fs::read_to_string(&path) else { return vec![file] };
            let Some(old) = text.lines().nth(line) else { return vec![file] };
            let input = json!({ "file_path": path, "old_string": old, "new_string": format!("{old} e{new}") });
            call(session, "edit", input);
            vec![file]
        }
        Act::Line(file, line, new) => {
            if let Ok(text) = fs::read_to_string(fixture.path(FILES[file])) {
                fixture.put(FILES[file], &with_line(&text, line, format!("outside {new}")));
            }
            Vec::new()
        }
        Act::Replace(file, new) => {
            fixture.put(FILES[file], &(lines(new).join("\n") + "\n"));
            Vec::new()
        }
        Act::Delete(file) => {
            let _ = fs::remove_file(fixture.path(FILES[file]));
            Vec::new()
        }
        Act::Read(session, file) => {
            call(session, "read", json!({ "file_path": fixture.path(FILES[file]) }));
            vec![file]
        }
        Act::Undo(session) => {
            call(session, "undo", json!({}));
            Vec::new()
        }
        Act::UndoOne(session, id) => {
            call(session, "undo", json!({ "id": id.to_string(), "any_session": true }));
            Vec::new()
        }
        Act::Redo(session) => {
            call(session, "undo", json!({ "redo": true }));
            Vec::new()
        }
        Act::Mark(session) => {
            assert_eq!(code(&call(session, "mark", json!({ "name": "m" }))), "ok");
            Vec::new()
        }
        Act::Rewind(session) => {
            check_rewind(&call(session, "rewind", json!({ "to": "m" })));
            Vec::new()
        }
        Act::UndoTurn(session) => {
            check_rewind(&call(session, "undo", json!({ "turn": true })));
            Vec::new()
        }
        Act::BeginTurn(session) => {
            fixture.engine.history().begin_turn(&sessions[session].session).unwrap();
            Vec::new()
        }
        Act::Snapshot => {
            assert_eq!(code(&call(0, "snapshot", json!({}))), "ok");
            (0..FILES.len()).collect()
        }
    }
}

/// Checks the log of a file: each operation begins where the one before it ended.
fn check_chain(all: &[LogEntry], path: &[u8]) {
    let mut last = None;
    for logged in all {
        for file in logged.operation.files.iter().filter(|file| file.path == path) {
            if let Some(last) = last {
                assert_eq!(file.before, last, "operation {}", logged.id);
            }
            last = Some(file.after);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn everything_that_a_call_met_is_in_the_history(acts in proptest::collection::vec(act(), 1..24)) {
        let state = tempfile::tempdir().unwrap();
        let config = Config::default().with_durability(Durability::None);
        let fixture = EngineFixture::open(config, |_| StateLocation::Directory(state.path().to_owned()));
        let sessions: Vec<CallContext> =
            ["one", "two"].map(|session| CallContext { session: session.to_owned(), ..fixture.caller.clone() }).into();
        // The engine knows the files from the beginning.
        for (file, name) in FILES.iter().enumerate() {
            fixture.put(name, &(lines(0).join("\n") + "\n"));
            perform(&fixture, &sessions, &Act::Read(0, file));
        }
        let mut met = vec![BTreeSet::new(); FILES.len()];
        for act in &acts {
            let before = disk(&fixture);
            for file in perform(&fixture, &sessions, act) {
                met[file].insert(before[file].clone());
            }
            // The engine has met every text that its own operations replaced.
            let after = disk(&fixture);
            if !matches!(act, Act::Line(..) | Act::Replace(..) | Act::Delete(..)) {
                for (file, text) in before.into_iter().enumerate().filter(|(file, text)| after[*file] != *text) {
                    met[file].insert(text);
                }
            }
        }
        let EngineFixture { root, engine, .. } = &fixture;
        engine.history().store_unstored_contents();
        let database = Database::open(&state.path().join(root_key(root)), HistoryLimits::default()).unwrap();
        let mut all = database.operations(&OperationFilter { limit: 1000, ..OperationFilter::default() }).unwrap();
        all.reverse();
        for (file, name) in FILES.iter().enumerate() {
            let path = fixture.path(name).into_os_string().into_encoded_bytes();
            check_chain(&all, &path);
            let states = all.iter().flat_map(|it| &it.operation.files).filter(|it| it.path == path);
            let states: BTreeSet<Option<String>> = states.flat_map(|it| [it.before, it.after]).map(|state| {
                let bytes = state.map(|state| database.content(state.content, &[]).unwrap().expect("a content is lost"));
                bytes.map(|bytes| String::from_utf8(bytes).unwrap())
            }).collect();
            let first = Some(lines(0).join("\n") + "\n");
            for text in met[file].iter().filter(|text| **text != first) {
                prop_assert!(states.contains(text), "{name}: {text:?} is not in the history");
            }
        }
    }
}
