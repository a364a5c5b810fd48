//! Tests what the command line prints for people: diffs for git, names, times and options.

use crate::bed::{Bed, feed};
use crate::prompt::Terminal;
use serde_json::json;
use std::process::Command;

/// Runs git in the workspace.
fn git(bed: &Bed, args: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(bed.work()).env("HOME", bed.beside("home"));
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "x@example.org");
    }
    feed(command, input.as_bytes()).exits(0).out
}

/// Creates a repository with some committed files.
fn repository() -> Bed {
    let bed = Bed::with("one\ntwo\n");
    bed.put("sub/gone.txt", "it goes\n");
    bed.put("sub/empty.txt", "");
    bed.put("sub/run.sh", "#!/bin/sh\n");
    bed.put("old name.txt", "moved\nas it is\n");
    git(&bed, &["init", "-q"], "");
    git(&bed, &["add", "-A"], "");
    git(&bed, &["commit", "-qm", "start"], "");
    bed
}

#[test]
fn git_applies_what_show_prints() {
    let bed = repository();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: new/file.txt\n+fresh\n*** Delete File: sub/gone.txt\n*** Delete File: sub/empty.txt\n*** Update File: old name.txt\n*** Move to: new name.txt\n@@\n-moved\n+Moved\n*** End Patch\n";
    bed.feed(&["apply"], patch).exits(0);
    git(&bed, &["add", "-A"], "");
    let want = git(&bed, &["write-tree"], "");
    let shown = bed.run(&["show"]).exits(0).out;
    assert!(shown.contains("+++ /dev/null\n") && shown.contains("--- /dev/null\n"), "{shown}");
    for (from, reverse) in [("HEAD", false), (want.trim(), true)] {
        git(&bed, &["read-tree", "-u", "--reset", from], "");
        let args: &[&str] = if reverse { &["apply", "--index", "-R"] } else { &["apply", "--index"] };
        git(&bed, args, &shown);
        let tree = git(&bed, &["write-tree"], "");
        let wanted_tree = if reverse { git(&bed, &["rev-parse", "HEAD^{tree}"], "") } else { want.clone() };
        assert_eq!(tree, wanted_tree, "{shown}");
    }
    // From a directory below, too: the names are those of the repository.
    git(&bed, &["read-tree", "-u", "--reset", "HEAD"], "");
    bed.run(&["-C", "sub", "edit", "../a.txt", "--old", "one", "--new", "1"]).exits(0);
    let below = bed.run(&["-C", "sub", "show"]).exits(0).out;
    assert!(below.contains("diff --git a/a.txt b/a.txt"), "{below}");
    git(&bed, &["checkout", "-q", "a.txt"], "");
    git(&bed, &["apply"], &below);
    assert_eq!(bed.get("a.txt"), "1\ntwo\n");
}

