//! Scan of many files by a few threads: the bottleneck is the file system, which more threads do not make faster.

use crate::context::policy::Access;
use crate::context::{Context, LoadedFile};
use crate::model::call_handle::CallHandle;
use crate::pipeline::plan::notebook;
use crate::tools::replace::query::ReplaceQuery;
use emendate_core::{CHANGED_PLACES_MAX, Code, Error, ResolvedEdit, Result, check_amount, work};
use emendate_fs::SafePath;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Threads that read files.
const SCAN_THREADS: usize = 4;
/// Files that a thread takes at a time; more files than this use several threads.
const FILES_PER_BATCH: usize = 32;

/// The result of scanning a file.
pub(super) enum FileFinding {
    /// The file does not contain the text.
    Without,
    /// The file is binary.
    Binary,
    /// The file vanished, is too large or cannot be opened.
    Unread,
    /// The file contains the text, in this number of places.
    With(Box<LoadedFile>, ResolvedEdit, usize),
    /// The file contains the text, and may not be edited.
    Guarded,
    /// The file contains the text, and the new one cannot be written.
    Failed(Error),
}

impl FileFinding {
    /// The places that would be changed.
    fn places(&self) -> usize {
        if let FileFinding::With(_, _, places) = self { *places } else { 0 }
    }
}

/// Scans all files; returns one result each, in their order.
///
/// Errors: `call.cancelled`; `edit.too_much_work` if all files together have too many places.
pub(super) fn scan_files(
    context: &Context,
    places: &[SafePath],
    what: &ReplaceQuery,
    watch: &CallHandle,
) -> Result<Vec<FileFinding>> {
    let (next, changed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let scan = FileScan { context, places, what, watch, meter: work::current(), next, changed };
    let wanted = thread::available_parallelism().map_or(1, |count| count.get().clamp(2, SCAN_THREADS));
    let threads = wanted.min(places.len().div_ceil(FILES_PER_BATCH)).max(1);
    let mut all: Vec<(usize, FileFinding)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| scan.run())).collect();
        let mut all = scan.run();
        // A thread that panicked leaves files out, which is detected below.
        others.into_iter().filter_map(|other| other.join().ok()).for_each(|done| all.extend(done));
        all
    });
    watch.check()?;
    work::check()?;
    check_amount(scan.changed.into_inner(), 0)?;
    all.sort_unstable_by_key(|(at, _)| *at);
    if all.len() != places.len() {
        return Err(Error::new(Code::InternalBug, "Some files were not searched; nothing was written."));
    }
    Ok(all.into_iter().map(|(_, looked)| looked).collect())
}

/// The scan of all files, which several threads share.
struct FileScan<'a> {
    context: &'a Context,
    places: &'a [SafePath],
    what: &'a ReplaceQuery,
    watch: &'a CallHandle,
    meter: Option<work::Meter>,
    /// The first file that no thread has taken yet.
    next: AtomicUsize,
    /// The number of places that would be changed.
    changed: AtomicUsize,
}

impl FileScan<'_> {
    /// Takes batches of files until none is left, or the limit is exceeded; returns the findings with their numbers.
    fn run(&self) -> Vec<(usize, FileFinding)> {
        let _entered = self.meter.as_ref().map(work::Meter::enter);
        let mut done = Vec::new();
        loop {
            let from = self.next.fetch_add(FILES_PER_BATCH, Ordering::Relaxed);
            let batch = self.places.get(from..self.places.len().min(from + FILES_PER_BATCH));
            let Some(batch) = batch.filter(|batch| !batch.is_empty()) else { return done };
            for (at, place) in (from..).zip(batch) {
                let is_too_much = self.changed.load(Ordering::Relaxed) > CHANGED_PLACES_MAX;
                if is_too_much || self.watch.is_stopped() || work::check().is_err() {
                    return done;
                }
                let finding = look_at(self.context, place, self.what);
                if !notebook::is_named(place) {
                    self.changed.fetch_add(finding.places(), Ordering::Relaxed);
                }
                done.push((at, finding));
                self.watch.advance(1);
            }
        }
    }
}

fn look_at(context: &Context, place: &SafePath, what: &ReplaceQuery) -> FileFinding {
    let now = match context.snapshot(place, None, "") {
        Ok(Some(now)) => now,
        Err(error) if matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable) => {
            return FileFinding::Binary;
        }
        Ok(None) | Err(_) => return FileFinding::Unread,
    };
    match what.change(&now.snapshot) {
        Ok(Some(_)) if !notebook::is_named(place) && context.check_access(place, Access::Write).is_err() => {
            FileFinding::Guarded
        }
        Ok(Some((resolved, places))) => FileFinding::With(Box::new(now), resolved, places),
        Ok(None) => {
            context.recycle(now.snapshot);
            FileFinding::Without
        }
        Err(error) => FileFinding::Failed(error),
    }
}
