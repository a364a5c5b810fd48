//! Hunks that only add lines: they are placed by an anchor, by a line number in the header, or at the end of the file.

use super::scope::ScopeAnchors;
use super::seeker::places_max;
use super::{DroppedContext, HunkCandidate, HunkMatches, failure};
use crate::error::Result;
use crate::locate::find::search::SearchIndex;
use crate::locate::find::{TextEdit, TextMatch, Tier};
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};
use crate::note::Notes;
use crate::text::span::Span;

/// Returns the zero-based line before which the new lines are inserted.
pub(super) fn seek_insertion(index: &SearchIndex<'_>, hunk: &Hunk, anchors: &ScopeAnchors) -> Result<HunkMatches> {
    let count = index.lines().count();
    let mut notes = Notes::new();
    let positions: Vec<usize> = if !anchors.lines().is_empty() {
        notes.push("Inserted right after the line of the anchor.".to_owned());
        anchors.lines().iter().map(|line| line + 1).collect()
    } else if hunk.at_end || count == 0 {
        vec![count]
    } else if let Some(line) = hunk.first {
        return at_number(index, hunk, line, 0);
    } else {
        return Err(failure::no_position(hunk));
    };
    let kept = positions.into_iter().take(places_max(index) + 1);
    let candidates = kept.map(|at| HunkCandidate {
        lines: at..at,
        hit: Ok(insertion_at(index, hunk, at)),
        dropped: DroppedContext::default(),
    });
    let candidates: Vec<HunkCandidate> = candidates.collect();
    index.cached.set(index.cached.get() + candidates.len());
    Ok(HunkMatches { tier: Tier::Exact, candidates, notes })
}

/// Returns the number of the header if nothing else shows the place of the new lines.
pub(super) fn numbered_line(index: &SearchIndex<'_>, hunk: &Hunk) -> Option<usize> {
    let is_layout = |line: &HunkLine| line.kind == HunkLineKind::Bare && line.text.is_empty();
    let only_adds = hunk.lines.iter().all(|line| line.kind == HunkLineKind::Added || is_layout(line));
    hunk.first.filter(|_| only_adds && hunk.scopes.is_empty() && !hunk.at_end && index.lines().count() > 0)
}

/// Places the new lines after the line of the header, if the lines of the file have this offset.
pub(super) fn at_number(index: &SearchIndex<'_>, hunk: &Hunk, stated: usize, offset: isize) -> Result<HunkMatches> {
    let count = index.lines().count();
    let line = stated.checked_add_signed(offset).ok_or_else(|| failure::no_position(hunk))?;
    if line > count {
        return Err(failure::beyond_end(hunk, line, count));
    }
    let by = if offset == 0 {
        "by the number in the header alone: the hunk has no context.".to_owned()
    } else {
        format!("by the number {stated} in the header and the offset of the hunk above: the hunk has no context.")
    };
    let candidate = HunkCandidate {
        lines: line..line,
        hit: Ok(insertion_at(index, hunk, line)),
        dropped: DroppedContext::default(),
    };
    let notes = Notes::from(vec![format!("Inserted after line {line}, {by}")]);
    index.cached.set(index.cached.get() + 1);
    Ok(HunkMatches { tier: Tier::Exact, candidates: vec![candidate], notes })
}

/// Creates the insertion before a line, or after the last one, which keeps its line end or lack of one.
fn insertion_at(index: &SearchIndex<'_>, hunk: &Hunk, at: usize) -> TextMatch {
    let lines = index.lines();
    let text = hunk.new_text();
    let (span, text) = if at > 0 {
        (Span::at(lines.end(at - 1)), format!("\n{}", text.strip_suffix('\n').unwrap_or(&text)))
    } else if lines.count() == 0 && hunk.open.1 {
        (Span::at(0), text.strip_suffix('\n').unwrap_or(&text).to_owned())
    } else {
        (Span::at(0), text)
    };
    TextMatch { span, edits: vec![TextEdit { span, text }] }
}
