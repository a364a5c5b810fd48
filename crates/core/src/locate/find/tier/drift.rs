//! Tier 11: drift. The text is not in the file as a whole, but the place is certain.
//!
//! *Blank-line drift* (11a): all lines that are not blank occur in order with nothing else between them; they have at
//! least six letters or digits, and at least one of them is distinctive (eight letters or digits, unique in the file).
//!
//! *Context drift* (11b): the old text has at least four lines that are not blank (three, if all are found except for
//! typos) and thirty letters or digits; its first and last line occur; three quarters of the lines and of their weight
//! occur in order; at most max(1, n/5) lines of the file are interspersed and max(1, n/4) lines of the old text are
//! missing; no other place comes within 0.15; one of the found lines is distinctive, a run of them with half of the
//! weight is unique, or the place has all of at least six lines and at most one more, and each other place lacks a
//! distinctive one; no missing line of eight letters or digits occurs elsewhere in the file; and none of them has a
//! counterpart in the file with another number or another name of what it defines.
//!
//! The lines to be changed must exist, no unseen lines may be where the edit writes, and all alignments (repeated
//! lines!) must lead to the same edit. Context that the caller omitted is kept, context that it invented is dropped.

mod edits;
mod verbatim;

use crate::locate::find::align::{LinePairs, align};
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, span_of};
use crate::locate::find::target_indent::Depth;
use crate::locate::find::transplant;
use crate::locate::find::typo;
use crate::text::fold::{self, HashedKeys, Normalization, is_blank};
use crate::text::tokens::share;
use crate::work;
use core::ops::Range;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Maximum number of cells (lines × lines) for all alignments together.
const ALIGNMENT_CELLS_MAX: usize = 8_000_000;
/// Fixed cost of an alignment, in cells.
const ALIGNMENT_OVERHEAD_CELLS: usize = 500;
const LIKENESS_MIN: f64 = 0.75;
const LIKENESS_MARGIN: f64 = 0.15;
/// Maximum number of lines of a short text, and the share of its weight from which a place is examined.
const FEW_LINES: usize = 12;
const FEW_LINES_SHARE_MIN: f64 = 0.3;
/// Minimum number of lines that together prove a place that has all of them.
const SOLE_LINES_MIN: usize = 6;
/// Minimum number of letters and digits of a distinctive line.
const DISTINCTIVE_ALNUM_MIN: usize = 8;
/// Maximum number of blank lines that a window of the file may have in addition to those of the old text.
const EXTRA_BLANK_LINES_MAX: usize = 6;
/// Number of lines whose weights are added between two checks of the work, and number of keys that are compared in one
/// step.
const COUNTED_LINES: usize = 4096;
const COMPARED_KEYS_PER_STEP: usize = 16;
/// Maximum number of lines near possible beginnings of the old text for which only these lines are hashed.
const NEARBY_LINES_MAX: usize = 4096;

pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let Some(target) = DriftQuery::new(search) else { return Ok(CandidateSites::default()) };
    let alignments = target.alignments()?;
    place(search, &target, alignments)
}

/// Runs the tier with only those alignments whose lines are equal to the file's, including indentation.
pub(in crate::locate::find) fn verbatim<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let Some(target) = DriftQuery::new(search) else { return Ok(CandidateSites::default()) };
    let mut alignments = target.alignments()?;
    alignments.retain(|it| target.is_verbatim(&it.early) && target.is_verbatim(&it.late));
    place(search, &target, alignments)
}

