//! Concurrent changes to one file, and the knowledge of sessions.

use crate::fixture::{EngineFixture, code};
use emendate::fs::{Durability, FileWrite, LocalStore, NewState, Precondition, Store};
use emendate::{CallContext, Config, Engine, StateLocation};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn chain_of_edits_needs_one_read() {
    let fixture = EngineFixture::with("a", "one\ntwo\nthree\n");
    assert_eq!(code(&fixture.edit("a", "one", "1")), "read.required");
    fixture.read("a");
    for (old, new) in [("one", "1"), ("two", "2"), ("1\n2", "12")] {
        let reply = fixture.edit("a", old, new);
        assert_eq!(code(&reply), "ok", "{}", reply.text());
    }
    assert_eq!(fixture.get("a"), "12\nthree\n");
}

#[test]
fn conflict_shows_the_text_and_the_next_call_works() {
    let fixture = EngineFixture::with_read("a", "one\ntwo\nthree\n");
    fixture.put("a", "one\nTWO!\nthree\nfour\n");
    let reply = fixture.edit("a", "two", "2");
    assert_eq!(code(&reply), "stale.changed");
    assert_eq!(reply.to_json()["error_code"], 7);
    assert!(reply.text().contains("+TWO!"), "{}", reply.text());
    assert_eq!(code(&fixture.edit("a", "TWO!", "2")), "ok");
    assert_eq!(fixture.get("a"), "one\n2\nthree\nfour\n");
}

#[test]
fn other_lines_merge_and_a_concurrent_equal_edit_is_reported() {
    let fixture = EngineFixture::with_read("a", "one\ntwo\nthree\n");
    fixture.put("a", "zero\none\ntwo\nthree\n");
    let reply = fixture.edit("a", "two", "2");
    assert!(reply.text().contains("merged"), "{}", reply.text());
    assert_eq!(fixture.get("a"), "zero\none\n2\nthree\n");
    fixture.put("a", "zero\none\n2\n3\n");
    let reply = fixture.edit("a", "three", "3");
    assert_eq!(code(&reply), "edit.no_change");
    assert_eq!(reply.to_json()["data"]["already_applied"], true);
}

#[test]
fn change_of_equal_size_in_the_same_tick_is_noticed() {
    let fixture = EngineFixture::new();
    for round in 0..50 {
        fixture.put_read("a", "aaaa\nbbbb\n");
        fixture.put("a", &format!("aaaa\nb{round:02}b\n"));
        assert_eq!(code(&fixture.edit("a", "bbbb", "cccc")), "stale.changed");
    }
}

#[test]
fn tag_replaces_the_session() {
    let fixture = EngineFixture::with("a", "one\ntwo\n");
    let tag = fixture.read("a").to_json()["data"]["tag"].clone();
    let stranger = CallContext { session: "stranger".to_owned(), ..CallContext::default() };
    let with = |tag: &Value| {
        let input = json!({ "file_path": fixture.path("a"), "old_string": "two", "new_string": "2", "tag": tag });
        fixture.engine.call(&stranger, "edit", input)
    };
    assert_eq!(code(&with(&json!("00000000"))), "stale.unknown_tag");
    assert_eq!(code(&with(&json!("nonsense"))), "call.invalid");
    fixture.put("a", "zero\none\ntwo\n");
    assert_eq!(code(&with(&tag)), "ok");
    assert_eq!(fixture.get("a"), "zero\none\n2\n");
}

#[test]
fn partial_read_does_not_allow_a_whole_write() {
    let fixture = EngineFixture::with("a", &(1..=30).map(|line| format!("line {line}\n")).collect::<String>());
    fixture.call_on("a", "read", json!({ "offset": 10, "limit": 1 }));
    let write = || fixture.call_on("a", "write", json!({ "content": "x\n" }));
    let reply = write();
    assert_eq!((code(&reply), &reply.to_json()["data"]["missing"]), ("read.partial", &json!([[1, 9], [11, 30]])));
    // Matching by content works; the lines shown by the reply are known then, and the rest still is not.
    assert_eq!(code(&fixture.edit("a", "line 25", "line 25\nand more")), "ok");
    assert_eq!(write().to_json()["data"]["missing"], json!([[1, 9], [11, 21], [31, 31]]));
    fixture.read("a");
    assert_eq!(code(&write()), "ok");
    assert_eq!(fixture.get("a"), "x\n");
}

