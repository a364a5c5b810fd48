//! The process dies at every system call of every operation, and of every recovery from that.

use emendate_os::io::Errno;

use super::{Course, JournaledRoot, OPERATIONS, Operation, Prepared, course, seen};
use crate::Durability;
use crate::local::fault_injection::{DiskEvent, InjectedFault, run};

/// An operation with an injected fault, during which the process dies at some call.
struct Death {
    operation: Operation,
    level: Durability,
    wrongs: Vec<(usize, InjectedFault)>,
}

impl Death {
    fn at(&self, call: usize) -> JournaledRoot {
        let fixture = JournaledRoot::new();
        let local = fixture.open();
        let prepared = Prepared::new(&local, &fixture.root, self.operation);
        let wrongs = [&self.wrongs[..], &[(call, InjectedFault::Dead)]].concat();
        let ran = run(&wrongs, || prepared.go(&local, self.level));
        assert!(ran.tripped, "call {call}");
        fixture
    }

    /// Returns the number of system calls if the process does not die.
    fn calls(&self) -> usize {
        let fixture = JournaledRoot::new();
        let local = fixture.open();
        let prepared = Prepared::new(&local, &fixture.root, self.operation);
        let ran = run(&self.wrongs, || prepared.go(&local, self.level));
        assert_eq!(ran.result.is_err(), ran.tripped, "{:?}", ran.result);
        ran.calls
    }
}

/// Returns every operation without faults, and the batch with its last rename failing, so that everything is rolled
/// back.
fn deaths(level: Durability) -> impl Iterator<Item = (Death, Course)> {
    let well = OPERATIONS.into_iter().map(move |operation| Death { operation, level, wrongs: Vec::new() });
    let last = |course: &Course| {
        let renames = course.log.iter().filter(|(_, event)| matches!(event, DiskEvent::Rename(..)));
        renames.map(|(call, _)| *call).max().unwrap()
    };
    let batch = OPERATIONS[5];
    let fails = vec![(last(&course(batch, level)), InjectedFault::Once(Errno::IO))];
    let all = well.chain([Death { operation: batch, level, wrongs: fails }]);
    all.map(|death| {
        let course = course(death.operation, death.level);
        (death, course)
    })
}

#[track_caller]
fn whole(fixture: &JournaledRoot, course: &Course, why: &str) {
    let now = seen(&fixture.tree());
    assert!(now == course.before || now == course.after, "{why}: neither old nor new:\n{now:#?}");
}

#[test]
fn death_at_any_call_leaves_old_or_new_state() {
    for level in [Durability::Process, Durability::Power] {
        for (death, course) in deaths(level) {
            let (mut olds, mut news) = (0, 0);
            let calls = death.calls();
            for at in 0..calls {
                let why = format!("{} at {}, call {at} of {calls}", death.operation.0, level.as_str());
                let fixture = death.at(at);
                let local = fixture.open();
                let done = local.recover().unwrap();
                assert!(done.conflicts.is_empty() && done.notes.is_empty(), "{why}: {done:?}");
                whole(&fixture, &course, &why);
                let now = seen(&fixture.tree());
                olds += usize::from(now == course.before);
                news += usize::from(now == course.after);
                assert!(fixture.open().recover().unwrap().is_empty(), "{why}: a second recovery found something to do");
                fixture.clean(&local, &why);
                whole(&fixture, &course, &why);
            }
            assert!(olds > 0 && news > 0, "{}", death.operation.0);
        }
    }
}

#[test]
fn death_during_recovery_does_not_change_its_result() {
    for (death, course) in
        deaths(Durability::Power).filter(|(death, _)| death.operation.1.len() > 1 || death.operation.0 == "in place")
    {
        let mut recoveries = 0;
        // Every fifth death of the operation, each followed by every death of the recovery.
        for at in (0..death.calls()).step_by(5) {
            let fixture = death.at(at);
            let recovery = run(&[], || fixture.open().recover().unwrap());
            recoveries += usize::from(!recovery.result.is_empty());
            let want = seen(&fixture.tree());
            for second in 0..recovery.calls {
                let why = format!("{} call {at}, recovery call {second} of {}", death.operation.0, recovery.calls);
                let fixture = death.at(at);
                let local = fixture.open();
                // An error or a note is fine here: the result of the next start counts.
                let _ = run(&[(second, InjectedFault::Dead)], || local.recover());
                drop(local);
                let done = fixture.open().recover().unwrap();
                assert!(done.conflicts.is_empty() && done.notes.is_empty(), "{why}: {done:?}");
                assert_eq!(seen(&fixture.tree()), want, "{why}");
                whole(&fixture, &course, &why);
                assert!(fixture.open().recover().unwrap().is_empty(), "{why}");
            }
        }
        assert!(recoveries > 0, "{}", death.operation.0);
    }
}
