//! Restore of one file as of an operation, after or before it.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::{key, logged_operations};
use crate::context::options::CallOptions;
use crate::context::policy::Access;
use crate::model::call_origin::CallOrigin;
use crate::model::raw_path::{self, RawPath};
use crate::model::reply::Answer;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::pipeline::plan::placement::check_unchanged;
use crate::pipeline::report::receipt::Receipt;
use crate::pipeline::report::rendered::render_receipts;
use crate::pipeline::run::plan_and_commit;
use crate::session::in_doubt::resolve_all_in_doubt;
use crate::tools::aliases::{FILE_NAMES, alias};
use crate::tools::outputs::{CHANGED_FILE, SEVERAL_FILES};
use crate::tools::tool::{Annotations, REST_OF_FILES, Tool};
use crate::tools::tool_input::ToolInput;
use crate::tools::undo::carried::content_before_moves;
use crate::tools::undo::file_states::{current_state, history_content, is_same_content, not_kept, putting};
use crate::tools::undo::hunks::{HunkSelection, hunks_to_restore, write_hunks};
use crate::tools::undo::refusals::nothing_to_do;
use crate::tools::undo::select::{self, OperationRef};
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Code, Error, Phrase, Result, advice};
use emendate_fs::{FileAttributes, SafePath};
use emendate_history::{FileKind, FileState, LogEntry, OperationFilter};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use std::iter::once;
use std::path::Path;

/// Operations on a file that are searched for its attributes at the time of its removal.
const LATER_OPERATIONS_MAX: usize = 1000;

/// The input of `restore`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct RestoreInput {
    /// The absolute path of the file.
    pub(crate) file_path: String,
    /// As it was after this operation; with `^` after the name, as it was before it.
    pub(crate) id: String,
    /// Only these hunks of that operation, by their numbers in history with its id.
    #[serde(default)]
    pub(crate) hunks: Option<Vec<usize>>,
    /// Show what would be done, write nothing.
    #[serde(default)]
    pub(crate) dry_run: bool,
    /// Restore even where that cannot be undone afterwards (default: refused).
    #[serde(default)]
    pub(crate) irreversible: bool,
}

/// The row of the tool `restore` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "restore",
    title: "Restore a file",
    summary: "restore a file to its state after an operation of the history",
    prompt: "\
Restores one file to its state after an operation, or before it with ^ after the name, whatever changed since. It \
must have been read, if it exists. This is an operation itself, so undo reverts it.",
    annotations: Annotations::REPLACES,
    rest: REST_OF_FILES,
    example: r#"{"file_path": "/work/src/main.rs", "id": "17-3fa9^"}"#,
    aliases: &[alias("file_path", FILE_NAMES)],
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES],
    input: ToolInput::new(restore, || vec![schema_for!(RestoreInput), schema_for!(RawPath)]),
    ..Tool::ROW
};

/// Runs the tool `restore`.
pub(crate) fn restore(call: Call<'_>, tool: &'static str, mut input: Value) -> Result<Answer> {
    let origin = CallOrigin::new(tool, &input);
    let options = CallOptions::new(call.caller, call.config(), origin);
    let raw = raw_path::take(&mut input)?;
    let args: RestoreInput = formats::from_json(FormatInput::Json(input))?;
    let origin = CallOrigin { irreversible: args.irreversible, ..origin };
    let path = raw.as_deref().unwrap_or(Path::new(&args.file_path));
    let RestoredFile { receipts, hunks } = restore_file(call, origin, &options, &args, path)?;
    let dry_run = args.dry_run || call.caller.dry_run;
    if let Some(selection) = hunks {
        return Ok(selection.answer(&call, receipts, dry_run));
    }
    Ok(render_receipts(&call, receipts).into_answer(dry_run, "", []))
}

/// A file that was restored, or the hunks of it.
pub(crate) struct RestoredFile<'a> {
    pub(crate) receipts: Vec<Receipt>,
    hunks: Option<HunkSelection<'a>>,
}

/// Restores a file, or some hunks of it.
pub(crate) fn restore_file<'a>(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    options: &'a CallOptions,
    args: &RestoreInput,
    path: &Path,
) -> Result<RestoredFile<'a>> {
    let safe_path = call.resolve_no_follow(path, Access::Write)?;
    let named = OperationRef::read(&args.id)?;
    resolve_all_in_doubt(&call)?;
    let dry_run = args.dry_run || call.caller.dry_run;
    if let Some(numbers) = &args.hunks {
        let selection = hunks_to_restore(&call, options, args, numbers, &safe_path)?;
        let receipts = write_hunks(call, origin, &selection, dry_run)?;
        return Ok(RestoredFile { receipts, hunks: Some(selection) });
    }
    let (root, logged) = select::operation(&call, named.name)?;
    let past = side_at(&call, root, &safe_path, &logged, named.before)?;
    let locks = call.lock_paths(once(safe_path.absolute()));
    let origin = CallOrigin { restores: true, ..origin };
    let receipts = plan_and_commit(call, origin, dry_run, || {
        let now = current_state(&call, &safe_path)?;
        may_replace(call, options, &safe_path, &now)?;
        let plan = plan_restore(call, &safe_path, &past, now)?;
        if plan.writes() {
            return Ok(vec![plan]);
        }
        Err(nothing_to_do("The file is already as it was then.", safe_path.shown()))
    })?;
    drop(locks);
    Ok(RestoredFile { receipts, hunks: None })
}

