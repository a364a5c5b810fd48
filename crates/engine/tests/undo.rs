//! History and undo through the library API.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests play the outside world"
)]

use emendate::history::Retention;
use emendate::{CallContext, Config, Engine, Reply, StateLocation, UnreadPolicy};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

struct Bench {
    dir: tempfile::TempDir,
    root: PathBuf,
    engine: Option<Engine>,
}

/// The content of a tree: targets of links, modes and bytes of files.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn caller(session: &str) -> CallContext {
    CallContext { session: session.to_owned(), ..CallContext::default() }
}

fn person() -> CallContext {
    CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() }
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let mut bench = Bench { dir, root, engine: None };
        bench.reopen();
        bench
    }

    fn open(&self) -> Engine {
        let state = StateLocation::Directory(self.dir.path().join("state"));
        Engine::open(std::slice::from_ref(&self.root), state, Config::default()).unwrap()
    }

    fn reopen(&mut self) {
        self.engine = None;
        self.engine = Some(self.open());
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn call(&self, caller: &CallContext, tool: &str, input: Value) -> Reply {
        self.engine().call(caller, tool, input)
    }

    fn read(&self, caller: &CallContext, name: &str) -> Reply {
        self.call(caller, "read", json!({ "file_path": self.path(name) }))
    }

    fn edit(&self, caller: &CallContext, name: &str, old: &str, new: &str) -> Reply {
        self.call(caller, "edit", json!({ "file_path": self.path(name), "old_string": old, "new_string": new }))
    }

    fn apply(&self, caller: &CallContext, text: &str) -> Reply {
        self.call(caller, "apply", json!({ "input": text }))
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.root, &mut tree);
        tree
    }
}

fn collect(folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            collect(&path, tree);
        } else if found.is_symlink() {
            let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
            tree.insert(path, (0, target));
        } else {
            let bytes = fs::read(&path).unwrap();
            tree.insert(path, (found.permissions().mode() & 0o7777, bytes));
        }
    }
}

fn code(reply: &Reply) -> &'static str {
    reply.result.as_ref().err().map_or("ok", |error| error.code().as_str())
}

fn data(reply: &Reply) -> Value {
    reply.to_json()["data"].clone()
}

/// The reply of a successful call.
fn ok(reply: Reply) -> Reply {
    assert_eq!(code(&reply), "ok", "{}", reply.text());
    reply
}

