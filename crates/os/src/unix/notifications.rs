//! Notifications of changes below a directory, on Linux.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

/// Bytes of notifications that are read together.
const EVENT_BYTES: usize = 4096;

/// An open queue of notifications.
#[derive(Debug)]
pub struct Notifications(OwnedFd);

impl Notifications {
    /// Opens an empty queue; `None` if the system gives none.
    pub fn open() -> Option<Notifications> {
        inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok().map(Notifications)
    }

    /// Watches a directory; false if there is none.
    pub fn add(&self, directory: &Path) -> bool {
        let flags = WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::ONLYDIR;
        inotify::add_watch(&self.0, directory, flags).is_ok()
    }

    /// Waits for a notification, and takes all that are there.
    pub fn wait(&self, timeout: Duration) {
        let timeout = Timespec::try_from(timeout).ok();
        let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
        // An interrupted wait is a short one.
        if poll(&mut ready, timeout.as_ref()).is_ok_and(|ready| ready > 0) {
            let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
            let mut reader = Reader::new(&self.0, &mut buffer);
            while reader.next().is_ok() {}
        }
    }
}
