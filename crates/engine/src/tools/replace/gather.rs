//! Scan of many files by a few threads: the bottleneck is the file system, which more threads do not make faster.

use crate::context::policy::Access;
use crate::context::threads::on_threads;
use crate::context::{Context, LoadedFile};
use crate::model::call_handle::CallHandle;
use crate::pipeline::plan::notebook;
use crate::tools::replace::query::{ReplaceQuery, TextChange};
use emendate_core::{CHANGED_PLACES_MAX, Code, Error, ResolvedEdit, Result, check_amount, work};
use emendate_fs::SafePath;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Threads that read files.
const SCAN_THREADS: usize = 4;
/// Files for which a further thread is started.
const FILES_PER_THREAD: usize = 32;

/// The result of scanning a file.
pub(super) enum FileFinding {
    /// The file does not contain the text.
    Without,
    /// The file contains the new text in this number of places that match.
    Unchanged(usize),
    /// The file vanished.
    Gone,
    /// The file is binary, is too large or cannot be opened.
    Unread(Error),
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
    handle: &CallHandle,
) -> Result<Vec<FileFinding>> {
    let (changed, meter) = (AtomicUsize::new(0), work::current());
    let wanted = thread::available_parallelism().map_or(1, |count| count.get().clamp(2, SCAN_THREADS));
    let threads = wanted.min(places.len().div_ceil(FILES_PER_THREAD));
    let all = on_threads(places.len(), threads, |at| {
        let _entered = meter.as_ref().map(work::Meter::enter);
        let is_too_much = changed.load(Ordering::Relaxed) > CHANGED_PLACES_MAX;
        if is_too_much || handle.is_stopped() || work::check().is_err() {
            return None;
        }
        let finding = look_at(context, &places[at], what);
        if !notebook::is_named(&places[at]) {
            changed.fetch_add(finding.places(), Ordering::Relaxed);
        }
        handle.advance(1);
        Some(finding)
    });
    handle.check()?;
    work::check()?;
    check_amount(changed.into_inner(), 0)?;
    let bug = || Error::new(Code::InternalBug, "Some files were not searched; nothing was written.");
    all.into_iter().collect::<Option<_>>().ok_or_else(bug)
}

fn look_at(context: &Context, path: &SafePath, what: &ReplaceQuery) -> FileFinding {
    let now = match context.snapshot(path, None, "") {
        Ok(Some(now)) => now,
        Ok(None) => return FileFinding::Gone,
        Err(error) => return FileFinding::Unread(error),
    };
    match what.change(&now.snapshot) {
        Ok(TextChange { edit: None, places }) => {
            context.recycle(now.snapshot);
            if places == 0 { FileFinding::Without } else { FileFinding::Unchanged(places) }
        }
        // An error would quote the file.
        _ if !notebook::is_named(path) && context.check_access(path, Access::Write).is_err() => FileFinding::Guarded,
        Ok(TextChange { edit: Some(resolved), places }) => FileFinding::With(Box::new(now), resolved, places),
        Err(error) => FileFinding::Failed(error),
    }
}