fn name_of(reply: &Reply) -> String {
    data(reply)["operation"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn edit_is_undone_and_redone_across_processes() {
    let mut bench = Bench::new();
    let agent = caller("a");
    bench.put("f", "one\ntwo\nthree\n");
    bench.read(&agent, "f");
    let edited = ok(bench.edit(&agent, "f", "two", "TWO"));
    bench.reopen();
    let undone = ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.get("f"), "one\ntwo\nthree\n");
    assert!(undone.text().contains(&name_of(&edited)), "{}", undone.text());
    assert_eq!(data(&undone)["undone"], json!([name_of(&edited)]));
    assert_eq!(code(&bench.call(&agent, "undo", json!({}))), "operation.not_found");
    // The read records are restored, too.
    ok(bench.edit(&agent, "f", "three", "3"));
    ok(bench.call(&agent, "undo", json!({})));
    bench.reopen();
    ok(bench.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(bench.get("f"), "one\ntwo\n3\n");
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.get("f"), "one\ntwo\nthree\n");
}

#[test]
fn redos_reverse_the_undos_in_order() {
    let bench = Bench::new();
    let agent = caller("a");
    bench.put("f", "0");
    bench.read(&agent, "f");
    for step in 0..3 {
        ok(bench.edit(&agent, "f", &step.to_string(), &(step + 1).to_string()));
    }
    for step in ["2", "1", "0"] {
        ok(bench.call(&agent, "undo", json!({})));
        assert_eq!(bench.get("f"), step);
    }
    for step in ["1", "2", "3"] {
        ok(bench.call(&agent, "undo", json!({ "redo": true })));
        assert_eq!(bench.get("f"), step);
    }
    assert_eq!(code(&bench.call(&agent, "undo", json!({ "redo": true }))), "operation.not_found");
    ok(bench.call(&agent, "undo", json!({ "last": 2 })));
    assert_eq!(bench.get("f"), "1");
    // After another edit there is nothing to redo.
    ok(bench.edit(&agent, "f", "1", "other"));
    assert_eq!(code(&bench.call(&agent, "undo", json!({ "redo": true }))), "operation.not_found");
}

#[test]
fn undo_of_a_patch_restores_all_files_and_modes() {
    let mut bench = Bench::new();
    let agent = caller("a");
    for (name, mode) in [("gone", 0o640), ("moved", 0o755), ("kept", 0o600)] {
        bench.put(name, &format!("{name}\nline\n"));
        fs::set_permissions(bench.path(name), fs::Permissions::from_mode(mode)).unwrap();
        bench.read(&agent, name);
    }
    let before = bench.tree();
    let patch = "*** Begin Patch\n*** Add File: sub/new\n+new\n*** Delete File: gone\n*** Update File: moved\n\
                 *** Move to: sub/there\n@@\n moved\n-line\n+LINE\n*** Update File: kept\n@@\n-kept\n+KEPT\n*** End Patch\n";
    let applied = ok(bench.apply(&agent, patch));
    let after = bench.tree();
    assert_eq!(
        after.keys().map(|path| path.strip_prefix(&bench.root).unwrap().to_str().unwrap()).collect::<Vec<_>>(),
        ["kept", "sub/new", "sub/there"]
    );
    bench.reopen();
    let undone = ok(bench.call(&agent, "undo", json!({ "id": name_of(&applied) })));
    assert_eq!(bench.tree(), before, "{}", undone.text());
    ok(bench.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(bench.tree(), after);
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.tree(), before);
}

#[test]
fn undo_restores_links_and_execute_bits() {
    let bench = Bench::new();
    let agent = caller("a");
    bench.put("run", "#!/bin/sh\n");
    std::os::unix::fs::symlink("run", bench.path("link")).unwrap();
    bench.read(&agent, "run");
    let before = bench.tree();
    let patch = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\ndiff --git a/link b/link\ndeleted file mode 120000\n\
                 --- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-run\n\\ No newline at end of file\ndiff --git a/two b/two\n\
                 new file mode 120000\n--- /dev/null\n+++ b/two\n@@ -0,0 +1 @@\n+run\n\\ No newline at end of file\n";
    ok(bench.apply(&agent, patch));
    let after = bench.tree();
    assert_ne!(after, before);
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.tree(), before);
    ok(bench.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(bench.tree(), after);
}

#[test]
fn concurrent_changes_are_kept_or_refuse_the_undo() {
    let bench = Bench::new();
    // A person's edit of an unread file: only the delta is logged, and the file is stored once the answer is out.
    let person = person();
    bench.put("f", "one\ntwo\nthree\nfour\nfive\n");
    ok(bench.edit(&person, "f", "two", "TWO"));
    bench.engine().store_unstored_contents();
    bench.put("f", "zero\none\nTWO\nthree\nfour\nfive\n");
    let undone = ok(bench.call(&person, "undo", json!({})));
    assert!(undone.text().contains("changed after operation"), "{}", undone.text());
    assert_eq!(bench.get("f"), "zero\none\ntwo\nthree\nfour\nfive\n");

    ok(bench.edit(&person, "f", "four", "FOUR"));
    bench.engine().store_unstored_contents();
    bench.put("f", "zero\none\ntwo\nthree\nmine\nfive\n");
    let reply = bench.call(&person, "undo", json!({}));
    assert_eq!(code(&reply), "operation.conflict");
    assert!(reply.text().contains("+mine"), "{}", reply.text());
    assert_eq!(bench.get("f"), "zero\none\ntwo\nthree\nmine\nfive\n");

    // A file that others changed since it was created is not removed.
    ok(bench.call(&person, "write", json!({ "file_path": bench.path("new"), "content": "a\n" })));
    bench.put("new", "a\nb\n");
    assert_eq!(code(&bench.call(&person, "undo", json!({}))), "operation.conflict");
    assert_eq!(bench.get("new"), "a\nb\n");
    // Nothing of a batch is undone if one file conflicts.
    bench.put("x.txt", "1\n");
    bench.put("y.txt", "1\n");
    let blocks = |name: &str| format!("{name}\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n");
    ok(bench.apply(&person, &(blocks("x.txt") + &blocks("y.txt"))));
    bench.put("y.txt", "3\n");
    assert_eq!(code(&bench.call(&person, "undo", json!({}))), "operation.conflict");
    assert_eq!(bench.get("x.txt"), "2\n");
}

#[test]
fn moved_file_returns_with_its_later_edits() {
    let bench = Bench::new();
    let agent = caller("a");
    bench.put("a", "one\ntwo\nthree\nfour\n");
    bench.read(&agent, "a");
    let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-one\n+ONE\n two\n*** End Patch\n";
    let moved = ok(bench.apply(&agent, patch));
    bench.put("b", "ONE\ntwo\nthree\nFOUR\n");
    ok(bench.call(&agent, "undo", json!({ "id": name_of(&moved) })));
    assert_eq!(bench.get("a"), "one\ntwo\nthree\nFOUR\n");
    assert!(!bench.path("b").exists());
}

#[test]
fn callers_undo_their_own_operations_and_others_on_request() {
    let bench = Bench::new();
    let (one, two) = (caller("one"), caller("two"));
    for agent in [&one, &two] {
        let name = &*agent.session;
        ok(bench.call(agent, "write", json!({ "file_path": bench.path(name), "content": "x" })));
    }
    let last = data(&bench.call(&one, "history", json!({ "limit": 1 })))["operations"][0]["id"].clone();
    let reply = bench.call(&one, "undo", json!({ "id": last }));
    assert_eq!(code(&reply), "call.invalid");
    assert!(reply.text().contains("any_session"), "{}", reply.text());
    ok(bench.call(&one, "undo", json!({})));
    assert!(bench.path("two").exists() && !bench.path("one").exists());
    ok(bench.call(&one, "undo", json!({ "id": last, "any_session": true })));
    assert!(!bench.path("two").exists());
    // A person, too, takes back what others did only on request.
    assert_eq!(code(&bench.call(&person(), "undo", json!({ "redo": true }))), "operation.not_found");
    ok(bench.call(&person(), "undo", json!({ "redo": true, "any_session": true })));
    assert!(bench.path("two").exists());
}

#[test]
fn history_lists_filters_and_compares() {
    let bench = Bench::new();
    let agent = caller("a");
    bench.put("f", "one\n");
    bench.put("g", "one\n");
    bench.read(&agent, "f");
    let first = name_of(&ok(bench.edit(&agent, "f", "one", "two")));
    let second = name_of(&ok(bench.edit(&person(), "g", "one", "two\nthree")));
    let third = name_of(&ok(bench.edit(&agent, "f", "two", "three")));
    let ids = |input: Value| -> Vec<String> {
        let listed = data(&ok(bench.call(&agent, "history", input)));
        let rows = listed["operations"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(json!({})), [third.clone(), second.clone(), first.clone()]);
    assert_eq!(ids(json!({ "session": "a" })), [third.clone(), first.clone()]);
    assert_eq!(ids(json!({ "file_path": bench.path("g") })), *std::slice::from_ref(&second));
    assert_eq!(ids(json!({ "limit": 1 })), *std::slice::from_ref(&third));
    let shown = ok(bench.call(&agent, "history", json!({ "id": first })));
    assert!(shown.text().contains("-one\n+two\n"), "{}", shown.text());
    let compared = ok(bench.call(&agent, "history", json!({ "id": format!("{first}^"), "to": third })));
    assert!(compared.text().contains("-one\n+three\n") && compared.text().contains("+two\n+three\n"));
    assert_eq!(data(&compared)["files"].as_array().unwrap().len(), 2);
    let compared = ok(bench.call(&agent, "history", json!({ "id": second, "to": third })));
    assert!(compared.text().contains("-two\n+three\n") && !compared.text().contains("one"), "{}", compared.text());
    assert_eq!(code(&bench.call(&agent, "history", json!({ "id": third, "to": first }))), "call.invalid");
    for wrong in ["99", "1-0000x", "x"] {
        assert_ne!(code(&bench.call(&agent, "history", json!({ "id": wrong }))), "ok", "{wrong}");
    }
}

#[test]
fn file_is_restored_to_an_earlier_state() {
    let bench = Bench::new();
    let agent = caller("a");
    let path = bench.path("f");
    let made = name_of(&ok(bench.call(&agent, "write", json!({ "file_path": path, "content": "1\n" }))));
    let second = name_of(&ok(bench.edit(&agent, "f", "1", "2")));
    ok(bench.edit(&agent, "f", "2", "3"));
    let restore = |id: &str| bench.call(&agent, "restore", json!({ "file_path": path, "id": id }));
    ok(restore(&second));
    assert_eq!(bench.get("f"), "2\n");
    assert_eq!(code(&restore(&second)), "edit.no_change");
    ok(restore(&format!("{second}^")));
    assert_eq!(bench.get("f"), "1\n");
    ok(restore(&format!("{made}^")));
    assert!(!path.exists());
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.get("f"), "1\n");
    // Concurrent changes must be seen first, and can be restored by undo.
    bench.put("f", "theirs\n");
    assert_eq!(code(&restore(&second)), "stale.changed");
    bench.read(&agent, "f");
    ok(restore(&second));
    assert_eq!(bench.get("f"), "2\n");
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.get("f"), "theirs\n");
    bench.put("g", "x");
    let reply = bench.call(&person(), "restore", json!({ "file_path": bench.path("g"), "id": second }));
    assert_eq!(code(&reply), "operation.not_found");
}

