//! Deaths of the whole program: `emend` is killed in an edit, a batch, an undo and a recovery, at random moments and at exact
//! system calls (strace). Whatever the next start finds, the files are the old or the new, all of them together, and the
//! history tells which: what was done can be taken back, and what was not leaves no trace.

use crate::workspace::{Ran, TestWorkspace, feed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Returns the factor for the number of rounds: `EMEND_TEST_TIMES`, which `cargo xtask torture` sets.
fn times() -> usize {
    std::env::var("EMEND_TEST_TIMES").map_or(1, |times| times.parse().unwrap_or(1))
}

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Update File: d/b.txt\n@@\n-one\n+ONE\n\
                     *** Delete File: d/gone.txt\n*** Add File: n/new.txt\n+new\n*** Update File: linked.txt\n@@\n-one\n+ONE\n\
                     *** End Patch\n";

/// A command that is killed, and the commands before it.
struct Scene {
    name: &'static str,
    before: &'static [(&'static [&'static str], &'static str)],
    killed: (&'static [&'static str], &'static str),
    /// The preceding command is killed as well, at this call of this name.
    broken: Option<(&'static str, usize)>,
}

const APPLY: (&[&str], &str) = (&["apply"], PATCH);
const UNDO: (&[&str], &str) = (&["undo"], "");

/// The last scene is that of a recovery.
const SCENES: [Scene; 6] = [
    Scene {
        name: "edit",
        before: &[],
        killed: (&["edit", "a.txt", "--old", "one", "--new", "a much longer line"], ""),
        broken: None,
    },
    Scene { name: "batch", before: &[], killed: APPLY, broken: None },
    Scene { name: "undo", before: &[APPLY], killed: UNDO, broken: None },
    Scene { name: "redo", before: &[APPLY, UNDO], killed: (&["redo"], ""), broken: None },
    Scene { name: "restore", before: &[APPLY], killed: (&["restore", "a.txt@1^"], ""), broken: None },
    Scene { name: "recovery", before: &[APPLY], killed: (&["history"], ""), broken: Some(("renameat2", 2)) },
];

type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn walk(folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, tree);
        } else {
            tree.insert(path.clone(), fs::read(path).unwrap());
        }
    }
}

fn tree(workspace: &TestWorkspace) -> Tree {
    let mut tree = Tree::new();
    walk(&workspace.work(), &mut tree);
    tree
}

/// A scene that can be run repeatedly.
struct RepeatableScene {
    workspace: TestWorkspace,
    scene: &'static Scene,
    /// The files before the command and after it, if no process is killed.
    ends: [Tree; 2],
    /// The number of operations in the history before the command.
    operations: usize,
    took: Duration,
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

impl RepeatableScene {
    fn new(scene: &'static Scene) -> RepeatableScene {
        let workspace = TestWorkspace::with("one\ntwo\n");
        for name in ["d/b.txt", "d/gone.txt", "linked.txt", "probe", "d/probe"] {
            workspace.put(name, "one\ntwo\n");
        }
        fs::hard_link(workspace.work().join("linked.txt"), workspace.work().join("twin.txt")).unwrap();
        workspace.run(&["history"]);
        let mut ends = Vec::new();
        if let Some((call, when)) = scene.broken {
            let whole = tree(&workspace);
            copy(&workspace.work(), &workspace.beside("whole"));
            for (args, input) in scene.before {
                feed(workspace.command(args), input.as_bytes()).exits(0);
            }
            ends.extend([whole, tree(&workspace)]);
            copy(&workspace.beside("whole"), &workspace.work());
            let _ = fs::remove_dir_all(workspace.beside("state"));
            workspace.run(&["history"]);
            for (args, input) in scene.before {
                assert!(traced(&workspace, args, input, &[&kill(call, when)]).0, "{}", scene.name);
            }
        } else {
            for (args, input) in scene.before {
                feed(workspace.command(args), input.as_bytes()).exits(0);
            }
        }
        copy(&workspace.work(), &workspace.beside("template"));
        copy(&workspace.beside("state"), &workspace.beside("template-state"));
        let operations = scene.before.len();
        let ends_later = [Tree::new(), Tree::new()];
        let mut stage = RepeatableScene { workspace, scene, ends: ends_later, operations, took: Duration::ZERO };
        let before = tree(&stage.workspace);
        // The fastest of several runs: on a busy machine a single one may be slow, and most kills would come too late.
        let took = (0..3).map(|_| {
            stage.reset();
            let started = Instant::now();
            stage.command().exits(0);
            started.elapsed()
        });
        stage.took = took.min().unwrap();
        if ends.is_empty() {
            ends = vec![before, tree(&stage.workspace)];
            assert_ne!(ends[0], ends[1]);
        }
        stage.ends = [ends.remove(0), ends.remove(0)];
        stage
    }

    /// Restores the state before the command.
    fn reset(&self) {
        copy(&self.workspace.beside("template"), &self.workspace.work());
        copy(&self.workspace.beside("template-state"), &self.workspace.beside("state"));
    }

    fn command(&self) -> Ran {
        let (args, input) = self.scene.killed;
        feed(self.workspace.command(args), input.as_bytes())
    }

