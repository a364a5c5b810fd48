//! File descriptor budget of a batch. Its directories stay open to the end, because closing them releases their locks;
//! everything else can be open for some of the files at a time.

use std::collections::HashSet;

use emendate_core::Result;
use rustix::fs::OFlags;

use super::folder::{self, DirKey};
use super::{Local, sys};
use crate::fault::FdShortage;
use crate::{Draft, Expect, fault};

/// A larger batch keeps no staged file open, and displaced files only if the process may have that many open.
const MANY: usize = 128;

/// Larger batches count the descriptors they need, and raise `RLIMIT_NOFILE` up front.
pub(super) const FEW: usize = 16;

/// Descriptors reserved for threads, the journal, the history and the rest of this process.
const OTHERS: usize = 24;

/// Minimum number of files processed at a time.
const LEAST: usize = 8;

/// Number of descriptors that a batch keeps open at the same time.
#[derive(Debug, PartialEq)]
pub(super) struct Room {
    /// Drafts staged at a time.
    pub(super) part: usize,
    /// The batch is so small that staged files stay open to the end and are synced right before publishing. Larger ones
    /// are synced as they are written.
    pub(super) late: bool,
    /// Displaced files are kept open to the end.
    pub(super) keeps: bool,
}

impl Room {
    /// Computes the budget for these drafts, raising the process's limit if needed and allowed.
    pub(super) fn find(local: &Local, drafts: &[Draft<'_>]) -> Result<Room> {
        let Some(first) = drafts.first().filter(|_| drafts.len() > FEW) else {
            return Ok(Room { part: FEW, late: true, keeps: true });
        };
        let folders: HashSet<DirKey<'_>> = drafts.iter().filter_map(|draft| folder::key(draft.place)).collect();
        let mut making = perhaps_made(drafts);
        let taken = sys::lowest_free(&local.roots[first.place.root()].fd) + OTHERS;
        let wished = taken + folders.len() + making.len() + 2 * drafts.len().min(MANY);
        sys::allow_open(wished);
        let most = sys::most_open();
        let left = most.saturating_sub(taken);
        if folders.len() + making.len() + LEAST > left {
            // Most of them may exist already.
            making.retain(|key| {
                local.open_beneath(key.root, key.path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC).is_err()
            });
        }
        let stay = folders.len() + making.len();
        divide(drafts.len(), stay, left, most).ok_or_else(|| {
            let fit = left.saturating_sub(LEAST).max(FEW);
            let enough = wished.next_power_of_two();
            fault::too_many_folders(FdShortage { directories: stay, limit: most, fit, enough })
        })
    }
}

/// Returns the directories that may have to be created; each is held open by its parent.
fn perhaps_made<'a>(drafts: &'a [Draft<'_>]) -> HashSet<DirKey<'a>> {
    let new = drafts.iter().filter(|draft| matches!(draft.expect, Expect::Missing));
    let mut making = HashSet::new();
    for DirKey { root, path } in new.filter_map(|draft| folder::key(draft.place)) {
        let above = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        // If a directory is in the set, so are its parents.
        above.take_while(|path| making.insert(DirKey { root, path })).for_each(drop);
    }
    making
}

/// Divides `left` available descriptors, of `most` in all, among this many drafts, where `stay` are needed throughout;
/// `None` if that is too few.
fn divide(drafts: usize, stay: usize, left: usize, most: usize) -> Option<Room> {
    let left = left.checked_sub(stay).filter(|left| *left >= LEAST)?;
    let late = drafts <= MANY && 2 * drafts <= left;
    let many_kept = drafts <= MANY || drafts.saturating_add(stay) <= most / 2;
    Some(Room { part: MANY.max(most / 8).min(left), late, keeps: drafts <= left && many_kept })
}

#[cfg(test)]
mod tests {
    use super::{MANY, Room, divide};

    #[test]
    fn descriptor_budget_shrinks_with_the_limit() {
        let room = |part, late, keeps| Some(Room { part, late, keeps });
        // More than any batch can use.
        assert_eq!(divide(MANY, MANY, usize::MAX, usize::MAX), room(usize::MAX / 8, true, true));
        assert_eq!(divide(100, 100, 300, 330), room(128, true, true));
        // One less: staged files are closed before anything is displaced.
        assert_eq!(divide(100, 100, 299, 330), room(128, false, true));
        assert_eq!(divide(100, 100, 200, 230), room(100, false, true));
        assert_eq!(divide(100, 100, 199, 230), room(99, false, false));
        assert_eq!(divide(100, 100, 108, 130), room(8, false, false));
        assert_eq!(divide(100, 100, 107, 130), None);
        // A large batch keeps displaced files only within half of the limit.
        assert_eq!(divide(400, 100, 1000, 1024), room(128, false, true));
        assert_eq!(divide(450, 100, 1000, 1024), room(128, false, false));
        assert_eq!(divide(1500, 1500, 1000, 1024), None);
    }
}
