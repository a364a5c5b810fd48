//! The guard on a real disk: links, identity, and names that JSON cannot represent.

use crate::fixture::{EngineFixture, ok};
use emendate::{Config, PolicyMode, Reply, StateLocation};
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
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put(".git/config", "[core]\n");
    symlink(".git", fixture.root.join("plain")).unwrap();
    symlink(".git/config", fixture.root.join("file")).unwrap();
    symlink(".vscode", fixture.root.join("dangling")).unwrap();
    denied(&fixture.write("plain/config", "written\n"));
    denied(&fixture.write("plain/hooks/pre-commit", "written\n"));
    denied(&fixture.write("file", "written\n"));
    // The target does not exist yet, so the link is refused as broken; once the directory exists, as guarded.
    assert!(fixture.write("dangling/settings.json", "written\n").result.is_err());
    fs::create_dir(fixture.root.join(".vscode")).unwrap();
    denied(&fixture.write("dangling/settings.json", "written\n"));
    ok(&fixture.read("file"));
    // The link itself may be removed: it is not a control file.
    ok(&fixture.apply("*** Begin Patch\n*** Delete File: file\n*** End Patch\n"));
    assert_eq!(fs::read_to_string(fixture.root.join(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn target_of_a_guarded_link_is_guarded() {
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put("config/settings.json", "{}\n");
    fixture.put("config/prod.txt", "KEY=1\n");
    fixture.put("other/free.txt", "x\n");
    symlink("config", fixture.root.join(".vscode")).unwrap();
    symlink("config/prod.txt", fixture.root.join(".env")).unwrap();
    for name in ["config/settings.json", ".vscode/settings.json", "config/new.json", "config/deep/new.json"] {
        denied(&fixture.write(name, "written\n"));
    }
    denied(&fixture.read(".env"));
    ok(&fixture.write("other/free.txt", "written\n"));
    let secret = fixture.read("config/prod.txt");
    denied(&secret);
    assert!(secret.text().contains("is the same as .env"), "{}", secret.text());
}

#[test]
fn hard_link_to_a_guarded_file_is_guarded() {
    let fixture = EngineFixture::trusted(Config::default());
    let link = |from: &str, to: &str| fs::hard_link(fixture.root.join(from), fixture.root.join(to)).unwrap();
    fixture.put(".git/config", "[core]\n");
    fixture.put(".git/hooks/pre-commit", "#!/bin/sh\n");
    fixture.put(".git/objects/ab/cdef", "blob\n");
    fixture.put(".env", "KEY=1\n");
    fixture.put("keys/server.pem", "key\n");
    fixture.put("src/a.txt", "x\n");
    fixture.put("src/deep/x", "x\n");
    link(".git/config", "notes.txt");
    link(".git/hooks/pre-commit", "src/deep/notes.txt");
    link(".env", "src/notes.txt");
    link("keys/server.pem", "keys/server.txt");
    link("src/a.txt", "src/b.txt");
    denied(&fixture.write("notes.txt", "written\n"));
    denied(&fixture.write("src/deep/notes.txt", "written\n"));
    denied(&fixture.write("src/notes.txt", "written\n"));
    denied(&fixture.read("src/notes.txt"));
    denied(&fixture.read("keys/server.txt"));
    let found = fixture.call("search", json!({ "path": fixture.root, "pattern": "KEY|key|x", "hidden": true }));
    ok(&found);
    assert!(
        found.text().contains("src/a.txt") && !found.text().contains("KEY") && !found.text().contains("server.txt")
    );
    // A link to an unguarded file is allowed, and the control file may be read by either name.
    ok(&fixture.write("src/b.txt", "written\n"));
    ok(&fixture.read("notes.txt"));
    assert_eq!(fs::read_to_string(fixture.root.join(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn record_of_a_refusal_quotes_no_secret_file() {
    let config = Config::default().with_file("[policy]\nallow = ['.env']\n", "test", true).unwrap();
    let fixture = EngineFixture::open(config, |beside| StateLocation::Directory(beside.join("state")));
    for name in [".env", "plain.txt"] {
        fixture.put(name, "a=1\nTOKEN=hunter2\n");
        ok(&fixture.read(name));
        // The refusal quotes the real line and suggests it.
        let refused = fixture.edit(name, "2\tTOKEN=hunter", "x").result.unwrap_err();
        assert!(refused.to_string().contains("hunter2"), "{refused}");
    }
    let kept = fixture.engine.review().refusals(10);
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
        let fixture = EngineFixture::trusted(Config::default());
        (0..crowd).for_each(|nth| drop(fixture.put(format!("src/crowd-of-files-{nth}"), "")));
        fixture.put(format!("src/{beside}"), "");
        fixture.put("src/config/settings.json", "{}\n");
        fixture.put("src/notes.txt", "a\n");
        let at = |name: &str| fixture.root.join("src").join(name);
        for text in ["[1]\n", "[2]\n", "[3]\n"] {
            ok(&fixture.write("src/config/settings.json", text));
            ok(&fixture.write("src/notes.txt", text));
            symlink("config", at(".vscode")).unwrap();
            fs::rename(at("notes.txt"), at(".env")).unwrap();
            fs::hard_link(at(".env"), at("notes.txt")).unwrap();
            denied(&fixture.write("src/config/settings.json", text));
            denied(&fixture.read("src/notes.txt"));
            // The guarded name points elsewhere, and only for that moment.
            fs::remove_file(at(".vscode")).unwrap();
            fs::remove_file(at(".env")).unwrap();
            symlink("crowd-of-files-1", at(".vscode")).unwrap();
            ok(&fixture.write("src/config/settings.json", text));
            ok(&fixture.read("src/notes.txt"));
            symlink("notes.txt", at(".env")).unwrap();
            denied(&fixture.read("src/notes.txt"));
            fs::remove_file(at(".env")).unwrap();
            fs::remove_file(at(".vscode")).unwrap();
        }
    }
}

#[test]
fn rule_for_a_guarded_name_applies_to_its_other_names() {
    let fixture = EngineFixture::trusted(Config::default().with_rule(PolicyMode::Allow, ".vscode", "--allow").unwrap());
    fixture.put("config/settings.json", "{}\n");
    symlink("config", fixture.root.join(".vscode")).unwrap();
    ok(&fixture.write("config/settings.json", "[\"written\"]\n"));
    let strict = EngineFixture::trusted(Config::default().with_rule(PolicyMode::Deny, "locked", "emend.toml").unwrap());
    strict.put("real/f", "x\n");
    symlink("real", strict.root.join("locked")).unwrap();
    denied(&strict.write("locked/f", "written\n"));
}

#[test]
fn both_ends_of_a_move_are_guarded() {
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put("hook", "#!/bin/sh\n");
    fixture.put(".git/config", "[core]\n");
    fixture.put(".env", "KEY=1\n");
    fs::create_dir(fixture.root.join(".x")).unwrap();
    fixture.put(".x/config", "[core]\n");
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
        denied(&fixture.apply(&git(how, from, to)));
    }
    // A directory is not moved at all.
    assert!(fixture.apply(&git("rename", ".x", ".hg")).result.is_err());
    let link = "diff --git a/.git b/.git\nnew file mode 120000\n--- /dev/null\n+++ b/.git\n@@ -0,0 +1 @@\n+.x\n\\ No newline at end of file\n";
    fs::remove_dir_all(fixture.root.join(".git")).unwrap();
    denied(&fixture.apply(link));
    ok(&fixture.apply(&git("rename", "hook", "kept")));
}

#[test]
fn engine_state_is_inaccessible() {
    let fixture = EngineFixture::open(Config::default(), |root| StateLocation::Directory(root.join("deep/state")));
    let state = fixture.path("deep/state");
    ok(&fixture.write("deep/file", "written\n"));
    assert!(fs::read_dir(&state).unwrap().next().is_some());
    denied(&fixture.write("deep/state/journal/00000001.record", "written\n"));
    denied(&fixture.read("deep/state/x"));
}

#[test]
fn changed_files_that_instruct_agents_are_flagged() {
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put("AGENTS.md", "a\n");
    let note = |reply: &Reply| reply.to_json()["data"]["notes"].to_string();
    let changed = fixture.write("AGENTS.md", "written\n");
    assert!(note(&changed).contains("AGENTS.md is read by agents as instructions"), "{}", changed.text());
    assert!(changed.text().contains("a person should review this change"));
    assert!(note(&fixture.write(".github/workflows/ci.yml", "written\n")).contains("rights of the repository"));
    assert_eq!(note(&fixture.write("README.md", "written\n")), "[]");
    assert_eq!(note(&fixture.write("AGENTS.md", "written\n")), "[]", "nothing was changed");
}

fn base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}

#[test]
fn file_with_a_name_that_is_not_utf8_is_edited_by_path_bytes() {
    let fixture = EngineFixture::trusted(Config::default());
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    let path = fixture.put(name, "one\n");
    let other = fixture.put("caf\u{FFFD}.txt", "another\n");
    let raw = base64(path.as_os_str().as_bytes());
    let read = fixture.call("read", json!({ "path_b64": raw }));
    ok(&read);
    assert_eq!(read.to_json()["data"]["path_b64"], raw.as_str());
    assert!(
        read.to_json()["data"]["filePath"].as_str().unwrap().ends_with("caf\\xE9.txt") && read.text().contains(&raw)
    );
    let edit = fixture.call("edit", json!({ "path_b64": raw, "old_string": "one", "new_string": "two" }));
    ok(&edit);
    assert_eq!(edit.to_json()["data"]["path_b64"], raw.as_str());
    // The displayed name may be given as well; another name may not.
    let shown = read.to_json()["data"]["filePath"].clone();
    let edits = json!([{ "old_string": "two", "new_string": "three" }]);
    ok(&fixture.call("multi_edit", json!({ "file_path": shown, "path_b64": raw, "edits": edits })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
    let two = fixture.call("write", json!({ "file_path": fixture.root.join("x"), "path_b64": raw, "content": "" }));
    assert_eq!(two.result.unwrap_err().code().as_str(), "call.invalid");
    let wrong = fixture.call("read", json!({ "path_b64": "*" }));
    assert_eq!(wrong.result.unwrap_err().code().as_str(), "call.invalid");
    let new = fixture.root.join(OsStr::from_bytes(b"new\xff/f"));
    ok(&fixture.call("write", json!({ "path_b64": base64(new.as_os_str().as_bytes()), "content": "x\n" })));
    assert_eq!(fs::read_to_string(new).unwrap(), "x\n");
    assert_eq!(fs::read_to_string(other).unwrap(), "another\n");
    // The guard is the same.
    let guarded = fixture.root.join(OsStr::from_bytes(b".git/\xff"));
    denied(&fixture.call("write", json!({ "path_b64": base64(guarded.as_os_str().as_bytes()), "content": "" })));
    // A caller that only has the displayed name gets the bytes.
    fs::remove_file(fixture.root.join("caf\u{FFFD}.txt")).unwrap();
    let near = fixture.read("caf\u{FFFD}x.txt");
    assert_eq!(near.result.unwrap_err().data()["path_b64"], raw.as_str());
}

#[test]
fn names_are_shown_on_one_line_and_unchanged() {
    let fixture = EngineFixture::trusted(Config::default());
    for name in ["a\nb.txt", "a\u{1b}[31mb.txt", "a\u{202E}txt.exe", "a\u{200B}b.txt", "a\r b.txt"] {
        let path = fixture.put(name, "one\n");
        let replies = [
            fixture.read(name),
            fixture.call("edit", json!({ "file_path": path, "old_string": "one", "new_string": "two" })),
            fixture.call("edit", json!({ "file_path": path, "old_string": "none", "new_string": "two" })),
            fixture.write(&format!("{name}/x"), "written\n"),
            fixture.call("history", json!({})),
            fixture.call("undo", json!({})),
        ];
        for reply in replies {
            let said = format!("{}\n{}", reply.text(), serde_json::to_string_pretty(&reply.to_json()).unwrap());
            let unseen = |char: char| matches!(char, '\u{1b}' | '\u{202E}' | '\u{200B}' | '\r');
            assert!(!said.contains(unseen) && !said.contains("a\nb.txt"), "{name:?}: {said}");
        }
        // A displayed name from a reply is accompanied by its bytes.
        let raw = base64(path.as_os_str().as_bytes());
        let history = fixture.call("history", json!({})).to_json();
        ok(&fixture.read(name));
        let replaced = json!({ "path": fixture.root, "old_string": "one", "new_string": "two", "expected": 1 });
        for reply in [
            fixture.read(name).to_json()["data"].clone(),
            history["data"]["operations"][0]["files"][0].clone(),
            fixture.call("search", json!({ "pattern": "one", "path": fixture.root })).to_json()["data"]["files"][0]
                .clone(),
            fixture.call("replace_in_files", replaced).to_json()["data"]["files"][0].clone(),
            fixture.call("undo", json!({})).to_json()["data"]["files"][0].clone(),
        ] {
            assert_eq!(reply["path_b64"], raw.as_str(), "{name:?}: {reply}");
        }
        // For a similar name, the error shows the JSON to send.
        let near = fixture.read(&name.replace("b.txt", "bx.txt").replace("txt.exe", "txt.exf"));
        assert_eq!(near.result.unwrap_err().data()["path_b64"], base64(path.as_os_str().as_bytes()).as_str());
        fs::remove_file(&path).unwrap();
        let diff = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch\n";
        ok(&fixture.apply(diff));
        ok(&fixture.apply("*** Begin Patch\n*** Delete File: new\n*** End Patch\n"));
    }
}