    /// Checks that the next start recovers, that a second start has nothing to do, and that the files are all old or
    /// all new. Returns true if they are new.
    #[track_caller]
    fn check(&self, why: &str) -> bool {
        let (workspace, name) = (&self.workspace, self.scene.name);
        let history = workspace.run(&["history", "--json"]).exits(0).json();
        let again = workspace.run(&["history"]);
        assert!(!again.err.contains("A process died"), "{name}, {why}: a second recovery: {again:?}");
        // The next write in a directory sweeps it.
        for probe in ["probe", "d/probe"] {
            workspace.run(&["edit", probe, "--old", "two", "--new", "TWO", "--state", "none"]).exits(0);
            workspace.put(probe, "one\ntwo\n");
        }
        let now = tree(workspace);
        let shown: Vec<_> = now.iter().map(|(path, text)| (path, String::from_utf8_lossy(text))).collect();
        assert!(self.ends.contains(&now), "{name}, {why}: neither old nor new, or litter: {shown:#?}");
        assert_eq!(records(workspace), 0, "{name}, {why}");
        let new = now == self.ends[1];
        if name != "recovery" {
            self.check_history(&history, new, why);
        }
        new
    }

    /// Checks that the history has the command if it was carried out, which can then be taken back; or else has nothing of
    /// it, and it can be repeated.
    #[track_caller]
    fn check_history(&self, history: &Value, new: bool, why: &str) {
        let (workspace, name) = (&self.workspace, self.scene.name);
        let rows = history["data"]["operations"].as_array().unwrap();
        assert_eq!(rows.len(), self.operations + usize::from(new), "{name}, {why}: {history}");
        let is_settled = |row: &Value| row["pending"] == false && row["unsure"] == false;
        assert!(rows.iter().all(is_settled), "{name}, {why}: {history}");
        let ran = match (new, name) {
            (false, _) => self.command(),
            (true, "undo") => workspace.run(&["redo"]),
            (true, _) => workspace.run(&["undo"]),
        };
        ran.exits(0);
        let then = tree(workspace);
        assert!(
            then == self.ends[usize::from(!new)],
            "{name}, {why}: neither taken back nor repeated: {:?}",
            then.keys()
        );
    }
}

/// Records of the journal that are left.
pub(crate) fn records(workspace: &TestWorkspace) -> usize {
    let mut state = Tree::new();
    walk(&workspace.beside("state"), &mut state);
    state.keys().filter(|path| path.extension().is_some_and(|end| end == "record")).count()
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_or_the_new() {
    for scene in &SCENES[..SCENES.len() - 1] {
        let stage = RepeatableScene::new(scene);
        let rounds = u32::try_from(10 * times()).unwrap();
        let mut news = 0;
        for round in 0..rounds {
            stage.reset();
            let (args, input) = scene.killed;
            let mut command = stage.workspace.command(args);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut running = command.spawn().unwrap();
            let _ = std::io::Write::write_all(&mut running.stdin.take().unwrap(), input.as_bytes());
            std::thread::sleep(stage.took * 11 * round / (10 * rounds));
            running.kill().unwrap();
            running.wait().unwrap();
            news += u32::from(stage.check(&format!("kill {round} of {rounds}")));
        }
        println!("{}: {rounds} random kills, {news} new, {} old, 0 wrong", scene.name, rounds - news);
    }
}

/// System calls that change something.
const CALLS: [&str; 14] = [
    "openat", "openat2", "mkdirat", "mkdir", "unlinkat", "unlink", "renameat2", "linkat", "pwritev", "pwrite64",
    "ftruncate", "fchmod", "fdatasync", "fsync",
];

pub(crate) fn kill(call: &str, when: usize) -> String {
    format!("inject={call}:signal=SIGKILL:when={when}")
}

/// Runs the command under strace. Returns whether it was killed, and the trace.
pub(crate) fn traced(workspace: &TestWorkspace, args: &[&str], input: &str, options: &[&str]) -> (bool, String) {
    let plain = workspace.command(args);
    let log = workspace.beside("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(&log).args(["-e", &format!("trace={}", CALLS.join(","))]);
    for option in options {
        command.args(["-e", option]);
    }
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(workspace.work()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
    let status = child.wait().unwrap();
    (status.signal().is_some() || status.code() == Some(137), fs::read_to_string(log).unwrap_or_default())
}

/// The suite tries a part of the calls, `cargo xtask torture` each of them.
#[test]
fn a_kill_at_any_call_leaves_the_old_or_the_new() {
    if !external::has(&["strace"]) {
        return;
    }
    let each = if times() > 1 { 1 } else { 8 };
    for (offset, scene) in SCENES.iter().enumerate() {
        let stage = RepeatableScene::new(scene);
        let (args, input) = scene.killed;
        stage.reset();
        let log = traced(&stage.workspace, args, input, &[]).1;
        let count = |call: &str| {
            let begins = format!("{call}(");
            log.lines()
                .filter(|line| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with(&begins))
                .count()
        };
        let all = CALLS.iter().flat_map(|call| (1..=count(call)).map(move |when| (*call, when)));
        let (mut kills, mut news) = (0, 0);
        for (call, when) in all.skip(offset).step_by(each) {
            stage.reset();
            if traced(&stage.workspace, args, input, &[&kill(call, when)]).0 {
                kills += 1;
                news += usize::from(stage.check(&format!("{call} {when}")));
            }
        }
        println!("{}: {kills} kills at exact calls, {news} new, {} old, 0 wrong", scene.name, kills - news);
        assert!(kills > 0, "{}", scene.name);
    }
}
