//! Rebase of edits by line number: converts the numbers of an earlier version to those of a later one, if that can be
//! proven for each hunk.
//!
//! A hunk is carried over if all its lines are consecutive in an unchanged range, with enough context to rule out a
//! duplicate: at least one neighbouring line, or both if a line at the hunk's edge occurs more than once, and a range
//! that occurs only once in either version. Between versions whose changes are known, no context is needed. Hunks may
//! move by different distances.

use super::place::{clamped, taken_as_end};
use super::{LineEdit, LineTarget, VersionLines, of, uncopied_rows};
use crate::locate::op::{Locator, Op, ResolveSettings};
use crate::note::{Note, Notes};
use crate::text::change::ChangeSet;
use crate::text::explain;
use crate::text::lines::starts_line;
use crate::text::occurrences::Occurrences;
use crate::text::snapshot::Snapshot;
use crate::work;
use std::collections::HashMap;

/// Maximum number of ranges without a unique line that are searched for as a whole; further ones are not proven.
const RANGE_SEARCHES_MAX: usize = 32;
/// Maximum number of moves that a note lists one by one.
const LISTED_MOVES_MAX: usize = 10;

/// The reason why rows are not written a second time.
const MADE: &str = "has these new rows next to it now, from another change";

/// Edits with the line numbers of the later version.
#[derive(Clone, Debug)]
pub struct CarriedEdits {
    /// The operations, in the order of the request.
    pub ops: Vec<Op>,
    /// Notes about the hunks that moved, with their distances.
    pub notes: Notes,
}

/// The reason why edits cannot be carried over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarryConflict {
    /// The index of the operation.
    pub op: usize,
    /// The first conflicting line, by its number in the earlier version.
    pub line: usize,
    /// The cause.
    pub why: &'static str,
}

/// Consecutive lines that are the same in both versions.
#[derive(Clone, Copy, Debug)]
struct SharedLines {
    from: usize,
    to: usize,
    moved: isize,
}

/// Consecutive lines that only the later version has.
#[derive(Clone, Copy, Debug)]
struct AddedLines {
    from: usize,
    to: usize,
    /// True if they replace no lines.
    inserted: bool,
}

/// Renumbers edits of the earlier version of `map` for the later one.
///
/// Errors: the first hunk whose lines changed or cannot be distinguished from a duplicate.
pub fn carry(mut map: LineMap<'_>, ops: &[Op], settings: ResolveSettings) -> Result<CarriedEdits, CarryConflict> {
    let mut out = CarriedEdits { ops: Vec::with_capacity(ops.len()), notes: Notes::new() };
    let mut moves = 0;
    for (index, op) in ops.iter().enumerate() {
        let mut op = op.clone();
        if let Locator::Lines(rows) = &mut op.at
            && let Some((from, to)) = rows.named_lines()
        {
            if let Some(bare) = uncopied_rows(map.seen, rows, &op.text, settings) {
                op.text = bare;
                out.notes.push(Note::CopiedNumbers);
            }
            let moved = map.moved(from, to).map_err(|(line, why)| CarryConflict { op: index, line, why })?;
            let count = map.old.count;
            if to > count {
                out.notes.push(if from > count { taken_as_end(count, to) } else { clamped(count) });
            }
            rows.target = renumbered(rows, map.old.count, moved);
            if moved != 0 {
                moves += 1;
                if moves <= LISTED_MOVES_MAX {
                    let lines = if moved.abs() == 1 { "line" } else { "lines" };
                    out.notes.push(format!("{}`{}` moved by {moved:+} {lines}.", rows.describe(), rows.source_text));
                }
            }
        }
        if let Some(rows) = of(&op).filter(|rows| map.is_made(rows.target, &op.text)) {
            let line = of(&ops[index]).and_then(LineEdit::named_lines).map_or(1, |(from, _)| from);
            let at_end = rows.target == LineTarget::Tail;
            let line = if at_end { map.old.count.max(1) } else { line };
            return Err(CarryConflict { op: index, line, why: MADE });
        }
        out.ops.push(op);
    }
    if moves > LISTED_MOVES_MAX {
        out.notes.push(format!("… and {} more hunks moved.", moves - LISTED_MOVES_MAX));
    }
    Ok(out)
}

/// True if the edits depend on no particular line, so that they fit any version.
pub fn is_position_independent(ops: &[Op]) -> bool {
    ops.iter().filter_map(of).all(|rows| rows.named_lines().is_none())
}

