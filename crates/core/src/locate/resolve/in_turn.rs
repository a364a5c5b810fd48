//! Edits applied in turn: each to the result of the previous one.

use super::failures::{is_there, not_tried, tolerated};
use super::{EXPLAINED_FAILURES_MAX, OpOutcome, PlacedOp, ResolvedEdit, named, number, outcome, place, together};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::conflict::{self, RepeatedEdit};
use crate::locate::find::{self, INSERTED_BYTES_MAX, SearchIndex, Tier};
use crate::locate::op::{ExpectedMatches, Hunk, Locator, Op, ResolveSettings};
use crate::note::Notes;
use crate::text::change::ChangeSet;
use crate::text::snapshot::Snapshot;
use crate::work;

/// Maximum number of bytes that edits applied in turn may process together.
const IN_TURN_BYTES_MAX: usize = 2 << 30;

/// Maximum number of bytes processed to find the edit that removed the text of a later one.
const REPLAYED_BYTES_MAX: usize = 64 << 20;

pub(super) fn in_turn(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Result<ResolvedEdit> {
    match at_once(base, ops, settings) {
        Some(resolved) => Ok(resolved),
        None => one_by_one(base, ops, settings, EXPLAINED_FAILURES_MAX),
    }
}

/// Applies edits in turn in one pass over the file, if the result is certainly the same: every text occurs literally,
/// exactly once; none is created by an earlier edit ([`conflict::check`]); the occurrences are so far apart that no
/// text extends from one to another and no edit sees a line that another one touches; and there is only one kind of
/// line end, because in a file with mixed ones the whole file decides about new ones.
pub(super) fn at_once(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Option<ResolvedEdit> {
    let lengths: Vec<usize> = ops.iter().map(find_length).collect::<Option<_>>()?;
    let reach = lengths.into_iter().max().filter(|&longest| ops.len() > 1 && longest <= conflict::CONTEXT_BYTES)?;
    if base.raw() != base.text().as_bytes() {
        return None;
    }
    let resolved = together(base, ops, ResolveSettings { partial: false, ..settings }).ok()?;
    let same = resolved.ops.iter().all(|op| op.tier == Tier::Exact && op.places == 1 && !op.changes.is_empty())
        && resolved.changes.splices().windows(2).all(|pair| {
            let (end, start) = (pair[0].read_span.end(), pair[1].read_span.start());
            pair[0].op == pair[1].op
                || (end + 2 * reach < start && line_number(base, end) + 1 < line_number(base, start))
        });
    same.then_some(resolved)
}

/// Returns the line number of an offset.
fn line_number(base: &Snapshot, at: usize) -> usize {
    base.lines().line_of(base.text(), at)
}

/// Returns the length of a text that has to be unique, if the operation searches for one.
fn find_length(op: &Op) -> Option<usize> {
    match &op.at {
        Locator::Find(find)
            if find.expected == ExpectedMatches::Unique && !find.lines && find.line.is_none() && find.at.is_none() =>
        {
            Some(find.old.len())
        }
        _ => None,
    }
}

/// Applies edits one after another; stops after `failures_max` that cannot be placed.
pub(super) fn one_by_one(
    base: &Snapshot,
    ops: &[Op],
    settings: ResolveSettings,
    failures_max: usize,
) -> Result<ResolvedEdit> {
    if ops.len().saturating_mul(base.raw().len()) > IN_TURN_BYTES_MAX {
        return Err(Error::new(
            Code::EditTooMuchWork,
            format!(
                "{} edits in turn on a file of {} bytes are too much work for one call.",
                ops.len(),
                base.raw().len()
            ),
        )
        .next(
            Advice::named("Send them with {order=\"together\"}, or in several calls.")
                .or("Send them in several calls."),
        ));
    }
    let mut edits = EditsInTurn {
        base,
        ops,
        settings,
        outcomes: Vec::with_capacity(ops.len()),
        failed: Vec::new(),
        shifts: Vec::new(),
        original: SearchIndex::new(base),
    };
    let mut changes = ChangeSet::none(base);
    let mut middle = base.clone();
    let (mut next, mut places) = (0, 0);
    while let Some((index, placed, step)) = edits.next_placed(&middle, &changes, next, failures_max)? {
        places += placed.places();
        find::check_amount(places, 0)?;
        edits.outcomes.push(outcome(&middle, index, &ops[index], placed));
        changes.append(base, &step);
        let after = middle.after(&step)?;
        if let (Locator::Hunk(_), Some(first)) = (&ops[index].at, step.splices().first()) {
            let count = |version: &Snapshot| version.lines().count(version.text()).cast_signed();
            let line = line_number(&middle, middle.to_text(first.span.start()));
            edits.shifts.push(HunkShift { line, lines: count(&after) - count(&middle) });
        }
        middle = after;
        // Without an id, each outcome would keep the whole text in which it was resolved.
        middle.id();
        next = index + 1;
    }
    let tried = edits.outcomes.len() + edits.failed.len();
    let failed = tolerated(edits.failed, tried, ops.len(), settings)?;
    Ok(ResolvedEdit { changes, ops: edits.outcomes, failed, notes: Notes::new() })
}

/// Edits that are applied in turn, and the results of those applied so far.
struct EditsInTurn<'o> {
    base: &'o Snapshot,
    ops: &'o [Op],
    settings: ResolveSettings,
    outcomes: Vec<OpOutcome>,
    failed: Vec<Error>,
    /// The effects of the applied hunks on the numbers of lines.
    shifts: Vec<HunkShift>,
    /// The text before all of them.
    original: SearchIndex<'o>,
}

/// The lines that an applied hunk adds or removes.
#[derive(Clone, Copy, Debug)]
struct HunkShift {
    /// The number of the first changed line.
    line: usize,
    lines: isize,
}

impl EditsInTurn<'_> {
    /// Returns the operation with the line number in the header of its hunk as it is in the current text: the header
    /// counts the lines of the original file.
    fn shifted(&self, op: &Op) -> Option<Op> {
        let Locator::Hunk(hunk) = &op.at else { return None };
        let stated = hunk.first.filter(|_| !self.shifts.is_empty())?;
        let moved = |line: usize, shift: &HunkShift| {
            if line >= shift.line { line.saturating_add_signed(shift.lines) } else { line }
        };
        let first = self.shifts.iter().fold(stated, moved);
        Some(Op { at: Locator::Hunk(Box::new(Hunk { first: Some(first), ..(**hunk).clone() })), ..op.clone() })
    }

    /// Checks that an edit whose text is in the original file has its place there, not one that only resembles it:
    /// an earlier edit may have changed the text, and a similar place is then a guess. `changes` leads from the
    /// original to the current text, `middle`.
    ///
    /// Errors: `edit.overlap`.
    fn at_own_place(&self, middle: &Snapshot, changes: &ChangeSet, index: usize, placed: PlacedOp) -> Result<PlacedOp> {
        let op = &self.ops[index];
        let is_certain =
            placed.found.tier == Tier::Exact && matches!(&op.at, Locator::Find(find) if find.line.is_none());
        if changes.is_empty() || is_certain || placed.places() != 1 {
            return Ok(placed);
        }
        let Ok(own) = place(&self.original, op, None, number(index), self.settings) else { return Ok(placed) };
        let Some((start, end)) = hull(&own).filter(|_| own.places() == 1 && own.found.tier <= placed.found.tier) else {
            return Ok(placed);
        };
        let (from, to) = (changes.map(start, false), changes.map(end, true));
        match placed.splices.iter().find(|splice| splice.span.start() < from || splice.span.end() > to) {
            None => Ok(placed),
            Some(stray) => {
                let line = |version: &Snapshot, raw: usize| line_number(version, version.to_text(raw));
                Err(strayed(line(self.base, start), line(middle, stray.span.start())))
            }
        }
    }

    /// Places the next operation that can be placed in the current text. Failures change nothing, so all operations up
    /// to it share what is known about the lines of the text. `None` at the end, or after `failures_max` failures.
    fn next_placed(
        &mut self,
        middle: &Snapshot,
        changes: &ChangeSet,
        from: usize,
        failures_max: usize,
    ) -> Result<Option<(usize, PlacedOp, ChangeSet)>> {
        let known = SearchIndex::new(middle);
        for (index, op) in self.ops.iter().enumerate().skip(from) {
            if self.failed.len() >= failures_max {
                if !self.settings.partial {
                    break;
                }
                if !is_there(middle, op) {
                    self.failed.push(named(not_tried(), index, op, self.ops.len()));
                    continue;
                }
            }
            work::spend_bytes(2 * middle.raw().len())?;
            if middle.raw().len() > self.base.raw().len() + INSERTED_BYTES_MAX {
                return Err(too_long(middle.raw().len()));
            }
            let shifted = self.shifted(op);
            let step = place(&known, shifted.as_ref().unwrap_or(op), None, number(index), self.settings)
                .and_then(|placed| self.at_own_place(middle, changes, index, placed))
                .and_then(|placed| {
                    let step = ChangeSet::new(middle, placed.splices.clone())
                        .map_err(|it| conflict::overlaps(self.ops, &it))?;
                    Ok((placed, step))
                });
            let error = match step {
                Ok((placed, step)) => return Ok(Some((index, placed, step))),
                Err(error) => error,
            };
            let error = match removed_by(self.base, op, &self.outcomes) {
                Some(earlier) if error.code() == Code::MatchNotFound => {
                    removed(error, &self.ops[earlier].name(earlier), earlier)
                }
                _ => error,
            };
            self.failed.push(named(error, index, op, self.ops.len()));
        }
        Ok(None)
    }
}

