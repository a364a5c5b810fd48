//! State shared by the tiers of a search: the lines of the file and their hashes, computed on first use.

use super::file_lines::{FileLines, LineCache};
use super::hunk::scope::ScopeCache;
use super::indent;
use super::similar_lines::{self, Following, LineWord, SimilarLines};
use crate::locate::op::TextQuery;
use crate::text::fold::{self, Normalization, is_blank};
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::text::tokens;
use crate::work::{self, STEP_BYTES};
use core::ops::Range;
use foldhash::HashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// State shared by all searches in one text, computed on first use.
pub(crate) struct SearchIndex<'a> {
    pub(super) base: &'a Snapshot,
    pub(super) text: &'a str,
    lines: LineCache,
    trimmed_hashes: OnceCell<Vec<u64>>,
    run_hashes: OnceCell<Vec<u64>>,
    /// The lines by their [trimmed hashes](MatchSearch::trimmed_hashes).
    chains: OnceCell<LineChains>,
    table: OnceCell<LineTable>,
    /// The table of lines by their non-whitespace characters.
    dense: OnceCell<LineTable>,
    /// The non-ASCII lines with their hashes; `None` if there are many.
    non_ascii: OnceCell<Option<Vec<(usize, u64)>>>,
    /// The plain characters that the text has in a typographic form somewhere.
    typographic: OnceCell<Vec<char>>,
    /// The indentation step of lines that are indented by spaces.
    step: OnceCell<Option<String>>,
    /// Cached look-ups, by the hash of the line.
    similar: RefCell<HashMap<u64, Option<Rc<SimilarLines>>>>,
    /// The anchors of hunks.
    pub(super) scopes: RefCell<ScopeCache>,
    /// Number of bytes scanned by look-ups.
    pub(super) cost: Cell<usize>,
    /// Number of kept candidate places of hunks.
    pub(super) cached: Cell<usize>,
}

impl<'a> SearchIndex<'a> {
    /// Creates the index of a snapshot. Nothing is computed yet.
    pub(crate) fn new(base: &'a Snapshot) -> SearchIndex<'a> {
        SearchIndex {
            base,
            text: base.text(),
            lines: LineCache::default(),
            trimmed_hashes: OnceCell::new(),
            run_hashes: OnceCell::new(),
            chains: OnceCell::new(),
            table: OnceCell::new(),
            dense: OnceCell::new(),
            non_ascii: OnceCell::new(),
            typographic: OnceCell::new(),
            step: OnceCell::new(),
            similar: RefCell::default(),
            scopes: RefCell::default(),
            cost: Cell::new(0),
            cached: Cell::new(0),
        }
    }

    /// Creates an index without fast paths, for tests that compare their results.
    #[cfg(test)]
    pub(super) fn plain(base: &'a Snapshot) -> SearchIndex<'a> {
        SearchIndex { cost: Cell::new(usize::MAX), non_ascii: OnceCell::from(None), ..SearchIndex::new(base) }
    }

    /// The snapshot that is searched.
    pub(crate) fn base(&self) -> &'a Snapshot {
        self.base
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> FileLines<'_> {
        FileLines::new(self.base, &self.lines)
    }

    /// Returns a zero-based line of the file, without its line end.
    pub(super) fn line(&self, at: usize) -> &'a str {
        let lines = self.lines();
        let start = lines.start(at);
        &self.text[start..start + lines.line(at).len()]
    }

    /// Returns the lines of the file that are equal to this one under the loosest normalization; `None` if all lines
    /// would have to be examined.
    pub(super) fn similar_lines(&self, line: &str) -> Option<Rc<SimilarLines>> {
        let key = fold::normalized_hash(line, Normalization::BlankRuns);
        let known = self.similar.borrow().get(&key).cloned();
        if let Some(Some(known)) = known {
            return Some(known);
        }
        // Once all lines are hashed, their chains contain the answer.
        let found = match (self.trimmed_hashes.get(), known) {
            (Some(keys), _) => {
                let chains = self.chains.get_or_init(|| LineChains::new(keys));
                let lines = chains.lines_with(keys, key).take(similar_lines::REPORTED_LINES_MAX).collect();
                Some(Rc::new(SimilarLines { lines }))
            }
            (None, Some(None)) => return None,
            _ => similar_lines::find_similar(self, line).map(Rc::new),
        };
        self.similar.borrow_mut().insert(key, found.clone());
        found
    }

    /// Returns the non-ASCII lines, each with its hash under the loosest normalization; `None` if there are many.
    pub(super) fn non_ascii_lines(&self) -> Option<&[(usize, u64)]> {
        self.non_ascii.get_or_init(|| similar_lines::non_ascii_lines(self)).as_deref()
    }