fn place<'a>(
    search: &MatchSearch<'a>,
    target: &DriftQuery<'_, 'a>,
    mut alignments: Vec<DriftAlignment>,
) -> Result<CandidateSites<'a>, MatchRefusal> {
    if alignments.is_empty() {
        return Ok(CandidateSites::default());
    }
    // Of alignments with equal weight, the best one has the fewest interspersed lines.
    alignments.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then(a.extra.cmp(&b.extra)).then(a.lines.len().cmp(&b.lines.len()))
    });
    let complete = alignments[0].is_complete();
    let is_only = alignments.len() == 1;
    if complete {
        alignments.retain(DriftAlignment::is_complete);
    } else if alignments.iter().filter(|it| it.is_mistyped()).count() == 1 {
        // If only one place has all lines, with a typo corrected, the old text comes from there.
        alignments.retain(DriftAlignment::is_mistyped);
    } else {
        let least = alignments[0].score - LIKENESS_MARGIN;
        alignments.retain(|it| it.score > least);
    }
    let best = &alignments[0];
    let lines = best.lines.clone();
    // A place that has all lines with one more between them is unique if no other place comes near, or if every other
    // place lacks a distinctive line.
    let here = |it: &DriftAlignment| it.lines.start < lines.end && lines.start < it.lines.end;
    let lacks_some = |it: &DriftAlignment| it.missing.iter().any(|&old| target.is_distinctive(old));
    let is_sole = is_only
        || alignments.iter().all(here) && best.missing.is_empty() && best.extra == 1
        || target.has_all(best) && alignments.iter().skip(1).all(|it| here(it) || lacks_some(it));
    target
        .judge(best, complete, is_sole)
        .and_then(|()| target.edits_of_all(&alignments))
        .map(|edits| {
            let span = span_of(search.lines(), lines.start, lines.end);
            let depth = target.depth(&alignments[0].early);
            let fitted = matches!(depth, Depth::File | Depth::LikelyFile);
            CandidateSites { places: vec![MatchSite { span, plan: SitePlan::Ready(edits) }], fitted, number: None }
        })
        .map_err(|it| it.at(lines.start, lines.end))
}

/// The lines of the old text that are not blank.
struct DriftQuery<'s, 'a> {
    search: &'s MatchSearch<'a>,
    /// The indices of these lines in the old text.
    at: Vec<usize>,
    keys: Vec<u64>,
    /// The number of letters and digits of each line, at least one.
    weights: Vec<usize>,
}

/// Hashed lines of the file: all of them, or those near a possible beginning of the old text.
struct KeyedLines<'k> {
    /// The number of the first of these lines.
    from: usize,
    keys: Cow<'k, [u64]>,
    /// For each of them, the total weight of the lines before it that occur in the old text.
    before: Vec<usize>,
}

impl<'k> KeyedLines<'k> {
    fn new(target: &DriftQuery<'_, '_>, from: usize, keys: Cow<'k, [u64]>) -> KeyedLines<'k> {
        let known: HashedKeys<usize> = target.keys.iter().copied().zip(target.weights.iter().copied()).collect();
        // Most lines of a file are not in the old text, which one bit shows for nearly all of them.
        let bits = target.keys.iter().fold(0u64, |bits, key| bits | 1 << (key & 63));
        let mut before = Vec::with_capacity(keys.len() + 1);
        let mut sum = 0;
        before.push(0);
        for chunk in keys.chunks(COUNTED_LINES) {
            if work::spend_or_end(1 + chunk.len() / 2) {
                break;
            }
            for key in chunk {
                sum += if bits >> (key & 63) & 1 == 0 { 0 } else { known.get(key).copied().unwrap_or(0) };
                before.push(sum);
            }
        }
        // Once the work has to end, the remaining sums are never used.
        before.resize(keys.len() + 1, sum);
        KeyedLines { from, keys, before }
    }

    fn key(&self, line: usize) -> u64 {
        self.keys[line - self.from]
    }

    fn weight(&self, lines: Range<usize>) -> usize {
        self.before[lines.end - self.from] - self.before[lines.start - self.from]
    }

    fn lines_like(&self, wanted: u64) -> Vec<usize> {
        if work::spend_or_end(1 + self.keys.len() / COMPARED_KEYS_PER_STEP) {
            return Vec::new();
        }
        let at = self.keys.iter().enumerate().filter(|&(_, key)| *key == wanted);
        at.map(|(at, _)| self.from + at).collect()
    }
}

/// An alignment of a range of the file with the old text.
struct DriftAlignment {
    score: f64,
    lines: Range<usize>,
    early: LinePairs,
    late: LinePairs,
    /// Indices of the old lines that are missing.
    missing: Vec<usize>,
    /// Number of interspersed lines of the file, without blank ones.
    extra: usize,
    /// Number of paired lines that are not verbatim in the file.
    typos: usize,
}

impl DriftAlignment {
    /// True if all lines are found, with nothing interspersed.
    fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.extra == 0 && self.typos == 0
    }

