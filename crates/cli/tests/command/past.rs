//! Tests history and undo on the command line.

use crate::bed::Bed;

#[test]
fn operations_are_listed_undone_and_redone() {
    let bed = Bed::with("one\ntwo\n");
    bed.run(&["edit", "a.txt", "--old", "two", "--new", "TWO"]).exits(0);
    bed.run(&["edit", "a.txt", "--old", "one", "--new", "ONE", "--session", "agent"]).exits(0);
    let list = bed.run(&["history"]).exits(0).out;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("2-") && lines[0].contains("  agent  edit  "), "{list}");
    assert_eq!(bed.run(&["history", "--by", "agent"]).exits(0).out.lines().count(), 1);
    assert_eq!(bed.run(&["history", "--limit", "1"]).exits(0).out.lines().count(), 1);
    assert!(bed.run(&["history", "--file", "b.txt"]).exits(0).out.contains("No operation"));
    let rows = bed.run(&["history", "--file", "a.txt", "--json"]).exits(0).json();
    assert_eq!((rows["ok"].as_bool(), rows["data"]["operations"].as_array().map(Vec::len)), (Some(true), Some(2)));

    let shown = bed.run(&["show", "1"]).exits(0).out;
    assert!(shown.starts_with("1-") && shown.contains("-two\n+TWO\n"), "{shown}");
    assert!(bed.run(&["show"]).exits(0).out.starts_with("2-"), "the default is the last operation");
    assert!(bed.run(&["show", "--file", "gone.txt"]).exits(10).err.contains("operation.not_found"));
    let colored = bed.run(&["show", "1", "--color", "always"]).exits(0).out;
    assert!(colored.contains("\u{1b}[32m+") && colored.contains("TWO"), "{colored}");
    assert!(bed.run(&["diff", "1^..2"]).exits(0).out.contains("-one\n-two\n+ONE\n+TWO\n"));
    let only = bed.run(&["diff", "1..2"]).exits(0).out;
    assert!(only.contains("-one\n+ONE\n TWO\n"), "{only}");

    let dry = bed.run(&["undo", "--dry-run", "--any-session"]).exits(0).out;
    assert!(dry.starts_with("Would be undone: operation 2-") && bed.get("a.txt") == "ONE\nTWO\n", "{dry}");
    // The last operation is the agent's, and a person may undo it.
    let undone = bed.run(&["undo", "--any-session"]).exits(0).out;
    assert!(undone.starts_with("Undone: operation 2-") && undone.contains("-ONE\n+one\n"), "{undone}");
    bed.run(&["redo"]).exits(0);
    assert_eq!(bed.get("a.txt"), "ONE\nTWO\n");
    bed.run(&["undo", "1"]).exits(0);
    assert_eq!(bed.get("a.txt"), "ONE\ntwo\n");
    assert!(bed.run(&["undo", "1"]).exits(17).err.contains("undone already"));
    bed.run(&["restore", "a.txt@1"]).exits(0);
    assert_eq!(bed.get("a.txt"), "one\nTWO\n");
    // Only two operations can still be undone; asking for more undoes none.
    let few = bed.run(&["undo", "--last", "3", "--any-session"]).exits(10).err;
    assert!(few.contains("only 2 operations") && bed.get("a.txt") == "one\nTWO\n", "{few}");
    let both = bed.run(&["undo", "--last", "2", "--any-session"]).exits(0).out;
    assert!(both.starts_with("Undone: operation 6-") && both.contains("\nUndone: operation 4-"), "{both}");
    assert_eq!(bed.get("a.txt"), "one\ntwo\n");
    assert!(bed.run(&["history", "--limit", "1"]).exits(0).out.contains(", 4-"));
    bed.run(&["redo"]).exits(0);
    assert_eq!(bed.get("a.txt"), "one\nTWO\n");
    bed.run(&["undo"]).exits(0);
    assert_eq!(bed.get("a.txt"), "one\ntwo\n");
}

#[test]
fn mistakes_are_reported() {
    let bed = Bed::with("one\n");
    assert!(bed.run(&["undo"]).exits(10).err.contains("nothing to undo"));
    bed.run(&["undo", "1", "--last", "2"]).exits(2);
    bed.run(&["undo", "x"]).exits(2);
    bed.run(&["show", "1"]).exits(10);
    for args in [["diff", "1"], ["restore", "a.txt"], ["restore", "@1"]] {
        assert!(bed.run(&args).exits(2).err.contains("Write "), "{args:?}");
    }
    // A file name that contains `@`.
    bed.put("a@b.txt", "x\n");
    bed.run(&["edit", "a@b.txt", "--old", "x", "--new", "y"]).exits(0);
    bed.run(&["restore", "a@b.txt@1^"]).exits(0);
    assert_eq!(bed.get("a@b.txt"), "x\n");
}

#[test]
fn gc_frees_space_and_reports_it() {
    let bed = Bed::with("one\n");
    bed.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    assert!(bed.run(&["gc"]).exits(0).out.contains("0 operations"));
    let freed = bed.run(&["gc", "--size", "0", "--json"]).exits(0).json();
    assert!(freed["data"]["contents"].as_u64() > Some(0), "{freed}");
    let listed = bed.run(&["history"]).exits(0).out;
    // The current file still leads back to the old content, or the reply does not claim so.
    let undone = bed.run(&["undo"]);
    assert_eq!(undone.code, if listed.contains("not kept") { 17 } else { 0 }, "{listed}");
}
