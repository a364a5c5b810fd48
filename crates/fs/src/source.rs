//! Open files that are too large to be read whole.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emendate_core::Result;

use crate::local::Leased;
use crate::{Stamp, fault};

/// An open file, for reading parts of it; see [`Store::source`](crate::Store::source).
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    stamp: Stamp,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Local(Leased),
    Memory(Arc<Vec<u8>>),
}

impl Source {
    pub(crate) fn local(path: &Path, stamp: Stamp, file: Leased) -> Source {
        Source { path: path.to_owned(), stamp, body: Body::Local(file) }
    }

    pub(crate) fn memory(path: &Path, stamp: Stamp, bytes: Vec<u8>) -> Source {
        Source { path: path.to_owned(), stamp, body: Body::Memory(Arc::new(bytes)) }
    }

    /// Metadata of the file when it was opened.
    pub const fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Reads from offset `at` until `buffer` is full or the file ends, and returns the number of bytes.
    ///
    /// Fails with `io.*`.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> Result<usize> {
        match &self.body {
            Body::Local(file) => file.read(at, buffer).map_err(|errno| fault::os("read", &self.path, errno)),
            Body::Memory(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let len = rest.len().min(buffer.len());
                buffer[..len].copy_from_slice(&rest[..len]);
                Ok(len)
            }
        }
    }

    /// Passes the whole file to `each` in chunks of at most `chunk` bytes, up to the size it had when it was opened.
    ///
    /// Fails with `conflict.raced` if it is shorter or was seen to change, with the errors of `each`, or `io.*`.
    pub fn each(&self, chunk: usize, each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.each_of(0..self.stamp.size, chunk, each)?;
        self.still()
    }

    /// Passes a part of the file to `each` in chunks.
    ///
    /// Fails with `conflict.raced` if the file is shorter, with the errors of `each`, or `io.*`.
    pub fn each_of(&self, part: Range<u64>, chunk: usize, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = usize::try_from(part.end.saturating_sub(part.start)).unwrap_or(usize::MAX);
        let mut buffer = vec![0; chunk.clamp(1, size.max(1))];
        let mut at = part.start;
        while at < part.end {
            let most = usize::try_from(part.end - at).unwrap_or(usize::MAX).min(buffer.len());
            let read = self.read(at, &mut buffer[..most])?;
            if read == 0 {
                return Err(fault::raced(&self.path, "became shorter while it was read"));
            }
            each(&buffer[..read])?;
            at += read as u64;
        }
        Ok(())
    }

    /// Checks that the file has not visibly changed since it was opened. Without a lease this is no proof; the commit
    /// checks again.
    ///
    /// Fails with `conflict.raced` or `io.*`.
    pub fn still(&self) -> Result<()> {
        match &self.body {
            Body::Local(file) => file.still(&self.path, &self.stamp),
            Body::Memory(_) => Ok(()),
        }
    }

    pub(crate) const fn leased(&self) -> Option<&Leased> {
        match &self.body {
            Body::Local(file) => Some(file),
            Body::Memory(_) => None,
        }
    }

    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Local(_) => None,
            Body::Memory(bytes) => Some(bytes),
        }
    }
}
