//! Actions: the fields of a form become a call of the engine.

use crate::html::query_path;
use crate::keep::{self, KeepDecision};
use crate::pages::questions::can_correct;
use crate::request::Fields;
use crate::state::ReviewState;
use crate::view::{scope_of, scope_query};
use data_encoding::BASE64;
use emendate::core::advice::NoNames;
use emendate::core::{CODES, Code, Error, Result};
use emendate::history::FileKind;
use emendate::{Answer, AnswerOutcomeKind, ChangeScope, HunkLines, PersonAnswer, RAW_PATH, ShownChange};
use emendate_os::ffi::OsStrExt as _;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The result of an action.
pub(crate) struct ActionOutcome(pub(crate) Result<ActionDone>);

/// An action that was done.
pub(crate) struct ActionDone {
    /// The change, in one line.
    pub(crate) summary: String,
    /// The operation of the action, which can be undone.
    pub(crate) operation: Option<String>,
    /// The marks that a decision to keep set or removed; the same decision about them takes it back.
    pub(crate) marks: Option<String>,
}

impl ActionDone {
    /// An action without an operation.
    fn only(summary: impl Into<String>) -> ActionDone {
        ActionDone { summary: summary.into(), operation: None, marks: None }
    }
}

impl ActionOutcome {
    /// The status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        match &self.0 {
            Ok(_) => StatusCode::OK,
            Err(error) if error.code() == Code::InternalBug => StatusCode::INTERNAL_SERVER_ERROR,
            Err(_) => StatusCode::CONFLICT,
        }
    }

    /// The address of a page on which a person resolves the conflict, if that is what failed.
    pub(crate) fn resolve_address(&self, state: &ReviewState, fields: &Fields) -> Option<String> {
        self.0.as_ref().err().filter(|error| error.code() == Code::OperationConflict)?;
        let (scope, path) = named_file(fields).ok()?;
        let changes = state.changes(&scope).ok()?;
        let view = state.engine.review().scope_file(&changes, &path).ok()?;
        // Only two versions of a text can be merged.
        let is_text = [view.before, view.after].iter().all(|side| side.is_some_and(|side| side.kind != FileKind::Link));
        let can_resolve = is_text && view.moved_from.is_none() && !changes.has_changes_by_others(&path);
        can_resolve.then(|| format!("/resolve?{}&path={}", scope_query(&scope), query_path(&path)))
    }

    /// The result for a script.
    pub(crate) fn to_json(&self, state: &ReviewState, fields: &Fields) -> Value {
        let resolve = self.resolve_address(state, fields);
        match &self.0 {
            Ok(done) => {
                json!({ "ok": true, "summary": done.summary, "operation": done.operation, "marks": done.marks })
            }
            Err(error) => json!({
                "ok": false,
                "code": error.code().as_str(),
                "summary": state.relative(error.message()),
                "evidence": state.relative(error.evidence_text()),
                "next": state.relative(error.next_step()),
                "resolve": resolve,
            }),
        }
    }
}

/// Performs the action that the fields of a form name.
pub(crate) fn run(state: &ReviewState, fields: &Fields) -> ActionOutcome {
    // The advice names no fields: a person has buttons.
    ActionOutcome(done(state, fields).map_err(|error| error.rendered_for(&NoNames)))
}

