//! Reports the results of benches. Each outcome is reported at once, so that a failing race loses no other results.

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The options of a run.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    /// True to use fewer sizes and rounds.
    pub(crate) quick: bool,
    /// True to include files of 1 GB.
    pub(crate) big: bool,
    /// True to omit other tools, which have to be installed and built.
    pub(crate) alone: bool,
}

/// A result of a bench.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Found {
    Outcome(Outcome),
    /// A row that could not be measured.
    Missing {
        what: String,
        why: String,
    },
}

/// The destination of the results.
pub(crate) struct Report {
    pub(crate) setting: Setting,
    json: bool,
    record: Option<File>,
}

impl Report {
    /// Creates a report. `json` prints lines of JSON on stdout instead of tables; `record` is a file to which they are
    /// appended in any case.
    ///
    /// Errors: the file cannot be opened.
    pub(crate) fn new(setting: Setting, json: bool, record: Option<&Path>) -> io::Result<Report> {
        let record = record.map(|path| OpenOptions::new().create(true).append(true).open(path)).transpose()?;
        Ok(Report { setting, json, record })
    }

    /// Runs one race. A panic is reported as a missing result, and the others still run.
    pub(crate) fn race(&mut self, title: &str, race: impl FnOnce() -> Outcome) {
        self.races(title, || vec![race()]);
    }

    /// Runs several races with shared set-up.
    pub(crate) fn races<T: IntoIterator<Item = Outcome>>(&mut self, title: &str, races: impl FnOnce() -> T) {
        match catch_unwind(AssertUnwindSafe(|| races().into_iter().collect::<Vec<Outcome>>())) {
            Ok(outcomes) => outcomes.into_iter().for_each(|outcome| self.tell(&Found::Outcome(outcome))),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let why = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it stopped");
                self.missing(title, why);
            }
        }
    }

    /// Reports a row that could not be measured, with the reason.
    pub(crate) fn missing(&mut self, what: &str, why: &str) {
        // The first line of the output of npm or a compiler is enough.
        let why: String = why.lines().find(|line| !line.trim().is_empty()).unwrap_or(why).chars().take(300).collect();
        self.tell(&Found::Missing { what: what.to_owned(), why });
    }

    /// Unwraps another tool, or reports why it is missing.
    pub(crate) fn peer<T>(&mut self, name: &str, installed: Result<T, String>) -> Option<T> {
        installed.inspect_err(|why| self.missing(name, why)).ok()
    }

    fn tell(&mut self, found: &Found) {
        let line = serde_json::json!(found);
        if let Some(record) = &mut self.record {
            let told = writeln!(record, "{line}");
            assert!(told.is_ok(), "the record cannot be written");
        }
        match found {
            _ if self.json => println!("{line}"),
            Found::Outcome(outcome) => outcome.print(),
            Found::Missing { what, why } => println!("\n{what}: not measured: {why}"),
        }
    }
}
