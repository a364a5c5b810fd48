//! Files too large to be taken whole: opened under a lease, copied from in parts, never twice in memory.

use std::os::fd::OwnedFd;
use std::path::Path;

use emendate_core::{Code, ContentHash, ContentId, Error, Result};
use rustix::io::Errno;

use super::look::{self, LOOK};
use super::{Local, probe, sys, temp};
use crate::{Piece, Place, Source, Stamp, fault};

/// Bytes read, hashed and written at a time: what the nearest caches hold.
const CHUNK: usize = 256 << 10;

/// Bytes after which the disk is told to begin writing what was given to it.
const FLUSH: u64 = 8 << 20;

/// A span from which on it is worth asking the file system to share it.
const SHARED: u64 = 1 << 20;

/// What file systems share in: a part of a block cannot be shared.
const BLOCK: u64 = 4096;

/// An open file that nobody else writes, as long as the lease is whole.
#[derive(Debug)]
pub(crate) struct Leased {
    file: OwnedFd,
    /// A lease was taken before the first byte was read.
    held: bool,
}

impl Local {
    /// See [`Store::source`](crate::Store::source).
    pub(super) fn open_source(&self, place: &Place) -> Result<Option<Source>> {
        let Some((file, stamp)) = self.open_regular(place, LOOK)? else { return Ok(None) };
        // Network file systems know nothing of what other machines do.
        let held = self.is_plain(place.root(), &stamp) && sys::lease(&file).is_ok();
        // Who wrote before the lease may have done so after the look.
        let stamp = look::regular(&file, place.absolute())?;
        Ok(Some(Source::local(place.absolute(), stamp, Leased { file, held })))
    }
}