/// A header above changed lines names its file, also in the replies of undo and of patches.
#[test]
fn headers_name_their_file() {
    let bench = Bench::new();
    let agent =
        CallContext { line_format: emendate::core::line_format::LineFormat::by_name("hashline"), ..caller("a") };
    bench.put("f", "one\ntwo\n");
    bench.put("g", "one\ntwo\n");
    bench.read(&agent, "f");
    bench.read(&agent, "g");
    let patch =
        "*** Begin Patch\n*** Update File: f\n@@\n-two\n+TWO\n*** Update File: g\n@@\n-two\n+TWO\n*** End Patch\n";
    let applied = ok(bench.call(&agent, "apply", json!({ "input": patch, "directory": bench.root })));
    let undone = ok(bench.call(&agent, "undo", json!({})));
    let redone = ok(bench.call(&agent, "undo", json!({ "redo": true })));
    for reply in [applied, undone, redone] {
        let text = reply.text();
        let headers: Vec<&str> = text.lines().filter(|line| line.starts_with('¶')).collect();
        assert_eq!(headers.len(), 2, "{text}");
        assert!(headers.iter().all(|header| header.starts_with("¶f#") || header.starts_with("¶g#")), "{text}");
    }
}

#[test]
fn secrets_are_reported_but_not_stored() {
    let mut bench = Bench::new();
    bench.put(".env", "TOKEN=hunter2hunter2\n");
    bench.engine = None;
    let state = bench.dir.path().join("state");
    let config = Config::default().with_allow_rule(".env", "--allow").unwrap();
    let agent = caller("a");
    let path = bench.path(".env");
    let edit = json!({ "file_path": path, "old_string": "hunter2hunter2", "new_string": "correcthorsebattery" });
    let opened = |config: &Config| {
        Engine::open(std::slice::from_ref(&bench.root), StateLocation::Directory(state.clone()), config.clone())
            .unwrap()
    };
    // A model that does not declare this intended is refused before anything is written.
    let strict = opened(&config);
    assert!(strict.call(&agent, "read", json!({ "file_path": path })).result.is_ok());
    assert_eq!(code(&strict.call(&agent, "edit", edit.clone())), "operation.irreversible");
    drop(strict);
    let config = config.with_file("[policy]\nirreversible = 'allow'\n", "user", true).unwrap();
    let open = || opened(&config);
    let engine = open();
    assert!(engine.call(&agent, "read", json!({ "file_path": path })).result.is_ok());
    let edited = ok(engine.call(&agent, "edit", edit));
    assert!(edited.text().contains("This cannot be undone"), "{}", edited.text());
    let listed = ok(engine.call(&agent, "history", json!({})));
    assert_eq!(data(&listed)["operations"][0]["undoable"], false, "{}", listed.text());
    assert_eq!(code(&engine.call(&agent, "undo", json!({}))), "operation.not_kept");
    // Other ways to do so: by anchors, cut to a register, in a call with other files, moved, removed, and by another
    // process.
    ok(engine.call(&agent, "read", json!({ "file_path": path, "format": "anchors" })));
    give(&path, "user.hint", b"correcthorse");
    let header = |engine: &Engine, path: &Path| {
        let read = ok(engine.call(&agent, "read", json!({ "file_path": path, "format": "hashline_put" })));
        read.text().lines().next().unwrap().to_owned()
    };
    let text = format!("{}\nCUT 1 @key\nPUT >1:\n+TOKEN=hunter2again\n", header(&engine, &path));
    ok(engine.call(&agent, "apply", json!({ "input": text, "directory": bench.root })));
    bench.put("open", "plain\n");
    let open_file = bench.path("open");
    let text = format!("{}\nPUT >1 @key\n", header(&engine, &path));
    ok(engine.call(&agent, "apply", json!({ "input": text, "directory": bench.root })));
    ok(engine.call(&agent, "read", json!({ "file_path": open_file })));
    let patch = "*** Begin Patch\n*** Update File: open\n@@\n-plain\n+plain and more\n*** Update File: .env\n*** Move to: d/.env\n@@\n-TOKEN=hunter2again\n+TOKEN=hunter2third\n*** End Patch\n";
    ok(engine.call(&agent, "apply", json!({ "input": patch, "directory": bench.root })));
    let delete = "*** Begin Patch\n*** Delete File: d/.env\n*** End Patch\n";
    ok(engine.call(&agent, "apply", json!({ "input": delete, "directory": bench.root })));
    drop(engine);
    let other = open();
    ok(other.call(&agent, "write", json!({ "file_path": path, "content": "TOKEN=hunter2fourth\n" })));
    ok(other.call(&agent, "history", json!({ "id": "2" })));
    drop(other);
    let mut found = Tree::new();
    collect(&state, &mut found);
    assert!(!found.is_empty());
    for (path, (_, bytes)) in found {
        for secret in [&b"hunter2"[..], b"correcthorse"] {
            assert!(!bytes.windows(secret.len()).any(|run| run == secret), "{}", path.display());
        }
    }
}

