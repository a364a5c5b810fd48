//! Systems whose notifications are not used: directories are checked at short intervals.

use std::path::Path;
use std::time::Duration;

/// No system calls these notifications: the type has no value.
#[derive(Debug)]
pub(super) enum NoNotifications {}

impl NoNotifications {
    pub(super) fn open() -> Option<NoNotifications> {
        None
    }

    pub(super) fn add(&self, _directory: &Path) -> bool {
        match *self {}
    }

    pub(super) fn wait(&self, _timeout: Duration) {
        match *self {}
    }
}