fn renumbered(rows: &LineEdit, count: usize, moved: isize) -> LineTarget {
    match rows.target {
        LineTarget::Before(line) | LineTarget::After(line) if line > count => LineTarget::Tail,
        LineTarget::Lines { from, .. } if from > count => LineTarget::Tail,
        LineTarget::Lines { from, to } => {
            LineTarget::Lines { from: shifted(moved, from), to: shifted(moved, to.min(count)) }
        }
        LineTarget::Before(line) => LineTarget::Before(shifted(moved, line)),
        LineTarget::After(line) => LineTarget::After(shifted(moved, line)),
        LineTarget::Block(line) => LineTarget::Block(shifted(moved, line)),
        LineTarget::AfterBlock(line) => LineTarget::AfterBlock(shifted(moved, line)),
        LineTarget::Head => LineTarget::Head,
        LineTarget::Tail => LineTarget::Tail,
    }
}

/// Returns the number of a line after the shift.
fn shifted(moved: isize, line: usize) -> usize {
    line.saturating_add_signed(moved)
}

/// Occurrences of a line in the two versions.
#[derive(Clone, Copy, Default)]
struct LineCounts {
    before: u32,
    after: u32,
}

/// Map of lines from the earlier version to the later one.
pub struct LineMap<'a> {
    seen: &'a Snapshot,
    old: VersionLines<'a>,
    new: VersionLines<'a>,
    shared: Vec<SharedLines>,
    added: Vec<AddedLines>,
    /// True if the changes are those that were made, not those that a comparison found.
    is_recorded: bool,
    /// For each range, whether it occurs only once; `None` if this was not checked yet.
    proven: Vec<Option<bool>>,
    searches: usize,
    lines: HashMap<&'a str, LineCounts>,
}

