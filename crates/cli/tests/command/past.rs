//! Tests history and undo on the command line.

use crate::workspace::TestWorkspace;

#[test]
fn operations_are_listed_undone_and_redone() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    workspace.run(&["edit", "a.txt", "--old", "two", "--new", "TWO"]).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "ONE", "--session", "agent"]).exits(0);
    let list = workspace.run(&["history"]).exits(0).out;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("2-") && lines[0].contains("  agent  edit  "), "{list}");
    assert_eq!(workspace.run(&["history", "--by", "agent"]).exits(0).out.lines().count(), 1);
    assert_eq!(workspace.run(&["history", "--limit", "1"]).exits(0).out.lines().count(), 1);
    assert!(workspace.run(&["history", "--file", "b.txt"]).exits(0).out.contains("No operation"));
    let rows = workspace.run(&["history", "--file", "a.txt", "--json"]).exits(0).json();
    assert_eq!((rows["ok"].as_bool(), rows["data"]["operations"].as_array().map(Vec::len)), (Some(true), Some(2)));

    let shown = workspace.run(&["show", "1"]).exits(0).out;
    assert!(shown.starts_with("1-") && shown.contains("-two\n+TWO\n"), "{shown}");
    assert!(workspace.run(&["show"]).exits(0).out.starts_with("2-"), "the default is the last operation");
    assert!(workspace.run(&["show", "--file", "gone.txt"]).exits(10).err.contains("operation.not_found"));
    let colored = workspace.run(&["show", "1", "--color", "always"]).exits(0).out;
    assert!(colored.contains("\u{1b}[32m+") && colored.contains("TWO"), "{colored}");
    assert!(workspace.run(&["diff", "1^..2"]).exits(0).out.contains("-one\n-two\n+ONE\n+TWO\n"));
    let only = workspace.run(&["diff", "1..2"]).exits(0).out;
    assert!(only.contains("-one\n+ONE\n TWO\n"), "{only}");

    let dry = workspace.run(&["undo", "--dry-run", "--any-session"]).exits(0).out;
    assert!(dry.starts_with("Would be undone: operation 2-") && workspace.get("a.txt") == "ONE\nTWO\n", "{dry}");
    // The last operation is the agent's, and a person may undo it.
    let undone = workspace.run(&["undo", "--any-session"]).exits(0).out;
    assert!(undone.starts_with("Undone: operation 2-") && undone.contains("-ONE\n+one\n"), "{undone}");
    workspace.run(&["redo"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "ONE\nTWO\n");
    workspace.run(&["undo", "1"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "ONE\ntwo\n");
    assert!(workspace.run(&["undo", "1"]).exits(17).err.contains("undone already"));
    workspace.run(&["restore", "a.txt@1"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\nTWO\n");
    // Only two operations can still be undone; asking for more undoes none.
    let few = workspace.run(&["undo", "--last", "3", "--any-session"]).exits(10).err;
    assert!(few.contains("only 2 operations") && workspace.get("a.txt") == "one\nTWO\n", "{few}");
    let both = workspace.run(&["undo", "--last", "2", "--any-session"]).exits(0).out;
    assert!(both.starts_with("Undone: operation 6-") && both.contains("\nUndone: operation 4-"), "{both}");
    assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
    assert!(workspace.run(&["history", "--limit", "1"]).exits(0).out.contains(", 4-"));
    workspace.run(&["redo"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\nTWO\n");
    workspace.run(&["undo"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "one\ntwo\n");
}

#[test]
fn mistakes_are_reported() {
    let workspace = TestWorkspace::with("one\n");
    assert!(workspace.run(&["undo"]).exits(10).err.contains("nothing to undo"));
    workspace.run(&["undo", "1", "--last", "2"]).exits(2);
    workspace.run(&["undo", "x"]).exits(2);
    workspace.run(&["show", "1"]).exits(10);
    for args in [["diff", "1"], ["restore", "a.txt"], ["restore", "@1"]] {
        assert!(workspace.run(&args).exits(2).err.contains("Write "), "{args:?}");
    }
    // A file name that contains `@`.
    workspace.put("a@b.txt", "x\n");
    workspace.run(&["edit", "a@b.txt", "--old", "x", "--new", "y"]).exits(0);
    workspace.run(&["restore", "a@b.txt@1^"]).exits(0);
    assert_eq!(workspace.get("a@b.txt"), "x\n");
}

#[test]
fn gc_frees_space_and_reports_it() {
    let workspace = TestWorkspace::with("one\n");
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    assert!(workspace.run(&["gc"]).exits(0).out.contains("0 operations"));
    let freed = workspace.run(&["gc", "--size", "0", "--json"]).exits(0).json();
    assert!(freed["data"]["contents"].as_u64() > Some(0), "{freed}");
    let listed = workspace.run(&["history"]).exits(0).out;
    // The current file still leads back to the old content, or the reply does not claim so.
    let undone = workspace.run(&["undo"]);
    assert_eq!(undone.code, if listed.contains("not kept") { 17 } else { 0 }, "{listed}");
}

#[test]
fn a_rewind_lists_what_others_did_since() {
    let workspace = TestWorkspace::with("one\n");
    workspace.put("b.txt", "b\n");
    workspace.run(&["mark", "here"]).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "1"]).exits(0);
    workspace.run(&["edit", "b.txt", "--old", "b", "--new", "B", "--session", "agent"]).exits(0);
    for (args, verb) in [(&["rewind", "here", "--dry-run"][..], "would be"), (&["rewind", "here"], "were")] {
        let ran = workspace.run(args).exits(0).out;
        assert!(ran.contains(&format!("\nChanges by others since then {verb} kept: operation 3-")), "{ran}");
    }
}

#[test]
fn an_undo_follows_the_move_of_its_file() {
    let workspace = TestWorkspace::with("one\n");
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    workspace
        .put("move.diff", "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n");
    workspace.run(&["apply", "move.diff"]).exits(0);
    let undone = workspace.run(&["undo", "1"]).exits(0).out;
    assert!(undone.contains("note: The file was moved since from a.txt to b.txt, last by operation 2-"), "{undone}");
    assert_eq!(workspace.get("b.txt"), "one\n");
}

// Elsewhere a colon is no part of a name.
#[cfg(unix)]
#[test]
fn file_whose_name_ends_like_hunks_is_named() {
    let workspace = TestWorkspace::with("one\n");
    workspace.put("b:2", "one\n");
    workspace.put("-d", "one\n");
    workspace.run(&["edit", "b:2", "--old", "one", "--new", "two"]).exits(0);
    workspace.run(&["edit", "./-d", "--old", "one", "--new", "two"]).exits(0);
    for target in ["b:2", "b:2:1"] {
        let shown = workspace.run(&["show", "1", target]).exits(0).out;
        assert!(shown.contains("-one\n+two\n"), "{shown}");
    }
    workspace.run(&["undo", "1", "b:2:1"]).exits(0);
    assert_eq!(workspace.get("b:2"), "one\n");
    workspace.run(&["undo", "--file", "-d"]).exits(0);
    assert_eq!(workspace.get("-d"), "one\n");
}

#[test]
fn advice_on_a_name_that_is_no_operation_fits_the_command() {
    let workspace = TestWorkspace::with("one\n");
    let undo = workspace.run(&["undo", "a.txt"]).exits(2).err;
    assert!(undo.contains("give --file instead of ID"), "{undo}");
    let show = workspace.run(&["show", "2..3"]).exits(2).err;
    assert!(show.contains("emend history") && !show.contains("undo"), "{show}");
    assert!(workspace.run(&["history", "-n", "0"]).exits(2).err.contains("at least 1"));
}