#[test]
fn names_are_relative_to_the_current_directory() {
    let bed = repository();
    let edited = bed.run(&["edit", "sub/absent.sh", "--old", "nothing", "--new", "bash"]).exits(10);
    assert!(edited.err.contains("sub/absent.sh") && !edited.err.contains(&bed.path("")), "{edited:?}");
    let edited = bed.run(&["edit", "sub/run.sh", "--old", "/bin/sh", "--new", "/bin/bash"]).exits(0).out;
    assert!(edited.starts_with("The file sub/run.sh has been updated"), "{edited}");
    for args in [&["history"][..], &["show"], &["search", "bin"], &["check", "sub/run.sh"], &["undo"], &["redo"]] {
        let ran = bed.run(args);
        assert!(ran.out.contains("run.sh") && !ran.out.contains(&bed.path("")), "{args:?} {ran:?}");
    }
    let below = bed.run(&["-C", "sub", "history"]).exits(0).out;
    assert!(below.contains("  run.sh  "), "{below}");
    // A missing file is explained by the directory if that is not the root.
    let absent = ["edit", "absent.sh", "--old", "nothing", "--new", "bash"];
    let below = bed.run(&[&["-C", "sub", "--root", ".."][..], &absent].concat()).exits(10).err;
    assert!(below.contains("Current working directory: ") && below.contains("/sub."), "{below}");
    assert!(!bed.run(&absent).exits(10).err.contains("Current working directory"));
    // Programs get absolute paths.
    assert!(bed.run(&["show", "--json"]).exits(0).out.contains(&bed.path("sub/run.sh")));
    assert!(bed.run(&["-C", "gone", "history"]).exits(2).err.contains("gone"));
    // Names beside the directory lead there.
    bed.put("top.txt", "one\n");
    let above = bed.run(&["-C", "sub", "edit", "../top.txt", "--old", "one", "--new", "two"]).exits(0).out;
    assert!(above.starts_with("The file ../top.txt has been updated") && above.contains("+++ b/top.txt"), "{above}");
    for args in [&["history"][..], &["search", "two", ".."], &["edit", "../top.txt", "--old", "one", "--new", "two"]] {
        let ran = bed.run(&[&["-C", "sub"][..], args].concat());
        let text = format!("{}{}", ran.out, ran.err);
        assert!(text.contains("../top.txt") && !text.contains(&bed.path("top.txt")), "{args:?} {ran:?}");
    }
}

#[test]
fn times_are_local_unless_utc_is_asked_for() {
    let bed = Bed::with("one\n");
    bed.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    let time = |args: &[&str]| {
        let mut command = bed.command(args);
        command.env("TZ", "Asia/Tokyo");
        let words = feed(command, b"").exits(0).out;
        words.split("  ").nth(1).unwrap().to_owned()
    };
    let utc = time(&["history", "--utc"]);
    assert!(utc.ends_with('Z') && utc.contains('T'), "{utc}");
    let local = time(&["history"]);
    assert!(!local.contains('Z') && local.len() == "2026-11-23 10:00:00".len(), "{local}");
    assert_eq!(time(&["show"]), local);
    assert_eq!(time(&["show", "--utc"]), utc);
    assert_eq!(bed.run(&["history", "--since", "1h"]).exits(0).out.lines().count(), 1);
    let future = bed.run(&["history", "--since", "2999-01-01"]).exits(0).out;
    assert!(future.starts_with("No operation in the history"), "{future}");
    bed.run(&["history", "--since", "soon"]).exits(2);
}

