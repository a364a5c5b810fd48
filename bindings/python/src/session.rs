//! Sessions: typed calls, and calls of tools with JSON.

use crate::exception::{exception, raised};
use crate::options::Count;
use crate::session_outcome::{ChangeOutcome, ReadOutcome, UndoOutcome};
use crate::workspace::{NativeHandle, called_profile};
use emendate::history::{OperationId, OperationName};
use emendate::{Approval, CallContext, EditOptionWords, EditOptions, Replacement, Reply, Session};
use emendate::{Workspace, question};
use emendate_core::{Code, Error};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A session; `emendate.Session` documents it.
#[pyclass(frozen, module = "emendate._emendate")]
pub(crate) struct NativeSession {
    workspace: Workspace,
    session: Session,
}

/// Options of a call that changes files.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ChangeOptions {
    tag: Option<String>,
    encoding: Option<String>,
    on_stale: Option<String>,
    r#match: Option<String>,
    dry_run: bool,
    partial: bool,
    allow_invalid: bool,
    irreversible: bool,
    repeat: bool,
    diff: bool,
}

impl ChangeOptions {
    /// Errors: `call.invalid` for a value that an option does not have.
    fn parsed(self) -> Result<EditOptions, Error> {
        let words = EditOptionWords {
            tag: self.tag,
            encoding: self.encoding,
            on_stale: self.on_stale,
            r#match: self.r#match,
            dry_run: self.dry_run,
            partial: self.partial,
            allow_invalid: self.allow_invalid,
            irreversible: self.irreversible,
            repeat: self.repeat,
            diff: self.diff,
        };
        words.parse("on_stale")
    }
}

/// One replacement of an edit.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct EditItem {
    old: String,
    new: String,
    replace_all: bool,
    expected: Option<Count>,
    at: Option<String>,
    line: Option<Count>,
}

impl EditItem {
    /// Errors: `call.invalid` for a number that is out of range.
    fn parsed(self) -> Result<Replacement, Error> {
        Ok(Replacement {
            old_string: self.old,
            new_string: self.new,
            replace_all: self.replace_all.then_some(true),
            expected_replacements: number(self.expected, "expected")?,
            at: self.at,
            line: number(self.line, "line")?,
        })
    }
}

/// Returns the number of an argument, if it is given.
///
/// Errors: `call.invalid` for one that is out of range.
fn number(given: Option<Count>, argument: &str) -> Result<Option<usize>, Error> {
    given.map(|count| count.of(argument)).transpose()
}

/// The subject of a text of edits, and the options for applying it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ApplyRules {
    format: Option<String>,
    directory: Option<String>,
    file: Option<String>,
    strip: Option<Count>,
    reverse: bool,
    overwrite: bool,
}

/// The selection of an undo.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct UndoRules {
    operation: Option<String>,
    last: Option<Count>,
    path: Option<PathBuf>,
    redo: bool,
    any_session: bool,
    dry_run: bool,
    irreversible: bool,
    diff: bool,
}

/// Sets an option of an undo.
type UndoFlag<'s> = fn(emendate::UndoCall<'s>) -> emendate::UndoCall<'s>;

