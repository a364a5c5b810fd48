//! Tests that the output of `emend show`, `emend diff` and `emend convert` is a patch that `git apply` accepts as it is.

use crate::workspace::{TestWorkspace, feed};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// The files below a directory: their bytes or targets, and whether they are executable.
fn tree(root: &Path) -> BTreeMap<String, (Vec<u8>, bool)> {
    let mut out = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let meta = fs::symlink_metadata(&entry).unwrap();
            let name = entry.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if meta.is_dir() {
                open.push(entry);
            } else if meta.is_symlink() {
                out.insert(name, (fs::read_link(&entry).unwrap().into_os_string().into_encoded_bytes(), false));
            } else {
                out.insert(name, (fs::read(&entry).unwrap(), meta.permissions().mode() & 0o111 != 0));
            }
        }
    }
    out
}

fn set_executable(workspace: &TestWorkspace, name: &str, on: bool) {
    fs::set_permissions(workspace.work().join(name), fs::Permissions::from_mode(if on { 0o755 } else { 0o644 }))
        .unwrap();
}

/// A project in which others made changes of every kind, after a copy was made of it.
fn project() -> (TestWorkspace, String) {
    let workspace = TestWorkspace::with("one\ntwo\nthree\n");
    workspace.put("ends.txt", "one\r\ntwo\nthree\r\n");
    workspace.put("with space.txt", "space\n");
    workspace.put("at the end ", "space\n");
    workspace.put("q\"uote é.txt", "no line end");
    workspace.put("tab\there.txt", "tab\n");
    workspace.put("bytes.dat", [0, 1, 2, 255]);
    workspace.put("latin.txt", b"caf\xe9\n");
    workspace.put("run.sh", "run\n");
    workspace.put("both.sh", "both\n");
    workspace.put("gone.txt", "gone\n");
    workspace.put("gone.dat", [0, 9, 8]);
    workspace.put("emptied.txt", "");
    symlink("a.txt", workspace.work().join("link")).unwrap();
    workspace.run(&["snapshot"]).exits(0);
    let copy = workspace.beside("copy");
    assert!(Command::new("cp").arg("-a").arg(workspace.work()).arg(&copy).status().unwrap().success());

    workspace.put("a.txt", "one\n2\nthree\n");
    workspace.put("ends.txt", "one\r\n2\r\nthree\r\nfour\n");
    workspace.put("with space.txt", "more space\n");
    workspace.put("at the end ", "more space\n");
    workspace.put("q\"uote é.txt", "still no line end");
    workspace.put("tab\there.txt", "another tab\n");
    workspace.put("bytes.dat", (0..2000_u32).map(|at| (at * at % 251) as u8).collect::<Vec<u8>>());
    workspace.put("latin.txt", b"caf\xe9s\n");
    set_executable(&workspace, "run.sh", true);
    workspace.put("both.sh", "both changed\n");
    set_executable(&workspace, "both.sh", true);
    for name in ["gone.txt", "gone.dat", "emptied.txt", "link"] {
        fs::remove_file(workspace.work().join(name)).unwrap();
    }
    workspace.put("new/file.txt", "new\r\n");
    workspace.put("new/bytes.dat", [7, 0, 7]);
    workspace.put("new/empty.txt", "");
    symlink("../a.txt", workspace.work().join("new/link")).unwrap();
    let taken = workspace.run(&["snapshot", "--json"]).exits(0).json();
    (workspace, taken["data"]["operation"].as_str().unwrap().to_owned())
}

#[test]
fn shown_operations_are_patches_for_git() {
    if !external::has(&["git"]) {
        return;
    }
    let (workspace, id) = project();
    for words in [vec!["show"], vec!["show", &id], vec!["diff", &format!("{id}^..")]] {
        let copy = workspace.beside("applied");
        let _ = fs::remove_dir_all(&copy);
        assert!(Command::new("cp").arg("-a").arg(workspace.beside("copy")).arg(&copy).status().unwrap().success());
        let patch = workspace.run(&words).exits(0).out;
        let mut git = external::git(&copy);
        git.args(["apply", "--whitespace=nowarn"]).env("GIT_CEILING_DIRECTORIES", workspace.beside(""));
        let applied = feed(git, patch.as_bytes());
        assert!(applied.err.is_empty(), "{}\n{patch}", applied.err);
        assert_eq!(tree(&copy), tree(&workspace.work()), "{words:?}\n{patch}");
    }
}

