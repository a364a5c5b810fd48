//! Refused calls of a workspace with their reasons, and the models of its sessions: files beside the history, which
//! people read afterwards.

use crate::context::call::Call;
use crate::context::{Context, policy};
use emendate_core::{Code, Error};
use emendate_events::{Refusal, SessionModels, newest_refusals, push_model, push_refusal};
use std::path::{Path, PathBuf};

/// Name of the file with refused calls.
const REFUSALS_FILE: &str = "refused";
/// Name of the file with the models of sessions.
const MODELS_FILE: &str = "models";

/// Facts about a refused call that the error does not have.
pub(crate) struct RefusedCall<'a> {
    pub(crate) at: u64,
    pub(crate) tool: &'a str,
    pub(crate) format: &'a str,
    /// The path in the input.
    pub(crate) path: Option<&'a str>,
    /// Bytes of text in the input.
    pub(crate) input: usize,
}

/// Returns a file beside the history of a root; `None` if the history is not on disk.
fn file_of(context: &Context, root: usize, name: &str) -> Option<PathBuf> {
    context.history(root).directory().map(|directory| directory.join(name))
}

/// Keeps a refused call for the owner. A call that was cancelled or asks a person was not refused. For a call that may be
/// about a secret file, no text is kept that could quote the file: neither evidence nor the next call nor suggestions.
pub(crate) fn keep_refusal(call: Call<'_>, refused: &RefusedCall<'_>, error: &Error) {
    if call.caller.dry_run || matches!(error.code(), Code::CallCancelled | Code::AccessAsk) {
        return;
    }
    let safe_path = refused.path.and_then(|path| call.store().resolve_no_follow(Path::new(path)).ok());
    let root = safe_path.as_ref().map_or(0, emendate_fs::SafePath::root);
    let Some(file) = file_of(&call, root, REFUSALS_FILE) else { return };
    // A call about several files may be about a secret one, too.
    let is_plain = safe_path.is_some_and(|safe_path| !policy::is_secret(&safe_path));
    let facts = error.data().iter().filter(|(_, value)| is_plain || !value.is_string());
    let client = call.caller.client.as_deref();
    let refusal = Refusal {
        at: refused.at,
        tool: refused.tool.to_owned(),
        format: refused.format.to_owned(),
        code: error.code().as_str().to_owned(),
        message: error.message().to_owned(),
        evidence: if is_plain { error.evidence_text().to_owned() } else { String::new() },
        next: if is_plain { error.next_step().to_owned() } else { String::new() },
        path: refused.path.unwrap_or_default().to_owned(),
        input: refused.input as u64,
        session: call.caller.session.clone(),
        model: client.map_or(String::new(), |client| client.model.clone()),
        facts: facts.map(|(key, value)| (key.clone(), value.clone())).collect(),
    };
    // The file is a record for people: a call does not fail because of it.
    let _ = push_refusal(&file, &refusal);
}

/// Returns the newest refused calls of all roots, the newest first.
pub(crate) fn refusals(context: &Context, most: usize) -> Vec<Refusal> {
    let files = (0..context.root_count()).filter_map(|root| file_of(context, root, REFUSALS_FILE));
    let mut all: Vec<Refusal> = files.flat_map(|file| newest_refusals(&file, most).unwrap_or_default()).collect();
    all.sort_by_key(|refusal| std::cmp::Reverse(refusal.at));
    all.truncate(most);
    all
}

/// Notes the model behind a session, where it is not the one that was noted last.
pub(crate) fn note_model(call: Call<'_>, at: u64) {
    let Some(model) = call.caller.client.as_deref().map(|client| &client.model).filter(|model| !model.is_empty())
    else {
        return;
    };
    let before = call.memory.noted_models.put(call.caller.session.clone(), model.clone());
    if before.as_ref() == Some(model) {
        return;
    }
    for root in 0..call.root_count() {
        let Some(file) = file_of(&call, root, MODELS_FILE) else { continue };
        if SessionModels::read(&file).model_of(&call.caller.session, u64::MAX) != model {
            // Without it, the operations are those of an unknown model.
            let _ = push_model(&file, &call.caller.session, model, at);
        }
    }
}

/// Returns the models of the sessions of a root.
pub(crate) fn models(context: &Context, root: usize) -> SessionModels {
    file_of(context, root, MODELS_FILE).map(|file| SessionModels::read(&file)).unwrap_or_default()
}
