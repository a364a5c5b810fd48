//! The results of a bench as data: rows that were measured together, and claims about them.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Ours,
    /// Another tool or library that did the same work.
    Peer,
    /// Another tool or library that failed or produced something else.
    Wrong,
    /// The minimum that any tool must do: a copy of the bytes, or a write and a rename.
    Floor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    Seconds,
    Bytes,
}

/// The result of one case: the median of its rounds, or peak memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) value: f64,
}

/// A limit that a row must not exceed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The name of the goal, `G1` to `G15`; empty if no goal of the design requires the limit.
    pub(crate) goal: String,
    pub(crate) row: String,
    /// The row to compare with; `None` if the value itself is limited.
    pub(crate) of: Option<String>,
    /// The maximum ratio, or the maximum value.
    pub(crate) most: f64,
}

/// The result of a race.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) title: String,
    pub(crate) unit: Unit,
    /// The rows. By default the others are compared with the first one.
    pub(crate) rows: Vec<Row>,
    pub(crate) claims: Vec<Claim>,
    /// True if rows also show a rate per second.
    rates: bool,
    /// Number of calm rounds and of all rounds, if there were rounds.
    pub(crate) clean: Option<(usize, usize)>,
}

impl Outcome {
    pub(crate) fn new(title: impl Into<String>, unit: Unit) -> Outcome {
        Outcome { title: title.into(), unit, rows: Vec::new(), claims: Vec::new(), rates: false, clean: None }
    }

    pub(crate) fn rounds(mut self, clean: usize, all: usize) -> Outcome {
        self.clean = Some((clean, all));
        self
    }

    /// Adds a row with a time.
    pub(crate) fn row(self, kind: Kind, name: &str, time: Duration) -> Outcome {
        self.value(kind, name, time.as_secs_f64())
    }

    /// Adds a row with a value in the unit of the outcome.
    pub(crate) fn value(mut self, kind: Kind, name: &str, value: f64) -> Outcome {
        // More digits than the precision of a median would only make the results longer.
        let digits = 10f64.powf(4.0 - value.abs().max(1e-12).log10().floor());
        let value = (value * digits).round() / digits;
        self.rows.push(Row { name: name.to_owned(), kind, value });
        self
    }

    /// Adds the difference between two cases as one of our rows.
    pub(crate) fn difference(self, name: &str, longer: &str, shorter: &str) -> Outcome {
        let difference = self.time(longer).saturating_sub(self.time(shorter));
        self.row(Kind::Ours, name, difference)
    }

    /// Claims a maximum ratio to the first row.
    pub(crate) fn goal(self, goal: &str, row: &str, most: f64) -> Outcome {
        let of = self.rows[0].name.clone();
        self.beside(goal, row, &of, most)
    }

    /// Claims a maximum ratio to another row. Does nothing if that row is missing.
    pub(crate) fn beside(self, goal: &str, row: &str, of: &str, most: f64) -> Outcome {
        if self.find(of).is_none() { self } else { self.claim(goal, row, Some(of.to_owned()), most) }
    }

    /// Claims a maximum time.
    pub(crate) fn within(self, goal: &str, row: &str, most: Duration) -> Outcome {
        self.claim(goal, row, None, most.as_secs_f64())
    }

    /// Claims a maximum value in the unit of the outcome.
    pub(crate) fn at_most(self, goal: &str, row: &str, most: f64) -> Outcome {
        self.claim(goal, row, None, most)
    }

    fn claim(mut self, goal: &str, row: &str, of: Option<String>, most: f64) -> Outcome {
        if self.find(row).is_some() {
            self.claims.push(Claim { goal: goal.to_owned(), row: row.to_owned(), of, most });
        }
        self
    }

    /// Shows rates per second as well.
    pub(crate) fn rates(mut self) -> Outcome {
        self.rates = true;
        self
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Returns the median of a case.
    pub(crate) fn time(&self, name: &str) -> Duration {
        Duration::from_secs_f64(self.find(name).map_or(0.0, |row| row.value))
    }

    /// Returns the ratio of two rows; infinite if it is undefined.
    pub(crate) fn ratio(&self, row: &str, of: &str) -> f64 {
        match (self.find(row), self.find(of)) {
            (Some(row), Some(of)) if of.value > 0.0 => row.value / of.value,
            _ => f64::INFINITY,
        }
    }

    /// Returns the measured side of a claim: a ratio, or the value itself.
    pub(crate) fn measured(&self, claim: &Claim) -> f64 {
        match &claim.of {
            Some(of) => self.ratio(&claim.row, of),
            None => self.find(&claim.row).map_or(f64::INFINITY, |row| row.value),
        }
    }

    pub(crate) fn met(&self, claim: &Claim) -> bool {
        self.measured(claim) <= claim.most
    }

    /// Returns true if too few rounds were calm.
    pub(crate) fn is_noisy(&self) -> bool {
        self.clean.is_some_and(|(calm, all)| calm < all.min(5))
    }

    /// Returns the fastest other tool that did the work.
    pub(crate) fn best_peer(&self) -> Option<&Row> {
        let peers = self.rows.iter().filter(|row| row.kind == Kind::Peer);
        peers.min_by(|a, b| a.value.total_cmp(&b.value))
    }

    pub(crate) fn print(&self) {
        let noisy = if self.is_noisy() { ", noisy" } else { "" };
        let rounds = self.clean.map(|(calm, all)| format!(" ({calm}/{all} rounds calm{noisy})")).unwrap_or_default();
        println!("\n{}{rounds}", self.title);
        let first = self.rows.first().map_or("", |row| &row.name).to_owned();
        for row in &self.rows {
            let claims = self.claims.iter().filter(|claim| claim.row == row.name);
            let goal: String = claims.map(|claim| self.verdict(claim)).collect();
            let rate = if self.rates { format!("  {:>9.1}/s", row.value.max(1e-12).recip()) } else { String::new() };
            let (value, ratio) = (self.unit.show(row.value), self.ratio(&row.name, &first));
            println!("  {:<44} {value:>12}{rate}  {ratio:>8.3}x{goal}", row.name);
        }
    }

    fn verdict(&self, claim: &Claim) -> String {
        let limit = match &claim.of {
            Some(of) if Some(of) == self.rows.first().map(|row| &row.name) => claim.most.to_string(),
            Some(of) => format!("{} of {of} ({:.3})", claim.most, self.measured(claim)),
            None => self.unit.show(claim.most),
        };
        let goal = if claim.goal.is_empty() { "goal" } else { &claim.goal };
        format!("  {goal} ≤ {limit}: {}", if self.met(claim) { "met" } else { "MISSED" })
    }
}

impl Unit {
    /// Formats a value with a suitable unit prefix.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Unit::Seconds if value < 1e-6 => format!("{:.0} ns", value * 1e9),
            Unit::Seconds if value < 1e-3 => format!("{:.2} µs", value * 1e6),
            Unit::Seconds if value < 1.0 => format!("{:.3} ms", value * 1e3),
            Unit::Seconds => format!("{value:.2} s"),
            Unit::Bytes if value < 1024.0 => format!("{value:.0} B"),
            Unit::Bytes if value < 1024.0 * 1024.0 => format!("{:.0} KB", value / 1024.0),
            Unit::Bytes => format!("{:.1} MB", value / 1024.0 / 1024.0),
        }
    }
}

/// Formats a file size for the tables.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}
