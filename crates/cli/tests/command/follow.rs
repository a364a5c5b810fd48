//! `emend history --follow`: real processes that write, and one that follows them.

use crate::workspace::TestWorkspace;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

/// A running `emend history --follow --json`.
struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    /// Starts the command; operations that are made after this returns are found.
    fn start(workspace: &TestWorkspace, args: &[&str]) -> (Follower, Value) {
        let args = [&["history", "--follow", "--json"], args].concat();
        let mut child = workspace.command(&args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut follower = Follower { child, lines };
        let first = follower.next();
        assert_eq!(first["type"], "start");
        (follower, first)
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the ids and cursors of the next operations.
    fn operations(&mut self, count: usize) -> Vec<(String, String)> {
        (0..count)
            .map(|_| {
                let item = self.next();
                assert_eq!((&item["type"], &item["operation"]["pending"]), (&"operation".into(), &false.into()));
                (text(&item["operation"]["id"]), text(&item["cursor"]))
            })
            .collect()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The ids of the history, the oldest first.
fn ids(workspace: &TestWorkspace) -> Vec<String> {
    let history = workspace.run(&["history", "-n", "1000", "--json"]).exits(0).json();
    let rows = history["data"]["operations"].as_array().unwrap();
    rows.iter().rev().map(|row| text(&row["id"])).collect()
}

fn edit(workspace: &TestWorkspace, file: &str, from: usize) {
    let (old, new) = (format!("<{from}>"), format!("<{}>", from + 1));
    workspace.run(&["edit", file, "--old", &old, "--new", &new]).exits(0);
}

#[test]
fn each_operation_of_several_writers_is_followed_once_and_in_order() {
    let workspace = TestWorkspace::new();
    for file in ["a", "b", "c", "d"] {
        workspace.put(file, "<0>\n");
    }
    edit(&workspace, "a", 0);
    let (mut follower, start) = Follower::start(&workspace, &[]);
    std::thread::scope(|scope| {
        for file in ["a", "b", "c"] {
            let workspace = &workspace;
            scope.spawn(move || (0..6).for_each(|nth| edit(workspace, file, nth + usize::from(file == "a"))));
        }
    });
    edit(&workspace, "d", 0);
    workspace.run(&["undo", "--any-session"]).exits(0);
    workspace.run(&["mark", "here"]).exits(0);
    let followed = follower.operations(21);
    let all = ids(&workspace);
    assert_eq!(followed.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), all[1..]);
    workspace.run(&["gc", "--size", "0"]).exits(0);
    edit(&workspace, "b", 6);
    assert_eq!(follower.operations(1)[0].0, *ids(&workspace).last().unwrap());
    drop(follower);
    // From any place on, the rest follows, without anything twice.
    let all = ids(&workspace);
    let places = std::iter::once(text(&start["cursor"])).chain(followed.into_iter().map(|(_, cursor)| cursor));
    for (nth, cursor) in places.enumerate().step_by(7) {
        let (mut resumed, _) = Follower::start(&workspace, &["--since", &cursor]);
        let rest: Vec<_> = resumed.operations(all.len() - 1 - nth).into_iter().map(|(id, _)| id).collect();
        assert_eq!(rest, all[nth + 1..], "{cursor}");
    }
    let (mut since_mark, _) = Follower::start(&workspace, &["--since", "here"]);
    assert_eq!(since_mark.operations(1)[0].0, *all.last().unwrap());
    let (mut of_file, _) = Follower::start(&workspace, &["-n", "1", "c"]);
    let before = of_file.operations(1)[0].0.clone();
    edit(&workspace, "a", 7);
    let last = workspace.run(&["edit", "c", "--old", "<6>", "--new", "<7>", "--json"]).exits(0).json();
    assert_eq!(of_file.operations(1)[0].0, text(&last["data"]["operation"]));
    let listed = workspace.run(&["history", "c", "-n", "2", "--json"]).exits(0).json();
    assert_eq!(before, text(&listed["data"]["operations"][1]["id"]));
}

#[test]
fn follower_survives_the_replacement_of_the_history() {
    let workspace = TestWorkspace::with("<0>\n");
    (0..3).for_each(|nth| edit(&workspace, "a.txt", nth));
    let (mut follower, start) = Follower::start(&workspace, &["-n", "1"]);
    assert_eq!(follower.operations(1)[0].0, ids(&workspace)[2]);
    std::fs::remove_dir_all(workspace.beside("state")).unwrap();
    (3..5).for_each(|nth| edit(&workspace, "a.txt", nth));
    assert_eq!(follower.next()["type"], "reset");
    assert_eq!(follower.operations(2).into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ids(&workspace));
    // A cursor of the old history is recognized, although the new one has an operation of that number.
    let (mut resumed, _) = Follower::start(&workspace, &["--since", &text(&start["cursor"])]);
    assert_eq!(resumed.next()["type"], "reset");
    assert_eq!(resumed.operations(2).len(), 2);
}

#[test]
fn follower_ends_with_its_reader_and_reports_what_it_cannot_follow() {
    let workspace = TestWorkspace::with("<0>\n");
    let (mut follower, _) = Follower::start(&workspace, &[]);
    // The pipe closes.
    let (read, _write) = std::io::pipe().unwrap();
    follower.lines = BufReader::new(ChildStdout::from(std::os::fd::OwnedFd::from(read)));
    assert!(follower.child.wait().unwrap().success());
    assert_eq!(workspace.run(&["history", "--follow", "--since", "nothing"]).code, 10);
    assert!(workspace.run(&["--dry-run", "history", "--follow"]).exits(2).err.contains("copy of the history"));
    assert!(workspace.run(&["--state", "none", "history", "-f"]).exits(2).err.contains("no history is kept"));
}
