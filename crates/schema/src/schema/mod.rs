//! JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12, with references beside the file and never over a network. A rule is
//! tried once for a value, so that no schema makes work beyond rules times values, and steps are counted on top.

mod compile;
mod explain;
mod keyword;
mod marks;
mod pattern;
mod refer;
mod target;
mod valid;

use crate::document::Document;
use crate::{Kind, Place};
use keyword::Rule;
use pattern::Pattern;
use std::collections::{HashMap, HashSet};

/// Files that one schema may refer to, itself included.
pub const MOST_FILES: usize = 64;
/// Violations that are listed.
const MOST_LISTED: usize = 1000;

/// Gives the text of a file that a schema refers to, by its path from the folder of the schema.
///
/// Errors: why not, as part of a sentence.
pub type Files<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// A schema that was understood.
#[derive(Debug)]
pub struct Schema {
    rules: Vec<Rule>,
    patterns: Vec<Pattern>,
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The file of it, as a path from the folder of the schema; empty for the schema itself.
    pub file: String,
    /// Where in that file.
    pub place: Option<Place>,
    /// What is wrong, as part of a sentence.
    pub what: String,
}

/// What a schema does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where it is in the text, as a byte.
    pub at: usize,
    /// The way to the value, as a JSON pointer; with `document N` before it in a stream of several.
    pub pointer: String,
    /// What is wrong and what is expected, as a sentence without its end.
    pub what: String,
    /// The same for the same wrong in another item of a list.
    kind: String,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What is wrong, in the order of the schema; nothing where all is well.
    pub violations: Vec<Violation>,
    /// Not all that is wrong is listed.
    pub more: bool,
    /// It would take more steps than are spent; nothing is said then.
    pub beyond: bool,
    /// Patterns that cannot be tried here, because they look around or back; they count as fitting.
    pub untried: Vec<String>,
}

impl Schema {
    /// Understands a schema: JSON, or what else a schema can be written in. `files` is asked for what it refers to.
    ///
    /// Errors: what is wrong, and where.
    pub fn compile(text: &str, kind: Kind, files: &mut Files<'_>) -> Result<Schema, Broken> {
        compile::schema(text, kind, files)
    }

    /// Tries a document, each of its parts if it is a stream.
    pub fn check(&self, document: &Document) -> Checked {
        valid::check(self, document)
    }
}

/// Those of the new violations that the old text does not have, wherever in their lists they stand.
pub fn fresh<'v>(old: &[Violation], new: &'v [Violation]) -> Vec<&'v Violation> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for violation in old {
        *known.entry(&violation.kind).or_default() += 1;
    }
    // What stands where it stood is what it was; only then may others be what moved.
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
