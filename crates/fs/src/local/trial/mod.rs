//! A hand in the system calls, for tests: fails the n-th call of this thread, or every one from there on; ends the process
//! as it were (nothing after the n-th call happens, not even what cleans up); writes down what changed the disk.

mod tests;

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::io::IoSlice;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::io::{Errno, Result};

/// What is to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Call `at` (from 0) fails so.
    Once(Errno),
    /// Call `at` and all later ones do.
    Always(Errno),
    /// Write number `at` (of the writes, from 0) takes only half of the bytes.
    Short,
    /// The file system only knows plain renames: none that exchange, none that spare what is there. Or no links either.
    NoExchange,
    NoLinks,
    /// Zeros are written for everything, and nobody says so.
    Forgets,
    /// The process is gone before call `at`; a write is cut in its middle first.
    Dead,
}

/// Something that changed the disk. Files are known by inode, names by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// With its inode and mode.
    Create(PathBuf, u64, u32),
    Folder(PathBuf),
    Symlink(PathBuf, OsString),
    Remove(PathBuf),
    /// True: the two names changed places.
    Rename(PathBuf, PathBuf, bool),
    Write(u64, u64, Vec<u8>),
    Cut(u64, u64),
    Mode(u64, u32),
    /// The data of a file reached the disk.
    Sync(u64),
    /// The names in a folder did.
    SyncFolder(PathBuf),
}

#[derive(Default)]
struct Trial {
    wrongs: Vec<(usize, Wrong)>,
    calls: usize,
    /// Their names.
    names: Vec<&'static str>,
    writes: usize,
    tripped: bool,
    dying: bool,
    /// Open files, by number, whose sync failed and was not their last; a number that is opened anew is another file.
    unsynced: Vec<i32>,
    /// One of those was synced again.
    repeated: bool,
    log: Option<Vec<(usize, Event)>>,
}

thread_local!(static TRIAL: RefCell<Trial> = RefCell::default());

thread_local!(static THREADS: Cell<bool> = const { Cell::new(false) });

/// True where this thread shares its work with others, in which nothing is counted.
pub(super) fn in_threads() -> bool {
    THREADS.get()
}

/// Runs `work` so.
pub(super) fn with_threads<T>(work: impl FnOnce() -> T) -> T {
    THREADS.set(true);
    let done = work();
    THREADS.set(false);
    done
}

/// Files that cannot be opened by their whole path, whichever thread tries: the path below the root, how often it can be
/// opened before, and the error.
static REFUSED: Mutex<Vec<(PathBuf, usize, Errno)>> = Mutex::new(Vec::new());

/// Refuses a file from then on.
pub(super) fn refused(path: &Path, after: usize, errno: Errno) {
    REFUSED.lock().unwrap().push((path.to_owned(), after, errno));
}

/// Fails where it is one of them.
pub(super) fn refuse(path: &OsStr) -> Result<()> {
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

/// Bytes of an open file.
pub(super) fn bytes(file: impl AsFd, at: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    let read = rustix::io::pread(file, &mut out[..], at).unwrap_or(0);
    out.truncate(read);
    out
}

/// What became of [`run`].
pub(super) struct Ran<T> {
    pub(super) result: T,
    /// System calls made, or tried.
    pub(super) calls: usize,
    pub(super) names: Vec<&'static str>,
    /// Whether the time of the wrong came.
    pub(super) tripped: bool,
    /// What changed the disk, and by which call.
    pub(super) log: Vec<(usize, Event)>,
}

/// Runs `work` in this thread with something wrong at some calls.
pub(super) fn run<T>(wrongs: &[(usize, Wrong)], work: impl FnOnce() -> T) -> Ran<T> {
    TRIAL.set(Trial { wrongs: wrongs.to_vec(), log: Some(Vec::new()), ..Trial::default() });
    let result = work();
    let trial = TRIAL.take();
    assert!(!trial.repeated, "a sync that failed is repeated on the same open file");
    Ran { result, calls: trial.calls, names: trial.names, tripped: trial.tripped, log: trial.log.unwrap_or_default() }
}

/// The name of the function that a function stands in.
pub(super) fn name<T>(_: T) -> &'static str {
    std::any::type_name::<T>().trim_end_matches("::here").rsplit("::").next().unwrap_or_default()
}

