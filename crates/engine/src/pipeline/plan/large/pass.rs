//! Streaming of a large file to a consumer: its decoded text, chunk by chunk, and at the end its properties.

use crate::context::LoadedFile;
use crate::pipeline::plan::large::sparse::{CONTEXT_BYTES_MAX, sparse_with_lines};
use crate::pipeline::plan::large::{CHUNK_BYTES, WholeFileReason, opened, why};
use emendate_core::{Code, Error, Result, Scan, ScanObstacle};
use emendate_fs::FileSource;
use std::io::{self, Read};

/// Bytes of the longest line: a consumer of lines keeps one in memory.
pub(crate) const LINE_BYTES_MAX: usize = CONTEXT_BYTES_MAX;

pub(crate) const SEARCH_NEEDS_WHOLE: WholeFileReason = WholeFileReason::new(
    "is to be searched over line ends, or shown with words, which takes all of its text",
    "Search without multiline, and with numbers as marks.",
);
const LONG_LINE: WholeFileReason = WholeFileReason::new(
    "has lines of more than a megabyte, so it would have to be loaded whole",
    "Use another program.",
);

/// A pass over a large file, as a reader of its decoded text.
pub(crate) struct FilePass<'s> {
    source: &'s FileSource,
    /// The check for cancellation between two chunks.
    check_cancelled: &'s dyn Fn() -> Result<()>,
    scan: Scan<'static>,
    /// Bytes of the file fed to the scan.
    at: u64,
    chunk: Vec<u8>,
    /// The decoded text of a chunk, and how much of it was consumed.
    text: Vec<u8>,
    consumed: usize,
    /// Bytes of the current unterminated line.
    open: usize,
    ended: Option<PassEnd>,
}

/// The reason for the end of the data.
enum PassEnd {
    All,
    Unfit(WholeFileReason),
    Failed(Error),
}

impl<'s> FilePass<'s> {
    /// Begins a pass; `tag` also requests the short tag.
    pub(crate) fn new(source: &'s FileSource, tag: bool, check_cancelled: &'s dyn Fn() -> Result<()>) -> FilePass<'s> {
        let scan = Scan::new(&[], &[], usize::try_from(source.meta().size).unwrap_or(usize::MAX)).with_text();
        let scan = if tag { scan.with_short_tag() } else { scan };
        let (chunk, text) = (vec![0; CHUNK_BYTES], Vec::new());
        FilePass { source, check_cancelled, scan, at: 0, chunk, text, consumed: 0, open: 0, ended: None }
    }

    /// Scans the rest of the file and returns its properties; `read` is the consumer's result.
    ///
    /// Errors: those of the file and of cancellation, else that of `read`; `conflict.raced` for a file that became
    /// shorter.
    pub(crate) fn finish(mut self, read: Result<()>) -> Result<Result<LoadedFile, WholeFileReason>> {
        if self.ended.is_none() {
            read?;
        }
        while self.ended.is_none() {
            self.next_chunk();
        }
        match self.ended {
            Some(PassEnd::Failed(error)) => return Err(error),
            Some(PassEnd::Unfit(why)) => return Ok(Err(why)),
            Some(PassEnd::All) | None => {}
        }
        let whole = match self.scan.finish() {
            Ok(scanned) => scanned.summary,
            Err(unfit) => return Ok(Err(why(unfit))),
        };
        Ok(sparse_with_lines(self.source, whole, None)?.map(|head| opened(self.source, head)).ok_or(LONG_LINE))
    }

    /// Reads the next chunk; its decoded text replaces the previous one.
    fn next_chunk(&mut self) {
        let ended = self.fed();
        self.text = self.scan.take_text(std::mem::take(&mut self.text));
        self.consumed = 0;
        let len = self.text.len();
        let long = self.open + memchr::memchr(b'\n', &self.text).unwrap_or(len) > LINE_BYTES_MAX;
        self.open = memchr::memrchr(b'\n', &self.text).map_or(self.open + len, |end| len - end - 1);
        self.ended = ended.or_else(|| long.then_some(PassEnd::Unfit(LONG_LINE)));
    }

    /// Feeds a chunk to the scan, or returns the reason why there is none.
    fn fed(&mut self) -> Option<PassEnd> {
        if let Err(error) = (self.check_cancelled)() {
            return Some(PassEnd::Failed(error));
        }
        let left = usize::try_from(self.source.meta().size - self.at).unwrap_or(usize::MAX).min(CHUNK_BYTES);
        if left == 0 {
            return Some(self.scan.close().map_or_else(unfit_end, |()| PassEnd::All));
        }
        match self.source.read(self.at, &mut self.chunk[..left]) {
            Err(error) => Some(PassEnd::Failed(error)),
            Ok(0) => Some(PassEnd::Failed(Error::new(Code::ConflictRaced, "It became shorter while it was read."))),
            Ok(read) => {
                self.at += read as u64;
                self.scan.feed(&self.chunk[..read]).err().map(unfit_end)
            }
        }
    }
}

/// Ends a pass over a file that cannot be streamed.
fn unfit_end(unfit: ScanObstacle) -> PassEnd {
    PassEnd::Unfit(why(unfit))
}

impl Read for FilePass<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.consumed == self.text.len() {
            match &self.ended {
                None => self.next_chunk(),
                Some(PassEnd::All) => return Ok(0),
                Some(PassEnd::Unfit(_) | PassEnd::Failed(_)) => return Err(io::Error::other("It was given up.")),
            }
        }
        let rest = &self.text[self.consumed..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.consumed += len;
        Ok(len)
    }
}
