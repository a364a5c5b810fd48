//! Rivals: places with more lines identical to the old text than the place that a tolerant tier found.
//!
//! A tier tolerates one kind of difference in all lines; another place may differ in a single line and be the intended
//! one. The text cannot decide, so both are shown and nothing is written.

use super::match_site::{MatchSite, SitePlan};
use super::search::{MatchSearch, PatternLines};
use super::similar_lines;
use super::transplant;
use crate::text::fold::{self, Normalization, SPACES_AND_TABS};
use crate::text::span::Span;
use crate::work;
use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BTreeSet;

/// Maximum number of lines of the old text by which places are found, the longest first.
const PIVOT_LINES_MAX: usize = 24;
/// Maximum number of places that are compared.
const COMPARED_PLACES_MAX: usize = 128;
/// Minimum number of lines of the old text that must be found before all places are compared.
const PRESENT_LINES_MIN: usize = 4;
/// Maximum number of lines of the file between two lines of the old text.
const GAP_LINES_MAX: usize = 3;
/// Minimum number of letters and digits of an unchanged line that makes a place a rival by itself.
const RIVAL_ALNUM_MIN: usize = 8;
/// Number of unchanged lines from which a place with all of them is as likely as a place that also has the changed
/// lines, but inexactly.
const TWIN_LINES: usize = 4;
/// Maximum number of lines of the old text that are compared.
const COMPARED_LINES_MAX: usize = 2_000;

/// The significant lines of the old text, and flags for those that the edit keeps.
struct SubstantialLines<'w, 'a> {
    /// The indices of the significant lines in the old text.
    at: Vec<usize>,
    /// For each of them, true if the edit keeps it.
    kept: Vec<bool>,
    old: &'w [&'a str],
}

/// The lines of a place that are identical to lines of the old text.
struct IdenticalLines {
    count: usize,
    /// True if they include all lines that the edit keeps.
    all_kept: bool,
    lines: Range<usize>,
}

/// Returns the zero-based lines of a rival of the places that a tier found.
pub(super) fn rival_of_places(search: &MatchSearch<'_>, places: &[MatchSite<'_>]) -> Option<Range<usize>> {
    let wanted: &PatternLines<'_> = match &places.first()?.plan {
        SitePlan::Lines(block) => &block.wanted,
        SitePlan::Ready(_) => &search.pattern,
        _ => return None,
    };
    let taken: Vec<Range<usize>> = places.iter().map(|place| lines_of(search, place.span)).collect();
    rival_of_lines(search, wanted, &taken)
}

/// Returns the zero-based lines of a rival of the lines that were matched with the old text.
pub(super) fn rival_of_lines(
    search: &MatchSearch<'_>,
    wanted: &PatternLines<'_>,
    taken: &[Range<usize>],
) -> Option<Range<usize>> {
    let lines = SubstantialLines::new(wanted)?;
    let chosen: Vec<IdenticalLines> =
        taken.iter().map(|at| lines.identical(search, at.start, is_same_but_for_quotes)).collect();
    let most = chosen.iter().map(|it| it.count).max().unwrap_or(0);
    let all_kept = chosen.iter().all(|it| it.all_kept);
    if most == lines.at.len() || !lines.may_have_rival(search, taken, most, all_kept) {
        return None;
    }
    lines.starts(search).into_iter().find_map(|start| {
        if work::spend_or_end(lines.at.len() * GAP_LINES_MAX) {
            return None;
        }
        let found = lines.identical(search, start, is_same);
        let apart = taken.iter().all(|at| found.lines.end <= at.start || at.end <= found.lines.start);
        let by_kept = found.all_kept && !all_kept && lines.are_kept_telling();
        let is_twin = found.all_kept && found.count >= most && lines.kept_count() >= TWIN_LINES;
        let by_count = found.count * 4 >= lines.at.len() * 3 && found.count > most;
        let height = start..(start + wanted.old.len()).min(search.lines().count());
        let shown = found.lines.start.min(height.start)..found.lines.end.max(height.end);
        (apart && found.count > 0 && (by_kept || by_count || is_twin)).then_some(shown)
    })
}

/// The lines that a span touches.
pub(super) fn lines_of(search: &MatchSearch<'_>, span: Span) -> Range<usize> {
    let lines = search.lines();
    lines.at(span.start())..lines.at(span.end().max(span.start() + 1) - 1) + 1
}

/// Returns the similar lines, as far as a look-up by words reports them.
fn by_key(search: &MatchSearch<'_>, line: &str) -> Vec<usize> {
    let key = fold::normalized_hash(line, Normalization::BlankRuns);
    let all = search.trimmed_hashes().iter().enumerate().filter(|(_, own)| **own == key).map(|(at, _)| at);
    all.take(similar_lines::REPORTED_LINES_MAX).collect()
}

