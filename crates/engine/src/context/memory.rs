//! The state of an engine that it keeps only in memory.

use crate::context::recent_map::RecentMap;
use crate::context::syntax::Parsers;
use emendate_core::ContentId;
use emendate_fs::SafePath;
use emendate_history::OperationId;
use emendate_lsp::Servers;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

/// Entries of a cache.
const CACHED_ENTRIES_MAX: usize = 512;
/// Sessions whose secret registers are kept.
const SECRET_SESSIONS_MAX: usize = 64;

/// Texts by register name.
pub(crate) type RegisterMap = BTreeMap<String, String>;

/// Caches, what waits to be stored, and what must not be stored.
#[derive(Default)]
pub(crate) struct EngineMemory {
    pub(super) buffers: Mutex<Vec<Vec<u8>>>,
    /// The message of the last failure by session, whether the call was a dry run, and path. A program may make a dry
    /// run before the call itself, so a failure of the dry run does not count as the call's first failure.
    pub(crate) failures: RecentMap<(String, bool, PathBuf), String, CACHED_ENTRIES_MAX>,
    /// The last changes by session and path, as far as this process made or looked them up.
    pub(crate) last_changes: RecentMap<(String, Vec<u8>), LastChange, CACHED_ENTRIES_MAX>,
    /// The model that was noted last for each session.
    pub(crate) noted_models: RecentMap<String, String, CACHED_ENTRIES_MAX>,
    /// The named registers of sessions that must not be stored.
    pub(crate) secret_registers: RecentMap<String, RegisterMap, SECRET_SESSIONS_MAX>,
    pub(crate) parsers: Parsers,
    /// The language servers that are running.
    pub(crate) servers: Servers,
    /// Contents that are to be stored.
    pub(super) unstored: Mutex<Vec<UnstoredVersion>>,
    /// The key for the seals of questions.
    pub(super) secret: OnceLock<[u8; 32]>,
    pub(super) unconfirmed: Mutex<Vec<(usize, OperationId)>>,
    /// Comments whose delivery is not recorded yet.
    pub(super) delivered_comments: Mutex<Vec<DeliveredComment>>,
    pub(super) confirm_lock: Mutex<()>,
    /// Set when the client is gone and nothing reads the answers: a running call then stops before it writes anything,
    /// or not at all.
    pub(crate) client_gone: Arc<AtomicBool>,
}

/// The last change of a file by a session.
#[derive(Clone, Copy)]
pub(crate) struct LastChange {
    /// The edit and the hash of its call's input; `None` if it was not an edit, or nothing is known.
    pub(crate) edit: Option<(OperationId, [u8; 16])>,
    /// The content after it.
    pub(crate) after: Option<ContentId>,
}

/// A version that so far exists only in the working file.
pub(crate) struct UnstoredVersion {
    /// Index of the root whose history will store it.
    pub(crate) root: usize,
    pub(crate) path: SafePath,
    pub(crate) content: ContentId,
}

/// A comment that a reply of this process contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeliveredComment {
    /// The root whose history has it.
    pub(crate) root: usize,
    /// The number of the comment in that history.
    pub(crate) number: u64,
    /// The session of the reply.
    pub(crate) session: String,
}
