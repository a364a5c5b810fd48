//! Events and counters of calls, for the owner of the machine: an event per call, as a line of JSON in a file
//! ([`Sink::file`]), and counters ([`Sink::counters`], [`CallTally`]). Nothing leaves the machine.
//!
//! Any number of processes append whole lines to both files, which are bounded: the first is moved aside when it is
//! full, the other is compacted. An event costs its caller a push to a list; [`Sink::flush`] writes when idle. A
//! failure to write is reported once; the events are kept for a while and then dropped, because they must never delay
//! an edit.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate owns its two files, and events have a time"
)]

mod append;
mod counts;
mod event;
mod models;
mod refusals;
mod tally;

pub use event::Event;
pub use models::{SessionModels, push_model};
pub use refusals::{Refusal, newest_refusals, push_refusal};
pub use tally::{ASKED, CallTally, TOKEN_BYTES, TallyKey, TallyRow};

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum number of queued events; one more is written at once.
const QUEUED_EVENTS_MAX: usize = 256;
/// Maximum number of events kept while they cannot be written.
const UNWRITTEN_EVENTS_MAX: usize = 1024;
/// Minimum time between two writes that are not explicitly requested, so that a burst of calls is written together.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The file of events, and whether it can be written.
#[derive(Clone, Debug)]
pub struct EventFileCheck {
    /// The file.
    pub path: PathBuf,
    /// A sentence that says why lines cannot be written; `None` if they can.
    pub problem: Option<String>,
}

/// Destinations of events.
#[derive(Debug, Default)]
pub struct Sink {
    file: Option<(PathBuf, u64)>,
    /// Write paths of files.
    paths: bool,
    counters: Option<PathBuf>,
    waiting: Mutex<EventQueue>,
}

#[derive(Debug, Default)]
struct EventQueue {
    events: Vec<Event>,
    /// Messages to report.
    notices: Vec<String>,
    failed_at: Option<Instant>,
    written_at: Option<Instant>,
}

/// A running call.
#[derive(Clone, Copy, Debug)]
pub struct CallTimer {
    at: SystemTime,
    clock: Instant,
}

impl CallTimer {
    /// Returns the start time in microseconds since 1970, and the duration in microseconds.
    pub fn end(self) -> (u64, u64) {
        (to_micros(self.at.duration_since(UNIX_EPOCH).unwrap_or_default()), to_micros(self.clock.elapsed()))
    }
}

/// Returns the present moment in microseconds since 1970.
pub fn now() -> u64 {
    to_micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Returns a time in microseconds.
fn to_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Sink {
    /// Writes lines of JSON to this file, up to `bytes`; older lines are kept in a second file with the suffix `.1`.
    #[must_use]
    pub fn file(mut self, path: PathBuf, bytes: u64, paths: bool) -> Sink {
        self.file = Some((path, bytes));
        self.paths = paths;
        self
    }

    /// Counts calls in this file.
    #[must_use]
    pub fn counters(mut self, path: PathBuf) -> Sink {
        self.counters = Some(path);
        self
    }

    /// True if there is a destination of events.
    pub fn is_kept(&self) -> bool {
        self.file.is_some() || self.counters.is_some()
    }

    /// Starts a call; `None` if there is no destination.
    pub fn begin(&self) -> Option<CallTimer> {
        self.is_kept().then(|| CallTimer { at: SystemTime::now(), clock: Instant::now() })
    }

    /// True if events are written to a file.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// True if events should contain paths.
    pub fn wants_paths(&self) -> bool {
        self.paths && self.file.is_some()
    }

    /// Examines the file of events, if there is one, without writing a line. Creates a missing file.
    pub fn examine_file(&self) -> Option<EventFileCheck> {
        let (path, _) = self.file.as_ref()?;
        let problem = append::examine(path).err().map(|error| unwritable(path, &error));
        Some(EventFileCheck { path: path.clone(), problem })
    }

    /// Queues an event. The next [`Sink::flush`] writes it.
    pub fn push(&self, event: Event) {
        if !self.is_kept() {
            return;
        }
        let full = {
            let mut waiting = self.waiting();
            waiting.events.push(event);
            waiting.events.len() >= QUEUED_EVENTS_MAX
        };
        if full {
            self.flush();
        }
    }

    /// Writes the queued events, unless writing failed a moment ago.
    pub fn flush(&self) {
        let events = {
            let mut waiting = self.waiting();
            let first = waiting.events.len().saturating_sub(UNWRITTEN_EVENTS_MAX);
            waiting.events.drain(..first);
            if waiting.failed_at.is_some_and(|at| at.elapsed() < RETRY_AFTER) {
                return;
            }
            waiting.written_at = Some(Instant::now());
            std::mem::take(&mut waiting.events)
        };
        self.write_all(events);
    }

    /// Flushes unless that was done a moment ago; called after every reply.
    pub fn flush_if_due(&self) {
        let early = self.waiting().written_at.is_some_and(|at| at.elapsed() < FLUSH_INTERVAL);
        if !early {
            self.flush();
        }
    }

    fn write_all(&self, mut events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let said = self.write(&events);
        let mut waiting = self.waiting();
        if let Err(what) = said {
            if waiting.failed_at.is_none() {
                waiting.notices.push(what);
            }
            waiting.failed_at = Some(Instant::now());
            // Events that arrived meanwhile are newer.
            events.append(&mut waiting.events);
            waiting.events = events;
        }
    }

    /// Errors: a sentence that says which file could not be written. An event may then be in one file only, or twice in
    /// one: nothing depends on that.
    fn write(&self, events: &[Event]) -> Result<(), String> {
        if let Some((path, bytes)) = &self.file {
            let lines: String = events.iter().map(|event| event.to_line(self.paths)).collect();
            let said = append::append(path, lines.as_bytes(), *bytes, append::rotate);
            said.map_err(|error| unwritable(path, &error))?;
        }
        if let Some(path) = &self.counters {
            let lines = counts::lines(events);
            let said = append::append(path, lines.as_bytes(), counts::COUNTERS_BYTES_MAX, counts::compact);
            said.map_err(|error| format!("Calls cannot be counted in {}: {error}.", path.display()))?;
        }
        Ok(())
    }

    /// Returns messages for the user, each once.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.waiting().notices)
    }

    fn waiting(&self) -> MutexGuard<'_, EventQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says why the file of events cannot be written.
fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("Events cannot be written to {}: {error}.", path.display())
}

impl Drop for Sink {
    fn drop(&mut self) {
        let events = std::mem::take(&mut self.waiting().events);
        self.write_all(events);
    }
}

#[cfg(test)]
mod tests;
