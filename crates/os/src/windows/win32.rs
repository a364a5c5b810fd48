//! Functions of Win32, with their pointers and lengths.
#![allow(
    unsafe_code,
    reason = "each call gets pointers to live, initialised memory and its true length, and handles that are borrowed for \
              the length of the call; a handle that a call returns is owned by nobody else"
)]

use std::ffi::{OsStr, OsString};
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::path::Path;
use std::process::Child;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, FILETIME, GetLastError, HANDLE, STILL_ACTIVE, WAIT_OBJECT_0,
};
use windows_sys::Win32::Storage::FileSystem as win;
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOB_OBJECT_LIMIT_PROCESS_MEMORY,
    JOB_OBJECT_LIMIT_PROCESS_TIME, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    CreateEventW, GetCurrentProcess, GetCurrentThread, GetExitCodeProcess, GetProcessTimes, GetThreadTimes,
    OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, WaitForSingleObject,
};

use super::errno::{Errno, Result};
use super::ffi::{narrow, wide_nul};

#[link(name = "ntdll", kind = "raw-dylib")]
unsafe extern "system" {
    fn NtResumeProcess(process: HANDLE) -> i32;
}

/// Offset, beyond the end of every file, of the one byte whose lock is the lock of the file.
const LOCK_AT: u64 = 1 << 62;
/// The exit code of a program that was ended from outside.
pub(crate) const KILLED: u32 = 0xC000_013A;

fn last_error() -> Errno {
    // SAFETY: it only reads a number of this thread.
    Errno::of_win32(unsafe { GetLastError() })
}

fn overlapped() -> OVERLAPPED {
    let mut range = OVERLAPPED::default();
    range.Anonymous.Anonymous.Offset = 0;
    range.Anonymous.Anonymous.OffsetHigh = u32::try_from(LOCK_AT >> 32).unwrap_or(0);
    range
}

/// Takes the lock of a file, alone or with others; does not wait.
pub(crate) fn lock(file: BorrowedHandle<'_>, alone: bool) -> Result<()> {
    let exclusive = if alone { win::LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
    let mut range = overlapped();
    // SAFETY: see above.
    let done = unsafe {
        win::LockFileEx(file.as_raw_handle(), exclusive | win::LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &raw mut range)
    };
    if done != 0 { Ok(()) } else { Err(last_error()) }
}

/// Releases the lock of a file.
pub(crate) fn unlock(file: BorrowedHandle<'_>) -> Result<()> {
    let mut range = overlapped();
    // SAFETY: see above.
    let done = unsafe { win::UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut range) };
    if done != 0 { Ok(()) } else { Err(last_error()) }
}

/// Creates an object of the kernel under a name; `EWOULDBLOCK` if there is one.
pub(crate) fn create_named(name: &str) -> Result<OwnedHandle> {
    let name = wide_nul(OsStr::new(name));
    // SAFETY: see above.
    let (handle, error) = unsafe {
        let handle = CreateEventW(null(), 1, 0, name.as_ptr());
        (handle, GetLastError())
    };
    if handle.is_null() {
        // Another user has created it.
        return Err(match Errno::of_win32(error) {
            Errno::ACCESS => Errno::WOULDBLOCK,
            other => other,
        });
    }
    // SAFETY: the call succeeded, so the handle is open and ours.
    let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
    if error == ERROR_ALREADY_EXISTS { Err(Errno::WOULDBLOCK) } else { Ok(handle) }
}

/// Returns the path of an open file.
pub(crate) fn final_path(file: BorrowedHandle<'_>) -> Result<OsString> {
    let mut units = vec![0_u16; 1 << 15];
    let room = u32::try_from(units.len()).unwrap_or(0);
    // SAFETY: see above.
    let length = unsafe { win::GetFinalPathNameByHandleW(file.as_raw_handle(), units.as_mut_ptr(), room, 0) };
    let length = usize::try_from(length).unwrap_or(0);
    match units.get(..length) {
        Some(name @ [_, ..]) => Ok(narrow(name)),
        _ => Err(last_error()),
    }
}

