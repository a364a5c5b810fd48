//! Search for one hunk, tier by tier, among the places that its anchors and its end-of-file mark allow.

use super::seeker::{HunkConstraints, Seeker, candidate, literal, places_max};
use super::{HunkCandidate, HunkMatches, blanks, edge, failure, insert, repair, respace, scope, wanted};
use crate::error::Result;
use crate::locate::find::match_site::MatchSite;
use crate::locate::find::refusal::RefusalReason;
use crate::locate::find::search::{MatchSearch, SearchIndex};
use crate::note::Notes;

use crate::locate::find::{TIERS, Tier, TierRow, omission, tier};
use crate::locate::omission::is_elision;
use crate::locate::op::{
    ExpectedMatches, Hunk, HunkLine, HunkLineKind, Matching, ResolveSettings, TextNames, TextQuery,
};
use crate::text::fold;
use crate::text::span::Span;
use crate::work;
use memchr::memmem;

/// Steps of work for computing the edits at a place.
const PLACEMENT_STEPS: usize = 20;
/// The old side of a hunk and its literal occurrences, if they are known.
type OldSide<'o> = (&'o TextQuery, Option<&'o [Span]>);

/// Returns the lines that a hunk expects.
pub(super) fn old_side(hunk: &Hunk) -> TextQuery {
    TextQuery { lines: true, names: TextNames::HUNK, ..TextQuery::new(&hunk.old_text(), ExpectedMatches::Unique) }
}

pub(super) fn seek(
    index: &SearchIndex<'_>,
    hunk: &Hunk,
    old: OldSide<'_>,
    settings: ResolveSettings,
    many: bool,
) -> Result<HunkMatches> {
    if let Some((filled, notes)) = with_added_blanks(index, hunk, settings, many) {
        let mut found = seek_as_it_is(index, &filled, (&old_side(&filled), None), settings, many)?;
        found.notes.extend(notes);
        return Ok(found);
    }
    let Some(bare) = without_bare_edges(hunk) else { return seek_as_it_is(index, hunk, old, settings, many) };
    let mut whole = MatchSearch::for_lines(index, old.0, "", wanted(hunk));
    whole.literal = old.1;
    if literal(&whole, many, 1).is_empty() {
        seek_as_it_is(index, &bare, (&old_side(&bare), None), settings, many)
    } else {
        seek_as_it_is(index, hunk, old, settings, many)
    }
}

/// Returns the hunk with its unmarked blank lines between added ones marked as added, and the notes about that, if the
/// file has its old lines only then; blank lines that the hunk omits are tolerated.
fn with_added_blanks(
    index: &SearchIndex<'_>,
    hunk: &Hunk,
    settings: ResolveSettings,
    many: bool,
) -> Option<(Hunk, Vec<&'static str>)> {
    let filled = repair::fill_blanks(hunk).filter(|_| !is_literal(index, hunk, many))?;
    if is_literal(index, &filled, many) {
        return Some((filled, vec![repair::UNMARKED_NOTE]));
    }
    let tolerant = settings.matching == Matching::Standard && !settings.stale;
    let whole = blanks::fill_blank_lines(index, &filled).filter(|_| tolerant)?;
    Some((whole, vec![repair::UNMARKED_NOTE, blanks::BLANKS_FILLED_NOTE]))
}

/// True if the file has the old lines of a hunk exactly.
fn is_literal(index: &SearchIndex<'_>, hunk: &Hunk, many: bool) -> bool {
    let old = old_side(hunk);
    !literal(&MatchSearch::for_lines(index, &old, "", wanted(hunk)), many, 1).is_empty()
}

/// Returns the hunk without lines at its edges that may be layout of the patch: unmarked empty lines, and `...`.
fn without_bare_edges(hunk: &Hunk) -> Option<Hunk> {
    let front = hunk.lines.iter().take_while(|line| is_elided(line)).count();
    let back = hunk.lines[front..].iter().rev().take_while(|line| is_elided(line)).count();
    (front + back > 0).then(|| {
        let lines = hunk.lines[front..hunk.lines.len() - back].to_vec();
        Hunk { lines, ..hunk.clone() }
    })
}

