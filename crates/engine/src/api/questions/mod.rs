//! Questions to a person that wait: stored with their call, listed and answered by any process.

mod carry_out;
mod notify;
pub(crate) mod record;
pub(crate) mod waiting;

pub(crate) use carry_out::answer_question;

use crate::api::questions::record::QuestionRecord;
use crate::context::Context;
use crate::model::question::{AskedFile, Question};
use crate::model::raw_path::path_of_json;
use chrono::{DateTime, SecondsFormat, Utc};
use emendate_core::{Code, Error, Result};
use emendate_history::{QuestionStore, StoredQuestion};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonAnswer {
    /// Write the change.
    Approve,
    /// Do not write it; the reason reaches the model.
    Deny {
        /// The reason; may be empty.
        reason: String,
    },
    /// Write these texts instead, by path.
    Correct {
        /// The whole texts of files of the question.
        texts: Vec<(PathBuf, String)>,
    },
}

/// State of a question without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuestionState {
    /// The call of the question waits for the answer.
    Waiting,
    /// The process of its call ended: the answer carries it out.
    Abandoned,
    /// The question has an answer, which is being carried out.
    Answered,
    /// The question has an answer, and the process that was to carry it out ended: a new answer carries it out.
    Interrupted,
}

impl QuestionState {
    /// The name of the state in data.
    pub fn name(self) -> &'static str {
        match self {
            QuestionState::Waiting => "waiting",
            QuestionState::Abandoned => "abandoned",
            QuestionState::Answered => "answered",
            QuestionState::Interrupted => "interrupted",
        }
    }
}

/// A file of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuestionFile {
    /// The file.
    pub path: PathBuf,
    /// The rule that asks, and where it is from.
    pub rule: String,
    /// The origin of the rule.
    pub origin: String,
    /// The change in one line.
    pub summary: String,
    /// The change as a diff; empty if it is not text.
    pub diff: String,
    /// The whole new text, if it can be corrected.
    pub proposed: Option<String>,
}

/// A question without a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PendingQuestion {
    /// The id of the question.
    pub id: String,
    /// The state of the question.
    pub state: QuestionState,
    /// The time when the question was asked, and the time until which its call waits.
    pub at: DateTime<Utc>,
    /// The end of the wait.
    pub until: DateTime<Utc>,
    /// The session of the call.
    pub session: String,
    /// The tool of the call.
    pub tool: String,
    /// The files whose change needs a person.
    pub files: Vec<QuestionFile>,
    /// The files as they are stored, with structured patches.
    asked: Vec<AskedFile>,
}

impl PendingQuestion {
    /// Converts to the JSON object of `emend pending --json`.
    pub fn to_json(&self) -> Value {
        let moment = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
        json!({
            "id": self.id,
            "state": self.state.name(),
            "time": moment(self.at),
            "until": moment(self.until),
            "session": self.session,
            "tool": self.tool,
            "files": self.asked,
        })
    }
}

/// Returns the question of a record.
fn pending_of(id: &str, record: &QuestionRecord, answer: Option<&[u8]>, is_held: bool) -> PendingQuestion {
    PendingQuestion {
        id: id.to_owned(),
        state: match (answer.is_some(), is_held) {
            (false, true) => QuestionState::Waiting,
            (false, false) => QuestionState::Abandoned,
            (true, true) => QuestionState::Answered,
            (true, false) => QuestionState::Interrupted,
        },
        at: DateTime::from_timestamp_micros(record.at).unwrap_or_default(),
        until: DateTime::from_timestamp_micros(record.until).unwrap_or_default(),
        session: record.caller.session.clone(),
        tool: record.tool.clone(),
        files: record.question.files.iter().map(QuestionFile::of).collect(),
        asked: record.question.files.clone(),
    }
}

impl QuestionFile {
    fn of(file: &AskedFile) -> QuestionFile {
        QuestionFile {
            path: path_of_json(&file.data),
            rule: file.rule.clone(),
            origin: file.origin.clone(),
            summary: file.data.get("summary").and_then(Value::as_str).unwrap_or_default().to_owned(),
            diff: file.change.clone().unwrap_or_default(),
            proposed: file.proposed.clone(),
        }
    }
}

/// Returns the questions of all roots without a result, the oldest first. Those that cannot be read are omitted.
///
/// Errors: those of the state directory.
pub(crate) fn pending_questions(context: &Context) -> Result<Vec<PendingQuestion>> {
    let mut all = Vec::new();
    for store in (0..context.root_count()).filter_map(|root| question_store(context, root)) {
        for StoredQuestion { id, question, answer, is_held } in store.list()? {
            let Ok(record) = serde_json::from_slice::<QuestionRecord>(&question) else { continue };
            all.push(pending_of(&id, &record, answer.as_deref(), is_held));
        }
    }
    all.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    Ok(all)
}

/// Returns the store of the root that has a question, and what is stored.
///
/// Errors: `operation.not_found`; those of the state directory.
fn find_question(context: &Context, id: &str) -> Result<(QuestionStore, StoredQuestion)> {
    for store in (0..context.root_count()).filter_map(|root| question_store(context, root)) {
        if let Some(found) = store.get(id)? {
            return Ok((store, found));
        }
    }
    let mut stores = (0..context.root_count()).filter_map(|root| question_store(context, root));
    let (code, what) = if stores.any(|store| store.result(id).is_ok_and(|result| result.is_some())) {
        (Code::ConflictRaced, format!("The question {id} has its answer already, or was withdrawn."))
    } else {
        (Code::OperationMissing, format!("No question {id} waits in this project."))
    };
    Err(Error::new(code, what).next("`emend pending` lists the questions that wait."))
}

/// Returns the questions of a root; `None` without a state directory.
pub(crate) fn question_store(context: &Context, root: usize) -> Option<QuestionStore> {
    context.history_stores.directory(context.store().roots(), root).as_deref().map(QuestionStore::beside)
}

/// Returns the root of the first file of a question.
fn question_root(context: &Context, question: &Question) -> usize {
    let path = question.files.first().map(|file| path_of_json(&file.data)).unwrap_or_default();
    context.roots().iter().position(|root| path.starts_with(root)).unwrap_or(0)
}
