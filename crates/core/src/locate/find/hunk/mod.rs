//! Placement of all hunks of a patch for one file.
//!
//! A hunk's old side is searched for by the tiers of the cascade, the strictest first; the first tier with a place
//! below the hunk's anchors decides. Lines marked as removed must exist (ignoring whitespace and punctuation), and only
//! the marked lines are written: context keeps the file's bytes. If there are several places, only the section name,
//! the line numbers or the order of the hunks may select one.

mod blanks;
mod choose;
mod context;
mod doubled;
mod edge;
mod failure;
mod header;
mod insert;
mod other_place;
mod repair;
mod respace;
pub(super) mod scope;
mod seek;
mod seeker;

use super::literal;
use super::refusal::MatchRefusal;
use super::search::{PatternLines, SearchIndex};
use super::{TextEdit, TextMatch, TextMatches, Tier};
use crate::code::Code;
use crate::error::Result;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind, Matching, ResolveSettings, TextQuery};
use crate::locate::resolve::EXPLAINED_FAILURES_MAX;
use crate::note::Notes;
use crate::text::span::Span;
use crate::work;
use core::ops::Range;

/// Number of hunks from which lines that the common search did not find are looked up in a table, instead of searching
/// the text once for each hunk.
const LINE_TABLE_HUNKS_MIN: usize = 6;

/// A place where a hunk fits.
#[derive(Clone, Debug)]
struct HunkCandidate {
    /// The zero-based lines of the file that match the old side.
    lines: Range<usize>,
    /// The edits, or the reason why the place is refused.
    hit: Result<TextMatch, MatchRefusal>,
    /// Context lines dropped at the beginning and the end.
    dropped: DroppedContext,
}

impl HunkCandidate {
    /// Returns the lines of the place down to the first one that is changed.
    fn lines_to_change(&self, index: &SearchIndex<'_>) -> Range<usize> {
        let edit = self.hit.as_ref().ok().and_then(|hit| hit.edits.first());
        let end = edit.map_or(self.lines.start, |edit| index.lines().at(edit.span.start()) + 1);
        self.lines.start..end.min(self.lines.end)
    }
}

/// Context lines of a hunk that are not in the file and were dropped.
#[derive(Clone, Copy, Debug, Default)]
struct DroppedContext {
    front: usize,
    back: usize,
}

impl DroppedContext {
    /// Returns the line at which the rest of a hunk should begin according to its header; `None` if context was dropped
    /// on both sides, so that the number says nothing about the rest.
    fn first(self, stated: usize) -> Option<usize> {
        (self.front == 0 || self.back == 0).then(|| stated.saturating_add(self.front))
    }
}

/// The places where a hunk fits.
#[derive(Debug)]
struct HunkMatches {
    tier: Tier,
    /// The places in the order of the file, at least one.
    candidates: Vec<HunkCandidate>,
    notes: Notes,
}

/// Places the hunks of one file, in the order of the patch.
pub(crate) fn place_all(
    index: &SearchIndex<'_>,
    hunks: &[&Hunk],
    settings: ResolveSettings,
) -> Vec<Result<TextMatches>> {
    let repaired_hunks = doubled::without_doubled_marks(index, hunks);
    if repaired_hunks.iter().all(|it| matches!(it, Ok(None))) {
        return place_each(index, hunks, settings);
    }
    let read: Vec<&Hunk> = hunks
        .iter()
        .zip(&repaired_hunks)
        .map(|(hunk, repaired_hunk)| repaired_hunk.as_ref().ok().and_then(Option::as_ref).unwrap_or(hunk))
        .collect();
    let placed = place_each(index, &read, settings).into_iter().zip(repaired_hunks);
    placed.map(|(placed, repaired_hunk)| with_repair(placed, repaired_hunk?.is_some())).collect()
}

/// Adds the note about a doubled mark.
fn with_repair(placed: Result<TextMatches>, is_repaired: bool) -> Result<TextMatches> {
    let mut placed = placed?;
    placed.notes.extend(is_repaired.then_some(doubled::DOUBLED_NOTE));
    Ok(placed)
}

