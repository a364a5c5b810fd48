//! Checks whether a text is valid JSON, JSONC, TOML or YAML, and whether it conforms to a JSON Schema. Its input is
//! text, and its output errors and violations with positions; it accesses neither files nor the network. Depth, nodes
//! and steps are limited; beyond the limits a text is unchecked (`SyntaxError::limit_reached`), never wrong.

mod claude;
mod data_format;
mod document;
mod json;
mod line_col;
mod number;
mod schema;
mod toml;
mod yaml;

pub use data_format::{DataFormat, looks_like_a_template};
pub use document::{Document, DuplicateName};
pub use line_col::LineCol;
pub use schema::{CheckReport, FILES_MAX, FileLoader, Schema, SchemaError, Violation, new_violations};

/// The schema of Claude Code's documented settings, as JSON.
pub use claude::SETTINGS;

/// The first syntax error of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Offset in the text.
    pub at: usize,
    /// Description, as part of a sentence.
    pub what: String,
    /// Correct form, as a sentence; may be empty.
    pub hint: &'static str,
    /// The text may be valid: it exceeds a limit.
    pub limit_reached: bool,
}

impl SyntaxError {
    fn new(at: usize, what: impl Into<String>) -> SyntaxError {
        SyntaxError { at, what: what.into(), hint: "", limit_reached: false }
    }

    fn hint(self, hint: &'static str) -> SyntaxError {
        SyntaxError { hint, ..self }
    }

    fn limit_reached(at: usize, what: &str) -> SyntaxError {
        SyntaxError { limit_reached: true, ..SyntaxError::new(at, what) }
    }
}

/// Maximum bytes of a checked text.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Maximum nesting of lists and objects.
pub const DEPTH_MAX: usize = 128;

/// Parses a text in a format.
///
/// Errors: the first syntax error; if the text exceeds a limit, the error has `limit_reached`.
pub fn read(kind: DataFormat, text: &str) -> Result<Document, SyntaxError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SyntaxError::limit_reached(0, "the text is larger than 4 MiB"));
    }
    match kind {
        DataFormat::Json => json::read(text, json::JsonDialect::Strict),
        DataFormat::Jsonc => json::read(text, json::JsonDialect::Comments),
        DataFormat::Toml => toml::read(text),
        DataFormat::Yaml => yaml::read(text),
    }
}
