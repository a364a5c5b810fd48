//! Word anchors: every line of a file has a word that stays with it while the file changes around it.
//!
//! A word is derived from the line's text and its number among equal lines, so that the same file has the same words in
//! every process. [`AnchorMap`] has to be stored only once a file has changed; it then records which line has which
//! word. Three laws hold:
//!
//! - A word is never transferred to another line. If equal lines cannot be distinguished after a change, their words
//!   are retired, and the lines get new ones.
//! - A line that occurs once keeps its word, even if it moves, or is deleted and comes back.
//! - A file that returns to one of its recent texts has the words of that time again, whatever happened in between.
//!
//! A retired word is not reused before [`TOMBSTONES_MIN`] others were retired in that file (in a larger file: twice as
//! many as it has lines).
//!
//! All passes count as work. Once the call has to end, a map is incomplete and must not be used.
#![allow(clippy::cast_possible_truncation, reason = "lines are counted in 32 bits; there are at most a million")]

mod anchor_word;
mod bytes;
pub(crate) mod copied;
mod dictionary;
mod pair;
pub(crate) mod place;
#[cfg(test)]
mod tests;
mod tombstones;

use crate::work;
use anchor_word::TakenWords;
use core::ops::Range;
use pair::{NO_LINE, pair, pair_edit};
use std::collections::{HashMap, HashSet, VecDeque};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

pub use anchor_word::AnchorWord;
pub use place::{AnchorEdit, AnchorPage, AnchorRef, AnchorTarget, PlacementError, are_anchor_edits, of};

/// Lines that an edit replaced, counted from 0: those of the old text and those of the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedRange {
    /// The lines that were removed.
    pub old: Range<usize>,
    /// The lines that replaced them.
    pub new: Range<usize>,
}

/// Maximum number of lines of a file with anchors; there are about two million words.
pub const ANCHORED_LINES_MAX: usize = 1_000_000;
/// Minimum number of tombstones (retired words) that are kept: few enough that a small file with many changes does not
/// run out of single words.
pub const TOMBSTONES_MIN: usize = 512;
const TOMBSTONES_PER_LINE: usize = 2;
/// Maximum number of earlier texts of a file that are recognized. Together they may need at most half as many words as
/// there are tombstones.
const EARLIER_TEXTS_MAX: usize = 32;

/// The anchors of one file: the word of each line, the retired words and the recent texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorMap {
    /// Hash of the text that the words belong to.
    text: u128,
    /// Hash of the text of each line; `names` contains the words of the lines.
    hashes: Vec<u64>,
    words: Vec<AnchorWord>,
    /// Tombstones, the oldest first.
    tombstones: VecDeque<Tombstone>,
    /// For each earlier text, its words relative to those of the text after it; the oldest first.
    earlier_texts: VecDeque<PastText>,
}

/// A tombstone: a word that no line has any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tombstone {
    word: AnchorWord,
    /// Hash of the deleted line if it was the only line with its text, else 0. If such a line comes back, it gets its
    /// word back.
    hash: u64,
}

/// An earlier text of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PastText {
    text: u128,
    /// The words, relative to those of the text that came after it.
    runs: Vec<AnchorRun>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AnchorRun {
    /// A run of words of the later text: its first line (0-based) and its length.
    Same(u32, u32),
    /// Words that the later text does not have.
    Other(Vec<AnchorWord>),
}

impl AnchorMap {
    /// Assigns words to a text seen for the first time; `None` for more than [`ANCHORED_LINES_MAX`] lines. Takes one
    /// pass.
    pub fn new(text: &str) -> Option<AnchorMap> {
        let hashes = hashes(text)?;
        let mut taken = TakenWords::new();
        let mut equal: HashMap<u64, u32> = HashMap::with_capacity(hashes.len());
        let words = work::batched(hashes.iter()).map(|&hash| {
            let nth = equal.entry(hash).or_default();
            *nth += 1;
            taken.allocate(hash, *nth)
        });
        let words = words.collect::<Option<Vec<AnchorWord>>>()?;
        Some(AnchorMap {
            text: xxh3_128(text.as_bytes()),
            hashes,
            words,
            tombstones: VecDeque::new(),
            earlier_texts: VecDeque::new(),
        })
    }

