//! The lines of one file that a search shows.

use crate::model::reply_limits::LINE_CHARS_MAX;
use crate::tools::read;
use crate::tools::search::SearchPattern;
use emendate_core::omission::cut_mark;
use grep_matcher::Matcher as _;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use std::borrow::Cow;
use std::ops::Range;

/// Bytes of a row in addition to its text.
pub(super) const ROW_OVERHEAD_BYTES: usize = 40;
/// Characters of a long line that are shown before a hit in it.
const BEFORE_HIT_CHARS: usize = LINE_CHARS_MAX / 4;

/// A line to show, or the part of a long line around a hit.
pub(super) struct ShownLine {
    pub(super) line: usize,
    pub(super) text: String,
    /// Omitted characters before and after the text.
    pub(super) before: usize,
    pub(super) after: usize,
}

/// The lines of one file to show.
pub(super) struct ShownLines {
    /// Lines on which a hit begins.
    pub(super) hits: Vec<usize>,
    /// All lines, sorted, each once.
    pub(super) shown: Vec<ShownLine>,
    /// The lines above the next hit, which are shown only with it.
    above: Vec<ShownLine>,
    /// Remaining bytes.
    pub(super) room: usize,
    /// The number of hits that may still be shown.
    pub(super) left: usize,
    pub(super) more: bool,
    /// True when a row did not fit.
    pub(super) full: bool,
}

impl ShownLine {
    /// Creates the row of a line, in which a hit is at these bytes.
    fn new(line: usize, bytes: &[u8], hit: Range<usize>) -> ShownLine {
        // Searched content is text, or will be found not to be.
        let whole = String::from_utf8_lossy(without_line_end(bytes));
        let (text, left) = read::clip_line(&whole);
        if left.is_none() || hit.end <= text.len() {
            return ShownLine { line, text: text.to_owned(), before: 0, after: left.unwrap_or(0) };
        }
        let hit = (0..=hit.start.min(whole.len())).rev().find(|&at| whole.is_char_boundary(at)).unwrap_or(0);
        let start = whole[..hit].char_indices().rev().take(BEFORE_HIT_CHARS).last().map_or(hit, |(at, _)| at);
        let (text, left) = read::clip_line(&whole[start..]);
        let before = whole[..start].chars().count();
        ShownLine { line, text: text.to_owned(), before, after: left.unwrap_or(0) }
    }

    /// True if all of the line is shown.
    pub(super) fn is_whole(&self) -> bool {
        self.before + self.after == 0
    }

    /// Returns the text after the mark of what is omitted before it.
    pub(super) fn marked(&self) -> Cow<'_, str> {
        match self.before {
            0 => Cow::Borrowed(&self.text),
            before => Cow::Owned(format!("{} {}", cut_mark(before), self.text)),
        }
    }
}

impl ShownLines {
    pub(super) fn new(left: usize, room: usize) -> ShownLines {
        ShownLines { hits: Vec::new(), shown: Vec::new(), above: Vec::new(), room, left, more: false, full: false }
    }

    /// Adds those rows that fit and are below the last one.
    fn push_rows(&mut self, rows: impl Iterator<Item = ShownLine>) {
        let next = self.shown.last().map_or(1, |last| last.line + 1);
        for row in rows.filter(|row| row.line >= next) {
            let Some(room) = self.room.checked_sub(row.text.len() + ROW_OVERHEAD_BYTES) else {
                self.full = true;
                break;
            };
            self.room = room;
            self.shown.push(row);
        }
    }

    /// Adds lines below a hit.
    pub(super) fn add_below<'l>(&mut self, from: Option<u64>, lines: impl Iterator<Item = &'l [u8]>) {
        self.push_rows(context_rows(from, lines));
    }

    /// Adds lines above the next hit.
    pub(super) fn add_above<'l>(&mut self, from: Option<u64>, lines: impl Iterator<Item = &'l [u8]>) {
        self.above.extend(context_rows(from, lines));
    }

    /// Adds the lines of a hit, which is at these bytes of the first one, and those above it; false when no more are
    /// wanted.
    pub(super) fn add_hit<'l>(
        &mut self,
        number: Option<u64>,
        lines: impl Iterator<Item = &'l [u8]>,
        hit: Range<usize>,
    ) -> bool {
        let above = std::mem::take(&mut self.above);
        if self.hits.len() == self.left {
            self.more = true;
            return false;
        }
        let from = line_number(number);
        let (shown, room) = (self.shown.len(), self.room);
        let of_hit = (from..).zip(lines).map(|(line, bytes)| {
            let hit = if line == from { hit.clone() } else { 0..0 };
            ShownLine::new(line, bytes, hit)
        });
        self.push_rows(above.into_iter().chain(of_hit));
        if self.shown.last().is_some_and(|row| row.line >= from) {
            self.hits.push(from);
        } else {
            // Lines above a hit that does not fit would look like those of another one.
            self.shown.truncate(shown);
            self.room = room;
        }
        !self.full
    }
}

/// Returns the rows of lines without hits.
fn context_rows<'l>(from: Option<u64>, lines: impl Iterator<Item = &'l [u8]>) -> impl Iterator<Item = ShownLine> {
    (line_number(from)..).zip(lines).map(|(line, bytes)| ShownLine::new(line, bytes, 0..0))
}

fn line_number(number: Option<u64>) -> usize {
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(1)
}

fn without_line_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Receives the hits of a pattern within lines.
pub(super) struct HitSink<'s> {
    pub(super) pattern: &'s SearchPattern,
    pub(super) rows: &'s mut ShownLines,
}

impl Sink for HitSink<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> std::io::Result<bool> {
        let line = without_line_end(hit.bytes());
        // The place matters only in a line that is cut.
        let found = if line.len() > LINE_CHARS_MAX { self.pattern.find_at(line, 0).unwrap_or(None) } else { None };
        let found = found.map_or(0..0, |found| found.start()..found.end());
        Ok(self.rows.add_hit(hit.line_number(), hit.lines(), found))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> std::io::Result<bool> {
        let lines = std::iter::once(context.bytes());
        match context.kind() {
            SinkContextKind::Before => self.rows.add_above(context.line_number(), lines),
            _ => self.rows.add_below(context.line_number(), lines),
        }
        Ok(!self.rows.full)
    }
}
