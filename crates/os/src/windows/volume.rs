//! Volumes.

use std::path::Path;

use super::errno::{Errno, Result};
use super::fd::AsFd;
use super::ffi::narrow;
use super::nt::{self, Space};
use super::{paths, win32};

/// Type of a drive that is on another machine.
const DRIVE_REMOTE: u32 = 4;
/// Class of a volume's attributes.
const ATTRIBUTE_INFORMATION: i32 = 5;
/// Class of [`Space`].
const FULL_SIZE_INFORMATION: i32 = 7;

/// Space of a volume.
#[allow(missing_docs, reason = "POSIX describes them")]
#[derive(Clone, Copy, Debug)]
pub struct StatVfs {
    pub f_bavail: u64,
    pub f_favail: u64,
    pub f_files: u64,
    pub f_frsize: u64,
}

/// Returns the space of the volume of a file.
///
/// Errors: those of the system.
pub fn fstatvfs(file: impl AsFd) -> Result<StatVfs> {
    let mut buffer = [0; 4];
    let filled =
        nt::query_volume(file.as_fd().handle(), FULL_SIZE_INFORMATION, &mut buffer).map_err(Errno::of_status)?;
    let space: Space = nt::part(&buffer, filled).ok_or(Errno::IO)?;
    Ok(StatVfs {
        f_bavail: space.free_for_caller.cast_unsigned(),
        // The number of files is not limited.
        f_favail: 0,
        f_files: 0,
        f_frsize: u64::from(space.sectors_per_unit) * u64::from(space.sector_bytes),
    })
}

/// Returns the name of the file system type, e.g. `NTFS`.
///
/// Errors: those of the system.
pub fn file_system_name(file: impl AsFd) -> Result<String> {
    let mut buffer = [0; 72];
    let filled =
        nt::query_volume(file.as_fd().handle(), ATTRIBUTE_INFORMATION, &mut buffer).map_err(Errno::of_status)?;
    let bytes = nt::bytes(&buffer, filled);
    // Attributes, longest name, length of the type's name, name.
    let length = bytes.get(8..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u32::from_ne_bytes(*it));
    let name = bytes.get(12..).unwrap_or_default();
    let name = name.get(..usize::try_from(length).unwrap_or(0)).unwrap_or(name);
    let units: Vec<u16> = name.chunks_exact(2).map(|unit| u16::from_ne_bytes([unit[0], unit[1]])).collect();
    Ok(narrow(&units).to_string_lossy().into_owned())
}

/// True if the file is on another machine.
pub fn is_remote(file: impl AsFd) -> bool {
    /// Class of the query, which succeeds only for files on other machines.
    const REMOTE_INFORMATION: i32 = 55;
    let mut buffer = [0; 24];
    nt::query(file.as_fd().handle(), REMOTE_INFORMATION, &mut buffer).is_ok()
}

/// True if the directory is on a network file system; false if unknown.
pub fn is_network_file_system(folder: &Path) -> bool {
    let path = paths::normal(folder);
    let bytes = path.as_os_str().as_encoded_bytes();
    match bytes {
        [b'\\', b'\\', ..] => true,
        [letter, b':', ..] => win32::drive_type(*letter) == DRIVE_REMOTE,
        _ => false,
    }
}
