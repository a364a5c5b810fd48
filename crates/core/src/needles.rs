//! Many texts looked for in one pass: only every so-many-th place of the searched text is looked at.
//!
//! Of each text, pieces of eight bytes are kept, one for each remainder of their offset by the stride. Wherever the text
//! stands, just one of them lies on a place that is looked at: every occurrence is met once, so counts are exact. Which
//! piece is kept for a remainder is free; the one that a sample of the searched text shows least is taken. Where texts
//! repeat themselves so much that no piece tells anything, the search is given up after a bounded number of steps.

use aho_corasick::{AhoCorasick, MatchKind};

/// Bytes of a piece.
const GRAM: usize = 8;
/// Texts shorter than this have too few pieces; they go to an automaton.
pub(crate) const SHORT: usize = 16;
/// The largest stride; beyond it every step costs a line of the cache.
const STRIDE: usize = 128;
/// What a look at one candidate costs, in bytes compared.
const LOOK: usize = 16;
/// Places of the searched text in the sample, and slots of the table that counts their pieces (a power of two).
const SAMPLED: usize = 1024;
const SLOTS: usize = 2048;

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// Which of the texts.
    pub(crate) needle: usize,
    /// The offset at which it begins.
    pub(crate) at: usize,
}

/// Texts to look for.
pub(crate) struct Needles<'p> {
    long: Option<Grams<'p>>,
    /// Those for the automaton, with their places in the list.
    short: Option<(AhoCorasick, Vec<usize>)>,
}

