//! Scan of many files by a few threads: the bottleneck is the file system, which more threads do not make faster.

use super::what::What;
use crate::engine::{Engine, Opened};
use crate::notebook;
use crate::policy::Access;
use crate::watch::Watch;
use emendate_core::{Code, Error, Resolved, Result, work};
use emendate_fs::Place;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Threads that read files.
const THREADS: usize = 4;
/// Files that a thread takes at a time; more files than this use several threads.
const BATCH: usize = 32;

/// The result of scanning a file.
pub(super) enum Looked {
    /// It does not contain the text.
    Without,
    /// It is binary.
    Binary,
    /// It vanished, is too large or cannot be opened.
    Unread,
    /// It contains the text, in this number of places.
    With(Box<Opened>, Resolved, usize),
    /// It contains the text, and may not be edited.
    Guarded,
    /// It contains the text, and the new one cannot be written.
    Failed(Error),
}

/// Scans all files; returns one result each, in their order.
///
/// Errors: `call.cancelled`.
pub(super) fn look_at_all(engine: &Engine, places: &[Place], what: &What, watch: &Watch) -> Result<Vec<Looked>> {
    let next = AtomicUsize::new(0);
    let meter = work::current();
    let look = || {
        let _entered = meter.as_ref().map(work::Meter::enter);
        let mut done = Vec::new();
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = places.get(from..places.len().min(from + BATCH)).filter(|batch| !batch.is_empty()) else {
                return done;
            };
            for (at, place) in (from..).zip(batch) {
                if watch.is_stopped() || work::check().is_err() {
                    return done;
                }
                done.push((at, look_at(engine, place, what)));
                watch.advance(1);
            }
        }
    };
    let wanted = thread::available_parallelism().map_or(1, |count| count.get().clamp(2, THREADS));
    let threads = wanted.min(places.len().div_ceil(BATCH)).max(1);
    let mut all: Vec<(usize, Looked)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(look)).collect();
        let mut all = look();
        // A thread that panicked leaves files out, which is detected below.
        others.into_iter().filter_map(|other| other.join().ok()).for_each(|done| all.extend(done));
        all
    });
    watch.check()?;
    work::check()?;
    all.sort_unstable_by_key(|(at, _)| *at);
    if all.len() != places.len() {
        return Err(Error::new(Code::InternalBug, "A part of the files was not looked at; nothing was written."));
    }
    Ok(all.into_iter().map(|(_, looked)| looked).collect())
}

fn look_at(engine: &Engine, place: &Place, what: &What) -> Looked {
    let now = match engine.snapshot(place, None, "") {
        Ok(Some(now)) => now,
        Err(error) if matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable) => return Looked::Binary,
        Ok(None) | Err(_) => return Looked::Unread,
    };
    match what.change(&now.snapshot) {
        Ok(Some(_)) if !notebook::is_named(place) && engine.may(place, Access::Write).is_err() => Looked::Guarded,
        Ok(Some((resolved, places))) => Looked::With(Box::new(now), resolved, places),
        Ok(None) => {
            engine.recycle(now.snapshot);
            Looked::Without
        }
        Err(error) => Looked::Failed(error),
    }
}
