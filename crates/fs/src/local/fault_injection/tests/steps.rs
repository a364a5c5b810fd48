//! Single steps of the protocol that nothing else backs up, each tested alone.

use std::os::unix::fs::PermissionsExt;

use emendate_core::Code;

use super::{JournaledRoot, OPERATIONS, Prepared};
use crate::local::fault_injection::{DiskEvent, InjectedFault, run};
use crate::{Durability, FileWrite, LocalStore, NewState, Precondition, Store};

/// Stages new content for the file `a`, lets another program act, and commits.
fn meanwhile(
    fixture: &JournaledRoot,
    local: &LocalStore,
    work: impl FnOnce(&std::path::Path),
) -> emendate_core::Result<()> {
    let path = fixture.root.join("a");
    let safe_path = local.resolve_path(&path).unwrap();
    let old = local.read(&safe_path, 1 << 20, Vec::new()).unwrap().unwrap();
    let expect = Precondition::Version { bytes: &old.bytes, meta: &old.meta };
    let writes = [FileWrite { path: &safe_path, precondition: expect, new_state: NewState::content(&[b"new"]) }];
    let staged = local.stage(&writes, Durability::Power)?;
    work(&path);
    staged.commit().map(drop)
}

/// If names can be exchanged, the check of the displaced file detects such a save as well.
#[test]
fn last_comparison_protects_plain_renames() {
    let lacks = [(0, InjectedFault::NoExchange), (0, InjectedFault::NoLinks)];
    for length in [9, 2] {
        let fixture = JournaledRoot::new();
        let local = fixture.open();
        let theirs = "t".repeat(length);
        let ran = run(&lacks, || meanwhile(&fixture, &local, |path| std::fs::write(path, &theirs).unwrap()));
        assert_eq!(ran.result.unwrap_err().code(), Code::ConflictRaced);
        assert_eq!(std::fs::read_to_string(fixture.root.join("a")).unwrap(), theirs);
    }
}

#[test]
fn file_system_that_loses_writes_is_detected() {
    for (plain, found_out) in [(false, true), (true, false)] {
        let fixture = JournaledRoot::new();
        let mut local = fixture.open();
        local.roots[0].trusted = plain;
        let ran = run(&[(0, InjectedFault::Forgets)], || meanwhile(&fixture, &local, |_| {}));
        assert_eq!(ran.result.is_err(), found_out, "{:?}", ran.result);
        let now = std::fs::read(fixture.root.join("a")).unwrap();
        assert_eq!(now == b"text of a", found_out);
    }
}

#[test]
fn temporary_file_is_never_more_readable_than_the_old_one() {
    for mode in [0o600, 0o620] {
        let fixture = JournaledRoot::new();
        std::fs::set_permissions(fixture.root.join("a"), std::fs::Permissions::from_mode(mode)).unwrap();
        let local = fixture.open();
        let prepared = Prepared::new(&local, &fixture.root, OPERATIONS[0]);
        let ran = run(&[], || prepared.go(&local, Durability::Power));
        ran.result.unwrap();
        let modes = ran.log.iter().filter_map(|(_, event)| match event {
            DiskEvent::Create(_, _, mode) | DiskEvent::Mode(_, mode) => Some(mode & 0o7777),
            _ => None,
        });
        let modes: Vec<u32> = modes.collect();
        assert!(!modes.is_empty() && modes.iter().all(|given| given & !mode == 0), "{mode:o}: {modes:?}");
    }
}
