//! Counters and the histogram of durations: what calls have in common, and how many there were.

use crate::encode::{attribute, attributes, nanos};
use emendate_events::Event;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What calls are told apart by; what is as good as unique (a session, a number of bytes) would be a series of its own.
const KEYS: [&str; 6] = ["tool", "format", "code", "tier", "model", "door"];
/// Sets of attributes that are told apart; the rest is counted together.
const SETS: usize = 2000;
/// Bounds of the histogram, in microseconds.
const BOUNDS: [u64; 14] =
    [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000, 60_000_000];
const DELTA: u8 = 1;
const CUMULATIVE: u8 = 2;

#[derive(Debug, Default)]
struct Point {
    attributes: Vec<Value>,
    calls: u64,
    micros: u64,
    buckets: [u64; BOUNDS.len() + 1],
    input: u64,
    output: u64,
    lines: (u64, u64),
}

/// What was counted since a time.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Microseconds since 1970.
    since: Option<u64>,
    points: BTreeMap<String, Point>,
    lost: u64,
}

impl Metrics {
    /// Counts events, and gives what is to be sent: what came now, or all since the beginning.
    pub(crate) fn told(&mut self, events: &[Event], lost: u64, cumulative: bool) -> Vec<Value> {
        for event in events {
            self.count(event);
        }
        self.lost = self.lost.saturating_add(lost);
        let end = events.iter().map(|event| event.at.saturating_add(event.micros)).max().unwrap_or(0);
        let since = self.since.unwrap_or(end);
        let out = self.all((since, end.max(since)), cumulative);
        if !cumulative {
            *self = Metrics { since: Some(end.max(since)), ..Metrics::default() };
        }
        out
    }

    fn count(&mut self, event: &Event) {
        self.since = Some(self.since.map_or(event.at, |since| since.min(event.at)));
        let mut fields = event.fields(false);
        fields.retain(|key, _| KEYS.contains(&&**key));
        let name = Value::Object(fields.clone()).to_string();
        let full = self.points.len() >= SETS && !self.points.contains_key(&name);
        let (name, attributes) = if full {
            (String::new(), vec![attribute("otel.metric.overflow", &true.into())])
        } else {
            (name, attributes(&fields, event))
        };
        let point = self.points.entry(name).or_insert_with(|| Point { attributes, ..Point::default() });
        let size = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        let add = |slot: &mut u64, more: u64| *slot = slot.saturating_add(more);
        add(&mut point.calls, 1);
        add(&mut point.micros, event.micros);
        add(&mut point.buckets[BOUNDS.partition_point(|bound| *bound < event.micros)], 1);
        add(&mut point.input, size(event.input));
        add(&mut point.output, size(event.output));
        add(&mut point.lines.0, event.lines.0);
        add(&mut point.lines.1, event.lines.1);
    }

    fn all(&self, (since, end): (u64, u64), cumulative: bool) -> Vec<Value> {
        let kind = if cumulative { CUMULATIVE } else { DELTA };
        let at = |point: Map<String, Value>, attributes: &[Value]| {
            let mut out = point;
            out.insert("attributes".to_owned(), attributes.into());
            out.insert("startTimeUnixNano".to_owned(), nanos(since).into());
            out.insert("timeUnixNano".to_owned(), nanos(end).into());
            Value::Object(out)
        };
        let number = |value: u64| Map::from_iter([("asInt".to_owned(), value.to_string().into())]);
        let sum = |name: &str, unit: &str, what: &str, points: Vec<Value>| {
            let sum = json!({ "aggregationTemporality": kind, "isMonotonic": true, "dataPoints": points });
            json!({ "name": name, "unit": unit, "description": what, "sum": sum })
        };
        let each = |value: fn(&Point) -> u64| -> Vec<Value> {
            self.points.values().map(|point| at(number(value(point)), &point.attributes)).collect()
        };
        let mut out = Vec::new();
        if !self.points.is_empty() {
            out.push(sum("emend.calls", "{call}", "Calls of tools.", each(|point| point.calls)));
            out.push(json!({
                "name": "emend.call.duration",
                "unit": "s",
                "description": "From the call to the reply.",
                "histogram": { "aggregationTemporality": kind, "dataPoints": self.points.values().map(|point| at(histogram(point), &point.attributes)).collect::<Vec<_>>() },
            }));
            out.push(sum("emend.bytes_in", "By", "Text in the input of calls.", each(|point| point.input)));
            out.push(sum("emend.bytes_out", "By", "Text in replies.", each(|point| point.output)));
            out.push(sum("emend.lines_added", "{line}", "Lines that were added.", each(|point| point.lines.0)));
            out.push(sum("emend.lines_removed", "{line}", "Lines that were removed.", each(|point| point.lines.1)));
        }
        if self.lost > 0 {
            out.push(sum(
                "emend.events.lost",
                "{event}",
                "Events that were not sent.",
                vec![at(number(self.lost), &[])],
            ));
        }
        out
    }
}

/// Durations of a point, in seconds.
fn histogram(point: &Point) -> Map<String, Value> {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a century fit")]
    let seconds = |micros: u64| micros as f64 / 1e6;
    let bounds: Vec<f64> = BOUNDS.iter().map(|bound| seconds(*bound)).collect();
    let counts: Vec<String> = point.buckets.iter().map(u64::to_string).collect();
    Map::from_iter([
        ("count".to_owned(), point.calls.to_string().into()),
        ("sum".to_owned(), seconds(point.micros).into()),
        ("bucketCounts".to_owned(), counts.into()),
        ("explicitBounds".to_owned(), bounds.into()),
    ])
}
