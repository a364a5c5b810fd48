//! Resolution of operations to splices: pure, against one snapshot, with all failures reported at once.

use crate::advice;
use crate::advice::Advice;
use crate::advice::Phrase;
use crate::code::Code;
use crate::error::ErrorContext;
use crate::error::{Error, Result};
use crate::locate::conflict;
use crate::locate::find::{self, SearchIndex, TextEdit, TextMatch, TextMatches, Tier};
use crate::locate::line_edits::{self, LineTarget};
use crate::locate::line_format;
use crate::locate::notebook;
use crate::locate::omission;
use crate::locate::op::{Hunk, Locator, Op, OpOrder, ResolveSettings, normalize_text};
use crate::note::{Note, Notes};
use crate::text::change::{ChangeSet, Splice};
use crate::text::diff;
use crate::text::multi_search::Needles;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work::{self, STEP_BYTES};
use std::borrow::Cow;

mod byte_order_mark;
mod failures;
mod in_fence;
mod in_turn;
mod lone_cr;
mod other_depth;
mod partly_decoded;
mod repeated;
mod stated_ends;

pub(crate) use failures::EXPLAINED_FAILURES_MAX;
use failures::{failures_explained, is_there, not_tried, tolerated};
use in_turn::{have_own_places, in_turn, one_by_one};

/// The outcome of one operation.
#[derive(Clone, Debug)]
pub struct OpOutcome {
    /// Index of the operation in the call.
    pub op: usize,
    /// 1-based line of the request on which the operation begins; 0 for one in the fields of a call.
    pub source_line: usize,
    /// The tier at which the operation matched.
    pub tier: Tier,
    /// Number of occurrences.
    pub places: usize,
    /// The text in the file, at the first occurrence.
    pub old: String,
    /// The new text as the call gave it.
    pub new: String,
    /// Tolerances, text kept from the file, and warnings.
    pub notes: Notes,
    /// The change by this operation, relative to the text in which it was resolved.
    pub changes: ChangeSet,
}

/// A resolved edit of one file.
#[derive(Clone, Debug)]
pub struct ResolvedEdit {
    /// The change by all operations together, relative to the base.
    pub changes: ChangeSet,
    /// One outcome per operation that was placed, in the order of the call.
    pub ops: Vec<OpOutcome>,
    /// Errors of the other operations, if the call accepts partial results.
    pub failed: Vec<Error>,
    /// Notes that apply to all operations.
    pub notes: Notes,
}

impl ResolvedEdit {
    /// The number of places that all operations change.
    pub fn places(&self) -> usize {
        self.ops.iter().map(|op| op.places).sum()
    }
}

/// Resolves all operations on one file to a change set against `base`.
///
/// Errors: every operation that cannot be placed and every pair that conflicts, in one error; an edit that changes
/// nothing.
pub fn resolve(base: &Snapshot, ops: &[Op], order: OpOrder, settings: ResolveSettings) -> Result<ResolvedEdit> {
    check_cut_lines(base, ops, settings)?;
    let repaired_ops = lone_cr::in_lone_cr(base.text(), ops);
    let has_lone_cr = matches!(repaired_ops, Cow::Owned(_));
    let with_ends = stated_ends::with_stated_ends(base, &repaired_ops);
    let has_stated_ends = with_ends.is_some();
    let repaired_ops = with_ends.map_or(repaired_ops, Cow::Owned);
    let (repaired_ops, mark_notes) = byte_order_mark::without_marks(base, repaired_ops);
    let bare = without_copied_numbers(base, &repaired_ops, settings)?;
    let has_bare = bare.is_some();
    let repaired_ops = bare.map_or(repaired_ops, Cow::Owned);
    let mut resolved = match in_order(base, &repaired_ops, order, settings) {
        Err(error) if order != OpOrder::InTurn && work::check().is_ok() => {
            match repeated::for_each_place(base, &repaired_ops, settings) {
                Some(counted) => in_order(base, &counted, order, settings)?,
                None => return Err(error),
            }
        }
        other => other?,
    };
    partly_decoded::check(&repaired_ops, &resolved.ops)?;
    if has_bare {
        resolved.notes.push(Note::CopiedNumbers);
    } else if has_lone_cr {
        resolved.notes.push(lone_cr::NOTE);
    }
    if has_stated_ends {
        resolved.notes.push(stated_ends::NOTE);
    }
    resolved.notes.extend(mark_notes);
    byte_order_mark::remove_as_asked(base, ops, &mut resolved)?;
    let several = resolved.changes.splices().len() > 1;
    if resolved.changes.is_empty() || (several && resolved.changes.is_identity(base)) {
        return Err(no_change());
    }
    lone_cr::check_line_ends(base, ops, &resolved.changes)?;
    Ok(resolved)
}

