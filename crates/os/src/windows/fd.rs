//! Descriptors: handles, and the locks of the directories that they have open.

use std::fs::File;
use std::io::{self, Stderr, Stdin, Stdout};
use std::mem::ManuallyDrop;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::{Mutex, PoisonError};

/// An open file or directory. Closing it releases its lock.
#[derive(Debug)]
pub struct OwnedFd {
    handle: OwnedHandle,
    /// The object that exists as long as a directory is locked; see [`super::locks`].
    lock: Mutex<Option<OwnedHandle>>,
}

/// A borrowed open file or directory.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedFd<'a> {
    handle: BorrowedHandle<'a>,
    /// `None` for a handle of the standard library, which cannot keep a lock of a directory.
    lock: Option<&'a Mutex<Option<OwnedHandle>>>,
}

/// An owner or borrower of an open file.
pub trait AsFd {
    /// Borrows the descriptor.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

/// An owner or borrower of an open file, with its number.
pub trait AsRawFd {
    /// The number.
    fn as_raw_fd(&self) -> usize;
}

impl OwnedFd {
    /// Opens it once more, without its lock.
    ///
    /// Errors: those of the system.
    pub fn try_clone(&self) -> io::Result<OwnedFd> {
        Ok(OwnedFd::from(self.handle.try_clone()?))
    }
}

impl<'a> BorrowedFd<'a> {
    /// The handle.
    pub(crate) const fn handle(self) -> BorrowedHandle<'a> {
        self.handle
    }

    /// Keeps a lock object until the file is closed, or releases it; false if the descriptor cannot keep one.
    pub(crate) fn keep_lock(self, lock: Option<OwnedHandle>) -> bool {
        let Some(place) = self.lock else { return false };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = lock;
        true
    }

    /// True if the descriptor keeps a lock object.
    pub(crate) fn has_lock(self) -> bool {
        self.lock.is_some_and(|place| place.lock().unwrap_or_else(PoisonError::into_inner).is_some())
    }

    /// Calls a function of the standard library with the file.
    pub(crate) fn with_file<R>(self, call: impl FnOnce(&File) -> R) -> R {
        call(&ManuallyDrop::new(super::nt::file_of(self.handle)))
    }
}

impl From<OwnedHandle> for OwnedFd {
    fn from(handle: OwnedHandle) -> OwnedFd {
        OwnedFd { handle, lock: Mutex::new(None) }
    }
}

impl From<OwnedFd> for OwnedHandle {
    fn from(fd: OwnedFd) -> OwnedHandle {
        fd.handle
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> File {
        fd.handle.into()
    }
}

macro_rules! into_fd {
    ($($name:ty)*) => {
        $(impl From<$name> for OwnedFd {
            fn from(it: $name) -> OwnedFd {
                OwnedFd::from(OwnedHandle::from(it))
            }
        })*
    };
}

into_fd!(File ChildStdin ChildStdout ChildStderr);

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd { handle: self.handle.as_handle(), lock: Some(&self.lock) }
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        *self
    }
}

macro_rules! as_fd {
    ($($name:ty)*) => {
        $(impl AsFd for $name {
            fn as_fd(&self) -> BorrowedFd<'_> {
                BorrowedFd { handle: self.as_handle(), lock: None }
            }
        })*
    };
}

as_fd!(File Stdin Stdout Stderr);

impl<T: AsFd + ?Sized> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: AsFd + ?Sized> AsFd for std::sync::Arc<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: AsFd> AsRawFd for T {
    fn as_raw_fd(&self) -> usize {
        self.as_fd().handle.as_raw_handle() as usize
    }
}
