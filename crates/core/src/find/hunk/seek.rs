//! Search for one hunk, tier by tier, among the places that its anchors and its end-of-file mark allow.

use super::{Candidate, LeftOut, Sought, edge, failure, insert, respace, scope, wanted};
use crate::error::Result;
use crate::find::place::Place;
use crate::find::refusal::Reason;
use crate::find::search::{Index, Search};

use crate::find::{ROWS, Row, Tier, fold, omission, tier};
use crate::omission::is_elision;
use crate::op::{Find, Hunk, HunkLine, LineKind, Pick, Settings, TextNames};
use crate::span::Span;
use crate::work;
use memchr::memmem;

/// Places that are examined; more are too many to choose from.
const MOST: usize = 200;
/// Places kept for all hunks of a file together, and further ones that every hunk may have.
const KEPT: usize = 200_000;
const FEW: usize = 12;
/// Steps for computing the edits at a place.
const PLACED: usize = 20;
/// Lines of a chain that are examined before another line of the hunk is tried.
const CHAIN: usize = 64;

/// The restrictions that a hunk states.
pub(super) struct Limits {
    anchors: Vec<scope::Anchor>,
    anchored: bool,
    at_end: bool,
    /// Lines at which the hunk fits apart from the restrictions.
    outside: Vec<usize>,
    /// The reason for the selection among places that the anchors allow.
    chosen: Option<String>,
}

/// The state of the search for one hunk.
pub(super) struct Seeker<'s> {
    pub(super) index: &'s Index<'s>,
    pub(super) hunk: &'s Hunk,
    pub(super) settings: Settings,
    pub(super) search: Search<'s>,
}

/// The old side of a hunk and its literal occurrences, if they are known.
type Old<'o> = (&'o Find, Option<&'o [Span]>);

/// Returns the lines that a hunk expects.
pub(super) fn old_side(hunk: &Hunk) -> Find {
    Find { lines: true, names: TextNames::HUNK, ..Find::new(&hunk.old_text(), Pick::Unique) }
}

pub(super) fn seek(index: &Index<'_>, hunk: &Hunk, old: Old<'_>, settings: Settings, many: bool) -> Result<Sought> {
    let Some(bare) = without_bare_edges(hunk) else { return seek_as_it_is(index, hunk, old, settings, many) };
    let mut whole = Search::wanting(index, old.0, "", wanted(hunk));
    whole.literal = old.1;
    if literal(&whole, many).is_empty() {
        seek_as_it_is(index, &bare, (&old_side(&bare), None), settings, many)
    } else {
        seek_as_it_is(index, hunk, old, settings, many)
    }
}

/// Returns the hunk without lines at its edges that may be layout of the patch: unmarked empty ones, and `...`.
fn without_bare_edges(hunk: &Hunk) -> Option<Hunk> {
    let bare = |line: &&HunkLine| match line.kind {
        LineKind::Bare => line.text.is_empty() || is_elision(&line.text),
        LineKind::Context => is_elision(&line.text),
        LineKind::Added | LineKind::Removed => false,
    };
    let front = hunk.lines.iter().take_while(bare).count();
    let back = hunk.lines[front..].iter().rev().take_while(bare).count();
    (front + back > 0).then(|| {
        let lines = hunk.lines[front..hunk.lines.len() - back].to_vec();
        Hunk { lines, ..hunk.clone() }
    })
}

fn seek_as_it_is(
    index: &Index<'_>,
    hunk: &Hunk,
    (find, literal): Old<'_>,
    settings: Settings,
    many: bool,
) -> Result<Sought> {
    let anchors = scope::anchors(index, &hunk.scopes).map_err(|nth| failure::no_anchor(index, hunk, nth))?;
    let (anchored, at_end) = (!hunk.scopes.is_empty(), hunk.at_end);
    let mut limits = Limits { anchors, anchored, at_end, outside: Vec::new(), chosen: None };
    let new = hunk.new_text();
    omission::check(find, &new, settings)?;
    if find.old.is_empty() {
        return insert::seek(index, hunk, &limits.anchors);
    }
    let mut search = Search::wanting(index, find, &new, wanted(hunk));
    search.literal = literal;
    let seeker = Seeker { index, hunk, settings, search };
    let found = match seeker.exact(&mut limits, many) {
        // Neither a place nor an explanation is of use to a call that ends.
        None if work::ends(1) => return Err(failure::untried()),
        None if seeker.is_possible() => seeker.tiers(&mut limits)?,
        found => found,
    };
    let found = found.or_else(|| if work::ends(1) { None } else { seeker.tokens(&mut limits) });
    let Some(mut sought) = found else {
        return Err(if work::ends(1) { failure::untried() } else { failure::not_found(&seeker, &limits) });
    };
    sought.notes.extend(limits.chosen);
    Ok(sought)
}

