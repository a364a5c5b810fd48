//! The handle of a running call: progress and cancellation.

use crate::model::change_counts::ChangeCounts;
use emendate_core::work::Halt;
use emendate_core::{Error, Result};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The phase of a long call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallPhase {
    /// Listing directories; [`Progress::done`] counts the files found.
    #[default]
    Listing,
    /// Reading files and planning changes.
    Reading,
    /// Writing; it is too late to stop.
    Writing,
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The phase.
    pub step: CallPhase,
    /// Files done in this phase.
    pub done: usize,
    /// Total number of files in this phase; 0 if unknown.
    pub of: usize,
    /// Files done in earlier phases. The sum with `done` never decreases, even if a call starts over.
    pub before: usize,
}

#[derive(Debug, Default)]
struct CallState {
    stop: Arc<AtomicBool>,
    step: AtomicU8,
    done: AtomicUsize,
    of: AtomicUsize,
    before: AtomicUsize,
    steps: AtomicU64,
    format: OnceLock<&'static str>,
    changes: Mutex<ChangeCounts>,
    held_resource: HeldResource,
}

/// A resource held until the call has written.
#[derive(Default)]
struct HeldResource(Mutex<Option<Box<dyn Any + Send>>>);

impl fmt::Debug for HeldResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

/// A handle of a call, to be set in its [`CallContext`](crate::CallContext). Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct CallHandle(Arc<CallState>);

impl PartialEq for CallHandle {
    fn eq(&self, other: &CallHandle) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CallHandle {}

impl CallHandle {
    /// Asks the call to stop, which it does before anything is written, or not at all.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// The flag that [`CallHandle::stop`] sets, for code that cannot call it, such as signal handlers.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.stop)
    }

    pub(crate) fn stopped(&self) -> &AtomicBool {
        &self.0.stop
    }

    /// True when the call was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Keeps a guard, such as a permit for changes, until the call has written: the rest of the call, such as waiting
    /// for language servers, needs no guard.
    pub fn hold(&self, guard: impl Any + Send) {
        *self.0.held_resource.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(guard));
    }

    /// Releases the [held](CallHandle::hold) guard.
    pub fn release(&self) {
        let held = self.0.held_resource.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
    }

    /// The progress of the call.
    pub fn progress(&self) -> Progress {
        let step = match self.0.step.load(Ordering::Relaxed) {
            0 => CallPhase::Listing,
            1 => CallPhase::Reading,
            _ => CallPhase::Writing,
        };
        Progress { step, done: load(&self.0.done), of: load(&self.0.of), before: load(&self.0.before) }
    }

    /// Work steps that the call took, once it has ended.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Records the number of work steps at the end of the call.
    pub(crate) fn note_steps(&self, steps: u64) {
        self.0.steps.store(steps, Ordering::Relaxed);
    }

    /// Records the format of the call's input.
    pub(crate) fn note_format(&self, format: &'static str) {
        let _ = self.0.format.set(format);
    }

    /// The format; empty if there is none.
    pub(crate) fn format(&self) -> &'static str {
        self.0.format.get().copied().unwrap_or_default()
    }

    /// Records what the call changed.
    pub(crate) fn note_changes(&self, counts: ChangeCounts) {
        self.0.changes.lock().unwrap_or_else(PoisonError::into_inner).add(counts);
    }

    /// Takes the record of what the call changed.
    pub(crate) fn take_changes(&self) -> ChangeCounts {
        std::mem::take(&mut self.0.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins a phase.
    pub(crate) fn begin(&self, step: CallPhase, of: usize) {
        let done = self.0.done.swap(0, Ordering::Relaxed);
        self.0.before.fetch_add(done, Ordering::Relaxed);
        self.0.of.store(of, Ordering::Relaxed);
        self.0.step.store(step as u8, Ordering::Relaxed);
    }

    /// Counts further files.
    pub(crate) fn advance(&self, by: usize) {
        self.0.done.fetch_add(by, Ordering::Relaxed);
    }

    /// Errors: `call.cancelled` if the call was asked to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(cancelled()) } else { Ok(()) }
    }
}

/// Reads a counter.
fn load(of: &AtomicUsize) -> usize {
    of.load(Ordering::Relaxed)
}

/// A flag that is never set, for calls without a handle.
pub(crate) static NEVER_STOPPED: AtomicBool = AtomicBool::new(false);

pub(crate) fn cancelled() -> Error {
    Halt::Cancelled.error()
}
