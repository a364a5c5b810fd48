//! `patches`: applies unified diffs in process, next to diffy, mpatch and the Rust core of Codex's tool as `PyPI` ships
//! it.
//!
//! The bench also measures whole processes, next to `git apply`, GNU patch and Codex's tool.
//!
//! Emendate's time covers reading the patch and the file, placing the hunks and writing the new text.

mod codex;
mod formats;
mod processes;

use crate::cascade::python::environment;
use crate::outcome::{Kind, Outcome};
use crate::peers;
use crate::race::{Case, each, race, timed};
use crate::report::Report;
use crate::text::lines;
use emendate::core::formats::{FormatInput, format_by_name};
use emendate::core::{FileAction, OpOrder, ResolveSettings, Snapshot, resolve};
use mpatch::{ApplyOptions, apply_patch_to_content, parse_single_patch};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

/// Number of lines changed by the patch of many hunks.
const MANY: usize = 200;
/// Lines of the file for which there are goals.
pub(crate) const GOAL_LINES: usize = 10_000;
const DIFFY: &str = "diffy";
const MPATCH: &str = "mpatch";

/// A file, a patch for it in both formats, and the expected result; `None` for a patch that does not fit.
pub(crate) struct Task {
    name: &'static str,
    pub(crate) text: String,
    pub(crate) unified: String,
    codex: String,
    pub(crate) want: Option<String>,
}

pub(crate) fn run(report: &mut Report) {
    let rounds = if report.setting.quick { 5 } else { 31 };
    let python = report.peer("codex-apply-patch from PyPI", environment());
    let crate_hashline = report.peer("the crate hashline", peers::hashline_crate()).map(|(_, library)| library);
    let sizes: &[(usize, Duration)] = &[(GOAL_LINES, Duration::from_micros(300)), (100_000, Duration::from_millis(3))];
    for &(count, limit) in sizes {
        let text = numbered(count, MANY);
        let tasks = [one(&text), miss(&text), every("200 hunks", &text)];
        for task in &tasks {
            report.race(task.name, || beside(task, python.as_deref(), count, rounds, limit));
        }
        report.race("ours alone", || {
            let ours = tasks.iter().map(|task| Case::ours(task.name, || timed(|| black_box(apply(task))).1));
            let outcome = race(format!("ours alone, {count} lines"), rounds, ours.collect());
            outcome.goal("", "a miss", 2.0).goal("", "200 hunks", 3.0)
        });
        let name = format!("one line in every format, {count} lines");
        report.race(&name, || formats::run(&name, count, crate_hashline.as_deref(), rounds));
    }
    processes::run(report);
}

/// Generates source text in which each of the lines to be changed is unique.
pub(crate) fn numbered(count: usize, marks: usize) -> String {
    let text = lines(count, "");
    let step = (count / marks).max(1);
    let line = |(nth, line): (usize, &str)| {
        if nth % step == step / 2 {
            format!("    let value_{nth} = measure({nth}); // {line}\n")
        } else {
            format!("{line}\n")
        }
    };
    text.lines().enumerate().map(line).collect()
}

/// Changes the lines with these numbers; returns the new text and its hunks.
fn edited(text: &str, at: &[usize]) -> (String, Vec<Vec<String>>) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut hunks = Vec::new();
    for &line in at {
        let context = |lines: &[String], from: usize, to: usize| -> Vec<String> {
            lines[from..to].iter().map(|line| format!(" {line}")).collect()
        };
        let new = lines[line].replace("measure", "weigh");
        let mut hunk = context(&lines, line - 3, line);
        hunk.push(format!("-{}", lines[line]));
        hunk.push(format!("+{new}"));
        hunk.extend(context(&lines, line + 1, line + 4));
        hunks.push(hunk);
        lines[line] = new;
    }
    (lines.join("\n") + "\n", hunks)
}

