//! Metadata, and reading and writing.

use std::io::IoSlice;
use std::os::windows::fs::FileExt as _;
use std::os::windows::io::{AsHandle as _, BorrowedHandle};

use windows_sys::Wdk::Storage::FileSystem as wdk;
use windows_sys::Win32::Storage::FileSystem as win;

use super::buffer::Buffer;
use super::errno::{Errno, Result};
use super::fd::AsFd;
use super::nt::{self, Basic, FileId, Standard, Tag, Volume};
use super::open::open_part;

pub use std::io::SeekFrom;

/// Seconds from the epoch of Windows, 1601, to that of POSIX.
const EPOCH_SECONDS: i64 = 11_644_473_600;
/// Time units of Windows in a second.
const TICKS: i64 = 10_000_000;
/// Bit of the kinds of links that lead to another name.
const NAME_SURROGATE: u32 = 0x2000_0000;
/// The class of [`FileId`].
const FILE_ID_INFORMATION: i32 = 59;
/// The class of [`Volume`].
const VOLUME_INFORMATION: i32 = 1;

/// Metadata of a file.
#[allow(missing_docs, reason = "POSIX describes them")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stat {
    pub st_dev: u64,
    pub st_ino: u64,
    pub st_nlink: u64,
    pub st_mode: u32,
    pub st_uid: u32,
    pub st_gid: u32,
    pub st_size: i64,
    pub st_blocks: i64,
    pub st_mtime: i64,
    pub st_mtime_nsec: u64,
    pub st_ctime: i64,
    pub st_ctime_nsec: u64,
}

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A file.
    RegularFile,
    /// A directory.
    Directory,
    /// A symbolic link, or a junction.
    Symlink,
    /// Does not occur.
    Fifo,
    /// Does not occur.
    Socket,
    /// Does not occur.
    CharacterDevice,
    /// Does not occur.
    BlockDevice,
    /// Unknown.
    Unknown,
}

impl FileType {
    /// Returns the file type that a mode contains.
    pub const fn from_raw_mode(mode: u32) -> FileType {
        match mode & 0o170_000 {
            0o100_000 => FileType::RegularFile,
            0o040_000 => FileType::Directory,
            0o120_000 => FileType::Symlink,
            _ => FileType::Unknown,
        }
    }
}

/// True for a link of a kind that leads to another name: a symbolic link, a junction, a mounted volume.
pub(crate) const fn is_link_tag(tag: u32) -> bool {
    tag & NAME_SURROGATE != 0
}

/// Returns the kind of link that an open file is, if it is one.
pub(crate) fn reparse_tag(file: BorrowedHandle<'_>) -> Option<u32> {
    let mut buffer = [0; 1];
    // Some file systems have no links, and do not support this query.
    let filled = nt::query(file, wdk::FileAttributeTagInformation, &mut buffer).ok()?;
    let Tag { attributes, tag } = nt::part(&buffer, filled)?;
    (attributes & win::FILE_ATTRIBUTE_REPARSE_POINT != 0).then_some(tag)
}

/// Returns times and attributes of an open file.
pub(crate) fn basic(file: BorrowedHandle<'_>) -> Result<Basic> {
    let mut buffer = [0; 5];
    let filled = nt::query(file, wdk::FileBasicInformation, &mut buffer).map_err(Errno::of_status)?;
    nt::part(&buffer, filled).ok_or(Errno::IO)
}

/// Returns volume and number of an open file.
fn identity(file: BorrowedHandle<'_>) -> Result<(u64, u64)> {
    let mut buffer = [0; 3];
    if let Ok(filled) = nt::query(file, FILE_ID_INFORMATION, &mut buffer)
        && let Some(FileId { volume, low, high }) = nt::part(&buffer, filled)
    {
        // Only ReFS uses more than 64 bits.
        return Ok((volume, low ^ high.rotate_left(32)));
    }
    let filled = nt::query(file, wdk::FileInternalInformation, &mut buffer).map_err(Errno::of_status)?;
    let number: i64 = nt::part(&buffer, filled).ok_or(Errno::IO)?;
    let mut buffer = [0; 72];
    let filled = nt::query_volume(file, VOLUME_INFORMATION, &mut buffer).map_err(Errno::of_status)?;
    let Volume { serial, .. } = nt::part(&buffer, filled.max(size_of::<Volume>())).ok_or(Errno::IO)?;
    Ok((u64::from(serial), number.cast_unsigned()))
}

