//! All servers of an engine: started on first use, ended with the engine, and not restarted endlessly when they crash.

use crate::diagnostic::{Diagnostic, single_line};
use crate::message::uri;
use crate::new_diagnostics::{SpanEdit, partition_new};
use crate::other_files::{self, OtherFileReport, UnchangedCheck};
use crate::running::{RunningServer, ServerStage};
use crate::spec::ServerSpec;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of running servers; the least recently used one is stopped.
const RUNNING_SERVERS_MAX: usize = 8;
/// Consecutive failures after which a server is not started again.
const START_FAILURES_MAX: u32 = 5;
/// Pause before a server is restarted after a failure; doubles with each.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// Run time after which earlier failures to start are forgotten.
const STABLE_AFTER: Duration = Duration::from_secs(60);
/// Maximum time to answer `initialize`.
const INITIALIZE_WAIT: Duration = Duration::from_secs(120);
/// Maximum time to owe an answer without sending anything.
const SILENCE_MAX: Duration = Duration::from_secs(180);
/// Number of texts shown together; fewer than a server may hold.
const TEXTS_PER_BATCH: usize = 50;
/// Time for all servers to exit.
const SHUTDOWN_WAIT: Duration = Duration::from_millis(800);

/// Reason why nothing is known about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    /// The server is not ready yet.
    Starting,
    /// The server did not answer in time.
    Timeout,
    /// The answer may refer to another text.
    Version,
    /// The server ended, or was ended for misbehaving.
    Crashed,
    /// The server cannot be started.
    Missing,
    /// The server refuses to answer.
    Failed,
    /// The text is too large to be checked, or there are too many texts.
    Limit,
}

impl UnknownReason {
    /// Name of the reason.
    pub fn name(self) -> &'static str {
        match self {
            UnknownReason::Starting => "starting",
            UnknownReason::Timeout => "timeout",
            UnknownReason::Version => "version",
            UnknownReason::Crashed => "crashed",
            UnknownReason::Missing => "missing",
            UnknownReason::Failed => "failed",
            UnknownReason::Limit => "limit",
        }
    }
}

/// The failure to learn anything about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticsFailure {
    /// Kind of reason.
    pub reason: UnknownReason,
    /// Details; may be empty.
    pub detail: String,
}

impl DiagnosticsFailure {
    /// Creates a failure with details.
    pub fn new(reason: UnknownReason, detail: String) -> DiagnosticsFailure {
        DiagnosticsFailure { reason, detail }
    }

    pub(crate) fn of(why: UnknownReason) -> DiagnosticsFailure {
        DiagnosticsFailure::new(why, String::new())
    }

    pub(crate) fn refused(message: &str) -> DiagnosticsFailure {
        DiagnosticsFailure::new(UnknownReason::Failed, format!("it does not answer: {}", single_line(message, 200)))
    }
}

/// Evidence that an answer refers to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerBasis {
    /// The answer is to a request that was sent after the text was shown.
    Asked,
    /// The answer names the version.
    Version,
    /// The answer came after the text was opened again, followed by silence (`settle`).
    Silence,
}

impl AnswerBasis {
    /// Name of the evidence.
    pub fn name(self) -> &'static str {
        match self {
            AnswerBasis::Asked => "asked",
            AnswerBasis::Version => "version",
            AnswerBasis::Silence => "silence",
        }
    }
}

/// A text at a path.
#[derive(Clone, Copy, Debug)]
pub struct FileText<'a> {
    /// The path of the file, now or before.
    pub path: &'a Path,
    /// The text, with its line ends.
    pub text: &'a str,
}

/// A text to check.
#[derive(Clone, Debug)]
pub struct CheckRequest<'a> {
    /// Absolute path.
    pub path: &'a Path,
    /// The protocol's name of the language.
    pub language: &'a str,
    /// The previous text; `None` if there was none, so that all problems are new.
    pub before: Option<FileText<'a>>,
    /// The current text; `None` for a removed file, which is not checked.
    pub after: Option<&'a str>,
    /// The changes between the two, in bytes.
    pub edits: Vec<SpanEdit>,
    /// The file has just been written.
    pub written: bool,
    /// The previous path still has its text.
    pub copied: bool,
}

impl CheckRequest<'_> {
    /// Returns the previous path, if it differs.
    fn moved(&self) -> Option<&Path> {
        self.before.map(|before| before.path).filter(|path| *path != self.path)
    }
}

/// Result of checking a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticReport {
    /// New problems, the worst first.
    pub new: Vec<Diagnostic>,
    /// Number of problems that existed before.
    pub existing: usize,
    /// Evidence that this refers to the text.
    pub basis: AnswerBasis,
}

impl DiagnosticReport {
    const NOTHING: DiagnosticReport = DiagnosticReport { new: Vec::new(), existing: 0, basis: AnswerBasis::Asked };
}

/// A server, or the reason why it does not run at the moment.
#[derive(Default)]
struct ServerSlot {
    live: Option<Arc<RunningServer>>,
    failures: u32,
    /// Time after which it may be started again.
    after: Option<Instant>,
    last: Option<DiagnosticsFailure>,
    used: u64,
}

