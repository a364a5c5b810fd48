//! How a tool takes its input: the schemas that describe it, and the function that carries out a call.

use crate::context::call::Call;
use crate::context::options::OptionFields;
use crate::model::raw_path::RawPath;
use crate::model::reply::Answer;
use crate::tools::edit_files::edit_files;
use emendate_core::Result;
use emendate_core::formats::Format;
use schemars::Schema;
use serde_json::Value;

/// The text of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerText {
    /// A report about what was done or found.
    Report,
    /// A range of lines that the call requested.
    Lines,
    /// Only the requested text.
    Bare,
}

/// The input of a tool.
pub(crate) enum ToolInput {
    /// An input of its own.
    Own {
        /// Carries out a call; the second argument is the name of the tool.
        run: fn(Call<'_>, &'static str, Value) -> Result<Answer>,
        /// Describes the fields.
        schemas: fn() -> Vec<Schema>,
        text: AnswerText,
    },
    /// One of these formats, with the fields for options. The first one whose required fields are present is used.
    Formats {
        formats: &'static [&'static dyn Format],
        /// Used instead for inputs that have the field of one of them. They are not in the schema: errors lead there.
        also: &'static [&'static dyn Format],
    },
}

impl ToolInput {
    /// Creates an input whose answers are reports.
    pub(crate) const fn new(
        run: fn(Call<'_>, &'static str, Value) -> Result<Answer>,
        schemas: fn() -> Vec<Schema>,
    ) -> ToolInput {
        ToolInput::Own { run, schemas, text: AnswerText::Report }
    }

    /// Returns what the text of an answer is.
    pub(crate) fn text(&self) -> AnswerText {
        match self {
            ToolInput::Own { text, .. } => *text,
            ToolInput::Formats { .. } => AnswerText::Report,
        }
    }

    /// Returns the schemas that describe the input together.
    pub(crate) fn schemas(&self) -> Vec<Schema> {
        match self {
            ToolInput::Own { schemas, .. } => schemas(),
            ToolInput::Formats { formats, .. } => {
                let own = formats.iter().filter_map(|format| format.spec().schema).map(|schema| schema());
                own.chain([schemars::schema_for!(RawPath), schemars::schema_for!(OptionFields)]).collect()
            }
        }
    }

    /// Carries out a call of the tool with that name.
    pub(crate) fn run(&self, call: Call<'_>, tool: &'static str, input: Value) -> Result<Answer> {
        match self {
            ToolInput::Own { run, .. } => run(call, tool, input),
            ToolInput::Formats { formats, also } => {
                let meant = also.iter().any(|format| input.get(format.spec().key).is_some());
                edit_files(call, tool, if meant { also } else { formats }, input)
            }
        }
    }
}