#[test]
fn registers_survive_the_process() {
    let mut bench = Bench::new();
    let (agent, other) = (caller("a"), caller("b"));
    bench.put("f", "one\ntwo\nthree\n");
    bench.put("g", "g\n");
    let header = |bench: &Bench, agent: &CallContext, name: &str| {
        let read = ok(bench.call(agent, "read", json!({ "file_path": bench.path(name), "format": "hashline_put" })));
        read.text().lines().next().unwrap().to_owned()
    };
    let cut = format!("{}\nCUT 2.=3 @part\n", header(&bench, &agent, "f"));
    ok(bench.apply(&agent, &cut));
    bench.reopen();
    // Not in another session, and not twice with different results: pasted text remains in the register.
    let put = |bench: &Bench, agent: &CallContext| {
        bench.apply(agent, &format!("{}\nPUT >1 @part\n", header(bench, agent, "g")))
    };
    let refused = put(&bench, &other);
    assert!(refused.text().contains("`@part` was empty"), "{}", refused.text());
    ok(put(&bench, &agent));
    assert_eq!(bench.get("g"), "g\ntwo\nthree\n");
    bench.reopen();
    ok(put(&bench, &agent));
    assert_eq!(bench.get("g"), "g\ntwo\nthree\ntwo\nthree\n");
    // A dry run and a failed call leave the registers unchanged.
    bench.put("f", "x\ny\n");
    let text = format!("{}\nCUT 1 @part\n", header(&bench, &agent, "f"));
    ok(bench.call(&agent, "apply", json!({ "input": text, "directory": bench.root, "dry_run": true })));
    assert_ne!(code(&bench.apply(&agent, &format!("{text}CUT 9 @other\n"))), "ok");
    bench.put("g", "g\n");
    bench.reopen();
    ok(put(&bench, &agent));
    assert_eq!(bench.get("g"), "g\ntwo\nthree\n");
}

