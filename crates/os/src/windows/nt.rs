//! The calls of the kernel, with their pointers and lengths.
//!
//! Every structure that is passed is initialised here, outlives the call, and has the length that is passed with it.
#![allow(
    unsafe_code,
    reason = "each call gets pointers to live, initialised memory and its true length, and handles that are borrowed for \
              the length of the call; a handle that a call returns is owned by nobody else"
)]

use std::ffi::{OsStr, c_void};
use std::fs::File;
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::ptr::{null, null_mut};
use std::thread::sleep;
use std::time::Duration;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as wdk;
use windows_sys::Win32::Foundation::{NTSTATUS, OBJ_CASE_INSENSITIVE, STATUS_SHARING_VIOLATION, UNICODE_STRING};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use super::errno::{Errno, Result};
use super::ffi::is_wtf8;

/// Attempts of a call while another program has the file open and does not share it, and the pause between them. Virus
/// scanners and indexers look at a new file for some milliseconds.
const SHARING_ATTEMPTS: u32 = 40;
const SHARING_PAUSE: Duration = Duration::from_millis(5);

/// Options for opening a name.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) access: u32,
    pub(crate) disposition: u32,
    pub(crate) options: u32,
    pub(crate) attributes: u32,
}

/// Everybody may read, write, rename and remove what is open here, as on other systems.
const SHARED: u32 = 7;

/// Repeats a call while another program does not share the file.
pub(crate) fn retry_shared<T>(
    mut call: impl FnMut() -> std::result::Result<T, NTSTATUS>,
) -> std::result::Result<T, NTSTATUS> {
    let mut left = SHARING_ATTEMPTS;
    loop {
        match call() {
            Err(STATUS_SHARING_VIOLATION) if left > 0 => {
                left -= 1;
                sleep(SHARING_PAUSE);
            }
            other => return other,
        }
    }
}

/// Opens a name, relative to a directory if there is one.
pub(crate) fn open(
    folder: Option<BorrowedHandle<'_>>,
    name: &[u16],
    how: Opening,
) -> std::result::Result<OwnedHandle, NTSTATUS> {
    retry_shared(|| open_once(folder, name, how))
}

