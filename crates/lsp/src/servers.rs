//! All servers of an engine: started on first use, ended with the engine, and not restarted endlessly when they crash.

use crate::around::{self, Elsewhere, StandsStill};
use crate::live::{Live, Stage};
use crate::message::uri;
use crate::problem::{Problem, line_of};
use crate::sorted::{Edit, parted};
use crate::spec::Spec;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of running servers; the least recently used one is stopped.
const RUNNING: usize = 8;
/// Consecutive failures after which a server is not started again.
const FAILURES: u32 = 5;
/// Pause before a server is restarted after a failure; doubles with each.
const BACK_OFF: Duration = Duration::from_secs(1);
/// Run time after which earlier failures to start are forgotten.
const LASTED: Duration = Duration::from_secs(60);
/// Maximum time to answer `initialize`.
const STARTING: Duration = Duration::from_secs(120);
/// Maximum time to owe an answer without sending anything.
const SILENT: Duration = Duration::from_secs(180);
/// Number of texts shown together; fewer than a server may hold.
const TOGETHER: usize = 50;
/// Time for all servers to exit.
const ENDING: Duration = Duration::from_millis(800);

/// Reason why nothing is known about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The server is not ready yet.
    Starting,
    /// It did not answer in time.
    Timeout,
    /// Its answer may refer to another text.
    Version,
    /// It ended, or was ended for misbehaving.
    Crashed,
    /// It cannot be started.
    Missing,
    /// It refuses to answer.
    Failed,
    /// The text is too large, or one too many, to be checked.
    Limit,
}

impl Why {
    /// Name of the reason.
    pub fn name(self) -> &'static str {
        match self {
            Why::Starting => "starting",
            Why::Timeout => "timeout",
            Why::Version => "version",
            Why::Crashed => "crashed",
            Why::Missing => "missing",
            Why::Failed => "failed",
            Why::Limit => "limit",
        }
    }
}

/// The failure to learn anything about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Kind of reason.
    pub why: Why,
    /// Details; may be empty.
    pub detail: String,
}

impl Unknown {
    /// Creates a failure with details.
    pub fn new(why: Why, detail: String) -> Unknown {
        Unknown { why, detail }
    }

    pub(crate) fn of(why: Why) -> Unknown {
        Unknown::new(why, String::new())
    }

    pub(crate) fn refused(message: &str) -> Unknown {
        Unknown::new(Why::Failed, format!("it does not answer: {}", line_of(message, 200)))
    }
}

/// Evidence that an answer refers to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// It answers a request that was sent after the text was shown.
    Asked,
    /// It names the version.
    Version,
    /// It came after the text was opened again, followed by silence (`settle`).
    Silence,
}

impl Basis {
    /// Name of the evidence.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Asked => "asked",
            Basis::Version => "version",
            Basis::Silence => "silence",
        }
    }
}

/// A text at a path.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Its path, now or before.
    pub path: &'a Path,
    /// The text, with its line ends.
    pub text: &'a str,
}

/// A text to check.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Absolute path.
    pub path: &'a Path,
    /// The protocol's name of the language.
    pub language: &'a str,
    /// The previous text; `None` if there was none, so that all problems are new.
    pub before: Option<Text<'a>>,
    /// The current text; `None` for a removed file, which is not checked.
    pub after: Option<&'a str>,
    /// The changes between the two, in bytes.
    pub edits: Vec<Edit>,
    /// The file has just been written.
    pub written: bool,
    /// The previous path still has its text.
    pub copied: bool,
}

impl Job<'_> {
    /// Returns the previous path, if it differs.
    fn moved(&self) -> Option<&Path> {
        self.before.map(|before| before.path).filter(|path| *path != self.path)
    }
}

/// Result of checking a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// New problems, the worst first.
    pub new: Vec<Problem>,
    /// Number of problems that existed before.
    pub existing: usize,
    /// Evidence that this refers to the text.
    pub basis: Basis,
}

impl Found {
    const NOTHING: Found = Found { new: Vec::new(), existing: 0, basis: Basis::Asked };
}

/// A server, or the reason why it does not run at the moment.
#[derive(Default)]
struct Slot {
    live: Option<Arc<Live>>,
    failures: u32,
    /// Time after which it may be started again.
    after: Option<Instant>,
    last: Option<Unknown>,
    used: u64,
}

/// All servers of an engine. Dropping it ends them.
#[derive(Default)]
pub struct Servers {
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    all: HashMap<(String, PathBuf), Slot>,
    uses: u64,
}