fn plan_restore(call: Call<'_>, path: &SafePath, past: &PastState, now: CurrentState) -> Result<FilePlan> {
    let PastState { root, entry, state } = past;
    let Some(side) = *state else {
        if matches!(now, CurrentState::Nothing) {
            return Err(nothing_to_do("The file did not exist then, and does not now.", path.shown()));
        }
        return Ok(FilePlan::replace_entry(path.clone(), now, TargetState::Nothing));
    };
    let bytes = match &now {
        CurrentState::File(now) if now.snapshot.id() == side.content => now.snapshot.raw().to_vec(),
        _ => match history_content(&call, *root, side, now.file())? {
            Some(bytes) => bytes,
            None => content_before_moves(&call, *root, key(path), side)?.ok_or_else(|| not_kept(path, entry))?,
        },
    };
    if side.kind == FileKind::Link && is_same_content(&now, Some(side)) {
        return Ok(FilePlan::replace_entry(path.clone(), CurrentState::Nothing, TargetState::Nothing));
    }
    // Existing set-id bits of the file remain; none are added.
    let held = now.mode().map_or(0, |mode| mode & 0o7000);
    let attributes = match now {
        CurrentState::Nothing => attributes_then(&call, *root, path, side)?,
        CurrentState::File(_) | CurrentState::Link(_) => None,
    };
    let plan = putting(call, path.clone(), now, bytes, side, attributes);
    Ok(FilePlan { mode: (side.kind == FileKind::Regular).then_some(side.mode & (0o777 | held)), ..plan })
}

/// Returns owner and attributes of a deleted file at the time of its removal.
fn attributes_then(context: &Context, root: usize, path: &SafePath, side: FileState) -> Result<Option<FileAttributes>> {
    let filter = OperationFilter::newest_of(key(path), LATER_OPERATIONS_MAX);
    let files = context.history(root).operations(&filter)?.into_iter().flat_map(|logged| logged.operation.files);
    let mut same = files.filter(|file| file.path == key(path) && file.before == Some(side));
    Ok(same.find_map(|file| file.attributes))
}

/// Checks that a model has seen the content it replaces.
pub(super) fn may_replace(call: Call<'_>, options: &CallOptions, path: &SafePath, now: &CurrentState) -> Result<()> {
    match now {
        CurrentState::File(now) if !call.caller.allows_unread() => check_unchanged(call, options, path, now),
        _ => Ok(()),
    }
}

/// A state of a path, and the operation that shows it.
struct PastState {
    /// Index of the root whose history has the operation.
    root: usize,
    entry: LogEntry,
    state: Option<FileState>,
}

/// Returns the entry at a path right after an operation, or right before it.
fn side_at(context: &Context, root: usize, path: &SafePath, logged: &LogEntry, before: bool) -> Result<PastState> {
    // Others may have changed it between the preceding operation and this one.
    if before && let Some(file) = logged.operation.file(key(path)) {
        return Ok(PastState { root, entry: logged.clone(), state: file.before });
    }
    let upto = if before { logged.id.number } else { logged.id.number.saturating_add(1) };
    let filter = OperationFilter { path: Some(key(path)), ..OperationFilter::default() };
    let (mut last, mut first): (Option<PastState>, Option<PastState>) = (None, None);
    // Operations of the history of another root are in order by their time.
    for of in 0..context.root_count() {
        let (is_here, history) = (of == root, context.history(of));
        let below = Some(upto).filter(|_| is_here);
        let mut older = logged_operations(history, OperationFilter { below, ..filter });
        let older = older.find(|it| it.as_ref().map_or(true, |it| is_here || it.at <= logged.at)).transpose()?;
        if let Some(entry) = older
            && let Some(file) = entry.operation.file(key(path))
            && last.as_ref().is_none_or(|last| last.entry.at < entry.at)
        {
            last = Some(PastState { root: of, state: file.after, entry });
        }
    }
    if let Some(last) = last {
        return Ok(last);
    }
    // No earlier operation touched it, so its state is the one that the first later operation found.
    for of in 0..context.root_count() {
        for later in logged_operations(context.history(of), filter) {
            let later = later?;
            if of == root && later.id.number < upto {
                break;
            }
            if let Some(file) = later.operation.file(key(path))
                && first.as_ref().is_none_or(|first| later.at <= first.entry.at)
            {
                first = Some(PastState { root: of, state: file.before, entry: later });
            }
        }
    }
    first.ok_or_else(|| {
        Error::new(Code::OperationMissing, "No operation of the history changed this file.")
            .evidence(path.shown())
            .next(
                advice![
                    "Call ",
                    Phrase::Call("history", raw_path::call(path.absolute(), Value::Null)),
                    " to see what is known of it."
                ]
                .or("Nothing of it can be restored."),
            )
    })
}
