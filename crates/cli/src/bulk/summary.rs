//! The progress of a run at a terminal, and its summary: how many rows failed, by code, with an example of each.

use crate::output;
use emendate::core::{Code, Error, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Interval of the progress at a terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// Characters of an example's message.
const MESSAGE_CHARS: usize = 200;

/// The failures with one code.
struct CodeFailures {
    rows: u64,
    /// Line of the first of them in the input, or its row, from 1.
    first_line: u64,
    /// The message of the first failure.
    message: String,
}

/// The rows of a run.
pub(super) struct BulkSummary {
    started: Instant,
    shown: Instant,
    /// Rows of earlier runs that this one continues.
    before: u64,
    rows: u64,
    /// All rows, if they are known.
    total: Option<u64>,
    /// The name of a row of the input: `line` or `row`.
    unit: &'static str,
    failures: BTreeMap<&'static str, CodeFailures>,
    is_terminal: bool,
}

impl BulkSummary {
    pub(super) fn new(before: u64) -> BulkSummary {
        let now = Instant::now();
        let is_terminal = std::io::stderr().is_terminal();
        let failures = BTreeMap::new();
        BulkSummary { started: now, shown: now, before, rows: 0, total: None, unit: "line", failures, is_terminal }
    }

    /// Returns the summary of a table, whose number of rows is known.
    #[cfg(feature = "parquet")]
    pub(super) fn of_table(before: u64, total: u64) -> BulkSummary {
        BulkSummary { total: Some(total), unit: "row", ..BulkSummary::new(before) }
    }

    /// Counts the next row of a table.
    #[cfg(feature = "parquet")]
    pub(super) fn add_next(&mut self, error: Option<&Error>) {
        self.add(self.before + self.rows + 1, error);
    }

    /// Counts the row of a line.
    pub(super) fn add(&mut self, line: u64, error: Option<&Error>) {
        self.rows += 1;
        let Some(error) = error else { return };
        let failures = self.failures.entry(error.code().as_str()).or_insert_with(|| CodeFailures {
            rows: 0,
            first_line: line,
            message: error.message().lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS).collect(),
        });
        failures.rows += 1;
    }

    /// Shows the progress at a terminal.
    pub(super) fn show_progress(&mut self) {
        if self.is_terminal && self.shown.elapsed() >= PROGRESS_INTERVAL {
            self.shown = Instant::now();
            let rate = u128::from(self.rows) * 1000 / self.started.elapsed().as_millis().max(1);
            // A failure to show the progress is no reason to stop.
            let total = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let _ = write!(std::io::stderr(), "\r{}{total} rows, {rate} per second\x1b[K", self.before + self.rows);
        }
    }

    /// Reports the end of the run. Without messages in the results, it names the columns that have them.
    ///
    /// Errors: those of the output.
    pub(super) fn report(&self, as_json: bool, has_messages: bool) -> Result<()> {
        if self.is_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
        if as_json {
            return output::value(&self.to_json());
        }
        output::note(&format!("{} rows, of which {} failed in this run", self.before + self.rows, self.failed()));
        for (code, failures) in self.by_frequency() {
            let CodeFailures { rows, first_line, message } = failures;
            let counted = if *rows == 1 { "1 row, in".to_owned() } else { format!("{rows} rows, the first in") };
            output::note(&format!("{code}: {counted} {} {first_line}: {message}", self.unit));
        }
        if !self.failures.is_empty() && !has_messages {
            output::note("the reason of every failure is in the results with `--columns ok,code,message,next`");
        }
        Ok(())
    }

    fn failed(&self) -> u64 {
        self.failures.values().map(|failures| failures.rows).sum()
    }

    /// Returns the failures by code, the most frequent first. There are at most as many as codes.
    fn by_frequency(&self) -> Vec<(&'static str, &CodeFailures)> {
        let mut all: Vec<_> = self.failures.iter().map(|(code, failures)| (*code, failures)).collect();
        all.sort_by_key(|(_, failures)| std::cmp::Reverse(failures.rows));
        all
    }

    fn to_json(&self) -> Value {
        let by_frequency = self.by_frequency().into_iter();
        let codes = by_frequency.map(|(code, failures)| {
            json!({ "code": code, "rows": failures.rows, "firstLine": failures.first_line, "message": failures.message })
        });
        json!({
            "ok": true,
            "data": {
                "rows": self.before + self.rows,
                "rowsBefore": self.before,
                "failed": self.failed(),
                "failures": codes.collect::<Vec<_>>(),
            },
        })
    }
}

/// The error for a partial file that another run writes at this moment.
pub(super) fn busy(name: &str) -> Error {
    Error::new(Code::ConflictRaced, format!("Another `emend bulk` writes {name} at this moment."))
        .next("Wait for its end, or name another file with -o.")
}
