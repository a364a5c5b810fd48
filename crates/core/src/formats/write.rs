//! `write`: the whole text of one file, the Write tool of the seed documents.

use super::{Format, Input, Spec};
use crate::error::Result;
use crate::op::{Ask, FileRequest, Request};
use schemars::JsonSchema;
use serde::Deserialize;

/// The format.
pub struct Write;

/// The input of the format.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The absolute path of the file.
    file_path: String,
    /// Its whole new text.
    content: String,
}

impl Format for Write {
    fn spec(&self) -> &'static Spec {
        &Spec {
            name: "write",
            summary: "the whole text of one file (the Write tool)",
            prompt: PROMPT,
            schema: Some(|| schemars::schema_for!(Args)),
            key: "content",
            example: r#"{"file_path": "/src/main.rs", "content": "fn main() {}\n"}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: Input) -> Result<Request> {
        let Args { file_path, content } = super::from_json(input)?;
        Ok(Request { files: vec![FileRequest::new(file_path, Ask::Write(content))], notes: Vec::new() })
    }
}

const PROMPT: &str = "\
Writes a whole file: creates it with its folders, or replaces its text. An existing file must have been read first. Prefer edit for \
changes to part of a file.";
