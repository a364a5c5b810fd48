//! References: the places at which a project uses a name, as a server knows them.

use crate::message::{RETRY_CODES, path, uri};
use crate::position::LineStarts;
use crate::running::RunningServer;
use crate::servers::{DiagnosticsFailure, FileText, Servers, UnknownReason};
use crate::spec::ServerSpec;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Pause before a request is repeated.
const AGAIN_IN: Duration = Duration::from_millis(50);
/// References that one answer may have.
const REFERENCES_MAX: usize = 10_000;

/// A place at which a name is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The file.
    pub path: PathBuf,
    /// The 1-based line.
    pub line: usize,
}

impl Servers {
    /// Asks a server where the name at a byte of a text is used, in all files of the project below `root`.
    ///
    /// Errors: a server that cannot be started, does not know references, or does not answer in time.
    pub fn references(
        &self,
        spec: &Arc<ServerSpec>,
        root: &Path,
        text: FileText<'_>,
        language: &str,
        at: usize,
        time: Duration,
    ) -> Result<Vec<Reference>, DiagnosticsFailure> {
        let until = Instant::now() + time;
        let live = self.live(spec, root)?;
        live.ready(until)?;
        live.show(text.path, language, text.text, until)?;
        let encoding = {
            let state = live.state();
            if !state.abilities.references {
                return Err(DiagnosticsFailure::new(UnknownReason::Failed, "it does not know references".to_owned()));
            }
            state.abilities.encoding
        };
        let params = json!({
            "textDocument": { "uri": uri(text.path) },
            "position": LineStarts::new(text.text).position(at, encoding),
            "context": { "includeDeclaration": false },
        });
        located(&live, &params, until)
    }
}

/// Asks until the server has loaded the project and answers.
fn located(live: &RunningServer, params: &Value, until: Instant) -> Result<Vec<Reference>, DiagnosticsFailure> {
    loop {
        let id = live.ask(&mut live.state(), "textDocument/references", params);
        let heard = live.answer(id, until)?;
        match heard.answer {
            Ok(_) if !heard.loaded => {
                live.wait(until, UnknownReason::Starting, |state| state.has_loaded(&live.spec).then_some(()))?;
            }
            Ok(answer) => {
                let items = answer.as_array().map_or(&[][..], Vec::as_slice);
                let mut all: Vec<Reference> = items.iter().take(REFERENCES_MAX).filter_map(reference).collect();
                all.sort();
                all.dedup();
                return Ok(all);
            }
            Err(fault) if RETRY_CODES.contains(&fault.code) => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(DiagnosticsFailure::of(UnknownReason::Timeout));
                }
                thread::sleep(AGAIN_IN.min(left));
            }
            Err(fault) => return Err(DiagnosticsFailure::refused(&fault.message)),
        }
    }
}

/// A location of the protocol.
fn reference(location: &Value) -> Option<Reference> {
    let line = location["range"]["start"]["line"].as_u64()?;
    Some(Reference { path: path(location["uri"].as_str()?)?, line: usize::try_from(line).ok()?.checked_add(1)? })
}

#[cfg(test)]
mod tests {
    use super::{Reference, reference};
    use serde_json::json;

    #[test]
    fn location_is_a_file_and_a_line() {
        let at = |uri: &str| json!({ "uri": uri, "range": { "start": { "line": 2, "character": 1 } } });
        assert_eq!(reference(&at("file:///a%20b.rs")), Some(Reference { path: "/a b.rs".into(), line: 3 }));
        assert_eq!(reference(&at("http://x/y")), None);
        assert_eq!(reference(&json!({ "uri": "file:///a" })), None);
    }
}
