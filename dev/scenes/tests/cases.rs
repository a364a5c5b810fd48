//! The shared search/replace cases through every door: library, one command per call, NDJSON and MCP.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at the disk")]

use scenes::driver::{self, KINDS, Kind, Stage};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/core/tests/cases/search_replace.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Plays every case through one door; what went wrong.
fn play(kind: Kind) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = dir.path().canonicalize().unwrap().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let emend = (!matches!(kind, Kind::Library)).then(|| driver::emend().unwrap());
    let stage = Stage { emend, root: folder("root"), state: folder("state"), home: folder("home") };
    let mut door = kind.open(&stage).unwrap();
    let mut wrong = Vec::new();
    for (number, case) in cases().iter().enumerate() {
        let path = stage.root.join(format!("case{number}.txt"));
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

#[test]
fn every_case_through_every_door() {
    assert!(cases().len() >= 96);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let plays: Vec<_> = KINDS.into_iter().map(|kind| scope.spawn(move || play(kind))).collect();
        plays.into_iter().flat_map(|play| play.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