impl Leased {
    pub(crate) fn read(&self, at: u64, buffer: &mut [u8]) -> rustix::io::Result<usize> {
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

    /// The file has not been written since it was opened: proven by a lease that nobody came to break.
    pub(super) fn is_whole(&self) -> bool {
        self.held && sys::is_leased(&self.file).unwrap_or(false)
    }

    /// Somebody waits for the lease to be given back, or waited too long, to write the file.
    pub(super) fn is_wanted(&self) -> bool {
        self.held && !self.is_whole()
    }

    /// See [`Source::still`].
    pub(crate) fn still(&self, path: &Path, stamp: &Stamp) -> Result<()> {
        let now = look::regular(&self.file, path)?;
        if same_times(&now, stamp) { Ok(()) } else { Err(fault::raced(path, "is being written by another program")) }
    }

    /// True when what has this stamp now surely holds `content`, which was read through this: nobody can have written it
    /// since, or it is read once more.
    pub(super) fn vouches(&self, now: &Stamp, stamp: &Stamp, content: ContentId) -> rustix::io::Result<bool> {
        if !now.same_file(stamp) || !same_times(now, stamp) {
            return Ok(false);
        }
        Ok(self.is_whole() || content_of(&self.file, stamp.size)? == Some(content))
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        if self.held {
            // Closing it is as good where this fails.
            let _ = sys::unlease(&self.file);
        }
    }
}

/// A change of the content changes one of these, unless it is too quick for the clock.
fn same_times(now: &Stamp, then: &Stamp) -> bool {
    (now.size, now.mtime_ns, now.ctime_ns) == (then.size, then.mtime_ns, then.ctime_ns)
}

/// What the bytes of a file are; `None` when they are not `size`.
pub(super) fn content_of(file: &OwnedFd, size: u64) -> rustix::io::Result<Option<ContentId>> {
    let mut hash = ContentHash::default();
    let mut buffer = vec![0; CHUNK];
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

/// Writes a file made of parts of `from` and tells what its bytes are. With `flush` the disk begins to write meanwhile, so
/// that the sync at the end has little left to wait for.
pub(super) fn write(file: &OwnedFd, from: &Leased, pieces: &[Piece<'_>], flush: bool) -> rustix::io::Result<ContentId> {
    let mut out = Output {
        file,
        from,
        shares: probe::shares(file),
        flush,
        flushed: 0,
        at: 0,
        hash: ContentHash::default(),
        buffer: vec![0; CHUNK],
    };
    let length = pieces.iter().map(Piece::len).sum();
    if out.shares {
        // What is shared needs no room.
        temp::within_limit(length)?;
    } else {
        temp::reserve(file, rustix::fs::FallocateFlags::empty(), 0, length)?;
    }
    for piece in pieces {
        match *piece {
            Piece::New(bytes) => out.put(bytes)?,
            Piece::Kept { at, len } => out.copy(at, len)?,
        }
    }
    Ok(out.hash.id())
}

/// A file on its way.
struct Output<'a> {
    file: &'a OwnedFd,
    from: &'a Leased,
    shares: bool,
    flush: bool,
    /// Up to where the disk was told to write.
    flushed: u64,
    at: u64,
    hash: ContentHash,
    buffer: Vec<u8>,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> rustix::io::Result<()> {
        self.hash.update(bytes);
        temp::write_at(self.file, &[bytes], self.at)?;
        self.went(bytes.len() as u64);
        Ok(())
    }

    fn went(&mut self, bytes: u64) {
        self.at += bytes;
        if self.flush && self.at - self.flushed >= FLUSH {
            // Only a hint: the sync at the end is what counts.
            let _ = sys::begin_writing(self.file, self.flushed, self.at - self.flushed);
            self.flushed = self.at;
        }
    }

    fn copy(&mut self, from: u64, len: u64) -> rustix::io::Result<()> {
        let (mut from, end) = (from, from + len);
        if self.shares && len >= SHARED && from % BLOCK == self.at % BLOCK {
            let head = (BLOCK - from % BLOCK) % BLOCK;
            self.copy_bytes(from, head)?;
            from += head;
            from = self.share(from, end)?;
        }
        self.copy_bytes(from, end - from)
    }

    fn copy_bytes(&mut self, mut from: u64, len: u64) -> rustix::io::Result<()> {
        let end = from + len;
        while from < end {
            let most = usize::try_from(end - from).unwrap_or(usize::MAX).min(CHUNK);
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.from.read(from, &mut buffer[..most])?;
            if read < most {
                // It became shorter under our hands.
                return Err(Errno::STALE);
            }
            let put = self.put(&buffer[..read]);
            self.buffer = buffer;
            put?;
            from += read as u64;
        }
        Ok(())
    }

    /// Lets the file system share as much as it likes; up to where it did.
    fn share(&mut self, mut from: u64, end: u64) -> rustix::io::Result<u64> {
        while end - from >= BLOCK {
            let most = usize::try_from((end - from) / BLOCK * BLOCK).unwrap_or(usize::MAX);
            match sys::copy_file_range(&self.from.file, from, self.file, self.at, most) {
                Ok(0) => return Err(Errno::STALE),
                Ok(copied) => {
                    self.hash_of(from, copied as u64)?;
                    from += copied as u64;
                    self.went(copied as u64);
                    if !from.is_multiple_of(BLOCK) {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO)) => return Err(errno),
                // Whatever it does not like, bytes can be copied.
                Err(_) => break,
            }
        }
        Ok(from)
    }

    fn hash_of(&mut self, mut from: u64, len: u64) -> rustix::io::Result<()> {
        let end = from + len;
        while from < end {
            let most = usize::try_from(end - from).unwrap_or(usize::MAX).min(CHUNK);
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

/// The refusal where the bytes would have to go into the old file, from which they come.
pub(super) fn only_aside(path: &Path, size: u64, why: &str) -> Error {
    let what = format!(
        "{} has {size} bytes and would have to be written in place, because {why}; a file that is written in place is taken \
         whole.",
        fault::show(path)
    );
    Error::new(Code::FileTooLarge, what)
        .next("Copy it, so that it is a file of its own, or ask a person to raise max_whole.")
        .fact("path", fault::show(path))
        .fact("size", size)
        .fact("in_place", why)
}
