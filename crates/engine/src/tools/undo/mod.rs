//! The tools `undo` and `restore`: an operation is undone in all of its files or none; one file is restored to an
//! earlier version. Both are operations themselves, so both can be undone.

mod carried;
mod conflict;
mod covered;
pub(crate) mod effects;
pub(crate) mod file_states;
pub(crate) mod hunks;
pub(crate) mod input;
pub(crate) mod large;
mod later_move;
mod mode_reversal;
mod recorded;
pub(crate) mod refusals;
pub(crate) mod restore;
pub(crate) mod reversal;
pub(crate) mod reversed_files;
pub(crate) mod rewind;
pub(crate) mod select;
pub(crate) mod since;
pub(crate) mod whole_file;

use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_origin::CallOrigin;
use crate::model::raw_path::{self, RawPath};
use crate::model::reply::Answer;
use crate::pipeline::report::receipt::Receipt;
use crate::pipeline::report::rendered::render_receipts;
use crate::pipeline::run::plan_and_commit;
use crate::session::in_doubt::wait_for_in_doubt;
use crate::tools::aliases::{FILE_NAMES, alias};
use crate::tools::history::operation_list::tool_name;
use crate::tools::outputs::{CHANGED_FILE, SEVERAL_FILES};
use crate::tools::tool::{Annotations, REST_OF_FILES, Tool};
use crate::tools::tool_input::ToolInput;
use crate::tools::undo::carried::MovedFile;
use crate::tools::undo::covered::{changed_by, covering, replaced_by};
use crate::tools::undo::hunks::undo_hunks;
use crate::tools::undo::input::UndoInput;
use crate::tools::undo::select::{choose, session_filter};
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Advice, Code, Error, Phrase, Result, advice};
use emendate_fs::SafePath;
use emendate_history::{FileChange, LogEntry, Operation, OperationId, Role};
use schemars::schema_for;
use serde_json::Value;
use std::path::Path;

/// Operations that one call may undo.
const UNDONE_OPERATIONS_MAX: usize = 100;

/// Retries of the selection after another process undid one of the selected operations.
const RACE_RETRIES_MAX: usize = 64;

/// Operations that were undone or redone, the newest first.
pub(crate) struct UndoneOperations {
    pub(crate) operations: Vec<LogEntry>,
    pub(crate) receipts: Vec<Receipt>,
}

impl UndoneOperations {
    /// Renders the reply; `kept` describes changes that were not undone.
    fn into_answer(self, context: &Context, dry_run: bool, kept: &str) -> Answer {
        let headline: String = self.operations.iter().map(|logged| headline(logged, dry_run)).collect();
        let summary = format!("{headline}{kept}");
        let ids: Vec<Value> = self.operations.iter().map(|logged| logged.id.to_string().into()).collect();
        let fields = [("summary", summary.trim_end().into()), ("undone", ids.into())];
        let mut answer = render_receipts(context, self.receipts).into_answer(dry_run, &headline, fields);
        answer.text.push_str(kept);
        answer
    }
}

/// The row of the tool `undo` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "undo",
    title: "Undo an operation",
    summary: "undo the last call, or a named one, in all of its files; or redo it",
    prompt: "\
Reverts what a call did, in all of its files or none: contents, permissions, files that were created, removed or moved. Without \
arguments the last operation of this session; id names another one (data.operation of its reply, or history). If a file changed \
since on other lines, those changes are kept; on the same lines, nothing is done and the reply says what to do. The undo can be undone \
with redo.",
    annotations: Annotations::EDITS,
    rest: REST_OF_FILES,
    example: r#"{"id": "17-3fa9"}"#,
    aliases: &[alias("id", &["operation", "operation_id"]), alias("file_path", FILE_NAMES)],
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES],
    input: ToolInput::new(undo, || vec![schema_for!(UndoInput), schema_for!(RawPath)]),
    ..Tool::ROW
};

