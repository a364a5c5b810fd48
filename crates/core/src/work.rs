//! The work of one call: steps counted inside the loops, with a limit and cancellation.
//!
//! A [`Meter`] belongs to one call. While it is [entered](Meter::enter) it is the meter of its thread, and every loop
//! whose length depends on input calls [`spend`] with the steps of each round. Beyond the limit, or once the call is
//! cancelled, `spend` fails for the rest of the call. A loop that cannot return an error then ends early; its result is
//! incomplete and never used, because the engine calls [`check`] before it writes and before it answers.
//!
//! Work that only explains something runs [`with_budget`], an allowance of its own: once that is used up, the
//! explanation is cut short. Only steps count, never time, so the same input always gives the same result.

use crate::code::Code;
use crate::error::{Error, Result};
use core::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum number of steps of one call. A step is about one comparison of two lines, or 16 bytes scanned.
pub const WORK_STEPS_MAX: u64 = 400_000_000;

/// Bytes of a plain scan that count as one step.
pub const STEP_BYTES: usize = 16;

/// Steps that all explanations of one call may take together.
pub(crate) const EXPLANATION_STEPS_MAX: u64 = 64_000_000;

/// Steps between two checks of the meter; about 0.1 ms.
const BATCH_STEPS: u64 = 8192;

/// The reason for stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The steps of the call are used up.
    Spent,
    /// The call was cancelled.
    Cancelled,
}

impl Halt {
    /// Creates the error for the call.
    #[cold]
    pub fn error(self) -> Error {
        match self {
            Halt::Spent => Error::new(
                Code::CallTooMuchWork,
                "The call needs more steps of work than one call may take; nothing was written.",
            )
            .next("Send less in one call: fewer edits, a shorter text to look for, or fewer files."),
            Halt::Cancelled => Error::new(Code::CallCancelled, "The call was cancelled; nothing was written.")
                .next("Send it again if it is still wanted."),
        }
    }
}

/// The step counter of one call. Clones share the counter.
#[derive(Clone, Debug)]
pub struct Meter(Arc<Gauge>);

#[derive(Debug)]
struct Gauge {
    limit: u64,
    spent: AtomicU64,
    /// Steps of [`with_budget`] within the call.
    explained: AtomicU64,
    stop: Arc<AtomicBool>,
    /// Set when the client is gone and nothing reads the answer.
    client_gone: Arc<AtomicBool>,
    /// Set once the work can no longer be stopped.
    committed: AtomicBool,
}

thread_local! {
    static CURRENT: RefCell<Option<Meter>> = const { RefCell::new(None) };
    /// Steps that this thread may take before it checks the meter again.
    static LEFT_STEPS: Cell<u64> = const { Cell::new(0) };
    /// The value of `LEFT_STEPS` after the last check.
    static GRANTED_STEPS: Cell<u64> = const { Cell::new(0) };
}

impl Meter {
    /// Creates a meter for `limit` steps, which also ends the work when `stop` is set.
    pub fn new(limit: u64, stop: Arc<AtomicBool>) -> Meter {
        Meter::with_flag(limit, stop, Arc::default())
    }

    /// Creates a meter that also ends the work when a second flag is set.
    pub fn with_flag(limit: u64, stop: Arc<AtomicBool>, gone: Arc<AtomicBool>) -> Meter {
        Meter(Arc::new(Gauge {
            limit,
            spent: AtomicU64::new(0),
            explained: AtomicU64::new(0),
            stop,
            client_gone: gone,
            committed: AtomicBool::new(false),
        }))
    }

    /// Makes this the meter of the thread until the guard is dropped.
    pub fn enter(&self) -> MeterGuard {
        flush();
        let before = CURRENT.replace(Some(self.clone()));
        grant(self.room());
        MeterGuard { before, _of_one_thread: core::marker::PhantomData }
    }

    /// Steps taken by threads that have left the meter.
    pub fn spent(&self) -> u64 {
        self.0.spent.load(Ordering::Relaxed)
    }