#[test]
fn freed_contents_are_not_claimed_undoable() {
    let bench = Bench::new();
    let agent = caller("a");
    let text = |seed: u64| -> String {
        let mut state = seed | 1;
        (0..4000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{:x}\n", state >> 32)
            })
            .collect()
    };
    for seed in 0..20 {
        let path = bench.path("f");
        bench.read(&agent, "f");
        ok(bench.call(&agent, "write", json!({ "file_path": path, "content": text(seed * 77) })));
    }
    let freed = bench.engine().collect_garbage(Retention { days: None, bytes: Some(200_000) }).unwrap();
    assert!(freed.contents > 0, "{freed:?}");
    let listed = data(&ok(bench.call(&agent, "history", json!({ "limit": 100 }))));
    let rows = listed["operations"].as_array().unwrap();
    let undoable: Vec<bool> = rows.iter().map(|row| row["undoable"].as_bool().unwrap()).collect();
    assert!(undoable[0] && undoable.contains(&false), "{undoable:?}");
    // The claimed number of operations can be undone.
    for undoable in undoable.iter().take_while(|undoable| **undoable) {
        assert_eq!(code(&bench.call(&agent, "undo", json!({}))) == "ok", *undoable);
    }
    assert_eq!(code(&bench.call(&agent, "undo", json!({}))), "operation.not_kept");
}

#[test]
fn files_of_any_kind_and_size_are_restored() {
    let bench = Bench::new();
    let agent = caller("a");
    // Binary, and larger than what is stored.
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    fs::write(bench.path("binary"), &binary).unwrap();
    let person = person();
    ok(bench.apply(&person, "*** Begin Patch\n*** Delete File: binary\n*** End Patch\n"));
    assert!(!bench.path("binary").exists());
    ok(bench.call(&agent, "undo", json!({ "any_session": true })));
    assert_eq!(fs::read(bench.path("binary")).unwrap(), binary);
    let large: String = (0..1_000_000).map(|line| format!("line {line}\n")).collect();
    bench.put("large", &large);
    ok(bench.edit(&person, "large", "line 500000\n", "changed\n"));
    ok(bench.call(&person, "undo", json!({})));
    assert_eq!(bench.get("large"), large);
    // Other encodings, byte order marks, line ends.
    for (name, bytes) in [
        ("utf16", b"\xFF\xFEa\0\r\0\n\0b\0\r\0\n\0".to_vec()),
        ("bom", b"\xEF\xBB\xBFa\r\nb\n".to_vec()),
        ("mixed", b"a\r\nb\nc\rd".to_vec()),
    ] {
        fs::write(bench.path(name), &bytes).unwrap();
        ok(bench.edit(&person, name, "b", "c\nd"));
        assert_ne!(fs::read(bench.path(name)).unwrap(), bytes);
        ok(bench.call(&person, "undo", json!({})));
        assert_eq!(fs::read(bench.path(name)).unwrap(), bytes, "{name}");
    }
}

/// Files larger than the limit on stored versions: a file that is removed, overwritten by a move or rewritten is stored
/// all the same, or the reply says that it is not.
#[test]
fn removed_or_rewritten_large_files_are_restored() {
    let text = |seed: u64| {
        let mut number = seed;
        let mut line = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{number:016x}\n")
        };
        (0..500_000).map(|_| line()).collect::<String>()
    };
    let (first, second) = (text(1), text(2));
    assert!(first.len() > 8 << 20);
    let mut bench = Bench::new();
    let person = person();
    bench.put("a", &first);
    bench.put("b", &second);
    let start = bench.tree();
    let steps: [(&str, Value); 2] = [
        ("write", json!({ "file_path": bench.path("a"), "content": second })),
        ("apply", json!({ "input": "*** Begin Patch\n*** Delete File: b\n*** End Patch\n" })),
    ];
    for (tool, input) in steps {
        let reply = ok(bench.call(&person, tool, input));
        assert!(!reply.text().contains("cannot be undone"), "{}", reply.text());
    }
    let end = bench.tree();
    // Not compared by assert_eq, which would print them.
    for (redo, tree) in [(false, &start), (true, &end)] {
        bench.reopen();
        for _ in 0..2 {
            ok(bench.call(&person, "undo", json!({ "redo": redo })));
        }
        assert!(&bench.tree() == tree, "redo: {redo}");
    }
}

/// If there is no room for it, the reply to the edit says so, and not only the undo.
#[test]
fn unstorable_contents_are_reported_at_once() {
    let bench = Bench::new();
    let state = StateLocation::Directory(bench.dir.path().join("small"));
    let config = Config::default().with_file("[history]\nmegabytes = 4\n", "test", true).unwrap();
    let engine = Engine::open(std::slice::from_ref(&bench.root), state, config).unwrap();
    let noise =
        |seed: usize| (seed..seed + 1_500_000).map(|at| format!("{:x}", at.wrapping_mul(0x9E37_79B9))).collect();
    let (before, after): (String, String) = (noise(1), noise(7));
    bench.put("a", &before);
    let input = json!({ "file_path": bench.path("a"), "content": after });
    let reply = ok(engine.call(&person(), "write", input));
    assert!(reply.text().contains("This cannot be undone: "), "{}", reply.text().chars().take(300).collect::<String>());
    assert_eq!(code(&engine.call(&person(), "undo", json!({}))), "operation.not_kept");
}

