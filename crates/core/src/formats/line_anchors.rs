//! `line_anchors`: a range of whole lines named by the text of its first and last line (seed 004, section 4).

use super::{Format, FormatInput, FormatSpec};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{AnchorPair, FileAction, FileRequest, Locator, Op, OpOrder, Request, normalize_text};
use crate::note::Notes;
use schemars::JsonSchema;
use serde::Deserialize;

/// The format.
pub struct LineAnchors;

/// The input of the format.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
struct LineAnchorsInput {
    /// The absolute path of the file.
    file_path: String,
    /// The text of the first line to replace.
    start_line_text: String,
    /// The text of the last line to replace.
    end_line_text: String,
    /// The new lines, first and last included.
    new_text: String,
    /// The line near which the first one is expected; decides between equal candidates only.
    #[serde(default)]
    line: Option<usize>,
    /// The id of one of several candidates, as a failed call listed it.
    #[serde(default)]
    at: Option<String>,
}

impl Format for LineAnchors {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "line_anchors",
            summary: "whole lines named by the first and the last of them → new lines",
            prompt: PROMPT,
            schema: Some(|| schemars::schema_for!(LineAnchorsInput)),
            key: "start_line_text",
            example: r#"{"file_path": "/src/main.rs", "start_line_text": "fn main() {", "end_line_text": "}", "new_text": "fn main() {\n    run();\n}"}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: FormatInput) -> Result<Request> {
        let LineAnchorsInput { file_path, start_line_text, end_line_text, new_text, line, at } =
            super::from_json(input)?;
        let (first, last) = (anchor_text(&start_line_text), anchor_text(&end_line_text));
        for (name, text) in [("start_line_text", &first), ("end_line_text", &last)] {
            if text.trim().is_empty() || text.contains('\n') {
                return Err(Error::new(Code::CallInvalid, format!("{name} must be one line with text on it."))
                    .next("Give the first and the last of the lines to replace."));
            }
        }
        let op = Op { at: Locator::Anchors(AnchorPair { first, last, line, at }), text: normalize_text(&new_text) };
        let action = FileAction::Edit { ops: vec![op], order: OpOrder::Together };
        Ok(Request { files: vec![FileRequest::new(file_path, action)], notes: Notes::new() })
    }
}

/// Returns a text without its final line end.
fn anchor_text(text: &str) -> String {
    normalize_text(text).trim_end_matches('\n').to_owned()
}

const PROMPT: &str = "\
Replaces whole lines of a file: give the text of the first and of the last of them, and the new lines, first and last \
included. The new lines must contain at least half of the old ones; to rewrite a block entirely, use edit. Read the file first.";
