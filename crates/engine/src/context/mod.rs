//! The state shared by all use cases. Opening a file is part of it: resolve the path, check the policy, read, decode.

pub(crate) mod call;
pub(crate) mod config;
pub(crate) mod config_error;
pub(crate) mod encoding;
pub(crate) mod event_sink;
pub(crate) mod history_stores;
pub(crate) mod hook_programs;
mod ignore_rules;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod policy;
pub(crate) mod recent_map;
mod recovery;
mod replaced_dirs;
pub(crate) mod syntax;
pub(crate) mod threads;
mod version_content;
pub(crate) mod walk;

use crate::context::config::{Config, RuleSource};
use crate::context::config_error::{check_config_readable, restrict};
use crate::context::history_stores::{HistoryStores, StateLocation};
use crate::context::hook_programs::{before_change, before_read};
use crate::context::memory::{DeliveredComment, EngineMemory, UnstoredVersion};
use crate::context::policy::{Access, BlockingRule, Guard};
use emendate_core::{Code, ContentId, DeclaredEncoding, EncodingEvidence, Error, Result, Snapshot, work};
use emendate_events::Sink;
use emendate_fs::{FileMeta, FileVersion, LocalStore, SafePath, Store, UndoneCall, shown};
use emendate_history::{History, HistoryGap, KnownContent, OperationId, Sessions};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Buffers kept for reuse, and bytes of the largest one.
const POOLED_BUFFERS_MAX: usize = 4;
const POOLED_BUFFER_BYTES_MAX: usize = 16 << 20;

/// Names of a project's configuration file; the first existing one counts.
pub const PROJECT_FILES: [&str; 2] = ["emend.toml", ".emend.toml"];
/// Bytes of a configuration file.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Number of locks that serialize edits of one path within this process.
const PATH_LOCKS: usize = 64;

/// The store, histories, configuration, locks and caches of an engine.
pub(crate) struct Context {
    store: Box<dyn Store>,
    pub(crate) history_stores: HistoryStores,
    config: Config,
    /// The state directory, if it is below a root.
    state_directory: Option<PathBuf>,
    path_locks: [Mutex<()>; PATH_LOCKS],
    notices: Mutex<Vec<String>>,
    /// Calls that recovery has undone and whose operations are still in the history.
    undone: Mutex<Vec<UndoneCall>>,
    /// The target of events.
    pub(crate) events: Sink,
    pub(crate) memory: EngineMemory,
}

/// Adds the configuration file of a root. The rules of Claude Code there come last, because the project may ask for
/// them. A file that cannot be read or understood refuses edits.
fn project(store: &dyn Store, root: &Path, mut config: Config, notices: &mut Vec<String>) -> Config {
    if let Some(read) = project_file(root, store).transpose() {
        let added = read.and_then(|(path, bytes)| {
            let (origin, trusted) = (shown(&path), config.trusts(&path, &bytes));
            let source = RuleSource { base: Some(root), ..RuleSource::new(&origin, trusted) };
            config.clone().with_source(&String::from_utf8_lossy(&bytes), source)
        });
        config = added.unwrap_or_else(|error| restrict(config, &error, notices));
    }
    if config.imports_claude() {
        let names = [".claude/settings.json", ".claude/settings.local.json"];
        for read in names.iter().filter_map(|name| read_config(root, store, name).transpose()) {
            let added = read.and_then(|(path, bytes)| {
                let text = String::from_utf8_lossy(&bytes);
                config.clone().with_claude_settings(&text, &shown(&path), root, false)
            });
            config = added.unwrap_or_else(|error| restrict(config, &error, notices));
        }
    }
    config
}

/// Reads the configuration file of a root, as an engine does: its path, and its bytes. `None` if there is none.
///
/// Errors: a file that exists and cannot be read, such as a link that leaves the roots.
pub fn project_file(root: &Path, store: &dyn Store) -> Result<Option<(PathBuf, Vec<u8>)>> {
    PROJECT_FILES.iter().find_map(|name| read_config(root, store, name).transpose()).transpose()
}