/// True if two lines are equal except for whitespace at either end.
fn is_same(old: &str, file: &str) -> bool {
    old.trim_end_matches(SPACES_AND_TABS) == file.trim_end_matches(SPACES_AND_TABS)
}

/// True if two lines are equal except for whitespace at either end and the form of quotes: a text that a word processor
/// or a model retyped has other quotes everywhere, which says nothing about the place.
fn is_same_but_for_quotes(old: &str, file: &str) -> bool {
    is_same(old, file)
        || fold::differ_in_quotes_only(old.trim_end_matches(SPACES_AND_TABS), file.trim_end_matches(SPACES_AND_TABS))
}

impl<'w, 'a> SubstantialLines<'w, 'a> {
    fn new(wanted: &'w PatternLines<'a>) -> Option<SubstantialLines<'w, 'a>> {
        let old = &wanted.old[..];
        if old.len() > COMPARED_LINES_MAX {
            return None;
        }
        let changes = wanted.changes.clone().unwrap_or_else(|| transplant::changes(old, &wanted.new));
        let at: Vec<usize> = (0..old.len()).filter(|&at| fold::count_alnum(old[at], 1) > 0).collect();
        let kept = at.iter().map(|line| !changes.iter().any(|(from, _)| from.contains(line))).collect();
        Some(SubstantialLines { at, kept, old })
    }

    /// True if at least two lines are kept, or one with more text than a mere `break`.
    fn are_kept_telling(&self) -> bool {
        let kept: Vec<usize> = self.at.iter().zip(&self.kept).filter(|(_, kept)| **kept).map(|(&at, _)| at).collect();
        kept.len() > 1 || kept.iter().any(|&at| fold::count_alnum(self.old[at], RIVAL_ALNUM_MIN) == RIVAL_ALNUM_MIN)
    }

    /// The number of lines that the edit keeps.
    fn kept_count(&self) -> usize {
        self.kept.iter().filter(|kept| **kept).count()
    }

    /// A quick filter: false if too few lines of the old text are in the file for any place to be a rival.
    fn may_have_rival(&self, search: &MatchSearch<'_>, taken: &[Range<usize>], most: usize, all_kept: bool) -> bool {
        let needed = (self.at.len() * 3).div_ceil(4).max(most + 1);
        let mut by_kept = !all_kept && self.are_kept_telling() || self.kept_count() >= TWIN_LINES;
        let mut left = self.at.len();
        let (start, count) = (taken.first().map_or(0, |at| at.start), search.lines().count());
        // Lines that differ at the found place are most likely to be missing from the file.
        let mut lines: Vec<(usize, bool)> = self.at.iter().copied().zip(self.kept.iter().copied()).collect();
        lines.sort_by_cached_key(|&(at, kept)| {
            (
                start + at < count && is_same_but_for_quotes(self.old[at], search.line(start + at)),
                search.index.cached_similar_lines(self.old[at]).is_none(),
                !kept,
                Reverse(self.old[at].len()),
            )
        });
        let mut present = 0;
        for (at, kept) in lines {
            if similar_lines::is_surely_absent(search.index, self.old[at]) {
                left -= 1;
                by_kept &= !kept;
            } else {
                present += 1;
            }
            if left < needed && !by_kept {
                return false;
            }
            if present == PRESENT_LINES_MIN {
                break;
            }
        }
        true
    }

    /// Returns the lines from `start` on that are equal to lines of the old text, in its order.
    fn identical(&self, search: &MatchSearch<'_>, start: usize, same: fn(&str, &str) -> bool) -> IdenticalLines {
        let count = search.lines().count();
        let (mut next, mut found) = (start, IdenticalLines { count: 0, all_kept: true, lines: start..start });
        let mut before = 0;
        for (&at, &kept) in self.at.iter().zip(&self.kept) {
            next += at - before;
            before = at;
            let near = next.saturating_sub(1).max(found.lines.end)..(next + GAP_LINES_MAX).min(count);
            match near.into_iter().find(|&line| same(self.old[at], search.line(line))) {
                Some(line) => {
                    let first = if found.count == 0 { line } else { found.lines.start };
                    found = IdenticalLines { count: found.count + 1, lines: first..line + 1, ..found };
                    next = line;
                }
                None => found.all_kept &= !kept,
            }
        }
        found
    }

