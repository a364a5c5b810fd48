//! Fault injection for system calls in tests: fails the n-th call of this thread or every call from there on, simulates
//! the death of the process (nothing after the n-th call happens, not even cleanup), and logs changes of the disk.

mod tests;

use emendate_os::fd::AsFd;
use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use emendate_os::io::{Errno, Result};

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InjectedFault {
    /// Call number `at` (from 0) fails.
    Once(Errno),
    /// Call number `at` and all later ones fail.
    Always(Errno),
    /// Write number `at` (counting writes, from 0) writes only half of its bytes.
    Short,
    /// The file system supports plain renames only: no exchange and no check for an existing target.
    NoExchange,
    NoLinks,
    /// Every write silently writes zeros.
    Forgets,
    /// The process dies before call `at`; if that is a write, half of it is written first.
    Dead,
}

/// A change of the disk. Files are identified by inode, names by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DiskEvent {
    /// Creation of a file, with its inode and mode.
    Create(PathBuf, u64, u32),
    Folder(PathBuf),
    Symlink(PathBuf, OsString),
    /// A second name, the latter, of a file.
    HardLink(PathBuf, PathBuf),
    Remove(PathBuf),
    /// True for an exchange.
    Rename(PathBuf, PathBuf, bool),
    Write(u64, u64, Vec<u8>),
    Cut(u64, u64),
    Mode(u64, u32),
    /// The data of a file was synced.
    Sync(u64),
    /// The names in a directory were synced.
    SyncFolder(PathBuf),
}

#[derive(Default)]
struct FaultInjection {
    wrongs: Vec<(usize, InjectedFault)>,
    calls: usize,
    /// Names of the calls.
    names: Vec<&'static str>,
    writes: usize,
    tripped: bool,
    dying: bool,
    /// Descriptors whose sync failed and was not repeated; a reopened number is another file.
    unsynced: Vec<i32>,
    /// A failed sync was repeated on the same descriptor.
    repeated: bool,
    log: Option<Vec<(usize, DiskEvent)>>,
}

thread_local!(static TRIAL: RefCell<FaultInjection> = RefCell::default());

thread_local!(static THREADS: Cell<bool> = const { Cell::new(false) });

/// True if this thread shares its work with others, in which calls are not counted.
pub(super) fn in_threads() -> bool {
    THREADS.get()
}

/// Runs `work` with several threads.
pub(super) fn with_threads<T>(work: impl FnOnce() -> T) -> T {
    THREADS.set(true);
    let done = work();
    THREADS.set(false);
    done
}

/// Paths that cannot be opened by any thread: the path below the root, how often it can be opened before, and the
/// error.
static REFUSED: Mutex<Vec<(PathBuf, usize, Errno)>> = Mutex::new(Vec::new());

/// Makes a path fail to open after `after` successful opens.
pub(super) fn refuse_path(path: &Path, after: usize, errno: Errno) {
    REFUSED.lock().unwrap().push((path.to_owned(), after, errno));
}

/// Fails if the path is one of them.
pub(super) fn check_refused(path: &OsStr) -> Result<()> {
    let mut all = REFUSED.lock().unwrap();
    let Some((_, left, errno)) = all.iter_mut().find(|(refused, ..)| refused == Path::new(path)) else { return Ok(()) };
    match left.checked_sub(1) {
        Some(rest) => {
            *left = rest;
            Ok(())
        }
        None => Err(*errno),
    }
}

/// Reads bytes of an open file.
pub(super) fn bytes(file: impl AsFd, at: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    let read = emendate_os::io::pread(file, &mut out[..], at).unwrap_or(0);
    out.truncate(read);
    out
}

/// Result of [`run`].
pub(super) struct FaultRun<T> {
    pub(super) result: T,
    /// Number of system calls, including failed ones.
    pub(super) calls: usize,
    pub(super) names: Vec<&'static str>,
    /// The fault was triggered.
    pub(super) tripped: bool,
    /// Changes of the disk, with the number of the call.
    pub(super) log: Vec<(usize, DiskEvent)>,
}

/// Runs `work` on this thread with injected faults.
pub(super) fn run<T>(wrongs: &[(usize, InjectedFault)], work: impl FnOnce() -> T) -> FaultRun<T> {
    TRIAL.set(FaultInjection { wrongs: wrongs.to_vec(), log: Some(Vec::new()), ..FaultInjection::default() });
    let result = work();
    let trial = TRIAL.take();
    assert!(!trial.repeated, "a sync that failed is repeated on the same open file");
    FaultRun {
        result,
        calls: trial.calls,
        names: trial.names,
        tripped: trial.tripped,
        log: trial.log.unwrap_or_default(),
    }
}