#[test]
fn dry_run_writes_nothing() {
    let bench = Bench::new();
    let person = person();
    bench.put("f", "1\n");
    ok(bench.edit(&person, "f", "1", "2"));
    let reply = ok(bench.call(&person, "undo", json!({ "dry_run": true })));
    assert!(reply.text().contains("Would be undone"), "{}", reply.text());
    assert_eq!((bench.get("f"), name_of(&reply)), ("2\n".to_owned(), String::new()));
    ok(bench.call(&person, "undo", json!({})));
    assert_eq!(bench.get("f"), "1\n");
}

#[test]
fn several_operations_are_undone_together_or_not_at_all() {
    let bench = Bench::new();
    let agent = caller("a");
    bench.put("f", "one\ntwo\nthree\n");
    bench.put("g", "g\n");
    for name in ["f", "g"] {
        bench.read(&agent, name);
    }
    let start = bench.tree();
    ok(bench.edit(&agent, "f", "one", "ONE"));
    let patch = "*** Begin Patch\n*** Update File: f\n*** Move to: d/e/moved\n@@\n-two\n+TWO\n*** Delete File: g\n*** End Patch\n";
    ok(bench.apply(&agent, patch));
    ok(bench.call(&agent, "write", json!({ "file_path": bench.path("f"), "content": "another\n" })));
    bench.read(&agent, "d/e/moved");
    ok(bench.edit(&agent, "d/e/moved", "three", "THREE"));
    let done = bench.tree();

    // One of the lines written by the oldest operation was changed by others.
    bench.put("d/e/moved", "1\nTWO\nTHREE\n");
    let between = bench.tree();
    let refused = bench.call(&agent, "undo", json!({ "last": 4 }));
    assert_eq!(code(&refused), "operation.conflict", "{}", refused.text());
    assert!(refused.text().contains("None of the 4 operations"), "{}", refused.text());
    assert_eq!(bench.tree(), between);
    bench.put("d/e/moved", "ONE\nTWO\nTHREE\n");

    let many = bench.call(&agent, "undo", json!({ "last": 5 }));
    assert_eq!((code(&many), bench.tree()), ("operation.not_found", done.clone()));
    assert!(many.text().contains("last: 4"), "{}", many.text());
    let would = ok(bench.call(&agent, "undo", json!({ "last": 4, "dry_run": true })));
    assert_eq!((data(&would)["undone"].as_array().map(Vec::len), bench.tree()), (Some(4), done.clone()));

    let undone = ok(bench.call(&agent, "undo", json!({ "last": 4 })));
    assert_eq!(bench.tree(), start);
    assert!(!bench.path("d").exists(), "directories that were created for it are removed");
    let list = data(&bench.call(&agent, "history", json!({})));
    let rows = list["operations"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["id"]), (5, &data(&undone)["operation"]));
    assert!(rows[1..].iter().all(|row| row["undoneBy"] == rows[0]["id"]), "{list}");
    assert_eq!(code(&bench.call(&agent, "undo", json!({}))), "operation.not_found");

    ok(bench.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(bench.tree(), done);
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.tree(), start);
}

#[test]
fn directories_used_by_others_stay() {
    let bench = Bench::new();
    let agent = caller("a");
    ok(bench.call(&agent, "write", json!({ "file_path": bench.path("a/b/c/f"), "content": "1\n" })));
    bench.put("a/other", "theirs");
    ok(bench.call(&agent, "undo", json!({})));
    assert!(!bench.path("a/b").exists());
    assert_eq!(bench.get("a/other"), "theirs");
    ok(bench.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(bench.get("a/b/c/f"), "1\n");
    // A directory that existed before was not created for the file.
    fs::create_dir(bench.path("empty")).unwrap();
    ok(bench.call(&agent, "write", json!({ "file_path": bench.path("empty/f"), "content": "1\n" })));
    ok(bench.call(&agent, "undo", json!({})));
    assert!(bench.path("empty").is_dir());
    // A directory that was removed when it was empty is recreated with its content.
    bench.read(&agent, "a/b/c/f");
    ok(bench.apply(&agent, "*** Begin Patch\n*** Delete File: a/b/c/f\n*** End Patch\n"));
    fs::remove_dir(bench.path("a/b/c")).unwrap();
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.get("a/b/c/f"), "1\n");
}

