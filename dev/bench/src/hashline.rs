//! `hashline`: edits by line number in memory, next to @oh-my-pi/hashline in a warm bun process.
//!
//! Each edit applies to the result of the previous one, under the header of its reply. The peer's time covers reading
//! its file from memory, parsing, applying and the new tag. Emendate's covers the whole engine with a store in memory:
//! JSON, sandbox, policy, the session's read records, the syntax check, the history and the reply.

mod peer;

use crate::outcome::{Kind, Outcome};
use crate::race::{Case, race, timed};
use crate::report::Report;
use emendate::core::formats::{FormatInput, format_by_name};
use emendate::core::{FileAction, OpOrder, ResolveSettings, ShortTag, Snapshot, resolve};
use emendate::fs::MemoryStore;
use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
use peer::Peer;
use serde_json::json;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

const ROOT: &str = "/w";
/// Maximum share of the peer's time that Emendate may take.
const GOAL: f64 = 0.1;
const MANY: &str = "1,000 hunks in one patch, 10,000 lines";

pub(crate) fn run(report: &mut Report) {
    let quick = report.setting.quick;
    let mut peer = report.peer(peer::PACKAGES[0], Peer::start());
    let sizes: &[(usize, usize)] =
        if quick { &[(100, 100), (10_000, 10)] } else { &[(100, 200), (10_000, 20), (100_000, 4)] };
    let rounds = if quick { 5 } else { 11 };
    for kind in ["txt", "ts"] {
        for &(count, times) in sizes {
            let (name, lines) = (format!("page{count}.{kind}"), targets(count, 1));
            let patch = |round| patch(&name, &lines, round);
            let title = format!("one line of {count}, .{kind}");
            report.race(&title, || chains(&mut peer, (&title, &name, &page(count)), &patch, (times, rounds)));
        }
    }
    let lines = targets(10_000, 1000);
    let patch = |round| patch("many.txt", &lines, round);
    report.race(MANY, || chains(&mut peer, (MANY, "many.txt", &page(10_000)), &patch, (4, rounds)));
    report.race("hunks in one patch", || linear(rounds));
    report.race("lost braces", || worst(&mut peer, quick));
    report.race("lines that are not there", far);
}

/// Generates lines of about forty bytes: functions of ten lines in a language with a grammar.
fn page(count: usize) -> String {
    let mut out = String::with_capacity(count * 40);
    for nth in 0..count / 10 {
        let _ = write!(
            out,
            "export function compute{nth}(input: number): number {{\n  const scaled = input * {nth} + offset({nth});\n  if (scaled > limit) {{\n    report(\"too large\", scaled, {nth});\n    return limit;\n  }}\n  let result = scaled; // of {nth}\n  result += correction(result, {nth});\n  return Math.round(result);\n}}\n"
        );
    }
    out
}

/// Generates a patch whose hunks replace one line each. `round` makes its text unique.
fn patch(name: &str, lines: &[usize], round: usize) -> String {
    let mut out = format!("[{name}#TAG]\n");
    for line in lines {
        let _ = write!(out, "PUT {line}.={line}:\n+  let result = scaled; // edit {round} of line {line}\n");
    }
    out
}

/// Returns the numbers of `hunks` lines that begin with `  let result`, spread over the text.
fn targets(count: usize, hunks: usize) -> Vec<usize> {
    let functions = count / 10;
    (0..hunks).map(|nth| (nth * functions / hunks + functions / hunks / 2) * 10 + 7).collect()
}

/// The engine with one file in memory.
struct Ours {
    engine: Engine,
    caller: CallContext,
    tag: ShortTag,
}

impl Ours {
    fn new(name: &str, text: &str) -> Ours {
        let store = MemoryStore::new(Path::new(ROOT));
        store.put(Path::new(ROOT).join(name), text);
        let engine = Engine::with_store(Box::new(store), StateLocation::Memory, Config::default());
        let engine = engine.unwrap_or_else(|error| panic!("{error}"));
        Ours {
            engine,
            caller: CallContext { unread: UnreadPolicy::Deny, ..CallContext::default() },
            tag: ShortTag::of(text),
        }
    }

    /// Makes edits in order; returns their time, and the reason if one was refused.
    fn edit(&mut self, patches: &[String]) -> (Duration, Result<(), String>) {
        let mut total = Duration::ZERO;
        for patch in patches {
            let input = json!({ "input": patch.replace("#TAG", &format!("#{}", self.tag)) });
            let (reply, time) = timed(|| self.engine.call(&self.caller, "apply", input));
            total += time;
            let answer = match reply.result {
                Ok(answer) => answer,
                Err(error) => return (total, Err(error.to_string())),
            };
            let header = answer.data["files"][0]["header"].as_str().unwrap_or_default();
            let tag = header.trim_end_matches(']').rsplit('#').next().and_then(ShortTag::parse);
            self.tag = tag.unwrap_or_else(|| panic!("no header"));
        }
        (total, Ok(()))
    }
}

/// Applies a patch with the core alone: computes the tag of the text, parses, places, and computes the new text and its
/// tag.
fn core(text: &str, patch: &str) -> Option<Vec<u8>> {
    let base = Snapshot::from_text(text);
    black_box(ShortTag::of(base.text()));
    let request = format_by_name("hashline_put")?.parse(FormatInput::Text(patch.replace("#TAG", "#1A2B"))).ok()?;
    let FileAction::Edit { ops, .. } = &request.files[0].action else { return None };
    let resolved = resolve(&base, ops, OpOrder::Together, ResolveSettings::default()).ok()?;
    let after = resolved.changes.apply(&base);
    black_box(ShortTag::of(std::str::from_utf8(&after).ok()?));
    Some(after)
}

