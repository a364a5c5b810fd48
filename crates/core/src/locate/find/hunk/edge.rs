//! Stale context at the edges of a hunk: lines before the first change or after the last one that are not in the file.
//!
//! These lines are dropped one by one, as few as possible. The change must remain anchored by a removed line, or by
//! context on both sides of an insertion, and the rest must have enough letters and digits.

use super::seeker::{Seeker, candidate};
use super::{DroppedContext, HunkCandidate, HunkMatches};
use crate::error::Result;
use crate::locate::find::tier::{RULES, windows};
use crate::locate::find::{Tier, failure, typo};
use crate::locate::op::{HunkLine, HunkLineKind};
use crate::text::fold::{self, is_blank};
use crate::work;
use core::ops::Range;
use std::rc::Rc;

/// Maximum number of lines dropped at either end.
const DROPPED_LINES_MAX: usize = 3;
/// Minimum number of letters and digits that must remain in removed and context lines.
const REMAINING_ALNUM_MIN: usize = 8;

/// Minimum number of letters and digits of a context line that supports a place.
const SUPPORTING_ALNUM_MIN: usize = 8;

/// Finds the places with the least dropped context.
pub(super) fn seek_with_less_context<'s>(
    seeker: &'s Seeker<'s>,
    mut admit: impl FnMut(Vec<HunkCandidate>) -> Vec<HunkCandidate>,
) -> Result<Option<HunkMatches>> {
    let lines = &seeker.hunk.lines;
    let head = lines.iter().take_while(|line| line.kind == HunkLineKind::Context).count();
    let tail = lines.iter().rev().take_while(|line| line.kind == HunkLineKind::Context).count();
    if head == lines.len() {
        return Ok(None);
    }
    let most_head = if is_anchored(lines[head..].iter()) { head } else { head.saturating_sub(1) };
    let most_tail = if is_anchored(lines[..lines.len() - tail].iter().rev()) { tail } else { tail.saturating_sub(1) };
    // The call may say how much context must match.
    let least = seeker.settings.context.unwrap_or(0);
    let (most_head, most_tail) = (
        most_head.min(DROPPED_LINES_MAX).min(head.saturating_sub(least)),
        most_tail.min(DROPPED_LINES_MAX).min(tail.saturating_sub(least)),
    );
    for dropped in 1..=most_head + most_tail {
        let mut found: Vec<HunkCandidate> = Vec::new();
        let mut cut = (0, 0);
        for front in dropped.saturating_sub(most_tail)..=dropped.min(most_head) {
            let back = dropped - front;
            let more = candidates_without(seeker, front, back)?;
            let more: Vec<HunkCandidate> =
                admit(more).into_iter().filter(|it| found.iter().all(|other| !same(other, it))).collect();
            if !more.is_empty() {
                cut = (front, back);
            }
            found.extend(more);
        }
        if let [one] = &*found
            && is_weak(seeker, one.dropped)
        {
            return Ok(None);
        }
        if !found.is_empty() {
            found.sort_by_key(|it| it.lines.start);
            let notes = vec![note(seeker, DroppedContext { front: cut.0, back: cut.1 }, &found[0].lines)];
            return Ok(Some(HunkMatches { tier: Tier::Drift, candidates: found, notes: notes.into() }));
        }
    }
    Ok(None)
}

/// True if the first change removes a line. Without a removed line, a change at the very edge of the rest would be
/// anchored by nothing.
fn is_anchored<'l>(lines: impl Iterator<Item = &'l HunkLine>) -> bool {
    lines.take_while(|line| line.kind != HunkLineKind::Context).any(|line| line.kind == HunkLineKind::Removed)
}

/// True if two ways to drop lines lead to the same change.
fn same(a: &HunkCandidate, b: &HunkCandidate) -> bool {
    match (&a.hit, &b.hit) {
        (Ok(a), Ok(b)) => a.edits == b.edits,
        _ => false,
    }
}

/// True if context was dropped at both ends, and less of it is left than was dropped.
fn is_weak(seeker: &Seeker<'_>, DroppedContext { front, back }: DroppedContext) -> bool {
    front > 0 && back > 0 && kept_context(seeker, front, back, 1) < dropped_lines(seeker, front, back).count()
}

/// Says which lines were dropped, and whether the file has some of them.
fn note(seeker: &Seeker<'_>, DroppedContext { front, back }: DroppedContext, place: &Range<usize>) -> String {
    let which = match (front, back) {
        (front, 0) => format!("the first {}", count_of_lines(front)),
        (0, back) => format!("the last {}", count_of_lines(back)),
        (front, back) => format!("the first {} and the last {}", count_of_lines(front), count_of_lines(back)),
    };
    let dropped: Vec<&str> = dropped_lines(seeker, front, back).map(str::trim).collect();
    let is_dropped = |at: &usize| dropped.contains(&seeker.index.line(*at).trim());
    let lines = (0..seeker.index.lines().count()).take_while(|_| !work::spend_or_end(1));
    let nearest = lines.filter(is_dropped).min_by_key(|at| at.abs_diff(place.start));
    let Some(at) = nearest else {
        return format!("Context of the hunk is not in the file and was ignored: {which}.");
    };
    let has_words = fold::count_alnum(seeker.index.line(at), 1) > 0;
    let line = if has_words { format!(" Line {} of the file has some of it.", at + 1) } else { String::new() };
    format!("Context of the hunk does not fit its place and was ignored: {which}.{line}")
}

