//! Files too large to be read whole: opened under a lease and copied in chunks, never twice in memory.

use emendate_core::ErrorContext;
use emendate_os::fd::OwnedFd;
use std::path::Path;

use emendate_core::{Code, ContentHash, ContentId, Error, Result, work};
use emendate_os::io::Errno;

use super::read::{self, READ_FLAGS};
use super::{LocalStore, sys, temp};
use crate::{FileMeta, FileSource, SafePath, SpliceChunk, error};

/// Bytes read, hashed and written at a time; fits the L2 cache.
const COPY_CHUNK_BYTES: usize = 256 << 10;

/// Bytes after which write-back is started.
const FLUSH_BYTES: u64 = 8 << 20;

/// Minimum length of a span that is worth cloning.
const CLONE_BYTES_MIN: u64 = 1 << 20;

/// Alignment of cloned spans: file systems share whole blocks only.
const CLONE_BLOCK_BYTES: u64 = 4096;

/// An open file that no other process writes while its lease is unbroken.
#[derive(Debug)]
pub(crate) struct LeasedSource {
    file: OwnedFd,
    /// A lease was taken before the first byte was read.
    leased: bool,
}

impl LocalStore {
    /// Implements [`Store::source`](crate::Store::source).
    pub(super) fn open_source(&self, path: &SafePath) -> Result<Option<FileSource>> {
        let Some((file, meta)) = self.open_regular(path, READ_FLAGS)? else { return Ok(None) };
        // On a network file system the kernel does not see writes of other machines.
        let held = self.is_trusted(path.root(), &meta) && sys::lease(&file).is_ok();
        // The metadata again: a write before the lease may have followed the first `fstat`.
        let meta = read::regular_file_meta(&file, path.absolute())?;
        Ok(Some(FileSource::local(path.absolute(), meta, LeasedSource { file, leased: held })))
    }
}

