//! This process, those that it starts, and those that started it.

use std::io;
use std::os::windows::io::{AsHandle as _, OwnedHandle};
use std::os::windows::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED};

use super::win32;

pub use super::win32::thread_time;

/// A job object of the kernel: a program and everything that it starts.
pub type Group = i32;

/// The jobs, by their groups.
static JOBS: Mutex<Vec<(Group, OwnedHandle)>> = Mutex::new(Vec::new());
/// The number of the next group.
static NEXT: AtomicI32 = AtomicI32::new(1);

/// Starts a program in a job of its own, which can be ended as a whole, and ends with this process. Without a job, only
/// the program itself can be ended.
///
/// Errors: those of the system.
pub fn spawn_in_group(command: &mut Command) -> io::Result<(Child, Option<Group>)> {
    // The program must not start anything before it is in the job.
    let mut child = command.creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW).spawn()?;
    let job = win32::create_job(&child);
    if let Err(errno) = win32::resume(&child) {
        let _ = child.kill();
        return Err(errno.into());
    }
    let group = job.ok().map(|job| {
        let group = NEXT.fetch_add(1, Ordering::Relaxed);
        JOBS.lock().unwrap_or_else(PoisonError::into_inner).push((group, job));
        group
    });
    Ok((child, group))
}

/// Ends a group.
pub fn kill_group(group: Group) {
    let jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, job)) = jobs.iter().find(|(known, _)| *known == group) {
        win32::terminate(job.as_handle());
    }
}

/// Forgets a group without ending it: its processes keep running.
pub fn forget_group(group: Group) {
    let mut jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = jobs.iter().position(|(known, _)| *known == group) {
        win32::keep_running(jobs.swap_remove(at).1.as_handle());
    }
}

/// True if a child process has exited.
pub fn has_exited(child: &Child) -> bool {
    win32::has_ended(child)
}

/// True if a process was ended from outside, without a fault of its own.
pub fn was_ended_from_outside(status: ExitStatus) -> bool {
    status.code().is_some_and(|code| code.cast_unsigned() == win32::KILLED)
}

/// True if a process of this number runs.
pub fn is_running(process: u32) -> bool {
    win32::is_running(process)
}

/// Returns the bytes of memory that this process has reserved.
pub fn mapped_bytes() -> u64 {
    win32::own_usage().0
}

/// Limits this process to `memory` more bytes and `seconds` more of processor time. A later call sets new limits.
pub fn limit_self(memory: u64, seconds: u64) {
    let (used, time) = win32::own_usage();
    win32::limit_self(used + memory, time + seconds * 10_000_000);
}

/// A process, as the system describes it.
pub struct ProcessStatus {
    /// The process that started it.
    pub parent: i32,
    /// The start of the process, in units of 100 nanoseconds.
    pub started: u64,
    /// The name of its program, without `.exe`.
    pub name: String,
}

impl ProcessStatus {
    /// Reads it by its number; `None` for a process that does not exist.
    pub fn of(process: i32) -> Option<ProcessStatus> {
        let number = u32::try_from(process).ok()?;
        let (parent, name) = win32::parent_and_name(number)?;
        let name = name.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name).to_owned();
        Some(ProcessStatus { parent: i32::try_from(parent).ok()?, started: win32::start_of(number), name })
    }
}

/// Returns the process that started this one.
pub fn parent() -> Option<i32> {
    let own = i32::try_from(std::process::id()).ok()?;
    ProcessStatus::of(own).map(|status| status.parent)
}

/// Returns words that identify the shell of this process: all processes that it starts have the same.
pub fn terminal() -> String {
    let shell = parent().unwrap_or(0);
    let started = ProcessStatus::of(shell).map_or(0, |status| status.started);
    format!("{shell} {started}")
}

/// Returns the program that has a file open for writing: unknown here.
pub const fn writer_of(_path: &Path) -> Option<String> {
    None
}
