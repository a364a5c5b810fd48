//! Calls for many files at a time: each waits for the disk, which is faster with several at once.

use emendate_os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Builder;

use emendate_os::fs::AtFlags;
use emendate_os::io::Result;

use super::{NameAt, fdatasync, unlinkat};
#[cfg(test)]
use crate::local::fault_injection::{self, DiskEvent};

/// Maximum number of concurrent calls that wait for the disk.
const PARALLEL_CALLS_MAX: usize = 16;
pub(in crate::local) const PARALLEL_CALLS_MIN: usize = 4;
/// Maximum number of threads, the minimum number of files per thread, and the number of parts per thread.
const THREADS_MAX: usize = 4;
const FILES_PER_THREAD_MIN: usize = 16;
const PARTS_PER_THREAD: usize = 4;

/// Syncs many files concurrently: each call waits for the disk, which is faster with several at once. Returns one
/// result per file.
pub(in crate::local) fn fdatasync_all(files: &[BorrowedFd<'_>]) -> Vec<Result<()>> {
    if files.len() < PARALLEL_CALLS_MIN {
        return files.iter().map(fdatasync).collect();
    }
    let results = call_in_parallel(files, PARALLEL_CALLS_MAX, |file| super::os::fdatasync(*file));
    #[cfg(test)]
    for (file, _) in files.iter().zip(&results).filter(|(_, result)| result.is_ok()) {
        log!(DiskEvent::Sync(fault_injection::inode(file)));
    }
    results
}

/// Removes many names concurrently: freeing a file also waits for the disk. Returns one result per name. `held`: the
/// files are open elsewhere, so none is freed here.
pub(in crate::local) fn unlink_all(names: &[NameAt<'_>], held: bool) -> Vec<Result<()>> {
    if names.len() < PARALLEL_CALLS_MIN {
        return names.iter().map(|at| unlinkat(at.folder, at.name, AtFlags::empty())).collect();
    }
    let threads = if held { threads() } else { PARALLEL_CALLS_MAX };
    let results =
        call_in_parallel(names, threads, |at| emendate_os::fs::unlinkat(at.folder, at.name, AtFlags::empty()));
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
pub(in crate::local) fn in_parts<T: Send, R: Send>(all: &mut [T], work: impl Fn(&mut [T]) -> R + Sync) -> Vec<R> {
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
pub(in crate::local) fn close_all(mut files: Vec<OwnedFd>) {
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

/// Makes one call per item, several at a time. To tests they appear in order.
fn call_in_parallel<T: Sync>(all: &[T], threads: usize, call: impl Fn(&T) -> Result<()> + Sync) -> Vec<Result<()>> {
    let gates = all.iter().map(|_| {
        gate!();
        Ok(())
    });
    let allowed: Vec<Result<()>> = gates.collect();
    let next = AtomicUsize::new(0);
    // Neighbours are in one directory, in which the kernel changes names one at a time.
    let run = (all.len() / (threads * PARTS_PER_THREAD)).max(1);
    let done: Vec<(usize, Result<()>)> = std::thread::scope(|scope| {
        // If no thread can be started, this one does all the work.
        let others = (1..threads.min(all.len()))
            .map_while(|_| Builder::new().spawn_scoped(scope, || call_runs(all, &allowed, &next, run, &call)).ok());
        let others: Vec<_> = others.collect();
        let mut done = call_runs(all, &allowed, &next, run, &call);
        done.extend(others.into_iter().flat_map(|other| other.join().unwrap_or_default()));
        done
    });
    // An item without a result counts as failed.
    let mut results = vec![Err(emendate_os::io::Errno::IO); all.len()];
    for (nth, result) in done {
        results[nth] = result;
    }
    results
}

/// Takes runs of items until none is left, and returns the results with the numbers of their items.
fn call_runs<T>(
    all: &[T],
    allowed: &[Result<()>],
    next: &AtomicUsize,
    run: usize,
    call: &impl Fn(&T) -> Result<()>,
) -> Vec<(usize, Result<()>)> {
    let mut done = Vec::new();
    loop {
        let from = next.fetch_add(run, Ordering::Relaxed);
        let some = all.iter().zip(allowed).enumerate().skip(from).take(run);
        let before = done.len();
        done.extend(some.map(|(nth, (one, allowed))| (nth, allowed.and_then(|()| call(one)))));
        if done.len() == before {
            return done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NameAt, fdatasync_all, unlink_all};
    use crate::local::fault_injection::{DiskEvent, InjectedFault, inode, run};
    use emendate_os::fd::AsFd;
    use emendate_os::io::Errno;

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