    /// Returns possible first lines of the old text, derived from those of its lines that are in the file unchanged.
    fn starts(&self, search: &MatchSearch<'_>) -> BTreeSet<usize> {
        let mut pivots: Vec<(usize, bool)> = self.at.iter().copied().zip(self.kept.iter().copied()).collect();
        pivots.sort_by_key(|&(at, kept)| (Reverse(kept), Reverse(self.old[at].len())));
        // If all kept lines are common in the file, a changed line may still identify a place.
        let changed = pivots.iter().copied().filter(|(_, kept)| !kept).take(PIVOT_LINES_MAX / 2);
        let pivots: Vec<usize> =
            pivots.iter().copied().take(PIVOT_LINES_MAX).chain(changed).map(|(at, _)| at).collect();
        let mut out = BTreeSet::new();
        for at in pivots {
            let lines = search
                .index
                .similar_lines(self.old[at])
                .map_or_else(|| by_key(search, self.old[at]), |it| it.lines.clone());
            for line in lines.into_iter().filter(|&line| is_same(self.old[at], search.line(line))) {
                out.insert(line.saturating_sub(at));
                if out.len() == COMPARED_PLACES_MAX {
                    return out;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    const FILE: &str = "class A:\n    def area(self):\n        w = self.width\n        return w * 2\n\n\ndef area(self):\n    w = self.width\n    return w * 3\n";

    #[test]
    fn place_with_identical_lines_beats_a_shifted_one() {
        let old = "def area(self):\n    w = self.width\n    return w * 2\n";
        let error = refuse(FILE, old, &old.replace("w * 2", "w * 4"));
        assert_eq!(error.data()["reason"], "rivals", "{error}");
        let text = error.to_string();
        assert!(text.contains("lines 2-4") && text.contains("lines 7-9"), "{error}");
        assert_eq!(error.data()["candidates"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn twin_with_all_unchanged_lines_equals_one_with_other_blanks() {
        let body = |line: &str| {
            format!(
                "fn go() {{\n    first_step();\n    second_step();\n{line}\n    third_step();\n    fourth_step();\n}}\n"
            )
        };
        let old = body("    let x = run(a);");
        let (spaced, other) = (body("    let x  =  run(a);"), body("    let y = walk(b);"));
        assert_eq!(edit(&spaced, &old, &old.replace("run", "jog")), spaced.replace("run", "jog"));
        let error = refuse(&format!("{spaced}\n{other}"), &old, &old.replace("run", "jog"));
        assert_eq!(error.data()["reason"], "rivals", "{error}");
    }

    #[test]
    fn braces_and_blank_lines_do_not_count() {
        let file = "mod a {\n    fn go() {\n        run();\n    }\n}\n\nfn stop() {\n    halt();\n}\n";
        assert_eq!(
            edit(file, "fn go() {\n    run();\n}\n", "fn go() {\n    run_all();\n}\n"),
            file.replace("run()", "run_all()")
        );
    }

    #[test]
    fn other_quotes_are_no_reason_to_prefer_a_twin() {
        let body = |name: &str, quote: [&str; 2]| {
            let [open, close] = quote;
            format!(
                "async fn {name}() {{\n    let reply = client\n        .post(address)\n        .header({open}accept{close}, {open}json{close})\n        .send()\n        .await;\n    check(reply, {name}_expected);\n}}\n"
            )
        };
        let (curly, straight) = (["\u{201C}", "\u{201D}"], ["\"", "\""]);
        let file = format!("{}\n{}", body("first", curly), body("second", straight));
        let old = body("first", straight);
        assert_eq!(
            edit(&file, &old, &old.replace("first_expected", "first_wanted")),
            file.replace("first_expected", "first_wanted")
        );
        // With any other difference, the place remains ambiguous.
        let file = file.replace("first_expected", "first_expected_here");
        refuse(&file, &old, &old.replace("first_expected", "first_wanted"));
    }

    #[test]
    fn three_quarters_of_equal_lines_make_a_rival() {
        let lines = ["alpha_one()", "beta_two()", "gamma_three()", "delta_four()"];
        let shifted: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        let close = "alpha_one()\nbeta_two()\ngamma_three()\ndelta_five()\n";
        let old = lines.join("\n") + "\n";
        let new = "alpha_1()\nbeta_2()\ngamma_3()\ndelta_4()\n";
        assert_eq!(refuse(&format!("if x:\n{shifted}\n{close}"), &old, new).data()["reason"], "rivals");
        // Half of the lines differ.
        let far = "alpha_one()\nbeta_two()\ngamma_3()\ndelta_five()\n";
        assert!(edit(&format!("if x:\n{shifted}\n{far}"), &old, new).contains("    gamma_3()\n    delta_4()\n"));
    }
}
