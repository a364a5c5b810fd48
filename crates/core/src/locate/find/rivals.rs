//! Rivals: places with more lines identical to the old text than the place that a tolerant tier found.
//!
//! A tier tolerates one kind of difference in all lines; another place may differ in a single line and be the intended
//! one. The text cannot decide, so both are shown and nothing is written.

use super::Tier;
use super::match_site::{MatchSite, SitePlan};
use super::search::{MatchSearch, PatternLines};
use super::similar_lines;
use super::transplant;
use crate::text::fold::{self, Normalization};
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
    /// The first of them that is a dropped line, as an index in the old text.
    dropped: Option<usize>,
    lines: Range<usize>,
}

/// The lines of the file that were matched with the old text, or with a part of it.
pub(super) struct MatchedLines {
    pub(super) lines: Range<usize>,
    /// Number of old lines before and after that part, which were dropped.
    pub(super) front: usize,
    pub(super) back: usize,
}

impl MatchedLines {
    /// Returns the line of the file at which the whole old text would begin.
    fn start(&self) -> usize {
        self.lines.start.saturating_sub(self.front)
    }
}

/// The lines of a place that are compared with the old text.
struct LinesSought {
    /// The line of the file for the first old line that is not skipped.
    start: usize,
    /// Number of old lines that would be before the file.
    skipped: usize,
    /// Number of dropped old lines at the beginning and the end.
    front: usize,
    back: usize,
}

/// A place that may be meant instead of the matched one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rival {
    /// The zero-based lines of the place.
    pub(super) lines: Range<usize>,
    /// A line of the old text that was dropped for the matched place, and that this place has; `None` if this place has
    /// more of the old lines than the matched one.
    pub(super) dropped: Option<usize>,
}

/// The part of a line that is compared.
type TrimLine = fn(&str) -> &str;

/// Returns a rival of the places that a tier found.
pub(super) fn rival_of_places(search: &MatchSearch<'_>, tier: Tier, places: &[MatchSite<'_>]) -> Option<Rival> {
    let wanted: &PatternLines<'_> = match &places.first()?.plan {
        SitePlan::Lines(block) => &block.wanted,
        SitePlan::Ready(_) => &search.pattern,
        _ => return None,
    };
    let matched = |place: &MatchSite<'_>| MatchedLines { lines: lines_of(search, place.span), front: 0, back: 0 };
    let taken: Vec<MatchedLines> = places.iter().map(matched).collect();
    rival_of_lines(search, wanted, tier, &taken)
}

/// Returns a rival of the lines that a tier matched with the old text. If the tier tolerates another indentation, lines
/// are compared without it, too: all lines of such an old text may be shifted.
pub(super) fn rival_of_lines(
    search: &MatchSearch<'_>,
    wanted: &PatternLines<'_>,
    tier: Tier,
    taken: &[MatchedLines],
) -> Option<Rival> {
    let lines = SubstantialLines::new(wanted)?;
    let rival = lines.rival(search, taken, fold::trim_blanks_end);
    rival.or_else(|| if tier >= Tier::IndentShift { lines.rival(search, taken, fold::trim_blanks) } else { None })
}

