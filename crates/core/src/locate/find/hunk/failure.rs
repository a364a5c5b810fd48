//! Errors for hunks that cannot be placed: what is missing or superfluous, the nearest place with its first difference,
//! and lines from which to build the next hunk.

use super::seeker::{HunkConstraints, Seeker};
use super::{HunkCandidate, scope, wanted};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::Error;
use crate::error::ErrorContext;
use crate::locate::find::Tier;
use crate::locate::find::failure::nearest::{self, NearestLines};
use crate::locate::find::failure::{bounded, described_blank, difference};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, SearchIndex};
use crate::locate::find::tier::numbers;
use crate::locate::line_format;
use crate::locate::op::{ExpectedMatches, Hunk, HunkLineKind, TextNames, TextQuery};
use crate::text::fold;
use core::ops::Range;
use memchr::memmem;
use serde_json::json;
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of places that a message lists.
const LISTED_PLACES_MAX: usize = 5;
/// Maximum number of lines of a place that are shown.
pub(super) const SHOWN_LINES_MAX: usize = 20;
/// Number of lines of the hunk by which the nearest place is found, and the maximum number of occurrences of each.
const SAMPLE_LINES: usize = 4;
const SAMPLE_OCCURRENCES_MAX: usize = 32;
/// Likeness (0 to 1) from which a place is shown.
const SHOWN_LIKENESS_MIN: f64 = 0.5;
/// Minimum number of letters and digits of the new side for it to be recognized in the file.
const APPLIED_ALNUM_MIN: usize = 8;

/// Creates the error for an anchor that is not in the file.
pub(super) fn no_anchor(index: &SearchIndex<'_>, hunk: &Hunk, nth: usize) -> Error {
    let anchor = &hunk.scopes[nth];
    let outer = if nth == 0 { String::new() } else { format!(" below `{}`", hunk.scopes[nth - 1]) };
    let error = Error::new(Code::MatchNotFound, format!("The anchor `@@ {anchor}` is not in the file{outer}."))
        .fact("reason", "no_anchor")
        .next("Copy the anchor from the file, the line of the function or class around the change, or omit it.");
    let error = match &*lines_of_old(index, hunk) {
        [] => error,
        [line] => error.evidence(format!("Without it the hunk fits at line {line} alone.")),
        lines => error.evidence(format!("Without it the hunk fits in {} places: lines {}.", lines.len(), few(lines))),
    };
    let find = TextQuery { lines: true, names: TextNames::HUNK, ..TextQuery::new(anchor, ExpectedMatches::Unique) };
    let search = MatchSearch::new(index, &find, "");
    let nearest::NearestResult::Place(nearest) = bounded(|| nearest::find_nearest(&search)) else { return error };
    if nearest.likeness < SHOWN_LIKENESS_MIN {
        return error;
    }
    let text = index.line(nearest.lines.start).trim();
    let same = scope::lines_named(index, text);
    let outer = |line: usize| scope::around(index, line).filter(|outer| anchor.contains(outer.trim_end_matches(':')));
    let (at, next) = match &*same {
        [] | [_] => (nearest.lines.start, format!("If this line is meant: `@@ {text}`")),
        several => match several.iter().find_map(|&line| Some((line, outer(line)?))) {
            Some((line, outer)) => {
                (line, format!("If this line is meant, write two lines: `@@ {outer}`, and below it `@@ {text}`"))
            }
            None => (
                nearest.lines.start,
                format!(
                    "The file has this line {} times: write the line of the class or function around it as `@@ LINE`, \
                     and below it `@@ {text}`",
                    several.len()
                ),
            ),
        },
    };
    error.evidence(format!("Most similar:\n{}", line_format::excerpt(index.base, at + 1, at + 1))).next(next)
}

/// Returns the 1-based lines at which the old side occurs literally.
fn lines_of_old(index: &SearchIndex<'_>, hunk: &Hunk) -> Vec<usize> {
    let find =
        TextQuery { lines: true, names: TextNames::HUNK, ..TextQuery::new(&hunk.old_text(), ExpectedMatches::Unique) };
    if find.old.is_empty() {
        return Vec::new();
    }
    let search = MatchSearch::for_lines(index, &find, "", wanted(hunk));
    super::seeker::literal(&search, false, usize::MAX)
        .iter()
        .map(|place| search.lines().at(place.span.start()) + 1)
        .collect()
}