    /// True if all lines are found, some with typos, and nothing is interspersed.
    fn is_mistyped(&self) -> bool {
        self.missing.is_empty() && self.extra == 0 && self.typos > 0
    }
}

impl<'s, 'a> DriftQuery<'s, 'a> {
    fn new(search: &'s MatchSearch<'a>) -> Option<DriftQuery<'s, 'a>> {
        let old = &search.pattern.old;
        let at: Vec<usize> = work::batched(0..old.len()).filter(|&at| !is_blank(old[at])).collect();
        if at.len() < 2 {
            return None;
        }
        let lines = || work::batched(at.iter().map(|&at| old[at]));
        let mut keys: Vec<u64> = lines().map(|line| fold::normalized_hash(line, Normalization::Indentation)).collect();
        let mut weights: Vec<usize> = lines().map(|line| fold::count_alnum(line, usize::MAX).max(1)).collect();
        // Once the work has to end, the remaining keys are never used.
        keys.resize(at.len(), 0);
        weights.resize(at.len(), 1);
        Some(DriftQuery { search, at, keys, weights })
    }

    fn most_extra(&self) -> usize {
        (self.at.len() / 5).max(1)
    }

    /// Returns the maximum number of lines of the file that the old text may extend over.
    fn reach(&self) -> usize {
        self.search.pattern.old.len() + self.most_extra() + EXTRA_BLANK_LINES_MAX
    }

    /// Returns every range between a first and a last line that may be heavy enough to be the place, or a rival of it.
    fn alignments(&self) -> Result<Vec<DriftAlignment>, MatchRefusal> {
        let (mut out, mut cells) = (Vec::new(), 0usize);
        let Some(starts) = self.starts() else {
            let all = KeyedLines::new(self, 0, Cow::Borrowed(self.search.run_hashes()));
            self.push_alignments(&all, &all.lines_like(self.keys[0]), &mut cells, &mut out)?;
            return Ok(out);
        };
        for start in starts {
            let end = self.search.lines().count().min(start + self.reach());
            let keys = (start..end)
                .map(|at| fold::normalized_hash(self.search.line(at), Normalization::Indentation))
                .collect();
            self.push_alignments(&KeyedLines::new(self, start, Cow::Owned(keys)), &[start], &mut cells, &mut out)?;
        }
        Ok(out)
    }

    /// Returns the positions of the first line that have a last line after them; `None` if all lines of the file would
    /// have to be examined.
    fn starts(&self) -> Option<Vec<usize>> {
        if let Some(starts) = self.lines_like(0).filter(|lines| self.is_few(lines)) {
            return Some(starts);
        }
        let ends = self.lines_like(self.at.len() - 1).filter(|lines| self.is_few(lines))?;
        let near = ends.iter().flat_map(|&end| (end + 1).saturating_sub(self.reach())..end);
        let near: BTreeSet<usize> = near.collect();
        let first: Vec<usize> = near.into_iter().filter(|&at| self.has_key(at, self.keys[0])).collect();
        Some(first).filter(|lines| self.is_few(lines))
    }

    /// True if the number of places is small enough for the lines around each to be examined.
    fn is_few(&self, lines: &[usize]) -> bool {
        lines.len().saturating_mul(self.reach()) <= NEARBY_LINES_MAX
    }

    /// Returns the lines of the file that match a line of the old text; `None` if all lines would have to be examined.
    fn lines_like(&self, old: usize) -> Option<Vec<usize>> {
        let similar = self.search.index.similar_lines(self.search.pattern.old[self.at[old]])?;
        Some(similar.all()?.iter().copied().filter(|&at| self.has_key(at, self.keys[old])).collect())
    }

