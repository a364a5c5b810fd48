//! Events of the engine, sent to an OpenTelemetry collector by OTLP over HTTP, in its JSON encoding: each call as a span, as
//! a record of the log, and in counters. Only what [`emendate_events::Event`] holds is sent, the paths of files only where
//! [`Wish::paths`] says so.
//!
//! A call is never held up: [`Exporter`] takes an event into a bounded list and returns; a thread of its own, started with the
//! first event, sends what is there together. A collector that is away is tried again, and what does not fit the list or
//! could not be sent in two minutes is counted as lost and told. When the exporter is dropped it waits a moment for the
//! last request, and no longer.
#![allow(
    clippy::disallowed_methods,
    reason = "this crate owns its connection, and reads the file of certificates that its user names"
)]

mod encode;
mod metrics;
mod send;
mod settings;
#[cfg(feature = "tls")]
mod tls;
mod url;

pub use settings::{Settings, Signal, Wish};

use crate::metrics::Metrics;
use crate::send::{Answer, agent, post};
use emendate_events::{Event, Export};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use ureq::Agent;

/// For so long the same events are sent again.
const TRYING: Duration = Duration::from_secs(120);
/// The first pause before that; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(500);

/// Says something to a person.
pub type Tell = dyn Fn(&str) + Send + Sync;

/// Sends events, from a thread of its own.
pub struct Exporter {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    tell: Box<Tell>,
    state: Mutex<State>,
    /// Told whenever the state changes.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Event>,
    /// Events of the request that is on its way.
    under_way: usize,
    /// Events that were not sent, those of them that nobody was told of, and those that no collector was told of.
    lost: u64,
    untold: u64,
    uncounted: u64,
    /// Why the first was not.
    why: Option<String>,
    started: bool,
    /// When the last request has to be done.
    end: Option<Instant>,
    done: bool,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers are secret.
        out.debug_struct("Exporter").field("targets", &self.shared.settings.targets()).finish_non_exhaustive()
    }
}

impl Exporter {
    /// Nothing is opened and no thread started before there is an event. `tell` gets a sentence for a person: once when
    /// events are lost, and once at the end how many were.
    pub fn new(settings: Settings, tell: Box<Tell>) -> Exporter {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Exporter { shared: Arc::new(Shared { settings, tell, state, changed }) }
    }
}

impl Export for Exporter {
    fn take(&self, event: &Event) {
        let shared = &self.shared;
        let mut state = shared.state();
        if state.waiting.len() >= shared.settings.queue {
            state.lose(1, "too many wait for the collector");
            return;
        }
        state.waiting.push_back(event.clone());
        if !state.started {
            state.started = true;
            let sender = Arc::clone(shared);
            let thread = thread::Builder::new().name("otlp".to_owned()).spawn(move || sender.run());
            state.done = thread.is_err();
        }
        if state.waiting.len() == 1 || state.waiting.len() >= shared.settings.batch {
            drop(state);
            shared.changed.notify_all();
        }
    }

    fn wants_paths(&self) -> bool {
        self.shared.settings.paths
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let shared = &self.shared;
        let mut state = shared.state();
        if state.started {
            let end = Instant::now() + shared.settings.patience;
            state.end = Some(end);
            shared.changed.notify_all();
            while !state.done {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            // What is under way may still arrive, but nobody will know.
            let open = std::mem::take(&mut state.under_way) + std::mem::take(&mut state.waiting).len();
            state.lose(open, "the collector did not answer in time");
        }
        let said = state.last_word();
        drop(state);
        if let Some(said) = said {
            (shared.tell)(&said);
        }
    }
}

impl State {
    fn lose(&mut self, events: usize, why: &str) {
        let events = u64::try_from(events).unwrap_or(u64::MAX);
        if events == 0 {
            return;
        }
        self.lost = self.lost.saturating_add(events);
        self.untold = self.untold.saturating_add(events);
        self.uncounted = self.uncounted.saturating_add(events);
        self.why.get_or_insert_with(|| why.to_owned());
    }

    /// What is to be said when the first were lost: the rest is counted and said at the end.
    fn first_word(&mut self) -> Option<String> {
        let first = self.lost > 0 && self.untold == self.lost;
        first.then(|| self.told("more will only be counted")).flatten()
    }

    fn last_word(&mut self) -> Option<String> {
        let lost = self.lost;
        (self.untold > 0).then(|| self.told(&format!("{lost} in all"))).flatten()
    }

    fn told(&mut self, rest: &str) -> Option<String> {
        let events = std::mem::take(&mut self.untold);
        let noun = if events == 1 { "event was" } else { "events were" };
        let why = self.why.as_deref()?;
        Some(format!("{events} {noun} not sent to the OpenTelemetry collector: {why}; {rest}"))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends until there will be no more.
    fn run(&self) {
        let agent = agent(&self.settings);
        let mut metrics = Metrics::default();
        while let Some((events, lost)) = self.next() {
            let failed = match &agent {
                Ok(agent) => self.send(agent, &events, &mut metrics, lost),
                Err(why) => Some(why.clone()),
            };
            let mut state = self.state();
            // At the end of its patience the exporter has counted them already.
            let open = std::mem::take(&mut state.under_way);
            if let Some(why) = failed {
                state.uncounted = state.uncounted.saturating_add(lost);
                state.lose(open, &why);
            }
            let said = if state.end.is_none() { state.first_word() } else { None };
            drop(state);
            if let Some(said) = said {
                (self.tell)(&said);
            }
        }
        self.state().done = true;
        self.changed.notify_all();
    }

    /// The next events, when there are enough of them or they have waited long enough, and how many were lost since the last
    /// time; `None` when there will be none.
    fn next(&self) -> Option<(Vec<Event>, u64)> {
        let mut state = self.state();
        while state.waiting.is_empty() {
            if state.end.is_some() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let due = Instant::now() + self.settings.delay;
        while state.end.is_none() && state.waiting.len() < self.settings.batch {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let count = state.waiting.len().min(self.settings.batch);
        let events = state.waiting.drain(..count).collect();
        state.under_way = count;
        Some((events, std::mem::take(&mut state.uncounted)))
    }

    /// Sends events as every signal that goes anywhere; why that failed, if it did.
    fn send(&self, agent: &Agent, events: &[Event], metrics: &mut Metrics, lost: u64) -> Option<String> {
        let bodies = encode::bodies(&self.settings, events, metrics, lost);
        let mut failed = None;
        for (target, body) in self.settings.targets.iter().zip(bodies) {
            let Some(body) = body else { continue };
            let until = Instant::now() + TRYING;
            let mut pause = PAUSE;
            let why = loop {
                match post(agent, target, &body) {
                    Answer::Taken(0, _) => break None,
                    Answer::Taken(count, why) => {
                        break Some(format!("it refused {count} of the {}: {why}", target.signal.name()));
                    }
                    Answer::Never(why) => break Some(why),
                    Answer::Later(after, why) => {
                        let wait = after.unwrap_or(pause);
                        if Instant::now() + wait > until || !self.waits(wait, after.is_some()) {
                            break Some(why);
                        }
                        pause *= 2;
                    }
                }
            };
            if let Some(why) = why {
                failed.get_or_insert(format!("{}: {why}", url::shown(&target.url)));
            }
        }
        failed
    }

    /// Waits so long; false, and at once, where the process ends before. At its end only a collector that asked for a pause
    /// is waited for: one that is not there will not come in time.
    fn waits(&self, time: Duration, asked: bool) -> bool {
        let until = Instant::now() + time;
        let mut state = self.state();
        loop {
            if state.end.is_some_and(|end| !asked || end < until) {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests;