/// Runs the tool `undo`.
pub(crate) fn undo(call: Call<'_>, tool: &'static str, mut input: Value) -> Result<Answer> {
    let origin = CallOrigin::new(tool, &input);
    let raw = raw_path::take(&mut input)?;
    let args: UndoInput = formats::from_json(FormatInput::Json(input))?;
    let origin = CallOrigin { irreversible: args.irreversible, ..origin };
    if args.hunks.is_some() {
        check_hunk_call(&args)?;
        let path = raw.as_deref().or(args.file_path.as_deref().map(Path::new));
        return undo_hunks(call, origin, &args, path);
    }
    undo_answer(call, origin, &args, raw.as_deref())
}

/// Undoes what the arguments select, and renders the reply.
fn undo_answer(call: Call<'_>, origin: CallOrigin<'_>, args: &UndoInput, raw: Option<&Path>) -> Result<Answer> {
    let dry_run = args.dry_run || call.caller.dry_run;
    Ok(undo_operations(call, origin, args, raw)?.into_answer(&call, dry_run, ""))
}

/// Undoes the operations in effect of the turn that an operation belongs to.
///
/// Errors: `operation.not_found` if there are none; those of an undo.
pub(crate) fn undo_turn(call: Call<'_>, id: &str, ids: Vec<String>) -> Result<Answer> {
    if ids.is_empty() {
        return Err(Error::new(Code::OperationMissing, "Nothing of this turn is in effect.")
            .next("Redo what undid it, if it is wanted again."));
    }
    let origin = CallOrigin::of_parts("undo", &[id.as_bytes()]);
    undo_answer(call, origin, &UndoInput { ids, ..UndoInput::default() }, None)
}

/// Undoes, or redoes, the operations that a call without hunks names.
pub(crate) fn undo_operations(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    args: &UndoInput,
    raw: Option<&Path>,
) -> Result<UndoneOperations> {
    let times = args.last.unwrap_or(1);
    if times == 0 || times > UNDONE_OPERATIONS_MAX {
        return Err(Error::new(
            Code::CallInvalid,
            format!("`last` is {times}; one call undoes 1 to {UNDONE_OPERATIONS_MAX} operations."),
        )
        .next(advice!["Give ", Phrase::Field("last"), format!(": 1 to {UNDONE_OPERATIONS_MAX}.")]));
    }
    let is_range = args.turn || args.since.is_some();
    let is_both = args.turn && args.since.is_some();
    if is_both || is_range && (args.id.is_some() || args.last.is_some() || args.file_path.is_some() || args.redo) {
        return Err(Error::new(Code::CallInvalid, "The call does not say clearly which operations are meant.").next(
            Advice::named("Give {turn} or {since} alone. To redo what such an undo took back, leave both out.")
                .or("Give one of them. To redo what such an undo took back, leave both out."),
        ));
    }
    if args.id.is_some() && (args.last.is_some() || args.file_path.is_some()) {
        return Err(Error::new(Code::CallInvalid, "The call does not say clearly which operations are meant.")
                .next(Advice::named("Give one of {id}, {file_path} or {last}, or none of them for the last one; for a part of one file, {id} and {hunks} with the file.")
                    .or(Advice::named("Give one of {id}, {file_path} or {last}, or none of them for the last one."))
                    .or("Give only one of them.")));
    }
    choose_and_take_back(call, origin, args, raw, times)
}

/// Selects operations and undoes them. If another process undoes one of them meanwhile, the selection is repeated,
/// so that two simultaneous calls have the effect of one after the other.
fn choose_and_take_back(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    args: &UndoInput,
    raw: Option<&Path>,
    times: usize,
) -> Result<UndoneOperations> {
    let dry_run = args.dry_run || call.caller.dry_run;
    let mut attempt = 0;
    loop {
        attempt += 1;
        wait_for_in_doubt(&call)?;
        let newest = newest_of_roots(&call)?;
        let (root, all) = choose(call, args, raw, times)?;
        let mut overtaken = false;
        let session = session_filter(call.caller, args);
        let chosen = ChosenOperations { root, all: &all, is_named: args.id.is_some(), session, newest: &newest };
        match take_back(call, origin, &chosen, &mut overtaken, dry_run) {
            Err(_) if overtaken && attempt < RACE_RETRIES_MAX => {}
            done => return Ok(UndoneOperations { operations: all, receipts: done? }),
        }
    }
}