/// Lists the first few of some line numbers.
fn few(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(LISTED_PLACES_MAX).map(usize::to_string).collect();
    shown.join(", ") + if lines.len() > LISTED_PLACES_MAX { ", …" } else { "" }
}

/// Creates the error for a hunk that was not tried because of too many failures before it.
pub(super) fn not_searched() -> Error {
    Error::new(Code::MatchNotFound, "The hunk was not tried, because too many before it failed.")
        .next("Correct those first.")
}

/// Creates the error for new lines without a position.
pub(super) fn no_position(hunk: &Hunk) -> Error {
    let added = hunk.lines.iter().find(|line| line.kind == HunkLineKind::Added).map_or("", |line| line.text.trim());
    Error::new(Code::MatchAmbiguous, "The hunk only adds lines, and nothing in it says where.")
        .evidence(format!("It begins with: {added}"))
        .fact("reason", "no_place")
        .next("Put at least one line of the file as context before or after the new lines.")
}

/// Creates the error for a hunk whose added lines all begin with `++`.
pub(super) fn doubled_marks(hunk: &Hunk) -> Error {
    let added = hunk.lines.iter().find(|line| line.kind == HunkLineKind::Added).map_or("", |line| &*line.text);
    Error::new(
        Code::EditUnparsable,
        "Each added line of the hunk begins with `++`: the mark may be doubled, or the new lines begin with a plus sign.",
    )
    .evidence(format!("It begins with: +{added}\nNo line of the file begins with +."))
    .fact("reason", "doubled_marks")
    .fact("line", hunk.source_line)
    .next(
        "Write one + before each new line. If the new lines do begin with +, let the hunk also remove a line beside them \
         (-) and add it again (+).",
    )
}

/// Creates the error for new lines after a line that does not exist.
pub(super) fn beyond_end(hunk: &Hunk, line: usize, count: usize) -> Error {
    Error::new(Code::MatchNotFound, format!("The hunk adds lines after line {line}, and the file has {count} lines."))
        .fact("reason", "beyond_end")
        .fact("line", hunk.source_line)
        .next("Put at least one line of the file as context before or after the new lines.")
}

/// Creates the error for a hunk that is already applied.
pub(super) fn already_applied(hunk: &Hunk, line: usize) -> Error {
    Error::new(Code::EditNoChange, format!("The hunk is already applied: its new lines are at line {line}."))
        .about(ErrorContext::AlreadyApplied)
        .fact("already_at", line)
        .fact("line", hunk.source_line)
        .next("Omit this hunk; if the lines should appear there twice, give context on both sides of them.")
}

/// Creates the error for a place that was found and is not edited.
pub(super) fn refused(index: &SearchIndex<'_>, hunk: &Hunk, tier: Tier, refusal: &MatchRefusal) -> Error {
    let code = if refusal.reason == RefusalReason::TargetDiffers { Code::MatchNotFound } else { refusal.reason.code() };
    let mut error = Error::new(code, &refusal.why).fact("reason", refusal.reason.name()).fact("tier", tier.number());
    if let Some((from, to)) = refusal.lines {
        error = error.evidence(line_format::excerpt(index.base, from + 1, to.min(from + SHOWN_LINES_MAX)));
        return ready(error, index, hunk, from..to);
    }
    error.fact("line", hunk.source_line).next(match refusal.reason {
        RefusalReason::Elision => "Write the lines that `...` replaces, or send each part as a separate hunk.",
        RefusalReason::TooLarge => "Send smaller hunks, with three lines of context around each change.",
        _ => "Read the file again and build the hunk from its lines.",
    })
}

