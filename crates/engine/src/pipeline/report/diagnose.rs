//! Problems that language servers find in the files that a call wrote, separated into new and existing ones. By then
//! the files are on disk and no lock is held; a failure here is not a failure of the edit.

use crate::context::Context;
use crate::context::config::{LanguageServerConfig, ServerTrigger};
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::pipeline::report::receipt::Receipt;
use crate::session::failure_advice::read_other_file;
use emendate_core::{ChangeSet, Charset, Snapshot, Span};
use emendate_fs::{SafePath, shown};
use emendate_lsp::{
    CheckRequest, Diagnostic, DiagnosticReport, DiagnosticsFailure, FileText, OtherFileReport, SpanEdit, UnknownReason,
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Files of a call that a server is asked about.
pub(crate) const ASKED_FILES_MAX: usize = 50;
/// Bytes of a text that is sent to a server.
pub(crate) const TEXT_BYTES_MAX: usize = 2 << 20;
/// Problems that the text of a reply lists for all its files.
const LISTED_PROBLEMS_MAX: usize = 30;
/// Problems that it lists for one file that was not written.
const LISTED_PROBLEMS_ELSEWHERE_MAX: usize = 5;
/// Problems that the data of a reply lists for one file.
const DATA_PROBLEMS_MAX: usize = 100;

/// The report of one server about a file.
pub(crate) struct ServerReport {
    pub(crate) server: String,
    pub(crate) answer: Result<DiagnosticReport, DiagnosticsFailure>,
}

/// The diagnosis of a file.
#[derive(Default)]
pub(crate) struct Diagnosis {
    pub(crate) reports: Vec<ServerReport>,
    /// Problems that the text lists.
    pub(crate) most: usize,
    /// Problems that the call caused in files it did not write, each with its server.
    pub(crate) elsewhere: Vec<(String, OtherFileReport)>,
}

/// A file that servers are asked about.
pub(crate) struct DiagnosisTarget<'a> {
    pub(crate) path: &'a SafePath,
    /// The former path and text of the file.
    pub(crate) before: Option<(&'a Path, Cow<'a, str>)>,
    /// The current text; `None` for a deleted file.
    pub(crate) after: Option<Cow<'a, str>>,
    pub(crate) edits: Vec<SpanEdit>,
    pub(crate) written: bool,
    pub(crate) copied: bool,
}

/// Asks the language servers about the written files.
pub(crate) fn diagnose(context: &Context, receipts: &mut [Receipt]) {
    if context.config().servers.is_empty() {
        return;
    }
    let written = receipts.iter().filter(|receipt| receipt.is_written() && !receipt.plan.is_move_source).count();
    let of_receipts: Vec<(usize, Snapshot)> = receipts
        .iter()
        .enumerate()
        .filter(|(_, receipt)| {
            let plan = &receipt.plan;
            receipt.is_written() && !plan.is_move_source && !plan.before.is_binary() && plan.source.is_none()
        })
        .filter_map(|(nth, receipt)| Some((nth, receipt.plan.after().ok()?)))
        .collect();
    let subjects: Vec<DiagnosisTarget<'_>> =
        of_receipts.iter().filter_map(|(nth, after)| Some(subject(&receipts.get(*nth)?.plan, after))).collect();
    let asks = |server: &LanguageServerConfig| {
        server.when == ServerTrigger::Edit || (server.when == ServerTrigger::Batch && written > 1)
    };
    let (reports, mut elsewhere) = ask_servers(context, &subjects, asks, None);
    let gone: Vec<bool> = subjects.iter().map(|subject| subject.after.is_none()).collect();
    drop(subjects);
    let files = reports.iter().filter(|reports| !reports.is_empty()).count().max(1);
    for (((nth, _), reports), gone) in of_receipts.iter().zip(reports).zip(gone) {
        if let Some(receipt) = receipts.get_mut(*nth).filter(|_| !gone && !reports.is_empty()) {
            let most = (LISTED_PROBLEMS_MAX / files).max(2);
            receipt.diagnosis = Some(Diagnosis { reports, most, elsewhere: std::mem::take(&mut elsewhere) });
        }
    }
    for receipt in receipts.iter_mut().filter(|receipt| receipt.is_written() && receipt.plan.source.is_some()) {
        let reports = not_asked(context, &receipt.plan.path, asks);
        if !reports.is_empty() {
            receipt.diagnosis = Some(Diagnosis { reports, ..Diagnosis::default() });
        }
    }
}

