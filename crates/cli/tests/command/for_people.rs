//! Tests what the command line prints for people: diffs for git, names, times and options.

use crate::prompt::Terminal;
use crate::workspace::{TestWorkspace, feed};
use serde_json::json;

/// Runs git in the workspace.
fn git(workspace: &TestWorkspace, args: &[&str], input: &str) -> String {
    let mut command = external::git(&workspace.work());
    command.args(args).env("HOME", workspace.beside("home"));
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "x@example.org");
    }
    feed(command, input.as_bytes()).exits(0).out
}

/// Creates a repository with some committed files.
fn repository() -> TestWorkspace {
    let workspace = TestWorkspace::with("one\ntwo\n");
    workspace.put("sub/gone.txt", "it goes\n");
    workspace.put("sub/empty.txt", "");
    workspace.put("sub/run.sh", "#!/bin/sh\n");
    workspace.put("old name.txt", "moved\nas it is\n");
    git(&workspace, &["init", "-q"], "");
    git(&workspace, &["add", "-A"], "");
    git(&workspace, &["commit", "-qm", "start"], "");
    workspace
}

#[test]
fn git_applies_what_show_prints() {
    let workspace = repository();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: new/file.txt\n+fresh\n*** Delete File: sub/gone.txt\n*** Delete File: sub/empty.txt\n*** Update File: old name.txt\n*** Move to: new name.txt\n@@\n-moved\n+Moved\n*** End Patch\n";
    workspace.feed(&["apply"], patch).exits(0);
    git(&workspace, &["add", "-A"], "");
    let want = git(&workspace, &["write-tree"], "");
    let shown = workspace.run(&["show"]).exits(0).out;
    assert!(shown.contains("+++ /dev/null\n") && shown.contains("--- /dev/null\n"), "{shown}");
    for (from, reverse) in [("HEAD", false), (want.trim(), true)] {
        git(&workspace, &["read-tree", "-u", "--reset", from], "");
        let args: &[&str] = if reverse { &["apply", "--index", "-R"] } else { &["apply", "--index"] };
        git(&workspace, args, &shown);
        let tree = git(&workspace, &["write-tree"], "");
        let wanted_tree = if reverse { git(&workspace, &["rev-parse", "HEAD^{tree}"], "") } else { want.clone() };
        assert_eq!(tree, wanted_tree, "{shown}");
    }
    // From a directory below, too: the names are those of the repository.
    git(&workspace, &["read-tree", "-u", "--reset", "HEAD"], "");
    workspace.run(&["-C", "sub", "edit", "../a.txt", "--old", "one", "--new", "1"]).exits(0);
    let below = workspace.run(&["-C", "sub", "show"]).exits(0).out;
    assert!(below.contains("diff --git a/a.txt b/a.txt"), "{below}");
    git(&workspace, &["checkout", "-q", "a.txt"], "");
    git(&workspace, &["apply"], &below);
    assert_eq!(workspace.get("a.txt"), "1\ntwo\n");
}

#[test]
fn names_are_relative_to_the_current_directory() {
    let workspace = repository();
    let edited = workspace.run(&["edit", "sub/absent.sh", "--old", "nothing", "--new", "bash"]).exits(10);
    assert!(edited.err.contains("sub/absent.sh") && !edited.err.contains(&workspace.path("")), "{edited:?}");
    let edited = workspace.run(&["edit", "sub/run.sh", "--old", "/bin/sh", "--new", "/bin/bash"]).exits(0).out;
    assert!(edited.starts_with("The file sub/run.sh has been updated"), "{edited}");
    for args in [&["history"][..], &["show"], &["search", "bin"], &["check", "sub/run.sh"], &["undo"], &["redo"]] {
        let ran = workspace.run(args);
        assert!(ran.out.contains("run.sh") && !ran.out.contains(&workspace.path("")), "{args:?} {ran:?}");
    }
    let below = workspace.run(&["-C", "sub", "history"]).exits(0).out;
    assert!(below.contains("  run.sh  "), "{below}");
    // A missing file is explained by the directory if that is not the root.
    let absent = ["edit", "absent.sh", "--old", "nothing", "--new", "bash"];
    let below = workspace.run(&[&["-C", "sub", "--root", ".."][..], &absent].concat()).exits(10).err;
    assert!(below.contains("Current working directory: ") && below.contains("/sub."), "{below}");
    assert!(!workspace.run(&absent).exits(10).err.contains("Current working directory"));
    // Programs get absolute paths.
    assert!(workspace.run(&["show", "--json"]).exits(0).out.contains(&workspace.path("sub/run.sh")));
    assert!(workspace.run(&["-C", "gone", "history"]).exits(2).err.contains("gone"));
    // Names beside the directory lead there.
    workspace.put("top.txt", "one\n");
    let above = workspace.run(&["-C", "sub", "edit", "../top.txt", "--old", "one", "--new", "two"]).exits(0).out;
    assert!(above.starts_with("The file ../top.txt has been updated") && above.contains("+++ b/top.txt"), "{above}");
    for args in [&["history"][..], &["search", "two", ".."], &["edit", "../top.txt", "--old", "one", "--new", "two"]] {
        let ran = workspace.run(&[&["-C", "sub"][..], args].concat());
        let text = format!("{}{}", ran.out, ran.err);
        assert!(text.contains("../top.txt") && !text.contains(&workspace.path("top.txt")), "{args:?} {ran:?}");
    }
}

