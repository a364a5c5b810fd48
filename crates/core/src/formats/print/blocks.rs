//! Printer of SEARCH/REPLACE blocks, each with enough lines to be unique.

use super::hunk::{LineDifference, PrintedHunk};
use super::{FileDelta, unsaid};
use crate::error::Result;
use crate::formats::search_replace;
use crate::text::explain::LineKind;

pub(super) fn print(deltas: &[FileDelta<'_>], context: usize) -> Result<String> {
    let mut out = String::new();
    for delta in deltas {
        if delta.from.is_some() || delta.after.is_none() || delta.new_mode().is_some() {
            return Err(unsaid(delta.path, "blocks change text, they do not move or remove files or set permissions"));
        }
        search_replace::print_name(delta.path, &mut out)
            .ok_or_else(|| unsaid(delta.path, "its name cannot be distinguished from other text"))?;
        let (Some(before), Some(after)) = (delta.before, delta.after) else {
            search_replace::print_block("", delta.text_after(), &mut out);
            continue;
        };
        let difference = LineDifference::new(before, after);
        for hunk in difference.hunks(before.text(), context) {
            search_replace::print_block(
                &side_text(&hunk, LineKind::Added),
                &side_text(&hunk, LineKind::Removed),
                &mut out,
            );
        }
    }
    Ok(out)
}

/// Returns the text of one side.
fn side_text(hunk: &PrintedHunk<'_>, without: LineKind) -> String {
    let lines = hunk.lines.iter().filter(|(kind, _)| *kind != without);
    lines.map(|(_, line)| format!("{line}\n")).collect()
}
