//! Stored contents and attributes: secrets, large files, owners, freed versions.

use crate::undo::fixture::{Tree, UndoFixture, caller, code, collect, data, ok, person};
use emendate::history::Retention;
use emendate::{Config, Engine, PolicyMode, StateLocation};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[test]
fn secrets_are_reported_but_not_stored() {
    let mut fixture = UndoFixture::new();
    fixture.put(".env", "TOKEN=hunter2hunter2\n");
    fixture.engine = None;
    let state = fixture.dir.path().join("state");
    let config = Config::default().with_rule(PolicyMode::Allow, ".env", "--allow").unwrap();
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
    #[cfg(unix)]
    crate::undo::posix::give(&path, "user.hint", b"correcthorse");
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
