//! The hooks before and after reading and editing.

use super::file::Hook as Row;
use super::rule::{Rule, Source, invalid};
use crate::caller::Word;
use emendate_core::Result;
use std::time::Duration;

/// Default time limit of a hook in seconds.
const SECONDS: u64 = 10;

/// The event that a hook handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    BeforeRead,
    BeforeEdit,
    AfterEdit,
}

impl Word for Event {
    const WORDS: &'static [(&'static str, Event)] =
        &[("before_edit", Event::BeforeEdit), ("before_read", Event::BeforeRead), ("after_edit", Event::AfterEdit)];
}

/// A hook program with its event.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) on: Event,
    pub(crate) files: Rule,
    pub(crate) words: Vec<String>,
    pub(crate) time: Duration,
    /// If it fails, the call is refused.
    pub(crate) required: bool,
}

impl Hook {
    /// Errors: `call.invalid` for an unknown event, an invalid pattern, a missing command.
    pub(super) fn new(row: &Row, source: Source<'_>) -> Result<Hook> {
        if row.command.first().is_none_or(String::is_empty) {
            return Err(invalid(source.origin, "hooks.command is empty"));
        }
        Ok(Hook {
            on: super::word(source, "hooks.on", &row.on)?,
            files: Rule::new(row.files.as_deref().unwrap_or("*"), source)?,
            words: row.command.clone(),
            time: Duration::from_secs(row.seconds.unwrap_or(SECONDS).clamp(1, 600)),
            required: row.required,
        })
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }
}
