//! Undo and redo of whole operations, together with other sessions, processes and changes by others.

use crate::undo::fixture::{UndoFixture, caller, code, data, name_of, ok, person};
use crate::watched::Watched;
use emendate::fs::LocalStore;
use emendate::{Config, Engine, StateLocation};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A directory with two roots.
struct TwoRoots {
    base: PathBuf,
    roots: Vec<PathBuf>,
    _directory: TempDir,
}

impl TwoRoots {
    fn new() -> TwoRoots {
        let directory = tempfile::tempdir().unwrap();
        let base = emendate_os::paths::canonical(directory.path()).unwrap();
        let roots: Vec<PathBuf> = ["one", "two"].iter().map(|name| base.join(name)).collect();
        for root in &roots {
            fs::create_dir(root).unwrap();
        }
        TwoRoots { base, roots, _directory: directory }
    }
}

#[test]
fn edit_is_undone_and_redone_across_processes() {
    let mut fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("f", "one\ntwo\nthree\n");
    fixture.read(&agent, "f");
    let edited = ok(fixture.edit(&agent, "f", "two", "TWO"));
    fixture.reopen();
    let undone = ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.get("f"), "one\ntwo\nthree\n");
    assert!(undone.text().contains(&name_of(&edited)), "{}", undone.text());
    assert_eq!(data(&undone)["undone"], json!([name_of(&edited)]));
    assert_eq!(code(&fixture.call(&agent, "undo", json!({}))), "operation.not_found");
    // The read records are restored, too.
    ok(fixture.edit(&agent, "f", "three", "3"));
    ok(fixture.call(&agent, "undo", json!({})));
    fixture.reopen();
    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(fixture.get("f"), "one\ntwo\n3\n");
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.get("f"), "one\ntwo\nthree\n");
}

#[test]
fn redos_reverse_the_undos_in_order() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("f", "0");
    fixture.read(&agent, "f");
    for step in 0..3 {
        ok(fixture.edit(&agent, "f", &step.to_string(), &(step + 1).to_string()));
    }
    for step in ["2", "1", "0"] {
        ok(fixture.call(&agent, "undo", json!({})));
        assert_eq!(fixture.get("f"), step);
    }
    for step in ["1", "2", "3"] {
        ok(fixture.call(&agent, "undo", json!({ "redo": true })));
        assert_eq!(fixture.get("f"), step);
    }
    assert_eq!(code(&fixture.call(&agent, "undo", json!({ "redo": true }))), "operation.not_found");
    ok(fixture.call(&agent, "undo", json!({ "last": 2 })));
    assert_eq!(fixture.get("f"), "1");
    // After another edit there is nothing to redo.
    ok(fixture.edit(&agent, "f", "1", "other"));
    assert_eq!(code(&fixture.call(&agent, "undo", json!({ "redo": true }))), "operation.not_found");
}

#[test]
fn redo_of_a_named_operation_applies_it_again() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("f", "0");
    fixture.read(&agent, "f");
    let redo = |id: &str| fixture.call(&agent, "undo", json!({ "id": id, "redo": true }));
    let first = name_of(&ok(fixture.edit(&agent, "f", "0", "1")));
    // An operation in effect is not undone by a redo of it.
    assert_eq!((code(&redo(&first)), fixture.get("f")), ("edit.no_change", "1".to_owned()));
    ok(fixture.call(&agent, "undo", json!({ "id": first })));
    ok(redo(&first));
    assert_eq!((code(&redo(&first)), fixture.get("f")), ("edit.no_change", "1".to_owned()));
    // The undo of a redo is followed, too.
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.get("f"), "0");
    ok(redo(&first));
    assert_eq!(fixture.get("f"), "1");
    // An undo of several operations is redone as a whole, and has to be named.
    let second = name_of(&ok(fixture.edit(&agent, "f", "1", "2")));
    let both = name_of(&ok(fixture.call(&agent, "undo", json!({ "last": 2 }))));
    assert_eq!((code(&redo(&second)), fixture.get("f")), ("call.invalid", "0".to_owned()));
    ok(redo(&both));
    assert_eq!((code(&redo(&both)), fixture.get("f")), ("edit.no_change", "2".to_owned()));
}

