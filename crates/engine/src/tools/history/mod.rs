//! The tool `history`: a list of operations; one operation as a diff; the difference between two moments.

pub(crate) mod feed;
pub(crate) mod operation_list;
pub(crate) mod page;
pub(crate) mod places;
mod tool_row;

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::key;
use crate::context::policy::Access;
use crate::model::call_handle::CallPhase;
use crate::model::hunk_numbers::{HUNK_CONTEXT_LINES, HunkNumbers, several_files};
use crate::model::raw_path;
use crate::model::reply::{Answer, counted};
use crate::model::reply_limits::{FileBudget, LISTED_FILES_MAX, ReplyLimits, note_part};
use crate::pipeline::report::rendered::files_data;
use crate::session::in_doubt::{current_side, resolve_all_in_doubt};
use crate::session::outside::{FoundContent, record_outside_changes};
use crate::session::turns::TurnIndex;
use crate::tools::history::operation_list::{
    file_data, from_its_source, newest_first, not_changed, one_line, operation_status, row, shown, summary,
    visible_files,
};
use crate::tools::history::page::{HistoryQuery, newest_operations};
use crate::tools::history::places::{place_asked_for, place_of_change};
use crate::tools::moments::{Moment, NOW_NAME, find_moment};
use crate::tools::shown_count::zero_limit;
use crate::tools::undo::file_states::{side_content, text_sides};
use crate::tools::undo::select::{self, OperationRef};
use crate::tools::undo::since::operations_after;
use chrono::DateTime;
use emendate_core::explain::{self, DiffHunk, DiffStat};
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Advice, ChangeSet, Code, Error, Result};
use emendate_fs::SafePath;
use emendate_history::{FileChange, LogEntry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) use tool_row::TOOL;

/// The name for the newest operation.
const NEWEST_NAME: &str = "last";
/// Operations that a list shows by default.
const LISTED_DEFAULT: usize = 20;
/// Maximum number of operations that a list shows, and that may lie between two moments.
const LISTED_MAX: usize = 1000;
/// Characters of a list that are reserved for its last line.
const LAST_LINE_CHARS: usize = 400;

/// Creates the error for an empty history.
fn nothing_done() -> Error {
    Error::new(Code::OperationMissing, "No operation in the history matches.").next(
        Advice::named("Omit {file_path} and {session} to see all operations.").or("Call it without them to see all."),
    )
}

/// The input of `history`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Args")]
pub(crate) struct HistoryInput {
    /// Show this operation as a diff, instead of a list; `last` for the newest that fits.
    id: Option<String>,
    /// With id, which may be a mark: show what changed from then until after this operation, until a mark, or until `now`.
    to: Option<String>,
    /// Only what touched this file.
    file_path: Option<String>,
    /// With id and one file: only these hunks, by their numbers in its diff.
    hunks: Option<Vec<usize>>,
    /// Only operations of this session.
    session: Option<String>,
    /// How many to list, the newest first (default 20, at most 1000); with id: how many files (default 100).
    limit: Option<usize>,
    /// Only operations since this moment (RFC 3339).
    since: Option<String>,
    /// Continue the list here: the `next` of the previous reply.
    from: Option<String>,
}

impl HistoryInput {
    /// Returns the query for the operations that match, at most that many.
    ///
    /// Errors: `call.invalid` for a `since` that is not a moment.
    fn query<'a>(&'a self, path: Option<&'a SafePath>, from: Option<&'a str>, most: usize) -> Result<HistoryQuery<'a>> {
        let since = self.since.as_deref().map(micros_of).transpose()?;
        Ok(HistoryQuery { from, session: self.session.as_deref(), path: path.map(key), since, most })
    }
}

/// The files of an operation that a reply shows.
#[derive(Clone, Copy, Debug)]
struct FilePart {
    /// The number of files before the first one.
    from: usize,
    /// The number of files.
    limit: usize,
}

