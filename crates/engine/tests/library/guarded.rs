//! The guard on a real disk: links, identity, and names that JSON cannot represent.

use crate::bench::{Bench, ok};
use emendate::{Config, Reply, StateLocation};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

#[track_caller]
fn denied(reply: &Reply) {
    let error = reply.result.as_ref().unwrap_err();
    assert_eq!(error.code().as_str(), "access.denied", "{error}");
    assert!(!error.next_step().is_empty());
}

#[test]
fn link_to_a_guarded_directory_is_guarded() {
    let bench = Bench::trusted(Config::default());
    bench.put(".git/config", "[core]\n");
    symlink(".git", bench.root.join("plain")).unwrap();
    symlink(".git/config", bench.root.join("file")).unwrap();
    symlink(".vscode", bench.root.join("dangling")).unwrap();
    denied(&bench.write("plain/config", "written\n"));
    denied(&bench.write("plain/hooks/pre-commit", "written\n"));
    denied(&bench.write("file", "written\n"));
    // The target does not exist yet, so the link is refused as broken; once the directory exists, as guarded.
    assert!(bench.write("dangling/settings.json", "written\n").result.is_err());
    fs::create_dir(bench.root.join(".vscode")).unwrap();
    denied(&bench.write("dangling/settings.json", "written\n"));
    ok(&bench.read("file"));
    // The link itself may be removed: it is not a control file.
    ok(&bench.apply("*** Begin Patch\n*** Delete File: file\n*** End Patch\n"));
    assert_eq!(fs::read_to_string(bench.root.join(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn target_of_a_guarded_link_is_guarded() {
    let bench = Bench::trusted(Config::default());
    bench.put("config/settings.json", "{}\n");
    bench.put("config/prod.txt", "KEY=1\n");
    bench.put("other/free.txt", "x\n");
    symlink("config", bench.root.join(".vscode")).unwrap();
    symlink("config/prod.txt", bench.root.join(".env")).unwrap();
    for name in ["config/settings.json", ".vscode/settings.json", "config/new.json", "config/deep/new.json"] {
        denied(&bench.write(name, "written\n"));
    }
    denied(&bench.read(".env"));
    ok(&bench.write("other/free.txt", "written\n"));
    let secret = bench.read("config/prod.txt");
    denied(&secret);
    assert!(secret.text().contains("is the same as .env"), "{}", secret.text());
}

#[test]
fn hard_link_to_a_guarded_file_is_guarded() {
    let bench = Bench::trusted(Config::default());
    let link = |from: &str, to: &str| fs::hard_link(bench.root.join(from), bench.root.join(to)).unwrap();
    bench.put(".git/config", "[core]\n");
    bench.put(".git/hooks/pre-commit", "#!/bin/sh\n");
    bench.put(".git/objects/ab/cdef", "blob\n");
    bench.put(".env", "KEY=1\n");
    bench.put("keys/server.pem", "key\n");
    bench.put("src/a.txt", "x\n");
    bench.put("src/deep/x", "x\n");
    link(".git/config", "notes.txt");
    link(".git/hooks/pre-commit", "src/deep/notes.txt");
    link(".env", "src/notes.txt");
    link("keys/server.pem", "keys/server.txt");
    link("src/a.txt", "src/b.txt");
    denied(&bench.write("notes.txt", "written\n"));
    denied(&bench.write("src/deep/notes.txt", "written\n"));
    denied(&bench.write("src/notes.txt", "written\n"));
    denied(&bench.read("src/notes.txt"));
    denied(&bench.read("keys/server.txt"));
    let found = bench.call("search", json!({ "path": bench.root, "pattern": "KEY|key|x", "hidden": true }));
    ok(&found);
    assert!(
        found.text().contains("src/a.txt") && !found.text().contains("KEY") && !found.text().contains("server.txt")
    );
    // A link to an unguarded file is allowed, and the control file may be read by either name.
    ok(&bench.write("src/b.txt", "written\n"));
    ok(&bench.read("notes.txt"));
    assert_eq!(fs::read_to_string(bench.root.join(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn record_of_a_refusal_quotes_no_secret_file() {
    let config = Config::default().with_file("[policy]\nallow = ['.env']\n", "test", true).unwrap();
    let bench = Bench::open(config, |beside| StateLocation::Directory(beside.join("state")));
    for name in [".env", "plain.txt"] {
        bench.put(name, "a=1\nTOKEN=hunter2\n");
        ok(&bench.read(name));
        // The refusal quotes the real line and suggests it.
        let refused = bench.edit(name, "2\tTOKEN=hunter", "x").result.unwrap_err();
        assert!(refused.to_string().contains("hunter2"), "{refused}");
    }
    let kept = bench.engine.review().refusals(10);
    assert_eq!(kept.len(), 2);
    let quotes = |name: &str| {
        let refusal = kept.iter().find(|it| it.path.ends_with(name)).unwrap();
        format!("{refusal:?}").contains("hunter2")
    };
    assert_eq!((quotes(".env"), quotes("plain.txt")), (false, true));
}

#[test]
fn recently_created_second_name_is_noticed() {
    // With a small directory, which is listed, and with one in which every name is looked up: it is large, or has a
    // name whose equality only the kernel can decide.
    for (crowd, beside) in [(0, "x"), (400, "x"), (0, "caf\u{e9}")] {
        let bench = Bench::trusted(Config::default());
        (0..crowd).for_each(|nth| drop(bench.put(format!("src/crowd-of-files-{nth}"), "")));
        bench.put(format!("src/{beside}"), "");
        bench.put("src/config/settings.json", "{}\n");
        bench.put("src/notes.txt", "a\n");
        let at = |name: &str| bench.root.join("src").join(name);
        for text in ["[1]\n", "[2]\n", "[3]\n"] {
            ok(&bench.write("src/config/settings.json", text));
            ok(&bench.write("src/notes.txt", text));
            symlink("config", at(".vscode")).unwrap();
            fs::rename(at("notes.txt"), at(".env")).unwrap();
            fs::hard_link(at(".env"), at("notes.txt")).unwrap();
            denied(&bench.write("src/config/settings.json", text));
            denied(&bench.read("src/notes.txt"));
            // The guarded name points elsewhere, and only for that moment.
            fs::remove_file(at(".vscode")).unwrap();
            fs::remove_file(at(".env")).unwrap();
            symlink("crowd-of-files-1", at(".vscode")).unwrap();
            ok(&bench.write("src/config/settings.json", text));
            ok(&bench.read("src/notes.txt"));
            symlink("notes.txt", at(".env")).unwrap();
            denied(&bench.read("src/notes.txt"));
            fs::remove_file(at(".env")).unwrap();
            fs::remove_file(at(".vscode")).unwrap();
        }
    }
}

#[test]
fn rule_for_a_guarded_name_applies_to_its_other_names() {
    let bench = Bench::trusted(Config::default().with_allow_rule(".vscode", "--allow").unwrap());
    bench.put("config/settings.json", "{}\n");
    symlink("config", bench.root.join(".vscode")).unwrap();
    ok(&bench.write("config/settings.json", "[\"written\"]\n"));
    let strict = Bench::trusted(Config::default().with_deny_rule("locked", "emend.toml").unwrap());
    strict.put("real/f", "x\n");
    symlink("real", strict.root.join("locked")).unwrap();
    denied(&strict.write("locked/f", "written\n"));
}

#[test]
fn both_ends_of_a_move_are_guarded() {
    let bench = Bench::trusted(Config::default());
    bench.put("hook", "#!/bin/sh\n");
    bench.put(".git/config", "[core]\n");
    bench.put(".env", "KEY=1\n");
    fs::create_dir(bench.root.join(".x")).unwrap();
    bench.put(".x/config", "[core]\n");
    let git = |how: &str, from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nsimilarity index 100%\n{how} from {from}\n{how} to {to}\n")
    };
    for (how, from, to) in [
        ("rename", "hook", ".git/hooks/pre-commit"),
        ("rename", "hook", ".GIT/hooks/pre-commit"),
        ("copy", "hook", ".vscode/tasks.json"),
        ("rename", ".git/config", "config"),
        ("copy", ".env", "env.txt"),
        ("rename", ".x/config", ".git/x"),
        // A directory is never moved whole, so none gets a guarded name in this way.
        ("rename", "hook", ".claude/settings.json"),
    ] {
        denied(&bench.apply(&git(how, from, to)));
    }
    // A directory is not moved at all.
    assert!(bench.apply(&git("rename", ".x", ".hg")).result.is_err());
    let link = "diff --git a/.git b/.git\nnew file mode 120000\n--- /dev/null\n+++ b/.git\n@@ -0,0 +1 @@\n+.x\n\\ No newline at end of file\n";
    fs::remove_dir_all(bench.root.join(".git")).unwrap();
    denied(&bench.apply(link));
    ok(&bench.apply(&git("rename", "hook", "kept")));
}

#[test]
fn engine_state_is_inaccessible() {
    let bench = Bench::open(Config::default(), |root| StateLocation::Directory(root.join("deep/state")));
    let state = bench.path("deep/state");
    ok(&bench.write("deep/file", "written\n"));
    assert!(fs::read_dir(&state).unwrap().next().is_some());
    denied(&bench.write("deep/state/journal/00000001.record", "written\n"));
    denied(&bench.read("deep/state/x"));
}

#[test]
fn changed_files_that_instruct_agents_are_flagged() {
    let bench = Bench::trusted(Config::default());
    bench.put("AGENTS.md", "a\n");
    let note = |reply: &Reply| reply.to_json()["data"]["notes"].to_string();
    let changed = bench.write("AGENTS.md", "written\n");
    assert!(note(&changed).contains("AGENTS.md is read by agents as instructions"), "{}", changed.text());
    assert!(changed.text().contains("a person should review this change"));
    assert!(note(&bench.write(".github/workflows/ci.yml", "written\n")).contains("rights of the repository"));
    assert_eq!(note(&bench.write("README.md", "written\n")), "[]");
    assert_eq!(note(&bench.write("AGENTS.md", "written\n")), "[]", "nothing was changed");
}

fn base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}

#[test]
fn file_with_a_name_that_is_not_utf8_is_edited_by_path_bytes() {
    let bench = Bench::trusted(Config::default());
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    let path = bench.put(name, "one\n");
    let other = bench.put("caf\u{FFFD}.txt", "another\n");
    let raw = base64(path.as_os_str().as_bytes());
    let read = bench.call("read", json!({ "path_b64": raw }));
    ok(&read);
    assert_eq!(read.to_json()["data"]["path_b64"], raw.as_str());
    assert!(
        read.to_json()["data"]["filePath"].as_str().unwrap().ends_with("caf\\xE9.txt") && read.text().contains(&raw)
    );
    let edit = bench.call("edit", json!({ "path_b64": raw, "old_string": "one", "new_string": "two" }));
    ok(&edit);
    assert_eq!(edit.to_json()["data"]["path_b64"], raw.as_str());
    // The displayed name may be given as well; another name may not.
    let shown = read.to_json()["data"]["filePath"].clone();
    let edits = json!([{ "old_string": "two", "new_string": "three" }]);
    ok(&bench.call("multi_edit", json!({ "file_path": shown, "path_b64": raw, "edits": edits })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
    let two = bench.call("write", json!({ "file_path": bench.root.join("x"), "path_b64": raw, "content": "" }));
    assert_eq!(two.result.unwrap_err().code().as_str(), "call.invalid");
    let wrong = bench.call("read", json!({ "path_b64": "*" }));
    assert_eq!(wrong.result.unwrap_err().code().as_str(), "call.invalid");
    let new = bench.root.join(OsStr::from_bytes(b"new\xff/f"));
    ok(&bench.call("write", json!({ "path_b64": base64(new.as_os_str().as_bytes()), "content": "x\n" })));
    assert_eq!(fs::read_to_string(new).unwrap(), "x\n");
    assert_eq!(fs::read_to_string(other).unwrap(), "another\n");
    // The guard is the same.
    let guarded = bench.root.join(OsStr::from_bytes(b".git/\xff"));
    denied(&bench.call("write", json!({ "path_b64": base64(guarded.as_os_str().as_bytes()), "content": "" })));
    // A caller that only has the displayed name gets the bytes.
    fs::remove_file(bench.root.join("caf\u{FFFD}.txt")).unwrap();
    let near = bench.read("caf\u{FFFD}x.txt");
    assert_eq!(near.result.unwrap_err().data()["path_b64"], raw.as_str());
}

#[test]
fn names_are_shown_on_one_line_and_unchanged() {
    let bench = Bench::trusted(Config::default());
    for name in ["a\nb.txt", "a\u{1b}[31mb.txt", "a\u{202E}txt.exe", "a\u{200B}b.txt", "a\r b.txt"] {
        let path = bench.put(name, "one\n");
        let replies = [
            bench.read(name),
            bench.call("edit", json!({ "file_path": path, "old_string": "one", "new_string": "two" })),
            bench.call("edit", json!({ "file_path": path, "old_string": "none", "new_string": "two" })),
            bench.write(&format!("{name}/x"), "written\n"),
            bench.call("history", json!({})),
            bench.call("undo", json!({})),
        ];
        for reply in replies {
            let said = format!("{}\n{}", reply.text(), serde_json::to_string_pretty(&reply.to_json()).unwrap());
            let unseen = |char: char| matches!(char, '\u{1b}' | '\u{202E}' | '\u{200B}' | '\r');
            assert!(!said.contains(unseen) && !said.contains("a\nb.txt"), "{name:?}: {said}");
        }
        // A displayed name from a reply is accompanied by its bytes.
        let raw = base64(path.as_os_str().as_bytes());
        let history = bench.call("history", json!({})).to_json();
        ok(&bench.read(name));
        let replaced = json!({ "path": bench.root, "old_string": "one", "new_string": "two", "expected": 1 });
        for reply in [
            bench.read(name).to_json()["data"].clone(),
            history["data"]["operations"][0]["files"][0].clone(),
            bench.call("search", json!({ "pattern": "one", "path": bench.root })).to_json()["data"]["files"][0].clone(),
            bench.call("replace_in_files", replaced).to_json()["data"]["files"][0].clone(),
            bench.call("undo", json!({})).to_json()["data"]["files"][0].clone(),
        ] {
            assert_eq!(reply["path_b64"], raw.as_str(), "{name:?}: {reply}");
        }
        // For a similar name, the error shows the JSON to send.
        let near = bench.read(&name.replace("b.txt", "bx.txt").replace("txt.exe", "txt.exf"));
        assert_eq!(near.result.unwrap_err().data()["path_b64"], base64(path.as_os_str().as_bytes()).as_str());
        fs::remove_file(&path).unwrap();
        let diff = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch\n";
        ok(&bench.apply(diff));
        ok(&bench.apply("*** Begin Patch\n*** Delete File: new\n*** End Patch\n"));
    }
}
