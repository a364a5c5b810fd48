//! The common part of tiers 2 to 6: whole lines, one to one, compared where the hashes under the loosest normalization
//! agree.

use crate::locate::find::indent::{self, IndentMap};
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, PatternLines, span_of};
use crate::locate::find::target_indent::{self, Depth, MatchedLine};
use crate::locate::op::ExpectedMatches;
use crate::text::fold;
use crate::text::fold::Normalization;
use crate::work;
use core::ops::Range;
use std::rc::Rc;

/// Maximum number of lines compared for one tier.
const COMPARED_LINES_MAX: usize = 2_000_000;
/// Maximum number of lines of an old text that matches by its only place, although it has few letters and digits.
const SHORT_LINES_MAX: usize = 8;
/// Maximum number of sites counted, unless all are wanted.
const COUNTED_PLACES_MAX: usize = 100;

/// A window that matches by the rule of a tier.
pub(in crate::locate::find) enum WindowFit {
    /// The window matches, with this indentation map.
    Aligned(IndentMap),
    /// The window matches, but its indentation cannot be carried over.
    Misaligned,
}

/// A tier's rule for the window that begins at a line of the file.
pub(in crate::locate::find) struct WindowRule {
    pub(in crate::locate::find) fits: fn(&MatchSearch<'_>, &PatternLines<'_>, usize) -> Option<WindowFit>,
    /// Minimum number of letters and digits of the old text.
    pub(in crate::locate::find) min_alnum: usize,
    /// True if the length of blank runs may differ.
    pub(in crate::locate::find) runs: bool,
}

/// Applies one rule to the old text as it is.
pub(in crate::locate::find) fn run<'a>(
    search: &MatchSearch<'a>,
    rule: &WindowRule,
) -> Result<CandidateSites<'a>, MatchRefusal> {
    matching_windows(search, &search.pattern, search.wanted_windows(), rule)
}

/// Applies one rule to these windows.
pub(in crate::locate::find) fn matching_windows<'a>(
    search: &MatchSearch<'a>,
    wanted: &Rc<PatternLines<'a>>,
    windows: &[usize],
    rule: &WindowRule,
) -> Result<CandidateSites<'a>, MatchRefusal> {
    let mut candidates = CandidateSites::default();
    let is_telling = || wanted.alnum(rule.min_alnum) >= rule.min_alnum;
    if windows.is_empty() || !wanted.has_text() || !is_telling() && !is_found_short(search, wanted, windows) {
        return Ok(candidates);
    }
    let all = search.find.expected == ExpectedMatches::All;
    let height = wanted.old.len();
    let mut compared = 0usize;
    let mut free = 0;
    for &first in windows.iter().filter(|_| height > 0) {
        if all && first < free {
            continue;
        }
        compared += height;
        if work::spend_or_end(4 * height) {
            break;
        }
        if compared > COMPARED_LINES_MAX && !all && candidates.places.len() > 1 {
            break;
        }
        if compared > COMPARED_LINES_MAX {
            return Err(MatchRefusal::new(
                RefusalReason::TooLarge,
                "The text repeats itself too often to be searched for.",
            ));
        }
        let Some(fit) = (rule.fits)(search, wanted, first) else { continue };
        let place = match (fit, depth(search, wanted, first)) {
            (WindowFit::Misaligned, Depth::File) | (WindowFit::Aligned(_), Depth::File | Depth::LikelyFile) => {
                candidates.fitted = true;
                fitted(search, wanted, first, rule.runs)
            }
            (WindowFit::Aligned(_), Depth::Unclear) => {
                refused(search, first..first + height, target_indent::UNCLEAR_DEPTH_REASON)
            }
            (WindowFit::Aligned(indent), Depth::OldText) => MatchSite::lines(search, first, wanted, indent, rule.runs),
            (WindowFit::Misaligned, _) => refused(search, first..first + height, INCONSISTENT_INDENT),
        };
        free = first + height;
        candidates.places.push(place);
        if !all && candidates.places.len() >= COUNTED_PLACES_MAX {
            break;
        }
    }
    Ok(candidates)
}

/// True for at most [`SHORT_LINES_MAX`] lines with text, of which at least two, or the only one, have a letter or a
/// digit.
pub(in crate::locate::find) fn is_short(wanted: &PatternLines<'_>) -> bool {
    let filled = work::batched(wanted.old.iter()).filter(|line| !fold::is_blank(line));
    let filled: Vec<&&str> = filled.take(SHORT_LINES_MAX + 1).collect();
    let telling = filled.iter().filter(|line| fold::count_alnum(line, 1) > 0).count();
    (1..=SHORT_LINES_MAX).contains(&filled.len()) && telling >= filled.len().min(2)
}

