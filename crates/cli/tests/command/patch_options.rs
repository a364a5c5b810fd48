//! The options of `emend apply` that are those of `git apply`, compared with git itself.

use crate::workspace::TestWorkspace;
use std::fmt::Write as _;

/// Reproducible pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Runs git in the root; its exit status and what it printed.
fn git(workspace: &TestWorkspace, words: &[&str]) -> (bool, String) {
    let mut command = external::git(&workspace.work());
    command.args(["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]);
    let out = command.args(words).output().unwrap();
    (out.status.success(), String::from_utf8_lossy(&out.stdout).into_owned())
}

fn lines(count: usize) -> String {
    (1..=count).fold(String::new(), |mut out, nth| {
        let _ = writeln!(out, "line {nth} of the file");
        out
    })
}

/// A repository with one file, and a patch for one of its lines, made by git.
fn repository() -> (TestWorkspace, String) {
    let workspace = TestWorkspace::with(&lines(30));
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["add", "-A"]);
    assert!(git(&workspace, &["commit", "-qm", "one"]).0);
    workspace.put("a.txt", lines(30).replace("line 15 of", "line fifteen of"));
    let patch = git(&workspace, &["diff"]).1;
    workspace.put("p.patch", &patch);
    workspace.put("a.txt", lines(30));
    (workspace, patch)
}

#[test]
fn a_patch_is_merged_with_the_version_it_was_made_for() {
    if !external::has(&["git"]) {
        return;
    }
    let (workspace, patch) = repository();
    let mut dice = Dice(7);
    let (mut merged, mut refused) = (0, 0);
    for round in 0..24 {
        let mut now: Vec<String> = lines(30).lines().map(str::to_owned).collect();
        for _ in 0..=dice.below(4) {
            let at = 10 + dice.below(9);
            match dice.below(3) {
                0 => now.insert(at, format!("new {round}")),
                1 => drop(now.remove(at)),
                _ => now[at] = format!("changed {round}"),
            }
        }
        let now = now.join("\n") + "\n";
        workspace.put("a.txt", &now);
        let theirs = {
            // The same merge by git; it works on the index, so that has to hold the file as it is.
            git(&workspace, &["add", "a.txt"]);
            let done = git(&workspace, &["apply", "--3way", "p.patch"]).0;
            let text = workspace.get("a.txt");
            git(&workspace, &["reset", "-q"]);
            done.then_some(text)
        };
        workspace.put("a.txt", &now);
        let ours = workspace.run(&["apply", "--3way", "p.patch"]);
        let text = workspace.get("a.txt");
        if ours.code == 0 {
            merged += 1;
            // git refuses lines that adjoin; where both merge, they agree.
            assert!(theirs.as_ref().is_none_or(|theirs| *theirs == text), "{round}: {text}\n{theirs:?}");
            assert!(text.contains("line fifteen of"), "{round}: {text}");
        } else {
            refused += 1;
            assert_eq!(text, now, "{round}");
            assert!(theirs.is_none() || theirs.as_deref() == Some(&now), "{round}: {}\n{theirs:?}", ours.err);
        }
    }
    assert!(merged > 9 && refused > 2, "{merged} {refused}");
    // Markers where they are asked for, and the usual search where the version is not in the repository.
    workspace.put("a.txt", lines(30).replace("line 15 of", "line XV of"));
    workspace.run(&["apply", "--3way", "p.patch"]).exits(12);
    workspace.run(&["--on-stale", "markers", "apply", "--3way", "p.patch"]).exits(0);
    let text = workspace.get("a.txt");
    assert!(text.contains("<<<<<<<") && text.contains("XV") && text.contains("fifteen"), "{text}");
    workspace.put("a.txt", lines(30));
    let id = patch.lines().find(|line| line.starts_with("index ")).unwrap();
    workspace.put("q.patch", patch.replace(id, "index 1234567..89abcde 100644"));
    // A digit is the short option, and not the file.
    let told = workspace.run(&["apply", "-3", "q.patch"]).exits(0);
    assert!(told.out.contains("1234567") || told.err.contains("1234567"), "{} {}", told.out, told.err);
    assert_eq!(workspace.get("a.txt"), lines(30).replace("line 15 of", "line fifteen of"));
}

#[test]
fn blanks_are_taken_off_as_git_does() {
    if !external::has(&["git"]) {
        return;
    }
    let workspace = TestWorkspace::new();
    git(&workspace, &["init", "-q"]);
    let mut dice = Dice(11);
    let ends = ["", "", " ", "\t", "  \t "];
    let begins = ["", "  ", "\t", "  \t", "\t  \tx", "        \t"];
    for round in 0..60 {
        let old: Vec<String> =
            (0..6).map(|nth| format!("{}old {nth}{}", begins[dice.below(6)], ends[dice.below(5)])).collect();
        let (at, count) = (dice.below(6), dice.below(4));
        let mut patch = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1,6 +1,{} @@\n", 5 + count);
        for (nth, line) in old.iter().enumerate() {
            if nth != at {
                let _ = writeln!(patch, " {line}");
                continue;
            }
            let _ = writeln!(patch, "-{line}");
            for new in 0..count {
                let blank = dice.below(4) == 0;
                let text = if blank { String::new() } else { format!("{}new {new}", begins[dice.below(6)]) };
                let _ = writeln!(patch, "+{text}{}", ends[dice.below(5)]);
            }
        }
        let text = old.join("\n") + "\n";
        workspace.put("p.patch", &patch);
        workspace.put("a.txt", &text);
        assert!(git(&workspace, &["apply", "--whitespace=fix", "p.patch"]).0, "{round}: {patch}");
        let theirs = workspace.get("a.txt");
        workspace.put("a.txt", &text);
        workspace.run(&["apply", "--whitespace=fix", "p.patch"]).exits(0);
        assert_eq!(workspace.get("a.txt"), theirs, "{round}: {patch}");
    }
}

#[test]
fn context_may_differ_as_far_as_the_call_says() {
    if !external::has(&["git"]) {
        return;
    }
    let workspace = TestWorkspace::new();
    git(&workspace, &["init", "-q"]);
    let mut dice = Dice(3);
    let mut both = 0;
    for round in 0..40 {
        let text = lines(24);
        let at = 6 + dice.below(10);
        let (above, below) = (dice.below(4), dice.below(4));
        let mut patch = format!("--- a/a.txt\n+++ b/a.txt\n@@ -{},{} +{0},{1} @@\n", at - above, above + below + 1);
        // Some lines at the edges are not the file's.
        let wrong = dice.below(3);
        for line in at - above..=at + below {
            let edge = (line - (at - above)).min(at + below - line);
            let name = if edge < wrong && line != at { "other" } else { "line" };
            if line == at {
                let _ = writeln!(patch, "-line {at} of the file\n+the new line");
            } else {
                let _ = writeln!(patch, " {name} {line} of the file");
            }
        }
        let least = dice.below(3).to_string();
        workspace.put("p.patch", &patch);
        workspace.put("a.txt", &text);
        let theirs = git(&workspace, &["apply", "-C", &least, "p.patch"]).0.then(|| workspace.get("a.txt"));
        workspace.put("a.txt", &text);
        let ours = workspace.run(&["apply", "-C", &least, "p.patch"]);
        if let Some(theirs) = theirs {
            assert_eq!(ours.code, 0, "{round}: -C {least}\n{patch}{}", ours.err);
            assert_eq!(workspace.get("a.txt"), theirs, "{round}");
            both += 1;
        } else if ours.code == 0 {
            assert_eq!(
                workspace.get("a.txt"),
                text.replace(&format!("line {at} of the file"), "the new line"),
                "{round}"
            );
        }
    }
    assert!(both > 10, "{both}");
}

#[test]
fn rejected_hunks_and_chosen_files() {
    if !external::has(&["git"]) {
        return;
    }
    let (workspace, _) = repository();
    workspace.put("b/c.txt", "red\ngreen\n");
    let hunk = |name: &str, old: &str, new: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+{new}\n");
    let patch = hunk("a.txt", "line 1 of the file", "first") + &hunk("b/c.txt", "blue", "white");
    workspace.put("p.patch", &patch);
    workspace.run(&["apply", "--reject", "p.patch"]).exits(1);
    assert!(workspace.get("a.txt").starts_with("first\n"));
    let left = hunk("b/c.txt", "blue", "white").replace("-1 +1", "-1,1 +1,1");
    assert_eq!((workspace.get("b/c.txt"), workspace.get("b/c.txt.rej")), ("red\ngreen\n".to_owned(), left));
    // The rejected hunk can be applied once the file fits.
    workspace.put("b/c.txt", "blue\ngreen\n");
    workspace.run(&["apply", "b/c.txt.rej"]).exits(0);
    assert_eq!(workspace.get("b/c.txt"), "white\ngreen\n");
    // The first pattern that matches decides, in the order of the command line, as with git.
    for (options, changes) in [
        (&["--include=b/*"][..], false),
        (&["--exclude=b/*"], true),
        (&["--exclude=*.txt", "--include=a.txt"], false),
        (&["--include=a.txt", "--exclude=*"], true),
        (&["--include=*"], true),
    ] {
        workspace.put("p.patch", hunk("a.txt", "line 1 of the file", "first"));
        let words = [&["apply"], options, &["p.patch"]].concat();
        workspace.put("a.txt", lines(1));
        git(&workspace, &words);
        assert_eq!(workspace.get("a.txt").starts_with("first"), changes, "{options:?}");
        workspace.put("a.txt", lines(1));
        // A session that knows nothing of the rounds before.
        let ours = workspace.run(&[&["--session", options[0].trim_start_matches('-')], &words[..]].concat());
        assert_eq!(ours.code == 0, changes, "{options:?} {}", ours.err);
        assert_eq!(workspace.get("a.txt").starts_with("first"), changes, "{options:?}");
    }
}

#[test]
fn a_patch_that_is_not_utf8_is_applied_to_its_bytes() {
    if !external::has(&["git"]) {
        return;
    }
    let workspace = TestWorkspace::new();
    git(&workspace, &["init", "-q"]);
    workspace.put("l.txt", b"caf\xe9\nb\n\xff\xfe\n");
    workspace.put("p.patch", b"--- a/l.txt\n+++ b/l.txt\n@@ -1,3 +1,3 @@\n caf\xe9\n-b\n+\xfc\xf8\n \xff\xfe\n");
    workspace.run(&["apply", "p.patch"]).exits(0);
    let ours = std::fs::read(workspace.work().join("l.txt")).unwrap();
    assert_eq!(ours, b"caf\xe9\n\xfc\xf8\n\xff\xfe\n");
    workspace.run(&["undo"]).exits(0);
    assert!(git(&workspace, &["apply", "p.patch"]).0);
    assert_eq!(std::fs::read(workspace.work().join("l.txt")).unwrap(), ours);
}

#[test]
fn rejected_edits_go_to_a_new_file_or_nothing_is_changed() {
    let block = |old: &str, new: &str| format!("a.txt\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
    let workspace = TestWorkspace::with("one\ntwo\n");
    workspace.put("p.md", block("two", "2") + &block("nothing like this", "x"));
    workspace.put("notes.txt", "precious\n");
    let kept = || (workspace.get("a.txt"), workspace.get("notes.txt"));
    let before = kept();
    for (file, status) in [("notes.txt", 17), ("a.txt", 17), ("no/such/directory", 2), ("-", 2)] {
        let refused = workspace.run(&["apply", "p.md", "--reject-file", file]).exits(status);
        assert_eq!(kept(), before, "{file}: {refused:?}");
    }
    workspace.run(&["apply", "p.md", "--reject-file", "left", "--check"]).exits(1);
    assert!(kept() == before && !workspace.work().join("left").exists());

    let done = workspace.run(&["apply", "p.md", "--reject-file", "left"]).exits(1);
    assert!(done.err.contains("what could not be applied is in left"), "{done:?}");
    assert_eq!((workspace.get("a.txt"), workspace.get("left")), ("one\n2\n".into(), block("nothing like this", "x")));
    workspace.put("p.md", block("one", "1"));
    workspace.run(&["apply", "p.md", "--reject-file", "none"]).exits(0);
    assert!(!workspace.work().join("none").exists());
}
