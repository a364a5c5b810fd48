//! Reading files: metadata, contents, comparison.

use emendate_os::fd::{AsFd, OwnedFd};
use emendate_os::ffi::OsStrExt;
use std::ffi::OsStr;
use std::path::Path;

use emendate_core::Result;
use emendate_os::buffer::spare_capacity;
use emendate_os::fs::{FileType, OFlags, Stat};
use emendate_os::io::Errno;

use super::LocalStore;
use super::sys;
use crate::{FileMeta, FileVersion, SafePath, error};

/// Never blocks on a FIFO, never acquires a controlling terminal, never follows a link.
pub(super) const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Attempts to read a file that is being written before reporting a conflict.
const READ_ATTEMPTS: u32 = 3;

/// Bytes compared at a time.
const COMPARE_CHUNK_BYTES: usize = 64 << 10;

/// Converts the result of `fstat`.
#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    clippy::unnecessary_fallible_conversions,
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    reason = "the fields' widths and signs differ between systems"
)]
pub(super) fn file_meta(stat: &Stat) -> FileMeta {
    FileMeta {
        dev: stat.st_dev as u64,
        ino: stat.st_ino.into(),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_ns: nanoseconds(stat.st_mtime.into(), stat.st_mtime_nsec as u64),
        ctime_ns: nanoseconds(stat.st_ctime.into(), stat.st_ctime_nsec as u64),
        mode: stat.st_mode.into(),
        links: stat.st_nlink.into(),
        uid: stat.st_uid,
        gid: stat.st_gid,
    }
}

fn nanoseconds(seconds: i64, nanos: u64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(nanos).unwrap_or(0))
}

/// Disk space that a file uses, in bytes.
#[allow(clippy::useless_conversion, clippy::cast_lossless, reason = "the field's width differs between architectures")]
pub(super) fn disk_bytes(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512)
}

