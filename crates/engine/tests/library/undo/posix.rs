//! Modes, owners, attributes and links, and the removal of files that are open, which only POSIX has.

use crate::fixture::{mode_of, set_mode};
use crate::undo::fixture::{UndoFixture, caller, code, name_of, ok, person};
use emendate::{ChangeScope, FileDifference, HunkState};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
        set_mode(fixture.path(name), 0o640);
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

#[test]
fn files_behind_a_new_link_are_shown_by_their_former_names() {
    let fixture = UndoFixture::new();
    let outside = tempfile::tempdir().unwrap();
    for directory in ["lib", "lib2"] {
        fs::create_dir(fixture.path(directory)).unwrap();
    }
    fixture.put("lib/a", "one\n");
    fixture.put("lib2/a", "another\n");
    let snapshot = || ok(fixture.call(&person(), "snapshot", json!({})));
    snapshot();
    fs::remove_dir_all(fixture.path("lib")).unwrap();
    std::os::unix::fs::symlink("lib2", fixture.path("lib")).unwrap();
    snapshot();
    let former = fixture.path("lib/a");
    let history = |input: serde_json::Value| ok(fixture.call(&person(), "history", input)).text();
    for target in [Path::new("lib2"), outside.path()] {
        fs::remove_file(fixture.path("lib")).unwrap();
        std::os::unix::fs::symlink(target, fixture.path("lib")).unwrap();
        for input in [json!({ "id": "1" }), json!({ "id": "1", "file_path": former }), json!({ "file_path": former })] {
            let shown = history(input);
            assert!(shown.contains(&former.display().to_string()) && !shown.contains("lib2/a"), "{shown}");
        }
        let review = fixture.engine().review();
        let changes = review.scope_changes(&ChangeScope::Operation("1".to_owned())).unwrap();
        let FileDifference::Text(text) = review.difference(&person(), &changes, &former, 10_000).unwrap() else {
            panic!("The content was kept.");
        };
        assert_eq!(text.states, [HunkState::InEffect], "{target:?}");
    }
    // The file behind the link has a history of its own.
    fs::remove_file(fixture.path("lib")).unwrap();
    std::os::unix::fs::symlink("lib2", fixture.path("lib")).unwrap();
    ok(fixture.edit(&person(), "lib2/a", "another", "changed"));
    assert!(history(json!({ "file_path": former })).contains("lib2/a"));
}

#[test]
fn restore_neither_removes_nor_sets_set_id_bits() {
    let fixture = UndoFixture::new();
    let mode = |to: u32| set_mode(fixture.path("f"), to);
    let is = || mode_of(fixture.path("f"));
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
fn undo_of_a_mode_keeps_what_others_did_to_it_since() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    let mode = |to: u32| set_mode(fixture.path("f"), to);
    let is = || mode_of(fixture.path("f"));
    fixture.put("f", "one\n");
    mode(0o644);
    fixture.read(&agent, "f");
    let patch = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n";
    ok(fixture.apply(&agent, patch));
    assert_eq!(is(), 0o755);
    // A person makes it private.
    mode(0o700);
    let text = ok(fixture.call(&agent, "undo", json!({}))).text();
    assert!(text.contains("The mode of the file changed after operation 1-"), "{text}");
    assert_eq!(is(), 0o600);
    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(is(), 0o700);
    let text = ok(fixture.call(&agent, "undo", json!({}))).text();
    assert!(!text.contains("The mode of the file changed"), "{text}");
    assert_eq!(is(), 0o600);
    // The same with a move and other text.
    mode(0o644);
    let patch = "diff --git a/f b/g\nold mode 100644\nnew mode 100755\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-one\n+two\n";
    ok(fixture.apply(&agent, patch));
    set_mode(fixture.path("g"), 0o750);
    let text = ok(fixture.call(&agent, "undo", json!({}))).text();
    assert!(text.contains("The mode of the file changed after operation "), "{text}");
    assert_eq!((is(), &*fixture.get("f")), (0o640, "one\n"));
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

pub(crate) fn give(path: &Path, name: &str, value: &[u8]) {
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
fn undo_of_a_patch_restores_all_files_and_modes() {
    let mut fixture = UndoFixture::new();
    let agent = caller("a");
    for (name, mode) in [("gone", 0o640), ("moved", 0o755), ("kept", 0o600)] {
        fixture.put(name, &format!("{name}\nline\n"));
        set_mode(fixture.path(name), mode);
        fixture.read(&agent, name);
    }
    let before = fixture.tree();
    let patch = "*** Begin Patch\n*** Add File: sub/new\n+new\n*** Delete File: gone\n*** Update File: moved\n\
                 *** Move to: sub/there\n@@\n moved\n-line\n+LINE\n*** Update File: kept\n@@\n-kept\n+KEPT\n*** End Patch\n";
    let applied = ok(fixture.apply(&agent, patch));
    let after = fixture.tree();
    assert_eq!(
        after.keys().map(|path| path.strip_prefix(&fixture.root).unwrap().to_str().unwrap()).collect::<Vec<_>>(),
        ["kept", "sub/new", "sub/there"]
    );
    fixture.reopen();
    let undone = ok(fixture.call(&agent, "undo", json!({ "id": name_of(&applied) })));
    assert_eq!(fixture.tree(), before, "{}", undone.text());
    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(fixture.tree(), after);
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.tree(), before);
}

#[test]
fn undo_restores_links_and_execute_bits() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("run", "#!/bin/sh\n");
    std::os::unix::fs::symlink("run", fixture.path("link")).unwrap();
    fixture.read(&agent, "run");
    let before = fixture.tree();
    let patch = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\ndiff --git a/link b/link\ndeleted file mode 120000\n\
                 --- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-run\n\\ No newline at end of file\ndiff --git a/two b/two\n\
                 new file mode 120000\n--- /dev/null\n+++ b/two\n@@ -0,0 +1 @@\n+run\n\\ No newline at end of file\n";
    ok(fixture.apply(&agent, patch));
    let after = fixture.tree();
    assert_ne!(after, before);
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.tree(), before);
    ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    assert_eq!(fixture.tree(), after);
}

