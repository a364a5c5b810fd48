//! A single anchor word, and the choice of a word for a line.

use super::dictionary::DICTIONARY;
use core::fmt;
use core::str::FromStr;

const SINGLE_WORDS: u32 = DICTIONARY.len() as u32;
/// Number of all anchor words: single words, and pairs of them.
const ALL_WORDS: u32 = SINGLE_WORDS + SINGLE_WORDS * SINGLE_WORDS;

/// The name of one line of one file: a word of the dictionary, or two of them joined (`MapleRiver`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AnchorWord(u32);

impl AnchorWord {
    /// The number for storage.
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// Converts back from [`AnchorWord::number`].
    pub(super) fn from_number(number: u32) -> Option<AnchorWord> {
        (number < ALL_WORDS).then_some(AnchorWord(number))
    }

    /// The one or two dictionary words that the anchor word consists of.
    pub(crate) fn parts(self) -> (&'static str, &'static str) {
        match self.0.checked_sub(SINGLE_WORDS) {
            None => (word_at(self.0), ""),
            Some(pair) => (word_at(pair / SINGLE_WORDS), word_at(pair % SINGLE_WORDS)),
        }
    }
}

/// Returns a word of the dictionary.
fn word_at(at: u32) -> &'static str {
    DICTIONARY.get(at as usize).copied().unwrap_or_default()
}

impl fmt::Display for AnchorWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.parts();
        f.write_str(first)?;
        f.write_str(second)
    }
}

impl FromStr for AnchorWord {
    type Err = ();

    /// Parses a word exactly as printed. No dictionary word has an inner capital, so a pair splits in one way only.
    fn from_str(text: &str) -> Result<AnchorWord, ()> {
        let second = text.bytes().skip(1).position(|byte| byte.is_ascii_uppercase()).map(|at| at + 1);
        let found = match second {
            None => word_number(text),
            Some(at) => {
                word_number(&text[..at]).zip(word_number(&text[at..])).map(|(a, b)| SINGLE_WORDS + a * SINGLE_WORDS + b)
            }
        };
        found.map(AnchorWord).ok_or(())
    }
}

/// Returns the number of a word in the dictionary.
fn word_number(word: &str) -> Option<u32> {
    DICTIONARY.binary_search(&word).ok().and_then(|at| u32::try_from(at).ok())
}

/// The words in use in one file.
pub(super) struct TakenWords {
    bits: Vec<u64>,
    singles: u32,
}

impl TakenWords {
    pub(super) fn new() -> TakenWords {
        TakenWords { bits: vec![0; ALL_WORDS.div_ceil(64) as usize], singles: 0 }
    }

    /// Takes a word; false if it was taken already.
    pub(super) fn take(&mut self, word: AnchorWord) -> bool {
        let (block, bit) = ((word.0 / 64) as usize, 1 << (word.0 % 64));
        let new = self.bits[block] & bit == 0;
        self.bits[block] |= bit;
        self.singles += u32::from(new && word.0 < SINGLE_WORDS);
        new
    }

    /// Takes a free word for a line: the first free one from the position given by the line's hash and its number among
    /// equal lines. Pairs are used only when no single word is free.
    pub(super) fn allocate(&mut self, hash: u64, occurrence: u32) -> Option<AnchorWord> {
        let seed = mixed(hash ^ mixed(u64::from(occurrence)));
        let (from, len) =
            if self.singles < SINGLE_WORDS { (0, SINGLE_WORDS) } else { (SINGLE_WORDS, ALL_WORDS - SINGLE_WORDS) };
        let start = from + (seed % u64::from(len)) as u32;
        let found = self.free(start, from + len).or_else(|| self.free(from, start));
        found.map(AnchorWord).inspect(|&word| {
            self.take(word);
        })
    }

    /// Returns the first free number of a range.
    fn free(&self, from: u32, to: u32) -> Option<u32> {
        let mut at = from;
        while at < to {
            let rest = !self.bits[(at / 64) as usize] >> (at % 64);
            if rest != 0 {
                return Some(at + rest.trailing_zeros()).filter(|&found| found < to);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

/// Mixes the bits of a number.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::{ALL_WORDS, AnchorWord, DICTIONARY, SINGLE_WORDS, TakenWords};
    use std::collections::HashSet;

    #[test]
    fn only_valid_words_parse_and_they_round_trip() {
        for number in (0..SINGLE_WORDS).chain((SINGLE_WORDS..ALL_WORDS).step_by(997)).chain([ALL_WORDS - 1]) {
            let word = AnchorWord::from_number(number).unwrap();
            assert_eq!(word.to_string().parse(), Ok(word));
        }
        assert_eq!(AnchorWord::from_number(ALL_WORDS), None);
        for bad in ["", "apple", "ALPHA", "Alpha ", "AlphaAlphaAlpha", "Alphab", "Älpha", "AÄ", "Alpha1"] {
            assert_eq!(bad.parse::<AnchorWord>(), Err(()), "{bad}");
        }
    }

    #[test]
    fn dictionary_is_sorted_and_plain() {
        assert!(DICTIONARY.is_sorted() && DICTIONARY.windows(2).all(|pair| pair[0] != pair[1]));
        for word in DICTIONARY {
            assert!(word.as_bytes()[0].is_ascii_uppercase() && word[1..].bytes().all(|byte| byte.is_ascii_lowercase()));
        }
    }

    #[test]
    fn single_words_come_first_and_words_are_unique() {
        let (mut taken, mut seen) = (TakenWords::new(), HashSet::new());
        for at in 0..20_000u32 {
            let word = taken.allocate(u64::from(at % 7), at).unwrap();
            assert!(seen.insert(word));
            assert_eq!(word.number() < SINGLE_WORDS, at < SINGLE_WORDS);
        }
    }
}
