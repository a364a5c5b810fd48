//! Tests damaged histories: missing operations are reported, and nothing older is undone or redone unless it is named.

use crate::state::database;
use crate::workspace::TestWorkspace;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a directory with their contents.
type Files = BTreeMap<OsString, Vec<u8>>;

fn files(dir: &Path) -> Files {
    let all = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    all.filter(|entry| entry.path().is_file()).map(|it| (it.file_name(), fs::read(it.path()).unwrap())).collect()
}

fn put_back(dir: &Path, files: &Files) {
    fs::remove_dir_all(dir).unwrap();
    fs::create_dir(dir).unwrap();
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).unwrap();
    }
}

/// A workspace with five operations, the fourth of which undid the third, and the directory of its history.
struct Used {
    workspace: TestWorkspace,
    history: PathBuf,
    state: Files,
    work: Files,
    /// The work directory before the last operation.
    before: Files,
}

impl Used {
    fn new() -> Used {
        let workspace = TestWorkspace::with("one\n\ntwo\n\nthree\n\nfour\n");
        let edit =
            |old: &str| drop(workspace.run(&["edit", "a.txt", "--old", old, "--new", &old.to_uppercase()]).exits(0));
        ["one", "two", "three"].into_iter().for_each(edit);
        workspace.run(&["undo"]).exits(0);
        let before = files(&workspace.work());
        edit("four");
        let history = database(&workspace).parent().unwrap().to_owned();
        Used { state: files(&history), work: files(&workspace.work()), before, workspace, history }
    }

    fn put_back(&self) {
        put_back(&self.history, &self.state);
        put_back(&self.workspace.work(), &self.work);
    }

    fn log(&self) -> PathBuf {
        self.history.join("sessions.db-wal")
    }

    fn now(&self) -> Files {
        files(&self.workspace.work())
    }

    fn history(&self) -> Value {
        self.workspace.run(&["history", "--json"]).exits(0).json()
    }

    /// Damages the history and checks what undo does. Returns true if the last operation was lost.
    fn harmed(&self, harm: impl Fn(), what: &str) -> bool {
        self.put_back();
        harm();
        // Damage found in the middle of a call makes that call fail; the next one works.
        let run = |args: &[&str]| {
            Some(self.workspace.run(args)).filter(|ran| ran.code != 20).unwrap_or_else(|| self.workspace.run(args))
        };
        let redone = run(&["redo"]);
        assert!(redone.code != 0 && self.now() == self.work, "{what}: {redone:?}");
        let undone = run(&["undo"]);
        let past = self.history();
        let numbers: Vec<&str> =
            past["data"]["operations"].as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect();
        if undone.code == 0 {
            assert!(self.now() == self.before && numbers.iter().any(|id| id.starts_with("5-")), "{what}: {undone:?}");
            return false;
        }
        assert_eq!(self.now(), self.work, "{what}: {undone:?}");
        assert!(undone.err.contains("damaged") || undone.err.contains("nothing to undo"), "{what}: {undone:?}");
        assert!(past["data"]["missing"].is_array(), "{what}: {past:#}");
        let doctor = self.workspace.run(&["doctor"]);
        assert!(doctor.out.contains("missing from the history"), "{what}: {doctor:?}");
        self.goes_on(what);
        true
    }

    /// Later operations can be undone, earlier ones only by name.
    fn goes_on(&self, what: &str) {
        self.workspace.run(&["edit", "a.txt", "--old", "FOUR", "--new", "five"]).exits(0);
        self.workspace.run(&["undo"]).exits(0);
        assert_eq!(self.now(), self.work, "{what}");
        self.workspace.run(&["redo"]).exits(0);
        self.workspace.run(&["undo"]).exits(0);
        let undone = self.workspace.run(&["undo"]);
        assert!(matches!(undone.code, 10 | 12) && self.now() == self.work, "{what}: {undone:?}");
        let past = self.history();
        let all = past["data"]["operations"].as_array().unwrap();
        let ids = all.iter().filter_map(|it| it["id"].as_str());
        let Some(first) = ids.into_iter().find(|id| id.starts_with("1-")) else { return };
        // Either its content is restored, or it was lost with later operations; no other content appears.
        let restored = self.workspace.run(&["restore", &format!("a.txt@{first}^")]);
        match restored.code {
            0 => assert_eq!(self.workspace.get("a.txt"), "one\n\ntwo\n\nthree\n\nfour\n", "{what}"),
            code => assert!(code == 17 && self.now() == self.work, "{what}: {restored:?}"),
        }
    }
}

#[test]
fn truncated_or_changed_log_undoes_nothing_older() {
    let used = Used::new();
    let log = fs::read(used.log()).unwrap();
    let cut = |size: usize| used.harmed(|| fs::write(used.log(), &log[..size]).unwrap(), &format!("cut at {size}"));
    let mut lost = (1..14).filter(|nth| cut(log.len() / 14 * nth)).count();
    lost += [0, 31, 32, 33, log.len() - 1].into_iter().filter(|size| cut(*size)).count();
    let flip = |at: usize| {
        let mut bytes = log.clone();
        bytes[at] ^= 0x10;
        used.harmed(|| fs::write(used.log(), &bytes).unwrap(), &format!("flipped at {at}"))
    };
    lost += (0..14).filter(|nth| flip(log.len() / 14 * nth + 20)).count();
    // The test would prove nothing if the damage had no effect.
    assert!(lost > 20, "{lost}");
}

#[test]
fn emptied_or_removed_history_file_undoes_nothing_older() {
    let used = Used::new();
    for name in ["sessions.db", "sessions.db-wal", "sessions.spool"] {
        let path = used.history.join(name);
        assert!(used.harmed(|| fs::write(&path, b"").unwrap(), &format!("{name} emptied")));
        assert!(used.harmed(|| fs::remove_file(&path).unwrap(), &format!("{name} removed")));
        let noise = |at: usize| u8::try_from(at * 7 % 251).unwrap();
        let harm = || fs::write(&path, (0..9000).map(noise).collect::<Vec<u8>>()).unwrap();
        // All pages of an overwritten database may still be in its log.
        assert!(used.harmed(harm, &format!("{name} overwritten")) || name == "sessions.db");
    }
    // An earlier state of the database, as from a backup.
    used.put_back();
    used.workspace.run(&["undo", "2"]).exits(0);
    let work = used.now();
    for name in ["sessions.db", "sessions.db-wal"] {
        fs::write(used.history.join(name), &used.state[&OsString::from(name)]).unwrap();
    }
    let undone = used.workspace.run(&["undo"]).exits(12);
    assert!(undone.err.contains("operation 6 is missing") && used.now() == work, "{undone:?}");
}
