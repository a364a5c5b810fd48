//! A file under a lease, so that other writers are noticed until the transaction ends.

use emendate_os::fd::{BorrowedFd, OwnedFd};
use std::ffi::OsStr;
use std::time::{Duration, Instant};

use emendate_core::ContentId;
use emendate_os::fs::Mode;
use emendate_os::io::Errno;

use super::read::{READ_FLAGS, same_bytes};
use super::sys;
use super::temp::{TempFile, identity_at};
use crate::{FileMeta, FileSource, Precondition};

/// Wait for a program that has the file open for writing. It may not even be writing: a child process inherits its
/// parent's descriptors until it execs, which takes a while on a busy machine.
const WRITER_WAIT: Duration = Duration::from_millis(200);

/// Interval between two attempts to take the lease.
const WRITER_POLL: Duration = Duration::from_micros(200);

/// Purpose for which a file is opened and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// To compare it with the precondition only.
    Compare,
    /// To replace it: takes a lease, so that no other process writes it after the comparison.
    Lease,
    /// To overwrite it in place.
    Overwrite,
}

/// The file that a write replaces, verified against the precondition.
pub(super) struct LeasedFile {
    /// The open file; `None` for a symbolic link, which cannot be changed, only replaced.
    pub(super) file: Option<OwnedFd>,
    pub(super) meta: FileMeta,
    lease: LeaseState,
    /// The file was closed for a moment, and could not be opened again.
    lost: bool,
}

/// State of the lease, i.e. what is known of other writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// No lease: the file belongs to another user, or the file system has no leases.
    Unknown,
    /// We hold a read lease: no writer has the file open, and new writers block.
    Leased,
    /// Another process has the file open for writing, or mapped so, and did not close it in time.
    OpenForWriting,
}

impl LeasedFile {
    /// Creates one from an open file; without a file it is a symbolic link.
    pub(super) fn new(file: Option<OwnedFd>, meta: FileMeta, lease: LeaseState) -> LeasedFile {
        LeasedFile { file, meta, lease, lost: false }
    }

    /// True if another program has the file open for writing and did not close it in time.
    pub(super) fn is_open_for_writing(&self) -> bool {
        self.lease == LeaseState::OpenForWriting
    }

    /// True if we hold a lease, so that a new writer will be noticed.
    pub(super) fn is_leased(&self) -> bool {
        self.lease == LeaseState::Leased
    }

    /// True if a writer is blocked by our lease, or was until the lease timed out. It has already resolved the name to
    /// this file, so the file must have that name again before the writer continues.
    pub(super) fn has_waiting_writer(&self) -> bool {
        self.is_leased() && !self.file.as_ref().is_some_and(|file| sys::is_leased(file).unwrap_or(false))
    }

    /// Releases the lease so that a blocked writer continues, and returns the file, still open, to be closed later.
    pub(super) fn release(mut self) -> Option<OwnedFd> {
        let released = match (&self.file, self.lease) {
            (Some(file), LeaseState::Leased) => sys::unlease(file).is_ok(),
            _ => true,
        };
        // If the release failed, closing the file here releases the lease.
        let file = self.file.take();
        file.filter(|_| released)
    }

    /// Closes the file for a moment; false if it is none, or under a lease, which would be lost.
    pub(super) fn close(&mut self) -> bool {
        !self.is_leased() && self.file.take().is_some()
    }

    /// Opens the file again, under this name. If that fails, it counts as changed.
    pub(super) fn open_again(&mut self, folder: BorrowedFd<'_>, name: &OsStr) {
        self.file = sys::openat(folder, name, READ_FLAGS, Mode::empty()).ok();
        self.lost = self.file.is_none();
    }

    /// True if the file that now has the temporary name is this one, unchanged and without a waiting writer.
    pub(super) fn is_displaced_file(
        &self,
        folder: BorrowedFd<'_>,
        temp: &TempFile,
        expect: Precondition<'_>,
    ) -> emendate_os::io::Result<bool> {
        if identity_at(folder, temp)? != (self.meta.dev, self.meta.ino) {
            return Ok(false);
        }
        if self.has_waiting_writer() || self.lost {
            return Ok(false);
        }
        match (&self.file, expect) {
            (Some(file), Precondition::Version { bytes, .. }) => same_bytes(file, bytes),
            (Some(_), Precondition::Content { source, content }) => still_has_content(&self.meta, source, content),
            _ => Ok(true),
        }
    }
}

impl Drop for LeasedFile {
    fn drop(&mut self) {
        if let (Some(file), LeaseState::Leased) = (&self.file, self.lease) {
            // If this fails, closing the file releases the lease.
            let _ = sys::unlease(file);
        }
    }
}

/// True if the file with the metadata `now` still has the content that was read from it.
pub(super) fn still_has_content(
    now: &FileMeta,
    source: &FileSource,
    content: ContentId,
) -> emendate_os::io::Result<bool> {
    source.leased().map_or(Ok(false), |file| file.still_has_content(now, source.meta(), content))
}

/// Takes a lease. Waits for a writer that is about to finish, unless that was tried before.
pub(super) fn take_lease(file: &OwnedFd, occupied: bool) -> LeaseState {
    let patience = Instant::now() + if occupied { Duration::ZERO } else { WRITER_WAIT };
    loop {
        match sys::lease(file) {
            Ok(()) => return LeaseState::Leased,
            Err(Errno::AGAIN) if Instant::now() < patience => std::thread::sleep(WRITER_POLL),
            Err(Errno::AGAIN) => return LeaseState::OpenForWriting,
            Err(_) => return LeaseState::Unknown,
        }
    }
}
