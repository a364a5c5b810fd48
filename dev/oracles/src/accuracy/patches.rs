//! Converts a task to the patch formats that other tools read.

use super::Task;
use similar::{Algorithm, DiffTag, capture_diff_slices};
use std::fmt::Write as _;

/// File name used in patches.
pub(super) const NAME: &str = "f.rs";

/// A task as a unified diff, with the line numbers of the file the caller saw, and as a V4A patch. `None` for a whole
/// file.
pub(super) struct Patches {
    pub(super) unified: String,
    pub(super) v4a: String,
    /// The lines of the hunk alone.
    pub(super) hunk: String,
}

impl Patches {
    pub(super) fn of(task: &Task) -> Patches {
        let Some(old) = &task.old else { return Patches::whole(task) };
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), task.new.lines().collect());
        let mut hunk = String::new();
        for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
            let (from, to) = (op.old_range(), op.new_range());
            let mut put = |mark: char, lines: &[&str]| {
                for line in lines {
                    let _ = writeln!(hunk, "{mark}{line}");
                }
            };
            if op.tag() == DiffTag::Equal {
                put(' ', &old[from]);
            } else {
                put('-', &old[from]);
                put('+', &new[to]);
            }
        }
        let (at, before, after) = (task.line, old.len(), new.len());
        Patches {
            unified: format!("--- a/{NAME}\n+++ b/{NAME}\n@@ -{at},{before} +{at},{after} @@\n{hunk}"),
            v4a: format!("*** Begin Patch\n*** Update File: {NAME}\n@@\n{hunk}*** End Patch\n"),
            hunk,
        }
    }

    /// Builds patches that create a file where one already exists.
    fn whole(task: &Task) -> Patches {
        let lines: String = task.new.lines().map(|line| format!("+{line}\n")).collect();
        let count = task.new.lines().count();
        Patches {
            unified: format!("--- /dev/null\n+++ b/{NAME}\n@@ -0,0 +1,{count} @@\n{lines}"),
            v4a: format!("*** Begin Patch\n*** Add File: {NAME}\n{lines}*** End Patch\n"),
            hunk: lines,
        }
    }
}
