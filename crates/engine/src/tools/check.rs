//! The tool `check`: problems that the grammar and the language servers find in the current files.

use crate::context::call::Call;
use crate::context::config::ServerTrigger;
use crate::context::policy::Access;
use crate::context::syntax::language;
use crate::context::{LoadedFile, walk};
use crate::model::reply::Answer;
use crate::pipeline::report::diagnose::{
    Diagnosis, DiagnosisTarget, ServerReport, ask_servers, exact, problem_list, reason,
};
use crate::session::suggest::file_not_found;
use crate::tools::aliases::alias;
use crate::tools::outputs::SYMBOLS_AND_PROBLEMS;
use crate::tools::search::{WalkFilter, WalkStats};
use crate::tools::tool::{Annotations, Tool};
use crate::tools::tool_input::ToolInput;
use emendate_core::formats::{self, FormatInput};
use emendate_core::refusals::check_count;
use emendate_core::{Advice, Code, Error, Result};
use emendate_fs::SafePath;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Files of a call.
pub(crate) const CHECKED_FILES_MAX: usize = 50;
/// Files below directories of a call.
pub(crate) const DIRECTORY_FILES_MAX: usize = 1000;
/// Milliseconds to wait for a server: the default, and the maximum that a call may set.
const TIMEOUT_MS_DEFAULT: u64 = 30_000;
const TIMEOUT_MS_MAX: u64 = 600_000;
/// Problems of one file that the text lists.
const LISTED_PROBLEMS_MAX: usize = 50;

/// The input of `check`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct CheckInput {
    /// The absolute paths of files, or of directories, in which the files of known languages are checked.
    paths: Vec<String>,
    /// Milliseconds to wait for language servers (default 30000).
    timeout_ms: Option<u64>,
}

/// The row of the tool `check` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "check",
    title: "Check files",
    summary: "problems that the grammar and the configured language servers find in files on disk",
    prompt: "\
Lists problems in files, or in the files of directories, as they are on disk: whether they parse, and errors and warnings of the configured language servers, with line and column. A server that has just been started may need timeout_ms; a missing answer means unknown, not good. \
The reply to an edit already lists new problems.",
    annotations: Annotations::READS,
    rest: "Check fewer files in one call.",
    example: r#"{"paths": ["/work/src/main.rs"]}"#,
    aliases: &[alias("paths", &["path", "file_path", "file", "files", "file_paths"])],
    outputs: &[&SYMBOLS_AND_PROBLEMS],
    input: ToolInput::new(|call, _, input| check(call, input), || vec![schema_for!(CheckInput)]),
    ..Tool::ROW
};

/// Runs the tool `check`. Files shown by it do not count as read.
pub(crate) fn check(call: Call<'_>, input: Value) -> Result<Answer> {
    let args: CheckInput = formats::from_json(FormatInput::Json(input))?;
    if args.paths.is_empty() {
        let error = Error::new(Code::CallInvalid, "paths is empty.");
        return Err(error.next(Advice::named("Name the files to check in {paths}.")));
    }
    check_count(args.paths.len(), CHECKED_FILES_MAX, "files to check")?;
    let mut run = CheckRun {
        call,
        time: Duration::from_millis(args.timeout_ms.unwrap_or(TIMEOUT_MS_DEFAULT).min(TIMEOUT_MS_MAX)),
        text: String::new(),
        rows: Vec::new(),
        problems: 0,
        unknown: 0,
        good: 0,
    };
    let mut files: Vec<(SafePath, LoadedFile)> = Vec::new();
    let (mut below, mut notes) = (Vec::new(), Vec::new());
    for path in &args.paths {
        let safe_path = call.store().resolve_path(Path::new(path))?;
        if call.store().list(&safe_path)?.is_some() {
            let walked = run.files_below(&safe_path, &mut below)?;
            if walked.cut || below.len() > DIRECTORY_FILES_MAX {
                below.truncate(DIRECTORY_FILES_MAX);
                notes.push(format!("Files after the first {DIRECTORY_FILES_MAX} below directories are not checked."));
            }
            notes.extend(walked.omissions().into_iter().map(|what| format!("Not checked: {what}.")));
            continue;
        }
        let safe_path = call.resolve_path(Path::new(path), Access::Read)?;
        let opened = call.snapshot(&safe_path, None, "")?.ok_or_else(|| file_not_found(call, &safe_path))?;
        files.push((safe_path, opened));
    }
    run.check(&files, false);
    let is_directory = files.len() < args.paths.len();
    for places in below.chunks(CHECKED_FILES_MAX) {
        run.check(&run.load(places)?, true);
    }
    if is_directory {
        let _ = writeln!(run.text, "{} of {} files have no problems.", run.good, run.rows.len());
    }
    for note in &notes {
        let _ = writeln!(run.text, "Note: {note}");
    }
    let data = Map::from_iter([
        ("files".to_owned(), Value::Array(run.rows)),
        ("problems".to_owned(), run.problems.into()),
        ("unknown".to_owned(), run.unknown.into()),
        ("notes".to_owned(), notes.into()),
    ]);
    Ok(Answer { text: run.text, data, ..Answer::default() })
}

