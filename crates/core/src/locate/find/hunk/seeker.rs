//! The state of the search for one hunk: its restrictions, and the candidates that they allow.

use super::{DroppedContext, HunkCandidate, header, scope};
use crate::locate::find::match_site::MatchSite;
use crate::locate::find::search::{MatchSearch, SearchIndex};
use crate::locate::find::tier;
use crate::locate::op::{Hunk, ResolveSettings};
use crate::text::fold;
use std::rc::Rc;

/// Maximum number of places that are examined; more are too many to choose from.
pub(super) const CANDIDATES_MAX: usize = 200;
/// Maximum number of places kept for all hunks of a file together, and additional ones for every hunk.
const KEPT_PLACES_MAX: usize = 200_000;
const KEPT_PLACES_PER_HUNK: usize = 12;
/// Maximum number of lines of a chain that are examined before another line of the hunk is tried.
const CHAIN_LINES_MAX: usize = 64;

/// The restrictions that a hunk states.
pub(super) struct HunkConstraints {
    pub(super) anchors: Rc<scope::ScopeAnchors>,
    pub(super) anchored: bool,
    pub(super) at_end: bool,
    /// True if the hunk would fit in another block like that of its anchor.
    pub(super) in_another_block: bool,
    /// Lines at which the hunk would fit without the restrictions.
    pub(super) outside: Vec<usize>,
    /// The reason for the selection among places that the anchors allow.
    pub(super) chosen: Option<String>,
}

/// The state of the search for one hunk.
pub(super) struct Seeker<'s> {
    pub(super) index: &'s SearchIndex<'s>,
    pub(super) hunk: &'s Hunk,
    pub(super) settings: ResolveSettings,
    pub(super) search: MatchSearch<'s>,
}

/// Returns the number of places that the next hunk may keep.
pub(super) fn places_max(index: &SearchIndex<'_>) -> usize {
    KEPT_PLACES_MAX.saturating_sub(index.cached.get()).clamp(KEPT_PLACES_PER_HUNK, CANDIDATES_MAX)
}

impl HunkConstraints {
    /// Keeps the allowed places; of those below an anchor, only the nearest class.
    pub(super) fn admit(&mut self, index: &SearchIndex<'_>, mut candidates: Vec<HunkCandidate>) -> Vec<HunkCandidate> {
        let count = index.lines().count();
        let all: Vec<usize> = candidates.iter().map(|it| it.lines.start).collect();
        if self.at_end {
            let reaches = |it: &HunkCandidate| it.lines.end == count;
            if candidates.iter().any(reaches) {
                candidates.retain(reaches);
            } else {
                // Models easily omit blank lines at the end of a file.
                candidates.retain(|it| (it.lines.end..count).all(|at| fold::is_blank(index.line(at))));
            }
        }
        if self.anchored {
            let before = candidates.len();
            candidates.retain(|it| !self.is_in_another_block(index, it));
            self.in_another_block |= candidates.len() < before;
            let nearest = candidates.iter().filter_map(|it| self.nearness_of(it)).min();
            let below = candidates.iter().filter_map(|it| self.nearness_of(it)).count();
            let farthest = nearest.map(|it| self.farthest(it, &candidates));
            candidates.retain(|it| self.nearness_of(it).is_some_and(|own| Some(own) <= farthest));
            if let ([_], Some(scope::Nearness::Adjoining), 2..) = (&*candidates, nearest, below) {
                self.chosen = Some(format!("Of {below} places below the anchor, the one right after it was chosen."));
            }
        }
        if candidates.is_empty() {
            self.outside.extend(all);
        }
        candidates
    }

    /// True for a place below the block of the nearest anchor, in another block like that.
    fn is_in_another_block(&self, index: &SearchIndex<'_>, it: &HunkCandidate) -> bool {
        self.nearness_of(it) == Some(scope::Nearness::Below)
            && self
                .anchors
                .anchor_of(it.lines.start)
                .is_some_and(|anchor| header::is_in_another_block(index, anchor, &it.lines_to_change(index)))
    }

    /// Returns the farthest class that counts. A place next to one anchor is no reason against a place in the block of
    /// another one.
    fn farthest(&self, nearest: scope::Nearness, candidates: &[HunkCandidate]) -> scope::Nearness {
        let mut near =
            candidates.iter().filter(|it| self.nearness_of(it).is_some_and(|it| it < scope::Nearness::Below));
        let anchor = |it: &HunkCandidate| self.anchors.anchor_of(it.lines.start);
        let first = near.next().map(anchor);
        if near.any(|it| Some(anchor(it)) != first) { nearest.max(scope::Nearness::Inside) } else { nearest }
    }

    /// Returns the distance class of a candidate to the anchors.
    pub(super) fn nearness_of(&self, it: &HunkCandidate) -> Option<scope::Nearness> {
        self.anchors.nearness(it.lines.start)
    }

    pub(super) fn outside(&self) -> &[usize] {
        &self.outside
    }

    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }
}

/// Creates a candidate from a site.
pub(super) fn candidate(search: &MatchSearch<'_>, place: &MatchSite<'_>) -> HunkCandidate {
    let lines = search.lines();
    let first = lines.at(place.span.start());
    // The span of whole lines ends before their last line end, which belongs to the line.
    HunkCandidate {
        lines: first..lines.at(place.span.end()) + 1,
        hit: place.to_match(search),
        dropped: DroppedContext::default(),
    }
}

/// Returns the first `most` sites where the lines occur verbatim.
pub(super) fn literal<'a>(search: &MatchSearch<'a>, many: bool, most: usize) -> Vec<MatchSite<'a>> {
    let firsts = if many && search.literal.is_none() { looked_up(search) } else { None };
    let firsts = firsts.unwrap_or_else(|| {
        let spans = tier::exact::spans_of_lines(search, most).into_iter();
        // Blank lines are also found at the very end, where the file may have too few of them.
        spans
            .map(|span| search.lines().at(span.start()))
            .filter(|first| first + search.pattern.old.len() <= search.lines().count())
            .collect()
    });
    let verbatim = crate::locate::find::indent::IndentMap::Verbatim;
    let site = |first| MatchSite::lines(search, first, &search.pattern, verbatim.clone(), false);
    firsts.into_iter().take(most).map(site).collect()
}

/// Searches by the line table; `None` if every line of the hunk occurs too often.
fn looked_up(search: &MatchSearch<'_>) -> Option<Vec<usize>> {
    let old = &search.pattern.old;
    let table = search.index.table();
    let texts = old.iter().enumerate().filter(|(_, line)| fold::count_alnum(line, 4) >= 4).take(12);
    let rarest = texts.map(|(nth, line)| (table.lines_like(line).take(CHAIN_LINES_MAX).count(), nth)).min()?;
    let (often, nth) = rarest;
    if often >= CHAIN_LINES_MAX {
        return None;
    }
    let count = search.lines().count();
    let starts = table.lines_like(old[nth]).filter_map(|line| line.checked_sub(nth));
    Some(
        starts
            .filter(|&first| {
                first + old.len() <= count && old.iter().enumerate().all(|(at, line)| search.line(first + at) == *line)
            })
            .collect(),
    )
}
