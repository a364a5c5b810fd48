//! Measures the cost of a parser in a process of its own: alternates the same calls with the grammars in this process
//! and in another one, and compares the medians. `cargo run --release -p bench --bin parsing`

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement reads the clock, prints what it found and may stop at the first fault"
)]

use emendate::{CallContext, Config, Engine, ParserIsolation, StateLocation, answer_questions};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// The argument that makes this program run as a parser.
const WORD: &str = "__parse";
const ROUNDS: usize = 201;

fn main() {
    if std::env::args().nth(1).as_deref() == Some(WORD) {
        answer_questions(std::io::stdin().lock(), std::io::stdout().lock()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    for lines in [100, 1000, 10_000] {
        let text: String =
            (0..lines / 4).map(|nth| format!("def f{nth}(a):\n    b = a + {nth}\n    return b\n\n")).collect();
        for (name, call) in [("outline", outline as Call), ("edit", edit as Call)] {
            let here = folder.path().join("here.py");
            let there = folder.path().join("there.py");
            std::fs::write(&here, &text).unwrap();
            std::fs::write(&there, &text).unwrap();
            let open = || Engine::open(&[folder.path().to_owned()], StateLocation::Memory, Config::default()).unwrap();
            let (inside, apart) =
                (open(), open().with_isolated_parsing(vec![program.clone(), WORD.to_owned()], ParserIsolation::Always));
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                ours.push(call(&inside, &here, round));
                theirs.push(call(&apart, &there, round));
            }
            let (ours, theirs) = (median(ours), median(theirs));
            let more = theirs.saturating_sub(ours);
            println!("{name}, {lines} lines: {ours:?} in this process, {theirs:?} in another one, {more:?} more");
        }
    }
}

type Call = fn(&Engine, &Path, usize) -> Duration;

fn outline(engine: &Engine, file: &Path, _: usize) -> Duration {
    timed(engine, "outline", &json!({ "file_path": file }))
}

/// Changes one line back and forth, and returns the time of the edit. The file parses before and after.
fn edit(engine: &Engine, file: &Path, round: usize) -> Duration {
    let (old, new) = if round.is_multiple_of(2) { ("a + 7\n", "a + 8 * 2\n") } else { ("a + 8 * 2\n", "a + 7\n") };
    timed(engine, "edit", &json!({ "file_path": file, "old_string": old, "new_string": new }))
}

fn timed(engine: &Engine, tool: &str, input: &Value) -> Duration {
    let caller = CallContext { unread: emendate::UnreadPolicy::Allow, ..CallContext::default() };
    let begun = Instant::now();
    let reply = engine.call_json(&caller, tool, &input.to_string());
    let spent = begun.elapsed();
    assert!(reply.result.is_ok(), "{:?}", reply.result.err());
    spent
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}
