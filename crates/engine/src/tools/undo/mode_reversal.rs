//! Reversal of a change of permission bits, although they changed again since.

use crate::pipeline::plan::file_plan::CurrentState;
use emendate_history::{FileKind, FileState};

/// The bits of the owner, of the group and of all others.
const CLASSES: [u32; 3] = [0o700, 0o070, 0o007];
const SET_ID_BITS: u32 = 0o7000;

/// Returns the permission bits of a file without the change of an operation; `None` if it did not change them.
pub(super) fn reversed_mode(before: Option<FileState>, after: Option<FileState>, now: &CurrentState) -> Option<u32> {
    let (before, after) = (before?, after?);
    if before.mode == after.mode || before.kind != FileKind::Regular {
        return None;
    }
    // The bits of a link mean nothing, so nothing of the operation can be told from later changes.
    let now = now.mode().filter(|_| after.kind == FileKind::Regular);
    Some(now.map_or(before.mode, |now| without_change(before.mode, after.mode, now)))
}

/// Takes back the change from `before` to `after` in bits that are `now` there. Nobody gets a permission by that if
/// others took one from the same class of users since: a file that was made private stays private.
fn without_change(before: u32, after: u32, now: u32) -> u32 {
    if now == after {
        return before;
    }
    let (added, removed) = (after & !before, before & !after);
    let restored = CLASSES.map(|class| {
        let is_restricted = after & !now & class != 0;
        class & (now & !added | if is_restricted { 0 } else { removed })
    });
    restored.iter().fold(now & !added & SET_ID_BITS, |mode, class| mode | class)
}

#[cfg(test)]
mod tests {
    use super::without_change;

    #[test]
    fn later_changes_of_bits_stay_and_no_file_becomes_less_private() {
        let rows = [
            // Before, after, now, and what an undo leaves.
            (0o644, 0o755, 0o755, 0o644),
            (0o644, 0o755, 0o700, 0o600),
            (0o644, 0o755, 0o644, 0o644),
            (0o644, 0o755, 0o775, 0o664),
            (0o644, 0o755, 0o4755, 0o4644),
            (0o755, 0o644, 0o600, 0o700),
            (0o755, 0o644, 0o000, 0o000),
            (0o755, 0o644, 0o664, 0o775),
            (0o755, 0o644, 0o755, 0o755),
            (0o4755, 0o755, 0o755, 0o4755),
            (0o4755, 0o755, 0o775, 0o775),
        ];
        for (before, after, now, left) in rows {
            assert_eq!(without_change(before, after, now), left, "{before:o} {after:o} {now:o}");
        }
    }
}
