//! The typed interface: a workspace, its sessions, and a builder for each call.

pub(crate) mod changes;
pub(crate) mod history;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod undo;

use crate::api::engine::Engine;
use crate::api::workspace::session::Session;
use crate::context::config::Config;
use crate::context::history_stores::StateLocation;
use crate::model::call_context::CallContext;
use emendate_core::{ArgumentStyle, Code, Error, Result};
use emendate_fs::{MemoryStore, shown};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The root of a workspace in memory.
const MEMORY_ROOT: &str = "/";

/// Files below one or more directories, for any number of concurrent sessions. Clones share it.
///
/// ```
/// use emendate::Workspace;
///
/// let directory = tempfile::tempdir()?;
/// std::fs::write(directory.path().join("a.txt"), "one\ntwo\n")?;
/// let workspace = Workspace::open([directory.path()]).build()?;
/// let session = workspace.session("agent-1");
///
/// assert_eq!(session.read("a.txt").run()?.text, "one\ntwo\n");
/// let done = session.edit("a.txt").replace("two", "2").run()?;
/// assert_eq!((done.files[0].added, done.files[0].removed), (1, 1));
/// assert_eq!(std::fs::read_to_string(directory.path().join("a.txt"))?, "one\n2\n");
///
/// session.undo().run()?;
/// assert_eq!(std::fs::read_to_string(directory.path().join("a.txt"))?, "one\ntwo\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Workspace {
    engine: Arc<Engine>,
    memory: Option<MemoryStore>,
    style: ArgumentStyle,
}

/// Returns the absolute path of a file in memory.
///
/// Errors: `path.invalid`.
fn memory_path(path: &Path) -> Result<PathBuf> {
    let is_outside = path.components().any(|part| part == Component::ParentDir);
    if is_outside || path.file_name().is_none() || path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(Error::new(Code::PathInvalid, format!("{} does not name a file in memory.", shown(path)))
            .next("Give a path without `..` and NUL, such as src/a.rs."));
    }
    Ok(Path::new(MEMORY_ROOT).join(path))
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("roots", &self.engine.roots()).finish_non_exhaustive()
    }
}

/// Options for [opening](Workspace::open) a workspace.
#[derive(Clone, Debug)]
pub struct WorkspaceBuilder {
    roots: Vec<PathBuf>,
    state: StateLocation,
    config: Config,
}

impl WorkspaceBuilder {
    /// Sets the location of the history and of what sessions saw (default: [`StateLocation::Memory`]).
    #[must_use]
    pub fn state(self, state: StateLocation) -> WorkspaceBuilder {
        WorkspaceBuilder { state, ..self }
    }

    /// Sets the settings, to which those of the project's `emend.toml` are added (default: none).
    #[must_use]
    pub fn config(self, config: Config) -> WorkspaceBuilder {
        WorkspaceBuilder { config, ..self }
    }

    /// Opens the workspace.
    ///
    /// Errors: a root that is not a directory.
    pub fn build(self) -> Result<Workspace> {
        let engine = Engine::open(&self.roots, self.state, self.config)?;
        Ok(Workspace::of(engine, None))
    }
}

impl Workspace {
    /// Opens directories of the local disk; relative paths in calls are relative to the first one.
    pub fn open<P: Into<PathBuf>>(roots: impl IntoIterator<Item = P>) -> WorkspaceBuilder {
        WorkspaceBuilder {
            roots: roots.into_iter().map(Into::into).collect(),
            state: StateLocation::Memory,
            config: Config::default(),
        }
    }

    /// Creates a workspace of files in memory, for tests and sandboxes. Paths are relative to `/`, or absolute.
    ///
    /// ```
    /// use emendate::Workspace;
    ///
    /// let workspace = Workspace::in_memory([("src/a.rs", "fn a() {}\n")])?;
    /// let session = workspace.session("agent-1");
    /// session.read("src/a.rs").run()?;
    /// session.edit("src/a.rs").replace("fn a", "fn b").run()?;
    /// assert_eq!(workspace.bytes("src/a.rs")?.as_deref(), Some("fn b() {}\n".as_bytes()));
    /// # Ok::<(), emendate::core::Error>(())
    /// ```
    ///
    /// Errors: `path.invalid` for a path that leads out of the root, names no file, or is given twice, and for one below
    /// another file.
    pub fn in_memory<P: AsRef<Path>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, B)>) -> Result<Workspace> {
        Workspace::in_memory_with(files, Config::default())
    }

    /// Creates a workspace of files in memory with settings, to which those of a file `emend.toml` among them are added.
    ///
    /// Errors: as [`Workspace::in_memory`].
    pub fn in_memory_with<P: AsRef<Path>, B: Into<Vec<u8>>>(
        files: impl IntoIterator<Item = (P, B)>,
        config: Config,
    ) -> Result<Workspace> {
        let store = MemoryStore::new(Path::new(MEMORY_ROOT));
        let mut paths = BTreeSet::new();
        for (path, bytes) in files {
            let path = memory_path(path.as_ref())?;
            store.put(&path, bytes);
            if let Some(path) = paths.replace(path) {
                return Err(Error::new(Code::PathInvalid, format!("Two of the files are {}.", shown(&path)))
                    .next("Give each file once; a path with and without / at its beginning is the same."));
            }
        }
        if let Some(path) = paths.iter().find(|path| path.ancestors().skip(1).any(|above| paths.contains(above))) {
            return Err(Error::new(Code::PathInvalid, format!("{} is below another file.", shown(path)))
                .next("Give paths of files only, and none of a directory of another one."));
        }
        let engine = Engine::with_store(Box::new(store.clone()), StateLocation::Memory, config)?;
        Ok(Workspace::of(engine, Some(store)))
    }

    /// Creates a workspace over an engine.
    pub fn over(engine: Engine) -> Workspace {
        Workspace::of(engine, None)
    }

    fn of(engine: Engine, memory: Option<MemoryStore>) -> Workspace {
        Workspace { engine: Arc::new(engine), memory, style: ArgumentStyle::default() }
    }

    /// Sets the language in which errors of typed calls write the next call (default: Rust).
    #[must_use]
    pub fn argument_style(self, style: ArgumentStyle) -> Workspace {
        Workspace { style, ..self }
    }

    /// Returns the session of that name, with the rules for models: files must be read before they are edited.
    pub fn session(&self, name: impl Into<String>) -> Session {
        self.session_with(CallContext { session: name.into(), ..CallContext::default() })
    }

    /// Returns a session with any rules.
    pub fn session_with(&self, caller: CallContext) -> Session {
        Session::new(Arc::clone(&self.engine), caller, self.style)
    }

    /// Returns the engine, for calls with JSON.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the content of a file without recording it as read; `None` if there is none.
    ///
    /// Errors: `path.*`, `access.denied`, `io.*`.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Result<Option<Vec<u8>>> {
        self.session("").bytes(path.as_ref())
    }

    /// Returns the files of a workspace [in memory](Workspace::in_memory) with their contents, by absolute path; empty
    /// for any other.
    pub fn memory_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.memory.as_ref().map(MemoryStore::files).unwrap_or_default()
    }
}
