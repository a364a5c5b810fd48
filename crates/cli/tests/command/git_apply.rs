//! Tests that the output of `emend show` and `emend diff` is a patch that `git apply` accepts as it is.

use crate::bed::{Bed, feed};
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

fn set_executable(bed: &Bed, name: &str, on: bool) {
    fs::set_permissions(bed.work().join(name), fs::Permissions::from_mode(if on { 0o755 } else { 0o644 })).unwrap();
}

/// A project in which others made changes of every kind, after a copy was made of it.
fn project() -> (Bed, String) {
    let bed = Bed::with("one\ntwo\nthree\n");
    bed.put("ends.txt", "one\r\ntwo\nthree\r\n");
    bed.put("with space.txt", "space\n");
    bed.put("q\"uote é.txt", "no line end");
    bed.put("tab\there.txt", "tab\n");
    bed.put("bytes.dat", [0, 1, 2, 255]);
    bed.put("latin.txt", b"caf\xe9\n");
    bed.put("run.sh", "run\n");
    bed.put("both.sh", "both\n");
    bed.put("gone.txt", "gone\n");
    bed.put("gone.dat", [0, 9, 8]);
    bed.put("emptied.txt", "");
    symlink("a.txt", bed.work().join("link")).unwrap();
    bed.run(&["snapshot"]).exits(0);
    let copy = bed.beside("copy");
    assert!(Command::new("cp").arg("-a").arg(bed.work()).arg(&copy).status().unwrap().success());

    bed.put("a.txt", "one\n2\nthree\n");
    bed.put("ends.txt", "one\r\n2\r\nthree\r\nfour\n");
    bed.put("with space.txt", "more space\n");
    bed.put("q\"uote é.txt", "still no line end");
    bed.put("tab\there.txt", "another tab\n");
    bed.put("bytes.dat", (0..2000_u32).map(|at| (at * at % 251) as u8).collect::<Vec<u8>>());
    bed.put("latin.txt", b"caf\xe9s\n");
    set_executable(&bed, "run.sh", true);
    bed.put("both.sh", "both changed\n");
    set_executable(&bed, "both.sh", true);
    for name in ["gone.txt", "gone.dat", "emptied.txt", "link"] {
        fs::remove_file(bed.work().join(name)).unwrap();
    }
    bed.put("new/file.txt", "new\r\n");
    bed.put("new/bytes.dat", [7, 0, 7]);
    bed.put("new/empty.txt", "");
    symlink("../a.txt", bed.work().join("new/link")).unwrap();
    let taken = bed.run(&["snapshot", "--json"]).exits(0).json();
    (bed, taken["data"]["operation"].as_str().unwrap().to_owned())
}

#[test]
fn shown_operations_are_patches_for_git() {
    if !external::has(&["git"]) {
        return;
    }
    let (bed, id) = project();
    for words in [vec!["show", &id], vec!["diff", &format!("{id}^..")]] {
        let copy = bed.beside("applied");
        let _ = fs::remove_dir_all(&copy);
        assert!(Command::new("cp").arg("-a").arg(bed.beside("copy")).arg(&copy).status().unwrap().success());
        let patch = bed.run(&words).exits(0).out;
        let mut git = Command::new("git");
        git.args(["apply", "--whitespace=nowarn"]).current_dir(&copy).env("GIT_CEILING_DIRECTORIES", bed.beside(""));
        let applied = feed(git, patch.as_bytes());
        assert!(applied.err.is_empty(), "{}\n{patch}", applied.err);
        assert_eq!(tree(&copy), tree(&bed.work()), "{words:?}\n{patch}");
    }
}
