//! Search for the place most similar to a text that was not found. It is bounded by counting cells, and used only for
//! explanations, never for edits.

use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::text::diff;
use crate::text::fold::{self, HashedKeys, Normalization, is_blank};
use crate::text::tokens::{share, similarity, tokens};
use crate::work;
use core::cmp::Reverse;
use core::ops::Range;
use std::collections::HashMap;

/// Maximum number of bytes of the file that all searches for a similar line may read together.
const SEARCHED_BYTES_MAX: usize = 64_000_000;
/// Number of lines of the old text that are searched for by likeness.
const SEED_LINES: usize = 2;
/// Maximum number of occurrences of a line of the old text that vote: a more frequent line is not significant.
const VOTES_PER_LINE_MAX: usize = 64;
/// Maximum number of lines of the old text that are searched for one by one; for more, all lines of the file are
/// hashed.
const INDIVIDUAL_LOOKUPS_MAX: usize = 24;
/// Lines of the file between two checks of the work.
const COUNTED_LINES: usize = 4096;
/// Maximum number of places that are rated.
const RATED_PLACES_MAX: usize = 6;
/// Steps of work for rating two lines; most of them reset a table.
const RATING_STEPS: usize = 1_000;
/// Maximum number of lines of the old text that are rated.
const RATED_LINES_MAX: usize = 2_000;

/// The result of a search for similar text.
pub(in crate::locate::find) enum NearestResult {
    Place(NearestLines),
    Nothing,
    TooLarge,
}

/// Lines of the file with their likeness to the old text.
#[derive(Clone, Debug)]
pub(in crate::locate::find) struct NearestLines {
    /// The lines, zero-based.
    pub(in crate::locate::find) lines: Range<usize>,
    /// The likeness, from 0 to 1.
    pub(in crate::locate::find) likeness: f64,
}

/// Finds the most similar lines of the file.
pub(in crate::locate::find) fn find_nearest(search: &MatchSearch<'_>) -> NearestResult {
    let PatternLines { old, .. } = &*search.pattern;
    let count = search.lines().count();
    if count == 0 || !search.pattern.has_text() {
        return NearestResult::Nothing;
    }
    if search.text.len() > SEARCHED_BYTES_MAX / SEED_LINES || old.len() > RATED_LINES_MAX {
        return NearestResult::TooLarge;
    }
    let mut starts = voted(search);
    if starts.is_empty() {
        starts = seeded(search);
    }
    let mut best: Option<NearestLines> = None;
    for start in starts.into_iter().take(RATED_PLACES_MAX) {
        let from = usize::try_from(start.max(0)).unwrap_or(0).min(count - 1);
        let to = usize::try_from(start + height(old)).unwrap_or(0).clamp(from + 1, count);
        let rated = rate(search, from..to);
        if best.as_ref().is_none_or(|best| rated.likeness > best.likeness) {
            best = Some(rated);
        }
    }
    best.map_or(NearestResult::Nothing, NearestResult::Place)
}

fn height(old: &[&str]) -> isize {
    isize::try_from(old.len()).unwrap_or(isize::MAX)
}

/// Returns possible positions of the first line of the old text, found by its verbatim lines, the best supported first.
fn voted(search: &MatchSearch<'_>) -> Vec<isize> {
    let old = &search.pattern.old;
    let mut at: HashedKeys<Vec<usize>> = HashedKeys::default();
    for (index, line) in old.iter().enumerate().filter(|(_, line)| !is_blank(line)) {
        at.entry(fold::normalized_hash(line, Normalization::Indentation)).or_default().push(index);
    }
    let mut votes: HashMap<isize, usize> = HashMap::new();
    if let Some(lines) = looked_up(search, &at) {
        for (line, key) in lines {
            add_votes(&mut votes, old, line, &at[&key]);
        }
    } else {
        let mut votes_of: HashedKeys<usize> = HashedKeys::default();
        for (line, key) in search.run_hashes().iter().enumerate() {
            if at.is_empty() || line % COUNTED_LINES == 0 && work::spend_or_end(COUNTED_LINES / 2) {
                break;
            }
            let Some(places) = at.get(key) else { continue };
            add_votes(&mut votes, old, line, places);
            let often = votes_of.entry(*key).or_default();
            *often += 1;
            if *often == VOTES_PER_LINE_MAX {
                at.remove(key);
            }
        }
    }
    let mut votes: Vec<(isize, usize)> = votes.into_iter().collect();
    votes.sort_unstable_by_key(|&(start, weight)| (Reverse(weight), start));
    votes.into_iter().map(|(start, _)| start).take(RATED_PLACES_MAX).collect()
}

/// Votes for each beginning of the old text that would put one of these lines of it at `line` of the file.
fn add_votes(votes: &mut HashMap<isize, usize>, old: &[&str], line: usize, places: &[usize]) {
    for &place in places.iter().take(VOTES_PER_LINE_MAX) {
        let weight = fold::count_alnum(old[place], 80).max(1);
        *votes.entry(line.cast_signed() - place.cast_signed()).or_default() += weight;
    }
}

