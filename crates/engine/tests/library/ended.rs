//! A call that is cancelled at any point, and one whose process ended: completed changes are in the log and can be undone,
//! others leave no trace. That a kill at any system call is survived is tested with the command (`dying.rs`).

use crate::fixture::SharedRoot;
use emendate::{CallContext, CallHandle, Config, Engine, Reply, UnreadPolicy};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The points at which a call is cancelled. A process may end after the commit, too.
const POINTS: [&str; 3] = ["before staging", "before the log", "before the commit"];

/// The calls in progress.
const CALLS: [&str; 7] = ["edit", "late edit", "batch", "undo", "undo two", "redo", "restore"];

/// Setup calls are not part of the test.
static BEGUN: AtomicBool = AtomicBool::new(false);

fn end_at(now: &str, point: &str) {
    if now == point && BEGUN.load(Ordering::Relaxed) {
        std::process::abort();
    }
}

fn call_on(fixture: &SharedRoot, engine: &Engine, call: &str) -> Reply {
    call_with(fixture, engine, call, None)
}

fn call_with(fixture: &SharedRoot, engine: &Engine, call: &str, handle: Option<CallHandle>) -> Reply {
    let caller = CallContext { session: "s".to_owned(), handle, ..CallContext::default() };
    let patch = "*** Begin Patch\n*** Update File: b\n@@\n-b\n+B\n*** Add File: n/m/new\n+new\n*** Delete File: c\n\
                 *** Update File: d\n*** Move to: moved\n@@\n-d\n+D\n*** End Patch\n";
    let (tool, input) = match call {
        "edit" | "late edit" => {
            ("edit", json!({ "file_path": fixture.path("a"), "old_string": "two", "new_string": "three" }))
        }
        "batch" => ("apply", json!({ "input": patch, "directory": fixture.root() })),
        "undo" => ("undo", json!({})),
        "undo two" => ("undo", json!({ "last": 2 })),
        "redo" => ("undo", json!({ "redo": true })),
        _ => ("restore", json!({ "file_path": fixture.path("a"), "id": "1^" })),
    };
    engine.call(&caller, tool, input)
}

/// Two committed operations on `a`, and one undone operation if it is to be redone.
fn fill(fixture: &SharedRoot, call: &str) {
    for name in ["a", "b", "c", "d"] {
        fs::write(fixture.path(name), format!("{name}\nzero\n")).unwrap();
    }
    let engine = fixture.engine(Config::default());
    let caller = CallContext { session: "s".to_owned(), ..CallContext::default() };
    let work = |tool: &str, input: Value| assert!(engine.call(&caller, tool, input).result.is_ok());
    for name in ["a", "b", "c", "d"] {
        work("read", json!({ "file_path": fixture.path(name) }));
    }
    for (old, new) in [("zero", "one"), ("one", "two")] {
        work("edit", json!({ "file_path": fixture.path("a"), "old_string": old, "new_string": new }));
    }
    if call == "redo" {
        work("undo", json!({}));
    }
}

fn tree_of(fixture: &SharedRoot) -> BTreeMap<PathBuf, String> {
    let (mut tree, mut folders) = (BTreeMap::new(), vec![fixture.root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
                tree.insert(path, "folder".to_owned());
            } else {
                let text = fs::read_to_string(&path).unwrap();
                tree.insert(path, text);
            }
        }
    }
    tree
}

/// The process that [`run`] starts; run directly, it does nothing.
#[test]
fn one_that_ends() {
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(fixture), Some(call), Some(point)) =
        (variable("ENDED_BED"), variable("ENDED_CALL"), variable("ENDED_POINT"))
    else {
        return;
    };
    let fixture = SharedRoot(fixture.into());
    let ends = point.clone();
    let engine = fixture.watched_engine(Config::default(), Box::new(move |now| end_at(now, &ends)));
    if call == "late edit" {
        // The first operations of a process are logged in another way than later ones.
        for (old, new) in [("zero", "one"), ("one", "zero")] {
            let input = json!({ "file_path": fixture.path("b"), "old_string": old, "new_string": new });
            let caller = CallContext { session: "s".to_owned(), ..CallContext::default() };
            assert!(engine.call(&caller, "edit", input).result.is_ok());
        }
    }
    BEGUN.store(true, Ordering::Relaxed);
    let reply = call_on(&fixture, &engine, &call);
    assert!(reply.result.is_ok(), "{}", reply.text());
}

fn run(fixture: &SharedRoot, call: &str, point: &str) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "ended::one_that_ends"]).stdout(Stdio::null()).stderr(Stdio::null());
    child.env("ENDED_BED", &fixture.0).env("ENDED_CALL", call).env("ENDED_POINT", point);
    child.status().unwrap().success()
}