/// Creates the error for a hunk that fits in several places.
pub(super) fn ambiguous(index: &SearchIndex<'_>, hunk: &Hunk, tier: Tier, candidates: &[HunkCandidate]) -> Error {
    let lines: Vec<usize> = candidates.iter().map(|it| it.lines.start + 1).collect();
    let mut error = Error::new(Code::MatchAmbiguous, format!("The hunk fits in {} places.", lines.len()))
        .fact("reason", "ambiguous")
        .fact("tier", tier.number())
        .fact("line", hunk.source_line)
        .fact("candidates", lines.iter().map(|line| json!({ "line": line })).collect::<Vec<_>>());
    let around: Vec<Option<&str>> =
        candidates.iter().take(LISTED_PLACES_MAX).map(|it| scope::around(index, it.lines.start)).collect();
    for (candidate, around) in candidates.iter().zip(&around) {
        let (first, end) = (candidate.lines.start + 1, candidate.lines.end);
        let shown = line_format::excerpt(index.base, first.saturating_sub(2).max(1), end.min(first + 3) + 1);
        let below = around.map_or(String::new(), |line| format!(", below `{line}`"));
        error = error.evidence(format!("line {first}{below}:\n{shown}"));
    }
    if lines.len() > LISTED_PLACES_MAX {
        error = error.evidence(format!("… and {} more", lines.len() - LISTED_PLACES_MAX));
    }
    let example = match around.iter().flatten().last() {
        Some(line) if around.iter().flatten().filter(|it| *it == line).count() == 1 => {
            format!(": `@@ {line}` chooses line {}", lines[lines.len().min(LISTED_PLACES_MAX) - 1])
        }
        _ => String::new(),
    };
    error.next(format!(
        "Add context lines above or below until the hunk fits once, or name the function or class around it in an @@ line{}.",
        if around.last().is_some_and(Option::is_some) { example } else { String::new() }
    ))
}

/// Creates the error for a hunk that fits nowhere, or not at the stated place.
pub(super) fn not_found(seeker: &Seeker<'_>, limits: &HunkConstraints) -> Error {
    let Seeker { index, hunk, search, .. } = seeker;
    if let Some(error) = misplaced(index, hunk, limits) {
        return error;
    }
    if let Some(line) = line_of_applied(seeker) {
        return already_applied(hunk, line);
    }
    if let Some(text) = numbers::suggestion(search) {
        return Error::new(
            Code::MatchNotFound,
            "The lines of the hunk begin with line numbers, which the file does not have.",
        )
        .evidence(format!("Without them: {}", text.lines().next().unwrap_or_default()))
        .about(ErrorContext::LineNumbers)
        .fact("line", hunk.source_line)
        .next("Send the hunk again without the numbers: after its mark, each line is exactly as in the file.");
    }
    let error = Error::new(Code::MatchNotFound, "The old lines of the hunk are not in the file.")
        .fact("reason", "not_found")
        .fact("line", hunk.source_line);
    if search.text.trim().is_empty() {
        return error.evidence(described_blank(search.lines().count())).about(ErrorContext::EmptyFile).next(
            Advice::named("Fill it with {write()}, or with a hunk of added lines only.")
                .or("Fill it with a hunk of added lines only."),
        );
    }
    let nearest = nearest(search, hunk);
    let Some(nearest) = nearest.filter(|it| it.likeness >= SHOWN_LIKENESS_MIN) else {
        return error
            .evidence(format!(
                "They begin with: {}",
                search.pattern.old.iter().find(|it| !it.trim().is_empty()).unwrap_or(&"")
            ))
            .evidence("The file contains nothing similar.")
            .next("Read the file again and build the hunk from its lines; check that it is the right file.");
    };
    let (from, to) = (nearest.lines.start, nearest.lines.end);
    let mut error = error
        .evidence(format!("Most similar (lines {}-{to}, {:.0} % alike):", from + 1, nearest.likeness * 100.0))
        .evidence(line_format::excerpt(index.base, from + 1, to.min(from + SHOWN_LINES_MAX)));
    if let Some(difference) = difference::first_difference(search, &nearest) {
        error = error.evidence(difference.words).fact("difference", difference.class);
    }
    let text: String = (from..to).map(|at| format!("{}\n", index.line(at))).collect();
    let error = error.about(ErrorContext::Nearest { from: from + 1, to, text, likeness: nearest.likeness });
    ready(error, index, hunk, from..to)
}

/// Creates the error for a hunk that fits, but not below its anchor or not at the end of the file.
fn misplaced(index: &SearchIndex<'_>, hunk: &Hunk, limits: &HunkConstraints) -> Option<Error> {
    let &first = limits.outside().first()?;
    let mut lines: Vec<usize> = limits.outside().iter().map(|at| at + 1).collect();
    lines.sort_unstable();
    lines.dedup();
    let (what, next) = if limits.at_end() {
        ("not at the end of the file, as `*** End of File` says", "Omit `*** End of File` if that place is meant.")
    } else {
        let what =
            if limits.in_another_block { "in another block than that of the anchor" } else { "not below the anchor" };
        (what, "Use the line of the function or class around that place as the anchor, or omit it.")
    };
    let anchor = hunk.scopes.last().filter(|_| !limits.at_end()).map_or(String::new(), |it| format!(" `@@ {it}`"));
    let places = if lines.len() == 1 { "line" } else { "lines" };
    Some(
        Error::new(
            Code::MatchNotFound,
            format!("The lines of the hunk occur at {places} {}, {what}{anchor}.", few(&lines)),
        )
        .evidence(line_format::excerpt(index.base, first + 1, first + hunk.lines.len().min(SHOWN_LINES_MAX)))
        .fact("reason", "misplaced")
        .fact("line", hunk.source_line)
        .next(next),
    )
}

