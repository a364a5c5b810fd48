//! The one shape of an answer. The command line, NDJSON and MCP all show this.

use crate::reply_limits::ReplyLimits;
use emendate_core::{Code, Error};
use serde_json::{Map, Value};

/// A call that worked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What a model reads.
    pub text: String,
    /// What programs read.
    pub data: Map<String, Value>,
}

/// Which table of numeric codes of the seed documents a tool follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedCodes {
    /// The Edit tool's, 1–10.
    Edit,
    /// The Write tool's, 1–3.
    Write,
    /// None.
    None,
}

impl SeedCodes {
    /// The number of a code in this table.
    pub fn number(self, code: Code) -> Option<u8> {
        match self {
            SeedCodes::Edit => code.row().edit,
            SeedCodes::Write => code.row().write,
            SeedCodes::None => None,
        }
    }
}

/// The outcome of a call. It is made by [`Reply::new`] alone, which keeps it within the limits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The answer, or why there is none.
    pub result: Result<Answer, Error>,
    /// Which numeric codes apply.
    pub seed: SeedCodes,
}

impl Reply {
    /// The outcome within `limits`; `rest` says how to get what is left out of it.
    pub fn new(result: Result<Answer, Error>, seed: SeedCodes, limits: ReplyLimits, rest: &str) -> Reply {
        let result = match result {
            Ok(Answer { mut text, mut data }) => {
                limits.fit(&mut text, &mut data, rest);
                Ok(Answer { text, data })
            }
            Err(mut error) => {
                limits.fit_error(&mut error);
                Err(error)
            }
        };
        Reply { result, seed }
    }

    /// A refusal before any tool was called.
    pub fn refusal(error: Error, seed: SeedCodes) -> Reply {
        Reply::new(Err(error), seed, ReplyLimits::default(), "")
    }

    /// What a model reads: the answer's text, or the error with evidence and next step.
    pub fn text(&self) -> String {
        match &self.result {
            Ok(answer) => answer.text.clone(),
            Err(error) => error.to_string(),
        }
    }

    /// The machine-readable object of `emend call` and `emend serve`:
    /// `{"ok": true, "text", "data"}` or `{"ok": false, "code", "seed_code", "message", "evidence", "next", "retryable", "data"?}`.
    pub fn to_json(&self) -> Value {
        match &self.result {
            Ok(answer) => {
                // Not by the macro, which makes values of values.
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
                out.insert("seed_code".to_owned(), self.seed.number(error.code()).into());
                Value::Object(out)
            }
        }
    }

    /// Exit status of the command line.
    pub fn exit(&self) -> u8 {
        self.result.as_ref().map_or_else(|error| error.code().exit(), |_| 0)
    }
}