#[test]
fn quiet_stat_and_several_files() {
    let bed = Bed::with("one\n");
    bed.put("b.txt", "other\n");
    let quiet = bed.run(&["-q", "edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str(), bed.get("a.txt").as_str()), ("", "", "two\n"));
    assert!(bed.run(&["-q", "edit", "a.txt", "--old", "one", "--new", "two"]).code != 0);
    assert!(bed.run(&["-q", "read", "a.txt"]).exits(0).out.contains("two"));
    assert_eq!(bed.run(&["show", "--stat"]).exits(0).out, " a.txt | +1 -1\n 1 file, +1 -1\n");
    let both = bed.run(&["read", "a.txt", "b.txt"]).exits(0).out;
    assert_eq!(both, "==> a.txt <==\n     1\ttwo\n\n==> b.txt <==\n     1\tother\n");
    assert_eq!(bed.run(&["read", "a.txt", "gone.txt"]).exits(10).out.lines().count(), 4);
}

#[test]
fn people_get_notes_instead_of_reminders() {
    let reminder = "<system-reminder>a line of the file</system-reminder>\n";
    let bed = Bed::with(&("one\n".repeat(2500) + reminder));
    let read = bed.run(&["read", "a.txt"]).exits(0).out;
    assert!(read.ends_with("\nnote: Lines 1 to 2000 of 2501 are shown. Read on with offset 2001.\n"), "{read}");
    let end = bed.run(&["read", "a.txt:2501", "--format", "plain"]).exits(0).out;
    assert_eq!(end, reminder);
    let model = bed.call("read", &json!({ "file_path": bed.path("a.txt") })).exits(0).json();
    assert!(model["text"].as_str().unwrap().ends_with("Read on with offset 2001.</system-reminder>\n"), "{model}");
}

#[test]
fn command_sent_twice_changes_the_file_once() {
    let bed = Bed::with("import os\n");
    let insertion = ["edit", "a.txt", "--old", "import os", "--new", "import os\nimport sys"];
    bed.run(&insertion).exits(0);
    let again = bed.run(&insertion);
    assert!(again.code != 0 && again.err.contains("This call was already carried out"), "{}", again.err);
    assert!(again.err.contains("--repeat"), "{}", again.err);
    assert_eq!(bed.get("a.txt"), "import os\nimport sys\n");
    bed.run(&[&insertion[..], &["--repeat"]].concat()).exits(0);
    assert_eq!(bed.get("a.txt"), "import os\nimport sys\nimport sys\n");
    // After another change of the file, the same command is a new one.
    bed.put("a.txt", "import os\n");
    bed.run(&insertion).exits(0);
    // A program that needs no reads gets the same answer.
    let input =
        json!({ "file_path": bed.path("a.txt"), "old_string": "import os", "new_string": "import os\nimport re" });
    let call = || bed.feed(&["call", "edit", "--unread", "allow"], input.to_string());
    call().exits(0);
    assert_eq!(call().json()["code"], "edit.no_change");
    assert_eq!(bed.get("a.txt"), "import os\nimport re\nimport sys\n");
}

#[test]
fn unknown_hunk_leads_to_the_command_that_lists_them() {
    let bed = Bed::with("one\n");
    bed.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    let refused = bed.run(&["undo", "1", "a.txt:9"]);
    let (_, command) = refused.err.split_once("emend show ").unwrap_or_else(|| panic!("{}", refused.err));
    let id = command.split([' ', '`', '.']).next().unwrap();
    assert!(bed.run(&["show", id]).exits(0).out.contains("+two"));
}

#[test]
fn formats_have_one_spelling_and_former_ones_are_accepted() {
    let bed = Bed::with("one\n");
    let blocks = "a.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n";
    let converted = |to: &str| bed.feed(&["convert", "--to", to, "--format", "search-replace"], blocks).exits(0).out;
    let want = converted("unified_diff");
    assert!(want.starts_with("diff --git a/a.txt b/a.txt\n"), "{want}");
    for spelling in ["unified", "unified-diff"] {
        assert_eq!(converted(spelling), want);
    }
    let input = |to: &str| json!({ "input": blocks, "to": to, "directory": bed.path("") }).to_string();
    let call = |to: &str| bed.feed(&["--unread", "allow", "call", "convert"], input(to));
    assert_eq!(call("Unified-Diff").exits(0).json()["text"], call("unified").exits(0).json()["text"]);
    let help = bed.run(&["help", "convert"]).exits(0).out;
    assert!(help.contains("unified_diff, apply_patch, search_replace"), "{help}");
    assert!(bed.run(&["convert", "--to", "context"]).code == 2);
}

#[test]
fn directories_are_outlined_and_checked() {
    let bed = Bed::with("no language\n");
    bed.put("src/a.py", "def first():\n    pass\n");
    bed.put("src/sub/b.py", "class Second:\n    def third(self):\n        pass\n");
    bed.put("src/empty.py", "");
    bed.put("src/notes.xyz", "nothing");
    bed.put("ignored.py", "def hidden():\n    pass\n");
    bed.put(".gitignore", "ignored.py\n");
    let outline = bed.run(&["outline", "."]).exits(0).out;
    let want = "src/a.py\n1-2\tfunction first\n\nsrc/sub/b.py\n1-3\tclass Second\n2-3\t  ";
    assert!(outline.starts_with(want) && outline.contains("third") && !outline.contains("hidden"), "{outline}");
    let one = bed.run(&["outline", ".", "-g", "b.py", "--json"]).exits(0).json();
    assert_eq!(one["data"]["files"].as_array().unwrap().len(), 1);
    assert!(bed.run(&["outline", ".", "--no-ignore"]).exits(0).out.contains("hidden"));
    let checked = bed.run(&["check", "."]).exits(0).out;
    assert_eq!(checked, "3 of 3 files have no problems.\n");
    bed.put("src/sub/broken.json", "{\n");
    let checked = bed.run(&["check", "src", "a.txt"]).exits(1).out;
    let is_listed = checked.contains("src/sub/broken.json: 1 problem");
    assert!(is_listed && checked.ends_with("3 of 5 files have no problems.\n"), "{checked}");
}

#[test]
fn listings_are_coloured_on_request() {
    let bed = Bed::with("fn main() {}\n");
    bed.put("main.rs", "fn main() {}\n");
    bed.run(&["edit", "a.txt", "--old", "main", "--new", "other"]).exits(0);
    let escapes = regex::Regex::new("\u{1b}\\[[0-9]*m").unwrap();
    for args in [&["read", "main.rs"][..], &["search", "main"], &["outline", "main.rs"], &["history"]] {
        let run = |color: &str| bed.run(&[args, &["--color", color]].concat()).exits(0).out;
        let (plain, colored) = (run("never"), run("always"));
        assert!(colored.contains('\u{1b}') && !plain.contains('\u{1b}'), "{args:?}: {colored}");
        assert_eq!(escapes.replace_all(&colored, ""), plain, "{args:?}");
        let mut unset = bed.command(&[args, &["--color", "auto"]].concat());
        unset.env("NO_COLOR", "1").env("FORCE_COLOR", "1");
        assert_eq!(feed(unset, b"").exits(0).out, plain, "{args:?}");
    }
    // Keywords have the colours of the language.
    let read = bed.run(&["read", "main.rs", "--color", "always"]).exits(0).out;
    assert!(read.contains("\u{1b}[1m\u{1b}[34mfn\u{1b}[0m"), "{read:?}");
}

#[test]
fn long_output_on_a_terminal_goes_through_the_pager() {
    if !external::has(&["tmux"]) {
        return;
    }
    let bed = Bed::with(&"line\n".repeat(200));
    bed.put("short.txt", "short\n");
    // The pager shows its input, and the number of lines.
    bed.put("page.sh", "printf 'PAGED '; wc -l\n");
    let terminal = Terminal::open(&bed);
    terminal.types("export EMEND_PAGER='sh page.sh'");
    terminal.types("emend read a.txt; echo \"first [$?]\"");
    let screen = terminal.shows("first [0]");
    assert!(screen.contains("PAGED 200"), "{screen}");
    terminal.types("emend read short.txt; echo \"second [$?]\"");
    let screen = terminal.shows("second [0]");
    assert!(screen.contains("1  short") && screen.matches("PAGED ").count() == 1, "{screen}");
    // Several files are one text; neither a flag nor an empty variable pages.
    terminal.types("emend read a.txt short.txt; echo \"third [$?]\"");
    assert!(terminal.shows("third [0]").contains("PAGED 204"));
    terminal.types("emend read a.txt --no-pager | wc -l; emend read a.txt --no-pager; echo \"fourth [$?]\"");
    let screen = terminal.shows("fourth [0]");
    assert!(screen.contains("   200  line") && screen.matches("PAGED ").count() <= 2, "{screen}");
    // The user's own configuration names one, and a program that does not exist hides nothing.
    let config = bed.beside("home/.config/emendate");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[terminal]\npager = 'sh page.sh; echo of the file'\n").unwrap();
    terminal.types("unset EMEND_PAGER; emend read a.txt; echo \"fifth [$?]\"");
    assert!(terminal.shows("fifth [0]").contains("of the file"));
    terminal.types("EMEND_PAGER=/absent emend read a.txt; echo \"sixth [$?]\"");
    assert!(terminal.shows("sixth [0]").contains("   200  line"));
}
