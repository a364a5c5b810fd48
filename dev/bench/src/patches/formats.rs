//! Measures one changed line in each format, from the text and the edit to the new text, next to one copy of the text.

use super::{GOAL_LINES, copy, numbered};
use crate::exact::scratch;
use crate::outcome::{Kind, Outcome};
use crate::race::{Case, race, timed};
use emendate::core::formats::{FormatInput, format_by_name};
use emendate::core::{FileAction, OpOrder, ResolveSettings, Snapshot, resolve};
use serde_json::Value;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PEER: &str = "the crate hashline";

pub(super) fn run(title: &str, count: usize, peer: Option<&Path>, rounds: usize) -> Outcome {
    let text = numbered(count, super::MANY);
    let marked = super::marked(&text);
    let at = marked[marked.len() * 9 / 10];
    let old: Vec<&str> = text.lines().collect();
    let new = old[at].replace("measure", "weigh");
    let mut want = old.clone();
    want[at] = &new;
    let want = want.join("\n") + "\n";
    let said = said(&old, at, &new);
    let mut cases = vec![copy(&text)];
    for (format, input) in &said {
        let made = apply(format, input, &text);
        assert_eq!(made.as_deref(), Some(want.as_bytes()), "{format}: wrong result");
        cases.push(Case::ours(format!("ours: {format}"), || timed(|| black_box(apply(format, input, &text))).1));
    }
    let outcome = race(title, rounds.max(11), cases);
    let outcome = if count == GOAL_LINES {
        outcome.beside("P8a", "ours: unified_diff", "ours: apply_patch", 1.5)
    } else {
        outcome
    };
    let Some(peer) = peer else { return outcome };
    let (time, right) = theirs(peer, &text, at + 1, &new, rounds).unwrap_or_else(|error| panic!("{PEER}: {error}"));
    outcome.row(if right { Kind::Peer } else { Kind::Wrong }, PEER, time)
}

/// Returns the same edit in four formats.
fn said(old: &[&str], at: usize, new: &str) -> Vec<(&'static str, String)> {
    let mut hunk: Vec<String> = old[at - 3..at].iter().map(|line| format!(" {line}")).collect();
    hunk.push(format!("-{}", old[at]));
    hunk.push(format!("+{new}"));
    hunk.extend(old[at + 1..at + 4].iter().map(|line| format!(" {line}")));
    let hunk = hunk.join("\n");
    vec![
        ("apply_patch", format!("*** Begin Patch\n*** Update File: f.rs\n@@\n{hunk}\n*** End Patch\n")),
        ("unified_diff", format!("--- a/f.rs\n+++ b/f.rs\n@@ -{0},7 +{0},7 @@\n{hunk}\n", at - 2)),
        ("hashline", format!("¶f.rs#0000\nreplace {0}..{0}:\n+{new}\n", at + 1)),
        ("search_replace", format!("f.rs\n<<<<<<< SEARCH\n{}\n=======\n{new}\n>>>>>>> REPLACE\n", old[at])),
    ]
}

fn apply(format: &str, input: &str, text: &str) -> Option<Vec<u8>> {
    let request = format_by_name(format)?.parse(FormatInput::Text(input.to_owned())).ok()?;
    let FileAction::Edit { ops, .. } = &request.files[0].action else { return None };
    let base = Snapshot::from_text(text);
    let resolved = resolve(&base, ops, OpOrder::AsNeeded, ResolveSettings::default()).ok()?;
    Some(resolved.changes.apply(&base))
}

/// Returns the peer's median time, and true if its result was right.
fn theirs(peer: &Path, text: &str, line: usize, new: &str, rounds: usize) -> Result<(Duration, bool), String> {
    let file = scratch().join("hashline.rs");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let mut command = Command::new(peer);
    command.arg(&file).args([line.to_string(), new.to_owned(), rounds.to_string()]);
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|_| said)?;
    let mut times: Vec<f64> = answer["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().ok_or("no times")?;
    Ok((Duration::from_secs_f64(median), answer["right"] == true))
}
