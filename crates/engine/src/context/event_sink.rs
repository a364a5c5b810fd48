//! The target of events.

use crate::context::config::Config;
use crate::context::history_stores::StateLocation;
use emendate_events::Sink;
use std::path::{Path, PathBuf};

/// Name of the counters file in the state directory.
pub const COUNTERS_FILE: &str = "counts";

/// Opens the target of events according to the configuration; also returns a notice about it.
pub(crate) fn sink(config: &Config, state: &StateLocation) -> (Sink, Option<String>) {
    let mut sink = Sink::default();
    if matches!(state, StateLocation::Throwaway(_)) {
        return (sink, None);
    }
    let directory = state.directory();
    if let Some(directory) = directory.filter(|_| config.events.counts) {
        sink = sink.counters(directory.join(COUNTERS_FILE));
    }
    let Some(file) = config.events.file.as_deref() else { return (sink, None) };
    let path = match (file.strip_prefix("~/"), config.home(), directory) {
        (Some(rest), Some(home), _) => home.join(rest),
        _ if Path::new(file).is_absolute() => PathBuf::from(file),
        (None, _, Some(directory)) => directory.join(file),
        _ => {
            return (
                sink,
                Some(format!("Events are not written: `{file}` needs a home or state directory, and there is none.")),
            );
        }
    };
    (sink.file(path, config.events.megabytes.saturating_mul(1 << 20), config.events.paths), None)
}