/// Returns the name of the function that contains the given function.
pub(super) fn name<T>(_: T) -> &'static str {
    std::any::type_name::<T>().trim_end_matches("::here").rsplit("::").next().unwrap_or_default()
}

/// Counts a call, and fails it if a fault is injected here.
pub(super) fn gate(name: &'static str) -> Result<()> {
    TRIAL.with_borrow_mut(|trial| {
        let call = trial.calls;
        trial.calls += 1;
        if trial.log.is_some() {
            trial.names.push(name);
        }
        let failing = trial.wrongs.iter().find_map(|&(at, wrong)| match wrong {
            InjectedFault::Once(errno) if call == at => Some(errno),
            InjectedFault::Always(errno) if call >= at => Some(errno),
            InjectedFault::Dead if call >= at => Some(Errno::OWNERDEAD),
            _ => None,
        });
        let Some(errno) = failing else { return Ok(()) };
        trial.tripped = true;
        Err(errno)
    })
}

/// Counts a sync, and fails it if a fault is injected here. A failed sync must not be repeated on the same descriptor:
/// the kernel would report success without having written the data.
pub(super) fn gate_sync(file: impl AsFd) -> Result<()> {
    use emendate_os::fd::AsRawFd;
    let number = file.as_fd().as_raw_fd();
    TRIAL.with_borrow_mut(|trial| trial.repeated |= trial.unsynced.contains(&number));
    gate("fdatasync").inspect_err(|_| TRIAL.with_borrow_mut(|trial| trial.unsynced.push(number)))
}

/// Registers an opened file.
pub(super) fn opened(file: impl AsFd) {
    use emendate_os::fd::AsRawFd;
    let number = file.as_fd().as_raw_fd();
    TRIAL.with_borrow_mut(|trial| trial.unsynced.retain(|other| *other != number));
}

/// True if this fault is injected.
pub(super) fn is_injected(what: InjectedFault) -> bool {
    TRIAL.with_borrow(|trial| trial.wrongs.iter().any(|(_, wrong)| *wrong == what))
}

/// Fails a call that the simulated file system does not support.
pub(super) fn check_supported(what: InjectedFault) -> Result<()> {
    if is_injected(what) { Err(Errno::OPNOTSUPP) } else { Ok(()) }
}

/// Returns the first half of the bytes if the write is to be cut.
pub(super) fn gate_write(slices: &[IoSlice<'_>]) -> Result<Option<Vec<u8>>> {
    let length: usize = slices.iter().map(|slice| slice.len()).sum();
    let cut = TRIAL.with_borrow_mut(|trial| {
        let write = trial.writes;
        trial.writes += 1;
        let calls = trial.calls;
        trial.dying = trial.wrongs.iter().any(|&(at, wrong)| wrong == InjectedFault::Dead && calls == at);
        let short = trial.wrongs.contains(&(write, InjectedFault::Short));
        let cut = length > 1 && (trial.dying || short);
        trial.tripped |= cut;
        trial.calls += usize::from(cut);
        cut
    });
    if is_injected(InjectedFault::Forgets) {
        gate("pwritev")?;
        return Ok(Some(vec![0; length]));
    }
    if cut {
        Ok(Some(slices.iter().flat_map(|slice| slice.iter()).take(length / 2).copied().collect()))
    } else {
        gate("pwritev").map(|()| None)
    }
}

/// Ends a process that died in the middle of a write.
pub(super) fn after_write() -> Result<()> {
    if TRIAL.with_borrow(|trial| trial.dying) { Err(Errno::OWNERDEAD) } else { Ok(()) }
}

pub(super) fn log(event: impl FnOnce() -> DiskEvent) {
    if TRIAL.with_borrow(|trial| trial.log.is_some()) {
        let event = event();
        TRIAL.with_borrow_mut(|trial| {
            let call = trial.calls.saturating_sub(1);
            trial.log.get_or_insert_default().push((call, event));
        });
    }
}

/// Returns the path of an open file or directory.
pub(super) fn place(open: impl AsFd) -> PathBuf {
    use emendate_os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", open.as_fd().as_raw_fd())).unwrap()
}

pub(super) fn path(folder: impl AsFd, name: &OsStr) -> PathBuf {
    place(folder).join(name)
}

pub(super) fn inode(file: impl AsFd) -> u64 {
    emendate_os::fs::fstat(file).unwrap().st_ino
}

pub(super) fn mode(file: impl AsFd) -> u32 {
    emendate_os::fs::fstat(file).unwrap().st_mode & 0o7777
}
