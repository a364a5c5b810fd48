//! The whitespace in new lines that git calls whitespace errors: at the end of a line, spaces before a tab of its
//! indentation, and empty lines at the end of a file.

use crate::text::change::ChangeSet;
use crate::text::explain::{self, LineKind};
use crate::text::fold;
use crate::text::snapshot::Snapshot;
use std::borrow::Cow;

/// Width of a tab in columns.
const TAB_WIDTH: usize = 8;

/// One whitespace error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhitespaceFault {
    /// 1-based line of the new text.
    pub line: usize,
    /// A description of the error.
    pub what: &'static str,
}

/// Returns the whitespace errors of the lines that a change adds, and the new text without them.
pub fn whitespace_faults(before: &Snapshot, changes: &ChangeSet, after: &str) -> (Vec<WhitespaceFault>, String) {
    let mut added = added_lines(before, changes).into_iter().peekable();
    let mut faults = Vec::new();
    // The lines of the new text, each with a flag that is true for an added line.
    let mut lines: Vec<(Cow<'_, str>, bool)> = Vec::new();
    for (at, line) in after.split_inclusive('\n').enumerate() {
        let number = at + 1;
        if added.next_if(|next| *next == number).is_none() {
            lines.push((Cow::Borrowed(line), false));
            continue;
        }
        let (bare, end) = line.strip_suffix('\n').map_or((line, ""), |bare| (bare, "\n"));
        let kept = bare.trim_end_matches(is_blank);
        if kept.len() < bare.len() {
            faults.push(WhitespaceFault { line: number, what: "whitespace at its end" });
        }
        let indented = without_spaces_before_tabs(kept);
        if matches!(indented, Cow::Owned(_)) {
            faults.push(WhitespaceFault { line: number, what: "spaces before a tab of its indentation" });
        }
        lines.push((Cow::Owned(indented.into_owned() + end), true));
    }
    let empty = lines.iter().rev().take_while(|(line, _)| line.trim_matches(is_blank).is_empty()).count();
    let first = lines.len() - empty;
    let new: Vec<usize> = (first..lines.len()).filter(|&at| lines[at].1).collect();
    if let Some(&line) = new.first() {
        faults.push(WhitespaceFault { line: line + 1, what: "a new empty line at the end of the file" });
    }
    // The added lines are equal to their neighbours, so removing the last ones gives the same text.
    lines.truncate(lines.len() - new.len());
    (faults, lines.into_iter().map(|(line, _)| line).collect())
}

/// Returns the numbers of the lines that a change adds, in order.
fn added_lines(before: &Snapshot, changes: &ChangeSet) -> Vec<usize> {
    let mut out = Vec::new();
    for hunk in explain::hunks(before, changes, 0) {
        let mut number = hunk.new_start;
        for line in &hunk.lines {
            match line.kind {
                LineKind::Removed => continue,
                LineKind::Added => out.push(number),
                LineKind::Kept => {}
            }
            number += 1;
        }
    }
    out
}

fn is_blank(ch: char) -> bool {
    matches!(ch, ' ' | '\t' | '\r' | '\n')
}

/// Returns the line with each run of spaces before a tab of its indentation replaced by tabs, as far as the spaces fill
/// them.
fn without_spaces_before_tabs(line: &str) -> Cow<'_, str> {
    let indent = fold::indent_of(line).len();
    let Some(last_tab) = line[..indent].rfind('\t') else { return Cow::Borrowed(line) };
    if !line[..last_tab].contains(' ') {
        return Cow::Borrowed(line);
    }
    let (mut out, mut spaces) = (String::new(), 0);
    for ch in line[..=last_tab].chars() {
        spaces = if ch == ' ' { spaces + 1 } else { 0 };
        if ch == '\t' || spaces == TAB_WIDTH {
            out.push('\t');
            spaces = 0;
        }
    }
    Cow::Owned(out + &line[last_tab + 1..])
}

#[cfg(test)]
mod tests {
    use super::{whitespace_faults, without_spaces_before_tabs};
    use crate::text::change::ChangeSet;
    use crate::text::snapshot::Snapshot;

    #[test]
    fn only_added_lines_are_checked() {
        let before = Snapshot::from_text("a  \nb\n\n");
        let after = Snapshot::from_text("a  \n  \tnew \nb\n\n\n \n");
        let changes = ChangeSet::diff(&before, &after);
        let (faults, fixed) = whitespace_faults(&before, &changes, after.text());
        assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<usize>>(), [2, 2, 6, 5]);
        assert_eq!(fixed, "a  \n\tnew\nb\n\n");
    }

    #[test]
    fn spaces_that_fill_a_tab_become_one() {
        for (line, wanted) in [("  \tx", "\tx"), ("         \tx", "\t\tx"), ("\t  x", "\t  x"), ("\t \t  x", "\t\t  x")]
        {
            assert_eq!(without_spaces_before_tabs(line), wanted);
        }
    }
}
