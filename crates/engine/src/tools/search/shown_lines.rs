//! The lines of one file that a search shows.

use crate::tools::read;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

/// Bytes of a row in addition to its text.
pub(super) const ROW_OVERHEAD_BYTES: usize = 40;

/// A line to show, cut if it is long.
pub(super) struct ShownLine {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) left: Option<usize>,
}

/// The lines of one file to show.
pub(super) struct ShownLines {
    /// Lines on which a hit begins.
    pub(super) hits: Vec<usize>,
    /// All lines, sorted, each once.
    pub(super) shown: Vec<ShownLine>,
    /// Remaining bytes.
    pub(super) room: usize,
    /// The number of hits that may still be shown.
    pub(super) left: usize,
    pub(super) more: bool,
    /// True when a row did not fit.
    pub(super) full: bool,
}

impl ShownLines {
    pub(super) fn new(left: usize, room: usize) -> ShownLines {
        ShownLines { hits: Vec::new(), shown: Vec::new(), room, left, more: false, full: false }
    }

    /// Adds the lines that fit; returns the number of the first one.
    pub(super) fn add<'l>(&mut self, from: Option<u64>, lines: impl Iterator<Item = &'l [u8]>) -> usize {
        let from = from.and_then(|from| usize::try_from(from).ok()).unwrap_or(1);
        let next = self.shown.last().map_or(1, |last| last.line + 1);
        for (line, bytes) in (from..).zip(lines).filter(|(line, _)| *line >= next) {
            // Searched content is text, or will be found not to be.
            let text = String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(bytes));
            let (text, left) = read::clip_line(&text);
            let Some(room) = self.room.checked_sub(text.len() + ROW_OVERHEAD_BYTES) else {
                self.full = true;
                break;
            };
            self.room = room;
            self.shown.push(ShownLine { line, text: text.to_owned(), left });
        }
        from
    }

    /// Adds the lines of a hit; false when no more are wanted.
    pub(super) fn add_hit<'l>(&mut self, number: Option<u64>, lines: impl Iterator<Item = &'l [u8]>) -> bool {
        if self.hits.len() == self.left {
            self.more = true;
            return false;
        }
        let from = self.add(number, lines);
        if self.shown.last().is_some_and(|row| row.line >= from) {
            self.hits.push(from);
        }
        !self.full
    }
}

impl Sink for ShownLines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> std::io::Result<bool> {
        Ok(self.add_hit(hit.line_number(), hit.lines()))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> std::io::Result<bool> {
        self.add(context.line_number(), std::iter::once(context.bytes()));
        Ok(!self.full)
    }
}
