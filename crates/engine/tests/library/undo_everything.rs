//! Any sequence of calls by two sessions with concurrent writes: undoing everything leaves the tree as it would be
//! without them, and redoing everything restores it.

use crate::undo::fixture::{UndoFixture, caller};
use emendate::Config;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Files that are created, removed and moved; `shared` is only ever edited, by everybody.
const NAMES: [&str; 5] = ["a.txt", "b.txt", "d/c.txt", "d/e/f.txt", "n/m/g.txt"];
/// Symbolic links that are created and removed.
const LINKS: [&str; 2] = ["link", "n/k/link"];

/// Calls after which nothing can be left to do.
const CALLS_MAX: usize = 100;

#[derive(Clone, Debug)]
enum Step {
    /// A session writes a whole file, new or not.
    Write(usize, u8),
    /// A session changes one of its own lines of `shared`.
    Edit(usize, u8),
    /// A session changes two files in one call.
    Both(usize, usize),
    /// A session changes two of its own lines in one call.
    Several(usize, u8),
    Delete(usize),
    Copy(usize, usize),
    /// A session creates a link, or removes the existing one.
    Link(usize, u8),
    /// A session restores a file to its state at some operation.
    Restore(usize, usize, bool),
    Move(usize, usize),
    Execute(usize, bool),
    /// Another program changes one of the other lines of `shared`.
    Outside(usize, u8),
    /// Another process continues.
    Reopen,
    /// The last operations are undone together.
    Undo(usize),
    /// The last undo is redone.
    Redo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_usize, any::<u8>()).prop_map(|(name, text)| Step::Write(name, text)),
        4 => (0..10_usize, any::<u8>()).prop_map(|(line, text)| Step::Edit(line, text)),
        1 => (0..9_usize, any::<u8>()).prop_map(|(line, text)| Step::Several(line, text)),
        2 => (0..5_usize, 0..5_usize).prop_map(|(a, b)| Step::Both(a, b)),
        3 => (0..5_usize).prop_map(Step::Delete),
        3 => (0..5_usize, 0..5_usize).prop_map(|(from, to)| Step::Move(from, to)),
        1 => (0..5_usize, 0..5_usize).prop_map(|(from, to)| Step::Copy(from, to)),
        2 => (0..5_usize, any::<bool>()).prop_map(|(name, on)| Step::Execute(name, on)),
        2 => (0..2_usize, any::<u8>()).prop_map(|(name, to)| Step::Link(name, to)),
        2 => (0..5_usize, 0..20_usize, any::<bool>()).prop_map(|(name, at, before)| Step::Restore(name, at, before)),
        3 => (0..10_usize, any::<u8>()).prop_map(|(line, text)| Step::Outside(line, text)),
        1 => proptest::strategy::Just(Step::Reopen),
        2 => (1..4_usize).prop_map(Step::Undo),
        1 => proptest::strategy::Just(Step::Redo),
    ]
}

/// Everything below the root: mode, bytes and one attribute of files, targets of links, modes of directories.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>, Vec<u8>)>;

fn collect(folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        let mode = found.permissions().mode() & 0o7777;
        if found.is_dir() {
            collect(&path, tree);
            tree.insert(path, (mode, b"a folder".to_vec(), Vec::new()));
        } else if found.is_symlink() {
            let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
            tree.insert(path, (0, target, Vec::new()));
        } else {
            let bytes = fs::read(&path).unwrap();
            let attribute = attribute(&path);
            tree.insert(path, (mode, bytes, attribute));
        }
    }
}

fn attribute(path: &Path) -> Vec<u8> {
    let mut value = vec![0; 100];
    let length = rustix::fs::getxattr(path, "user.of", &mut value).unwrap_or(0);
    value.truncate(length);
    value
}

/// A root with files of different modes, and history.
fn workspace() -> UndoFixture {
    // Changes by others would be undone, too: tests/library/outside.rs.
    let fixture =
        UndoFixture::with(Config::default().with_file("[history]\noutside = \"off\"\n", "test", true).unwrap());
    fs::create_dir_all(fixture.path("d/e")).unwrap();
    fixture.put("shared", &(0..40).map(|line| format!("line {line}\n")).collect::<String>());
    for (name, mode) in [("a.txt", 0o644), ("d/c.txt", 0o751)] {
        fixture.put(name, &format!("{name}\r\nsecond\n"));
        fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(mode)).unwrap();
        // Without attributes, none can be lost.
        let _ = rustix::fs::setxattr(fixture.path(name), "user.of", name.as_bytes(), rustix::fs::XattrFlags::empty());
    }
    fixture
}

