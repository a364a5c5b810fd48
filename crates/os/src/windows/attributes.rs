//! Extended attributes: the file attributes of Windows, the access control list, and every alternate stream.

use std::os::windows::fs::FileExt as _;
use std::os::windows::io::BorrowedHandle;

use bitflags::bitflags;
use windows_sys::Wdk::Storage::FileSystem as wdk;
use windows_sys::Win32::Security::{DACL_SECURITY_INFORMATION, LABEL_SECURITY_INFORMATION};
use windows_sys::Win32::Storage::FileSystem as win;

use super::errno::{Errno, Result};
use super::fd::{AsFd, OwnedFd};
use super::ffi::{OsStrExt as _, OsStringExt as _, narrow};
use super::nt::{self, Basic};
use super::open::{Mode, open_part};
use super::stat::basic;

/// Name of the attribute that contains the file attributes of Windows.
const FLAGS: &[u8] = b"windows.attributes";
/// Name of the attribute that contains the access control list.
const SECURITY: &[u8] = b"windows.security";
/// Prefix of the names of attributes that are alternate streams.
const STREAM: &[u8] = b"windows.stream.";
/// Attributes that a new file gets from the old one.
const KEPT_FLAGS: u32 =
    win::FILE_ATTRIBUTE_HIDDEN | win::FILE_ATTRIBUTE_SYSTEM | win::FILE_ATTRIBUTE_NOT_CONTENT_INDEXED;
/// Parts of the security descriptor that are kept: the access control list and the integrity label.
const KEPT_SECURITY: u32 = DACL_SECURITY_INFORMATION | LABEL_SECURITY_INFORMATION;
/// Size of a buffer for a list of streams or a security descriptor, in 8-byte words.
const LIST_WORDS: usize = (64 << 10) / 8;

bitflags! {
    /// Flags for setting an attribute.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct XattrFlags: u32 {}
}

/// A user.
#[derive(Clone, Copy, Debug)]
pub struct Uid(u32);

/// A group.
#[derive(Clone, Copy, Debug)]
pub struct Gid(u32);

impl Uid {
    /// Creates the id from its number.
    pub const fn from_raw(number: u32) -> Uid {
        Uid(number)
    }

    /// The number.
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

impl Gid {
    /// Creates the id from its number.
    pub const fn from_raw(number: u32) -> Gid {
        Gid(number)
    }