/// True for a line that may replace others: elided or layout of the patch.
fn is_elided(line: &HunkLine) -> bool {
    match line.kind {
        HunkLineKind::Bare => line.text.is_empty() || is_elision(&line.text),
        HunkLineKind::Context => is_elision(&line.text),
        HunkLineKind::Added | HunkLineKind::Removed => false,
    }
}

fn seek_as_it_is(
    index: &SearchIndex<'_>,
    hunk: &Hunk,
    (find, literal): OldSide<'_>,
    settings: ResolveSettings,
    many: bool,
) -> Result<HunkMatches> {
    let anchors = scope::anchors(index, &hunk.scopes).map_err(|nth| failure::no_anchor(index, hunk, nth))?;
    let (anchored, at_end) = (!hunk.scopes.is_empty(), hunk.at_end);
    let mut limits =
        HunkConstraints { anchors, anchored, at_end, in_another_block: false, outside: Vec::new(), chosen: None };
    let new = hunk.new_text();
    omission::check(find, &new, settings)?;
    if find.old.is_empty() {
        return insert::seek_insertion(index, hunk, &limits.anchors);
    }
    let mut search = MatchSearch::for_lines(index, find, &new, wanted(hunk));
    search.literal = literal;
    let seeker = Seeker { index, hunk, settings, search };
    let found = match seeker.exact(&mut limits, many) {
        // A call whose work has to end needs neither a place nor an explanation.
        None if work::spend_or_end(1) => return Err(failure::not_searched()),
        None if seeker.is_possible() => seeker.tiers(&mut limits)?,
        found => found,
    };
    let found = found.or_else(|| if work::spend_or_end(1) { None } else { seeker.tokens(&mut limits) });
    let Some(mut matches) = found else {
        return Err(if work::spend_or_end(1) { failure::not_searched() } else { failure::not_found(&seeker, &limits) });
    };
    matches.notes.extend(limits.chosen);
    Ok(matches)
}

