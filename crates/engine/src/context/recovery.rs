//! Recovery of calls whose process died: at the start, and again when their operations or files are met.

use crate::context::Context;
use emendate_core::Result;
use emendate_fs::{LocalStore, RecoveryReport, Store, UndoneCall, shown};
use emendate_history::{FileState, LogEntry};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// Opens the roots with a journal, after completing or undoing the writes that dead processes left in it. Opens them
/// without a journal if it cannot be kept: single files are still written safely.
pub(super) fn open_with_journal(roots: &[PathBuf], journal: &Path, notices: &mut Vec<String>) -> Result<LocalStore> {
    let store = match LocalStore::open(roots)?.with_journal(journal) {
        Ok(store) => store,
        Err(error) => {
            notices.push(format!(
                "Calls that change several files are not safe against a crash in the middle: {}",
                error.message()
            ));
            return LocalStore::open(roots);
        }
    };
    if let Err(error) = store.recover_again() {
        notices.push(error.message().to_owned());
    }
    Ok(store)
}

/// Describes files that a dead process left.
fn recovery_notice(files: &[PathBuf], what: &str) -> Option<String> {
    let names: Vec<String> = files.iter().map(shown).collect();
    (!files.is_empty()).then(|| format!("A process died while it wrote; {what}: {}.", names.join(", ")))
}

impl Context {
    /// Completes or undoes the calls of processes that died since the start.
    pub(crate) fn recover_again(&self) {
        // A journal that cannot be listed was reported at the start.
        let _ = self.store.recover_again();
        self.note_recovery();
    }

    /// Turns what recovery reports into notices, and keeps the undone calls for [`Context::take_undone`].
    pub(super) fn note_recovery(&self) {
        let RecoveryReport { rolled_forward, rolled_back, notes, undone, .. } = self.store.take_recovery_report();
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.extend(recovery_notice(&rolled_forward, "its change was finished in"));
        notices.extend(recovery_notice(&rolled_back, "its change was undone in"));
        notices.extend(notes);
        self.undone.lock().unwrap_or_else(PoisonError::into_inner).extend(undone);
    }

    /// True if recovery has undone calls whose operations are still in the history.
    pub(crate) fn has_undone(&self) -> bool {
        !self.undone.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// True, once, for the operation of a call that recovery has undone: nothing of it is left, whatever other
    /// programs have made of its files.
    pub(crate) fn take_undone(&self, logged: &LogEntry) -> bool {
        let mut known = self.undone.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().position(|call| self.is_of(call, logged));
        found.map(|index| known.remove(index)).is_some()
    }

    /// True if an operation is that of a call: it has the same changes of the same files.
    fn is_of(&self, call: &UndoneCall, logged: &LogEntry) -> bool {
        let files = &logged.operation.files;
        let content = |state: Option<FileState>| state.map(|state| state.content);
        files.len() >= call.path_count()
            && files.iter().all(|file| {
                let path = self.resolve_logged(&file.path);
                path.is_ok_and(|path| call.was_to_change(path.absolute(), content(file.before), content(file.after)))
            })
    }
}