impl Limits {
    /// Keeps the allowed places; of those below an anchor, only the nearest class.
    fn admit(&mut self, index: &Index<'_>, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        let count = index.lines().count();
        let all: Vec<usize> = candidates.iter().map(|it| it.lines.start).collect();
        if self.at_end {
            let reaches = |it: &Candidate| it.lines.end == count;
            if candidates.iter().any(reaches) {
                candidates.retain(reaches);
            } else {
                // Blank lines at the end of the file are easily omitted.
                candidates.retain(|it| (it.lines.end..count).all(|at| fold::is_blank(index.line(at))));
            }
        }
        if self.anchored {
            let near = |it: &Candidate| scope::nearness(&self.anchors, it.lines.start);
            let nearest = candidates.iter().filter_map(near).min();
            let below = candidates.iter().filter_map(near).count();
            candidates.retain(|it| near(it).is_some() && near(it) == nearest);
            if let ([_], Some(scope::Nearness::Adjoining), 2..) = (&*candidates, nearest, below) {
                self.chosen = Some(format!("Of {below} places below the anchor, the one right behind it was chosen."));
            }
        }
        if candidates.is_empty() {
            self.outside.extend(all);
        }
        candidates
    }

    pub(super) fn outside(&self) -> &[usize] {
        &self.outside
    }

    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }
}

impl Seeker<'_> {
    /// Searches the lines as they are, and with restored context marks.
    fn exact(&self, limits: &mut Limits, many: bool) -> Option<Sought> {
        let places = literal(&self.search, many);
        if let Some(sought) = self.admitted(limits, Tier::Exact, &places, Vec::new()) {
            return Some(sought);
        }
        if self.settings.matching == crate::op::Matching::Exact {
            return None;
        }
        respace::literal(self, many).and_then(|candidates| {
            let candidates = limits.admit(self.index, candidates);
            let notes = vec![respace::NOTE.to_owned()];
            (!candidates.is_empty()).then_some(Sought { tier: Tier::TrailingBlanks, candidates, notes })
        })
    }

    fn tiers(&self, limits: &mut Limits) -> Result<Option<Sought>> {
        // Line numbers in a hunk shift with its own changes, so it is unclear which version they belong to.
        let rows = ROWS
            .iter()
            .filter(|row| row.tier > Tier::Punctuation && row.tier != Tier::LineNumbers && row.tier != Tier::Block);
        for row in rows.filter(|row| row.is_open(&self.search, self.settings)) {
            if work::ends(1) {
                return Ok(None);
            }
            if row.tier == Tier::IndentShift {
                let candidates = limits.admit(self.index, respace::mixed(self));
                if !candidates.is_empty() {
                    let notes = vec![respace::MIXED.to_owned()];
                    return Ok(Some(Sought { tier: row.tier, candidates, notes }));
                }
            }
            let trial = (row.run)(&self.search);
            let places = match trial {
                Ok(trial) => trial.places,
                // Stale context at an edge may still be the cause.
                Err(refusal) if row.tier == Tier::Drift => {
                    let found = self.edge(limits)?;
                    return match refusal.reason {
                        Reason::Rivals | Reason::UnseenLines if found.is_none() => {
                            if let Some(line) = failure::applied(self) {
                                return Err(failure::already(self.hunk, line));
                            }
                            Err(failure::refused(self.index, self.hunk, row.tier, &refusal))
                        }
                        _ => Ok(found),
                    };
                }
                Err(refusal) => return Err(failure::refused(self.index, self.hunk, row.tier, &refusal)),
            };
            if let Some(sought) = self.admitted(limits, row.tier, &places, notes(row)) {
                return Ok(Some(sought));
            }
        }
        self.edge(limits)
    }

    /// Searches for the same tokens with other blanks between them.
    fn tokens(&self, limits: &mut Limits) -> Option<Sought> {
        if self.settings.stale || self.settings.matching != crate::op::Matching::Standard {
            return None;
        }
        let candidates = limits.admit(self.index, respace::tokens(self));
        let notes = vec![respace::TOKENS.to_owned()];
        (!candidates.is_empty()).then_some(Sought { tier: Tier::BlankRuns, candidates, notes })
    }

    fn edge(&self, limits: &mut Limits) -> Result<Option<Sought>> {
        if self.settings.stale || self.settings.matching != crate::op::Matching::Standard {
            return Ok(None);
        }
        edge::seek(self, |candidates| limits.admit(self.index, candidates))
    }

    fn admitted(&self, limits: &mut Limits, tier: Tier, places: &[Place<'_>], notes: Vec<String>) -> Option<Sought> {
        let left = KEPT.saturating_sub(self.index.kept.get()).clamp(FEW, MOST);
        let places = places.iter().take(left + 1).take_while(|_| !work::ends(PLACED));
        let candidates: Vec<Candidate> = places.map(|place| candidate(&self.search, place)).collect();
        self.index.kept.set(self.index.kept.get() + candidates.len());
        let candidates = limits.admit(self.index, candidates);
        (!candidates.is_empty()).then_some(Sought { tier, candidates, notes })
    }

    /// A quick filter: false when no tier can find the hunk, because a removed line is not in the file under the
    /// loosest normalization.
    fn is_possible(&self) -> bool {
        let lines = &self.hunk.lines;
        let removed = || lines.iter().filter(|line| line.kind == LineKind::Removed);
        if removed().next().is_some() {
            removed().all(|line| self.may_stand(&line.text))
        } else {
            self.search.wanted.old.iter().any(|line| !fold::is_blank(line) && self.may_stand(line))
        }
    }

    /// A quick filter: false when no line of the file resembles this one, or contains it with its escapes decoded. An
    /// elision matches any lines.
    fn may_stand(&self, line: &str) -> bool {
        if is_elision(line) {
            return true;
        }
        let holds = |part: &str| memmem::find(self.search.text.as_bytes(), part.as_bytes()).is_some();
        let like = || self.index.stands(line).is_none_or(|stands| !stands.lines.is_empty());
        like() || tier::escapes::plain_parts(line).is_some_and(|parts| parts.into_iter().all(holds))
    }
}

