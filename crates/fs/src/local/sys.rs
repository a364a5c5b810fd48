//! Every system call of this backend, under its own name: the one place where a test can make a call fail, simulate the
//! death of the process, or log the calls. Outside tests, each is the plain call.

use std::ffi::{CString, OsStr};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Builder;

use rustix::buffer::Buffer;
use rustix::fs::{
    Access, AtFlags, FallocateFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Stat, StatFs,
    StatVfs, Statx, StatxFlags, Uid, XattrFlags,
};
use rustix::io::Result;

#[cfg(test)]
use super::fault_injection::{self, DiskEvent};
use super::raw;

/// Maximum number of concurrent calls that wait for the disk.
const PARALLEL_CALLS_MAX: usize = 16;
pub(super) const PARALLEL_CALLS_MIN: usize = 4;
/// Maximum number of threads, the minimum number of files per thread, and the number of parts per thread.
const THREADS_MAX: usize = 4;
const FILES_PER_THREAD_MIN: usize = 16;
const PARTS_PER_THREAD: usize = 4;

/// In tests: counts the call, and fails it if a fault is injected here.
macro_rules! gate {
    () => {
        #[cfg(test)]
        {
            fn here() {}
            fault_injection::gate(fault_injection::name(here))?;
        }
    };
}

/// In tests: logs a change of the disk.
macro_rules! log {
    ($event:expr) => {
        #[cfg(test)]
        fault_injection::log(|| $event);
    };
}

pub(super) fn openat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    gate!();
    let fd = rustix::fs::openat(&folder, name.as_ref(), flags, mode)?;
    #[cfg(test)]
    fault_injection::opened(&fd);
    if flags.contains(OFlags::CREATE) {
        log!(DiskEvent::Create(
            fault_injection::path(&folder, name.as_ref()),
            fault_injection::inode(&fd),
            fault_injection::mode(&fd)
        ));
    }
    Ok(fd)
}