/// Returns the metadata of an open file; fails unless it is a regular file.
pub(super) fn regular_file_meta(file: impl AsFd, path: &Path) -> Result<FileMeta> {
    let stat = sys::fstat(file).map_err(|errno| error::os_error("look at", path, errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(file_meta(&stat)),
        other => Err(error::not_regular(path, error::kind_name(other))),
    }
}

/// Returns the metadata of the symbolic link with this target; `None` if there is no such link.
pub(super) fn link_meta(folder: impl AsFd, name: &OsStr, target: &OsStr) -> emendate_os::io::Result<Option<FileMeta>> {
    match sys::readlinkat(&folder, name) {
        Ok(found) if found.as_bytes() == target.as_bytes() => {
            sys::statat(folder, name).map(|stat| Some(file_meta(&stat)))
        }
        // Not a link.
        Ok(_) | Err(Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// True if the file has exactly these bytes. Reads through the descriptor from offset 0, a chunk at a time.
pub(super) fn same_bytes(file: impl AsFd, bytes: &[u8]) -> emendate_os::io::Result<bool> {
    let mut chunk = Vec::with_capacity(COMPARE_CHUNK_BYTES.min(bytes.len() + 1));
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        chunk.clear();
        let read = match sys::pread(&file, spare_capacity(&mut chunk), at as u64) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        if read == 0 {
            return Ok(rest.is_empty());
        }
        if read > rest.len() || chunk != rest[..read] {
            return Ok(false);
        }
        at += read;
        // A short read at the expected end: that was the end of the file.
        if at == bytes.len() && read < chunk.capacity() {
            return Ok(true);
        }
    }
}

/// True if the file has exactly the concatenation of `pieces`.
pub(super) fn same_chunks(file: &OwnedFd, pieces: &[&[u8]]) -> emendate_os::io::Result<bool> {
    let mut held = Vec::new();
    let mut at = 0;
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        held.resize(piece.len(), 0);
        let mut have = 0;
        while have < piece.len() {
            match sys::pread(file, &mut held[have..], at + have as u64) {
                Ok(0) => return Ok(false),
                Ok(read) => have += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        if held != *piece {
            return Ok(false);
        }
        at += have as u64;
    }
    Ok(file_meta(&sys::fstat(file)?).size == at)
}

impl LocalStore {
    /// Opens a regular file and returns its metadata; `None` if there is none.
    pub(super) fn open_regular(&self, path: &SafePath, flags: OFlags) -> Result<Option<(OwnedFd, FileMeta)>> {
        match self.open_beneath(path.root(), path.relative(), flags) {
            Ok(fd) => regular_file_meta(&fd, path.absolute()).map(|meta| Some((fd, meta))),
            Err(Errno::NOENT) => Ok(None),
            // A socket, or a device without a driver.
            Err(Errno::NXIO | Errno::NODEV) => Err(error::not_regular(path.absolute(), "a socket or device")),
            Err(errno) => Err(error::os_error("open", path.absolute(), errno)),
        }
    }

    pub(super) fn read_version(
        &self,
        safe_path: &SafePath,
        limit: u64,
        mut buffer: Vec<u8>,
    ) -> Result<Option<FileVersion>> {
        let path = safe_path.absolute();
        let Some((file, mut before)) = self.open_regular(safe_path, READ_FLAGS)? else {
            return Ok(None);
        };
        for attempt in 0..READ_ATTEMPTS {
            if attempt > 0 {
                sys::rewind(&file).map_err(|errno| error::os_error("read", path, errno))?;
            }
            let started = now_ns();
            read_all(&file, path, before.size, limit, &mut buffer)?;
            let after = regular_file_meta(&file, path)?;
            // Files in /proc have size 0 whatever they contain, so only unchanged times and size can be required there.
            let torn = after.size != before.size
                || (after.mtime_ns, after.ctime_ns) != (before.mtime_ns, before.ctime_ns)
                || (after.size != 0 && after.size != buffer.len() as u64);
            if !torn {
                let newest = after.mtime_ns.max(after.ctime_ns);
                let racy = started.saturating_sub(newest) <= self.timestamp_granularity_ns(safe_path.root(), &after);
                return Ok(Some(FileVersion { bytes: buffer, meta: after, racy }));
            }
            before = after;
        }
        Err(error::raced(path, "is being written by another program").evidence("3 reads saw it changing."))
    }
}

/// Nanoseconds since the epoch on the clock that the kernel uses for file stamps.
pub(super) fn now_ns() -> i64 {
    i64::try_from(sys::now().as_nanos()).unwrap_or(i64::MAX)
}

/// Reads to the end, at most `limit` + 1 bytes; `size` only guides the first allocation.
fn read_all(file: &OwnedFd, path: &Path, size: u64, limit: u64, buffer: &mut Vec<u8>) -> Result<()> {
    if size > limit {
        return Err(error::too_large(path, Some(size), limit));
    }
    let most = usize::try_from(limit.saturating_add(1)).unwrap_or(usize::MAX);
    let hint = usize::try_from(size).unwrap_or(usize::MAX);
    buffer.clear();
    if buffer.capacity() > most {
        // A single read must not exceed the limit.
        buffer.shrink_to(most);
    }
    let room = if hint == 0 { most.min(4096) } else { hint.saturating_add(1) };
    buffer.try_reserve_exact(room).map_err(|_| error::os_error("find the memory for", path, Errno::NOMEM))?;
    loop {
        if buffer.len() >= most {
            return Err(error::too_large(path, None, limit));
        }
        if buffer.len() == buffer.capacity() {
            buffer.reserve_exact(buffer.len().min(most - buffer.len()));
        }
        match sys::read(file, spare_capacity(buffer)) {
            Ok(0) => return Ok(()),
            // As many bytes as expected, with buffer space left; the `fstat` afterwards shows whether this was the end.
            Ok(_) if hint > 0 && buffer.len() == hint => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(error::os_error("read", path, errno)),
        }
    }
}

/// Returns the metadata of an open file.
pub(super) fn current_meta(file: &OwnedFd) -> emendate_os::io::Result<FileMeta> {
    sys::fstat(file).map(|stat| file_meta(&stat))
}