fn open_once(
    folder: Option<BorrowedHandle<'_>>,
    name: &[u16],
    how: Opening,
) -> std::result::Result<OwnedHandle, NTSTATUS> {
    let bytes = u16::try_from(name.len() * 2).map_err(|_| windows_sys::Win32::Foundation::STATUS_NAME_TOO_LONG)?;
    let text = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: name.as_ptr().cast_mut() };
    let object = OBJECT_ATTRIBUTES {
        Length: length::<OBJECT_ATTRIBUTES>(),
        RootDirectory: folder.map_or(null_mut(), |folder| folder.as_raw_handle()),
        ObjectName: &raw const text,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    let (mut handle, mut block) = (null_mut(), IO_STATUS_BLOCK::default());
    // SAFETY: see above.
    let status = unsafe {
        wdk::NtCreateFile(
            &raw mut handle,
            how.access,
            &raw const object,
            &raw mut block,
            null(),
            how.attributes,
            SHARED,
            how.disposition,
            how.options,
            null(),
            0,
        )
    };
    if status < 0 {
        return Err(status);
    }
    // SAFETY: the call succeeded, so the handle is open and ours.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Fills a buffer with information about an open file; returns how many bytes. A result that does not fit is truncated.
pub(crate) fn query(file: BorrowedHandle<'_>, class: i32, buffer: &mut [u64]) -> std::result::Result<usize, NTSTATUS> {
    let mut block = IO_STATUS_BLOCK::default();
    // SAFETY: see above; the buffer is aligned for every structure.
    let status = unsafe {
        wdk::NtQueryInformationFile(
            file.as_raw_handle(),
            &raw mut block,
            buffer.as_mut_ptr().cast(),
            bytes_of(buffer),
            class,
        )
    };
    if status < 0 { Err(status) } else { Ok(block.Information) }
}

/// Fills a buffer with information about the volume of an open file; returns how many bytes.
pub(crate) fn query_volume(
    file: BorrowedHandle<'_>,
    class: i32,
    buffer: &mut [u64],
) -> std::result::Result<usize, NTSTATUS> {
    let mut block = IO_STATUS_BLOCK::default();
    // SAFETY: as above.
    let status = unsafe {
        wdk::NtQueryVolumeInformationFile(
            file.as_raw_handle(),
            &raw mut block,
            buffer.as_mut_ptr().cast(),
            bytes_of(buffer),
            class,
        )
    };
    if status < 0 { Err(status) } else { Ok(block.Information) }
}

/// Changes information about an open file; `bytes` is a structure of the class.
pub(crate) fn set(
    file: BorrowedHandle<'_>,
    class: i32,
    bytes: &[u64],
    length: usize,
) -> std::result::Result<(), NTSTATUS> {
    let mut block = IO_STATUS_BLOCK::default();
    let length = u32::try_from(length.min(size_of_val(bytes))).unwrap_or(0);
    // SAFETY: see above; the length is at most that of the buffer.
    let status = unsafe {
        wdk::NtSetInformationFile(file.as_raw_handle(), &raw mut block, bytes.as_ptr().cast(), length, class)
    };
    if status < 0 { Err(status) } else { Ok(()) }
}

/// Lists a part of a directory; returns how many bytes of the buffer are filled, or `None` at the end. With a name,
/// lists the file of this name only.
pub(crate) fn list(
    folder: BorrowedHandle<'_>,
    class: i32,
    name: Option<&[u16]>,
    restart: bool,
    buffer: &mut [u64],
) -> Result<Option<usize>> {
    let mut block = IO_STATUS_BLOCK::default();
    let bytes = u16::try_from(name.map_or(0, <[u16]>::len) * 2).map_err(|_| Errno::NAMETOOLONG)?;
    let text = UNICODE_STRING {
        Length: bytes,
        MaximumLength: bytes,
        Buffer: name.map_or(null_mut(), |name| name.as_ptr().cast_mut()),
    };
    // SAFETY: as above.
    let status = unsafe {
        wdk::NtQueryDirectoryFile(
            folder.as_raw_handle(),
            null_mut(),
            None,
            null(),
            &raw mut block,
            buffer.as_mut_ptr().cast(),
            bytes_of(buffer),
            class,
            name.is_some(),
            if name.is_some() { &raw const text } else { null() },
            restart,
        )
    };
    match status {
        windows_sys::Win32::Foundation::STATUS_NO_MORE_FILES | windows_sys::Win32::Foundation::STATUS_NO_SUCH_FILE => {
            Ok(None)
        }
        status if status < 0 => Err(Errno::of_status(status)),
        _ => Ok(Some(block.Information)),
    }
}

/// Sends a control request to the file system; returns how many bytes of the output are filled.
pub(crate) fn control(file: BorrowedHandle<'_>, code: u32, input: &[u8], output: &mut [u64]) -> Result<usize> {
    let mut block = IO_STATUS_BLOCK::default();
    let input_length = u32::try_from(input.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: as above.
    let status = unsafe {
        wdk::NtFsControlFile(
            file.as_raw_handle(),
            null_mut(),
            None,
            null(),
            &raw mut block,
            code,
            input.as_ptr().cast(),
            input_length,
            output.as_mut_ptr().cast(),
            bytes_of(output),
        )
    };
    if status < 0 { Err(Errno::of_status(status)) } else { Ok(block.Information) }
}

/// Writes everything about an open file to the disk.
pub(crate) fn flush(file: BorrowedHandle<'_>) -> Result<()> {
    let mut block = IO_STATUS_BLOCK::default();
    // SAFETY: as above.
    let status = unsafe { wdk::NtFlushBuffersFile(file.as_raw_handle(), &raw mut block) };
    if status < 0 { Err(Errno::of_status(status)) } else { Ok(()) }
}

/// Reads parts of the security descriptor; returns its length. `ERANGE` if the buffer is too small.
pub(crate) fn security(file: BorrowedHandle<'_>, parts: u32, buffer: &mut [u64]) -> Result<usize> {
    let mut needed = 0;
    // SAFETY: as above.
    let status = unsafe {
        wdk::NtQuerySecurityObject(
            file.as_raw_handle(),
            parts,
            buffer.as_mut_ptr().cast(),
            bytes_of(buffer),
            &raw mut needed,
        )
    };
    if status < 0 { Err(Errno::of_status(status)) } else { Ok(usize::try_from(needed).unwrap_or(0)) }
}

/// Sets parts of the security descriptor.
pub(crate) fn set_security(file: BorrowedHandle<'_>, parts: u32, descriptor: &[u64]) -> Result<()> {
    // SAFETY: the caller passes a descriptor that `is_descriptor` has checked; the kernel checks it again.
    let status =
        unsafe { wdk::NtSetSecurityObject(file.as_raw_handle(), parts, descriptor.as_ptr().cast_mut().cast()) };
    if status < 0 { Err(Errno::of_status(status)) } else { Ok(()) }
}

/// True if these bytes are one complete, self-relative security descriptor.
pub(crate) fn is_descriptor(descriptor: &[u64], length: usize) -> bool {
    /// Bytes of an empty descriptor.
    const HEAD_BYTES: usize = 20;
    if length < HEAD_BYTES || length > size_of_val(descriptor) {
        return false;
    }
    let pointer: *mut c_void = descriptor.as_ptr().cast_mut().cast();
    let length = u32::try_from(length).unwrap_or(0);
    // SAFETY: the length is that of the memory.
    unsafe { windows_sys::Wdk::System::SystemServices::RtlValidRelativeSecurityDescriptor(pointer, length, 0) }
}

/// A copy of a handle as a file of the standard library; it must not be closed.
pub(crate) fn file_of(handle: BorrowedHandle<'_>) -> File {
    // SAFETY: the handle is open as long as it is borrowed, and the only caller does not drop the file.
    unsafe { File::from_raw_handle(handle.as_raw_handle()) }
}

/// Converts bytes to a name; `None` if they are not a valid one.
pub(crate) fn name_of(bytes: &[u8]) -> Option<&OsStr> {
    if !is_wtf8(bytes) {
        return None;
    }
    // SAFETY: names are WTF-8 on Windows, and the bytes were checked.
    Some(unsafe { OsStr::from_encoded_bytes_unchecked(bytes) })
}

/// Reads the structure at the beginning of a filled buffer; it must consist of plain numbers.
pub(crate) fn part<T: Numbers>(buffer: &[u64], filled: usize) -> Option<T> {
    if filled.min(size_of_val(buffer)) < size_of::<T>() {
        return None;
    }
    // SAFETY: the memory is initialised, aligned and long enough, and every bit pattern is a `T`.
    Some(unsafe { buffer.as_ptr().cast::<T>().read() })
}

/// A structure of plain numbers, for which every bit pattern is valid.
///
/// # Safety
/// Every bit pattern of the type must be valid.
pub(crate) unsafe trait Numbers: Copy {}

/// Times and attributes of a file.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Basic {
    pub(crate) created: i64,
    pub(crate) accessed: i64,
    pub(crate) written: i64,
    pub(crate) changed: i64,
    pub(crate) attributes: u32,
    pub(crate) unused: u32,
}

/// Size and names of a file.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Standard {
    pub(crate) allocated: i64,
    pub(crate) size: i64,
    pub(crate) links: u32,
    pub(crate) delete_pending: u8,
    pub(crate) directory: u8,
    pub(crate) unused: u16,
}

