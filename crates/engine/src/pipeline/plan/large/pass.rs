//! Streaming of a large file to a consumer: its decoded text, chunk by chunk, and at the end its properties.

use crate::context::LoadedFile;
use crate::pipeline::plan::large::sparse::{CONTEXT_BYTES_MAX, sparse_with_lines};
use crate::pipeline::plan::large::{CHUNK_BYTES, StreamObstacle, WholeFileReason, opened};
use emendate_core::{Code, Error, Result, Scan};
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
    /// The end of the data, or of the pass.
    ended: Option<Result<(), StreamObstacle>>,
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
    pub(crate) fn finish(mut self, read: Result<()>) -> Result<LoadedFile, StreamObstacle> {
        if self.ended.is_none() {
            read?;
        }
        while self.ended.is_none() {
            self.next_chunk();
        }
        self.ended.transpose()?;
        let whole = self.scan.finish()?.summary;
        Ok(opened(self.source, sparse_with_lines(self.source, whole, None)?.ok_or(LONG_LINE)?))
    }

    /// Reads the next chunk; its decoded text replaces the previous one.
    fn next_chunk(&mut self) {
        let fed = self.feed();
        self.text = self.scan.take_text(std::mem::take(&mut self.text));
        self.consumed = 0;
        let len = self.text.len();
        let long = self.open + memchr::memchr(b'\n', &self.text).unwrap_or(len) > LINE_BYTES_MAX;
        self.open = memchr::memrchr(b'\n', &self.text).map_or(self.open + len, |end| len - end - 1);
        self.ended = match fed {
            Ok(true) if long => Some(Err(LONG_LINE.into())),
            Ok(true) => None,
            Ok(false) => Some(Ok(())),
            Err(why) => Some(Err(why)),
        };
    }

    /// Feeds a chunk to the scan; false if there is none left.
    fn feed(&mut self) -> Result<bool, StreamObstacle> {
        (self.check_cancelled)()?;
        let left = usize::try_from(self.source.meta().size - self.at).unwrap_or(usize::MAX).min(CHUNK_BYTES);
        if left == 0 {
            self.scan.close()?;
            return Ok(false);
        }
        let read = self.source.read(self.at, &mut self.chunk[..left])?;
        if read == 0 {
            return Err(Error::new(Code::ConflictRaced, "It became shorter while it was read.").into());
        }
        self.at += read as u64;
        self.scan.feed(&self.chunk[..read])?;
        Ok(true)
    }
}

impl Read for FilePass<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.consumed == self.text.len() {
            match &self.ended {
                None => self.next_chunk(),
                Some(Ok(())) => return Ok(0),
                Some(Err(_)) => return Err(io::Error::other("It was given up.")),
            }
        }
        let rest = &self.text[self.consumed..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.consumed += len;
        Ok(len)
    }
}
