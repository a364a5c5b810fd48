//! What the variables of OpenTelemetry say. They are handed in: this crate reads no environment.

use crate::url;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::time::Duration;

/// What is sent of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A span: the call with its duration, as part of the caller's trace where that is known.
    Traces,
    /// Counters and a histogram of durations.
    Metrics,
    /// A record of the event itself.
    Logs,
}

impl Signal {
    const ALL: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

    /// As variables name it.
    const fn word(self) -> &'static str {
        match self {
            Signal::Traces => "TRACES",
            Signal::Metrics => "METRICS",
            Signal::Logs => "LOGS",
        }
    }

    /// As people name it.
    pub const fn name(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Metrics => "metrics",
            Signal::Logs => "logs",
        }
    }
}

/// Where one signal goes.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) signal: Signal,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) timeout: Duration,
}

/// What the user's own configuration says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// `Some(true)`: send, if need be to the standard's address on this machine. `Some(false)`: never. `None`: where a
    /// variable names an endpoint.
    pub send: Option<bool>,
    /// The paths of files too.
    pub paths: bool,
}

/// Where events go, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) targets: Vec<Target>,
    /// What this process is: keys and values.
    pub(crate) resource: Vec<(String, String)>,
    pub(crate) cumulative: bool,
    /// From the first event that waits to the request.
    pub(crate) delay: Duration,
    /// What the end of the process waits for the collector.
    pub(crate) patience: Duration,
    /// Events that wait, and those of one request.
    pub(crate) queue: usize,
    pub(crate) batch: usize,
    /// A file with the certificates that count for https.
    pub(crate) certificate: Option<String>,
    pub(crate) paths: bool,
    remarks: Vec<String>,
}

/// The longest time that a variable can ask for.
const LONGEST: Duration = Duration::from_secs(600);
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";

/// The variables, those that are empty taken for missing.
struct Variables<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    remarks: Vec<String>,
}

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// A variable of the exporter, for this signal or else for all.
    fn of(&self, signal: Signal, what: &str) -> Option<String> {
        let own = self.text(&format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.word()));
        own.or_else(|| self.text(&format!("OTEL_EXPORTER_OTLP_{what}")))
    }

    fn number(&mut self, name: &str, default: usize) -> usize {
        let Some(text) = self.text(name) else { return default };
        match text.parse() {
            Ok(number) if number > 0 => number,
            _ => {
                self.remarks.push(format!("{name} is `{text}` and no whole number above 0; {default} counts."));
                default
            }
        }
    }

    /// A variable of milliseconds.
    fn time(&mut self, name: &str, default: u64) -> Duration {
        let millis = self.number(name, usize::try_from(default).unwrap_or(usize::MAX));
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)).min(LONGEST)
    }

    /// Pairs of `key=value`, with commas between them and values percent-encoded.
    fn pairs(&mut self, name: &str, text: Option<String>) -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = Vec::new();
        for pair in text.unwrap_or_default().split(',').filter(|pair| !pair.trim().is_empty()) {
            let whole = pair.split_once('=').map(|(key, value)| {
                (key.trim().to_owned(), percent_decode_str(value.trim()).decode_utf8().map(Cow::into_owned))
            });
            match whole {
                Some((key, Ok(value))) if !key.is_empty() => {
                    out.retain(|(known, _)| *known != key);
                    out.push((key, value));
                }
                // It may hold a secret, so it is not shown.
                _ => self.remarks.push(format!("A part of {name} is no `key=value`; it is left out.")),
            }
        }
        out
    }

    /// Where a signal goes, if anywhere.
    fn target(&mut self, signal: Signal, wished: bool) -> Option<Target> {
        let exporter = format!("OTEL_{}_EXPORTER", signal.word());
        match self.text(&exporter).as_deref() {
            None => {}
            Some(list) if list.split(',').any(|one| one.trim() == "otlp") => {}
            Some("none") => return None,
            Some(other) => {
                self.remarks.push(format!("{exporter} is `{other}`; there is otlp and none, so none counts."));
                return None;
            }
        }
        let own = self.text(&format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.word()));
        let base = self.text("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| wished.then(|| DEFAULT_ENDPOINT.to_owned()));
        let url = own.or_else(|| Some(format!("{}/v1/{}", base?.trim_end_matches('/'), signal.name())))?;
        if let Err(why) = url::check(&url) {
            self.remarks.push(format!("{} are not sent to {}: {why}.", signal.name(), url::shown(&url)));
            return None;
        }
        if let Some(protocol) = self.of(signal, "PROTOCOL") {
            match &*protocol {
                "http/json" => {}
                "http/protobuf" => self.remarks.push(format!(
                    "{} are sent as http/json, not http/protobuf: collectors take both at one endpoint.",
                    signal.name()
                )),
                other => {
                    self.remarks.push(format!(
                        "{} are not sent: the protocol is `{other}`, and this is http/json.",
                        signal.name()
                    ));
                    return None;
                }
            }
        }
        let own = format!("OTEL_EXPORTER_OTLP_{}_TIMEOUT", signal.word());
        let timeout = self.time("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000);
        let timeout = self.time(&own, u64::try_from(timeout.as_millis()).unwrap_or(10_000));
        let headers = self.of(signal, "HEADERS");
        let headers = self.pairs("OTEL_EXPORTER_OTLP_HEADERS", headers);
        Some(Target { signal, url, headers, timeout })
    }

    /// What this process is, where later words go before earlier ones.
    fn resource(&mut self, version: &str) -> Vec<(String, String)> {
        let said = self.text("OTEL_RESOURCE_ATTRIBUTES");
        let mut said = self.pairs("OTEL_RESOURCE_ATTRIBUTES", said);
        if let Some(name) = self.text("OTEL_SERVICE_NAME") {
            said.retain(|(key, _)| key != "service.name");
            said.push(("service.name".to_owned(), name));
        }
        let mut own = vec![("service.name".to_owned(), "emend".to_owned())];
        own.push(("service.version".to_owned(), version.to_owned()));
        own.extend(crate::encode::random::<16>().map(|id| ("service.instance.id".to_owned(), crate::encode::hex(&id))));
        own.retain(|(key, _)| !said.iter().any(|(known, _)| known == key));
        own.extend(said);
        own
    }
}

