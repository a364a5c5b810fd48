//! Actions: the fields of a form become a call of the engine.

use crate::pages::scope_of;
use crate::request::Fields;
use crate::server::ReviewState;
use data_encoding::BASE64;
use emendate::core::{Code, Error, Result};
use emendate::{Answer, RAW_PATH};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The result of an action.
pub(crate) struct ActionOutcome(pub(crate) Result<ActionDone>);

/// An action that was done.
pub(crate) struct ActionDone {
    /// The change, in one line.
    pub(crate) summary: String,
    /// The operation that it is, which can be undone.
    pub(crate) operation: Option<String>,
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

    /// The result for a script.
    pub(crate) fn to_json(&self) -> Value {
        match &self.0 {
            Ok(done) => json!({ "ok": true, "summary": done.summary, "operation": done.operation }),
            Err(error) => json!({
                "ok": false,
                "code": error.code().as_str(),
                "summary": error.message(),
                "evidence": error.evidence_text(),
                "next": error.next_step(),
            }),
        }
    }
}

/// Does what the fields of a form say.
pub(crate) fn run(state: &ReviewState, fields: &Fields) -> ActionOutcome {
    ActionOutcome(done(state, fields))
}

fn done(state: &ReviewState, fields: &Fields) -> Result<ActionDone> {
    let verb = fields.text("do").unwrap_or_default();
    let answer = match verb {
        "undo" => call(state, "undo", json!({ "id": id(fields)?, "any_session": true }), None)?,
        "undo_turn" => state.engine.undo_turn(&state.caller, id(fields)?)?,
        "undo_change" | "redo_change" => {
            let scope = scope_of(fields).ok_or_else(|| incomplete("the changes"))?;
            let path = fields.path("path").ok_or_else(|| incomplete("a file"))?;
            let hunk = fields.number("hunk").map(|number| [number]);
            let hunks = hunk.as_ref().map(|number| &number[..]);
            state.engine.reverse_change(&state.caller, &scope, &path, hunks, verb == "redo_change")?
        }
        "restore" => {
            let path = fields.path("path").ok_or_else(|| incomplete("a file"))?;
            call(state, "restore", json!({ "id": id(fields)? }), Some(&path))?
        }
        "mark" => {
            let name = fields.text("name").ok_or_else(|| incomplete("a name"))?;
            call(state, "mark", json!({ "name": name }), None)?
        }
        "write" => {
            let path = fields.path("path").ok_or_else(|| incomplete("a file"))?;
            // Browsers send the lines of a form with CR LF.
            let text = fields.text("content").unwrap_or_default().replace("\r\n", "\n");
            let mut input = json!({ "content": text });
            if let Some(tag) = fields.text("tag") {
                input["tag"] = tag.into();
            }
            call(state, "write", input, Some(&path))?
        }
        _ => return Err(Error::new(Code::CallInvalid, "There is no such action.").next("Reload the page.")),
    };
    Ok(finished(&answer))
}

/// Calls a tool.
fn call(state: &ReviewState, tool: &str, mut input: Value, path: Option<&Path>) -> Result<Answer> {
    if let (Some(path), Value::Object(fields)) = (path, &mut input) {
        let fields: &mut Map<String, Value> = fields;
        // As bytes: a path is never read as something else that it resembles.
        fields.insert(RAW_PATH.to_owned(), BASE64.encode(path.as_os_str().as_bytes()).into());
    }
    state.engine.call(&state.caller, tool, input).result
}

/// Returns what an answer says for a person.
fn finished(answer: &Answer) -> ActionDone {
    let text = |name: &str| answer.data.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let first_line = answer.text.lines().next().unwrap_or("Done.");
    ActionDone {
        summary: text("summary").unwrap_or(first_line).to_owned(),
        operation: text("operation").map(str::to_owned),
    }
}

/// Returns the operation that the fields name.
fn id(fields: &Fields) -> Result<&str> {
    fields.text("id").ok_or_else(|| incomplete("an operation"))
}

/// The error for a form without a field.
fn incomplete(what: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The form does not name {what}.")).next("Reload the page.")
}