/// Returns the first lines within a section that are most of the old text, or all but one line of it.
pub(super) fn similar_within(
    search: &MatchSearch<'_>,
    wanted: &PatternLines<'_>,
    covers: impl Fn(usize) -> bool,
) -> Option<Range<usize>> {
    let lines = SubstantialLines::new(wanted)?;
    lines.starts(search, fold::trim_blanks_end).into_iter().find_map(|start| {
        if work::spend_or_end(lines.at.len() * GAP_LINES_MAX) {
            return None;
        }
        let same = |old: &str, file: &str| fold::trim_blanks_end(old) == fold::trim_blanks_end(file);
        let found = lines.identical(search, LinesSought { start, skipped: 0, front: 0, back: 0 }, same);
        let is_similar = lines.are_most(found.count) || found.count + 1 >= lines.at.len();
        let height = start..(start + wanted.old.len()).min(search.lines().count());
        let shown = found.lines.start.min(height.start)..found.lines.end.max(height.end);
        (found.count > 0 && is_similar && covers(found.lines.start)).then_some(shown)
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

/// True if two trimmed lines are equal except for the form of quotes: a text that a word processor or a model retyped
/// has other quotes everywhere, which says nothing about the place.
fn is_same_but_for_quotes(old: &str, file: &str) -> bool {
    old == file || fold::differ_in_quotes_only(old, file)
}

/// True for a line that the file has once, so that it names its place.
fn is_unique(search: &MatchSearch<'_>, line: &str, trim: TrimLine) -> bool {
    let is_same = |at: &&usize| trim(line) == trim(search.line(**at));
    search.index.similar_lines(line).is_some_and(|similar| similar.lines.iter().filter(is_same).count() == 1)
}

/// True for a place that shares less than half of the lines with each other place. Neighbours may share a few lines.
fn is_apart(lines: &Range<usize>, taken: &[MatchedLines]) -> bool {
    taken.iter().all(|at| {
        let shared = lines.end.min(at.lines.end).saturating_sub(lines.start.max(at.lines.start));
        shared * 2 < lines.len().min(at.lines.len()).max(1)
    })
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

    /// Returns a place that is as likely as the matched ones. Lines are compared as `trim` leaves them.
    fn rival(&self, search: &MatchSearch<'_>, taken: &[MatchedLines], trim: TrimLine) -> Option<Rival> {
        let chosen: Vec<IdenticalLines> =
            taken.iter().map(|matched| self.identical_of(search, matched, trim)).collect();
        let most = chosen.iter().map(|it| it.count).max().unwrap_or(0);
        let all_kept = chosen.iter().all(|it| it.all_kept);
        if most == self.at.len() || !self.may_have_rival(search, taken, trim, &chosen) {
            return None;
        }
        let (front, back) = taken.first().map_or((0, 0), |matched| (matched.front, matched.back));
        self.starts(search, trim).into_iter().find_map(|start| {
            if work::spend_or_end(self.at.len() * GAP_LINES_MAX) {
                return None;
            }
            let same = |old: &str, file: &str| trim(old) == trim(file);
            let found = self.identical(search, LinesSought { start, skipped: 0, front, back }, same);
            let by_kept = found.all_kept && !all_kept && self.are_kept_telling();
            let is_twin = found.all_kept && found.count >= most && self.kept_count() >= TWIN_LINES;
            let by_count = self.are_most(found.count) && found.count > most;
            // A place with the dropped line, but without another one, is as likely as one without the dropped line.
            let is_only_one_missing = self.are_most(found.count) || found.count + 1 >= self.at.len();
            let is_disjoint =
                taken.iter().all(|at| found.lines.end <= at.lines.start || at.lines.end <= found.lines.start);
            let dropped = found.dropped.filter(|&at| {
                found.count >= most && is_only_one_missing && is_disjoint && is_unique(search, self.old[at], trim)
            });
            let height = start..(start + self.old.len()).min(search.lines().count());
            let lines = found.lines.start.min(height.start)..found.lines.end.max(height.end);
            let is_rival = by_kept || by_count || is_twin || dropped.is_some();
            (found.count > 0 && is_rival && is_apart(&found.lines, taken)).then_some(Rival { lines, dropped })
        })
    }

    /// True for three quarters of the lines.
    fn are_most(&self, count: usize) -> bool {
        count * 4 >= self.at.len() * 3
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
    fn may_have_rival(
        &self,
        search: &MatchSearch<'_>,
        taken: &[MatchedLines],
        trim: TrimLine,
        chosen: &[IdenticalLines],
    ) -> bool {
        let most = chosen.iter().map(|it| it.count).max().unwrap_or(0);
        let all_kept = chosen.iter().all(|it| it.all_kept);
        let drops = taken.iter().any(|matched| matched.front + matched.back > 0);
        let least = (self.at.len() * 3).div_ceil(4);
        let needed = if drops { least.min(self.at.len() - 1).max(most) } else { least.max(most + 1) };
        let mut by_kept = !all_kept && self.are_kept_telling() || self.kept_count() >= TWIN_LINES;
        let mut left = self.at.len();
        let (start, count) = (taken.first().map_or(0, MatchedLines::start), search.lines().count());
        // Lines that differ at the found place are most likely to be missing from the file.
        let mut lines: Vec<(usize, bool)> = self.at.iter().copied().zip(self.kept.iter().copied()).collect();
        lines.sort_by_cached_key(|&(at, kept)| {
            (
                start + at < count && is_same_but_for_quotes(trim(self.old[at]), trim(search.line(start + at))),
                search.index.cached_similar_lines(self.old[at]).is_none(),
                !kept,
                Reverse(self.old[at].len()),
            )
        });
        let mut present = 0;
        for (at, kept) in lines {
            if similar_lines::is_surely_absent(search.index, self.old[at], trim) {
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

    /// Returns the lines of a matched place that are equal to lines of the old text.
    fn identical_of(&self, search: &MatchSearch<'_>, matched: &MatchedLines, trim: TrimLine) -> IdenticalLines {
        let skipped = matched.front.saturating_sub(matched.lines.start);
        let sought = LinesSought { start: matched.start(), skipped, front: matched.front, back: matched.back };
        self.identical(search, sought, |old, file| is_same_but_for_quotes(trim(old), trim(file)))
    }

    /// Returns the lines of a place that are equal to lines of the old text, in its order.
    fn identical(
        &self,
        search: &MatchSearch<'_>,
        LinesSought { start, skipped, front, back }: LinesSought,
        same: impl Fn(&str, &str) -> bool,
    ) -> IdenticalLines {
        let count = search.lines().count();
        let (mut next, mut found) =
            (start, IdenticalLines { count: 0, all_kept: true, dropped: None, lines: start..start });
        let mut before = skipped;
        for (&at, &kept) in self.at.iter().zip(&self.kept) {
            if at < skipped {
                found.all_kept &= !kept;
                continue;
            }
            next += at - before;
            before = at;
            let near = next.saturating_sub(1).max(found.lines.end)..(next + GAP_LINES_MAX).min(count);
            match near.into_iter().find(|&line| same(self.old[at], search.line(line))) {
                Some(line) => {
                    let first = if found.count == 0 { line } else { found.lines.start };
                    let is_dropped = at < front || at + back >= self.old.len();
                    let dropped = found.dropped.or_else(|| is_dropped.then_some(at));
                    found = IdenticalLines { count: found.count + 1, lines: first..line + 1, dropped, ..found };
                    next = line;
                }
                None => found.all_kept &= !kept,
            }
        }
        found
    }

    /// Returns possible first lines of the old text, derived from those of its lines that are in the file unchanged.
    fn starts(&self, search: &MatchSearch<'_>, trim: TrimLine) -> BTreeSet<usize> {
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
            for line in lines.into_iter().filter(|&line| trim(self.old[at]) == trim(search.line(line))) {
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
