//! Line numbers: a sparse index with one count per block; after many look-ups, a table of all line starts.

use crate::text::span::Span;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

/// Bytes of a block, as powers of two: look-ups scan a block, and counting costs more in small ones. Of small texts, most
/// of the edit is look-ups.
const SMALL_BLOCK_BITS: u32 = 8;
const LARGE_BLOCK_BITS: u32 = 10;
/// Bytes up to which a text is small.
const SMALL_TEXT_BYTES: usize = 64 << 10;
/// Block look-ups (absolute, or as a share of all lines) after which the full table of line starts is built.
const BLOCK_LOOKUPS_MAX: usize = 64;
const BLOCK_LOOKUPS_SHARE: usize = 16;
/// Number of bytes whose line ends are counted together, and the number of line ends that are searched for one by one.
const PIECE_BYTES: usize = 128;
const SEARCHED_LINE_ENDS_MAX: usize = 2;
/// Ranges of at most this many lines find their end by scanning forward.
const SCANNED_LINES_MAX: usize = 32;

/// Counts the lines of a text; the empty rest after a final line end is not a line.
pub(crate) fn count_lines(text: &str) -> usize {
    count_line_ends(text.as_bytes()) + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Counts the line ends in some bytes. The compiler counts those of a piece in vectors of bytes, which a piece cannot
/// overflow; for the short stretches that are counted here, this is several times as fast as a general search.
pub(crate) fn count_line_ends(bytes: &[u8]) -> usize {
    let count = |piece: &[u8]| piece.iter().fold(0_u8, |ends, byte| ends + u8::from(*byte == b'\n'));
    let (pieces, rest) = bytes.as_chunks::<PIECE_BYTES>();
    pieces.iter().map(|piece| usize::from(count(piece))).sum::<usize>() + usize::from(count(rest))
}

/// The number of line ends before each block of a decoded text. One pass to build, eight bytes per block.
///
/// Every method must be called with the text that the index was built from.
#[derive(Debug)]
pub struct LineIndex {
    line_ends_before: Vec<usize>,
    block_bits: u32,
    total: usize,
    /// Number of block look-ups so far.
    lookups: AtomicUsize,
    /// Start of every line, and the offset after the last line end; `None` for a text whose offsets exceed 32 bits.
    starts: OnceLock<Option<Vec<u32>>>,
    /// For a sparse snapshot: its line ranges, and the number of lines of the whole file.
    sparse: Option<(Vec<SparseRange>, usize)>,
}

/// Lines of a sparse snapshot that are consecutive in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseRange {
    /// The span of the lines in the snapshot.
    pub(crate) text: Span,
    /// Number of the first of the lines in the file.
    pub(crate) line: usize,
}

impl LineIndex {
    /// Indexes a decoded text.
    pub fn new(text: &str) -> LineIndex {
        let mut total = 0;
        let block_bits = if text.len() <= SMALL_TEXT_BYTES { SMALL_BLOCK_BITS } else { LARGE_BLOCK_BITS };
        let mut line_ends_before = Vec::with_capacity((text.len() >> block_bits) + 1);
        for block in text.as_bytes().chunks(1 << block_bits) {
            line_ends_before.push(total);
            total += count_line_ends(block);
        }
        let (lookups, starts) = (AtomicUsize::new(0), OnceLock::new());
        LineIndex { line_ends_before, block_bits, total, lookups, starts, sparse: None }
    }

    /// Indexes a sparse snapshot of a file with `count` lines; lines have their numbers in the file.
    pub(crate) fn sparse(text: &str, ranges: Vec<SparseRange>, count: usize) -> LineIndex {
        LineIndex { sparse: Some((ranges, count)), ..LineIndex::new(text) }
    }

    /// True once the table of all line starts exists.
    pub(crate) fn has_line_table(&self) -> bool {
        matches!(self.starts.get(), Some(Some(_)))
    }

    /// Number of line ends.
    pub fn ends(&self) -> usize {
        self.total
    }