#[test]
fn concurrent_changes_are_kept_or_refuse_the_undo() {
    let fixture = UndoFixture::new();
    // A person's edit of an unread file: only the delta is logged, and the file is stored once the answer is out.
    let person = person();
    fixture.put("f", "one\ntwo\nthree\nfour\nfive\n");
    ok(fixture.edit(&person, "f", "two", "TWO"));
    fixture.engine().history().store_unstored_contents();
    fixture.put("f", "zero\none\nTWO\nthree\nfour\nfive\n");
    let undone = ok(fixture.call(&person, "undo", json!({})));
    assert!(undone.text().contains("changed after operation"), "{}", undone.text());
    assert_eq!(fixture.get("f"), "zero\none\ntwo\nthree\nfour\nfive\n");

    ok(fixture.edit(&person, "f", "four", "FOUR"));
    fixture.engine().history().store_unstored_contents();
    fixture.put("f", "zero\none\ntwo\nthree\nmine\nfive\n");
    let reply = fixture.call(&person, "undo", json!({}));
    assert_eq!(code(&reply), "operation.conflict");
    assert!(reply.text().contains("+mine"), "{}", reply.text());
    assert_eq!(fixture.get("f"), "zero\none\ntwo\nthree\nmine\nfive\n");

    // A file that others changed since it was created is not removed.
    ok(fixture.call(&person, "write", json!({ "file_path": fixture.path("new"), "content": "a\n" })));
    fixture.put("new", "a\nb\n");
    assert_eq!(code(&fixture.call(&person, "undo", json!({}))), "operation.conflict");
    assert_eq!(fixture.get("new"), "a\nb\n");
    // Nothing of a batch is undone if one file conflicts.
    fixture.put("x.txt", "1\n");
    fixture.put("y.txt", "1\n");
    let blocks = |name: &str| format!("{name}\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n");
    ok(fixture.apply(&person, &(blocks("x.txt") + &blocks("y.txt"))));
    fixture.put("y.txt", "3\n");
    assert_eq!(code(&fixture.call(&person, "undo", json!({}))), "operation.conflict");
    assert_eq!(fixture.get("x.txt"), "2\n");
}

#[test]
fn moved_file_returns_with_its_later_edits() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("a", "one\ntwo\nthree\nfour\n");
    fixture.read(&agent, "a");
    let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-one\n+ONE\n two\n*** End Patch\n";
    let moved = ok(fixture.apply(&agent, patch));
    fixture.put("b", "ONE\ntwo\nthree\nFOUR\n");
    ok(fixture.call(&agent, "undo", json!({ "id": name_of(&moved) })));
    assert_eq!(fixture.get("a"), "one\ntwo\nthree\nFOUR\n");
    assert!(!fixture.path("b").exists());
}

#[test]
fn callers_undo_their_own_operations_and_others_on_request() {
    let fixture = UndoFixture::new();
    let (one, two) = (caller("one"), caller("two"));
    for agent in [&one, &two] {
        let name = &*agent.session;
        ok(fixture.call(agent, "write", json!({ "file_path": fixture.path(name), "content": "x" })));
    }
    let last = data(&fixture.call(&one, "history", json!({ "limit": 1 })))["operations"][0]["id"].clone();
    let reply = fixture.call(&one, "undo", json!({ "id": last }));
    assert_eq!(code(&reply), "call.invalid");
    assert!(reply.text().contains("any_session"), "{}", reply.text());
    ok(fixture.call(&one, "undo", json!({})));
    assert!(fixture.path("two").exists() && !fixture.path("one").exists());
    ok(fixture.call(&one, "undo", json!({ "id": last, "any_session": true })));
    assert!(!fixture.path("two").exists());
    // A person, too, undoes what others did only on request.
    assert_eq!(code(&fixture.call(&person(), "undo", json!({ "redo": true }))), "operation.not_found");
    ok(fixture.call(&person(), "undo", json!({ "redo": true, "any_session": true })));
    assert!(fixture.path("two").exists());
}

