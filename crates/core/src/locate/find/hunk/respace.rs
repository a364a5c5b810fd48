//! Context lines whose whitespace differs from the file's: their mark was omitted, or only their indentation differs.

use super::seeker::{CANDIDATES_MAX, Seeker, candidate, literal as sites};
use super::{HunkCandidate, wanted};
use crate::locate::find::indent::IndentMap;
use crate::locate::find::match_site::MatchSite;
use crate::locate::find::search::MatchSearch;
use crate::locate::find::tier::spacing;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind, TextQuery};
use crate::text::fold::{self, Normalization, is_blank};
use std::collections::BTreeSet;

/// Maximum number of lines compared for one hunk.
const COMPARED_LINES_MAX: usize = 2_000_000;

pub(super) const MISSING_BLANK_NOTE: &str =
    "Context lines of the hunk lack their leading space; they were read as they are in the file.";
pub(super) const TOKENS_NOTE: &str = "The whitespace between the tokens of the hunk's lines differs from the file's; context was kept as it is in the file.";
pub(super) const CONTEXT_INDENT_NOTE: &str = "The indentation of context lines differs from the file's, that of the changed lines does not; only the changed lines were written.";

/// Returns exact places after restoring the space that marks each context line.
pub(super) fn literal(seeker: &Seeker<'_>, many: bool) -> Option<Vec<HunkCandidate>> {
    let respaced = respaced(seeker.hunk)?;
    let find = TextQuery { old: respaced.old_text(), ..seeker.search.find.clone() };
    let search = MatchSearch::for_lines(seeker.index, &find, seeker.search.new, wanted(&respaced));
    Some(sites(&search, many, CANDIDATES_MAX + 1).iter().map(|place| candidate(&search, place)).collect())
}

/// Restores these spaces, if the hunk has a context line with text.
fn respaced(hunk: &Hunk) -> Option<Hunk> {
    hunk.lines.iter().any(is_filled_context).then(|| {
        let mut hunk = hunk.clone();
        hunk.lines.iter_mut().filter(|line| is_filled_context(line)).for_each(|line| line.text.insert(0, ' '));
        hunk
    })
}

/// True for a line of context that is not blank.
fn is_filled_context(line: &HunkLine) -> bool {
    line.kind == HunkLineKind::Context && !is_blank(&line.text)
}

/// Returns places where the changed lines are verbatim in the file and the context differs only in indentation. Without
/// removed lines that show the depth of the new lines, only a missing mark is tolerated.
pub(super) fn mixed<'s>(seeker: &'s Seeker<'s>) -> Vec<HunkCandidate> {
    let (search, hunk) = (&seeker.search, seeker.hunk);
    let old: Vec<&HunkLine> = hunk.lines.iter().filter(|line| line.kind != HunkLineKind::Added).collect();
    let shows_depths = shows_depths(hunk);
    let mut budget = COMPARED_LINES_MAX / old.len().max(1);
    let windows = search.wanted_windows().iter().copied().take_while(|_| {
        budget = budget.saturating_sub(1);
        budget > 0
    });
    let enough = search.pattern.alnum(4) >= 4
        && old.iter().any(|line| fold::normalize(&line.text, Normalization::Indentation).len() > 1);
    let firsts = windows.filter(|&first| enough && fits_at(&old, search, shows_depths, first));
    firsts
        .map(|first| candidate(search, &MatchSite::lines(search, first, &search.pattern, IndentMap::Verbatim, false)))
        .collect()
}

/// True if each added line has the indentation of a removed line, or the beginning of one, or more of it. A line of
/// column 0 has the same indentation in every text, so it shows nothing about deeper lines.
fn shows_depths(hunk: &Hunk) -> bool {
    let indents = |kind: HunkLineKind| -> BTreeSet<&str> {
        let lines = hunk.lines.iter().filter(|line| line.kind == kind && !is_blank(&line.text));
        lines.map(|line| fold::indent_of(&line.text)).collect()
    };
    let removed = indents(HunkLineKind::Removed);
    let is_shown = |added: &&str| {
        added.is_empty() || removed.iter().any(|it| !it.is_empty() && (it.starts_with(*added) || added.starts_with(it)))
    };
    !removed.is_empty() && indents(HunkLineKind::Added).iter().all(is_shown)
}

/// True if the old lines match from a line of the file on, apart from missing spaces.
fn fits_at(old: &[&HunkLine], search: &MatchSearch<'_>, shows_depths: bool, first: usize) -> bool {
    (first..).zip(old).all(|(at, line)| {
        let file = search.line(at);
        file == line.text
            || (line.kind != HunkLineKind::Removed && file.strip_prefix(' ') == Some(&*line.text))
            || (line.kind != HunkLineKind::Removed
                && shows_depths
                && fold::trim_blanks(file) == fold::trim_blanks(&line.text))
    })
}

/// Returns places with the same tokens as the hunk, ignoring the blanks between them.
pub(super) fn tokens<'s>(seeker: &'s Seeker<'s>) -> Vec<HunkCandidate> {
    let sites = spacing::places(&seeker.search, |_, _| true);
    sites.iter().map(|place| candidate(&seeker.search, place)).collect()
}
