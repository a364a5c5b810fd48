//! The edit formats. To add one: a directory or file here with a type that implements [`Format`], and its row in
//! [`FORMATS`].

pub mod anchors;
pub mod apply_patch;
mod call_literal;
pub mod detect;
mod envelope;
mod fence;
pub mod hashline;
pub mod line_anchors;
pub mod line_parser;
mod mistakes;
mod mixed;
pub mod multi_edit;
mod name;
pub mod notebook_edit;
pub mod parsed_text;
pub mod print;
mod ranges;
mod reasoning;
mod repair_hint;
pub mod replace;
pub mod search_replace;
mod shell_edit;
mod stray_edits;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod text_editor;
mod tool_calls;
pub mod unified_diff;
pub mod whole_file;
pub mod whole_text;
pub mod write;

pub use call_literal::literal_value;
pub(crate) use fence::inside_fence;

use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::Request;
use line_parser::{LineParser, ParseOptions, parse_text};
use schemars::Schema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;
use std::ops::Range;

/// Input of a format.
#[derive(Clone, Debug)]
pub enum FormatInput {
    /// A JSON object; [`FormatSpec::schema`] specifies its shape.
    Json(Value),
    /// Text as a model writes it.
    Text(String),
}

/// Description of a format. Help, schema, documentation and tools are derived from it.
pub struct FormatSpec {
    /// The name used in calls, file names and documentation.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The instructions for a model.
    pub prompt: &'static str,
    /// The JSON schema of the input; `None` for text formats.
    pub schema: Option<fn() -> Schema>,
    /// The field of a JSON input that identifies this format; empty for text formats.
    pub key: &'static str,
    /// A valid input, for documentation and tests.
    pub example: &'static str,
    /// The grammar in Lark's notation, for constrained decoding, if there is one.
    pub grammar: Option<&'static str>,
}

/// An edit syntax: parses input to operations without access to a file.
pub trait Format: Sync {
    /// The description of the format.
    fn spec(&self) -> &'static FormatSpec;

    /// Returns the ranges of a text (zero-based lines) that are certainly in this format, from first to last line. JSON
    /// formats return none. Linear in the size of the text.
    fn detected_ranges(&self, _text: &str) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// True for a line that usually begins a text in this format.
    fn is_first_line(&self, _line: &str) -> bool {
        false
    }

    /// The name of the format whose parser this one uses.
    fn family(&self) -> &'static str {
        self.spec().name
    }

    /// Parses a text in which everything is as it should be, without wrappers and flaws, in one pass. `None` for any
    /// other text, also if it has errors: the [line parser](Format::line_parser) reads it, or says what is wrong with it.
    /// What is read is what that parser would read.
    fn parse_plain(&self, _text: &str, _options: &ParseOptions) -> Option<Request> {
        None
    }

    /// Creates the parser of a text format.
    fn line_parser(&self, _manner: &ParseOptions) -> Option<Box<dyn LineParser>> {
        None
    }

    /// Parses an input: that of a text format with its [line parser](Format::line_parser).
    ///
    /// Errors: [`Code::CallInvalid`] for JSON of another shape, [`Code::EditUnparsable`] for text with syntax errors,
    /// [`Code::EditNoChange`] for an edit without a change.
    fn parse(&self, input: FormatInput) -> Result<Request> {
        if let FormatInput::Text(text) = input
            && let Some(parser) = self.line_parser(&ParseOptions::default())
        {
            return parse_text(parser, &text);
        }
        let what = format!("The format {} is text, not JSON.", self.spec().name);
        Err(Error::new(Code::CallInvalid, what).next("Send the edits as one text."))
    }
}

/// Every format.
pub static FORMATS: &[&dyn Format] = &[
    &replace::ReplaceFormat,
    &multi_edit::MultiEdit,
    &write::WriteFormat,
    &notebook_edit::NotebookEdit,
    &text_editor::TextEditor,
    &search_replace::SearchReplace,
    &whole_file::WholeFile,
    &whole_file::elided::ElidedFile,
    &line_anchors::LineAnchors,
    &anchors::WordAnchors,
    &apply_patch::ApplyPatch,
    &unified_diff::UnifiedDiff,
    &hashline::Hashline::SEED,
    &hashline::Hashline::CURRENT,
];

/// Returns the text formats.
pub fn text_formats() -> impl Iterator<Item = &'static dyn Format> {
    FORMATS.iter().copied().filter(|format| format.spec().schema.is_none())
}

/// Returns the text format that a call names.
///
/// Errors: [`Code::CallInvalid`], with the names.
pub fn requested_text_format(name: &str) -> Result<&'static dyn Format> {
    let own = canonical_name(name);
    text_formats().find(|format| format.spec().name == own).ok_or_else(|| {
        let names: Vec<&str> = text_formats().map(|format| format.spec().name).collect();
        Error::new(Code::CallInvalid, format!("`{name}` is not a text format."))
            .next(format!("Use one of: {}.", names.join(", ")))
    })
}

/// Returns the spelling of a format's name that this crate prints: lower case with underscores. Upper case, hyphens and
/// the former name of `unified_diff` are accepted wherever a format is named.
pub fn canonical_name(name: &str) -> String {
    let own = name.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    if own == UNIFIED_DIFF_FORMER_NAME { "unified_diff".to_owned() } else { own }
}

/// The former name of `unified_diff` as a print format.
pub const UNIFIED_DIFF_FORMER_NAME: &str = "unified";

/// Returns the format with this name.
pub fn format_by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.spec().name == name)
}

