//! What one search shares between its tiers: the lines of the file and their keys, made when first asked for.

use super::file_lines::{FileLines, Known};
use super::fold::{self, Look, is_blank};
use super::indent;
use super::place::Place;
use super::stands::{self, Stands};
use super::tokens;
use crate::op::Find;
use crate::snapshot::Snapshot;
use crate::span::Span;
use crate::work::{self, STEP_BYTES};
use core::ops::Range;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// What all searches in one text share, made when first asked for.
pub(crate) struct Index<'a> {
    pub(super) base: &'a Snapshot,
    pub(super) text: &'a str,
    lines: Known,
    loose: OnceCell<Vec<u64>>,
    close: OnceCell<Vec<u64>>,
    table: OnceCell<LineTable>,
    /// The same by what is not blank in a line.
    dense: OnceCell<LineTable>,
    /// The lines that are not ASCII; `None`: many.
    odd: OnceCell<Option<Vec<(usize, u64)>>>,
    /// The step by which lines are indented that are so by blanks.
    step: OnceCell<Option<String>>,
    /// What was looked up, by the key of the line.
    known: RefCell<HashMap<u64, Option<Rc<Stands>>>>,
    /// Bytes that were gone through to look lines up.
    pub(super) spent: Cell<usize>,
    /// Places of hunks that are kept to choose from.
    pub(super) kept: Cell<usize>,
}

impl<'a> Index<'a> {
    /// The index of a snapshot; nothing is read yet.
    pub(crate) fn new(base: &'a Snapshot) -> Index<'a> {
        Index {
            base,
            text: base.text(),
            lines: Known::default(),
            loose: OnceCell::new(),
            close: OnceCell::new(),
            table: OnceCell::new(),
            dense: OnceCell::new(),
            odd: OnceCell::new(),
            step: OnceCell::new(),
            known: RefCell::default(),
            spent: Cell::new(0),
            kept: Cell::new(0),
        }
    }

    /// An index that goes the plain way, which the quick one has to agree with.
    #[cfg(test)]
    pub(super) fn plain(base: &'a Snapshot) -> Index<'a> {
        Index { spent: Cell::new(usize::MAX), odd: OnceCell::from(None), ..Index::new(base) }
    }

    /// The snapshot.
    pub(crate) fn base(&self) -> &'a Snapshot {
        self.base
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> FileLines<'_> {
        FileLines::new(self.base, &self.lines)
    }

    /// One line of the file, zero-based, without its line end.
    pub(super) fn line(&self, at: usize) -> &'a str {
        let lines = self.lines();
        let start = lines.start(at);
        &self.text[start..start + lines.line(at).len()]
    }

    /// The lines of the file that look like this one under the look that forgives most; `None` where only a look at all lines
    /// would tell.
    pub(super) fn stands(&self, line: &str) -> Option<Rc<Stands>> {
        let key = fold::key(line, Look::Runs);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let found = stands::stands(self, line).map(Rc::new);
        self.known.borrow_mut().insert(key, found.clone());
        found
    }

    /// The lines that are not ASCII, each with its key under the look that forgives most; `None`: they are many.
    pub(super) fn odd(&self) -> Option<&[(usize, u64)]> {
        self.odd.get_or_init(|| stands::odd(self)).as_deref()
    }

    /// The step by which the lines of the file are indented, of those that have blanks in front and no tab.
    pub(super) fn step(&self) -> Option<&str> {
        self.step.get_or_init(|| indent::step_in_blanks(self.text.split('\n'))).as_deref()
    }

    /// Where each line stands, by its exact text.
    pub(super) fn table(&self) -> &LineTable {
        self.table.get_or_init(|| LineTable::new((0..self.lines().count()).map(|at| self.line(at))))
    }

    /// The lines (zero-based, in order) that differ from this one in blanks alone, of which none is within a token: the first
    /// `most` of them.
    pub(super) fn spaced_otherwise(&self, line: &str, most: usize) -> Vec<usize> {
        let same = |file: &str| is_dense_equal(file, line) && tokens::are_same(file, line);
        let words = tokens::tokens(line).into_iter().filter(|word| !word.trim().is_empty()).collect();
        let quick = self.dense.get().is_none().then(|| stands::by_words(self, words, most, &same)).flatten();
        quick.unwrap_or_else(|| {
            let table = || LineTable::of_keys((0..self.lines().count()).map(|at| dense_key(self.line(at))).collect());
            let alike = self.dense.get_or_init(table).lines_with(dense_key(line));
            alike.filter(|&at| same(self.line(at))).take(most).collect()
        })
    }