/// Returns the note of a tier, worded for a hunk.
fn notes(row: &Row) -> Vec<String> {
    Some(row.note).filter(|note| !note.is_empty()).map(str::to_owned).into_iter().collect()
}

/// Creates a candidate from a site.
pub(super) fn candidate(search: &Search<'_>, place: &Place<'_>) -> Candidate {
    let lines = search.lines();
    let first = lines.at(place.span.start());
    // Whole lines end before their last line end, which belongs to the line.
    Candidate { lines: first..lines.at(place.span.end()) + 1, hit: place.hit(search), left_out: LeftOut::default() }
}

/// Returns the sites where the lines occur verbatim.
pub(super) fn literal<'a>(search: &Search<'a>, many: bool) -> Vec<Place<'a>> {
    let firsts = if many && search.literal.is_none() { looked_up(search) } else { None };
    let firsts = firsts.unwrap_or_else(|| {
        let places = tier::exact::run(search).map(|trial| trial.places).unwrap_or_default();
        // Blank lines are also found at the very end, where the file may have fewer of them.
        let fits = |first: &usize| first + search.wanted.old.len() <= search.lines().count();
        places.iter().map(|place| search.lines().at(place.span.start())).filter(fits).collect()
    });
    let verbatim = crate::find::indent::IndentMap::Verbatim;
    firsts.into_iter().map(|first| Place::lines(search, first, &search.wanted, verbatim.clone(), false)).collect()
}

/// Searches by the line table; `None` if every line of the hunk occurs too often.
fn looked_up(search: &Search<'_>) -> Option<Vec<usize>> {
    let old = &search.wanted.old;
    let table = search.index.table();
    let texts = old.iter().enumerate().filter(|(_, line)| fold::substance(line, 4) >= 4).take(12);
    let rarest = texts.map(|(nth, line)| (table.lines_like(line).take(CHAIN).count(), nth)).min()?;
    let (often, nth) = rarest;
    if often >= CHAIN {
        return None;
    }
    let count = search.lines().count();
    let starts = table.lines_like(old[nth]).filter_map(|line| line.checked_sub(nth));
    let fits = |&first: &usize| {
        first + old.len() <= count && old.iter().enumerate().all(|(at, line)| search.line(first + at) == *line)
    };
    Some(starts.filter(fits).collect())
}
