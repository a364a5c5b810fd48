//! Stored contents and attributes: secrets, large files, owners, freed versions.

use crate::undo::fixture::{Tree, UndoFixture, caller, code, collect, data, name_of, ok, person};
use emendate::history::Retention;
use emendate::{Config, Engine, StateLocation};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

#[test]
fn secrets_are_reported_but_not_stored() {
    let mut fixture = UndoFixture::new();
    fixture.put(".env", "TOKEN=hunter2hunter2\n");
    fixture.engine = None;
    let state = fixture.dir.path().join("state");
    let config = Config::default().with_allow_rule(".env", "--allow").unwrap();
    let agent = caller("a");
    let path = fixture.path(".env");
    let edit = json!({ "file_path": path, "old_string": "hunter2hunter2", "new_string": "correcthorsebattery" });
    let opened = |config: &Config| {
        Engine::open(std::slice::from_ref(&fixture.root), StateLocation::Directory(state.clone()), config.clone())
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
    ok(engine.call(&agent, "apply", json!({ "input": text, "directory": fixture.root })));
    fixture.put("open", "plain\n");
    let open_file = fixture.path("open");
    let text = format!("{}\nPUT >1 @key\n", header(&engine, &path));
    ok(engine.call(&agent, "apply", json!({ "input": text, "directory": fixture.root })));
    ok(engine.call(&agent, "read", json!({ "file_path": open_file })));
    let patch = "*** Begin Patch\n*** Update File: open\n@@\n-plain\n+plain and more\n*** Update File: .env\n*** Move to: d/.env\n@@\n-TOKEN=hunter2again\n+TOKEN=hunter2third\n*** End Patch\n";
    ok(engine.call(&agent, "apply", json!({ "input": patch, "directory": fixture.root })));
    let delete = "*** Begin Patch\n*** Delete File: d/.env\n*** End Patch\n";
    ok(engine.call(&agent, "apply", json!({ "input": delete, "directory": fixture.root })));
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
fn freed_contents_are_not_claimed_undoable() {
    let fixture = UndoFixture::new();
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
        let path = fixture.path("f");
        fixture.read(&agent, "f");
        ok(fixture.call(&agent, "write", json!({ "file_path": path, "content": text(seed * 77) })));
    }
    let freed = fixture.engine().history().collect_garbage(Retention { days: None, bytes: Some(200_000) }).unwrap();
    assert!(freed.contents > 0, "{freed:?}");
    let listed = data(&ok(fixture.call(&agent, "history", json!({ "limit": 100 }))));
    let rows = listed["operations"].as_array().unwrap();
    let undoable: Vec<bool> = rows.iter().map(|row| row["undoable"].as_bool().unwrap()).collect();
    assert!(undoable[0] && undoable.contains(&false), "{undoable:?}");
    // The claimed number of operations can be undone.
    for undoable in undoable.iter().take_while(|undoable| **undoable) {
        assert_eq!(code(&fixture.call(&agent, "undo", json!({}))) == "ok", *undoable);
    }
    assert_eq!(code(&fixture.call(&agent, "undo", json!({}))), "operation.not_kept");
}

#[test]
fn files_of_any_kind_and_size_are_restored() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    // Binary, and larger than what is stored.
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    fs::write(fixture.path("binary"), &binary).unwrap();
    let person = person();
    ok(fixture.apply(&person, "*** Begin Patch\n*** Delete File: binary\n*** End Patch\n"));
    assert!(!fixture.path("binary").exists());
    ok(fixture.call(&agent, "undo", json!({ "any_session": true })));
    assert_eq!(fs::read(fixture.path("binary")).unwrap(), binary);
    let large: String = (0..1_000_000).map(|line| format!("line {line}\n")).collect();
    fixture.put("large", &large);
    ok(fixture.edit(&person, "large", "line 500000\n", "changed\n"));
    ok(fixture.call(&person, "undo", json!({})));
    assert_eq!(fixture.get("large"), large);
    // Other encodings, byte order marks, line ends.
    for (name, bytes) in [
        ("utf16", b"\xFF\xFEa\0\r\0\n\0b\0\r\0\n\0".to_vec()),
        ("bom", b"\xEF\xBB\xBFa\r\nb\n".to_vec()),
        ("mixed", b"a\r\nb\nc\rd".to_vec()),
    ] {
        fs::write(fixture.path(name), &bytes).unwrap();
        ok(fixture.edit(&person, name, "b", "c\nd"));
        assert_ne!(fs::read(fixture.path(name)).unwrap(), bytes);
        ok(fixture.call(&person, "undo", json!({})));
        assert_eq!(fs::read(fixture.path(name)).unwrap(), bytes, "{name}");
    }
}

/// Files larger than the limit on stored versions: a file that is removed, overwritten by a move or rewritten is stored
/// all the same, or the reply states that it is not.

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
    let mut fixture = UndoFixture::new();
    let person = person();
    fixture.put("a", &first);
    fixture.put("b", &second);
    let start = fixture.tree();
    let steps: [(&str, Value); 2] = [
        ("write", json!({ "file_path": fixture.path("a"), "content": second })),
        ("apply", json!({ "input": "*** Begin Patch\n*** Delete File: b\n*** End Patch\n" })),
    ];
    for (tool, input) in steps {
        let reply = ok(fixture.call(&person, tool, input));
        assert!(!reply.text().contains("cannot be undone"), "{}", reply.text());
    }
    let end = fixture.tree();
    // Not compared by assert_eq, which would print them.
    for (redo, tree) in [(false, &start), (true, &end)] {
        fixture.reopen();
        for _ in 0..2 {
            ok(fixture.call(&person, "undo", json!({ "redo": redo })));
        }
        assert!(&fixture.tree() == tree, "redo: {redo}");
    }
}