/// Creates a symbolic link.
pub(crate) fn create_symbolic_link(link: &Path, target: &OsStr, of_directory: bool) -> Result<()> {
    let (link, target) = (wide_nul(link.as_os_str()), wide_nul(target));
    let directory = if of_directory { win::SYMBOLIC_LINK_FLAG_DIRECTORY } else { 0 };
    let flags = directory | win::SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE;
    // SAFETY: see above; both names end with a NUL.
    let done = unsafe { win::CreateSymbolicLinkW(link.as_ptr(), target.as_ptr(), flags) };
    if done { Ok(()) } else { Err(last_error()) }
}

/// Returns the kind of a drive.
pub(crate) fn drive_type(letter: u8) -> u32 {
    let root = [u16::from(letter), u16::from(b':'), u16::from(b'\\'), 0];
    // SAFETY: the name ends with a NUL.
    unsafe { win::GetDriveTypeW(root.as_ptr()) }
}

/// Returns the bytes that a pipe has; `EPIPE` if it is closed.
pub(crate) fn peek(pipe: BorrowedHandle<'_>) -> Result<u32> {
    let mut available = 0;
    // SAFETY: see above.
    let done =
        unsafe { PeekNamedPipe(pipe.as_raw_handle(), null_mut(), 0, null_mut(), &raw mut available, null_mut()) };
    if done != 0 { Ok(available) } else { Err(last_error()) }
}

/// Creates a job object that contains a process and everything that it starts.
pub(crate) fn create_job(child: &Child) -> Result<OwnedHandle> {
    // SAFETY: see above.
    let job = unsafe { CreateJobObjectW(null(), null()) };
    if job.is_null() {
        return Err(last_error());
    }
    // SAFETY: the call succeeded, so the handle is open and ours.
    let job = unsafe { OwnedHandle::from_raw_handle(job) };
    limit_job(job.as_raw_handle(), JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, 0, 0)?;
    // SAFETY: see above.
    let done = unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) };
    if done != 0 { Ok(job) } else { Err(last_error()) }
}

fn limit_job(job: HANDLE, flags: u32, memory: usize, ticks: i64) -> Result<()> {
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = flags;
    limits.BasicLimitInformation.PerProcessUserTimeLimit = ticks;
    limits.ProcessMemoryLimit = memory;
    let length = u32::try_from(size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>()).unwrap_or(0);
    // SAFETY: see above.
    let done =
        unsafe { SetInformationJobObject(job, JobObjectExtendedLimitInformation, (&raw const limits).cast(), length) };
    if done != 0 { Ok(()) } else { Err(last_error()) }
}

/// Keeps the processes of a job running when the job is closed.
pub(crate) fn keep_running(job: BorrowedHandle<'_>) {
    // If this fails, the processes end with the job.
    let _ = limit_job(job.as_raw_handle(), 0, 0, 0);
}

/// Ends everything in a job.
pub(crate) fn terminate(job: BorrowedHandle<'_>) {
    // SAFETY: see above. If it fails, closing the job ends the processes.
    unsafe { TerminateJobObject(job.as_raw_handle(), KILLED) };
}

/// Resumes a process that was created suspended.
pub(crate) fn resume(child: &Child) -> Result<()> {
    // SAFETY: the handle is open as long as the child is borrowed.
    let status = unsafe { NtResumeProcess(child.as_raw_handle()) };
    if status < 0 { Err(Errno::of_status(status)) } else { Ok(()) }
}

/// True if a child process has ended.
pub(crate) fn has_ended(child: &Child) -> bool {
    // SAFETY: the handle is open as long as the child is borrowed.
    unsafe { WaitForSingleObject(child.as_raw_handle(), 0) == WAIT_OBJECT_0 }
}

