//! Methods of a session: typed calls, and calls of tools.

use crate::called_profile;
use crate::session_outcome::{changed, placed, undone};
use emendate::history::{OperationId, OperationName};
use emendate::{
    Approval, CallContext, CallHandle, EditOptionWords, OptionValue as _, Replacement, Session, StalePolicy,
};
use emendate::{UnreadPolicy, Workspace, question};
use emendate_core::{Code, Error};
use emendate_javascript::{error_value, input};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The rules of a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionRules {
    name: String,
    unread: Option<String>,
    on_stale: Option<String>,
    #[serde(default)]
    dry_run: bool,
    directory: Option<PathBuf>,
    irreversible: Option<bool>,
    approval: Option<ApprovalRules>,
    /// The profile whose tools errors name, for an adapter.
    profile: Option<String>,
}

/// A person's answer to a question.
#[derive(Deserialize)]
struct ApprovalRules {
    seal: String,
    agreed: bool,
    #[serde(default)]
    texts: Vec<(PathBuf, String)>,
    /// The reason for a refusal.
    reason: Option<String>,
}

impl SessionRules {
    /// Returns the session.
    ///
    /// Errors: `call.invalid` for a value that an option does not have.
    pub(crate) fn session(self, workspace: &Workspace, handle: Option<CallHandle>) -> Result<Session, Error> {
        let profile = self.profile.as_deref().map(called_profile).transpose()?;
        let session = workspace.session_with(self.caller(handle)?);
        Ok(match profile {
            Some(profile) => session.for_profile(profile),
            None => session,
        })
    }

    /// Errors: `call.invalid` for a value that an option does not have.
    fn caller(self, handle: Option<CallHandle>) -> Result<CallContext, Error> {
        let approval = |ApprovalRules { seal, agreed, texts, reason }| Approval {
            agreed,
            texts,
            reason,
            ..Approval::granted(&seal)
        };
        Ok(CallContext {
            session: self.name,
            unread: self.unread.map_or(Ok(UnreadPolicy::Deny), |word| UnreadPolicy::parse("unread", &word))?,
            on_stale: self.on_stale.map(|word| StalePolicy::parse("onStale", &word)).transpose()?,
            dry_run: self.dry_run,
            names_from: self.directory,
            irreversible: self.irreversible,
            approval: self.approval.map(approval),
            handle,
            ..CallContext::default()
        })
    }
}

/// Runs a method by name.
///
/// Errors: those of the method.
pub(crate) fn run(workspace: &Workspace, session: &Session, method: &str, json: &str) -> Result<Value, Error> {
    match method {
        "call" => call(workspace, session.caller(), &input(method, json)?),
        "read" => read(session, input(method, json)?),
        "text" => input::<TextInput>(method, json).and_then(|given| session.text(given.path)).map(Value::from),
        "edit" => edit(session, input(method, json)?),
        "write" => write(session, input(method, json)?),
        "apply" => apply(session, input(method, json)?),
        "undo" => input::<UndoInput>(method, json)?.run(session).map(|done| undone(&done)),
        _ => Err(Error::new(Code::CallInvalid, format!("A session has no method `{method}`."))),
    }
}

#[derive(Deserialize)]
struct ReadInput {
    path: PathBuf,
    start: Option<usize>,
    end: Option<usize>,
    encoding: Option<String>,
}

fn read(session: &Session, given: ReadInput) -> Result<Value, Error> {
    let mut call = session.read(&given.path);
    call = match (given.start, given.end) {
        (None, None) => call,
        (start, Some(end)) => call.lines(start.unwrap_or(1)..=end),
        (Some(start), None) => call.lines(start..),
    };
    if let Some(label) = given.encoding {
        call = call.encoding(label);
    }
    call.run().map(|read| placed(&read))
}

/// The file whose decoded text is wanted.
#[derive(Deserialize)]
struct TextInput {
    path: PathBuf,
}

/// One replacement of an edit.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EditItem {
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
    expected: Option<usize>,
    at: Option<String>,
    line: Option<usize>,
}

impl From<EditItem> for Replacement {
    fn from(item: EditItem) -> Replacement {
        Replacement {
            old_string: item.old,
            new_string: item.new,
            replace_all: item.replace_all.then_some(true),
            expected_replacements: item.expected,
            at: item.at,
            line: item.line,
        }
    }
}

#[derive(Deserialize)]
struct EditInput {
    path: PathBuf,
    edits: Vec<EditItem>,
    #[serde(default)]
    options: EditOptionWords,
}

