//! The state that all requests share.

use crate::ReviewOptions;
use crate::access::VisitorAccess;
use crate::live::HistoryState;
use crate::ticks::Ticks;
use crate::visits::Visits;
use emendate::core::Result;
use emendate::{CallContext, ChangeScope, Engine, ScopeChanges};
use emendate_http::BodyReader;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, watch};

/// The state that all requests share.
pub(crate) struct ReviewState {
    pub(crate) engine: Arc<Engine>,
    pub(crate) caller: CallContext,
    pub(crate) options: ReviewOptions,
    pub(crate) visits: Visits,
    pub(crate) ticks: Ticks,
    pub(crate) access: VisitorAccess,
    /// The changes that were shown last, with the state of the history.
    pub(crate) seen: Mutex<Option<SeenScope>>,
    pub(crate) bodies: BodyReader,
    pub(crate) connections: Arc<Semaphore>,
    pub(crate) calls: Semaphore,
    pub(crate) running: watch::Sender<usize>,
    pub(crate) closing: watch::Sender<bool>,
    pub(crate) history: watch::Sender<HistoryState>,
}

/// The changes of a scope at a moment.
pub(crate) struct SeenScope {
    scope: ChangeScope,
    newest: String,
    changes: Arc<ScopeChanges>,
}

impl ReviewState {
    /// Returns a text with the names of files as the page has them: relative to their roots.
    pub(crate) fn relative(&self, text: &str) -> String {
        let names = self.engine.review().workspaces();
        let is_alone = names.len() == 1;
        let roots = self.engine.roots().into_iter().zip(&names).filter(|(root, _)| root.parent().is_some());
        roots.fold(text.to_owned(), |text, (root, name)| {
            let name = if is_alone { String::new() } else { format!("{}/", emendate::fs::shown(name)) };
            text.replace(&format!("{}/", emendate::fs::shown(root)), &name)
        })
    }

    /// Returns the changes of a scope. Those of the last one are kept: a page asks for its files one by one.
    ///
    /// Errors: those of the history.
    pub(crate) fn changes(&self, scope: &ChangeScope) -> Result<Arc<ScopeChanges>> {
        // An operation never changes.
        let newest = match scope {
            ChangeScope::Operation(_) => String::new(),
            _ => self.engine.review().newest_operations()?.join(","),
        };
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen().as_ref().filter(|known| known.scope == *scope && known.newest == newest) {
            return Ok(Arc::clone(&known.changes));
        }
        let changes = Arc::new(self.engine.review().scope_changes(scope)?);
        *seen() = Some(SeenScope { scope: scope.clone(), newest, changes: Arc::clone(&changes) });
        Ok(changes)
    }
}