/// Reads a file of the configuration; `None` if there is none.
///
/// Errors: a file that exists and cannot be read, such as a link that leaves the roots. Its rules are unknown.
fn read_config(root: &Path, store: &dyn Store, name: &str) -> Result<Option<(PathBuf, Vec<u8>)>> {
    let path = root.join(name);
    let read = store.resolve_path(&path).and_then(|safe_path| store.read(&safe_path, CONFIG_BYTES_MAX, Vec::new()));
    match read {
        Ok(version) => Ok(version.map(|version| (path, version.bytes))),
        // Nothing is there, as far as can be seen without following the last link.
        Err(error) if matches!(error.code(), Code::FileMissing | Code::PathInvalid) => Ok(None),
        Err(error) => {
            let what = format!("{} cannot be read: {}", shown(&path), error.message());
            Err(Error::new(error.code(), what).next("Correct the configuration file; nothing was changed."))
        }
    }
}

/// A file in its current version.
#[derive(Clone)]
pub(crate) struct LoadedFile {
    pub(crate) snapshot: Snapshot,
    pub(crate) meta: FileMeta,
    pub(crate) racy: bool,
}

impl LoadedFile {
    /// Wraps the bytes of a version, whether they are text or not.
    pub(crate) fn binary(version: FileVersion) -> LoadedFile {
        LoadedFile { snapshot: Snapshot::binary(version.bytes), meta: version.meta, racy: version.racy }
    }

    /// The content as a version from which the history may rebuild others.
    pub(crate) fn known_content(&self) -> KnownContent<'_> {
        KnownContent { id: self.snapshot.id(), bytes: self.snapshot.raw() }
    }
}

impl Context {
    /// Opens a context over directories of the local disk. Reads `emend.toml` (or `.emend.toml`) of each root. With a
    /// state directory, half-finished writes of a dead process are first completed or rolled back, as the notices
    /// report.
    ///
    /// An invalid project configuration is a notice: files can be read, and edits are refused.
    ///
    /// Errors: a root that is not a directory.
    pub(crate) fn open(roots: &[PathBuf], state: StateLocation, config: Config) -> Result<Context> {
        let mut notices = Vec::new();
        let store = match &state {
            StateLocation::Directory(directory) => {
                recovery::open_with_journal(roots, &directory.join("journal"), &mut notices)?
            }
            // Recovery would write, and a journal would need a directory that outlives the process.
            StateLocation::Throwaway(_) | StateLocation::Memory | StateLocation::Nowhere => LocalStore::open(roots)?,
        };
        let context = Context::with_store(Box::new(store), state, config);
        context.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
        context.note_recovery();
        Ok(context)
    }

    /// Creates a context over any store. A configuration file that cannot be read or understood refuses edits.
    pub(crate) fn with_store(store: Box<dyn Store>, state: StateLocation, mut config: Config) -> Context {
        let mut notices = Vec::new();
        for root in store.roots() {
            config = project(&*store, &root.canonical, config, &mut notices);
        }
        let roots: Vec<&Path> = store.roots().iter().flat_map(|root| [&*root.given, &*root.canonical]).collect();
        config.note_repeated_roots(&roots);
        notices.extend(config.take_ignored());
        let own = state.directory().and_then(|directory| store.resolve_path(directory).ok());
        let own = own.map(|path| path.absolute().to_owned());
        let (events, event_notices) = event_sink::sink(&config, &state);
        notices.extend(event_notices);
        let history_stores = HistoryStores::new(state, store.roots().len(), config.history);
        Context {
            store,
            history_stores,
            config,
            state_directory: own,
            path_locks: [const { Mutex::new(()) }; PATH_LOCKS],
            notices: Mutex::new(notices),
            undone: Mutex::default(),
            events,
            memory: EngineMemory::default(),
        }
    }

    /// The canonical directories that can be accessed.
    pub(crate) fn roots(&self) -> Vec<&Path> {
        self.store.roots().iter().map(|root| &*root.canonical).collect()
    }

    /// The number of these directories.
    pub(crate) fn root_count(&self) -> usize {
        self.store.roots().len()
    }

    /// The directory with this index.
    pub(crate) fn root_path(&self, root: usize) -> Option<&Path> {
        self.store.roots().get(root).map(|root| &*root.canonical)
    }

