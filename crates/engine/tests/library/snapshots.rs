//! Snapshots: what any program changed below the root becomes an operation, which can be undone.

use crate::fixture::{EngineFixture, code, is_private, ok};
use emendate::{CallContext, Config, Engine, StateLocation};
use emendate_history::Retention;
use emendate_os::paths::with_slashes;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn snapshot(fixture: &EngineFixture) -> Value {
    let reply = fixture.call("snapshot", json!({}));
    ok(&reply);
    reply.to_json()["data"].clone()
}

/// The changed files of a snapshot, with what happened to them.
fn changed(fixture: &EngineFixture) -> BTreeMap<String, String> {
    let data = snapshot(fixture);
    let name = |file: &Value| {
        let path = Path::new(file["filePath"].as_str().unwrap()).strip_prefix(&fixture.root).unwrap();
        with_slashes(path.to_str().unwrap()).into_owned()
    };
    let files = data["files"].as_array().unwrap();
    files.iter().map(|file| (name(file), file["type"].as_str().unwrap().to_owned())).collect()
}

fn of(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    names.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect()
}

#[cfg(unix)]
#[test]
fn everything_that_a_command_did_is_one_operation() {
    let fixture = EngineFixture::with("src/a", "one\n");
    fixture.put("src/b", "two\n");
    fixture.put(".hidden/c", "three\n");
    let first = ok(&fixture.call("snapshot", json!({})));
    assert!(first.starts_with("First snapshot of ") && first.contains(": 3 files."), "{first}");
    assert_eq!(changed(&fixture), of(&[]));

    fixture.put("src/a", "ONE\n");
    fs::remove_file(fixture.path("src/b")).unwrap();
    fixture.put("new/d", "four\n");
    // Bits that git does not keep either are no change.
    crate::fixture::set_mode(fixture.path(".hidden/c"), 0o600);
    let all = of(&[("src/a", "update"), ("src/b", "delete"), ("new/d", "create")]);
    assert_eq!(changed(&fixture), all);
    assert_eq!(changed(&fixture), of(&[]));
    let shown = ok(&fixture.call("history", json!({ "id": "last" })));
    assert!(shown.contains("-one\n+ONE\n") && shown.contains("-two\n") && shown.contains("+four\n"), "{shown}");

    // It has to be named; then an undo covers all of it, and a redo restores it.
    assert_eq!(code(&fixture.call("undo", json!({}))), "operation.not_found");
    ok(&fixture.call("undo", json!({ "id": "1" })));
    assert_eq!((fixture.get("src/a"), fixture.get("src/b")), ("one\n".to_owned(), "two\n".to_owned()));
    assert!(!fixture.path("new/d").exists());
    // The engine's own writes are not changes by others.
    assert_eq!(changed(&fixture), of(&[]));
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!((fixture.get("src/a"), fixture.get("new/d")), ("ONE\n".to_owned(), "four\n".to_owned()));
    assert_eq!(changed(&fixture), of(&[]));
}

/// A directory becomes a file or a link, and a file becomes a directory: what was there before is deleted.
#[cfg(unix)]
#[test]
fn files_that_make_way_for_a_directory_and_the_reverse_are_deleted() {
    let fixture = EngineFixture::with("sub/b", "b\n");
    for name in ["sub/deep/c", "file", "lib/d", "target/other"] {
        fixture.put(name, &format!("{name}\n"));
    }
    let names = ["sub/b", "sub/deep/c", "file", "lib/d"];
    let before = names.map(|name| fixture.get(name));
    snapshot(&fixture);
    fs::remove_dir_all(fixture.path("sub")).unwrap();
    fs::remove_file(fixture.path("file")).unwrap();
    fixture.put("sub", "now\n");
    fixture.put("file/in", "in\n");
    // The directory goes on behind a link: with its old name, there is nothing.
    fs::rename(fixture.path("lib"), fixture.path("lib2")).unwrap();
    std::os::unix::fs::symlink("lib2", fixture.path("lib")).unwrap();
    let all = [
        ("sub/b", "delete"),
        ("sub/deep/c", "delete"),
        ("file", "delete"),
        ("lib/d", "delete"),
        ("sub", "create"),
        ("file/in", "create"),
        ("lib2/d", "create"),
        ("lib", "link"),
    ];
    let found = changed(&fixture);
    assert_eq!(found.keys().collect::<Vec<_>>(), of(&all).keys().collect::<Vec<_>>());
    assert_eq!(changed(&fixture), of(&[]));
    let shown = ok(&fixture.call("history", json!({ "id": "1" })));
    assert!(shown.contains("sub/b: deleted\n") && shown.contains("-sub/deep/c\n"), "{shown}");

    ok(&fixture.call("undo", json!({ "id": "1" })));
    assert_eq!(names.map(|name| fixture.get(name)), before);
    assert!(!fixture.path("lib2/d").exists() && fixture.path("lib").symlink_metadata().unwrap().is_dir());
    assert_eq!(changed(&fixture), of(&[]));
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!(
        (fixture.get("sub"), fixture.get("file/in"), fixture.get("lib2/d")),
        ("now\n".into(), "in\n".into(), "lib/d\n".into())
    );
    assert_eq!(fs::read_link(fixture.path("lib")).unwrap(), Path::new("lib2"));
    assert_eq!(changed(&fixture), of(&[]));
}

