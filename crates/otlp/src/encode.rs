//! Events as bodies of OTLP requests, in the JSON encoding of the protocol: identities in hex, 64-bit numbers as texts.

use crate::metrics::Metrics;
use crate::settings::{Settings, Signal};
use emendate_events::{ASKED, Event};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The prefix of all our names.
const OURS: &str = "emend";
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const ERROR: u8 = 2;

/// Random bytes; `None` where the system has none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut out = [0; N];
    getrandom::fill(&mut out).ok()?;
    Some(out)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// A trace, the span in it that called, and whether the caller records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) trace: String,
    pub(crate) span: String,
    pub(crate) sampled: bool,
}

impl Parent {
    /// Reads W3C's `traceparent`; `None` for what is none.
    pub(crate) fn read(text: &str) -> Option<Parent> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is = |text: &str, len: usize| {
            text.len() == len && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let named = |text: &str, len| is(text, len) && text.bytes().any(|byte| byte != b'0');
        // A later version may say more behind what is known.
        let whole = is(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        let flags = u8::from_str_radix(flags, 16).ok().filter(|_| is(flags, 2))?;
        let known = whole && named(trace, 32) && named(span, 16);
        known.then(|| Parent { trace: trace.to_owned(), span: span.to_owned(), sampled: flags & 1 == 1 })
    }
}

/// A value as the protocol has it.
fn any(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => json!({ "boolValue": yes }),
        Value::Number(number) if number.is_u64() || number.is_i64() => json!({ "intValue": number.to_string() }),
        Value::Number(number) => json!({ "doubleValue": number }),
        Value::Array(items) => json!({ "arrayValue": { "values": items.iter().map(any).collect::<Vec<_>>() } }),
        Value::String(text) => json!({ "stringValue": text }),
        Value::Null | Value::Object(_) => json!({ "stringValue": value.to_string() }),
    }
}

pub(crate) fn attribute(key: &str, value: &Value) -> Value {
    json!({ "key": key, "value": any(value) })
}

/// What is told of an event, under our names; a failure under the standard's too.
pub(crate) fn attributes<'a>(fields: impl IntoIterator<Item = (&'a String, &'a Value)>, event: &Event) -> Vec<Value> {
    let mut out: Vec<Value> =
        fields.into_iter().map(|(key, value)| attribute(&format!("{OURS}.{key}"), value)).collect();
    if failed(event) {
        out.push(attribute("error.type", &event.code.into()));
    }
    out
}

/// A call that ended with a question to a person did not fail.
fn failed(event: &Event) -> bool {
    event.code != "ok" && event.code != ASKED
}

/// Nanoseconds, as a text.
pub(crate) fn nanos(micros: u64) -> String {
    micros.saturating_mul(1000).to_string()
}

/// An event with the names that its span has.
struct Told<'a> {
    event: &'a Event,
    fields: Map<String, Value>,
    parent: Option<Parent>,
    trace: String,
    span: String,
}

impl<'a> Told<'a> {
    fn of(event: &'a Event, paths: bool) -> Option<Told<'a>> {
        let parent = Parent::read(&event.traceparent);
        let trace = match &parent {
            Some(parent) => parent.trace.clone(),
            None => hex(&random::<16>()?),
        };
        Some(Told { event, fields: event.fields(paths), parent, trace, span: hex(&random::<8>()?) })
    }

    /// What the caller does not record is not recorded here either.
    fn traced(&self) -> bool {
        self.parent.as_ref().is_none_or(|parent| parent.sampled)
    }

    fn span(&self) -> Value {
        let event = self.event;
        let mut out = json!({
            "traceId": self.trace,
            "spanId": self.span,
            "name": event.tool,
            "kind": if self.parent.is_some() { SERVER } else { INTERNAL },
            "startTimeUnixNano": nanos(event.at),
            "endTimeUnixNano": nanos(event.at.saturating_add(event.micros)),
            "attributes": attributes(&self.fields, event),
        });
        if let Some(parent) = &self.parent {
            out["parentSpanId"] = parent.span.clone().into();
        }
        if failed(event) {
            out["status"] = json!({ "code": ERROR, "message": event.code });
        }
        out
    }

    fn record(&self, traces: bool) -> Value {
        let event = self.event;
        let (number, text) = if failed(event) { (13, "WARN") } else { (9, "INFO") };
        let mut out = json!({
            "timeUnixNano": nanos(event.at),
            "observedTimeUnixNano": nanos(event.at.saturating_add(event.micros)),
            "severityNumber": number,
            "severityText": text,
            "eventName": format!("{OURS}.call"),
            "body": { "stringValue": format!("{} {}", event.tool, event.code) },
            "attributes": attributes(&self.fields, event),
        });
        if traces && self.traced() {
            out["traceId"] = self.trace.clone().into();
            out["spanId"] = self.span.clone().into();
        }
        out
    }
}

/// The bodies of the requests for these events, one for each signal that goes anywhere; none for one that is empty.
/// `lost` events were not sent before.
pub(crate) fn bodies(settings: &Settings, events: &[Event], metrics: &mut Metrics, lost: u64) -> Vec<Option<Vec<u8>>> {
    let told: Vec<Told<'_>> = events.iter().filter_map(|event| Told::of(event, settings.paths)).collect();
    let traces = settings.targets.iter().any(|target| target.signal == Signal::Traces);
    let resource: Vec<Value> =
        settings.resource.iter().map(|(key, value)| attribute(key, &value.as_str().into())).collect();
    let version = settings.resource.iter().find(|(key, _)| key == "service.version");
    let scope = json!({ "name": OURS, "version": version.map(|(_, value)| value) });
    let body = |signal: Signal, items: Vec<Value>| {
        let (outer, inner, name) = match signal {
            Signal::Traces => ("resourceSpans", "scopeSpans", "spans"),
            Signal::Metrics => ("resourceMetrics", "scopeMetrics", "metrics"),
            Signal::Logs => ("resourceLogs", "scopeLogs", "logRecords"),
        };
        let one = json!({ "scope": scope, name: items });
        json!({ outer: [{ "resource": { "attributes": resource }, inner: [one] }] }).to_string().into_bytes()
    };
    let all = settings.targets.iter().map(|target| {
        let items: Vec<Value> = match target.signal {
            Signal::Traces => told.iter().filter(|it| it.traced()).map(Told::span).collect(),
            Signal::Logs => told.iter().map(|it| it.record(traces)).collect(),
            Signal::Metrics => metrics.told(events, lost, settings.cumulative),
        };
        (!items.is_empty()).then(|| body(target.signal, items))
    });
    all.collect()
}