fn done(state: &ReviewState, fields: &Fields) -> Result<ActionDone> {
    let verb = fields.text("do").unwrap_or_default();
    let answer = match verb {
        "undo" => call(state, "undo", json!({ "id": id(fields)?, "any_session": true }), None)?,
        "undo_turn" => state.engine.review().undo_turn(&state.caller, id(fields)?, versions(fields)?)?,
        "undo_change" | "redo_change" => {
            let (scope, path) = named_file(fields)?;
            let shown = shown_change(fields, &scope, &path)?;
            let hunk = fields.sent_number("hunk")?.map(|number| [number]);
            let hunks = hunk.as_ref().map(|number| &number[..]);
            state.engine.review().reverse_change(&state.caller, shown, hunks, verb == "redo_change")?
        }
        "restore" => {
            let path = fields.path("path").ok_or_else(|| incomplete("a file"))?;
            call(state, "restore", json!({ "id": id(fields)? }), Some(&path))?
        }
        "approve" | "deny" | "correct" => return answered(state, fields, verb),
        "keep" => {
            let KeepDecision { summary, marks } = keep::set_kept(state, fields)?;
            return Ok(ActionDone { marks: Some(marks), ..ActionDone::only(state.relative(&summary)) });
        }
        "tick" => {
            let name = fields.text("name").ok_or_else(|| incomplete("what was viewed"))?;
            let kept = state.ticks.set(name, fields.flag("on"));
            return match kept {
                Ok(true) => Ok(ActionDone::only("Stored.")),
                Ok(false) => Err(incomplete("what was viewed")),
                Err(error) => Err(Error::new(Code::IoFailed, format!("The tick was not stored: {error}."))),
            };
        }
        "comment" => {
            // An emptied field is a comment on the file.
            let line = if fields.sent("line") == Some("") { None } else { fields.sent_number("line")? };
            let (line, text) = (line.map(|line| line as u64), fields.sent("text").unwrap_or_default());
            let comment = state.engine.remarks().add_comment(
                scope_operation(fields)?,
                fields.path("path").as_deref(),
                line,
                &text.replace("\r\n", "\n"),
            )?;
            return Ok(ActionDone::only(format!("The comment reaches {} with its next reply.", comment.session)));
        }
        "delete_comment" => {
            state.engine.remarks().delete_comment(id(fields)?)?;
            return Ok(ActionDone::only("The comment is deleted."));
        }
        "mark" => {
            let name = fields.text("name").ok_or_else(|| incomplete("a name"))?;
            call(state, "mark", json!({ "name": name }), None)?
        }
        "edit_lines" => edit_lines(state, fields)?,
        "write" => {
            let path = fields.path("path").ok_or_else(|| incomplete("a file"))?;
            // Browsers send the lines of a form with CR LF.
            let text = fields.sent("content").ok_or_else(|| incomplete("the text"))?.replace("\r\n", "\n");
            let tag = fields.text("tag").ok_or_else(|| incomplete("the version of the file"))?;
            call(state, "write", json!({ "content": text, "tag": tag }), Some(&path))?
        }
        _ => return Err(Error::new(Code::CallInvalid, "There is no such action.").next("Reload the page.")),
    };
    Ok(finished(state, &answer))
}

/// Replaces the lines that the form showed by those that a person wrote. Browsers send lines with CR LF.
fn edit_lines(state: &ReviewState, fields: &Fields) -> Result<Answer> {
    let (scope, path) = named_file(fields)?;
    let shown = shown_change(fields, &scope, &path)?;
    let old = fields.sent("old").ok_or_else(|| incomplete("the lines"))?;
    let new = fields.sent("new").ok_or_else(|| incomplete("the new lines"))?.replace("\r\n", "\n");
    let lines = HunkLines { first: fields.sent_number("line")?.ok_or_else(|| incomplete("a line"))?, text: old };
    state.engine.review().correct_lines(&state.caller, shown, lines, &new)
}

/// Returns the scope and the file that the fields name.
fn named_file(fields: &Fields) -> Result<(ChangeScope, PathBuf)> {
    let scope = scope_of(fields).ok_or_else(|| incomplete("the changes"))?;
    Ok((scope, fields.path("path").ok_or_else(|| incomplete("a file"))?))
}

/// Returns the change that a page showed. The changes of several operations become others while a page is open, so a
/// form has to say which they were.
fn shown_change<'f>(fields: &'f Fields, scope: &'f ChangeScope, path: &'f Path) -> Result<ShownChange<'f>> {
    let versions = match scope {
        ChangeScope::Operation(_) => fields.text("versions"),
        ChangeScope::Turn(_) | ChangeScope::Between(..) => Some(versions(fields)?),
    };
    Ok(ShownChange { scope, path, versions })
}

/// Returns the versions of the changes that a page showed.
pub(crate) fn versions(fields: &Fields) -> Result<&str> {
    fields.text("versions").ok_or_else(|| incomplete("the versions that were shown"))
}

/// Returns the operation that the fields are about.
fn scope_operation(fields: &Fields) -> Result<&str> {
    fields.text("op").ok_or_else(|| incomplete("an operation"))
}

