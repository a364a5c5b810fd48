//! `sessions`: the cost of session records per call, in one process.

use crate::exact::scratch;
use crate::outcome::{Outcome, size};
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use crate::text::{Edits, source};
use emendate::fs::Durability;
use emendate::{CallContext, Config, Engine, StateLocation};
use serde_json::json;
use std::fs;

pub(crate) fn run(report: &mut Report) {
    for bytes in [1 << 10, 20 << 10, 282 << 10, 3 << 20] {
        for tool in ["read", "edit"] {
            report.race(&format!("{tool} of {}, sessions", size(bytes)), || one(tool, bytes));
        }
    }
}

fn one(tool: &'static str, bytes: usize) -> Outcome {
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let root = dir.path().join("root");
    let _ = fs::create_dir(&root);
    let states =
        [("in memory", StateLocation::Memory), ("in the database", StateLocation::Directory(dir.path().join("state")))];
    let cases = states.into_iter().map(|(name, state)| {
        let path = root.join(format!("{}.txt", name.replace(' ', "-")));
        let _ = fs::write(&path, source(bytes));
        let config = Config::default().with_durability(Durability::None);
        let engine = Engine::open(std::slice::from_ref(&root), state, config).unwrap_or_else(|error| panic!("{error}"));
        let caller = CallContext::default();
        let read = json!({ "file_path": path, "limit": 200 });
        let first = engine.call(&caller, "read", read.clone());
        assert!(first.result.is_ok(), "{}", first.text());
        let mut edits = Edits::new();
        Case::ours(format!("{tool}, {name}"), move || {
            let (old, new) = edits.next();
            let edit = json!({ "file_path": path, "old_string": old, "new_string": new });
            let input = if tool == "read" { read.clone() } else { edit };
            settle();
            let (reply, time) = timed(|| engine.call(&caller, tool, input));
            assert!(reply.result.is_ok(), "{}", reply.text());
            // Every front end does this after its reply.
            engine.history().store_unstored_contents();
            time
        })
    });
    race(format!("{tool} of {}, sessions", size(bytes)), 41, cases.collect())
}
