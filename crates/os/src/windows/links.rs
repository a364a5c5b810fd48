//! Names: renaming, removing, second names, and links.

use std::ffi::{CString, OsStr, OsString};
use std::os::windows::io::{AsHandle as _, AsRawHandle as _, BorrowedHandle};
use std::path::Path;

use windows_sys::Wdk::Storage::FileSystem as wdk;
use windows_sys::Win32::Foundation::{
    NTSTATUS, STATUS_INVALID_INFO_CLASS, STATUS_INVALID_PARAMETER, STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED,
};
use windows_sys::Win32::Storage::FileSystem as win;

use super::errno::{Errno, Result};
use super::fd::AsFd;
use super::ffi::{OsStringExt as _, narrow};
use super::nt;
use super::open::{AtFlags, RenameFlags, entry_name, open_entry};
use super::stat::{basic, is_link_tag, reparse_tag};
use super::{paths, win32};

/// Control code that reads a link.
const FSCTL_GET_REPARSE_POINT: u32 = 0x0009_00A8;
/// Maximum size of a link's data, in 8-byte words.
const LINK_WORDS: usize = (16 << 10) / 8;
/// Kinds of links.
const SYMLINK: u32 = 0xA000_000C;
const JUNCTION: u32 = 0xA000_0003;
/// The flag of a symbolic link that is relative to its directory.
const RELATIVE: u32 = 1;

/// Renames within a directory, and replaces what has the new name, even if it is open.
///
/// Errors: those of the system.
pub fn renameat(folder: impl AsFd, from: impl AsRef<OsStr>, to_folder: impl AsFd, to: impl AsRef<OsStr>) -> Result<()> {
    rename(folder, from.as_ref(), to_folder, to.as_ref(), wdk::FILE_RENAME_REPLACE_IF_EXISTS)
}

/// Renames to a name that must not exist.
///
/// Errors: `EEXIST`; `ENOSYS` for an exchange, which Windows does not have.
pub fn renameat_with(
    folder: impl AsFd,
    from: impl AsRef<OsStr>,
    to_folder: impl AsFd,
    to: impl AsRef<OsStr>,
    flags: RenameFlags,
) -> Result<()> {
    if flags.contains(RenameFlags::EXCHANGE) {
        return Err(Errno::NOSYS);
    }
    let replace = if flags.contains(RenameFlags::NOREPLACE) { 0 } else { wdk::FILE_RENAME_REPLACE_IF_EXISTS };
    rename(folder, from.as_ref(), to_folder, to.as_ref(), replace)
}

fn rename(folder: impl AsFd, from: &OsStr, to_folder: impl AsFd, to: &OsStr, replace: u32) -> Result<()> {
    let file = open_entry(folder, from, win::DELETE, 0)?;
    let to_folder = to_folder.as_fd().handle();
    let to = entry_name(to)?;
    let posix = wdk::FILE_RENAME_POSIX_SEMANTICS;
    let attempts = [
        (wdk::FileRenameInformationEx, replace | posix | wdk::FILE_RENAME_IGNORE_READONLY_ATTRIBUTE),
        (wdk::FileRenameInformationEx, replace | posix),
        // For file systems other than NTFS, on which the replaced file must not be open.
        (wdk::FileRenameInformation, replace),
    ];
    first_supported(&attempts, |class, flags| set_name(file.as_handle(), class, flags, to_folder, &to))
}

/// Gives a file a second name.
///
/// Errors: `EEXIST`; `EOPNOTSUPP` where the file system has no second names.
pub fn linkat(
    folder: impl AsFd,
    from: impl AsRef<OsStr>,
    to_folder: impl AsFd,
    to: impl AsRef<OsStr>,
    _flags: AtFlags,
) -> Result<()> {
    let file = open_entry(folder, from.as_ref(), win::FILE_WRITE_ATTRIBUTES, 0)?;
    let to = entry_name(to.as_ref())?;
    set_name(file.as_handle(), wdk::FileLinkInformation, 0, to_folder.as_fd().handle(), &to).map_err(Errno::of_status)
}

/// Removes a name; the file remains usable for those who have it open.
///
/// Errors: `EISDIR` for a directory, unless one is to be removed.
pub fn unlinkat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: AtFlags) -> Result<()> {
    let directory = flags.contains(AtFlags::REMOVEDIR);
    let kind = if directory { wdk::FILE_DIRECTORY_FILE } else { 0 };
    let file = open_entry(folder, name.as_ref(), win::DELETE, kind)?;
    let attributes = basic(file.as_handle())?.attributes;
    if attributes & win::FILE_ATTRIBUTE_DIRECTORY != 0 && !directory {
        let is_link = reparse_tag(file.as_handle()).is_some_and(is_link_tag);
        if !is_link {
            return Err(Errno::ISDIR);
        }
    }
    let posix = wdk::FILE_DISPOSITION_DELETE | wdk::FILE_DISPOSITION_POSIX_SEMANTICS;
    let attempts = [
        (wdk::FileDispositionInformationEx, posix | wdk::FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE),
        (wdk::FileDispositionInformationEx, posix),
        // The name is removed when the file is closed.
        (wdk::FileDispositionInformation, 1),
    ];
    first_supported(&attempts, |class, flags| {
        let length = if class == wdk::FileDispositionInformation { 1 } else { 4 };
        nt::set(file.as_handle(), class, &[u64::from(flags)], length)
    })
}