impl Settings {
    /// What the variables say, together with the user's wish; `version` is the program's.
    ///
    /// Errors: why nothing is sent, as the end of a sentence; and remarks about variables that are wrong.
    pub fn read(
        wish: Wish,
        version: &str,
        get: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Settings, (&'static str, Vec<String>)> {
        let mut vars = Variables { get, remarks: Vec::new() };
        if wish.send == Some(false) {
            return Err(("events.otlp is false", Vec::new()));
        }
        if vars.text("OTEL_SDK_DISABLED").is_some_and(|word| word.eq_ignore_ascii_case("true")) {
            return Err(("OTEL_SDK_DISABLED is true", Vec::new()));
        }
        let targets: Vec<Target> =
            Signal::ALL.into_iter().filter_map(|signal| vars.target(signal, wish.send == Some(true))).collect();
        if targets.is_empty() {
            return Err(("no OTEL_EXPORTER_OTLP_ENDPOINT that can be used", vars.remarks));
        }
        let cumulative = match vars
            .text("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE")
            .map(|it| it.to_lowercase())
        {
            None => false,
            Some(word) if ["delta", "lowmemory"].contains(&&*word) => false,
            Some(word) if word == "cumulative" => true,
            Some(word) => {
                vars.remarks.push(format!(
                    "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is `{word}`; there is delta and cumulative, and delta counts."
                ));
                false
            }
        };
        let queue = vars.number("OTEL_BLRP_MAX_QUEUE_SIZE", 2048).min(1 << 16);
        Ok(Settings {
            targets,
            resource: vars.resource(version),
            cumulative,
            delay: vars.time("OTEL_BLRP_SCHEDULE_DELAY", 1000),
            patience: vars.time("OTEL_BLRP_EXPORT_TIMEOUT", 1000),
            queue,
            batch: vars.number("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", 512).min(queue),
            certificate: vars.text("OTEL_EXPORTER_OTLP_CERTIFICATE"),
            paths: wish.paths,
            remarks: dedup(vars.remarks),
        })
    }

    /// Signals with their addresses, fit to be shown.
    pub fn targets(&self) -> Vec<(Signal, String)> {
        self.targets.iter().map(|target| (target.signal, url::shown(&target.url))).collect()
    }

    /// True where the paths of files are sent too.
    pub fn sends_paths(&self) -> bool {
        self.paths
    }

    /// What a person should know of variables that are wrong.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }
}

/// The same said for several signals is said once.
fn dedup(remarks: Vec<String>) -> Vec<String> {
    let mut out = Vec::new();
    for remark in remarks {
        if !out.contains(&remark) {
            out.push(remark);
        }
    }
    out
}