    /// Number of lines: an unterminated last line counts, the empty rest after a final line end does not.
    pub fn count(&self, text: &str) -> usize {
        if let Some((_, count)) = self.sparse {
            return count;
        }
        self.total + usize::from(!text.is_empty() && !text.ends_with('\n'))
    }

    /// The 1-based number of the line that contains `offset`.
    pub fn line_of(&self, text: &str, offset: usize) -> usize {
        let Some((ranges, _)) = &self.sparse else { return self.local_line_of(text, offset) };
        let at = ranges.partition_point(|it| it.text.start() <= offset);
        let Some(here) = at.checked_sub(1).and_then(|at| ranges.get(at)) else { return 1 };
        here.line + self.local_line_of(text, offset.min(here.text.end())) - self.local_line_of(text, here.text.start())
    }

    /// The number of the line that contains `offset`, counted within this text alone.
    pub(crate) fn local_line_of(&self, text: &str, offset: usize) -> usize {
        let offset = offset.min(text.len());
        if let Some(starts) = self.starts.get().and_then(Option::as_deref) {
            return starts.partition_point(|&start| start as usize <= offset);
        }
        let block = (offset >> self.block_bits).min(self.line_ends_before.len().saturating_sub(1));
        let counted = self.line_ends_before.get(block).copied().unwrap_or(0);
        let rest = text.as_bytes().get(block << self.block_bits..offset).unwrap_or(&[]);
        counted + count_line_ends(rest) + 1
    }

    /// Offset at which the 1-based `line` begins; the length of the text for a line past the end. For a line that a
    /// sparse snapshot does not contain, the end of the chunk before it.
    pub fn start_of(&self, text: &str, line: usize) -> usize {
        let Some((ranges, count)) = &self.sparse else { return self.local_start_of(text, line) };
        let at = ranges.partition_point(|it| it.line <= line.max(1));
        let Some(here) = at.checked_sub(1).and_then(|at| ranges.get(at)).filter(|_| line <= *count) else {
            return if line > *count { ranges.last().map_or(0, |last| last.text.end()) } else { 0 };
        };
        let nth = self.local_line_of(text, here.text.start()) + (line.max(1) - here.line);
        self.local_start_of(text, nth).min(here.text.end())
    }

    /// Offset at which `line` begins, counted within this text alone.
    pub(crate) fn local_start_of(&self, text: &str, line: usize) -> usize {
        let Some(ends) = line.checked_sub(1).filter(|&ends| ends > 0) else { return 0 };
        if ends > self.total {
            return text.len();
        }
        if let Some(start) = self.starts(text).and_then(|starts| starts.get(ends)) {
            return *start as usize;
        }
        // The block that contains the last line end before `line`.
        let block = self.line_ends_before.partition_point(|&before| before < ends) - 1;
        let from = block << self.block_bits;
        let nth = ends - self.line_ends_before[block] - 1;
        nth_line_end(&text.as_bytes()[from..], nth).map_or(text.len(), |at| from + at + 1)
    }

    /// Returns the table of all line starts, which is built once there were enough look-ups to pay for it.
    fn starts(&self, text: &str) -> Option<&[u32]> {
        if let Some(known) = self.starts.get() {
            return known.as_deref();
        }
        let asked = self.lookups.fetch_add(1, Ordering::Relaxed);
        if asked < BLOCK_LOOKUPS_MAX.max(self.total / BLOCK_LOOKUPS_SHARE) {
            return None;
        }
        self.starts.get_or_init(|| starts(text.as_bytes(), self.total)).as_deref()
    }

    /// Span of 1-based lines `from..=to`, line ends included.
    pub fn span_of(&self, text: &str, from: usize, to: usize) -> Span {
        let start = self.start_of(text, from);
        let end = match to.saturating_add(1).checked_sub(from) {
            Some(count @ 1..=SCANNED_LINES_MAX) if from > 0 && (self.sparse.is_some() || !self.has_line_table()) => {
                memchr::memchr_iter(b'\n', &text.as_bytes()[start..])
                    .nth(count - 1)
                    .map_or(text.len(), |at| start + at + 1)
            }
            _ => self.start_of(text, to.saturating_add(1)),
        };
        Span::new(start, end)
    }
}

