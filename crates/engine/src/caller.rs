//! Who calls, and under which rules: what a front end passes along with every call. There is no per-connection state.

use crate::approval::Approval;
use crate::events::Front;
use crate::watch::{NEVER, Step, Watch};
use emendate_core::marks::Marks;
use emendate_core::{Code, Error, Matching, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// May a file be edited that this session has not read?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unread {
    /// Yes: a person at a terminal sees what is there.
    Allow,
    /// No: a model must have been shown what it changes.
    #[default]
    Deny,
}

/// What to do when the file changed since it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStale {
    /// Carry the edit over to the new text if both sides changed different lines; refuse otherwise.
    #[default]
    Merge,
    /// Refuse.
    Reject,
    /// As merge, but write conflict markers where both sides changed the same lines.
    Markers,
    /// Refuse, and list the choices.
    Ask,
}

/// What a reply shows of a change, beside its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shows {
    /// The changed places of the new text, at most 1,000 characters.
    #[default]
    Snippet,
    /// A diff in the form that fits the size of the change (seed 000).
    Diff,
}

/// An option whose values are words of a closed set.
pub trait Word: Copy + PartialEq + 'static {
    /// Every value with its name; the default first.
    const WORDS: &'static [(&'static str, Self)];

    /// The name of the value.
    fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }

    /// The value with that name.
    ///
    /// Errors: `call.invalid` with the names there are.
    fn parse(option: &str, word: &str) -> Result<Self> {
        let known = Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::WORDS.iter().map(|(name, _)| *name).collect();
            Error::new(Code::CallInvalid, format!("{option}: `{word}` is not one of {}.", names.join(", ")))
                .next(format!("Use one of: {}.", names.join(", ")))
        })
    }
}

impl Word for Unread {
    const WORDS: &'static [(&'static str, Unread)] = &[("deny", Unread::Deny), ("allow", Unread::Allow)];
}

impl Word for OnStale {
    const WORDS: &'static [(&'static str, OnStale)] =
        &[("merge", OnStale::Merge), ("reject", OnStale::Reject), ("markers", OnStale::Markers), ("ask", OnStale::Ask)];
}

impl Word for Shows {
    const WORDS: &'static [(&'static str, Shows)] = &[("snippet", Shows::Snippet), ("diff", Shows::Diff)];
}

impl Word for Matching {
    const WORDS: &'static [(&'static str, Matching)] =
        &[("standard", Matching::Standard), ("strict", Matching::Strict), ("exact", Matching::Exact)];
}

/// Who calls, and under which rules. A call may override `on_stale` and `dry_run` for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Name of the session whose reads count.
    pub session: String,
    /// May unread files be edited?
    pub unread: Unread,
    /// What to do with stale edits; `None` leaves it to the configuration.
    pub on_stale: Option<OnStale>,
    /// Work everything out, write nothing.
    pub dry_run: bool,
    /// The caller's working directory, for messages only.
    pub cwd: Option<PathBuf>,
    /// How lines are shown where a call does not say it; `None`: numbered by reads, as the edits were written by replies.
    pub marks: Option<&'static Marks>,
    /// What a person agreed to, of what an earlier try of the same call asked.
    pub approval: Option<Approval>,
    /// The directory that relative names in its texts start from, and those in headers shown to it; absolute. `None`: the
    /// first root.
    pub names_from: Option<PathBuf>,
    /// What follows the call from outside, and may stop it.
    pub watch: Option<Watch>,
    /// Through what the call came, for events; `None`: through the library.
    pub front: Option<Arc<Front>>,
    /// A person reads the reply at a terminal, so the limits on replies to models and programs do not count.
    pub person_reads: bool,
    /// May be done what cannot be undone afterwards? `None`: where unread files may be edited.
    pub irreversible: Option<bool>,
}

impl Caller {
    /// Tells who follows the call in which format it is.
    pub(crate) fn reads_as(&self, format: &'static str) {
        if let Some(watch) = &self.watch {
            watch.reads_as(format);
        }
    }

    /// A step of the call begins, over so many files; 0 where that is not known.
    pub(crate) fn begin(&self, step: Step, of: usize) {
        if let Some(watch) = &self.watch {
            watch.begin(step, of);
        }
    }

    /// One file more of the step.
    ///
    /// Errors: `call.cancelled`, when the call was asked to stop.
    pub(crate) fn advance(&self) -> Result<()> {
        let Some(watch) = &self.watch else { return Ok(()) };
        watch.advance(1);
        watch.check()
    }

    /// All of so many files are written: it is too late to stop.
    pub(crate) fn wrote(&self, files: usize) {
        if let Some(watch) = &self.watch {
            watch.advance(files);
        }
    }

    /// What is set when the call shall stop.
    pub(crate) fn stop(&self) -> &AtomicBool {
        self.watch.as_ref().map_or(&NEVER, Watch::stopped)
    }

    /// Errors: `call.cancelled`, when the call was asked to stop.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.watch.as_ref().map_or(Ok(()), Watch::check)
    }
}

impl Default for Caller {
    /// The session `default`, under the rules for models.
    fn default() -> Caller {
        Caller {
            session: "default".to_owned(),
            unread: Unread::Deny,
            on_stale: None,
            dry_run: false,
            cwd: None,
            marks: None,
            approval: None,
            names_from: None,
            watch: None,
            front: None,
            person_reads: false,
            irreversible: None,
        }
    }
}
