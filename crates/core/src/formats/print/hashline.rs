//! Printer of hashline's seed dialect: lines by number, below the tag of the version that the numbers refer to.

use super::{FileDelta, unsaid};
use crate::error::Result;
use crate::text::change::ChangeSet;
use crate::text::content::{HeaderStyle, ShortTag};
use crate::text::explain::{self, DiffHunk, LineKind};
use std::fmt::Write as _;

/// Prints the changes. Numbers are exact for the tagged text, so ranges cover only the changed lines; they are wider
/// only if the parser would mistake such a range for a miscount.
pub(super) fn print(deltas: &[FileDelta<'_>], context: usize) -> Result<String> {
    let context = if context == super::CONTEXT_LINES[0] { 0 } else { context };
    let mut out = String::new();
    for delta in deltas {
        let (Some(before), Some(after), true) = (delta.before, delta.after, delta.old_path() == delta.path) else {
            return Err(unsaid(delta.path, "rows change lines of a file, they do not create, move or remove it"));
        };
        if delta.new_mode().is_some() {
            return Err(unsaid(delta.path, "rows do not set permissions"));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{}", HeaderStyle::Pilcrow.line(delta.path, ShortTag::of(before.text())));
        for hunk in explain::hunks(before, &ChangeSet::diff(before, after), context) {
            push(&hunk, &mut out);
        }
    }
    Ok(out)
}

fn push(hunk: &DiffHunk, out: &mut String) {
    let (from, to) = (hunk.old_start, hunk.old_start + hunk.old_lines.saturating_sub(1));
    let _ = match (hunk.old_lines, hunk.new_lines) {
        (0, _) if from == 0 => writeln!(out, "insert head:"),
        (0, _) => writeln!(out, "insert after {from}:"),
        (1, 0) => writeln!(out, "delete {from}"),
        (_, 0) => writeln!(out, "delete {from}..{to}"),
        _ => writeln!(out, "replace {from}..{to}:"),
    };
    for line in hunk.lines.iter().filter(|line| line.kind != LineKind::Removed) {
        let _ = writeln!(out, "+{}", line.text);
    }
}
