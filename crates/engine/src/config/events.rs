//! Settings for events about calls.

use super::file;
use super::{Config, Source};

/// The recorded events.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    pub(crate) file: Option<String>,
    pub(crate) megabytes: u64,
    pub(crate) paths: bool,
    pub(crate) counts: bool,
    pub(crate) otlp: Option<bool>,
    pub(crate) otlp_paths: bool,
}

impl Default for Events {
    fn default() -> Events {
        Events { file: None, megabytes: 10, paths: false, counts: true, otlp: None, otlp_paths: false }
    }
}

impl Config {
    pub(super) fn add_events(&mut self, said: &file::Events, source: Source<'_>) {
        if let Some(file) = &said.file {
            self.events.file = Some(file.clone()).filter(|file| !file.is_empty());
            self.came_from("events.file", source);
        }
        if let Some(size) = said.megabytes {
            self.events.megabytes = size;
            self.came_from("events.megabytes", source);
        }
        let events = &mut self.events;
        events.otlp = said.otlp.or(events.otlp);
        let slots = [
            ("events.paths", said.paths, &mut events.paths),
            ("events.counts", said.counts, &mut events.counts),
            ("events.otlp_paths", said.otlp_paths, &mut events.otlp_paths),
        ];
        let set = slots.into_iter().filter_map(|(key, said, slot)| {
            *slot = said?;
            Some(key)
        });
        let set: Vec<&'static str> = set.chain(said.otlp.map(|_| "events.otlp")).collect();
        for key in set {
            self.came_from(key, source);
        }
    }

    /// Sets the target of events; `none` disables them.
    #[must_use]
    pub fn with_events(mut self, file: &str, origin: &str) -> Config {
        self.events.file = Some(file.to_owned()).filter(|file| file != "none");
        self.origins.insert("events.file", origin.to_owned());
        self
    }

    /// Whether the user enabled or disabled sending events to a collector, and whether they include paths.
    pub fn otlp(&self) -> (Option<bool>, bool) {
        (self.events.otlp, self.events.otlp_paths)
    }
}
