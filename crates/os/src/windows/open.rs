//! Opening names relative to directories.

use std::ffi::{OsStr, OsString};
use std::os::windows::io::{AsHandle as _, BorrowedHandle, OwnedHandle};
use std::path::Path;

use bitflags::bitflags;
use windows_sys::Wdk::Storage::FileSystem as wdk;
use windows_sys::Win32::Foundation::{STATUS_ACCESS_DENIED, STATUS_OBJECT_NAME_INVALID};
use windows_sys::Win32::Storage::FileSystem as win;

use super::errno::{Errno, Result};
use super::fd::{AsFd, OwnedFd};
use super::ffi::{OsStrExt as _, narrow, wide};
use super::nt::{self, Opening};
use super::paths;
use super::stat::{self, Stat};

bitflags! {
    /// Options for opening a file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OFlags: u32 {
        /// To read.
        const RDONLY = 0;
        /// To write.
        const WRONLY = 1;
        /// Both.
        const RDWR = 2;
        /// The file is created if it is missing.
        const CREATE = 0x40;
        /// The file is created, or the call fails.
        const EXCL = 0x80;
        /// No effect here.
        const NOCTTY = 0x100;
        /// The content of the file is removed.
        const TRUNC = 0x200;
        /// No effect here.
        const NONBLOCK = 0x800;
        /// The path must name a directory.
        const DIRECTORY = 0x1_0000;
        /// A link is not followed.
        const NOFOLLOW = 0x2_0000;
        /// No effect here: handles are not inherited.
        const CLOEXEC = 0x8_0000;
        /// The file is opened only to read its metadata, or to open names in it.
        const PATH = 0x20_0000;
    }

    /// Flags of other calls about names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        /// The link itself.
        const SYMLINK_NOFOLLOW = 0x100;
        /// A directory is removed.
        const REMOVEDIR = 0x200;
        /// No effect here.
        const EACCESS = 0x400;
    }

    /// Rights.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Access: u32 {
        /// To run, or to search.
        const EXEC_OK = 1;
        /// To write.
        const WRITE_OK = 2;
        /// To read.
        const READ_OK = 4;
    }

    /// Options for renaming a file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// The new name must not exist.
        const NOREPLACE = 1;
        /// The files exchange their names.
        const EXCHANGE = 2;
    }
}

/// The number of a mode.
pub type RawMode = u32;

/// Permission bits. Only the write bits mean something: a file without them has the read-only attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(RawMode);

impl Mode {
    /// No bits.
    pub const fn empty() -> Mode {
        Mode(0)
    }

    /// Takes the bits of a mode.
    pub const fn from_raw_mode(bits: RawMode) -> Mode {
        Mode(bits & 0o7777)
    }

    /// The bits.
    pub const fn as_raw_mode(self) -> RawMode {
        self.0
    }

    /// True if nobody may write.
    pub(crate) const fn is_read_only(self) -> bool {
        self.0 & 0o222 == 0
    }
}

/// Rights that reading metadata needs.
const LOOK: u32 = win::FILE_READ_ATTRIBUTES | win::SYNCHRONIZE;
/// Rights to open and list what is in a directory.
const SEARCH: u32 = LOOK | win::FILE_LIST_DIRECTORY | win::FILE_TRAVERSE;
/// Options of every opening: calls block, and an administrator's backup privilege is used.
const PLAIN: u32 = wdk::FILE_SYNCHRONOUS_IO_NONALERT | wdk::FILE_OPEN_FOR_BACKUP_INTENT;
/// Opens a link itself.
const UNFOLLOWED: u32 = wdk::FILE_OPEN_REPARSE_POINT;

/// Opens a name in a directory.
///
/// Errors: `ELOOP` for a link if it is not followed, `EINVAL` for a name that Windows cannot have.
pub fn openat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let name = entry_name(name.as_ref())?;
    open_in(Some(folder.as_fd().handle()), &name, flags, mode)
}

/// Opens an absolute path.
///
/// Errors: as [`openat`].
pub fn open(path: impl AsRef<Path>, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    open_in(None, &paths::kernel_path(path.as_ref())?, flags, mode)
}

fn open_in(folder: Option<BorrowedHandle<'_>>, name: &[u16], flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
    let directory = flags.contains(OFlags::DIRECTORY);
    let access = match (flags.contains(OFlags::PATH), directory) {
        (_, true) => SEARCH | win::READ_CONTROL,
        (true, false) => LOOK,
        (false, false) => {
            let read = if flags.contains(OFlags::WRONLY) { 0 } else { win::FILE_GENERIC_READ };
            let write = if writes { win::FILE_GENERIC_WRITE } else { 0 };
            // A new file gets the access control list of the file that it replaces.
            let own = if flags.contains(OFlags::CREATE) { win::WRITE_DAC | win::READ_CONTROL } else { 0 };
            LOOK | read | write | own
        }
    };
    let disposition = match (flags.contains(OFlags::CREATE), flags.contains(OFlags::EXCL)) {
        (true, true) => wdk::FILE_CREATE,
        (true, false) => wdk::FILE_OPEN_IF,
        (false, _) if flags.contains(OFlags::TRUNC) => wdk::FILE_OVERWRITE,
        (false, _) => wdk::FILE_OPEN,
    };
    let kind = if directory {
        wdk::FILE_DIRECTORY_FILE
    } else if writes {
        wdk::FILE_NON_DIRECTORY_FILE
    } else {
        0
    };
    let follow = !flags.contains(OFlags::NOFOLLOW);
    let read_only = flags.contains(OFlags::CREATE) && mode.is_read_only();
    let attributes = if read_only { win::FILE_ATTRIBUTE_READONLY } else { win::FILE_ATTRIBUTE_NORMAL };
    let how = Opening { access, disposition, options: PLAIN | kind, attributes };
    if follow {
        return nt::open(folder, name, how).map(OwnedFd::from).map_err(Errno::of_status);
    }
    let unfollowed = Opening { options: how.options | UNFOLLOWED, ..how };
    let mut opened = nt::open(folder, name, unfollowed);
    if opened.as_ref().is_err_and(|status| *status == STATUS_ACCESS_DENIED) && directory {
        // The directory may be searched, but not listed.
        opened = nt::open(folder, name, Opening { access: LOOK, ..unfollowed });
    }
    let handle = opened.map_err(Errno::of_status)?;
    match stat::reparse_tag(handle.as_handle()) {
        None => Ok(OwnedFd::from(handle)),
        Some(tag) if stat::is_link_tag(tag) => Err(Errno::LOOP),
        // A file whose content is elsewhere, e.g. in a cloud; the driver gets it.
        Some(_) => nt::open(folder, name, how).map(OwnedFd::from).map_err(Errno::of_status),
    }
}

