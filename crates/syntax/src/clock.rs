//! Processor time of the current thread: independent of the load of the machine, so results do not depend on what else
//! runs.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// A point in this thread's processor time.
#[derive(Clone, Copy)]
pub(crate) struct ThreadClock(Duration);

impl ThreadClock {
    pub(crate) fn start() -> ThreadClock {
        ThreadClock(now())
    }

    /// Returns the processor time since then; call it on the same thread.
    pub(crate) fn spent(self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(tv_sec).unwrap_or(0), u32::try_from(tv_nsec).unwrap_or(0))
}
