//! Search for matches that may extend over several lines. The library's own search looks at the whole line again for
//! each match on it.

use crate::tools::search::{SearchPattern, ShownLines};
use emendate_core::work::{self, STEP_BYTES};
use emendate_core::{Code, Error, Result};
use grep_matcher::{Match, Matcher as _};
use memchr::{memchr, memchr_iter, memrchr};
use std::ops::Range;

/// Matches on the lines of one hit after which the rest of these lines is skipped: the search for each may scan the
/// whole text.
const MATCHES_PER_HIT_MAX: usize = 50;

/// The lines of a hit: the bytes of all lines that a match touches, and of further matches that begin on these lines.
struct HitLines {
    bytes: Range<usize>,
    /// The first match.
    found: Match,
    matches: usize,
    /// The number of the first line.
    number: u64,
}

/// The state of a search in one text.
struct MultilineSearch<'s> {
    text: &'s [u8],
    context: usize,
    rows: &'s mut ShownLines,
    /// The offset up to which line ends are counted, and the number of the line there.
    counted: (usize, u64),
    /// The end of the lines shown last, and the number of the line there.
    shown: (usize, u64),
}

/// Searches a text and adds the lines of all hits, with `context` lines around each.
///
/// Errors: `call.too_much_work`, `call.cancelled`.
pub(super) fn search(pattern: &SearchPattern, text: &str, context: usize, rows: &mut ShownLines) -> Result<()> {
    let text = text.as_bytes();
    let mut search = MultilineSearch { text, context, rows, counted: (0, 1), shown: (0, 1) };
    let mut hit: Option<HitLines> = None;
    let mut at = 0;
    while let Some(found) = next_match(pattern, text, at)? {
        at = found.end().max(found.start() + usize::from(found.is_empty()));
        work::spend(1 + found.len() / STEP_BYTES)?;
        // The search for one match may have taken milliseconds.
        work::check()?;
        match &mut hit {
            Some(hit) if found.start() < hit.bytes.end || hit.bytes.end == text.len() => {
                if found.end() > hit.bytes.end {
                    hit.bytes.end = line_stop(text, found);
                }
                hit.matches += 1;
                if hit.matches >= MATCHES_PER_HIT_MAX {
                    at = hit.bytes.end.max(at);
                }
            }
            _ => {
                if let Some(done) = hit.take()
                    && !search.show(&done)
                {
                    return Ok(());
                }
                let start = memrchr(b'\n', &text[..found.start()]).map_or(0, |at| at + 1);
                let number = search.number_at(start);
                hit = Some(HitLines { bytes: start..line_stop(text, found), found, matches: 1, number });
            }
        }
    }
    work::check()?;
    if let Some(done) = hit
        && search.show(&done)
    {
        search.show_after(text.len());
    }
    Ok(())
}

/// Returns the first match from `at` on that is on a line: the empty text after the last line end is not on a line.
fn next_match(pattern: &SearchPattern, text: &[u8], at: usize) -> Result<Option<Match>> {
    if at > text.len() {
        return Ok(None);
    }
    let found = pattern.find_at(text, at).map_err(|error| Error::new(Code::InternalBug, error.to_string()))?;
    Ok(found.filter(|found| found.start() < text.len() || !(text.is_empty() || text.ends_with(b"\n"))))
}

/// Returns the end of the last line that a match touches.
fn line_stop(text: &[u8], found: Match) -> usize {
    let last = if found.is_empty() { found.start() } else { found.end() - 1 };
    memchr(b'\n', &text[last..]).map_or(text.len(), |at| last + at + 1)
}