/// Makes attempts in order, and returns the result of the first one that the file system supports.
fn first_supported(
    attempts: &[(i32, u32)],
    mut call: impl FnMut(i32, u32) -> std::result::Result<(), NTSTATUS>,
) -> Result<()> {
    let mut last = STATUS_NOT_SUPPORTED;
    for (class, flags) in attempts {
        match nt::retry_shared(|| call(*class, *flags)) {
            Err(
                status @ (STATUS_INVALID_PARAMETER
                | STATUS_INVALID_INFO_CLASS
                | STATUS_NOT_SUPPORTED
                | STATUS_NOT_IMPLEMENTED),
            ) => last = status,
            other => return other.map_err(Errno::of_status),
        }
    }
    Err(Errno::of_status(last))
}

/// Gives an open file a name in a directory.
fn set_name(
    file: BorrowedHandle<'_>,
    class: i32,
    flags: u32,
    folder: BorrowedHandle<'_>,
    name: &[u16],
) -> std::result::Result<(), NTSTATUS> {
    // Flags, directory, length of the name, name.
    let mut bytes = u64::from(flags).to_ne_bytes().to_vec();
    bytes.extend((folder.as_raw_handle() as u64).to_ne_bytes());
    bytes.extend(u32::try_from(name.len() * 2).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend(name.iter().flat_map(|unit| unit.to_ne_bytes()));
    // The structure ends with an aligned name of one character.
    let length = bytes.len().max(24);
    nt::set(file, class, &nt::words(&bytes).into_iter().chain([0]).collect::<Vec<_>>(), length)
}

/// Returns the target of a symbolic link or a junction.
///
/// Errors: `EINVAL` for anything else.
pub fn readlinkat(folder: impl AsFd, name: impl AsRef<OsStr>, _buffer: Vec<u8>) -> Result<CString> {
    let file = open_entry(folder, name.as_ref(), 0, 0)?;
    let mut buffer = vec![0; LINK_WORDS];
    let filled =
        nt::control(file.as_handle(), FSCTL_GET_REPARSE_POINT, &[], &mut buffer).map_err(|errno| match errno {
            Errno::NOTSUP | Errno::NOSYS => Errno::INVAL,
            other => other,
        })?;
    let target = target_of(&nt::bytes(&buffer, filled)).ok_or(Errno::INVAL)?;
    CString::new(target.into_vec()).map_err(|_| Errno::INVAL)
}

/// Parses the data of a link.
fn target_of(data: &[u8]) -> Option<OsString> {
    let number = |at: usize| Some(usize::from(u16::from_le_bytes(*data.get(at..)?.first_chunk()?)));
    let tag = u32::from_le_bytes(*data.first_chunk()?);
    let names = match tag {
        SYMLINK => 20,
        JUNCTION => 16,
        _ => return None,
    };
    let name = data.get(names + number(8)?..)?.get(..number(10)?)?;
    let units: Vec<u16> = name.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
    let relative = tag == SYMLINK && u32::from_le_bytes(*data.get(16..)?.first_chunk()?) & RELATIVE != 0;
    Some(if relative { narrow(&units) } else { paths::of_kernel(&units) })
}

/// Creates a symbolic link, if the user may.
///
/// Errors: `EPERM` without the right.
pub fn symlinkat(target: impl AsRef<OsStr>, folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<()> {
    let (target, name) = (target.as_ref(), name.as_ref());
    entry_name(name)?;
    let folder = win32::final_path(folder.as_fd().handle())?;
    let of_directory = std::fs::metadata(Path::new(&folder).join(target)).is_ok_and(|found| found.is_dir());
    win32::create_symbolic_link(&Path::new(&folder).join(name), target, of_directory).map_err(|errno| match errno {
        Errno::ACCESS => Errno::PERM,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::target_of;

    fn link(tag: u32, flags: Option<u32>, target: &str) -> Vec<u8> {
        let name: Vec<u8> = target.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        let mut data = tag.to_le_bytes().to_vec();
        data.extend([0; 4]);
        data.extend([[0, 0], length, length, [0, 0]].concat());
        data.extend(flags.into_iter().flat_map(u32::to_le_bytes));
        data.extend(name);
        data
    }

    #[test]
    fn links_and_junctions_are_read() {
        assert_eq!(target_of(&link(0xA000_000C, Some(1), r"..\a")).unwrap(), r"..\a");
        assert_eq!(target_of(&link(0xA000_000C, Some(0), r"\??\C:\a")).unwrap(), r"C:\a");
        assert_eq!(target_of(&link(0xA000_0003, None, r"\??\C:\a")).unwrap(), r"C:\a");
        assert_eq!(target_of(&link(0xA000_0003, None, r"\??\UNC\host\share")).unwrap(), r"\\host\share");
        assert_eq!(target_of(&link(0x8000_001B, None, "")), None, "another kind");
        let whole = link(0xA000_000C, Some(1), "abc");
        for cut in 0..whole.len() {
            assert_eq!(target_of(&whole[..cut]), None);
        }
    }
}