#[test]
fn operations_around_an_unrecorded_change_are_undone_together() {
    let fixture =
        UndoFixture::with(Config::default().with_file("[history]\noutside = \"off\"\n", "test", true).unwrap());
    let agent = caller("a");
    fixture.put("f", "one\ntwo\nthree\nfour\nfive\n");
    fixture.read(&agent, "f");
    ok(fixture.edit(&agent, "f", "one", "1"));
    fixture.put("f", "1\ntwo\nthree\nfour\ntheirs\n");
    ok(fixture.edit(&agent, "f", "1", "first"));
    ok(fixture.call(&agent, "undo", json!({ "last": 2 })));
    assert_eq!(fixture.get("f"), "one\ntwo\nthree\nfour\ntheirs\n");
    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(fixture.get("f"), "first\ntwo\nthree\nfour\ntheirs\n");
}

#[test]
fn several_operations_are_undone_together_or_not_at_all() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("f", "one\ntwo\nthree\n");
    fixture.put("g", "g\n");
    for name in ["f", "g"] {
        fixture.read(&agent, name);
    }
    let start = fixture.tree();
    ok(fixture.edit(&agent, "f", "one", "ONE"));
    let patch = "*** Begin Patch\n*** Update File: f\n*** Move to: d/e/moved\n@@\n-two\n+TWO\n*** Delete File: g\n*** End Patch\n";
    ok(fixture.apply(&agent, patch));
    ok(fixture.call(&agent, "write", json!({ "file_path": fixture.path("f"), "content": "another\n" })));
    fixture.read(&agent, "d/e/moved");
    ok(fixture.edit(&agent, "d/e/moved", "three", "THREE"));
    let done = fixture.tree();

    // One of the lines written by the oldest operation was changed by others.
    fixture.put("d/e/moved", "1\nTWO\nTHREE\n");
    let between = fixture.tree();
    let refused = fixture.call(&agent, "undo", json!({ "last": 4 }));
    assert_eq!(code(&refused), "operation.conflict", "{}", refused.text());
    assert!(refused.text().contains("None of the 4 operations"), "{}", refused.text());
    assert_eq!(fixture.tree(), between);
    fixture.put("d/e/moved", "ONE\nTWO\nTHREE\n");

    let many = fixture.call(&agent, "undo", json!({ "last": 5 }));
    assert_eq!((code(&many), fixture.tree()), ("operation.not_found", done.clone()));
    assert!(many.text().contains(r#""last": 4"#), "{}", many.text());
    let would = ok(fixture.call(&agent, "undo", json!({ "last": 4, "dry_run": true })));
    assert_eq!((data(&would)["undone"].as_array().map(Vec::len), fixture.tree()), (Some(4), done.clone()));

    let undone = ok(fixture.call(&agent, "undo", json!({ "last": 4 })));
    assert_eq!(fixture.tree(), start);
    assert!(!fixture.path("d").exists(), "directories that were created for it are removed");
    let list = data(&fixture.call(&agent, "history", json!({})));
    let rows = list["operations"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["id"]), (5, &data(&undone)["operation"]));
    assert!(rows[1..].iter().all(|row| row["undoneBy"] == rows[0]["id"]), "{list}");
    assert_eq!(code(&fixture.call(&agent, "undo", json!({}))), "operation.not_found");

    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(fixture.tree(), done);
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.tree(), start);
}

