//! The engine: the state shared by all use cases. Opening a file is hop 3 of an edit: resolve the path, check the
//! policy, read, decode.

use crate::broken::without;
use crate::caller::Caller;
use crate::config::{Config, Source};
use crate::encoding;
use crate::events;
use crate::lesson::Failures;
use crate::log::Loose;
use crate::policy::{Access, Guard, Hit};
use crate::registers::Drawers;
use crate::repeat::LastChanges;
use crate::reply_limits::ReplyLimits;
use crate::shelves::{Shelves, State};
use crate::syntax::{Apart, Parsers};
use emendate_core::{Code, ContentId, Declared, Error, Result, Settled, Snapshot, work};
use emendate_events::Sink;
use emendate_fs::{Local, Place, Stamp, Store, Version, shown};
use emendate_history::{History, OperationId, Sessions};
use emendate_lsp::Servers;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Buffers kept for reuse, and bytes of the largest one.
const POOL: usize = 4;
const POOLED: usize = 16 << 20;

/// Names of a project's configuration file; the first existing one counts.
pub const PROJECT_FILES: [&str; 2] = ["emend.toml", ".emend.toml"];
/// Bytes of a configuration file.
const CONFIGURATION: u64 = 1 << 20;

/// Locks for edits within one process.
const TURNS: usize = 64;

/// Reads, edits and writes files below its roots, for any number of concurrent callers.
pub struct Engine {
    store: Box<dyn Store>,
    shelves: Shelves,
    config: Config,
    /// The state directory, if it is below a root.
    own: Option<PathBuf>,
    pool: Mutex<Vec<Vec<u8>>>,
    turns: [Mutex<()>; TURNS],
    failures: Failures,
    last_changes: LastChanges,
    drawers: Drawers,
    parsers: Parsers,
    notices: Mutex<Vec<String>>,
    loose: Mutex<Vec<Loose>>,
    /// The key for the seals of questions.
    secret: OnceLock<[u8; 32]>,
    unsettled: Mutex<Vec<(usize, OperationId)>>,
    settling: Mutex<()>,
    events: Sink,
    servers: Servers,
    /// Set when the client is gone and nothing reads the answers.
    gone: Arc<AtomicBool>,
}

/// Opens the roots with a journal, after recovering what dead processes left in it. Without a journal if it cannot be
/// kept: single files are still written safely.
fn recovered(roots: &[PathBuf], journal: &Path, notices: &mut Vec<String>) -> Result<Local> {
    let store = match Local::open(roots)?.with_journal(journal) {
        Ok(store) => store,
        Err(error) => {
            notices.push(format!(
                "Calls that change several files are not safe against a crash in the middle: {}",
                error.message()
            ));
            return Local::open(roots);
        }
    };
    match store.recover() {
        Ok(done) => {
            let told = |files: &[PathBuf], what: &str| {
                let names: Vec<String> = files.iter().map(shown).collect();
                (!files.is_empty()).then(|| format!("A process died while it wrote; {what}: {}.", names.join(", ")))
            };
            notices.extend(told(&done.rolled_forward, "its change was finished in"));
            notices.extend(told(&done.rolled_back, "its change was undone in"));
            notices.extend(done.notes);
        }
        Err(error) => notices.push(error.message().to_owned()),
    }
    Ok(store)
}

/// Adds the configuration file of a root. The rules of Claude Code there come last, because the project may ask for
/// them.
fn project(store: &dyn Store, root: &Path, mut config: Config, notices: &mut Vec<String>) -> Result<Config> {
    let read = |name: &str| -> Result<Option<(PathBuf, Vec<u8>)>> {
        let path = root.join(name);
        let Ok(place) = store.admit(&path) else { return Ok(None) };
        Ok(store.read(&place, CONFIGURATION, Vec::new())?.map(|version| (path, version.bytes)))
    };
    for name in PROJECT_FILES {
        let Some((path, bytes)) = read(name)? else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let (origin, trusted) = (shown(&path), config.trusts(&path, &bytes));
        let source = Source { base: Some(root), ..Source::new(&origin, trusted) };
        config = match config.clone().with_source(&text, source) {
            Ok(config) => config,
            Err(error) => without(config, &error, notices),
        };
        break;
    }
    if config.imports_claude() {
        for name in [".claude/settings.json", ".claude/settings.local.json"] {
            let Some((path, bytes)) = read(name)? else { continue };
            let text = String::from_utf8_lossy(&bytes);
            config = match config.clone().with_claude_settings(&text, &shown(&path), root, false) {
                Ok(config) => config,
                Err(error) => without(config, &error, notices),
            };
        }
    }
    Ok(config)
}

