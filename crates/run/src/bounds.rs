//! Bounds that a process sets itself, so that the kernel ends it where its own code cannot.

use rustix::param::page_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Bytes of memory that this process has mapped.
pub fn mapped() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
    pages * page_size() as u64
}

/// From now on the process gets at most `memory` more bytes, works for at most `seconds` more, and leaves no core dump.
/// A later call sets new bounds.
pub fn bound_self(memory: u64, seconds: u64) {
    set(Resource::Core, 0);
    let mapped = mapped();
    // Without a figure of what is mapped, a bound would be a guess.
    if mapped > 0 {
        set(Resource::As, mapped + memory);
    }
    let worked = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    set(Resource::Cpu, worked + seconds);
}

fn set(resource: Resource, bound: u64) {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(bound, |maximum| bound.min(maximum)));
    // A bound that cannot be set leaves the one before.
    let _ = setrlimit(resource, Rlimit { current, maximum });
}
