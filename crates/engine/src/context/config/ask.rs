//! Settings of questions that wait for a person.

use crate::context::config::rule::{invalid, within};
use crate::context::config::{Config, RuleSource, file};
use emendate_core::Result;
use std::time::Duration;

/// The longest time that a call waits.
pub(crate) const WAIT_SECONDS_MAX: u64 = 24 * 60 * 60;

/// The settings of questions that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskSettings {
    /// The time that a call waits for a person; zero for not at all.
    pub(crate) wait: Duration,
    /// The command that notifies the person of a question; empty for none.
    pub(crate) notify: Vec<String>,
}

impl Config {
    /// Errors: `call.invalid` for a time that is too long, a command without a name.
    pub(super) fn add_ask(&mut self, section: &file::AskSection, source: RuleSource<'_>) -> Result<()> {
        if section.notify.as_ref().and_then(|command| command.first()).is_some_and(String::is_empty) {
            return Err(invalid(source.origin, "ask.notify names no program"));
        }
        let wait =
            section.wait_seconds.map(|seconds| within(source, "ask.wait_seconds", seconds, 0..=WAIT_SECONDS_MAX));
        self.origins.set(
            &mut self.ask_settings.wait,
            "ask.wait_seconds",
            wait.transpose()?.map(Duration::from_secs),
            source,
        );
        self.origins.set(&mut self.ask_settings.notify, "ask.notify", section.notify.clone(), source);
        Ok(())
    }
}