impl FilePart {
    /// Errors: `call.invalid` for a `from` that no reply gave.
    fn of(args: &HistoryInput) -> Result<FilePart> {
        let from = args.from.as_deref().map_or(Ok(0), str::parse).map_err(|_| {
            Error::new(Code::CallInvalid, "With an id, `from` is the number that the previous reply gave as `next`.")
                .next(Advice::named("Omit {from} for the first files."))
        })?;
        Ok(FilePart { from, limit: args.limit.unwrap_or(LISTED_FILES_MAX) })
    }
}

/// Runs the tool `history`.
pub(crate) fn history_tool(call: Call<'_>, mut input: Value) -> Result<Answer> {
    let raw = raw_path::take(&mut input)?;
    let args: HistoryInput = formats::from_json(FormatInput::Json(input))?;
    let path = raw.as_deref().or(args.file_path.as_deref().map(Path::new));
    let safe_path = path.map(|path| place_asked_for(&call, path)).transpose()?;
    // On a read-only store, in-doubt operations are listed as pending.
    let _ = resolve_all_in_doubt(&call);
    if args.limit == Some(0) {
        return Err(zero_limit("operations"));
    }
    if args.hunks.is_some() && (args.id.is_none() || args.to.is_some()) {
        return Err(Error::new(Code::CallInvalid, "`hunks` needs the id of one operation.")
            .next(Advice::named("Give {id}, {file_path} and {hunks}.")));
    }
    match (&args.id, &args.to) {
        (None, None) => list_operations(&call, &args, safe_path.as_ref(), call.reply_limits()),
        (Some(id), None) if id == NEWEST_NAME => {
            let mut newest = None;
            newest_operations(&call, args.query(safe_path.as_ref(), None, 1)?, |root, logged| {
                newest = Some((root, logged));
                Ok(ControlFlow::Continue(()))
            })?;
            let Some((root, logged)) = newest else { return Err(nothing_done()) };
            render_operation(call, root, &logged, safe_path.as_ref(), &args)
        }
        (Some(id), None) => {
            let (root, logged) = select::operation(&call, OperationRef::read_name(id)?)?;
            render_operation(call, root, &logged, safe_path.as_ref(), &args)
        }
        (Some(from), Some(to)) => compare_operations(call, from, to, safe_path.as_ref(), FilePart::of(&args)?),
        (None, Some(_)) => Err(Error::new(Code::CallInvalid, "`to` needs an id to start from.")
            .next("Give id and to, or id alone for one operation.")),
    }
}

fn list_operations(
    context: &Context,
    args: &HistoryInput,
    path: Option<&SafePath>,
    limits: ReplyLimits,
) -> Result<Answer> {
    let wanted = args.limit.unwrap_or(LISTED_DEFAULT);
    let most = wanted.min(LISTED_MAX);
    let page = args.query(path, args.from.as_deref(), most)?;
    let mut turns = TurnIndex::default();
    let (mut text, mut rows, mut bytes) = (String::new(), Vec::new(), 0);
    let next = newest_operations(context, page, |root, logged| {
        let status = operation_status(context, root, &logged)?;
        let turn = turns.turn_of(context, root, &logged)?;
        let (line, row) = (one_line(&logged, status), row(&logged, status, turn.as_ref()));
        bytes += row.to_string().len() + 1;
        let full = text.len() + line.len() + LAST_LINE_CHARS > limits.text || bytes + LAST_LINE_CHARS > limits.data;
        if full && !rows.is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        text.push_str(&line);
        rows.push(row);
        Ok(ControlFlow::Continue(()))
    })?;
    if rows.is_empty() {
        text.push_str("No operation in the history matches.\n");
    }
    let mut data = Map::new();
    if let Some(next) = next {
        // A list that the caller limited needs no note about further operations.
        if rows.len() < wanted {
            let _ = writeln!(
                text,
                "{} operations are listed, and there are more: continue with from \"{next}\".",
                rows.len()
            );
        }
        data.insert("next".to_owned(), next.into());
    }
    let gaps = context.history_gaps()?;
    for gap in &gaps {
        let _ = writeln!(text, "The history was damaged or could not be written: {gap}.");
    }
    if !gaps.is_empty() {
        data.insert(
            "missing".to_owned(),
            gaps.iter().map(|gap| json!({ "after": gap.after, "until": gap.until })).collect(),
        );
    }
    data.insert("operations".to_owned(), rows.into());
    Ok(Answer { text, data, ..Answer::default() })
}

