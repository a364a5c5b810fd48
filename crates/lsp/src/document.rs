//! The texts that a server was shown.

use crate::message::{SyncKind, uri};
use crate::position::{LineStarts, PositionEncoding, common_ends};
use crate::running::{RunningServer, ServerStage, ServerState};
use crate::servers::{DiagnosticsFailure, UnknownReason};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of texts open in a server.
const OPEN_TEXTS_MAX: usize = 64;

/// Diagnostics that a server published for a text.
pub(crate) struct PublishedDiagnostics {
    /// The version that they refer to, according to the server.
    pub(crate) version: Option<i64>,
    pub(crate) items: Vec<Value>,
    pub(crate) when: Instant,
}

/// A text as the server was last shown it.
pub(crate) struct OpenDocument {
    pub(crate) version: i64,
    pub(crate) text: Arc<str>,
    used: u64,
    /// Diagnostics published since this version was shown.
    pub(crate) published: Option<PublishedDiagnostics>,
}

/// All open texts. Versions are never reused, so late diagnostics of a closed file cannot match when it is opened
/// again.
#[derive(Default)]
pub(crate) struct OpenDocuments {
    pub(crate) open: HashMap<PathBuf, OpenDocument>,
    last_version: i64,
    uses: u64,
}

impl OpenDocuments {
    /// Stores a text and returns its version.
    fn put(&mut self, path: &Path, text: &str) -> i64 {
        self.last_version += 1;
        self.uses += 1;
        let document = OpenDocument { version: self.last_version, text: text.into(), used: self.uses, published: None };
        self.open.insert(path.to_owned(), document);
        self.last_version
    }

    /// Returns the texts shown most recently, except some: path, version and text.
    pub(crate) fn latest(&self, most: usize, but: impl Fn(&Path) -> bool) -> Vec<(PathBuf, i64, Arc<str>)> {
        let mut all: Vec<(&PathBuf, &OpenDocument)> = self.open.iter().filter(|(path, _)| !but(path)).collect();
        all.sort_by_key(|(_, document)| std::cmp::Reverse(document.used));
        let latest = all.into_iter().take(most);
        latest.map(|(path, document)| (path.clone(), document.version, Arc::clone(&document.text))).collect()
    }

    /// Returns the text that was not shown for the longest time.
    fn oldest(&self) -> Option<PathBuf> {
        self.open.iter().min_by_key(|(_, document)| document.used).map(|(path, _)| path.clone())
    }
}

impl RunningServer {
    /// Shows a text to the server and returns its version.
    ///
    /// Errors: the server is gone or does not accept texts; or it does not answer a request that must come first.
    pub(crate) fn show(
        &self,
        path: &Path,
        language: &str,
        text: &str,
        until: Instant,
    ) -> Result<i64, DiagnosticsFailure> {
        let mut state = self.state();
        if let ServerStage::Gone(why) = &state.stage {
            return Err(DiagnosticsFailure::new(UnknownReason::Crashed, why.clone()));
        }
        if !state.abilities.opens {
            return Err(DiagnosticsFailure::new(UnknownReason::Failed, "it takes no texts".to_owned()));
        }
        if let Some(document) = state.documents.open.get_mut(path) {
            if *document.text == *text {
                return Ok(document.version);
            }
            if self.reopens(&state) || state.abilities.sync == SyncKind::None {
                drop(state);
                self.close_for_good(path, until)?;
                state = self.state();
            }
        }
        let uri = uri(path);
        let Some(old) = state.documents.open.get(path).map(|document| Arc::clone(&document.text)) else {
            while state.documents.open.len() >= OPEN_TEXTS_MAX
                && let Some(oldest) = state.documents.oldest()
            {
                self.close(&mut state, &oldest);
            }
            let version = state.documents.put(path, text);
            let document = json!({ "uri": uri, "languageId": language, "version": version, "text": text });
            self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
            return Ok(version);
        };
        let version = state.documents.put(path, text);
        let change = match state.abilities.sync {
            SyncKind::Incremental => difference(&old, text, state.abilities.encoding),
            SyncKind::Full | SyncKind::None => json!({ "text": text }),
        };
        let document = json!({ "uri": uri, "version": version });
        self.notify("textDocument/didChange", &json!({ "textDocument": document, "contentChanges": [change] }));
        Ok(version)
    }

    /// True for a server that gets a changed text by closing and opening it, because its diagnostics name no version.
    fn reopens(&self, state: &ServerState) -> bool {
        self.spec.settle.is_some() && !state.abilities.pull && !state.abilities.tsserver
    }

    /// Closes a text, and waits until the server has processed that: later diagnostics belong to the next version.
    fn close_for_good(&self, path: &Path, until: Instant) -> Result<(), DiagnosticsFailure> {
        let question = {
            let mut state = self.state();
            self.close(&mut state, path);
            self.ask(&mut state, "workspace/symbol", &json!({ "query": "emend-was-here" }))
        };
        self.answer(question, until).map(drop)
    }

    /// Closes a text if it is open.
    pub(crate) fn close(&self, state: &mut ServerState, path: &Path) {
        if state.documents.open.remove(path).is_some() {
            self.notify("textDocument/didClose", &json!({ "textDocument": { "uri": uri(path) } }));
        }
    }

    /// Reports that a text was saved as it was shown.
    pub(crate) fn notify_saved(&self, path: &Path) {
        let state = self.state();
        let Some(document) = state.documents.open.get(path).filter(|_| state.abilities.saves) else { return };
        let mut params = json!({ "textDocument": { "uri": uri(path) } });
        if state.abilities.saves_text {
            params["text"] = (*document.text).into();
        }
        self.notify("textDocument/didSave", &params);
    }
}

/// Returns the change between two texts in the form of the protocol: a single replaced range.
fn difference(old: &str, new: &str, encoding: PositionEncoding) -> Value {
    let (head, tail) = common_ends(old, new);
    let lines = LineStarts::new(old);
    let range = json!({
        "start": lines.position(head, encoding), "end": lines.position(old.len() - tail, encoding),
    });
    json!({ "range": range, "text": new.get(head..new.len() - tail).unwrap_or_default() })
}