#[test]
fn later_change_of_an_edited_large_file_can_be_taken_back() {
    let fixture = EngineFixture::new();
    let lines: String = (0..60_000).map(|nth| format!("value_{nth} = {}\n", nth * 7919 % 10_007)).collect();
    fixture.put("a", &(lines.clone() + "middle\n"));
    // An edit of a large file stores what it replaced, and not the file.
    ok(&fixture.call(
        "replace_in_files",
        json!({ "path": fixture.root, "old_string": "middle", "new_string": "edited", "expected": 1 }),
    ));
    for by_others in ["first", "second"] {
        let before = fixture.get("a");
        assert_eq!(changed(&fixture), of(&[]));
        fixture.put("a", &(lines.clone() + by_others + "\n"));
        let operation = snapshot(&fixture)["operation"].clone();
        ok(&fixture.call("undo", json!({ "id": operation })));
        assert_eq!(fixture.get("a"), before);
    }
}

#[test]
fn ignored_files_secrets_and_version_control_are_left_out() {
    let fixture = EngineFixture::with(".gitignore", "target/\n*.log\n");
    fixture.put("a", "one\n");
    snapshot(&fixture);
    for name in ["target/x", "b.log", ".git/config", ".jj/x", ".env", "key.pem", ".a.0123456789abcdef.tmp~"] {
        fixture.put(name, "new\n");
    }
    fixture.put("b", "two\n");
    assert_eq!(changed(&fixture), of(&[("b", "create")]));
    // A file that is ignored from now on was not deleted.
    fixture.put(".gitignore", "target/\n*.log\nb\n");
    assert_eq!(changed(&fixture), of(&[(".gitignore", "update")]));
    let text = ok(&fixture.call("snapshot", json!({})));
    assert!(text.contains("may hold secrets"), "{text}");
}

#[test]
fn edits_between_snapshots_stay_apart_from_changes_by_others() {
    let fixture = EngineFixture::with("a", "one\n");
    fixture.put("b", "one\n");
    snapshot(&fixture);
    fixture.read("a");
    ok(&fixture.edit("a", "one", "two"));
    ok(&fixture.write("c", "new\n"));
    assert_eq!(changed(&fixture), of(&[]));
    ok(&fixture.edit("a", "two", "three"));
    fixture.put("a", "four\n");
    fixture.put("b", "two\n");
    // A call that meets the change records it; the snapshot does not record it again.
    fixture.read("a");
    assert_eq!(changed(&fixture), of(&[("b", "update")]));
    // A file of the engine that someone else deleted, although no snapshot has seen it.
    ok(&fixture.write("d", "new\n"));
    fs::remove_file(fixture.path("d")).unwrap();
    assert_eq!(changed(&fixture), of(&[("d", "delete")]));
}

#[test]
fn change_of_equal_size_in_the_same_tick_is_found() {
    let fixture = EngineFixture::with("a", "0000\n");
    snapshot(&fixture);
    for round in 1..30 {
        fixture.put("a", &format!("{round:04}\n"));
        assert_eq!(changed(&fixture), of(&[("a", "update")]), "{round}");
    }
}

