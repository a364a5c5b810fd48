//! Search for one text that looks only at every n-th position (the stride) of the searched text.
//!
//! Short parts of the needle (grams) are kept, one for each remainder of their offset modulo the stride, all of them
//! from one window. Wherever the needle occurs, exactly one gram is at a position that is examined. A longer stride
//! means fewer positions, but more grams to prepare.

use memchr::arch::all::packedpair::Pair;

/// Bytes of a gram, and the stride that the needle must allow: long grams are more selective, a long stride is faster.
const GRAM_WIDTHS: [(usize, usize); 2] = [(32, 48), (16, 16)];
/// Bytes of a gram of needles that are too short for the wider ones.
const NARROW_GRAM_BYTES: usize = 8;
/// The length of a text from which on a search that examines every byte needs fewer instructions, unless the pair of bytes
/// that it looks for is common; then the needle must allow the largest stride.
const LONG_TEXT_BYTES: usize = 64 << 10;
/// Bytes in which such a pair is counted, and the number of pairs from which on it is common: the needle is compared with
/// the text at each of them.
const COUNTED_BYTES: usize = 8 << 10;
const COMMON_PAIRS_MIN: usize = 16;
/// Bytes that are counted at once: few enough for a sum of one byte, which vector instructions compute.
const PROBE_BYTES: usize = 128;
/// The stride that a needle must allow: with a shorter one, a search that examines every byte with vector instructions
/// needs fewer of them.
const STRIDE_BYTES_MIN: usize = 64;
/// The largest stride; beyond it every step costs a cache line anyway.
const STRIDE_BYTES_MAX: usize = 128;
/// Entries of the table of grams, a power of two.
const HEADS: usize = 1024;
/// Cost of a comparison with one gram, in bytes compared.
const GRAM_COST_BYTES: usize = 16;

/// A needle, prepared for searching.
pub(crate) struct SampledNeedle<'n> {
    needle: &'n [u8],
    stride: usize,
    width: usize,
    /// For each hash, the remainder of the last gram that has it, plus one.
    heads: [u8; HEADS],
    /// For each remainder, the remainder of the gram before it with the same hash, plus one.
    next: [u8; STRIDE_BYTES_MAX],
    /// Bytes that may still be compared with candidates.
    budget: usize,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampledSearch {
    /// The first occurrence is at this offset.
    Found(usize),
    /// There is no occurrence.
    Nothing,
    /// The grams are so common in this text that another search is faster. There is no occurrence before this offset.
    GivenUp(usize),
}