/// Returns the metadata of an open file.
pub(crate) fn stat(file: BorrowedHandle<'_>) -> Result<Stat> {
    let Basic { written, changed, attributes, .. } = basic(file)?;
    let mut buffer = [0; 3];
    let filled = nt::query(file, wdk::FileStandardInformation, &mut buffer).map_err(Errno::of_status)?;
    let found: Standard = nt::part(&buffer, filled).ok_or(Errno::IO)?;
    let is_link = attributes & win::FILE_ATTRIBUTE_REPARSE_POINT != 0 && reparse_tag(file).is_some_and(is_link_tag);
    let mode = if is_link {
        0o120_777
    } else if found.directory != 0 {
        0o040_755
    } else if attributes & win::FILE_ATTRIBUTE_READONLY != 0 {
        0o100_444
    } else {
        0o100_644
    };
    let (dev, ino) = identity(file)?;
    let user = super::process::geteuid().as_raw();
    let ((mtime, mtime_nsec), (ctime, ctime_nsec)) = (unix_time(written), unix_time(changed.max(written)));
    Ok(Stat {
        st_dev: dev,
        st_ino: ino,
        st_nlink: if found.delete_pending != 0 { 0 } else { u64::from(found.links) },
        st_mode: mode,
        st_uid: user,
        st_gid: user,
        st_size: found.size,
        st_blocks: found.allocated / 512,
        st_mtime: mtime,
        st_mtime_nsec: mtime_nsec,
        st_ctime: ctime,
        st_ctime_nsec: ctime_nsec,
    })
}

/// Converts a time of Windows to seconds and nanoseconds since the epoch.
fn unix_time(time: i64) -> (i64, u64) {
    let nanos = u64::try_from(time.rem_euclid(TICKS)).unwrap_or(0) * 100;
    (time.div_euclid(TICKS) - EPOCH_SECONDS, nanos)
}

/// Returns the metadata of an open file.
///
/// Errors: those of the system.
pub fn fstat(file: impl AsFd) -> Result<Stat> {
    stat(file.as_fd().handle())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Reads from the current position.
///
/// Errors: those of the system.
pub fn read<B: Buffer<u8>>(file: impl AsFd, buffer: B) -> Result<B::Output> {
    file.as_fd().with_file(|mut file| buffer.fill(|room| std::io::Read::read(&mut file, room).map_err(|it| errno(&it))))
}

/// Reads from a position.
///
/// Errors: those of the system.
pub fn pread<B: Buffer<u8>>(file: impl AsFd, buffer: B, at: u64) -> Result<B::Output> {
    file.as_fd().with_file(|file| buffer.fill(|room| file.seek_read(room, at).map_err(|it| errno(&it))))
}

/// Writes at a position.
///
/// Errors: those of the system; if some bytes were written, their number is returned instead.
pub fn pwritev(file: impl AsFd, slices: &[IoSlice<'_>], at: u64) -> Result<usize> {
    let mut written = 0;
    file.as_fd().with_file(|file| {
        for slice in slices {
            match file.seek_write(slice, at + written as u64) {
                Ok(count) => {
                    written += count;
                    if count < slice.len() {
                        return Ok(written);
                    }
                }
                Err(_) if written > 0 => return Ok(written),
                Err(error) => return Err(errno(&error)),
            }
        }
        Ok(written)
    })
}

/// Moves the current position.
///
/// Errors: those of the system.
pub fn seek(file: impl AsFd, to: SeekFrom) -> Result<u64> {
    file.as_fd().with_file(|mut file| std::io::Seek::seek(&mut file, to).map_err(|it| errno(&it)))
}

/// Changes the size.
///
/// Errors: those of the system.
pub fn ftruncate(file: impl AsFd, length: u64) -> Result<()> {
    file.as_fd().with_file(|file| file.set_len(length).map_err(|it| errno(&it)))
}

/// Writes a file to the disk.
///
/// Errors: those of the system.
pub fn fdatasync(file: impl AsFd) -> Result<()> {
    nt::flush(file.as_fd().handle())
}

/// Writes the names of a directory to the disk, as far as the file system and the caller's rights allow. NTFS has a
/// journal for names in any case, which it writes within seconds.
///
/// Errors: those of the disk.
pub fn fsync(folder: impl AsFd) -> Result<()> {
    let writable = open_part(folder.as_fd().handle(), &[], win::FILE_ADD_FILE, wdk::FILE_OPEN, 0);
    match writable.and_then(|folder| nt::flush(folder.as_handle())) {
        Err(errno @ (Errno::NOSPC | Errno::IO)) => Err(errno),
        _ => Ok(()),
    }
}
