//! A real `emend` process is killed at every system call that writes: completed changes are in the history and can be
//! undone, others are not in it. Needs strace.

use crate::workspace::TestWorkspace;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Calls that write, rename, remove or sync; SQLite's among them.
const CALLS: [&str; 8] = ["pwritev", "pwrite64", "renameat2", "unlinkat", "fdatasync", "fsync", "ftruncate", "mkdirat"];
const PATCH: &str = "*** Begin Patch\n*** Update File: b\n@@\n-b\n+B\n*** Add File: n/m/new\n+new\n*** Delete File: c\n\
                     *** Update File: d\n*** Move to: moved\n@@\n-d\n+D\n*** End Patch\n";

type Tree = BTreeMap<String, Vec<u8>>;

fn collect(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if path.is_dir() {
            collect(root, &path, tree);
            tree.insert(name, b"folder".to_vec());
        } else if !name.ends_with('~') {
            // The next write in that directory removes the temporary files of a dead process.
            tree.insert(name, fs::read(&path).unwrap());
        }
    }
}

fn tree(workspace: &TestWorkspace) -> Tree {
    let mut tree = Tree::new();
    collect(&workspace.work(), &workspace.work(), &mut tree);
    tree
}

/// Four files, and two operations on `a` that were done.
fn filled() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    for name in ["a", "b", "c", "d"] {
        workspace.put(name, format!("{name}\nzero\n"));
    }
    fs::write(workspace.beside("patch"), PATCH).unwrap();
    workspace.run(&["edit", "a", "--old", "zero", "--new", "one"]).exits(0);
    workspace.run(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    workspace
}

/// Runs the command and kills it at the `nth` of these calls; true if it was killed.
fn killed(workspace: &TestWorkspace, args: &[&str], call: &str, nth: usize) -> bool {
    let model = workspace.command(args);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    strace.args(["-e", &format!("inject={call}:signal=SIGKILL:when={nth}")]);
    strace.arg(model.get_program()).args(args).current_dir(workspace.work()).env_clear();
    strace.envs(model.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let status = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    status.signal() == Some(9) || status.code() == Some(137)
}

#[test]
fn a_kill_at_any_call_is_told_and_taken_back() {
    if !external::has(&["strace"]) {
        return;
    }
    let (mut kills, mut done) = (0, 0);
    let asks: [&[&str]; 3] =
        [&["edit", "a", "--old", "two", "--new", "three"], &["apply", "../patch"], &["undo", "--last", "2"]];
    for args in asks {
        let whole = filled();
        let before = tree(&whole);
        whole.run(args).exits(0);
        let after = tree(&whole);
        for call in CALLS {
            for nth in 1.. {
                let workspace = filled();
                if !killed(&workspace, args, call, nth) {
                    assert_eq!(tree(&workspace), after, "{args:?}");
                    break;
                }
                kills += 1;
                let why = format!("{args:?}, killed at {call} {nth}");
                done += usize::from(check(&workspace, args, &why, (&before, &after)));
            }
        }
    }
    assert!(kills > done && done > 0, "{kills} kills, {done} after it was done");
}

/// Checks the history and the files; returns true if the command was carried out.
fn check(workspace: &TestWorkspace, args: &[&str], why: &str, (before, after): (&Tree, &Tree)) -> bool {
    // The first command that starts recovers what was left half done.
    let history = workspace.run(&["history", "--json"]).exits(0).json();
    let now = tree(workspace);
    assert!(now == *before || now == *after, "{why}: {now:?}");
    let done = now == *after;
    let rows = history["data"]["operations"].as_array().unwrap();
    assert_eq!(rows.len(), 2 + usize::from(done), "{why}: {history}");
    assert!(rows.iter().all(|row| row["pending"] == false && row["unsure"] == false), "{why}: {history}");
    if done {
        workspace.run(&[if args[0] == "undo" { "redo" } else { "undo" }]).exits(0);
        assert_eq!(tree(workspace), *before, "{why}");
    } else {
        workspace.run(args).exits(0);
        assert_eq!(tree(workspace), *after, "{why}");
    }
    done
}