/// True if both occurrences of a repeated edit have a place of their own.
pub(super) fn have_own_places(base: &Snapshot, ops: &[Op], repeated: RepeatedEdit, settings: ResolveSettings) -> bool {
    let shared = SearchIndex::new(base);
    let place_of = |index: usize| {
        let placed = place(&shared, &ops[index], None, number(index), settings).ok()?;
        hull(&placed).filter(|_| placed.places() == 1)
    };
    match (place_of(repeated.first), place_of(repeated.again)) {
        // Two insertions at one point have no place of their own.
        (Some(first), Some(again)) => first != again && (first.1 <= again.0 || again.1 <= first.0),
        _ => false,
    }
}

/// Returns the raw offsets between which an operation reads.
fn hull(placed: &PlacedOp) -> Option<(usize, usize)> {
    let start = placed.splices.iter().map(|splice| splice.read_span.start()).min()?;
    let end = placed.splices.iter().map(|splice| splice.read_span.end()).max()?;
    Some((start, end))
}

/// Creates the error for an edit whose text an earlier one changed, so that only another place resembles it.
fn strayed(own: usize, other: usize) -> Error {
    Error::new(
        Code::EditOverlap,
        format!("An earlier edit changed the text of this one at line {own}; line {other} only resembles it."),
    )
    .next("Merge the edits that touch these lines into one.")
}

