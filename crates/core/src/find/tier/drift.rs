//! Tier 11: drift. The text is not there as a whole, but the place is beyond doubt.
//!
//! *Blank-line drift* (11a): all lines that are not blank are there in order and nothing else stands between them; at
//! least six letters or digits, at least one distinctive line (eight letters or digits, once in the file).
//!
//! *Context drift* (11b): at least four lines that are not blank and thirty letters or digits; the first and the last of
//! them are there; three quarters of the lines and of their weight are there in order; at most max(1, n/5) lines of the
//! file come in between and max(1, n/4) of old are missing; no other place comes within 0.15; one of the lines found is
//! distinctive; no missing line of eight letters or digits stands elsewhere in the file.
//!
//! The lines to be changed must be there, nothing unseen may lie where something is written, and all readings of the
//! place (repeated lines!) must lead to the same edit. Context the caller forgot is kept, context it invented is dropped.

use crate::find::TextEdit;
use crate::find::align::{Pairs, align};
use crate::find::fold::{self, Look, is_blank};
use crate::find::indent::{self, IndentMap};
use crate::find::place::{Place, Plan};
use crate::find::refusal::{Reason, Refusal};
use crate::find::search::{Search, Trial, span_of};
use crate::find::tier::widths;
use crate::find::tokens::ratio;
use crate::find::transplant::{self, Window};
use core::ops::Range;
use std::collections::HashMap;

/// Cells (lines × lines) that all alignments may cost together.
const CELLS: usize = 8_000_000;
/// What a reading costs beside, in cells.
const READING: usize = 500;
const LIKE: f64 = 0.75;
const MARGIN: f64 = 0.15;
/// A distinctive line has this many letters and digits.
const DISTINCTIVE: usize = 8;
/// Blank lines of the file that a window may have more than old.
const SLACK: usize = 6;

pub(in crate::find) fn run<'a>(search: &Search<'a>) -> Result<Trial<'a>, Refusal> {
    let Some(target) = Target::new(search) else { return Ok(Trial::default()) };
    let mut readings = target.readings()?;
    if readings.is_empty() {
        return Ok(Trial::default());
    }
    // Of readings of equal weight the one with the least in between: the tightest.
    readings.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then(a.extra.cmp(&b.extra)).then(a.lines.len().cmp(&b.lines.len()))
    });
    let complete = readings[0].missing.is_empty() && readings[0].extra == 0;
    if complete {
        readings.retain(|it| it.missing.is_empty() && it.extra == 0);
    } else {
        let least = readings[0].score - MARGIN;
        readings.retain(|it| it.score > least);
    }
    let best = &readings[0];
    let lines = best.lines.clone();
    target
        .judge(best, complete)
        .and_then(|()| target.edits_of_all(&readings))
        .map(|edits| {
            let span = span_of(search.lines(), lines.start, lines.end);
            Trial { places: vec![Place { span, plan: Plan::Ready(edits) }], number: None }
        })
        .map_err(|it| it.at(lines.start, lines.end))
}

/// What is looked for: the lines of old that are not blank.
struct Target<'s, 'a> {
    search: &'s Search<'a>,
    /// Their positions in old.
    at: Vec<usize>,
    keys: Vec<u64>,
    /// Letters and digits of each, at least one.
    weights: Vec<usize>,
    /// How often each key occurs in the file.
    counts: HashMap<u64, usize>,
    /// For every line of the file the weight of lines of old before it.
    before: Vec<usize>,
}

/// One way to read a stretch of the file as old.
struct Reading {
    score: f64,
    lines: Range<usize>,
    early: Pairs,
    late: Pairs,
    /// Positions among the lines of old that are not there.
    missing: Vec<usize>,
    /// Lines of the file in between, blank ones aside.
    extra: usize,
}