/// Opens a process to query it.
fn open_process(process: u32) -> Option<OwnedHandle> {
    // SAFETY: it takes numbers only.
    let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, process) };
    // SAFETY: the call succeeded, so the handle is open and ours.
    (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// True if a process of this number runs. A process that may not be queried counts as running.
pub(crate) fn is_running(process: u32) -> bool {
    let Some(handle) = open_process(process) else {
        return last_error() == Errno::ACCESS;
    };
    let mut code = 0;
    // SAFETY: see above.
    let known = unsafe { GetExitCodeProcess(handle.as_raw_handle(), &raw mut code) } != 0;
    !known || code == STILL_ACTIVE.cast_unsigned()
}

fn ticks(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// The start of a process; 0 if unknown.
pub(crate) fn start_of(process: u32) -> u64 {
    let Some(handle) = open_process(process) else { return 0 };
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: see above.
    let known = unsafe {
        GetProcessTimes(handle.as_raw_handle(), &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user)
    };
    if known != 0 { ticks(created) } else { 0 }
}

/// The processor time of this thread.
pub fn thread_time() -> Duration {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: see above; the handle is that of this thread and needs no closing.
    let known =
        unsafe { GetThreadTimes(GetCurrentThread(), &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user) };
    let spent = if known != 0 { ticks(kernel) + ticks(user) } else { 0 };
    Duration::from_nanos(spent.saturating_mul(100))
}

/// The memory that this process has reserved, in bytes, and its processor time in units of 100 ns.
pub(crate) fn own_usage() -> (u64, u64) {
    let mut memory = PROCESS_MEMORY_COUNTERS::default();
    let length = u32::try_from(size_of::<PROCESS_MEMORY_COUNTERS>()).unwrap_or(0);
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: see above; the handle is that of this process and needs no closing.
    unsafe {
        K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut memory, length);
        GetProcessTimes(GetCurrentProcess(), &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user);
    }
    (memory.PagefileUsage as u64, ticks(user))
}

/// Limits this process to this much memory and processor time, for good.
pub(crate) fn limit_self(memory: u64, time: u64) {
    static JOB: OnceLock<Option<OwnedHandle>> = OnceLock::new();
    if let Some(job) = JOB.get_or_init(join_new_job) {
        let flags = JOB_OBJECT_LIMIT_PROCESS_MEMORY | JOB_OBJECT_LIMIT_PROCESS_TIME;
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        // If a limit cannot be set, the previous one remains.
        let _ = limit_job(job.as_raw_handle(), flags, memory, i64::try_from(time).unwrap_or(i64::MAX));
    }
}

/// Creates a job and adds this process to it; `None` if the system refuses.
fn join_new_job() -> Option<OwnedHandle> {
    // SAFETY: see above; the handle of this process needs no closing.
    let job = unsafe { CreateJobObjectW(null(), null()) };
    if job.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so the handle is open and ours.
    let owned = unsafe { OwnedHandle::from_raw_handle(job) };
    // SAFETY: as above.
    let done = unsafe { AssignProcessToJobObject(job, GetCurrentProcess()) };
    (done != 0).then_some(owned)
}

/// Returns the parent of a process, and the name of its program.
pub(crate) fn parent_and_name(process: u32) -> Option<(u32, OsString)> {
    // SAFETY: it takes numbers only.
    let list = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if list.is_null() || list == windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE {
        return None;
    }
    // SAFETY: the call succeeded, so the handle is open and ours.
    let list = unsafe { OwnedHandle::from_raw_handle(list) };
    let mut entry = PROCESSENTRY32W {
        dwSize: u32::try_from(size_of::<PROCESSENTRY32W>()).unwrap_or(0),
        ..PROCESSENTRY32W::default()
    };
    // SAFETY: see above.
    let mut more = unsafe { Process32FirstW(list.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        if entry.th32ProcessID == process {
            let length = entry.szExeFile.iter().position(|unit| *unit == 0).unwrap_or(entry.szExeFile.len());
            return Some((entry.th32ParentProcessID, narrow(entry.szExeFile.get(..length)?)));
        }
        // SAFETY: see above.
        more = unsafe { Process32NextW(list.as_raw_handle(), &raw mut entry) };
    }
    None
}

/// The handler of requests of the console to end; it returns true if this process continues.
static ON_CONSOLE: OnceLock<Box<dyn Fn(u32) -> bool + Send + Sync>> = OnceLock::new();

unsafe extern "system" fn on_console(event: u32) -> i32 {
    i32::from(ON_CONSOLE.get().is_some_and(|call| call(event)))
}

/// Sets what is called when the console asks this process to end; once only.
pub(crate) fn on_console_event(call: impl Fn(u32) -> bool + Send + Sync + 'static) -> Result<()> {
    if ON_CONSOLE.set(Box::new(call)).is_err() {
        return Ok(());
    }
    // SAFETY: the function lives as long as the program.
    let done = unsafe { SetConsoleCtrlHandler(Some(on_console), 1) };
    if done != 0 { Ok(()) } else { Err(last_error()) }
}
