//! Search for plain text regardless of case, in time proportional to the text (Knuth, Morris, Pratt).

use emendate_core::work;
use std::ops::Range;

/// Characters between two checks of the meter; 16 characters count as one step.
const BATCH_CHARS: usize = 4096;

/// Plain text that is searched regardless of case.
pub(crate) struct FoldedFinder {
    needle: Vec<char>,
    /// For each length of a matched prefix, the length of its longest border.
    borders: Vec<usize>,
}

/// Returns the same character for all variants of case.
fn fold_case(ch: char) -> char {
    if ch.is_ascii() {
        return ch.to_ascii_lowercase();
    }
    // Two letters of Turkish, which are not variants of `i` elsewhere.
    if matches!(ch, 'ı' | 'İ') {
        return ch;
    }
    let upper = only(ch.to_uppercase()).unwrap_or(ch);
    only(upper.to_lowercase()).unwrap_or(upper)
}

fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

/// Returns the character at an offset and its length; a byte that begins no character is one of its own.
fn char_at(text: &[u8], at: usize) -> (char, usize) {
    let first = text[at];
    if first.is_ascii() {
        return (char::from(first), 1);
    }
    let len = if first >= 0xf0 { 4 } else { 2 + usize::from(first >= 0xe0) };
    let char = text.get(at..at + len).and_then(|bytes| std::str::from_utf8(bytes).ok()?.chars().next());
    char.map_or((char::REPLACEMENT_CHARACTER, 1), |ch| (ch, len))
}

impl FoldedFinder {
    pub(crate) fn new(text: &str) -> FoldedFinder {
        let needle: Vec<char> = text.chars().map(fold_case).collect();
        let mut borders = vec![0; needle.len() + 1];
        let mut have = 0;
        for at in 1..needle.len() {
            while have > 0 && needle[at] != needle[have] {
                have = borders[have];
            }
            have += usize::from(needle[at] == needle[have]);
            borders[at + 1] = have;
        }
        FoldedFinder { needle, borders }
    }

    /// Finds the first occurrence from `from` on. Finds nothing once the work of the call has to end.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let (mut at, mut have) = (from, 0);
        let mut batch = BATCH_CHARS;
        while at < text.len() {
            let (ch, len) = char_at(text, at);
            let ch = fold_case(ch);
            while have > 0 && ch != self.needle[have] {
                have = self.borders[have];
            }
            have += usize::from(ch == self.needle[have]);
            at += len;
            if have == self.needle.len() {
                return Some(self.start_of(&text[..at])..at);
            }
            batch -= 1;
            if batch == 0 {
                batch = BATCH_CHARS;
                if work::spend_or_end(BATCH_CHARS / work::STEP_BYTES) {
                    return None;
                }
            }
        }
        None
    }

    /// Returns the offset of the occurrence of the needle that ends this text. Variants of case may differ in length,
    /// so the offset is found by counting characters.
    fn start_of(&self, text: &[u8]) -> usize {
        let starts = (0..text.len()).rev().filter(|&at| !matches!(text[at], 0x80..=0xbf));
        starts.take(self.needle.len()).last().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::FoldedFinder;
    use crate::tools::search::{BoundedRegex, PatternOptions};
    use emendate_core::Advice;
    use emendate_core::work::Meter;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_an_expression_finds(text in "[aAbBkK\u{212a}ſsSßẞσςΣ µμıİi\n]{0,60}", needle in "[aAkKsSſßσςµiI]{1,4}", from in 0usize..9) {
            let look = PatternOptions { literal: true, ignore_case: true, multiline: true };
            let expression = BoundedRegex::new(&needle, look, &Advice::default()).unwrap();
            let from = (0..=from.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            let theirs = expression.find_at(text.as_bytes(), from);
            prop_assert_eq!(
                FoldedFinder::new(&needle).find(text.as_bytes(), from),
                theirs.map(|found| found.start()..found.end())
            );
        }
    }

    #[test]
    fn text_that_repeats_itself_takes_linear_time() {
        let (needle, text) = (FoldedFinder::new(&"a".repeat(40_000)), "A".repeat(39_999) + "b");
        let text = text.repeat(30) + &"aA".repeat(20_000);
        let meter = Meter::new(u64::MAX, std::sync::Arc::default());
        let found = {
            let _entered = meter.enter();
            needle.find(text.as_bytes(), 0)
        };
        assert_eq!(found, Some(1_200_000..1_240_000));
        assert!(meter.spent() < 100_000, "{}", meter.spent());
    }
}