#[test]
fn dry_run_and_off_record_nothing() {
    let fixture = EngineFixture::with("a", "one\n");
    snapshot(&fixture);
    fixture.put("a", "two\n");
    let reply = fixture.call("snapshot", json!({ "dry_run": true }));
    assert!(ok(&reply).contains("nothing is recorded"), "{}", reply.text());
    assert_eq!(reply.to_json()["data"]["filesTotal"], 1);
    assert_eq!(changed(&fixture), of(&[("a", "update")]));

    let config = Config::default().with_file("[history]\noutside = \"off\"\n", "emend.toml", true).unwrap();
    let fixture = EngineFixture::open(config, |_| StateLocation::Memory);
    assert_eq!(code(&fixture.call("snapshot", json!({}))), "call.invalid");
}

#[test]
fn snapshot_survives_the_process_and_the_loss_of_its_file() {
    let state = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let root = emendate_os::paths::canonical(dir.path()).unwrap();
    let open = || {
        let state = StateLocation::Directory(state.path().to_owned());
        Engine::open(std::slice::from_ref(&root), state, Config::default()).unwrap()
    };
    let take = || {
        let reply = open().call(&CallContext::default(), "snapshot", json!({}));
        ok(&reply);
        reply.to_json()["data"]["filesTotal"].clone()
    };
    fs::write(root.join("a"), "one\n").unwrap();
    assert_eq!(take(), 0);
    fs::write(root.join("a"), "two\n").unwrap();
    fs::write(root.join("b"), "one\n").unwrap();
    assert_eq!(take(), 2);
    assert_eq!(take(), 0);
    // Without the file every file is read again, and compared with what is known of it.
    let store = fs::read_dir(state.path())
        .unwrap()
        .map(|it| it.unwrap().path())
        .find(|it| it.join("sessions.stat").exists())
        .unwrap();
    assert!(is_private(store.join("sessions.stat")));
    for damage in [&b"EmndSta1 damaged"[..], b""] {
        fs::write(store.join("sessions.stat"), damage).unwrap();
        fs::write(root.join("a"), format!("{} bytes\n", damage.len())).unwrap();
        assert_eq!(take(), 1);
    }
}

/// What the first snapshot found is in a file beside the database until it is moved there.
#[test]
fn first_snapshot_is_moved_to_the_database_by_whoever_comes_next() {
    for next in ["the same process", "a snapshot of another process", "a collection of garbage"] {
        let (state, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = emendate_os::paths::canonical(dir.path()).unwrap();
        let place = StateLocation::Directory(state.path().to_owned());
        let open = || Engine::open(std::slice::from_ref(&root), place.clone(), Config::default()).unwrap();
        let call = |engine: &Engine, tool: &str, input: Value| ok(&engine.call(&CallContext::default(), tool, input));
        fs::write(root.join("a"), "one\n").unwrap();
        let first = open();
        call(&first, "snapshot", json!({}));
        let found = fs::read_dir(state.path())
            .unwrap()
            .map(|it| it.unwrap().path().join("sessions.found"))
            .find(|it| it.exists())
            .unwrap();
        assert!(is_private(&found));
        match next {
            "the same process" => first.history().finish_background_work(),
            "a collection of garbage" => drop(open().history().collect_garbage(Retention::default()).unwrap()),
            _ => {}
        }
        drop(first);
        fs::write(root.join("a"), "two\n").unwrap();
        let text = call(&open(), "snapshot", json!({}));
        assert!(text.contains("1 changed"), "{next}: {text}");
        assert!(!found.exists(), "{next}");
        call(&open(), "undo", json!({ "id": "1" }));
        assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "one\n", "{next}");
    }
}

