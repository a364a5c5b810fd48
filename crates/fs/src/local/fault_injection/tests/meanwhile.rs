//! Another program saves between the crash and the recovery: that save must survive.

use super::{Course, JournaledRoot, OPERATIONS, Operation, Prepared, Tree, course, file_write, files};
use crate::local::fault_injection::{DiskEvent, InjectedFault, run};
use crate::{Durability, LocalStore, Store};
use std::path::{Path, PathBuf};

const BATCH: Operation = OPERATIONS[5];

/// The process dies at a call of the batch, another program saves some files, and recovery runs.
fn saved_after(call: usize, names: &[&str]) -> (JournaledRoot, crate::RecoveryReport) {
    let fixture = JournaledRoot::new();
    let local = fixture.open();
    let prepared = Prepared::new(&local, &fixture.root, BATCH);
    let _ = run(&[(call, InjectedFault::Dead)], || prepared.go(&local, Durability::Power));
    for name in names {
        let path = fixture.root.join(name);
        // A link is replaced, and a removed file is created again.
        let _ = std::fs::remove_file(&path);
        std::fs::write(path, format!("saved {name}")).unwrap();
    }
    let done = fixture.open().recover().unwrap();
    for name in names {
        assert_eq!(std::fs::read_to_string(fixture.root.join(name)).unwrap(), format!("saved {name}"), "call {call}");
    }
    let again = fixture.open().recover().unwrap();
    assert!(again.is_empty(), "call {call}: {again:?}");
    fixture.clean(&fixture.open(), &format!("call {call}"));
    (fixture, done)
}

/// Returns the files that were not saved, without the copies that recovery kept.
fn rest(tree: &Tree, names: &[&str]) -> Tree {
    let ours = |path: &PathBuf| {
        !names.iter().any(|name| Path::new(name) == path) && !path.to_string_lossy().contains(".conflict-")
    };
    files(tree).into_iter().filter(|(path, _)| ours(path)).collect()
}

#[test]
fn save_after_the_crash_stays_and_the_rest_is_atomic() {
    let Course { before, after, calls, .. } = course(BATCH, Durability::Power);
    for name in ["a", "moved", "d/target", "l", "d/gone", "mode"] {
        let mut told = 0;
        for call in (0..calls).step_by(3) {
            let (fixture, done) = saved_after(call, &[name]);
            let now = rest(&fixture.tree(), &[name]);
            let whole = now == rest(&before, &[name]) || now == rest(&after, &[name]);
            assert!(whole, "{name} saved after call {call}: {done:?}\n{now:#?}");
            assert!(done.conflicts.is_empty(), "{done:?}");
            told += done.notes.len();
        }
        assert!(told > 0, "{name}");
    }
}

/// If one file was done and the other was not, and both were saved since, the batch is whole in neither direction: the
/// intended contents are kept beside.
#[test]
fn unrecoverable_contents_are_kept_next_to_the_file() {
    let calls = course(BATCH, Durability::Power).calls;
    let mut kept = 0;
    for call in 0..calls {
        let (fixture, done) = saved_after(call, &["a", "mode", "l"]);
        for copy in &done.conflicts {
            kept += 1;
            assert!(copy.symlink_metadata().is_ok() && done.notes.iter().any(|note| note.contains("is kept as")));
        }
        drop(fixture);
    }
    assert!(kept > 0);
}

/// Changes of the file with two names, which the call writes in place: each is kept, the rest of the call is whole, and
/// what could not be done is reported.
#[test]
fn changed_file_with_several_names_does_not_block_recovery() {
    let changes: [fn(&Path); 6] = [
        |path| std::fs::write(path, "saved in place").unwrap(),
        |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, "saved as a new file").unwrap();
        },
        |path| std::fs::remove_file(path).unwrap(),
        |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        },
        |path| {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("mode", path).unwrap();
        },
        |path| {
            let text = [&std::fs::read(path).unwrap()[..], b", and an appended line"].concat();
            std::fs::write(path, text).unwrap();
        },
    ];
    let Course { before, after, calls, .. } = course(BATCH, Durability::Power);
    for (number, change) in changes.into_iter().enumerate() {
        let mut reported = 0;
        for call in 0..calls {
            let fixture = JournaledRoot::new();
            let local = fixture.open();
            let prepared = Prepared::new(&local, &fixture.root, BATCH);
            let _ = run(&[(call, InjectedFault::Dead)], || prepared.go(&local, Durability::Power));
            change(&fixture.root.join("h"));
            let saved = fixture.tree().remove(Path::new("h"));
            let done = fixture.open().recover().unwrap();
            let why = format!("change {number} after call {call}: {done:?}");
            assert_eq!(fixture.tree().remove(Path::new("h")), saved, "{why}");
            let now = rest(&fixture.tree(), &["h", "h2"]);
            assert!(now == rest(&before, &["h", "h2"]) || now == rest(&after, &["h", "h2"]), "{why}\n{now:#?}");
            for copy in &done.conflicts {
                reported += 1;
                assert!(copy.symlink_metadata().is_ok() && done.notes.iter().any(|note| note.contains("/h ")), "{why}");
            }
            if number != 0 && number != 5 {
                // The old file has only its other name now, and may be torn there.
                let twin = std::fs::read_to_string(fixture.root.join("h2")).unwrap();
                let is_whole = ["text of two names, and a long one too", "new text of both names"].contains(&&*twin);
                assert!(is_whole || done.notes.iter().any(|note| note.contains("hard links")), "{why}: {twin}");
            }
            assert!(fixture.open().recover().unwrap().is_empty(), "{why}");
            fixture.clean(&fixture.open(), &why);
        }
        assert!(reported > 0, "change {number}");
    }
}

