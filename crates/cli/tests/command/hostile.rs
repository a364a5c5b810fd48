//! Tests hostile directory trees and a machine with few resources: real `emend` processes must not hang, lose a
//! finished edit, or leave files behind.

use crate::workspace::{TestWorkspace, feed};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

/// Returns this number of rounds, multiplied by `EMEND_TEST_TIMES`, which `cargo xtask torture` sets.
fn rounds(short: usize) -> usize {
    short * std::env::var("EMEND_TEST_TIMES").map_or(1, |times| times.parse().unwrap_or(1))
}

/// Returns the command under limits set by a shell.
pub(crate) fn limited(workspace: &TestWorkspace, limit: &str, args: &[&str]) -> Command {
    let plain = workspace.command(args);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(workspace.work()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Fails if a temporary file is left in the root.
fn clean(workspace: &TestWorkspace) {
    for entry in fs::read_dir(workspace.work()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(!name.to_string_lossy().ends_with('~'), "litter: {name:?}");
    }
}

/// Returns the replies of one serving process to these calls.
fn served(workspace: &TestWorkspace, calls: &[(&str, Value)]) -> Vec<Value> {
    let lines: String =
        calls.iter().map(|(tool, input)| format!("{}\n", json!({ "tool": tool, "input": input }))).collect();
    let ran = feed(workspace.command(&["serve", "--ndjson", "--unread", "allow"]), lines.as_bytes());
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn special_files_are_refused_and_the_next_call_works() {
    let workspace = TestWorkspace::with("one\n");
    let make = |program: &str, args: &[&str]| {
        Command::new(program)
            .args(args)
            .current_dir(workspace.work())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|it| it.success())
    };
    let mut odd: Vec<String> = (0..5).map(|nth| format!("fifo{nth}")).filter(|name| make("mkfifo", &[name])).collect();
    assert_eq!(odd.len(), 5);
    let _socket = UnixListener::bind(workspace.work().join("socket")).unwrap();
    odd.push("socket".to_owned());
    // Only root can create a device.
    odd.extend(make("mknod", &["zero", "c", "1", "5"]).then(|| "zero".to_owned()));
    let mut calls = Vec::new();
    for name in &odd {
        let path = workspace.path(name);
        calls.push(("read", json!({ "file_path": path })));
        calls.push(("edit", json!({ "file_path": path, "old_string": "a", "new_string": "b" })));
        calls.push(("write", json!({ "file_path": path, "content": "b" })));
    }
    let refused = calls.len();
    calls.push(("edit", json!({ "file_path": workspace.path("a.txt"), "old_string": "one", "new_string": "two" })));
    let replies = served(&workspace, &calls);
    assert!(replies[..refused].iter().all(|reply| reply["code"] == "path.not_regular"), "{replies:?}");
    assert_eq!((replies.len(), workspace.get("a.txt").as_str()), (refused + 1, "two\n"));
    clean(&workspace);
}

#[test]
fn sparse_giant_is_refused_at_once() {
    let workspace = TestWorkspace::new();
    fs::File::create(workspace.work().join("giant")).unwrap().set_len(20 << 30).unwrap();
    // With so little memory, an attempt to read the file would fail.
    for args in [&["read", "giant"][..], &["edit", "giant", "--old", "a", "--new", "b"]] {
        let ran = feed(limited(&workspace, "ulimit -v 1000000", args), b"").exits(15);
        assert!(ran.err.contains("21474836480 bytes") && ran.err.contains("[file.too_large]"), "{ran:?}");
    }
    assert_eq!(fs::metadata(workspace.work().join("giant")).unwrap().len(), 20 << 30);
}

#[test]
fn file_size_limit_is_reported_and_nothing_is_truncated() {
    let workspace = TestWorkspace::new();
    let old = "a line of thirty-one characters\n".repeat(9_000);
    workspace.put("a.txt", &old);
    let edit = ["edit", "a.txt", "--old", "a line", "--new", "a much longer line", "--all", "--state", "none"];
    let ran = feed(limited(&workspace, "ulimit -f 600", &edit), b"");
    assert!(ran.err.contains("[io.no_space]") && ran.err.contains("ulimit -f"), "{ran:?}");
    // Space of the history would not help.
    assert!(!ran.err.contains("emend gc"), "{ran:?}");
    assert!(workspace.get("a.txt") == old);
    fs::hard_link(workspace.work().join("a.txt"), workspace.work().join("twin")).unwrap();
    let ran = feed(limited(&workspace, "ulimit -f 600", &edit), b"");
    assert!(ran.err.contains("[io.no_space]") && workspace.get("a.txt") == old, "{ran:?}");
    feed(limited(&workspace, "ulimit -f 4000", &edit), b"").exits(0);
    assert!(workspace.get("twin").starts_with("a much longer line"));
    // There is room for the file but not for the history: the edit is made, and the reply says that it cannot be
    // remembered.
    workspace.put("b.txt", "one\n");
    let ran =
        feed(limited(&workspace, "ulimit -f 8", &["edit", "b.txt", "--old", "one", "--new", "two"]), b"").exits(0);
    assert!(ran.err.contains("cannot be remembered") && workspace.get("b.txt") == "two\n", "{ran:?}");
    clean(&workspace);
}

#[test]
fn few_descriptors_suffice_or_nothing_happens() {
    let workspace = TestWorkspace::new();
    let patch =
        "*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Update File: d/b\n@@\n-one\n+two\n*** End Patch\n";
    let (mut worked, mut failed) = (0, 0);
    for descriptors in 4..40 {
        workspace.put("a", "one\n");
        workspace.put("d/b", "one\n");
        let ran = feed(limited(&workspace, &format!("ulimit -n {descriptors}"), &["apply"]), patch.as_bytes());
        let now = (workspace.get("a"), workspace.get("d/b"));
        let both = |text: &str| now == (text.to_owned(), text.to_owned());
        let ok = ran.code == 0;
        assert!(if ok { both("two\n") } else { both("one\n") }, "{descriptors}: {now:?}, {ran:?}");
        (worked, failed) = (worked + usize::from(ok), failed + usize::from(!ok));
        clean(&workspace);
    }
    assert!(worked > 0 && failed > 0, "{worked} worked, {failed} failed");
}

/// Returns true if every file of 200 folders has this text and nothing is next to it.
fn all_say(workspace: &TestWorkspace, text: &str) -> bool {
    let names = |nth: usize| fs::read_dir(workspace.work().join(format!("d{nth}"))).unwrap().count();
    (0..200).all(|nth| names(nth) == 1 && workspace.get(&format!("d{nth}/f")) == text)
}

#[test]
fn batch_over_many_folders_is_done_or_refused_up_front() {
    let workspace = TestWorkspace::new();
    (0..200).for_each(|nth| workspace.put(&format!("d{nth}/f"), "one\n"));
    let replace = ["replace", "one", "two", "--expect", "200"];
    let run = |limit: usize, soft: &str, args: &[&str]| {
        feed(limited(&workspace, &format!("ulimit {soft}-n {limit}"), args), b"")
    };
    // The folders alone exceed the limit: the reply names a sufficient limit, and nothing is begun.
    for limit in [64, 128, 200] {
        let ran = run(limit, "", &replace).exits(2);
        assert!(ran.err.contains("[call.too_large]") && ran.err.contains("ulimit -n 512"), "{limit}: {ran:?}");
        assert!(ran.err.contains("affects 200 directories") && all_say(&workspace, "one\n"), "{limit}: {ran:?}");
    }
    // There is room for the folders and a rollback, but little else. A soft limit does not count, because the process
    // raises it.
    for (limit, soft) in [(256, ""), (300, ""), (420, ""), (64, "-S ")] {
        run(limit, soft, &replace).exits(0);
        assert!(all_say(&workspace, "two\n"), "{soft}{limit}");
        run(limit, soft, &["undo"]).exits(0);
        assert!(all_say(&workspace, "one\n"), "{soft}{limit}");
    }
    // Wherever the boundary lies in between, a call is refused only before it begins.
    let mut refused = 0;
    for limit in (210..256).step_by(5) {
        let ran = run(limit, "", &replace);
        assert!(ran.code == 0 || ran.err.contains("[call.too_large]"), "{limit}: {ran:?}");
        assert!(all_say(&workspace, if ran.code == 0 { "two\n" } else { "one\n" }), "{limit}");
        if ran.code == 0 {
            run(limit, "", &["undo"]).exits(0);
        } else {
            refused += 1;
        }
    }
    assert!((1..9).contains(&refused), "{refused}");
}

#[test]
fn new_files_in_new_folders_need_room_for_both() {
    let workspace = TestWorkspace::new();
    let add = |nth: usize| format!("*** Add File: new/d{nth}/f\n+one\n");
    let patch = format!("*** Begin Patch\n{}*** End Patch\n", (0..100).map(add).collect::<String>());
    let apply = |limit: usize| feed(limited(&workspace, &format!("ulimit -n {limit}"), &["apply"]), patch.as_bytes());
    let ran = apply(160).exits(2);
    assert!(ran.err.contains("[call.too_large]") && ran.err.contains("affects 201 directories"), "{ran:?}");
    assert!(!workspace.work().join("new").exists());
    apply(256).exits(0);
    assert_eq!(workspace.get("new/d99/f"), "one\n");
    // If the folders exist, only they have to be held open.
    (0..100).for_each(|nth| fs::remove_file(workspace.work().join(format!("new/d{nth}/f"))).unwrap());
    apply(160).exits(0);
    assert_eq!(workspace.get("new/d99/f"), "one\n");
}

/// Eight processes count up, each on its own line in every file. Edits that a reply reports as done must be there at
/// the end.
fn count_up(files: usize, edits: usize) {
    let workspace = TestWorkspace::new();
    let line = |process: usize, count: usize| format!("process {process} counted {count};");
    for file in 0..files {
        let text: String = (0..8).map(|process| line(process, 0) + "\n\n").collect();
        workspace.put(&format!("f{file}"), text);
    }
    let calls = |process: usize| -> Vec<(&str, Value)> {
        let one = |nth: usize| {
            let (file, count) = (nth % files, nth / files);
            let (old, new) = (line(process, count), line(process, count + 1));
            json!({ "file_path": workspace.path(&format!("f{file}")), "old_string": old, "new_string": new })
        };
        (0..edits).map(|nth| ("edit", one(nth))).collect()
    };
    let done: Vec<Vec<Value>> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|process| {
                scope.spawn({
                    let (workspace, calls) = (&workspace, &calls);
                    move || served(workspace, &calls(process))
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for (process, replies) in done.iter().enumerate() {
        assert_eq!(replies.len(), edits);
        for file in 0..files {
            let ok = replies.iter().skip(file).step_by(files).filter(|reply| reply["ok"] == true).count();
            let now = workspace.get(&format!("f{file}"));
            assert!(
                now.contains(&line(process, ok)),
                "process {process}, {ok} edits of f{file} were called done:\n{now}"
            );
            assert!(ok > 0, "{replies:?}");
        }
    }
    clean(&workspace);
}

#[test]
fn eight_processes_on_one_file_lose_nothing() {
    count_up(1, rounds(40));
}

#[test]
fn eight_processes_on_many_files_lose_nothing() {
    count_up(rounds(4), rounds(40));
}

#[test]
fn restricted_server_works_and_is_restricted() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let workspace = TestWorkspace::with("one\n");
    let mut command = workspace.command(&["mcp", "--restrict", "--unread", "allow"]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut replies = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut call = |id: usize, method: &str, params: Value| -> Value {
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(server.stdin.as_ref().unwrap(), "{line}").unwrap();
        serde_json::from_str(&replies.next().unwrap().unwrap()).unwrap()
    };
    let client = json!({ "name": "test", "version": "1" });
    call(1, "initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }));
    let edit = |name: &str, new: &str| json!({ "name": "write", "arguments": { "file_path": workspace.path(name), "content": new } });
    let made = call(2, "tools/call", edit("new/b.txt", "two\n"));
    let changed = call(3, "tools/call", edit("a.txt", "two\n"));
    let undone = call(4, "tools/call", json!({ "name": "undo", "arguments": {} }));
    for reply in [&made, &changed, &undone] {
        assert_ne!(reply["result"]["isError"], true, "{reply}");
    }
    assert_eq!((workspace.get("new/b.txt").as_str(), workspace.get("a.txt").as_str()), ("two\n", "one\n"));
    // The tests of crates/fs show what the kernel refuses; here, that this process asked for it.
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let output = {
        drop(server.stdin.take());
        server.wait_with_output().unwrap()
    };
    let told = String::from_utf8_lossy(&output.stderr).contains("runs without");
    assert!(told || status.contains("NoNewPrivs:\t1"), "{status}");
}

/// Runs on a disk of 3 MB with the workspace and the history. Needs root to mount it.
#[test]
fn full_disk_is_reported_with_what_can_be_freed() {
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
    let workspace = TestWorkspace::new();
    let base = workspace.beside("");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=5m,mode=755", "tmpfs"]).arg(&base).output();
    if !mounted.is_ok_and(|out| out.status.success()) {
        return;
    }
    let _mounted = Mounted(base.clone());
    workspace.put("big", "line\n".to_owned() + &"x".repeat(1_000_000));
    workspace.put("small", "line\n");
    workspace.put("target/debug/made", vec![0; 1_100_000]);
    workspace.put(".gitignore", "target/\n");
    workspace.run(&["edit", "big", "--old", "line", "--new", "first"]).exits(0);
    // The remaining space is less than another copy of the file.
    let filled = std::fs::write(base.join("fill"), vec![1; 5 << 20]);
    assert!(filled.is_err());
    let before = std::fs::read(workspace.work().join("big")).unwrap();
    let full = workspace.run(&["edit", "big", "--old", "first", "--new", "second", "--json"]).exits(20).json();
    let data = &full["data"];
    assert!(data["needed"].as_u64() > Some(1_000_000) && data["free"].as_u64() < data["needed"].as_u64(), "{full}");
    assert!(data["history"].as_u64() > Some(1000) && full["evidence"].as_str().unwrap().contains("emend gc"), "{full}");
    let evidence = full["evidence"].as_str().unwrap();
    assert!(evidence.contains("needed: 1.0 MB (") && evidence.contains("work/target (1."), "{full}");
    assert_eq!(data["could_be_freed"][0]["type"], "folder", "{full}");
    assert_eq!(std::fs::read(workspace.work().join("big")).unwrap(), before);
    // If little space is missing, smaller directories are named, too.
    workspace.put("target/debug/made", vec![0; 50_000]);
    assert!(std::fs::write(base.join("rest"), vec![1; 5 << 20]).is_err());
    let full =
        workspace.run(&["edit", "small", "--old", "line", "--new", &"x".repeat(100_000), "--json"]).exits(20).json();
    let named = full["evidence"].as_str().unwrap();
    assert!(named.contains("work/target (5"), "{full}");
    std::fs::remove_file(base.join("rest")).unwrap();
    // The attempt leaves nothing behind, reading works, and with free space so do the edit and the undo of both.
    clean(&workspace);
    workspace.run(&["read", "small"]).exits(0);
    std::fs::remove_file(base.join("fill")).unwrap();
    workspace.run(&["edit", "big", "--old", "first", "--new", "second"]).exits(0);
    workspace.run(&["undo", "--last", "2"]).exits(0);
    assert!(workspace.get("big").starts_with("line\n"));
}