impl<'n> SampledNeedle<'n> {
    /// Prepares a needle for a search in a text; `None` if it is too short for that, or if another search is faster.
    pub(crate) fn new(needle: &'n [u8], text: &[u8]) -> Option<Box<SampledNeedle<'n>>> {
        let total = text.len();
        let wish = (total / 3).isqrt().clamp(1, STRIDE_BYTES_MAX);
        if needle.len() + 1 < NARROW_GRAM_BYTES + wish.min(STRIDE_BYTES_MIN) || total <= needle.len() {
            return None;
        }
        let fits = |&&(width, stride): &&(usize, usize)| needle.len() + 1 >= width + wish.min(stride);
        let width = GRAM_WIDTHS.iter().find(fits).map_or(NARROW_GRAM_BYTES, |&(width, _)| width);
        if total > LONG_TEXT_BYTES && (needle.len() + 1 < width + STRIDE_BYTES_MAX || !has_common_pair(text, needle)) {
            return None;
        }
        let mut sampled = Box::new(SampledNeedle {
            needle,
            stride: wish.min(needle.len() + 1 - width),
            width,
            heads: [0; HEADS],
            next: [0; STRIDE_BYTES_MAX],
            budget: total / 2 + 4 * needle.len(),
        });
        match width {
            32 => sampled.keep_all::<32>(),
            16 => sampled.keep_all::<16>(),
            _ => sampled.keep_all::<NARROW_GRAM_BYTES>(),
        }
        Some(sampled)
    }

    fn keep_all<const WIDTH: usize>(&mut self) {
        for class in 0..self.stride {
            let Some(gram) = self.needle[class..].first_chunk::<WIDTH>() else { break };
            let head = &mut self.heads[slot(gram)];
            self.next[class] = *head;
            *head = u8::try_from(class + 1).unwrap_or(0);
        }
    }

    /// Finds the first occurrence that begins at `from` or after it.
    pub(crate) fn find(&mut self, text: &[u8], from: usize) -> SampledSearch {
        match self.width {
            32 => self.scan::<32>(text, from),
            16 => self.scan::<16>(text, from),
            _ => self.scan::<NARROW_GRAM_BYTES>(text, from),
        }
    }

    fn scan<const WIDTH: usize>(&mut self, text: &[u8], from: usize) -> SampledSearch {
        // The last gram of an occurrence at `from` begins here.
        let mut at = from + self.stride - 1;
        while let Some(piece) = text.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) {
            let head = self.heads[slot(piece)];
            if head != 0 {
                match self.first_in_chain(text, at, piece, head) {
                    Ok(None) => {}
                    Ok(Some(found)) => return SampledSearch::Found(found),
                    Err(()) => return SampledSearch::GivenUp(at + 1 - self.stride),
                }
            }
            at += self.stride;
        }
        SampledSearch::Nothing
    }

    /// Returns the first occurrence that has a gram of this chain at `at`.
    ///
    /// Errors: `()` once the budget is used up.
    fn first_in_chain(&mut self, text: &[u8], at: usize, piece: &[u8], mut head: u8) -> Result<Option<usize>, ()> {
        // A chain begins with the last gram of the needle, and therefore with the first occurrence.
        while let Some(class) = usize::from(head).checked_sub(1) {
            head = self.next[class];
            self.budget = self.budget.checked_sub(GRAM_COST_BYTES).ok_or(())?;
            if self.needle[class..class + piece.len()] != *piece {
                continue;
            }
            // The search begins at the last gram of an occurrence at `from`, so `start` is never before `from`.
            let Some(start) = at.checked_sub(class) else { continue };
            let Some(here) = text.get(start..start + self.needle.len()) else { continue };
            // The first bytes distinguish most texts, and only bytes that were compared count.
            let begun = self.needle.len().min(4 * GRAM_COST_BYTES);
            if here[..begun] == self.needle[..begun] {
                self.budget = self.budget.checked_sub(self.needle.len()).ok_or(())?;
                if here[begun..] == self.needle[begun..] {
                    return Ok(Some(start));
                }
            }
        }
        Ok(None)
    }
}

/// True if the two bytes of the needle that [`memchr::memmem`] takes for its rarest occur often in the middle of a text.
fn has_common_pair(text: &[u8], needle: &[u8]) -> bool {
    let Some(pair) = Pair::new(needle) else { return false };
    let [first, second] = [pair.index1(), pair.index2()].map(usize::from);
    let middle = &text[text.len() / 2..];
    let firsts = middle[first..].chunks(PROBE_BYTES);
    let seconds = middle[second..].chunks(PROBE_BYTES);
    let (one, other) = (needle[first], needle[second]);
    let counted = firsts.zip(seconds).take(COUNTED_BYTES / PROBE_BYTES).map(|(firsts, seconds)| {
        let pairs = firsts.iter().zip(seconds);
        usize::from(pairs.map(|(a, b)| u8::from(*a == one) & u8::from(*b == other)).sum::<u8>())
    });
    counted.sum::<usize>() >= COMMON_PAIRS_MIN
}