    /// The reason for stopping, if there is one.
    pub fn halted(&self) -> Option<Halt> {
        if self.0.committed.load(Ordering::Relaxed) {
            None
        } else if self.0.stop.load(Ordering::Relaxed) || self.0.client_gone.load(Ordering::Relaxed) {
            Some(Halt::Cancelled)
        } else {
            (self.spent() > self.0.limit).then_some(Halt::Spent)
        }
    }

    /// Remaining steps.
    fn room(&self) -> u64 {
        match self.halted() {
            _ if self.0.committed.load(Ordering::Relaxed) => u64::MAX,
            Some(_) => 0,
            None => self.0.limit.saturating_sub(self.spent()),
        }
    }
}

/// A meter in use on this thread.
#[must_use]
pub struct MeterGuard {
    before: Option<Meter>,
    _of_one_thread: core::marker::PhantomData<*const ()>,
}

impl Drop for MeterGuard {
    fn drop(&mut self) {
        flush();
        let room = self.before.as_ref().map_or(0, Meter::room);
        CURRENT.set(self.before.take());
        grant(room);
    }
}

/// The meter of this thread, to be shared with threads that do part of its work.
pub fn current() -> Option<Meter> {
    CURRENT.with_borrow(Clone::clone)
}

/// Counts steps of the call as work.
///
/// Errors: `call.too_much_work`, `call.cancelled`.
#[inline]
pub fn spend(steps: usize) -> Result<()> {
    count(steps).map_or(Ok(()), |halt| Err(halt.error()))
}

/// Counts one plain scan over `bytes` bytes.
///
/// Errors: as [`spend`].
#[inline]
pub fn spend_bytes(bytes: usize) -> Result<()> {
    spend(bytes / STEP_BYTES + 1)
}

/// Checks the meter now.
///
/// Errors: as [`spend`].
pub fn check() -> Result<()> {
    refill(0).map_or(Ok(()), |halt| Err(halt.error()))
}

/// True once the call was cancelled, unless it has begun to write. For loops that must be complete otherwise, even when
/// the steps are used up.
pub(crate) fn is_cancelled() -> bool {
    CURRENT.with_borrow(|meter| meter.as_ref().is_some_and(|meter| meter.halted() == Some(Halt::Cancelled)))
}

/// Counts steps; true when the work has to end. For loops that cannot return an error.
#[inline]
pub fn spend_or_end(steps: usize) -> bool {
    count(steps).is_some()
}

#[inline]
fn count(steps: usize) -> Option<Halt> {
    let steps = steps as u64;
    match LEFT_STEPS.get().checked_sub(steps) {
        Some(left) => {
            LEFT_STEPS.set(left);
            None
        }
        None => refill(steps),
    }
}

/// Returns the lines of a text, without their line ends, counted as work. Ends early when the work has to end; then
/// [`check`] fails, and a result made from the lines must not be used.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    lines_with_ends(text).map(without_line_end)
}

/// Returns the lines of a text with their line ends, as [`lines`] does.
pub(crate) fn lines_with_ends(text: &str) -> impl Iterator<Item = &str> {
    counted(uncounted_lines(text))
}

/// Returns the lines of a text with their line ends, without counting them as work.
pub(crate) fn uncounted_lines(text: &str) -> impl Iterator<Item = &str> {
    LinesWithEnds { text, start: 0, ends: memchr::memchr_iter(b'\n', text.as_bytes()) }
}

/// The lines of a text with their line ends. The iterators of `str` decode characters and compare slices, which takes
/// several times as long for the short lines of source code.
struct LinesWithEnds<'t> {
    text: &'t str,
    /// Start of the next line.
    start: usize,
    ends: memchr::Memchr<'t>,
}

impl<'t> Iterator for LinesWithEnds<'t> {
    type Item = &'t str;

    #[inline]
    fn next(&mut self) -> Option<&'t str> {
        let end = self.ends.next().map_or(self.text.len(), |at| at + 1);
        let line = &self.text[self.start..end];
        self.start = end;
        (!line.is_empty()).then_some(line)
    }
}

/// Returns a line without its line end: `\n`, or `\r\n`.
#[inline]
fn without_line_end(line: &str) -> &str {
    match line.as_bytes() {
        [.., b'\r', b'\n'] => &line[..line.len() - 2],
        [.., b'\n'] => &line[..line.len() - 1],
        _ => line,
    }
}

