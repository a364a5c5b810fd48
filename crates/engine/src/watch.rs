//! A call from outside while it runs: how far it is, and that it shall stop.

use emendate_core::work::Halt;
use emendate_core::{Error, Result};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What a long call is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Listing folders; [`Progress::done`] counts the files found.
    #[default]
    Listing,
    /// Reading files and working out what changes.
    Reading,
    /// Writing; it is too late to stop.
    Writing,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What it is at.
    pub step: Step,
    /// Files done in this step.
    pub done: usize,
    /// Of so many; 0 where that is not known.
    pub of: usize,
    /// Files done in the steps before this one. With `done` it only grows, also where a call begins anew.
    pub before: usize,
}

#[derive(Debug, Default)]
struct State {
    stop: Arc<AtomicBool>,
    step: AtomicU8,
    done: AtomicUsize,
    of: AtomicUsize,
    before: AtomicUsize,
    steps: AtomicU64,
    format: OnceLock<&'static str>,
    held: Held,
}

/// What others hold until the call has written.
#[derive(Default)]
struct Held(Mutex<Option<Box<dyn Any + Send>>>);

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

/// A handle on a call, to be put into its [`Caller`](crate::Caller). Clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<State>);

impl PartialEq for Watch {
    fn eq(&self, other: &Watch) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Watch {}

impl Watch {
    /// Asks the call to stop. It does so before anything is written, or not at all.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// What [`Watch::stop`] sets: for those who cannot call it, as handlers of signals.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.stop)
    }

    pub(crate) fn stopped(&self) -> &AtomicBool {
        &self.0.stop
    }

    /// True when it was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Keeps a guard, such as a place in a queue of changes, until the call has written: what it does then, waiting for
    /// language servers, needs no guard.
    pub fn hold(&self, guard: impl Any + Send) {
        *self.0.held.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(guard));
    }

    /// Lets go of what is [held](Watch::hold).
    pub fn let_go(&self) {
        let held = self.0.held.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
    }

    /// How far the call is.
    pub fn progress(&self) -> Progress {
        let step = match self.0.step.load(Ordering::Relaxed) {
            0 => Step::Listing,
            1 => Step::Reading,
            _ => Step::Writing,
        };
        let number = |of: &AtomicUsize| of.load(Ordering::Relaxed);
        Progress { step, done: number(&self.0.done), of: number(&self.0.of), before: number(&self.0.before) }
    }

    /// Steps of work that the call took, once it has ended.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Number of steps after which the call ended.
    pub(crate) fn worked(&self, steps: u64) {
        self.0.steps.store(steps, Ordering::Relaxed);
    }

    /// The format of the call's input, as soon as it is known.
    pub(crate) fn reads_as(&self, format: &'static str) {
        let _ = self.0.format.set(format);
    }

    /// That format; empty where there is none.
    pub(crate) fn format(&self) -> &'static str {
        self.0.format.get().copied().unwrap_or_default()
    }

    /// A step begins.
    pub(crate) fn begin(&self, step: Step, of: usize) {
        let done = self.0.done.swap(0, Ordering::Relaxed);
        self.0.before.fetch_add(done, Ordering::Relaxed);
        self.0.of.store(of, Ordering::Relaxed);
        self.0.step.store(step as u8, Ordering::Relaxed);
    }

    /// So many files more.
    pub(crate) fn advance(&self, by: usize) {
        self.0.done.fetch_add(by, Ordering::Relaxed);
    }

    /// Errors: `call.cancelled`, when the call was asked to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(cancelled()) } else { Ok(()) }
    }
}

/// For what nobody may stop.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) fn cancelled() -> Error {
    Halt::Cancelled.error()
}
