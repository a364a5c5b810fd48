//! read, edit, multi-edit and write, as a person types them.

use crate::workspace::{TestWorkspace, feed};
use serde_json::json;

#[test]
fn read_shows_lines() {
    let workspace = TestWorkspace::with("one\ntwo\nthree\n");
    assert_eq!(workspace.run(&["read", "a.txt"]).exits(0).out, "     1\tone\n     2\ttwo\n     3\tthree\n");
    for args in [&["read", "a.txt:2-3"][..], &["read", "a.txt:2-"], &["read", "a.txt", "--offset", "2", "--limit", "2"]]
    {
        assert_eq!(workspace.run(args).exits(0).out, "     2\ttwo\n     3\tthree\n", "{args:?}");
    }
    assert_eq!(workspace.run(&["read", "a.txt:2", "--format", "plain"]).exits(0).out, "two\n");
    // What is said about the text is not part of it.
    for text in ["", "\n\n"] {
        workspace.put("blank.txt", text);
        let ran = workspace.run(&["read", "blank.txt", "--format", "plain"]).exits(0);
        assert_eq!(ran.out, text);
        assert!(ran.err.contains("the file exists but the contents are empty"), "{}", ran.err);
    }
    assert!(workspace.run(&["read", "a.txt:3-2"]).exits(2).err.contains("A ≤ B"));
    workspace.run(&["read", "a.txt:0"]).exits(2);
    workspace.run(&["read", "a.txt:1-2", "--limit", "1"]).exits(2);
    workspace.run(&["read", "a.txt:99999999999999999999"]).exits(2);
    workspace.run(&["read", "a.txt:9-"]).exits(10);
    workspace.put("odd:1-2", "itself\n");
    assert!(workspace.run(&["read", "odd:1-2"]).exits(0).out.contains("itself"));
    assert!(workspace.run(&["read", "a.txt", "--format", "no"]).exits(2).err.contains("numbered, plain"));
}

#[test]
fn wrong_command_lines_name_what_is_wrong() {
    let workspace = TestWorkspace::with("one\n");
    let with = |variable: &str, value: &str, args: &[&str]| {
        let mut command = workspace.command(args);
        command.env(variable, value);
        feed(command, b"").exits(2)
    };
    let empty = with("EMEND_STATE", "", &["read", "a.txt"]);
    assert!(empty.err.contains("the variable EMEND_STATE is empty") && !empty.err.contains("--state"), "{empty:?}");
    let wrong = with("EMEND_UNREAD", "no", &["read", "a.txt"]);
    assert!(wrong.err.contains("'no' of the variable EMEND_UNREAD\n  [possible values: deny, allow]"), "{wrong:?}");
    let profile = with("EMEND_PROFILE", "no", &["mcp"]);
    assert!(profile.err.contains("'no' of the variable EMEND_PROFILE"), "{profile:?}");
    let typed = with("EMEND_UNREAD", "deny", &["read", "a.txt", "--unread=no"]);
    assert!(typed.err.contains("'no' for '--unread <WORD>'"), "{typed:?}");
    let json = with("EMEND_UNREAD", "no", &["read", "a.txt", "--json"]).json();
    assert_eq!(json["message"], "invalid value 'no' of the variable EMEND_UNREAD");
    let negative = workspace.run(&["read", "a.txt", "--offset", "-1"]).exits(2);
    assert!(negative.err.contains("invalid value '-1' for '--offset <N>'"), "{negative:?}");
    assert_eq!(workspace.run(&["-C", "gone", "read", "a.txt", "--json"]).exits(2).json()["code"], "call.invalid");
    let json = workspace.run(&["edit", "a.txt", "b.txt", "--json"]).exits(2).json();
    assert_eq!(json["code"], "call.invalid");
    assert!(json["evidence"].as_str().unwrap().contains("Usage: emend edit"), "{json}");
}

