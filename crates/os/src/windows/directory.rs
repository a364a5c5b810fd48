//! Listing of directories.

use std::ffi::{CStr, CString};
use std::vec::IntoIter;

use windows_sys::Wdk::Storage::FileSystem as wdk;
use windows_sys::Win32::Storage::FileSystem as win;

use super::errno::{Errno, Result};
use super::fd::{AsFd as _, OwnedFd};
use super::ffi::{OsStringExt as _, narrow};
use super::nt;
use super::stat::FileType;

/// Size of the buffer for a part of a listing, in 8-byte words.
const LIST_WORDS: usize = (64 << 10) / 8;

/// A list of the names in a directory.
pub struct Dir {
    folder: OwnedFd,
    entries: IntoIter<DirEntry>,
    begun: bool,
    done: bool,
    buffer: Vec<u64>,
}

/// A name in a directory.
pub struct DirEntry {
    name: CString,
    kind: FileType,
}

impl DirEntry {
    /// The name.
    pub fn file_name(&self) -> &CStr {
        &self.name
    }

    /// The type of its file.
    pub const fn file_type(&self) -> FileType {
        self.kind
    }
}

impl Dir {
    /// Lists an open directory from its beginning.
    ///
    /// Errors: none; errors of the system are returned with the names.
    pub fn new(folder: impl Into<OwnedFd>) -> Result<Dir> {
        let entries = Vec::new().into_iter();
        Ok(Dir { folder: folder.into(), entries, begun: false, done: false, buffer: vec![0; LIST_WORDS] })
    }

    fn fill(&mut self) -> Result<()> {
        let restart = !std::mem::replace(&mut self.begun, true);
        let folder = self.folder.as_fd().handle();
        match nt::list(folder, wdk::FileFullDirectoryInformation, None, restart, &mut self.buffer)? {
            Some(filled) => {
                let entries = entries_of(&nt::bytes(&self.buffer, filled)).ok_or(Errno::IO)?;
                self.entries = entries.into_iter();
            }
            None => self.done = true,
        }
        Ok(())
    }
}

impl Iterator for Dir {
    type Item = Result<DirEntry>;

    fn next(&mut self) -> Option<Result<DirEntry>> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(Ok(entry));
            }
            if self.done {
                return None;
            }
            if let Err(errno) = self.fill() {
                self.done = true;
                return Some(Err(errno));
            }
        }
    }
}

/// Parses a part of a list.
fn entries_of(mut list: &[u8]) -> Option<Vec<DirEntry>> {
    let mut entries = Vec::new();
    loop {
        let number = |at: usize| Some(u32::from_ne_bytes(*list.get(at..)?.first_chunk()?));
        let (next, attributes, length) = (number(0)?, number(56)?, number(60)?);
        let name = list.get(68..)?.get(..usize::try_from(length).ok()?)?;
        let units: Vec<u16> = name.chunks_exact(2).map(|unit| u16::from_ne_bytes([unit[0], unit[1]])).collect();
        let kind = if attributes & win::FILE_ATTRIBUTE_REPARSE_POINT != 0 {
            // A link, or a file whose content is elsewhere.
            FileType::Unknown
        } else if attributes & win::FILE_ATTRIBUTE_DIRECTORY != 0 {
            FileType::Directory
        } else {
            FileType::RegularFile
        };
        if let Ok(name) = CString::new(narrow(&units).into_vec()) {
            entries.push(DirEntry { name, kind });
        }
        if next == 0 {
            return Some(entries);
        }
        list = list.get(usize::try_from(next).ok()?..)?;
    }
}
