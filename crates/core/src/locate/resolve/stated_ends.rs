//! Line ends of hunks for a file that has none of its own: an empty file, or one line without an end.

use crate::locate::op::{HunkLineKind, Locator, Op};
use crate::text::snapshot::Snapshot;

/// The note about lines that keep the line ends of the patch.
pub(super) const NOTE: &str = "The file had no line ends; the added lines keep those of the patch (CRLF).";

/// Returns the operations with the CRs of the lines that hunks add, if the file has no line ends that these lines could
/// have instead. The text of such an operation states the line ends. `None` if there are none.
pub(super) fn with_stated_ends(base: &Snapshot, ops: &[Op]) -> Option<Vec<Op>> {
    if !base.has_no_line_ends() || !ops.iter().any(states_ends) {
        return None;
    }
    let with_ends = |op: &Op| if states_ends(op) { with_ends(op) } else { op.clone() };
    Some(ops.iter().map(with_ends).collect())
}

/// True for a hunk with added lines that end in CRLF.
fn states_ends(op: &Op) -> bool {
    matches!(op.at, Locator::Hunk(_)) && op.text.contains("\r\n")
}

fn with_ends(op: &Op) -> Op {
    let Locator::Hunk(hunk) = &op.at else { return op.clone() };
    let mut hunk = (**hunk).clone();
    let new = hunk.lines.iter_mut().filter(|line| line.kind != HunkLineKind::Removed);
    for (line, stated) in new.zip(op.text.split_inclusive('\n')) {
        if line.kind == HunkLineKind::Added && stated.ends_with("\r\n") {
            line.text.push('\r');
        }
    }
    hunk.into_op()
}

#[cfg(test)]
mod tests {
    use crate::{ApplyOptions, apply};

    #[test]
    fn added_lines_keep_their_ends_where_the_file_has_none() {
        let patch = |new: &str| format!("--- a/h\n+++ b/h\n@@ -1 +1,2 @@\n-one\n\\ No newline at end of file\n{new}");
        let of = |file: &str, patch: &str| apply(file, patch, &ApplyOptions::default()).unwrap().text;
        let apply = |file: &str, new: &str| of(file, &patch(new));
        assert_eq!(apply("one", "+one\r\n+two\r\n"), "one\r\ntwo\r\n");
        assert_eq!(apply("one", "+one\r\n+two\n\\ No newline at end of file\n"), "one\r\ntwo");
        assert_eq!(apply("one", "+zero\n+one\r\n"), "zero\none\r\n");
        // The file has line ends after all.
        assert_eq!(apply("zero\none", "+one\r\n+two\r\n"), "zero\none\ntwo\n");
        // The headers end in CRLF as well.
        let sent = patch("+one\n+two\n").replace('\n', "\r\n");
        assert_eq!(of("one", &sent), "one\ntwo\n");
    }
}