    /// True if a line of the file has this hash.
    #[inline]
    fn has_key(&self, at: usize, key: u64) -> bool {
        fold::normalized_hash(self.search.line(at), Normalization::Indentation) == key
    }

    /// Counts the occurrences of a line of the old text in the file.
    fn count(&self, old: usize) -> usize {
        self.lines_like(old).map_or_else(
            || {
                let all = self.search.run_hashes();
                let ends = work::spend_or_end(1 + all.len() / COMPARED_KEYS_PER_STEP);
                if ends { 0 } else { all.iter().filter(|key| **key == self.keys[old]).count() }
            },
            |lines| lines.len(),
        )
    }

    fn push_alignments(
        &self,
        keyed: &KeyedLines<'_>,
        starts: &[usize],
        cells: &mut usize,
        out: &mut Vec<DriftAlignment>,
    ) -> Result<(), MatchRefusal> {
        let all: usize = self.weights.iter().sum();
        // In a text of few lines, the one with a typo may be the heaviest.
        let share_min = if self.at.len() <= FEW_LINES { FEW_LINES_SHARE_MIN } else { LIKENESS_MIN - LIKENESS_MARGIN };
        let ends = keyed.lines_like(self.keys[self.keys.len() - 1]);
        for &start in starts {
            let from = ends.partition_point(|&end| end <= start);
            for &end in ends[from..].iter().take_while(|&&end| end < start + self.reach()) {
                *cells += 1;
                if work::spend_or_end(1) {
                    return Ok(());
                }
                if share(keyed.weight(start..end + 1), all) < share_min {
                    continue;
                }
                *cells = cells.saturating_add(ALIGNMENT_OVERHEAD_CELLS + (end - start).saturating_mul(self.keys.len()));
                if *cells > ALIGNMENT_CELLS_MAX || work::spend_or_end(end - start + self.keys.len()) {
                    return Err(MatchRefusal::new(
                        RefusalReason::TooLarge,
                        "The text is too large to search for similar text.",
                    ));
                }
                out.extend(self.alignment(keyed, start..end + 1, all));
            }
        }
        Ok(())
    }

    fn alignment(&self, keyed: &KeyedLines<'_>, lines: Range<usize>, all: usize) -> Option<DriftAlignment> {
        let inner: Vec<usize> =
            (lines.start + 1..lines.end - 1).filter(|&at| !is_blank(self.search.line(at))).collect();
        let file: Vec<u64> = inner.iter().map(|&at| keyed.key(at)).collect();
        let last = self.at.len() - 1;
        let (early, late) =
            align(&self.keys[1..last], &file, |at| u32::try_from(self.weights[at + 1]).unwrap_or(u32::MAX >> 12));
        let (mut early, mut late) = (with_ends(&inner, &lines, last, early), with_ends(&inner, &lines, last, late));
        // Of two alignments, the one in which every line has its own depth is the intended one.
        match (self.is_verbatim(&early), self.is_verbatim(&late)) {
            (true, false) => late.clone_from(&early),
            (false, true) => early.clone_from(&late),
            (true, true) => {}
            (false, false) => {
                (early, late) = self.verbatim_pairs(&lines, &inner, early.len()).unwrap_or((early, late));
            }
        }
        let typos = self.typos(&early, lines.end);
        if early == late && !typos.is_empty() {
            early.extend(typos.iter().copied());
            early.sort_unstable();
            late.clone_from(&early);
        }
        let weight: usize = early.iter().map(|&(old, _)| self.weights[old]).sum();
        let score = share(weight, all);
        let mut there = vec![false; self.at.len()];
        for &(old, _) in &early {
            there[old] = true;
        }
        let missing = (0..self.at.len()).filter(|&old| !there[old]).collect();
        let extra = inner.len() + 2 - early.len();
        let typos = typos.len();
        (score >= LIKENESS_MIN - LIKENESS_MARGIN).then_some(DriftAlignment {
            score,
            lines,
            early,
            late,
            missing,
            extra,
            typos,
        })
    }