/// Returns the entry of a gram in the table.
#[inline(always)]
fn slot<const WIDTH: usize>(gram: &[u8; WIDTH]) -> usize {
    const ODD: [u64; 4] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0xD6E8_FEB8_6659_FD93, 0xA076_1D64_78BD_642F];
    let words = gram.as_chunks::<8>().0.iter().zip(ODD);
    let hash = words.fold(0u64, |hash, (word, odd)| hash ^ u64::from_le_bytes(*word).wrapping_mul(odd));
    // The upper bits depend on all bytes of each word.
    usize::try_from(hash >> (u64::BITS - HEADS.trailing_zeros())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{NARROW_GRAM_BYTES, STRIDE_BYTES_MAX, STRIDE_BYTES_MIN, SampledNeedle, SampledSearch};
    use proptest::prelude::*;

    /// All occurrences, or `None` if the search was given up.
    fn all(text: &str, needle: &str) -> Option<Vec<usize>> {
        let mut sampled = SampledNeedle::new(needle.as_bytes(), text.as_bytes())?;
        let (mut out, mut from) = (Vec::new(), 0);
        loop {
            match sampled.find(text.as_bytes(), from) {
                SampledSearch::Found(at) => {
                    out.push(at);
                    from = at + 1;
                }
                SampledSearch::Nothing => return Some(out),
                SampledSearch::GivenUp(before) => {
                    assert!((from..before).all(|at| !text.as_bytes()[at..].starts_with(needle.as_bytes())));
                    return None;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_occurrences_are_found_in_order(
            text in prop_oneof!["[ab]{0,400}", "([a-d]{1,9}\n){0,200}", "(    |\\}\n|x = \"é\";\n|fn f\\(\\) \\{\n){0,300}"],
            from in 0..3000usize,
            len in 16..200usize,
        ) {
            let whole = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let from = if text.is_empty() { 0 } else { from % text.len() };
            let needle = &text[whole(from)..whole(from + len)];
            let plain: Vec<usize> =
                (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(needle.as_bytes())).collect();
            if let Some(found) = all(&text, needle) {
                prop_assert_eq!(found, plain);
            }
        }
    }

    #[test]
    fn search_in_text_that_repeats_itself_is_given_up() {
        let text = "ab".repeat(5000);
        assert_eq!(all(&text, &"ab".repeat(400)), None);
        assert_eq!(all(&text, &format!("{}c", "ab".repeat(400))), None);
        assert_eq!(all(&"x".repeat(3000), &"y".repeat(99)), Some(Vec::new()));
    }

    #[test]
    fn needles_of_all_lengths_are_found_at_both_ends() {
        let text: String = (0..900u32).map(|nth| format!("{:x}.", nth.wrapping_mul(0x9E37_79B9))).collect();
        for len in STRIDE_BYTES_MIN + NARROW_GRAM_BYTES - 1..500 {
            for at in [0, 1, text.len() / 2, text.len() - len - 1, text.len() - len] {
                assert_eq!(all(&text, &text[at..at + len]), Some(vec![at]), "{len} bytes at {at}");
            }
        }
        assert_eq!(all(&text[..40], &text[..40]), None, "a needle as long as the text");
        assert_eq!(all(&text, &text[..NARROW_GRAM_BYTES + 5]), None, "a short needle");
    }

    #[test]
    fn long_needles_of_common_bytes_are_found_in_long_texts() {
        let text: String =
            (0..9_000u32).map(|nth| format!("def f(a): # {nth:06}\n    return a * {:06}\n", nth * 7)).collect();
        for at in [0, 1, text.len() / 2, text.len() - 201, text.len() - 200] {
            assert_eq!(all(&text, &text[at..at + 200]), Some(vec![at]), "{at}");
        }
        assert_eq!(all(&text, &text[..STRIDE_BYTES_MAX + 30]), None, "a short needle");
        let states =
            std::iter::successors(Some(1_u64), |state| Some(state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1)));
        let signs = states.map(|state| char::from(b'!' + u8::try_from((state >> 40) % 90).unwrap()));
        let various: String = signs.take(200_000).collect();
        assert_eq!(all(&various, &various[..200]), None, "a pair that is rare enough");
    }
}
