//! A text that parsed before an edit and does not after.

use crate::language::Language;
use crate::parse::{Limits, Parsed, parse};
use crate::path::last_row;
use tree_sitter::Node;

/// Where a text leaves its grammar first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstError {
    /// 1-based line.
    pub line: usize,
    /// 1-based line where the part that does not parse ends.
    pub last: usize,
    /// What is missing there, where the parser knows it, e.g. `}`.
    pub missing: Option<String>,
}

/// Where `after` leaves the grammar first, provided `before` did not. `None` when it does not either, when `before` did
/// too, and when a limit was reached: a warning is worth only little work.
pub fn fails_after(before: &str, after: &str, language: Language, limits: Limits) -> Option<FirstError> {
    let before = parse(before, language, limits)?;
    if !before.is_clean() {
        return None;
    }
    before.again(after, limits)?.first_error()
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
