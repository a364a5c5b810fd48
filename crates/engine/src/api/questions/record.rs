//! The stored form of a question, of the answer to it, and of what became of it.

use crate::model::approval::Approval;
use crate::model::call_context::{CallContext, OptionValue as _, StalePolicy, UnreadPolicy};
use crate::model::client_info::ClientInfo;
use crate::model::question::Question;
use emendate_core::line_format::LineFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Version of the form. A question of another version can be declined only.
pub(super) const RECORD_VERSION: u32 = 1;

/// A call that ended with a question.
#[derive(Clone, Copy, Debug)]
pub struct AskingCall<'a> {
    /// The profile whose name of the tool this is; `None` for the tool itself.
    pub profile: Option<&'a str>,
    /// The tool.
    pub tool: &'a str,
    /// The input of the call.
    pub input: &'a Value,
}

/// A question as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct QuestionRecord {
    pub(super) version: u32,
    /// Microseconds since the epoch: when it was asked, and until when its call waits.
    pub(super) at: i64,
    pub(super) until: i64,
    pub(super) profile: Option<String>,
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) caller: CallerRecord,
    pub(super) question: Question,
}

/// The part of a caller's context that a later call needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CallerRecord {
    pub(super) session: String,
    unread: String,
    on_stale: Option<String>,
    names_from: Option<PathBuf>,
    cwd: Option<PathBuf>,
    line_format: Option<String>,
    irreversible: Option<bool>,
    turn: Option<String>,
    client: String,
    model: String,
}

impl CallerRecord {
    /// Returns the record of a caller; `None` if a path of it cannot be stored.
    pub(super) fn of(caller: &CallContext) -> Option<CallerRecord> {
        let is_text = |path: &Option<PathBuf>| path.as_deref().is_none_or(|path| Path::to_str(path).is_some());
        let client = caller.client.as_deref();
        (is_text(&caller.names_from) && is_text(&caller.cwd)).then(|| CallerRecord {
            session: caller.session.clone(),
            unread: caller.unread.name().to_owned(),
            on_stale: caller.on_stale.map(|it| it.name().to_owned()),
            names_from: caller.names_from.clone(),
            cwd: caller.cwd.clone(),
            line_format: caller.line_format.map(|format| format.name.to_owned()),
            irreversible: caller.irreversible,
            turn: caller.turn.clone(),
            client: client.map(|client| client.client.clone()).unwrap_or_default(),
            model: client.map(|client| client.model.clone()).unwrap_or_default(),
        })
    }

    /// Returns the context of the later call.
    pub(super) fn context(&self) -> CallContext {
        let client = ClientInfo {
            transport: "answer",
            client: self.client.clone(),
            model: self.model.clone(),
            ..ClientInfo::default()
        };
        CallContext {
            session: self.session.clone(),
            unread: UnreadPolicy::parse("unread", &self.unread).unwrap_or_default(),
            on_stale: self.on_stale.as_deref().and_then(|name| StalePolicy::parse("on_stale", name).ok()),
            names_from: self.names_from.clone(),
            cwd: self.cwd.clone(),
            line_format: self.line_format.as_deref().and_then(LineFormat::by_name),
            irreversible: self.irreversible,
            turn: self.turn.clone(),
            client: Some(Arc::new(client)),
            ..CallContext::default()
        }
    }
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AnswerKind {
    Approve,
    Deny,
    Correct,
    /// The call does not wait any more.
    Withdraw,
}

/// An answer as it is stored, and as a notification command prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerRecord {
    pub(super) answer: AnswerKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) texts: Vec<CorrectedText>,
}

/// The text of a file that a person wants instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CorrectedText {
    pub(super) file_path: PathBuf,
    pub(super) text: String,
}

impl AnswerRecord {
    pub(super) fn of(answer: AnswerKind) -> AnswerRecord {
        AnswerRecord { answer, reason: None, texts: Vec::new() }
    }

    /// Converts to the approval of exactly the change with this digest.
    pub(super) fn approval(&self, digest: &str) -> Approval {
        let texts = self.texts.iter().map(|text| (text.file_path.clone(), text.text.clone())).collect();
        Approval {
            agreed: matches!(self.answer, AnswerKind::Approve | AnswerKind::Correct),
            reason: self.reason.clone(),
            texts,
            is_stored: true,
            ..Approval::granted(digest)
        }
    }
}

/// The end of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerOutcomeKind {
    /// The change was written.
    Written,
    /// The change had been written before its process ended.
    WrittenBefore,
    /// The change was declined; nothing was written.
    Declined,
    /// The file changed since, or a corrected text cannot be written: the call asked again, and `next` is the new
    /// question.
    AskedAgain,
    /// The call failed; nothing was written.
    Failed,
    /// The call was cancelled, or its time was over, before there was an answer.
    Withdrawn,
    /// The process of the call has the answer, and has not carried it out yet.
    HandedOver,
}

/// The end of a question, with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerOutcome {
    /// The end of the question.
    pub kind: AnswerOutcomeKind,
    /// The reply of the call: what was written, the error, or why it asked again.
    pub text: String,
    /// The code of the error, if the call failed.
    pub code: Option<String>,
    /// The operation, if something was written.
    pub operation: Option<String>,
    /// The question that was asked instead.
    pub next: Option<String>,
}

impl AnswerOutcome {
    pub(super) fn new(kind: AnswerOutcomeKind, text: impl Into<String>) -> AnswerOutcome {
        AnswerOutcome { kind, text: text.into(), code: None, operation: None, next: None }
    }
}
