//! The order of a session's calls.
//!
//! Models send several calls in one turn, and clients pass them on at once. A line number, a cell or an undo means the
//! file as the calls before it leave it, so a call that changes something runs alone within its session, after all that
//! arrived before it. Calls that only read run side by side.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::time::timeout;

/// How long a call that reads waits for changes. Calls of one turn need less; behind a slow hook, it goes ahead.
const READ_WAIT_MAX: Duration = Duration::from_secs(5);

/// The queues of all sessions that have calls.
#[derive(Default)]
pub(crate) struct SessionQueues(Mutex<HashMap<String, Arc<RwLock<()>>>>);

impl SessionQueues {
    /// Waits until the changes of this session that arrived before are done; `None` if that takes too long. The place in
    /// the queue is taken when the returned future is polled first.
    pub(crate) async fn read_turn(&self, session: &str) -> Option<OwnedRwLockReadGuard<()>> {
        timeout(READ_WAIT_MAX, self.queue(session).read_owned()).await.ok()
    }

    /// Waits until all calls of this session that arrived before are done. The place in the queue is taken when the
    /// returned future is polled first.
    pub(crate) async fn change_turn(&self, session: &str) -> OwnedRwLockWriteGuard<()> {
        self.queue(session).write_owned().await
    }

    fn queue(&self, session: &str) -> Arc<RwLock<()>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A queue that no call has or waits for orders nothing.
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        Arc::clone(queues.entry(session.to_owned()).or_default())
    }
}
