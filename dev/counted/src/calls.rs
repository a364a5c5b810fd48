//! Counts whole calls, from JSON to JSON, on files in memory.

use crate::text::{changed, lines, mark, marked};
use emendate::core::ShortTag;
use emendate::fs::MemoryStore;
use emendate::{CallContext, Config, Engine, Reply, StateLocation, UnreadPolicy};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;

const FILE: &str = "/w/page.rs";
const LINES: usize = 2000;
/// A small file in a language without a parser.
const SMALL: &str = "/w/page.txt";
const FEW: usize = 30;

/// Creates an engine with one file of `count` lines.
fn engine(file: &str, count: usize) -> (Engine, CallContext) {
    let store = MemoryStore::new(Path::new("/w"));
    store.put(Path::new(file), lines(count));
    let engine = Engine::with_store(Box::new(store), StateLocation::Memory, Config::default());
    let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    (engine.unwrap_or_else(|error| panic!("{error}")), caller)
}

/// Replaces two hundred lines by number in one patch, repeatedly.
pub(crate) fn rows() -> Box<dyn FnMut()> {
    let (engine, caller) = engine(FILE, LINES);
    let (mut tag, mut round) = (ShortTag::of(&lines(LINES)), 0);
    Box::new(move || {
        round += 1;
        let row = |at: usize| format!("PUT {0}.={0}:\n+{1} // {round}\n", at + 1, mark(at));
        let patch = format!("[{FILE}#{tag}]\n{}", marked(LINES, 200).map(row).collect::<String>());
        let reply = engine.call(&caller, "apply", json!({ "input": patch }));
        let answer = reply.result.unwrap_or_else(|error| panic!("{error}"));
        let header = answer.data["files"][0]["header"].as_str().unwrap_or_default();
        let next = header.trim_end_matches(']').rsplit('#').next().and_then(ShortTag::parse);
        tag = next.unwrap_or_else(|| panic!("no header"));
        black_box(answer);
    })
}

/// Makes a call as a front end does, from JSON text to JSON text.
fn call((engine, caller): &(Engine, CallContext), tool: &str, input: &str) -> String {
    let input: Value = serde_json::from_str(input).unwrap_or_else(|error| panic!("{error}"));
    written(&engine.call(caller, tool, input))
}

/// Writes a reply as JSON text.
fn written(reply: &Reply) -> String {
    match &reply.result {
        Ok(answer) => json!({ "text": answer.text, "data": answer.data }).to_string(),
        Err(error) => panic!("{error}"),
    }
}

/// Reads a file of two thousand lines.
pub(crate) fn read() -> Box<dyn FnMut()> {
    let engine = engine(FILE, LINES);
    let input = json!({ "file_path": FILE }).to_string();
    Box::new(move || {
        let shown = call(&engine, "read", &input);
        assert!(shown.contains(&format!("value_{} ", LINES - 5)));
        black_box(shown);
    })
}

/// Changes one line back and forth.
pub(crate) fn edit() -> Box<dyn FnMut()> {
    changing(FILE, LINES)
}

/// Changes one line of a small file, where the text itself costs next to nothing.
pub(crate) fn small() -> Box<dyn FnMut()> {
    changing(SMALL, FEW)
}

/// Does the same with a tool of a profile, as clients of the MCP server do.
pub(crate) fn profile() -> Box<dyn FnMut()> {
    let Some(view) = emendate::profile("default").and_then(|profile| profile.view("edit")) else {
        panic!("the default profile has no tool `edit`")
    };
    changing_by(SMALL, FEW, |engine, caller, input| view.call_json(engine, caller, input))
}

fn changing(file: &'static str, count: usize) -> Box<dyn FnMut()> {
    changing_by(file, count, |engine, caller, input| {
        let input: Value = serde_json::from_str(input).unwrap_or_else(|error| panic!("{error}"));
        engine.call(caller, "edit", input)
    })
}

fn changing_by(
    file: &'static str,
    count: usize,
    edit: impl Fn(&Engine, &CallContext, &str) -> Reply + 'static,
) -> Box<dyn FnMut()> {
    let (engine, caller) = engine(file, count);
    let line = count / 20 * 10 + 5;
    let (mut old, mut new) = (mark(line), changed(line));
    Box::new(move || {
        let input = json!({ "file_path": file, "old_string": old, "new_string": new }).to_string();
        black_box(written(&edit(&engine, &caller, &input)));
        std::mem::swap(&mut old, &mut new);
    })
}
