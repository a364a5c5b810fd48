//! Tests the state directory with the real command: sharing between processes, and unusable contents.

use crate::workspace::{Ran, TestWorkspace, feed};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

/// Returns the database of the only root.
pub(crate) fn database(workspace: &TestWorkspace) -> PathBuf {
    let mut found = Vec::new();
    for entry in fs::read_dir(workspace.beside("state")).unwrap() {
        let path = entry.unwrap().path().join("sessions.db");
        found.extend(path.exists().then_some(path));
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn operations(workspace: &TestWorkspace) -> Vec<Value> {
    let all = workspace.run(&["history", "--limit", "1000", "--json"]).exits(0).json();
    all["data"]["operations"].as_array().unwrap().clone()
}

/// Eight processes at a time each edit a file of their own and a shared one.
fn eight_log_everything(workspace: &TestWorkspace) {
    const EDITS: usize = 12;
    workspace.put("shared", (0..8).map(|writer| format!("{writer} at 0.\n\n")).collect::<String>());
    for writer in 0..8 {
        workspace.put(&format!("own {writer}"), "0");
    }
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                let session = format!("writer {writer}");
                for edit in 0..EDITS {
                    let (old, new) = (edit.to_string(), (edit + 1).to_string());
                    let own = format!("own {writer}");
                    workspace.run(&["edit", &own, "--old", &old, "--new", &new, "--session", &session]).exits(0);
                    let (old, new) = (format!("{writer} at {edit}."), format!("{writer} at {new}."));
                    let ran = workspace
                        .run(&["edit", "shared", "--old", &old, "--new", &new, "--session", &session])
                        .exits(0);
                    assert_eq!(ran.err, "");
                }
            });
        }
    });
    let all = operations(workspace);
    let ids: BTreeSet<&str> = all.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!((all.len(), ids.len()), (8 * 2 * EDITS, 8 * 2 * EDITS));
    for writer in 0..8 {
        let own = all.iter().filter(|row| row["session"] == format!("writer {writer}")).count();
        assert_eq!(own, 2 * EDITS);
    }
    assert!(all.iter().all(|row| row["undoable"] == true && row["pending"] == false && row["unsure"] == false));
    // The log matches the edits: undoing all of them restores the files.
    for _ in 0..2 {
        workspace.run(&["undo", "--any-session", "--last", &(8 * EDITS).to_string()]).exits(0);
    }
    assert_eq!(workspace.get("shared"), (0..8).map(|writer| format!("{writer} at 0.\n\n")).collect::<String>());
    assert!((0..8).all(|writer| workspace.get(&format!("own {writer}")) == "0"));
}

#[test]
fn eight_processes_lose_no_log_entry() {
    eight_log_everything(&TestWorkspace::new());
}