#[test]
fn undo_reports_the_resulting_mode() {
    let fixture = UndoFixture::new();
    fixture.put("f", "one\n");
    set_mode(fixture.path("f"), 0o640);
    ok(fixture.call(&person(), "apply", json!({ "input": "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n" })));
    let undone = ok(fixture.call(&person(), "undo", json!({})));
    assert!(undone.text().contains("f has been updated. Its mode is 640 now.\n"), "{}", undone.text());
    assert_eq!(mode_of(fixture.path("f")), 0o640);
}

#[test]
fn what_one_call_takes_back_has_a_limit_together() {
    let fixture = UndoFixture::new();
    // Sparse files: their blocks do not exist.
    for (name, bytes) in [("a", 256 << 20), ("b", 256 << 20), ("c", 1)] {
        fs::File::create(fixture.path(name)).unwrap().set_len(bytes).unwrap();
        set_mode(fixture.path(name), 0o644);
        let mode = format!("diff --git a/{name} b/{name}\nold mode 100644\nnew mode 100755\n");
        ok(fixture.call(&person(), "apply", json!({ "input": mode, "directory": fixture.root, "irreversible": true })));
    }
    let mode = |name: &str| mode_of(fixture.path(name));
    let refused = fixture.call(&person(), "undo", json!({ "last": 3 }));
    assert_eq!(code(&refused), "call.too_large", "{}", refused.text());
    assert!(refused.text().contains("Undo fewer operations"), "{}", refused.text());
    assert_eq!((mode("a"), mode("b"), mode("c")), (0o755, 0o755, 0o755));
    ok(fixture.call(&person(), "undo", json!({})));
    assert_eq!(mode("c"), 0o644);
}

#[test]
fn restore_before_an_operation_returns_its_initial_state() {
    let fixture = UndoFixture::new();
    fixture.put("f.txt", "one\n");
    let first = name_of(&ok(fixture.edit(&person(), "f.txt", "one", "two")));
    fixture.engine().history().store_unstored_contents();
    // Others continue; the next operation finds their content.
    fixture.put("f.txt", "two\ntheirs\n");
    set_mode(fixture.path("f.txt"), 0o600);
    let second = name_of(&ok(fixture.edit(&person(), "f.txt", "two", "three")));
    set_mode(fixture.path("f.txt"), 0o644);
    let restore =
        |id: &str| fixture.call(&person(), "restore", json!({ "file_path": fixture.path("f.txt"), "id": id }));
    ok(restore(&format!("{second}^")));
    assert_eq!(fixture.get("f.txt"), "two\ntheirs\n");
    assert_eq!(mode_of(fixture.path("f.txt")), 0o600);
    ok(restore(&first));
    assert_eq!(fixture.get("f.txt"), "two\n");
    ok(restore(&format!("{first}^")));
    assert_eq!(fixture.get("f.txt"), "one\n");
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

#[test]
fn error_with_unrecordable_lines_does_not_claim_that_no_read_is_needed() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("f", "one\n");
    ok(fixture.read(&agent, "f"));
    ok(fixture.edit(&agent, "f", "one", "two"));
    let state = fixture.dir.path().join("state");
    fs::remove_dir_all(&state).unwrap();
    fs::write(&state, "in the way").unwrap();
    fixture.put("f", "outside\n");
    let error = fixture.edit(&agent, "f", "two", "three").result.unwrap_err();
    assert_eq!(error.code().as_str(), "stale.changed");
    assert!(error.next_step().contains("could not remember"), "{}", error.next_step());
}