/// Answers a question.
fn answered(state: &ReviewState, fields: &Fields, verb: &str) -> Result<ActionDone> {
    let id = id(fields)?;
    let answer = match verb {
        "approve" => PersonAnswer::Approve,
        "deny" => PersonAnswer::Deny { reason: fields.text("reason").unwrap_or_default().replace("\r\n", "\n") },
        _ => PersonAnswer::Correct { texts: corrected(state, fields, id)? },
    };
    let outcome = state.engine.questions().answer(id, &answer)?;
    let refused = |code: Code, what: &'static str, next: &'static str| {
        Err(Error::new(code, what).evidence(outcome.text.trim_end()).next(next))
    };
    match outcome.kind {
        AnswerOutcomeKind::Declined => Ok(ActionDone::only("Declined; nothing was written.")),
        AnswerOutcomeKind::Written | AnswerOutcomeKind::WrittenBefore | AnswerOutcomeKind::HandedOver => {
            let first_line = outcome.text.lines().next().filter(|line| !line.is_empty()).unwrap_or("Answered.");
            Ok(ActionDone { operation: outcome.operation, ..ActionDone::only(state.relative(first_line)) })
        }
        AnswerOutcomeKind::AskedAgain => {
            refused(Code::AccessAsk, "Nothing was written: the call asks again.", "Look at the new question.")
        }
        AnswerOutcomeKind::Withdrawn => {
            refused(Code::ConflictRaced, "Nothing was written: the call did not wait any more.", "Reload the page.")
        }
        // The call failed.
        _ => {
            let row = CODES.iter().find(|row| Some(row.name) == outcome.code.as_deref());
            let next = "The agent got this reply. If it calls again, the question is asked again.";
            refused(row.map_or(Code::IoFailed, |row| row.code), "The change was not written.", next)
        }
    }
}

/// Returns the texts that a person put in place of those of a question. Browsers send lines with CR LF, so the line
/// ends are those of the proposal.
fn corrected(state: &ReviewState, fields: &Fields, id: &str) -> Result<Vec<(PathBuf, String)>> {
    let questions = state.engine.questions().pending()?;
    let question = questions.iter().find(|question| question.id == id).ok_or_else(|| {
        Error::new(Code::OperationMissing, "The question is no longer open.").next("Reload the page.")
    })?;
    let proposed =
        question.files.iter().enumerate().filter_map(|(nth, file)| Some((nth, file, file.proposed.as_ref()?)));
    proposed
        .filter(|(_, _, proposed)| can_correct(proposed))
        .map(|(nth, file, proposed)| match read_text(fields, nth, proposed) {
            Some(text) => Ok((file.path.clone(), text)),
            None => Err(incomplete(&format!("the text of {}", emendate::fs::shown(&file.path)))),
        })
        .collect()
}

/// Returns the text that was sent for the file with this number, with the line ends of the proposal.
fn read_text(fields: &Fields, nth: usize, proposed: &str) -> Option<String> {
    let sent = fields.sent(&format!("text{nth}"))?.replace("\r\n", "\n");
    Some(if proposed.contains("\r\n") { sent.replace('\n', "\r\n") } else { sent })
}

/// Calls a tool.
fn call(state: &ReviewState, tool: &str, mut input: Value, path: Option<&Path>) -> Result<Answer> {
    if let (Some(path), Value::Object(fields)) = (path, &mut input) {
        let fields: &mut Map<String, Value> = fields;
        // The path is sent as bytes, so that it is never read as something else that it resembles.
        fields.insert(RAW_PATH.to_owned(), BASE64.encode(path.as_os_str().as_bytes()).into());
    }
    state.engine.call(&state.caller, tool, input).result
}

/// Summarizes an answer for a person.
fn finished(state: &ReviewState, answer: &Answer) -> ActionDone {
    let text = |name: &str| answer.data.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let first_line = answer.text.lines().next().unwrap_or("Done.");
    ActionDone {
        summary: state.relative(text("summary").unwrap_or(first_line)),
        operation: text("operation").map(str::to_owned),
        marks: None,
    }
}

/// Returns the operation that the fields name.
fn id(fields: &Fields) -> Result<&str> {
    fields.text("id").ok_or_else(|| incomplete("an operation"))
}

/// The error for a form without a field.
pub(crate) fn incomplete(what: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The form does not name {what}.")).next("Reload the page.")
}