/// As on a network file system.
#[test]
fn eight_processes_lose_no_log_entry_in_a_plain_journal() {
    let workspace = TestWorkspace::with("0\n");
    workspace.run(&["read", "a.txt"]).exits(0);
    let journal = |sql: &str| {
        Connection::open(database(&workspace)).unwrap().query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    assert_eq!(journal("PRAGMA journal_mode=TRUNCATE"), "truncate");
    eight_log_everything(&workspace);
    assert!(journal("PRAGMA journal_mode") != "wal" && !database(&workspace).with_extension("db-wal").exists());
}

/// The expected message, and a function that makes a database unusable.
type Unfit = (&'static str, fn(&PathBuf));

#[test]
fn unusable_database_is_set_aside_and_reported() {
    let unfit: [Unfit; 5] = [
        ("was damaged", |path| fs::write(path, vec![7; 40_000]).unwrap()),
        ("was damaged", |path| {
            let bytes = fs::read(path).unwrap();
            let middle = |(at, byte): (usize, &u8)| if (100..3000).contains(&at) { 0xA5 } else { *byte };
            fs::write(path, bytes.iter().enumerate().map(middle).collect::<Vec<u8>>()).unwrap();
        }),
        ("belongs to another program", |path| {
            fs::remove_file(path).unwrap();
            Connection::open(path).unwrap().execute_batch("CREATE TABLE theirs(x)").unwrap();
        }),
        ("was written by a newer version", |path| {
            Connection::open(path).unwrap().execute_batch("PRAGMA user_version=99").unwrap();
        }),
        ("was not a file", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (why, spoil) in unfit {
        let workspace = TestWorkspace::with("one\n");
        workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
        let path = database(&workspace);
        for suffix in ["db-wal", "db-shm"] {
            // Recent changes in the log belong to the database.
            Connection::open(&path).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            let _ = fs::remove_file(path.with_extension(suffix));
        }
        spoil(&path);
        // Some damage is found only by a look-up: that call fails with the reason, and the next one works.
        let mut ran = workspace.run(&["edit", "a.txt", "--old", "two", "--new", "three"]);
        let mut said = ran.err.clone();
        if !said.contains("set aside") {
            ran = workspace.run(&["read", "a.txt"]);
            said += &ran.err;
        }
        assert!(ran.code == 0 && said.contains(why) || said.contains("is damaged"), "{why}: {ran:?} {said}");
        assert!(said.contains("set aside as "), "{why}: {said}");
        let names = path.parent().unwrap().read_dir().unwrap();
        let names = names.map(|it| it.unwrap().file_name().to_string_lossy().into_owned());
        let beside = |name: &String| name.ends_with("-wal") || name.ends_with("-shm");
        let aside: Vec<String> = names.filter(|name| name.contains("set-aside") && !beside(name)).collect();
        assert_eq!(aside.len(), 1, "{why}: {aside:?}");
        let now = workspace.get("a.txt");
        assert!(now == "two\n" || now == "three\n", "{why}: {now}");
        let after = workspace.run(&["edit", "a.txt", "--old", now.trim(), "--new", "four"]).exits(0);
        assert_eq!(after.err, "", "{why}");
        assert_eq!(workspace.run(&["history"]).exits(0).err, "");
        workspace.run(&["undo"]).exits(0);
        assert_eq!(workspace.get("a.txt"), now, "{why}");
    }
}

#[test]
fn database_stays_within_its_limit() {
    let workspace = TestWorkspace::new();
    let config = workspace.beside("home/.config/emendate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[history]\nmegabytes = 1\n").unwrap();
    let noise = |seed: u64| -> String {
        let next = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some(char::from(b'a' + u8::try_from((*state >> 33) % 26).unwrap()))
        };
        std::iter::successors(Some(seed), |seed| Some(*seed)).scan(seed, |state, _| next(state)).take(150_000).collect()
    };
    for number in 0..40 {
        let content = noise(number + 1);
        workspace.call("read", &json!({ "file_path": workspace.path("big") }));
        let ran = workspace.call("write", &json!({ "file_path": workspace.path("big"), "content": content })).exits(0);
        assert_eq!(ran.json()["ok"], true, "{ran:?}");
    }
    let size: u64 = ["db", "db-wal"]
        .iter()
        .filter_map(|suffix| fs::metadata(database(&workspace).with_extension(suffix)).ok())
        .map(|found| found.len())
        .sum();
    // Six megabytes were written. The log may exceed the limit until it is written back.
    assert!(size < 3 << 20, "{size} bytes");
    workspace.run(&["undo"]).exits(0);
    assert_eq!(workspace.get("big"), noise(39));
    // Dropped contents are not claimed to be available.
    let all = operations(&workspace);
    let oldest = all.last().unwrap();
    assert_eq!(
        oldest["undoable"] == true,
        workspace.run(&["undo", oldest["id"].as_str().unwrap(), "--dry-run"]).code != 17
    );
}

/// Returns a function that runs the command as a user other than root, because root may do everything. That user owns
/// the test's directory and file.
fn as_nobody(workspace: &TestWorkspace) -> impl Fn(&[&str]) -> Ran {
    let nobody = fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    let program = workspace.beside("emend");
    // Another process copies the program: while this process has it open for writing, a child forked by another test
    // could have it open, too, and the program could not be executed.
    crate::workspace::programs::run(std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_emend")).arg(&program));
    if nobody {
        for path in [workspace.beside(""), workspace.work(), workspace.work().join("a.txt")] {
            std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        }
    }
    move |args: &[&str]| {
        let model = workspace.command(args);
        let mut command = std::process::Command::new(&program);
        command.args(args).current_dir(workspace.work()).env_clear();
        command.envs(model.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if nobody {
            command.uid(65534).gid(65534);
        }
        feed(command, b"")
    }
}

/// The state directory exists but is no longer writable.
#[test]
fn read_only_state_directory_is_reported_and_edits_work() {
    let workspace = TestWorkspace::with("one\n");
    let run = as_nobody(&workspace);
    assert_eq!(run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0).err, "");
    let folder = database(&workspace).parent().unwrap().to_owned();
    for path in
        [folder.join("sessions.db"), folder.clone(), workspace.beside("state/journal"), workspace.beside("state")]
    {
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = fs::read(folder.join("sessions.db")).unwrap();
    let ran = run(&["edit", "a.txt", "--old", "two", "--new", "three"]).exits(0);
    assert!(ran.err.contains("kept in memory") && !ran.err.contains("panicked"), "{ran:?}");
    assert_eq!(workspace.get("a.txt"), "three\n");
    let none = run(&["undo"]).exits(10);
    assert!(none.err.contains("nothing to undo") && none.err.contains("kept in memory"), "{none:?}");
    assert_eq!(fs::read(folder.join("sessions.db")).unwrap(), before);
    for path in [workspace.beside("state"), workspace.beside("state/journal"), folder] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// The configuration was not written for this user, and cannot hide a rule that denies something: that would be an
/// error.
#[test]
fn unsearchable_configuration_directory_is_reported_and_edits_work() {
    let workspace = TestWorkspace::with("one\n");
    let run = as_nobody(&workspace);
    let config = workspace.beside("home/.config/emendate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[policy]\nunknown = 1\n").unwrap();
    assert_ne!(run(&["edit", "a.txt", "--old", "one", "--new", "two"]).code, 0);
    // Only the owner, another user, may search the directory, unless the tests run as that user.
    fs::set_permissions(&config, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    assert!(ran.err.contains("config.toml cannot be read, so the built-in settings apply"), "{ran:?}");
    assert_eq!(workspace.get("a.txt"), "two\n");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn project_file_that_leads_out_of_the_root_is_not_trusted() {
    let workspace = TestWorkspace::new();
    fs::write(workspace.beside("other.toml"), "[history]\ndays = 1\n").unwrap();
    std::os::unix::fs::symlink("../other.toml", workspace.work().join("emend.toml")).unwrap();
    let refused = workspace.run(&["trust"]).exits(14);
    assert!(refused.err.contains("emend.toml cannot be read") && refused.out.is_empty(), "{refused:?}");
    // Within the root, a link is followed as the engine does.
    fs::remove_file(workspace.work().join("emend.toml")).unwrap();
    workspace.put("real.toml", "[history]\ndays = 1\n");
    std::os::unix::fs::symlink("real.toml", workspace.work().join("emend.toml")).unwrap();
    assert!(workspace.run(&["config", "show", "--origin"]).exits(0).err.contains("[history] is ignored"));
    workspace.run(&["trust"]).exits(0);
    assert!(!workspace.run(&["config", "show", "--origin"]).exits(0).err.contains("ignored"));
}

#[test]
fn project_file_with_a_mistake_is_not_trusted() {
    let workspace = TestWorkspace::with("one\n");
    workspace.put("emend.toml", "[policy]\ndefault = 'never'\n");
    let refused = workspace.run(&["trust"]).exits(2).err;
    assert!(refused.contains("emend.toml") && refused.contains("never"), "{refused}");
    workspace.put("emend.toml", "[policy]\ndefault = 'ask'\n");
    workspace.run(&["trust"]).exits(0);
}