/// A check, and what it found so far.
struct CheckRun<'a> {
    call: Call<'a>,
    /// The time that servers have for the files that are checked together.
    time: Duration,
    text: String,
    rows: Vec<Value>,
    problems: usize,
    unknown: usize,
    /// Files without problems.
    good: usize,
}

impl CheckRun<'_> {
    /// Adds the files below a directory whose language a grammar or a server knows.
    fn files_below(&self, folder: &SafePath, all: &mut Vec<SafePath>) -> Result<WalkStats> {
        let scope = WalkFilter::new(self.call.caller, folder, &[], false, false)?;
        let servers = &self.call.config().servers;
        let walked = walk::walk(&self.call, folder, &scope, &mut |path| {
            let served = || servers.iter().any(|it| it.language(path.relative(), path.absolute()).is_some());
            if language(path, "").is_some() || served() {
                all.push(path.clone());
            }
            Ok(if all.len() <= DIRECTORY_FILES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        self.call.caller.check_cancelled()?;
        Ok(walked)
    }

    /// Loads files of a directory, without those that are gone, secret or not text.
    fn load(&self, places: &[SafePath]) -> Result<Vec<(SafePath, LoadedFile)>> {
        self.call.caller.check_cancelled()?;
        let loaded = places.iter().filter_map(|path| {
            let access = self.call.check_access(path, Access::Read);
            let opened = access.and_then(|()| self.call.snapshot(path, None, "")).ok().flatten()?;
            Some((path.clone(), opened))
        });
        Ok(loaded.collect())
    }

    /// Checks files together. With `briefly`, the reply omits files without problems, and files that neither a grammar
    /// nor a server knows.
    fn check(&mut self, files: &[(SafePath, LoadedFile)], briefly: bool) {
        let subjects: Vec<DiagnosisTarget<'_>> = files
            .iter()
            .map(|(path, opened)| DiagnosisTarget {
                path,
                before: None,
                after: Some(exact(&opened.snapshot)),
                edits: Vec::new(),
                written: false,
                copied: false,
            })
            .collect();
        let (reports, _) =
            ask_servers(&self.call, &subjects, |server| server.when != ServerTrigger::Off, Some(self.time));
        for ((path, opened), reports) in files.iter().zip(reports) {
            let grammar = self
                .call
                .grammars()
                .syntax_problem(path, &opened.snapshot)
                .map(|answer| ServerReport { server: "syntax".to_owned(), answer });
            let diagnosis = Diagnosis {
                reports: grammar.into_iter().chain(reports).collect(),
                most: LISTED_PROBLEMS_MAX,
                elsewhere: Vec::new(),
            };
            if briefly && diagnosis.reports.is_empty() {
                continue;
            }
            let problems = diagnosis.new_problems().len();
            let unknown = diagnosis.unanswered().count() + usize::from(diagnosis.reports.is_empty());
            self.problems += problems;
            self.unknown += unknown;
            self.good += usize::from(problems + unknown == 0);
            if !briefly || problems + unknown > 0 {
                self.text.push_str(&render_diagnosis(path, &diagnosis));
            }
            self.rows.push(json!({ "filePath": path.shown(), "diagnostics": diagnosis.to_json() }));
        }
    }
}

/// Formats the problems of a file.
fn render_diagnosis(safe_path: &SafePath, diagnosis: &Diagnosis) -> String {
    let (path, by, problems) = (safe_path.shown(), diagnosis.answering_servers(), diagnosis.new_problems());
    if diagnosis.reports.is_empty() {
        return format!(
            "{path}: not checked; its language is not known here, and no language server is configured for it.\n"
        );
    }
    let mut out = String::new();
    if !by.is_empty() {
        let _ = match problems.len() {
            0 => writeln!(out, "{path}: no problems ({by})."),
            1 => writeln!(out, "{path}: 1 problem ({by}):"),
            n => writeln!(out, "{path}: {n} problems ({by}):"),
        };
        out.push_str(&problem_list(&problems, diagnosis.most));
    }
    for (server, unknown) in diagnosis.unanswered() {
        let _ = writeln!(out, "{path}: unknown to {server} ({}).", reason(unknown));
    }
    out
}
