//! Checks whether a text is valid JSON, JSONC, TOML or YAML, and whether it conforms to a JSON Schema. Text in, errors
//! and violations with positions out; no files, no network. Depth, nodes and steps are limited; beyond the limits a
//! text is unchecked (`Fault::beyond`), never wrong.

mod claude;
mod document;
mod json;
mod kind;
mod number;
mod place;
mod schema;
mod toml;
mod yaml;

pub use document::{Document, Repeated};
pub use kind::{Kind, looks_like_a_template};
pub use place::Place;
pub use schema::{Broken, Checked, Files, MOST_FILES, Schema, Violation, fresh};

/// The schema of Claude Code's documented settings, as JSON.
pub use claude::SETTINGS;

/// The first syntax error of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Offset in the text.
    pub at: usize,
    /// Description, as part of a sentence.
    pub what: String,
    /// Correct form, as a sentence; may be empty.
    pub hint: &'static str,
    /// The text may be valid: it exceeds a limit.
    pub beyond: bool,
}

impl Fault {
    fn new(at: usize, what: impl Into<String>) -> Fault {
        Fault { at, what: what.into(), hint: "", beyond: false }
    }

    fn hint(self, hint: &'static str) -> Fault {
        Fault { hint, ..self }
    }

    fn beyond(at: usize, what: &str) -> Fault {
        Fault { beyond: true, ..Fault::new(at, what) }
    }
}

/// Maximum bytes of a checked text.
pub const MOST_BYTES: usize = 4 << 20;
/// Maximum nesting of lists and objects.
pub const DEEPEST: usize = 128;

/// Parses a text in a format.
///
/// Errors: the first syntax error, or `Fault::beyond` our limits.
pub fn read(kind: Kind, text: &str) -> Result<Document, Fault> {
    if text.len() > MOST_BYTES {
        return Err(Fault::beyond(0, "the text is larger than 4 MiB"));
    }
    match kind {
        Kind::Json => json::read(text, json::Dialect::Strict),
        Kind::Jsonc => json::read(text, json::Dialect::Comments),
        Kind::Toml => toml::read(text),
        Kind::Yaml => yaml::read(text),
    }
}