impl<'a> LineMap<'a> {
    /// Creates the map; `theirs` leads from `seen` to `now`.
    pub fn new(seen: &'a Snapshot, now: &'a Snapshot, theirs: &ChangeSet) -> LineMap<'a> {
        let (old, new) = (VersionLines::new(seen), VersionLines::new(now));
        let (mut shared, mut added) = (Vec::new(), Vec::new());
        let (mut next, mut moved) = (1, 0isize);
        for hunk in explain::hunk_headers(seen, theirs) {
            let first = hunk.old_start + usize::from(hunk.old_lines == 0);
            if next < first {
                shared.push(SharedLines { from: next, to: first - 1, moved });
            }
            next = first + hunk.old_lines;
            if hunk.new_lines > 0 {
                let to = hunk.new_start + hunk.new_lines - 1;
                added.push(AddedLines { from: hunk.new_start, to, inserted: hunk.old_lines == 0 });
            }
            moved += hunk.new_lines.cast_signed() - hunk.old_lines.cast_signed();
        }
        if next <= old.count {
            shared.push(SharedLines { from: next, to: old.count, moved });
        }
        let mut lines: HashMap<&str, LineCounts> = HashMap::new();
        for line in old.text.lines() {
            lines.entry(line).or_default().before += 1;
        }
        for line in new.text.lines() {
            if let Some(seen) = lines.get_mut(line) {
                seen.after += 1;
            }
        }
        let proven = vec![None; shared.len()];
        LineMap { seen, old, new, shared, added, is_recorded: false, proven, searches: 0, lines }
    }

    /// Creates the map for changes that are known as they were made. Equal lines are then no duplicates of each other.
    pub fn recorded(seen: &'a Snapshot, now: &'a Snapshot, made: &ChangeSet) -> LineMap<'a> {
        LineMap { is_recorded: true, ..LineMap::new(seen, now, made) }
    }

    /// Returns the distance by which lines `from..=to` moved.
    ///
    /// Errors: the first line whose position is not certain, and the reason.
    pub fn moved(&mut self, from: usize, to: usize) -> Result<isize, (usize, &'static str)> {
        let count = self.old.count;
        if self.old.is_after_end(from) || from > count {
            // The position is after the last line: it remains the end of the file.
            return if self.old.is_after_end(from) { Ok(0) } else { Err((from, "does not exist in that version")) };
        }
        if to > count && !self.old.is_after_end(to) {
            return Err((to, "does not exist in that version"));
        }
        let to = to.min(count);
        let at = self.shared.partition_point(|range| range.to < from);
        let Some(&range) = self.shared.get(at).filter(|range| range.from <= from) else {
            return Err((from, "changed"));
        };
        if range.to < to {
            return Err((range.to + 1, "changed"));
        }
        if self.is_recorded {
            return Ok(range.moved);
        }
        let (before, after) = (from > range.from, to < range.to);
        let (first, last) = (from == 1, to == count);
        if !before && !first && self.repeated(from) {
            return Err((from - 1, "changed, and the line below it occurs more than once"));
        }
        if !after && !last && self.repeated(to) {
            return Err((to + 1, "changed, and the line above it occurs more than once"));
        }
        // An end of the file that is where it was is as good as a neighbouring line.
        let beside_end = first && (last || range.moved == 0) || last && shifted(range.moved, to) == self.new.count;
        if !(before || after || beside_end) {
            return Err((if first { to + 1 } else { from - 1 }, "changed, like all lines around the hunk"));
        }
        if !self.occurs_once(at, range) {
            return Err((from, "occurs in several places with the same unchanged lines around it"));
        }
        Ok(range.moved)
    }

    /// True if another change wrote these rows, or rows that begin or end them, directly above or below this place of the
    /// later version.
    pub fn is_made(&self, target: LineTarget, rows: &str) -> bool {
        let (above, below) = match target {
            LineTarget::Lines { from, to } => (from.saturating_sub(1), to + 1),
            LineTarget::Before(line) => (line.saturating_sub(1), line),
            LineTarget::After(line) => (line, line + 1),
            LineTarget::Head => (0, 1),
            LineTarget::Tail => (self.new.count, self.new.count + 1),
            LineTarget::Block(_) | LineTarget::AfterBlock(_) => return false,
        };
        let count = rows.lines().count();
        if count == 0 {
            return false;
        }
        // Two lines that become equal are two edits, so next to replaced lines only insertions count.
        let may_be_mine = |added: &&AddedLines| added.inserted || !matches!(target, LineTarget::Lines { .. });
        let over = self.added_from(above).filter(|added| added.from <= above).filter(may_be_mine);
        let under = self.added_from(below).filter(|added| added.from <= below).filter(may_be_mine);
        under.is_some() && self.has_rows(below, below + count - 1, rows)
            || over.is_some() && above >= count && self.has_rows(above + 1 - count, above, rows)
            || over.is_some_and(|added| added.to == above && self.is_edge(added, rows))
            || under.is_some_and(|added| added.from == below && self.is_edge(added, rows))
    }

    /// Returns the first added lines that end on this line or below it.
    fn added_from(&self, line: usize) -> Option<&AddedLines> {
        self.added.get(self.added.partition_point(|added| added.to < line))
    }

    fn has_rows(&self, from: usize, to: usize, rows: &str) -> bool {
        to <= self.new.count && self.new.slice(from, to).lines().eq(rows.lines())
    }

    /// True if new rows begin or end with the lines that another change wrote.
    fn is_edge(&self, added: &AddedLines, rows: &str) -> bool {
        let theirs = self.new.slice(added.from, added.to);
        let count = added.to + 1 - added.from;
        let Some(skipped) = rows.lines().count().checked_sub(count) else { return false };
        !theirs.trim().is_empty()
            && (theirs.lines().eq(rows.lines().take(count)) || theirs.lines().eq(rows.lines().skip(skipped)))
    }

    fn repeated(&self, line: usize) -> bool {
        !self.is_unique(self.old.line(line))
    }

    fn is_unique(&self, line: &str) -> bool {
        self.lines.get(line).is_some_and(|seen| (seen.before, seen.after) == (1, 1))
    }

    /// True if the range has no duplicate: one of its lines is unique, or the whole range occurs once.
    fn occurs_once(&mut self, at: usize, range: SharedLines) -> bool {
        if let Some(proven) = self.proven[at] {
            return proven;
        }
        let text = self.old.slice(range.from, range.to);
        let mut proven = text.lines().any(|line| self.is_unique(line));
        if !proven && self.searches < RANGE_SEARCHES_MAX {
            self.searches += 1;
            proven = [self.old.text, self.new.text].into_iter().all(|whole| once(whole, text.trim_end_matches('\n')));
        }
        self.proven[at] = Some(proven);
        proven
    }
}

/// True if the lines occur exactly once in the text. False once the work of the call has to end.
fn once(whole: &str, lines: &str) -> bool {
    let mut occurrences = Occurrences::new(whole, lines);
    let whole_lines = occurrences.by_ref().filter(|at| {
        starts_line(whole, *at) && whole.as_bytes().get(at + lines.len()).is_none_or(|byte| *byte == b'\n')
    });
    let hits = whole_lines.take(2).count();
    hits == 1 && !work::spend_or_end(occurrences.take_compared() / work::STEP_BYTES)
}
