//! Syntax errors that an edit introduced.

use crate::language::Language;
use crate::parse::{ParseLimits, SyntaxTree, timed_clean};
use crate::path::last_row;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::time::Duration;
use tree_sitter::Node;

/// The first syntax error of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstError {
    /// 1-based line.
    pub line: usize,
    /// 1-based last line of the part that does not parse.
    pub last: usize,
    /// The missing token, if the parser knows it, e.g. `}`.
    pub missing: Option<String>,
}

/// A text that parses, as the baseline for changed versions of it. All parses share one time limit.
pub struct ParseBaseline<'t> {
    before: SyntaxTree<'t>,
    limits: ParseLimits,
    left: Cell<Duration>,
}

impl<'t> ParseBaseline<'t> {
    /// Parses the text. `None` if it has a syntax error or a limit was reached; the time limit covers all later parses
    /// too.
    pub fn of(before: &'t str, language: Language, limits: ParseLimits) -> Option<ParseBaseline<'t>> {
        let (before, spent) = timed_clean(before, language, limits);
        let left = Cell::new(Duration::from_millis(limits.millis).saturating_sub(spent));
        Some(ParseBaseline { before: before.filter(SyntaxTree::is_clean)?, limits, left })
    }

    /// Creates a baseline from a text that is known to parse.
    pub fn again(before: SyntaxTree<'t>, limits: ParseLimits) -> ParseBaseline<'t> {
        ParseBaseline { before, limits, left: Cell::new(Duration::from_millis(limits.millis)) }
    }

    /// Returns whether a changed version of the text parses. `None` if the time is over.
    pub fn parses(&self, after: &str) -> Option<bool> {
        self.after(after).map(|after| after.is_clean())
    }

    /// Parses a changed version of the text. `None` if the time is over.
    pub fn after<'a>(&self, after: &'a str) -> Option<SyntaxTree<'a>> {
        let millis = u64::try_from(self.left.get().as_millis()).ok().filter(|left| *left > 0)?;
        let (after, spent) = self.before.timed(after, ParseLimits { millis, ..self.limits });
        self.left.set(self.left.get().saturating_sub(spent));
        after
    }

    /// Remaining milliseconds.
    pub fn left(&self) -> u64 {
        u64::try_from(self.left.get().as_millis()).unwrap_or(u64::MAX)
    }

    /// The text that parses.
    pub fn before(&self) -> &SyntaxTree<'t> {
        &self.before
    }
}

impl SyntaxTree<'_> {
    /// Returns the first syntax error; `None` if there is none.
    pub fn first_error(&self) -> Option<FirstError> {
        self.first_error_of_grammar().or_else(|| self.missing_block())
    }

    fn first_error_of_grammar(&self) -> Option<FirstError> {
        let mut cursor = self.tree.walk();
        loop {
            let node = cursor.node();
            if node.is_error() || node.is_missing() {
                return Some(first_error_of(node));
            }
            // Descends to the first child with an error.
            let mut deeper = node.has_error() && cursor.goto_first_child();
            while deeper && !(cursor.node().has_error() || cursor.node().is_missing()) {
                deeper = cursor.goto_next_sibling();
            }
            if !deeper {
                return node.has_error().then(|| first_error_of(node));
            }
        }
    }
}

fn first_error_of(node: Node<'_>) -> FirstError {
    let missing = node.is_missing().then(|| node.kind().to_owned());
    FirstError { line: node.start_position().row + 1, last: last_row(node) + 1, missing }
}