    /// The settings in force.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Takes the messages for a person about the configuration and the session store; each is returned once.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.note_recovery();
        let mut all = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        all.extend(self.history_stores.notices());
        // The process may end after this: a notice about events that cannot be written would come too late. Counters
        // alone are in the state directory, which has notices of its own.
        if self.events.has_file() {
            self.events.flush_if_due();
        }
        all.extend(self.events.notices());
        all
    }

    /// Adds a message for a person.
    pub(crate) fn notice(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Adds a message for a person that may come many times in one call.
    pub(crate) fn notice_once(&self, text: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if !notices.contains(&text) {
            notices.push(text);
        }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(crate) fn sessions(&self, path: &SafePath) -> &dyn Sessions {
        self.history(path.root())
    }

    /// The comments that replies of this process contain and that are not recorded as delivered yet.
    pub(crate) fn delivered_comments(&self) -> MutexGuard<'_, Vec<DeliveredComment>> {
        self.memory.delivered_comments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The history of a root: what sessions know of its files, and what they did to them.
    pub(crate) fn history(&self, root: usize) -> &dyn History {
        self.history_stores.of(self.store.roots(), root)
    }

    /// Returns the lost parts of all histories.
    ///
    /// Errors: those of the session store.
    pub(crate) fn history_gaps(&self) -> Result<Vec<HistoryGap>> {
        let of_each = (0..self.root_count()).map(|root| self.history(root).gaps());
        Ok(of_each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// The secret key of this engine.
    ///
    /// Errors: `io.failed` if the system has no random numbers.
    pub(crate) fn secret(&self) -> Result<&[u8; 32]> {
        if let Some(secret) = self.memory.secret.get() {
            return Ok(secret);
        }
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh)
            .map_err(|error| Error::new(Code::IoFailed, format!("The system provides no random numbers: {error}.")))?;
        Ok(self.memory.secret.get_or_init(|| fresh))
    }

    /// Contents that are to be stored when idle.
    pub(crate) fn unstored(&self) -> MutexGuard<'_, Vec<UnstoredVersion>> {
        self.memory.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Committed operations that the log does not know as such yet, each with the index of its root.
    pub(crate) fn unconfirmed(&self) -> MutexGuard<'_, Vec<(usize, OperationId)>> {
        self.memory.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lock held while the log is updated.
    pub(crate) fn lock_confirmation(&self) -> MutexGuard<'_, ()> {
        self.memory.confirm_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves a path within the sandbox and checks the policy.
    pub(crate) fn resolve_path(&self, path: impl AsRef<Path>, access: Access) -> Result<SafePath> {
        let safe_path = self.store.resolve_path(path.as_ref())?;
        self.check_access(&safe_path, access)?;
        Ok(safe_path)
    }

    /// Resolves a path without following a link in its last component, and checks the policy.
    pub(crate) fn resolve_no_follow(&self, path: impl AsRef<Path>, access: Access) -> Result<SafePath> {
        let safe_path = self.store.resolve_no_follow(path.as_ref())?;
        self.check_access(&safe_path, access)?;
        Ok(safe_path)
    }

    fn guard(&self) -> Guard<'_> {
        Guard { config: &self.config, store: &*self.store, own: self.state_directory.as_deref() }
    }

    /// Checks the policy, and the hooks before a read.
    ///
    /// Errors: `access.denied`, `access.ask`.
    pub(crate) fn check_access(&self, path: &SafePath, access: Access) -> Result<()> {
        self.guard().check(path, access)?;
        match access {
            Access::Write => check_config_readable(self).and_then(|()| before_change(self, path)),
            Access::Read => before_read(self, path),
        }
    }

    /// True if a path has an entry. A directory or a device is one, too: it is refused under this name, and no other
    /// file is searched for.
    pub(crate) fn path_exists(&self, path: &SafePath) -> bool {
        !matches!((self.store.metadata(path), self.store.read_link(path)), (Ok(None), Ok(None)))
    }

    /// Returns the rule that requires approval before the file is changed.
    pub(crate) fn asking_rule(&self, path: &SafePath) -> Result<Option<BlockingRule>> {
        self.guard().asking_rule(path)
    }

    /// Checks the policy for the resolved path only, without other names of the file. Before contents are shown,
    /// [`Context::check_access`] has to pass as well.
    pub(crate) fn may_access_name(&self, path: &SafePath, access: Access) -> bool {
        let known = access == Access::Read || self.config.broken.is_none();
        known && self.guard().check_name(path, access).is_ok()
    }

    /// Loads the current file; a binary one as bytes.
    pub(crate) fn load_file(&self, path: &SafePath, declared: Option<DeclaredEncoding>) -> Result<Option<LoadedFile>> {
        match self.snapshot(path, declared, "") {
            Err(error) if matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable) => {
                self.load_binary(path)
            }
            other => other,
        }
    }

    /// Loads the current file as bytes, whether text or not; `None` if it does not exist.
    pub(crate) fn load_binary(&self, path: &SafePath) -> Result<Option<LoadedFile>> {
        Ok(self.version(path)?.map(LoadedFile::binary))
    }

    /// Reads the bytes of the current file; `None` if it does not exist.
    pub(crate) fn version(&self, path: &SafePath) -> Result<Option<FileVersion>> {
        let version = self.read_up_to(path, self.config.max_whole_bytes());
        version.map_err(|error| {
            let fits = error.file_size().is_some_and(|size| size <= self.config.max_file);
            if !fits || error.code() != Code::FileTooLarge {
                return error;
            }
            // Only operations that need the whole text are refused.
            error.next(
                "Change parts of it by line number, or by text that is copied exactly, and read it in parts of some hundred lines.",
            )
        })
    }

    /// Reads a file of at most `most` bytes.
    pub(crate) fn read_up_to(&self, path: &SafePath, most: u64) -> Result<Option<FileVersion>> {
        self.store.read(path, most, self.buffer())
    }

    /// Decodes a file that was read.
    pub(crate) fn load_decoded(
        &self,
        path: &SafePath,
        version: FileVersion,
        declared: Option<DeclaredEncoding>,
        fresh_text: &str,
    ) -> Result<LoadedFile> {
        let (meta, racy) = (version.meta, version.racy);
        Ok(LoadedFile { snapshot: self.decode(path, version.bytes, declared, fresh_text)?, meta, racy })
    }

    /// Loads and decodes the current file; `None` if it does not exist. `fresh_text` is text that may be inserted into
    /// it.
    pub(crate) fn snapshot(
        &self,
        path: &SafePath,
        declared: Option<DeclaredEncoding>,
        fresh_text: &str,
    ) -> Result<Option<LoadedFile>> {
        let Some(version) = self.version(path)? else { return Ok(None) };
        self.load_decoded(path, version, declared, fresh_text).map(Some)
    }

    /// Decodes a version of a file. Configuration files are consulted for the encoding only if it could matter: for
    /// bytes that are not UTF-8, and for plain ASCII that is about to get other characters.
    pub(crate) fn decode(
        &self,
        path: &SafePath,
        bytes: Vec<u8>,
        declared: Option<DeclaredEncoding>,
        fresh_text: &str,
    ) -> Result<Snapshot> {
        work::spend_bytes(bytes.len())?;
        let configured = || encoding::configured_encoding(&self.config, self.store(), path).map(|it| it.declared);
        let nul = memchr::memchr(0, &bytes[..bytes.len().min(8192)]).is_some();
        let declared = declared.or_else(|| if nul { configured() } else { None });
        let snapshot = Snapshot::open(bytes, declared).map_err(|error| named_error(path, error))?;
        let guessed = snapshot.codec().evidence == EncodingEvidence::Guessed;
        if declared.is_some() || !(guessed || (!fresh_text.is_ascii() && snapshot.raw().is_ascii())) {
            return Ok(snapshot);
        }
        match configured() {
            Some(declared) => {
                Snapshot::open(snapshot.raw().to_vec(), Some(declared)).map_err(|error| named_error(path, error))
            }
            None => Ok(snapshot),
        }
    }

    /// Takes the locks of some paths within this process, each once and in the same order for all callers. Two paths
    /// may share a lock.
    pub(crate) fn lock_paths<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Vec<MutexGuard<'_, ()>> {
        let tags = paths.map(|path| ContentId::of(path.as_os_str().as_encoded_bytes()).tag());
        let slots: BTreeSet<usize> = tags.map(|tag| tag.to_u32() as usize % PATH_LOCKS).collect();
        slots.into_iter().map(|slot| self.path_locks[slot].lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Returns a buffer to read into; return it with [`Context::recycle`].
    fn buffer(&self) -> Vec<u8> {
        self.memory.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps a snapshot's buffer for the next file: allocating memory is the most expensive part of reading a large
    /// one.
    pub(crate) fn recycle(&self, snapshot: Snapshot) {
        if let Some(buffer) = snapshot.into_buffer().filter(|buffer| buffer.capacity() <= POOLED_BUFFER_BYTES_MAX) {
            let mut pool = self.memory.buffers.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.len() < POOLED_BUFFERS_MAX {
                pool.push(buffer);
            }
        }
    }
}

/// Adds the name of a file to an error.
fn named_error(path: &SafePath, error: Error) -> Error {
    error.prefixed(&format!("{}: ", path.shown()))
}
