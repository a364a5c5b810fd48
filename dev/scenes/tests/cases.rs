//! The shared cases through every door: library, one command per call, NDJSON and MCP.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at the disk")]

use scenes::driver::{self, Driver, KINDS, Kind, Stage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/core/tests/cases").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A door to an engine, and the folder it works in. The folders live as long as it.
struct Room {
    _dir: tempfile::TempDir,
    root: PathBuf,
    door: Box<dyn Driver>,
}

fn room(kind: Kind) -> Room {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = dir.path().canonicalize().unwrap().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let emend = (!matches!(kind, Kind::Library)).then(|| driver::emend().unwrap());
    let stage = Stage { emend, root: folder("root"), state: folder("state"), home: folder("home") };
    Room { door: kind.open(&stage).unwrap(), root: stage.root, _dir: dir }
}

/// Plays through every door at once; what went wrong.
fn through_every_door(play: fn(Kind) -> Vec<String>) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let plays: Vec<_> = KINDS.into_iter().map(|kind| scope.spawn(move || play(kind))).collect();
        plays.into_iter().flat_map(|play| play.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every search/replace case.
fn replacements(kind: Kind) -> Vec<String> {
    let Room { root, mut door, _dir } = room(kind);
    let mut wrong = Vec::new();
    for (number, case) in cases("search_replace.json").iter().enumerate() {
        let path = root.join(format!("case{number}.txt"));
        let content = case["content"].as_str().unwrap();
        fs::write(&path, content).unwrap();
        let mut edit = json!({ "file_path": path, "old_string": case["old"], "new_string": case["new"] });
        if let Some(all) = case.get("replace_all") {
            edit["replace_all"] = all.clone();
        }
        door.call("read", &json!({ "file_path": path }).to_string()).unwrap();
        let reply = door.call("edit", &edit.to_string()).unwrap();
        let found = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let right = match case["expected"].as_str().unwrap() {
            "reject" => reply.error.is_some() && found == content,
            expected => reply.error.is_none() && found == expected,
        };
        if !right {
            wrong.push(format!("{} [{}]: {found:?}: {}", case["name"], kind.name(), reply.text));
        }
    }
    door.close().unwrap();
    wrong
}

type Files = BTreeMap<PathBuf, String>;

fn files_below(folder: &Path) -> Files {
    let mut out = Files::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                out.insert(
                    path.strip_prefix(folder).unwrap().to_owned(),
                    String::from_utf8(fs::read(&path).unwrap()).unwrap(),
                );
            }
        }
    }
    out
}

fn tree(value: &Value) -> Files {
    value.as_object().unwrap().iter().map(|(name, text)| (name.into(), text.as_str().unwrap().to_owned())).collect()
}

/// Every patch case, the format recognised: the tree that is expected, or an error and the tree as it was.
fn patches(kind: Kind) -> Vec<String> {
    let Room { root, mut door, _dir } = room(kind);
    let mut wrong = Vec::new();
    for (number, case) in cases("patches.json").iter().enumerate() {
        let folder = root.join(format!("case{number}"));
        let before = tree(&case["input"]);
        for (name, text) in &before {
            fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
            fs::write(folder.join(name), text).unwrap();
            door.call("read", &json!({ "file_path": folder.join(name) }).to_string()).unwrap();
        }
        let outside = files_below(&root).len();
        let reply = door.call("apply", &json!({ "input": case["patch"], "directory": folder }).to_string()).unwrap();
        let refused = case["expected"] == "reject";
        let expected = if refused { before.clone() } else { tree(&case["expected"]) };
        let after = files_below(&folder);
        let stray = files_below(&root).len() - after.len() != outside - before.len();
        if refused != reply.error.is_some() || after != expected || stray {
            let changed: Files = after.into_iter().filter(|(name, text)| before.get(name) != Some(text)).collect();
            wrong.push(format!("{} [{}]: {changed:?}: {}", case["name"], kind.name(), reply.text));
        }
    }
    door.close().unwrap();
    wrong
}

#[test]
fn every_replacement_through_every_door() {
    assert!(cases("search_replace.json").len() >= 96);
    through_every_door(replacements);
}

#[test]
fn every_patch_through_every_door() {
    assert!(cases("patches.json").len() >= 42);
    through_every_door(patches);
}
