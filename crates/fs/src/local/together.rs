//! The plain case of publishing, for many files at once: a file that is replaced by another one. Which of them comes first
//! does not matter: what is to become of each is in the record, and whatever ends us, each is brought there or back.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use emendate_core::{Code, Error, Result};

use super::folder::Folder;
use super::held::{Held, Look, still_expected};
use super::stage::{Entry, Plan};
use super::{Local, kernel, rollback, sys};
use crate::{Expect, Goal, Method, fault};

impl Plan<'_> {
    /// Publishes, in several threads, every entry for which an exchange of names is all; the others are left to be published
    /// one by one. After an error some of them are published.
    pub(super) fn exchange_together(&mut self) -> Result<()> {
        if self.entries.len() < 2 {
            return Ok(());
        }
        let (local, folders, keeps) = (self.local, &self.folders, self.keeps);
        let failed = AtomicBool::new(false);
        let one = |entry: &mut Entry<'_>| {
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            entry.done = exchange(local, &folders[entry.folder], entry, keeps)
                .inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            Ok(())
        };
        let ends = sys::in_parts(&mut self.entries, |part| part.iter_mut().try_for_each(one));
        let mut errors: Vec<Error> = ends.into_iter().filter_map(Result::err).collect();
        // One that says where somebody's content is goes before all others, and none of those is lost.
        errors.sort_by_key(|error| error.code() != Code::IoPartial);
        let mut errors = errors.into_iter();
        let Some(first) = errors.next() else { return Ok(()) };
        let others = errors.filter(|error| error.code() == Code::IoPartial);
        Err(others.fold(first, |first, other| first.evidence(other.evidence_text())))
    }
}

/// Exchanges the names of what is there and of what was written for it; `None` where nothing was done and more is to be
/// looked at than this file.
fn exchange(local: &Local, folder: &Folder<'_>, entry: &mut Entry<'_>, keeps: bool) -> Result<Option<Method>> {
    let plain =
        matches!((entry.draft.expect, entry.draft.goal), (Expect::Version { .. }, Goal::File { like: None, .. }));
    if !plain || entry.temp.is_none() {
        return Ok(None);
    }
    let Some(old) = still_expected(local, folder, entry, Look::Hold)?.filter(|old| !old.is_open_elsewhere()) else {
        return Ok(None);
    };
    let here = folder.fd.as_fd();
    match &entry.temp {
        // Whatever is in the way, nothing has changed.
        Some(temp) if kernel::exchange(here, &temp.name, entry.name).is_err() => Ok(None),
        _ => verify(here, entry, old, keeps).map(Some),
    }
}

/// Looks at what an exchange displaced; anything unexpected goes back to the name. What is as it should be is kept, and the
/// lease on it, until all is done: who found the file by its name before, and came to open it after, is seen then.
pub(super) fn verify(folder: BorrowedFd<'_>, entry: &mut Entry<'_>, old: Held, keeps: bool) -> Result<Method> {
    let path = entry.draft.place.absolute();
    let Some(temp) = &mut entry.temp else {
        return Ok(Method::Exchanged);
    };
    let cause = match old.is_at(folder, temp, entry.draft.expect) {
        Ok(true) => {
            entry.displaced = Some(old).filter(|_| keeps);
            return Ok(Method::Exchanged);
        }
        Ok(false) => fault::raced(path, "was changed at the last moment, and that change was put back"),
        Err(errno) => fault::os("compare", path, errno),
    };
    match rollback::put_back(folder, temp, entry.name) {
        Ok(()) => Err(cause),
        Err(what) => Err(fault::partial(&cause, &what)),
    }
}