#[test]
fn times_are_local_unless_utc_is_asked_for() {
    let workspace = TestWorkspace::with("one\n");
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    let time = |args: &[&str]| {
        let mut command = workspace.command(args);
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
    assert_eq!(workspace.run(&["history", "--since", "1h"]).exits(0).out.lines().count(), 1);
    let future = workspace.run(&["history", "--since", "2999-01-01"]).exits(0).out;
    assert!(future.starts_with("No operation in the history"), "{future}");
    workspace.run(&["history", "--since", "soon"]).exits(2);
}

#[test]
fn quiet_stat_and_several_files() {
    let workspace = TestWorkspace::with("one\n");
    workspace.put("b.txt", "other\n");
    let quiet = workspace.run(&["-q", "edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str(), workspace.get("a.txt").as_str()), ("", "", "two\n"));
    assert!(workspace.run(&["-q", "edit", "a.txt", "--old", "one", "--new", "two"]).code != 0);
    assert!(workspace.run(&["-q", "read", "a.txt"]).exits(0).out.contains("two"));
    assert_eq!(workspace.run(&["show", "--stat"]).exits(0).out, " a.txt | +1 -1\n 1 file, +1 -1\n");
    let both = workspace.run(&["read", "a.txt", "b.txt"]).exits(0).out;
    assert_eq!(both, "==> a.txt <==\n     1\ttwo\n\n==> b.txt <==\n     1\tother\n");
    assert_eq!(workspace.run(&["read", "a.txt", "gone.txt"]).exits(10).out.lines().count(), 4);
}

#[test]
fn empty_file_prints_nothing_but_a_note() {
    let workspace = TestWorkspace::with("");
    let read = workspace.run(&["read", "a.txt"]).exits(0);
    assert_eq!((&*read.out, read.err.contains("note: Warning: the file exists but")), ("", true), "{read:?}");
    let read = workspace.run(&["read", "a.txt", "--quiet"]).exits(0);
    assert_eq!(read.out + &read.err, "");
}

#[test]
fn people_get_notes_instead_of_reminders() {
    let reminder = "<system-reminder>a line of the file</system-reminder>\n";
    let workspace = TestWorkspace::with(&("one\n".repeat(2500) + reminder));
    let read = workspace.run(&["read", "a.txt"]).exits(0).out;
    assert!(read.ends_with("\nnote: Lines 1 to 2000 of 2501 are shown. Read on with --offset 2001.\n"), "{read}");
    let end = workspace.run(&["read", "a.txt:2501", "--format", "plain"]).exits(0).out;
    assert_eq!(end, reminder);
    let model = workspace.call("read", &json!({ "file_path": workspace.path("a.txt") })).exits(0).json();
    assert!(model["text"].as_str().unwrap().ends_with("Read on with \"offset\": 2001.</system-reminder>\n"), "{model}");
}

#[test]
fn command_sent_twice_changes_the_file_once() {
    let workspace = TestWorkspace::with("import os\n");
    let insertion = ["edit", "a.txt", "--old", "import os", "--new", "import os\nimport sys"];
    workspace.run(&insertion).exits(0);
    let again = workspace.run(&insertion);
    assert!(again.code != 0 && again.err.contains("This call was already carried out"), "{}", again.err);
    assert!(again.err.contains("--repeat"), "{}", again.err);
    assert_eq!(workspace.get("a.txt"), "import os\nimport sys\n");
    workspace.run(&[&insertion[..], &["--repeat"]].concat()).exits(0);
    assert_eq!(workspace.get("a.txt"), "import os\nimport sys\nimport sys\n");
    // After another change of the file, the same command is a new one.
    workspace.put("a.txt", "import os\n");
    workspace.run(&insertion).exits(0);
    // A program that needs no reads gets the same answer.
    let input = json!({ "file_path": workspace.path("a.txt"), "old_string": "import os", "new_string": "import os\nimport re" });
    let call = || workspace.feed(&["call", "edit", "--unread", "allow"], input.to_string());
    call().exits(0);
    assert_eq!(call().json()["code"], "edit.no_change");
    assert_eq!(workspace.get("a.txt"), "import os\nimport re\nimport sys\n");
}

#[test]
fn unknown_hunk_leads_to_the_command_that_lists_them() {
    let workspace = TestWorkspace::with("one\n");
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    let refused = workspace.run(&["undo", "1", "a.txt:9"]);
    let (_, command) = refused.err.split_once("emend show ").unwrap_or_else(|| panic!("{}", refused.err));
    let id = command.split([' ', '`', '.']).next().unwrap();
    assert!(workspace.run(&["show", id]).exits(0).out.contains("+two"));
}

#[test]
fn formats_have_one_spelling_and_former_ones_are_accepted() {
    let workspace = TestWorkspace::with("one\n");
    let blocks = "a.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n";
    let converted =
        |to: &str| workspace.feed(&["convert", "--to", to, "--format", "search-replace"], blocks).exits(0).out;
    let want = converted("unified_diff");
    assert!(want.starts_with("diff --git a/a.txt b/a.txt\n"), "{want}");
    for spelling in ["unified", "unified-diff"] {
        assert_eq!(converted(spelling), want);
    }
    let input = |to: &str| json!({ "input": blocks, "to": to, "directory": workspace.path("") }).to_string();
    let call = |to: &str| workspace.feed(&["--unread", "allow", "call", "convert"], input(to));
    assert_eq!(call("Unified-Diff").exits(0).json()["text"], call("unified").exits(0).json()["text"]);
    let help = workspace.run(&["help", "convert"]).exits(0).out;
    assert!(help.contains("unified_diff, apply_patch, search_replace"), "{help}");
    assert!(workspace.run(&["convert", "--to", "context"]).code == 2);
}

#[test]
fn directories_are_outlined_and_checked() {
    let workspace = TestWorkspace::with("no language\n");
    workspace.put("src/a.py", "def first():\n    pass\n");
    workspace.put("src/sub/b.py", "class Second:\n    def third(self):\n        pass\n");
    workspace.put("src/empty.py", "");
    workspace.put("src/notes.xyz", "nothing");
    workspace.put("ignored.py", "def hidden():\n    pass\n");
    workspace.put(".gitignore", "ignored.py\n");
    let outline = workspace.run(&["outline", "."]).exits(0).out;
    let want = "src/a.py\n1-2\tfunction first\n\nsrc/sub/b.py\n1-3\tclass Second\n2-3\t  ";
    assert!(outline.starts_with(want) && outline.contains("third") && !outline.contains("hidden"), "{outline}");
    let one = workspace.run(&["outline", ".", "-g", "b.py", "--json"]).exits(0).json();
    assert_eq!(one["data"]["files"].as_array().unwrap().len(), 1);
    assert!(workspace.run(&["outline", ".", "--no-ignore"]).exits(0).out.contains("hidden"));
    let checked = workspace.run(&["check", "."]).exits(0).out;
    assert_eq!(checked, "3 of 3 files have no problems.\n");
    workspace.put("src/sub/broken.json", "{\n");
    let checked = workspace.run(&["check", "src", "a.txt"]).exits(1).out;
    let is_listed = checked.contains("src/sub/broken.json: 1 problem");
    assert!(is_listed && checked.ends_with("3 of 5 files have no problems.\n"), "{checked}");
}

#[test]
fn listings_are_coloured_on_request() {
    let workspace = TestWorkspace::with("fn main() {}\n");
    workspace.put("main.rs", "fn main() {}\n");
    workspace.run(&["edit", "a.txt", "--old", "main", "--new", "other"]).exits(0);
    let escapes = regex::Regex::new("\u{1b}\\[[0-9]*m").unwrap();
    for args in [&["read", "main.rs"][..], &["search", "main"], &["outline", "main.rs"], &["history"]] {
        let run = |color: &str| workspace.run(&[args, &["--color", color]].concat()).exits(0).out;
        let (plain, colored) = (run("never"), run("always"));
        assert!(colored.contains('\u{1b}') && !plain.contains('\u{1b}'), "{args:?}: {colored}");
        assert_eq!(escapes.replace_all(&colored, ""), plain, "{args:?}");
        let mut unset = workspace.command(&[args, &["--color", "auto"]].concat());
        unset.env("NO_COLOR", "1").env("FORCE_COLOR", "1");
        assert_eq!(feed(unset, b"").exits(0).out, plain, "{args:?}");
    }
    // Keywords have the colours of the language.
    let read = workspace.run(&["read", "main.rs", "--color", "always"]).exits(0).out;
    assert!(read.contains("\u{1b}[1m\u{1b}[34mfn\u{1b}[0m"), "{read:?}");
}

#[test]
fn long_output_on_a_terminal_goes_through_the_pager() {
    if !external::has(&["tmux"]) {
        return;
    }
    let workspace = TestWorkspace::with(&"line\n".repeat(200));
    workspace.put("short.txt", "short\n");
    // The pager shows its input, and the number of lines.
    workspace.put("page.sh", "printf 'PAGED '; wc -l\n");
    let terminal = Terminal::open(&workspace);
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
    let config = workspace.beside("home/.config/emendate");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[terminal]\npager = 'sh page.sh; echo of the file'\n").unwrap();
    terminal.types("unset EMEND_PAGER; emend read a.txt; echo \"fifth [$?]\"");
    assert!(terminal.shows("fifth [0]").contains("of the file"));
    terminal.types("EMEND_PAGER=/absent emend read a.txt; echo \"sixth [$?]\"");
    assert!(terminal.shows("sixth [0]").contains("   200  line"));
}