/// If there is no room for it, the reply to the edit says so, and not only the undo.

#[test]
fn unstorable_contents_are_reported_at_once() {
    let fixture = UndoFixture::new();
    let state = StateLocation::Directory(fixture.dir.path().join("small"));
    let config = Config::default().with_file("[history]\nmegabytes = 4\n", "test", true).unwrap();
    let engine = Engine::open(std::slice::from_ref(&fixture.root), state, config).unwrap();
    let noise =
        |seed: usize| (seed..seed + 1_500_000).map(|at| format!("{:x}", at.wrapping_mul(0x9E37_79B9))).collect();
    let (before, after): (String, String) = (noise(1), noise(7));
    fixture.put("a", &before);
    let input = json!({ "file_path": fixture.path("a"), "content": after });
    let reply = ok(engine.call(&person(), "write", input));
    assert!(reply.text().contains("This cannot be undone: "), "{}", reply.text().chars().take(300).collect::<String>());
    assert_eq!(code(&engine.call(&person(), "undo", json!({}))), "operation.not_kept");
}

#[test]
fn owner_and_attributes_of_a_removed_file_are_restored() {
    let mut fixture = UndoFixture::new();
    let agent = caller("a");
    let root = rustix::process::geteuid().is_root();
    let files = ["deleted", "over", "moved"];
    for name in files {
        fixture.put(name, &format!("{name}\n"));
        give(&fixture.path(name), "user.of", name.as_bytes());
        if root {
            std::os::unix::fs::chown(fixture.path(name), Some(1234), Some(4321)).unwrap();
        }
        fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(0o640)).unwrap();
        fixture.read(&agent, name);
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
    give(&fixture.path("deleted"), "system.posix_acl_access", &acl);
    let state = |fixture: &UndoFixture| files.map(|name| attributes(&fixture.path(name)));
    let before = state(&fixture);
    let patch = "*** Begin Patch\n*** Delete File: deleted\n*** Delete File: over\n*** Update File: moved\n*** Move to: over\n@@\n-moved\n+MOVED\n*** End Patch\n";
    ok(fixture.apply(&agent, patch));
    assert_ne!(attributes(&fixture.path("over")), before[1]);
    fixture.reopen();
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(state(&fixture), before);
    // Restoring returns the same, also after a redo.
    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    ok(fixture.call(&person(), "restore", json!({ "file_path": fixture.path("deleted"), "id": "1^" })));
    assert_eq!(attributes(&fixture.path("deleted")), before[0]);
    ok(fixture.call(&agent, "undo", json!({ "last": 2, "any_session": true })));
    assert_eq!(state(&fixture), before);
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
fn restore_neither_removes_nor_sets_set_id_bits() {
    let fixture = UndoFixture::new();
    let mode = |to: u32| fs::set_permissions(fixture.path("f"), fs::Permissions::from_mode(to)).unwrap();
    let is = || fs::metadata(fixture.path("f")).unwrap().permissions().mode() & 0o7777;
    fixture.put("f", "one\n");
    mode(0o4755);
    let id = name_of(&ok(fixture.edit(&person(), "f", "one", "two")));
    assert_eq!(is(), 0o4755);
    let restore = |id: &str| fixture.call(&person(), "restore", json!({ "file_path": fixture.path("f"), "id": id }));
    assert_eq!(restore(&id).result.unwrap_err().code().as_str(), "edit.no_change");
    ok(restore(&format!("{id}^")));
    assert_eq!((is(), &*fixture.get("f")), (0o4755, "one\n"));
    mode(0o700);
    ok(restore(&id));
    assert_eq!((is(), &*fixture.get("f")), (0o755, "two\n"));
}

#[test]
fn removed_state_directory_is_recreated() {
    let mut fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("f", "one\n");
    fixture.read(&agent, "f");
    ok(fixture.edit(&agent, "f", "one", "two"));
    fixture.engine().history().finish_background_work();
    fs::remove_dir_all(fixture.dir.path().join("state")).unwrap();
    // The read records are lost with it.
    ok(fixture.read(&agent, "f"));
    ok(fixture.edit(&agent, "f", "two", "three"));
    ok(fixture.edit(&agent, "f", "three", "four"));
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.get("f"), "three\n");
    assert!(fixture.engine().notices().iter().any(|it| it.contains("was removed while it was in use")));
    // The journal, which calls with several files need, is recreated, too.
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-three\n+3\n*** Add File: g\n+new\n*** End Patch\n";
    ok(fixture.call(&agent, "apply", json!({ "input": patch, "directory": fixture.root })));
    ok(fixture.call(&agent, "undo", json!({})));
    assert!(fixture.get("f") == "three\n" && !fixture.path("g").exists());
    // Everything is in the new one.
    fixture.reopen();
    ok(fixture.edit(&agent, "f", "three", "four"));
    ok(fixture.call(&agent, "undo", json!({ "last": 2 })));
    assert_eq!(fixture.get("f"), "two\n");
}
