//! The context of a call: identity and rules that a front end passes with every call. There is no per-connection state.

use crate::model::approval::Approval;
use crate::model::call_handle::{CallHandle, CallPhase, NEVER_STOPPED};
use crate::model::client_info::ClientInfo;
use emendate_core::line_format::LineFormat;
use emendate_core::{Code, Error, Matching, Result, TextNames};
use emendate_os::paths::normal;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

/// Returns the name of a new session: the kind of its caller, and digits that no other session has.
pub fn unique_session(kind: &str) -> String {
    let mut digits = [0; 4];
    if getrandom::fill(&mut digits).is_err() {
        // Processes that live at the same time still differ.
        digits = std::process::id().to_be_bytes();
    }
    format!("{kind}-{:08x}", u32::from_be_bytes(digits))
}

/// The rule for files that the session has not read: whether they may be edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnreadPolicy {
    /// Allowed: a person at a terminal sees the files.
    Allow,
    /// Denied: a model must have been shown the lines it changes.
    #[default]
    Deny,
}

/// Reaction to a file that changed since it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StalePolicy {
    /// Rebase the edit if both sides changed different lines; refuse otherwise.
    #[default]
    Merge,
    /// Refuse.
    Reject,
    /// Like merge, but with conflict markers where both sides changed the same lines.
    Markers,
    /// Refuse, and list the choices.
    Ask,
}

/// The form in which a reply shows a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeDisplay {
    /// The changed places of the new text, at most 1,000 characters.
    #[default]
    Snippet,
    /// A diff in the form that fits the size of the change (seed 000).
    Diff,
}

/// An option with a closed set of named values.
pub trait OptionValue: Copy + PartialEq + 'static {
    /// Every value with its name; the default first.
    const NAMED_VALUES: &'static [(&'static str, Self)];

    /// The name of the value.
    fn name(self) -> &'static str {
        Self::NAMED_VALUES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }

    /// Returns the value with that name.
    ///
    /// Errors: `call.invalid` with the existing names.
    fn parse(option: &str, word: &str) -> Result<Self> {
        let known = Self::NAMED_VALUES.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::NAMED_VALUES.iter().map(|(name, _)| *name).collect();
            Error::new(Code::CallInvalid, format!("{option}: `{word}` is not one of {}.", names.join(", ")))
                .next(format!("Use one of: {}.", names.join(", ")))
        })
    }
}

impl OptionValue for UnreadPolicy {
    const NAMED_VALUES: &'static [(&'static str, UnreadPolicy)] =
        &[("deny", UnreadPolicy::Deny), ("allow", UnreadPolicy::Allow)];
}

impl OptionValue for StalePolicy {
    const NAMED_VALUES: &'static [(&'static str, StalePolicy)] = &[
        ("merge", StalePolicy::Merge),
        ("reject", StalePolicy::Reject),
        ("markers", StalePolicy::Markers),
        ("ask", StalePolicy::Ask),
    ];
}

impl OptionValue for ChangeDisplay {
    const NAMED_VALUES: &'static [(&'static str, ChangeDisplay)] =
        &[("snippet", ChangeDisplay::Snippet), ("diff", ChangeDisplay::Diff)];
}

impl OptionValue for Matching {
    const NAMED_VALUES: &'static [(&'static str, Matching)] =
        &[("standard", Matching::Standard), ("strict", Matching::Strict), ("exact", Matching::Exact)];
}

/// The context of a call. A call may override `on_stale` and `dry_run` for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// Name of the session whose reads count.
    pub session: String,
    /// Decides whether unread files may be edited.
    pub unread: UnreadPolicy,
    /// Reaction to stale edits; `None` uses the configuration.
    pub on_stale: Option<StalePolicy>,
    /// Plan everything, write nothing.
    pub dry_run: bool,
    /// The caller's working directory, for messages only.
    pub cwd: Option<PathBuf>,
    /// The line format for calls that do not name one; `None`: numbered lines in reads, and the edit's own format in
    /// replies.
    pub line_format: Option<&'static LineFormat>,
    /// A person's approval of a question that the same call ended with before.
    pub approval: Option<Approval>,
    /// The absolute directory that relative names in texts, and names in headers, are relative to. `None`: the first
    /// root.
    pub names_from: Option<PathBuf>,
    /// A handle for progress and cancellation.
    pub handle: Option<CallHandle>,
    /// The client, for events; `None` for calls through the library.
    pub client: Option<Arc<ClientInfo>>,
    /// A person reads the reply at a terminal, so the limits for models and programs do not apply.
    pub person_reads: bool,
    /// The caller requests the former text of a changed file in the data.
    pub original_file: bool,
    /// True if changes that cannot be undone are allowed; `None` if that depends on `unread`: they are allowed if
    /// unread files may be edited.
    pub irreversible: Option<bool>,
    /// Names of the texts of a replacement in messages; `None`: those of the table.
    pub texts: Option<TextNames>,
    /// The turn that the call belongs to, by any name: another name than that of the call before begins a new turn.
    /// `None`: the turn continues until a client's hook or a pause ends it.
    pub turn: Option<String>,
    /// The session whose shell command has just ended: what a snapshot finds then, `rewind` takes back with `shell`.
    pub shell_of: Option<String>,
}

impl CallContext {
    /// Returns the directory at which relative names begin, if the caller has one, in the spelling of the roots.
    pub(crate) fn name_directory(&self) -> Option<PathBuf> {
        self.names_from.as_deref().map(|path| normal(path).into_owned())
    }

    /// True if files may be edited that the session has not read.
    pub(crate) fn allows_unread(&self) -> bool {
        self.unread == UnreadPolicy::Allow
    }

    /// Records the format of the call's input.
    pub(crate) fn note_format(&self, format: &'static str) {
        if let Some(handle) = &self.handle {
            handle.note_format(format);
        }
    }

    /// Begins a phase of the call over `of` files; 0 if the number is unknown.
    pub(crate) fn begin(&self, step: CallPhase, of: usize) {
        if let Some(handle) = &self.handle {
            handle.begin(step, of);
        }
    }

    /// Counts one more file of the phase.
    ///
    /// Errors: `call.cancelled` if the call was asked to stop.
    pub(crate) fn advance(&self) -> Result<()> {
        let Some(handle) = &self.handle else { return Ok(()) };
        handle.advance(1);
        handle.check()
    }

    /// Records that all files are written, so that it is too late to stop.
    pub(crate) fn note_written(&self, files: usize) {
        if let Some(handle) = &self.handle {
            handle.advance(files);
        }
    }

    /// The flag that is set to stop the call.
    pub(crate) fn stop_flag(&self) -> &AtomicBool {
        self.handle.as_ref().map_or(&NEVER_STOPPED, CallHandle::stopped)
    }

    /// Errors: `call.cancelled` if the call was asked to stop.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.handle.as_ref().map_or(Ok(()), CallHandle::check)
    }
}

impl Default for CallContext {
    /// The session of this process, with the rules for models.
    fn default() -> CallContext {
        static PROCESS: LazyLock<String> = LazyLock::new(|| unique_session("process"));
        CallContext {
            session: PROCESS.clone(),
            unread: UnreadPolicy::Deny,
            on_stale: None,
            dry_run: false,
            cwd: None,
            line_format: None,
            approval: None,
            names_from: None,
            handle: None,
            client: None,
            person_reads: false,
            original_file: false,
            irreversible: None,
            texts: None,
            turn: None,
            shell_of: None,
        }
    }
}
