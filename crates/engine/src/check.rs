//! The tool `check`: problems that the grammar and the language servers find in the current files.

use crate::caller::Caller;
use crate::config::Moment;
use crate::diagnose::{Diagnosis, Said, Subject, exact, listed, reason};
use crate::engine::{Engine, Opened};
use crate::limits::check_checked;
use crate::policy::Access;
use crate::reply::Answer;
use emendate_core::formats::{self, Input};
use emendate_core::{Code, Error, Result};
use emendate_fs::Place;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Files of a call.
pub(crate) const MOST_CHECKED: usize = 50;
/// Milliseconds to wait for a server: the default, and the maximum that a call may set.
const TIMEOUT: u64 = 30_000;
const LONGEST: u64 = 600_000;
/// Problems of one file that the text lists.
const LISTED: usize = 50;

/// The input of `check`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The absolute paths of the files.
    paths: Vec<String>,
    /// Milliseconds to wait for language servers; 30000 if nothing is said.
    timeout_ms: Option<u64>,
}

impl Engine {
    /// Runs the tool `check`. Files shown by it do not count as read.
    pub(crate) fn check(&self, caller: &Caller, input: Value) -> Result<Answer> {
        let args: Args = formats::from_json(Input::Json(input))?;
        if args.paths.is_empty() {
            let error = Error::new(Code::CallInvalid, "paths is empty.");
            return Err(error.next("Name the files to check in paths."));
        }
        check_checked(args.paths.len())?;
        let mut files: Vec<(Place, Opened)> = Vec::with_capacity(args.paths.len());
        for path in &args.paths {
            let place = self.admit(Path::new(path), Access::Read)?;
            let opened = self.snapshot(&place, None, "")?.ok_or_else(|| self.missing(&place, caller))?;
            files.push((place, opened));
        }
        let subjects: Vec<Subject<'_>> = files
            .iter()
            .map(|(place, opened)| Subject {
                place,
                before: None,
                after: Some(exact(&opened.snapshot)),
                edits: Vec::new(),
                written: false,
                copied: false,
            })
            .collect();
        let time = Duration::from_millis(args.timeout_ms.unwrap_or(TIMEOUT).min(LONGEST));
        let (said, _) = self.consulted(&subjects, |server| server.when != Moment::Off, Some(time));
        let mut answer = Answer::default();
        let (mut rows, mut problems, mut unknown) = (Vec::new(), 0, 0);
        for ((place, opened), said) in files.iter().zip(said) {
            let grammar = self
                .grammars(caller)
                .said(place, &opened.snapshot)
                .map(|answer| Said { server: "syntax".to_owned(), answer });
            let diagnosis =
                Diagnosis { said: grammar.into_iter().chain(said).collect(), most: LISTED, elsewhere: Vec::new() };
            answer.text.push_str(&told(place, &diagnosis));
            problems += diagnosis.fresh().len();
            unknown += diagnosis.unknown().count() + usize::from(diagnosis.said.is_empty());
            rows.push(json!({ "filePath": place.shown(), "diagnostics": diagnosis.to_json() }));
        }
        answer.data = Map::from_iter([
            ("files".to_owned(), Value::Array(rows)),
            ("problems".to_owned(), problems.into()),
            ("unknown".to_owned(), unknown.into()),
        ]);
        Ok(answer)
    }
}

/// Formats the problems of a file.
fn told(place: &Place, diagnosis: &Diagnosis) -> String {
    let (path, by, problems) = (place.shown(), diagnosis.by(), diagnosis.fresh());
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
        out.push_str(&listed(&problems, diagnosis.most));
    }
    for (server, unknown) in diagnosis.unknown() {
        let _ = writeln!(out, "{path}: unknown to {server} ({}).", reason(unknown));
    }
    out
}
