//! What benches tell: each outcome as soon as it is there, so that a race which fails takes no other along.

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// How a bench is run.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    /// Fewer sizes and rounds.
    pub(crate) quick: bool,
    /// Files of 1 GB as well.
    pub(crate) big: bool,
    /// Without the tools of others, which have to be installed and built.
    pub(crate) alone: bool,
}

/// What a bench tells.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Found {
    Outcome(Outcome),
    /// A row that is not there.
    Missing {
        what: String,
        why: String,
    },
}

/// Where it goes.
pub(crate) struct Report {
    pub(crate) setting: Setting,
    json: bool,
    record: Option<File>,
}

impl Report {
    /// `json`: lines of JSON on stdout instead of tables. `record`: a file that gets them beside the tables.
    ///
    /// Errors: the file cannot be opened.
    pub(crate) fn new(setting: Setting, json: bool, record: Option<&Path>) -> io::Result<Report> {
        let record = record.map(|path| OpenOptions::new().create(true).append(true).open(path)).transpose()?;
        Ok(Report { setting, json, record })
    }

    /// One race. One that panics is told as missing: the others still run.
    pub(crate) fn race(&mut self, title: &str, race: impl FnOnce() -> Outcome) {
        self.races(title, || vec![race()]);
    }

    /// Several races that share what they run on.
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

    /// A row that could not be measured, and why.
    pub(crate) fn missing(&mut self, what: &str, why: &str) {
        // One line of what npm or a compiler said is enough.
        let why: String = why.lines().find(|line| !line.trim().is_empty()).unwrap_or(why).chars().take(300).collect();
        self.tell(&Found::Missing { what: what.to_owned(), why });
    }

    /// A tool of others, or a row that says why it is not there.
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
