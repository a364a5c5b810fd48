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
    pub(super) fn add_events(&mut self, said: &file::EventsSection, source: RuleSource<'_>) {
        if let Some(file) = &said.file {
            self.events.file = Some(file.clone()).filter(|file| !file.is_empty());
            self.came_from("events.file", source);
        }
        if let Some(size) = said.megabytes {
            self.events.megabytes = size;
            self.came_from("events.megabytes", source);
        }
        let events = &mut self.events;
        let slots =
            [("events.paths", said.paths, &mut events.paths), ("events.counts", said.counts, &mut events.counts)];
        let set = slots.into_iter().filter_map(|(key, said, slot)| {
            *slot = said?;
            Some(key)
        });
        let set: Vec<&'static str> = set.collect();
        for key in set {
            self.came_from(key, source);
        }
        if said.otlp == Some(true) || said.otlp_paths == Some(true) {
            let what =
                "events.otlp has no effect: emend opens no connection, let an OpenTelemetry collector read events.file";
            self.ignored.push(format!("{}: {what} (docs/events.md).", source.origin));
        }
    }

    /// Sets the target of events; `none` disables them.
    #[must_use]
    pub fn with_events(mut self, file: &str, origin: &str) -> Config {
        self.events.file = Some(file.to_owned()).filter(|file| file != "none");
        self.origins.insert("events.file", origin.to_owned());
        self
    }
}