impl MultilineSearch<'_> {
    /// Returns the number of the line at this offset, which is not before the last one.
    fn number_at(&mut self, offset: usize) -> u64 {
        let (from, number) = self.counted;
        self.counted = (offset, number + memchr_iter(b'\n', &self.text[from..offset]).count() as u64);
        self.counted.1
    }

    /// Adds the lines of a hit, after the context below the previous one and above this one; false when no more are
    /// wanted.
    fn show(&mut self, hit: &HitLines) -> bool {
        self.show_after(hit.bytes.start);
        let mut start = hit.bytes.start;
        let mut above = 0;
        while above < self.context && start > self.shown.0 {
            start = memrchr(b'\n', &self.text[..start - 1]).map_or(0, |at| at + 1);
            above += 1;
        }
        let text = self.text;
        self.rows.add_above(Some(hit.number - above as u64), lines(&text[start..hit.bytes.start]));
        let of_hit = &text[hit.bytes.clone()];
        self.shown = (hit.bytes.end, hit.number + lines(of_hit).count() as u64);
        let found = hit.found.start() - hit.bytes.start..hit.found.end() - hit.bytes.start;
        self.rows.add_hit(Some(hit.number), lines(of_hit), found)
    }

    /// Adds the context below the last hit, up to an offset.
    fn show_after(&mut self, end: usize) {
        let (from, number) = self.shown;
        if from == 0 {
            return;
        }
        let below = lines(&self.text[from..end]).take(self.context);
        let (bytes, count) = below.clone().fold((0, 0), |(bytes, count), line| (bytes + line.len(), count + 1));
        self.shown = (from + bytes, number + count);
        self.rows.add_below(Some(number), below);
    }
}

/// Returns the lines of a text, each with its line end.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split_inclusive(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use crate::tools::search::shown_lines::HitSink;
    use crate::tools::search::{PatternOptions, SearchPattern, ShownLines};
    use emendate_core::work::Meter;
    use grep_matcher::Matcher as _;
    use grep_searcher::{BinaryDetection, SearcherBuilder};
    use proptest::prelude::*;

    type Rows = (Vec<usize>, Vec<(usize, String)>);

    fn rows(found: ShownLines) -> Rows {
        (found.hits, found.shown.into_iter().map(|row| (row.line, row.text)).collect())
    }

    fn pattern(text: &str) -> SearchPattern {
        SearchPattern::new(text, PatternOptions { multiline: true, ..PatternOptions::default() }).unwrap()
    }

    fn ours(wanted: &str, text: &str, context: usize) -> Rows {
        let mut found = ShownLines::new(1000, 1 << 20);
        super::search(&pattern(wanted), text, context, &mut found).unwrap();
        rows(found)
    }

    /// The library's search, which is slow on long lines.
    fn theirs(wanted: &str, text: &str, context: usize) -> Rows {
        let mut found = ShownLines::new(1000, 1 << 20);
        let mut searcher = SearcherBuilder::new();
        searcher.line_number(true).multi_line(true).before_context(context).after_context(context);
        let mut searcher = searcher.binary_detection(BinaryDetection::none()).bom_sniffing(false).build();
        let pattern = pattern(wanted);
        let mut sink = HitSink { pattern: &pattern, rows: &mut found };
        searcher.search_slice(&pattern, text.as_bytes(), &mut sink).unwrap();
        rows(found)
    }

    proptest! {
        #[test]
        fn finds_what_the_library_finds(
            text in "([ab]{0,3}\n){0,12}[ab]{0,3}",
            wanted in prop_oneof![Just("a"), Just("a\nb"), Just("b+"), Just("a\n+"), Just("(?s)a..b"), Just("\nb")],
            context in 0usize..4,
        ) {
            let ((hits, rows), (blocks, same_rows)) = (ours(wanted, &text, context), theirs(wanted, &text, context));
            prop_assert_eq!(rows, same_rows);
            // The library joins hits on adjacent lines.
            prop_assert!(blocks.iter().all(|line| hits.contains(line)), "{hits:?} {blocks:?}");
            let pattern = pattern(wanted);
            let begins = |line: usize| {
                let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
                let first = pattern.find_at(text.as_bytes(), start).unwrap();
                first.is_some_and(|first| !text[start..first.start()].contains('\n'))
            };
            prop_assert!(hits.iter().all(|line| begins(*line)), "{hits:?}");
        }
    }

    #[test]
    fn empty_matches_are_on_every_line() {
        for wanted in ["^", "$", "x*"] {
            assert_eq!(ours(wanted, "a\n\nb", 0).0, [1, 2, 3]);
            assert_eq!(ours(wanted, "a\n", 1).0, [1]);
            assert_eq!(ours(wanted, "", 1).0, [0usize; 0]);
        }
    }

    #[test]
    fn many_matches_on_one_line_take_few_steps() {
        let text = "ab".repeat(500_000);
        let meter = Meter::new(u64::MAX, std::sync::Arc::default());
        {
            let _entered = meter.enter();
            assert_eq!(ours("a", &text, 0).0, [1]);
            assert_eq!(ours("^", &text, 0).0, [1]);
        }
        assert!(meter.spent() < 10_000, "{}", meter.spent());
    }
}