fn render_operation(
    call: Call<'_>,
    root: usize,
    logged: &LogEntry,
    path: Option<&SafePath>,
    args: &HistoryInput,
) -> Result<Answer> {
    let part = FilePart::of(args)?;
    let chosen = args.hunks.as_deref().map(|numbers| HunkNumbers::new(logged.id, numbers)).transpose()?;
    let status = operation_status(&call, root, logged)?;
    let files: Vec<FileChange> =
        visible_files(logged).filter(|file| is_or_was(path, file)).map(|file| from_its_source(file, logged)).collect();
    if let (Some(path), []) = (path, &*files) {
        return Err(not_changed(logged, &path.shown()));
    }
    if chosen.is_some() && files.len() > 1 {
        return Err(several_files(logged.id, files.len()));
    }
    let turn = TurnIndex::default().turn_of(&call, root, logged)?;
    let mut answer = differences(call, root, &files, part, chosen.as_ref(), one_line(logged, status))?;
    answer.data.insert("summary".to_owned(), answer.text.lines().next().into());
    answer.data.insert("shown".to_owned(), row(logged, status.without_reason(), turn.as_ref()));
    Ok(answer)
}

/// Renders a part of some changed files, below a head line.
fn differences(
    call: Call<'_>,
    root: usize,
    all: &[FileChange],
    part: FilePart,
    chosen: Option<&HunkNumbers>,
    mut text: String,
) -> Result<Answer> {
    if part.from > 0 && part.from >= all.len() {
        let what = format!("The number of changed files is {}, so none follows the first {}.", all.len(), part.from);
        return Err(Error::new(Code::CallInvalid, what).next(Advice::named(
            "Omit {from} for the first files, or give the number that the previous reply named.",
        )));
    }
    let limits = call.reply_limits();
    let wanted = all.get(part.from..).unwrap_or_default();
    let wanted = wanted.get(..part.limit).unwrap_or(wanted);
    let (most, room) = (limits.text.saturating_sub(LAST_LINE_CHARS), limits.file_budget(wanted.len()));
    call.caller.begin(CallPhase::Reading, wanted.len());
    let mut files = Vec::with_capacity(wanted.len());
    for file in wanted {
        call.caller.advance()?;
        files.push(difference(&call, root, file, &mut text, most, room, chosen)?);
    }
    let next = part.from.saturating_add(files.len());
    let left = all.len().saturating_sub(next);
    let mut data = files_data(files, all.len(), false);
    if left > 0 {
        let _ =
            writeln!(text, "{left} more files are not shown here, of {}: continue with from \"{next}\".", all.len());
        data.insert("next".to_owned(), next.to_string().into());
    }
    Ok(Answer { text, data, ..Answer::default() })
}

fn compare_operations(call: Call<'_>, from: &str, to: &str, path: Option<&SafePath>, part: FilePart) -> Result<Answer> {
    let of_roots = operations_between(&call, from, to)?;
    let mut changed = merged_changes(&of_roots, path);
    let none = if changed.is_empty() { "No file differs between the two.\n" } else { "" };
    let root = changed.first().map_or(0, |(root, _)| *root);
    let total = changed.len();
    changed.retain(|(other, _)| *other == root);
    let elsewhere = total - changed.len();
    let changed: Vec<FileChange> = changed.into_iter().map(|(_, file)| file).collect();
    let mut answer = differences(call, root, &changed, part, None, none.to_owned())?;
    if elsewhere > 0 {
        let verb = if elsewhere == 1 { "differs" } else { "differ" };
        let elsewhere = counted(elsewhere, "file");
        let _ = writeln!(answer.text, "{elsewhere} of other roots {verb}, too: name one with file_path.");
    }
    Ok(answer)
}

