//! The engine: what every use case shares. Opening a file is hop 3 of an edit: admit the path, policy, read, decode.

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

/// Buffers kept for the next file, and the largest one worth keeping.
const POOL: usize = 4;
const POOLED: usize = 16 << 20;

/// Names of a project's configuration file; the first that is there counts.
pub const PROJECT_FILES: [&str; 2] = ["emend.toml", ".emend.toml"];
/// Largest configuration file, in bytes.
const CONFIGURATION: u64 = 1 << 20;

/// Locks that edits of one process queue at.
const TURNS: usize = 64;

/// Reads, edits and writes files below its roots, for any number of callers at once.
pub struct Engine {
    store: Box<dyn Store>,
    shelves: Shelves,
    config: Config,
    /// The state directory, where that is beneath a root.
    own: Option<PathBuf>,
    pool: Mutex<Vec<Vec<u8>>>,
    turns: [Mutex<()>; TURNS],
    failures: Failures,
    last_changes: LastChanges,
    drawers: Drawers,
    parsers: Parsers,
    notices: Mutex<Vec<String>>,
    loose: Mutex<Vec<Loose>>,
    /// What the seals of questions are made with.
    secret: OnceLock<[u8; 32]>,
    unsettled: Mutex<Vec<(usize, OperationId)>>,
    settling: Mutex<()>,
    events: Sink,
    servers: Servers,
    /// Nobody waits for any answer any more.
    gone: Arc<AtomicBool>,
}

/// The roots with a journal, and what dead processes left in it put right. Without one, where it cannot be kept: each file
/// for itself is safe all the same.
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

/// Adds the configuration that stands in a root. The rules of Claude Code there are read last: the project may ask for it.
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
        if !trusted && text.contains("allow") {
            notices.push(format!(
                "{origin}: a project file cannot allow guarded paths; that part is ignored (see emend trust)."
            ));
        }
        if !trusted && text.contains("skip") {
            notices.push(format!(
                "{origin}: a project file cannot leave files unchecked; [validate] skip is ignored there (see emend trust)."
            ));
        }
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

/// A file as it is now.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) snapshot: Snapshot,
    pub(crate) stamp: Stamp,
    pub(crate) racy: bool,
}

impl Engine {
    /// An engine over directories of the local disk. Reads `emend.toml` (or `.emend.toml`) of each root. With a state
    /// directory, what a process that died left half done there is finished or undone first; the notices say so.
    ///
    /// A project's configuration that is wrong is a notice: files can be read, and edits are refused.
    ///
    /// Errors: a root that is no directory.
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

    /// An engine over any store.
    ///
    /// Errors: a configuration file that is wrong.
    pub fn over(store: Box<dyn Store>, state: State, mut config: Config) -> Result<Engine> {
        let mut notices = Vec::new();
        for root in store.roots() {
            config = project(&*store, &root.canonical, config, &mut notices)?;
        }
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

    /// A flag to be set when nobody waits for any answer any more: calls end before they write, or not at all.
    pub fn gone(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.gone)
    }

    /// Parses in processes of their own, where a fault of a grammar ends nothing else. `words` are a program and arguments
    /// that do as [`answer_questions`](crate::answer_questions) does with the standard streams.
    #[must_use]
    pub fn parsing_apart(mut self, words: Vec<String>, apart: Apart) -> Engine {
        self.parsers = Parsers::apart(words, apart);
        self
    }