fn call(fixture: &UndoFixture, session: usize, tool: &str, input: Value) -> Result<Value, &'static str> {
    let reply = fixture.call(&caller(["one", "two"][session % 2]), tool, input);
    match &reply.result {
        Ok(_) => Ok(reply.to_json()["data"].clone()),
        Err(error) => Err(error.code().as_str()),
    }
}

fn read(fixture: &UndoFixture, session: usize, name: &str) {
    let _ = call(fixture, session, "read", json!({ "file_path": fixture.path(name) }));
}

/// Applies a patch, which may be refused.
fn patch(fixture: &UndoFixture, session: usize, text: &str) {
    let _ = call(fixture, session, "apply", json!({ "input": text }));
}

/// Runs a step.
fn go(fixture: &mut UndoFixture, nth: usize, step: &Step) {
    match *step {
        Step::Write(name, text) => {
            read(fixture, nth, NAMES[name]);
            let content = format!("text {text}\n").repeat(1 + usize::from(text % 5));
            let input = json!({ "file_path": fixture.path(NAMES[name]), "content": content });
            let _ = call(fixture, nth, "write", input);
        }
        Step::Edit(line, text) => {
            read(fixture, nth, "shared");
            let now = fs::read_to_string(fixture.path("shared")).unwrap();
            let old = now.lines().nth(line).unwrap();
            let input = json!({ "file_path": fixture.path("shared"), "old_string": format!("{old}\n"), "new_string": format!("{line} by {text}\n") });
            let _ = call(fixture, nth, "edit", input);
        }
        Step::Both(a, b) => {
            for name in [NAMES[a], NAMES[b]] {
                read(fixture, nth, name);
            }
            let part = |name: &str| {
                let now = fs::read_to_string(fixture.path(name)).unwrap_or_default();
                let first = now.lines().next().unwrap_or_default();
                format!("*** Update File: {name}\n@@\n-{first}\n+{first}{nth}\n")
            };
            patch(fixture, nth, &format!("*** Begin Patch\n{}{}*** End Patch\n", part(NAMES[a]), part(NAMES[b])));
        }
        Step::Delete(name) => {
            read(fixture, nth, NAMES[name]);
            patch(fixture, nth, &format!("*** Begin Patch\n*** Delete File: {}\n*** End Patch\n", NAMES[name]));
        }
        Step::Move(from, to) => {
            let (from, to) = (NAMES[from], NAMES[to]);
            read(fixture, nth, from);
            let first = fs::read_to_string(fixture.path(from)).unwrap_or_default();
            let first = first.lines().next().unwrap_or_default();
            patch(
                fixture,
                nth,
                &format!(
                    "*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n@@\n-{first}\n+{first}>\n*** End Patch\n"
                ),
            );
        }
        Step::Execute(name, on) => {
            let (old, new) = if on { ("644", "755") } else { ("755", "644") };
            let name = NAMES[name];
            read(fixture, nth, name);
            patch(fixture, nth, &format!("diff --git a/{name} b/{name}\nold mode 100{old}\nnew mode 100{new}\n"));
        }
        Step::Outside(line, text) => {
            outside(fixture, line, text);
        }
        Step::Reopen => fixture.reopen(),
        Step::Several(..) | Step::Copy(..) | Step::Link(..) | Step::Restore(..) => go_on(fixture, nth, step),
        Step::Undo(times) => {
            let _ = call(fixture, nth, "undo", json!({ "any_session": true, "last": times }));
        }
        Step::Redo => {
            let _ = call(fixture, nth, "undo", json!({ "any_session": true, "redo": true }));
        }
    }
}