/// All servers of an engine. Dropping it ends them.
#[derive(Default)]
pub struct Servers {
    slots: Mutex<ServerSlots>,
}

#[derive(Default)]
struct ServerSlots {
    all: HashMap<(String, PathBuf), ServerSlot>,
    uses: u64,
}

impl Servers {
    /// Checks some texts of a project, with a time limit for all of them together. The results are in the order of the
    /// jobs.
    pub fn check(
        &self,
        spec: &Arc<ServerSpec>,
        root: &Path,
        jobs: &[CheckRequest<'_>],
        time: Duration,
    ) -> Vec<Result<DiagnosticReport, DiagnosticsFailure>> {
        self.check_with_others(spec, root, jobs, time, &|_, _| false).0
    }

    /// Checks texts, and returns new problems in other texts as well, if the server was shown them and they are
    /// unchanged.
    pub fn check_with_others(
        &self,
        spec: &Arc<ServerSpec>,
        root: &Path,
        jobs: &[CheckRequest<'_>],
        time: Duration,
        stands: &UnchangedCheck<'_>,
    ) -> (Vec<Result<DiagnosticReport, DiagnosticsFailure>>, Vec<OtherFileReport>) {
        // A removed file is no reason to start a server.
        if jobs.iter().all(|job| job.after.is_none()) && !self.runs(spec, root) {
            return (jobs.iter().map(|_| Ok(DiagnosticReport::NOTHING)).collect(), Vec::new());
        }
        let until = Instant::now() + time;
        let live = self.live(spec, root).and_then(|live| live.ready(until).map(|()| live));
        match live {
            Ok(live) if jobs.len() <= TEXTS_PER_BATCH => check_texts(&live, jobs, until, stands),
            Ok(live) => {
                let parts =
                    jobs.chunks(TEXTS_PER_BATCH).flat_map(|jobs| check_texts(&live, jobs, until, &|_, _| false).0);
                (parts.collect(), Vec::new())
            }
            Err(unknown) => (jobs.iter().map(|_| Err(unknown.clone())).collect(), Vec::new()),
        }
    }

    fn runs(&self, spec: &ServerSpec, root: &Path) -> bool {
        self.slots().all.get(&(spec.name.clone(), root.to_owned())).is_some_and(|slot| slot.live.is_some())
    }

    fn slots(&self) -> MutexGuard<'_, ServerSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the server, starting it if needed.
    pub(crate) fn live(&self, spec: &Arc<ServerSpec>, root: &Path) -> Result<Arc<RunningServer>, DiagnosticsFailure> {
        let mut slots = self.slots();
        slots.uses += 1;
        let uses = slots.uses;
        let slot = slots.all.entry((spec.name.clone(), root.to_owned())).or_default();
        slot.used = uses;
        slot.drop_dead_server();
        if let Some(live) = &slot.live {
            return Ok(Arc::clone(live));
        }
        if let Some(last) = slot.last.as_ref().filter(|_| slot.failures >= START_FAILURES_MAX) {
            let detail = format!("not started again after {START_FAILURES_MAX} failures; the last: {}", last.detail);
            return Err(DiagnosticsFailure::new(last.reason, detail));
        }
        if slot.after.is_some_and(|after| Instant::now() < after) {
            return Err(slot.last.clone().unwrap_or_else(|| DiagnosticsFailure::of(UnknownReason::Crashed)));
        }
        match RunningServer::start(spec, root) {
            Ok(live) => {
                slot.live = Some(Arc::clone(&live));
                slots.stop_surplus();
                Ok(live)
            }
            Err(error) => {
                let unknown =
                    DiagnosticsFailure::new(UnknownReason::Missing, error.message().trim_end_matches('.').to_owned());
                slot.record_failure(unknown.clone());
                Err(unknown)
            }
        }
    }
}

impl ServerSlot {
    /// Drops a server that is gone, or that must be ended.
    fn drop_dead_server(&mut self) {
        let Some(live) = &self.live else { return };
        let starting = matches!(live.state().stage, ServerStage::Starting);
        if starting && live.born.elapsed() > INITIALIZE_WAIT {
            live.shut_down(Some("did not become ready".to_owned()));
        } else if !starting && live.silence() > SILENCE_MAX {
            live.shut_down(Some("no longer answers".to_owned()));
        }
        let why = match &live.state().stage {
            ServerStage::Gone(why) => why.clone(),
            ServerStage::Starting | ServerStage::Ready => return,
        };
        // A server that refused to work may still be running.
        live.shut_down(Some("was ended".to_owned()));
        if live.born.elapsed() > STABLE_AFTER {
            self.failures = 0;
        }
        self.live = None;
        self.record_failure(DiagnosticsFailure::new(UnknownReason::Crashed, why));
    }

    fn record_failure(&mut self, unknown: DiagnosticsFailure) {
        self.after = Some(Instant::now() + RESTART_DELAY * 2u32.saturating_pow(self.failures));
        self.failures += 1;
        self.last = Some(unknown);
    }
}

impl ServerSlots {
    /// Stops servers beyond the limit.
    fn stop_surplus(&mut self) {
        while self.all.values().filter(|slot| slot.live.is_some()).count() > RUNNING_SERVERS_MAX {
            let running = self.all.values_mut().filter(|slot| slot.live.is_some());
            let Some(live) = running.min_by_key(|slot| slot.used).and_then(|slot| slot.live.take()) else { return };
            let asked = live.ask_to_stop();
            drop(thread::Builder::new().spawn(move || live.stop(asked, Instant::now() + SHUTDOWN_WAIT)));
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let all: Vec<Arc<RunningServer>> = self.slots().all.drain().filter_map(|(_, slot)| slot.live).collect();
        let until = Instant::now() + SHUTDOWN_WAIT;
        let asked: Vec<Option<i64>> = all.iter().map(|live| live.ask_to_stop()).collect();
        for (live, asked) in all.iter().zip(asked) {
            live.stop(asked, until);
        }
    }
}

/// Shows the previous texts and checks them; shows the current texts and checks them again.
fn check_texts(
    live: &RunningServer,
    jobs: &[CheckRequest<'_>],
    until: Instant,
    stands: &UnchangedCheck<'_>,
) -> (Vec<Result<DiagnosticReport, DiagnosticsFailure>>, Vec<OtherFileReport>) {
    let befores = jobs.iter().map(|job| job.before.map(|text| (job, text)));
    let before = query_texts(live, befores, until);
    let silent = before.iter().any(|answer| matches!(answer, Some(Err(_))));
    let others = if silent { Vec::new() } else { other_files::before(live, jobs, stands, until) };
    for job in jobs {
        for path in job.moved().into_iter().chain(job.after.is_none().then_some(job.path)) {
            live.close(&mut live.state(), path);
        }
    }
    notify_file_changes(live, jobs);
    let afters = jobs.iter().map(|job| job.after.map(|text| (job, FileText { path: job.path, text })));
    let after = query_texts(live, afters, until);
    let both = jobs.iter().zip(before.into_iter().zip(after));
    let found = both.map(|(job, (before, after))| report(job, before, after)).collect();
    (found, other_files::after(live, others, until))
}

type CheckAnswer = Option<Result<(Vec<Diagnostic>, AnswerBasis), DiagnosticsFailure>>;

/// Shows all texts and requests their problems, then collects the answers, so that the server can process them
/// together.
fn query_texts<'a>(
    live: &RunningServer,
    texts: impl Iterator<Item = Option<(&'a CheckRequest<'a>, FileText<'a>)>>,
    until: Instant,
) -> Vec<CheckAnswer> {
    let shown: Vec<_> = texts
        .map(|text| {
            let (job, text) = text?;
            let version = live.show(text.path, job.language, text.text, until);
            // Only the current text is on the disk, not the previous one.
            if job.written && job.after == Some(text.text) {
                live.notify_saved(text.path);
            }
            Some(version.map(|version| (text.path, version, live.question(text.path))))
        })
        .collect();
    shown
        .into_iter()
        .map(|shown| Some(shown?.and_then(|(path, version, question)| live.problems(path, version, question, until))))
        .collect()
}

/// Returns the new problems, if the previous ones are known. An empty list has nothing new in any case.
fn report(
    job: &CheckRequest<'_>,
    before: CheckAnswer,
    after: CheckAnswer,
) -> Result<DiagnosticReport, DiagnosticsFailure> {
    let Some(after) = after else { return Ok(DiagnosticReport::NOTHING) };
    // The first failure says more than the timeout that followed.
    let (problems, basis) = match (after, &before) {
        (Err(DiagnosticsFailure { reason: UnknownReason::Timeout, .. }), Some(Err(first))) => return Err(first.clone()),
        (after, _) => after?,
    };
    if problems.is_empty() {
        return Ok(DiagnosticReport { new: problems, existing: 0, basis });
    }
    let (before, basis) = match before {
        None => (Vec::new(), basis),
        Some(before) => before.map(|(before, of_before)| (before, basis.max(of_before)))?,
    };
    let (new, existing) = partition_new(&before, problems, &job.edits);
    Ok(DiagnosticReport { new, existing, basis })
}

/// Notifies the server of files that were created, changed or removed.
fn notify_file_changes(live: &RunningServer, jobs: &[CheckRequest<'_>]) {
    let mut events: Vec<Value> = Vec::new();
    for job in jobs.iter().filter(|job| job.written) {
        let stood_here = job.before.is_some_and(|before| before.path == job.path);
        events.push(match (stood_here, job.after) {
            (_, None) => file_event(job.path, 3),
            (true, Some(_)) => file_event(job.path, 2),
            (false, Some(_)) => file_event(job.path, 1),
        });
        events.extend(job.moved().filter(|_| !job.copied).map(|path| file_event(path, 3)));
    }
    if !events.is_empty() {
        live.notify("workspace/didChangeWatchedFiles", &json!({ "changes": events }));
    }
}

/// Returns the notification of one changed file.
fn file_event(path: &Path, kind: u8) -> Value {
    json!({ "uri": uri(path), "type": kind })
}
