//! The question of a call whose change a person must approve.

use emendate_core::{Code, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The question of a call, as its error contains it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Unforgeable hash of the change: an approval repeats it.
    pub(crate) seal: String,
    /// Hash of the change.
    pub(crate) digest: String,
    /// The contents that the files would have; `None` if there are too many files.
    pub(crate) states: Option<Vec<StateAfter>>,
    /// A file may hold secrets: the question is never stored.
    pub(crate) secret: bool,
    /// The files whose change needs a person.
    pub(crate) files: Vec<AskedFile>,
    /// The reason why the last answer was not carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// A file of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AskedFile {
    /// The data of the reply of a dry run, with the path.
    #[serde(flatten)]
    pub(crate) data: Map<String, Value>,
    /// The whole new text, if a person can correct it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) proposed: Option<String>,
    /// The change as a diff, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<String>,
    /// The rule that asks.
    pub(crate) rule: String,
    /// The origin of the rule.
    pub(crate) origin: String,
}

/// The content of a file after the change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StateAfter {
    /// The path.
    #[serde(flatten)]
    pub(crate) file: Map<String, Value>,
    /// The content; empty for a removed file, `None` if it is not known beforehand.
    pub(crate) after: Option<String>,
}

/// Returns the question of a call that ended with one: `{"seal", "problem"?, "files": [{"filePath", "rule", "origin",
/// "structuredPatch", "proposed"?, …}]}`. The problem says why the last answer was not carried out.
pub fn question(error: &Error) -> Option<&Value> {
    if error.code() == Code::AccessAsk { error.data().get("question") } else { None }
}

impl Question {
    /// Returns the question of a call that ended with one.
    pub(crate) fn of(error: &Error) -> Option<Question> {
        Question::deserialize(question(error)?).ok()
    }
}
