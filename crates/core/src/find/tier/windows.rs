//! Common part of tiers 2 to 6: whole lines, one to one, tried where the hashes under the loosest normalization agree.

use crate::find::destination::{self, Depth, Matched};
use crate::find::fold;
use crate::find::fold::Look;
use crate::find::indent::{self, IndentMap};
use crate::find::place::{Place, Plan};
use crate::find::refusal::{Reason, Refusal};
use crate::find::search::{Search, Trial, Wanted, span_of};
use crate::op::Pick;
use crate::work;
use core::ops::Range;
use std::rc::Rc;

/// Lines compared for one tier.
const LINES: usize = 2_000_000;
/// Sites counted, unless all are wanted.
const MANY: usize = 100;

/// A tier's decision on a window.
pub(in crate::find) enum Fit {
    /// No match.
    No,
    /// A match, with this indentation map.
    Yes(IndentMap),
    /// A match whose indentation cannot be carried over.
    Crooked,
}

/// A tier's rule for the window that begins at a line of the file.
pub(in crate::find) struct Rule {
    pub(in crate::find) fits: fn(&Search<'_>, &Wanted<'_>, usize) -> Fit,
    /// Letters and digits that old must have.
    pub(in crate::find) substance: usize,
    /// One or two less distinctive lines match as well if they occur exactly once.
    pub(in crate::find) short: bool,
    /// Blank runs may differ.
    pub(in crate::find) runs: bool,
}

/// The rules of tiers 2 to 6, in order.
pub(in crate::find) static RULES: [&Rule; 5] =
    [&super::trailing::RULE, &super::lines_alike::RULE, &super::shift::RULE, &super::widths::RULE, &super::runs::RULE];

/// Applies one rule to old as it is.
pub(super) fn run<'a>(search: &Search<'a>, rule: &Rule) -> Result<Trial<'a>, Refusal> {
    trial(search, &search.wanted, search.wanted_windows(), rule)
}

/// Applies one rule to these windows.
pub(in crate::find) fn trial<'a>(
    search: &Search<'a>,
    wanted: &Rc<Wanted<'a>>,
    windows: &[usize],
    rule: &Rule,
) -> Result<Trial<'a>, Refusal> {
    let mut trial = Trial::default();
    let short = rule.short && search.find.pick == Pick::Unique && is_only_place(search, wanted, windows);
    if !wanted.has_text() || wanted.substance(rule.substance) < rule.substance && !short {
        return Ok(trial);
    }
    let all = search.find.pick == Pick::All;
    let height = wanted.old.len();
    let mut compared = 0usize;
    let mut free = 0;
    for &first in windows.iter().filter(|_| height > 0) {
        if all && first < free {
            continue;
        }
        compared += height;
        if work::ends(4 * height) {
            break;
        }
        if compared > LINES && !all && trial.places.len() > 1 {
            break;
        }
        if compared > LINES {
            return Err(Refusal::new(Reason::TooLarge, "The text repeats itself too often to be searched for."));
        }
        let fit = (rule.fits)(search, wanted, first);
        let place = match (fit, depth(search, wanted, first)) {
            (Fit::No, _) => continue,
            (Fit::Crooked, Depth::File) | (Fit::Yes(_), Depth::File | Depth::LikelyFile) => {
                trial.fitted = true;
                fitted(search, wanted, first, rule.runs)
            }
            (Fit::Yes(_), Depth::Unclear) => refused(search, first..first + height, destination::UNCLEAR),
            (Fit::Yes(indent), Depth::OldText) => Place::lines(search, first, wanted, indent, rule.runs),
            (Fit::Crooked, _) => refused(search, first..first + height, CROOKED),
        };
        free = first + height;
        trial.places.push(place);
        if !all && trial.places.len() >= MANY {
            break;
        }
    }
    Ok(trial)
}

/// True for one or two lines with a letter or digit in each.
pub(in crate::find) fn is_short(wanted: &Wanted<'_>) -> bool {
    let filled: Vec<&&str> = wanted.old.iter().filter(|line| !fold::is_blank(line)).collect();
    (1..=2).contains(&filled.len()) && filled.iter().all(|line| fold::substance(line, 1) > 0)
}

/// True for short lines that are in one place only, as they are but for their indentation or the blanks at their ends.
fn is_only_place(search: &Search<'_>, wanted: &Wanted<'_>, windows: &[usize]) -> bool {
    let [first] = *windows else { return false };
    let pairs = || (first..).zip(&wanted.old).map(|(at, old)| (search.line(at), *old));
    let begins = |line: &str| line.trim_start_matches(fold::BLANKS).to_owned();
    let ends = |line: &str| line.trim_end_matches(fold::BLANKS).to_owned();
    let shifted = pairs().all(|(file, old)| begins(file) == begins(old))
        && pairs().any(|(file, old)| fold::indent_of(file) != fold::indent_of(old));
    is_short(wanted) && (shifted || pairs().all(|(file, old)| ends(file) == ends(old)))
}

const CROOKED: &str = "The text is there, but its indentation does not map one-to-one onto the file's.";

fn refused<'a>(search: &Search<'a>, lines: Range<usize>, why: &str) -> Place<'a> {
    let refusal = Refusal::new(Reason::Misindent, why).at(lines.start, lines.end);
    Place { span: span_of(search.lines(), lines.start, lines.end), plan: Plan::Refused(refusal) }
}

/// Determines the depth for which the new text was written; a hunk states which lines it keeps, and needs no such
/// guess.
fn depth(search: &Search<'_>, wanted: &Wanted<'_>, first: usize) -> Depth {
    if wanted.changes.is_some() || wanted.new.is_empty() {
        return Depth::OldText;
    }
    let matched = (first..).zip(&wanted.old).map(|(at, old)| Matched { old, file: search.line(at) });
    destination::depth(&matched.collect::<Vec<_>>(), &wanted.new)
}

/// Creates a site whose new text is written as it is.
fn fitted<'a>(search: &Search<'a>, wanted: &Wanted<'a>, first: usize, runs: bool) -> Place<'a> {
    let files: Vec<Option<&str>> = (first..).take(wanted.old.len()).map(|at| Some(search.line(at))).collect();
    let wanted = Rc::new(destination::fitted(wanted, &files));
    Place::lines(search, first, &wanted, IndentMap::Verbatim, runs)
}

/// True when all lines of the window are equal to old under a normalization.
pub(super) fn alike(search: &Search<'_>, wanted: &Wanted<'_>, first: usize, look: Look) -> bool {
    (first..).zip(&wanted.old).all(|(at, old)| fold::alike(search.line(at), old, look))
}

/// True when all lines of the window are equal to old, trailing blanks aside.
pub(super) fn ends_equal(search: &Search<'_>, wanted: &Wanted<'_>, first: usize) -> bool {
    let end = |line: &str| line.trim_end_matches(fold::BLANKS).len();
    (first..).zip(&wanted.old).all(|(at, old)| {
        let file = search.line(at);
        file[..end(file)] == old[..end(old)]
    })
}

/// Returns the pairs of indentation in a window.
pub(super) fn pairs<'s>(search: &Search<'s>, wanted: &Wanted<'s>, first: usize) -> Vec<indent::Pair<'s>> {
    indent::pairs((first..).zip(&wanted.old).map(|(at, old)| (*old, search.line(at))))
}