impl<'s, 'a> Target<'s, 'a> {
    fn new(search: &'s Search<'a>) -> Option<Target<'s, 'a>> {
        let old = &search.wanted.old;
        let at: Vec<usize> = (0..old.len()).filter(|&at| !is_blank(old[at])).collect();
        if at.len() < 2 {
            return None;
        }
        let keys: Vec<u64> = at.iter().map(|&at| fold::key(old[at], Look::Trimmed)).collect();
        let weights: Vec<usize> = at.iter().map(|&at| fold::substance(old[at], usize::MAX).max(1)).collect();
        let known: HashMap<u64, usize> = keys.iter().copied().zip(weights.iter().copied()).collect();
        let mut counts: HashMap<u64, usize> = HashMap::with_capacity(keys.len());
        let mut before = Vec::with_capacity(search.close_keys().len() + 1);
        let mut sum = 0;
        before.push(0);
        for key in search.close_keys() {
            if let Some(weight) = known.get(key) {
                *counts.entry(*key).or_default() += 1;
                sum += weight;
            }
            before.push(sum);
        }
        Some(Target { search, at, keys, weights, counts, before })
    }

    fn most_extra(&self) -> usize {
        (self.at.len() / 5).max(1)
    }

    /// Every stretch between a first and a last line that may be heavy enough to be the place, or a rival of it.
    fn readings(&self) -> Result<Vec<Reading>, Refusal> {
        let keys = self.search.close_keys();
        let all: usize = self.weights.iter().sum();
        let (Some(&first), Some(&last)) = (self.keys.first(), self.keys.last()) else { return Ok(Vec::new()) };
        let places = |wanted: u64| (0..keys.len()).filter(|&at| keys[at] == wanted).collect::<Vec<usize>>();
        let (starts, ends) = (places(first), places(last));
        let reach = self.search.wanted.old.len() + self.most_extra() + SLACK;
        let (mut out, mut cells) = (Vec::new(), 0usize);
        for start in starts {
            let from = ends.partition_point(|&end| end <= start);
            for &end in ends[from..].iter().take_while(|&&end| end < start + reach) {
                cells += 1;
                if ratio(self.before[end + 1] - self.before[start], all) < LIKE - MARGIN {
                    continue;
                }
                cells = cells.saturating_add(READING + (end - start).saturating_mul(self.keys.len()));
                if cells > CELLS {
                    return Err(Refusal::new(Reason::TooLarge, "The text is too large to search for similar text."));
                }
                out.extend(self.reading(start..end + 1, all));
            }
        }
        Ok(out)
    }

    fn reading(&self, lines: Range<usize>, all: usize) -> Option<Reading> {
        let keys = self.search.close_keys();
        let inner: Vec<usize> =
            (lines.start + 1..lines.end - 1).filter(|&at| !is_blank(self.search.line(at))).collect();
        let file: Vec<u64> = inner.iter().map(|&at| keys[at]).collect();
        let last = self.at.len() - 1;
        let (early, late) =
            align(&self.keys[1..last], &file, |at| u32::try_from(self.weights[at + 1]).unwrap_or(u32::MAX >> 12));
        let pairs = |inside: Pairs| -> Pairs {
            let inside = inside.into_iter().map(|(old, line)| (old + 1, inner[line]));
            [(0, lines.start)].into_iter().chain(inside).chain([(last, lines.end - 1)]).collect()
        };
        let (early, late) = (pairs(early), pairs(late));
        let weight: usize = early.iter().map(|&(old, _)| self.weights[old]).sum();
        let score = ratio(weight, all);
        let mut there = vec![false; self.at.len()];
        for &(old, _) in &early {
            there[old] = true;
        }
        let missing = (0..self.at.len()).filter(|&old| !there[old]).collect();
        let extra = inner.len() + 2 - early.len();
        (score >= LIKE - MARGIN).then_some(Reading { score, lines, early, late, missing, extra })
    }