#[test]
fn closed_standard_input_is_no_empty_text() {
    let workspace = TestWorkspace::with("one\n");
    let from = |input: &str| {
        let plain = workspace.command(&["write", "a.txt"]);
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", &format!("exec \"$0\" \"$@\" {input}")]).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(workspace.work()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        feed(command, b"")
    };
    let refused = from("<&-").exits(2);
    assert!(refused.err.contains("Standard input is closed") && workspace.get("a.txt") == "one\n", "{refused:?}");
    from("< /dev/null").exits(0);
    assert_eq!(workspace.get("a.txt"), "");
}

#[test]
fn search_shows_hits() {
    let workspace = TestWorkspace::with("one\ntwo\nthree\n");
    let out = workspace.run(&["search", "t(wo|hree)"]).exits(0).out;
    assert!(out.contains("a.txt (tag ") && out.contains("     2\ttwo\n     3\tthree\n"), "{out}");
}

#[test]
fn relative_paths_start_at_the_current_folder() {
    let workspace = TestWorkspace::with("top\n");
    workspace.put("sub/b.txt", "below\n");
    std::fs::create_dir(workspace.work().join(".git")).unwrap();
    let from_sub = |args: &[&str]| {
        let mut command = workspace.command(args);
        command.current_dir(workspace.work().join("sub"));
        feed(command, b"")
    };
    assert!(from_sub(&["read", "b.txt"]).exits(0).out.contains("below"));
    // The enclosing repository is the root, so the folder above can be reached, but nothing beside it.
    assert!(from_sub(&["read", "../a.txt"]).exits(0).out.contains("top"));
    let outside = from_sub(&["read", "../../x.txt"]).exits(14);
    assert!(outside.err.contains("[path.outside]") && outside.err.contains("--root"), "{outside:?}");
    assert!(from_sub(&["read", "c.txt"]).exits(10).err.contains("file.not_found"));
    let root = workspace.beside("");
    std::fs::write(workspace.beside("x.txt"), "beside\n").unwrap();
    assert!(from_sub(&["read", "../../x.txt", "--root", root.to_str().unwrap()]).exits(0).out.contains("beside"));
    let mut command = workspace.command(&["read", "../x.txt"]);
    command.env("EMEND_ROOT", &root);
    feed(command, b"").exits(0);
}

