//! Temporary files beside their target, and writing to files.

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use emendate_os::ffi::{OsStrExt, OsStringExt};
use std::ffi::{OsStr, OsString};
use std::io::IoSlice;

use emendate_os::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use emendate_os::io::{Errno, Result};

use super::read::file_meta;
use super::sys::{self, NameAt};
use crate::FileMeta;

/// Longer files are preallocated, so that a full disk is detected before the first byte is written.
const PREALLOCATED_BYTES_MIN: u64 = 1 << 20;

/// Maximum number of buffers of one `pwritev` on Linux and macOS.
const IOVEC_MAX: usize = 1024;

/// A name in the target's directory that is ours to remove.
pub(super) struct TempFile {
    pub(super) name: OsString,
    /// Our inode. `None` in a large batch, which would use up the descriptors.
    pub(super) fd: Option<OwnedFd>,
    /// Metadata of our inode when it was created; for a removal, of the file to be removed.
    pub(super) meta: FileMeta,
    /// The name exists. After an exchange it belongs to the displaced file.
    pub(super) exists: bool,
}

impl TempFile {
    /// Creates an empty file beside `target`.
    pub(super) fn create(folder: BorrowedFd<'_>, target: &OsStr, mode: Mode, batch: Option<u32>) -> Result<TempFile> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (name, fd) = create_unique(target, batch, |name| sys::openat(folder, name, flags, mode))?;
        // The lock protects the file from sweeping as long as we live; without locks, its age does.
        let _ = sys::flock(&fd, FlockOperation::NonBlockingLockExclusive);
        match sys::fstat(&fd) {
            Ok(stat) => Ok(TempFile { name, fd: Some(fd), meta: file_meta(&stat), exists: true }),
            Err(errno) => {
                sys::unlinkat(folder, &name, AtFlags::empty())?;
                Err(errno)
            }
        }
    }

    /// Creates a symbolic link to `to` beside `target`.
    pub(super) fn link(folder: BorrowedFd<'_>, target: &OsStr, to: &OsStr, batch: Option<u32>) -> Result<TempFile> {
        let (name, ()) = create_unique(target, batch, |name| sys::symlinkat(to, folder, name))?;
        match sys::statat(folder, &name) {
            Ok(stat) => Ok(TempFile { name, fd: None, meta: file_meta(&stat), exists: true }),
            Err(errno) => {
                sys::unlinkat(folder, &name, AtFlags::empty())?;
                Err(errno)
            }
        }
    }

    /// Gives the file with a name in `from` a second name beside `target`; `None` if it is another file by now.
    pub(super) fn second_name(
        folder: BorrowedFd<'_>,
        target: &OsStr,
        from: NameAt<'_>,
        meta: FileMeta,
        batch: Option<u32>,
    ) -> Result<Option<TempFile>> {
        let (name, ()) = create_unique(target, batch, |name| sys::linkat(from.folder, from.name, folder, name))?;
        let mut temp = TempFile { name, fd: None, meta, exists: true };
        match identity_at(folder, &temp) {
            Ok(found) if found == (meta.dev, meta.ino) => Ok(Some(temp)),
            other => {
                temp.discard(folder)?;
                other.map(|_| None)
            }
        }
    }

    /// Reserves a name beside `target` for a file to be removed; creates nothing yet.
    pub(super) fn reserve(target: &OsStr, meta: FileMeta, batch: Option<u32>) -> Result<TempFile> {
        Ok(TempFile { name: temp_name(target, batch, random()?), fd: None, meta, exists: false })
    }

    /// Removes the name if it exists.
    pub(super) fn discard(&mut self, folder: BorrowedFd<'_>) -> Result<()> {
        if !self.exists {
            return Ok(());
        }
        self.exists = false;
        match unlink_any(folder, &self.name) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }
}

/// Removes a temporary name of any kind. A directory gets a name first by which it counts as removed, so that recovery
/// never meets a part of it.
pub(super) fn unlink_any(folder: impl AsFd, name: &OsStr) -> Result<()> {
    match sys::unlinkat(&folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => {}
        other => return other,
    }
    if temp_owner(name.as_bytes()) == Some(TempOwner::Discarded) {
        return remove_tree(folder.as_fd(), name);
    }
    let mut discarded = name.as_bytes().to_vec();
    discarded.truncate(discarded.len().saturating_sub(DISCARDED_SUFFIX.len()));
    discarded.extend(DISCARDED_SUFFIX.bytes());
    let discarded = OsString::from_vec(discarded);
    sys::rename(&folder, name, &discarded, RenameFlags::empty())?;
    // The next write sweeps the rest.
    let _ = remove_tree(folder.as_fd(), &discarded);
    Ok(())
}