#[test]
fn directories_used_by_others_stay() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    ok(fixture.call(&agent, "write", json!({ "file_path": fixture.path("a/b/c/f"), "content": "1\n" })));
    fixture.put("a/other", "theirs");
    ok(fixture.call(&agent, "undo", json!({})));
    assert!(!fixture.path("a/b").exists());
    assert_eq!(fixture.get("a/other"), "theirs");
    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(fixture.get("a/b/c/f"), "1\n");
    // A directory that existed before was not created for the file.
    fs::create_dir(fixture.path("empty")).unwrap();
    ok(fixture.call(&agent, "write", json!({ "file_path": fixture.path("empty/f"), "content": "1\n" })));
    ok(fixture.call(&agent, "undo", json!({})));
    assert!(fixture.path("empty").is_dir());
    // A directory that was removed when it was empty is recreated with its content.
    fixture.read(&agent, "a/b/c/f");
    ok(fixture.apply(&agent, "*** Begin Patch\n*** Delete File: a/b/c/f\n*** End Patch\n"));
    fs::remove_dir(fixture.path("a/b/c")).unwrap();
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.get("a/b/c/f"), "1\n");
}

#[test]
fn eight_concurrent_sessions_share_one_history() {
    let fixture = UndoFixture::new();
    fixture.put("shared", "0\n");
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (fixture, start) = (&fixture, &start);
            scope.spawn(move || {
                start.wait();
                // Like eight processes: each has its own engine and connection.
                let engine = fixture.open();
                let agent = caller(&format!("session {thread}"));
                let path = fixture.path(&format!("file {thread}"));
                ok(engine.call(&agent, "write", json!({ "file_path": path, "content": "0\n" })));
                for number in 0..10 {
                    let edit = json!({ "file_path": path, "old_string": format!("{number}\n"), "new_string": format!("{}\n", number + 1) });
                    ok(engine.call(&agent, "edit", edit));
                }
                ok(engine.call(&agent, "undo", json!({ "last": 10 })));
                ok(engine.call(&agent, "undo", json!({ "redo": true })));
                ok(engine.call(&agent, "undo", json!({})));
                assert_eq!(fs::read_to_string(&path).unwrap(), "0\n");
                assert!(engine.notices().is_empty());
            });
        }
    });
    let all = data(&fixture.call(&person(), "history", json!({ "limit": 1000 })));
    assert_eq!(all["operations"].as_array().unwrap().len(), 8 * 14);
    for thread in 0..8 {
        let own = fixture.call(&person(), "history", json!({ "session": format!("session {thread}"), "limit": 1000 }));
        assert_eq!(data(&own)["operations"].as_array().unwrap().len(), 14);
        ok(fixture.call(&caller(&format!("session {thread}")), "undo", json!({})));
        assert!(!fixture.path(&format!("file {thread}")).exists());
    }
}

#[test]
fn one_operation_on_two_roots_is_undone() {
    let TwoRoots { base, roots, .. } = &TwoRoots::new();
    for root in roots {
        fs::write(root.join("f.txt"), "old\n").unwrap();
    }
    let open = || Engine::open(roots, StateLocation::Directory(base.join("state")), Config::default()).unwrap();
    let engine = open();
    let agent = caller("a");
    for root in roots {
        ok(engine.call(&agent, "read", json!({ "file_path": root.join("f.txt") })));
    }
    let part = |root: &str| format!("*** Update File: {root}/f.txt\n@@\n-old\n+new\n");
    let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", part("one"), part("two"));
    ok(engine.call(&agent, "apply", json!({ "input": patch, "directory": base })));
    assert_eq!(fs::read_to_string(roots[1].join("f.txt")).unwrap(), "new\n");
    drop(engine);
    let engine = open();
    // The log of the first root has the operation; in the second one it is not a change by others.
    ok(engine.call(&agent, "read", json!({ "file_path": roots[1].join("f.txt") })));
    ok(engine.call(&agent, "undo", json!({ "any_session": true })));
    for root in roots {
        assert_eq!(fs::read_to_string(root.join("f.txt")).unwrap(), "old\n");
        ok(engine.call(&agent, "read", json!({ "file_path": root.join("f.txt") })));
    }
    let history = ok(engine.call(&agent, "history", json!({})));
    assert_eq!(data(&history)["operations"].as_array().unwrap().len(), 2, "{}", history.text());
}

