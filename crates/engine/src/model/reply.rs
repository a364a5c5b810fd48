//! The reply to a call: the same for the command line, NDJSON and MCP.

use crate::model::code_numbers::exit_status;
use crate::model::reply_limits::ReplyLimits;
use emendate_core::{Error, Notes};
use emendate_history::OperationId;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The result of a successful call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Text for a model.
    pub text: String,
    /// Data for programs.
    pub data: Map<String, Value>,
    /// Notes of a call that only reads, which end the text, one line each.
    pub reminders: Vec<String>,
    /// Notes of a change, as the text and the data have them.
    pub notes: Notes,
    /// The operation of the history that has the change; `None` if nothing was logged.
    pub operation: Option<OperationId>,
}

impl Answer {
    /// Creates an answer of a text and a JSON object.
    pub(crate) fn with_data(text: String, data: Value) -> Answer {
        let data = if let Value::Object(data) = data { data } else { Map::new() };
        Answer { text, data, ..Answer::default() }
    }

    /// Ends the text with one more note, whatever its limits.
    pub(crate) fn add_reminder(&mut self, note: String) {
        push_reminder(&mut self.text, &note);
        self.reminders.push(note);
    }

    /// Returns the text without its reminders; `None` if the reply had to be shortened.
    pub fn body(&self) -> Option<&str> {
        let mut reminders = String::new();
        self.reminders.iter().for_each(|note| push_reminder(&mut reminders, note));
        self.text.strip_suffix(&*reminders)
    }
}

/// Characters of a reminder.
const REMINDER_CHARS_MAX: usize = 2_000;

/// Appends a reminder in the form that models know from the Read tool of the seeds.
fn push_reminder(text: &mut String, what: &str) {
    text.push_str("<system-reminder>");
    text.push_str(&clip(what, REMINDER_CHARS_MAX));
    text.push_str("</system-reminder>\n");
}

/// Returns at most `most` characters of a text.
pub(crate) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((at, _)) => Cow::Owned(format!("{}⟪{} more characters⟫", &text[..at], text[at..].chars().count())),
        None => Cow::Borrowed(text),
    }
}

/// The table of numeric codes in the seed documents that a tool follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedCodes {
    /// The Edit tool's, 1–10.
    Edit,
    /// The Write tool's, 1–3.
    Write,
    /// None.
    None,
}

/// The outcome of a call. Created by [`Reply::new`] alone, which enforces the limits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The answer or the error.
    pub result: Result<Answer, Error>,
    /// The numeric codes that apply.
    pub seed: SeedCodes,
}

impl Reply {
    /// Creates a reply within `limits`; `rest` describes how to get the omitted parts.
    pub fn new(result: Result<Answer, Error>, seed: SeedCodes, limits: ReplyLimits, rest: &str) -> Reply {
        let result = match result {
            Ok(mut answer) => {
                answer.reminders.iter().for_each(|note| push_reminder(&mut answer.text, note));
                limits.fit(&mut answer.text, &mut answer.data, rest);
                Ok(answer)
            }
            Err(mut error) => {
                limits.fit_error(&mut error);
                Err(error)
            }
        };
        Reply { result, seed }
    }

    /// Creates the refusal of a call before any tool ran.
    pub fn refusal(error: Error, seed: SeedCodes) -> Reply {
        Reply::new(Err(error), seed, ReplyLimits::default(), "")
    }

    /// The text for a model: the answer's text, or the error with evidence and next step.
    pub fn text(&self) -> String {
        match &self.result {
            Ok(answer) => answer.text.clone(),
            Err(error) => error.to_string(),
        }
    }

    /// Converts to the JSON object of `emend call` and `emend serve`: `{"ok": true, "text", "data"}` or `{"ok": false,
    /// "code", "error_code", "message", "evidence", "next", "retryable", "data"?}`.
    pub fn to_json(&self) -> Value {
        match &self.result {
            Ok(answer) => {
                // The `json!` macro is not used, because it copies values.
                let mut out = Map::with_capacity(4);
                out.insert("ok".to_owned(), Value::Bool(true));
                out.insert("text".to_owned(), Value::String(answer.text.clone()));
                out.insert("data".to_owned(), Value::Object(answer.data.clone()));
                Value::Object(out)
            }
            Err(error) => {
                let mut out = Map::new();
                out.insert("ok".to_owned(), Value::Bool(false));
                if let Value::Object(fields) = error.to_json() {
                    out.extend(fields);
                }
                let number = self.seed.number(error.code());
                out.insert("error_code".to_owned(), number.into());
                // The name of this field up to version 0.1.
                out.insert("seed_code".to_owned(), number.into());
                Value::Object(out)
            }
        }
    }

    /// Exit status of the command line tool.
    pub fn exit(&self) -> u8 {
        self.result.as_ref().map_or_else(|error| exit_status(error.code()), |_| 0)
    }
}

/// Formats a count with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    match what.strip_suffix('y') {
        _ if count == 1 => format!("1 {what}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {what}s"),
    }
}
