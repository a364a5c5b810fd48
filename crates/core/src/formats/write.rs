//! `write`: the whole text of one file, the Write tool of the seed documents.

use super::{Format, FormatInput, FormatSpec};
use crate::error::Result;
use crate::op::{FileAction, FileRequest, Request};
use schemars::JsonSchema;
use serde::Deserialize;

/// The format.
pub struct WriteFormat;

/// The input of the format.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
struct WriteInput {
    /// The absolute path of the file.
    file_path: String,
    /// Its whole new text.
    content: String,
}

impl Format for WriteFormat {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "write",
            summary: "the whole text of one file (the Write tool)",
            prompt: PROMPT,
            schema: Some(|| schemars::schema_for!(WriteInput)),
            key: "content",
            example: r#"{"file_path": "/src/main.rs", "content": "fn main() {}\n"}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: FormatInput) -> Result<Request> {
        let WriteInput { file_path, content } = super::from_json(input)?;
        Ok(Request { files: vec![FileRequest::new(file_path, FileAction::Write(content))], notes: Vec::new() })
    }
}

const PROMPT: &str = "\
Writes a whole file: creates it with its directories, or replaces its text. An existing file must have been read first. Prefer edit for \
changes to part of a file.";