#[test]
fn owner_and_attributes_of_a_removed_file_are_restored() {
    let mut bench = Bench::new();
    let agent = caller("a");
    let root = rustix::process::geteuid().is_root();
    let files = ["deleted", "over", "moved"];
    for name in files {
        bench.put(name, &format!("{name}\n"));
        give(&bench.path(name), "user.of", name.as_bytes());
        if root {
            std::os::unix::fs::chown(bench.path(name), Some(1234), Some(4321)).unwrap();
        }
        fs::set_permissions(bench.path(name), fs::Permissions::from_mode(0o640)).unwrap();
        bench.read(&agent, name);
    }
    let acl = [
        2u32.to_le_bytes().to_vec(),
        entry(1, 6, u32::MAX),
        entry(2, 4, 77),
        entry(4, 4, u32::MAX),
        entry(0x10, 4, u32::MAX),
        entry(0x20, 0, u32::MAX),
    ]
    .concat();
    give(&bench.path("deleted"), "system.posix_acl_access", &acl);
    let state = |bench: &Bench| files.map(|name| attributes(&bench.path(name)));
    let before = state(&bench);
    let patch = "*** Begin Patch\n*** Delete File: deleted\n*** Delete File: over\n*** Update File: moved\n*** Move to: over\n@@\n-moved\n+MOVED\n*** End Patch\n";
    ok(bench.apply(&agent, patch));
    assert_ne!(attributes(&bench.path("over")), before[1]);
    bench.reopen();
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(state(&bench), before);
    // Restoring returns the same, also after a redo.
    ok(bench.call(&agent, "undo", json!({ "redo": true })));
    ok(bench.call(&person(), "restore", json!({ "file_path": bench.path("deleted"), "id": "1^" })));
    assert_eq!(attributes(&bench.path("deleted")), before[0]);
    ok(bench.call(&agent, "undo", json!({ "last": 2, "any_session": true })));
    assert_eq!(state(&bench), before);
}

/// The metadata of a file: mode, owner, and all extended attributes that are not the kernel's own.
fn attributes(path: &Path) -> (u32, u32, u32, BTreeMap<String, Vec<u8>>) {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path).unwrap();
    let mut names = vec![0; 4096];
    let length = rustix::fs::listxattr(path, &mut names).unwrap();
    let names = String::from_utf8(names[..length].to_vec()).unwrap();
    let value = |name: &str| {
        let mut value = vec![0; 4096];
        let length = rustix::fs::getxattr(path, name, &mut value).unwrap();
        value[..length].to_vec()
    };
    let names = names.split('\0').filter(|name| !name.is_empty() && !name.starts_with("security."));
    let all = names.map(|name| (name.to_owned(), value(name))).collect();
    (found.mode() & 0o7777, found.uid(), found.gid(), all)
}

fn give(path: &Path, name: &str, value: &[u8]) {
    match rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()) {
        // A file system without attributes has none to lose.
        Ok(()) | Err(rustix::io::Errno::NOTSUP) => {}
        Err(errno) => panic!("{name}: {errno}"),
    }
}

