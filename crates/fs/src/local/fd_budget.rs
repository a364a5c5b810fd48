//! File descriptor budget of a batch. Its directories stay open to the end, because closing them releases their locks;
//! everything else can be open for some of the files at a time.

use std::collections::HashSet;

use emendate_core::Result;
use emendate_os::fs::OFlags;

use super::parent_dir::{self, DirKey};
use super::{LocalStore, sys};
use crate::error::FdShortage;
use crate::{FileWrite, Precondition, error};

/// A larger batch keeps no staged file open, and displaced files only if the process may have that many open.
const OPEN_WRITES_MAX: usize = 128;

/// Larger batches count the descriptors they need, and raise `RLIMIT_NOFILE` up front.
pub(super) const SMALL_BATCH_FILES: usize = 16;

/// Descriptors reserved for threads, the journal, the history and the rest of this process.
const RESERVED_FDS: usize = 24;

/// Minimum number of files processed at a time.
const FILES_AT_ONCE_MIN: usize = 8;

/// Number of descriptors that a batch keeps open at the same time.
#[derive(Debug, PartialEq)]
pub(super) struct FdBudget {
    /// Writes staged at a time.
    pub(super) files_at_once: usize,
    /// The batch is so small that staged files stay open to the end and are synced right before publishing. Larger ones
    /// are synced as they are written.
    pub(super) syncs_late: bool,
    /// Displaced files are kept open to the end.
    pub(super) keeps_displaced: bool,
}

impl FdBudget {
    /// Computes the budget for these writes, raising the process's limit if needed and allowed.
    pub(super) fn for_writes(local: &LocalStore, writes: &[FileWrite<'_>]) -> Result<FdBudget> {
        let Some(first) = writes.first().filter(|_| writes.len() > SMALL_BATCH_FILES) else {
            return Ok(FdBudget { files_at_once: SMALL_BATCH_FILES, syncs_late: true, keeps_displaced: true });
        };
        let folders: HashSet<DirKey<'_>> =
            writes.iter().filter_map(|write| parent_dir::parent_key(write.path)).collect();
        let mut making = missing_dirs(writes);
        let taken = sys::lowest_free_fd(&local.root(first.path.root()).fd) + RESERVED_FDS;
        let wished = taken + folders.len() + making.len() + 2 * writes.len().min(OPEN_WRITES_MAX);
        sys::raise_fd_limit(wished);
        let most = sys::fd_limit();
        let left = most.saturating_sub(taken);
        if folders.len() + making.len() + FILES_AT_ONCE_MIN > left {
            // Most of them may exist already.
            making.retain(|key| {
                local.open_beneath(key.root, key.path, sys::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC).is_err()
            });
        }
        let stay = folders.len() + making.len();
        plan_budget(writes.len(), stay, left, most).ok_or_else(|| {
            let fit = left.saturating_sub(FILES_AT_ONCE_MIN).max(SMALL_BATCH_FILES);
            let enough = wished.next_power_of_two();
            error::too_many_dirs(FdShortage { directories: stay, limit: most, fit, enough })
        })
    }
}

/// Raises the process's limit, if needed and allowed, so that recovery can hold this many directories open.
///
/// Errors: the shortage, if the limit stays too low.
pub(super) fn reserve_dirs(local: &LocalStore, directories: usize) -> Result<(), FdShortage> {
    // As for a call: few directories are simply tried.
    if directories <= SMALL_BATCH_FILES {
        return Ok(());
    }
    let taken = local.roots.first().map_or(0, |root| sys::lowest_free_fd(&root.fd)) + RESERVED_FDS;
    let wished = taken + directories + FILES_AT_ONCE_MIN;
    sys::raise_fd_limit(wished);
    let limit = sys::fd_limit();
    if wished <= limit {
        return Ok(());
    }
    let fit = limit.saturating_sub(taken + FILES_AT_ONCE_MIN);
    Err(FdShortage { directories, limit, fit, enough: wished.next_power_of_two() })
}

/// Returns the directories that may have to be created; each is held open by its parent.
fn missing_dirs<'a>(writes: &'a [FileWrite<'_>]) -> HashSet<DirKey<'a>> {
    let new = writes.iter().filter(|write| matches!(write.precondition, Precondition::Missing));
    let mut making = HashSet::new();
    for DirKey { root, path } in new.filter_map(|write| parent_dir::parent_key(write.path)) {
        let above = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        // If a directory is in the set, so are its parents.
        above.take_while(|path| making.insert(DirKey { root, path })).for_each(drop);
    }
    making
}

/// Divides `left` available descriptors, of `most` in all, among this many writes, where `stay` are needed throughout;
/// `None` if that is too few.
fn plan_budget(writes: usize, stay: usize, left: usize, most: usize) -> Option<FdBudget> {
    let left = left.checked_sub(stay).filter(|left| *left >= FILES_AT_ONCE_MIN)?;
    let late = writes <= OPEN_WRITES_MAX && 2 * writes <= left;
    let many_kept = writes <= OPEN_WRITES_MAX || writes.saturating_add(stay) <= most / 2;
    Some(FdBudget {
        files_at_once: OPEN_WRITES_MAX.max(most / 8).min(left),
        syncs_late: late,
        keeps_displaced: writes <= left && many_kept,
    })
}

#[cfg(test)]
mod tests {
    use super::{FdBudget, OPEN_WRITES_MAX, plan_budget};

    #[test]
    fn descriptor_budget_shrinks_with_the_limit() {
        let room = |part, late, keeps| Some(FdBudget { files_at_once: part, syncs_late: late, keeps_displaced: keeps });
        // More than any batch can use.
        assert_eq!(
            plan_budget(OPEN_WRITES_MAX, OPEN_WRITES_MAX, usize::MAX, usize::MAX),
            room(usize::MAX / 8, true, true)
        );
        assert_eq!(plan_budget(100, 100, 300, 330), room(128, true, true));
        // One less: staged files are closed before anything is displaced.
        assert_eq!(plan_budget(100, 100, 299, 330), room(128, false, true));
        assert_eq!(plan_budget(100, 100, 200, 230), room(100, false, true));
        assert_eq!(plan_budget(100, 100, 199, 230), room(99, false, false));
        assert_eq!(plan_budget(100, 100, 108, 130), room(8, false, false));
        assert_eq!(plan_budget(100, 100, 107, 130), None);
        // A large batch keeps displaced files only within half of the limit.
        assert_eq!(plan_budget(400, 100, 1000, 1024), room(128, false, true));
        assert_eq!(plan_budget(450, 100, 1000, 1024), room(128, false, false));
        assert_eq!(plan_budget(1500, 1500, 1000, 1024), None);
    }
}
