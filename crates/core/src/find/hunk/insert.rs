//! Hunks that only add lines: placed by an anchor, by a line number in the header, or at the end of the file.

use super::scope::Anchor;
use super::{Candidate, LeftOut, Sought, failure};
use crate::error::Result;
use crate::find::search::Index;
use crate::find::{Hit, TextEdit, Tier};
use crate::op::Hunk;
use crate::span::Span;

/// Returns the zero-based line before which the new lines are inserted.
pub(super) fn seek(index: &Index<'_>, hunk: &Hunk, anchors: &[Anchor]) -> Result<Sought> {
    let count = index.lines().count();
    let mut notes = Vec::new();
    let places: Vec<usize> = if !anchors.is_empty() {
        notes.push("Inserted right after the line of the anchor.".to_owned());
        anchors.iter().map(|anchor| anchor.line + 1).collect()
    } else if hunk.at_end || count == 0 {
        vec![count]
    } else if let Some(line) = hunk.first {
        if line > count {
            return Err(failure::beyond(hunk, line, count));
        }
        notes.push(format!("Inserted after line {line}, by the number in the header alone: the hunk has no context."));
        vec![line]
    } else {
        return Err(failure::nowhere(hunk));
    };
    let candidate =
        |at: usize| Candidate { lines: at..at, hit: Ok(hit(index, hunk, at)), left_out: LeftOut::default() };
    Ok(Sought { tier: Tier::Exact, candidates: places.into_iter().map(candidate).collect(), notes })
}

/// Creates the insertion before a line, or after the last one, which keeps its line end or lack of one.
fn hit(index: &Index<'_>, hunk: &Hunk, at: usize) -> Hit {
    let lines = index.lines();
    let text = hunk.new_text();
    let (span, text) = if at > 0 {
        (Span::at(lines.end(at - 1)), format!("\n{}", text.strip_suffix('\n').unwrap_or(&text)))
    } else if lines.count() == 0 && hunk.open.1 {
        (Span::at(0), text.strip_suffix('\n').unwrap_or(&text).to_owned())
    } else {
        (Span::at(0), text)
    };
    Hit { span, edits: vec![TextEdit { span, text }] }
}
