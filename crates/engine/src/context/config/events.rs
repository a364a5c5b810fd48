//! Settings of the event file and the counters.

use crate::context::config::{Config, RuleSource, file};

/// The settings of the event file and the counters.
#[derive(Clone, Debug)]
pub(crate) struct EventSettings {
    pub(crate) file: Option<String>,
    pub(crate) megabytes: u64,
    pub(crate) paths: bool,
    pub(crate) counts: bool,
}

impl Default for EventSettings {
    fn default() -> EventSettings {
        EventSettings { file: None, megabytes: 10, paths: false, counts: true }
    }
}

impl Config {
    pub(super) fn add_events(&mut self, section: &file::EventsSection, source: RuleSource<'_>) {
        let file = section.file.clone().map(|file| Some(file).filter(|file| !file.is_empty()));
        self.origins.set(&mut self.events.file, "events.file", file, source);
        self.origins.set(&mut self.events.megabytes, "events.megabytes", section.megabytes, source);
        self.origins.set(&mut self.events.paths, "events.paths", section.paths, source);
        self.origins.set(&mut self.events.counts, "events.counts", section.counts, source);
        if section.otlp == Some(true) || section.otlp_paths == Some(true) {
            let what =
                "events.otlp has no effect: emend opens no connection, let an OpenTelemetry collector read events.file";
            self.ignored.push(format!("{}: {what} (docs/events.md).", source.origin));
        }
    }

    /// Sets the target of events; `none` disables them.
    #[must_use]
    pub fn with_events(mut self, file: &str, origin: &str) -> Config {
        self.events.file = Some(file.to_owned()).filter(|file| file != "none");
        self.origins.note("events.file", origin);
        self
    }
}
