//! The tool `check`: problems that the grammar and the language servers find in the current files.

use crate::context::config::ServerTrigger;
use crate::context::policy::Access;
use crate::context::syntax::grammars;
use crate::context::{Context, LoadedFile};
use crate::model::call_context::CallContext;
use crate::model::reply::Answer;
use crate::pipeline::report::diagnose::{
    Diagnosis, DiagnosisTarget, ServerReport, ask_servers, exact, problem_list, reason,
};
use crate::session::suggest::file_not_found;
use emendate_core::formats::{self, FormatInput};
use emendate_core::refusals::check_count;
use emendate_core::{Code, Error, Result};
use emendate_fs::SafePath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Files of a call.
pub(crate) const CHECKED_FILES_MAX: usize = 50;
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
    /// The absolute paths of the files.
    paths: Vec<String>,
    /// Milliseconds to wait for language servers; 30000 if nothing is said.
    timeout_ms: Option<u64>,
}

/// Runs the tool `check`. Files shown by it do not count as read.
pub(crate) fn check(context: &Context, caller: &CallContext, input: Value) -> Result<Answer> {
    let args: CheckInput = formats::from_json(FormatInput::Json(input))?;
    if args.paths.is_empty() {
        let error = Error::new(Code::CallInvalid, "paths is empty.");
        return Err(error.next("Name the files to check in paths."));
    }
    check_count(args.paths.len(), CHECKED_FILES_MAX, "files to check")?;
    let mut files: Vec<(SafePath, LoadedFile)> = Vec::with_capacity(args.paths.len());
    for path in &args.paths {
        let place = context.resolve_path(Path::new(path), Access::Read)?;
        let opened = context.snapshot(&place, None, "")?.ok_or_else(|| file_not_found(context, &place, caller))?;
        files.push((place, opened));
    }
    let subjects: Vec<DiagnosisTarget<'_>> = files
        .iter()
        .map(|(place, opened)| DiagnosisTarget {
            place,
            before: None,
            after: Some(exact(&opened.snapshot)),
            edits: Vec::new(),
            written: false,
            copied: false,
        })
        .collect();
    let time = Duration::from_millis(args.timeout_ms.unwrap_or(TIMEOUT_MS_DEFAULT).min(TIMEOUT_MS_MAX));
    let (said, _) = ask_servers(context, &subjects, |server| server.when != ServerTrigger::Off, Some(time));
    let mut answer = Answer::default();
    let (mut rows, mut problems, mut unknown) = (Vec::new(), 0, 0);
    for ((place, opened), said) in files.iter().zip(said) {
        let grammar = grammars(context, caller)
            .syntax_problem(place, &opened.snapshot)
            .map(|answer| ServerReport { server: "syntax".to_owned(), answer });
        let diagnosis = Diagnosis {
            said: grammar.into_iter().chain(said).collect(),
            most: LISTED_PROBLEMS_MAX,
            elsewhere: Vec::new(),
        };
        answer.text.push_str(&told(place, &diagnosis));
        problems += diagnosis.new_problems().len();
        unknown += diagnosis.unanswered().count() + usize::from(diagnosis.said.is_empty());
        rows.push(json!({ "filePath": place.shown(), "diagnostics": diagnosis.to_json() }));
    }
    answer.data = Map::from_iter([
        ("files".to_owned(), Value::Array(rows)),
        ("problems".to_owned(), problems.into()),
        ("unknown".to_owned(), unknown.into()),
    ]);
    Ok(answer)
}

/// Formats the problems of a file.
fn told(place: &SafePath, diagnosis: &Diagnosis) -> String {
    let (path, by, problems) = (place.shown(), diagnosis.answering_servers(), diagnosis.new_problems());
    if diagnosis.said.is_empty() {
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
