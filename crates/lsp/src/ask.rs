//! Requests for the problems of a text, and the conditions under which an answer is reliable.

use crate::live::Live;
use crate::message::{AGAIN, Fault, NO_METHOD, TSSERVER, uri};
use crate::problem::{Problem, listed, listed_by_tsserver};
use crate::servers::{Basis, Unknown, Why};
use serde_json::{Value, json};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Time without further diagnostics after which those of a server that names versions are final: some publish twice.
const SPOKEN: Duration = Duration::from_millis(100);
/// Pause before a request is repeated.
const AGAIN_IN: Duration = Duration::from_millis(50);

/// Commands for a `tsserver`, in order.
const SYNTAX_AND_SENSE: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// A pending request for problems.
#[derive(Clone, Copy)]
pub(crate) enum Question {
    Pull(i64),
    Tsserver([i64; 2]),
    /// None: the server publishes diagnostics unasked.
    None,
}

impl Live {
    /// Requests the problems of a text.
    pub(crate) fn question(&self, path: &Path) -> Question {
        let mut state = self.state();
        if state.abilities.pull {
            let params = json!({ "textDocument": { "uri": uri(path) } });
            return Question::Pull(self.ask(&mut state, "textDocument/diagnostic", &params));
        }
        if state.abilities.tsserver {
            let file = json!({ "file": path.to_string_lossy(), "includeLinePosition": true });
            return Question::Tsserver(SYNTAX_AND_SENSE.map(|command| {
                let params = json!({ "command": TSSERVER, "arguments": [command, file] });
                self.ask(&mut state, "workspace/executeCommand", &params)
            }));
        }
        Question::None
    }

    /// Returns the problems of that version of a text, if they are reliable.
    pub(crate) fn problems(
        &self,
        (path, version): (&Path, i64),
        question: Question,
        until: Instant,
    ) -> Result<(Vec<Problem>, Basis), Unknown> {
        match question {
            Question::Pull(id) => self.pulled((path, version), id, until),
            Question::Tsserver(ids) => self.by_tsserver((path, version), ids, until),
            Question::None => self.pushed((path, version), until),
        }
    }

    fn pulled(
        &self,
        (path, version): (&Path, i64),
        mut id: i64,
        until: Instant,
    ) -> Result<(Vec<Problem>, Basis), Unknown> {
        loop {
            let heard = self.answer(id, until)?;
            match heard.answer {
                Ok(_) if !heard.loaded => {
                    self.wait(until, Why::Starting, |state| state.has_loaded(&self.spec).then_some(()))?;
                }
                Ok(mut report) => {
                    let Value::Array(items) = report["items"].take() else {
                        return Err(Unknown::new(Why::Failed, "its report has no list".to_owned()));
                    };
                    return Ok((self.listed((path, version), &items)?, Basis::Asked));
                }
                Err(Fault { code: NO_METHOD, .. }) => {
                    self.state().abilities.pull = false;
                    return self.pushed((path, version), until);
                }
                Err(fault) if AGAIN.contains(&fault.code) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(Unknown::of(Why::Timeout));
                    }
                    thread::sleep(AGAIN_IN.min(left));
                }
                Err(fault) => return Err(Unknown::refused(&fault.message)),
            }
            let Question::Pull(again) = self.question(path) else {
                return self.pushed((path, version), until);
            };
            id = again;
        }
    }

    fn by_tsserver(
        &self,
        (path, version): (&Path, i64),
        ids: [i64; 2],
        until: Instant,
    ) -> Result<(Vec<Problem>, Basis), Unknown> {
        let mut all = Vec::new();
        // Both answers are awaited, so that none is left over.
        for answer in ids.map(|id| self.answer(id, until)) {
            let mut said = answer?.answer.map_err(|fault| Unknown::refused(&fault.message))?;
            let Value::Array(items) = said["body"].take() else {
                return Err(Unknown::refused(said["message"].as_str().unwrap_or_default()));
            };
            all.extend(items);
        }
        let text = self.state().text_of((path, version))?;
        Ok((self.kept(listed_by_tsserver(&all, &text)), Basis::Asked))
    }

    fn pushed(&self, (path, version): (&Path, i64), until: Instant) -> Result<(Vec<Problem>, Basis), Unknown> {
        let settle = self.spec.settle;
        let heard = self.wait(until, Why::Timeout, |state| {
            if let Err(unknown) = state.text_of((path, version)) {
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
                (Some(about), _) if about == version => {
                    (since >= settle.unwrap_or(SPOKEN)).then(|| Ok((published.items.clone(), Basis::Version)))
                }
                (Some(_), _) => None,
                (None, None) => {
                    let why = "it does not say which text it speaks of; settle_ms in the configuration lets it be believed \
                               after a silence";
                    Some(Err(Unknown::new(Why::Version, why.to_owned())))
                }
                (None, Some(settle)) => {
                    (at_rest && since >= settle).then(|| Ok((published.items.clone(), Basis::Silence)))
                }
            }
        });
        let (items, basis) = heard??;
        Ok((self.listed((path, version), &items)?, basis))
    }

    fn listed(&self, document: (&Path, i64), items: &[Value]) -> Result<Vec<Problem>, Unknown> {
        let (text, encoding) = {
            let state = self.state();
            (state.text_of(document)?, state.abilities.encoding)
        };
        Ok(self.kept(listed(items, &text, encoding)))
    }

    fn kept(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        problems.retain(|problem| problem.severity <= self.spec.least);
        problems
    }
}