fn edit(session: &Session, given: EditInput) -> Result<Value, Error> {
    let call = session.edit(&given.path).options(given.options.parse("onStale")?);
    given.edits.into_iter().fold(call, |call, item| call.replacement(item.into())).run().map(|done| changed(&done))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WriteInput {
    path: PathBuf,
    text: String,
    #[serde(default)]
    create_new: bool,
    #[serde(default)]
    options: EditOptionWords,
}

fn write(session: &Session, given: WriteInput) -> Result<Value, Error> {
    let call = session.write(&given.path, given.text).options(given.options.parse("onStale")?);
    if given.create_new { call.create_new().run() } else { call.run() }.map(|done| changed(&done))
}

/// The subject of a text of edits, and the options for applying it.
#[derive(Deserialize)]
struct ApplyInput {
    text: String,
    format: Option<String>,
    directory: Option<String>,
    file: Option<String>,
    strip: Option<usize>,
    #[serde(default)]
    reverse: bool,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    options: EditOptionWords,
}

fn apply(session: &Session, given: ApplyInput) -> Result<Value, Error> {
    let mut call = session.apply(given.text).options(given.options.parse("onStale")?);
    if let Some(format) = given.format {
        call = call.format(format);
    }
    if let Some(directory) = given.directory {
        call = call.directory(directory);
    }
    if let Some(file) = given.file {
        call = call.file(file);
    }
    if let Some(strip) = given.strip {
        call = call.strip(strip);
    }
    if given.reverse {
        call = call.reverse();
    }
    if given.overwrite { call.overwrite().run() } else { call.run() }.map(|done| changed(&done))
}

/// The selection of an undo.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[derive(Default)]
struct UndoInput {
    operation: Option<String>,
    last: Option<usize>,
    path: Option<PathBuf>,
    redo: bool,
    any_session: bool,
    dry_run: bool,
    irreversible: bool,
    diff: bool,
}

/// Sets an option of an undo.
type UndoFlag<'s> = fn(emendate::UndoCall<'s>) -> emendate::UndoCall<'s>;

impl UndoInput {
    /// Errors: `call.invalid` for a name that no operation has; those of an undo.
    fn run<'s>(self, session: &'s Session) -> Result<emendate::UndoOutcome, Error> {
        let mut call = session.undo();
        if let Some(name) = &self.operation {
            call = call.operation(operation(name)?);
        }
        if let Some(count) = self.last {
            call = call.last(count);
        }
        if let Some(path) = &self.path {
            call = call.of_file(path);
        }
        let flags: [(bool, UndoFlag<'s>); 5] = [
            (self.redo, emendate::UndoCall::redo),
            (self.any_session, emendate::UndoCall::any_session),
            (self.dry_run, emendate::UndoCall::dry_run),
            (self.irreversible, emendate::UndoCall::irreversible),
            (self.diff, emendate::UndoCall::diff),
        ];
        flags.into_iter().filter(|(set, _)| *set).fold(call, |call, (_, set)| set(call)).run()
    }
}

fn operation(name: &str) -> Result<OperationId, Error> {
    let parsed = name.parse::<OperationName>().ok();
    let id = parsed.and_then(|name| Some(OperationId { number: name.number, check: name.check? }));
    id.ok_or_else(|| {
        Error::new(Code::CallInvalid, format!("`{name}` is not the name of an operation."))
            .next("Pass `operation` of a change, such as 17-3fa9.")
    })
}

/// The call of a tool, as a model makes it.
#[derive(Deserialize)]
struct ToolInput {
    tool: String,
    /// JSON, which may be broken.
    input: String,
    profile: Option<String>,
}

/// Calls a tool of a profile, or without one of the engine.
///
/// Errors: `call.invalid` for an unknown profile. A refusal is part of the value.
fn call(workspace: &Workspace, caller: &CallContext, given: &ToolInput) -> Result<Value, Error> {
    let reply = match given.profile.as_deref().map(called_profile).transpose()? {
        Some(profile) => profile.call_json(workspace.engine(), caller, &given.tool, &given.input),
        None => workspace.engine().call_json(caller, &given.tool, &given.input),
    };
    let text = reply.text();
    Ok(match reply.result {
        Ok(answer) => json!({ "ok": true, "text": text, "data": answer.data }),
        Err(error) => {
            json!({ "ok": false, "text": text, "error": error_value(&error), "question": question(&error).cloned() })
        }
    })
}
