//! Names and git's headers that contradict each other or are incomplete.

use super::{good, unparsable};
use crate::locate::op::{FileAction, FileMode, Request};

const CHANGE: &str = "@@ -1 +1 @@\n-a\n+b\n";

/// True if a note contains this text.
fn notes(request: &Request, part: &str) -> bool {
    request.notes.iter().any(|note| note.to_string().contains(part))
}

#[test]
fn git_headers_count_without_their_first_line() {
    let deleted = good("deleted file mode 100644\n--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a\n");
    assert!(matches!(&deleted.files[0].action, FileAction::Delete { text: Some(text) } if text == "a\n"));
    let names = "--- a/old.py\n+++ b/new.py\n";
    let renamed = good(&format!("prose\nsimilarity index 90%\nrename from old.py\nrename to new.py\n{names}{CHANGE}"));
    assert!(matches!(&renamed.files[0].action, FileAction::Move { to, .. } if to == "new.py"));
    assert_eq!(renamed.files[0].path, "old.py");
    let modes = good(&format!("old mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n{CHANGE}"));
    assert_eq!(modes.files[0].mode, Some(FileMode::Executable));
    let made = good("new file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(made.files[0].mode, Some(FileMode::Executable));
    // Each file has its own headers, and those of the second file do not belong to the first one.
    let second =
        good(&format!("--- a/y\n+++ b/y\n{CHANGE}old mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n{CHANGE}"));
    assert_eq!((second.files[0].mode, second.files[1].mode), (None, Some(FileMode::Executable)));
    // Prose between them and the names shows that they are prose, too.
    let prose = good(&format!("new mode 100755\n\n--- a/x\n+++ b/x\n{CHANGE}"));
    assert_eq!(prose.files[0].mode, None);
}

#[test]
fn names_of_a_rename_agree_with_the_others() {
    let patch = |git: &str, rename: &str, names: &str| format!("diff --git {git}\n{rename}{names}{CHANGE}");
    let names = "--- a/old.py\n+++ b/new.py\n";
    let rename = "rename from old.py\nrename to new.py\n";
    assert!(!notes(&good(&patch("a/old.py b/new.py", rename, names)), "two files"));
    let other = "rename from x.py\nrename to y.py\n";
    for text in [
        patch("a/old.py b/new.py", other, names),
        patch("a/old.py b/new.py", other, ""),
        patch("a/old.py b/new.py", "copy from x.py\ncopy to new.py\n", names),
    ] {
        unparsable(&text, "another line names a/old.py");
    }
    unparsable(&patch("a/old.py b/new.py", "rename from old.py\n", names), "one of the two lines");
    // Any prefix is allowed.
    good(&patch("src/old.py dst/new.py", rename, "--- src/old.py\n+++ dst/new.py\n"));
}

#[test]
fn two_names_without_a_rename_are_reported() {
    let two = good(&format!("--- a/old.py\n+++ b/new.py\n{CHANGE}"));
    assert!(matches!(two.files[0].action, FileAction::Edit { .. }) && notes(&two, "two files"));
    for names in ["--- a/x\n+++ b/x\n", "--- x.orig\n+++ x\n", "--- x\n+++ x.new\n", "--- one/x\n+++ two/x\n"] {
        assert!(!notes(&good(&format!("{names}{CHANGE}")), "two files"), "{names}");
    }
}
