//! Requests for the problems of a text, and the conditions under which an answer is reliable.

use crate::diagnostic::{DIAGNOSTICS_MAX, Diagnostic, TooManyDiagnostics, parse_items, parse_tsserver_items};
use crate::message::{METHOD_NOT_FOUND, RETRY_CODES, ResponseError, TSSERVER_COMMAND, uri};
use crate::running::RunningServer;
use crate::servers::{AnswerBasis, DiagnosticsFailure, UnknownReason};
use serde_json::{Value, json};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Time without further diagnostics after which those of a server that names versions are final: some publish twice.
const VERSIONED_SETTLE: Duration = Duration::from_millis(100);
/// Pause before a request is repeated.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Commands for a `tsserver`, in order.
const TSSERVER_COMMANDS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// A pending request for problems.
#[derive(Clone, Copy)]
pub(crate) enum DiagnosticRequest {
    Pull(i64),
    Tsserver([i64; 2]),
    /// None: the server publishes diagnostics unasked.
    None,
}

impl RunningServer {
    /// Requests the problems of a text.
    pub(crate) fn question(&self, path: &Path) -> DiagnosticRequest {
        let mut state = self.state();
        if state.abilities.pull {
            let params = json!({ "textDocument": { "uri": uri(path) } });
            return DiagnosticRequest::Pull(self.ask(&mut state, "textDocument/diagnostic", &params));
        }
        if state.abilities.tsserver {
            let file = json!({ "file": path.to_string_lossy(), "includeLinePosition": true });
            return DiagnosticRequest::Tsserver(TSSERVER_COMMANDS.map(|command| {
                let params = json!({ "command": TSSERVER_COMMAND, "arguments": [command, file] });
                self.ask(&mut state, "workspace/executeCommand", &params)
            }));
        }
        DiagnosticRequest::None
    }

    /// Returns the problems of that version of a text, if they are reliable.
    pub(crate) fn problems(
        &self,
        path: &Path,
        version: i64,
        question: DiagnosticRequest,
        until: Instant,
    ) -> Result<(Vec<Diagnostic>, AnswerBasis), DiagnosticsFailure> {
        match question {
            DiagnosticRequest::Pull(id) => self.pulled(path, version, id, until),
            DiagnosticRequest::Tsserver(ids) => self.by_tsserver(path, version, ids, until),
            DiagnosticRequest::None => self.pushed(path, version, until),
        }
    }

    fn pulled(
        &self,
        path: &Path,
        version: i64,
        mut id: i64,
        until: Instant,
    ) -> Result<(Vec<Diagnostic>, AnswerBasis), DiagnosticsFailure> {
        loop {
            let heard = self.answer(id, until)?;
            match heard.answer {
                Ok(_) if !heard.loaded => {
                    self.wait(until, UnknownReason::Starting, |state| state.has_loaded(&self.spec).then_some(()))?;
                }
                Ok(mut report) => {
                    let Value::Array(items) = report["items"].take() else {
                        return Err(DiagnosticsFailure::new(
                            UnknownReason::Failed,
                            "its report has no list".to_owned(),
                        ));
                    };
                    return Ok((self.listed(path, version, &items)?, AnswerBasis::Asked));
                }
                Err(ResponseError { code: METHOD_NOT_FOUND, .. }) => {
                    self.state().abilities.pull = false;
                    return self.pushed(path, version, until);
                }
                Err(fault) if RETRY_CODES.contains(&fault.code) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(DiagnosticsFailure::of(UnknownReason::Timeout));
                    }
                    thread::sleep(RETRY_AFTER.min(left));
                }
                Err(fault) => return Err(DiagnosticsFailure::refused(&fault.message)),
            }
            let DiagnosticRequest::Pull(again) = self.question(path) else {
                return self.pushed(path, version, until);
            };
            id = again;
        }
    }

    fn by_tsserver(
        &self,
        path: &Path,
        version: i64,
        ids: [i64; 2],
        until: Instant,
    ) -> Result<(Vec<Diagnostic>, AnswerBasis), DiagnosticsFailure> {
        let mut all = Vec::new();
        // Both answers are awaited, so that none is left over.
        for answer in ids.map(|id| self.answer(id, until)) {
            let mut said = answer?.answer.map_err(|fault| DiagnosticsFailure::refused(&fault.message))?;
            let Value::Array(items) = said["body"].take() else {
                return Err(DiagnosticsFailure::refused(said["message"].as_str().unwrap_or_default()));
            };
            all.extend(items);
        }
        let text = self.state().text_of(path, version)?;
        let problems = parse_tsserver_items(&all, &text).map_err(too_many)?;
        Ok((self.kept(problems), AnswerBasis::Asked))
    }

    fn pushed(
        &self,
        path: &Path,
        version: i64,
        until: Instant,
    ) -> Result<(Vec<Diagnostic>, AnswerBasis), DiagnosticsFailure> {
        let settle = self.spec.settle;
        let heard = self.wait(until, UnknownReason::Timeout, |state| {
            if let Err(unknown) = state.text_of(path, version) {
                return Some(Err(unknown));
            }
            if !state.has_loaded(&self.spec) {
                return None;
            }
            let at_rest = state.working.is_empty();
            let published = state.documents.open.get(path)?.published.as_ref()?;
            // Diagnostics published before everything was loaded may still be corrected.
            let since = state.loaded.map_or(published.when, |loaded| loaded.max(published.when)).elapsed();
            match (published.version, settle) {
                (Some(about), _) if about == version => (since >= settle.unwrap_or(VERSIONED_SETTLE))
                    .then(|| Ok((published.items.clone(), AnswerBasis::Version))),
                (Some(_), _) => None,
                (None, None) => {
                    let why = "it does not say which version of the text its report is about; with settle_ms in the \
                               configuration the report counts after a pause";
                    Some(Err(DiagnosticsFailure::new(UnknownReason::Version, why.to_owned())))
                }
                (None, Some(settle)) => {
                    (at_rest && since >= settle).then(|| Ok((published.items.clone(), AnswerBasis::Silence)))
                }
            }
        });
        let (items, basis) = heard??;
        Ok((self.listed(path, version, &items)?, basis))
    }

    fn listed(&self, path: &Path, version: i64, items: &[Value]) -> Result<Vec<Diagnostic>, DiagnosticsFailure> {
        let (text, encoding) = {
            let state = self.state();
            (state.text_of(path, version)?, state.abilities.encoding)
        };
        Ok(self.kept(parse_items(items, &text, encoding).map_err(too_many)?))
    }

    fn kept(&self, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        problems.retain(|problem| problem.severity <= self.spec.severity_min);
        problems
    }
}

fn too_many(TooManyDiagnostics: TooManyDiagnostics) -> DiagnosticsFailure {
    let detail = format!("it reports more than {DIAGNOSTICS_MAX} problems of the file");
    DiagnosticsFailure::new(UnknownReason::Limit, detail)
}