/// Returns the reports of the servers that would be asked about a large file if all of its text were loaded.
fn not_asked(context: &Context, path: &SafePath, asks: impl Fn(&LanguageServerConfig) -> bool) -> Vec<ServerReport> {
    let servers = context.config().servers.iter().filter(|server| asks(server));
    let servers = servers.filter(|server| server.language(path.relative(), path.absolute()).is_some());
    let report = |server: &LanguageServerConfig| {
        let answer = Err(limit_failure("the file is large, so only a part of its text is loaded".to_owned()));
        ServerReport { server: server.spec.name.clone(), answer }
    };
    servers.map(report).collect()
}

/// Asks all servers concerned about some files at once, within their time or the given one.
pub(crate) fn ask_servers(
    context: &Context,
    subjects: &[DiagnosisTarget<'_>],
    asks: impl Fn(&LanguageServerConfig) -> bool,
    time: Option<Duration>,
) -> (Vec<Vec<ServerReport>>, Vec<(String, OtherFileReport)>) {
    let mut groups: BTreeMap<(usize, PathBuf), Vec<(usize, &str)>> = BTreeMap::new();
    let mut all: Vec<Vec<ServerReport>> = subjects.iter().map(|_| Vec::new()).collect();
    for (nth, subject) in subjects.iter().enumerate() {
        for (which, server) in context.config().servers.iter().enumerate().filter(|(_, server)| asks(server)) {
            let Some(language) = server.language(subject.path.relative(), subject.path.absolute()) else {
                continue;
            };
            let group = groups.entry((which, project(context, server, subject.path))).or_default();
            let length = subject.after.as_ref().map_or(0, |text| text.len());
            if let Some(reason) = over_limit(group.len(), length)
                && let Some(reports) = all.get_mut(nth)
            {
                reports.push(ServerReport { server: server.spec.name.clone(), answer: Err(reason) });
            } else {
                group.push((nth, language));
            }
        }
    }
    let answers = thread::scope(|scope| {
        let running = groups.iter().map(|((which, root), files)| {
            scope.spawn(move || {
                let server = context.config().servers.get(*which)?;
                let jobs = files.iter().filter_map(|(nth, language)| Some(subjects.get(*nth)?.job(language)));
                Some(ask_server(context, server, root, &jobs.collect::<Vec<_>>(), time.unwrap_or(server.time)))
            })
        });
        let running: Vec<_> = running.collect();
        running.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Vec<_>>()
    });
    let mut elsewhere = Vec::new();
    for (((which, _), files), answers) in groups.iter().zip(answers) {
        let name = context.config().servers.get(*which).map_or_else(String::new, |server| server.spec.name.clone());
        let (answers, others) = answers.unwrap_or_default();
        elsewhere.extend(others.into_iter().map(|other| (name.clone(), other)));
        for ((nth, _), answer) in files.iter().zip(answers) {
            if let Some(reports) = all.get_mut(*nth) {
                reports.push(ServerReport { server: name.clone(), answer });
            }
        }
    }
    (all, elsewhere)
}

/// Asks one server about files of a project, and which other files have problems now.
fn ask_server(
    context: &Context,
    server: &LanguageServerConfig,
    root: &Path,
    jobs: &[CheckRequest<'_>],
    time: Duration,
) -> (Vec<Result<DiagnosticReport, DiagnosticsFailure>>, Vec<OtherFileReport>) {
    // If nothing was written, nothing can have been caused.
    let written = jobs.iter().any(|job| job.written);
    context.memory.servers.check_with_others(&server.spec, root, jobs, time, &|path, text| {
        written && read_other_file(context, path).is_some_and(|now| exact(&now) == text)
    })
}

/// Returns the project directory of a file for a server: the nearest one above the file with the most significant
/// marker, or the root.
pub(crate) fn project(context: &Context, server: &LanguageServerConfig, path: &SafePath) -> PathBuf {
    let root = context.root_path(path.root()).unwrap_or(Path::new("/"));
    let above: Vec<&Path> = path.absolute().ancestors().skip(1).take_while(|folder| folder.starts_with(root)).collect();
    let found = server
        .markers
        .iter()
        .find_map(|marker| above.iter().copied().find(|folder| has_file(context, &folder.join(marker))));
    found.unwrap_or(root).to_owned()
}

/// True if there is a file or directory that may be known to the caller.
fn has_file(context: &Context, path: &Path) -> bool {
    let safe_path = context.store().resolve_path(path);
    safe_path.and_then(|safe_path| context.store().metadata(&safe_path)).is_ok_and(|meta| meta.is_some())
}

impl DiagnosisTarget<'_> {
    fn job<'a>(&'a self, language: &'a str) -> CheckRequest<'a> {
        CheckRequest {
            path: self.path.absolute(),
            language,
            before: self.before.as_ref().map(|(path, text)| FileText { path, text }),
            after: self.after.as_deref(),
            edits: self.edits.clone(),
            written: self.written,
            copied: self.copied,
        }
    }
}

fn over_limit(files: usize, length: usize) -> Option<DiagnosticsFailure> {
    match (files, length) {
        (ASKED_FILES_MAX.., _) => Some(limit_failure(format!("it is asked about {ASKED_FILES_MAX} files of a call"))),
        (_, length) if length > TEXT_BYTES_MAX => {
            Some(limit_failure(format!("the text has more than {} MiB", TEXT_BYTES_MAX >> 20)))
        }
        _ => None,
    }
}

/// Returns the failure of a check that is too expensive.
fn limit_failure(why: String) -> DiagnosticsFailure {
    DiagnosticsFailure::new(UnknownReason::Limit, why)
}

/// Describes the change of a plan for consumers of texts.
fn subject<'a>(plan: &'a FilePlan, after: &'a Snapshot) -> DiagnosisTarget<'a> {
    let former = match (&plan.source_file, &plan.current) {
        (Some(origin), _) => Some(&origin.path),
        (None, CurrentState::File(_)) => Some(&plan.path),
        (None, _) => None,
    };
    let before = former.map(|path| (path.absolute(), exact(&plan.before)));
    let after = (plan.target == TargetState::File).then_some(after);
    let edits = after.map(|after| edits(plan, after)).unwrap_or_default();
    let copied = plan.source_file.as_ref().is_some_and(|origin| origin.copied);
    DiagnosisTarget { path: &plan.path, before, after: after.map(exact), edits, written: true, copied }
}

/// Returns the text exactly as in the file, with its line ends; for files that are not UTF-8, the decoded text.
pub(crate) fn exact(snapshot: &Snapshot) -> Cow<'_, str> {
    utf8(snapshot).map_or(Cow::Borrowed(snapshot.text()), Cow::Borrowed)
}