fn fixture(call: &str) -> (tempfile::TempDir, SharedRoot) {
    let dir = tempfile::tempdir().unwrap();
    let fixture = SharedRoot::create(dir.path());
    fill(&fixture, call);
    (dir, fixture)
}

type Tree = BTreeMap<PathBuf, String>;

fn relative(fixture: &SharedRoot, tree: &Tree) -> Tree {
    tree.iter().map(|(path, text)| (path.strip_prefix(fixture.root()).unwrap().to_owned(), text.clone())).collect()
}

/// Until the intent is logged, a call can be cancelled without a trace, also after the new contents were written beside
/// the files; after that, it is completed.
#[test]
fn cancelled_call_leaves_no_trace_until_it_is_logged() {
    for call in CALLS {
        let (_dir, whole) = fixture(call);
        let before = relative(&whole, &tree_of(&whole));
        assert!(run(&whole, call, "never"), "{call}");
        let after = relative(&whole, &tree_of(&whole));
        for point in &POINTS {
            let (_dir, fixture) = fixture(call);
            let handle: Arc<Mutex<Option<CallHandle>>> = Arc::default();
            let cancelled = Arc::clone(&handle);
            let reached = move |now: &str| {
                if now == *point
                    && let Some(handle) = &*cancelled.lock().unwrap()
                {
                    handle.stop();
                }
            };
            let engine = fixture.watched_engine(Config::default(), Box::new(reached));
            if call == "late edit" {
                let person = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
                for (old, new) in [("zero", "one"), ("one", "zero")] {
                    let input = json!({ "file_path": fixture.path("b"), "old_string": old, "new_string": new });
                    assert!(engine.call(&person, "edit", input).result.is_ok());
                }
            }
            let ours = CallHandle::default();
            *handle.lock().unwrap() = Some(ours.clone());
            let reply = call_with(&fixture, &engine, call, Some(ours)).to_json();
            *handle.lock().unwrap() = None;
            let is_done = *point == "before the commit";
            let why = format!("{call}, cancelled {point}: {reply}");
            assert_eq!(reply["code"] != "call.cancelled", is_done, "{why}");
            assert_eq!(
                relative(&fixture, &tree_of(&fixture)),
                if is_done { after.clone() } else { before.clone() },
                "{why}"
            );
            if !is_done {
                let reply = call_on(&fixture, &engine, call);
                assert!(reply.result.is_ok(), "{why}: {}", reply.text());
                assert_eq!(relative(&fixture, &tree_of(&fixture)), after, "{why}");
            }
        }
    }
}

/// Other processes continue before the outcome is resolved.
#[test]
fn changes_of_other_processes_resolve_the_outcome() {
    for (point, kept) in [("after the commit", "three"), ("before the commit", "two")] {
        for call in ["edit", "late edit"] {
            let (_dir, fixture) = fixture("edit");
            assert!(!run(&fixture, call, point));
            let engine = fixture.engine(Config::default());
            let other = CallContext { session: "other".to_owned(), ..CallContext::default() };
            let path = fixture.path("a");
            assert!(engine.call(&other, "read", json!({ "file_path": path })).result.is_ok());
            let edit = json!({ "file_path": path, "old_string": "a\n", "new_string": "A\n" });
            assert!(engine.call(&other, "edit", edit).result.is_ok());
            let undo =
                engine.call(&CallContext { session: "s".to_owned(), ..CallContext::default() }, "undo", json!({}));
            assert!(undo.result.is_ok(), "{point}: {}", undo.text());
            // If the late one was not done, the last completed operation is on another file.
            let left = if kept == "three" || call == "late edit" { "two" } else { "one" };
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("A\n{left}\n"), "{call}, {point}");
        }
    }
}

/// The file was changed by other means to a third state: this is reported, and an undo removes what it can.
#[test]
fn unknown_outcome_is_reported() {
    for point in ["after the commit", "before the commit"] {
        let (_dir, fixture) = fixture("edit");
        assert!(!run(&fixture, "edit", point));
        let path = fixture.path("a");
        let now = fs::read_to_string(&path).unwrap();
        fs::write(&path, now.replace("a\n", "A\n")).unwrap();
        let engine = fixture.engine(Config::default());
        let history = engine.call(&CallContext::default(), "history", json!({}));
        assert!(history.text().contains("may be incomplete"), "{}", history.text());
        let undo = engine.call(&CallContext { session: "s".to_owned(), ..CallContext::default() }, "undo", json!({}));
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "A\ntwo\n", "{point}: {}", undo.text());
    }
}