    /// Returns the plain characters that the text has in a typographic form somewhere.
    pub(super) fn typographic(&self) -> &[char] {
        self.typographic.get_or_init(|| {
            let mut out = Vec::new();
            let lines = if self.text.is_ascii() { "" } else { self.text };
            for plain in lines_of(lines).flat_map(str::chars).filter_map(fold::plain_lookalike) {
                if !out.contains(&plain) {
                    out.push(plain);
                }
            }
            out
        })
    }

    /// Returns the indentation step of the file, from its lines that are indented only by spaces.
    pub(super) fn step(&self) -> Option<&str> {
        self.step.get_or_init(|| indent::step_in_spaces(self.text.split('\n'))).as_deref()
    }

    /// The table of lines by their exact text.
    pub(super) fn table(&self) -> &LineTable {
        self.table.get_or_init(|| LineTable::of_keys(self.hashes(STEP_BYTES, exact_key)))
    }

    /// Returns the first `most` lines (zero-based, in order) that differ from this one only in whitespace between
    /// tokens.
    pub(super) fn differing_in_blanks(&self, line: &str, most: usize) -> Vec<usize> {
        let same = |file: &str| is_dense_equal(file, line) && tokens::are_same(file, line);
        let words = tokens::tokens(line).into_iter().filter(|word| !word.trim().is_empty());
        let words = words.map(|word| LineWord { bytes: word.as_bytes(), next: Following::Anything }).collect();
        let quick = self.dense.get().is_none().then(|| similar_lines::by_words(self, words, most, &same)).flatten();
        quick.unwrap_or_else(|| {
            let alike = self
                .dense
                .get_or_init(|| LineTable::of_keys(self.hashes(STEP_BYTES, dense_key)))
                .lines_with(dense_key(line));
            alike.filter(|&at| same(self.line(at))).take(most).collect()
        })
    }

    /// Returns the cached result of [`SearchIndex::similar_lines`] for this line; `None` if there is none.
    pub(super) fn cached_similar_lines(&self, line: &str) -> Option<Rc<SimilarLines>> {
        self.similar.borrow().get(&fold::normalized_hash(line, Normalization::BlankRuns)).cloned().flatten()
    }

    /// Returns the hashes of [`MatchSearch::trimmed_hashes`].
    pub(super) fn loose_keys(&self) -> &[u64] {
        self.trimmed_hashes.get_or_init(|| self.keys(Normalization::BlankRuns))
    }

    fn keys(&self, normalization: Normalization) -> Vec<u64> {
        self.hashes(4, |line| fold::normalized_hash(line, normalization))
    }

    /// Returns a hash of each line; hashing `step_bytes` bytes is one step of work. If the work has to end, the
    /// remaining hashes are 0: they are useless, but their number is right.
    fn hashes(&self, step_bytes: usize, hash: impl Fn(&str) -> u64) -> Vec<u64> {
        let count = self.lines().count();
        let mut hashes = Vec::with_capacity(count);
        let lines = lines_of(self.text).take_while(|line| !work::spend_or_end(1 + line.len() / step_bytes));
        hashes.extend(lines.map(hash));
        hashes.resize(count, 0);
        hashes
    }
}

/// A search: the text, the old text and the new text.
pub(super) struct MatchSearch<'a> {
    pub(super) index: &'a SearchIndex<'a>,
    pub(super) base: &'a Snapshot,
    pub(super) text: &'a str,
    pub(super) find: &'a TextQuery,
    pub(super) new: &'a str,
    /// The occurrences of tier 0, if they are known already.
    pub(super) literal: Option<&'a [Span]>,
    /// True if a deletion removes exactly the given text.
    pub(super) literal_deletion: bool,
    /// True if nothing is tolerated, not even a missing line end at the end of the file.
    pub(super) exact_only: bool,
    /// True if literal text is written exactly as given, even if that doubles its indentation.
    pub(super) literal_only: bool,
    /// The old and new text by lines.
    pub(super) pattern: Rc<PatternLines<'a>>,
    windows: OnceCell<Vec<usize>>,
}