/// Opens a name with these rights, not following a link.
pub(crate) fn open_entry(folder: impl AsFd, name: &OsStr, access: u32, options: u32) -> Result<OwnedHandle> {
    let how = Opening {
        access: access | LOOK,
        disposition: wdk::FILE_OPEN,
        options: PLAIN | UNFOLLOWED | options,
        attributes: 0,
    };
    nt::open(Some(folder.as_fd().handle()), &entry_name(name)?, how).map_err(Errno::of_status)
}

/// Opens a part of an open file by a name: one of its streams, or the file itself by an empty name.
pub(crate) fn open_part(
    file: BorrowedHandle<'_>,
    name: &[u16],
    access: u32,
    disposition: u32,
    options: u32,
) -> Result<OwnedHandle> {
    let how = Opening { access: access | win::SYNCHRONIZE, disposition, options: PLAIN | options, attributes: 0 };
    nt::open(Some(file), name, how).map_err(Errno::of_status)
}

/// Returns the metadata of a name in a directory; `.` is the directory itself.
///
/// Errors: as [`openat`].
pub fn statat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: AtFlags) -> Result<Stat> {
    let follow = if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { UNFOLLOWED } else { 0 };
    let how = Opening { access: LOOK, disposition: wdk::FILE_OPEN, options: PLAIN | follow, attributes: 0 };
    let name = entry_name(name.as_ref())?;
    let handle = nt::open(Some(folder.as_fd().handle()), &name, how).map_err(Errno::of_status)?;
    stat::stat(handle.as_handle())
}

/// Creates a directory.
///
/// Errors: as [`openat`].
pub fn mkdirat(folder: impl AsFd, name: impl AsRef<OsStr>, _mode: Mode) -> Result<()> {
    let how = Opening {
        access: LOOK,
        disposition: wdk::FILE_CREATE,
        options: PLAIN | wdk::FILE_DIRECTORY_FILE,
        attributes: win::FILE_ATTRIBUTE_NORMAL,
    };
    let name = entry_name(name.as_ref())?;
    nt::open(Some(folder.as_fd().handle()), &name, how).map(drop).map_err(Errno::of_status)
}

/// Fails unless the caller has these rights.
///
/// Errors: `EACCES`.
pub fn accessat(folder: impl AsFd, name: impl AsRef<OsStr>, access: Access, _flags: AtFlags) -> Result<()> {
    let write = if access.contains(Access::WRITE_OK) { win::FILE_WRITE_DATA } else { 0 };
    open_entry(folder, name.as_ref(), write, 0).map(drop)
}

/// Returns a name as the directory stores it: its upper and lower case, and the long name for a short one.
pub fn stored_name(folder: impl AsFd, name: &OsStr) -> Option<OsString> {
    let wide = entry_name(name).ok().filter(|name| !name.is_empty())?;
    let mut buffer = [0; 128];
    // An open directory keeps the name of its first list.
    let own = open_part(folder.as_fd().handle(), &[], SEARCH, wdk::FILE_OPEN, wdk::FILE_DIRECTORY_FILE).ok()?;
    let filled = nt::list(own.as_handle(), wdk::FileNamesInformation, Some(&wide), true, &mut buffer);
    let bytes = nt::bytes(&buffer, filled.ok()??);
    // Next entry, index, length of the name, name.
    let length = u32::from_ne_bytes(*bytes.get(8..)?.first_chunk()?);
    let units = bytes.get(12..)?.get(..usize::try_from(length).ok()?)?;
    let units: Vec<u16> = units.chunks_exact(2).map(|unit| u16::from_ne_bytes([unit[0], unit[1]])).collect();
    Some(narrow(&units))
}

/// Converts a name in a directory for the kernel.
///
/// Errors: `EINVAL` for a name that other programs could not open, or would take for something else.
pub(crate) fn entry_name(name: &OsStr) -> Result<Vec<u16>> {
    if name == "." {
        return Ok(Vec::new());
    }
    if name.as_bytes().split(|byte| paths::is_separator(*byte)).any(|part| paths::reserved(part).is_some()) {
        return Err(Errno::of_status(STATUS_OBJECT_NAME_INVALID));
    }
    Ok(wide(name))
}
