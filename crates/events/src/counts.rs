//! The file of counters: lines of `hour, tool, format, code, tier, model, transport, calls, microseconds, bytes in, bytes
//! out`, separated by TAB; older lines end before the bytes. Lines that differ only in the numbers at the end mean
//! their sum, so appending a line counts, and compacting changes nothing but the size.

use crate::append::with_suffix;
use crate::event::{Event, name};
use emendate_os::files::OpenOptionsExt as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

/// File size in bytes above which the file is compacted.
pub(crate) const COUNTERS_BYTES_MAX: u64 = 1 << 20;
/// Bytes left after compacting; the oldest lines are dropped.
const COUNTERS_BYTES_KEPT: usize = 1 << 19;
/// Maximum bytes read.
const COUNTERS_BYTES_READ: u64 = 64 << 20;
/// Hours that are counted separately; older ones are counted by day.
const HOURLY_HOURS: u64 = 14 * 24;
/// Hours that are kept.
const KEPT_HOURS: u64 = 400 * 24;
/// Microseconds of an hour.
const HOUR: u64 = 3_600_000_000;

/// Properties that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CounterKey {
    /// Hours since 1970.
    pub(crate) hour: u64,
    pub(crate) tool: String,
    pub(crate) format: String,
    pub(crate) code: String,
    pub(crate) tier: String,
    pub(crate) model: String,
    pub(crate) transport: String,
}

/// Number of calls, their total time in microseconds, and bytes of text of their inputs and replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCount {
    pub(crate) calls: u64,
    pub(crate) micros: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl CallCount {
    pub(crate) fn add(&mut self, other: CallCount) {
        self.calls = self.calls.saturating_add(other.calls);
        self.micros = self.micros.saturating_add(other.micros);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
    }
}

pub(crate) type CallCounts = BTreeMap<CounterKey, CallCount>;

/// Formats events as lines, one per key.
pub(crate) fn lines(events: &[Event]) -> String {
    let mut counts = CallCounts::new();
    for event in events {
        let key = CounterKey {
            hour: event.at / HOUR,
            tool: event.tool.to_owned(),
            format: event.format.to_owned(),
            code: event.code.to_owned(),
            tier: event.tier.map_or(String::new(), |tier| tier.to_string()),
            model: name(&event.model),
            transport: event.transport.to_owned(),
        };
        let (input, output) = (event.input as u64, event.output as u64);
        counts.entry(key).or_default().add(CallCount { calls: 1, micros: event.micros, input, output });
    }
    render(&counts)
}

fn render(counts: &CallCounts) -> String {
    let mut out = String::new();
    for (CounterKey { hour, tool, format, code, tier, model, transport }, count) in counts {
        let CallCount { calls, micros, input, output } = count;
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{hour}\t{tool}\t{format}\t{code}\t{tier}\t{model}\t{transport}\t{calls}\t{micros}\t{input}\t{output}"
        );
    }
    out
}

/// Parses counts; skips invalid lines (from an interrupted write).
pub(crate) fn read(text: &str) -> CallCounts {
    let mut out = CallCounts::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [hour, tool, format, code, tier, model, transport, calls, micros, ref bytes @ ..] = *parts else {
            continue;
        };
        let [input, output] = match *bytes {
            [] => [Some(0), Some(0)],
            [input, output] => [input, output].map(|count| count.parse().ok()),
            _ => continue,
        };
        let (Some(input), Some(output)) = (input, output) else { continue };
        let (Ok(hour), Ok(calls), Ok(micros)) = (hour.parse(), calls.parse(), micros.parse()) else { continue };
        let text = str::to_owned;
        let (tool, format, code) = (text(tool), text(format), text(code));
        let key =
            CounterKey { hour, tool, format, code, tier: text(tier), model: text(model), transport: text(transport) };
        out.entry(key).or_default().add(CallCount { calls, micros, input, output });
    }
    out
}

/// Reads a file of counters.
pub(crate) fn text(file: impl io::Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(COUNTERS_BYTES_READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces a full file with an equivalent one of fewer lines.
pub(crate) fn compact(file: &mut File, path: &Path) -> io::Result<()> {
    file.rewind()?;
    let counts = read(&text(file)?);
    let now = counts.keys().next_back().map_or(0, |key| key.hour);
    let mut coarse = CallCounts::new();
    for (mut key, count) in counts {
        if key.hour + KEPT_HOURS < now {
            continue;
        }
        if key.hour + HOURLY_HOURS < now {
            key.hour -= key.hour % 24;
        }
        coarse.entry(key).or_default().add(count);
    }
    let mut text = render(&coarse);
    if text.len() > COUNTERS_BYTES_KEPT {
        let from = text.len() - COUNTERS_BYTES_KEPT;
        text.drain(
            ..text.as_bytes()[from..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| from + at + 1),
        );
    }
    let fresh = with_suffix(path, ".new");
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    out.write_all(text.as_bytes())?;
    fs::rename(&fresh, path)
}
