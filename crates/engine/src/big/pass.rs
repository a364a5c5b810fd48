//! Streaming of a large file to a consumer: its decoded text, chunk by chunk, and at the end its properties.

use super::extract::{NEAR, with_lines};
use super::{CHUNK, Why, opened, why};
use crate::engine::Opened;
use emendate_core::{Code, Error, Result, Scan, Unfit};
use emendate_fs::Source;
use std::io::{self, Read};

/// Bytes of the longest line: a consumer of lines keeps one in memory.
pub(crate) const MOST_LINE: usize = NEAR;

pub(crate) const SEARCHED: Why = Why::new(
    "is to be searched over line ends, or shown with words, which takes all of its text",
    "Search without multiline, and with numbers as marks.",
);
const LONG: Why =
    Why::new("has lines of more than a megabyte, so it would have to be taken whole", "Use another program.");

/// A pass over a large file, as a reader of its decoded text.
pub(crate) struct Passing<'s> {
    source: &'s Source,
    /// The check for cancellation between two chunks.
    go_on: &'s dyn Fn() -> Result<()>,
    scan: Scan<'static>,
    /// Bytes of the file fed to the scan.
    at: u64,
    chunk: Vec<u8>,
    /// The decoded text of a chunk, and how much of it was consumed.
    reading: Vec<u8>,
    given: usize,
    /// Bytes of the current unterminated line.
    open: usize,
    ended: Option<Ended>,
}

/// The reason for the end of the data.
enum Ended {
    All,
    Unfit(Why),
    Failed(Error),
}

impl<'s> Passing<'s> {
    /// Begins a pass; `tag` also requests the short tag.
    pub(crate) fn new(source: &'s Source, tag: bool, go_on: &'s dyn Fn() -> Result<()>) -> Passing<'s> {
        let scan = Scan::new(&[], &[], usize::try_from(source.stamp().size).unwrap_or(usize::MAX)).giving();
        let scan = if tag { scan.tagged() } else { scan };
        let (chunk, reading) = (vec![0; CHUNK], Vec::new());
        Passing { source, go_on, scan, at: 0, chunk, reading, given: 0, open: 0, ended: None }
    }

    /// Scans the rest of the file and returns its properties; `read` is the consumer's result.
    ///
    /// Errors: those of the file and of cancellation, else that of `read`; `conflict.raced` for a file that became
    /// shorter.
    pub(crate) fn end(mut self, read: Result<()>) -> Result<Result<Opened, Why>> {
        if self.ended.is_none() {
            read?;
        }
        while self.ended.is_none() {
            self.next_chunk();
        }
        match self.ended {
            Some(Ended::Failed(error)) => return Err(error),
            Some(Ended::Unfit(why)) => return Ok(Err(why)),
            Some(Ended::All) | None => {}
        }
        let whole = match self.scan.finish() {
            Ok(scanned) => scanned.whole,
            Err(unfit) => return Ok(Err(why(unfit))),
        };
        Ok(with_lines(self.source, whole, None)?.map(|head| opened(self.source, head)).ok_or(LONG))
    }

    /// Reads the next chunk; its decoded text replaces the previous one.
    fn next_chunk(&mut self) {
        let ended = self.fed();
        self.reading = self.scan.take_reading(std::mem::take(&mut self.reading));
        self.given = 0;
        let len = self.reading.len();
        let long = self.open + memchr::memchr(b'\n', &self.reading).unwrap_or(len) > MOST_LINE;
        self.open = memchr::memrchr(b'\n', &self.reading).map_or(self.open + len, |end| len - end - 1);
        self.ended = ended.or_else(|| long.then_some(Ended::Unfit(LONG)));
    }

    /// Feeds a chunk to the scan, or returns the reason why there is none.
    fn fed(&mut self) -> Option<Ended> {
        if let Err(error) = (self.go_on)() {
            return Some(Ended::Failed(error));
        }
        let left = usize::try_from(self.source.stamp().size - self.at).unwrap_or(usize::MAX).min(CHUNK);
        let unfit = |unfit: Unfit| Some(Ended::Unfit(why(unfit)));
        if left == 0 {
            return self.scan.close().map_or_else(unfit, |()| Some(Ended::All));
        }
        match self.source.read(self.at, &mut self.chunk[..left]) {
            Err(error) => Some(Ended::Failed(error)),
            Ok(0) => Some(Ended::Failed(Error::new(Code::ConflictRaced, "It became shorter while it was read."))),
            Ok(read) => {
                self.at += read as u64;
                self.scan.feed(&self.chunk[..read]).map_or_else(unfit, |()| None)
            }
        }
    }
}

impl Read for Passing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.reading.len() {
            match &self.ended {
                None => self.next_chunk(),
                Some(Ended::All) => return Ok(0),
                Some(Ended::Unfit(_) | Ended::Failed(_)) => return Err(io::Error::other("It was given up.")),
            }
        }
        let rest = &self.reading[self.given..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.given += len;
        Ok(len)
    }
}