#[test]
fn records_of_live_processes_and_other_roots_are_left_alone() {
    let fixture = JournaledRoot::new();
    let local = fixture.open();
    let places = ["one", "two"].map(|name| local.resolve_path(&fixture.root.join(name)).unwrap());
    let writes = places.each_ref().map(file_write);
    let staged = local.stage(&writes, Durability::Power).unwrap();
    assert_eq!(std::fs::read_dir(fixture.journal()).unwrap().count(), 1);
    assert!(fixture.open().recover().unwrap().is_empty(), "the owner of the record is alive");
    // Another process that writes there first must not sweep the temporary files.
    let third = local.resolve_path(&fixture.root.join("three")).unwrap();
    fixture.open().stage(&[file_write(&third)], Durability::Power).unwrap().commit().unwrap();
    staged.commit().unwrap();
    assert_eq!(std::fs::read_to_string(fixture.root.join("two")).unwrap(), "x");

    // A record of other roots waits for a process that may access them; a record of another version is reported and
    // stays.
    let elsewhere = JournaledRoot::new();
    let prepared = Prepared::new(&elsewhere.open(), &elsewhere.root, BATCH);
    let far =
        LocalStore::open(std::slice::from_ref(&elsewhere.root)).unwrap().with_journal(&fixture.journal()).unwrap();
    let renames =
        course(BATCH, Durability::Power).log.into_iter().filter(|(_, it)| matches!(it, DiskEvent::Rename(..)));
    let last = renames.map(|(call, _)| call).max().unwrap();
    let _ = run(&[(last, InjectedFault::Dead)], || prepared.go(&far, Durability::Power));
    std::fs::write(fixture.journal().join("00000001.record"), "emendate record 9\n").unwrap();
    std::fs::write(fixture.journal().join("README"), "not ours").unwrap();
    let done = fixture.open().recover().unwrap();
    assert!(done.notes.len() == 1 && done.notes[0].contains("another version"), "{done:?}");
    assert_eq!(std::fs::read_dir(fixture.journal()).unwrap().count(), 3);
    drop(far);
    let far =
        LocalStore::open(std::slice::from_ref(&elsewhere.root)).unwrap().with_journal(&fixture.journal()).unwrap();
    assert!(!far.recover().unwrap().rolled_forward.is_empty());
    // Without a journal there is nothing to do and nothing to keep.
    assert!(LocalStore::open(std::slice::from_ref(&fixture.root)).unwrap().recover().unwrap().is_empty());
}

#[test]
fn next_write_sweeps_orphaned_temporary_files_only() {
    let fixture = JournaledRoot::new();
    let put = |name: &str| std::fs::write(fixture.root.join(name), "x").unwrap();
    let (left, others) = (".a.0123456789abcdef.tmp~", ["a~", ".a.tmp~", ".a.0123456789ABCDEF.tmp~", ".x.swp"]);
    for name in others {
        put(name);
    }
    // A temporary file without a record may belong to another journal, so only its age counts.
    put(".a.0123456789abcdef.txn~");
    put(left);
    let held = std::fs::File::create(fixture.root.join(".b.0123456789abcdef.tmp~")).unwrap();
    emendate_os::fs::flock(&held, emendate_os::fs::FlockOperation::LockExclusive).unwrap();
    let local = fixture.open();
    let path = local.resolve_path(&fixture.root.join("new")).unwrap();
    drop(local.stage(&[file_write(&path)], Durability::None).unwrap());
    let names: Vec<String> =
        std::fs::read_dir(&fixture.root).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name == left), "{names:?}");
    for kept in others.iter().chain(&[".a.0123456789abcdef.txn~", ".b.0123456789abcdef.tmp~"]) {
        assert!(names.iter().any(|name| name == kept), "{kept} in {names:?}");
    }
}
