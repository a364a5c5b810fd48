//! Rows on threads, with results in the order of the rows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Rows that a thread takes at a time, at most.
const CHUNK_ROWS_MAX: usize = 64;
/// Chunks for each thread, at least: with fewer, threads wait for the one that works on the last chunk.
const CHUNKS_PER_THREAD: usize = 16;
/// Rows for which a further thread is started: fewer are done in the time that its start takes.
const THREAD_ROWS_MIN: usize = 16;

/// Computes the result of each row, and returns the results in the order of the rows. `threads` of 0 means one thread
/// per processor.
pub fn in_parallel<R: Send>(rows: usize, threads: usize, one: impl Fn(usize) -> R + Sync) -> Vec<R> {
    on_threads(rows, thread_count(rows, threads), one)
}

/// Computes the result of each row on this number of threads, the caller's among them, or on fewer if the system
/// refuses some. Returns the results in the order of the rows.
pub(crate) fn on_threads<R: Send>(rows: usize, threads: usize, one: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut made = Vec::with_capacity(rows);
    pass_in_order(rows, threads, one, |row| made.push(row));
    made
}

/// Computes the result of each row as [`in_parallel`] does, and passes the results to `each` in the order of the rows,
/// on the thread of the caller, while the other threads work on later rows. A result that `each` drops frees its memory
/// for the next.
pub fn in_order<R: Send>(rows: usize, threads: usize, one: impl Fn(usize) -> R + Sync, each: impl FnMut(R)) {
    pass_in_order(rows, thread_count(rows, threads), one, each);
}

fn thread_count(rows: usize, threads: usize) -> usize {
    let all = thread::available_parallelism().map_or(1, usize::from);
    let wanted = if threads == 0 { all } else { threads.min(256) };
    wanted.min(rows.div_ceil(THREAD_ROWS_MIN))
}

fn pass_in_order<R: Send>(rows: usize, threads: usize, one: impl Fn(usize) -> R + Sync, each: impl FnMut(R)) {
    if threads <= 1 {
        return (0..rows).map(one).for_each(each);
    }
    let chunk_rows = (rows / (threads * CHUNKS_PER_THREAD)).clamp(1, CHUNK_ROWS_MAX);
    let (chunks, one) = (&RowChunks { next: AtomicUsize::new(0), rows, chunk_rows }, &one);
    let mut passing = PassedRows { waiting: BTreeMap::new(), passed: 0, each };
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let senders: Vec<_> = (1..threads).map(|_| sender.clone()).collect();
        drop(sender);
        // Without further threads, this one does all the work.
        let start = |sender| thread::Builder::new().spawn_scoped(scope, move || chunks.send_all(one, &sender)).ok();
        let started: Vec<_> = senders.into_iter().filter_map(start).collect();
        while let Some(chunk) = chunks.take() {
            passing.add(chunk.start, chunk.map(one).collect());
            for (start, made) in receiver.try_iter() {
                passing.add(start, made);
            }
        }
        for (start, made) in receiver {
            passing.add(start, made);
        }
        for thread in started {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
}

/// The rows that no thread has taken yet.
struct RowChunks {
    next: AtomicUsize,
    rows: usize,
    /// The rows of a chunk; the last one may have fewer.
    chunk_rows: usize,
}

impl RowChunks {
    fn take(&self) -> Option<Range<usize>> {
        let start = self.next.fetch_add(self.chunk_rows, Ordering::Relaxed);
        (start < self.rows).then(|| start..self.rows.min(start + self.chunk_rows))
    }

    /// Works on chunks until none is left, and sends the results of each with its first row.
    fn send_all<R>(&self, one: &impl Fn(usize) -> R, sender: &mpsc::Sender<(usize, Vec<R>)>) {
        while let Some(chunk) = self.take() {
            // The receiver is gone only if the caller's own work panicked.
            if sender.send((chunk.start, chunk.map(one).collect())).is_err() {
                return;
            }
        }
    }
}

/// The results that were passed on, and those that wait for earlier rows.
struct PassedRows<R, F: FnMut(R)> {
    waiting: BTreeMap<usize, Vec<R>>,
    passed: usize,
    each: F,
}

impl<R, F: FnMut(R)> PassedRows<R, F> {
    fn add(&mut self, start: usize, made: Vec<R>) {
        self.waiting.insert(start, made);
        while let Some(chunk) = self.waiting.remove(&self.passed) {
            self.passed += chunk.len();
            chunk.into_iter().for_each(&mut self.each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_ROWS_MAX, THREAD_ROWS_MIN, in_order, in_parallel};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn results_have_the_order_of_the_rows_with_any_number_of_threads() {
        for rows in [0, 1, THREAD_ROWS_MIN + 1, 100, CHUNK_ROWS_MAX, 300 * CHUNK_ROWS_MAX + 1] {
            let plain: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
            for threads in [0, 1, 2, 7] {
                assert_eq!(in_parallel(rows, threads, |row| row.to_string()), plain, "{rows} rows, {threads} threads");
                let mut passed = Vec::new();
                in_order(rows, threads, |row| row.to_string(), |row| passed.push(row));
                assert_eq!(passed, plain, "{rows} rows, {threads} threads");
            }
        }
    }

    #[test]
    fn panic_in_any_row_reaches_the_caller() {
        let rows = 5 * CHUNK_ROWS_MAX;
        for bad in [0, CHUNK_ROWS_MAX, rows - 1] {
            for threads in [1, 2, 4] {
                let one = |row: usize| assert_ne!(row, bad);
                assert!(catch_unwind(AssertUnwindSafe(|| in_parallel(rows, threads, one))).is_err());
            }
        }
    }
}