/// Operations to undo.
struct ChosenOperations<'a> {
    /// Index of the root whose history has them.
    root: usize,
    /// The newest first.
    all: &'a [LogEntry],
    /// The call gave the id. A call without one has to get past an operation of which nothing is left.
    is_named: bool,
    /// The session whose operations the call may undo; `None` for all.
    session: Option<&'a str>,
    /// The newest operation of each root before these were selected.
    newest: &'a [Option<OperationId>],
}

/// Returns the newest operation of each root.
fn newest_of_roots(context: &Context) -> Result<Vec<Option<OperationId>>> {
    (0..context.root_count()).map(|root| context.history(root).newest()).collect()
}

/// Undoes operations of one root, the newest first, all or none. `overtaken` is set if one of them was undone or
/// aborted since it was selected.
fn take_back(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    chosen: &ChosenOperations<'_>,
    overtaken: &mut bool,
    dry_run: bool,
) -> Result<Vec<Receipt>> {
    let ChosenOperations { root, all, is_named, session, newest: newest_before } = *chosen;
    let Some((newest, older)) = all.split_first() else { return Ok(Vec::new()) };
    let role = match newest.operation.role {
        Role::Undo(_) => Role::Redo(newest.id),
        Role::Edit | Role::Redo(_) => Role::Undo(newest.id),
    };
    let moved = moved_paths(&call, root, all);
    let locks = call.lock_paths(reversed_files::paths(all).chain(moved.iter().map(SafePath::absolute)));
    let also: Vec<OperationId> = older.iter().map(|logged| logged.id).collect();
    let origin = CallOrigin { role, also: &also, ..origin };
    let mut check = || is_still_done(&call, root, all).inspect_err(|_| *overtaken = true);
    let done = plan_and_commit(call, origin, dry_run, || {
        check()?;
        let plans = reversal::plans(call, root, all);
        // Conflicting files may be the result of another process undoing the same operation.
        if plans.is_err() {
            check()?;
        }
        plans
    });
    let receipts = match done {
        Err(error) if error.code() == Code::EditNoChange => {
            if let ([named], true) = (all, is_named)
                && let Some(later) = covering(call, root, named)
            {
                return Err(replaced_by(named, &later));
            }
            if !is_named && newest_of_roots(&call)? != newest_before {
                // What left the files like that is now the last operation, and may be the one that is meant.
                *overtaken = true;
                return Err(error);
            }
            if dry_run {
                return Err(error);
            }
            let nothing = mark_taken_back(call, origin, root, error).inspect_err(|_| *overtaken = true)?;
            remove_made(&call, all);
            return Err(nothing);
        }
        Err(error) if error.code() == Code::OperationConflict => {
            let named = all.first().filter(|_| is_named && all.len() == 1);
            return Err(changed_by(session, error, named.and_then(|named| covering(call, root, named))));
        }
        done => done?,
    };
    if !dry_run {
        remove_made(&call, all);
    }
    drop(locks);
    Ok(receipts)
}

/// Returns the paths to which later operations moved the files of these.
fn moved_paths(context: &Context, root: usize, all: &[LogEntry]) -> Vec<SafePath> {
    let files = all.iter().flat_map(|logged| logged.operation.files.iter().map(move |file| (logged.id, file)));
    let is_gone = |file: &FileChange| {
        let place = context.resolve_logged(&file.path);
        file.after.is_some() && place.is_ok_and(|place| matches!(context.store().metadata(&place), Ok(None)))
    };
    let moved = files
        .filter(|(_, file)| is_gone(file))
        .filter_map(|(id, file)| MovedFile::follow(context, root, &file.path, id, all).map(|moved| moved.place));
    moved.collect()
}

