//! Edits by line number of a large file: counting line ends finds the named lines in one pass.

use super::extract::{LINES, Least, Spot, around};
use super::{DECLARED, MERGED, Sought, Tried, Why, opened, why};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::options::Options;
use crate::plan::Plan;
use crate::seen::Base;
use emendate_core::rows::{self, LONGEST, Registers, RowPlace};
use emendate_core::{Code, Error, Op, Result, Scanned, Splice, Whole};
use emendate_fs::{Place, Source};

/// Context lines of the named ones: a body may repeat them, and a reply shows them.
const AROUND: usize = LONGEST + 4;
const _: () = assert!(AROUND > LINES);

const ALL: Why = Why::new(
    "is edited by blocks or by words, which takes all of its text",
    "Name the lines by their numbers; leave marks with words and encoding out.",
);
const ELSEWHERE: Why =
    Why::new("does not have that text on that line", "Read the lines again, then send the edit again.");
const LONG: Why = Why::new(
    "has lines around the place that are too long, or too many lines are named, to be edited in parts",
    "Name fewer lines in one call; for lines of more than a megabyte ask a person to raise max_whole.",
);

impl Engine {
    /// Plans the edit of some lines of a large file; `None` if the file has to be loaded whole.
    ///
    /// Errors: as any edit; `file.too_large` if it has to be loaded whole and cannot be.
    pub(crate) fn plan_big_rows(
        &self,
        caller: &Caller,
        place: &Place,
        source: Source,
        ops: &[Op],
        options: &Options,
        registers: &mut Registers,
    ) -> Result<Option<Plan>> {
        let numbered = !rows::named_by_word(ops)
            && ops
                .iter()
                .filter_map(rows::of)
                .all(|it| !matches!(it.place, RowPlace::Block(_) | RowPlace::AfterBlock(_)));
        if !(numbered && self.asks_for_parts(place, options)) {
            return self.not_whole(place, source.stamp().size, ALL).map(|()| None);
        }
        let mut filled = registers.clone();
        let plan = self.tried(place, source, |source| {
            filled.clone_from(registers);
            self.try_big_rows(caller, place, source, (ops, &mut filled), options)
        })?;
        if plan.is_some() {
            *registers = filled;
        }
        Ok(plan)
    }

    fn try_big_rows(
        &self,
        caller: &Caller,
        place: &Place,
        source: Source,
        (ops, registers): (&[Op], &mut Registers),
        options: &Options,
    ) -> Result<Tried> {
        let lines: Vec<usize> =
            ops.iter().filter_map(named).flat_map(|(from, to)| [from, to.saturating_add(1)]).collect();
        let tag = options.tag.is_some() || options.header.is_some();
        let scanned = match Engine::scan(&source, Sought { lines: &lines, tag, ..Sought::default() })? {
            Ok(scanned) => scanned,
            Err(unfit) => return Ok(Tried::Whole(why(unfit))),
        };
        if self.is_declared_otherwise(place, ops, &scanned.whole) {
            return Ok(Tried::Whole(DECLARED));
        }
        let least = Least { bytes: 0, lines: AROUND };
        let Some(extract) = around(&source, scanned.whole, &spots(&scanned, ops), least)? else {
            return Ok(Tried::Whole(LONG));
        };
        source.still()?;
        let now = opened(&source, extract);
        let base = match self.base(caller, options, place, &now) {
            Ok(Base::Stale { .. }) if source.stamp().size <= self.config().whole() => {
                return Ok(Tried::Whole(MERGED));
            }
            // A file that cannot be loaded whole cannot be merged.
            Ok(Base::Stale { .. }) => Ok(Base::Lost),
            other => other,
        };
        let plan = match self.plan_rows_in(caller, place.clone(), (now, base), (ops, registers), options) {
            Err(error) if self.tells_of_more(&source, &error) => return Ok(Tried::Whole(ELSEWHERE)),
            other => other?,
        };
        if plan.failed.iter().any(|error| self.tells_of_more(&source, error)) {
            return Ok(Tried::Whole(ELSEWHERE));
        }
        let outside = |it: &Splice| plan.before.in_file(it.span).is_none();
        if plan.changes.splices().iter().any(outside) {
            return Ok(Tried::Whole(LONG));
        }
        Ok(Tried::Planned(Box::new(plan.of_parts(source, scanned.before))))
    }

    /// True for lines that differ from the caller's expectation, if the line with the expected text could be reported.
    fn tells_of_more(&self, source: &Source, error: &Error) -> bool {
        let several = error.data().contains_key("errors");
        source.stamp().size <= self.config().whole() && (several || error.code() == Code::MatchNotFound)
    }
}

/// Returns the lines that an operation is about.
fn named(op: &Op) -> Option<(usize, usize)> {
    let rows = rows::of(op)?;
    match rows.place {
        RowPlace::Head => Some((1, 1)),
        _ => rows.named(),
    }
}

/// Returns the spans of these lines, in the order of the file, and its end if that is relevant.
fn spots(scanned: &Scanned, ops: &[Op]) -> Vec<Spot> {
    let Whole { size, lines, open, .. } = scanned.whole;
    let starts = scanned.starts.chunks_exact(2);
    let named = ops.iter().filter_map(named).zip(starts);
    let spot = |((line, _), starts): ((usize, usize), &[Option<usize>])| {
        let at = starts[0].filter(|_| line <= lines)?;
        Some(Spot { at, end: starts[1].unwrap_or(size).max(at), line, above: 0 })
    };
    let mut spots: Vec<Spot> = named.filter_map(spot).collect();
    let behind = |op: &Op| {
        let rows = rows::of(op);
        rows.is_some_and(|it| it.place == RowPlace::Tail || it.named().is_some_and(|(_, to)| to > lines))
    };
    if ops.iter().any(behind) {
        spots.push(Spot { at: size, end: size, line: lines + usize::from(!open), above: 0 });
    }
    spots.sort_by_key(|spot| spot.at);
    spots
}