/// Removes a directory with everything in it; links are removed, not followed.
fn remove_tree(folder: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut open = vec![(sys::openat(folder, name, flags, Mode::empty())?, name.to_owned())];
    while let Some((here, _)) = open.last() {
        let list = sys::openat(here, ".", flags, Mode::empty())?;
        let mut inner = None;
        for entry in sys::list(list)? {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if bytes == b"." || bytes == b".." {
                continue;
            }
            match sys::unlinkat(here, OsStr::from_bytes(bytes), AtFlags::empty()) {
                Err(Errno::ISDIR) => inner = Some(OsStr::from_bytes(bytes).to_owned()),
                other => other?,
            }
        }
        if let Some(inner) = inner {
            let fd = sys::openat(here, &inner, flags, Mode::empty())?;
            open.push((fd, inner));
            continue;
        }
        let Some((_, emptied)) = open.pop() else { break };
        let above = open.last().map_or(folder, |(fd, _)| fd.as_fd());
        sys::unlinkat(above, &emptied, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Returns device and inode of the file with the temporary name.
pub(super) fn identity_at(folder: BorrowedFd<'_>, temp: &TempFile) -> Result<(u64, u64)> {
    let stat = sys::statat(folder, &temp.name)?;
    let meta = file_meta(&stat);
    Ok((meta.dev, meta.ino))
}

/// Creates something under a fresh random name.
fn create_unique<T>(
    target: &OsStr,
    batch: Option<u32>,
    mut make: impl FnMut(&OsStr) -> Result<T>,
) -> Result<(OsString, T)> {
    let mut attempts = 8;
    loop {
        let name = temp_name(target, batch, random()?);
        match make(&name) {
            Ok(made) => return Ok((name, made)),
            Err(Errno::EXIST | Errno::INTR) if attempts > 0 => attempts -= 1,
            Err(errno) => return Err(errno),
        }
    }
}

/// Returns a random batch number.
pub(super) fn random_batch() -> Result<u32> {
    getrandom::u32().map_err(|_| Errno::IO)
}

fn random() -> Result<u64> {
    getrandom::u64().map_err(|_| Errno::IO)
}

/// Length of the longest name that is given to a file.
pub(super) const NAME_BYTES_MAX: usize = 254;

/// Suffixes of the temporary names of a single file, and of a batch.
const SINGLE_SUFFIX: &str = ".tmp~";
const BATCH_SUFFIX: &str = ".txn~";
/// Suffix of a temporary directory that only waits to be removed.
const DISCARDED_SUFFIX: &str = ".old~";

/// `.{target}.{random}.tmp~`, or `.{target}.{batch}{random}.txn~`: shorter than 255 bytes, and valid UTF-8 if `target`
/// is.
fn temp_name(target: &OsStr, batch: Option<u32>, random: u64) -> OsString {
    let tail = match batch {
        None => format!(".{random:016x}{SINGLE_SUFFIX}"),
        Some(batch) => format!(".{batch:08x}{:08x}{BATCH_SUFFIX}", random & u64::from(u32::MAX)),
    };
    let keep = shortened(target.as_bytes(), NAME_BYTES_MAX - 1 - tail.len());
    OsString::from_vec([b".", keep, tail.as_bytes()].concat())
}

/// Returns the beginning of a name that has at most `room` bytes, and does not end within a character.
pub(super) fn shortened(name: &[u8], room: usize) -> &[u8] {
    if name.len() <= room {
        return name;
    }
    let is_end = |end: &usize| name.get(*end).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000);
    &name[..(0..=room).rev().find(is_end).unwrap_or(0)]
}

/// Owner of a temporary file, according to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TempOwner {
    Single,
    /// The transaction with this number.
    Batch(u32),
    /// Nobody: it is to be removed.
    Discarded,
}

/// Parses the owner out of a temporary name; `None` for other names.
pub(super) fn temp_owner(name: &[u8]) -> Option<TempOwner> {
    let suffixes = [SINGLE_SUFFIX, BATCH_SUFFIX, DISCARDED_SUFFIX];
    let (rest, suffix) = suffixes.iter().find_map(|suffix| Some((name.strip_suffix(suffix.as_bytes())?, *suffix)))?;
    let rest = rest.strip_prefix(b".")?;
    let (target, digits) = rest.split_at_checked(rest.len().checked_sub(16)?)?;
    let number = hexadecimal::<16>(digits).filter(|_| target.ends_with(b"."))?;
    Some(match suffix {
        SINGLE_SUFFIX => TempOwner::Single,
        DISCARDED_SUFFIX => TempOwner::Discarded,
        _ => TempOwner::Batch(u32::try_from(number >> 32).ok()?),
    })
}

/// True for the name of a temporary file of this crate. If no write is running, the process that created it has died,
/// and the next write in its directory removes it.
pub fn is_temporary_name(name: &OsStr) -> bool {
    temp_owner(name.as_bytes()).is_some()
}

/// Parses exactly `N` lower-case hexadecimal digits.
pub(super) fn hexadecimal<const N: usize>(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits)
        .ok()
        .filter(|text| text.len() == N && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')))?;
    u64::from_str_radix(text, 16).ok()
}

/// Total length in bytes.
pub(super) fn length(pieces: &[&[u8]]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

/// Fails if a file of this size would exceed the process's limit: the kernel would end the process with a signal, which
/// cannot be caught without unsafe code.
pub(super) fn within_limit(end: u64) -> Result<()> {
    let most = emendate_os::process::getrlimit(emendate_os::process::Resource::Fsize).current;
    if most.is_some_and(|most| end > most) { Err(Errno::FBIG) } else { Ok(()) }
}

/// Preallocates `length` bytes. Only a full disk is an error: not every file system supports this.
pub(super) fn reserve(file: impl AsFd, from: u64, length: u64) -> Result<()> {
    if length <= PREALLOCATED_BYTES_MIN {
        return Ok(());
    }
    within_limit(from + length)?;
    loop {
        match sys::reserve(&file, from, length) {
            Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(errno),
            Err(Errno::INTR) => {}
            _ => return Ok(()),
        }
    }
}

/// Writes all pieces from the start of the file.
pub(super) fn write(file: impl AsFd, pieces: &[&[u8]]) -> Result<()> {
    write_at(file, pieces, 0)
}

/// Writes all pieces from the offset `at`.
pub(super) fn write_at(file: impl AsFd, pieces: &[&[u8]], mut at: u64) -> Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    within_limit(at + length(pieces))?;
    while !rest.is_empty() {
        match sys::pwritev(&file, &rest[..rest.len().min(IOVEC_MAX)], at) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => {
                at += written as u64;
                IoSlice::advance_slices(&mut rest, written);
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{TempOwner, temp_name, temp_owner, write};
    use emendate_os::ffi::OsStrExt;
    use std::ffi::OsStr;

    #[test]
    fn temporary_names_are_short_and_valid() {
        let (single, batch) =
            (temp_name(OsStr::new("a"), None, 0x1f), temp_name(OsStr::new("a"), Some(0xab), u64::MAX));
        assert_eq!(
            (single.to_str(), batch.to_str()),
            (Some(".a.000000000000001f.tmp~"), Some(".a.000000abffffffff.txn~"))
        );
        assert_eq!(temp_owner(single.as_bytes()), Some(TempOwner::Single));
        assert_eq!(temp_owner(batch.as_bytes()), Some(TempOwner::Batch(0xab)));
        assert_eq!(temp_owner(b".a.000000abffffffff.old~"), Some(TempOwner::Discarded));
        for other in
            [".a.tmp~", "a.000000000000001f.tmp~", ".a.000000000000001F.tmp~", ".a0000000000000001f.txn~", ".txn~", ""]
        {
            assert_eq!(temp_owner(other.as_bytes()), None, "{other}");
        }
        for letter in ["a", "é", "€", "😀"] {
            let long = temp_name(OsStr::new(&letter.repeat(255 / letter.len())), None, u64::MAX);
            assert!(long.len() < 255 && long.len() > 249 && long.to_str().is_some(), "{long:?}");
        }
        assert!(temp_name(OsStr::from_bytes(&[0xff; 255]), None, 0).len() < 255);
    }

    #[test]
    fn more_chunks_than_one_call_accepts_are_written_in_order() {
        let file = tempfile::tempfile().unwrap();
        let numbers: Vec<String> = (0..5000).map(|number| format!("{number},")).collect();
        let mut pieces: Vec<&[u8]> = numbers.iter().map(String::as_bytes).collect();
        pieces.insert(7, b"");
        write(&file, &pieces).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut &file, &mut text).unwrap();
        assert_eq!(text, numbers.concat());
    }
}
