//! What leaves the machine: events, to an OpenTelemetry collector, in a build with the feature `otlp` and where the user's
//! configuration or environment names one.

use emendate::{Config, Engine};
#[cfg(feature = "otlp")]
use emendate_otlp::{Exporter, Settings, Wish};
use serde_json::{Value, json};

/// Where events go, if anywhere.
pub(crate) struct Export {
    /// Why they go nowhere.
    reason: &'static str,
    /// What is sent, and to which address.
    targets: Vec<(&'static str, String)>,
    paths: bool,
}

impl Default for Export {
    fn default() -> Export {
        Export { reason: "emend opens no network connection", targets: Vec::new(), paths: false }
    }
}

#[cfg(feature = "otlp")]
fn settings(config: &Config) -> Result<Settings, (&'static str, Vec<String>)> {
    let (send, paths) = config.otlp();
    Settings::read(Wish { send, paths }, env!("CARGO_PKG_VERSION"), &|name| std::env::var(name).ok())
}

/// Sends the events of an engine where they are to go.
#[cfg(feature = "otlp")]
pub(crate) fn attach(engine: &mut Engine) {
    let remarks = match settings(engine.config()) {
        Ok(settings) => {
            let remarks = settings.remarks().to_vec();
            // What cannot be sent is known when nobody asks any more.
            engine.export(Box::new(Exporter::new(settings, Box::new(crate::show::note))));
            remarks
        }
        Err((_, remarks)) => remarks,
    };
    remarks.into_iter().for_each(|remark| engine.notice(remark));
}

/// Sends nothing, and says so where it is wished for.
#[cfg(not(feature = "otlp"))]
pub(crate) fn attach(engine: &mut Engine) {
    if engine.config().otlp().0 == Some(true) {
        engine.notice("events.otlp is true, but this build of emend has no exporter (cargo feature otlp).".to_owned());
    }
}

impl Export {
    /// What holds by the configuration and the environment.
    #[cfg(feature = "otlp")]
    pub(crate) fn of(config: &Config) -> Export {
        match settings(config) {
            Ok(settings) => Export {
                reason: "",
                targets: settings.targets().into_iter().map(|(signal, url)| (signal.name(), url)).collect(),
                paths: settings.sends_paths(),
            },
            Err((reason, _)) => Export { reason, ..Export::default() },
        }
    }

    /// What holds: nothing is sent.
    #[cfg(not(feature = "otlp"))]
    pub(crate) fn of(_: &Config) -> Export {
        Export::default()
    }

    /// For `emend doctor`.
    pub(crate) fn line(&self) -> String {
        if self.targets.is_empty() {
            return format!("none: {}", self.reason);
        }
        let paths = if self.paths { "with the paths of files, without contents" } else { "without paths or contents" };
        let targets: Vec<String> = self.targets.iter().map(|(name, url)| format!("{name} to {url}")).collect();
        format!("events are sent, {paths}: {}", targets.join(", "))
    }

    /// The same for programs: false, or what is sent where.
    pub(crate) fn json(&self) -> Value {
        if self.targets.is_empty() {
            return false.into();
        }
        let targets = self.targets.iter().map(|(name, url)| json!({ "signal": name, "url": url })).collect::<Vec<_>>();
        json!({ "targets": targets, "paths": self.paths })
    }
}
