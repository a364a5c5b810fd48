//! `fuzzy`: a block with mistakes in texts of 10,000 and 100,000 lines, next to building a line index, rapidfuzz over
//! windows of lines, and difflib.
//!
//! Emendate's time covers the whole search on a new text: the earlier tiers, the lines and their keys, the vote, the
//! check, the proof of uniqueness, and the text to write or the report of the failure.

use crate::cascade::kinds::{self, BLOCK, Kind};
use crate::exact::scratch;
use crate::outcome::Kind as Whose;
use crate::outcome::Outcome;
use crate::race::{Case, race, timed};
use crate::report::Report;
use crate::text::lines;
use emendate::core::{ExpectedMatches, ResolveSettings, Snapshot, TextQuery, find};
use rapidfuzz::distance::levenshtein::{Args, BatchComparator};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const OURS: &str = "ours: place and proof";
const INDEX: &str = "a line index: where lines begin, a hash of each";
const WINDOWS: &str = "rapidfuzz over windows of lines";

pub(crate) fn run(report: &mut Report) {
    let quick = report.setting.quick;
    for count in [10_000, 100_000] {
        let text = lines(count, BLOCK);
        let rounds = match count {
            10_000 => 15,
            _ if quick => 5,
            _ => 11,
        };
        for kind in kinds::main().iter().filter(|kind| kind.tier.is_none_or(|tier| tier.number() > 2)) {
            let title = format!("{}, {count} lines", kind.name);
            report.race(&title, || beside(&title, &text, kind, rounds));
        }
    }
    report.missing("sassy", "it is built for AVX2 or AVX-512 alone, and ours for every processor of the architecture");
}

fn beside(title: &str, text: &str, kind: &Kind, rounds: usize) -> Outcome {
    let what = TextQuery::new(&kind.old, ExpectedMatches::Unique);
    let search = || {
        // Each search gets a new snapshot, so that nothing is cached between searches.
        let base = Snapshot::from_text(text);
        timed(|| find(&base, &what, &kind.new, ResolveSettings::default()))
    };
    assert_eq!(search().0.ok().map(|found| found.tier), kind.tier, "{title}");
    let cases = vec![
        Case::floor(INDEX, || timed(|| black_box(line_index(text))).1),
        Case::ours(OURS, || search().1),
        Case::peer(WINDOWS, || timed(|| black_box(windows(text, &kind.old))).1),
    ];
    let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let outcome = race(title, rounds, cases)
        .within("G8", OURS, Duration::from_nanos(10) * bytes)
        .beside("G8", OURS, WINDOWS, 0.25);
    // Our time includes building our own index, so the vote and the check may take as long again.
    let outcome = if kind.tier.is_some() { outcome.beside("G8", OURS, INDEX, 2.0) } else { outcome };
    let (time, step) = difflib(text, &kind.old).unwrap_or_else(|error| panic!("difflib: {error}"));
    let name = if step == 1 { "difflib".to_owned() } else { format!("difflib, 1 of {step} windows, scaled up") };
    outcome.row(Whose::Peer, &name, time).beside("G8", OURS, &name, 1.0 / 5000.0)
}

/// Returns the start of each line and a hash of it without surrounding whitespace.
fn line_index(text: &str) -> Vec<(usize, u64)> {
    let mut out = Vec::with_capacity(text.len() / 30);
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
        out.push((from, xxhash_rust::xxh3::xxh3_64(text[from..end].trim().as_bytes())));
        from = end + 1;
    }
    out
}

/// Returns the best window within two lines of the block's length, if it differs by at most a fifth.
fn windows(text: &str, old: &str) -> Option<(usize, usize)> {
    let lines = line_index(text);
    let starts: Vec<usize> = lines.iter().map(|line| line.0).chain([text.len()]).collect();
    let count = old.lines().count();
    let comparator = BatchComparator::new(old.bytes());
    let mut best = None;
    let mut cutoff = old.len() / 5;
    for at in 0..lines.len() {
        for length in count - 2..=count + 2 {
            let Some(end) = starts.get(at + length) else { break };
            let window = &text.as_bytes()[starts[at]..*end];
            let arguments = Args::default().score_cutoff(cutoff);
            if let Some(distance) = comparator.distance_with_args(window.iter().copied(), &arguments) {
                cutoff = distance;
                best = Some((at, distance));
            }
        }
    }
    best
}

/// Returns difflib's time, extrapolated from every `step`-th window, and `step`.
fn difflib(text: &str, old: &str) -> Result<(Duration, u64), String> {
    let file = scratch().join("difflib.json");
    let asked = json!({ "text": text, "old": old, "seconds": 1 });
    std::fs::write(&file, asked.to_string()).map_err(|error| error.to_string())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/difflib_windows.py");
    let output = Command::new("python3").arg(script).arg(&file).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|_| said)?;
    let time = answer["time"].as_f64().ok_or("no time")?;
    Ok((Duration::from_secs_f64(time), answer["step"].as_u64().unwrap_or(1)))
}