#[test]
fn edit_by_arguments_files_and_standard_input() {
    let workspace = TestWorkspace::with("one two\nthree\n");
    let ran = workspace.run(&["edit", "a.txt", "--old", "two", "--new", "2"]).exits(0);
    assert!(ran.out.contains("-one two\n+one 2\n three\n") && ran.out.contains("@@ -1,2 +1,2 @@"), "{}", ran.out);
    assert_eq!((ran.err.as_str(), workspace.get("a.txt").as_str()), ("", "one 2\nthree\n"));
    workspace.put("old", "one 2\n");
    workspace.put("new", "uno\n");
    workspace.run(&["edit", "a.txt", "--old-file", "old", "--new-file", "new"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "uno\nthree\n");
    workspace.feed(&["edit", "a.txt", "--old-file", "-", "--new", ""], "three\n").exits(0);
    assert_eq!(workspace.get("a.txt"), "uno\n");
    workspace.feed(&["edit", "a.txt"], r#"{"old_string": "uno", "new_string": "- - -"}"#).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "-", "--new", "-x", "--all"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "-x -x -x\n");
    workspace.run(&["edit", "a.txt", "--old", "-x", "--new", "y", "--expect", "2"]).exits(17);
    workspace.run(&["edit", "a.txt", "--old", "-x", "--new", "y", "--expect", "3"]).exits(0);
    workspace.run(&["edit", "made.txt", "--old", "", "--new", "new\n"]).exits(0);
    assert_eq!(workspace.get("made.txt"), "new\n");
}

#[test]
fn usage_errors_exit_with_2() {
    let workspace = TestWorkspace::with("a\n");
    let wrong: [&[&str]; 9] = [
        &["edit", "a.txt", "--old", "a"],
        &["edit", "a.txt", "--new", "a"],
        &["edit", "a.txt", "--old", "a", "--old-file", "b", "--new", "c"],
        &["edit", "a.txt", "--old-file", "-", "--new-file", "-"],
        &["edit"],
        &["frobnicate"],
        &["read", "a.txt", "--colour", "red"],
        &["--on-stale", "maybe", "read", "a.txt"],
        &[],
    ];
    for args in wrong {
        assert!(!workspace.run(args).exits(2).err.is_empty(), "{args:?}");
    }
    for input in
        ["nonsense", "[]", r#"{"file_path": "/x", "old_string": "a", "new_string": "b"}"#, r#"{"old_string": "a"}"#]
    {
        assert!(workspace.feed(&["edit", "a.txt"], input).exits(2).err.contains("[call.invalid]"), "{input}");
    }
    assert!(workspace.run(&["edit", "a.txt"]).exits(2).err.contains("Give --old and --new"));
    workspace.feed(&["multi-edit", "a.txt"], "{}").exits(2);
    workspace.feed(&["edit", "a.txt"], b"\xff").exits(2);
    workspace.run(&["edit", "a.txt", "--old-file", "gone", "--new", ""]).exits(2);
    assert_eq!(workspace.get("a.txt"), "a\n");
}

#[test]
fn multi_edit_is_all_or_nothing() {
    let workspace = TestWorkspace::with("a\nb\n");
    let edits = json!([{"old_string": "b", "new_string": "B"}, {"old_string": "a", "new_string": "A"}]).to_string();
    workspace.feed(&["multi-edit", "a.txt"], &edits).exits(0);
    assert_eq!(workspace.get("a.txt"), "A\nB\n");
    assert!(
        workspace
            .feed(
                &["multi-edit", "a.txt"],
                r#"[{"old_string":"A","new_string":"x"},{"old_string":"q","new_string":"y"}]"#
            )
            .exits(10)
            .out
            .is_empty()
    );
    assert_eq!(workspace.get("a.txt"), "A\nB\n");
    let chain = r#"[{"old_string":"A","new_string":"x"},{"old_string":"x","new_string":"y"}]"#;
    workspace.put("edits.json", chain);
    workspace.run(&["multi-edit", "a.txt", "--edits", "edits.json"]).exits(17);
    workspace.run(&["multi-edit", "a.txt", "--edits", "edits.json", "--in-turn"]).exits(0);
    assert_eq!(workspace.get("a.txt"), "y\nB\n");
}

#[test]
fn write_creates_and_replaces() {
    let workspace = TestWorkspace::new();
    let ran = workspace.feed(&["write", "deep/new.txt"], "hello\n").exits(0);
    assert!(ran.out.contains("+hello") && ran.out.contains("--- /dev/null"), "{}", ran.out);
    workspace.put("from", "other\n");
    workspace.run(&["write", "deep/new.txt", "--from", "from"]).exits(0);
    assert_eq!(workspace.get("deep/new.txt"), "other\n");
    let same = workspace.run(&["write", "deep/new.txt", "--from", "from"]).exits(0);
    assert_eq!(same.out.lines().count(), 1, "{}", same.out);
}

#[test]
fn a_dry_run_leaves_the_file() {
    let workspace = TestWorkspace::with("a\n");
    for args in [&["edit", "a.txt", "--old", "a", "--new", "b", "--dry-run"][..], &["--dry-run", "write", "a.txt"]] {
        assert!(workspace.run(args).exits(0).out.contains("would be"), "{args:?}");
    }
    assert_eq!(workspace.get("a.txt"), "a\n");
}

#[test]
fn json_is_what_call_prints() {
    let workspace = TestWorkspace::with("a\nb\n");
    let typed = workspace.run(&["read", "a.txt", "--json"]).exits(0);
    let called = workspace.call("read", &json!({ "file_path": workspace.path("a.txt") })).exits(0);
    assert_eq!(typed.out, called.out);
    let typed = workspace.run(&["--json", "edit", "a.txt", "--old", "q", "--new", "r"]).exits(10);
    let called = workspace
        .call("edit", &json!({ "file_path": workspace.path("a.txt"), "old_string": "q", "new_string": "r" }))
        .exits(10);
    assert_eq!(typed.out, called.out);
    assert_eq!(
        (typed.json()["code"].as_str(), typed.json()["error_code"].as_u64()),
        (Some("match.not_found"), Some(8))
    );
    assert_eq!(
        workspace.run(&["--json", "edit", "a.txt", "--old-file", "gone", "--new", ""]).exits(2).json()["ok"],
        false
    );
}

#[test]
fn exit_statuses() {
    let workspace = TestWorkspace::with("x\nx\ny\n");
    workspace.run(&["edit", "a.txt", "--old", "q", "--new", "r"]).exits(10);
    let ran = workspace.run(&["edit", "a.txt", "--old", "x", "--new", "r"]).exits(11);
    assert!(ran.out.is_empty() && ran.err.starts_with("error: ") && ran.err.contains("\nnext: "), "{ran:?}");
    assert!(ran.err.contains("[match.ambiguous]") && ran.err.contains("--all"), "{ran:?}");
    workspace.run(&["edit", "a.txt", "--old", "y", "--new", "y"]).exits(17);
    workspace.put("binary", b"\x7fELF\0\0\0\0");
    workspace.run(&["read", "binary"]).exits(15);
    assert!(workspace.run(&["read", "."]).exits(0).out.contains("a.txt"));
    workspace.put(".env", "secret\n");
    workspace.run(&["read", ".env"]).exits(14);
    workspace.run(&["read", ".env", "--allow", ".env"]).exits(0);
    assert!(workspace.run(&["read", "a.txt", "--root", "gone"]).exits(2).err.contains("root"));
    let mut command = workspace.command(&["edit", "a.txt", "--old", "y", "--new", "z", "--json"]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let full = command.output().unwrap();
    assert_eq!((full.status.code(), workspace.get("a.txt").as_str()), (Some(21), "x\nx\nz\n"));
    assert!(String::from_utf8_lossy(&full.stderr).contains("[io.partial]"));
    // Commands that change nothing say so.
    for args in [&["read", "a.txt"][..], &["read", "a.txt", "--json"], &["--help"], &["man"]] {
        let mut command = workspace.command(args);
        command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let full = command.output().unwrap();
        let err = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(20), "{args:?} {err}");
        assert!(err.contains("[io.no_space]") && err.contains("Nothing was changed"), "{args:?} {err}");
    }
}

#[test]
fn a_stale_file_is_merged_or_refused() {
    let workspace = TestWorkspace::with("one\ntwo\nthree\nfour\nfive\n");
    workspace.run(&["read", "a.txt"]).exits(0);
    workspace.put("a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "1", "--on-stale", "reject"]).exits(12);
    let merged = workspace.run(&["edit", "a.txt", "--old", "one", "--new", "1"]);
    assert!(merged.code == 0, "{merged:?}");
    assert_eq!(workspace.get("a.txt"), "1\ntwo\nthree\nfour\nFIVE\n");
}

#[test]
fn two_processes_share_a_session() {
    let workspace = TestWorkspace::with("a\n");
    let edit = |session: &str| {
        workspace.run(&["edit", "a.txt", "--old", "a", "--new", "b", "--unread", "deny", "--session", session])
    };
    assert!(edit("one").exits(14).err.contains("read.required"));
    workspace.run(&["read", "a.txt", "--session", "one"]).exits(0);
    edit("two").exits(14);
    edit("one").exits(0);
    assert_eq!(workspace.get("a.txt"), "b\n");
    let memory = |args: &[&str]| workspace.run(&[args, &["--state", "none", "--session", "three"]].concat());
    memory(&["read", "a.txt"]).exits(0);
    memory(&["edit", "a.txt", "--old", "b", "--new", "c", "--unread", "deny"]).exits(14);
}

#[test]
fn a_state_that_cannot_be_kept_is_a_notice() {
    let workspace = TestWorkspace::with("a\n");
    workspace.put("file", "");
    let state = workspace.path("file/state");
    let ran = workspace.run(&["edit", "a.txt", "--old", "a", "--new", "b", "--state", &state]).exits(0);
    assert!(ran.err.starts_with("note: ") && ran.err.contains("remember"), "{ran:?}");
    assert_eq!(workspace.get("a.txt"), "b\n");
    let quiet = workspace.run(&["read", "a.txt", "--state", workspace.beside("fresh").to_str().unwrap()]).exits(0);
    assert_eq!(quiet.err, "");
}

#[test]
fn other_encodings() {
    let workspace = TestWorkspace::new();
    workspace.put("latin.txt", b"caf\xe9\n");
    let ran = workspace.run(&["read", "latin.txt", "--encoding", "latin1", "--json"]).exits(0);
    assert!(ran.json()["text"].as_str().unwrap().contains("café"));
    workspace.run(&["edit", "latin.txt", "--old", "café", "--new", "thé", "--encoding", "latin1"]).exits(0);
    assert_eq!(std::fs::read(workspace.work().join("latin.txt")).unwrap(), b"th\xe9\n");
    let tag = workspace.run(&["read", "latin.txt", "--encoding", "latin1", "--json"]).json()["data"]["tag"].clone();
    let tagged = ["--tag", tag.as_str().unwrap(), "--unread", "deny", "--session", "other"];
    workspace.run(&[&["edit", "latin.txt", "--old", "t", "--new", "T"], &tagged[..]].concat()).exits(0);
    workspace.run(&["edit", "latin.txt", "--old", "T", "--new", "t", "--tag", "nonsense"]).exits(2);
}

#[test]
fn apply_takes_blocks_for_several_files() {
    let workspace = TestWorkspace::with("one\ntwo\nthree\n");
    workspace.put("b.txt", "alpha\nbeta\n");
    let block =
        |path: &str, old: &str, new: &str| format!("{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
    let both = block("a.txt", "two", "2") + &block("b.txt", "beta", "BETA");
    let dry = workspace.feed(&["apply", "--dry-run"], &both).exits(0);
    assert!(dry.out.contains("+BETA") && workspace.get("b.txt") == "alpha\nbeta\n", "{}", dry.out);
    let done = workspace.feed(&["apply", "-", "--format", "search_replace"], &both).exits(0);
    assert!(done.out.contains("-two") && done.out.contains("+BETA"), "{}", done.out);
    assert_eq!(
        (workspace.get("a.txt"), workspace.get("b.txt")),
        ("one\n2\nthree\n".to_owned(), "alpha\nBETA\n".to_owned())
    );
    workspace.put("reply.md", block("a.txt", "nothing like this", "x") + &block("b.txt", "alpha", "A"));
    assert!(workspace.run(&["apply", "reply.md"]).exits(10).err.contains("match.not_found"));
    assert_eq!(workspace.get("b.txt"), "alpha\nBETA\n");
    let part = workspace.run(&["apply", "reply.md", "--partial"]).exits(0).out;
    assert!(part.contains("not applied") && part.contains("\nnext: "), "{part}");
    assert_eq!(workspace.get("b.txt"), "A\nBETA\n");
    assert!(workspace.feed(&["apply"], "no block here").exits(16).err.contains("edit.unparsable"));
    workspace.run(&["apply", "missing.md"]).exits(2);
}

#[test]
fn names_that_are_no_utf8_are_edited_too() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = TestWorkspace::new();
    let name = OsStr::from_bytes(b"caf\xe9");
    std::fs::write(workspace.work().join(name), "one\n").unwrap();
    let args = |words: &[&str]| {
        let mut all: Vec<&OsStr> = vec![OsStr::new(words[0]), name];
        all.extend(words[1..].iter().map(OsStr::new));
        workspace.command(&[]).args(all).output().unwrap()
    };
    assert!(args(&["edit", "--old", "one", "--new", "two"]).status.success());
    assert!(String::from_utf8_lossy(&args(&["read"]).stdout).contains("two"));
    assert!(!args(&["restore", "1-0000"]).status.success());
    // The history names it as well: as text, and in its data for programs.
    let run = |args: &[&OsStr]| {
        let out = workspace.command(&[]).args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    assert!(run(&[OsStr::new("history"), OsStr::new("--file"), name]).contains("  edit  "));
    let rows: serde_json::Value = serde_json::from_str(&run(&[OsStr::new("history"), OsStr::new("--json")])).unwrap();
    let raw = &rows["data"]["operations"][0]["files"][0]["path_b64"];
    let expected = emendate::raw_path(&workspace.work().join(name)).unwrap();
    assert_eq!(raw, expected.as_str(), "{rows}");
    let text = || std::fs::read_to_string(workspace.work().join(name)).unwrap();
    run(&[OsStr::new("undo"), OsStr::new("--file"), name]);
    assert_eq!(text(), "one\n");
    let at = OsStr::from_bytes(b"caf\xe9@1");
    run(&[OsStr::new("restore"), at]);
    assert_eq!(text(), "two\n");
    run(&[OsStr::new("search"), OsStr::new("two"), name]);
    // A refusal suggests a call that names the same file.
    let unseen = workspace
        .command(&["edit", "--old", "two", "--new", "2", "--unread", "deny", "--session", "other"])
        .arg(name)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&unseen.stderr).into_owned();
    assert!(!unseen.status.success() && said.contains(r"emend read $'caf\xe9'"), "{said}");
}

#[test]
fn replace_changes_every_file_or_says_why_not() {
    let workspace = TestWorkspace::with("old old\n");
    workspace.put("src/b.rs", "fn old() {}\n");
    workspace.put("src/c.md", "old\n");
    let trial = workspace.run(&["replace", "old", "new", "src", "--dry-run"]).exits(0).out;
    assert!(trial.starts_with("Would replace 2 places in 2 files.") && trial.contains("+fn new() {}"), "{trial}");
    let counted = workspace.run(&["replace", "old", "new", "src", "--expect", "3"]).exits(17).err;
    assert!(counted.contains("2 places of 2 files"), "{counted}");
    workspace.run(&["replace", "old", "new", "src", "-g", "*.rs", "--expect", "1", "--expect-files", "1"]).exits(0);
    assert_eq!((workspace.get("src/b.rs"), workspace.get("src/c.md")), ("fn new() {}\n".into(), "old\n".into()));
    let told = workspace.run(&["replace", "-e", "(o)(ld)", "$2$1", "--json"]).exits(0).json();
    assert_eq!((&told["data"]["replacements"], workspace.get("a.txt")), (&json!(3), "ldo ldo\n".to_owned()));
    workspace.run(&["replace", "absent", "x"]).exits(10);
    workspace.run(&["replace", "-i", "a", "b"]).exits(2);
}

#[test]
fn ctrl_c_leaves_all_files_old_or_all_new() {
    let workspace = TestWorkspace::new();
    const FILES: usize = 400;
    let name = |nth: usize| format!("d{}/f{nth}.txt", nth % 20);
    (0..FILES).for_each(|nth| workspace.put(&name(nth), format!("{nth} one\n")));
    let (mut old, mut new) = ("one", "two");
    for round in 0..8u64 {
        let mut command = workspace.command(&["replace", old, new]);
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20 * round));
        let _ = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let done = child.wait().unwrap().code() == Some(0);
        if done {
            (old, new) = (new, old);
        }
        let wrong = (0..FILES).find(|&nth| workspace.get(&name(nth)) != format!("{nth} {old}\n"));
        assert_eq!(wrong, None, "round {round}, {done}");
    }
    let left = std::fs::read_dir(workspace.work().join("d0")).unwrap().count();
    assert_eq!(left, FILES / 20, "no temporary file is left");
}
