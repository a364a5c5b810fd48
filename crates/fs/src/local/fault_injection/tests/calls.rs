//! The system calls that an edit makes, so that no new one goes unnoticed.

use std::path::Path;

use super::super::run;
use super::JournaledRoot;
use crate::{Durability, FileVersion, FileWrite, LocalStore, NameSet, NewState, Precondition, Store};

/// Performs the engine's steps for one edit, and returns the names of the system calls.
fn edit(local: &LocalStore, path: &Path, wanted: &NameSet, durability: Durability) -> Vec<&'static str> {
    let ran = run(&[], || {
        let safe_path = local.resolve_path(path).unwrap();
        local.walk_components(safe_path.root(), safe_path.relative(), wanted).unwrap();
        let FileVersion { bytes, meta, .. } = local.read(&safe_path, 1 << 20, Vec::new()).unwrap().unwrap();
        let expect = Precondition::Version { bytes: &bytes, meta: &meta };
        let pieces: [&[u8]; 2] = [b"new ", &bytes];
        let writes = [FileWrite { path: &safe_path, precondition: expect, new_state: NewState::content(&pieces) }];
        let staged = local.stage(&writes, durability).unwrap();
        staged.preview();
        staged.commit().unwrap();
    });
    local.run_deferred();
    ran.names
}

/// One more call is not forbidden. But every edit pays for it, so it should provide a guarantee that nothing else does.
#[test]
fn edit_makes_exactly_these_system_calls() {
    let fixture = JournaledRoot::new();
    let (folder, path) = (fixture.root.join("deep/in"), fixture.root.join("deep/in/f"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&path, "text").unwrap();
    let local = fixture.open();
    let probe = local.probe(0).unwrap();
    let wanted =
        NameSet::new([".env", ".git", ".ssh", ".vscode", ".idea", ".zed", ".jj", ".hg", ".svn", "node_modules"]);
    if !(probe.leases && probe.exchange && probe.openat2 && local.roots[0].timestamp_granularity_ns < 1_000_000_000) {
        // Other systems make other calls.
        return;
    }
    // The first edit sweeps the directory.
    edit(&local, &path, &wanted, Durability::Process);
    let admit = ["open_beneath"];
    // One listing of each directory on the way, and one look-up of the component itself.
    let listed = ["fstat", "list_in_one_call", "statat"];
    let guard = [&["openat"][..], &listed, &["open_beneath"], &listed, &["open_beneath"], &listed].concat();
    let read = ["open_beneath", "fstat", "read", "fstat"];
    let folder = ["open_beneath", "identity"];
    let stage = ["openat", "fstat", "openat", "flock", "fstat", "pwritev", "flistxattr", "flistxattr", "fchmod"];
    let ahead = ["fstat"];
    let locking = ["flock", "open_beneath", "lease", "fstat", "pread"];
    let swap = ["rename", "statat", "is_leased", "pread", "is_leased", "unlinkat", "unlease", "fstat"];
    let before = [&admit[..], &guard, &read, &folder, &stage].concat();
    assert_eq!(edit(&local, &path, &wanted, Durability::None), [&before[..], &ahead, &locking, &swap].concat());
    let durable = ["rename", "statat", "is_leased", "pread", "is_leased", "unlinkat", "fsync", "unlease", "fstat"];
    let at = before.iter().position(|name| *name == "pwritev").unwrap() + 1;
    let mut before = before;
    before.insert(at, "begin_writing");
    // The wait comes last, before other processes are blocked.
    let wanted_now = [&before[..], &ahead, &["fdatasync"], &locking, &durable].concat();
    assert_eq!(edit(&local, &path, &wanted, Durability::Power), wanted_now);
}
