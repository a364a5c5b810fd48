//! All occurrences of one text in another, including overlapping ones, in linear time.
//!
//! A search that starts again after the first byte of each occurrence compares the whole needle each time, which is
//! quadratic if the needle repeats itself. So once two occurrences overlap, the table of borders (Knuth, Morris, Pratt)
//! shows how much of the needle is matched already.

use crate::text::sampled_search::{SampledNeedle, SampledSearch};
use memchr::memmem;

/// The occurrences of a needle, in order; an empty needle never occurs.
pub(crate) struct Occurrences<'t> {
    text: &'t [u8],
    needle: &'t [u8],
    search: NeedleFinder<'t>,
    /// The offset of the last occurrence.
    last: Option<usize>,
    /// For each prefix of the needle, the length of its longest proper border: a text that begins and ends it. Empty
    /// until two occurrences overlap.
    borders: Vec<usize>,
    /// Approximate number of bytes compared since the last [`Occurrences::take_compared`].
    compared: usize,
}

/// The method that finds the first occurrence; prepared for the first search.
enum NeedleFinder<'t> {
    Unprepared,
    Sampled(Box<SampledNeedle<'t>>),
    Plain(Box<memmem::Finder<'t>>),
}

impl<'t> Occurrences<'t> {
    pub(crate) fn new(text: &'t str, needle: &'t str) -> Occurrences<'t> {
        let (text, needle) = (text.as_bytes(), needle.as_bytes());
        let search = NeedleFinder::Unprepared;
        Occurrences { text, needle, search, last: None, borders: Vec::new(), compared: 0 }
    }

    /// Returns approximately how many bytes were compared since the last call, and resets the count to 0.
    pub(crate) fn take_compared(&mut self) -> usize {
        std::mem::take(&mut self.compared)
    }

    /// Searches from an offset on.
    fn search(&mut self, from: usize) -> Option<usize> {
        if matches!(self.search, NeedleFinder::Unprepared) {
            self.search = SampledNeedle::new(self.needle, self.text)
                .map_or_else(|| NeedleFinder::plain(self.needle), NeedleFinder::Sampled);
        }
        let mut start = from;
        if let NeedleFinder::Sampled(sampled) = &mut self.search {
            match sampled.find(self.text, from) {
                SampledSearch::GivenUp(at) => (self.search, start) = (NeedleFinder::plain(self.needle), at.max(from)),
                SampledSearch::Found(at) => return self.counted(from, Some(at)),
                SampledSearch::Nothing => return self.counted(from, None),
            }
        }
        let NeedleFinder::Plain(finder) = &self.search else { return None };
        let found = finder.find(self.text.get(start..)?).map(|at| start + at);
        self.counted(from, found)
    }

    /// Counts the bytes of a search.
    fn counted(&mut self, from: usize, found: Option<usize>) -> Option<usize> {
        self.compared += found.map_or(self.text.len(), |at| at + self.needle.len()) - from;
        found
    }

    /// Finds the next occurrence that overlaps the one at `at`; else the offset at which the search continues.
    fn overlapping(&mut self, at: usize) -> Result<usize, usize> {
        let (len, end) = (self.needle.len(), at + self.needle.len());
        let mut matched = self.borders[len - 1];
        let mut here = end;
        while matched > 0 && here - matched < end {
            if matched == len {
                return Ok(here - len);
            }
            match self.text.get(here) {
                Some(byte) if *byte == self.needle[matched] => (matched, here) = (matched + 1, here + 1),
                Some(_) => matched = self.borders[matched - 1],
                None => return Err(self.text.len()),
            }
            self.compared += 1;
        }
        Err((here - matched).max(end))
    }
}

impl<'t> NeedleFinder<'t> {
    fn plain(needle: &'t [u8]) -> NeedleFinder<'t> {
        NeedleFinder::Plain(Box::new(memmem::Finder::new(needle)))
    }
}

impl Iterator for Occurrences<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.needle.is_empty() {
            return None;
        }
        let found = match self.last {
            None => self.search(0),
            Some(at) if self.borders.is_empty() => {
                let found = self.search(at + 1);
                if found.is_some_and(|next| next < at + self.needle.len()) {
                    self.borders = borders(self.needle);
                    self.compared += self.needle.len();
                }
                found
            }
            Some(at) => match self.overlapping(at) {
                Ok(next) => Some(next),
                Err(from) => self.search(from),
            },
        };
        self.last = Some(found.unwrap_or(self.text.len()));
        found
    }
}

/// Returns the length of the longest proper border of each prefix.
fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; needle.len()];
    let mut len = 0;
    for at in 1..needle.len() {
        while len > 0 && needle[at] != needle[len] {
            len = borders[len - 1];
        }
        len += usize::from(needle[at] == needle[len]);
        borders[at] = len;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::Occurrences;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_occurrences_are_found(text in "[ab]{0,60}", needle in "[ab]{0,9}") {
            let plain = (0..text.len()).filter(|at| !needle.is_empty() && text[*at..].starts_with(&needle));
            prop_assert_eq!(Occurrences::new(&text, &needle).collect::<Vec<_>>(), plain.collect::<Vec<_>>());
        }

        #[test]
        fn repeated_needles_are_found_in_linear_time(unit in "[ab]{1,5}", times in 1..200usize, sep in "[abc]{0,3}") {
            let needle = unit.repeat(times);
            let text = format!("{needle}{needle}{sep}{needle}{unit}");
            let mut occurrences = Occurrences::new(&text, &needle);
            let found: Vec<usize> = occurrences.by_ref().collect();
            let plain = (0..text.len()).filter(|at| text[*at..].starts_with(&needle));
            prop_assert_eq!(found, plain.collect::<Vec<_>>());
            prop_assert!(occurrences.take_compared() <= 10 * text.len());
        }
    }
}
