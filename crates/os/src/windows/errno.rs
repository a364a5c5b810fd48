//! Error numbers: those of POSIX, as the code above compares them, with the numbers of Linux.

use std::fmt;
use std::io::ErrorKind;

use windows_sys::Win32::Foundation as win;
use windows_sys::Win32::Foundation::NTSTATUS;

/// Result of a call.
pub type Result<T> = std::result::Result<T, Errno>;

/// The reason why a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Errno(i32);

macro_rules! errnos {
    ($($name:ident $number:literal $text:literal;)*) => {
        #[allow(missing_docs, reason = "POSIX describes them")]
        impl Errno {
            $(pub const $name: Errno = Errno($number);)*

            const fn text(self) -> &'static str {
                match self.0 {
                    $($number => $text,)*
                    _ => "Unknown error",
                }
            }
        }
    };
}

errnos! {
    PERM 1 "Operation not permitted";
    NOENT 2 "No such file or directory";
    SRCH 3 "No such process";
    INTR 4 "Interrupted";
    IO 5 "Input/output error";
    NXIO 6 "No such device or address";
    TOOBIG 7 "Too large";
    BADF 9 "Bad handle";
    AGAIN 11 "Resource temporarily unavailable";
    NOMEM 12 "Out of memory";
    ACCESS 13 "Access is denied";
    BUSY 16 "The file is in use";
    EXIST 17 "File exists";
    XDEV 18 "Another volume";
    NODEV 19 "No such device";
    NOTDIR 20 "Not a directory";
    ISDIR 21 "Is a directory";
    INVAL 22 "Invalid argument";
    NFILE 23 "Too many open files in system";
    MFILE 24 "Too many open files";
    NOTTY 25 "Inappropriate call for the device";
    TXTBSY 26 "Another program has the file open and does not share it";
    FBIG 27 "File too large";
    NOSPC 28 "No space left on the disk";
    ROFS 30 "Write-protected";
    MLINK 31 "Too many links";
    PIPE 32 "Broken pipe";
    RANGE 34 "Result too large";
    NAMETOOLONG 36 "Name too long";
    NOLCK 37 "No locks available";
    NOSYS 38 "Not available on this system";
    NOTEMPTY 39 "Directory not empty";
    LOOP 40 "A link";
    NODATA 61 "No such attribute";
    ILSEQ 84 "Invalid characters";
    NOTSUP 95 "Not supported by the file system";
    STALE 116 "Stale file handle";
    DQUOT 122 "Quota exceeded";
    CANCELED 125 "Cancelled";
    OWNERDEAD 130 "Owner died";
}

#[allow(missing_docs, reason = "other names of the same numbers")]
impl Errno {
    pub const WOULDBLOCK: Errno = Errno::AGAIN;
    pub const OPNOTSUPP: Errno = Errno::NOTSUP;

    /// The number.
    pub const fn raw_os_error(self) -> i32 {
        self.0
    }

    /// The reason of an error of the standard library.
    pub fn from_io_error(error: &std::io::Error) -> Option<Errno> {
        if let Some(code) = error.raw_os_error() {
            return Some(Errno::of_win32(code.cast_unsigned()));
        }
        Some(match error.kind() {
            ErrorKind::NotFound => Errno::NOENT,
            ErrorKind::AlreadyExists => Errno::EXIST,
            ErrorKind::PermissionDenied => Errno::ACCESS,
            ErrorKind::InvalidInput => Errno::INVAL,
            _ => return None,
        })
    }

    /// Returns the error number for an error code of Win32.
    pub(crate) const fn of_win32(code: u32) -> Errno {
        match code {
            win::ERROR_FILE_NOT_FOUND | win::ERROR_PATH_NOT_FOUND | win::ERROR_DELETE_PENDING => Errno::NOENT,
            win::ERROR_ACCESS_DENIED | win::ERROR_PRIVILEGE_NOT_HELD => Errno::ACCESS,
            win::ERROR_SHARING_VIOLATION | win::ERROR_USER_MAPPED_FILE => Errno::TXTBSY,
            win::ERROR_LOCK_VIOLATION | win::ERROR_NO_DATA => Errno::AGAIN,
            win::ERROR_FILE_EXISTS | win::ERROR_ALREADY_EXISTS => Errno::EXIST,
            win::ERROR_INVALID_HANDLE => Errno::BADF,
            win::ERROR_TOO_MANY_OPEN_FILES => Errno::MFILE,
            win::ERROR_NOT_ENOUGH_MEMORY | win::ERROR_OUTOFMEMORY => Errno::NOMEM,
            win::ERROR_WRITE_PROTECT => Errno::ROFS,
            win::ERROR_DISK_FULL | win::ERROR_HANDLE_DISK_FULL => Errno::NOSPC,
            win::ERROR_DISK_QUOTA_EXCEEDED => Errno::DQUOT,
            win::ERROR_DIRECTORY => Errno::NOTDIR,
            win::ERROR_DIR_NOT_EMPTY => Errno::NOTEMPTY,
            win::ERROR_NOT_SAME_DEVICE => Errno::XDEV,
            win::ERROR_INVALID_NAME | win::ERROR_BAD_PATHNAME | win::ERROR_INVALID_PARAMETER => Errno::INVAL,
            win::ERROR_FILENAME_EXCED_RANGE => Errno::NAMETOOLONG,
            win::ERROR_BROKEN_PIPE | win::ERROR_PIPE_NOT_CONNECTED => Errno::PIPE,
            win::ERROR_NOT_SUPPORTED | win::ERROR_INVALID_FUNCTION => Errno::NOTSUP,
            win::ERROR_CALL_NOT_IMPLEMENTED => Errno::NOSYS,
            win::ERROR_TOO_MANY_LINKS => Errno::MLINK,
            win::ERROR_CANT_RESOLVE_FILENAME | win::ERROR_STOPPED_ON_SYMLINK => Errno::LOOP,
            win::ERROR_MORE_DATA | win::ERROR_INSUFFICIENT_BUFFER => Errno::RANGE,
            win::ERROR_FILE_TOO_LARGE => Errno::FBIG,
            _ => Errno::IO,
        }
    }

