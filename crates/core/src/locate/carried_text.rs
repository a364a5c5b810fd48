//! Proof that edits by text, placed in an earlier version, are carried over to the lines that the caller saw.
//!
//! A merge alone could edit an identical copy, if the comparison of the versions pairs the wrong lines. So the matched
//! lines must be carried over as those of edits by line number are ([`super::line_edits::carry`]), or their text must
//! be untouched and occur exactly once in either version. If others changed the matched text, it must be nowhere else,
//! and the lines that the edit writes must be proven on their own.

use crate::locate::line_edits::LineMap;
use crate::locate::op::{Locator, Op};
use crate::text::change::{ChangeSet, Splice};
use crate::text::lines::starts_line;
use crate::text::occurrences::Occurrences;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work;

/// An edit by text whose place in the later version is a guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnprovenEdit {
    /// The index of the operation.
    pub op: u32,
    /// The lines of the later version where the matched text begins: the first ones.
    pub lines_now: Vec<usize>,
}

/// The version that the caller saw, the current one, and the change between them.
#[derive(Clone, Copy)]
pub struct VersionPair<'a> {
    /// The version that the caller saw.
    pub seen: &'a Snapshot,
    /// The current version.
    pub now: &'a Snapshot,
    /// The change that leads from `seen` to `now`.
    pub theirs: &'a ChangeSet,
}

/// Returns the first edit by text whose place in the current version is not proven; `mine` is the change of the version
/// that the caller saw. What others have already made needs no place, nor do the operations `in_conflict`, whose
/// conflicts the caller is shown.
pub fn unproven(versions: VersionPair<'_>, mine: &ChangeSet, ops: &[Op], in_conflict: &[u32]) -> Option<UnprovenEdit> {
    let VersionPair { seen, now, theirs } = versions;
    let mut map: Option<LineMap<'_>> = None;
    let mut is_proven = |text: Span| {
        let (from, to) = lines_of(seen, text);
        map.get_or_insert_with(|| LineMap::new(seen, now, theirs)).moved(from, to).is_ok()
    };
    let needs_place =
        |it: &&Splice| is_by_text(ops, it.op) && !it.read_span.is_empty() && !in_conflict.contains(&it.op);
    for splice in mine.splices().iter().filter(needs_place) {
        let from = theirs.splices().partition_point(|it| it.span.end() <= splice.read_span.start());
        let mut inside = theirs.splices()[from..].iter().take_while(|it| it.span.start() < splice.read_span.end());
        let own = theirs.splices().partition_point(|it| it.span < splice.span);
        if theirs.splices().get(own).is_some_and(|it| it.span == splice.span && it.text == splice.text) {
            continue;
        }
        let read = seen.text_span(splice.read_span);
        let touched = inside.any(|it| it.span.clashes(splice.read_span) && it.span != splice.span);
        // Lines with other line ends only are unchanged.
        if is_proven(read) {
            continue;
        }
        let matched = &seen.text()[read.range()];
        let places = occurrences(now, matched);
        let proven = if touched {
            places.is_empty() && is_proven(written(seen, splice, read))
        } else {
            places.len() == 1 && occurrences(seen, matched).len() == 1
        };
        if !proven {
            return Some(UnprovenEdit { op: splice.op, lines_now: places });
        }
    }
    None
}

/// Returns the span of the decoded text whose lines decide about the place of a splice: that of the replaced text, or
/// the matched text next to an insertion.
fn written(seen: &Snapshot, splice: &Splice, read: Span) -> Span {
    let span = seen.text_span(splice.span);
    if span.is_empty() && starts_line(seen.text(), span.start()) {
        let around = Span::new(span.start().saturating_sub(1), span.end() + 1);
        return Span::new(around.start().max(read.start()), around.end().min(read.end()));
    }
    span
}

/// Returns the first and the last line of a span of the decoded text.
fn lines_of(seen: &Snapshot, span: Span) -> (usize, usize) {
    let line = |at: usize| seen.lines().line_of(seen.text(), at);
    let first = line(span.start());
    let ends_before = !span.is_empty() && starts_line(seen.text(), span.end());
    (first, line(span.end() - usize::from(ends_before)).max(first))
}

/// Returns the lines of the first occurrences of a text. Once the work of the call has to end, they are incomplete, and
/// so is the reply.
fn occurrences(version: &Snapshot, text: &str) -> Vec<usize> {
    let mut found = Occurrences::new(version.text(), text);
    let lines = found.by_ref().take(LISTED_PLACES_MAX).map(|at| version.lines().line_of(version.text(), at)).collect();
    work::spend_or_end(found.take_compared() / work::STEP_BYTES);
    lines
}

/// Maximum number of places that are listed.
const LISTED_PLACES_MAX: usize = 5;

/// True for an operation that seeks a text.
fn is_by_text(ops: &[Op], op: u32) -> bool {
    let op = usize::try_from(op).ok().and_then(|op| ops.get(op));
    op.is_some_and(|op| matches!(op.at, Locator::Find(_) | Locator::Hunk(_) | Locator::Anchors(_)))
}
