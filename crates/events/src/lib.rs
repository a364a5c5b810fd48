//! What was called and what came of it, for the owner of the machine: an event for each call, as lines of JSON in a file
//! ([`Sink::file`]), and counters ([`Sink::counters`], [`Tally`]). Nothing here leaves the machine; who wants that gives the
//! sink an [`Export`].
//!
//! Both files take whole lines, appended by any number of processes, and are bounded: the first is moved aside when it is
//! full, the other is summed up. An event costs its caller a push to a list; [`Sink::flush`] writes, when there is time. What
//! cannot be written is told once, kept for a while, and then forgotten: it must never be in the way of an edit.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate owns its two files, and events have a time"
)]

mod append;
mod counts;
mod event;
mod tally;

pub use event::Event;
pub use tally::{ASKED, By, Row, TOKEN_BYTES, Tally};

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Events that wait to be written; one more is written at once.
const WAITING: usize = 256;
/// Events that are kept when they cannot be written.
const KEPT: usize = 1024;
/// A burst of calls is written together: between two writes that nobody asked for passes so much time.
const APART: Duration = Duration::from_millis(100);
/// After a failure nothing is tried for so long.
const REST: Duration = Duration::from_secs(1);

/// What takes events to another program. It stands in the way of a call, so it must not wait for anything.
pub trait Export: fmt::Debug + Send + Sync {
    /// Takes an event, to send it when there is time.
    fn take(&self, event: &Event);

    /// True when it names files.
    fn wants_paths(&self) -> bool;
}

/// Where events go.
#[derive(Debug, Default)]
pub struct Sink {
    file: Option<(PathBuf, u64)>,
    /// With the paths of files.
    paths: bool,
    counters: Option<PathBuf>,
    export: Option<Box<dyn Export>>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    events: Vec<Event>,
    /// What is to be told.
    notices: Vec<String>,
    failed: Option<Instant>,
    written: Option<Instant>,
}

/// A call that runs.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    at: SystemTime,
    clock: Instant,
}

impl Begun {
    /// Its time, in microseconds since 1970, and how long it took, in microseconds.
    pub fn end(self) -> (u64, u64) {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        (micros(self.at.duration_since(UNIX_EPOCH).unwrap_or_default()), micros(self.clock.elapsed()))
    }
}

impl Sink {
    /// Lines of JSON go to this file, of at most so many bytes; what is older is in one beside it, with `.1` at its end.
    #[must_use]
    pub fn file(mut self, path: PathBuf, bytes: u64, paths: bool) -> Sink {
        self.file = Some((path, bytes));
        self.paths = paths;
        self
    }

    /// Calls are counted in this file.
    #[must_use]
    pub fn counters(mut self, path: PathBuf) -> Sink {
        self.counters = Some(path);
        self
    }

    /// Events go there as well.
    pub fn export(&mut self, export: Box<dyn Export>) {
        self.export = Some(export);
    }

    /// A call begins; `None` where nobody wants to know.
    pub fn begin(&self) -> Option<Begun> {
        let wanted = self.file.is_some() || self.counters.is_some() || self.export.is_some();
        wanted.then(|| Begun { at: SystemTime::now(), clock: Instant::now() })
    }

    /// True when events name files.
    pub fn wants_paths(&self) -> bool {
        (self.paths && self.file.is_some()) || self.export.as_deref().is_some_and(Export::wants_paths)
    }

    /// Takes an event. It is written by the next [`Sink::flush`].
    pub fn push(&self, event: Event) {
        if let Some(export) = &self.export {
            export.take(&event);
        }
        if self.file.is_none() && self.counters.is_none() {
            return;
        }
        let full = {
            let mut waiting = self.waiting();
            waiting.events.push(event);
            waiting.events.len() >= WAITING
        };
        if full {
            self.flush();
        }
    }

    /// Writes what waits. Where that failed a moment ago, it waits on.
    pub fn flush(&self) {
        let events = {
            let mut waiting = self.waiting();
            let first = waiting.events.len().saturating_sub(KEPT);
            waiting.events.drain(..first);
            if waiting.failed.is_some_and(|at| at.elapsed() < REST) {
                return;
            }
            waiting.written = Some(Instant::now());
            std::mem::take(&mut waiting.events)
        };
        self.write_all(events);
    }

    /// The same, unless it was done a moment ago: for every time that an answer is out.
    pub fn flush_in_time(&self) {
        let early = self.waiting().written.is_some_and(|at| at.elapsed() < APART);
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
            if waiting.failed.is_none() {
                waiting.notices.push(what);
            }
            waiting.failed = Some(Instant::now());
            // Those that came meanwhile are newer.
            events.append(&mut waiting.events);
            waiting.events = events;
        }
    }

    /// Errors: what could not be written, in words. An event may be in one file and not in the other then, or twice in one:
    /// nothing depends on it.
    fn write(&self, events: &[Event]) -> Result<(), String> {
        if let Some((path, bytes)) = &self.file {
            let lines: String = events.iter().map(|event| event.line(self.paths)).collect();
            let said = append::append(path, lines.as_bytes(), *bytes, append::aside);
            said.map_err(|error| format!("Events cannot be written to {}: {error}.", path.display()))?;
        }
        if let Some(path) = &self.counters {
            let lines = counts::lines(events);
            let said = append::append(path, lines.as_bytes(), counts::FULL, counts::sum_up);
            said.map_err(|error| format!("Calls cannot be counted in {}: {error}.", path.display()))?;
        }
        Ok(())
    }

    /// What a person should know, once.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.waiting().notices)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let events = std::mem::take(&mut self.waiting().events);
        self.write_all(events);
    }
}

#[cfg(test)]
mod tests;
