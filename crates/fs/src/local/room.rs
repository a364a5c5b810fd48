//! Descriptors that a batch may take. Its folders stay open until all is done, because their locks end with them; all else can
//! be open for a part of the files at a time.

use std::collections::HashSet;
use std::path::Path;

use emendate_core::Result;
use rustix::fs::OFlags;

use super::{Local, folder, sys};
use crate::{Draft, Expect, fault};

/// A batch with more drafts keeps no descriptor of what is staged, and of what it displaces only where the process may have
/// that many.
const MANY: usize = 128;

/// From so many on, it is counted what they need, and room for it is made at once.
pub(super) const FEW: usize = 16;

/// For what several threads open for a moment, and for the journal, the history and all others in this process.
const OTHERS: usize = 24;

/// Fewer files at a time are not worth it.
const LEAST: usize = 8;

/// What of a batch is open at the same time.
#[derive(Debug, PartialEq)]
pub(super) struct Room {
    /// Drafts that are staged at a time.
    pub(super) part: usize,
    /// So few that what is staged stays open until all is done: it is synced right before it is published. All others are
    /// synced when they are written.
    pub(super) late: bool,
    /// What is displaced is kept open until all is done.
    pub(super) keeps: bool,
}

impl Room {
    /// Finds room for these drafts, raising what this process may have open, as far as it may, if that is not enough.
    pub(super) fn find(local: &Local, drafts: &[Draft<'_>]) -> Result<Room> {
        let Some(first) = drafts.first().filter(|_| drafts.len() > FEW) else {
            return Ok(Room { part: FEW, late: true, keeps: true });
        };
        let folders: HashSet<(usize, &Path)> = drafts.iter().filter_map(|draft| folder::key(draft.place)).collect();
        let mut making = perhaps_made(drafts);
        let taken = sys::lowest_free(&local.roots[first.place.root()].fd) + OTHERS;
        let wished = taken + folders.len() + making.len() + 2 * drafts.len().min(MANY);
        sys::allow_open(wished);
        let most = sys::most_open();
        let left = most.saturating_sub(taken);
        if folders.len() + making.len() + LEAST > left {
            // Most of them may be there already.
            making.retain(|(root, path)| {
                local.open_beneath(*root, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC).is_err()
            });
        }
        let stay = folders.len() + making.len();
        divide(drafts.len(), stay, left, most).ok_or_else(|| {
            let fit = left.saturating_sub(LEAST).max(FEW);
            fault::too_many_folders(stay, (most, fit), wished.next_power_of_two())
        })
    }
}

/// Folders that may have to be made, each of which is held by the one above.
fn perhaps_made<'a>(drafts: &'a [Draft<'_>]) -> HashSet<(usize, &'a Path)> {
    let new = drafts.iter().filter(|draft| matches!(draft.expect, Expect::Missing));
    let mut making = HashSet::new();
    for (root, path) in new.filter_map(|draft| folder::key(draft.place)) {
        let above = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        // Where one is known, so are those above.
        above.take_while(|path| making.insert((root, *path))).for_each(drop);
    }
    making
}

/// What is to be open at once of so many drafts, where `stay` descriptors are needed all the time and `left` are to be had, of
/// `most` in all; `None` where that is too few.
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
    fn less_is_open_at_once_where_less_may_be() {
        let room = |part, late, keeps| Some(Room { part, late, keeps });
        // As many as anybody could want.
        assert_eq!(divide(MANY, MANY, usize::MAX, usize::MAX), room(usize::MAX / 8, true, true));
        assert_eq!(divide(100, 100, 300, 330), room(128, true, true));
        // One less, and what is staged is closed before anything is displaced.
        assert_eq!(divide(100, 100, 299, 330), room(128, false, true));
        assert_eq!(divide(100, 100, 200, 230), room(100, false, true));
        assert_eq!(divide(100, 100, 199, 230), room(99, false, false));
        assert_eq!(divide(100, 100, 108, 130), room(8, false, false));
        assert_eq!(divide(100, 100, 107, 130), None);
        // Of many, what is displaced is kept only in half of all there is.
        assert_eq!(divide(400, 100, 1000, 1024), room(128, false, true));
        assert_eq!(divide(450, 100, 1000, 1024), room(128, false, false));
        assert_eq!(divide(1500, 1500, 1000, 1024), None);
    }
}
