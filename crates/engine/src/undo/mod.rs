//! The tools `undo` and `restore`: what an operation did is taken back, all of its files or none; and one file becomes what
//! it once was. Both are operations themselves, so both can be undone.

mod back;
mod choose;
mod restore;

use crate::caller::Caller;
use crate::engine::Engine;
use crate::log::Cause;
use crate::receipt::Receipt;
use crate::reply::Answer;
use emendate_core::formats::{self, Input};
use emendate_core::{Code, Error, Result};
use emendate_history::{Logged, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(crate) use back::same;
pub(crate) use choose::Named;
pub(crate) use restore::Args as RestoreArgs;

/// Operations that one call undoes at most.
const MOST: usize = 100;

/// The input of `undo`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Args {
    /// The operation, as replies (data.operation) and history name it (default: the last one).
    pub(crate) id: Option<String>,
    /// Undo so many operations, the newest first.
    last: Option<usize>,
    /// The last operation that touched this file; all its files are taken back.
    pub(crate) file_path: Option<String>,
    /// Take the last undo back instead.
    pub(crate) redo: bool,
    /// Other sessions' operations, too.
    pub(crate) any_session: bool,
    /// Show what would be done, write nothing.
    dry_run: bool,
}

impl Engine {
    /// The tool `undo`.
    pub(crate) fn undo(&self, caller: &Caller, tool: &'static str, input: Value) -> Result<Answer> {
        let cause = Cause::new(tool, &input);
        let args: Args = formats::from_json(Input::Json(input))?;
        let dry_run = args.dry_run || caller.dry_run;
        for root in 0..self.roots().len() {
            self.look_into_pending(root)?;
        }
        let times = args.last.unwrap_or(1);
        if times == 0 || times > MOST || (args.id.is_some() && (args.last.is_some() || args.file_path.is_some())) {
            return Err(Error::new(Code::CallInvalid, "The call does not say clearly which operations are meant.")
                .next(format!("Give one of id, file_path or last (1 to {MOST}), or none of them for the last one.")));
        }
        let (mut answer, mut summary) = (Answer::default(), String::new());
        let (mut made, mut taken, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for nth in 0..times {
            let one = self.chosen(caller, &args).and_then(|(root, logged)| {
                let one = self.take_back(caller, cause, (root, &logged), dry_run)?;
                Ok((logged, one))
            });
            let (logged, (text, told, operation)) = match one {
                Ok(one) => one,
                Err(error) if nth == 0 => return Err(error),
                Err(error) => {
                    let _ = writeln!(answer.text, "Stopped after {nth} of {times}: {error}");
                    answer.data.insert("stopped".to_owned(), error.to_json());
                    break;
                }
            };
            let headline = headline(&logged, dry_run);
            summary.push_str(&headline);
            answer.text.push_str(&headline);
            answer.text.push_str(&text);
            taken.push(Value::from(logged.id.to_string()));
            made.extend(operation.map(|id| Value::from(id.to_string())));
            files.extend(told);
            if dry_run && times > 1 {
                answer.text.push_str("What comes before it depends on this one; it is not shown.\n");
                break;
            }
        }
        let data = &mut answer.data;
        data.insert("summary".to_owned(), summary.trim_end().into());
        data.insert("undone".to_owned(), taken.into());
        data.insert("operation".to_owned(), made.last().cloned().unwrap_or(Value::Null));
        data.insert("operations".to_owned(), made.into());
        data.extend(self::data(files, dry_run));
        Ok(answer)
    }

    /// Takes one operation back: the text and the files of the answer, and the name of the new operation.
    fn take_back(
        &self,
        caller: &Caller,
        cause: Cause<'_>,
        (root, logged): (usize, &Logged),
        dry_run: bool,
    ) -> Result<(String, Vec<Value>, Option<emendate_history::OperationId>)> {
        let role = match logged.operation.role {
            Role::Undo(_) => Role::Redo(logged.id),
            Role::Edit | Role::Redo(_) => Role::Undo(logged.id),
        };
        let paths = logged.operation.files.iter().map(|file| Path::new(OsStr::from_bytes(&file.path)));
        let _turns = self.turns(paths);
        let cause = Cause { role, ..cause };
        let receipts = self.carry_out(caller, cause, dry_run, || back::plans(self, caller, (root, logged)))?;
        let operation = receipts.iter().find_map(Receipt::operation);
        let (text, files, _) = self.tell(receipts);
        Ok((text, files, operation))
    }
}

/// What was taken back, in words.
fn headline(logged: &Logged, dry_run: bool) -> String {
    let verb = match (matches!(logged.operation.role, Role::Undo(_)), dry_run) {
        (false, false) => "Undone",
        (false, true) => "Would be undone",
        (true, false) => "Redone what was undone",
        (true, true) => "Would be redone, what was undone",
    };
    let (tool, session) = (&logged.operation.tool, &logged.operation.session);
    let by = if matches!(logged.operation.role, Role::Undo(_)) { " by" } else { ":" };
    format!("{verb}{by} operation {} ({tool}, session {session}).\n", logged.id)
}

/// Data of an answer with these files.
pub(crate) fn data(files: Vec<Value>, dry_run: bool) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("dryRun".to_owned(), dry_run.into());
    data.insert("notes".to_owned(), Value::Array(Vec::new()));
    data.insert("files".to_owned(), files.into());
    data
}
