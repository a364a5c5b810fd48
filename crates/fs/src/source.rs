//! Open files that are too large to be read whole.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emendate_core::Result;

use crate::local::LeasedSource;
use crate::{FileMeta, error};

/// An open file, for reading parts of it; see [`Store::source`](crate::Store::source).
#[derive(Debug)]
pub struct FileSource {
    path: PathBuf,
    meta: FileMeta,
    body: SourceBackend,
}

#[derive(Debug)]
enum SourceBackend {
    Local(LeasedSource),
    Memory(Arc<Vec<u8>>),
}

impl FileSource {
    pub(crate) fn local(path: &Path, meta: FileMeta, file: LeasedSource) -> FileSource {
        FileSource { path: path.to_owned(), meta, body: SourceBackend::Local(file) }
    }

    pub(crate) fn memory(path: &Path, meta: FileMeta, bytes: Vec<u8>) -> FileSource {
        FileSource { path: path.to_owned(), meta, body: SourceBackend::Memory(Arc::new(bytes)) }
    }

    /// Metadata of the file when it was opened.
    pub const fn meta(&self) -> &FileMeta {
        &self.meta
    }

    /// Reads from offset `at` until `buffer` is full or the file ends, and returns the number of bytes.
    ///
    /// Fails with `io.*`.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> Result<usize> {
        match &self.body {
            SourceBackend::Local(file) => {
                file.read(at, buffer).map_err(|errno| error::os_error("read", &self.path, errno))
            }
            SourceBackend::Memory(bytes) => {
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
    pub fn for_each_chunk(&self, chunk: usize, each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.for_each_chunk_of(0..self.meta.size, chunk, each)?;
        self.check_unchanged()
    }

    /// Passes a part of the file to `each` in chunks.
    ///
    /// Fails with `conflict.raced` if the file is shorter, with the errors of `each`, or `io.*`.
    pub fn for_each_chunk_of(
        &self,
        part: Range<u64>,
        chunk: usize,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let size = usize::try_from(part.end.saturating_sub(part.start)).unwrap_or(usize::MAX);
        let mut buffer = vec![0; chunk.clamp(1, size.max(1))];
        let mut at = part.start;
        while at < part.end {
            let most = usize::try_from(part.end - at).unwrap_or(usize::MAX).min(buffer.len());
            let read = self.read(at, &mut buffer[..most])?;
            if read == 0 {
                return Err(error::raced(&self.path, "became shorter while it was read"));
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
    pub fn check_unchanged(&self) -> Result<()> {
        match &self.body {
            SourceBackend::Local(file) => file.check_unchanged(&self.path, &self.meta),
            SourceBackend::Memory(_) => Ok(()),
        }
    }

    pub(crate) const fn leased(&self) -> Option<&LeasedSource> {
        match &self.body {
            SourceBackend::Local(file) => Some(file),
            SourceBackend::Memory(_) => None,
        }
    }

    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.body {
            SourceBackend::Local(_) => None,
            SourceBackend::Memory(bytes) => Some(bytes),
        }
    }
}
