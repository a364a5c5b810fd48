//! Whether a text is what its name says (JSON, JSONC, TOML, YAML), and whether it fits a JSON Schema. Text in, faults and
//! violations with their places out; no file, no network. Everything is bounded: depth, nodes, steps; what is beyond the
//! bounds is unchecked (`Fault::beyond`), never wrong.

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

/// The schema of the documented settings of Claude Code, as JSON, and the name it is told by.
pub use claude::SETTINGS;

/// Why a text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, as a byte of the text.
    pub at: usize,
    /// What is wrong there, as part of a sentence.
    pub what: String,
    /// What would be right, as a sentence; may be empty.
    pub hint: &'static str,
    /// The text may be good: it is deeper or larger than what is looked at.
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

/// Bytes of a text that is looked at.
pub const MOST_BYTES: usize = 4 << 20;
/// Levels of lists and objects.
pub const DEEPEST: usize = 128;

/// Reads a text as what it should be.
///
/// Errors: the first place where it is not, or `Fault::beyond` our bounds.
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