fn task(name: &'static str, text: &str, at: &[usize], fits: bool) -> Task {
    let (want, mut hunks) = edited(text, at);
    if !fits {
        for line in hunks.iter_mut().flatten().filter(|line| line.starts_with('-')) {
            *line = line.replace("measure", "measured");
        }
    }
    let mut unified = "--- a/f.rs\n+++ b/f.rs\n".to_owned();
    let mut codex = "*** Begin Patch\n*** Update File: f.rs\n".to_owned();
    for (line, hunk) in at.iter().zip(&hunks) {
        let body = hunk.join("\n");
        let _ = writeln!(unified, "@@ -{0},7 +{0},7 @@\n{body}", line - 2);
        let _ = writeln!(codex, "@@\n{body}");
    }
    codex += "*** End Patch\n";
    Task { name, text: text.to_owned(), unified, codex, want: fits.then_some(want) }
}

fn marked(text: &str) -> Vec<usize> {
    let at = text.lines().enumerate().filter(|(_, line)| line.starts_with("    let value_"));
    let last = text.lines().count() - 4;
    at.map(|(nth, _)| nth).filter(|&nth| (3..last).contains(&nth)).collect()
}

fn one(text: &str) -> Task {
    task("one hunk", text, &[marked(text)[MANY - 3]], true)
}

fn miss(text: &str) -> Task {
    task("a miss", text, &[marked(text)[MANY - 3]], false)
}

/// Creates a task with a hunk for each marked line.
pub(crate) fn every(name: &'static str, text: &str) -> Task {
    task(name, text, &marked(text), true)
}

/// Applies the patch in process; returns the new text if the patch fits.
pub(crate) fn apply(task: &Task) -> Option<Vec<u8>> {
    let format = format_by_name("unified_diff")?;
    let request = format.parse(FormatInput::Text(task.unified.clone())).ok()?;
    let FileAction::Edit { ops, .. } = &request.files[0].action else { return None };
    let base = Snapshot::from_text(&task.text);
    let resolved = resolve(&base, ops, OpOrder::AsNeeded, ResolveSettings::default()).ok()?;
    Some(resolved.changes.apply(&base))
}

fn beside(task: &Task, python: Option<&Path>, count: usize, rounds: usize, limit: Duration) -> Outcome {
    let want = task.want.as_deref();
    assert_eq!(apply(task).as_deref(), want.map(str::as_bytes), "{}: wrong result", task.name);
    let diffy = || {
        let patch = diffy::Patch::from_str(&task.unified).ok()?;
        diffy::apply(&task.text, &patch).ok()
    };
    let options = ApplyOptions::new();
    let fenced = format!("```diff\n{}```\n", task.unified);
    let mpatch = || {
        let patch = parse_single_patch(&fenced).ok()?;
        let made = apply_patch_to_content(&patch, Some(&task.text), &options);
        made.report.all_applied_cleanly().then_some(made.new_content)
    };
    let cases = vec![
        Case::ours("ours", || timed(|| black_box(apply(task))).1),
        theirs(DIFFY, diffy().as_deref() == want, || timed(|| black_box(diffy())).1),
        theirs(MPATCH, mpatch().as_deref() == want, || timed(|| black_box(mpatch())).1),
        copy(&task.text),
    ];
    let mut outcome = race(format!("{}, {count} lines, {} KB", task.name, task.text.len() >> 10), rounds, cases);
    if let Some(python) = python {
        outcome = codex::row(outcome, python, (&task.text, &task.codex, want), rounds);
    }
    match (task.name, count) {
        ("one hunk", GOAL_LINES) => [DIFFY, MPATCH, codex::NAME]
            .iter()
            .fold(outcome.within("", "ours", limit), |outcome, peer| outcome.beside("P4", "ours", peer, 0.1)),
        ("one hunk", _) => outcome.within("", "ours", limit),
        ("200 hunks", GOAL_LINES) => outcome.beside("P5", "ours", DIFFY, 1.0),
        _ => outcome,
    }
}

/// One copy of the text, which every tool needs at least.
const COPY: &str = "memcpy of the text";

fn copy(text: &str) -> Case<'_> {
    let mut copy = vec![0u8; text.len()];
    Case::floor(COPY, move || each(20, || black_box(&mut copy)[..].copy_from_slice(black_box(text.as_bytes()))))
}

/// Creates a peer's case, marked as wrong if its result is wrong.
fn theirs<'a>(name: &str, right: bool, run: impl FnMut() -> Duration + 'a) -> Case<'a> {
    if right { Case::peer(name, run) } else { Case::new(Kind::Wrong, format!("{name} (wrong result)"), run) }
}