/// Returns the operations between two moments, the newest first, for each root that has both in this order. If the second
/// one is `now`, changes by others are recorded before.
///
/// Errors: as [`find_moment`]; `call.invalid` if no root has them in this order; those of the session store.
pub(crate) fn operations_between(context: &Context, from: &str, to: &str) -> Result<Vec<(usize, Vec<LogEntry>)>> {
    let is_now = to == NOW_NAME;
    let start = find_moment(context, from)?;
    let end = if is_now { Moment(vec![Some(u64::MAX); context.root_count()]) } else { find_moment(context, to)? };
    let spans = start.0.into_iter().zip(end.0).enumerate();
    let spans = spans.filter_map(|(root, (start, end))| Some((root, start?, end?)));
    let spans: Vec<(usize, u64, u64)> = spans.filter(|(_, start, end)| start <= end).collect();
    if spans.is_empty() {
        return Err(Error::new(Code::CallInvalid, "The first operation is not before the second one.").next(
            Advice::named("Give the older one as {id}, the newer one as {to}; both of one root.")
                .or("Give the older one first; both of one root."),
        ));
    }
    if is_now {
        // First for all roots: the log of one may have changes of files of another.
        for (root, start, _) in &spans {
            record_present_state(context, &operations_after(context, *root, *start)?);
        }
    }
    let mut of_roots = Vec::with_capacity(spans.len());
    for (root, start, end) in spans {
        let mut all = operations_after(context, root, start)?;
        all.retain(|logged| logged.id.number <= end);
        of_roots.push((root, all));
    }
    Ok(of_roots)
}

/// Records what others did to the files of these operations since, so that the newest states are those on disk.
fn record_present_state(context: &Context, all: &[LogEntry]) {
    let paths: BTreeSet<&Vec<u8>> =
        all.iter().flat_map(|logged| &logged.operation.files).map(|file| &file.path).collect();
    let places: Vec<SafePath> = paths.into_iter().filter_map(|path| context.resolve_logged(path).ok()).collect();
    let found: Vec<FoundContent<'_>> = places
        .iter()
        .filter_map(|safe_path| {
            let state = current_side(context, safe_path).ok()?;
            Some(FoundContent { path: safe_path, content: state.map(|state| state.content) })
        })
        .collect();
    record_outside_changes(context, &found);
}

/// Returns operations, those of each root with the newest first, in one list with the newest first.
pub(crate) fn in_one_list(of_roots: &[(usize, Vec<LogEntry>)]) -> Vec<(usize, &LogEntry)> {
    let lists = of_roots.iter().map(|(_, all)| all.iter().collect()).collect();
    let all = newest_first(lists, |logged: &&LogEntry| logged.at, usize::MAX);
    all.into_iter().filter_map(|(index, logged)| Some((of_roots.get(index)?.0, logged))).collect()
}

/// Merges the changes of operations, given with the newest first, into one for each file that differs, with the root
/// whose log has the newest of them: the operations on one file may be in several logs. The numbers of lines are added
/// up: what two operations changed counts twice.
pub(crate) fn merged_changes(of_roots: &[(usize, Vec<LogEntry>)], path: Option<&SafePath>) -> Vec<(usize, FileChange)> {
    let mut paths: BTreeMap<&[u8], (usize, FileChange)> = BTreeMap::new();
    for (root, logged) in in_one_list(of_roots).into_iter().rev() {
        for file in logged.operation.files.iter().filter(|file| is_wanted(path, file)) {
            let merge = |(newest, known): &mut (usize, FileChange)| {
                *newest = root;
                known.after = file.after;
                known.attributes.clone_from(&file.attributes);
                known.added += file.added;
                known.removed += file.removed;
            };
            let first = || (root, FileChange { moved_from: None, ..file.clone() });
            paths.entry(&*file.path).and_modify(merge).or_insert_with(first);
        }
    }
    paths.into_values().filter(|(_, file)| file.before != file.after).collect()
}