/// An entry of an ACL in the kernel's format.
fn entry(tag: u16, rights: u16, id: u32) -> Vec<u8> {
    [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
}

#[test]
fn eight_concurrent_sessions_share_one_history() {
    let bench = Bench::new();
    bench.put("shared", "0\n");
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (bench, start) = (&bench, &start);
            scope.spawn(move || {
                start.wait();
                // Like eight processes: each has its own engine and connection.
                let engine = bench.open();
                let agent = caller(&format!("session {thread}"));
                let path = bench.path(&format!("file {thread}"));
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
    let all = data(&bench.call(&person(), "history", json!({ "limit": 1000 })));
    assert_eq!(all["operations"].as_array().unwrap().len(), 8 * 14);
    for thread in 0..8 {
        let own = bench.call(&person(), "history", json!({ "session": format!("session {thread}"), "limit": 1000 }));
        assert_eq!(data(&own)["operations"].as_array().unwrap().len(), 14);
        ok(bench.call(&caller(&format!("session {thread}")), "undo", json!({})));
        assert!(!bench.path(&format!("file {thread}")).exists());
    }
}

#[test]
fn one_operation_on_two_roots_is_undone() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let roots: Vec<PathBuf> = ["one", "two"].iter().map(|name| base.join(name)).collect();
    for root in &roots {
        fs::create_dir(root).unwrap();
        fs::write(root.join("f.txt"), "old\n").unwrap();
    }
    let open = || Engine::open(&roots, StateLocation::Directory(base.join("state")), Config::default()).unwrap();
    let engine = open();
    let agent = caller("a");
    for root in &roots {
        ok(engine.call(&agent, "read", json!({ "file_path": root.join("f.txt") })));
    }
    let part = |root: &str| format!("*** Update File: {root}/f.txt\n@@\n-old\n+new\n");
    let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", part("one"), part("two"));
    ok(engine.call(&agent, "apply", json!({ "input": patch, "directory": base })));
    assert_eq!(fs::read_to_string(roots[1].join("f.txt")).unwrap(), "new\n");
    drop(engine);
    ok(open().call(&agent, "undo", json!({})));
    for root in &roots {
        assert_eq!(fs::read_to_string(root.join("f.txt")).unwrap(), "old\n");
    }
}

#[test]
fn restore_before_an_operation_returns_its_initial_state() {
    let bench = Bench::new();
    bench.put("f.txt", "one\n");
    let first = name_of(&ok(bench.edit(&person(), "f.txt", "one", "two")));
    bench.engine().store_unstored_contents();
    // Others continue; the next operation finds their content.
    bench.put("f.txt", "two\ntheirs\n");
    fs::set_permissions(bench.path("f.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    let second = name_of(&ok(bench.edit(&person(), "f.txt", "two", "three")));
    fs::set_permissions(bench.path("f.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    let restore = |id: &str| bench.call(&person(), "restore", json!({ "file_path": bench.path("f.txt"), "id": id }));
    ok(restore(&format!("{second}^")));
    assert_eq!(bench.get("f.txt"), "two\ntheirs\n");
    assert_eq!(fs::metadata(bench.path("f.txt")).unwrap().permissions().mode() & 0o7777, 0o600);
    ok(restore(&first));
    assert_eq!(bench.get("f.txt"), "two\n");
    ok(restore(&format!("{first}^")));
    assert_eq!(bench.get("f.txt"), "one\n");
}

#[test]
fn restore_neither_removes_nor_sets_set_id_bits() {
    let bench = Bench::new();
    let mode = |to: u32| fs::set_permissions(bench.path("f"), fs::Permissions::from_mode(to)).unwrap();
    let is = || fs::metadata(bench.path("f")).unwrap().permissions().mode() & 0o7777;
    bench.put("f", "one\n");
    mode(0o4755);
    let id = name_of(&ok(bench.edit(&person(), "f", "one", "two")));
    assert_eq!(is(), 0o4755);
    let restore = |id: &str| bench.call(&person(), "restore", json!({ "file_path": bench.path("f"), "id": id }));
    assert_eq!(restore(&id).result.unwrap_err().code().as_str(), "edit.no_change");
    ok(restore(&format!("{id}^")));
    assert_eq!((is(), &*bench.get("f")), (0o4755, "one\n"));
    mode(0o700);
    ok(restore(&id));
    assert_eq!((is(), &*bench.get("f")), (0o755, "two\n"));
}

#[test]
fn removed_state_directory_is_recreated() {
    let mut bench = Bench::new();
    let agent = caller("a");
    bench.put("f", "one\n");
    bench.read(&agent, "f");
    ok(bench.edit(&agent, "f", "one", "two"));
    bench.engine().finish_background_work();
    fs::remove_dir_all(bench.dir.path().join("state")).unwrap();
    // The read records are lost with it.
    ok(bench.read(&agent, "f"));
    ok(bench.edit(&agent, "f", "two", "three"));
    ok(bench.edit(&agent, "f", "three", "four"));
    ok(bench.call(&agent, "undo", json!({})));
    assert_eq!(bench.get("f"), "three\n");
    assert!(bench.engine().notices().iter().any(|it| it.contains("was removed while it was in use")));
    // The journal, which calls with several files need, is recreated, too.
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-three\n+3\n*** Add File: g\n+new\n*** End Patch\n";
    ok(bench.call(&agent, "apply", json!({ "input": patch, "directory": bench.root })));
    ok(bench.call(&agent, "undo", json!({})));
    assert!(bench.get("f") == "three\n" && !bench.path("g").exists());
    // Everything is in the new one.
    bench.reopen();
    ok(bench.edit(&agent, "f", "three", "four"));
    ok(bench.call(&agent, "undo", json!({ "last": 2 })));
    assert_eq!(bench.get("f"), "two\n");
}

#[test]
fn error_with_unrecordable_lines_does_not_claim_that_no_read_is_needed() {
    let bench = Bench::new();
    let agent = caller("a");
    bench.put("f", "one\n");
    ok(bench.read(&agent, "f"));
    ok(bench.edit(&agent, "f", "one", "two"));
    let state = bench.dir.path().join("state");
    fs::remove_dir_all(&state).unwrap();
    fs::write(&state, "in the way").unwrap();
    bench.put("f", "outside\n");
    let error = bench.edit(&agent, "f", "two", "three").result.unwrap_err();
    assert_eq!(error.code().as_str(), "stale.changed");
    assert!(error.next_step().contains("could not remember"), "{}", error.next_step());
}

#[test]
fn undo_reports_the_resulting_mode() {
    let bench = Bench::new();
    bench.put("f", "one\n");
    fs::set_permissions(bench.path("f"), fs::Permissions::from_mode(0o640)).unwrap();
    ok(bench.call(&person(), "apply", json!({ "input": "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n" })));
    let undone = ok(bench.call(&person(), "undo", json!({})));
    assert!(undone.text().contains("f has been updated. Its mode is 640 now.\n"), "{}", undone.text());
    assert_eq!(fs::metadata(bench.path("f")).unwrap().permissions().mode() & 0o7777, 0o640);
}

#[test]
fn what_one_call_takes_back_has_a_limit_together() {
    let bench = Bench::new();
    // Sparse files: their blocks do not exist.
    for (name, bytes) in [("a", 256 << 20), ("b", 256 << 20), ("c", 1)] {
        fs::File::create(bench.path(name)).unwrap().set_len(bytes).unwrap();
        fs::set_permissions(bench.path(name), fs::Permissions::from_mode(0o644)).unwrap();
        let mode = format!("diff --git a/{name} b/{name}\nold mode 100644\nnew mode 100755\n");
        ok(bench.call(&person(), "apply", json!({ "input": mode, "directory": bench.root, "irreversible": true })));
    }
    let mode = |name: &str| fs::metadata(bench.path(name)).unwrap().permissions().mode() & 0o777;
    let refused = bench.call(&person(), "undo", json!({ "last": 3 }));
    assert_eq!(code(&refused), "call.too_large", "{}", refused.text());
    assert!(refused.text().contains("Undo fewer operations"), "{}", refused.text());
    assert_eq!((mode("a"), mode("b"), mode("c")), (0o755, 0o755, 0o755));
    ok(bench.call(&person(), "undo", json!({})));
    assert_eq!(mode("c"), 0o644);
}