/// A file in its current version.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) snapshot: Snapshot,
    pub(crate) stamp: Stamp,
    pub(crate) racy: bool,
}

impl Engine {
    /// Opens an engine over directories of the local disk. Reads `emend.toml` (or `.emend.toml`) of each root. With a
    /// state directory, half-finished writes of a dead process are first completed or rolled back, as the notices
    /// report.
    ///
    /// An invalid project configuration is a notice: files can be read, and edits are refused.
    ///
    /// Errors: a root that is not a directory.
    pub fn open(roots: &[PathBuf], state: State, config: Config) -> Result<Engine> {
        let mut notices = Vec::new();
        let store = match &state {
            State::Directory(directory) => recovered(roots, &directory.join("journal"), &mut notices)?,
            State::Memory | State::Nowhere => Local::open(roots)?,
        };
        let engine = Engine::over(Box::new(store), state, config)?;
        engine.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
        Ok(engine)
    }

    /// Creates an engine over any store.
    ///
    /// Errors: an invalid configuration file.
    pub fn over(store: Box<dyn Store>, state: State, mut config: Config) -> Result<Engine> {
        let mut notices = Vec::new();
        for root in store.roots() {
            config = project(&*store, &root.canonical, config, &mut notices)?;
        }
        notices.extend(config.take_ignored());
        let own = match &state {
            State::Directory(directory) => store.admit(directory).ok().map(|place| place.absolute().to_owned()),
            State::Memory | State::Nowhere => None,
        };
        let (events, said) = events::sink(&config, &state);
        notices.extend(said);
        let shelves = Shelves::new(state, store.roots().len(), config.history);
        Ok(Engine {
            store,
            shelves,
            config,
            own,
            pool: Mutex::default(),
            turns: [const { Mutex::new(()) }; TURNS],
            failures: Failures::default(),
            last_changes: LastChanges::default(),
            drawers: Drawers::default(),
            parsers: Parsers::default(),
            notices: Mutex::new(notices),
            loose: Mutex::default(),
            secret: OnceLock::new(),
            unsettled: Mutex::default(),
            settling: Mutex::default(),
            events,
            servers: Servers::default(),
            gone: Arc::default(),
        })
    }