/// Returns a number of lines in words.
fn count_of_lines(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

/// Finds places for the hunk without `front` lines at its beginning and `back` at its end.
fn candidates_without(seeker: &Seeker<'_>, front: usize, back: usize) -> Result<Vec<HunkCandidate>> {
    let wanted = Rc::new(seeker.search.pattern.inner(front, back));
    let text = wanted.old.iter().filter(|line| !is_blank(line));
    let substance: usize = text.clone().map(|line| fold::count_alnum(line, REMAINING_ALNUM_MIN)).sum();
    let removed: usize = seeker
        .hunk
        .lines
        .iter()
        .filter(|line| line.kind == HunkLineKind::Removed)
        .map(|line| fold::count_alnum(&line.text, REMAINING_ALNUM_MIN))
        .sum();
    if substance < REMAINING_ALNUM_MIN || (text.count() < 2 && removed < REMAINING_ALNUM_MIN) {
        return Ok(Vec::new());
    }
    let starts = seeker.search.windows(&wanted.old);
    for rule in RULES {
        let candidates = windows::matching_windows(&seeker.search, &wanted, &starts, rule)
            .map_err(|refusal| failure::refused(&seeker.search, Tier::Drift, &refusal))?;
        if !candidates.places.is_empty() {
            let dropped = DroppedContext { front, back };
            return Ok(candidates
                .places
                .iter()
                .map(|place| HunkCandidate { dropped, ..candidate(&seeker.search, place) })
                .filter(|it| !mistaken(seeker, it))
                .collect());
        }
    }
    Ok(Vec::new())
}

/// True if no context is left; or if a dropped line shows that the hunk is about something else: the file has a
/// counterpart next to the place that differs in a number; or the line is a definition that exists elsewhere, or is
/// supported by less context than is dropped. If the other context is sufficient, the definition was renamed, unless the
/// hunk only adds lines.
fn mistaken(seeker: &Seeker<'_>, place: &HunkCandidate) -> bool {
    let (old, DroppedContext { front, back }) = (&seeker.search.pattern.old, place.dropped);
    if dropped_lines(seeker, front, back).next().is_some() && kept_context(seeker, front, back, 1) == 0 {
        return true;
    }
    let count = seeker.index.lines().count();
    let above = (0..front).filter_map(|at| Some((old[at], (place.lines.start + at).checked_sub(front)?)));
    let below = (0..back).map(|at| (old[old.len() - back + at], place.lines.end + at));
    let mut beside = above.chain(below).filter(|(_, line)| *line < count);
    if beside.any(|(old, line)| typo::has_another_number(old, seeker.index.line(line))) {
        return true;
    }
    let Some(name) = dropped_lines(seeker, front, back).find_map(|line| typo::defined(line.trim())) else {
        return false;
    };
    // If the hunk removes nothing, only the dropped line shows in which definition the new lines belong.
    if seeker.hunk.lines.iter().all(|line| line.kind != HunkLineKind::Removed) {
        return true;
    }
    let is_elsewhere = (0..count).any(|at| {
        let line = seeker.index.line(at);
        line.contains(name) && typo::defined(line.trim()) == Some(name)
    });
    is_elsewhere || kept_context(seeker, front, back, SUPPORTING_ALNUM_MIN) < dropped_lines(seeker, front, back).count()
}

/// Returns the dropped lines with text.
fn dropped_lines<'s>(seeker: &'s Seeker<'_>, front: usize, back: usize) -> impl Iterator<Item = &'s str> {
    let old = &seeker.search.pattern.old;
    old[..front].iter().chain(&old[old.len() - back..]).copied().filter(|line| !is_blank(line))
}

/// Counts the context lines with at least this many letters and digits that the hunk retains.
fn kept_context(seeker: &Seeker<'_>, front: usize, back: usize, alnum_min: usize) -> usize {
    let lines: Vec<_> = seeker.hunk.lines.iter().filter(|line| line.kind != HunkLineKind::Added).collect();
    let kept = lines.get(front..lines.len().saturating_sub(back)).unwrap_or_default();
    let supports = |line: &str| fold::count_alnum(line, alnum_min) >= alnum_min;
    kept.iter().filter(|line| line.kind != HunkLineKind::Removed && supports(&line.text)).count()
}
