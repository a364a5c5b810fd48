//! The time that this thread has worked: a busy machine makes it no longer, so an answer does not hang on what else runs.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// A moment of this thread's own time.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Duration);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(now())
    }

    /// What the thread has worked since; to be asked on the same thread.
    pub(crate) fn spent(self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(tv_sec).unwrap_or(0), u32::try_from(tv_nsec).unwrap_or(0))
}