impl<'a> MatchSearch<'a> {
    pub(super) fn new(index: &'a SearchIndex<'a>, find: &'a TextQuery, new: &'a str) -> MatchSearch<'a> {
        let mut wanted = PatternLines { old: split(&find.old), new: split(new), changes: None };
        if adds_line_end(find, new) {
            // The text that follows the old text begins with a line end of its own.
            wanted.new.push("");
        }
        MatchSearch::for_lines(index, find, new, wanted)
    }

    /// Creates a search for lines whose changes are known.
    pub(super) fn for_lines(
        index: &'a SearchIndex<'a>,
        find: &'a TextQuery,
        new: &'a str,
        wanted: PatternLines<'a>,
    ) -> MatchSearch<'a> {
        let (base, text) = (index.base, index.text);
        MatchSearch {
            index,
            base,
            text,
            find,
            new,
            literal: None,
            literal_deletion: false,
            exact_only: false,
            literal_only: true,
            pattern: Rc::new(wanted),
            windows: OnceCell::new(),
        }
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> FileLines<'a> {
        self.index.lines()
    }

    /// True for a row of the new text that keeps its indentation, because it begins inside of a string. `wanted` has
    /// that row; lines other than those of the call as they are have none.
    pub(super) fn is_in_string(&self, wanted: &PatternLines<'_>, row: usize) -> bool {
        let rows = &self.find.rows_in_strings;
        !rows.is_empty() && std::ptr::eq(wanted, &raw const *self.pattern) && rows.binary_search(&row).is_ok()
    }

    /// Returns a zero-based line of the file, without its line end.
    pub(super) fn line(&self, at: usize) -> &'a str {
        self.index.line(at)
    }

    /// Returns the hashes of all lines under the loosest normalization: a window without equal hashes matches at no
    /// tier.
    pub(super) fn trimmed_hashes(&self) -> &'a [u64] {
        self.index.loose_keys()
    }

    /// Returns the lines that are equal to this one except for their indentation, at least the first `most` of them.
    pub(super) fn lines_but_for_indent(&self, line: &str, most: usize) -> Vec<usize> {
        let key = fold::normalized_hash(line, Normalization::Indentation);
        let similar = self.index.similar_lines(line);
        if let Some(all) = similar.as_ref().and_then(|similar| similar.all()) {
            return all
                .iter()
                .copied()
                .filter(|&at| fold::normalized_hash(self.line(at), Normalization::Indentation) == key)
                .collect();
        }
        let all = self.run_hashes().iter().enumerate().filter(|(_, own)| **own == key);
        all.map(|(at, _)| at).take(most).collect()
    }

    /// Returns hashes of all lines that ignore their indentation, but distinguish the lengths of blank runs.
    pub(super) fn run_hashes(&self) -> &'a [u64] {
        self.index.run_hashes.get_or_init(|| self.index.keys(Normalization::Indentation))
    }

    /// Returns the [`MatchSearch::windows`] of the old text as it is.
    pub(super) fn wanted_windows(&self) -> &[usize] {
        self.windows.get_or_init(|| self.windows(&self.pattern.old))
    }

    /// Returns the zero-based lines at which `old` may begin as whole lines; windows may overlap.
    pub(super) fn windows(&self, old: &[&str]) -> Vec<usize> {
        if let Some(starts) = similar_lines::windows(self, old) {
            return starts;
        }
        let lines = work::batched(old.iter());
        let keys: Vec<u64> = lines.map(|line| fold::normalized_hash(line, Normalization::BlankRuns)).collect();
        occurrences(self.trimmed_hashes(), &keys)
    }
}

/// The old and new text as lines without line ends; an empty text has no lines.
#[derive(Debug)]
pub(super) struct PatternLines<'a> {
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    /// The ranges of old lines and the ranges of new lines that replace them, if the caller gave them; `None` if they
    /// are to be computed by a diff.
    pub(super) changes: Option<Vec<(Range<usize>, Range<usize>)>>,
}

impl<'a> PatternLines<'a> {
    /// Removes some of the unchanged lines at both ends.
    pub(super) fn inner(&self, front: usize, back: usize) -> PatternLines<'a> {
        PatternLines {
            old: self.old[front..self.old.len() - back].to_vec(),
            new: self.new[front..self.new.len() - back].to_vec(),
            changes: self
                .changes
                .as_ref()
                .map(|all| all.iter().map(|(a, b)| (shifted_back(front, a), shifted_back(front, b))).collect()),
        }
    }

    /// Counts the letters and digits in the old text, up to `enough`.
    pub(super) fn alnum(&self, enough: usize) -> usize {
        let mut count = 0;
        for line in work::batched(self.old.iter()) {
            if count >= enough {
                break;
            }
            count += fold::count_alnum(line, enough - count);
        }
        count
    }

    /// True if a line of the old text is not blank.
    pub(super) fn has_text(&self) -> bool {
        work::batched(self.old.iter()).any(|line| !is_blank(line))
    }
}

/// Returns a range relative to the lines after the removed front.
fn shifted_back(front: usize, at: &Range<usize>) -> Range<usize> {
    at.start - front..at.end - front
}