    /// Pairs lines that the edit keeps with lines of the file that have a typo and the same neighbours.
    fn typos(&self, pairs: &LinePairs, end: usize) -> LinePairs {
        if pairs.len() == self.at.len() {
            return LinePairs::new();
        }
        let wanted = &*self.search.pattern;
        let found = transplant::changes;
        let changes = wanted.changes.clone().unwrap_or_else(|| found(&wanted.old, &wanted.new));
        let mut out = LinePairs::new();
        for pair in pairs.windows(2) {
            let ([before, after], old) = ([pair[0], pair[1]], pair[0].0 + 1);
            let mut lines = (before.1 + 1..after.1.min(end)).filter(|&at| !is_blank(self.search.line(at)));
            let (Some(line), None) = (lines.next(), lines.next()) else { continue };
            if after.0 == old + 1
                && !changes.iter().any(|(from, _)| from.contains(&self.at[old]))
                && typo::is_typo(wanted.old[self.at[old]], self.search.line(line), self.search.text)
            {
                out.push((old, line));
            }
        }
        out
    }

    /// True if consecutive lines, in the old text and in the file, with half of the weight of the old text are unique.
    fn has_unique_run(&self, alignment: &DriftAlignment) -> bool {
        const LINES_MIN: usize = 3;
        let search = self.search;
        let run = alignment
            .early
            .chunk_by(|a, b| b.0 == a.0 + 1 && (a.1 + 1..b.1).all(|at| is_blank(search.line(at))))
            .max_by_key(|run| self.total_weight(run.iter().map(|pair| pair.0)));
        let Some(run) = run.filter(|run| run.len() >= LINES_MIN) else { return false };
        if 2 * self.total_weight(run.iter().map(|pair| pair.0)) < self.weights.iter().sum() {
            return false;
        }
        let all = search.run_hashes();
        let wanted: Vec<u64> = run.iter().map(|pair| all[pair.1]).collect();
        let file: Vec<u64> = (0..all.len()).filter(|&at| !is_blank(search.line(at))).map(|at| all[at]).collect();
        if work::spend_or_end(file.len()) {
            return false;
        }
        file.windows(wanted.len()).filter(|window| *window == wanted).count() == 1
    }

    /// Returns the total weight of some lines of the old text.
    fn total_weight(&self, old: impl Iterator<Item = usize>) -> usize {
        old.map(|at| self.weights[at]).sum::<usize>()
    }

    /// Checks if the best alignment is good enough.
    fn judge(&self, best: &DriftAlignment, complete: bool, is_only: bool) -> Result<(), MatchRefusal> {
        let lines = self.at.len();
        let enough = if complete { 6 } else { 30 };
        let least = if best.is_mistyped() { 3 } else { 4 };
        if self.search.pattern.alnum(enough) < enough || (!complete && lines < least) {
            return unlike_refusal("the text is too short to be found by part of its lines");
        }
        if best.score < LIKENESS_MIN || share(best.early.len(), lines) < LIKENESS_MIN {
            return unlike_refusal("too many of its lines differ");
        }
        if self.is_too_loose(best) {
            return unlike_refusal("too many lines are missing or come in between");
        }
        if let Some(&old) =
            best.missing.iter().filter(|&&old| self.is_distinctive(old)).find(|&&old| self.count(old) > 0)
        {
            let line = self.search.pattern.old[self.at[old]].trim();
            return unlike_refusal(&format!("a line of the old text is elsewhere in the file: {line}"));
        }
        if let Some(why) = self.mistaken(best) {
            return unlike_refusal(&why);
        }
        // If all lines of a hunk are found in order, separated by blank lines only, uniqueness proves the place.
        let whole_hunk = complete && self.search.pattern.changes.is_some();
        // A place that has all of many lines is also proven, if no other place has most of them.
        let is_sole = is_only && best.missing.is_empty() && best.typos == 0 && lines >= SOLE_LINES_MIN;
        if !whole_hunk
            && !is_sole
            && !best.early.iter().any(|(old, _)| self.is_distinctive(*old) && self.count(*old) == 1)
            && !self.has_unique_run(best)
        {
            return unlike_refusal("none of its lines is distinctive");
        }
        Ok(())
    }