fn utf8(snapshot: &Snapshot) -> Option<&str> {
    let codec = snapshot.codec();
    let text = snapshot.raw().get(codec.mark..).filter(|_| codec.charset == Charset::Utf8)?;
    std::str::from_utf8(text).ok()
}

/// Returns the change in bytes of the exact texts.
fn edits(plan: &FilePlan, after: &Snapshot) -> Vec<SpanEdit> {
    let mark = plan.before.codec().mark;
    let same = utf8(&plan.before).is_some() && utf8(after).is_some() && after.codec().mark == mark;
    let own = if same { span_edits(&plan.changes, mark) } else { None };
    own.unwrap_or_else(|| {
        let (before, after) = (Snapshot::from_text(&exact(&plan.before)), Snapshot::from_text(&exact(after)));
        span_edits(&ChangeSet::diff(&before, &after), 0).unwrap_or_default()
    })
}

/// Returns the edits of a change without its byte order mark.
fn span_edits(changes: &ChangeSet, mark: usize) -> Option<Vec<SpanEdit>> {
    changes
        .splices()
        .iter()
        .map(|splice| {
            let span = Span::new(splice.span.start().checked_sub(mark)?, splice.span.end().checked_sub(mark)?);
            Some(SpanEdit { span, len: splice.text.len() })
        })
        .collect::<Option<Vec<SpanEdit>>>()
}

/// A problem, and the server that reports it.
pub(crate) struct ServerProblem<'a> {
    server: &'a str,
    problem: &'a Diagnostic,
}

