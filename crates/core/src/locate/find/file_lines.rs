//! Lines of a file by zero-based number, with a cache of the last look-up.

use crate::text::lines::{LineIndex, count_line_ends, line_stop, nth_line_end};
use crate::text::snapshot::Snapshot;
use std::cell::{Cell, OnceCell};

/// Up to this many bytes after the last look-up are scanned instead of using the index.
const SCAN_FORWARD_BYTES_MAX: usize = 1024;

/// Line starts of a text.
#[derive(Clone, Copy)]
pub(super) struct FileLines<'a> {
    text: &'a str,
    blocks: &'a LineIndex,
    known: &'a LineCache,
    count: usize,
    /// True if the last line has no line end.
    open: bool,
}

/// The line index and the last look-up.
#[derive(Default)]
pub(super) struct LineCache {
    /// A separate line index, if that of the snapshot has other line numbers.
    own: OnceCell<LineIndex>,
    /// The last line and its start: the next one is usually near.
    last: Cell<(usize, usize)>,
}

impl<'a> FileLines<'a> {
    pub(super) fn new(base: &'a Snapshot, known: &'a LineCache) -> FileLines<'a> {
        let text = base.text();
        let blocks = if base.is_sparse() { known.own.get_or_init(|| LineIndex::new(text)) } else { base.lines() };
        let open = !text.is_empty() && !text.ends_with('\n');
        FileLines { text, blocks, known, count: blocks.ends() + usize::from(open), open }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the zero-based line that contains, or begins at, this offset.
    pub(super) fn at(&self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        let (last, start) = self.known.last.get();
        let line = if start <= offset && offset - start <= SCAN_FORWARD_BYTES_MAX {
            last + count_line_ends(&self.text.as_bytes()[start..offset])
        } else {
            self.blocks.local_line_of(self.text, offset) - 1
        };
        line.min(self.count.saturating_sub(1))
    }

    /// Returns the text of a zero-based line without its line end.
    pub(super) fn line(&self, at: usize) -> &'a str {
        let start = self.start(at);
        let stop = line_stop(self.text, start);
        self.known.last.set((at + 1, stop));
        let line = &self.text[start..stop];
        line.strip_suffix('\n').unwrap_or(line)
    }

    /// Returns the offset of the start of line `at`; for the line after the last, the end of the text.
    pub(super) fn start(&self, at: usize) -> usize {
        let (line, start) = self.known.last.get();
        if line == at {
            return start;
        }
        let near = if self.blocks.has_line_table() { None } else { self.start_near(at, line, start) };
        let start = near.unwrap_or_else(|| self.blocks.local_start_of(self.text, at + 1));
        self.known.last.set((at, start));
        start
    }

    /// Finds the start of line `at` by scanning forward from the `start` of `line`; `None` if it is before or far away.
    #[inline]
    fn start_near(&self, at: usize, line: usize, start: usize) -> Option<usize> {
        let part = &self.text.as_bytes()[start..self.text.len().min(start + SCAN_FORWARD_BYTES_MAX)];
        nth_line_end(part, at.checked_sub(line + 1)?).map(|end| start + end + 1)
    }

    /// Returns the offset of the line end of line `at`.
    pub(super) fn end(&self, at: usize) -> usize {
        self.start(at) + self.line(at).len()
    }

    /// True if line `at` has no line end.
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.open && at.wrapping_add(1) == self.count
    }
}

#[cfg(test)]
mod tests {
    use super::{FileLines, LineCache};
    use crate::locate::find::search::split;
    use crate::text::snapshot::Snapshot;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn single_lookups_agree_with_the_full_table(
            lines in prop::collection::vec("[a-zé]{0,90}", 0..80),
            end in "\n?",
            asked in prop::collection::vec((0usize..4000, 0usize..80), 1..300),
        ) {
            let text = lines.join("\n") + &end;
            let base = Snapshot::from_text(&text);
            let all = split(&text);
            let known = LineCache::default();
            let lines = FileLines::new(&base, &known);
            prop_assert_eq!(lines.count(), all.len());
            let starts: Vec<usize> = all.iter().map(|line| line.as_ptr() as usize - text.as_ptr() as usize).collect();
            for (offset, line) in asked {
                let offset = offset.min(text.len());
                let holds = starts.iter().rposition(|&start| start <= offset).unwrap_or(0);
                prop_assert_eq!(lines.at(offset), holds, "{}", offset);
                if all.is_empty() {
                    continue;
                }
                let line = line % all.len();
                prop_assert_eq!(lines.start(line), starts[line]);
                prop_assert_eq!(lines.line(line), all[line]);
                prop_assert_eq!(lines.end(line), starts[line] + all[line].len());
                prop_assert_eq!(lines.start(all.len()), text.len());
                prop_assert_eq!(lines.is_open(line), line + 1 == all.len() && !text.ends_with('\n'));
            }
        }
    }
}