    /// The flag to set when nothing reads the answers any more: calls then end before they write, or not at all.
    pub fn gone(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.gone)
    }

    /// Parses in separate processes, so that a crash of a grammar does not affect this one. `words` are a program and
    /// arguments that run [`answer_questions`](crate::answer_questions) on the standard streams.
    #[must_use]
    pub fn parsing_apart(mut self, words: Vec<String>, apart: Apart) -> Engine {
        self.parsers = Parsers::apart(words, apart);
        self
    }

    /// The canonical directories that can be accessed.
    pub fn roots(&self) -> Vec<&Path> {
        self.store.roots().iter().map(|root| &*root.canonical).collect()
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The limits of a reply to this caller.
    pub(crate) fn reply_limits(&self, caller: &Caller) -> ReplyLimits {
        if caller.person_reads { self.config.reply.for_person() } else { self.config.reply }
    }

    /// Takes the messages for a person about the configuration and the session store; each is returned once.
    pub fn notices(&self) -> Vec<String> {
        let mut all = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        all.extend(self.shelves.notices());
        all.extend(self.events.notices());
        all
    }

    /// Adds a message for a person.
    pub fn notice(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(crate) fn sessions(&self, place: &Place) -> &dyn Sessions {
        self.history(place.root())
    }

    /// The history of a root: what sessions know of its files, and what they did to them.
    pub(crate) fn history(&self, root: usize) -> &dyn History {
        self.shelves.of(self.store.roots(), root)
    }

    /// True when changes can be undone at all.
    pub(crate) fn keeps_history(&self) -> bool {
        self.shelves.keep()
    }

    /// Marks the engine as belonging to a process that ends after one call, and an in-memory history with it.
    #[must_use]
    pub fn for_one_call(mut self) -> Engine {
        self.shelves.one_call = true;
        self
    }

    /// Returns why changes below a root cannot be undone by another process, if this one ends after the call.
    pub(crate) fn history_ends_with_process(&self, root: usize) -> Option<&str> {
        self.shelves.lost_with_process(root)
    }

    /// The secret key of this engine.
    ///
    /// Errors: `io.failed` if the system has no random numbers.
    pub(crate) fn secret(&self) -> Result<&[u8; 32]> {
        if let Some(secret) = self.secret.get() {
            return Ok(secret);
        }
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh)
            .map_err(|error| Error::new(Code::IoFailed, format!("There are no random numbers: {error}.")))?;
        Ok(self.secret.get_or_init(|| fresh))
    }

    /// The language servers that are running.
    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Contents that are to be stored when idle.
    pub(crate) fn loose(&self) -> MutexGuard<'_, Vec<Loose>> {
        self.loose.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Committed operations that the log does not know as such yet, each with the index of its root.
    pub(crate) fn unsettled(&self) -> MutexGuard<'_, Vec<(usize, OperationId)>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lock held while the log is updated.
    pub(crate) fn settling(&self) -> MutexGuard<'_, ()> {
        self.settling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves a path within the sandbox and checks the policy.
    pub(crate) fn admit(&self, path: impl AsRef<Path>, access: Access) -> Result<Place> {
        let place = self.store.admit(path.as_ref())?;
        self.may(&place, access)?;
        Ok(place)
    }

    /// Resolves a path without following a link in its last component, and checks the policy.
    pub(crate) fn admit_link(&self, path: impl AsRef<Path>, access: Access) -> Result<Place> {
        let place = self.store.admit_link(path.as_ref())?;
        self.may(&place, access)?;
        Ok(place)
    }

    /// Checks the policy, and before a read the hooks.
    ///
    /// Errors: `access.denied`, `access.ask`.
    pub(crate) fn may(&self, place: &Place, access: Access) -> Result<()> {
        Guard { config: &self.config, store: &*self.store, own: self.own.as_deref() }.check(place, access)?;
        if access == Access::Write {
            self.rules_are_known()?;
        }
        if access == Access::Read { self.before_read(place) } else { Ok(()) }
    }

    /// Returns the rule that requires approval before the file is changed.
    pub(crate) fn asks(&self, place: &Place) -> Result<Option<Hit>> {
        Guard { config: &self.config, store: &*self.store, own: self.own.as_deref() }.asks(place)
    }

    /// Checks the policy for the resolved path only: for walks over many files, whose contents are shown only after
    /// [`Engine::may`].
    pub(crate) fn may_by_name(&self, place: &Place, access: Access) -> bool {
        let known = access == Access::Read || self.config.broken.is_none();
        known
            && Guard { config: &self.config, store: &*self.store, own: self.own.as_deref() }
                .check_name(place, access)
                .is_ok()
    }

    /// Loads the current file; a binary one as bytes.
    pub(crate) fn opened(&self, place: &Place, declared: Option<Declared>) -> Result<Option<Opened>> {
        match self.snapshot(place, declared, "") {
            Err(error) if matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable) => self.opaque(place),
            other => other,
        }
    }

    /// Loads the current file as bytes, whether text or not; `None` if it does not exist.
    pub(crate) fn opaque(&self, place: &Place) -> Result<Option<Opened>> {
        let version = self.version(place)?;
        Ok(version.map(|it| Opened { snapshot: Snapshot::opaque(it.bytes), stamp: it.stamp, racy: it.racy }))
    }

    /// Reads the bytes of the current file; `None` if it does not exist.
    pub(crate) fn version(&self, place: &Place) -> Result<Option<Version>> {
        let version = self.read_up_to(place, self.config.whole());
        version.map_err(|error| {
            let fits = error.data().get("size").and_then(Value::as_u64).is_some_and(|size| size <= self.config.max_file);
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
    pub(crate) fn read_up_to(&self, place: &Place, most: u64) -> Result<Option<Version>> {
        self.store.read(place, most, self.buffer())
    }

    /// Reads and decodes a file of at most `most` bytes.
    pub(crate) fn decoded(
        &self,
        place: &Place,
        version: Version,
        declared: Option<Declared>,
        fresh_text: &str,
    ) -> Result<Opened> {
        let (stamp, racy) = (version.stamp, version.racy);
        Ok(Opened { snapshot: self.decode(place, version.bytes, declared, fresh_text)?, stamp, racy })
    }

    /// Loads and decodes the current file; `None` if it does not exist. `fresh_text` is text that may be inserted into
    /// it.
    pub(crate) fn snapshot(
        &self,
        place: &Place,
        declared: Option<Declared>,
        fresh_text: &str,
    ) -> Result<Option<Opened>> {
        let Some(version) = self.version(place)? else { return Ok(None) };
        self.decoded(place, version, declared, fresh_text).map(Some)
    }

    /// Decodes a version of a file. Configuration files are consulted for the encoding only if it could matter: for
    /// bytes that are not UTF-8, and for plain ASCII that is about to get other characters.
    pub(crate) fn decode(
        &self,
        place: &Place,
        bytes: Vec<u8>,
        declared: Option<Declared>,
        fresh_text: &str,
    ) -> Result<Snapshot> {
        work::spend_bytes(bytes.len())?;
        let told = |error: Error| error.prefixed(&format!("{}: ", place.shown()));
        let configured = || encoding::configured(&self.config, self.store(), place).map(|it| it.declared);
        let nul = memchr::memchr(0, &bytes[..bytes.len().min(8192)]).is_some();
        let declared = declared.or_else(|| if nul { configured() } else { None });
        let snapshot = Snapshot::open(bytes, declared).map_err(told)?;
        let guessed = snapshot.codec().settled == Settled::Guessed;
        if declared.is_some() || !(guessed || (!fresh_text.is_ascii() && snapshot.raw().is_ascii())) {
            return Ok(snapshot);
        }
        match configured() {
            Some(declared) => Snapshot::open(snapshot.raw().to_vec(), Some(declared)).map_err(told),
            None => Ok(snapshot),
        }
    }

    /// The target of events.
    pub(crate) fn events(&self) -> &Sink {
        &self.events
    }

    pub(crate) fn drawers(&self) -> &Drawers {
        &self.drawers
    }

    pub(crate) fn parsers(&self) -> &Parsers {
        &self.parsers
    }

    pub(crate) fn last_changes(&self) -> &LastChanges {
        &self.last_changes
    }

    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Takes the locks of some paths within this process, each once and in the same order for all callers. Two paths
    /// may share a lock.
    pub(crate) fn turns<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Vec<MutexGuard<'_, ()>> {
        let slot = |path: &Path| ContentId::of(path.as_os_str().as_encoded_bytes()).tag().to_u32() as usize % TURNS;
        let slots: BTreeSet<usize> = paths.map(slot).collect();
        slots.into_iter().map(|slot| self.turns[slot].lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Returns a buffer to read into; return it with [`Engine::recycle`].
    fn buffer(&self) -> Vec<u8> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps a snapshot's buffer for the next file: allocating memory is the most expensive part of reading a large
    /// one.
    pub(crate) fn recycle(&self, snapshot: Snapshot) {
        if let Some(buffer) = snapshot.into_buffer().filter(|buffer| buffer.capacity() <= POOLED) {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.len() < POOL {
                pool.push(buffer);
            }
        }
    }
}