/// Returns the 1-based line at which the whole new side is in the file, if that is certain.
pub(super) fn line_of_applied(seeker: &Seeker<'_>) -> Option<usize> {
    let new = seeker.search.new;
    let lines = &seeker.hunk.lines;
    let of = |kind: HunkLineKind| lines.iter().filter(move |line| line.kind == kind);
    let added: usize = of(HunkLineKind::Added).map(alnum_weight).sum();
    // After a removal the neighbours of the removed lines are adjacent; new lines must exist, together with their
    // neighbours if they are not distinctive themselves.
    let removal = of(HunkLineKind::Added).next().is_none()
        && [lines.first(), lines.last()].into_iter().flatten().all(|line| line.kind == HunkLineKind::Context);
    let around: usize = of(HunkLineKind::Context).map(alnum_weight).sum();
    let certain = added >= APPLIED_ALNUM_MIN || (added > 0 || removal) && added + around >= APPLIED_ALNUM_MIN;
    if !certain || new.is_empty() {
        return None;
    }
    let find = TextQuery { lines: true, names: TextNames::HUNK, ..TextQuery::new(new, ExpectedMatches::Unique) };
    let search = MatchSearch::new(seeker.index, &find, "");
    let starts = super::seeker::literal(&search, false, usize::MAX)
        .into_iter()
        .map(|place| search.lines().at(place.span.start()));
    let pointer = HunkPointer::new(seeker.index, seeker.hunk);
    starts.filter(|&start| pointer.allows(start)).min_by_key(|&start| pointer.rank(start)).map(|start| start + 1)
}

/// Returns the number of letters and digits of a line, up to the number that is needed.
fn alnum_weight(line: &crate::locate::op::HunkLine) -> usize {
    fold::count_alnum(&line.text, APPLIED_ALNUM_MIN)
}

/// The place that a hunk claims for itself: the failure report prefers that place.
struct HunkPointer {
    anchored: bool,
    anchors: Rc<scope::ScopeAnchors>,
    sections: Rc<scope::ScopeAnchors>,
    stated_line: Option<usize>,
}

impl HunkPointer {
    fn new(index: &SearchIndex<'_>, hunk: &Hunk) -> HunkPointer {
        HunkPointer {
            anchored: !hunk.scopes.is_empty(),
            anchors: scope::anchors(index, &hunk.scopes).unwrap_or_default(),
            sections: hunk.section.as_ref().map(|name| scope::sections(index, name)).unwrap_or_default(),
            stated_line: hunk.first,
        }
    }

    fn allows(&self, start: usize) -> bool {
        !self.anchored || self.anchors.nearness(start).is_some()
    }

    /// The rank of a place; lower is better.
    fn rank(&self, start: usize) -> (bool, Option<scope::Nearness>, bool, usize) {
        let inside = self.sections.covers(start);
        let far = self.stated_line.map_or(start, |stated| stated.abs_diff(start + 1));
        (!self.allows(start), self.anchors.nearness(start), !inside, far)
    }
}