/// Counts lines in batches, because a check of the counter costs as much as a short line.
fn counted<'t>(lines: impl Iterator<Item = &'t str>) -> impl Iterator<Item = &'t str> {
    const LINES_PER_BATCH: usize = 32;
    let (mut passed, mut steps) = (0, 0);
    lines.take_while(move |line| {
        passed += 1;
        steps += 1 + line.len() / STEP_BYTES;
        passed % LINES_PER_BATCH != 0 || !spend_or_end(std::mem::take(&mut steps))
    })
}

/// Counts the rounds of a loop that are much shorter than a step, such as a comparison of numbers. Ends early as
/// [`lines`] does.
pub(crate) fn batched<I: Iterator>(rounds: I) -> impl Iterator<Item = I::Item> {
    const ROUNDS_PER_STEP: usize = 4;
    const ROUNDS_PER_BATCH: usize = 4096;
    let mut passed = 0;
    rounds.take_while(move |_| {
        passed += 1;
        passed % ROUNDS_PER_BATCH != 0 || !spend_or_end(ROUNDS_PER_BATCH / ROUNDS_PER_STEP)
    })
}

/// Runs work that only explains something, with at most `limit` steps of those left to the call, and at most
/// `EXPLANATION_STEPS_MAX` for all explanations of the call. Beyond them the work ends early, which is not a failure of
/// the call; the returned flag is true then.
pub fn with_budget<T>(limit: u64, explain: impl FnOnce() -> T) -> (T, bool) {
    flush();
    let Some(outer) = current() else {
        let meter = Meter::new(limit, Arc::default());
        let _entered = meter.enter();
        let explained = explain();
        return (explained, refill(0).is_some());
    };
    let left = EXPLANATION_STEPS_MAX.saturating_sub(outer.0.explained.load(Ordering::Relaxed));
    let limit = limit.min(outer.room()).min(left);
    let meter = Meter::with_flag(limit, Arc::clone(&outer.0.stop), Arc::clone(&outer.0.client_gone));
    let (explained, ended) = {
        let _entered = meter.enter();
        let explained = explain();
        (explained, refill(0).is_some())
    };
    outer.0.spent.fetch_add(meter.spent().min(limit), Ordering::Relaxed);
    outer.0.explained.fetch_add(meter.spent().min(limit), Ordering::Relaxed);
    grant(outer.room());
    (explained, ended)
}

/// Ends the period in which the work can be stopped: the call is about to write.
///
/// Errors: as [`spend`].
pub fn commit() -> Result<()> {
    check()?;
    set_committed(true);
    Ok(())
}

/// Restarts the work with all of its steps, because nothing was written after all.
pub fn restart() {
    set_committed(false);
    if let Some(meter) = current() {
        meter.0.spent.store(0, Ordering::Relaxed);
        meter.0.explained.store(0, Ordering::Relaxed);
        grant(meter.room());
    }
}

fn set_committed(committed: bool) {
    flush();
    if let Some(meter) = current() {
        meter.0.committed.store(committed, Ordering::Relaxed);
        grant(meter.room());
    }
}

fn grant(room: u64) {
    let steps = room.min(BATCH_STEPS);
    LEFT_STEPS.set(steps);
    GRANTED_STEPS.set(steps);
}

/// Adds the steps since the last check to the meter.
fn flush() {
    let steps = GRANTED_STEPS.get().saturating_sub(LEFT_STEPS.get());
    GRANTED_STEPS.set(LEFT_STEPS.get());
    if steps > 0 {
        CURRENT.with_borrow(|meter| meter.as_ref().map(|meter| meter.0.spent.fetch_add(steps, Ordering::Relaxed)));
    }
}

#[cold]
fn refill(steps: u64) -> Option<Halt> {
    flush();
    CURRENT.with_borrow(|meter| {
        let Some(meter) = meter else {
            grant(u64::MAX);
            return None;
        };
        // Steps after the end are not counted, because their work is not done.
        let halt = meter.halted().or_else(|| {
            meter.0.spent.fetch_add(steps, Ordering::Relaxed);
            meter.halted()
        });
        // After the end no steps are granted, so that every later request fails at once.
        grant(if halt.is_some() { 0 } else { meter.room() });
        halt
    })
}

