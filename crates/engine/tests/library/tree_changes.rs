//! Files that become directories, and directories that become files, in one patch: compared with git, and reversed by
//! undo and redo.

use crate::fixture::{EngineFixture, text_tree};
use emendate::{Config, Reply};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

type Tree = BTreeMap<String, String>;

/// Names that can be a file or a directory.
const NAMES: [&str; 9] = ["a", "a/b", "a/b/c", "a/d", "a.txt", "e", "e/a", "e/f/g", "h/i"];

/// A tree of some of the names: of two that exclude each other, the first one.
fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec((0..NAMES.len(), 0..4_u32), 0..8).prop_map(|chosen| {
        let mut tree = Tree::new();
        for (name, text) in chosen {
            let name = NAMES[name];
            let below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
            if !tree.keys().any(|other: &String| below(other, name) || below(name, other)) {
                let lines: Vec<String> = (0..12).map(|nth| format!("line {nth} of text {text}\n")).collect();
                tree.insert(name.to_owned(), lines.concat());
            }
        }
        tree
    })
}

fn write(root: &Path, tree: &Tree) {
    for (name, text) in tree {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Removes everything but git's directory.
fn clear(root: &Path) {
    for entry in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.file_name().unwrap().to_str() {
            Some(".git") => {}
            _ if entry.is_dir() => fs::remove_dir_all(entry).unwrap(),
            _ => fs::remove_file(entry).unwrap(),
        }
    }
}

fn git(root: &Path, words: &[&str]) -> String {
    let mut command = external::git(root);
    command.args(["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]);
    let out = command.args(words).output().unwrap();
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The patch that git writes from one tree to another, with renames; git itself applies it.
fn patch(before: &Tree, after: &Tree) -> String {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    git(root, &["init", "-q"]);
    write(root, before);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "before", "--allow-empty"]);
    clear(root);
    write(root, after);
    git(root, &["add", "-A"]);
    git(root, &["diff", "--cached", "-M"])
}

/// A root with these files, and a caller who may edit unread ones.
fn fixture_of(tree: &Tree) -> EngineFixture {
    let fixture = EngineFixture::trusted(Config::default());
    write(&fixture.root, tree);
    fixture
}

/// The result of a reply: the text of an error.
fn done(reply: &Reply) -> Result<(), String> {
    if reply.result.is_ok() { Ok(()) } else { Err(reply.text()) }
}

/// Checks that a patch is refused for this reason, and changes nothing.
#[track_caller]
fn refuses(fixture: &EngineFixture, patch: &str, why: &str) {
    let before = text_tree(&fixture.root);
    let error = done(&fixture.apply(patch)).unwrap_err();
    assert!(error.contains(why), "{error}");
    assert_eq!(text_tree(&fixture.root), before);
}

fn tree_of(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_patch_of_git_applies_and_comes_back((before, after) in (tree(), tree())) {
        prop_assume!(before != after);
        let patch = patch(&before, &after);
        let fixture = fixture_of(&before);
        let input = json!({ "input": patch, "directory": fixture.root, "dry_run": true });
        prop_assert_eq!(done(&fixture.call("apply", input)), Ok(()), "{}", patch);
        prop_assert_eq!(&text_tree(&fixture.root), &before);
        prop_assert_eq!(done(&fixture.apply(&patch)), Ok(()), "{}", patch);
        prop_assert_eq!(&text_tree(&fixture.root), &after, "{}", patch);
        prop_assert_eq!(done(&fixture.call("undo", json!({}))), Ok(()), "{}", patch);
        prop_assert_eq!(&text_tree(&fixture.root), &before, "undo of {}", patch);
        prop_assert_eq!(done(&fixture.call("undo", json!({ "redo": true }))), Ok(()), "{}", patch);
        prop_assert_eq!(&text_tree(&fixture.root), &after, "redo of {}", patch);
        prop_assert_eq!(done(&fixture.call("undo", json!({}))), Ok(()), "{}", patch);
        prop_assert_eq!(&text_tree(&fixture.root), &before, "second undo of {}", patch);
        // A patch that git applies leads to the same bytes.
        git(&fixture.root, &["init", "-q"]);
        fs::write(fixture.root.join(".git/p"), &patch).unwrap();
        git(&fixture.root, &["apply", ".git/p"]);
        prop_assert_eq!(&text_tree(&fixture.root), &after, "git");
    }
}

#[test]
fn both_directions_in_the_format_of_codex() {
    let fixture = fixture_of(&tree_of(&[("a", "one\n"), ("d/x", "x\n"), ("d/y/z", "z\n")]));
    let patch = "*** Begin Patch\n*** Add File: a/b/c\n+two\n*** Delete File: a\n*** Delete File: d/x\n\
                 *** Update File: d/y/z\n*** Move to: d\n*** End Patch\n";
    assert_eq!(done(&fixture.apply(patch)), Ok(()));
    assert_eq!(text_tree(&fixture.root), tree_of(&[("a/b/c", "two\n"), ("d", "z\n")]));
    assert_eq!(done(&fixture.call("undo", json!({}))), Ok(()));
    assert_eq!(text_tree(&fixture.root), tree_of(&[("a", "one\n"), ("d/x", "x\n"), ("d/y/z", "z\n")]));
}

#[test]
fn what_the_patch_does_not_name_stays() {
    let fixture = fixture_of(&tree_of(&[("d/x", "x\n"), ("d/other", "kept\n"), ("a", "one\n")]));
    refuses(
        &fixture,
        "*** Begin Patch\n*** Delete File: d/x\n*** Add File: d\n+new\n*** End Patch\n",
        "contains more than this call removes",
    );
    refuses(&fixture, "*** Begin Patch\n*** Add File: a/b\n+new\n*** End Patch\n", "not a directory");
    refuses(&fixture, "*** Begin Patch\n*** Add File: d\n+new\n*** End Patch\n", "a directory");
    // An undo does not remove what came into the directory since.
    assert_eq!(
        done(&fixture.apply("*** Begin Patch\n*** Delete File: a\n*** Add File: a/b\n+new\n*** End Patch\n")),
        Ok(())
    );
    fs::write(fixture.root.join("a/theirs"), "theirs\n").unwrap();
    let before = text_tree(&fixture.root);
    let error = done(&fixture.call("undo", json!({}))).unwrap_err();
    assert!(error.contains("theirs"), "{error}");
    assert_eq!(text_tree(&fixture.root), before);
}

#[test]
fn a_part_without_the_removal_is_left_out() {
    let fixture = fixture_of(&tree_of(&[("a", "one\n"), ("e", "e\n")]));
    let removal = "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-another\n";
    let rest = "--- /dev/null\n+++ b/a/b\n@@ -0,0 +1 @@\n+new\n--- a/e\n+++ b/e\n@@ -1 +1 @@\n-e\n+f\n";
    let input = |patch: String| json!({ "input": patch, "directory": fixture.root, "partial": true });
    assert_eq!(done(&fixture.call("apply", input(format!("{removal}{rest}")))), Ok(()));
    assert_eq!(text_tree(&fixture.root), tree_of(&[("a", "one\n"), ("e", "f\n")]));
}

#[test]
fn link_to_a_directory_becomes_a_directory() {
    let fixture = fixture_of(&tree_of(&[("real/file", "one\n")]));
    std::os::unix::fs::symlink("real", fixture.root.join("link")).unwrap();
    let before = text_tree(&fixture.root);
    let patch = "diff --git a/link b/link\ndeleted file mode 120000\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-real\n\
                 \\ No newline at end of file\ndiff --git a/link/file b/link/file\nnew file mode 100644\n--- /dev/null\n\
                 +++ b/link/file\n@@ -0,0 +1 @@\n+two\n";
    assert_eq!(done(&fixture.apply(patch)), Ok(()));
    // The target of the link is unchanged.
    assert_eq!(text_tree(&fixture.root), tree_of(&[("real/file", "one\n"), ("link/file", "two\n")]));
    assert_eq!(done(&fixture.call("undo", json!({}))), Ok(()));
    assert_eq!(text_tree(&fixture.root), before);
}

#[test]
fn missing_file_is_told_with_the_directory_of_the_call() {
    let fixture = fixture_of(&tree_of(&[("sub/x", "one\n")]));
    let patch = "--- a/absent\n+++ b/absent\n@@ -1 +1 @@\n-one\n+two\n";
    let error =
        done(&fixture.call("apply", json!({ "input": patch, "directory": fixture.root.join("sub") }))).unwrap_err();
    let directory = format!("directory: {}.", fixture.root.join("sub").display());
    assert!(error.contains(&directory), "{error}");
}

#[test]
fn names_above_are_no_way_out() {
    let outside = tempfile::tempdir().unwrap();
    let fixture = fixture_of(&tree_of(&[("a", "one\n")]));
    std::os::unix::fs::symlink(outside.path(), fixture.root.join("l")).unwrap();
    for name in ["l/new", "a/../../new", "a/./../b/../../new"] {
        let patch = format!(
            "*** Begin Patch\n*** Delete File: a\n*** Delete File: l\n*** Add File: {name}\n+x\n*** End Patch\n"
        );
        let _ = done(&fixture.apply(&patch));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{name}");
        assert!(!fixture.root.parent().unwrap().join("new").exists(), "{name}");
    }
}
