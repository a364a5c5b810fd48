//! Recovery that cannot work through a record at once: nothing is lost, and the files of the record are not changed
//! until it can.

use super::{Course, JournaledRoot, OPERATIONS, Operation, Prepared, course, file_write, files, seen};
use crate::local::fault_injection::{DiskEvent, InjectedFault, run};
use crate::{Durability, LocalStore, Store};
use emendate_core::Code;
use emendate_os::io::Errno;

const BATCH: Operation = OPERATIONS[5];

/// Returns a directory in which the batch died at a call.
fn died_at(call: usize) -> JournaledRoot {
    let fixture = JournaledRoot::new();
    let local = fixture.open();
    let prepared = Prepared::new(&local, &fixture.root, BATCH);
    let _ = run(&[(call, InjectedFault::Dead)], || prepared.go(&local, Durability::Power));
    fixture
}

/// Returns the number of a call that renames: in the middle, some files are new and others are old.
fn middle_rename(course: &Course) -> usize {
    let renames: Vec<usize> =
        course.log.iter().filter(|(_, event)| matches!(event, DiskEvent::Rename(..))).map(|(call, _)| *call).collect();
    renames[renames.len() / 2]
}

#[test]
fn a_missing_directory_is_waited_for() {
    let course = course(BATCH, Durability::Power);
    let mut waited = 0;
    for call in 0..course.calls {
        let fixture = died_at(call);
        let (there, away) = (fixture.root.join("d"), fixture.root.with_file_name("away"));
        std::fs::rename(&there, &away).unwrap();
        let first = fixture.open().recover().unwrap();
        let left = std::fs::read_dir(fixture.journal()).unwrap().count();
        waited += left;
        assert_eq!(first.notes.iter().any(|note| note.contains("stays: The directory of")), left == 1, "{first:?}");
        // Without the directory there is nothing more to do.
        let again = fixture.open().recover().unwrap();
        assert!(again.rolled_forward.is_empty() && again.rolled_back.is_empty(), "call {call}: {again:?}");
        // A file that was settled belongs to its user again.
        std::fs::write(fixture.root.join("free"), "x").unwrap();
        std::fs::rename(&away, &there).unwrap();
        let local = fixture.open();
        let then = local.recover().unwrap();
        std::fs::remove_file(fixture.root.join("free")).unwrap();
        let now = seen(&fixture.tree());
        assert!(now == course.before || now == course.after, "call {call}: {first:?}, {then:?}\n{now:#?}");
        assert!(fixture.open().recover().unwrap().is_empty(), "call {call}");
        if left == 1 {
            // Without recorded steps, temporary files in a missing directory are left for the next write there.
            fixture.clean(&local, &format!("call {call}"));
        }
    }
    assert!(waited > 0);
}

#[test]
fn settled_steps_are_not_repeated() {
    let fixture = died_at(middle_rename(&course(BATCH, Durability::Power)));
    let (there, away) = (fixture.root.join("d"), fixture.root.with_file_name("away"));
    std::fs::rename(&there, &away).unwrap();
    fixture.open().recover().unwrap();
    // The text that the batch was to write in place: without the frame, recovery would take it for its own.
    let text = "new text of both names";
    std::fs::write(fixture.root.join("h"), text).unwrap();
    let path = fixture.root.join("free");
    let local = fixture.open();
    local.recover().unwrap();
    let safe_path = local.resolve_path(&path).unwrap();
    drop(local.stage(&[file_write(&safe_path)], Durability::Power).unwrap());
    std::fs::rename(&away, &there).unwrap();
    local.recover().unwrap();
    assert_eq!(std::fs::read_to_string(fixture.root.join("h")).unwrap(), text);
}

/// A directory that cannot be opened, a lock that is held, a file that cannot be read: whatever fails in a recovery, the
/// next one does the rest.
#[test]
fn recovery_that_fails_at_any_call_is_completed_by_the_next() {
    let course = course(BATCH, Durability::Power);
    for call in (0..course.calls).step_by(13) {
        let fixture = died_at(call);
        let local = fixture.open();
        let calls = run(&[], || local.recover().unwrap()).calls;
        for second in 0..calls {
            let fixture = died_at(call);
            let local = fixture.open();
            let ran = run(&[(second, InjectedFault::Once(Errno::MFILE))], || local.recover());
            drop(local);
            let then = fixture.open().recover().unwrap();
            let why = format!("call {call}, recovery call {second} of {calls}: {:?}, {then:?}", ran.result);
            // An empty directory that could not be removed is harmless.
            let now = files(&fixture.tree());
            assert!(now == files(&course.before) || now == files(&course.after), "{why}\n{now:#?}");
            assert!(fixture.open().recover().unwrap().is_empty(), "{why}");
            fixture.clean(&fixture.open(), &why);
        }
    }
}

