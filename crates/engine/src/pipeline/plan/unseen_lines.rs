//! Lines that an edit would replace although the session was never shown them: the call is refused, and the error shows
//! them, so that the same call works the second time.

use crate::model::raw_path;
use crate::pipeline::plan::placement::EditedFile;
use crate::pipeline::plan::stale;
use emendate_core::line_edits::{self, Excerpt};
use emendate_core::{Advice, Code, Error, Locator, Op, Phrase, ResolvedEdit, Result, Snapshot, advice};
use emendate_history::LineSet;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// Refuses to replace lines that were never shown, and shows them. `ranges` are the replaced lines of `seen`.
///
/// Errors: `read.partial`.
pub(crate) fn check(
    file: &EditedFile<'_>,
    seen: &Snapshot,
    lines: &LineSet,
    ranges: impl Iterator<Item = RangeInclusive<usize>>,
    what: &str,
) -> Result<()> {
    if lines.is_all() || file.call.caller.allows_unread() {
        return Ok(());
    }
    let unseen = unseen_of(seen, lines, ranges);
    if unseen.is_empty() {
        return Ok(());
    }
    let path = file.path.shown();
    let error = Error::new(Code::ReadPartial, what)
        .fact("missing", unseen.iter().map(|(from, to)| json!([from, to])).collect::<Vec<Value>>());
    let excerpt = line_edits::excerpt(seen, &unseen);
    let error = error.evidence(format!("{path}:\n{}", excerpt.text));
    if seen.id() != file.now.snapshot.id() {
        return Err(error.next("The file has changed since, too: read it again, and use the new header."));
    }
    let unkept = mark_shown(file, lines, &excerpt.whole);
    if let Some(advice) = next_of_cut(file, &unseen, &excerpt) {
        return Err(error.next(advice));
    }
    let next = "They are shown now: send the same edit again if these are the lines you mean.";
    Err(error.next(unkept.unwrap_or_else(|| next.to_owned())))
}

/// Returns the parts of ranges of lines that are not among the known `lines`.
pub(crate) fn unseen_of(
    of: &Snapshot,
    lines: &LineSet,
    ranges: impl Iterator<Item = RangeInclusive<usize>>,
) -> Vec<(usize, usize)> {
    let missing = lines.missing(of.lines().count(of.text()) as u64);
    let first = |from: usize| missing.partition_point(|&(_, to)| to < from as u64);
    ranges
        .flat_map(|range| {
            let (from, to) = range.into_inner();
            let parts = missing[first(from)..].iter().take_while(move |&&(start, _)| start <= to as u64);
            parts.map(move |&(start, end)| (line_number(start).max(from), line_number(end).min(to)))
        })
        .collect()
}

/// Refuses to replace lines between a first and a last line that the call names, if they were never shown: the call
/// does not quote them. Lines that the new text repeats are not replaced.
///
/// Errors: `read.partial`.
pub(crate) fn check_between_anchors(
    file: &EditedFile<'_>,
    lines: &LineSet,
    ops: &[Op],
    resolved: &ResolvedEdit,
) -> Result<()> {
    if !ops.iter().any(|op| matches!(op.at, Locator::Anchors(_))) {
        return Ok(());
    }
    let now = &file.now.snapshot;
    let splices = resolved.changes.splices().iter().filter(|it| !it.span.is_empty());
    let ranges = splices.filter_map(|it| {
        let op = usize::try_from(it.op).ok().and_then(|op| ops.get(op))?;
        let line = |raw: usize| stale::line_now(now, raw);
        let named = line(it.read_span.start())..=line(it.read_span.end().saturating_sub(1));
        let (first, last) = (line(it.span.start()), line(it.span.end() - 1));
        // The call quotes the first and the last line.
        let replaced = first.max(named.start() + 1)..=last.min(named.end().saturating_sub(1));
        (matches!(op.at, Locator::Anchors(_)) && !replaced.is_empty()).then_some(replaced)
    });
    check(file, now, lines, ranges, "The edit would replace lines that were never shown.")
}

fn line_number(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

/// Returns the advice if an excerpt shows the lines only in part; `None` if it shows all of them.
pub(crate) fn next_of_cut(file: &EditedFile<'_>, unseen: &[(usize, usize)], excerpt: &Excerpt) -> Option<Advice> {
    let (from, to) = unseen.first().copied().filter(|_| excerpt.cut)?;
    let hidden = unseen.iter().flat_map(|&(from, to)| from..=to).filter(|line| !excerpt.whole.contains(line));
    let mut hidden = hidden.peekable();
    hidden.peek()?;
    if !hidden.any(|line| stale::too_long(&file.now.snapshot, line as u64)) {
        let lines = json!({ "offset": from, "limit": to.saturating_sub(from) + 1 });
        return Some(advice!["Call ", raw_path::read(&file.path, lines), "."]);
    }
    let is_new = unseen.iter().any(|(from, to)| excerpt.whole.iter().any(|line| (from..=to).contains(&line)));
    Some(if is_new {
        "Some of them are shown now: send the same edit again to be shown the others.".into()
    } else {
        let what = "The line is too long to be shown whole. Change the part you know";
        advice![format!("{what} with "), Phrase::Tool("edit"), "."].or(format!("{what} by its text."))
    })
}

/// Marks lines in an error as shown; returns a note if that failed.
pub(crate) fn mark_shown(file: &EditedFile<'_>, known: &LineSet, whole: &[usize]) -> Option<String> {
    let mut lines = known.clone();
    for &line in whole {
        lines.add(line as u64, line as u64);
    }
    file.mark_shown(lines)
}