/// Deserializes a JSON input.
///
/// Errors: [`Code::CallInvalid`] with the mismatch.
pub fn from_json<T: DeserializeOwned>(input: FormatInput) -> Result<T> {
    serde_path_to_error::deserialize(object(input)?).map_err(|error| {
        let mut place = Vec::new();
        for segment in error.path() {
            if !matches!(segment, Segment::Seq { .. }) && !place.is_empty() {
                place.push(".".into());
            }
            place.push(match segment {
                Segment::Map { key } => Phrase::Name(key.clone()),
                other => other.to_string().into(),
            });
        }
        unfit(place, &error.inner().to_string())
    })
}

/// Returns the JSON object of an input.
fn object(input: FormatInput) -> Result<Value> {
    let value = match input {
        FormatInput::Json(value) => value,
        FormatInput::Text(text) => serde_json::from_str(&text).map_err(|error| malformed(&error))?,
    };
    if value.is_object() {
        return Ok(value);
    }
    Err(Error::new(Code::CallInvalid, "The input must be a JSON object.")
        .next("Send an object with the tool's fields."))
}

/// Deserializes a JSON input with a `file_path` next to its fields.
///
/// Errors: as [`from_json`].
fn with_path<T: DeserializeOwned>(input: FormatInput) -> Result<(String, T)> {
    let mut value = object(input)?;
    let path = value.as_object_mut().and_then(|fields| fields.shift_remove("file_path"));
    match path {
        Some(Value::String(path)) => Ok((path, from_json(FormatInput::Json(value))?)),
        Some(_) => Err(unfit(vec![Phrase::Name("file_path".to_owned())], "the path of a file is a string")),
        None => Err(unfit(Vec::new(), "missing field `file_path`")),
    }
}

/// Returns the schema for [`with_path`]: that of the fields, with `file_path` added.
fn path_and(mut schema: Schema) -> Schema {
    let path = serde_json::json!({ "type": "string", "description": "The absolute path of the file." });
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.shift_insert(0, "file_path".to_owned(), path);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.insert(0, "file_path".into());
    }
    schema
}

/// Creates the error for a value at a place of the input, with what its reader found. No place is the whole input.
fn unfit(place: Vec<Phrase>, what: &str) -> Error {
    let mut message = vec![Phrase::from("The input does not fit the tool")];
    if !place.is_empty() {
        message.push(" at `".into());
        message.extend(place);
        message.push("`".into());
    }
    message.push(": ".into());
    // The message of the parser ends with the name of a type of this crate, which is removed.
    let what = what.rsplit_once("expected struct ").map_or_else(
        || what.to_owned(),
        |(head, name)| match name.split_once(' ') {
            Some((_, rest)) => format!("{head}expected an object {rest}"),
            None => format!("{head}expected an object"),
        },
    );
    if what.starts_with("missing field `") || what.starts_with("unknown field `") {
        for (nth, part) in what.split('`').enumerate() {
            if nth > 0 {
                message.push("`".into());
            }
            message.push(if nth % 2 == 0 { part.into() } else { Phrase::Name(part.to_owned()) });
        }
    } else {
        message.push(what.into());
    }
    message.push(".".into());
    Error::about_fields(Code::CallInvalid, Advice::new(message))
        .next("Correct that field and send the call again; nothing was changed.")
}

/// Creates the error for text that is not JSON.
pub fn malformed(error: &serde_json::Error) -> Error {
    let said = error.to_string();
    let message = format!("The input is not valid JSON: {said}.");
    // What the reader says of an escape such as `\ud83d` without its other half.
    if ["unexpected end of hex escape", "lone leading surrogate"].iter().any(|reason| said.starts_with(reason)) {
        return Error::new(Code::CallInvalid, message).next(
            "An escape from \\ud800 to \\udfff is half of a character. Write the character itself, both halves, or \
             leave it out.",
        );
    }
    if said.starts_with("recursion limit exceeded") {
        let message = format!("The input has more nested lists and objects than a call may have: {said}.");
        return Error::new(Code::CallInvalid, message).next("Send fewer levels; no tool needs more than three.");
    }
    Error::new(Code::CallInvalid, message)
        .next("Send one JSON object; in strings write line ends as \\n, quotes as \\\" and backslashes as \\\\.")
}

#[cfg(test)]
mod tests {
    use super::{FORMATS, FormatInput};

    #[test]
    fn every_example_parses_and_every_row_is_complete() {
        for format in FORMATS {
            let spec = format.spec();
            assert!(!spec.summary.is_empty() && !spec.prompt.is_empty(), "{}", spec.name);
            let request = format.parse(FormatInput::Text(spec.example.to_owned())).unwrap();
            assert_eq!(request.files.len(), 1, "{}", spec.name);
        }
    }

    #[test]
    fn misfit_input_is_named() {
        for (input, part) in [
            ("[1]", "object"),
            ("{", "not valid JSON"),
            (r#"{"file_path":"/a","old_string":"a","new_string":"b","colour":"red"}"#, "colour"),
            (r#"{"file_path":"/a","old_string":"a"}"#, "new_string"),
            (r#"{"file_path":"/a","old_string":7,"new_string":"b"}"#, "invalid type"),
            (r#"{"file_path":"/a","old_string":"\ud800","new_string":"b"}"#, "not valid JSON"),
            (&"[".repeat(200), "nested"),
        ] {
            let error = super::replace::ReplaceFormat.parse(FormatInput::Text(input.to_owned())).unwrap_err();
            assert!(error.message().contains(part), "{input}: {error}");
            assert_eq!(error.next_step().contains("half of a character"), input.contains("ud800"), "{input}: {error}");
        }
    }

    use super::Format;
}