    /// Earlier answer of [`Index::stands`] for this line; `None` if it was not asked or had no answer.
    pub(super) fn known_stands(&self, line: &str) -> Option<Rc<Stands>> {
        self.known.borrow().get(&fold::key(line, Look::Runs)).cloned().flatten()
    }

    /// See [`Search::loose_keys`].
    pub(super) fn loose_keys(&self) -> &[u64] {
        self.loose.get_or_init(|| self.keys(Look::Runs))
    }

    fn keys(&self, look: Look) -> Vec<u64> {
        // Where the work ends, the keys are of no use, but there is one for each line.
        let key = |line: &str| if work::ends(1 + line.len() / 4) { 0 } else { fold::key(line, look) };
        split(self.text).into_iter().map(key).collect()
    }
}

/// One search: a text, what is looked for, what shall stand there.
pub(super) struct Search<'a> {
    pub(super) index: &'a Index<'a>,
    pub(super) base: &'a Snapshot,
    pub(super) text: &'a str,
    pub(super) find: &'a Find,
    pub(super) new: &'a str,
    /// The places of tier 0, where they are known already.
    pub(super) literal: Option<&'a [Span]>,
    /// A deletion removes exactly the given text.
    pub(super) literal_deletion: bool,
    /// Literal text is written exactly as given, even if that doubles its indentation.
    pub(super) literal_only: bool,
    /// Old and new as lines.
    pub(super) wanted: Rc<Wanted<'a>>,
    windows: OnceCell<Vec<usize>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(index: &'a Index<'a>, find: &'a Find, new: &'a str) -> Search<'a> {
        let wanted = Wanted { old: split(&find.old), new: split(new), changes: None };
        Search::wanting(index, find, new, wanted)
    }

    /// A search for lines of which it is known what changes.
    pub(super) fn wanting(index: &'a Index<'a>, find: &'a Find, new: &'a str, wanted: Wanted<'a>) -> Search<'a> {
        let (base, text) = (index.base, index.text);
        Search {
            index,
            base,
            text,
            find,
            new,
            literal: None,
            literal_deletion: false,
            literal_only: true,
            wanted: Rc::new(wanted),
            windows: OnceCell::new(),
        }
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> FileLines<'a> {
        self.index.lines()
    }

    /// One line of the file, zero-based, without its line end.
    pub(super) fn line(&self, at: usize) -> &'a str {
        self.index.line(at)
    }

    /// Keys of all lines under the look that forgives most: a window without equal keys fits at no tier.
    pub(super) fn loose_keys(&self) -> &'a [u64] {
        self.index.loose_keys()
    }

    /// The lines that are like this one but for their indentation, at least the first `most` of them where there are more.
    pub(super) fn lines_but_for_indent(&self, line: &str, most: usize) -> Vec<usize> {
        let key = fold::key(line, Look::Trimmed);
        let stands = self.index.stands(line);
        if let Some(all) = stands.as_ref().and_then(|stands| stands.all()) {
            return all.iter().copied().filter(|&at| fold::key(self.line(at), Look::Trimmed) == key).collect();
        }
        let all = self.close_keys().iter().enumerate().filter(|(_, own)| **own == key);
        all.map(|(at, _)| at).take(most).collect()
    }

    /// Keys of all lines, blank runs counted.
    pub(super) fn close_keys(&self) -> &'a [u64] {
        self.index.close.get_or_init(|| self.index.keys(Look::Trimmed))
    }

    /// [`Search::windows`] of old as it is.
    pub(super) fn wanted_windows(&self) -> &[usize] {
        self.windows.get_or_init(|| self.windows(&self.wanted.old))
    }

    /// Where whole lines begin that may be `old`: zero-based, overlapping ones too.
    pub(super) fn windows(&self, old: &[&str]) -> Vec<usize> {
        if self.index.loose.get().is_none()
            && let Some(starts) = stands::windows(self, old)
        {
            return starts;
        }
        let keys: Vec<u64> = old.iter().map(|line| fold::key(line, Look::Runs)).collect();
        occurrences(self.loose_keys(), &keys)
    }
}

/// Old and new as lines, without line ends; an empty text has no lines.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    /// Which lines of old become which of new, where the caller said it; `None`: as a comparison shows.
    pub(super) changes: Option<Vec<(Range<usize>, Range<usize>)>>,
}

