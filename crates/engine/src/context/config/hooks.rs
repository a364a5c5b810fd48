//! The hooks before and after reading and editing.

use crate::context::config::file::HookEntry as Row;
use crate::context::config::rule::{PathRule, RuleSource, SECONDS_RANGE, invalid, within, word};
use crate::model::call_context::OptionValue;
use emendate_core::Result;
use std::time::Duration;

/// Default time limit of a hook in seconds.
const HOOK_SECONDS_DEFAULT: u64 = 10;

/// The event that a hook handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookEvent {
    BeforeRead,
    BeforeEdit,
    AfterEdit,
}

impl OptionValue for HookEvent {
    const NAMED_VALUES: &'static [(&'static str, HookEvent)] = &[
        ("before_edit", HookEvent::BeforeEdit),
        ("before_read", HookEvent::BeforeRead),
        ("after_edit", HookEvent::AfterEdit),
    ];
}

/// A hook program with its event.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) on: HookEvent,
    pub(crate) files: PathRule,
    pub(crate) command: Vec<String>,
    pub(crate) time: Duration,
    /// If the hook fails, the call is refused.
    pub(crate) required: bool,
}

impl Hook {
    /// Errors: `call.invalid` for an unknown event, an invalid pattern, a missing command, a time out of range.
    pub(super) fn new(row: &Row, source: RuleSource<'_>) -> Result<Hook> {
        if row.command.first().is_none_or(String::is_empty) {
            return Err(invalid(source.origin, "hooks.command is empty"));
        }
        let on = word(source, "hooks.on", &row.on)?;
        let seconds = within(source, "hooks.seconds", row.seconds.unwrap_or(HOOK_SECONDS_DEFAULT), SECONDS_RANGE)?;
        Ok(Hook {
            on,
            files: PathRule::new(row.files.as_deref().unwrap_or("*"), source)?,
            command: row.command.clone(),
            time: Duration::from_secs(seconds),
            // It can do nothing but refuse, and what was shown cannot be taken back.
            required: row.required.unwrap_or(on == HookEvent::BeforeRead),
        })
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> &str {
        self.command.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }
}