    /// The number.
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

/// Does nothing: all files have one number for their owners, and the access control list names the real ones.
///
/// Errors: none.
pub fn fchown(_file: impl AsFd, _owner: Option<Uid>, _group: Option<Gid>) -> Result<()> {
    Ok(())
}

/// Sets or clears the read-only attribute.
///
/// Errors: those of the system.
pub fn fchmod(file: impl AsFd, mode: Mode) -> Result<()> {
    let bit = win::FILE_ATTRIBUTE_READONLY;
    change_flags(file.as_fd().handle(), bit, if mode.is_read_only() { bit } else { 0 })
}

/// Gives the attributes in `mask` these values.
fn change_flags(file: BorrowedHandle<'_>, mask: u32, values: u32) -> Result<()> {
    let now = basic(file)?.attributes;
    let wanted = now & !mask | values & mask;
    if wanted == now {
        return Ok(());
    }
    // A time of 0 means that it stays, and so do attributes of 0.
    let wanted = if wanted == 0 { win::FILE_ATTRIBUTE_NORMAL } else { wanted };
    let words = [0, 0, 0, 0, u64::from(wanted)];
    nt::set(file, wdk::FileBasicInformation, &words, size_of::<Basic>()).map_err(Errno::of_status)
}

/// Returns the length of the list of names, or an error if there are none.
///
/// Errors: those of the system.
pub fn flistxattr_query(file: impl AsFd) -> Result<usize> {
    names(file.as_fd().handle()).map(|names| names.len())
}

/// Lists the names of all attributes, with a NUL after each.
///
/// Errors: `ERANGE` if they do not fit.
pub fn flistxattr(file: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    put(&names(file.as_fd().handle())?, buffer)
}

fn names(file: BorrowedHandle<'_>) -> Result<Vec<u8>> {
    let mut names = Vec::new();
    if basic(file)?.attributes & KEPT_FLAGS != 0 {
        add_name(&mut names, FLAGS);
    }
    if !access_list(file)?.is_empty() {
        add_name(&mut names, SECURITY);
    }
    streams(file)?.iter().for_each(|stream| add_name(&mut names, &[STREAM, stream].concat()));
    Ok(names)
}

/// Adds a name, which ends with NUL.
fn add_name(names: &mut Vec<u8>, name: &[u8]) {
    names.extend_from_slice(name);
    names.push(0);
}

/// Returns the value of an attribute.
///
/// Errors: `ENODATA` without such an attribute, `ERANGE` if it does not fit.
pub fn fgetxattr(file: impl AsFd, name: &[u8], buffer: &mut [u8]) -> Result<usize> {
    let file = file.as_fd().handle();
    if name == FLAGS {
        return put(&(basic(file)?.attributes & KEPT_FLAGS).to_le_bytes(), buffer);
    }
    if name == SECURITY {
        return put(&access_list(file)?, buffer);
    }
    let stream = open_stream(file, name, win::FILE_GENERIC_READ, wdk::FILE_OPEN)?;
    stream.as_fd().with_file(|stream| {
        let size = stream.metadata().map_err(|error| errno(&error))?.len();
        let Some(room) = usize::try_from(size).ok().and_then(|size| buffer.get_mut(..size)) else {
            return Err(Errno::RANGE);
        };
        let mut have = 0;
        while have < room.len() {
            match stream.seek_read(&mut room[have..], have as u64).map_err(|error| errno(&error))? {
                0 => break,
                read => have += read,
            }
        }
        Ok(have)
    })
}

/// Sets an attribute.
///
/// Errors: `EACCES` without the right; `ENOTSUP` for an unknown one.
pub fn fsetxattr(file: impl AsFd, name: &[u8], value: &[u8], _flags: XattrFlags) -> Result<()> {
    let file = file.as_fd().handle();
    if name == FLAGS {
        let flags = value.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or(Errno::INVAL)?;
        return change_flags(file, KEPT_FLAGS, flags);
    }
    if name == SECURITY {
        let words = nt::words(value);
        if !nt::is_descriptor(&words, value.len()) {
            return Err(Errno::INVAL);
        }
        if access_list(file).is_ok_and(|now| now == value) {
            return Ok(());
        }
        return nt::set_security(file, DACL_SECURITY_INFORMATION, &words);
    }
    let stream = open_stream(file, name, win::FILE_GENERIC_WRITE, wdk::FILE_OVERWRITE_IF)?;
    stream.as_fd().with_file(|stream| {
        let mut done = 0;
        while done < value.len() {
            done += stream.seek_write(&value[done..], done as u64).map_err(|error| errno(&error))?;
        }
        Ok(())
    })
}

/// Removes an attribute. The access control list stays: every file has one.
///
/// Errors: those of the system.
pub fn fremovexattr(file: impl AsFd, name: &[u8]) -> Result<()> {
    let file = file.as_fd().handle();
    if name == FLAGS {
        return change_flags(file, KEPT_FLAGS, 0);
    }
    if name == SECURITY {
        return Ok(());
    }
    let stream = open_stream(file, name, win::DELETE, wdk::FILE_OPEN)?;
    nt::set(stream.as_fd().handle(), wdk::FileDispositionInformation, &[1], 1).map_err(Errno::of_status)
}

/// Returns the access control list of a file; empty if the file system has none.
fn access_list(file: BorrowedHandle<'_>) -> Result<Vec<u8>> {
    let mut buffer = vec![0; LIST_WORDS];
    for parts in [KEPT_SECURITY, DACL_SECURITY_INFORMATION] {
        match nt::security(file, parts, &mut buffer) {
            Ok(length) => return Ok(nt::bytes(&buffer, length)),
            // Some systems have no labels.
            Err(Errno::RANGE) => return Err(Errno::TOOBIG),
            Err(_) => {}
        }
    }
    Ok(Vec::new())
}

/// Returns the names of a file's streams other than its content.
fn streams(file: BorrowedHandle<'_>) -> Result<Vec<Vec<u8>>> {
    let mut buffer = vec![0; LIST_WORDS];
    let Ok(filled) = nt::query(file, wdk::FileStreamInformation, &mut buffer) else {
        // A file system without streams.
        return Ok(Vec::new());
    };
    let bytes = nt::bytes(&buffer, filled);
    stream_names(&bytes).ok_or(Errno::IO)
}

/// Parses a list of streams: `:name:$DATA`.
fn stream_names(mut list: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    while !list.is_empty() {
        let number = |at: usize| usize::try_from(u32::from_ne_bytes(*list.get(at..)?.first_chunk()?)).ok();
        let name = list.get(24..)?.get(..number(4)?)?;
        let units: Vec<u16> = name.chunks_exact(2).map(|unit| u16::from_ne_bytes([unit[0], unit[1]])).collect();
        let name = narrow(&units).into_vec();
        let inner = name.strip_prefix(b":").and_then(|name| name.strip_suffix(b":$DATA"));
        names.extend(inner.filter(|name| !name.is_empty()).map(<[u8]>::to_vec));
        match number(0)? {
            0 => break,
            next => list = list.get(next..)?,
        }
    }
    Some(names)
}

/// Opens the stream of an attribute.
fn open_stream(file: BorrowedHandle<'_>, name: &[u8], access: u32, disposition: u32) -> Result<OwnedFd> {
    let name = name.strip_prefix(STREAM).ok_or(Errno::NOTSUP)?;
    if name.iter().any(|byte| b":\\/\0".contains(byte)) {
        return Err(Errno::INVAL);
    }
    let name = super::ffi::wide(std::ffi::OsStr::from_bytes(&[b":", name].concat()));
    let options = wdk::FILE_NON_DIRECTORY_FILE;
    let opened = open_part(file, &name, access, disposition, options).map_err(|errno| match errno {
        Errno::NOENT => Errno::NODATA,
        Errno::INVAL => Errno::NOTSUP,
        other => other,
    })?;
    Ok(OwnedFd::from(opened))
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Copies a value into a buffer.
fn put(value: &[u8], buffer: &mut [u8]) -> Result<usize> {
    let room = buffer.get_mut(..value.len()).ok_or(Errno::RANGE)?;
    room.copy_from_slice(value);
    Ok(value.len())
}

#[cfg(test)]
mod tests {
    use super::stream_names;

    #[test]
    fn streams_beside_the_content_are_listed() {
        let entry = |name: &str, last: bool| {
            let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_ne_bytes).collect();
            let padded = (24 + units.len()).next_multiple_of(8);
            let next = u32::try_from(if last { 0 } else { padded }).unwrap();
            let mut bytes = next.to_ne_bytes().to_vec();
            bytes.extend(u32::try_from(units.len()).unwrap().to_ne_bytes());
            bytes.extend([0; 16]);
            bytes.extend(units);
            bytes.resize(padded, 0);
            bytes
        };
        let list = [entry("::$DATA", false), entry(":Zone.Identifier:$DATA", true)].concat();
        assert_eq!(stream_names(&list).unwrap(), [b"Zone.Identifier".to_vec()]);
        assert_eq!(stream_names(&[]).unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(stream_names(&list[..30]), None);
    }
}
