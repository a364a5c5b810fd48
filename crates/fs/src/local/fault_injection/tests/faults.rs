//! Every system call of every operation fails with every error, once or from there on.

use emendate_os::io::Errno;

use super::{Course, JournaledRoot, OPERATIONS, Prepared, course, files, seen};
use crate::Durability;
use crate::local::fault_injection::{InjectedFault, run};
use emendate_core::Code;

const ERRORS: [Errno; 7] =
    [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::INTR, Errno::ACCESS, Errno::ROFS, Errno::MFILE];

#[test]
fn reply_is_true_after_any_failure() {
    for operation in OPERATIONS {
        let Course { before, after, calls, .. } = course(operation, Durability::Power);
        let once = ERRORS.map(InjectedFault::Once);
        // A call that is interrupted forever cannot be distinguished from a slow one.
        let always = ERRORS.into_iter().filter(|errno| *errno != Errno::INTR).map(InjectedFault::Always);
        for wrong in once.into_iter().chain(always).chain([InjectedFault::Short]) {
            for at in 0..calls {
                let why = format!("{}: {wrong:?} at call {at} of {calls}", operation.0);
                let fixture = JournaledRoot::new();
                let local = fixture.open();
                let prepared = Prepared::new(&local, &fixture.root, operation);
                let ran = run(&[(at, wrong)], || prepared.go(&local, Durability::Power));
                if wrong == InjectedFault::Short && !ran.tripped {
                    break;
                }
                let now = seen(&fixture.tree());
                match &ran.result {
                    Ok(_) => assert_eq!(now, after, "{why}: it said ok"),
                    Err(error) if error.code() == Code::IoPartial => {
                        assert!(matches!(wrong, InjectedFault::Always(_)) || now == after, "{why}: {error}");
                    }
                    Err(error) => {
                        assert!(!error.next_step().is_empty(), "{why}: {error}");
                        // Directories that could not be removed again are not a change of a file.
                        assert_eq!(files(&now), files(&before), "{why}: {error}");
                    }
                }
                drop(local);
                let local = fixture.open();
                local.recover().unwrap();
                let now = seen(&fixture.tree());
                assert!(ran.result.is_err() || now == after, "{why}: after recovery");
                // A change that was reported as not made must not be made later.
                let told = ran.result.as_ref().is_err_and(|error| error.code() != Code::IoPartial);
                assert!(!told || now == before, "{why}: done by the recovery:\n{:#?}\n{now:#?}", ran.result);
                assert!(now == before || now == after, "{why}: half done after recovery:\n{:#?}\n{now:#?}", ran.result);
                fixture.clean(&local, &why);
            }
        }
    }
}