/// Measures the edits that `patch` generates, with both tools and with our core alone.
fn chains(
    peer: &mut Option<Peer>,
    (title, name, text): (&str, &str, &str),
    patch: &dyn Fn(usize) -> String,
    (times, rounds): (usize, usize),
) -> Outcome {
    let ours = RefCell::new(Ours::new(name, text));
    let each = u32::try_from(times).unwrap_or(1);
    let patches = |round: usize| -> Vec<String> { (0..times).map(|nth| patch(round * times + nth)).collect() };
    let (mut first, mut second, mut third) = (0.., 0.., 0..);
    let mut cases = Vec::new();
    let theirs = RefCell::new(peer.as_mut());
    if let Some(peer) = &mut *theirs.borrow_mut() {
        peer.load(name, text);
        cases.push(Case::peer(peer::PACKAGES[0], || {
            let mut peer = theirs.borrow_mut();
            let Some(peer) = &mut *peer else { return Duration::ZERO };
            let (time, error) = peer.edit(name, &patches(first.next().unwrap_or(0)));
            assert_eq!(error, None, "{title}");
            time / each
        }));
    }
    cases.push(Case::ours("ours: whole engine", || {
        let (time, done) = ours.borrow_mut().edit(&patches(second.next().unwrap_or(0)));
        assert!(done.is_ok(), "{title}: {done:?}");
        time / each
    }));
    cases.push(Case::ours("ours: core alone", || {
        let patch = patch(third.next().unwrap_or(0));
        timed(|| (0..times).for_each(|_| drop(black_box(core(black_box(text), &patch))))).1 / each
    }));
    let outcome = race(title, rounds, cases);
    let Some(peer) = theirs.into_inner() else { return outcome };
    assert_eq!(peer.tag(name), ours.borrow().tag.to_string(), "{title}: another text");
    let outcome =
        if title == MANY { outcome.beside("P5", "ours: whole engine", peer::PACKAGES[0], 1.0) } else { outcome };
    outcome.goal("", "ours: whole engine", GOAL).goal("", "ours: core alone", GOAL).rates()
}

/// Compares a thousand hunks with a hundred.
fn linear(rounds: usize) -> Outcome {
    let text = page(10_000);
    let case = |name: &'static str, hunks: usize| {
        let (mut ours, lines, mut round) = (Ours::new("many.txt", &text), targets(10_000, hunks), 0);
        Case::ours(name, move || {
            round += 1;
            let (time, done) = ours.edit(&[patch("many.txt", &lines, round)]);
            assert!(done.is_ok(), "{done:?}");
            time
        })
    };
    let cases = vec![case("100 hunks", 100), case("1,000 hunks", 1000)];
    race("ours: hunks in one patch, 10,000 lines", rounds, cases).goal("", "1,000 hunks", 10.0)
}

/// Measures the peer's worst case: twelve hunks that each drop a closing brace, and one that cannot be repaired.
fn worst(peer: &mut Option<Peer>, quick: bool) -> Outcome {
    let (name, text) = ("worst.ts", page(10_000));
    let mut patch = format!("[{name}#TAG]\n");
    for nth in 0..12 {
        let last = (nth * 80 + 5) * 10;
        let _ = write!(patch, "PUT {}.={last}:\n+  return Math.floor(result);\n", last - 1);
    }
    patch.push_str("PUT 9997.=9997:\n+  )) let = {{;\n");
    let case = Case::ours("ours: whole engine", || Ours::new(name, &text).edit(std::slice::from_ref(&patch)).0);
    let mut outcome = race("12 lost braces and a broken line, 10,000 lines of .ts", 5, vec![case]).within(
        "",
        "ours: whole engine",
        Duration::from_millis(50),
    );
    if let Some(peer) = peer.as_mut().filter(|_| !quick) {
        peer.load(name, &text);
        // This is run only once, because it takes about ten seconds.
        outcome = outcome.row(Kind::Peer, &format!("{}, once", peer::PACKAGES[0]), peer.edit(name, &[patch]).0);
    }
    outcome
}

/// Measures line numbers far beyond the end of the file.
fn far() -> Outcome {
    let text = page(100);
    let case = |name: &'static str, patch: &str| {
        let patch = patch.to_owned();
        let text = &text;
        Case::ours(name, move || {
            let (time, done) = Ours::new("far.txt", text).edit(std::slice::from_ref(&patch));
            assert!(done.is_err(), "there is no such line");
            time
        })
    };
    let seed = "¶far.txt#TAG\nreplace 100000000000000000000..100000000000000000000:\n+x\n";
    let current = "[far.txt#TAG]\nPUT 1.=2000000000:\n+x\n";
    let cases = vec![case("line 10^20, seed dialect", seed), case("lines 1 to 2*10^9, current dialect", current)];
    race("ours: lines that are not there", 21, cases)
        .within("", "line 10^20, seed dialect", Duration::from_millis(1))
        .within("", "lines 1 to 2*10^9, current dialect", Duration::from_millis(1))
}