fn place_each(index: &SearchIndex<'_>, hunks: &[&Hunk], settings: ResolveSettings) -> Vec<Result<TextMatches>> {
    let many = hunks.len() >= LINE_TABLE_HUNKS_MIN;
    let sides: Vec<TextQuery> = hunks.iter().map(|hunk| seek::old_side(hunk)).collect();
    let literal =
        literal::of_searches(index.base().text(), &sides.iter().map(Some).collect::<Vec<Option<&TextQuery>>>());
    let mut matches: Vec<Result<HunkMatches>> = Vec::with_capacity(hunks.len());
    let mut repairs: Vec<Option<TextMatches>> = Vec::with_capacity(hunks.len());
    let mut failures = 0;
    for ((hunk, find), literal) in hunks.iter().zip(&sides).zip(&literal.places) {
        // Each failure costs an explanation. Beyond this number the other hunks cannot change the outcome, because
        // nothing is written, unless the call accepts partial results: then those that occur as they are count.
        let is_open = failures < EXPLAINED_FAILURES_MAX
            || settings.partial && literal::occurs(index.base().text(), find.old.trim_end_matches('\n'));
        let tries = is_open && !work::spend_or_end(1);
        let found = if tries {
            seek::seek(index, hunk, (find, literal.as_deref()), settings, many)
        } else {
            Err(failure::not_searched())
        };
        let is_missing = found.as_ref().err().is_some_and(|error| error.code() == Code::MatchNotFound);
        let repair = if is_missing && tries { repaired(index, hunk, settings) } else { None };
        failures += usize::from(found.is_err() && repair.is_none());
        matches.push(found);
        repairs.push(repair);
    }
    if work::spend_or_end(1) {
        return hunks.iter().map(|_| Err(failure::not_searched())).collect();
    }
    choose::disambiguate(index, hunks, &mut matches);
    // Existing braces and blank lines count as the result of this patch, unless another hunk shows that the patch was
    // not applied yet.
    let weak_evidence = hunks.iter().zip(&matches).map(|(hunk, matches)| {
        only_candidate(matches)
            .and_then(|(tier, candidate)| find_applied_lines(index, hunk, tier, candidate))
            .filter(|it| it.proof == ProofStrength::Weak)
    });
    let weak_evidence: Vec<Option<AppliedEvidence>> = weak_evidence.collect();
    let all_applied = weak_evidence.iter().all(Option::is_some);
    let (mut out, mut failures) = (Vec::with_capacity(hunks.len()), 0);
    for (((hunk, matches), repair), weak) in hunks.iter().zip(matches).zip(repairs).zip(weak_evidence) {
        if failures >= EXPLAINED_FAILURES_MAX && !(settings.partial && matches.is_ok()) {
            out.push(Err(failure::not_searched()));
            continue;
        }
        let found = matches.map(|matches| {
            if work::spend_or_end(1) { Err(failure::not_searched()) } else { only_match(index, hunk, matches) }
        });
        let placed = match (weak.filter(|_| all_applied), found) {
            (Some(already), _) => Err(failure::already_applied(hunk, already.line)),
            (None, Err(error)) => repair.ok_or(error),
            (None, Ok(Err(error))) if error.code() == Code::MatchNotFound => {
                repaired(index, hunk, settings).ok_or(error)
            }
            (None, Ok(found)) => found,
        };
        failures += usize::from(placed.is_err());
        out.push(placed);
    }
    out
}

/// Returns the place of a hunk that has only one.
fn only_candidate(matches: &Result<HunkMatches>) -> Option<(Tier, &HunkCandidate)> {
    match matches {
        Ok(HunkMatches { tier, candidates, .. }) if candidates.len() == 1 => Some((*tier, &candidates[0])),
        _ => None,
    }
}

/// Places a hunk after repairing a known mistake in it.
fn repaired(index: &SearchIndex<'_>, hunk: &Hunk, settings: ResolveSettings) -> Option<TextMatches> {
    if work::spend_or_end(1) {
        return None;
    }
    let marked = repair::repair_hunk(hunk, |text| occurs(index, text))
        .and_then(|(repaired_hunk, repairs)| Some((place_alone(index, settings, &repaired_hunk)?, repairs)));
    if let Some(least) = settings.context.filter(|_| marked.is_none()) {
        let less = context::reduced(hunk, least).into_iter();
        let found = less.map_while(|(repaired_hunk, note)| {
            (!work::spend_or_end(1)).then(|| (place_alone(index, settings, &repaired_hunk), note))
        });
        if let Some((Some(mut found), note)) = found.into_iter().find(|(found, _)| found.is_some()) {
            found.notes.push(note);
            return Some(found);
        }
    }
    let tolerant = settings.matching == Matching::Standard && !settings.stale;
    let (mut found, repairs) =
        marked.or_else(|| if tolerant { place_tolerantly(index, hunk, settings) } else { None })?;
    found.notes.extend(repairs);
    Some(found)
}