/// Creates the error for edits in turn that make the text longer and longer.
fn too_long(bytes: usize) -> Error {
    Error::new(
        Code::EditTooMuchWork,
        format!("The edits make {bytes} bytes of the file; that is too much for one call."),
    )
    .next("Send fewer edits, or edits that are in fewer places.")
}

/// Returns the earlier edit that removed the text that this one searches for.
fn removed_by(base: &Snapshot, op: &Op, applied: &[OpOutcome]) -> Option<usize> {
    let Locator::Find(find) = &op.at else { return None };
    let finder = memchr::memmem::Finder::new(&find.old);
    if find.old.is_empty() || applied.len().saturating_mul(base.raw().len()) > REPLAYED_BYTES_MAX {
        return None;
    }
    let (mut text, mut removed) = (base.clone(), None);
    for outcome in applied {
        let next = text.after(&outcome.changes).ok()?;
        if contains(&finder, &text) && !contains(&finder, &next) {
            removed = Some(outcome.op);
        }
        text = next;
    }
    removed
}

/// True if a version contains the text.
fn contains(finder: &memchr::memmem::Finder<'_>, text: &Snapshot) -> bool {
    finder.find(text.text().as_bytes()).is_some()
}

/// Adds to an error which earlier edit removed the text of this one.
fn removed(error: Error, name: &str, earlier: usize) -> Error {
    error
        .evidence(format!("The text was in the file until {name} changed it."))
        .next(format!(
            "Give this edit the text that {name} leaves there, or make one edit of both; reading the file again does not help."
        ))
        .fact("removed_by", earlier)
}
