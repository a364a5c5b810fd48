//! Summaries of the counters.

use crate::counts::{CallCount, CallCounts, CounterKey, read, text};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// The code of a call that ended with a question to the user: neither a success nor a failure.
pub const ASKED: &str = "access.ask";

/// Property by which calls are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TallyKey {
    /// The tool.
    Tool,
    /// The format of the input; skips calls without one.
    Format,
    /// The matching tier; skips calls that matched nothing.
    Tier,
    /// The model; empty if unknown.
    Model,
    /// The front end.
    Transport,
    /// The code of the reply.
    Code,
}

impl TallyKey {
    /// All of them, in the order of display.
    pub const ALL: [TallyKey; 6] =
        [TallyKey::Tool, TallyKey::Format, TallyKey::Tier, TallyKey::Model, TallyKey::Transport, TallyKey::Code];

    /// Name of the property.
    pub const fn name(self) -> &'static str {
        match self {
            TallyKey::Tool => "tool",
            TallyKey::Format => "format",
            TallyKey::Tier => "tier",
            TallyKey::Model => "model",
            TallyKey::Transport => "transport",
            TallyKey::Code => "code",
        }
    }
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyRow {
    /// Common property of its calls.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of successes.
    pub ok: u64,
    /// Number of calls that ended with a question to the user.
    pub asked: u64,
    /// Total microseconds.
    pub micros: u64,
    /// Bytes of text in the inputs.
    pub input: u64,
    /// Bytes of text in the replies.
    pub output: u64,
}

/// Bytes of text counted as one token: an estimate that is close for English and code with most models.
pub const TOKEN_BYTES: u64 = 4;

impl TallyRow {
    fn empty(name: &str) -> TallyRow {
        TallyRow { name: name.to_owned(), calls: 0, ok: 0, asked: 0, micros: 0, input: 0, output: 0 }
    }

    /// Returns successes per thousand calls that were not questions; `None` if there are none.
    pub fn per_mille(&self) -> Option<u64> {
        self.ok.saturating_mul(1000).checked_div(self.calls - self.asked)
    }

    /// Returns the mean duration of a call in microseconds.
    pub fn mean(&self) -> u64 {
        self.micros.checked_div(self.calls).unwrap_or(0)
    }

    /// Returns the estimated tokens of a mean input and a mean reply.
    pub fn mean_tokens(&self) -> [u64; 2] {
        [self.input, self.output].map(|bytes| bytes.div_ceil(TOKEN_BYTES).checked_div(self.calls).unwrap_or(0))
    }

    fn add(&mut self, key: &CounterKey, count: CallCount) {
        self.calls += count.calls;
        self.micros = self.micros.saturating_add(count.micros);
        self.input = self.input.saturating_add(count.input);
        self.output = self.output.saturating_add(count.output);
        match &*key.code {
            "ok" => self.ok += count.calls,
            ASKED => self.asked += count.calls,
            _ => {}
        }
    }
}

/// The calls in a period.
#[derive(Debug)]
pub struct CallTally(CallCounts);

impl CallTally {
    /// Reads the calls since that time (microseconds since 1970, rounded to hours). A missing file means no calls.
    ///
    /// Errors: the file cannot be read.
    pub fn since(path: &Path, at: u64) -> io::Result<CallTally> {
        let text = match File::open(path) {
            Ok(file) => text(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut counts = read(&text);
        counts.retain(|key, _| key.hour >= at / 3_600_000_000);
        Ok(CallTally(counts))
    }

    /// Returns the sum of all calls.
    pub fn total(&self) -> TallyRow {
        let mut row = TallyRow::empty("");
        self.0.iter().for_each(|(key, count)| row.add(key, *count));
        row
    }

    /// Returns the calls in periods of `hours` hours, the oldest first: each with its first hour since 1970. Periods
    /// without calls are omitted.
    pub fn over_time(&self, hours: u64) -> Vec<(u64, TallyRow)> {
        let mut rows: BTreeMap<u64, TallyRow> = BTreeMap::new();
        for (key, count) in &self.0 {
            let start = key.hour - key.hour % hours.max(1);
            rows.entry(start).or_insert_with(|| TallyRow::empty("")).add(key, *count);
        }
        rows.into_iter().collect()
    }

    /// Keeps the calls with this value of a property only.
    pub fn retain(&mut self, by: TallyKey, value: &str) {
        self.0.retain(|key, _| property(key, by) == value);
    }

    /// Returns a table, the most frequent first.
    pub fn by(&self, by: TallyKey) -> Vec<TallyRow> {
        let mut rows: BTreeMap<&str, TallyRow> = BTreeMap::new();
        for (key, count) in &self.0 {
            let name = property(key, by);
            if name.is_empty() && matches!(by, TallyKey::Format | TallyKey::Tier) {
                continue;
            }
            rows.entry(name).or_insert_with(|| TallyRow::empty(name)).add(key, *count);
        }
        let mut rows: Vec<TallyRow> = rows.into_values().collect();
        rows.sort_by(|left, right| right.calls.cmp(&left.calls).then_with(|| left.name.cmp(&right.name)));
        rows
    }
}

/// Returns the value of a property of calls.
fn property(key: &CounterKey, by: TallyKey) -> &str {
    match by {
        TallyKey::Tool => &key.tool,
        TallyKey::Format => &key.format,
        TallyKey::Tier => &key.tier,
        TallyKey::Model => &key.model,
        TallyKey::Transport => &key.transport,
        TallyKey::Code => &key.code,
    }
}
