//! Settings of questions that wait for a person.

use crate::context::config::{Config, RuleSource, file};
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
    pub(super) fn add_ask(&mut self, section: &file::AskSection, source: RuleSource<'_>) {
        let wait = section.wait_seconds.map(|seconds| Duration::from_secs(seconds.min(WAIT_SECONDS_MAX)));
        self.origins.set(&mut self.ask_settings.wait, "ask.wait_seconds", wait, source);
        self.origins.set(&mut self.ask_settings.notify, "ask.notify", section.notify.clone(), source);
    }
}
