//! `snapshots`: the first snapshot of ten thousand files, next to reading them, to `git add` and to the first snapshot
//! of jj; and a later one, next to `git status` and `jj status`. Programs that are missing are omitted. Each first
//! snapshot starts without a state, like in a fresh clone. The time that a server takes after the answer of a first
//! snapshot is also shown.

use crate::exact::scratch;
use crate::outcome::Outcome;
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
use serde_json::json;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Bytes per file.
const SIZE: usize = 6 << 10;
/// Number of files that change between two snapshots.
const CHANGED: usize = 10;

const READ: &str = "reading all files";
const ADD: &str = "git add -A";
const FIRST: &str = "ours: first snapshot";
const AFTER: &str = "ours: after its answer";
const STATUS: &str = "git status";
const LATER: &str = "ours: later snapshot";
const JJ_FIRST: &str = "jj: first snapshot";
const JJ_LATER: &str = "jj status";

pub(crate) fn run(report: &mut Report) {
    let (files, rounds) = if report.setting.quick { (1_000, 5) } else { (10_000, 7) };
    report.race("the first snapshot", || first(files, rounds));
    report.race("a later snapshot", || later(files, rounds));
}

/// A directory with many files.
struct Project {
    _dir: tempfile::TempDir,
    root: PathBuf,
    paths: Vec<PathBuf>,
}

impl Project {
    fn new(files: usize) -> Project {
        let dir = tempfile::tempdir_in(scratch()).unwrap_or_else(|error| panic!("{error}"));
        let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned()).join("work");
        let mut paths = Vec::with_capacity(files);
        for nth in 0..files {
            let folder = root.join(format!("d{:03}", nth / 100));
            let _ = fs::create_dir_all(&folder);
            let path = folder.join(format!("f{nth:05}.rs"));
            let line = format!("    let value_{nth} = self.measure({});\n", nth * 7919 % 10_007);
            let _ = fs::write(&path, line.repeat(SIZE / line.len()));
            paths.push(path);
        }
        settle();
        Project { _dir: dir, root, paths }
    }

    fn engine(&self, state: PathBuf) -> Engine {
        Engine::open(std::slice::from_ref(&self.root), StateLocation::Directory(state), Config::default())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn touch(&self, round: usize) {
        for nth in 0..CHANGED {
            let _ = fs::write(&self.paths[nth * self.paths.len() / CHANGED], format!("changed in round {round}\n"));
        }
    }
}

/// Runs git; false if it is missing or fails.
fn git(root: &Path, args: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(["-c", "core.fsync=none", "-c", "user.name=b", "-c", "user.email=b@b"]).args(args);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs jj with a configuration of its own; false if it is missing or fails.
fn jj(root: &Path, args: &[&str]) -> bool {
    let mut command = Command::new("jj");
    command.current_dir(root).args(["--config=user.name=b", "--config=user.email=b@b", "--no-pager"]).args(args);
    command.env("JJ_CONFIG", root.join("no-such-file")).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Creates an empty repository of jj, which replaces an existing one.
fn init_jj(root: &Path) -> bool {
    let _ = fs::remove_dir_all(root.join(".jj"));
    jj(root, &["git", "init", "--no-colocate"])
}

fn snapshot(engine: &Engine) -> Duration {
    let person = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    let (reply, time) = timed(|| engine.call(&person, "snapshot", json!({})));
    assert!(reply.result.is_ok(), "{}", reply.text());
    time
}

fn first(files: usize, rounds: usize) -> Outcome {
    let project = Project::new(files);
    let states = tempfile::tempdir_in(scratch()).unwrap_or_else(|error| panic!("{error}"));
    let copy = jj(&project.root, &["--version"]).then(|| Project::new(files));
    let (mut number, after) = (0, Cell::new(Duration::ZERO));
    let mut cases = vec![
        Case::floor(READ, || timed(|| project.paths.iter().filter_map(|path| fs::read(path).ok()).count()).1),
        Case::ours(FIRST, || {
            number += 1;
            let state = states.path().join(number.to_string());
            let engine = project.engine(state.clone());
            let time = snapshot(&engine);
            after.set(timed(|| engine.history().finish_background_work()).1);
            drop(engine);
            let _ = fs::remove_dir_all(state);
            time
        }),
        // The background work after the latest first snapshot.
        Case::ours(AFTER, || after.get()),
    ];
    if git(&project.root, &["version"]) {
        cases.push(Case::peer(ADD, || {
            let _ = fs::remove_dir_all(project.root.join(".git"));
            git(&project.root, &["init", "-q"]);
            timed(|| git(&project.root, &["add", "-A"])).1
        }));
    }
    if let Some(copy) = &copy {
        cases.push(Case::peer(JJ_FIRST, || {
            assert!(init_jj(&copy.root), "jj cannot create a repository");
            timed(|| jj(&copy.root, &["status"])).1
        }));
    }
    race(format!("first snapshot of {files} files of {SIZE} bytes"), rounds, cases).goal("P10", FIRST, 1.5)
}

fn later(files: usize, rounds: usize) -> Outcome {
    let project = Project::new(files);
    let states = tempfile::tempdir_in(scratch()).unwrap_or_else(|error| panic!("{error}"));
    let engine = project.engine(states.path().to_owned());
    snapshot(&engine);
    let copy = jj(&project.root, &["--version"]).then(|| Project::new(files));
    let (mut round, mut other, mut nth) = (0, 0, 0);
    let mut cases = vec![Case::ours(LATER, || {
        round += 1;
        project.touch(round);
        snapshot(&engine)
    })];
    if git(&project.root, &["init", "-q"]) && git(&project.root, &["add", "-A"]) {
        git(&project.root, &["commit", "-qm", "all"]);
        cases.push(Case::peer(STATUS, || {
            other += 1;
            project.touch(1_000 + other);
            timed(|| git(&project.root, &["status", "--porcelain"])).1
        }));
    }
    if let Some(copy) = copy.as_ref().filter(|copy| init_jj(&copy.root) && jj(&copy.root, &["status"])) {
        cases.push(Case::peer(JJ_LATER, || {
            nth += 1;
            copy.touch(10_000 + nth);
            timed(|| jj(&copy.root, &["status"])).1
        }));
    }
    race(format!("later snapshot of {files} files, {CHANGED} of them changed"), rounds, cases)
        .beside("P10", LATER, STATUS, 3.0)
        .beside("P10", LATER, JJ_LATER, 1.0)
}