/// Returns the place that has the most old lines of the hunk verbatim, else the most similar one.
fn nearest(search: &MatchSearch<'_>, hunk: &Hunk) -> Option<NearestLines> {
    let text = search.text.as_bytes();
    let mut votes: HashMap<usize, usize> = HashMap::new();
    let texts = search.pattern.old.iter().enumerate().filter(|(_, line)| fold::count_alnum(line, 3) >= 3);
    let mut samples: Vec<(usize, &&str)> = texts.collect();
    samples.sort_by_key(|(_, line)| core::cmp::Reverse(fold::count_alnum(line, 80)));
    for (nth, line) in samples.into_iter().take(SAMPLE_LINES) {
        for at in memmem::find_iter(text, line.trim().as_bytes()).take(SAMPLE_OCCURRENCES_MAX) {
            let start = search.lines().at(at).saturating_sub(nth);
            *votes.entry(start).or_default() += fold::count_alnum(line, 80);
        }
    }
    let pointer = HunkPointer::new(search.index, hunk);
    // Places below the anchor are preferred; of those, the one with most of the hunk, then the one nearest to the
    // stated line.
    let best = votes
        .into_iter()
        .min_by_key(|&(start, votes)| (!pointer.allows(start), core::cmp::Reverse(votes), pointer.rank(start), start));
    let Some((start, _)) = best else {
        return match bounded(|| nearest::find_nearest(search)) {
            nearest::NearestResult::Place(nearest) => Some(nearest),
            _ => None,
        };
    };
    let end = (start + search.pattern.old.len()).min(search.lines().count());
    if start >= end {
        return None;
    }
    let lines = widened(search, start..end);
    match bounded(|| nearest::NearestResult::Place(nearest::rate(search, lines.clone()))) {
        nearest::NearestResult::Place(nearest) => Some(nearest),
        _ => None,
    }
}

/// Extends a place to the first and the last old line of the hunk, if they are near: the hunk may omit lines between.
fn widened(search: &MatchSearch<'_>, lines: Range<usize>) -> Range<usize> {
    const OMITTED_LINES_MAX: usize = 3;
    let old = &search.pattern.old;
    let mut filled = old.iter().filter(|line| !line.trim().is_empty());
    let (first, last) = (filled.next().unwrap_or(&""), filled.next_back().unwrap_or(&""));
    let is = |at: usize, line: &str| search.line(at).trim() == line.trim();
    let is_inside = |line: &str| line.is_empty() || lines.clone().any(|at| is(at, line));
    let count = search.lines().count();
    let above = (lines.start.saturating_sub(OMITTED_LINES_MAX)..lines.start).rfind(|at| is(*at, first));
    let below = (lines.end..(lines.end + OMITTED_LINES_MAX).min(count)).find(|at| is(*at, last));
    let start = above.filter(|_| !is_inside(first)).unwrap_or(lines.start);
    let end = below.filter(|_| !is_inside(last)).map_or(lines.end, |at| at + 1);
    start..end
}

/// If few lines differ, adds the hunk corrected to the file's lines; else the lines from which to build it.
fn ready(error: Error, index: &SearchIndex<'_>, hunk: &Hunk, lines: core::ops::Range<usize>) -> Error {
    let about = wanted(hunk);
    let missing = about
        .old
        .iter()
        .filter(|line| !line.trim().is_empty())
        .find(|line| !lines.clone().any(|at| index.line(at).trim() == line.trim()));
    let error = match missing {
        Some(line) => error.evidence(format!("This line of the hunk is not there: {}", line.trim())),
        None => error,
    };
    if let Some(text) = corrected(index, hunk, &about.old, &lines) {
        return error.next(format!(
            "If this is the place, here is the hunk with the file's lines; check those with -:\n{text}"
        ));
    }
    let current: String = lines.take(SHOWN_LINES_MAX).map(|at| format!(" {}\n", index.line(at))).collect();
    error.next(format!(
        "If this is the place, build the hunk from these lines (context; put - before those to remove, add + lines):\n{}",
        current.trim_end_matches('\n')
    ))
}

/// Returns the hunk with the old lines as they are in the file, if they can be paired and at most a third of them
/// differ.
fn corrected(index: &SearchIndex<'_>, hunk: &Hunk, old: &[&str], lines: &core::ops::Range<usize>) -> Option<String> {
    let differ = lines.clone().zip(old).filter(|(at, old)| index.line(*at) != **old).count();
    if lines.len() != old.len() || old.len() > SHOWN_LINES_MAX || differ == 0 || differ * 3 > old.len() {
        return None;
    }
    let mut at = lines.start;
    let mut text = String::from("@@");
    for line in &hunk.lines {
        let mark = match line.kind {
            HunkLineKind::Added => '+',
            HunkLineKind::Removed => '-',
            HunkLineKind::Context | HunkLineKind::Bare => ' ',
        };
        let shown = if line.kind == HunkLineKind::Added {
            &*line.text
        } else {
            at += 1;
            index.line(at - 1)
        };
        text.extend(['\n', mark]);
        text.push_str(shown);
    }
    Some(text)
}