fn go_on(fixture: &UndoFixture, nth: usize, step: &Step) {
    match *step {
        Step::Several(line, text) => {
            read(fixture, nth, "shared");
            let now = fs::read_to_string(fixture.path("shared")).unwrap();
            let edit = |line: usize| {
                let old = now.lines().nth(line).unwrap();
                json!({ "old_string": format!("{old}\n"), "new_string": format!("{line} with {text}\n") })
            };
            let input = json!({ "file_path": fixture.path("shared"), "edits": [edit(line), edit(line + 1)] });
            let _ = call(fixture, nth, "multi_edit", input);
        }
        Step::Copy(from, to) => {
            let (from, to) = (NAMES[from], NAMES[to]);
            read(fixture, nth, from);
            patch(
                fixture,
                nth,
                &format!("diff --git a/{from} b/{to}\nsimilarity index 100%\ncopy from {from}\ncopy to {to}\n"),
            );
        }
        Step::Link(name, to) => {
            let name = LINKS[name];
            let gone = fs::read_link(fixture.path(name)).map(|target| target.to_string_lossy().into_owned());
            patch(
                fixture,
                nth,
                &match gone {
                    Ok(old) => format!(
                        "diff --git a/{name} b/{name}\ndeleted file mode 120000\n--- a/{name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{old}\n\\ No newline at end of file\n"
                    ),
                    Err(_) => format!(
                        "diff --git a/{name} b/{name}\nnew file mode 120000\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+to {to}\n\\ No newline at end of file\n"
                    ),
                },
            );
        }
        Step::Restore(name, at, before) => {
            let history = call(fixture, nth, "history", json!({})).unwrap();
            let rows = history["operations"].as_array().unwrap();
            let Some(id) = rows.get(at % rows.len().max(1)).and_then(|row| row["id"].as_str()) else { return };
            read(fixture, nth, NAMES[name]);
            let id = format!("{id}{}", if before { "^" } else { "" });
            let _ = call(fixture, nth, "restore", json!({ "file_path": fixture.path(NAMES[name]), "id": id }));
        }
        _ => {}
    }
}

fn outside(fixture: &UndoFixture, line: usize, text: u8) {
    let path = fixture.path("shared");
    let now = fs::read_to_string(&path).unwrap();
    let changed = now
        .lines()
        .enumerate()
        .map(|(number, old)| if number == 20 + line { format!("outside {text}\n") } else { format!("{old}\n") });
    fs::write(&path, changed.collect::<String>()).unwrap();
}

fn tree(fixture: &UndoFixture) -> Tree {
    let mut tree = Tree::new();
    collect(&fixture.root, &mut tree);
    tree
}

/// Repeats a call until there is nothing left to do; returns the number of times.
fn all(fixture: &UndoFixture, input: &Value) -> usize {
    for times in 0..CALLS_MAX {
        match call(fixture, 0, "undo", input.clone()) {
            // Operations that cancel each other out count as undone together, too, although no file changes.
            Ok(_) | Err("edit.no_change") => {}
            Err("operation.not_found") => return times,
            Err(code) => panic!("{code} at {times}: {}", call(fixture, 0, "undo", input.clone()).unwrap_err()),
        }
    }
    panic!("every one of {CALLS_MAX} calls found something left to do");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn undoing_everything_keeps_changes_by_others(steps in vec(step(), 1..14)) {
        let mut fixture = workspace();
        let mut wanted = tree(&fixture);
        for (nth, step) in steps.iter().enumerate() {
            go(&mut fixture, nth, step);
        }
        // The expected text has only the changes by others.
        let alone = workspace();
        for step in &steps {
            if let Step::Outside(line, text) = step {
                outside(&alone, *line, *text);
            }
        }
        let shared = fs::read(alone.path("shared")).unwrap();
        let mode = wanted[&fixture.path("shared")].0;
        wanted.insert(fixture.path("shared"), (mode, shared, Vec::new()));
        let done = tree(&fixture);
        fixture.reopen();
        let times = all(&fixture, &json!({ "any_session": true }));
        assert_eq!(tree(&fixture), wanted);
        fixture.reopen();
        let again = all(&fixture, &json!({ "any_session": true, "redo": true }));
        // Undo steps in between are also undone, unless they were followed by another operation.
        assert!(again >= times);
        if !steps.iter().any(|step| matches!(step, Step::Undo(_) | Step::Redo)) {
            assert_eq!((again, tree(&fixture)), (times, done));
        }
        all(&fixture, &json!({ "any_session": true }));
        assert_eq!(tree(&fixture), wanted);
    }
}