    /// The words of the lines, in order.
    pub fn words(&self) -> &[AnchorWord] {
        &self.words
    }

    /// The words of this text, if it is the current or a recent one.
    pub fn words_of_text(&self, text: &str) -> Option<Vec<AnchorWord>> {
        self.past_words(xxh3_128(text.as_bytes()))
    }

    /// True for a retired word.
    pub fn is_tombstone(&self, word: AnchorWord) -> bool {
        self.tombstones.iter().any(|spent| spent.word == word)
    }

    /// Updates the map to the current text of the file. Returns true if anything changed. Linear in the number of
    /// lines.
    ///
    /// `None` for more than [`ANCHORED_LINES_MAX`] lines; nothing is changed then.
    pub fn follow(&mut self, text: &str) -> Option<bool> {
        self.follow_edit(text, &[])
    }

    /// Updates the map after a known edit: `changed` lists the replaced lines, in order. With them even equal lines are
    /// distinguished.
    ///
    /// `None` for more than [`ANCHORED_LINES_MAX`] lines, and once the work has to end; nothing is changed then.
    pub fn follow_edit(&mut self, text: &str, changed: &[ReplacedRange]) -> Option<bool> {
        let id = xxh3_128(text.as_bytes());
        if id == self.text {
            return Some(false);
        }
        let hashes = hashes(text)?;
        let words = match self.past_words(id) {
            Some(words) if words.len() == hashes.len() => words,
            _ => self.carried(&hashes, changed)?,
        };
        if work::spend_or_end(1) {
            return None;
        }
        self.go_to(id, hashes, words);
        Some(true)
    }

    /// Assigns words to the new lines: the words of the lines they are paired with, those of lines that come back, or
    /// new words.
    fn carried(&self, hashes: &[u64], changed: &[ReplacedRange]) -> Option<Vec<AnchorWord>> {
        if work::spend_or_end(1) {
            return None;
        }
        let known = if changed.is_empty() { None } else { pair_edit(&self.hashes, hashes, changed) };
        let from = known.unwrap_or_else(|| pair(&self.hashes, hashes));
        let mut taken = TakenWords::new();
        for &word in work::batched(self.words.iter().chain(self.tombstones.iter().map(|spent| &spent.word))) {
            taken.take(word);
        }
        let mut fresh: HashMap<u64, UnnamedLine> = HashMap::new();
        for (&hash, _) in work::batched(hashes.iter().zip(&from)).filter(|(_, from)| **from == NO_LINE) {
            fresh.entry(hash).or_default();
        }
        for hash in work::batched(hashes.iter()) {
            if let Some(fresh) = fresh.get_mut(hash) {
                fresh.count += 1;
            }
        }
        for spent in self.tombstones.iter().filter(|spent| spent.hash != 0) {
            if let Some(fresh) = fresh.get_mut(&spent.hash).filter(|fresh| fresh.count == 1) {
                fresh.back = Some(spent.word);
            }
        }
        work::batched(from.iter().zip(hashes))
            .map(|(&from, hash)| self.word_after(&mut fresh, &mut taken, from, *hash))
            .collect()
    }

    /// Returns the word of a line after a change: its former word, or a new one.
    fn word_after(
        &self,
        fresh: &mut HashMap<u64, UnnamedLine>,
        taken: &mut TakenWords,
        from: u32,
        hash: u64,
    ) -> Option<AnchorWord> {
        let nth = fresh.get_mut(&hash).map(|fresh| {
            fresh.nth += 1;
            (fresh.nth, fresh.back)
        });
        match (self.words.get(from as usize), nth) {
            (Some(&word), _) | (None, Some((_, Some(word)))) => Some(word),
            (None, Some((nth, None))) => taken.allocate(hash, nth),
            (None, None) => None,
        }
    }