/// Returns the offset of a line end by its zero-based number. Line ends of whole pieces are counted, which is faster
/// than a search for each line end.
pub(crate) fn nth_line_end(bytes: &[u8], mut nth: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(piece) = bytes.get(from..from + PIECE_BYTES).filter(|_| nth > SEARCHED_LINE_ENDS_MAX) {
        let ends = count_line_ends(piece);
        if ends > nth {
            break;
        }
        nth -= ends;
        from += PIECE_BYTES;
    }
    memchr::memchr_iter(b'\n', &bytes[from..]).nth(nth).map(|at| from + at)
}

/// Returns 0 and the offset after each of the `ends` line ends; `None` if an offset exceeds 32 bits.
fn starts(text: &[u8], ends: usize) -> Option<Vec<u32>> {
    u32::try_from(text.len()).ok()?;
    let mut out = Vec::with_capacity(ends + 1);
    out.push(0);
    // No offset is dropped: the length of the text fits.
    out.extend(memchr::memchr_iter(b'\n', text).filter_map(|at| u32::try_from(at + 1).ok()));
    Some(out)
}

/// Offset at which the line that contains `at` begins.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |end| end + 1)
}

/// Offset after the line end of the line that contains `at`, or the end of the text.
pub(crate) fn line_stop(text: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end + 1)
}

/// True when `at` is the first offset of a line.
pub(crate) fn starts_line(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}

#[cfg(test)]
mod tests {
    use super::LineIndex;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_counting(
            lines in prop::collection::vec("[a-zé]{0,700}", 0..60),
            tail in "[a-z]{0,5}",
            is_large in prop::bool::weighted(0.1),
        ) {
            let first = is_large.then(|| "x".repeat(super::SMALL_TEXT_BYTES) + "\n");
            let text: String = first.into_iter().chain(lines.iter().map(|line| format!("{line}\n"))).chain([tail]).collect();
            let index = LineIndex::new(&text);
            prop_assert_eq!(index.count(&text), text.lines().count());
            prop_assert_eq!(super::count_lines(&text), text.lines().count());
            let mut start = 0;
            for (n, line) in text.split_inclusive('\n').enumerate() {
                prop_assert_eq!(index.start_of(&text, n + 1), start);
                prop_assert_eq!(index.line_of(&text, start), n + 1);
                prop_assert_eq!(index.line_of(&text, start + line.len() - 1), n + 1);
                for to in [n + 1, n + 2, n + 5, n + 50] {
                    let span = index.span_of(&text, n + 1, to);
                    prop_assert_eq!((span.start(), span.end()), (start, index.start_of(&text, to + 1)));
                }
                start += line.len();
            }
            // Enough look-ups to build the table of line starts.
            for _ in 0..super::BLOCK_LOOKUPS_MAX {
                prop_assert_eq!(index.start_of(&text, 2), text.split_inclusive('\n').next().map_or(0, str::len));
            }
            let written = index.starts.get().is_some_and(Option::is_some);
            prop_assert!(written || index.total == 0);
            let plain = LineIndex::new(&text);
            for line in (0..text.lines().count() + 3).rev() {
                plain.lookups.store(0, core::sync::atomic::Ordering::Relaxed);
                prop_assert_eq!(index.start_of(&text, line), plain.start_of(&text, line));
                for to in [line, line + 1, line + 5, line + 50] {
                    prop_assert_eq!(index.span_of(&text, line, to), plain.span_of(&text, line, to), "{}..{}", line, to);
                }
            }
            for offset in (0..text.len() + 3).step_by(7) {
                prop_assert_eq!(index.line_of(&text, offset), plain.line_of(&text, offset));
            }
            prop_assert!(plain.starts.get().is_none());
            prop_assert_eq!(index.start_of(&text, text.lines().count() + 1), text.len());
            prop_assert_eq!(index.start_of(&text, usize::MAX), text.len());
        }
    }
}
