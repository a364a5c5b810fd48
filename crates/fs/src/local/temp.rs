//! Temporary files beside their target, and writing into files.

use std::ffi::{OsStr, OsString};
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::{Errno, Result};

use super::look::stamp_of;
use crate::Stamp;

/// A longer file is given its space before the first byte is written, to learn early that the disk is full.
const RESERVED: u64 = 1 << 20;

/// Buffers of one `pwritev`; Linux takes no more.
const BUFFERS: usize = 1024;

/// A name in the target's folder that is ours to remove.
pub(super) struct Temp {
    pub(super) name: OsString,
    /// Our inode. `None` in a large batch, which would use up the descriptors.
    pub(super) fd: Option<OwnedFd>,
    /// Our inode as it was when it was made; of a removal, the file to be taken away.
    pub(super) stamp: Stamp,
    /// The name exists. After an exchange it is the displaced file's.
    pub(super) live: bool,
}

impl Temp {
    /// Creates an empty file beside `target`.
    pub(super) fn create(folder: BorrowedFd<'_>, target: &OsStr, mode: Mode) -> Result<Temp> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (name, fd) = with_name(target, |name| rustix::fs::openat(folder, name, flags, mode))?;
        match rustix::fs::fstat(&fd) {
            Ok(stat) => Ok(Temp { name, fd: Some(fd), stamp: stamp_of(&stat), live: true }),
            Err(errno) => {
                rustix::fs::unlinkat(folder, &name, AtFlags::empty())?;
                Err(errno)
            }
        }
    }

    /// Creates a symbolic link beside `target` that says `to`.
    pub(super) fn link(folder: BorrowedFd<'_>, target: &OsStr, to: &OsStr) -> Result<Temp> {
        let (name, ()) = with_name(target, |name| rustix::fs::symlinkat(to, folder, name))?;
        match rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Temp { name, fd: None, stamp: stamp_of(&stat), live: true }),
            Err(errno) => {
                rustix::fs::unlinkat(folder, &name, AtFlags::empty())?;
                Err(errno)
            }
        }
    }

    /// A name beside `target` for what is to be taken away; nothing is there yet.
    pub(super) fn reserve(target: &OsStr, stamp: Stamp) -> Result<Temp> {
        Ok(Temp { name: name(target, random()?), fd: None, stamp, live: false })
    }

    /// Removes the name if it is there.
    pub(super) fn discard(&mut self, folder: BorrowedFd<'_>) -> Result<()> {
        if !self.live {
            return Ok(());
        }
        self.live = false;
        match rustix::fs::unlinkat(folder, &self.name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }
}

/// Makes something new under a name that nothing has yet.
fn with_name<T>(target: &OsStr, mut make: impl FnMut(&OsStr) -> Result<T>) -> Result<(OsString, T)> {
    let mut attempts = 8;
    loop {
        let name = name(target, random()?);
        match make(&name) {
            Ok(made) => return Ok((name, made)),
            Err(Errno::EXIST | Errno::INTR) if attempts > 0 => attempts -= 1,
            Err(errno) => return Err(errno),
        }
    }
}

fn random() -> Result<u64> {
    getrandom::u64().map_err(|_| Errno::IO)
}

/// `.{target}.{random}.tmp~`, shorter than 255 bytes and no invalid UTF-8 if `target` is none.
fn name(target: &OsStr, random: u64) -> OsString {
    let tail = format!(".{random:016x}.tmp~");
    let mut keep = target.as_bytes();
    let room = 253 - tail.len();
    if keep.len() > room {
        let whole = |&end: &usize| target.to_str().is_none_or(|text| text.is_char_boundary(end));
        keep = &keep[..(0..=room).rev().find(whole).unwrap_or(0)];
    }
    OsString::from_vec([b".", keep, tail.as_bytes()].concat())
}

/// Bytes of all pieces.
pub(super) fn length(pieces: &[&[u8]]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

/// Reserves disk space for `length` bytes; only a full disk is an error, not every file system can reserve.
pub(super) fn reserve(file: impl AsFd, flags: FallocateFlags, from: u64, length: u64) -> Result<()> {
    if length <= RESERVED {
        return Ok(());
    }
    loop {
        match rustix::fs::fallocate(&file, flags, from, length) {
            Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(errno),
            Err(Errno::INTR) => {}
            _ => return Ok(()),
        }
    }
}

/// Writes all pieces, one after the other, from the file's start.
pub(super) fn write(file: impl AsFd, pieces: &[&[u8]]) -> Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    let mut at = 0;
    while !rest.is_empty() {
        match rustix::io::pwritev(&file, &rest[..rest.len().min(BUFFERS)], at) {
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
    use super::{name, write};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_stay_short_and_valid() {
        assert_eq!(name(OsStr::new("a"), 0x1f), ".a.000000000000001f.tmp~");
        for letter in ["a", "é", "€", "😀"] {
            let long = name(OsStr::new(&letter.repeat(255 / letter.len())), u64::MAX);
            assert!(long.len() < 255 && long.len() > 249 && long.to_str().is_some(), "{long:?}");
        }
        assert!(name(OsStr::from_bytes(&[0xff; 255]), 0).len() < 255);
    }

    #[test]
    fn more_pieces_than_one_call_takes_are_written_in_order() {
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