#[cfg(test)]
mod tests {
    use super::{EXPLANATION_STEPS_MAX, Halt, Meter, check, commit, restart, spend, spend_or_end, with_budget};
    use crate::code::Code;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn meter(limit: u64) -> Meter {
        Meter::new(limit, Arc::default())
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_standard_library(text in "[a\r\né ]{0,40}") {
            prop_assert_eq!(super::lines(&text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
            let with_ends = text.split_inclusive('\n').collect::<Vec<_>>();
            prop_assert_eq!(super::lines_with_ends(&text).collect::<Vec<_>>(), with_ends);
        }

        #[test]
        fn steps_are_counted_exactly(parts in prop::collection::vec(0usize..20_000, 0..40), limit in 0u64..300_000) {
            let meter = meter(limit);
            let mut sum = 0;
            let entered = meter.enter();
            for part in parts {
                sum += part as u64;
                prop_assert_eq!(spend(part).is_ok(), sum <= limit);
                if sum > limit {
                    break;
                }
            }
            prop_assert_eq!(check().is_ok(), sum <= limit);
            drop(entered);
            prop_assert_eq!(meter.spent(), sum);
        }
    }

    #[test]
    fn exhausted_meter_stays_exhausted() {
        let meter = meter(10);
        let _entered = meter.enter();
        assert!(spend(10).is_ok() && spend(1).is_err() && spend(1).is_err() && check().is_err());
        assert_eq!(commit().unwrap_err().code(), Code::CallTooMuchWork);
    }

    #[test]
    fn exhausted_explanation_does_not_end_the_call() {
        let meter = meter(1000);
        let _entered = meter.enter();
        let rounds = || (0..10_000).take_while(|_| !spend_or_end(1)).count();
        assert_eq!(with_budget(100, rounds), (100, true));
        assert!(spend(800).is_ok());
        assert_eq!(with_budget(500, rounds), (100, true), "at most the rest of the call's budget");
        assert!(check().is_ok() && spend(1).is_err());
    }

    #[test]
    fn explanations_of_a_call_share_an_allowance() {
        let meter = meter(10 * EXPLANATION_STEPS_MAX);
        let _entered = meter.enter();
        let third = EXPLANATION_STEPS_MAX / 3;
        let step = usize::try_from(EXPLANATION_STEPS_MAX / 16).unwrap();
        let explain = || with_budget(third, || (0..1_000).take_while(|_| !spend_or_end(step)).count()).0;
        assert_eq!((0..4).map(|_| explain()).collect::<Vec<_>>(), [5, 5, 5, 0]);
        assert!(check().is_ok() && spend(1).is_ok());
    }

    #[test]
    fn writing_is_never_stopped() {
        let stop = Arc::new(AtomicBool::new(false));
        let meter = Meter::new(10, Arc::clone(&stop));
        let _entered = meter.enter();
        assert!(commit().is_ok());
        stop.store(true, Ordering::Relaxed);
        assert!(spend(1_000_000).is_ok());
        restart();
        assert_eq!(meter.halted(), Some(Halt::Cancelled));
        assert_eq!(check().unwrap_err().code(), Code::CallCancelled);
    }

    #[test]
    fn stopped_meter_grants_no_steps() {
        let stop = Arc::new(AtomicBool::new(false));
        let meter = Meter::new(1_000_000, Arc::clone(&stop));
        let _entered = meter.enter();
        let rounds = || (0..10_000).take_while(|_| !spend_or_end(1)).count();
        assert_eq!(rounds(), 10_000);
        stop.store(true, Ordering::Relaxed);
        assert!(check().is_err());
        for _ in 0..3 {
            assert_eq!(with_budget(50_000, rounds), (0, true));
            assert_eq!(rounds(), 0);
        }
        assert_eq!(meter.spent(), 10_000);
    }

    #[test]
    fn work_without_a_meter_is_unlimited() {
        assert!(spend(usize::MAX).is_ok());
        assert_eq!(with_budget(7, || (0..10_000).take_while(|_| !spend_or_end(1)).count()), (7, true));
        assert!(spend(usize::MAX).is_ok());
    }
}
