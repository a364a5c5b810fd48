//! Systems whose notifications of changes are not used: callers check directories at short intervals.

use std::path::Path;
use std::time::Duration;

/// No system calls these notifications: the type has no value.
#[derive(Debug)]
pub enum NoNotifications {}

impl NoNotifications {
    /// Always `None`.
    pub const fn open() -> Option<NoNotifications> {
        None
    }

    /// Never called, because there is no queue.
    pub const fn add(&self, _directory: &Path) -> bool {
        match *self {}
    }

    /// Never called, because there is no queue.
    pub const fn wait(&self, _timeout: Duration) {
        match *self {}
    }
}
