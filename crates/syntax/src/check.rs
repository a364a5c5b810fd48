//! A text that parsed before an edit and does not after.

use crate::language::Language;
use crate::parse::{Limits, Parsed, timed_clean};
use crate::path::last_row;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::time::Duration;
use tree_sitter::Node;

/// Where a text leaves its grammar first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstError {
    /// 1-based line.
    pub line: usize,
    /// 1-based line where the part that does not parse ends.
    pub last: usize,
    /// What is missing there, where the parser knows it, e.g. `}`.
    pub missing: Option<String>,
}

/// A text that parses, to which others are compared that came out of it. Everything within one span of time.
pub struct Proof<'t> {
    before: Parsed<'t>,
    limits: Limits,
    left: Cell<Duration>,
}

impl<'t> Proof<'t> {
    /// `None` when the text does not parse, or not within the limits, of which the time is that of all questions.
    pub fn of(before: &'t str, language: Language, limits: Limits) -> Option<Proof<'t>> {
        let (before, spent) = timed_clean(before, language, limits);
        let left = Cell::new(Duration::from_millis(limits.millis).saturating_sub(spent));
        Some(Proof { before: before.filter(Parsed::is_clean)?, limits, left })
    }

    /// With a text that is known to parse.
    pub fn again(before: Parsed<'t>, limits: Limits) -> Proof<'t> {
        Proof { before, limits, left: Cell::new(Duration::from_millis(limits.millis)) }
    }

    /// Whether a text that came out of the first by changes parses. `None` when the time is over.
    pub fn parses(&self, after: &str) -> Option<bool> {
        self.after(after).map(|after| after.is_clean())
    }

    /// Such a text, parsed. `None` when the time is over.
    pub fn after<'a>(&self, after: &'a str) -> Option<Parsed<'a>> {
        let millis = u64::try_from(self.left.get().as_millis()).ok().filter(|left| *left > 0)?;
        let (after, spent) = self.before.timed(after, Limits { millis, ..self.limits });
        self.left.set(self.left.get().saturating_sub(spent));
        after
    }

    /// Milliseconds of the limits that are left.
    pub fn left(&self) -> u64 {
        u64::try_from(self.left.get().as_millis()).unwrap_or(u64::MAX)
    }

    /// The text that parses.
    pub fn before(&self) -> &Parsed<'t> {
        &self.before
    }
}

impl Parsed<'_> {
    /// Where the text leaves its grammar first; `None` when it does not.
    pub fn first_error(&self) -> Option<FirstError> {
        let mut cursor = self.tree.walk();
        loop {
            let node = cursor.node();
            if node.is_error() || node.is_missing() {
                return Some(told(node));
            }
            // Down to the first child that has the error.
            let mut deeper = node.has_error() && cursor.goto_first_child();
            while deeper && !(cursor.node().has_error() || cursor.node().is_missing()) {
                deeper = cursor.goto_next_sibling();
            }
            if !deeper {
                return node.has_error().then(|| told(node));
            }
        }
    }
}

fn told(node: Node<'_>) -> FirstError {
    let missing = node.is_missing().then(|| node.kind().to_owned());
    FirstError { line: node.start_position().row + 1, last: last_row(node) + 1, missing }
}
