//! This process, those that it starts, and those that started it.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group, setrlimit, waitid,
};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A process group: a program and everything that it starts.
pub type Group = i32;

/// Starts a program in a group of its own, which can be killed as a whole, and which Ctrl-C in our terminal does not
/// reach. Without a group, only the program itself can be killed.
///
/// Errors: those of the system.
pub fn spawn_in_group(command: &mut Command) -> io::Result<(Child, Option<Group>)> {
    let child = command.process_group(0).spawn()?;
    let group = i32::try_from(child.id()).ok();
    Ok((child, group))
}

/// Kills a group.
pub fn kill_group(group: Group) {
    if let Some(group) = Pid::from_raw(group) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Forgets a group without killing it: its processes keep running.
pub const fn forget_group(_group: Group) {}

/// True if a child process has exited; it is not waited for, so its number is not used again.
pub fn has_exited(child: &Child) -> bool {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return true };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), look).map_or(true, |status| status.is_some())
}

/// True if a process was ended from outside, without a fault of its own: by SIGHUP, SIGINT, SIGKILL or SIGTERM.
pub fn was_ended_from_outside(status: ExitStatus) -> bool {
    status.signal().is_some_and(|signal| matches!(signal, 1 | 2 | 9 | 15))
}

/// True if a process of this number runs.
pub fn is_running(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Returns the bytes of memory that this process has mapped.
pub fn mapped_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// Limits this process to `memory` more bytes and `seconds` more of processor time, and disables core dumps. A later
/// call sets new limits.
pub fn limit_self(memory: u64, seconds: u64) {
    set_limit(Resource::Core, 0);
    let mapped = mapped_bytes();
    // Without the current figure, a limit would be a guess.
    if mapped > 0 {
        set_limit(Resource::As, mapped + memory);
    }
    let worked = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    set_limit(Resource::Cpu, worked + seconds);
}

fn set_limit(resource: Resource, bound: u64) {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(bound, |maximum| bound.min(maximum)));
    // If a limit cannot be set, the previous one remains.
    let _ = setrlimit(resource, Rlimit { current, maximum });
}

/// Returns the processor time that this thread has used.
pub fn thread_time() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(tv_sec).unwrap_or(0), u32::try_from(tv_nsec).unwrap_or(0))
}

/// A process, as the system describes it.
pub struct ProcessStatus {
    /// The process that started it.
    pub parent: i32,
    /// The leader of its session; 0 for a leader outside this container.
    pub leader: i32,
    /// The start of the process, in ticks since the boot.
    pub started: u64,
    /// The name of its program.
    pub name: String,
}

impl ProcessStatus {
    /// Reads it by its number; `None` for a process that does not exist, and on systems without `/proc`.
    pub fn of(process: i32) -> Option<ProcessStatus> {
        ProcessStatus::read(&process.to_string())
    }

    fn read(process: &str) -> Option<ProcessStatus> {
        // The name is in parentheses and may contain any character.
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (head, rest) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = rest.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let leader = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(ProcessStatus { parent, leader, started, name: name.to_owned() })
    }
}

/// Returns the process that started this one; `None` if it is outside this container.
pub fn parent() -> Option<i32> {
    rustix::process::getppid().map(Pid::as_raw_pid)
}

/// Returns words that identify the terminal of this process: all processes that its shell starts have the same, and so
/// have those of a script without a terminal.
pub fn terminal() -> String {
    let leader = session_leader();
    let started = ProcessStatus::of(leader).map_or(0, |status| status.started);
    let user = rustix::process::getuid().as_raw();
    // Numbers of processes are used again; the boot and the start distinguish them.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{user} {leader} {started} {boot}")
}

/// Returns the process that leads this terminal's session; 0 in a container if the leader is outside it.
#[cfg(target_os = "linux")]
fn session_leader() -> i32 {
    // rustix panics where the system returns 0.
    ProcessStatus::read("self").map_or(0, |status| status.leader)
}

/// Returns the process that leads this terminal's session.
#[cfg(not(target_os = "linux"))]
fn session_leader() -> i32 {
    rustix::process::getsid(None).map_or(0, Pid::as_raw_pid)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{ProcessStatus, parent};

    #[test]
    fn status_of_a_process_is_read() {
        let own = ProcessStatus::read("self").unwrap();
        assert_eq!(Some(own.parent), parent());
        assert!(own.started > 0 && !own.name.is_empty());
        let number = i32::try_from(std::process::id()).unwrap();
        assert_eq!(ProcessStatus::of(number).unwrap().started, own.started);
        assert!(ProcessStatus::of(i32::MAX).is_none());
    }
}

/// Returns the program that has a file open for writing, with its number, as far as this user may see it. It is
/// unknown on systems without `/proc`.
pub fn writer_of(path: &Path) -> Option<String> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let own = std::process::id().to_string();
    for process in processes.filter(|process| !process.ends_with(&own)) {
        let Ok(open) = std::fs::read_dir(process.join("fd")) else { continue };
        for descriptor in open.flatten().filter(|it| std::fs::read_link(it.path()).is_ok_and(|target| target == path)) {
            let info = std::fs::read_to_string(process.join("fdinfo").join(descriptor.file_name())).unwrap_or_default();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
            // The access mode is in the lowest two bits.
            if flags.is_some_and(|flags| flags & 0o3 != 0) {
                let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
                let number = process.file_name().unwrap_or_default().to_string_lossy().into_owned();
                return Some(format!("{} (process {number})", name.trim()));
            }
        }
    }
    None
}
