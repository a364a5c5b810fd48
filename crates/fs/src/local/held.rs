//! What a draft replaces: found as expected, and held by a lease until all is done.

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

/// How long a program that has the file open for writing is waited for. It need not be one that writes: a process that was
/// just started has open what the one that started it had, until it comes to run its own program, and on a busy machine that
/// takes a while.
const PATIENCE: Duration = Duration::from_millis(200);

/// How often it is looked whether it is done.
const PAUSE: Duration = Duration::from_micros(200);

/// What a look at the file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// To know whether it is as expected.
    Only,
    /// To replace it: nobody is to write it from before the comparison on.
    Hold,
    /// To overwrite it where it is.
    Write,
}

/// What a draft replaces, found as expected.
pub(super) struct Held {
    /// The open file; `None`: a symbolic link, which nobody can change, only replace.
    pub(super) file: Option<OwnedFd>,
    pub(super) stamp: Stamp,
    hold: Hold,
}

/// What is known of others who may write the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// Nothing: it is somebody else's file, or one on a file system without leases.
    Unknown,
    /// Nobody has it open for writing, and who wants to waits for us.
    Leased,
    /// Somebody has it open for writing, or mapped so, and does not let go of it.
    Open,
}

impl Held {
    /// True when another program has it open for writing, and keeps it so.
    pub(super) fn is_open_elsewhere(&self) -> bool {
        self.hold == Hold::Open
    }

    /// True when there is a lease, so that it can be told whether somebody came for the file.
    pub(super) fn is_leased(&self) -> bool {
        self.hold == Hold::Leased
    }

    /// True when somebody waits, or waited too long, to write the file. He has found it by its name already, so it must
    /// have that name again when he is let in.
    pub(super) fn is_wanted(&self) -> bool {
        let whole = |file| sys::is_leased(file).unwrap_or(false);
        self.is_leased() && !self.file.as_ref().is_some_and(whole)
    }

    /// Lets go of it, so that who waits goes on; the file stays open for whoever closes it.
    pub(super) fn release(mut self) -> Option<OwnedFd> {
        let let_go = match (&self.file, self.hold) {
            (Some(file), Hold::Leased) => sys::unlease(file).is_ok(),
            _ => true,
        };
        // Where that failed, closing it does the same.
        let file = self.file.take();
        file.filter(|_| let_go)
    }

    /// True when this, and still with the bytes that are expected, is what has the temporary name now.
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
            // Closing it is as good where this fails.
            let _ = sys::unlease(file);
        }
    }
}

/// True when what has this stamp now still holds what was read from it.
fn vouched(now: &Stamp, source: &Source, content: ContentId) -> rustix::io::Result<bool> {
    source.leased().map_or(Ok(false), |file| file.vouches(now, source.stamp(), content))
}

/// Takes a lease; a writer who will be done in a moment is waited for, unless he was already.
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
    /// See [`still_expected`].
    pub(super) fn still_expected(&self, index: usize, look: Look) -> Result<Option<Held>> {
        let entry = &self.entries[index];
        still_expected(self.local, &self.folders[entry.folder], entry, look)
    }
}

/// Compares what is at the path now with what the draft expects; gives what is there, if there is to be something.
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
    // By the whole path again: the folder may have been moved away since it was opened.
    let file = match local.open_beneath(place.root(), place.relative(), flags) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Err(fault::raced(path, "was removed")),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::ISDIR) => {
            return Err(fault::raced(path, "was replaced by something else"));
        }
        // By another of its names.
        Err(Errno::AGAIN) => return Err(fault::raced(path, "is just being replaced")),
        Err(errno) if look == Look::Write => return Err(fault::os("open for writing", path, errno)),
        Err(errno) => return Err(fault::os("open", path, errno)),
    };
    // Network file systems refuse leases for other reasons than that somebody writes.
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