#[test]
fn write_is_merged_only_on_request() {
    let fixture = EngineFixture::with_read("a", "one\ntwo\nthree\n");
    fixture.put("a", "one\ntwo\nthree\nfour\n");
    let write =
        |on_stale: Value| fixture.call_on("a", "write", json!({ "content": "1\ntwo\nthree\n", "on_stale": on_stale }));
    let reply = fixture.call_on("a", "write", json!({ "content": "1\ntwo\nthree\n" }));
    assert_eq!((code(&reply), &reply.to_json()["error_code"]), ("stale.changed", &json!(3)));
    // The refusal has shown the new lines, so the session now knows this version.
    assert_eq!(code(&write(json!("merge"))), "ok");
    assert_eq!(fixture.get("a"), "1\ntwo\nthree\n");
}

#[test]
fn conflict_markers_are_written_only_on_request() {
    let fixture = EngineFixture::with_read("a", "one\ntwo\nthree\n");
    fixture.put("a", "one\nZWEI\nthree\n");
    let input = json!({ "old_string": "two", "new_string": "2", "on_stale": "markers" });
    assert_eq!(code(&fixture.call_on("a", "edit", input)), "ok");
    let marked = "<<<<<<< your edit\n2\n||||||| as read\ntwo\n=======\nZWEI\n>>>>>>> on disk\n";
    assert_eq!(fixture.get("a"), format!("one\n{marked}three\n"));
}

#[test]
fn eight_concurrent_editors_lose_nothing() {
    let fixture = EngineFixture::new();
    let lines: String = (0..8).map(|hand| format!("hand {hand}: 0\n\n")).collect();
    fixture.put_read("a", &lines);
    std::thread::scope(|scope| {
        for hand in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for n in 0..25 {
                    let reply = fixture.edit("a", &format!("hand {hand}: {n}\n"), &format!("hand {hand}: {}\n", n + 1));
                    assert_eq!(code(&reply), "ok", "{}", reply.text());
                }
            });
        }
    });
    let wanted: String = (0..8).map(|hand| format!("hand {hand}: 25\n\n")).collect();
    assert_eq!(fixture.get("a"), wanted);
}

#[test]
fn two_engines_share_one_state() {
    let dir = tempfile::tempdir().unwrap();
    let (root, state) = (dir.path().join("root"), dir.path().join("state"));
    fs::create_dir(&root).unwrap();
    let open = || {
        Engine::open(std::slice::from_ref(&root), StateLocation::Directory(state.clone()), Config::default()).unwrap()
    };
    let (one, two) = (open(), open());
    let path = root.join("a");
    fs::write(&path, "x\ny\n").unwrap();
    let caller = CallContext::default();
    assert_eq!(code(&one.call(&caller, "read", json!({ "file_path": path }))), "ok");
    fs::write(&path, "w\nx\ny\n").unwrap();
    let edit = json!({ "file_path": path, "old_string": "y", "new_string": "Y" });
    assert_eq!(code(&two.call(&caller, "edit", edit)), "ok");
    let edit = json!({ "file_path": path, "old_string": "Y", "new_string": "z" });
    assert_eq!(code(&one.call(&caller, "edit", edit)), "ok");
    assert_eq!(fs::read_to_string(&path).unwrap(), "w\nx\nz\n");
    assert!(one.notices().is_empty());
}