impl Servers {
    /// Checks some texts of a project, with a time limit for all of them together. The results are in the order of the
    /// jobs.
    pub fn ask(&self, spec: &Arc<Spec>, root: &Path, jobs: &[Job<'_>], time: Duration) -> Vec<Result<Found, Unknown>> {
        self.ask_around(spec, root, jobs, time, &|_, _| false).0
    }

    /// Checks texts, and returns new problems in other texts as well, if the server was shown them and they are
    /// unchanged.
    pub fn ask_around(
        &self,
        spec: &Arc<Spec>,
        root: &Path,
        jobs: &[Job<'_>],
        time: Duration,
        stands: &StandsStill<'_>,
    ) -> (Vec<Result<Found, Unknown>>, Vec<Elsewhere>) {
        // A removed file is no reason to start a server.
        if jobs.iter().all(|job| job.after.is_none()) && !self.runs(spec, root) {
            return (jobs.iter().map(|_| Ok(Found::NOTHING)).collect(), Vec::new());
        }
        let until = Instant::now() + time;
        let live = self.live(spec, root).and_then(|live| live.ready(until).map(|()| live));
        match live {
            Ok(live) if jobs.len() <= TOGETHER => talk(&live, jobs, until, stands),
            Ok(live) => {
                let parts = jobs.chunks(TOGETHER).flat_map(|jobs| talk(&live, jobs, until, &|_, _| false).0);
                (parts.collect(), Vec::new())
            }
            Err(unknown) => (jobs.iter().map(|_| Err(unknown.clone())).collect(), Vec::new()),
        }
    }

    fn runs(&self, spec: &Spec, root: &Path) -> bool {
        self.slots().all.get(&(spec.name.clone(), root.to_owned())).is_some_and(|slot| slot.live.is_some())
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the server, starting it if needed.
    pub(crate) fn live(&self, spec: &Arc<Spec>, root: &Path) -> Result<Arc<Live>, Unknown> {
        let mut slots = self.slots();
        slots.uses += 1;
        let uses = slots.uses;
        let slot = slots.all.entry((spec.name.clone(), root.to_owned())).or_default();
        slot.used = uses;
        slot.look();
        if let Some(live) = &slot.live {
            return Ok(Arc::clone(live));
        }
        if let Some(last) = slot.last.as_ref().filter(|_| slot.failures >= FAILURES) {
            let detail = format!("not started again after {FAILURES} failures; the last: {}", last.detail);
            return Err(Unknown::new(last.why, detail));
        }
        if slot.after.is_some_and(|after| Instant::now() < after) {
            return Err(slot.last.clone().unwrap_or_else(|| Unknown::of(Why::Crashed)));
        }
        match Live::start(spec, root) {
            Ok(live) => {
                slot.live = Some(Arc::clone(&live));
                slots.make_room();
                Ok(live)
            }
            Err(error) => {
                let unknown = Unknown::new(Why::Missing, error.message().trim_end_matches('.').to_owned());
                slot.failed(unknown.clone());
                Err(unknown)
            }
        }
    }
}

impl Slot {
    /// Drops a server that is gone, or that must be ended.
    fn look(&mut self) {
        let Some(live) = &self.live else { return };
        let starting = matches!(live.state().stage, Stage::Starting);
        if starting && live.born.elapsed() > STARTING {
            live.gone(Some("did not get ready".to_owned()));
        } else if !starting && live.silence() > SILENT {
            live.gone(Some("does not answer any more".to_owned()));
        }
        let why = match &live.state().stage {
            Stage::Gone(why) => why.clone(),
            Stage::Starting | Stage::Ready => return,
        };
        // One that refused to work may still be running.
        live.gone(Some("was ended".to_owned()));
        if live.born.elapsed() > LASTED {
            self.failures = 0;
        }
        self.live = None;
        self.failed(Unknown::new(Why::Crashed, why));
    }

    fn failed(&mut self, unknown: Unknown) {
        self.after = Some(Instant::now() + BACK_OFF * 2u32.saturating_pow(self.failures));
        self.failures += 1;
        self.last = Some(unknown);
    }
}

impl Slots {
    /// Stops servers beyond the limit.
    fn make_room(&mut self) {
        while self.all.values().filter(|slot| slot.live.is_some()).count() > RUNNING {
            let running = self.all.values_mut().filter(|slot| slot.live.is_some());
            let Some(live) = running.min_by_key(|slot| slot.used).and_then(|slot| slot.live.take()) else { return };
            let asked = live.ask_to_stop();
            drop(thread::Builder::new().spawn(move || live.stop(asked, Instant::now() + ENDING)));
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let all: Vec<Arc<Live>> = self.slots().all.drain().filter_map(|(_, slot)| slot.live).collect();
        let until = Instant::now() + ENDING;
        let asked: Vec<Option<i64>> = all.iter().map(|live| live.ask_to_stop()).collect();
        for (live, asked) in all.iter().zip(asked) {
            live.stop(asked, until);
        }
    }
}

/// Shows the previous texts and checks them; shows the current texts and checks them again.
fn talk(
    live: &Live,
    jobs: &[Job<'_>],
    until: Instant,
    stands: &StandsStill<'_>,
) -> (Vec<Result<Found, Unknown>>, Vec<Elsewhere>) {
    let befores = jobs.iter().map(|job| job.before.map(|text| (job, text)));
    let before = asked(live, befores, until);
    let silent = before.iter().any(|answer| matches!(answer, Some(Err(_))));
    let others = if silent { Vec::new() } else { around::before(live, jobs, stands, until) };
    for job in jobs {
        for path in job.moved().into_iter().chain(job.after.is_none().then_some(job.path)) {
            live.close(&mut live.state(), path);
        }
    }
    tell_of_files(live, jobs);
    let afters = jobs.iter().map(|job| job.after.map(|text| (job, Text { path: job.path, text })));
    let after = asked(live, afters, until);
    let both = jobs.iter().zip(before.into_iter().zip(after));
    let found = both.map(|(job, (before, after))| judged(job, before, after)).collect();
    (found, around::after(live, others, until))
}

type Answer = Option<Result<(Vec<Problem>, Basis), Unknown>>;

/// Shows all texts and requests their problems, then collects the answers, so that the server can process them
/// together.
fn asked<'a>(live: &Live, texts: impl Iterator<Item = Option<(&'a Job<'a>, Text<'a>)>>, until: Instant) -> Vec<Answer> {
    let shown: Vec<_> = texts
        .map(|text| {
            let (job, text) = text?;
            let version = live.show(text.path, job.language, text.text, until);
            // Only the current text is on the disk, not the previous one.
            if job.written && job.after == Some(text.text) {
                live.saved(text.path);
            }
            Some(version.map(|version| (text.path, version, live.question(text.path))))
        })
        .collect();
    let one = |shown: Option<Result<_, Unknown>>| {
        Some(shown?.and_then(|(path, version, question)| live.problems((path, version), question, until)))
    };
    shown.into_iter().map(one).collect()
}

/// Returns the new problems, if the previous ones are known. An empty list has nothing new in any case.
fn judged(job: &Job<'_>, before: Answer, after: Answer) -> Result<Found, Unknown> {
    let Some(after) = after else { return Ok(Found::NOTHING) };
    // The first failure says more than the timeout that followed.
    let (problems, basis) = match (after, &before) {
        (Err(Unknown { why: Why::Timeout, .. }), Some(Err(first))) => return Err(first.clone()),
        (after, _) => after?,
    };
    if problems.is_empty() {
        return Ok(Found { new: problems, existing: 0, basis });
    }
    let (before, basis) = match before {
        None => (Vec::new(), basis),
        Some(before) => before.map(|(before, of_before)| (before, basis.max(of_before)))?,
    };
    let (new, existing) = parted(&before, problems, &job.edits);
    Ok(Found { new, existing, basis })
}

/// Notifies the server of files that were created, changed or removed.
fn tell_of_files(live: &Live, jobs: &[Job<'_>]) {
    let event = |path: &Path, kind: u8| json!({ "uri": uri(path), "type": kind });
    let mut events: Vec<Value> = Vec::new();
    for job in jobs.iter().filter(|job| job.written) {
        let stood_here = job.before.is_some_and(|before| before.path == job.path);
        events.push(match (stood_here, job.after) {
            (_, None) => event(job.path, 3),
            (true, Some(_)) => event(job.path, 2),
            (false, Some(_)) => event(job.path, 1),
        });
        events.extend(job.moved().filter(|_| !job.copied).map(|path| event(path, 3)));
    }
    if !events.is_empty() {
        live.tell("workspace/didChangeWatchedFiles", &json!({ "changes": events }));
    }
}