/// Refuses the mark of a cut line in new texts. Whole texts are checked where they are read.
///
/// Errors: `edit.omission`.
fn check_cut_lines(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Result<()> {
    if settings.omissions {
        return Ok(());
    }
    for (index, op) in ops.iter().enumerate().filter(|(_, op)| !matches!(op.at, Locator::Whole)) {
        omission::check_new_text(&op.text, base.text()).map_err(|error| named(error, index, op, ops.len()))?;
    }
    Ok(())
}

fn in_order(base: &Snapshot, ops: &[Op], order: OpOrder, settings: ResolveSettings) -> Result<ResolvedEdit> {
    match order {
        OpOrder::Together => together(base, ops, settings),
        OpOrder::InTurn => in_turn(base, ops, settings),
        OpOrder::AsNeeded => as_needed(base, ops, settings),
    }
}

/// Resolves replacements of parts of the text, disjoint and in order, to a change set against `base`.
///
/// Errors: text that cannot be written in the file's encoding, offsets inside a character, an edit that changes
/// nothing.
pub fn resolve_texts(base: &Snapshot, edits: &[TextEdit]) -> Result<ResolvedEdit> {
    let mut splices = Vec::with_capacity(edits.len());
    for edit in edits {
        work::spend(1 + (edit.span.len() + edit.text.len()) / STEP_BYTES)?;
        for part in difference(base.text(), edit.span, &edit.text) {
            splices.push(splice(base, &part, 0)?.with_read_span(base.raw_span(edit.span)));
        }
    }
    let changes = ChangeSet::new(base, splices).map_err(|overlaps| conflict::overlaps(&[], &overlaps))?;
    if changes.is_empty() {
        return Err(no_change());
    }
    Ok(ResolvedEdit { changes, ops: Vec::new(), failed: Vec::new(), notes: Notes::new() })
}

/// Returns the operations without line numbers that were copied with inserted lines; `None` if there are none, or the
/// call wants the texts as they are.
///
/// Errors: `call.invalid` for numbers without proof that they were copied.
fn without_copied_numbers(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Result<Option<Vec<Op>>> {
    if settings.deletes_literally() {
        return Ok(None);
    }
    let mut bare: Option<Vec<Op>> = None;
    for (at, op) in ops.iter().enumerate() {
        let Some(rows) = line_edits::of(op) else { continue };
        let text = match (line_edits::uncopied_rows(base, rows, &op.text, settings), rows.target) {
            (Some(text), _) => Some(text),
            (None, _) if rows.is_literal() => None,
            (None, LineTarget::Head) => find::uncopied_insertion(base, 0, &op.text)?,
            (None, LineTarget::After(line)) => find::uncopied_insertion(base, line, &op.text)?,
            (None, LineTarget::Before(line)) => find::uncopied_insertion(base, line.saturating_sub(1), &op.text)?,
            _ => None,
        };
        if let Some(text) = text {
            bare.get_or_insert_with(|| ops.to_vec())[at].text = text;
        }
    }
    Ok(bare)
}

fn no_change() -> Error {
    Error::new(Code::EditNoChange, "Original and edited file match exactly. Failed to apply edit.")
        .next("Nothing is left to do if this was the intended state; else correct the edit.")
}

/// An operation with its splices.
pub(crate) struct PlacedOp {
    pub(crate) found: TextMatches,
    pub(crate) splices: Vec<Splice>,
}

impl PlacedOp {
    /// The number of occurrences that the operation changes.
    fn places(&self) -> usize {
        self.found.matches.len()
    }

    /// The total bytes of the new texts, if they are written to several places.
    fn repeated_bytes(&self) -> usize {
        let several = self.found.matches.len() > 1;
        let edits = self.found.matches.iter().filter(|_| several).flat_map(|hit| &hit.edits);
        edits.map(|edit| edit.text.len()).sum()
    }
}

fn together(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Result<ResolvedEdit> {
    // Line edits and cell edits are each placed all together, which also resolves their conflicts.
    let settled = line_edits::are_line_edits(ops) || notebook::are(ops);
    let (placed, needles) = match ops {
        ops if line_edits::are_line_edits(ops) => (line_edits::place_all(base, ops, settings), None),
        ops if notebook::are(ops) => (notebook::place_all(base, ops), None),
        ops => place_all(base, ops, settings),
    };
    work::check()?;
    let (places, repeated_bytes) = amount(&placed);
    find::check_amount(places, repeated_bytes)?;
    // If the rest was not tried after many failures, only the operations that were tried are reported.
    let tried = &ops[..placed.len()];
    let repeated = conflict::repetitions(tried);
    if !settled && let Some(error) = conflict::check(base, tried, &placed, &repeated, needles) {
        return Err(error);
    }
    let mut failed = Vec::new();
    let mut splices = Vec::new();
    let mut outcomes = Vec::with_capacity(ops.len());
    for (index, placed) in placed.into_iter().enumerate() {
        match placed {
            Ok(placed) => {
                // A single operation has its change set already.
                if repeated[index].is_none() && ops.len() > 1 {
                    splices.extend(placed.splices.iter().cloned());
                }
                let mut outcome = outcome(base, index, &ops[index], placed);
                if let Some(first) = repeated[index] {
                    let times = if outcome.places > 1 { "in all places" } else { "once" };
                    outcome.places = 0;
                    let name = ops[first].name(first);
                    outcome.notes = Notes::from(vec![format!("is identical to {name}, which was applied {times}.")]);
                }
                outcomes.push(outcome);
            }
            Err(error) => failed.push(named(error, index, &ops[index], ops.len())),
        }
    }
    let failed = tolerated(failed, tried.len(), ops.len(), settings)?;
    let changes = match &*outcomes {
        [one] => one.changes.clone(),
        _ => ChangeSet::new(base, splices).map_err(|overlaps| conflict::overlaps(ops, &overlaps))?,
    };
    Ok(ResolvedEdit { changes, ops: outcomes, failed, notes: Notes::new() })
}

/// Places all operations; stops after [`failures_explained`], because each failure costs a search for similar text. A
/// call that accepts partial results goes on with those whose text occurs literally.
///
/// Also returns the search for their texts, for reuse.
fn place_all<'o>(
    base: &Snapshot,
    ops: &'o [Op],
    settings: ResolveSettings,
) -> (Vec<Result<PlacedOp>>, Option<Needles<'o>>) {
    let shared = SearchIndex::new(base);
    let literal = find::of_ops(base.text(), ops);
    let mut hunks = hunks_placed(&shared, ops, settings);
    let (mut failures, mut places, mut repeated_bytes) = (0, 0, 0);
    let failures_max = failures_explained(base, settings);
    let mut placed = Vec::with_capacity(ops.len());
    for (nth, op) in ops.iter().enumerate() {
        let one = match &op.at {
            Locator::Hunk(_) => hunks
                .next()
                .unwrap_or_else(|| Err(Error::new(Code::InternalBug, "A hunk was lost.")))
                .and_then(|found| lowered(base, found, number(nth))),
            _ if failures >= failures_max && !is_there(base, op) => Err(not_tried()),
            _ => place(&shared, op, literal.places[nth].as_deref(), number(nth), settings),
        };
        failures += usize::from(one.is_err());
        places += one.as_ref().map_or(0, PlacedOp::places);
        repeated_bytes += one.as_ref().map_or(0, PlacedOp::repeated_bytes);
        placed.push(one);
        // The caller refuses numbers of places and sizes of new texts beyond the limits, so no more of them are built.
        if failures == failures_max && !settings.partial || find::check_amount(places, repeated_bytes).is_err() {
            break;
        }
    }
    (placed, literal.needles)
}

/// Counts the places of all operations, and the bytes that they insert at several places.
fn amount(placed: &[Result<PlacedOp>]) -> (usize, usize) {
    placed.iter().flatten().fold((0, 0), |(places, bytes), one| (places + one.places(), bytes + one.repeated_bytes()))
}

/// Places all hunks. Their texts are searched for together.
fn hunks_placed(
    index: &SearchIndex<'_>,
    ops: &[Op],
    settings: ResolveSettings,
) -> std::vec::IntoIter<Result<TextMatches>> {
    let hunks: Vec<&Hunk> =
        ops.iter().filter_map(|op| if let Locator::Hunk(hunk) = &op.at { Some(&**hunk) } else { None }).collect();
    find::place_hunks(index, &hunks, settings).into_iter()
}

/// Applies edits together if that works, else one after another if an edit needs the result of an earlier one.
fn as_needed(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Result<ResolvedEdit> {
    let error = match together(base, ops, ResolveSettings { partial: false, ..settings }) {
        Ok(resolved) => return Ok(resolved),
        Err(error) => error,
    };
    // A hunk that looks already applied may restore what an earlier one removes.
    let depends =
        matches!(error.code(), Code::MatchNotFound | Code::EditDependency | Code::EditOverlap | Code::EditNoChange);
    if depends
        && ops.len() > 1
        // The second one would be made once more, in the result of the first one.
        && conflict::repeated_edits(ops).iter().all(|repeated| have_own_places(base, ops, *repeated, settings))
        // Applying them in one pass was just tried. A failure makes the result useless, so the first one ends it.
        && let Ok(mut resolved) = one_by_one(base, ops, ResolveSettings { partial: false, ..settings }, 1)
    {
        resolved.notes.push(
            "The edits were applied one after another, because one needs the result of an earlier one.".to_owned(),
        );
        return Ok(resolved);
    }
    if settings.partial { together(base, ops, settings) } else { Err(error) }
}

/// Converts the index of an operation; the number of operations always fits.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Adds to the message which of several edits failed.
fn named(error: Error, index: usize, op: &Op, of: usize) -> Error {
    if of <= 1 {
        return error;
    }
    let name = match &op.at {
        // The errors of line edits name the line of the input, or the edit, themselves.
        Locator::Lines(_) => String::new(),
        _ => format!("{}: ", op.name(index)),
    };
    error.prefixed(&name).op(number(index))
}

fn outcome(base: &Snapshot, index: usize, op: &Op, placed: PlacedOp) -> OpOutcome {
    let hit = placed.found.matches.first().map(|hit| hit.span);
    let old = match &op.at {
        // The source is decoded, not in its JSON form.
        Locator::Cell(_) => hit.and_then(|span| notebook::source_at(base.text(), span)).unwrap_or_default(),
        _ => hit.map_or("", |span| &base.text()[span.range()]).to_owned(),
    };
    OpOutcome {
        op: index,
        source_line: op.source_line(),
        new: op.text.clone(),
        tier: placed.found.tier,
        places: byte_order_mark::changed_places(op, &placed),
        old,
        notes: placed.found.notes,
        // Occurrences of one operation never overlap, so this cannot fail; an empty set would only shorten the report.
        changes: ChangeSet::new(base, placed.splices).unwrap_or_else(|_| ChangeSet::none(base)),
    }
}

/// Places an operation; `literal` has its literal occurrences, if they are known.
fn place(
    index: &SearchIndex<'_>,
    op: &Op,
    literal: Option<&[Span]>,
    nth: u32,
    settings: ResolveSettings,
) -> Result<PlacedOp> {
    let base = index.base();
    let whole = Span::new(0, base.text().len());
    let found = match &op.at {
        Locator::Whole => exact_match(base, &op.text, whole),
        Locator::Exactly(span) => exact_match(base, &op.text, *span),
        _ if op.fills() && base.text().trim().is_empty() => exact_match(base, &base.in_own_form(&op.text), whole),
        Locator::Blank => return Err(not_blank(base, &op.text)),
        Locator::Find(find) => find::find_in(index, find, &op.text, settings, literal)
            .or_else(|error| other_depth::find_elided(index, find, &op.text, settings).ok_or(error))
            .or_else(|error| in_fence::find_inside(index, find, &op.text, settings, &error).ok_or(error))?,
        Locator::Anchors(anchors) => find::between(index, anchors, &op.text, settings)?,
        Locator::Hunk(hunk) => find::place_hunks(index, &[hunk], settings)
            .pop()
            .unwrap_or_else(|| Err(Error::new(Code::InternalBug, "A hunk was lost.")))?,
        Locator::Lines(_) => return line_edits::place_one(base, op, settings),
        Locator::Cell(_) => {
            let one = notebook::place_all(base, std::slice::from_ref(op)).pop();
            return one.unwrap_or_else(|| Err(Error::new(Code::InternalBug, "An edit of a cell was lost.")));
        }
        Locator::AnchorWords(_) => {
            return Err(Error::new(Code::InternalBug, "Words of lines are known only where they were given out."));
        }
    };
    lowered(base, found, nth)
}

/// Creates a match of the tier `exact`.
fn exact_match(base: &Snapshot, new: &str, span: Span) -> TextMatches {
    TextMatches {
        tier: Tier::Exact,
        matches: vec![TextMatch { span, edits: difference(base.text(), span, new) }],
        notes: Notes::new(),
    }
}

/// Converts matches to splices.
fn lowered(base: &Snapshot, found: TextMatches, nth: u32) -> Result<PlacedOp> {
    let mut splices = Vec::new();
    for hit in &found.matches {
        let read_span = base.raw_span(hit.span);
        for edit in &hit.edits {
            work::spend(1)?;
            splices.push(splice(base, edit, nth)?.with_read_span(read_span));
        }
    }
    Ok(PlacedOp { found, splices })
}

/// Creates the error for filling a file that has text (code 3 of the Edit tool), or that a previous call has filled
/// already.
pub fn not_blank(base: &Snapshot, new: &str) -> Error {
    if base.text() == normalize_text(new) {
        return Error::new(Code::EditNoChange, "The file already exists, with exactly this text.")
            .about(ErrorContext::AlreadyApplied)
            .next("Nothing is left to do.");
    }
    let lines = base.lines().count(base.text());
    Error::new(Code::FileExists, "Cannot create new file - file already exists.")
        .evidence(format!(
            "It has {lines} {}:\n{}",
            if lines == 1 { "line" } else { "lines" },
            line_format::excerpt(base, 1, 5)
        ))
        .next(
            Advice::named("Give the text to replace as {old_string}, or use {write()} to replace the whole file.")
                .or("Instead of creating the file, edit its text where it differs."),
        )
}

/// Returns edits for the lines that differ between a part of the decoded text and its new text.
pub(crate) fn difference(text: &str, span: Span, new: &str) -> Vec<TextEdit> {
    let hunks = diff::text_hunks(&text[span.range()], new);
    hunks
        .into_iter()
        .map(|(old, fresh)| TextEdit {
            span: Span::new(span.start() + old.start(), span.start() + old.end()),
            text: new[fresh.range()].to_owned(),
        })
        .collect()
}

/// Converts an edit of the decoded text to a raw splice. The edit is trimmed to what differs before it is encoded, so
/// that unchanged text needs no encoding.
pub(crate) fn splice(base: &Snapshot, edit: &TextEdit, op: u32) -> Result<Splice> {
    let old = &base.text()[edit.span.range()];
    let (head, tail) = diff::common_text_ends(old, &edit.text);
    let span = Span::new(edit.span.start() + head, edit.span.end() - tail);
    let text = base.encode_for(span, &edit.text[head..edit.text.len() - tail])?;
    let span = base.raw_span(span);
    for at in [span.start(), span.end()] {
        if base.codec().may_split_character(base.raw(), at) {
            return Err(Error::new(
                Code::ContentBoundary,
                "The file's encoding was not declared, and in one that fits its bytes this edit would begin or end inside a character.",
            )
            .evidence(format!("Line {}, byte offset {at}.", base.lines().line_of(base.text(), base.to_text(at))))
            .next(
                advice![
                    "Repeat the call with ", Phrase::Quoted("encoding"),
                    format!(" set to the file's encoding (it reads like {}).", base.codec().charset.name()),
                ]
                .or(format!("Ask a person to convert the file to UTF-8 (it reads like {}), or replace whole lines.", base.codec().charset.name())),
            ));
        }
    }
    Ok(Splice::new(span, text, op))
}

#[cfg(test)]
mod tests;