impl UndoRules {
    /// Errors: `call.invalid` for a name that no operation has; those of an undo.
    fn run<'s>(self, session: &'s Session) -> Result<emendate::UndoOutcome, Error> {
        let mut call = session.undo();
        if let Some(name) = &self.operation {
            call = call.operation(operation(name)?);
        }
        if let Some(count) = number(self.last, "last")? {
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

/// A reply: whether it is a success, its text, its data as JSON, and the exception.
type ReplyParts = (bool, String, String, Option<Py<PyAny>>);

/// Returns the parts of a reply.
fn parts(py: Python<'_>, reply: Reply) -> PyResult<ReplyParts> {
    let text = reply.text();
    match reply.result {
        Ok(answer) => Ok((true, text, serde_json::Value::Object(answer.data).to_string(), None)),
        Err(error) => {
            let data = question(&error).cloned().unwrap_or_default().to_string();
            Ok((false, text, data, Some(exception(py, &error)?.unbind())))
        }
    }
}

impl NativeSession {
    pub(crate) fn new(workspace: Workspace, caller: CallContext) -> NativeSession {
        let session = workspace.session_with(caller);
        NativeSession { workspace, session }
    }

    /// The same session with other rules.
    fn with(&self, caller: CallContext) -> NativeSession {
        NativeSession { workspace: self.workspace.clone(), session: self.session.with_caller(caller) }
    }

    /// Runs a call without the lock of the interpreter.
    fn run<T: Send>(&self, py: Python<'_>, call: impl Send + FnOnce(&Session) -> Result<T, Error>) -> PyResult<T> {
        py.detach(|| call(&self.session)).map_err(|error| raised(py, &error))
    }
}

#[pymethods]
impl NativeSession {
    /// The name.
    fn name(&self) -> &str {
        self.session.name()
    }

    /// The directory at which relative names begin, if it was given.
    fn directory(&self) -> Option<PathBuf> {
        self.session.caller().names_from.clone()
    }

    /// The same session, whose calls the handle stops.
    fn with_handle(&self, handle: &NativeHandle) -> NativeSession {
        self.with(CallContext { handle: Some(handle.0.clone()), ..self.session.caller().clone() })
    }

    /// The same session, whose calls write nothing.
    fn with_dry_run(&self) -> NativeSession {
        self.with(CallContext { dry_run: true, ..self.session.caller().clone() })
    }

    /// The same session, whose errors name the tools of an adapter.
    fn with_profile(&self, py: Python<'_>, name: &str) -> PyResult<NativeSession> {
        let profile = called_profile(name).map_err(|error| raised(py, &error))?;
        Ok(NativeSession { workspace: self.workspace.clone(), session: self.session.clone().for_profile(profile) })
    }

    /// The same session, whose calls have a person's answer to a question.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python are converted")]
    fn with_approval(&self, seal: String, agreed: bool, texts: Vec<(PathBuf, String)>) -> NativeSession {
        let approval = Some(Approval { agreed, texts, ..Approval::granted(&seal) });
        self.with(CallContext { approval, ..self.session.caller().clone() })
    }

    /// Reads lines of a file.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python are converted")]
    fn read(
        &self,
        py: Python<'_>,
        path: PathBuf,
        start: Option<Count>,
        end: Option<Count>,
        encoding: Option<String>,
    ) -> PyResult<ReadOutcome> {
        let read = self.run(py, |session| {
            let mut call = session.read(&path);
            call = match (number(start, "start")?, number(end, "end")?) {
                (None, None) => call,
                (start, Some(end)) => call.lines(start.unwrap_or(1)..=end),
                (Some(start), None) => call.lines(start..),
            };
            encoding.map_or(call.clone(), |label| call.encoding(label)).run()
        });
        read.map(ReadOutcome::from)
    }

    /// Returns the decoded text of a file, which does not count as read; `None` if there is none.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python are converted")]
    fn text(&self, py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
        self.run(py, |session| session.text(&path))
    }

    /// Replaces texts in a file.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python are converted")]
    fn edit(
        &self,
        py: Python<'_>,
        path: PathBuf,
        edits: Vec<EditItem>,
        options: ChangeOptions,
    ) -> PyResult<ChangeOutcome> {
        let done = self.run(py, |session| {
            let call = session.edit(&path).options(options.parsed()?);
            let replacements = edits.into_iter().map(EditItem::parsed).collect::<Result<Vec<_>, Error>>()?;
            replacements.into_iter().fold(call, emendate::EditCall::replacement).run()
        });
        ChangeOutcome::new(py, done?)
    }

    /// Writes a file.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python are converted")]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        text: String,
        create_new: bool,
        options: ChangeOptions,
    ) -> PyResult<ChangeOutcome> {
        let done = self.run(py, |session| {
            let call = session.write(&path, text).options(options.parsed()?);
            if create_new { call.create_new().run() } else { call.run() }
        });
        ChangeOutcome::new(py, done?)
    }

    /// Applies edits in any text format.
    fn apply(
        &self,
        py: Python<'_>,
        text: String,
        rules: ApplyRules,
        options: ChangeOptions,
    ) -> PyResult<ChangeOutcome> {
        let done = self.run(py, |session| {
            let mut call = session.apply(text).options(options.parsed()?);
            if let Some(format) = rules.format {
                call = call.format(format);
            }
            if let Some(directory) = rules.directory {
                call = call.directory(directory);
            }
            if let Some(file) = rules.file {
                call = call.file(file);
            }
            if let Some(strip) = number(rules.strip, "strip")? {
                call = call.strip(strip);
            }
            if rules.reverse {
                call = call.reverse();
            }
            if rules.overwrite { call.overwrite().run() } else { call.run() }
        });
        ChangeOutcome::new(py, done?)
    }

    /// Undoes operations.
    fn undo(&self, py: Python<'_>, rules: UndoRules) -> PyResult<UndoOutcome> {
        UndoOutcome::new(py, self.run(py, |session| rules.run(session))?)
    }

    /// Calls a tool of a profile, or without one of the engine, with JSON text.
    fn call(&self, py: Python<'_>, tool: &str, input: &str, profile: Option<&str>) -> PyResult<ReplyParts> {
        let reply = py.detach(|| {
            let (engine, caller) = (self.workspace.engine(), self.session.caller());
            Ok(match profile.map(called_profile).transpose()? {
                Some(profile) => profile.call_json(engine, caller, tool, input),
                None => engine.call_json(caller, tool, input),
            })
        });
        parts(py, reply.map_err(|error| raised(py, &error))?)
    }
}
