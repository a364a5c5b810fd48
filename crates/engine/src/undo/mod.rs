//! The tools `undo` and `restore`: what an operation did is taken back, all of its files or none; and one file becomes what
//! it once was. Both are operations themselves, so both can be undone.

mod back;
mod choose;
mod course;
mod restore;

use crate::caller::Caller;
use crate::engine::Engine;
use crate::log::Cause;
use crate::raw_path;
use crate::receipt::Receipt;
use crate::reply::Answer;
use emendate_core::formats::{self, Input};
use emendate_core::{Code, Error, Result};
use emendate_history::{Logged, OperationId, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

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
    /// Undo so many operations, all or none, the newest first; this is one operation itself.
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
    pub(crate) fn undo(&self, caller: &Caller, tool: &'static str, mut input: Value) -> Result<Answer> {
        let cause = Cause::new(tool, &input);
        let raw = raw_path::take(&mut input)?;
        let args: Args = formats::from_json(Input::Json(input))?;
        let dry_run = args.dry_run || caller.dry_run;
        for root in 0..self.roots().len() {
            self.look_into_pending(root)?;
        }
        let times = args.last.unwrap_or(1);
        if times == 0 || times > MOST {
            return Err(Error::new(
                Code::CallInvalid,
                format!("`last` is {times}; one call takes back 1 to {MOST} operations."),
            )
            .next(format!("Give last: 1 to {MOST}.")));
        }
        if args.id.is_some() && (args.last.is_some() || args.file_path.is_some()) {
            return Err(Error::new(Code::CallInvalid, "The call does not say clearly which operations are meant.")
                .next(format!("Give one of id, file_path or last (1 to {MOST}), or none of them for the last one.")));
        }
        let (root, all) = self.chosen(caller, (&args, raw.as_deref()), times)?;
        let (text, files, operation) = self.take_back(caller, cause, (root, &all), dry_run)?;
        let summary: String = all.iter().map(|logged| headline(logged, dry_run)).collect();
        let mut answer = Answer { text: summary.clone() + &text, data: self::data(files, dry_run) };
        let ids: Vec<Value> = all.iter().map(|logged| logged.id.to_string().into()).collect();
        let data = &mut answer.data;
        data.insert("summary".to_owned(), summary.trim_end().into());
        data.insert("undone".to_owned(), ids.into());
        data.insert("operation".to_owned(), operation.map(|id| id.to_string()).into());
        Ok(answer)
    }

    /// Takes operations of one root back, the newest first, all or none: the text and the files of the answer, and the name
    /// of the new operation.
    fn take_back(
        &self,
        caller: &Caller,
        cause: Cause<'_>,
        (root, all): (usize, &[Logged]),
        dry_run: bool,
    ) -> Result<(String, Vec<Value>, Option<OperationId>)> {
        let Some((newest, older)) = all.split_first() else { return Ok((String::new(), Vec::new(), None)) };
        let role = match newest.operation.role {
            Role::Undo(_) => Role::Redo(newest.id),
            Role::Edit | Role::Redo(_) => Role::Undo(newest.id),
        };
        let turns = self.turns(course::paths(all));
        let also: Vec<OperationId> = older.iter().map(|logged| logged.id).collect();
        let cause = Cause { role, also: &also, ..cause };
        let receipts = self.carry_out(caller, cause, dry_run, || back::plans(self, caller, (root, all)))?;
        if !dry_run {
            self.remove_made(all);
        }
        drop(turns);
        let operation = receipts.iter().find_map(Receipt::operation);
        let (text, files, _) = self.tell(receipts);
        Ok((text, files, operation))
    }

    /// Folders that were made for what was taken back go, if nobody put anything else into them.
    fn remove_made(&self, all: &[Logged]) {
        for folder in all.iter().flat_map(|logged| logged.operation.folders.iter().rev()) {
            // An empty folder that stays is no failure of an undo.
            let place = self.store().admit_link(Path::new(OsStr::from_bytes(folder)));
            let _ = place.and_then(|place| self.store().remove_folder(&place));
        }
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