/// True for new text with a line end at its end, which the old text lacks.
pub(super) fn adds_line_end(find: &TextQuery, new: &str) -> bool {
    !find.lines && new.ends_with('\n') && !find.old.is_empty() && !find.old.ends_with('\n')
}

/// Splits a text into lines; the empty rest after a final line end is not a line. Ends early if the work has to end;
/// the lines must not be used then.
pub(super) fn split(text: &str) -> Vec<&str> {
    work::batched(lines_of(text)).collect()
}

/// Returns the lines of [`split`], without counting them as work.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    work::uncounted_lines(text).map(|line| line.strip_suffix('\n').unwrap_or(line))
}

/// The lines of a text by a hash of each.
pub(super) struct LineTable {
    keys: Vec<u64>,
    chains: LineChains,
}

impl LineTable {
    fn of_keys(keys: Vec<u64>) -> LineTable {
        LineTable { chains: LineChains::new(&keys), keys }
    }

    /// Returns the lines (zero-based, in order) with the hash of this one.
    pub(super) fn lines_like(&self, line: &str) -> impl Iterator<Item = usize> {
        self.lines_with(exact_key(line))
    }

    /// Returns the lines (zero-based, in order) with this hash.
    fn lines_with(&self, key: u64) -> impl Iterator<Item = usize> {
        self.chains.lines_with(&self.keys, key)
    }
}

/// The positions of the hashes in a list: chains in two flat arrays.
struct LineChains {
    /// For every bucket, its first line plus one.
    heads: Vec<u32>,
    /// For every line, the next one of its bucket plus one.
    next: Vec<u32>,
}

impl LineChains {
    fn new(keys: &[u64]) -> LineChains {
        let mut chains = LineChains { heads: vec![0; (keys.len() * 2).next_power_of_two()], next: vec![0; keys.len()] };
        // In reverse order, so that chains are in the order of the text.
        for (at, &key) in work::batched(keys.iter().enumerate().rev()) {
            let bucket = chains.bucket(key);
            chains.next[at] = chains.heads[bucket];
            chains.heads[bucket] = u32::try_from(at + 1).unwrap_or(0);
        }
        chains
    }

    fn bucket(&self, key: u64) -> usize {
        usize::try_from(key).unwrap_or(0) & (self.heads.len() - 1)
    }

    /// Returns the positions (in order) of this hash in the list that the chains were made from.
    fn lines_with(&self, keys: &[u64], key: u64) -> impl Iterator<Item = usize> {
        let mut at = self.heads[self.bucket(key)];
        core::iter::from_fn(move || {
            while at > 0 {
                let line = at as usize - 1;
                at = self.next[line];
                if keys[line] == key {
                    return Some(line);
                }
            }
            None
        })
    }
}

fn exact_key(line: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(line.as_bytes())
}

/// Returns the bytes of a line without whitespace.
#[inline]
fn dense_bytes(line: &str) -> impl Iterator<Item = u8> {
    line.bytes().filter(|byte| !byte.is_ascii_whitespace())
}

/// Hashes the characters of a line that are not whitespace.
fn dense_key(line: &str) -> u64 {
    let bytes: Vec<u8> = dense_bytes(line).collect();
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

/// True if two lines are equal except for whitespace.
fn is_dense_equal(a: &str, b: &str) -> bool {
    dense_bytes(a).eq(dense_bytes(b))
}

/// Finds all positions of `wanted` in `keys`, including overlapping ones, in linear time (Knuth, Morris, Pratt).
pub(super) fn occurrences(keys: &[u64], wanted: &[u64]) -> Vec<usize> {
    if wanted.is_empty() || wanted.len() > keys.len() || work::spend_or_end((keys.len() + wanted.len()) / 4) {
        return Vec::new();
    }
    let mut fall = vec![0usize; wanted.len()];
    let mut len = 0;
    for at in 1..wanted.len() {
        while len > 0 && wanted[at] != wanted[len] {
            len = fall[len - 1];
        }
        len += usize::from(wanted[at] == wanted[len]);
        fall[at] = len;
    }
    let mut out = Vec::new();
    let mut have = 0;
    for (at, key) in keys.iter().enumerate() {
        while have > 0 && (have == wanted.len() || *key != wanted[have]) {
            have = fall[have - 1];
        }
        have += usize::from(*key == wanted[have]);
        if have == wanted.len() {
            out.push(at + 1 - have);
        }
    }
    out
}

/// Returns the span of whole lines `from..to`, without the last line end.
pub(super) fn span_of(lines: FileLines<'_>, from: usize, to: usize) -> Span {
    Span::new(lines.start(from), lines.end(to.max(from + 1) - 1))
}