/// Returns the lines of the file that vote, each with its hash: the first [`VOTES_PER_LINE_MAX`] of each. `None` if all
/// lines of the file would have to be examined.
fn looked_up(search: &MatchSearch<'_>, at: &HashedKeys<Vec<usize>>) -> Option<Vec<(usize, u64)>> {
    if at.len() > INDIVIDUAL_LOOKUPS_MAX {
        return None;
    }
    let mut out = Vec::new();
    for (&key, places) in at {
        let similar = search.index.similar_lines(search.pattern.old[*places.first()?])?;
        let lines: Vec<usize> = similar
            .lines
            .iter()
            .filter(|line| fold::normalized_hash(search.line(**line), Normalization::Indentation) == key)
            .take(VOTES_PER_LINE_MAX)
            .copied()
            .collect();
        if lines.len() < VOTES_PER_LINE_MAX && similar.all().is_none() {
            return None;
        }
        out.extend(lines.into_iter().map(|line| (line, key)));
    }
    Some(out)
}

/// Returns possible positions of the first line of the old text, found by the lines of the file most similar to its
/// heaviest lines.
fn seeded(search: &MatchSearch<'_>) -> Vec<isize> {
    let old = &search.pattern.old;
    let mut seeds: Vec<usize> = (0..old.len()).filter(|&at| !is_blank(old[at])).collect();
    seeds.sort_by_key(|&at| Reverse(fold::count_alnum(old[at], 200)));
    let mut out = Vec::new();
    for seed in seeds.into_iter().take(SEED_LINES) {
        let sample = BigramSet::new(old[seed].trim());
        let mut best: Vec<(usize, usize)> = Vec::new();
        for at in 0..search.lines().count() {
            let line = search.line(at).trim();
            if work::spend_or_end(1 + line.len() / 4) {
                return out;
            }
            let score = sample.score(line);
            if score > 500 && best.last().is_none_or(|&(least, _)| score > least || best.len() < RATED_PLACES_MAX) {
                let slot = best.partition_point(|&(other, _)| other >= score);
                best.insert(slot, (score, at));
                best.truncate(RATED_PLACES_MAX);
            }
        }
        out.extend(best.into_iter().map(|(_, at)| at.cast_signed() - seed.cast_signed()));
    }
    out
}

/// The byte bigrams of a line.
struct BigramSet {
    /// A bit for each bigram: the first byte and two bits of the second one select the element.
    set: Vec<u64>,
    len: usize,
}

impl BigramSet {
    fn new(line: &str) -> BigramSet {
        let mut set = vec![0; 1 << 10];
        let bytes = line.as_bytes();
        bytes.windows(2).for_each(|pair| set[Self::word(pair)] |= Self::bit(pair));
        BigramSet { set, len: bytes.len().saturating_sub(1) }
    }

    fn word(pair: &[u8]) -> usize {
        usize::from(pair[0]) << 2 | usize::from(pair[1] >> 6)
    }

    fn bit(pair: &[u8]) -> u64 {
        1 << (pair[1] & 63)
    }

    fn has(&self, pair: &[u8]) -> bool {
        self.set[Self::word(pair)] & Self::bit(pair) != 0
    }

    /// Returns the share of common bigrams in thousandths; a line of very different length is not examined.
    fn score(&self, line: &str) -> usize {
        let len = line.len().saturating_sub(1);
        if len == 0 || len > self.len * 3 || len * 3 < self.len {
            return 0;
        }
        let shared = line.as_bytes().windows(2).filter(|pair| self.has(pair)).count();
        2000 * shared.min(self.len) / (len + self.len)
    }
}

/// Rates lines of the file by their likeness to the old text: by the weight of equal lines in order; changed lines
/// count by the part that they share.
pub(in crate::locate::find) fn rate(search: &MatchSearch<'_>, lines: Range<usize>) -> NearestLines {
    let old = &search.pattern.old;
    let a = folded(old.iter().take(RATED_LINES_MAX).copied());
    let b = folded(lines.clone().take(2 * RATED_LINES_MAX).map(|at| search.line(at)));
    NearestLines { lines, likeness: likeness(&a, &b) }
}

/// Returns the lines in normalized form, until the work has to end.
fn folded<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<String> {
    let counted = lines.take_while(|line| !work::spend_or_end(1 + line.len() / 4));
    counted.map(|line| fold::normalize(line, Normalization::BlankRuns).into_owned()).collect()
}

/// Computes the likeness of two lists of lines by their normalized forms: by the weight of equal lines in order;
/// changed lines count by the part that they share.
pub(in crate::locate::find) fn likeness(a: &[String], b: &[String]) -> f64 {
    let all: usize = a.iter().map(|line| line_weight(line)).sum();
    let mut lost = 0.0;
    for (from, to) in diff::line_hunks(a, b) {
        let mut partners = b[to].iter();
        for line in &a[from] {
            let like = partners
                .next()
                .filter(|_| !work::spend_or_end(RATING_STEPS))
                .map_or(0.0, |other| line_likeness(line, other));
            lost += share(line_weight(line), all) * (1.0 - like);
        }
    }
    if all == 0 { 0.0 } else { (1.0 - lost).max(0.0) }
}

/// Returns the weight of a line: its letters and digits.
fn line_weight(line: &str) -> usize {
    if line.is_empty() { 0 } else { fold::count_alnum(line, usize::MAX).max(1) }
}

/// Computes the likeness of two lines: shared tokens or shared byte bigrams, whichever is higher.
pub(in crate::locate::find) fn line_likeness(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    const RATED_LINE_BYTES_MAX: usize = 4_000;
    if a.len() > RATED_LINE_BYTES_MAX || b.len() > RATED_LINE_BYTES_MAX {
        return share(2 * diff::common_prefix(a.as_bytes(), b.as_bytes()), a.len() + b.len());
    }
    let pairs = share(BigramSet::new(a).score(b).min(BigramSet::new(b).score(a)), 1000);
    similarity(&tokens(a), &tokens(b)).max(pairs).min(0.99)
}
