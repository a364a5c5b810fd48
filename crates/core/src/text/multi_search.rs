//! Search for many texts (needles) in one pass that looks only at every n-th position (the stride) of the searched
//! text.
//!
//! For each needle, short substrings (grams) are kept, one for each remainder of their offset modulo the stride.
//! Wherever the needle occurs, exactly one of them is at a position that is examined: every occurrence is found once,
//! so counts are exact. The gram for a remainder can be chosen freely; a sample of the searched text and of the needles
//! decides which one is rarest. Longer needles have longer, more selective grams. If the needles are so repetitive that
//! no gram is selective, the search is given up after a bounded number of steps.

use crate::work;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::collections::HashMap;

/// Bytes of a gram, and the stride that the shortest needle must allow for that width: long grams are more selective,
/// but with a shorter stride the additional positions would cost more than that gains.
const GRAM_WIDTHS: [(usize, usize); 2] = [(32, 64), (16, 16)];
/// Bytes of a gram for needles that are too short for the wider ones.
const NARROW_GRAM_BYTES: usize = 8;
/// Needles with fewer bytes than this have too few grams, and are searched for with an automaton.
pub(crate) const SHORT_NEEDLE_BYTES: usize = 16;
/// Maximum bytes of the needles of one automaton, which takes some hundred times their memory.
pub(crate) const AUTOMATON_NEEDLE_BYTES_MAX: usize = 256 << 10;
/// Bytes of all needles of an automaton up to which the library chooses its kind.
const SMALL_AUTOMATON_BYTES_MAX: usize = 1024;
/// The largest stride; beyond it every step costs a cache line anyway.
const STRIDE_BYTES_MAX: usize = 128;
/// Cost of a comparison with one candidate, in bytes compared.
const CANDIDATE_COST_BYTES: usize = 16;
/// Bits of the filter for each gram: the minimum, and the number used while the filter fits the L1 cache. `CACHED` is
/// that size in bits.
const FILTER_BITS_PER_GRAM: (usize, usize) = (16, 64);
const CACHED_FILTER_BITS: usize = 1 << 17;
/// Positions sampled in the searched text, and in the needles: half as many as there are grams, within these bounds.
const SAMPLED_PLACES: (usize, usize) = (1024, 1 << 16);

/// Bytes of the searched text between two checks of the work.
const COUNTED_BYTES: usize = 1 << 16;

/// An occurrence of a needle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NeedleMatch {
    /// Index of the needle.
    pub(crate) needle: usize,
    /// Offset at which it begins.
    pub(crate) at: usize,
}

/// A set of needles, prepared for searching.
pub(crate) struct Needles<'p> {
    long: Option<GramIndex<'p>>,
    short: Option<NeedleAutomaton>,
}

/// The automaton for short needles.
struct NeedleAutomaton {
    matcher: AhoCorasick,
    /// For each of its patterns, the indices of the needles with that text. The library takes quadratic time for equal
    /// patterns.
    needles: Vec<Vec<usize>>,
}