/// Places a hunk with the blank lines that it omits, or with its placeholders as omissions.
fn place_tolerantly(
    index: &SearchIndex<'_>,
    hunk: &Hunk,
    settings: ResolveSettings,
) -> Option<(TextMatches, Vec<&'static str>)> {
    let filled =
        blanks::fill_blank_lines(index, hunk).and_then(|repaired_hunk| place_alone(index, settings, &repaired_hunk));
    if let Some(filled) = filled {
        return Some((filled, vec![blanks::BLANKS_FILLED_NOTE]));
    }
    let elided = repair::elide_placeholders(hunk, |text| occurs(index, text))?;
    Some((place_alone(index, settings, &elided)?, vec![repair::PLACEHOLDER_NOTE]))
}

/// True if the file has a line, ignoring indentation. True as well once the work of the call has to end.
fn occurs(index: &SearchIndex<'_>, text: &str) -> bool {
    (0..index.lines().count()).any(|at| work::spend_or_end(1) || index.line(at).trim() == text)
}

/// Places a hunk independently of the others.
fn place_alone(index: &SearchIndex<'_>, settings: ResolveSettings, repaired_hunk: &Hunk) -> Option<TextMatches> {
    let find = seek::old_side(repaired_hunk);
    let matches = seek::seek(index, repaired_hunk, (&find, None), settings, false).ok()?;
    only_match(index, repaired_hunk, matches).ok()
}

/// Selects the only place of a hunk.
fn only_match(index: &SearchIndex<'_>, hunk: &Hunk, matches: HunkMatches) -> Result<TextMatches> {
    let HunkMatches { tier, mut candidates, mut notes } = matches;
    if hunk.lines.iter().all(|line| matches!(line.kind, HunkLineKind::Context | HunkLineKind::Bare)) {
        // The lines need only exist, because the hunk changes none.
        candidates.truncate(1);
    }
    if candidates.len() != 1 {
        return Err(failure::ambiguous(index, hunk, tier, &candidates));
    }
    let candidate = candidates.remove(0);
    let mut hit = candidate.hit.clone().map_err(|refusal| failure::refused(index, hunk, tier, &refusal))?;
    if let Some(already) =
        find_applied_lines(index, hunk, tier, &candidate).filter(|it| it.proof == ProofStrength::Strong)
    {
        return Err(failure::already_applied(hunk, already.line));
    }
    let start = index.lines().start(candidate.lines.start);
    let line = index.base().lines().line_of(index.base().text(), start);
    if hunk.first.and_then(|stated| candidate.dropped.first(stated)) != Some(line) {
        if tier > Tier::Punctuation {
            other_place::no_rival(index, hunk, tier, &candidate)?;
        }
        other_place::in_named_section(index, hunk, &candidate)?;
    }
    if let Some(stated) = hunk.first.filter(|_| hunk.lines.iter().any(|line| line.kind != HunkLineKind::Added)) {
        let line = line.saturating_sub(candidate.dropped.front);
        if stated != line {
            notes.push(format!("Found at line {line}; the header says {stated}."));
        }
    }
    notes.extend(scope::note_below_block(index, &hunk.scopes, candidate.lines.start));
    if candidate.lines.end == index.lines().count() {
        end_as_said(index, hunk, candidate.lines.start > 0, &mut hit.edits);
    }
    Ok(TextMatches { tier, matches: vec![hit], notes })
}

/// Adds the change of the last line end, if the patch states one. An edit that extends to the end includes that change
/// already: two edits at one position would be joined as a repetition. `below_others` is true if the hunk does not
/// begin at the start of the file.
fn end_as_said(index: &SearchIndex<'_>, hunk: &Hunk, below_others: bool, edits: &mut Vec<TextEdit>) {
    let (count, text) = (index.lines().count(), index.base.text());
    let open = count > 0 && index.lines().is_open(count - 1);
    // The last line of the new side must be that of the file: either the hunk shows it, or it is the line above, which
    // had its line end.
    let shown = hunk.lines.iter().any(|line| line.kind != HunkLineKind::Removed);
    if count == 0 || !(shown || below_others && hunk.open == (true, false)) {
        return;
    }
    let last = edits.iter_mut().find(|edit| edit.span.end() == text.len());
    match (hunk.open, last) {
        ((true, false), Some(edit)) if open => edit.text.push('\n'),
        ((true, false), None) if open => edits.push(TextEdit { span: Span::at(text.len()), text: "\n".to_owned() }),
        ((false, true), Some(edit)) if !open => {
            if edit.text.ends_with('\n') {
                edit.text.pop();
            } else if edit.text.is_empty() {
                edit.span = Span::new(edit.span.start().saturating_sub(1), edit.span.end());
            }
        }
        ((false, true), None) if !open => {
            edits.push(TextEdit { span: Span::new(text.len() - 1, text.len()), text: String::new() });
        }
        _ => {}
    }
}