/// An edit ends what can be redone, also in another root.
#[test]
fn edit_in_one_root_ends_redos_of_the_other() {
    let TwoRoots { base, roots, .. } = &TwoRoots::new();
    let state = StateLocation::Directory(base.join("state"));
    let engine = Engine::open(roots, state, Config::default()).unwrap();
    let agent = caller("a");
    let write = |root: usize, text: &str| {
        ok(engine.call(&agent, "write", json!({ "file_path": roots[root].join("f.txt"), "content": text })));
    };
    write(0, "one\n");
    ok(engine.call(&agent, "undo", json!({})));
    ok(engine.call(&agent, "undo", json!({ "redo": true })));
    ok(engine.call(&agent, "undo", json!({})));
    write(1, "two\n");
    assert_eq!(code(&engine.call(&agent, "undo", json!({ "redo": true }))), "operation.not_found");
    ok(engine.call(&agent, "undo", json!({})));
    ok(engine.call(&agent, "undo", json!({ "redo": true })));
    assert!(!roots[0].join("f.txt").exists() && roots[1].join("f.txt").exists());
}

/// Another process reads the file in the second root right after the commit.
#[test]
fn change_of_two_roots_is_known_in_both_before_it_is_recorded() {
    let TwoRoots { base, roots, .. } = &TwoRoots::new();
    let state = StateLocation::Directory(base.join("state"));
    let open = || Engine::open(roots, state.clone(), Config::default()).unwrap();
    let read = |engine: &Engine| engine.call(&caller("b"), "read", json!({ "file_path": roots[1].join("f") }));
    for root in roots {
        fs::write(root.join("f"), "old\n").unwrap();
    }
    ok(read(&open()));
    let (other, path) = (open(), roots[1].join("f"));
    let reached = move |now: &str| {
        if now == "after the commit" {
            ok(other.call(&caller("b"), "read", json!({ "file_path": path })));
        }
    };
    let local = LocalStore::open(roots).unwrap();
    let watched = Watched { local, reached: Box::new(reached) };
    let engine = Engine::with_store(Box::new(watched), state.clone(), Config::default()).unwrap();
    let part = |root: &str| format!("*** Update File: {root}/f\n@@\n-old\n+new\n");
    let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", part("one"), part("two"));
    ok(engine.call(&person(), "apply", json!({ "input": patch, "directory": base })));
    drop(engine);
    let last = open();
    ok(read(&last));
    let history = ok(last.call(&person(), "history", json!({})));
    assert_eq!(data(&history)["operations"].as_array().unwrap().len(), 1, "{}", history.text());
}

