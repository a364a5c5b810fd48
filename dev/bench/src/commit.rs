//! `commit`: the cost of durability. Measures one edit at each durability level next to the same steps by hand; the
//! same edit next to other tools, in a separate race; a batch of 200 files; the cost of history; and the check for
//! unfinished work at start.
//!
//! The goals apply to the first race, as the design's chapter on performance defines them: all cases in one process,
//! with warm caches. In the second race processes empty the caches between two edits, so a case also pays memory
//! accesses for all code and tables it uses.

mod batch;
mod peers;
mod sqlite;

use crate::exact::scratch;
use crate::outcome::{Outcome, size};
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use crate::text::{Edits, source};
use emendate::fs::{Durability, LocalStore};
use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Sizes that are also measured next to other tools.
const SMALL: &[usize] = &[1 << 10, 10 << 10, 100 << 10, 1 << 20];

/// The two ways in which a careful program writes a file, with which Emendate is compared.
const RENAME: &str = "write + rename";
const SYNCED: &str = "cp + fsync + rename + fsync of the folder";

pub(crate) fn run(report: &mut Report) {
    let rounds = if report.setting.quick { 15 } else { 101 };
    let peers = (!report.setting.alone).then(|| peers::Peers::find(report));
    for bytes in [SMALL, &[10 << 20, 100 << 20]].concat() {
        // A round of small files takes a few milliseconds, and the differences are small.
        let rounds = if bytes <= 1 << 20 { 101 } else { 7 };
        report.race(&format!("one edit of {}", size(bytes)), || one(bytes, rounds));
    }
    if let Some(peers) = &peers {
        for bytes in SMALL {
            let title = format!("one edit of {}, beside processes", size(*bytes));
            report.race(&title, || beside(&title, peers, *bytes, rounds));
        }
    }
    for bytes in [1 << 10, 100 << 10, 1 << 20] {
        report.race(&format!("history of an edit of {}", size(bytes)), || history(bytes, 101));
    }
    report.race("one edit of 1 KB, logged by SQLite alone", || sqlite::run(101));
    report.race("one call that edits 200 files", || batch::run(rounds.min(21)));
    report.race("start, nothing left behind", || recovery(rounds));
}

/// A directory on disk with one file per case.
struct ScratchFiles {
    _dir: tempfile::TempDir,
    root: PathBuf,
    size: usize,
}

impl ScratchFiles {
    fn new(size: usize) -> ScratchFiles {
        let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
        let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned()).join("root");
        let _ = fs::create_dir(&root);
        ScratchFiles { _dir: dir, root, size }
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.root.join(name.replace(|char: char| !char.is_ascii_alphanumeric(), "-"));
        let _ = fs::write(&path, source(self.size));
        path
    }

    fn state(&self, name: &str) -> StateLocation {
        StateLocation::Directory(self.root.with_file_name(name))
    }

    /// Creates a case that makes an edit with an engine of its own.
    fn ours(&self, name: &str, state: StateLocation, durability: Durability) -> Case<'static> {
        let path = self.file(name);
        let engine = open(&self.root, state, durability);
        let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
        let mut edits = Edits::new();
        Case::ours(name, move || {
            let (old, new) = edits.next();
            let input = json!({ "file_path": path, "old_string": old, "new_string": new });
            settle();
            let (reply, time) = timed(|| engine.call(&caller, "edit", input));
            assert!(reply.result.is_ok(), "{}", reply.text());
            engine.history().store_unstored_contents();
            time
        })
    }
}

fn open(root: &Path, state: StateLocation, durability: Durability) -> Engine {
    let config = Config::default().with_durability(durability);
    Engine::open(std::slice::from_ref(&root.to_owned()), state, config).unwrap_or_else(|error| panic!("{error}"))
}

fn by_rename(files: &ScratchFiles, size: usize) -> Case<'static> {
    let (path, text) = (files.file(RENAME), source(size));
    let aside = path.with_extension("tmp");
    Case::floor(RENAME, move || {
        settle();
        timed(|| {
            let _ = fs::write(&aside, &text);
            let _ = fs::rename(&aside, &path);
        })
        .1
    })
}

fn synced(files: &ScratchFiles) -> Case<'static> {
    let path = files.file(SYNCED);
    let (aside, folder) = (path.with_extension("tmp"), files.root.clone());
    Case::floor(SYNCED, move || {
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

fn one(bytes: usize, rounds: usize) -> Outcome {
    let files = ScratchFiles::new(bytes);
    let (none, process, power) = ("ours, none", "ours, process", "ours, power");
    let all = ("ours, process, with history", "ours, power, with history");
    let cases = vec![
        by_rename(&files, bytes),
        synced(&files),
        files.ours(none, StateLocation::Nowhere, Durability::None),
        files.ours(process, StateLocation::Nowhere, Durability::Process),
        files.ours(power, StateLocation::Nowhere, Durability::Power),
        files.ours(all.0, files.state("state-process"), Durability::Process),
        files.ours(all.1, files.state("state-power"), Durability::Power),
    ];
    let middle = (10 << 10..=100 << 10).contains(&bytes);
    race(format!("one edit of {}", size(bytes)), rounds, cases)
        .goal("G1", none, if middle { 1.15 } else { 1.25 })
        .goal("", process, 1.3)
        .beside("G2", power, SYNCED, if bytes > 1 << 20 { 1.2 } else { 1.1 })
}

/// Makes the same edit with the library, a process and a server, next to other tools.
fn beside(title: &str, peers: &peers::Peers, bytes: usize, rounds: usize) -> Outcome {
    let files = ScratchFiles::new(bytes);
    let mut cases = vec![
        by_rename(&files, bytes),
        synced(&files),
        files.ours("ours, process", StateLocation::Nowhere, Durability::Process),
        files.ours("ours, power", StateLocation::Nowhere, Durability::Power),
    ];
    cases.extend(peers.cases(&files));
    race(title, rounds, cases)
}

/// Measures the extra cost of recording an edit in the history.
fn history(bytes: usize, rounds: usize) -> Outcome {
    let files = ScratchFiles::new(bytes);
    let (without, with) = ("ours, without history", "ours, with history");
    let cases = vec![
        // The file is small at every size, so that all ratios have the same base.
        by_rename(&files, 1 << 10),
        files.ours(without, StateLocation::Nowhere, Durability::Process),
        files.ours(with, files.state("state"), Durability::Process),
    ];
    let name = "history on the critical path";
    race(format!("history of an edit of {}, beside write + rename of 1 KB", size(bytes)), rounds, cases)
        .difference(name, with, without)
        .goal("G13", name, 0.1)
        .within("G13", name, Duration::from_micros(10))
}

/// Measures the check for unfinished work of dead processes when there is none.
fn recovery(rounds: usize) -> Outcome {
    let files = ScratchFiles::new(1 << 10);
    let journal = files.root.with_file_name("journal");
    let roots = [files.root.clone()];
    let opened = |journal: Option<&Path>| -> Duration {
        let (done, time) = timed(|| {
            let local = LocalStore::open(&roots)?;
            match journal {
                Some(journal) => local.with_journal(journal)?.recover().map(drop),
                None => Ok(()),
            }
        });
        done.unwrap_or_else(|error| panic!("{error}"));
        time
    };
    let cases = vec![
        Case::floor("opening the roots", || opened(None)),
        Case::ours("the same, and the check of the journal", || opened(Some(&journal))),
    ];
    let name = "the check alone";
    race("start, nothing left behind", rounds, cases)
        .difference(name, "the same, and the check of the journal", "opening the roots")
        .within("", name, Duration::from_millis(1))
}
