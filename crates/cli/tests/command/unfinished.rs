//! Calls whose process was killed in the middle, and which the next start cannot simply complete: directories that are
//! missing, too few descriptors, files that another program changed since.

use crate::dying::{kill, records, traced};
use crate::hostile::limited;
use crate::workspace::{Ran, TestWorkspace, feed};
use std::fs;

const DIRECTORIES: [&str; 3] = ["a", "b", "c"];

/// Returns a patch that changes `x` to `y` in a file of each directory.
fn patch(from: &str, to: &str) -> String {
    let files = DIRECTORIES.map(|name| format!("*** Update File: {name}/f\n@@\n-{from}\n+{to}\n"));
    format!("*** Begin Patch\n{}*** End Patch\n", files.concat())
}

/// Creates a workspace in which a call over three directories was killed between its files; `None` without strace.
fn killed() -> Option<TestWorkspace> {
    if !external::has(&["strace"]) {
        return None;
    }
    let workspace = TestWorkspace::new();
    for name in DIRECTORIES {
        workspace.put(&format!("{name}/f"), "top\nx\nend\n");
    }
    workspace.run(&["edit", "a/f", "--old", "top", "--new", "TOP"]).exits(0);
    assert!(traced(&workspace, &["apply"], &patch("x", "y"), &[&kill("renameat2", 2)]).0);
    let new = DIRECTORIES.iter().filter(|name| workspace.get(&format!("{name}/f")).contains('y')).count();
    assert!((1..3).contains(&new), "{new} files are new");
    Some(workspace)
}

/// Returns the files whose text was changed.
fn changed(workspace: &TestWorkspace) -> Vec<&'static str> {
    let is_new =
        |name: &&str| fs::read_to_string(workspace.work().join(name).join("f")).is_ok_and(|it| it.contains('y'));
    DIRECTORIES.into_iter().filter(is_new).collect()
}

/// Notes about the start, without the list of operations.
fn notes(ran: &Ran) -> Vec<&str> {
    ran.err.lines().filter(|line| line.contains("record") || line.contains("crash") || line.contains("died")).collect()
}

#[test]
fn a_directory_that_is_away_is_undone_when_it_is_back() {
    let Some(workspace) = killed() else { return };
    let (there, away) = (workspace.work().join("b"), workspace.work().join("b.away"));
    fs::rename(&there, &away).unwrap();
    let first = workspace.run(&["history"]).exits(0);
    assert!(first.err.contains("directory of") && first.err.contains("is missing"), "{first:?}");
    assert_eq!((changed(&workspace), records(&workspace)), (vec![], 1), "{first:?}");
    let again = workspace.run(&["history"]).exits(0);
    assert_eq!(notes(&again).len(), 1, "{again:?}");
    let doctor = workspace.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("problem   The record"), "{doctor:?}");
    // The other files are free again.
    workspace.run(&["edit", "c/f", "--old", "x", "--new", "own"]).exits(0);
    fs::rename(&away, &there).unwrap();
    workspace.run(&["history"]).exits(0);
    assert_eq!((changed(&workspace), records(&workspace)), (vec![], 0));
    assert_eq!(fs::read_dir(&there).unwrap().count(), 1);
    assert_eq!(workspace.get("c/f"), "top\nown\nend\n");
    // Nothing is left of the call, also in the history: the edits before it and after it are undone.
    workspace.run(&["undo"]).exits(0);
    workspace.run(&["undo"]).exits(0);
    assert_eq!((workspace.get("a/f"), workspace.get("c/f")), ("top\nx\nend\n".to_owned(), "top\nx\nend\n".to_owned()));
}

#[test]
fn a_damaged_record_stays_and_is_reported() {
    let Some(workspace) = killed() else { return };
    let new = changed(&workspace);
    let journal = workspace.beside("state").join("journal");
    let record = fs::read_dir(journal).unwrap().map(|it| it.unwrap().path()).find(|it| it.extension().is_some());
    let record = record.unwrap();
    let mut bytes = fs::read(&record).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&record, &bytes).unwrap();
    let count = || DIRECTORIES.map(|name| fs::read_dir(workspace.work().join(name)).unwrap().count());
    let left = count();
    assert!(left.contains(&2), "{left:?}");
    for _ in 0..2 {
        let start = workspace.run(&["history"]).exits(0);
        assert!(start.err.contains("stays: It is damaged after"), "{start:?}");
        assert_eq!((changed(&workspace), count(), records(&workspace)), (new.clone(), left, 1));
        let doctor = workspace.run(&["doctor"]);
        assert!(doctor.code == 1 && doctor.out.contains("problem   The record"), "{doctor:?}");
    }
}

