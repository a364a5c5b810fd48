//! Which system calls an edit makes: so that none comes in unseen.

use std::path::Path;

use super::super::run;
use super::Bed;
use crate::{Draft, Durability, Expect, Goal, Local, Store, Version, Wanted};

/// What the engine does for one edit, in its order: the names that were called.
fn edit(local: &Local, path: &Path, wanted: &Wanted, durability: Durability) -> Vec<&'static str> {
    let ran = run(&[], || {
        let place = local.admit(path).unwrap();
        local.along(place.root(), place.relative(), wanted).unwrap();
        let Version { bytes, stamp, .. } = local.read(&place, 1 << 20, Vec::new()).unwrap().unwrap();
        let expect = Expect::Version { bytes: &bytes, stamp: &stamp };
        let pieces: [&[u8]; 2] = [b"new ", &bytes];
        let drafts = [Draft { place: &place, expect, goal: Goal::content(&pieces) }];
        let staged = local.stage(&drafts, durability).unwrap();
        staged.ahead();
        staged.commit().unwrap();
    });
    local.settle();
    ran.names
}

/// A call more is not forbidden. It costs every edit, so it should be for a promise that nothing else keeps.
#[test]
fn an_edit_makes_these_system_calls_and_no_others() {
    let bed = Bed::new();
    let (folder, path) = (bed.root.join("deep/in"), bed.root.join("deep/in/f"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&path, "text").unwrap();
    // More than what is listed for one question.
    (0..300).for_each(|nth| std::fs::write(folder.join(format!("a-name-that-fills-a-list-{nth}")), "").unwrap());
    let local = bed.open();
    let probe = local.probe(0).unwrap();
    let wanted =
        Wanted::new([".env", ".git", ".ssh", ".vscode", ".idea", ".zed", ".jj", ".hg", ".svn", "node_modules"]);
    if !(probe.leases && probe.exchange && probe.openat2 && local.roots[0].grain_ns < 1_000_000_000) {
        // Others are made elsewhere.
        return;
    }
    // Until the folders above are so old that what is in them is known, and this one was looked into again.
    let knows = |names: Vec<&str>| names.len() < 40 && !names.contains(&"list_at_once");
    assert!((0..10_000).any(|_| knows(edit(&local, &path, &wanted, Durability::Process))), "never known");
    let admit = ["openat2"];
    let guard = ["fstat", "statat", "statat", "statat"];
    let read = ["openat2", "fstat", "read", "fstat"];
    let folder = ["openat2", "statx"];
    let stage = ["openat", "fstat", "openat", "flock", "fstat", "pwritev", "flistxattr", "flistxattr", "fchmod"];
    let ahead = ["fstat"];
    let hold = ["flock", "openat2", "lease", "fstat", "pread"];
    let swap = ["rename", "statat", "is_leased", "pread", "is_leased", "unlinkat", "unlease", "fstat"];
    let before = [&admit[..], &guard, &read, &folder, &stage].concat();
    assert_eq!(edit(&local, &path, &wanted, Durability::None), [&before[..], &ahead, &hold, &swap].concat());
    let durable = ["rename", "statat", "is_leased", "pread", "is_leased", "unlinkat", "fsync", "unlease", "fstat"];
    let at = before.iter().position(|name| *name == "pwritev").unwrap() + 1;
    let mut before = before;
    before.insert(at, "begin_writing");
    // The wait comes last before others are held up.
    let wanted_now = [&before[..], &ahead, &["fdatasync"], &hold, &durable].concat();
    assert_eq!(edit(&local, &path, &wanted, Durability::Power), wanted_now);
}
