//! Workspaces: directories, or files in memory, for any number of sessions.

use crate::job::{Job, panicked};
use crate::session_call::{self, SessionRules};
use emendate::{CallHandle, Config, StateLocation, Workspace};
use emendate_core::{ArgumentStyle, Code, Error};
use emendate_javascript::envelope;
use napi::bindgen_prelude::{AsyncTask, Buffer, Either3, Null};
use napi::{Env, Task};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// The source of settings that the program passes, in messages.
const CONFIG_ORIGIN: &str = "the program's settings";

/// Stops the calls that it is passed to, before anything is written, or not at all.
#[napi]
#[derive(Default)]
pub struct NativeHandle(CallHandle);

#[napi]
impl NativeHandle {
    /// A handle for one call.
    #[napi(constructor)]
    pub fn new() -> NativeHandle {
        NativeHandle::default()
    }

    /// Asks the call to stop.
    #[napi]
    pub fn stop(&self) {
        self.0.stop();
    }

    /// The flag that a stop sets.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        self.0.stop_flag()
    }
}

/// A file of a workspace in memory.
#[napi(object)]
pub struct FileContent {
    /// Its path.
    pub path: String,
    /// Its bytes.
    pub content: Buffer,
}

/// Options for opening a workspace.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OpenRules {
    roots: Vec<PathBuf>,
    state: Option<PathBuf>,
    config: Option<String>,
}

impl OpenRules {
    fn opened(self, memory: Option<Vec<(PathBuf, Vec<u8>)>>) -> Result<Workspace, Error> {
        let config = match &self.config {
            Some(text) => Config::default().with_file(text, CONFIG_ORIGIN, true)?,
            None => Config::default(),
        };
        if let Some(files) = memory {
            return Workspace::in_memory_with(files, config);
        }
        if self.roots.is_empty() {
            return Err(Error::new(Code::CallInvalid, "A workspace needs a directory, or files in memory."));
        }
        let state = self.state.map_or(StateLocation::Memory, StateLocation::Directory);
        Workspace::open(&self.roots).state(state).config(config).build()
    }
}

/// A workspace; `Workspace` of `index.js` documents it.
#[napi]
#[derive(Default)]
pub struct NativeWorkspace {
    opened: Arc<OnceLock<Workspace>>,
}

#[napi]
impl NativeWorkspace {
    /// A workspace that has to be opened.
    #[napi(constructor)]
    pub fn new() -> NativeWorkspace {
        NativeWorkspace::default()
    }

    /// Opens it, and returns the paths of its roots.
    #[napi]
    pub fn open(&self, rules: String, memory: Option<Vec<FileContent>>) -> AsyncTask<Job> {
        let cell = Arc::clone(&self.opened);
        let bytes = |file: FileContent| (PathBuf::from(file.path), file.content.to_vec());
        let memory = memory.map(|files| files.into_iter().map(bytes).collect());
        Job::start(move || {
            let opened = emendate_javascript::input::<OpenRules>("open", &rules).and_then(|rules| rules.opened(memory));
            envelope(opened.map(|workspace| {
                let workspace = workspace.argument_style(ArgumentStyle::JavaScript);
                let roots = workspace.engine().roots();
                let roots = roots.into_iter().map(|root| Value::from(Path::new(&root).to_string_lossy())).collect();
                // The class opens a workspace once.
                let _ = cell.set(workspace);
                roots
            }))
        })
    }

    /// Runs a method of a session.
    #[napi]
    pub fn run(
        &self,
        rules: String,
        method: String,
        input: String,
        handle: Option<&NativeHandle>,
    ) -> napi::Result<AsyncTask<Job>> {
        let (workspace, handle) = (self.workspace()?, handle.map(|handle| handle.0.clone()));
        Ok(Job::start(move || {
            let rules = emendate_javascript::input::<SessionRules>("session", &rules);
            let session = rules.and_then(|rules| rules.session(&workspace, handle));
            envelope(session.and_then(|session| session_call::run(&workspace, &session, &method, &input)))
        }))
    }

    /// Takes the messages for a person.
    #[napi]
    pub fn notices(&self) -> napi::Result<Vec<String>> {
        Ok(self.workspace()?.engine().notices())
    }

    /// The content of a file; `null` if there is none.
    #[napi]
    pub fn read_bytes(&self, path: String) -> napi::Result<AsyncTask<ContentJob>> {
        Ok(AsyncTask::new(ContentJob { workspace: self.workspace()?, path: path.into() }))
    }

    /// The files of a workspace in memory.
    #[napi]
    pub fn files(&self) -> napi::Result<Vec<FileContent>> {
        let file = |(path, content): (PathBuf, Vec<u8>)| FileContent {
            path: path.to_string_lossy().into_owned(),
            content: content.into(),
        };
        Ok(self.workspace()?.memory_files().into_iter().map(file).collect())
    }

    /// Does what calls left to be done in the background.
    #[napi]
    pub fn close(&self) -> AsyncTask<Job> {
        let cell = Arc::clone(&self.opened);
        Job::start(move || {
            if let Some(workspace) = cell.get() {
                workspace.engine().history().finish_background_work();
            }
            envelope(Ok(Value::Null))
        })
    }

    /// Does the same at once, when the process ends.
    #[napi]
    pub fn finish(&self) {
        if let Some(workspace) = self.opened.get() {
            workspace.engine().history().finish_background_work();
        }
    }

    fn workspace(&self) -> napi::Result<Workspace> {
        self.opened.get().cloned().ok_or_else(|| napi::Error::from_reason("The workspace is not open."))
    }
}

/// Reads the content of a file.
pub struct ContentJob {
    workspace: Workspace,
    path: PathBuf,
}

impl Task for ContentJob {
    type Output = Result<Option<Vec<u8>>, Error>;
    /// The content, or the envelope of an error.
    type JsValue = Either3<Buffer, String, Null>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let read = catch_unwind(AssertUnwindSafe(|| self.workspace.bytes(&self.path)));
        Ok(read.unwrap_or_else(|_| Err(panicked())))
    }

    fn resolve(&mut self, _: Env, read: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match read {
            Ok(Some(content)) => Either3::A(content.into()),
            Ok(None) => Either3::C(Null),
            Err(error) => Either3::B(envelope(Err(error))),
        })
    }
}