pub(super) fn openat2(
    folder: impl AsFd,
    name: impl AsRef<OsStr>,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd> {
    gate!();
    #[cfg(test)]
    fault_injection::check_refused(name.as_ref())?;
    let fd = rustix::fs::openat2(folder, name.as_ref(), flags, Mode::empty(), resolve)?;
    #[cfg(test)]
    fault_injection::opened(&fd);
    Ok(fd)
}

pub(super) fn list(folder: OwnedFd) -> Result<rustix::fs::Dir> {
    gate!();
    rustix::fs::Dir::new(folder)
}

/// Passes every name in a directory, including `.` and `..`, to `each`, as a snapshot; false if there are too many for
/// `room`.
pub(super) fn list_in_one_call(
    folder: impl AsFd,
    room: &mut [MaybeUninit<u8>],
    mut each: impl FnMut(&[u8]),
) -> Result<bool> {
    gate!();
    let mut list = rustix::fs::RawDir::new(folder.as_fd(), room);
    while let Some(entry) = list.next() {
        each(entry?.file_name().to_bytes());
        if list.is_buffer_empty() {
            return Ok(list.next().is_none());
        }
    }
    Ok(true)
}

pub(super) fn mkdirat(folder: impl AsFd, name: impl AsRef<OsStr>, mode: Mode) -> Result<()> {
    gate!();
    rustix::fs::mkdirat(&folder, name.as_ref(), mode)?;
    log!(DiskEvent::Folder(fault_injection::path(&folder, name.as_ref())));
    Ok(())
}

pub(super) fn symlinkat(target: impl AsRef<OsStr>, folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<()> {
    gate!();
    rustix::fs::symlinkat(target.as_ref(), &folder, name.as_ref())?;
    log!(DiskEvent::Symlink(fault_injection::path(&folder, name.as_ref()), target.as_ref().to_owned()));
    Ok(())
}

pub(super) fn linkat(
    folder: impl AsFd,
    from: impl AsRef<OsStr>,
    to_folder: impl AsFd,
    to: impl AsRef<OsStr>,
) -> Result<()> {
    gate!();
    #[cfg(test)]
    fault_injection::check_supported(fault_injection::InjectedFault::NoLinks)?;
    rustix::fs::linkat(folder, from.as_ref(), to_folder, to.as_ref(), AtFlags::empty())
}

pub(super) fn unlinkat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: AtFlags) -> Result<()> {
    gate!();
    rustix::fs::unlinkat(&folder, name.as_ref(), flags)?;
    log!(DiskEvent::Remove(fault_injection::path(&folder, name.as_ref())));
    Ok(())
}

/// Renames within `folder`.
pub(super) fn rename(
    folder: impl AsFd,
    from: impl AsRef<OsStr>,
    to: impl AsRef<OsStr>,
    flags: RenameFlags,
) -> Result<()> {
    gate!();
    #[cfg(test)]
    if !flags.is_empty() {
        fault_injection::check_supported(fault_injection::InjectedFault::NoExchange)?;
    }
    if flags.is_empty() {
        rustix::fs::renameat(&folder, from.as_ref(), &folder, to.as_ref())?;
    } else {
        rustix::fs::renameat_with(&folder, from.as_ref(), &folder, to.as_ref(), flags)?;
    }
    log!(DiskEvent::Rename(
        fault_injection::path(&folder, from.as_ref()),
        fault_injection::path(&folder, to.as_ref()),
        flags.contains(RenameFlags::EXCHANGE)
    ));
    Ok(())
}

pub(super) fn readlinkat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<CString> {
    gate!();
    rustix::fs::readlinkat(folder, name.as_ref(), Vec::new())
}

pub(super) fn statat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Stat> {
    gate!();
    rustix::fs::statat(folder, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)
}

/// The same, following a link.
pub(super) fn statat_followed(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Stat> {
    gate!();
    rustix::fs::statat(folder, name.as_ref(), AtFlags::NO_AUTOMOUNT)
}

pub(super) fn fstat(file: impl AsFd) -> Result<Stat> {
    gate!();
    rustix::fs::fstat(file)
}

pub(super) fn statx(file: impl AsFd, mask: StatxFlags) -> Result<Statx> {
    gate!();
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, mask)
}

pub(super) fn fstatfs(file: impl AsFd) -> Result<StatFs> {
    gate!();
    rustix::fs::fstatfs(file)
}

pub(super) fn fstatvfs(file: impl AsFd) -> Result<StatVfs> {
    gate!();
    rustix::fs::fstatvfs(file)
}

pub(super) fn accessat(folder: impl AsFd, name: impl AsRef<OsStr>, access: Access, flags: AtFlags) -> Result<()> {
    gate!();
    rustix::fs::accessat(folder, name.as_ref(), access, flags)
}

pub(super) fn flock(file: impl AsFd, operation: FlockOperation) -> Result<()> {
    gate!();
    rustix::fs::flock(file, operation)
}

/// See [`raw::lease`].
pub(super) fn lease(file: impl AsFd) -> Result<()> {
    gate!();
    raw::lease(file.as_fd())
}

/// See [`raw::is_leased`].
pub(super) fn is_leased(file: impl AsFd) -> Result<bool> {
    gate!();
    raw::is_leased(file.as_fd())
}

/// See [`raw::unlease`].
pub(super) fn unlease(file: impl AsFd) -> Result<()> {
    gate!();
    raw::unlease(file.as_fd())
}

pub(super) fn read<B: Buffer<u8>>(file: impl AsFd, buffer: B) -> Result<B::Output> {
    gate!();
    rustix::io::read(file, buffer)
}

pub(super) fn pread<B: Buffer<u8>>(file: impl AsFd, buffer: B, at: u64) -> Result<B::Output> {
    gate!();
    rustix::io::pread(file, buffer, at)
}

pub(super) fn rewind(file: impl AsFd) -> Result<u64> {
    gate!();
    rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0))
}