#[test]
fn unusable_state_directory_is_only_a_notice() {
    let dir = tempfile::tempdir().unwrap();
    let blocker = dir.path().join("file");
    fs::write(&blocker, "").unwrap();
    fs::write(dir.path().join("a"), "x\n").unwrap();
    let roots = [dir.path().to_owned()];
    let engine = Engine::open(&roots, StateLocation::Directory(blocker.join("state")), Config::default()).unwrap();
    let caller = CallContext::default();
    let path: &Path = &dir.path().join("a");
    assert_eq!(code(&engine.call(&caller, "read", json!({ "file_path": path }))), "ok");
    assert_eq!(
        code(&engine.call(&caller, "edit", json!({ "file_path": path, "old_string": "x", "new_string": "y" }))),
        "ok"
    );
    // One for the histories, one for the journal.
    let notices = engine.notices();
    assert!(notices.len() == 2 && notices[0] != notices[1], "{notices:?}");
}

#[test]
fn failed_edit_mentions_other_files_and_its_repetition() {
    let fixture = EngineFixture::with("a", "alpha one\nbeta two\n");
    fixture.put("b", "x\ngamma three\n");
    fixture.read("a");
    fixture.read("b");
    let first = fixture.edit("a", "gamma three", "delta");
    assert_eq!(first.to_json()["data"]["other_files"][0]["line"], 2);
    assert!(first.text().contains("another file"), "{}", first.text());
    let second = fixture.edit("a", "gamma three", "delta");
    assert_eq!((code(&second), &second.to_json()["data"]["repeated"]), ("match.not_found", &json!(true)));
    assert!(second.text().len() < first.text().len() && second.text().contains("do not send this call again"));
    fixture.put_read("a", "alpha one\nbeta 2\n");
    assert!(fixture.edit("a", "alpha two", "x").to_json()["data"].get("repeated").is_none());
}

#[test]
fn blocks_for_two_files_are_applied_together_or_not_at_all() {
    let fixture = EngineFixture::with("a.txt", "one\n");
    fixture.put("b.txt", "two\n");
    fixture.read("a.txt");
    fixture.read("b.txt");
    let block =
        |path: &str, old: &str, new: &str| format!("{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
    let apply = |text: String, more: Value| {
        let mut input = json!({ "input": text });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fixture.engine.call(&fixture.caller, "apply", input)
    };
    let bad = block("a.txt", "one", "1") + &block("b.txt", "nowhere to be found", "2");
    assert_eq!(code(&apply(bad.clone(), json!({}))), "match.not_found");
    assert_eq!((fixture.get("a.txt"), fixture.get("b.txt")), ("one\n".to_owned(), "two\n".to_owned()));
    let partial = apply(bad, json!({ "partial": true }));
    assert_eq!((code(&partial), fixture.get("a.txt")), ("ok", "1\n".to_owned()));
    assert!(partial.text().contains("Not applied"), "{}", partial.text());
    assert_eq!(code(&apply(block("b.txt", "two", "2") + &block("b.txt", "2", "II"), json!({}))), "ok");
    assert_eq!(fixture.get("b.txt"), "II\n");
    assert_eq!(code(&apply(block("../b.txt", "two", "2"), json!({}))), "path.outside");
    assert_eq!(code(&apply("no blocks".to_owned(), json!({}))), "edit.unparsable");
    // A bare name that is not a path here refers to the only file of that name that was read.

    fixture.put_read("deep/c.txt", "three\n");
    assert_eq!(code(&apply(block("c.txt", "three", "3"), json!({}))), "ok");
    assert_eq!(fixture.get("deep/c.txt"), "3\n");
}

/// The next engine on a root recovers the leftovers of a process that died during a call.
#[test]
fn leftovers_of_a_dead_process_are_recovered_at_the_next_start() {
    let name = "many_hands::leftovers_of_a_dead_process_are_recovered_at_the_next_start";
    if let Some(root) = std::env::var_os("EMENDATE_TEST_DIES_IN") {
        let root = PathBuf::from(root);
        let store = LocalStore::open(&[root.join("work")]).unwrap().with_journal(&root.join("state/journal")).unwrap();
        let places = ["new/one", "two"].map(|name| store.resolve_path(&root.join("work").join(name)).unwrap());
        let writes = places.each_ref().map(|place| FileWrite {
            path: place,
            precondition: Precondition::Missing,
            new_state: NewState::content(&[b"x"]),
        });
        let _staged = store.stage(&writes, Durability::Process).unwrap();
        std::process::abort();
    }
    let dir = tempfile::tempdir().unwrap();
    let root = emendate_os::paths::canonical(dir.path()).unwrap();
    fs::create_dir(root.join("work")).unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name]).env("EMENDATE_TEST_DIES_IN", &root).env("RUST_BACKTRACE", "0");
    assert!(!child.output().unwrap().status.success());
    let count = |folder: &str| fs::read_dir(root.join(folder)).unwrap().count();
    assert_eq!((count("work"), count("work/new"), count("state/journal")), (2, 1, 1));
    let open =
        || Engine::open(&[root.join("work")], StateLocation::Directory(root.join("state")), Config::default()).unwrap();
    assert!(open().notices().is_empty(), "nothing had become visible, so there is nothing to report");
    assert_eq!((count("work"), count("state/journal")), (0, 0));
    // An unusable state directory is reported, and the engine works without it.
    fs::write(root.join("state/file"), "").unwrap();
    let blocked = StateLocation::Directory(root.join("state/file"));
    let engine = Engine::open(&[root.join("work")], blocked, Config::default()).unwrap();
    assert!(engine.notices().iter().any(|notice| notice.contains("not safe against a crash")));
}