impl<'a> Wanted<'a> {
    /// Without some of the lines that stay at both ends.
    pub(super) fn inner(&self, front: usize, back: usize) -> Wanted<'a> {
        let shift = |at: &Range<usize>| at.start - front..at.end - front;
        Wanted {
            old: self.old[front..self.old.len() - back].to_vec(),
            new: self.new[front..self.new.len() - back].to_vec(),
            changes: self.changes.as_ref().map(|all| all.iter().map(|(a, b)| (shift(a), shift(b))).collect()),
        }
    }

    /// Letters and digits in old, counted up to `enough`.
    pub(super) fn substance(&self, enough: usize) -> usize {
        let mut count = 0;
        for line in &self.old {
            if count >= enough {
                break;
            }
            count += fold::substance(line, enough - count);
        }
        count
    }

    /// True when some line of old is not blank.
    pub(super) fn has_text(&self) -> bool {
        self.old.iter().any(|line| !is_blank(line))
    }
}

/// The lines of a text; an empty rest after the last line end is none.
pub(super) fn split(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    text.strip_suffix('\n').unwrap_or(text).split('\n').collect()
}

/// Where each line of a text stands, by a hash of its exact text: chains through two flat arrays.
pub(super) struct LineTable {
    keys: Vec<u64>,
    /// For every bucket the first line in it, plus one.
    heads: Vec<u32>,
    /// For every line the next one of its bucket, plus one.
    next: Vec<u32>,
}

impl LineTable {
    fn new<'t>(lines: impl Iterator<Item = &'t str>) -> LineTable {
        let key = |line: &str| if work::ends(1 + line.len() / STEP_BYTES) { 0 } else { exact_key(line) };
        LineTable::of_keys(lines.map(key).collect())
    }

    fn of_keys(keys: Vec<u64>) -> LineTable {
        let mut table = LineTable {
            heads: vec![0; (keys.len() * 2).next_power_of_two()],
            next: vec![0; keys.len()],
            keys: Vec::new(),
        };
        // From the last line on, so that chains are in the order of the text.
        for (at, &key) in keys.iter().enumerate().rev() {
            let bucket = table.bucket(key);
            table.next[at] = table.heads[bucket];
            table.heads[bucket] = u32::try_from(at + 1).unwrap_or(0);
        }
        table.keys = keys;
        table
    }

    fn bucket(&self, key: u64) -> usize {
        usize::try_from(key).unwrap_or(0) & (self.heads.len() - 1)
    }

    /// The lines (zero-based, in order) with the hash of this one.
    pub(super) fn lines_like(&self, line: &str) -> impl Iterator<Item = usize> {
        self.lines_with(exact_key(line))
    }

    /// The lines (zero-based, in order) with this hash.
    fn lines_with(&self, key: u64) -> impl Iterator<Item = usize> {
        let mut at = self.heads[self.bucket(key)];
        core::iter::from_fn(move || {
            while at > 0 {
                let line = at as usize - 1;
                at = self.next[line];
                if self.keys[line] == key {
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

/// A hash of what is not blank in a line.
fn dense_key(line: &str) -> u64 {
    if work::ends(1 + line.len() / STEP_BYTES) {
        return 0;
    }
    let bytes: Vec<u8> = line.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

/// True when two lines have the same bytes but for blanks.
fn is_dense_equal(a: &str, b: &str) -> bool {
    let dense = |byte: &u8| !byte.is_ascii_whitespace();
    a.bytes().filter(dense).eq(b.bytes().filter(dense))
}

/// What a tier found.
#[derive(Default)]
pub(super) struct Trial<'a> {
    /// The places, in order, overlapping ones too.
    pub(super) places: Vec<Place<'a>>,
    /// A 1-based line that may choose among them: the number copied with the text.
    pub(super) number: Option<usize>,
    /// New text at some place has the file's indentation already, unlike old.
    pub(super) fitted: bool,
}

/// All positions of `wanted` in `keys`, overlapping ones too, in linear time (Knuth, Morris, Pratt).
pub(super) fn occurrences(keys: &[u64], wanted: &[u64]) -> Vec<usize> {
    if wanted.is_empty() || wanted.len() > keys.len() || work::ends((keys.len() + wanted.len()) / 4) {
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

/// The span of whole lines `from..to`, without the last line end.
pub(super) fn span_of(lines: FileLines<'_>, from: usize, to: usize) -> Span {
    Span::new(lines.start(from), lines.end(to.max(from + 1) - 1))
}