    /// The directories that can be reached, canonical.
    pub fn roots(&self) -> Vec<&Path> {
        self.store.roots().iter().map(|root| &*root.canonical).collect()
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Limits on a reply to this caller.
    pub(crate) fn reply_limits(&self, caller: &Caller) -> ReplyLimits {
        if caller.person_reads { self.config.reply.for_person() } else { self.config.reply }
    }

    /// Messages for a person about the configuration and the session store; each is handed out once.
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

    /// What sessions know of the files of a root, and what they did to them.
    pub(crate) fn history(&self, root: usize) -> &dyn History {
        self.shelves.of(self.store.roots(), root)
    }

    /// True where what is done can be undone at all.
    pub(crate) fn keeps_history(&self) -> bool {
        self.shelves.keep()
    }

    /// The same engine for a process that ends after one call: a history in memory ends with it.
    #[must_use]
    pub fn for_one_call(mut self) -> Engine {
        self.shelves.one_call = true;
        self
    }

    /// Why what is done below a root cannot be undone by another process, where this one ends after the call.
    pub(crate) fn history_ends_with_process(&self, root: usize) -> Option<&str> {
        self.shelves.lost_with_process(root)
    }

    /// A key of this engine alone.
    ///
    /// Errors: `io.failed` where the system has no random numbers.
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

    /// Contents that are to be kept whole when there is time.
    pub(crate) fn loose(&self) -> MutexGuard<'_, Vec<Loose>> {
        self.loose.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Operations that were done and that the log does not know as such yet, each with the root whose history tells it.
    pub(crate) fn unsettled(&self) -> MutexGuard<'_, Vec<(usize, OperationId)>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while the log is told of them.
    pub(crate) fn settling(&self) -> MutexGuard<'_, ()> {
        self.settling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a path through the sandbox and the policy.
    pub(crate) fn admit(&self, path: impl AsRef<Path>, access: Access) -> Result<Place> {
        let place = self.store.admit(path.as_ref())?;
        self.may(&place, access)?;
        Ok(place)
    }

    /// The same for what has the name itself, be it a link.
    pub(crate) fn admit_link(&self, path: impl AsRef<Path>, access: Access) -> Result<Place> {
        let place = self.store.admit_link(path.as_ref())?;
        self.may(&place, access)?;
        Ok(place)
    }

    /// Asks the policy, and before a read the hooks.
    ///
    /// Errors: `access.denied`, `access.ask`.
    pub(crate) fn may(&self, place: &Place, access: Access) -> Result<()> {
        Guard { config: &self.config, store: &*self.store, own: self.own.as_deref() }.check(place, access)?;
        if access == Access::Write {
            self.rules_are_known()?;
        }
        if access == Access::Read { self.before_read(place) } else { Ok(()) }
    }

    /// The rule by which a person is asked before the file is changed.
    pub(crate) fn asks(&self, place: &Place) -> Result<Option<Hit>> {
        Guard { config: &self.config, store: &*self.store, own: self.own.as_deref() }.asks(place)
    }

    /// Asks the policy about the resolved path only: for walks over many files, whose contents are shown after
    /// [`Engine::may`] alone.
    pub(crate) fn may_by_name(&self, place: &Place, access: Access) -> bool {
        let known = access == Access::Read || self.config.broken.is_none();
        known
            && Guard { config: &self.config, store: &*self.store, own: self.own.as_deref() }
                .check_name(place, access)
                .is_ok()
    }

    /// The file as it is now; what is no text as bytes.
    pub(crate) fn opened(&self, place: &Place, declared: Option<Declared>) -> Result<Option<Opened>> {
        match self.snapshot(place, declared, "") {
            Err(error) if matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable) => self.opaque(place),
            other => other,
        }
    }

    /// The file as it is now, as bytes that need not be text; `None` when there is none.
    pub(crate) fn opaque(&self, place: &Place) -> Result<Option<Opened>> {
        let version = self.version(place)?;
        Ok(version.map(|it| Opened { snapshot: Snapshot::opaque(it.bytes), stamp: it.stamp, racy: it.racy }))
    }

    /// The bytes of the file as it is now; `None` when there is none.
    pub(crate) fn version(&self, place: &Place) -> Result<Option<Version>> {
        let version = self.read_up_to(place, self.config.whole());
        version.map_err(|error| {
            let fits = error.data().get("size").and_then(Value::as_u64).is_some_and(|size| size <= self.config.max_file);
            if !fits || error.code() != Code::FileTooLarge {
                return error;
            }
            // Only what needs all of its text is refused.
            error.next(
                "Change parts of it by line number, or by text that is copied exactly, and read it in parts of some hundred lines.",
            )
        })
    }

    /// The same of a file of at most so many bytes.
    pub(crate) fn read_up_to(&self, place: &Place, most: u64) -> Result<Option<Version>> {
        self.store.read(place, most, self.buffer())
    }

    /// The same, decoded.
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

    /// The file as it is now, decoded; `None` when there is none. `fresh_text` is text that may be put into it.
    pub(crate) fn snapshot(
        &self,
        place: &Place,
        declared: Option<Declared>,
        fresh_text: &str,
    ) -> Result<Option<Opened>> {
        let Some(version) = self.version(place)? else { return Ok(None) };
        self.decoded(place, version, declared, fresh_text).map(Some)
    }

    /// Decodes a version of a file. Configuration files are asked for the encoding only where it could matter: bytes
    /// that are not UTF-8 text, and plain ASCII that is about to get other characters.
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

    /// Events of this engine go there as well.
    pub fn export(&mut self, export: Box<dyn emendate_events::Export>) {
        self.events.export(export);
    }

    /// Where events go.
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

    /// The locks of some paths within this process, each once and in one order for all callers. Two paths may share one.
    pub(crate) fn turns<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Vec<MutexGuard<'_, ()>> {
        let slot = |path: &Path| ContentId::of(path.as_os_str().as_encoded_bytes()).tag().to_u32() as usize % TURNS;
        let slots: BTreeSet<usize> = paths.map(slot).collect();
        slots.into_iter().map(|slot| self.turns[slot].lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// A buffer to read into; give it back with [`Engine::recycle`].
    fn buffer(&self) -> Vec<u8> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps a snapshot's buffer for the next file: fresh memory is the dearest part of reading a large one.
    pub(crate) fn recycle(&self, snapshot: Snapshot) {
        if let Some(buffer) = snapshot.into_buffer().filter(|buffer| buffer.capacity() <= POOLED) {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.len() < POOL {
                pool.push(buffer);
            }
        }
    }
}
