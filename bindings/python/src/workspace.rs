//! Workspaces: directories, or files in memory, for any number of sessions.

use crate::exception::raised;
use crate::session::NativeSession;
use emendate::{CallContext, CallHandle, Config, OptionValue as _, PROFILES, StalePolicy, StateLocation, UnreadPolicy};
use emendate::{Workspace, unique_session};
use emendate_core::{ArgumentStyle, Code, Error};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::path::PathBuf;

/// The source of settings that the program passes, in messages.
const CONFIG_ORIGIN: &str = "the program's settings";

/// A workspace; `emendate.Workspace` documents it.
#[pyclass(frozen, module = "emendate._emendate")]
pub(crate) struct NativeWorkspace {
    workspace: Workspace,
}

/// The rules of a session.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SessionRules {
    name: Option<String>,
    unread: String,
    on_stale: Option<String>,
    dry_run: bool,
    directory: Option<PathBuf>,
    irreversible: Option<bool>,
}

impl SessionRules {
    /// Errors: `call.invalid` for a value that an option does not have.
    fn caller(self) -> Result<CallContext, Error> {
        if let Some(relative) = self.directory.as_deref().filter(|directory| !directory.is_absolute()) {
            let what = format!("`directory` is `{}`, which is not an absolute path.", relative.display());
            return Err(Error::new(Code::PathInvalid, what).next("Give the absolute path of the directory."));
        }
        Ok(CallContext {
            session: self.name.unwrap_or_else(|| unique_session("python")),
            unread: UnreadPolicy::parse("unread", &self.unread)?,
            on_stale: self.on_stale.map(|word| StalePolicy::parse("on_stale", &word)).transpose()?,
            dry_run: self.dry_run,
            names_from: self.directory,
            irreversible: self.irreversible,
            ..CallContext::default()
        })
    }
}

fn opened(
    roots: &[PathBuf],
    memory: Option<Vec<(PathBuf, PyBackedBytes)>>,
    state: Option<PathBuf>,
    config: Option<&str>,
) -> Result<Workspace, Error> {
    let config = match config {
        Some(text) => Config::default().with_file(text, CONFIG_ORIGIN, true)?,
        None => Config::default(),
    };
    if let Some(files) = memory {
        return Workspace::in_memory_with(files.into_iter().map(|(path, bytes)| (path, bytes.to_vec())), config);
    }
    if roots.is_empty() {
        return Err(Error::new(Code::CallInvalid, "A workspace needs a directory, or `memory`."));
    }
    let state = state.map_or(StateLocation::Memory, StateLocation::Directory);
    Workspace::open(roots).state(state).config(config).build()
}

#[pymethods]
impl NativeWorkspace {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "lists of Python are converted")]
    fn new(
        py: Python<'_>,
        roots: Vec<PathBuf>,
        memory: Option<Vec<(PathBuf, PyBackedBytes)>>,
        state: Option<PathBuf>,
        config: Option<&str>,
    ) -> PyResult<NativeWorkspace> {
        let opened = py.detach(|| opened(&roots, memory, state, config));
        let workspace = opened.map_err(|error| raised(py, &error))?;
        Ok(NativeWorkspace { workspace: workspace.argument_style(ArgumentStyle::Python) })
    }

    /// The directories that can be accessed.
    fn roots(&self) -> Vec<PathBuf> {
        self.workspace.engine().roots().into_iter().map(PathBuf::from).collect()
    }

    /// Takes the messages for a person.
    fn notices(&self) -> Vec<String> {
        self.workspace.engine().notices()
    }

    /// The content of a file; `None` if there is none.
    #[expect(clippy::needless_pass_by_value, reason = "a path of Python is converted")]
    fn read_bytes(&self, py: Python<'_>, path: PathBuf) -> PyResult<Option<Vec<u8>>> {
        py.detach(|| self.workspace.bytes(&path)).map_err(|error| raised(py, &error))
    }

    /// The files of a workspace in memory.
    fn files(&self, py: Python<'_>) -> Vec<(PathBuf, Vec<u8>)> {
        py.detach(|| self.workspace.memory_files())
    }

    /// Opens a session.
    fn session(&self, py: Python<'_>, rules: SessionRules) -> PyResult<NativeSession> {
        let caller = rules.caller().map_err(|error| raised(py, &error))?;
        Ok(NativeSession::new(self.workspace.clone(), caller))
    }

    /// Does what calls left to be done in the background.
    fn finish(&self, py: Python<'_>) {
        py.detach(|| self.workspace.engine().history().finish_background_work());
    }
}

/// Stops calls of the sessions that it is given to.
#[pyclass(frozen, module = "emendate._emendate")]
pub(crate) struct NativeHandle(pub(crate) CallHandle);

#[pymethods]
impl NativeHandle {
    #[new]
    fn new() -> NativeHandle {
        NativeHandle(CallHandle::default())
    }

    /// Asks the calls to stop, which they do before anything is written, or not at all.
    fn stop(&self) {
        self.0.stop();
    }
}

/// The names of the profiles, what they are for, and their instructions for a model.
#[pyfunction]
pub(crate) fn profile_rows() -> Vec<(&'static str, &'static str, &'static str)> {
    PROFILES.iter().map(|profile| (profile.name, profile.summary, profile.instructions)).collect()
}

/// A tool: its name, title, description and schema as JSON, and whether it is read-only, destructive and idempotent.
type ToolRow = (&'static str, &'static str, &'static str, String, [bool; 3]);

/// The tools of a profile.
#[pyfunction]
pub(crate) fn tool_rows(py: Python<'_>, profile: &str) -> PyResult<Vec<ToolRow>> {
    let profile = named_profile(profile).map_err(|error| raised(py, &error))?;
    let row = |view: &'static emendate::ToolView| {
        let (tool, schema) = (view.tool_row(), serde_json::Value::Object(view.schema()).to_string());
        let hints = tool.annotations;
        (view.name, tool.title, view.prompt(), schema, [hints.read_only, hints.destructive, hints.idempotent])
    };
    Ok(profile.views.iter().map(row).collect())
}

/// Every method of a session that advice may name, with each of its parameters.
#[pyfunction]
pub(crate) fn session_parameters() -> Vec<(&'static str, &'static str)> {
    emendate::session_parameters(ArgumentStyle::Python)
}

/// Returns a profile whose tools can be called: also one of an adapter.
///
/// Errors: `call.invalid` for a name that no profile has.
pub(crate) fn called_profile(name: &str) -> Result<&'static emendate::Profile, Error> {
    emendate::adapter_profile(name).map_or_else(|| named_profile(name), Ok)
}

/// Errors: `call.invalid` for a name that no profile has.
fn named_profile(name: &str) -> Result<&'static emendate::Profile, Error> {
    emendate::profile(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Error::new(Code::CallInvalid, format!("There is no profile `{name}`."))
            .next(format!("Use one of: {}.", names.join(", ")))
    })
}
