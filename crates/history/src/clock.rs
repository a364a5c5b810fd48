//! The wall clock, for the age and order of records.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Interval between two checks on another process.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

thread_local! {
    /// Lead of this thread's clock over the system's clock.
    static AHEAD_US: Cell<i64> = const { Cell::new(0) };
}

/// Microseconds since the epoch; 0 if the clock is set before it.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX).saturating_add(AHEAD_US.get())
}

/// Puts the clock of this thread ahead, for tests about the time between operations.
#[doc(hidden)]
pub fn set_clock_ahead(ahead: Duration) {
    AHEAD_US.set(i64::try_from(ahead.as_micros()).unwrap_or(i64::MAX));
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The moment after this time.
    pub fn after(time: Duration) -> Deadline {
        let now = Instant::now();
        // A time that the clock cannot represent ends in a century.
        Deadline(now.checked_add(time).unwrap_or_else(|| now + Duration::from_secs(100 * 365 * 86_400)))
    }

    /// The time until then; zero afterwards.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// Microseconds since the epoch, as entries of the log are stamped.
pub fn now_micros() -> i64 {
    now_us()
}

/// The time `days` before `now`.
pub(crate) fn days_before(now: i64, days: u32) -> i64 {
    now.saturating_sub(i64::from(days).saturating_mul(86_400_000_000))
}

/// Sleeps briefly so that the process of a pending operation can continue; returns how long.
pub fn wait_briefly() -> Duration {
    std::thread::sleep(POLL_INTERVAL);
    POLL_INTERVAL
}