    /// True for a line with many letters and digits.
    fn is_distinctive(&self, old: usize) -> bool {
        self.weights[old] >= DISTINCTIVE_ALNUM_MIN
    }

    /// Returns the reason why a missing line is not a typo: the file has a line there with another meaning.
    fn mistaken(&self, alignment: &DriftAlignment) -> Option<String> {
        for &old in &alignment.missing {
            let before = alignment.early.iter().rev().find(|pair| pair.0 < old)?.1;
            let after = alignment.early.iter().find(|pair| pair.0 > old)?.1;
            let line = self.search.pattern.old[self.at[old]];
            let why = (before + 1..after).find_map(|at| typo::means_another(line, self.search.line(at)));
            if why.is_some() {
                return why;
            }
        }
        None
    }

    fn is_too_loose(&self, alignment: &DriftAlignment) -> bool {
        alignment.extra > self.most_extra() || alignment.missing.len() > (self.at.len() / 4).max(1)
    }
}

/// Refuses a place that differs too much.
fn unlike_refusal(why: &str) -> Result<(), MatchRefusal> {
    Err(MatchRefusal::new(RefusalReason::Unlike, format!("A similar place was found but not edited: {why}.")))
}

/// Adds the first and the last line to the pairs between them.
fn with_ends(inner: &[usize], lines: &Range<usize>, last: usize, inside: LinePairs) -> LinePairs {
    let inside = inside.into_iter().map(|(old, line)| (old + 1, inner[line]));
    [(0, lines.start)].into_iter().chain(inside).chain([(last, lines.end - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    const STEPS: &str = "fn go() {\n    prepare_all();\n    first_step(1);\n    second_step();\n    third_step();\n    \
                         finish_all();\n}\n";

    #[test]
    fn complete_match_wins_over_incomplete_ones() {
        let other = STEPS.replace("second_step();", "other_step_here();").replace("go()", "run()");
        let old = "    prepare_all();\n    second_step();\n    third_step();\n    finish_all();\n}\n";
        let file = format!("{STEPS}\n{other}");
        assert_eq!(
            edit(&file, old, &old.replace("third_step", "last_step")),
            file.replacen("third_step", "last_step", 1)
        );
    }

    #[test]
    fn lines_are_paired_by_their_depth() {
        let file = "                }\n            }\n        }\n    }\n}\n\nimpl Table<Longer> {\n    pub fn iterate(&self) -> Iter {\n        self.iter()\n    }\n";
        let old = file.replacen("        }\n    }\n}", "    }\n}", 1);
        assert_ne!(old, file);
        assert_eq!(
            edit(file, &old, &old.replace("impl Table", "impl Tables")),
            file.replace("impl Table", "impl Tables")
        );
    }

    #[test]
    fn typo_comes_from_the_place_that_has_the_line() {
        let other = STEPS.replace("second_step();", "other_call(2);");
        let file = format!("{STEPS}\n{other}");
        let old = STEPS.replace("second_step", "secodn_step");
        assert_eq!(
            edit(&file, &old, &old.replace("third_step", "last_step")),
            file.replacen("third_step", "last_step", 1)
        );
    }

    #[test]
    fn comment_belongs_to_the_line_below_it() {
        let commented = STEPS.replace("    second_step", "    // The second one.\n    second_step");
        let new = STEPS.replace("first_step(1);", "first_step(2);\n    added_step();");
        let want = commented.replace("first_step(1);", "first_step(2);\n    added_step();");
        assert_eq!(edit(&commented, STEPS, &new), want);
        // New code before other unseen lines may have another meaning there.
        refuse(&STEPS.replace("    second_step", "    unseen_step();\n    second_step"), STEPS, &new);
    }

    #[test]
    fn added_comment_is_below_a_forgotten_blank_line() {
        let file = "func first() int {\n\treturn seven\n}\n\nfunc second() int {\n\treturn eight\n}\n";
        let old = "\treturn seven\n}\nfunc second() int {\n\treturn eight\n";
        for added in ["// second says eight.\n", "@attribute\n", "/**\n * Eight.\n */\n"] {
            let func = format!("{added}func second");
            assert_eq!(edit(file, old, &old.replace("func second", &func)), file.replace("func second", &func));
        }
        let new = old.replace("func second", "// One.\n\nfunc second");
        assert_eq!(edit(file, old, &new), file.replace("}\n\nfunc", "}\n// One.\n\n\nfunc"));
    }

    #[test]
    fn forgotten_blank_line_between_changed_lines_stays() {
        let file = "fn go() {\n    let first = prepare_all();\n  \n    let second = run_steps(first);\n\n    finish(second);\n}\n";
        let old = file.replace("  \n", "").replace("\n\n", "\n");
        for (from, to) in [("second", "other"), ("let ", "let mut "), ("e", "o")] {
            assert_eq!(edit(file, &old, &old.replace(from, to)), file.replace(from, to));
        }
        // Lines that are added between the changed ones are above the blank line, comments of the next line below it.
        let new = |added: &str| {
            old.replace("let ", "let mut ").replace("    let mut second", &format!("{added}    let mut second"))
        };
        let want =
            |added: &str, text: &str| file.replace("let ", "let mut ").replace("  \n", added).replace("STEP", text);
        assert_eq!(edit(file, &old, &new("    step();\n")), want("STEP  \n", "    step();\n"));
        assert_eq!(edit(file, &old, &new("    // Now.\n")), want("  \nSTEP", "    // Now.\n"));
        // A blank line of the new text is that of the file.
        assert_eq!(edit(file, &old, &new("\n")), want("\n", ""));
    }

    #[test]
    fn removed_blank_line_is_not_left_out() {
        let file = "Fixer that transforms calls.\n---\n\n# Author: Benjamin\n\nfrom lib import fixer_base, pytree\nfrom lib.util import token, syms\n";
        let old = "Fixer that transforms calls.\n---\n\n\nfrom lib import fixer_base, pytree\nfrom lib.util import token, syms\n";
        let new = old.replacen("\n\n\n", "\n\n", 1).replace("pytree", "trees");
        refuse(file, old, &new);
        // The lines of the file have no blank line there, so none is left.
        let file = file.replace("\n\n", "\n");
        assert_eq!(edit(&file, old, &new), file.replace("pytree", "trees"));
    }

    #[test]
    fn line_of_the_depth_outside_is_added_in_front_of_a_forgotten_first_line() {
        let file = format!("#[test]\n{STEPS}");
        let old = file.replace("fn go() {\n", "");
        let new = |added: &str| old.replace("#[test]\n", &format!("#[test(slow)]\n{added}\n"));
        let want = file.replace("#[test]\n", "#[test(slow)]\n#[other_attribute]\n");
        assert_eq!(edit(&file, &old, &new("#[other_attribute]")), want);
        // A line with the inner depth, a comment, a label and a bracket may belong after the forgotten line.
        for added in ["    check_all();", "// Slow.", "public:", "{", "#if SLOW", "where"] {
            refuse(&file, &old, &new(added));
        }
        // If the forgotten line opens no block, the position of the added line is unclear as well.
        refuse(&file.replace("fn go() {", "fn go();"), &old, &new("#[other_attribute]"));
    }

    #[test]
    fn place_with_all_lines_is_not_doubted_for_one_that_lacks_some() {
        let step =
            |name: &str| format!("if {name} {{\n    one = splat(1);\n    two = splat(2);\n    find_it(one, two)\n}}\n");
        let extra = step("first").replace("    one", "    zero = end();\n    one");
        let other = step("first").replace("    two = splat(2);\n", "");
        let file = format!("{extra}one = splat(1);\ntwo = splat(2);\nfind_it(one, two)\n{other}");
        let old = step("first");
        // None of its lines is unique.
        assert_eq!(edit(&file, &old, &old.replace("splat(2)", "splat(3)")), file.replacen("splat(2)", "splat(3)", 1));
        refuse(&format!("{file}{extra}"), &old, &old.replace("splat(2)", "splat(3)"));
    }
}
