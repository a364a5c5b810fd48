//! Rows on threads, with results in the order of the rows.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Rows that a thread takes at a time.
const CHUNK_ROWS: usize = 64;

/// Makes a result of each row, in their order. With `threads` of 0 there are as many as the machine has processors.
pub fn in_parallel<R: Send>(rows: usize, threads: usize, one: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let all = thread::available_parallelism().map_or(1, usize::from);
    let wanted = if threads == 0 { all } else { threads.min(256) };
    let threads = wanted.min(rows.div_ceil(CHUNK_ROWS));
    if threads <= 1 {
        return (0..rows).map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made: Vec<(usize, Vec<R>)> = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK_ROWS, Ordering::Relaxed);
            if start >= rows {
                return made;
            }
            made.push((start, (start..rows.min(start + CHUNK_ROWS)).map(&one).collect()));
        }
    };
    let mut chunks: Vec<(usize, Vec<R>)> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = started.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect()
    });
    chunks.sort_by_key(|(start, _)| *start);
    chunks.into_iter().flat_map(|(_, made)| made).collect()
}