/// Number of a file.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct FileId {
    pub(crate) volume: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// Attributes and kind of a link.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Tag {
    pub(crate) attributes: u32,
    pub(crate) tag: u32,
}

/// Head of a volume's description.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Volume {
    pub(crate) created: i64,
    pub(crate) serial: u32,
    pub(crate) label_bytes: u32,
}

/// Space of a volume.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Space {
    pub(crate) total: i64,
    pub(crate) free_for_caller: i64,
    pub(crate) free: i64,
    pub(crate) sectors_per_unit: u32,
    pub(crate) sector_bytes: u32,
}

/// State of a pipe.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Pipe {
    pub(crate) kind: u32,
    pub(crate) configuration: u32,
    pub(crate) instances_max: u32,
    pub(crate) instances: u32,
    pub(crate) inbound_quota: u32,
    pub(crate) readable: u32,
    pub(crate) outbound_quota: u32,
    pub(crate) writable: u32,
    pub(crate) state: u32,
    pub(crate) end: u32,
}

// SAFETY: all fields are numbers.
unsafe impl Numbers for Basic {}
// SAFETY: all fields are numbers.
unsafe impl Numbers for Standard {}
// SAFETY: all fields are numbers.
unsafe impl Numbers for FileId {}
// SAFETY: all fields are numbers.
unsafe impl Numbers for Tag {}
// SAFETY: all fields are numbers.
unsafe impl Numbers for Volume {}
// SAFETY: all fields are numbers.
unsafe impl Numbers for Space {}
// SAFETY: all fields are numbers.
unsafe impl Numbers for Pipe {}
// SAFETY: a number.
unsafe impl Numbers for i64 {}

fn length<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(0)
}

fn bytes_of(buffer: &[u64]) -> u32 {
    u32::try_from(size_of_val(buffer)).unwrap_or(u32::MAX)
}

/// The bytes of a buffer.
pub(crate) fn bytes(buffer: &[u64], filled: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.truncate(filled);
    bytes
}

/// A buffer with these bytes.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks(8).map(word).collect()
}

/// A word with up to eight bytes.
fn word(part: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
    u64::from_ne_bytes(word)
}