#[test]
fn files_of_an_open_record_are_not_changed() {
    let (fixture, other) = (JournaledRoot::new(), JournaledRoot::new());
    let both = || {
        let roots = [fixture.root.clone(), other.root.clone()];
        LocalStore::open(&roots).unwrap().with_journal(&fixture.journal()).unwrap()
    };
    let stage = |local: &LocalStore, name: &str| {
        let path = local.resolve_path(&fixture.root.join(name)).unwrap();
        local.stage(&[file_write(&path)], Durability::Power)?.commit().map(drop)
    };
    // A call over both roots dies, and waits for a process that may access both of them.
    let local = both();
    let paths = [&fixture.root, &other.root].map(|root| local.resolve_path(&root.join("new")).unwrap());
    let writes = paths.each_ref().map(file_write);
    let is_half_done = |call: &usize| {
        let stage = || local.stage(&writes, Durability::Power)?.commit();
        let died = run(&[(*call, InjectedFault::Dead)], stage).tripped;
        assert!(died, "no death was between the two files");
        let half_done = fixture.root.join("new").exists() != other.root.join("new").exists();
        if !half_done {
            both().recover().unwrap();
            for path in &paths {
                let _ = std::fs::remove_file(path.absolute());
            }
        }
        half_done
    };
    (0..1000).find(is_half_done).unwrap();
    drop(local);

    let near = fixture.open();
    assert!(near.recover().unwrap().is_empty());
    let refused = stage(&near, "new").unwrap_err();
    assert_eq!(refused.code(), Code::IoFailed);
    let text = refused.to_string();
    assert!(text.contains("outside of the roots") && text.contains(".record"), "{text}");
    // Other files are free, and once the call is completed, so are its files.
    stage(&near, "free").unwrap();
    assert!(!both().recover().unwrap().is_empty());
    assert_eq!(stage(&near, "new").unwrap_err().code(), Code::ConflictRaced);
    assert!(other.root.join("new").exists());
}

/// Every byte of a record is damaged in turn, while the call is half done: the displaced files are the only copies of
/// what was there before.
#[test]
fn damaged_record_stays_with_its_temporary_files() {
    let fixture = died_at(middle_rename(&course(BATCH, Durability::Power)));
    let record = std::fs::read_dir(fixture.journal()).unwrap().next().unwrap().unwrap().path();
    let (bytes, before) = (std::fs::read(&record).unwrap(), fixture.tree());
    assert!(before.keys().any(|path| path.to_string_lossy().ends_with(".txn~")));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x11;
        std::fs::write(&record, &damaged).unwrap();
        let local = fixture.open();
        let done = local.recover().unwrap();
        assert!(matches!(&done.notes[..], [note] if note.contains("and stays: It is ")), "byte {at}: {done:?}");
        assert_eq!(local.unfinished_calls(), done.notes);
        assert_eq!(fixture.tree(), before, "byte {at}");
        assert_eq!(std::fs::read(&record).unwrap(), damaged, "byte {at}");
    }
    std::fs::write(&record, &bytes).unwrap();
    assert!(fixture.open().recover().unwrap().notes.is_empty());
}

/// A file that may not be opened after the crash keeps only its own change from being made.
#[test]
fn step_that_fails_does_not_stop_the_others() {
    let course = course(BATCH, Durability::Power);
    let fixture = died_at(middle_rename(&course));
    let local = fixture.open();
    let names = run(&[], || local.recover().unwrap()).names;
    let opened = |last: &str| names.iter().rposition(|name| *name == last).unwrap();
    let fixture = died_at(middle_rename(&course));
    let local = fixture.open();
    // The last file that is opened is the one with two names, which is written in place.
    let fault = (opened("pwritev"), InjectedFault::Once(Errno::ACCESS));
    let done = run(&[fault], || local.recover().unwrap()).result;
    assert!(matches!(&done.notes[..], [note] if note.contains("/h: ")), "{done:?}");
    let (now, whole) =
        (files(&fixture.tree()), |path: &std::path::Path| !path.starts_with("h") && !path.starts_with("h2"));
    let others =
        |tree: &super::Tree| -> super::Tree { files(tree).into_iter().filter(|(path, _)| whole(path)).collect() };
    assert!(others(&now) == others(&course.before) || others(&now) == others(&course.after), "{now:#?}");
    drop(local);
    fixture.open().recover().unwrap();
    let now = seen(&fixture.tree());
    assert!(now == course.before || now == course.after, "{now:#?}");
}