impl LeasedSource {
    pub(crate) fn read(&self, at: u64, buffer: &mut [u8]) -> emendate_os::io::Result<usize> {
        let mut have = 0;
        while have < buffer.len() {
            match sys::pread(&self.file, &mut buffer[have..], at + have as u64) {
                Ok(0) => break,
                Ok(read) => have += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(have)
    }

    /// True if the file has provably not been written since it was opened: its lease is unbroken.
    pub(super) fn is_unbroken(&self) -> bool {
        self.leased && sys::is_leased(&self.file).unwrap_or(false)
    }

    /// True if a writer is waiting for the lease, or waited until it timed out.
    pub(super) fn has_waiting_writer(&self) -> bool {
        self.leased && !self.is_unbroken()
    }

    /// Implements [`FileSource::check_unchanged`].
    pub(crate) fn check_unchanged(&self, path: &Path, meta: &FileMeta) -> Result<()> {
        let now = read::regular_file_meta(&self.file, path)?;
        if same_times(&now, meta) { Ok(()) } else { Err(error::raced(path, "is being written by another program")) }
    }

    /// True if the file with the metadata `now` surely still has `content`, which was read through this descriptor: the
    /// lease is unbroken, or the file is read once more.
    pub(super) fn still_has_content(
        &self,
        now: &FileMeta,
        meta: &FileMeta,
        content: ContentId,
    ) -> emendate_os::io::Result<bool> {
        if !now.same_file(meta) || !same_times(now, meta) {
            return Ok(false);
        }
        Ok(self.is_unbroken() || content_of(&self.file, meta.size)? == Some(content))
    }
}

impl Drop for LeasedSource {
    fn drop(&mut self) {
        if self.leased {
            // If this fails, closing the file releases the lease.
            let _ = sys::unlease(&self.file);
        }
    }
}

/// True if size and times are equal. A change of the content changes one of them, unless it is too fast for the clock.
fn same_times(now: &FileMeta, then: &FileMeta) -> bool {
    (now.size, now.mtime_ns, now.ctime_ns) == (then.size, then.mtime_ns, then.ctime_ns)
}

/// Returns the content id of a file; `None` if its size is not `size`.
pub(super) fn content_of(file: &OwnedFd, size: u64) -> emendate_os::io::Result<Option<ContentId>> {
    let mut hash = ContentHash::default();
    let mut buffer = vec![0; COPY_CHUNK_BYTES];
    let mut at = 0;
    loop {
        match sys::pread(file, &mut buffer[..], at) {
            Ok(0) => return Ok((at == size).then(|| hash.id())),
            Ok(read) => {
                hash.update(&buffer[..read]);
                at += read as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Writes a file composed of new bytes and parts of `from`, and returns its content id. With `flush`, write-back starts
/// early, so that the final sync has little left to do.
///
/// Errors: [`Errno::CANCELED`] if the call has to end.
pub(super) fn write_chunks(
    file: &OwnedFd,
    from: &LeasedSource,
    pieces: &[SpliceChunk<'_>],
    flush: bool,
) -> emendate_os::io::Result<ContentId> {
    let mut out = SpliceWriter {
        file,
        from,
        shares: sys::shares_extents(file),
        flush,
        flushed: 0,
        at: 0,
        hash: ContentHash::default(),
        buffer: vec![0; COPY_CHUNK_BYTES],
    };
    let length = pieces.iter().map(SpliceChunk::len).sum();
    if out.shares {
        // Cloned blocks need no space.
        temp::within_limit(length)?;
    } else {
        temp::reserve(file, 0, length)?;
    }
    for piece in pieces {
        match *piece {
            SpliceChunk::New(bytes) => out.put(bytes)?,
            SpliceChunk::Copied { at, len } => out.copy(at, len)?,
        }
    }
    Ok(out.hash.id())
}

/// The file that is being written.
struct SpliceWriter<'a> {
    file: &'a OwnedFd,
    from: &'a LeasedSource,
    shares: bool,
    flush: bool,
    /// Offset up to which write-back was started.
    flushed: u64,
    at: u64,
    hash: ContentHash,
    buffer: Vec<u8>,
}

impl SpliceWriter<'_> {
    fn put(&mut self, bytes: &[u8]) -> emendate_os::io::Result<()> {
        go_on()?;
        self.hash.update(bytes);
        temp::write_at(self.file, &[bytes], self.at)?;
        self.advance(bytes.len() as u64);
        Ok(())
    }

    fn advance(&mut self, bytes: u64) {
        self.at += bytes;
        if self.flush && self.at - self.flushed >= FLUSH_BYTES {
            // Only a hint: the final sync counts.
            let _ = sys::begin_writing(self.file, self.flushed, self.at - self.flushed);
            self.flushed = self.at;
        }
    }

    fn copy(&mut self, from: u64, len: u64) -> emendate_os::io::Result<()> {
        let (mut from, end) = (from, from + len);
        if self.shares && len >= CLONE_BYTES_MIN && from % CLONE_BLOCK_BYTES == self.at % CLONE_BLOCK_BYTES {
            let head = (CLONE_BLOCK_BYTES - from % CLONE_BLOCK_BYTES) % CLONE_BLOCK_BYTES;
            self.copy_bytes(from, head)?;
            from += head;
            from = self.clone_range(from, end)?;
        }
        self.copy_bytes(from, end - from)
    }

    fn copy_bytes(&mut self, mut from: u64, len: u64) -> emendate_os::io::Result<()> {
        let end = from + len;
        while from < end {
            let most = usize::try_from(end - from).unwrap_or(usize::MAX).min(COPY_CHUNK_BYTES);
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.from.read(from, &mut buffer[..most])?;
            if read < most {
                // The source became shorter while it was copied.
                return Err(Errno::STALE);
            }
            let put = self.put(&buffer[..read]);
            self.buffer = buffer;
            put?;
            from += read as u64;
        }
        Ok(())
    }

    /// Clones as much as the file system accepts, and returns the offset reached.
    fn clone_range(&mut self, mut from: u64, end: u64) -> emendate_os::io::Result<u64> {
        while end - from >= CLONE_BLOCK_BYTES {
            let most = usize::try_from((end - from) / CLONE_BLOCK_BYTES * CLONE_BLOCK_BYTES).unwrap_or(usize::MAX);
            go_on()?;
            match sys::copy_file_range(&self.from.file, from, self.file, self.at, most) {
                Ok(0) => return Err(Errno::STALE),
                Ok(copied) => {
                    self.hash_range(from, copied as u64)?;
                    from += copied as u64;
                    self.advance(copied as u64);
                    if !from.is_multiple_of(CLONE_BLOCK_BYTES) {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO)) => return Err(errno),
                // Any other failure: fall back to copying bytes.
                Err(_) => break,
            }
        }
        Ok(from)
    }

    fn hash_range(&mut self, mut from: u64, len: u64) -> emendate_os::io::Result<()> {
        let end = from + len;
        while from < end {
            go_on()?;
            let most = usize::try_from(end - from).unwrap_or(usize::MAX).min(COPY_CHUNK_BYTES);
            let read = self.from.read(from, &mut self.buffer[..most])?;
            if read < most {
                return Err(Errno::STALE);
            }
            self.hash.update(&self.buffer[..read]);
            from += read as u64;
        }
        Ok(())
    }
}

/// Fails if the call has to end; [`work::check`] has the reason.
fn go_on() -> emendate_os::io::Result<()> {
    work::check().map_err(|_| Errno::CANCELED)
}

/// The error for a large file that would have to be overwritten while it is the source of its new content.
pub(super) fn needs_temp_file(path: &Path, size: u64, why: &str) -> Error {
    let what = format!(
        "{} has {size} bytes and would have to be written in place, because {why}; a file that is written in place is loaded \
         whole.",
        error::show(path)
    );
    Error::new(Code::FileTooLarge, what)
        .next("Make a copy and edit that, or ask a person to raise max_whole.")
        .fact("path", error::show(path))
        .about(ErrorContext::FileSize(size))
        .about(ErrorContext::WrittenInPlace(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{COPY_CHUNK_BYTES, LeasedSource, write_chunks};
    use crate::SpliceChunk;
    use emendate_core::work::Meter;
    use emendate_os::io::Errno;
    use std::fs::{File, write};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn copying_ends_when_the_call_is_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        write(&from, vec![b'a'; 2 * COPY_CHUNK_BYTES]).unwrap();
        let from = LeasedSource { file: File::open(&from).unwrap().into(), leased: false };
        let file = File::create(&to).unwrap().into();
        let copied = SpliceChunk::Copied { at: 0, len: 2 * COPY_CHUNK_BYTES as u64 };
        let all = [copied, SpliceChunk::New(b"new")];
        assert!(write_chunks(&file, &from, &all, false).is_ok());
        let meter = Meter::new(u64::MAX, Arc::new(AtomicBool::new(true)));
        let _entered = meter.enter();
        for chunk in all {
            assert_eq!(write_chunks(&file, &from, &[chunk], false), Err(Errno::CANCELED));
        }
    }
}
