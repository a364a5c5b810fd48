//! A session: the name under which reads count, and the rules of its calls.

use crate::api::call::caught;
use crate::api::engine::Engine;
use crate::api::profile::Profile;
use crate::api::workspace::names::session_names;
use crate::context::call::Call;
use crate::context::policy::Access;
use crate::model::call_context::{CallContext, StalePolicy, UnreadPolicy};
use crate::model::call_handle::CallHandle;
use crate::model::reply::Reply;
use crate::pipeline::report::outcome::ChangeOutcome;
use emendate_core::{ArgumentStyle, FileAction, FileRequest, Result, Vocabulary};
use emendate_fs::shown;
use emendate_os::ffi::OsStrExt as _;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session of a [`Workspace`](crate::Workspace). Clones are the same session.
#[derive(Clone)]
pub struct Session {
    engine: Arc<Engine>,
    caller: CallContext,
    style: ArgumentStyle,
    profile: Option<&'static Profile>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("name", &self.caller.session).finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(engine: Arc<Engine>, caller: CallContext, style: ArgumentStyle) -> Session {
        Session { engine, caller, style, profile: None }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.caller.session
    }

    /// Returns the rules of the session's calls.
    pub fn caller(&self) -> &CallContext {
        &self.caller
    }

    /// Returns this session with other rules.
    #[must_use]
    pub fn with_caller(&self, caller: CallContext) -> Session {
        Session { caller, ..self.clone() }
    }

    /// Sets whether the session may edit files that it has not read (default: [`UnreadPolicy::Deny`]).
    #[must_use]
    pub fn unread(mut self, unread: UnreadPolicy) -> Session {
        self.caller.unread = unread;
        self
    }

    /// Sets the reaction to files that changed since they were read (default: the configuration's).
    #[must_use]
    pub fn on_stale(mut self, on_stale: StalePolicy) -> Session {
        self.caller.on_stale = Some(on_stale);
        self
    }

    /// Makes errors of typed calls name the tools and fields of a profile (default: the methods of the language). This is
    /// for programs that carry out with typed calls what a model asks with these tools.
    #[must_use]
    pub fn for_profile(mut self, profile: &'static Profile) -> Session {
        self.profile = Some(profile);
        self
    }

    /// Sets a handle to stop the calls of this session, and to see their progress.
    #[must_use]
    pub fn handle(mut self, handle: CallHandle) -> Session {
        self.caller.handle = Some(handle);
        self
    }

    /// Calls a tool with JSON, as [`Engine::call`] does.
    pub fn call(&self, tool: &str, input: Value) -> Reply {
        self.engine.call(&self.caller, tool, input)
    }

    /// Runs a typed call.
    pub(super) fn run<T>(&self, name: &str, run: impl FnOnce(Call<'_>) -> Result<T>) -> Result<T> {
        let call = Call::new(&self.engine.context, &self.caller);
        caught(call, name, || run(call)).map_err(|error| error.rendered_for(&*self.names(name)))
    }

    /// Runs a typed call that changes files. The errors of edits that it leaves out are part of its outcome.
    pub(super) fn change(
        &self,
        name: &str,
        run: impl FnOnce(Call<'_>) -> Result<ChangeOutcome>,
    ) -> Result<ChangeOutcome> {
        self.run(name, |call| Ok(run(call)?.rendered_for(&*self.names(name))))
    }

    /// Returns the names of the caller for the method that corresponds to a tool.
    pub(super) fn names(&self, tool: &str) -> Box<dyn Vocabulary> {
        session_names(self.style, self.profile, tool)
    }

    /// Returns the absolute path of a file that a call names: relative ones begin at the first root.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        let first = || self.engine.roots().first().map(|root| root.to_path_buf());
        match self.caller.name_directory().or_else(first) {
            Some(start) => start.join(path),
            None => path.to_owned(),
        }
    }

    /// Returns the request for one file.
    pub(super) fn request(&self, path: &Path, action: FileAction) -> FileRequest {
        let path = self.absolute(path);
        let raw = path.to_str().is_none().then(|| path.as_os_str().as_bytes().to_vec());
        let name = path.to_str().map_or_else(|| shown(&path), str::to_owned);
        FileRequest { raw, ..FileRequest::new(name, action) }
    }

    /// Returns the content of a file.
    pub(super) fn bytes(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        self.run("read", |call| {
            let safe_path = call.resolve_path(self.absolute(path), Access::Read)?;
            Ok(call.load_binary(&safe_path)?.map(|file| file.snapshot.raw().to_vec()))
        })
    }
}