#[test]
fn converted_edits_are_patches_for_git() {
    if !external::has(&["git"]) {
        return;
    }
    let workspace = TestWorkspace::with("one\ntwo\n");
    for (name, before, after) in [
        ("lf.txt", "one\ntwo\n", "one\nTWO\n"),
        ("crlf.txt", "one\r\ntwo\r\n", "one\r\nTWO\r\n"),
        ("mixed.txt", "one\r\ntwo\nthree\r\n", "one\r\nTWO\nthree\r\n"),
        ("mark.txt", "\u{FEFF}one\ntwo\n", "\u{FEFF}one\nTWO\n"),
        ("marked.txt", "\u{FEFF}two\r\n", "\u{FEFF}TWO\r\n"),
        ("open.txt", "one\r\ntwo", "one\r\nTWO"),
    ] {
        workspace.put(name, before);
        let edit = format!("{name}\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n");
        let converted = workspace.feed(&["convert", "--to", "unified_diff"], &edit).exits(0);
        assert!(converted.err.is_empty(), "{name}: {}", converted.err);
        let mut git = external::git(&workspace.work());
        git.args(["apply", "--whitespace=nowarn"]).env("GIT_CEILING_DIRECTORIES", workspace.beside(""));
        let applied = feed(git, converted.out.as_bytes());
        assert!(applied.err.is_empty(), "{}\n{}", applied.err, converted.out);
        assert_eq!(workspace.get(name), after, "{}", converted.out);
    }
    // Another encoding is reported.
    workspace.put("latin.txt", b"caf\xe9\ntwo\n");
    let edit = "latin.txt\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n";
    let converted = workspace.feed(&["convert", "--to", "unified_diff"], edit).exits(0);
    assert!(converted.err.contains("`git apply` does not"), "{}", converted.err);
}

#[test]
fn file_in_the_place_of_a_moved_one_is_taken_back_by_git() {
    if !external::has(&["git"]) {
        return;
    }
    for moved in [&b"a\nb\r\nc"[..], &[0, 1, 255]] {
        let workspace = TestWorkspace::with("one\n");
        workspace.put("x", moved);
        let patch = "*** Begin Patch\n*** Update File: x\n*** Move to: y\n*** Add File: x\n+other\n*** End Patch\n";
        workspace.feed(&["apply", "-"], patch).exits(0);
        let done = tree(&workspace.work());
        let shown = workspace.run(&["show"]).exits(0).out;
        for options in [&["apply", "--whitespace=nowarn", "-R"][..], &["apply", "--whitespace=nowarn"]] {
            let mut git = external::git(&workspace.work());
            git.args(options).env("GIT_CEILING_DIRECTORIES", workspace.beside(""));
            let applied = feed(git, shown.as_bytes());
            assert!(applied.err.is_empty(), "{}\n{shown}", applied.err);
            if options.len() == 2 {
                assert_eq!(tree(&workspace.work()), done, "{shown}");
            } else {
                assert_eq!(fs::read(workspace.work().join("x")).unwrap(), moved, "{shown}");
                assert!(!workspace.work().join("y").exists(), "{shown}");
            }
        }
    }
}

#[test]
fn diff_of_a_link_that_became_a_file_is_refused_by_git() {
    if !external::has(&["git"]) {
        return;
    }
    let workspace = TestWorkspace::with("one\n");
    symlink("a.txt", workspace.work().join("link")).unwrap();
    workspace.run(&["snapshot"]).exits(0);
    fs::remove_file(workspace.work().join("link")).unwrap();
    workspace.put("link", "a file\n");
    workspace.run(&["snapshot"]).exits(0);
    let patch = workspace.run(&["show"]).exits(0).out;
    let mut git = external::git(&workspace.work());
    git.args(["apply", "-R"]).env("GIT_CEILING_DIRECTORIES", workspace.beside(""));
    let applied = feed(git, patch.as_bytes());
    assert!(applied.err.contains("does not match old mode"), "{}\n{patch}", applied.err);
    assert_eq!(workspace.get("link"), "a file\n");
}

#[test]
fn a_check_reports_the_tolerances_of_a_dry_run() {
    let text: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let workspace = TestWorkspace::with(&text.replace("\n14\n", "\nXX\n"));
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -12,7 +12,7 @@\n 12\n 13\n 14\n-15\n+fifteen\n 16\n 17\n 18\n";
    for option in ["--check", "--dry-run"] {
        let ran = workspace.feed(&["apply", option], patch).exits(0);
        assert!(format!("{}{}", ran.out, ran.err).contains("Context of the hunk does not fit its place"), "{ran:?}");
    }
}
