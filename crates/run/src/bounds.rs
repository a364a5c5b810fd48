//! Resource limits that a process sets for itself, so that the kernel ends it if its own code fails to.

use rustix::param::page_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Returns the bytes of memory that this process has mapped.
pub fn mapped_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
    pages * page_size() as u64
}

/// Limits the process to `memory` more bytes and `seconds` more of processor time, and disables core dumps. A later
/// call sets new limits.
pub fn limit_self(memory: u64, seconds: u64) {
    set(Resource::Core, 0);
    let mapped = mapped_bytes();
    // Without the current figure, a limit would be a guess.
    if mapped > 0 {
        set(Resource::As, mapped + memory);
    }
    let worked = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    set(Resource::Cpu, worked + seconds);
}

fn set(resource: Resource, bound: u64) {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(bound, |maximum| bound.min(maximum)));
    // If a limit cannot be set, the previous one remains.
    let _ = setrlimit(resource, Rlimit { current, maximum });
}