/// Several threads read, and the files are listed in the order of their paths.
#[test]
fn many_files_are_found_in_order() {
    let fixture = EngineFixture::new();
    let name = |nth: usize| format!("d{}/f{nth:03}", nth % 3);
    (0..900).for_each(|nth| drop(fixture.put(name(nth), &format!("file {nth}\n"))));
    assert_eq!(snapshot(&fixture)["scanned"], 900);
    let mut names: Vec<String> = (0..900).filter(|nth| nth % 5 == 0).map(name).collect();
    for name in &names {
        fixture.put(name, "changed\n");
    }
    names.sort();
    let reply = fixture.call("snapshot", json!({}));
    ok(&reply);
    let data = reply.to_json()["data"].clone();
    assert_eq!((&data["scanned"], &data["filesTotal"]), (&json!(900), &json!(names.len())));
    let listed = data["files"].as_array().unwrap().iter().map(|file| file["filePath"].as_str().unwrap().to_owned());
    let listed: Vec<String> = listed.collect();
    let expected: Vec<String> =
        names.iter().map(|name| fixture.path(name).display().to_string()).take(listed.len()).collect();
    assert_eq!(listed, expected);
    ok(&fixture.call("undo", json!({ "id": "1" })));
    (0..900).for_each(|nth| assert_eq!(fixture.get(name(nth)), format!("file {nth}\n")));
}

#[test]
fn contents_beyond_the_limit_are_listed_and_not_stored() {
    let fixture = EngineFixture::new();
    snapshot(&fixture);
    let text = "x".repeat(8 << 20);
    for nth in 0..9 {
        fixture.put(format!("{nth}"), &text);
    }
    let reply = ok(&fixture.call("snapshot", json!({})));
    assert!(reply.contains("recorded without their contents, which would take too much space: 1"), "{reply}");
}

#[cfg(unix)]
#[test]
fn executable_bits_are_recorded_and_taken_back() {
    let fixture = EngineFixture::with("run.sh", "#!/bin/sh\n");
    fixture.put("both.sh", "one\n");
    let mode = |name: &str| crate::fixture::mode_of(fixture.path(name));
    let set = |name: &str, mode| crate::fixture::set_mode(fixture.path(name), mode);
    set("run.sh", 0o644);
    set("both.sh", 0o644);
    snapshot(&fixture);
    set("run.sh", 0o755);
    set("both.sh", 0o755);
    fixture.put("both.sh", "two\n");
    assert_eq!(changed(&fixture), of(&[("run.sh", "update"), ("both.sh", "update")]));
    assert_eq!(changed(&fixture), of(&[]));
    ok(&fixture.call("undo", json!({ "id": "1" })));
    assert_eq!((mode("run.sh"), mode("both.sh"), fixture.get("both.sh")), (0o644, 0o644, "one\n".to_owned()));
    assert_eq!(changed(&fixture), of(&[]));
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!((mode("run.sh"), mode("both.sh")), (0o755, 0o755));
    assert_eq!(changed(&fixture), of(&[]));
}

#[cfg(unix)]
#[test]
fn links_are_recorded_and_taken_back() {
    use std::os::unix::fs::symlink;
    let fixture = EngineFixture::with("a", "one\n");
    fixture.put("b", "two\n");
    symlink("a", fixture.path("moved")).unwrap();
    symlink("nowhere", fixture.path("gone")).unwrap();
    snapshot(&fixture);
    assert_eq!(changed(&fixture), of(&[]));
    let target = |name: &str| fs::read_link(fixture.path(name)).unwrap().display().to_string();
    fs::remove_file(fixture.path("moved")).unwrap();
    symlink("b", fixture.path("moved")).unwrap();
    fs::remove_file(fixture.path("gone")).unwrap();
    symlink("../outside", fixture.path("new")).unwrap();
    // A file becomes a link.
    fs::remove_file(fixture.path("b")).unwrap();
    symlink("a", fixture.path("b")).unwrap();
    let all = of(&[("moved", "link"), ("gone", "delete"), ("new", "create"), ("b", "link")]);
    assert_eq!(changed(&fixture), all);
    assert_eq!(changed(&fixture), of(&[]));
    ok(&fixture.call("undo", json!({ "id": "1" })));
    assert_eq!((target("moved"), target("gone")), ("a".to_owned(), "nowhere".to_owned()));
    assert!(fs::symlink_metadata(fixture.path("new")).is_err());
    assert_eq!(fixture.get("b"), "two\n");
    assert!(fs::symlink_metadata(fixture.path("b")).unwrap().is_file());
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!(
        (target("moved"), target("b"), target("new")),
        ("b".to_owned(), "a".to_owned(), "../outside".to_owned())
    );
    assert_eq!(changed(&fixture), of(&[]));
}