pub(super) fn pwritev(file: impl AsFd, slices: &[IoSlice<'_>], at: u64) -> Result<usize> {
    #[cfg(test)]
    let cut = fault_injection::gate_write(slices)?;
    #[cfg(test)]
    let half = [IoSlice::new(cut.as_deref().unwrap_or_default())];
    #[cfg(test)]
    let slices = if cut.is_some() { &half } else { slices };
    let written = rustix::io::pwritev(&file, slices, at)?;
    log!(DiskEvent::Write(
        fault_injection::inode(&file),
        at,
        slices.iter().flat_map(|it| it.iter()).take(written).copied().collect()
    ));
    #[cfg(test)]
    fault_injection::after_write()?;
    Ok(written)
}

/// Copies with explicit offsets; no file position moves.
pub(super) fn copy_file_range(
    from: impl AsFd,
    mut from_at: u64,
    to: impl AsFd,
    mut to_at: u64,
    most: usize,
) -> Result<usize> {
    gate!();
    #[cfg(test)]
    let at = to_at;
    let copied = rustix::fs::copy_file_range(&from, Some(&mut from_at), &to, Some(&mut to_at), most)?;
    log!(DiskEvent::Write(
        fault_injection::inode(&to),
        at,
        fault_injection::bytes(&from, from_at - copied as u64, copied)
    ));
    Ok(copied)
}

/// See [`raw::begin_writing`].
pub(super) fn begin_writing(file: impl AsFd, from: u64, len: u64) -> Result<()> {
    gate!();
    raw::begin_writing(file.as_fd(), from, len)
}

pub(super) fn ftruncate(file: impl AsFd, length: u64) -> Result<()> {
    gate!();
    rustix::fs::ftruncate(&file, length)?;
    log!(DiskEvent::Cut(fault_injection::inode(&file), length));
    Ok(())
}

pub(super) fn fallocate(file: impl AsFd, flags: FallocateFlags, from: u64, length: u64) -> Result<()> {
    gate!();
    rustix::fs::fallocate(file, flags, from, length)
}

pub(super) fn fchmod(file: impl AsFd, mode: Mode) -> Result<()> {
    gate!();
    rustix::fs::fchmod(&file, mode)?;
    log!(DiskEvent::Mode(fault_injection::inode(&file), mode.as_raw_mode()));
    Ok(())
}

pub(super) fn fchown(file: impl AsFd, uid: Option<Uid>, gid: Option<Gid>) -> Result<()> {
    gate!();
    rustix::fs::fchown(file, uid, gid)
}

pub(super) fn fdatasync(file: impl AsFd) -> Result<()> {
    #[cfg(test)]
    fault_injection::gate_sync(&file)?;
    rustix::fs::fdatasync(&file)?;
    log!(DiskEvent::Sync(fault_injection::inode(&file)));
    Ok(())
}

/// Syncs many files concurrently: each call waits for the disk, which is faster with several at once. Returns one
/// result per file.
pub(super) fn fdatasync_all(files: &[BorrowedFd<'_>]) -> Vec<Result<()>> {
    if files.len() < PARALLEL_CALLS_MIN {
        return files.iter().map(fdatasync).collect();
    }
    let results = call_in_parallel(files, PARALLEL_CALLS_MAX, |file| rustix::fs::fdatasync(file));
    #[cfg(test)]
    for (file, _) in files.iter().zip(&results).filter(|(_, result)| result.is_ok()) {
        log!(DiskEvent::Sync(fault_injection::inode(file)));
    }
    results
}

/// A name in an open directory.
#[derive(Clone, Copy)]
pub(super) struct NameAt<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
}

/// Removes many names concurrently: freeing a file also waits for the disk. Returns one result per name. `held`: the
/// files are open elsewhere, so none is freed here.
pub(super) fn unlink_all(names: &[NameAt<'_>], held: bool) -> Vec<Result<()>> {
    if names.len() < PARALLEL_CALLS_MIN {
        return names.iter().map(|at| unlinkat(at.folder, at.name, AtFlags::empty())).collect();
    }
    let threads = if held { threads() } else { PARALLEL_CALLS_MAX };
    let results = call_in_parallel(names, threads, |at| rustix::fs::unlinkat(at.folder, at.name, AtFlags::empty()));
    #[cfg(test)]
    for (at, _) in names.iter().zip(&results).filter(|(_, result)| result.is_ok()) {
        log!(DiskEvent::Remove(fault_injection::path(at.folder, at.name)));
    }
    results
}

/// Number of threads for work on files: one per processor, but at least two, because some calls wait.
fn threads() -> usize {
    static THERE: OnceLock<usize> = OnceLock::new();
    *THERE.get_or_init(|| std::thread::available_parallelism().map_or(2, usize::from).clamp(2, THREADS_MAX))
}

/// True if several threads may work. Tests use one thread, in which calls are counted, unless they ask for more.
fn in_threads() -> bool {
    #[cfg(test)]
    return fault_injection::in_threads();
    #[cfg(not(test))]
    true
}

/// Processes parts of a list on several threads; returns one result per part, in order. Neighbours are mostly in the
/// same directory, in which the kernel changes names one at a time, so the parts are large.
pub(super) fn in_parts<T: Send, R: Send>(all: &mut [T], work: impl Fn(&mut [T]) -> R + Sync) -> Vec<R> {
    if all.len() <= FILES_PER_THREAD_MIN || !in_threads() {
        return vec![work(all)];
    }
    let threads = threads().min(all.len().div_ceil(FILES_PER_THREAD_MIN));
    let part = all.len().div_ceil(threads * PARTS_PER_THREAD).max(FILES_PER_THREAD_MIN);
    let parts = Mutex::new(all.chunks_mut(part).enumerate());
    let mut done = std::thread::scope(|scope| {
        // If no thread can be started, this one does all the work.
        let others: Vec<_> = (1..threads)
            .map_while(|_| Builder::new().spawn_scoped(scope, || work_on_parts(&parts, &work)).ok())
            .collect();
        let mut done = work_on_parts(&parts, &work);
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(nth, _)| *nth);
    done.into_iter().map(|(_, answer)| answer).collect()
}

/// Processes parts until none is left; returns the results with the numbers of their parts.
fn work_on_parts<'a, T: 'a, R>(
    parts: &Mutex<impl Iterator<Item = (usize, &'a mut [T])>>,
    work: impl Fn(&mut [T]) -> R,
) -> Vec<(usize, R)> {
    let mut done = Vec::new();
    loop {
        let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((nth, part)) = part else { return done };
        done.push((nth, work(part)));
    }
}

/// Closes many files concurrently: the last close of a file without a name frees it.
pub(super) fn close_all(mut files: Vec<OwnedFd>) {
    let part = files.len().div_ceil(PARALLEL_CALLS_MAX).max(PARALLEL_CALLS_MIN);
    std::thread::scope(|scope| {
        while files.len() > part {
            let some = files.split_off(files.len() - part);
            // If no thread can be started, they are closed here.
            drop(Builder::new().spawn_scoped(scope, move || drop(some)));
        }
        drop(files);
    });
}

/// Grows the descriptor table for this many open files in one step. The kernel doubles it otherwise, and waits for all
/// processors each time.
pub(super) fn grow_fd_table(files: usize, any: impl AsFd) {
    if let Ok(high) = i32::try_from(files) {
        // Only an optimization, so failure is ignored.
        drop(rustix::io::fcntl_dupfd_cloexec(any, high));
    }
}

/// Returns the number of files that the process may have open.
pub(super) fn fd_limit() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Raises the limit of open files to `files`, or to the hard limit. Child processes inherit the limit, so it is raised
/// only when needed and no further.
pub(super) fn raise_fd_limit(files: usize) {
    let files = u64::try_from(files).unwrap_or(u64::MAX);
    let now = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if now.current.is_some_and(|current| current < files) {
        let current = now.maximum.map_or(files, |maximum| maximum.min(files));
        // If this is refused, the old limit stays.
        let _ = rustix::process::setrlimit(
            rustix::process::Resource::Nofile,
            rustix::process::Rlimit { current: Some(current), ..now },
        );
    }
}

/// Returns the descriptor that the next opened file gets, which is about the number of open files.
pub(super) fn lowest_free_fd(any: impl AsFd) -> usize {
    let next = rustix::io::fcntl_dupfd_cloexec(any, 0);
    next.map_or_else(|_| fd_limit(), |next| usize::try_from(next.as_raw_fd()).unwrap_or(0))
}

/// Makes one call per item, several at a time. To tests they appear in order.
fn call_in_parallel<T: Sync>(all: &[T], threads: usize, call: impl Fn(&T) -> Result<()> + Sync) -> Vec<Result<()>> {
    let allowed = |_| {
        gate!();
        Ok(())
    };
    let allowed: Vec<Result<()>> = all.iter().map(allowed).collect();
    let next = AtomicUsize::new(0);
    // Neighbours are in one directory, in which the kernel changes names one at a time.
    let run = (all.len() / (threads * PARTS_PER_THREAD)).max(1);
    let work = || {
        let mut done = Vec::new();
        loop {
            let from = next.fetch_add(run, Ordering::Relaxed);
            let some = all.iter().zip(&allowed).enumerate().skip(from).take(run);
            let before = done.len();
            done.extend(some.map(|(nth, (one, allowed))| (nth, allowed.and_then(|()| call(one)))));
            if done.len() == before {
                return done;
            }
        }
    };
    let done: Vec<(usize, Result<()>)> = std::thread::scope(|scope| {
        // If no thread can be started, this one does all the work.
        let others = (1..threads.min(all.len())).map_while(|_| Builder::new().spawn_scoped(scope, work).ok());
        let others: Vec<_> = others.collect();
        let mut done = work();
        done.extend(others.into_iter().flat_map(|other| other.join().unwrap_or_default()));
        done
    });
    // An item without a result counts as failed.
    let mut results = vec![Err(rustix::io::Errno::IO); all.len()];
    for (nth, result) in done {
        results[nth] = result;
    }
    results
}

pub(super) fn fsync(file: impl AsFd) -> Result<()> {
    gate!();
    rustix::fs::fsync(&file)?;
    log!(DiskEvent::SyncFolder(fault_injection::place(&file)));
    Ok(())
}

pub(super) fn flistxattr(file: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    gate!();
    rustix::fs::flistxattr(file, buffer)
}

pub(super) fn fgetxattr(file: impl AsFd, name: &[u8], buffer: &mut [u8]) -> Result<usize> {
    gate!();
    rustix::fs::fgetxattr(file, name, buffer)
}

pub(super) fn fsetxattr(file: impl AsFd, name: &[u8], value: &[u8]) -> Result<()> {
    gate!();
    rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())
}

pub(super) fn fremovexattr(file: impl AsFd, name: &[u8]) -> Result<()> {
    gate!();
    rustix::fs::fremovexattr(file, name)
}

#[cfg(test)]
mod tests {
    use super::super::fault_injection::{DiskEvent, InjectedFault, inode, run};
    use super::{NameAt, fdatasync_all, unlink_all};
    use rustix::io::Errno;
    use std::os::fd::AsFd;

    #[test]
    fn each_synced_file_has_its_own_result() {
        let files: Vec<_> = (0..40).map(|_| tempfile::tempfile().unwrap()).collect();
        let open: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        let ran = run(&[(7, InjectedFault::Once(Errno::IO))], || fdatasync_all(&open));
        let failed: Vec<usize> = (0..40).filter(|nth| ran.result[*nth].is_err()).collect();
        assert_eq!((ran.result.len(), failed, ran.calls), (40, vec![7], 40));
        let others = files.iter().enumerate().filter(|(nth, _)| *nth != 7);
        let synced: Vec<DiskEvent> = others.map(|(_, file)| DiskEvent::Sync(inode(file))).collect();
        assert_eq!(ran.log.into_iter().map(|(_, event)| event).collect::<Vec<_>>(), synced);
    }

    #[test]
    fn each_removed_name_has_its_own_result() {
        let folder = tempfile::tempdir().unwrap();
        let fd = std::fs::File::open(folder.path()).unwrap();
        let name = |nth: usize| format!("f{nth:02}");
        let names: Vec<std::ffi::OsString> = (0..40).map(|nth| name(nth).into()).collect();
        names
            .iter()
            .filter(|name| **name != "f12")
            .for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let open: Vec<_> = names.iter().map(|name| NameAt { folder: fd.as_fd(), name: name.as_os_str() }).collect();
        let ran = run(&[(7, InjectedFault::Once(Errno::IO))], || unlink_all(&open, false));
        let failed: Vec<usize> = (0..40).filter(|nth| ran.result[*nth].is_err()).collect();
        assert_eq!((failed, ran.calls, ran.log.len()), (vec![7, 12], 40, 38));
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, [name(7).as_str()]);
    }
}