impl Diagnosis {
    /// The new problems, the worst first, each with its server.
    pub(crate) fn new_problems(&self) -> Vec<ServerProblem<'_>> {
        let found = self.reports.iter().filter_map(|report| Some((&*report.server, report.answer.as_ref().ok()?)));
        let mut all: Vec<ServerProblem<'_>> = found
            .flat_map(|(server, found)| found.new.iter().map(move |problem| ServerProblem { server, problem }))
            .collect();
        all.sort_by_key(|it| (it.problem.severity, it.problem.span));
        all
    }

    fn existing(&self) -> usize {
        self.reports.iter().filter_map(|report| report.answer.as_ref().ok()).map(|found| found.existing).sum()
    }

    /// The servers without a result.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = (&str, &DiagnosticsFailure)> {
        self.reports.iter().filter_map(|report| Some((&*report.server, report.answer.as_ref().err()?)))
    }

    /// Lists the servers that answered.
    pub(crate) fn answering_servers(&self) -> String {
        let known = self.reports.iter().filter(|report| report.answer.is_ok()).map(|report| &*report.server);
        known.collect::<Vec<&str>>().join(", ")
    }

    /// Formats the diagnosis for a model, after an edit.
    pub(crate) fn text(&self) -> String {
        let (new, existing, by) = (self.new_problems(), self.existing(), self.answering_servers());
        let mut out = String::new();
        if !by.is_empty() {
            let before = match existing {
                0 => String::new(),
                1 => "; 1 was there before".to_owned(),
                n => format!("; {n} were there before"),
            };
            let _ = match new.len() {
                0 => writeln!(out, "Diagnostics ({by}): no new problems{before}."),
                1 => writeln!(out, "Diagnostics ({by}): 1 new problem{before}:"),
                n => writeln!(out, "Diagnostics ({by}): {n} new problems{before}:"),
            };
            out.push_str(&problem_list(&new, self.most));
        }
        for (server, unknown) in self.unanswered() {
            let _ = writeln!(out, "Diagnostics ({server}): unknown ({}).", reason(unknown));
        }
        for (server, path, problems) in self.problems_elsewhere().filter(|(.., problems)| !problems.is_empty()) {
            let noun = if problems.len() == 1 { "problem" } else { "problems" };
            let _ = writeln!(out, "{}: {} new {noun} by this edit ({server}):", shown(path), problems.len());
            let problems: Vec<ServerProblem<'_>> =
                problems.iter().map(|problem| ServerProblem { server, problem }).collect();
            out.push_str(&problem_list(&problems, LISTED_PROBLEMS_ELSEWHERE_MAX));
        }
        out
    }

    /// The problems in other files.
    fn problems_elsewhere(&self) -> impl Iterator<Item = (&str, &Path, &[Diagnostic])> {
        self.elsewhere.iter().filter_map(|(server, it)| Some((&**server, &*it.path, it.new.as_deref().ok()?)))
    }

    /// Converts to the stable JSON for programs: `{"state": "clean" | "new" | "existing" | "unknown", "new",
    /// "newCount", "existing", "servers", "text"}`.
    pub(crate) fn to_json(&self) -> Value {
        let (new, existing) = (self.new_problems(), self.existing());
        let state = match (new.len(), self.unanswered().next(), existing) {
            (1.., ..) => "new",
            (0, Some(_), _) => "unknown",
            (0, None, 1..) => "existing",
            (0, None, 0) => "clean",
        };
        json!({
            "elsewhere": self.elsewhere.iter().map(|(server, it)| other_file_data(server, it)).collect::<Vec<Value>>(),
            "state": state,
            "new": new.iter().take(DATA_PROBLEMS_MAX).map(problem_data).collect::<Vec<Value>>(),
            "newCount": new.len(),
            "existing": existing,
            "text": self.text(),
            "servers": self.reports.iter().map(server_data).collect::<Vec<Value>>(),
        })
    }
}

/// Returns what a server reports about another file as JSON.
fn other_file_data(server: &str, it: &OtherFileReport) -> Value {
    let mut out = json!({ "filePath": shown(&it.path), "server": server, "known": it.new.is_ok() });
    match &it.new {
        Ok(new) => {
            out["newCount"] = new.len().into();
            out["new"] = new.iter().take(DATA_PROBLEMS_MAX).map(Diagnostic::to_json).collect();
        }
        Err(unknown) => out["reason"] = unknown.reason.name().into(),
    }
    out
}

/// Returns the answer of a server as JSON.
fn server_data(report: &ServerReport) -> Value {
    match &report.answer {
        Ok(found) => json!({
            "name": report.server, "known": true, "basis": found.basis.name(), "new": found.new.len(),
            "existing": found.existing,
        }),
        Err(unknown) => json!({
            "name": report.server, "known": false, "reason": unknown.reason.name(), "detail": unknown.detail,
        }),
    }
}

/// Returns a problem as JSON.
fn problem_data(it: &ServerProblem<'_>) -> Value {
    let mut out = it.problem.to_json();
    out["server"] = it.server.into();
    out
}

/// Formats problems, one per line.
pub(crate) fn problem_list(problems: &[ServerProblem<'_>], most: usize) -> String {
    let mut out = String::new();
    for ServerProblem { server, problem } in problems.iter().take(most) {
        let (line, column) = problem.start;
        let code = problem.code.as_ref().map_or(String::new(), |code| format!(" {code}"));
        let severity = problem.severity.name();
        let _ = writeln!(out, "  {line}:{column} {severity}: {} [{server}{code}]", problem.message);
    }
    if problems.len() > most {
        let _ = writeln!(out, "  … and {} more", problems.len() - most);
    }
    out
}

/// Formats the reason for a missing result.
pub(crate) fn reason(unknown: &DiagnosticsFailure) -> String {
    let name = unknown.reason.name();
    if unknown.detail.is_empty() { name.to_owned() } else { format!("{name}: {}", unknown.detail) }
}
