//! `files`: one replacement in ten thousand files, next to two threads that write temporary files and exchange the
//! names.
//!
//! The two texts have the same length and alternate, so every round does the same work.

use crate::exact::scratch;
use crate::outcome::Outcome;
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use emendate::fs::Durability;
use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Bytes per file.
const SIZE: usize = 6 << 10;
const NAMES: [&str; 2] = ["first_name(", "other_name("];

const LOOP: &str = "temp + exchange, 2 threads, no sync";
const EACH: &str = "temp + fdatasync + rename, 1 thread";
const OURS: &str = "ours: no sync";
const POWER: &str = "ours: safe against power cuts";

pub(crate) fn run(report: &mut Report) {
    let (files, rounds) = if report.setting.quick { (1_000, 5) } else { (10_000, 7) };
    report.race("what would change", || lookup(files, rounds));
    report.race("one replacement in many files", || replace(files, rounds));
}

fn replace(files: usize, rounds: usize) -> Outcome {
    let scratch_files = ScratchFiles::new(files);
    let (mut none, mut power) = (Ours::new(files, Durability::None), Ours::new(files, Durability::Power));
    let (mut swapped, mut synced) = (0, 0);
    let cases = vec![
        Case::floor(LOOP, || scratch_files.time(&mut swapped, two_threads)),
        Case::ours(OURS, || none.time()),
        Case::ours(POWER, || power.time()),
        Case::floor(EACH, || {
            scratch_files.time(&mut synced, |paths, old, new| paths.iter().for_each(|it| synced_each(it, old, new)))
        }),
    ];
    let outcome = race(format!("one replacement in {files} files of {SIZE} bytes"), rounds, cases);
    outcome.goal("P3", OURS, 1.6).beside("P3", POWER, EACH, 0.2)
}

/// A directory with many files.
struct ScratchFiles {
    _dir: tempfile::TempDir,
    root: PathBuf,
    paths: Vec<PathBuf>,
}

impl ScratchFiles {
    fn new(files: usize) -> ScratchFiles {
        let dir = tempfile::tempdir_in(scratch()).unwrap_or_else(|error| panic!("{error}"));
        let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned()).join("work");
        let line = "    let value = self.measure(\"before the edit\");\n";
        let half = line.repeat(SIZE / 2 / line.len());
        let mut paths = Vec::with_capacity(files);
        for nth in 0..files {
            let folder = root.join(format!("d{:03}", nth / 100));
            let _ = fs::create_dir_all(&folder);
            let path = folder.join(format!("f{nth:05}.rs"));
            let _ = fs::write(&path, format!("// {nth}\n{half}    {}value);\n{half}", NAMES[0]));
            paths.push(path);
        }
        ScratchFiles { _dir: dir, root, paths }
    }

    /// Measures the time of one way to replace, and checks the result.
    fn time(&self, round: &mut usize, what: impl FnOnce(&[PathBuf], &str, &str)) -> Duration {
        // The previous case may have left the files in either state.
        let text = fs::read_to_string(&self.paths[0]).unwrap_or_default();
        let now = usize::from(text.contains(NAMES[1]));
        *round += 1;
        settle();
        let ((), time) = timed(|| what(&self.paths, NAMES[now], NAMES[1 - now]));
        let last = fs::read_to_string(&self.paths[self.paths.len() - 1]).unwrap_or_default();
        assert!(last.contains(NAMES[1 - now]), "not replaced");
        time
    }
}

fn replaced(path: &Path, old: &str, new: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let at = text.find(old)?;
    Some(format!("{}{new}{}", &text[..at], &text[at + old.len()..]))
}

fn two_threads(paths: &[PathBuf], old: &str, new: &str) {
    let one = |path: &PathBuf| {
        let aside = path.with_extension("tmp");
        let Some(text) = replaced(path, old, new) else { return };
        let _ = fs::write(&aside, text);
        let _ = renameat_with(CWD, &aside, CWD, path, RenameFlags::EXCHANGE);
        let _ = fs::remove_file(&aside);
    };
    let (left, right) = paths.split_at(paths.len() / 2);
    thread::scope(|scope| {
        scope.spawn(|| left.iter().for_each(one));
        right.iter().for_each(one);
    });
}

fn synced_each(path: &Path, old: &str, new: &str) {
    let aside = path.with_extension("tmp");
    let Some(text) = replaced(path, old, new) else { return };
    let Ok(mut file) = fs::File::create(&aside) else { return };
    let _ = file.write_all(text.as_bytes());
    let _ = file.sync_data();
    let _ = fs::rename(&aside, path);
}

/// The engine with a directory and a state of its own.
struct Ours {
    scratch_files: ScratchFiles,
    engine: Engine,
    round: usize,
}

impl Ours {
    fn new(files: usize, durability: Durability) -> Ours {
        let scratch_files = ScratchFiles::new(files);
        let state = StateLocation::Directory(scratch_files.root.with_file_name("state"));
        let config = Config::default().with_durability(durability);
        let engine = Engine::open(std::slice::from_ref(&scratch_files.root), state, config);
        Ours { scratch_files, engine: engine.unwrap_or_else(|error| panic!("{error}")), round: 0 }
    }

    fn time(&mut self) -> Duration {
        let (engine, root) = (&self.engine, &self.scratch_files.root);
        let time = self.scratch_files.time(&mut self.round, |_, old, new| {
            let reply = call(engine, root, old, new, false);
            assert!(reply.is_ok(), "{reply:?}");
        });
        // A server also does this after its reply.
        engine.history().store_unstored_contents();
        time
    }
}

fn call(engine: &Engine, root: &Path, old: &str, new: &str, dry_run: bool) -> Result<(), String> {
    let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    let input = json!({ "path": root, "old_string": old, "new_string": new, "dry_run": dry_run });
    engine.call(&caller, "replace_in_files", input).result.map(drop).map_err(|error| error.to_string())
}

/// Measures a dry run next to reading the files one by one.
fn lookup(files: usize, rounds: usize) -> Outcome {
    let ours = Ours::new(files, Durability::None);
    let find = || {
        timed(|| {
            ours.scratch_files
                .paths
                .iter()
                .filter_map(|path| replaced(path, NAMES[0], NAMES[1]))
                .map(|it| it.len())
                .sum::<usize>()
        })
        .1
    };
    let cases = vec![
        Case::floor("read + replace in memory, 1 thread", find),
        Case::ours("ours: a trial", || {
            timed(|| call(&ours.engine, &ours.scratch_files.root, NAMES[0], NAMES[1], true)).1
        }),
    ];
    race(format!("what would change in {files} files"), rounds, cases)
}
