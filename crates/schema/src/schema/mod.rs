//! JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12, with references to files beside the schema and never over a
//! network. Each rule is evaluated once per value, so the work is at most rules times values, and steps are limited in
//! addition.

mod compile;
mod evaluated;
mod explain;
mod keyword;
mod pattern;
mod reference;
mod shown;
mod target;
mod validate;

use crate::document::Document;
use crate::{DataFormat, LineCol};
use keyword::SchemaRule;
use pattern::SchemaPattern;
use std::collections::{HashMap, HashSet};

/// Maximum number of files of a schema, including itself.
pub const FILES_MAX: usize = 64;
/// Maximum number of violations that are listed.
const VIOLATIONS_MAX: usize = 1000;

/// Loads the text of a file that a schema refers to, by its path relative to the schema's directory.
///
/// Errors: the reason, as part of a sentence.
pub type FileLoader<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    rules: Vec<SchemaRule>,
    patterns: Vec<SchemaPattern>,
}

/// The reason why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Path of the file relative to the schema's directory; empty for the schema itself.
    pub file: String,
    /// Position in that file.
    pub place: Option<LineCol>,
    /// Description, as part of a sentence.
    pub what: String,
}

/// A violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Offset in the text.
    pub at: usize,
    /// JSON pointer to the value, with `document N` before it in a stream of several.
    pub pointer: String,
    /// The violation and what is expected, as a sentence without a full stop.
    pub what: String,
    /// Equal for the same violation in another item of a list.
    kind: String,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// Violations in the order of the schema; empty if the document conforms.
    pub violations: Vec<Violation>,
    /// The list of violations is incomplete.
    pub more: bool,
    /// The step budget ran out; `violations` is empty.
    pub limit_reached: bool,
    /// Patterns that cannot be evaluated because they use look-around or back-references; they count as matching.
    pub untried_patterns: Vec<String>,
}

impl Schema {
    /// Compiles a schema in JSON or another supported format. `files` loads the files it refers to.
    ///
    /// Errors: the reason and position.
    pub fn compile(text: &str, kind: DataFormat, files: &mut FileLoader<'_>) -> Result<Schema, SchemaError> {
        compile::schema(text, kind, files)
    }

    /// Checks a document, or each document of a stream.
    pub fn check(&self, document: &Document) -> CheckReport {
        validate::check(self, document)
    }
}

/// Returns the new violations that the old text does not have, wherever they moved within their lists.
pub fn new_violations<'v>(old: &[Violation], new: &'v [Violation]) -> Vec<&'v Violation> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for violation in old {
        *known.entry(&violation.kind).or_default() += 1;
    }
    // Violations at the same pointer match first; only then do others count as moved.
    let stood: HashSet<(&str, &str)> = old.iter().map(|it| (&*it.pointer, &*it.kind)).collect();
    let mut left = Vec::new();
    for violation in new {
        if stood.contains(&(&*violation.pointer, &*violation.kind)) {
            if let Some(count) = known.get_mut(&*violation.kind) {
                *count = count.saturating_sub(1);
            }
        } else {
            left.push(violation);
        }
    }
    left.retain(|violation| match known.get_mut(&*violation.kind) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    left
}

#[cfg(test)]
mod tests;