/// Counts a call, and fails it if its turn has come.
pub(super) fn gate(name: &'static str) -> Result<()> {
    TRIAL.with_borrow_mut(|trial| {
        let call = trial.calls;
        trial.calls += 1;
        if trial.log.is_some() {
            trial.names.push(name);
        }
        let failing = trial.wrongs.iter().find_map(|&(at, wrong)| match wrong {
            Wrong::Once(errno) if call == at => Some(errno),
            Wrong::Always(errno) if call >= at => Some(errno),
            Wrong::Dead if call >= at => Some(Errno::OWNERDEAD),
            _ => None,
        });
        let Some(errno) = failing else { return Ok(()) };
        trial.tripped = true;
        Err(errno)
    })
}

/// The same for a sync. One that failed must not be repeated on the same open file: the kernel would say yes, and mean
/// nothing.
pub(super) fn gate_sync(file: impl AsFd) -> Result<()> {
    use std::os::fd::AsRawFd;
    let number = file.as_fd().as_raw_fd();
    TRIAL.with_borrow_mut(|trial| trial.repeated |= trial.unsynced.contains(&number));
    gate("fdatasync").inspect_err(|_| TRIAL.with_borrow_mut(|trial| trial.unsynced.push(number)))
}

/// A file was opened.
pub(super) fn opened(file: impl AsFd) {
    use std::os::fd::AsRawFd;
    let number = file.as_fd().as_raw_fd();
    TRIAL.with_borrow_mut(|trial| trial.unsynced.retain(|other| *other != number));
}

/// True when all is to go on under this.
pub(super) fn is_on(what: Wrong) -> bool {
    TRIAL.with_borrow(|trial| trial.wrongs.iter().any(|(_, wrong)| *wrong == what))
}

/// Refuses what the file system is to lack.
pub(super) fn lack(what: Wrong) -> Result<()> {
    if is_on(what) { Err(Errno::OPNOTSUPP) } else { Ok(()) }
}

/// The first half of what is to be written, when the write is to be cut.
pub(super) fn gate_write(slices: &[IoSlice<'_>]) -> Result<Option<Vec<u8>>> {
    let length: usize = slices.iter().map(|slice| slice.len()).sum();
    let cut = TRIAL.with_borrow_mut(|trial| {
        let write = trial.writes;
        trial.writes += 1;
        let calls = trial.calls;
        trial.dying = trial.wrongs.iter().any(|&(at, wrong)| wrong == Wrong::Dead && calls == at);
        let short = trial.wrongs.contains(&(write, Wrong::Short));
        let cut = length > 1 && (trial.dying || short);
        trial.tripped |= cut;
        trial.calls += usize::from(cut);
        cut
    });
    if is_on(Wrong::Forgets) {
        gate("pwritev")?;
        return Ok(Some(vec![0; length]));
    }
    if cut {
        Ok(Some(slices.iter().flat_map(|slice| slice.iter()).take(length / 2).copied().collect()))
    } else {
        gate("pwritev").map(|()| None)
    }
}

/// The end of a process that was cut in the middle of a write.
pub(super) fn after_write() -> Result<()> {
    if TRIAL.with_borrow(|trial| trial.dying) { Err(Errno::OWNERDEAD) } else { Ok(()) }
}

pub(super) fn log(event: impl FnOnce() -> Event) {
    if TRIAL.with_borrow(|trial| trial.log.is_some()) {
        let event = event();
        TRIAL.with_borrow_mut(|trial| {
            let call = trial.calls.saturating_sub(1);
            trial.log.get_or_insert_default().push((call, event));
        });
    }
}

/// The path of an open file or folder.
pub(super) fn place(open: impl AsFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", open.as_fd().as_raw_fd())).unwrap()
}

pub(super) fn path(folder: impl AsFd, name: &OsStr) -> PathBuf {
    place(folder).join(name)
}

pub(super) fn inode(file: impl AsFd) -> u64 {
    rustix::fs::fstat(file).unwrap().st_ino
}

pub(super) fn mode(file: impl AsFd) -> u32 {
    rustix::fs::fstat(file).unwrap().st_mode & 0o7777
}