impl<'p> Needles<'p> {
    /// Texts to look for in `total` bytes that look like `sample`. Empty ones are nowhere. `None`: they are too many.
    pub(crate) fn new(all: &[&'p str], sample: &str, total: usize) -> Option<Needles<'p>> {
        let short = Needles::automaton(all, |needle| needle.len() < SHORT)?.short;
        Some(Needles { long: Grams::new(all, sample.as_bytes(), total), short })
    }

    /// The same without pieces: nothing makes it slow, but it is never fast.
    pub(crate) fn plain(all: &[&'p str]) -> Option<Needles<'p>> {
        Needles::automaton(all, |_| true)
    }

    fn automaton(all: &[&str], which: fn(&str) -> bool) -> Option<Needles<'p>> {
        let chosen: Vec<usize> = (0..all.len()).filter(|&nth| !all[nth].is_empty() && which(all[nth])).collect();
        if chosen.is_empty() {
            return Some(Needles { long: None, short: None });
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(chosen.iter().map(|&nth| all[nth]));
        Some(Needles { long: None, short: Some((built.ok()?, chosen)) })
    }

    /// All places of all texts, overlapping ones too, in no order. Takes what it cost, in bytes looked at beside the one
    /// pass, from the budget; `None` when that is used up.
    pub(crate) fn seen(&self, text: &str, budget: &mut usize) -> Option<Vec<Seen>> {
        let mut out = Vec::new();
        if let Some(long) = &self.long {
            long.seen(text.as_bytes(), budget, &mut out)?;
        }
        if let Some((automaton, names)) = &self.short {
            for hit in automaton.find_overlapping_iter(text) {
                *budget = budget.checked_sub(2 * LOOK)?;
                out.push(Seen { needle: names[hit.pattern().as_usize()], at: hit.start() });
            }
        }
        Some(out)
    }
}

/// The kept pieces of the longer texts.
struct Grams<'p> {
    all: Vec<&'p [u8]>,
    stride: usize,
    /// One bit for each hash of a piece: most places of a text are done with after one look at it.
    bits: Vec<u64>,
    /// Hashes are shifted by so much to get their bit, and to get their chain.
    shifts: (u32, u32),
    /// For each chain its first piece, plus one.
    heads: Vec<u32>,
    pieces: Vec<Piece>,
}

/// One kept piece.
struct Piece {
    gram: u64,
    needle: u32,
    offset: u32,
    /// The next of its chain, plus one.
    next: u32,
}

impl<'p> Grams<'p> {
    /// `None` when no text is long enough.
    fn new(all: &[&'p str], sample: &[u8], total: usize) -> Option<Grams<'p>> {
        let long = || all.iter().filter(|needle| needle.len() >= SHORT);
        let (count, least) = (long().count(), long().map(|needle| needle.len()).min()?);
        // A longer stride makes fewer looks at the text and more pieces.
        let stride = (total / (5 * count)).isqrt().clamp(1, STRIDE).min(least - GRAM + 1);
        let kept = count * stride;
        let (bits, chains) = ((kept * 16).next_power_of_two().max(64), (kept * 2).next_power_of_two());
        let mut grams = Grams {
            all: all.iter().map(|needle| needle.as_bytes()).collect(),
            stride,
            bits: vec![0; bits / 64],
            shifts: (64 - bits.trailing_zeros(), 64 - chains.trailing_zeros()),
            heads: vec![0; chains],
            pieces: Vec::with_capacity(kept),
        };
        let common = Sample::new(sample);
        let mut best = vec![(0u16, 0usize); stride];
        for needle in 0..all.len() {
            if grams.all[needle].len() >= SHORT {
                common.rarest(grams.all[needle], &mut best);
                for &(_, offset) in &best {
                    grams.keep(needle, offset);
                }
            }
        }
        Some(grams)
    }

    fn keep(&mut self, needle: usize, offset: usize) {
        let gram = gram(self.all[needle], offset);
        let hash = hash(gram);
        let (bit, chain) = (slot(hash, self.shifts.0), slot(hash, self.shifts.1));
        self.bits[bit / 64] |= 1 << (bit % 64);
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let piece = Piece { gram, needle: narrow(needle), offset: narrow(offset), next: self.heads[chain] };
        self.pieces.push(piece);
        self.heads[chain] = narrow(self.pieces.len());
    }

    fn seen(&self, text: &[u8], budget: &mut usize, out: &mut Vec<Seen>) -> Option<()> {
        let last = (text.len() + 1).saturating_sub(GRAM);
        for at in (0..last).step_by(self.stride) {
            let gram = gram(text, at);
            let hash = hash(gram);
            let bit = slot(hash, self.shifts.0);
            if self.bits[bit / 64] >> (bit % 64) & 1 == 1 {
                self.look(text, (at, gram, slot(hash, self.shifts.1)), budget, out)?;
            }
        }
        Some(())
    }

    /// Looks at all texts that have this piece.
    fn look(
        &self,
        text: &[u8],
        (at, gram, chain): (usize, u64, usize),
        budget: &mut usize,
        out: &mut Vec<Seen>,
    ) -> Option<()> {
        let mut next = self.heads[chain];
        while let Some(piece) = (next as usize).checked_sub(1).and_then(|index| self.pieces.get(index)) {
            next = piece.next;
            *budget = budget.checked_sub(LOOK)?;
            if piece.gram != gram {
                continue;
            }
            let needle = self.all[piece.needle as usize];
            let Some(start) = at.checked_sub(piece.offset as usize) else { continue };
            let Some(here) = text.get(start..start + needle.len()) else { continue };
            // The beginning tells most of them apart, and only what was compared is paid for.
            let head = needle.len().min(4 * LOOK);
            if here[..head] == needle[..head] {
                *budget = budget.checked_sub(needle.len())?;
                if here[head..] == needle[head..] {
                    out.push(Seen { needle: piece.needle as usize, at: start });
                }
            }
        }
        Some(())
    }
}

/// How often pieces stand in a text, by a sample of it.
struct Sample {
    slots: Vec<u16>,
}

impl Sample {
    fn new(text: &[u8]) -> Sample {
        let mut slots = vec![0u16; SLOTS];
        let last = (text.len() + 1).saturating_sub(GRAM);
        // An odd step does not keep time with what repeats.
        for at in (0..last).step_by((last / SAMPLED) | 1) {
            let slot = &mut slots[slot(hash(gram(text, at)), 64 - SLOTS.trailing_zeros())];
            *slot = slot.saturating_add(1);
        }
        Sample { slots }
    }

    /// For each remainder by the stride the offset whose piece is rarest.
    fn rarest(&self, needle: &[u8], best: &mut [(u16, usize)]) {
        best.fill((u16::MAX, usize::MAX));
        let mut settled = 0;
        let mut class = 0;
        for offset in 0..=needle.len() - GRAM {
            let often = self.slots[slot(hash(gram(needle, offset)), 64 - SLOTS.trailing_zeros())];
            if best[class].1 == usize::MAX || often < best[class].0 {
                settled += usize::from(often == 0);
                best[class] = (often, offset);
            }
            class = if class + 1 == best.len() { 0 } else { class + 1 };
            if settled == best.len() {
                break;
            }
        }
    }
}

fn gram(text: &[u8], at: usize) -> u64 {
    text.get(at..at + GRAM).and_then(|piece| piece.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn hash(gram: u64) -> u64 {
    gram.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn slot(hash: u64, shift: u32) -> usize {
    usize::try_from(hash >> shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Needles, Seen};
    use proptest::prelude::*;

    /// Every place, by looking at every place.
    fn everywhere(all: &[&str], text: &str) -> Vec<Seen> {
        let bytes = text.as_bytes();
        let starts = |needle: usize| {
            let of = all[needle].as_bytes();
            let at = (0..bytes.len()).filter(move |&at| !of.is_empty() && bytes[at..].starts_with(of));
            at.map(move |at| Seen { needle, at })
        };
        (0..all.len()).flat_map(starts).collect()
    }

    fn check(all: &[&str], text: &str) {
        let want = everywhere(all, text);
        for needles in [Needles::new(all, text, text.len()), Needles::plain(all)] {
            let mut seen = needles.unwrap().seen(text, &mut usize::MAX.clone()).unwrap();
            seen.sort_unstable();
            assert_eq!(seen, want, "{all:?} in {text:?}");
        }
    }

    proptest! {
        #[test]
        fn all_places_and_no_others(
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
    fn what_repeats_is_given_up() {
        let text = "a".repeat(100_000);
        let needle = "a".repeat(5000);
        let needles = Needles::new(&[&needle, &needle[1..]], &text, text.len()).unwrap();
        assert!(needles.seen(&text, &mut (text.len() / 4)).is_none());
        assert!(needles.seen(&text[..4000], &mut 0).is_none());
        assert_eq!(needles.seen("b", &mut 0).unwrap(), []);
    }
}