impl<'p> Needles<'p> {
    /// Prepares needles for a search in `total` bytes that resemble `sample`. Empty needles never occur. `None` if
    /// there are too many.
    pub(crate) fn new(all: &[&'p str], sample: impl AsRef<[u8]>, total: usize) -> Option<Needles<'p>> {
        let short = Needles::automaton(all, |needle| needle.len() < SHORT_NEEDLE_BYTES)?.short;
        Some(Needles { long: GramIndex::new(all, sample.as_ref(), total), short })
    }

    /// Prepares needles without grams: the search takes the same moderate time for any input.
    pub(crate) fn without_grams(all: &[&'p str]) -> Option<Needles<'p>> {
        Needles::automaton(all, |_| true)
    }

    fn automaton(all: &[&str], which: fn(&str) -> bool) -> Option<Needles<'p>> {
        let (mut texts, mut needles): (Vec<&str>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        let mut patterns: HashMap<&str, usize> = HashMap::new();
        for (nth, &needle) in all.iter().enumerate().filter(|(_, needle)| !needle.is_empty() && which(needle)) {
            let pattern = *patterns.entry(needle).or_insert(texts.len());
            if pattern == texts.len() {
                texts.push(needle);
                needles.push(Vec::new());
            }
            needles[pattern].push(nth);
        }
        if texts.is_empty() {
            return Some(Needles { long: None, short: None });
        }
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        // The kind that the library chooses itself is built in quadratic time for long needles that repeat a letter.
        let kind = (bytes > SMALL_AUTOMATON_BYTES_MAX).then_some(AhoCorasickKind::ContiguousNFA);
        let built = AhoCorasick::builder().match_kind(MatchKind::Standard).kind(kind).build(texts);
        Some(Needles { long: None, short: Some(NeedleAutomaton { matcher: built.ok()?, needles }) })
    }

    /// Finds all occurrences of all needles, including overlapping ones, in no order. Subtracts the cost from the
    /// budget, in bytes compared beyond the one pass; `None` if the budget is used up.
    pub(crate) fn find_all(&self, text: impl AsRef<[u8]>, budget: &mut usize) -> Option<Vec<NeedleMatch>> {
        let text = text.as_ref();
        let mut out = Vec::new();
        if let Some(long) = &self.long {
            long.seen(text, budget, &mut out)?;
        }
        if let Some(NeedleAutomaton { matcher, needles }) = &self.short {
            for found in matcher.find_overlapping_iter(text) {
                let equal = &needles[found.pattern().as_usize()];
                *budget = budget.checked_sub(2 * CANDIDATE_COST_BYTES * equal.len())?;
                out.extend(equal.iter().map(|&needle| NeedleMatch { needle, at: found.start() }));
            }
        }
        Some(out)
    }
}

/// The grams of the longer needles.
struct GramIndex<'p> {
    needles: Vec<&'p [u8]>,
    stride: usize,
    width: usize,
    /// A bit filter over the hashes of grams, which rejects most positions immediately.
    bits: Vec<u64>,
    /// Shifts that turn a hash into its bit and into its chain.
    shifts: (u32, u32),
    /// For each chain, the index of its first gram plus one.
    heads: Vec<u32>,
    grams: Vec<Gram>,
}

/// A gram of a needle.
struct Gram {
    /// The hash of the gram; candidates with an equal hash are compared in full.
    hash: u64,
    needle: u32,
    offset: u32,
    /// Index of the next gram of its chain plus one.
    next: u32,
}

impl<'p> GramIndex<'p> {
    /// Builds the grams; `None` if no needle is long enough.
    fn new(all: &[&'p str], sample: &[u8], total: usize) -> Option<GramIndex<'p>> {
        let long = || all.iter().filter(|needle| needle.len() >= SHORT_NEEDLE_BYTES);
        let (count, least) = (long().count(), long().map(|needle| needle.len()).min()?);
        // A longer stride means fewer positions to examine, but more grams.
        let wish = (total / (5 * count)).isqrt().clamp(1, STRIDE_BYTES_MAX);
        let width = GRAM_WIDTHS
            .iter()
            .find(|&&(width, stride)| least + 1 >= width + wish.min(stride))
            .map_or(NARROW_GRAM_BYTES, |it| it.0);
        let stride = wish.min(least + 1 - width);
        let kept = count * stride;
        let bits = (kept * FILTER_BITS_PER_GRAM.1)
            .min(CACHED_FILTER_BITS)
            .max(kept * FILTER_BITS_PER_GRAM.0)
            .next_power_of_two()
            .max(64);
        let chains = (kept * 2).next_power_of_two();
        let mut grams = GramIndex {
            needles: all.iter().map(|needle| needle.as_bytes()).collect(),
            stride,
            width,
            bits: vec![0; bits / 64],
            shifts: (64 - bits.trailing_zeros(), 64 - chains.trailing_zeros()),
            heads: vec![0; chains],
            grams: Vec::with_capacity(kept),
        };
        match width {
            32 => grams.keep_all::<32>(sample),
            16 => grams.keep_all::<16>(sample),
            _ => grams.keep_all::<8>(sample),
        }
        Some(grams)
    }

    fn keep_all<const WIDTH: usize>(&mut self, sample: &[u8]) {
        let long: Vec<usize> =
            (0..self.needles.len()).filter(|&needle| self.needles[needle].len() >= SHORT_NEEDLE_BYTES).collect();
        let common = GramSample::new::<WIDTH>(sample, &self.needles, self.grams.capacity());
        for needle in long {
            if work::spend_or_end(1) {
                break;
            }
            for class in 0..self.stride {
                let (offset, hash) = common.rarest::<WIDTH>(self.needles[needle], class, self.stride);
                self.keep(needle, offset, hash);
            }
        }
    }

    fn keep(&mut self, needle: usize, offset: usize, hash: u64) {
        let (bit, chain) = (slot(hash, self.shifts.0), slot(hash, self.shifts.1));
        self.bits[bit / 64] |= 1 << (bit % 64);
        let piece = Gram { hash, needle: to_u32(needle), offset: to_u32(offset), next: self.heads[chain] };
        self.grams.push(piece);
        self.heads[chain] = to_u32(self.grams.len());
    }

    fn seen(&self, text: &[u8], budget: &mut usize, out: &mut Vec<NeedleMatch>) -> Option<()> {
        match self.width {
            32 => self.scan::<32>(text, budget, out),
            16 => self.scan::<16>(text, budget, out),
            _ => self.scan::<8>(text, budget, out),
        }
    }

    fn scan<const WIDTH: usize>(&self, text: &[u8], budget: &mut usize, out: &mut Vec<NeedleMatch>) -> Option<()> {
        let (stride, shift) = (self.stride.max(1), self.shifts.0);
        let bits = &*self.bits;
        let (mut at, mut counted_at) = (0, COUNTED_BYTES);
        while let Some(piece) = text.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) {
            if at >= counted_at {
                counted_at = at + COUNTED_BYTES;
                if work::spend_or_end(1) {
                    return None;
                }
            }
            let hash = hash_of(piece);
            let bit = slot(hash, shift);
            if bits.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1) {
                self.compare(text, at, hash, budget, out)?;
            }
            at += stride;
        }
        Some(())
    }

    /// Compares the text with all needles that have this gram.
    fn compare(&self, text: &[u8], at: usize, hash: u64, budget: &mut usize, out: &mut Vec<NeedleMatch>) -> Option<()> {
        let mut next = self.heads[slot(hash, self.shifts.1)];
        while let Some(piece) = (next as usize).checked_sub(1).and_then(|index| self.grams.get(index)) {
            next = piece.next;
            *budget = budget.checked_sub(CANDIDATE_COST_BYTES)?;
            if piece.hash != hash {
                continue;
            }
            let needle = self.needles[piece.needle as usize];
            let Some(start) = at.checked_sub(piece.offset as usize) else { continue };
            let Some(here) = text.get(start..start + needle.len()) else { continue };
            // The first bytes distinguish most needles, and only bytes that were compared count.
            let head = needle.len().min(4 * CANDIDATE_COST_BYTES);
            if here[..head] == needle[..head] {
                *budget = budget.checked_sub(needle.len())?;
                if here[head..] == needle[head..] {
                    out.push(NeedleMatch { needle: piece.needle as usize, at: start });
                }
            }
        }
        Some(())
    }
}

/// Converts a number; one that is too large becomes the maximum.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Sampled frequency of grams in the searched text and in the needles.
struct GramSample {
    slots: Vec<u8>,
    shift: u32,
}

impl GramSample {
    fn new<const WIDTH: usize>(text: &[u8], needles: &[&[u8]], kept: usize) -> GramSample {
        let (least, most) = SAMPLED_PLACES;
        let sampled = (kept / 2).clamp(least, most);
        let bytes: usize = needles.iter().map(|needle| needle.len()).sum();
        let slots = (8 * sampled).next_power_of_two();
        let mut sample = GramSample { slots: vec![0; slots], shift: 64 - slots.trailing_zeros() };
        // An odd step does not fall into phase with repetitions in the text.
        sample.count::<WIDTH>(text, (text.len() / sampled) | 1);
        for needle in needles.iter().filter(|needle| needle.len() >= SHORT_NEEDLE_BYTES) {
            sample.count::<WIDTH>(needle, (bytes / sampled) | 1);
        }
        sample
    }

    fn count<const WIDTH: usize>(&mut self, text: &[u8], step: usize) {
        let mut at = 0;
        while let Some(piece) = text.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) {
            if let Some(often) = self.slots.get_mut(slot(hash_of(piece), self.shift)) {
                *often = often.saturating_add(1);
            }
            at += step;
        }
    }

    /// Returns the offset, among those of this remainder, whose gram is rarest, and its hash: the first that occurs at
    /// most once.
    fn rarest<const WIDTH: usize>(&self, needle: &[u8], class: usize, stride: usize) -> (usize, u64) {
        let mut best = (u8::MAX, class, 0);
        let mut offset = class;
        while let Some(piece) = needle.get(offset..).and_then(<[u8]>::first_chunk::<WIDTH>) {
            let hash = hash_of(piece);
            let often = self.slots.get(slot(hash, self.shift)).copied().unwrap_or(0);
            if often < best.0 || offset == class {
                best = (often, offset, hash);
                // The sample counted the gram itself once.
                if often <= 1 {
                    break;
                }
            }
            offset += stride;
        }
        (best.1, best.2)
    }
}

/// Hashes a gram, injectively for grams of eight bytes; the upper bits are the well-mixed ones.
#[inline(always)]
fn hash_of<const WIDTH: usize>(piece: &[u8; WIDTH]) -> u64 {
    const HASH_MULTIPLIERS: [u64; 4] =
        [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0xD6E8_FEB8_6659_FD93, 0xA076_1D64_78BD_642F];
    let mut words =
        piece.as_chunks::<8>().0.iter().zip(HASH_MULTIPLIERS).map(|(word, odd)| u64::from_le_bytes(*word) ^ odd);
    if WIDTH == 8 {
        return words.next().unwrap_or(0).wrapping_mul(HASH_MULTIPLIERS[1]);
    }
    let mut hash = 0;
    while let (Some(one), Some(other)) = (words.next(), words.next()) {
        let [low, high] = halves(u128::from(one) * u128::from(other));
        hash ^= low ^ high;
    }
    hash
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of it")]
fn halves(product: u128) -> [u64; 2] {
    [product as u64, (product >> 64) as u64]
}

fn slot(hash: u64, shift: u32) -> usize {
    usize::try_from(hash >> shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{NeedleMatch, Needles};
    use proptest::prelude::*;

    /// Finds every occurrence by a comparison at every position.
    fn everywhere(all: &[&str], text: &str) -> Vec<NeedleMatch> {
        let bytes = text.as_bytes();
        let starts = |needle: usize| {
            let of = all[needle].as_bytes();
            let at = (0..bytes.len()).filter(move |&at| !of.is_empty() && bytes[at..].starts_with(of));
            at.map(move |at| NeedleMatch { needle, at })
        };
        (0..all.len()).flat_map(starts).collect()
    }

    fn check(all: &[&str], text: &str) {
        let want = everywhere(all, text);
        for needles in [Needles::new(all, text, text.len()), Needles::without_grams(all)] {
            let mut seen = needles.unwrap().find_all(text, &mut usize::MAX.clone()).unwrap();
            seen.sort_unstable();
            assert_eq!(seen, want, "{all:?} in {text:?}");
        }
    }

    proptest! {
        #[test]
        fn exactly_all_matches_are_found(
            text in prop_oneof!["[ab]{0,400}", "([a-d]{1,9}\n){0,60}", "(    |\\}\n|x = \"é\";\n|fn f\\(\\) \\{\n){0,80}"],
            cuts in prop::collection::vec((0usize..600, 0usize..120), 0..12),
            foreign in prop::collection::vec("[ab ]{0,40}", 0..4),
        ) {
            let whole = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let piece = |&(from, len): &(usize, usize)| &text[whole(from)..whole(from + len)];
            let all: Vec<&str> = cuts.iter().map(piece).chain(foreign.iter().map(String::as_str)).collect();
            check(&all, &text);
        }
    }

    #[test]
    fn long_needles_of_one_letter_are_searched_in_linear_time() {
        let (needle, text) = ("a".repeat(130_000), "a".repeat(1_000_000));
        let found = Needles::without_grams(&[&needle]).unwrap().find_all(&text, &mut 100_000_000).unwrap();
        assert_eq!(found.len(), text.len() - needle.len() + 1);
    }

    #[test]
    fn each_of_many_equal_needles_is_found() {
        let all = vec!["a\nb"; 100_000];
        let found = Needles::without_grams(&all).unwrap().find_all("a\nb", &mut 100_000_000).unwrap();
        assert_eq!(found.len(), all.len());
    }

    #[test]
    fn repetitive_needles_are_rejected() {
        let text = "a".repeat(100_000);
        let needle = "a".repeat(5000);
        let needles = Needles::new(&[&needle, &needle[1..]], &text, text.len()).unwrap();
        assert!(needles.find_all(&text, &mut (text.len() / 4)).is_none());
        assert!(needles.find_all(&text[..4000], &mut 0).is_none());
        assert_eq!(needles.find_all("b", &mut 0).unwrap(), []);
    }
}
