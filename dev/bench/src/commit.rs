//! `commit`: what it costs that nothing is lost. One edit at each durability beside what a program does by hand and beside
//! the tools of others; a batch of 200 files; what history adds; the look for left-over work at start.

mod batch;
mod peers;

use crate::exact::scratch;
use crate::race::{Case, Outcome, race, settle, timed};
use crate::text::{Edits, source};
use emendate::fs::{Durability, Local};
use emendate::{Caller, Config, Engine, State, Unread};
use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The two ways of a careful program, which ours are measured against.
const RENAME: &str = "write + rename";
const SYNCED: &str = "cp + fsync + rename + fsync of the folder";

/// `alone`: without the tools of others, which have to be installed and built.
pub(crate) fn run(quick: bool, alone: bool) -> Vec<Outcome> {
    let rounds = if quick { 21 } else { 101 };
    let peers = (!alone).then(peers::Peers::find);
    let mut out: Vec<Outcome> =
        [1 << 10, 10 << 10, 100 << 10, 1 << 20].map(|size| one(peers.as_ref(), size, rounds)).into();
    out.extend([1 << 10, 100 << 10, 1 << 20].map(|size| history(size, rounds)));
    out.push(batch::run(if quick { 5 } else { 21 }));
    out.push(recovery(rounds));
    out
}

/// A folder on the disk with one file per case.
struct Bed {
    _dir: tempfile::TempDir,
    root: PathBuf,
    size: usize,
}

impl Bed {
    fn new(size: usize) -> Bed {
        let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
        let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned()).join("root");
        let _ = fs::create_dir(&root);
        Bed { _dir: dir, root, size }
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.root.join(name.replace(|char: char| !char.is_ascii_alphanumeric(), "-"));
        let _ = fs::write(&path, source(self.size));
        path
    }

    fn state(&self, name: &str) -> State {
        State::Directory(self.root.with_file_name(name))
    }

    /// An edit through an engine of its own.
    fn ours(&self, name: &str, state: State, durability: Durability) -> Case<'static> {
        let path = self.file(name);
        let engine = open(&self.root, state, durability);
        let caller = Caller { unread: Unread::Allow, ..Caller::default() };
        let mut edits = Edits::new();
        Case::new(name, move || {
            let (old, new) = edits.next();
            let input = json!({ "file_path": path, "old_string": old, "new_string": new });
            settle();
            let (reply, time) = timed(|| engine.call(&caller, "edit", input));
            assert!(reply.result.is_ok(), "{}", reply.text());
            engine.settle_history();
            time
        })
    }
}

fn open(root: &Path, state: State, durability: Durability) -> Engine {
    let config = Config::default().with_durability(durability);
    Engine::open(std::slice::from_ref(&root.to_owned()), state, config).unwrap_or_else(|error| panic!("{error}"))
}

fn by_rename(bed: &Bed, size: usize) -> Case<'static> {
    let (path, text) = (bed.file(RENAME), source(size));
    let aside = path.with_extension("tmp");
    Case::new(RENAME, move || {
        settle();
        timed(|| {
            let _ = fs::write(&aside, &text);
            let _ = fs::rename(&aside, &path);
        })
        .1
    })
}

fn synced(bed: &Bed) -> Case<'static> {
    let path = bed.file(SYNCED);
    let (aside, folder) = (path.with_extension("tmp"), bed.root.clone());
    Case::new(SYNCED, move || {
        settle();
        timed(|| {
            let _ = fs::copy(&path, &aside);
            let _ = File::open(&aside).and_then(|file| file.sync_all());
            let _ = fs::rename(&aside, &path);
            let _ = File::open(&folder).and_then(|folder| folder.sync_all());
        })
        .1
    })
}

fn one(peers: Option<&peers::Peers>, size: usize, rounds: usize) -> Outcome {
    let bed = Bed::new(size);
    let (none, process, power) = ("ours, none", "ours, process", "ours, power");
    let all = ("ours, process, with history", "ours, power, with history");
    let mut cases = vec![
        by_rename(&bed, size),
        synced(&bed),
        bed.ours(none, State::Nowhere, Durability::None),
        bed.ours(process, State::Nowhere, Durability::Process),
        bed.ours(power, State::Nowhere, Durability::Power),
        bed.ours(all.0, bed.state("state-process"), Durability::Process),
        bed.ours(all.1, bed.state("state-power"), Durability::Power),
    ];
    cases.extend(peers.into_iter().flat_map(|peers| peers.cases(&bed)));
    race(format!("one edit of {} KB", size >> 10), rounds, cases)
        .goal(none, 1.25)
        .goal(process, 1.3)
        .beside(power, SYNCED, 1.1)
}

/// What an edit costs more for being remembered.
fn history(size: usize, rounds: usize) -> Outcome {
    let bed = Bed::new(size);
    let (without, with) = ("ours, without history", "ours, with history");
    let cases = vec![
        // Small at every size, so that the ratios have one measure.
        by_rename(&bed, 1 << 10),
        bed.ours(without, State::Nowhere, Durability::Process),
        bed.ours(with, bed.state("state"), Durability::Process),
    ];
    let name = "history on the critical path";
    race(format!("history of an edit of {} KB, beside write + rename of 1 KB", size >> 10), rounds, cases)
        .difference(name, with, without)
        .goal(name, 0.1)
}

/// The look for what dead processes left, when there is nothing.
fn recovery(rounds: usize) -> Outcome {
    let bed = Bed::new(1 << 10);
    let journal = bed.root.with_file_name("journal");
    let roots = [bed.root.clone()];
    let opened = |journal: Option<&Path>| -> Duration {
        let (done, time) = timed(|| {
            let local = Local::open(&roots)?;
            match journal {
                Some(journal) => local.with_journal(journal)?.recover().map(drop),
                None => Ok(()),
            }
        });
        done.unwrap_or_else(|error| panic!("{error}"));
        time
    };
    let cases = vec![
        Case::new("opening the roots", || opened(None)),
        Case::new("the same, and the check of the journal", || opened(Some(&journal))),
    ];
    let name = "the check alone";
    race("start, nothing left behind", rounds, cases)
        .difference(name, "the same, and the check of the journal", "opening the roots")
        .within(name, Duration::from_millis(1))
}