    /// Whether the best reading is good enough.
    fn judge(&self, best: &Reading, complete: bool) -> Result<(), Refusal> {
        let lines = self.at.len();
        let unlike = |why: &str| {
            Err(Refusal::new(Reason::Unlike, format!("A similar place is not taken for the one meant: {why}.")))
        };
        let enough = if complete { 6 } else { 30 };
        if self.search.wanted.substance(enough) < enough || (!complete && lines < 4) {
            return unlike("the text is too short to be found by part of its lines");
        }
        if best.score < LIKE || ratio(best.early.len(), lines) < LIKE {
            return unlike("too many of its lines differ");
        }
        if self.is_too_loose(best) {
            return unlike("too many lines are missing or come in between");
        }
        let weighty = |&old: &usize| self.weights[old] >= DISTINCTIVE;
        let count = |old: usize| self.counts.get(&self.keys[old]).copied().unwrap_or(0);
        if let Some(&old) = best.missing.iter().filter(|old| weighty(old)).find(|&&old| count(old) > 0) {
            let line = self.search.wanted.old[self.at[old]].trim();
            return unlike(&format!("a line of old_string stands elsewhere in the file: {line}"));
        }
        if !best.early.iter().any(|(old, _)| weighty(old) && count(*old) == 1) {
            return unlike("none of its lines is distinctive");
        }
        Ok(())
    }

    fn is_too_loose(&self, reading: &Reading) -> bool {
        reading.extra > self.most_extra() || reading.missing.len() > (self.at.len() / 4).max(1)
    }

    /// The edits, if all readings lead to the same.
    fn edits_of_all(&self, readings: &[Reading]) -> Result<Vec<TextEdit>, Refusal> {
        let best = &readings[0];
        let edits = self.edits(&best.lines, &best.early)?;
        for (nth, reading) in readings.iter().enumerate() {
            // A wider reading of the same place that does not hold by itself is no other place.
            let overlaps = reading.lines.start < best.lines.end && best.lines.start < reading.lines.end;
            let looser = reading.extra + reading.missing.len() > best.extra + best.missing.len();
            if nth > 0
                && overlaps
                && looser
                && (self.is_too_loose(reading) || self.edits(&reading.lines, &reading.early).is_err())
            {
                continue;
            }
            let unique = reading.early == reading.late;
            let others = [(nth > 0).then_some(&reading.early), (!unique).then_some(&reading.late)];
            for other in others.into_iter().flatten() {
                if self.edits(&reading.lines, other).as_ref() != Ok(&edits) {
                    let (a, b) = (best.lines.start + 1, reading.lines.start + 1);
                    let why = format!("Two places are about equally similar: lines {a} and {b}.");
                    let why = if nth > 0 {
                        why
                    } else {
                        "Lines repeat at the place, so it is not clear which of them is meant.".to_owned()
                    };
                    return Err(Refusal::new(Reason::Rivals, why));
                }
            }
        }
        Ok(edits)
    }

    fn edits(&self, lines: &Range<usize>, pairs: &Pairs) -> Result<Vec<TextEdit>, Refusal> {
        let search = self.search;
        let wanted = &*search.wanted;
        let mut partner = vec![None; wanted.old.len()];
        for &(old, line) in pairs {
            partner[self.at[old]] = Some(line);
        }
        self.pair_blanks(&mut partner, pairs);
        let depths = indent::pairs(pairs.iter().map(|&(old, line)| (wanted.old[self.at[old]], search.line(line))));
        let indent =
            IndentMap::shift(&depths).or_else(|| widths::map(search, wanted, &depths, 0)).ok_or_else(|| {
                Refusal::new(Reason::Misindent, "A similar place has indentation that old_string does not map onto.")
            })?;
        let window = Window { search, wanted, lines: lines.clone(), partner };
        transplant::write(&window, &indent, false)
    }

    /// Blank lines between the same neighbours on both sides belong together.
    fn pair_blanks(&self, partner: &mut [Option<usize>], pairs: &Pairs) {
        for pair in pairs.windows(2) {
            let (old, file) = (self.at[pair[0].0] + 1..self.at[pair[1].0], pair[0].1 + 1..pair[1].1);
            let blank = |line: &str| is_blank(line);
            if old.clone().all(|at| blank(self.search.wanted.old[at]))
                && file.clone().all(|at| blank(self.search.line(at)))
            {
                old.zip(file).for_each(|(old, file)| partner[old] = Some(file));
            }
        }
    }
}
