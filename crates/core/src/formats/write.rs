//! `write`: the whole text of one file, the Write tool of the seed documents.

use super::{Format, FormatInput, FormatSpec};
use crate::error::Result;
use crate::locate::op::{FileAction, FileRequest, Request};
use crate::note::Notes;
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
    /// False: refuse the call if the file exists (default: true).
    overwrite: Option<bool>,
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
        let WriteInput { file_path, content, overwrite } = super::from_json(input)?;
        let action = FileAction::whole_text(content, overwrite);
        Ok(Request { files: vec![FileRequest::new(file_path, action)], notes: Notes::new() })
    }
}

const PROMPT: &str = "\
Writes a whole file: creates it with its directories, or replaces its text. An existing file must have been read first. Prefer an edit for \
changes to part of a file.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locate::op::NewFile;
    use serde_json::json;

    #[test]
    fn only_a_call_that_forbids_it_keeps_an_existing_file() {
        let action = |input| WriteFormat.parse(FormatInput::Json(input)).unwrap().files[0].action.clone();
        let text = || "x".to_owned();
        assert_eq!(action(json!({"file_path": "a", "content": "x"})), FileAction::Write(text()));
        assert_eq!(action(json!({"file_path": "a", "content": "x", "overwrite": true})), FileAction::Write(text()));
        let kept = action(json!({"file_path": "a", "content": "x", "overwrite": false}));
        assert_eq!(kept, FileAction::Create(NewFile::Text(text())));
    }
}
