//! The file that a draft replaces: verified against the precondition and kept under a lease until the transaction ends.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use emendate_core::{ContentId, Result};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Local;
use super::folder::Folder;
use super::look::{self, LOOK, same_bytes};
use super::stage::{Entry, OVERWRITE, Plan};
use super::sys;
use super::temp::{Temp, identity_at};
use crate::{Expect, Source, Stamp, fault};

/// Wait for a program that has the file open for writing. It may not even be writing: a child process inherits its
/// parent's descriptors until it execs, which takes a while on a busy machine.
const PATIENCE: Duration = Duration::from_millis(200);

/// Interval between two attempts to take the lease.
const PAUSE: Duration = Duration::from_micros(200);

/// Purpose for which a file is opened and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// To compare it with the precondition only.
    Only,
    /// To replace it: takes a lease, so that no other process writes it after the comparison.
    Hold,
    /// To overwrite it in place.
    Write,
}

/// The file that a draft replaces, verified against the precondition.
pub(super) struct Held {
    /// The open file; `None` for a symbolic link, which cannot be changed, only replaced.
    pub(super) file: Option<OwnedFd>,
    pub(super) stamp: Stamp,
    hold: Hold,
}

/// State of the lease, i.e. what is known of other writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// No lease: the file belongs to another user, or the file system has no leases.
    Unknown,
    /// We hold a read lease: no writer has the file open, and new writers block.
    Leased,
    /// Another process has the file open for writing, or mapped so, and did not close it in time.
    Open,
}

impl Held {
    /// True if another program has the file open for writing and did not close it in time.
    pub(super) fn is_open_elsewhere(&self) -> bool {
        self.hold == Hold::Open
    }

    /// True if we hold a lease, so that a new writer will be noticed.
    pub(super) fn is_leased(&self) -> bool {
        self.hold == Hold::Leased
    }

    /// True if a writer is blocked by our lease, or was until the lease timed out. It has already resolved the name to
    /// this file, so the file must have that name again before the writer continues.
    pub(super) fn is_wanted(&self) -> bool {
        let whole = |file| sys::is_leased(file).unwrap_or(false);
        self.is_leased() && !self.file.as_ref().is_some_and(whole)
    }

    /// Releases the lease so that a blocked writer continues, and returns the file, still open, to be closed later.
    pub(super) fn release(mut self) -> Option<OwnedFd> {
        let let_go = match (&self.file, self.hold) {
            (Some(file), Hold::Leased) => sys::unlease(file).is_ok(),
            _ => true,
        };
        // If the release failed, closing the file here releases the lease.
        let file = self.file.take();
        file.filter(|_| let_go)
    }

    /// True if the file that now has the temporary name is this one, unchanged and without a waiting writer.
    pub(super) fn is_at(&self, folder: BorrowedFd<'_>, temp: &Temp, expect: Expect<'_>) -> rustix::io::Result<bool> {
        if identity_at(folder, temp)? != (self.stamp.dev, self.stamp.ino) {
            return Ok(false);
        }
        if self.is_wanted() {
            return Ok(false);
        }
        match (&self.file, expect) {
            (Some(file), Expect::Version { bytes, .. }) => same_bytes(file, bytes),
            (Some(_), Expect::Content { source, content }) => vouched(&self.stamp, source, content),
            _ => Ok(true),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let (Some(file), Hold::Leased) = (&self.file, self.hold) {
            // If this fails, closing the file releases the lease.
            let _ = sys::unlease(file);
        }
    }
}

/// True if the file with the metadata `now` still has the content that was read from it.
fn vouched(now: &Stamp, source: &Source, content: ContentId) -> rustix::io::Result<bool> {
    source.leased().map_or(Ok(false), |file| file.vouches(now, source.stamp(), content))
}

/// Takes a lease. Waits for a writer that is about to finish, unless that was tried before.
fn hold(file: &OwnedFd, occupied: bool) -> Hold {
    let patience = Instant::now() + if occupied { Duration::ZERO } else { PATIENCE };
    loop {
        match sys::lease(file) {
            Ok(()) => return Hold::Leased,
            Err(Errno::AGAIN) if Instant::now() < patience => std::thread::sleep(PAUSE),
            Err(Errno::AGAIN) => return Hold::Open,
            Err(_) => return Hold::Unknown,
        }
    }
}

impl Plan<'_> {
    /// See the free function [`still_expected`].
    pub(super) fn still_expected(&self, index: usize, look: Look) -> Result<Option<Held>> {
        let entry = &self.entries[index];
        still_expected(self.local, &self.folders[entry.folder], entry, look)
    }
}

/// Compares the file at the path with the draft's precondition and returns it, open; `None` if nothing is there, as
/// expected.
pub(super) fn still_expected(
    local: &Local,
    folder: &Folder<'_>,
    entry: &Entry<'_>,
    look: Look,
) -> Result<Option<Held>> {
    let (place, path) = (entry.draft.place, entry.path());
    let stamp = match entry.draft.expect {
        Expect::Version { stamp, .. } => stamp,
        Expect::Content { source, .. } => source.stamp(),
        _ if !folder.in_place(local) => return Err(fault::raced(path, "has lost its folder")),
        Expect::Missing => {
            return match sys::statat(&folder.fd, entry.name) {
                Err(Errno::NOENT) => Ok(None),
                Ok(_) => Err(fault::raced(path, "was created meanwhile")),
                Err(errno) => Err(fault::os("look at", path, errno)),
            };
        }
        Expect::Link { target } => {
            return match look::link_at(&folder.fd, entry.name, target) {
                Ok(Some(stamp)) => Ok(Some(Held { file: None, stamp, hold: Hold::Unknown })),
                Ok(None) => Err(fault::raced(path, "is not the link any more that it was")),
                Err(errno) => Err(fault::os("look at", path, errno)),
            };
        }
    };
    let flags: OFlags = if look == Look::Write { OVERWRITE } else { LOOK };
    // The whole path again: the directory may have been moved since it was opened.
    let file = match local.open_beneath(place.root(), place.relative(), flags) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Err(fault::raced(path, "was removed")),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::ISDIR) => {
            return Err(fault::raced(path, "was replaced by something else"));
        }
        // The kernel gave up because of a concurrent rename.
        Err(Errno::AGAIN) => return Err(fault::raced(path, "is just being replaced")),
        Err(errno) if look == Look::Write => return Err(fault::os("open for writing", path, errno)),
        Err(errno) => return Err(fault::os("open", path, errno)),
    };
    // Network file systems refuse leases for other reasons than a writer.
    let leases = look == Look::Hold && local.is_plain(place.root(), stamp);
    let hold = if leases { hold(&file, entry.occupied) } else { Hold::Unknown };
    let now = look::stamp_of(&sys::fstat(&file).map_err(|errno| fault::os("look at", path, errno))?);
    let held = Held { file: Some(file), stamp: now, hold };
    if !now.same_file(stamp) {
        return Err(fault::raced(path, "was replaced by another file"));
    }
    let same = match (&held.file, entry.draft.expect) {
        (Some(file), Expect::Version { bytes, .. }) if now.size == bytes.len() as u64 => same_bytes(file, bytes),
        (Some(_), Expect::Content { source, content }) => vouched(&now, source, content),
        _ => Ok(false),
    };
    let same = same.map_err(|errno| fault::os("compare", path, errno))?;
    if same { Ok(Some(held)) } else { Err(fault::raced(path, "was changed")) }
}