#[test]
fn a_call_over_many_directories_is_completed_within_the_limits() {
    if !external::has(&["strace"]) {
        return;
    }
    let workspace = TestWorkspace::new();
    let names: Vec<String> = (0..60).map(|nth| format!("d{nth}/f")).collect();
    for name in &names {
        workspace.put(name, "needle here\n");
    }
    let replace = ["replace", "needle", "NEEDLE", "."];
    assert!(traced(&workspace, &replace, "", &[&kill("renameat2", 20)]).0);
    let new = || names.iter().filter(|name| workspace.get(name).contains("NEEDLE")).count();
    let killed_with = new();
    assert!((1..60).contains(&killed_with), "{killed_with}");

    // The hard limit is too low: nothing is changed, one note says so, and no call puts its change under the record.
    let few = |args: &[&str]| feed(limited(&workspace, "ulimit -n 64", args), b"");
    let history = few(&["history"]).exits(0);
    assert!(notes(&history).len() == 1 && history.err.contains("ulimit -n"), "{history:?}");
    let doctor = few(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("60 directories"), "{doctor:?}");
    let done = names.iter().find(|name| workspace.get(name).contains("NEEDLE")).unwrap();
    for args in [&["undo"][..], &["edit", done, "--old", "here", "--new", "there"]] {
        let refused = few(args);
        assert!(refused.code != 0 && refused.err.contains("process died while it wrote"), "{refused:?}");
    }
    assert_eq!((new(), records(&workspace)), (killed_with, 1));
    workspace.put("other", "one\n");
    few(&["edit", "other", "--old", "one", "--new", "two"]).exits(0);

    // A soft limit is raised, as the call itself does.
    feed(limited(&workspace, "ulimit -Sn 64", &["history"]), b"").exits(0);
    assert_eq!((new(), records(&workspace)), (60, 0));
    workspace.run(&["undo"]).exits(0);
    workspace.run(&["undo"]).exits(0);
    assert_eq!(new(), 0);
}

/// A server lives while another process dies: it recovers that call before it judges the operation.
#[test]
fn a_running_server_recovers_the_calls_of_others() {
    let Some(workspace) = killed() else { return };
    assert_eq!(records(&workspace), 1);
    // The record is not there yet when the server starts.
    let mut server = std::process::Command::new("/bin/sh");
    let plain = workspace.command(&["serve", "--ndjson", "--unread", "allow"]);
    let (state, kept) = (workspace.beside("state/journal"), workspace.beside("journal"));
    fs::rename(&state, &kept).unwrap();
    fs::create_dir(&state).unwrap();
    let script = format!(
        "(echo '{{\"tool\":\"list\",\"input\":{{\"path\":\"{work}\"}}}}'; sleep 1; mv {kept}/* {state}/; echo '{{\"tool\":\"undo\",\"input\":{{\"any_session\":true}}}}'; sleep 2) | \"$0\" \"$@\"",
        work = workspace.work().display(),
        kept = kept.display(),
        state = state.display(),
    );
    server
        .args(["-c", &script])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(workspace.work())
        .env_clear();
    server.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = feed(server, b"");
    assert!(ran.err.contains("its change was finished in"), "{ran:?}");
    assert_eq!((changed(&workspace), records(&workspace)), (vec![], 0), "{ran:?}");
}

#[test]
fn a_file_that_was_not_removed_is_reported() {
    let Some(workspace) = killed_removal() else { return };
    // One file was done and changed since, so the call goes forward; the removal is of another file now.
    for name in ["f1", "f4"] {
        let text = workspace.get(name);
        workspace.put(name, text + "mine\n");
    }
    let ran = workspace.run(&["history"]).exits(0);
    assert!(ran.err.contains("f4 was to be removed") && ran.err.contains("stays as it is"), "{ran:?}");
    assert!(workspace.get("f4").ends_with("mine\n"));
    assert_eq!((workspace.get("f2"), records(&workspace)), ("y\n".to_owned(), 0));
}

#[test]
fn a_call_that_was_undone_is_not_in_the_history() {
    let Some(workspace) = killed_removal() else { return };
    workspace.put("f3", "x\nmine\n");
    let ran = workspace.run(&["history"]).exits(0);
    assert!(ran.err.contains("f3 was changed by another program"), "{ran:?}");
    assert_eq!((workspace.get("f1"), workspace.get("f3")), ("x\n".to_owned(), "x\nmine\n".to_owned()));
    let history = workspace.run(&["history", "--json"]).json();
    assert_eq!(history["data"]["operations"].as_array().unwrap().len(), 1, "{history}");
    // The operation before it is the last one.
    workspace.run(&["undo"]).exits(0);
    assert_eq!(workspace.get("before"), "one\n");
}

/// Creates a workspace in which a call with a removal was killed after its first file; `None` without strace.
fn killed_removal() -> Option<TestWorkspace> {
    if !external::has(&["strace"]) {
        return None;
    }
    let workspace = TestWorkspace::new();
    workspace.put("before", "one\n");
    workspace.run(&["edit", "before", "--old", "one", "--new", "two"]).exits(0);
    for name in ["f1", "f2", "f3", "f4"] {
        workspace.put(name, "x\n");
    }
    let updates = ["f1", "f2", "f3"].map(|name| format!("*** Update File: {name}\n@@\n-x\n+y\n"));
    let patch =
        format!("*** Begin Patch\n{}*** Delete File: f4\n*** Add File: new/f5\n+x\n*** End Patch\n", updates.concat());
    assert!(traced(&workspace, &["apply"], &patch, &[&kill("renameat2", 2)]).0);
    assert_eq!((workspace.get("f1"), workspace.get("f2")), ("y\n".to_owned(), "x\n".to_owned()));
    Some(workspace)
}
