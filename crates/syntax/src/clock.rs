//! Processor time of the current thread: independent of the load of the machine, so results do not depend on what else
//! runs.

use emendate_os::processes::thread_time;
use std::time::Duration;

/// A point in this thread's processor time.
#[derive(Clone, Copy)]
pub(crate) struct ThreadClock(Duration);

impl ThreadClock {
    pub(crate) fn start() -> ThreadClock {
        ThreadClock(thread_time())
    }

    /// Returns the processor time since then; call it on the same thread.
    pub(crate) fn spent(self) -> Duration {
        thread_time().saturating_sub(self.0)
    }
}