    /// Returns the error number for a status of the kernel.
    pub(crate) const fn of_status(status: NTSTATUS) -> Errno {
        match status {
            win::STATUS_OBJECT_NAME_NOT_FOUND
            | win::STATUS_OBJECT_PATH_NOT_FOUND
            | win::STATUS_NO_SUCH_FILE
            | win::STATUS_DELETE_PENDING
            | win::STATUS_FILE_DELETED
            | win::STATUS_BAD_NETWORK_NAME
            | win::STATUS_BAD_NETWORK_PATH => Errno::NOENT,
            win::STATUS_OBJECT_NAME_COLLISION => Errno::EXIST,
            win::STATUS_ACCESS_DENIED | win::STATUS_CANNOT_DELETE | win::STATUS_PRIVILEGE_NOT_HELD => Errno::ACCESS,
            win::STATUS_SHARING_VIOLATION | win::STATUS_USER_MAPPED_FILE => Errno::TXTBSY,
            win::STATUS_FILE_LOCK_CONFLICT | win::STATUS_LOCK_NOT_GRANTED => Errno::AGAIN,
            win::STATUS_NOT_A_DIRECTORY => Errno::NOTDIR,
            win::STATUS_FILE_IS_A_DIRECTORY => Errno::ISDIR,
            win::STATUS_DIRECTORY_NOT_EMPTY => Errno::NOTEMPTY,
            win::STATUS_OBJECT_NAME_INVALID
            | win::STATUS_OBJECT_PATH_SYNTAX_BAD
            | win::STATUS_INVALID_PARAMETER
            | win::STATUS_NOT_A_REPARSE_POINT => Errno::INVAL,
            win::STATUS_DISK_FULL => Errno::NOSPC,
            win::STATUS_QUOTA_EXCEEDED => Errno::DQUOT,
            win::STATUS_MEDIA_WRITE_PROTECTED => Errno::ROFS,
            win::STATUS_NOT_SAME_DEVICE => Errno::XDEV,
            win::STATUS_TOO_MANY_LINKS => Errno::MLINK,
            win::STATUS_NAME_TOO_LONG => Errno::NAMETOOLONG,
            win::STATUS_TOO_MANY_OPENED_FILES => Errno::MFILE,
            win::STATUS_NO_MEMORY | win::STATUS_INSUFFICIENT_RESOURCES => Errno::NOMEM,
            win::STATUS_REPARSE_POINT_ENCOUNTERED | win::STATUS_STOPPED_ON_SYMLINK => Errno::LOOP,
            win::STATUS_INVALID_INFO_CLASS | win::STATUS_NOT_IMPLEMENTED => Errno::NOSYS,
            win::STATUS_NOT_SUPPORTED | win::STATUS_INVALID_DEVICE_REQUEST => Errno::NOTSUP,
            win::STATUS_BUFFER_TOO_SMALL | win::STATUS_BUFFER_OVERFLOW => Errno::RANGE,
            win::STATUS_INVALID_HANDLE => Errno::BADF,
            win::STATUS_PIPE_BROKEN | win::STATUS_PIPE_CLOSING | win::STATUS_PIPE_DISCONNECTED => Errno::PIPE,
            _ => Errno::IO,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error {})", self.text(), self.0)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Errno {}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> std::io::Error {
        let kind = match errno {
            Errno::NOENT => ErrorKind::NotFound,
            Errno::EXIST => ErrorKind::AlreadyExists,
            Errno::ACCESS | Errno::PERM => ErrorKind::PermissionDenied,
            Errno::AGAIN => ErrorKind::WouldBlock,
            Errno::INVAL => ErrorKind::InvalidInput,
            Errno::PIPE => ErrorKind::BrokenPipe,
            Errno::NOTSUP | Errno::NOSYS => ErrorKind::Unsupported,
            Errno::NOTDIR => ErrorKind::NotADirectory,
            Errno::ISDIR => ErrorKind::IsADirectory,
            _ => ErrorKind::Other,
        };
        std::io::Error::new(kind, errno)
    }
}