/// True for a short text that differs from each of its places in one way only: in its indentation, in its trailing
/// whitespace, in the form of its quotes, or in the length of its blank runs. Unless several places are asked for, there
/// must be one.
fn is_found_short(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, windows: &[usize]) -> bool {
    let is_unique = search.find.expected == ExpectedMatches::Unique;
    if windows.is_empty() || is_unique && windows.len() > 1 || !is_short(wanted) {
        return false;
    }
    windows.iter().all(|&first| {
        let pairs = || (first..).zip(&wanted.old).map(|(at, old)| (search.line(at), *old));
        let is_replacement = wanted.changes.is_none() && !search.find.lines;
        !work::spend_or_end(4 * wanted.old.len()) && differs_once(&pairs, is_replacement, is_unique)
    })
}

/// True for lines of the file and of the old text that differ in one way, as [`is_found_short`] says. Blanks beside a
/// quote may be part of a text, and those of several places may be aligned. Only the lines of a replacement may differ
/// in quotes or blank runs.
fn differs_once<'a, I: Iterator<Item = (&'a str, &'a str)>>(
    pairs: &dyn Fn() -> I,
    is_replacement: bool,
    is_unique: bool,
) -> bool {
    let all = |same: fn(&str, &str) -> bool| pairs().all(|(file, old)| same(file, old));
    let is_shifted = all(|file, old| fold::trim_blanks(file) == fold::trim_blanks(old))
        && pairs().any(|(file, old)| fold::indent_of(file) != fold::indent_of(old));
    is_shifted
        || all(|file, old| fold::trim_blanks_end(file) == fold::trim_blanks_end(old))
        || is_replacement
            && all(|file, old| fold::differ_in_quotes_only(fold::trim_blanks_end(file), fold::trim_blanks_end(old)))
        || is_replacement
            && is_unique
            && all(|file, old| !fold::has_quotes(old) && file.split_whitespace().eq(old.split_whitespace()))
}

const INCONSISTENT_INDENT: &str = "The text is there, but its indentation does not map one-to-one onto the file's.";

fn refused<'a>(search: &MatchSearch<'a>, lines: Range<usize>, why: &str) -> MatchSite<'a> {
    let refusal = MatchRefusal::new(RefusalReason::Misindent, why).at(lines.start, lines.end);
    MatchSite { span: span_of(search.lines(), lines.start, lines.end), plan: SitePlan::Refused(refusal) }
}

/// Determines the depth for which the new text was written. This is not needed for a hunk, which states the lines that
/// it keeps.
fn depth(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, first: usize) -> Depth {
    if wanted.changes.is_some() || wanted.new.is_empty() {
        return Depth::OldText;
    }
    let matched = (first..).zip(&wanted.old).map(|(at, old)| MatchedLine { old, file: search.line(at) });
    let code = wanted.new.iter().enumerate().filter(|(row, _)| !search.is_in_string(wanted, *row));
    let code: Vec<&str> = code.map(|(_, line)| *line).collect();
    target_indent::target_depth(&matched.collect::<Vec<_>>(), &code)
}

/// Creates a site whose new text is written as it is.
fn fitted<'a>(search: &MatchSearch<'a>, wanted: &PatternLines<'a>, first: usize, runs: bool) -> MatchSite<'a> {
    let files: Vec<Option<&str>> = (first..).take(wanted.old.len()).map(|at| Some(search.line(at))).collect();
    let wanted = Rc::new(target_indent::at_file_depth(wanted, &files));
    MatchSite::lines(search, first, &wanted, IndentMap::Verbatim, runs)
}

/// True if all lines of the window are equal to the old text under a normalization.
pub(super) fn alike(
    search: &MatchSearch<'_>,
    wanted: &PatternLines<'_>,
    first: usize,
    normalization: Normalization,
) -> bool {
    (first..).zip(&wanted.old).all(|(at, old)| fold::are_equal_under(search.line(at), old, normalization))
}

/// True if all lines of the window are equal to the old text, ignoring trailing whitespace.
pub(super) fn ends_equal(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, first: usize) -> bool {
    (first..).zip(&wanted.old).all(|(at, old)| fold::trim_blanks_end(search.line(at)) == fold::trim_blanks_end(old))
}

/// Returns the pairs of indentation in a window.
pub(super) fn pairs<'s>(
    search: &MatchSearch<'s>,
    wanted: &PatternLines<'s>,
    first: usize,
) -> Vec<indent::IndentPair<'s>> {
    indent::pairs((first..).zip(&wanted.old).map(|(at, old)| (*old, search.line(at))))
}
