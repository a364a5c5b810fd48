//! Makes lazy edits out of the commits of a small repository.
#![allow(clippy::disallowed_types, reason = "a test that starts git")]

use external::has;
use oracles::lazy::{self, CUTS, Kind, Row, Source};
use std::fs;
use std::path::Path;

fn commit(repository: &Path, text: &str) {
    fs::write(repository.join("steps.py"), text).unwrap();
    let run = |arguments: &[&str]| {
        let mut git = external::git(repository);
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    if !repository.join(".git").exists() {
        run(&["init", "--quiet"]);
    }
    run(&["add", "steps.py"]);
    run(&["commit", "--quiet", "--message", "step"]);
}

#[test]
fn changes_of_commits_are_made() {
    if !has(&["git"]) {
        return;
    }
    let (folder, findings) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let functions =
        (1..=20).map(|nth| format!("def step_{nth}(value):\n    check_{nth}(value)\n    return value + {nth}\n\n\n"));
    let text: String = functions.collect();
    commit(folder.path(), &text);
    let source = Source { repository: folder.path(), up_to: "HEAD", findings: findings.path(), keep_refused: false };
    let counts = lazy::play(&source, 1, 3).unwrap();
    assert_eq!(counts, [(Row::Skipped, 3)].into());
    assert!(lazy::render(&source, &counts).contains("3 rounds without an edit"));
    commit(folder.path(), &text.replace("check_7(value)", "check_7(value, strictly=True)"));
    let counts = lazy::play(&source, 1, 3).unwrap();
    assert_eq!(counts, CUTS.map(|cut| (Row::Outcome(cut, Kind::Right), 3)).into());
}