/// Logs the undo of operations whose files are already in the state before them, so that the next undo continues
/// with an earlier operation. Returns the error of this call.
///
/// Errors: `conflict.raced` if one of them was undone by others meanwhile.
fn mark_taken_back(call: Call<'_>, origin: CallOrigin<'_>, root: usize, nothing: Error) -> Result<Error> {
    let operation = Operation {
        session: call.caller.session.clone(),
        tool: origin.tool.to_owned(),
        digest: origin.digest,
        note: "the files were already as they were before".to_owned(),
        role: origin.role,
        also_undoes: origin.also.to_vec(),
        keeps_content: true,
        ..Operation::default()
    };
    let history = call.history(root);
    match history.log(&operation, &[], &[]) {
        Ok(entered) => {
            // If that fails, the operation is resolved later by comparing its files, and it has none.
            let _ = history.mark_committed(&[entered.id]);
            let verb = if matches!(origin.role, Role::Redo(_)) { "redone" } else { "undone" };
            let next = format!("It counts as {verb} now: repeat the call for the operation before it.");
            Ok(nothing.next(next).fact("operation", entered.id.to_string()))
        }
        Err(error) if error.code() == Code::ConflictRaced => Err(error),
        // A read-only store does not affect the answer.
        Err(_) => Ok(nothing),
    }
}

/// Checks that none of the operations was undone since they were selected.
///
/// Errors: `conflict.raced`, and those of the session store.
fn is_still_done(context: &Context, root: usize, all: &[LogEntry]) -> Result<()> {
    for logged in all {
        let now = context.history(root).operation(logged.id.into())?;
        // An undo that was undone itself may have been there before.
        if now.is_none_or(|now| now.undone_by != logged.undone_by) {
            let what = format!("Operation {} was undone by another process at the same moment.", logged.id);
            return Err(Error::new(Code::ConflictRaced, what).next(
                Advice::named("Call {history()} to see the operations, then repeat the call.").or("Repeat the call."),
            ));
        }
    }
    Ok(())
}

/// Removes directories that the undone operations created, if they are empty.
fn remove_made(context: &Context, all: &[LogEntry]) {
    for folder in all.iter().flat_map(|logged| logged.operation.created_dirs.iter().rev()) {
        // A directory that remains is not a failure of the undo.
        let path = context.resolve_logged(folder);
        let _ = path.and_then(|path| context.store().remove_dir(&path));
    }
}

/// Errors: `call.invalid` for hunks of several operations.
fn check_hunk_call(args: &UndoInput) -> Result<()> {
    let several = [("last", args.last.is_some()), ("since", args.since.is_some()), ("turn", args.turn)];
    let Some((name, _)) = several.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let what = format!("Hunks are those of one operation, so `{name}` cannot be combined with them.");
    Err(Error::new(Code::CallInvalid, what)
        .next(Advice::named("Give {id}, {file_path} and {hunks}.").or("Name the operation, the file and the hunks.")))
}

/// Says who made an operation, and with which tool.
pub(crate) fn author(operation: &Operation) -> String {
    if operation.is_outside() {
        return "changed by others".to_owned();
    }
    format!("{}, session {}", tool_name(operation), operation.session)
}

/// Formats the headline of an undo.
fn headline(logged: &LogEntry, dry_run: bool) -> String {
    let verb = match (logged.is_undo(), dry_run) {
        (false, false) => "Undone",
        (false, true) => "Would be undone",
        (true, false) => "Redone by reversing",
        (true, true) => "Would be redone by reversing",
    };
    let by = author(&logged.operation);
    let colon = if logged.is_undo() { "" } else { ":" };
    format!("{verb}{colon} operation {} ({by}).\n", logged.id)
}