impl Seeker<'_> {
    /// Searches the lines as they are, and with restored context marks.
    fn exact(&self, limits: &mut HunkConstraints, many: bool) -> Option<HunkMatches> {
        let places = literal(&self.search, many, places_max(self.index) + 1);
        if let Some(matches) = self.admitted(limits, Tier::Exact, &places, Notes::new()) {
            return Some(matches);
        }
        if self.settings.matching == Matching::Exact {
            return None;
        }
        respace::literal(self, many).and_then(|candidates| {
            let candidates = limits.admit(self.index, candidates);
            let notes = Notes::from(vec![respace::MISSING_BLANK_NOTE]);
            (!candidates.is_empty()).then_some(HunkMatches { tier: Tier::TrailingBlanks, candidates, notes })
        })
    }

    fn tiers(&self, limits: &mut HunkConstraints) -> Result<Option<HunkMatches>> {
        // Line numbers within a hunk shift with its own changes, so it is unclear to which version they belong.
        let rows = TIERS
            .iter()
            .filter(|row| row.tier > Tier::Punctuation && row.tier != Tier::LineNumbers && row.tier != Tier::Block);
        for row in rows.filter(|row| row.is_open(&self.search, self.settings)) {
            if work::spend_or_end(1) {
                return Ok(None);
            }
            if row.tier == Tier::IndentShift {
                let candidates = limits.admit(self.index, respace::mixed(self));
                if !candidates.is_empty() {
                    let notes = Notes::from(vec![respace::CONTEXT_INDENT_NOTE]);
                    return Ok(Some(HunkMatches { tier: row.tier, candidates, notes }));
                }
            }
            let candidates = row.run(&self.search);
            let places = match candidates {
                Ok(candidates) => candidates.places,
                // The cause may still be stale context at an edge.
                Err(refusal) if row.tier == Tier::Drift => {
                    let found = self.edge(limits)?;
                    return match refusal.reason {
                        RefusalReason::Rivals | RefusalReason::UnseenLines if found.is_none() => {
                            if let Some(line) = failure::line_of_applied(self) {
                                return Err(failure::already_applied(self.hunk, line));
                            }
                            Err(failure::refused(self.index, self.hunk, row.tier, &refusal))
                        }
                        _ => Ok(found),
                    };
                }
                Err(refusal) => return Err(failure::refused(self.index, self.hunk, row.tier, &refusal)),
            };
            if let Some(matches) = self.admitted(limits, row.tier, &places, notes(row)) {
                return Ok(Some(matches));
            }
        }
        self.edge(limits)
    }

    /// Searches for the same tokens with other whitespace between them.
    fn tokens(&self, limits: &mut HunkConstraints) -> Option<HunkMatches> {
        if self.settings.stale || self.settings.matching != Matching::Standard {
            return None;
        }
        let candidates = limits.admit(self.index, respace::tokens(self));
        let notes = Notes::from(vec![respace::TOKENS_NOTE]);
        (!candidates.is_empty()).then_some(HunkMatches { tier: Tier::BlankRuns, candidates, notes })
    }

    fn edge(&self, limits: &mut HunkConstraints) -> Result<Option<HunkMatches>> {
        if self.settings.stale || self.settings.matching != Matching::Standard {
            return Ok(None);
        }
        let found = edge::seek_with_less_context(self, |mut candidates| {
            // Without all of its context, a hunk must be where its anchor says.
            candidates.retain(|it| limits.nearness_of(it) != Some(scope::Nearness::Below));
            limits.admit(self.index, candidates)
        })?;
        // An applied hunk fits without the context that it changed itself.
        match found.as_ref().and_then(|_| failure::line_of_applied(self)) {
            Some(line) => Err(failure::already_applied(self.hunk, line)),
            None => Ok(found),
        }
    }

    fn admitted(
        &self,
        limits: &mut HunkConstraints,
        tier: Tier,
        places: &[MatchSite<'_>],
        notes: Notes,
    ) -> Option<HunkMatches> {
        let places =
            places.iter().take(places_max(self.index) + 1).take_while(|_| !work::spend_or_end(PLACEMENT_STEPS));
        let candidates: Vec<HunkCandidate> = places.map(|place| candidate(&self.search, place)).collect();
        self.index.cached.set(self.index.cached.get() + candidates.len());
        let candidates = limits.admit(self.index, candidates);
        (!candidates.is_empty()).then_some(HunkMatches { tier, candidates, notes })
    }

    /// A quick filter: false if no tier can find the hunk, because a removed line is not in the file even under the
    /// loosest normalization.
    fn is_possible(&self) -> bool {
        let lines = &self.hunk.lines;
        let removed = || lines.iter().filter(|line| line.kind == HunkLineKind::Removed);
        if removed().next().is_some() {
            removed().all(|line| self.may_occur(&line.text))
        } else {
            self.search.pattern.old.iter().any(|line| !fold::is_blank(line) && self.may_occur(line))
        }
    }

    /// A quick filter: false if no line of the file resembles this one, or contains it with its escapes decoded. An
    /// elision matches any lines.
    fn may_occur(&self, line: &str) -> bool {
        if is_elision(line) {
            return true;
        }
        self.index.similar_lines(line).is_none_or(|similar| !similar.lines.is_empty())
            || tier::escapes::plain_parts(line).is_some_and(|parts| {
                parts.into_iter().all(|part| memmem::find(self.search.text.as_bytes(), part.as_bytes()).is_some())
            })
    }
}

/// Returns the note of a tier, if it has one.
fn notes(row: &TierRow) -> Notes {
    Some(row.note).filter(|note| !note.is_empty()).into_iter().collect()
}