/// Renders one file of an operation: its diff for the text, and its data.
fn difference(
    context: &Context,
    root: usize,
    file: &FileChange,
    text: &mut String,
    most: usize,
    room: FileBudget,
    chosen: Option<&HunkNumbers>,
) -> Result<Value> {
    let safe_path = place_of_change(context, file)?;
    context.check_access(&safe_path, Access::Read)?;
    let mut hunks = file_hunks(context, root, &safe_path, file, room.patch)?;
    let several = hunks.as_ref().is_some_and(|hunks| hunks.len() > 1);
    if let (Some(hunks), Some(chosen)) = (&mut hunks, chosen) {
        chosen.check(hunks.len(), &safe_path)?;
        hunks.retain(|hunk| chosen.numbers.contains(&hunk.number));
    }
    let path = shown(&file.path);
    let stat = hunks.as_ref().map_or(DiffStat::default(), |hunks| explain::stat(hunks));
    let summary = summary(file, &path);
    let _ = writeln!(text, "{summary}");
    match &hunks {
        Some(hunks) if !hunks.is_empty() => {
            let room = most.saturating_sub(text.len());
            let render = if several { explain::unified_with_numbers } else { explain::unified };
            text.push_str(&render(&path, hunks, room).text);
        }
        Some(_) => {}
        None => text.push_str("(its content was not kept, or is not text)\n"),
    }
    let mut out = file_data(file, &path);
    out.insert("summary".to_owned(), summary.into());
    let held = hunks.as_deref().unwrap_or_default();
    let mut patch = explain::structured(held);
    if several {
        add_numbers(&mut patch, held);
    }
    out.insert("structuredPatch".to_owned(), patch);
    let (shown, all) = explain::held_lines(held);
    note_part(&mut out, "structuredPatch", "lines", shown, all);
    out.insert("linesAdded".to_owned(), stat.added.into());
    out.insert("linesRemoved".to_owned(), stat.removed.into());
    out.insert("known".to_owned(), hunks.is_some().into());
    Ok(out.into())
}

/// Returns the differences; `None` if a side is not available or not text.
pub(crate) fn file_hunks(
    context: &Context,
    root: usize,
    path: &SafePath,
    file: &FileChange,
    room: usize,
) -> Result<Option<Vec<DiffHunk>>> {
    let side = |state| side_content(context, root, path, state);
    let (Some(before), Some(after)) = (side(file.before)?, side(file.after)?) else { return Ok(None) };
    let Some((before, after)) = text_sides(before, after) else { return Ok(None) };
    Ok(Some(explain::reply_hunks(&before, &ChangeSet::diff(&before, &after), HUNK_CONTEXT_LINES, room)))
}

/// Returns a moment in RFC 3339 as microseconds since the epoch.
///
/// Errors: `call.invalid` for another text.
pub(crate) fn micros_of(text: &str) -> Result<i64> {
    DateTime::parse_from_rfc3339(text).map(|at| at.timestamp_micros()).map_err(|error| {
        Error::new(Code::CallInvalid, format!("`since` is not a moment in RFC 3339: {error}."))
            .next(Advice::named("Send a moment such as 2026-11-23T10:00:00Z, or omit {since}."))
    })
}

/// Adds the number of each hunk to a structured patch, which has no hunks without lines.
fn add_numbers(patch: &mut Value, hunks: &[DiffHunk]) {
    let shown = hunks.iter().filter(|hunk| !hunk.lines.is_empty());
    for (row, hunk) in patch.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut).zip(shown) {
        row.insert("hunk".to_owned(), hunk.number.into());
    }
}

/// True for a file that was asked for.
fn is_wanted(path: Option<&SafePath>, file: &FileChange) -> bool {
    path.is_none_or(|path| key(path) == file.path)
}

/// True for a file that was asked for by its path, or by the path that it was moved from.
fn is_or_was(path: Option<&SafePath>, file: &FileChange) -> bool {
    is_wanted(path, file) || path.is_some_and(|path| file.moved_from.as_deref() == Some(key(path)))
}