    /// Makes these the current words, remembers the previous ones, and retires words that are no longer used.
    fn go_to(&mut self, text: u128, hashes: Vec<u64>, words: Vec<AnchorWord>) {
        let positions: HashMap<AnchorWord, u32> = work::batched(words.iter().copied().zip(0..)).collect();
        let mut old: HashMap<u64, u32> = HashMap::new();
        let gone = |word: &AnchorWord| !positions.contains_key(word);
        for (hash, _) in work::batched(self.hashes.iter().zip(&self.words)).filter(|(_, word)| gone(word)) {
            old.insert(*hash, 0);
        }
        for hash in work::batched(self.hashes.iter()) {
            old.entry(*hash).and_modify(|count| *count += 1);
        }
        let had: HashSet<AnchorWord> = work::batched(self.words.iter().copied()).collect();
        let back: HashSet<AnchorWord> = work::batched(words.iter().copied()).filter(|it| !had.contains(it)).collect();
        if !back.is_empty() {
            self.tombstones.retain(|spent| !back.contains(&spent.word));
        }
        for (&hash, &word) in work::batched(self.hashes.iter().zip(&self.words)).filter(|(_, word)| gone(word)) {
            let alone = old.get(&hash) == Some(&1);
            self.tombstones.push_back(Tombstone { word, hash: if alone { hash } else { 0 } });
        }
        let most = TOMBSTONES_MIN.max(TOMBSTONES_PER_LINE * self.words.len().max(words.len()));
        let over = self.tombstones.len().saturating_sub(most);
        self.tombstones.drain(..over);
        self.earlier_texts.push_back(PastText { text: self.text, runs: runs(&self.words, &positions) });
        let mut kept: usize = self.earlier_texts.iter().map(PastText::words).sum();
        while self.earlier_texts.len() > EARLIER_TEXTS_MAX || kept > most / 2 {
            kept -= self.earlier_texts.pop_front().map_or(0, |past| past.words());
        }
        (self.text, self.hashes, self.words) = (text, hashes, words);
    }

    /// The words of the most recent text with this hash.
    fn past_words(&self, text: u128) -> Option<Vec<AnchorWord>> {
        if text == self.text {
            return Some(self.words.clone());
        }
        let at = self.earlier_texts.iter().rposition(|past| past.text == text)?;
        let mut words = self.words.clone();
        for past in self.earlier_texts.range(at..).rev() {
            words = past.before(&words)?;
        }
        Some(words)
    }
}

/// A line that needs a word.
#[derive(Default)]
struct UnnamedLine {
    /// Number of lines with its text.
    count: u32,
    /// Number of these lines that were processed so far.
    nth: u32,
    /// The word that the line had before, if any.
    back: Option<AnchorWord>,
}

impl PastText {
    /// Number of words stored for the text.
    fn words(&self) -> usize {
        self.runs.iter().map(|run| if let AnchorRun::Other(words) = run { words.len() } else { 0 }).sum()
    }

    /// Restores the words of the text from those of the text after it.
    fn before(&self, after: &[AnchorWord]) -> Option<Vec<AnchorWord>> {
        let mut out = Vec::with_capacity(after.len());
        for run in &self.runs {
            match run {
                AnchorRun::Same(from, len) => {
                    let from = *from as usize;
                    out.extend_from_slice(after.get(from..from.checked_add(*len as usize)?)?);
                }
                AnchorRun::Other(words) => out.extend_from_slice(words),
            }
        }
        Some(out)
    }
}

/// Encodes words relative to later ones.
fn runs(words: &[AnchorWord], later: &HashMap<AnchorWord, u32>) -> Vec<AnchorRun> {
    let mut out: Vec<AnchorRun> = Vec::new();
    for word in work::batched(words.iter()) {
        match (later.get(word), out.last_mut()) {
            (Some(&at), Some(AnchorRun::Same(from, len))) if *from + *len == at => *len += 1,
            (Some(&at), _) => out.push(AnchorRun::Same(at, 1)),
            (None, Some(AnchorRun::Other(words))) => words.push(*word),
            (None, _) => out.push(AnchorRun::Other(vec![*word])),
        }
    }
    out
}

/// Hashes the lines; `None` if there are too many.
fn hashes(text: &str) -> Option<Vec<u64>> {
    let mut out = Vec::with_capacity(text.len() / 32);
    for line in work::lines_with_ends(text) {
        if out.len() == ANCHORED_LINES_MAX {
            return None;
        }
        // In tombstones, 0 means that there is no line.
        out.push(xxh3_64(line.strip_suffix('\n').unwrap_or(line).as_bytes()).max(1));
    }
    Some(out)
}