/// Evidence that the new lines of a hunk are in the file already.
#[derive(Clone, Copy, Debug)]
struct AppliedEvidence {
    /// 1-based line at which the new side begins.
    line: usize,
    proof: ProofStrength,
}

/// The strength of the evidence that a hunk was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProofStrength {
    /// At least one new line is distinctive.
    Strong,
    /// All new lines are braces or blank; they prove nothing if another hunk of the patch has yet to be applied.
    Weak,
}

/// Finds the whole new side in the file, if the hunk only adds lines and its old side would be found once more.
fn find_applied_lines(
    index: &SearchIndex<'_>,
    hunk: &Hunk,
    tier: Tier,
    candidate: &HunkCandidate,
) -> Option<AppliedEvidence> {
    let place = &candidate.lines;
    let new = &repair::kept_as_context(hunk);
    if new.iter().any(|line| line.kind == HunkLineKind::Removed) {
        return None;
    }
    let strong = new.iter().any(|it| it.kind == HunkLineKind::Added && has_alnum(it));
    let before = new.iter().take_while(|line| line.kind == HunkLineKind::Added).count();
    let adds = new.iter().any(|it| it.kind == HunkLineKind::Added);
    // A hunk without old lines is placed in a gap, and its new lines would be after it, or before the end of the file.
    let first = match place.is_empty() {
        true if hunk.at_end && strong => place.start.checked_sub(new.len())?,
        true => place.start,
        false => place.start.checked_sub(before)?,
    };
    let is_distinctive = new.iter().any(|it| !it.text.trim().is_empty());
    let is_there =
        |lines: &mut dyn Iterator<Item = &str>| lines.enumerate().all(|(nth, line)| index.line(first + nth) == line);
    // With a tolerance, other lines are written than the hunk has.
    let written = if tier == Tier::Exact { None } else { written_lines(index, candidate, new.len()) };
    let is_applied = adds
        && is_distinctive
        && first + new.len() <= index.lines().count()
        && (is_there(&mut new.iter().map(|line| &*line.text))
            || written.is_some_and(|written| is_there(&mut written.split('\n'))));
    is_applied.then_some(AppliedEvidence {
        line: first + 1,
        proof: if strong { ProofStrength::Strong } else { ProofStrength::Weak },
    })
}

/// Returns the new side of a hunk with `count` lines as it would be written.
fn written_lines(index: &SearchIndex<'_>, candidate: &HunkCandidate, count: usize) -> Option<String> {
    let lines = &candidate.lines;
    let hit = candidate.hit.as_ref().ok().filter(|_| !lines.is_empty())?;
    let (mut from, end) = (index.lines().start(lines.start), index.lines().end(lines.end - 1));
    let mut out = String::new();
    for edit in &hit.edits {
        out.push_str(index.text.get(from..edit.span.start())?);
        out.push_str(&edit.text);
        from = edit.span.end();
    }
    out.push_str(index.text.get(from..end)?);
    (out.split('\n').count() == count).then_some(out)
}

/// True for a line with a letter or a digit.
fn has_alnum(it: &HunkLine) -> bool {
    crate::text::fold::count_alnum(&it.text, 1) > 0
}

/// Returns the two sides of a hunk, and the ranges of lines that replace each other.
fn wanted(hunk: &Hunk) -> PatternLines<'_> {
    let (mut old, mut new, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    let mut from = (0, 0);
    for line in &hunk.lines {
        let stays = matches!(line.kind, HunkLineKind::Context | HunkLineKind::Bare);
        if stays && from != (old.len(), new.len()) {
            changes.push((from.0..old.len(), from.1..new.len()));
        }
        if line.kind != HunkLineKind::Added {
            old.push(&*line.text);
        }
        if line.kind != HunkLineKind::Removed {
            new.push(&*line.text);
        }
        if stays {
            from = (old.len(), new.len());
        }
    }
    if from != (old.len(), new.len()) {
        changes.push((from.0..old.len(), from.1..new.len()));
    }
    PatternLines { old, new, changes: Some(changes) }
}

#[cfg(test)]
mod tests;
