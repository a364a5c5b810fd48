//! Plays many scenes through every driver on all processors.

use crate::driver::{KINDS, Kind, Reply};
use crate::parse::parse;
use crate::play::{Played, play};
use crate::scene::Scene;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The outcome of a suite.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of scenes that were played.
    pub scenes: usize,
    /// Number of runs: scenes times drivers.
    pub plays: usize,
    /// One text per scene and driver that failed.
    pub failures: Vec<String>,
}

/// Lists the scene files below a directory, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "scene") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// Plays every scene through every driver and compares the drivers with each other.
pub fn run(files: &[PathBuf], kinds: &[Kind], emend: Option<&Path>) -> Report {
    let report = Mutex::new(Report::default());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (plays, failures) = all_drivers(path, kinds, emend);
            let mut report = report.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            report.scenes += 1;
            report.plays += plays;
            report.failures.extend(failures.into_iter().map(|failure| format!("{}: {failure}", path.display())));
        }
    };
    // There are more workers than processors, because workers mostly wait for processes and disks.
    let workers = std::thread::available_parallelism().map_or(2, |count| count.get() * 2);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let mut report = report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    report.failures.sort();
    report
}

fn all_drivers(path: &Path, kinds: &[Kind], emend: Option<&Path>) -> (usize, Vec<String>) {
    let scene = match fs::read_to_string(path).map_err(|error| error.to_string()).and_then(|source| parse(&source)) {
        Ok(scene) => scene,
        Err(error) => return (0, vec![error]),
    };
    if !scene.is_for_this_system() {
        return (0, Vec::new());
    }
    let (mut failures, mut first, mut plays) = (Vec::new(), None::<(Kind, Played)>, 0);
    for &kind in kinds.iter().filter(|kind| !skipped(&scene, **kind)) {
        let played = play(&scene, kind, emend);
        plays += 1;
        failures.extend(played.failures.iter().map(|failure| format!("[{}] {failure}", kind.name())));
        match &first {
            None => first = Some((kind, played)),
            Some((other, known)) => failures.extend(disagreements((*other, known), (kind, &played))),
        }
    }
    (plays, failures)
}

fn skipped(scene: &Scene, kind: Kind) -> bool {
    scene.skips.iter().any(|skip| skip.driver == kind.name())
}

fn disagreements((a, first): (Kind, &Played), (b, second): (Kind, &Played)) -> Vec<String> {
    let pairs = (1..).zip(first.replies.iter().zip(&second.replies));
    let differ = pairs.filter(|(_, (one, two))| one != two);
    let mut out: Vec<String> = differ
        .map(|(call, (one, two))| format!("call {call}: {} and {} disagree:\n{}", a.name(), b.name(), apart(one, two)))
        .collect();
    if first.replies.len() != second.replies.len() {
        out.push(format!("{} gave {} replies, {} {}", a.name(), first.replies.len(), b.name(), second.replies.len()));
    }
    out
}

/// Describes the parts in which two replies differ.
fn apart(one: &Reply, two: &Reply) -> String {
    let mut out = Vec::new();
    let mut part = |name: &str, one: &dyn std::fmt::Debug, two: &dyn std::fmt::Debug| {
        let (one, two) = (format!("{one:?}"), format!("{two:?}"));
        if one != two {
            out.push(format!("{name}: {one:.1000}\n{name}: {two:.1000}"));
        }
    };
    part("error", &one.error, &two.error);
    part("text", &one.text, &two.text);
    let keys =
        |reply: &Reply| reply.data.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let mut names = [keys(one), keys(two)].concat();
    names.sort();
    names.dedup();
    for name in names {
        part(&format!("data.{name}"), &one.data.get(&name), &two.data.get(&name));
    }
    out.join("\n")
}

/// Returns the directory of the repository's scenes.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).join("scenes")
}

/// Parses driver names; no names mean all drivers.
///
/// # Errors
/// Fails for an unknown name.
pub fn kinds(names: &str) -> Result<Vec<Kind>, String> {
    let kind = |name: &str| {
        let found = KINDS.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("there is no driver `{name}`"))
    };
    if names.is_empty() { Ok(KINDS.to_vec()) } else { names.split(',').map(kind).collect() }
}
