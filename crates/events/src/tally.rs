//! What the counters say.

use crate::counts::{Count, Counts, Key, read, text};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// The code of a call that ended with a question to a person: neither a success nor a failure.
pub const ASKED: &str = "access.ask";

/// What calls are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The tool.
    Tool,
    /// The format of the input; calls without one are left out.
    Format,
    /// The tier of matching; calls that matched nothing are left out.
    Tier,
    /// The model; empty where it is not known.
    Model,
    /// The front end.
    Door,
    /// The code of the answer.
    Code,
}

impl By {
    /// All of them, in the order in which they are shown.
    pub const ALL: [By; 6] = [By::Tool, By::Format, By::Tier, By::Model, By::Door, By::Code];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            By::Tool => "tool",
            By::Format => "format",
            By::Tier => "tier",
            By::Model => "model",
            By::Door => "door",
            By::Code => "code",
        }
    }
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What its calls have in common.
    pub name: String,
    /// How many calls.
    pub calls: u64,
    /// Those that succeeded.
    pub ok: u64,
    /// Those that ended with a question to a person.
    pub asked: u64,
    /// Microseconds of all of them.
    pub micros: u64,
    /// Bytes of text in their inputs.
    pub input: u64,
    /// Bytes of text in their replies.
    pub output: u64,
}

/// Bytes of text that are counted as one token: an estimate that is near for English and code with most models.
pub const TOKEN_BYTES: u64 = 4;

impl Row {
    /// Successes in a thousand of the calls that were answered; `None` where there are none.
    pub fn per_mille(&self) -> Option<u64> {
        self.ok.saturating_mul(1000).checked_div(self.calls - self.asked)
    }

    /// Microseconds of one call.
    pub fn mean(&self) -> u64 {
        self.micros.checked_div(self.calls).unwrap_or(0)
    }

    /// Estimated tokens of the input of one call, and of its reply.
    pub fn mean_tokens(&self) -> [u64; 2] {
        [self.input, self.output].map(|bytes| bytes.div_ceil(TOKEN_BYTES).checked_div(self.calls).unwrap_or(0))
    }

    fn add(&mut self, key: &Key, count: Count) {
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

/// The calls of some time.
#[derive(Debug)]
pub struct Tally(Counts);

impl Tally {
    /// The calls since that moment, in microseconds since 1970, by the hour. No file is no calls.
    ///
    /// Errors: a file that cannot be read.
    pub fn since(path: &Path, at: u64) -> io::Result<Tally> {
        let text = match File::open(path) {
            Ok(file) => text(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut counts = read(&text);
        counts.retain(|key, _| key.hour >= at / 3_600_000_000);
        Ok(Tally(counts))
    }

    /// All calls together.
    pub fn total(&self) -> Row {
        let mut row = Row { name: String::new(), calls: 0, ok: 0, asked: 0, micros: 0, input: 0, output: 0 };
        self.0.iter().for_each(|(key, count)| row.add(key, *count));
        row
    }

    /// A table, the most frequent first.
    pub fn by(&self, by: By) -> Vec<Row> {
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for (key, count) in &self.0 {
            let name = match by {
                By::Tool => &key.tool,
                By::Format => &key.format,
                By::Tier => &key.tier,
                By::Model => &key.model,
                By::Door => &key.door,
                By::Code => &key.code,
            };
            if name.is_empty() && matches!(by, By::Format | By::Tier) {
                continue;
            }
            let empty = || Row { name: name.clone(), calls: 0, ok: 0, asked: 0, micros: 0, input: 0, output: 0 };
            rows.entry(name).or_insert_with(empty).add(key, *count);
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|left, right| right.calls.cmp(&left.calls).then_with(|| left.name.cmp(&right.name)));
        rows
    }
}