#[test]
fn later_change_of_a_file_in_the_second_root_is_merged() {
    let TwoRoots { base, roots, .. } = &TwoRoots::new();
    let engine = Engine::open(roots, StateLocation::Directory(base.join("state")), Config::default()).unwrap();
    let agent = caller("a");
    let part = |root: &str| format!("*** Add File: {root}/f.txt\n+a\n+b\n+c\n");
    let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", part("one"), part("two"));
    ok(engine.call(&agent, "apply", json!({ "input": patch, "directory": base })));
    for root in roots {
        let path = root.join("f.txt");
        fs::write(&path, "others\nb\nc\n").unwrap();
        ok(engine.call(&agent, "edit", json!({ "file_path": path, "old_string": "c", "new_string": "C" })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "others\nb\nC\n");
    }
    // The version before the change by others was kept.
    let history = data(&ok(engine.call(&agent, "history", json!({ "file_path": roots[1].join("f.txt") }))));
    let all = history["operations"].as_array().unwrap();
    let theirs = all.iter().find(|it| it["session"] == "outside").unwrap();
    ok(engine.call(&agent, "undo", json!({ "id": theirs["id"] })));
    assert_eq!(fs::read_to_string(roots[1].join("f.txt")).unwrap(), "a\nb\nC\n");
}

#[test]
fn restore_by_an_operation_of_another_root_finds_the_last_change_of_the_file() {
    let TwoRoots { base, roots, .. } = &TwoRoots::new();
    let engine = Engine::open(roots, StateLocation::Directory(base.join("state")), Config::default()).unwrap();
    let (one, two) = (roots[0].join("f"), roots[1].join("f"));
    let write = |path: &PathBuf, text: &str| {
        name_of(&ok(engine.call(&person(), "write", json!({ "file_path": path, "content": text }))))
    };
    let both = |old: &str, new: &str| {
        let part = |root: &str| format!("*** Update File: {root}/f\n@@\n-{old}\n+{new}\n");
        let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", part("one"), part("two"));
        ok(engine.call(&person(), "apply", json!({ "input": patch, "directory": base })));
    };
    // The operations on both files are in the history of the first root.
    write(&one, "1\n");
    write(&two, "1\n");
    both("1", "2");
    write(&two, "2\n3\n");
    let id = write(&one, "2\n3\n");
    both("3", "4");
    ok(engine.call(&person(), "restore", json!({ "file_path": two, "id": id })));
    assert_eq!(fs::read_to_string(&two).unwrap(), "2\n3\n");
    // And the other way round.
    let id = write(&two, "other\n");
    write(&one, "last\n");
    ok(engine.call(&person(), "restore", json!({ "file_path": one, "id": id })));
    assert_eq!(fs::read_to_string(&one).unwrap(), "2\n4\n");
}

/// The changes that lead from the current version to an older one are in both logs by turns.
#[test]
fn content_is_rebuilt_from_the_logs_of_both_roots() {
    let TwoRoots { base, roots, .. } = &TwoRoots::new();
    let lines: String = (0..60).map(|line| format!("line {line}\n")).collect();
    for root in roots {
        fs::write(root.join("f"), &lines).unwrap();
    }
    let engine = Engine::open(roots, StateLocation::Directory(base.join("state")), Config::default()).unwrap();
    let two = roots[1].join("f");
    let both = |line: usize| {
        let part = |root: &str| format!("*** Update File: {root}/f\n@@\n-line {line}\n+LINE {line}\n");
        let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", part("one"), part("two"));
        name_of(&ok(engine.call(&person(), "apply", json!({ "input": patch, "directory": base }))))
    };
    let alone = |line: usize| {
        let (old, new) = (format!("line {line}\n"), format!("LINE {line}\n"));
        ok(engine.call(&person(), "edit", json!({ "file_path": two, "old_string": old, "new_string": new })));
    };
    let first = both(10);
    alone(20);
    both(30);
    alone(40);
    both(50);
    let history = data(&ok(engine.call(&person(), "history", json!({ "file_path": two, "limit": 1000 }))));
    for row in history["operations"].as_array().unwrap() {
        assert_eq!(row["undoable"], true, "{row}");
    }
    ok(engine.call(&person(), "undo", json!({ "id": first })));
    let expected = lines.replace("line 20\n", "LINE 20\n").replace("line 30\n", "LINE 30\n");
    let expected = expected.replace("line 40\n", "LINE 40\n").replace("line 50\n", "LINE 50\n");
    assert_eq!(fs::read_to_string(&two).unwrap(), expected);
    ok(engine.call(&person(), "restore", json!({ "file_path": two, "id": format!("{first}^") })));
    assert_eq!(fs::read_to_string(&two).unwrap(), lines);
}