/// Eight processes that read and change one file: no word ever names two lines, and equal reads show equal words.
#[test]
fn words_of_a_concurrently_changed_file_name_one_line_each() {
    const ROUNDS: usize = 12;
    let dir = tempfile::tempdir().unwrap();
    let root = emendate_os::paths::canonical(dir.path()).unwrap().join("root");
    fs::create_dir(&root).unwrap();
    let path = root.join("f");
    // Texts that would all get the same word, each by itself.
    let first = |text: &str| emendate::core::anchor_map::AnchorMap::new(text).unwrap().words()[0].to_string();
    let wanted = first("00000000");
    let mut alike = (0..).map(|number: u32| format!("{number:08}")).filter(|text| first(text) == wanted);
    let texts: Vec<Vec<String>> = (0..8).map(|_| alike.by_ref().take(ROUNDS + 1).collect()).collect();
    fs::write(&path, texts.iter().map(|texts| format!("{}\n", texts[0])).collect::<String>()).unwrap();
    let start = std::sync::Barrier::new(8);
    let named: Vec<(String, String)> = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let (dir, root, path, start, texts) = (&dir, &root, &path, &start, &texts[thread]);
            move || {
                let state = StateLocation::Directory(dir.path().join("state"));
                let engine = Engine::open(std::slice::from_ref(root), state, Config::default()).unwrap();
                let caller = CallContext { session: format!("s{thread}"), ..CallContext::default() };
                let mut named = Vec::new();
                start.wait();
                for round in 0..ROUNDS {
                    let read = engine.call(&caller, "read", json!({ "file_path": path, "format": "anchors" })).text();
                    let lines = read.lines().filter_map(|line| line.split_once(':'));
                    named.extend(lines.map(|(word, line)| (word.to_owned(), line.to_owned())));
                    // Every line is new and unique, so a word that occurs in two texts names two lines.
                    let (old, new) = (format!("{}\n", texts[round]), format!("{}\n", texts[round + 1]));
                    let edit = json!({ "file_path": path, "old_string": old, "new_string": new });
                    let reply = engine.call(&caller, "edit", edit);
                    assert_eq!(code(&reply), "ok", "{}", reply.text());
                }
                named
            }
        };
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(work(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut lines = std::collections::HashMap::new();
    for (word, line) in named {
        let first = lines.entry(word.clone()).or_insert_with(|| line.clone());
        assert_eq!(*first, line, "{word} names two lines");
    }
    assert!(lines.len() > 8 * ROUNDS / 2);
}
