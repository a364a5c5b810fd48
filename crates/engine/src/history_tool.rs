//! The tool `history`: a list of operations; one operation as a diff; the difference between two moments.

use crate::call_context::CallContext;
use crate::engine::Engine;
use crate::history_page::HistoryQuery;
use crate::history_stores::key;
use crate::policy::Access;
use crate::raw_path;
use crate::reply::Answer;
use crate::reply_limits::{FileBudget, ReplyLimits, note_part};
use crate::undo::{OperationRef, data};
use chrono::{DateTime, SecondsFormat};
use emendate_core::explain::{self, DiffHunk, DiffStat};
use emendate_core::formats::{self, FormatInput};
use emendate_core::{ChangeSet, Code, ContentId, Error, Result, Snapshot};
use emendate_fs::SafePath;
use emendate_history::{
    FileChange, FileKind, FileState, GcStats, HistoryGap, KnownContent, LogEntry, OperationFilter, OperationOutcome,
    Retention, Role,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The name for the newest operation.
const NEWEST_NAME: &str = "last";
/// Operations that a list shows by default.
const LISTED_DEFAULT: usize = 20;
/// Operations that a list shows, and that may lie between two moments.
const LISTED_MAX: usize = 1000;
/// Characters of a list that are reserved for its last line.
const LAST_LINE_CHARS: usize = 400;

/// Creates the error for an empty history.
fn nothing_done() -> Error {
    Error::new(Code::OperationMissing, "No operation that fits is in the history.")
        .next("Omit file_path and session to see all operations.")
}

/// The input of `history`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Args")]
pub(crate) struct HistoryInput {
    /// Show this operation as a diff, instead of a list; `last` for the newest that fits.
    id: Option<String>,
    /// With id: show what changed from then to when this operation had been done.
    to: Option<String>,
    /// Only what touched this file.
    file_path: Option<String>,
    /// Only operations of this session.
    session: Option<String>,
    /// How many to list, the newest first (default 20, at most 1000).
    limit: Option<usize>,
    /// List on from here: what the list before gave as `next`.
    from: Option<String>,
}

impl Engine {
    /// Runs the tool `history`.
    pub(crate) fn history_tool(&self, caller: &CallContext, mut input: Value) -> Result<Answer> {
        let raw = raw_path::take(&mut input)?;
        let args: HistoryInput = formats::from_json(FormatInput::Json(input))?;
        let path = raw.as_deref().or(args.file_path.as_deref().map(Path::new));
        let place = path.map(|path| self.resolve_no_follow(path, Access::Read)).transpose()?;
        for root in 0..self.roots().len() {
            // On a read-only store, in-doubt operations are listed as pending.
            let _ = self.resolve_in_doubt(root);
        }
        let limits = self.reply_limits(caller);
        match (&args.id, &args.to) {
            (None, None) => self.listed(&args, place.as_ref(), limits),
            (Some(id), None) if id == NEWEST_NAME => {
                let Some(last) = self.fitting(&args, place.as_ref(), 1)?.pop() else { return Err(nothing_done()) };
                self.render(last.0, &last.1, place.as_ref(), limits)
            }
            (Some(id), None) => {
                let (root, logged) = self.operation(OperationRef::read(id)?.name)?;
                self.render(root, &logged, place.as_ref(), limits)
            }
            (Some(from), Some(to)) => self.compared(from, to, place.as_ref(), limits),
            (None, Some(_)) => Err(Error::new(Code::CallInvalid, "`to` needs an id to start from.")
                .next("Give id and to, or id alone for one operation.")),
        }
    }

    /// Returns the operations that match, each with its root, the newest first.
    fn fitting(&self, args: &HistoryInput, place: Option<&SafePath>, limit: usize) -> Result<Vec<(usize, LogEntry)>> {
        let filter = OperationFilter { session: args.session.as_deref(), path: place.map(key), below: None, limit };
        let roots = 0..self.roots().len();
        let found = roots.map(|root| self.history(root).operations(&filter)).collect::<Result<_>>()?;
        Ok(newest_first(found, |logged: &LogEntry| logged.at, limit))
    }

    fn listed(&self, args: &HistoryInput, place: Option<&SafePath>, limits: ReplyLimits) -> Result<Answer> {
        let wanted = args.limit.unwrap_or(LISTED_DEFAULT);
        let most = wanted.min(LISTED_MAX);
        let (mut text, mut rows, mut bytes) = (String::new(), Vec::new(), 0);
        let page =
            HistoryQuery { from: args.from.as_deref(), session: args.session.as_deref(), path: place.map(key), most };
        let next = self.newest(page, |root, logged| {
            let why_not = self.why_not(root, logged)?;
            let (line, row) = (one_line(logged, why_not), row(logged, why_not));
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
            text.push_str("No operation that fits is in the history.\n");
        }
        let mut data = Map::new();
        // No remark on a list that was limited on purpose.
        if let Some(next) = next {
            if rows.len() < wanted {
                let _ = writeln!(
                    text,
                    "{} operations are listed, and there are more: continue with from \"{next}\".",
                    rows.len()
                );
            }
            data.insert("next".to_owned(), next.into());
        }
        let gaps = self.gaps()?;
        for gap in &gaps {
            let _ = writeln!(text, "The history was damaged: {gap}.");
        }
        if !gaps.is_empty() {
            data.insert(
                "missing".to_owned(),
                gaps.iter().map(|gap| json!({ "after": gap.after, "until": gap.until })).collect(),
            );
        }
        data.insert("operations".to_owned(), rows.into());
        Ok(Answer { text, data })
    }

    /// Returns the lost parts of all histories.
    ///
    /// Errors: those of the session store.
    pub(crate) fn gaps(&self) -> Result<Vec<HistoryGap>> {
        let of_each = (0..self.roots().len()).map(|root| self.history(root).gaps());
        Ok(of_each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Returns the reason why an operation cannot be undone; `None` if it can, as far as contents are concerned.
    fn why_not(&self, root: usize, logged: &LogEntry) -> Result<Option<&'static str>> {
        if logged.undone_by.is_some() {
            return Ok(None);
        }
        if logged.owner.is_some() {
            return Ok(Some("not finished"));
        }
        if !logged.operation.keeps_content {
            return Ok(Some("secret, not kept"));
        }
        let history = self.history(root);
        for file in &logged.operation.files {
            let Some(before) = file.before else { continue };
            if history.can_rebuild(before.content, &[])? {
                continue;
            }
            // Contents that were not kept may still be in the working files.
            let mut hand: Vec<ContentId> = Vec::new();
            let carried = logged.operation.files.iter().filter(|other| other.moved_from.as_ref() == Some(&file.path));
            for path in std::iter::once(&file.path).chain(carried.map(|other| &other.path)) {
                let Ok(place) = self.store().resolve_no_follow(Path::new(OsStr::from_bytes(path))) else { continue };
                hand.extend(self.side(&place).ok().flatten().map(|side| side.content));
            }
            if !history.can_rebuild(before.content, &hand)? {
                return Ok(Some("content not kept"));
            }
        }
        Ok(None)
    }

    fn render(&self, root: usize, logged: &LogEntry, place: Option<&SafePath>, limits: ReplyLimits) -> Result<Answer> {
        let mut text = one_line(logged, self.why_not(root, logged)?);
        let room = limits.file_budget(visible_files(logged).filter(|file| is_wanted(place, file)).count());
        let most = limits.text.saturating_sub(LAST_LINE_CHARS);
        let files: Vec<Value> = visible_files(logged)
            .filter(|file| is_wanted(place, file))
            .map(|file| self.difference(root, &from_its_source(file, logged), &mut text, most, room))
            .collect::<Result<_>>()?;
        let mut data = data(files, false);
        data.insert("summary".to_owned(), text.lines().next().into());
        data.insert("shown".to_owned(), row(logged, None));
        Ok(Answer { text, data })
    }

    fn compared(&self, from: &str, to: &str, place: Option<&SafePath>, limits: ReplyLimits) -> Result<Answer> {
        let (from, to) = (OperationRef::read(from)?, OperationRef::read(to)?);
        let (root, first) = self.operation(from.name)?;
        let (other, last) = self.operation(to.name)?;
        if root != other || first.id > last.id {
            return Err(Error::new(Code::CallInvalid, "The first operation is not before the second one.")
                .next("Give the older one as id, the newer one as to; both of one root."));
        }
        let lowest = if from.before { first.id.number } else { first.id.number + 1 };
        let below = if to.before { last.id.number } else { last.id.number + 1 };
        let filter = OperationFilter { session: None, path: place.map(key), below: Some(below), limit: LISTED_MAX };
        let between = self.history(root).operations(&filter)?;
        // The oldest and the newest side of each path.
        let mut paths: BTreeMap<Vec<u8>, FileChange> = BTreeMap::new();
        for logged in between.iter().take_while(|logged| logged.id.number >= lowest) {
            for file in logged.operation.files.iter().filter(|file| place.is_none_or(|place| key(place) == file.path)) {
                paths
                    .entry(file.path.clone())
                    .and_modify(|known| known.before = file.before)
                    .or_insert_with(|| FileChange { moved_from: None, ..file.clone() });
            }
        }
        let mut text = String::new();
        let changed: Vec<&FileChange> = paths.values().filter(|file| file.before != file.after).collect();
        let (most, room) = (limits.text.saturating_sub(LAST_LINE_CHARS), limits.file_budget(changed.len()));
        let files = changed.into_iter().map(|file| self.difference(root, file, &mut text, most, room));
        let files: Vec<Value> = files.collect::<Result<_>>()?;
        if files.is_empty() {
            text.push_str("No file differs between the two.\n");
        }
        Ok(Answer { text, data: data(files, false) })
    }

    /// Renders one file of an operation: its diff for the text, and its data.
    fn difference(
        &self,
        root: usize,
        file: &FileChange,
        text: &mut String,
        most: usize,
        room: FileBudget,
    ) -> Result<Value> {
        let place = self.store().resolve_no_follow(Path::new(OsStr::from_bytes(&file.path)))?;
        self.check_access(&place, Access::Read)?;
        let hunks = self.hunks(root, &place, file, room.patch)?;
        let path = place.shown();
        let stat = hunks.as_ref().map_or(DiffStat::default(), |hunks| explain::stat(hunks));
        let summary = summary(file, &path);
        let _ = writeln!(text, "{summary}");
        match &hunks {
            Some(hunks) if !hunks.is_empty() => {
                let diff = explain::unified(&path, hunks, most.saturating_sub(text.len()));
                text.push_str(&diff.text);
            }
            Some(_) => {}
            None => text.push_str("(its content was not kept, or is no text)\n"),
        }
        let mut out = file_data(file, &path);
        out.insert("summary".to_owned(), summary.into());
        let held = hunks.as_deref().unwrap_or_default();
        out.insert("structuredPatch".to_owned(), explain::structured(held));
        let (shown, all) = explain::held_lines(held);
        note_part(&mut out, "structuredPatch", "lines", shown, all);
        out.insert("linesAdded".to_owned(), stat.added.into());
        out.insert("linesRemoved".to_owned(), stat.removed.into());
        out.insert("known".to_owned(), hunks.is_some().into());
        Ok(out.into())
    }

    /// Returns the differences; `None` if a side is not available or not text.
    fn hunks(&self, root: usize, place: &SafePath, file: &FileChange, room: usize) -> Result<Option<Vec<DiffHunk>>> {
        let history = self.history(root);
        let now = self.load_binary(place).ok().flatten();
        let hand: Vec<KnownContent<'_>> =
            now.iter().map(|now| KnownContent { id: now.snapshot.id(), bytes: now.snapshot.raw() }).collect();
        let bytes = |side: Option<FileState>| match side {
            Some(side) => history.content(side.content, &hand),
            None => Ok(Some(Vec::new())),
        };
        let (Some(before), Some(after)) = (bytes(file.before)?, bytes(file.after)?) else { return Ok(None) };
        let Ok(before) = Snapshot::open(before, None) else { return Ok(None) };
        let Ok(after) = before.reopen(after.clone()).or_else(|_| Snapshot::open(after, None)) else { return Ok(None) };
        Ok(Some(explain::reply_hunks(&before, &ChangeSet::diff(&before, &after), 3, room)))
    }

    /// Deletes contents that are too old or exceed the limits of the histories. For a person; deleted contents cannot
    /// be restored.
    ///
    /// Errors: those of the session store.
    pub fn collect_garbage(&self, leave: Retention) -> Result<GcStats> {
        let mut all = GcStats::default();
        for root in 0..self.roots().len() {
            let freed = self.history(root).collect_garbage(leave)?;
            all.operations += freed.operations;
            all.contents += freed.contents;
            all.bytes += freed.bytes;
        }
        Ok(all)
    }
}

/// True for a file that was asked for.
fn is_wanted(place: Option<&SafePath>, file: &FileChange) -> bool {
    place.is_none_or(|place| key(place) == file.path)
}

/// Merges the lists of several roots, each with its newest item first, and adds the root to each item. Within a root
/// the order is preserved, because operations are numbered and a clock may have been set back; between roots only the
/// clock decides.
pub(crate) fn newest_first<T>(roots: Vec<Vec<T>>, at: impl Fn(&T) -> i64, most: usize) -> Vec<(usize, T)> {
    let mut heads: Vec<_> = roots.into_iter().map(|all| all.into_iter().peekable()).collect();
    std::iter::from_fn(move || {
        let moments = heads.iter_mut().map(|head| head.peek().map(&at));
        let (root, _) = moments.enumerate().filter(|(_, at)| at.is_some()).max_by_key(|(_, at)| *at)?;
        Some((root, heads.get_mut(root)?.next()?))
    })
    .take(most)
    .collect()
}

/// Returns the files of an operation except for the sources of moves.
pub(crate) fn visible_files(logged: &LogEntry) -> impl Iterator<Item = &FileChange> {
    let files = &logged.operation.files;
    files
        .iter()
        .filter(|file| file.after.is_some() || !files.iter().any(|other| other.moved_from.as_ref() == Some(&file.path)))
}

/// Compares a moved file with the content of its former path.
fn from_its_source(file: &FileChange, logged: &LogEntry) -> FileChange {
    let source = logged.operation.files.iter().find(|other| file.moved_from.as_ref() == Some(&other.path));
    FileChange { before: source.map_or(file.before, |source| source.before), ..file.clone() }
}

/// Formats a moment as RFC 3339 in UTC.
fn moment(at: i64) -> String {
    let at = DateTime::from_timestamp_micros(at).unwrap_or_default();
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Returns one word for the change of a file.
fn kind(file: &FileChange) -> &'static str {
    match (file.before, file.after) {
        _ if file.moved_from.is_some() => "move",
        (None, _) => "create",
        (_, None) => "delete",
        (_, Some(FileState { kind: FileKind::Link, .. })) => "link",
        _ => "update",
    }
}

fn done(kind: &str) -> &'static str {
    match kind {
        "create" => "created",
        "delete" => "deleted",
        "link" => "linked",
        _ => "updated",
    }
}

pub(crate) fn shown(path: &[u8]) -> String {
    emendate_fs::shown(Path::new(OsStr::from_bytes(path)))
}

fn summary(file: &FileChange, path: &str) -> String {
    let mode = match (file.before, file.after) {
        (Some(before), Some(after)) if before.mode != after.mode => {
            format!(", mode {:o} → {:o}", before.mode, after.mode)
        }
        _ => String::new(),
    };
    match &file.moved_from {
        Some(from) => format!("{path}: moved from {}{mode}", shown(from)),
        None => format!("{path}: {}{mode}", done(kind(file))),
    }
}

fn file_data(file: &FileChange, path: &str) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("filePath".to_owned(), path.into());
    out.extend(raw_text(&file.path).map(|bytes| (raw_path::RAW_PATH_FIELD.to_owned(), bytes.into())));
    out.insert("type".to_owned(), kind(file).into());
    if let Some(from) = &file.moved_from {
        out.insert("from".to_owned(), shown(from).into());
        out.extend(raw_text(from).map(|bytes| ("from_b64".to_owned(), bytes.into())));
    }
    out.insert("linesAdded".to_owned(), file.added.into());
    out.insert("linesRemoved".to_owned(), file.removed.into());
    out.insert("before".to_owned(), tag_of(file.before).into());
    out.insert("after".to_owned(), tag_of(file.after).into());
    out
}

/// Returns the tag of a side.
fn tag_of(side: Option<FileState>) -> Option<String> {
    side.map(|side| side.content.tag().to_string())
}

/// Returns a path in Base64 if it is not UTF-8.
fn raw_text(path: &[u8]) -> Option<String> {
    raw_path::base64_if_needed(Path::new(OsStr::from_bytes(path)))
}

/// Describes the state of an operation in a few words.
fn state(logged: &LogEntry, why_not: Option<&str>) -> String {
    let ids: Vec<String> = logged.operation.undoes().map(|id| id.to_string()).collect();
    let ids = ids.join(", ");
    let took = match logged.operation.role {
        Role::Edit => None,
        Role::Undo(_) => Some(format!("undid {ids}")),
        Role::Redo(_) => Some(format!("redid what {ids} undid")),
    };
    let unsure = logged.operation.outcome == OperationOutcome::Unknown;
    let unsure = unsure.then(|| "its process ended in the middle of it, so it may not have been done".to_owned());
    let undo = matches!(logged.operation.role, Role::Undo(_));
    let then = logged.undone_by.map(|by| format!("{} by {by}", if undo { "redone" } else { "undone" }));
    took.into_iter().chain(then).chain(unsure).chain(why_not.map(str::to_owned)).collect::<Vec<String>>().join("; ")
}

/// Formats an operation on one line, with its files below if there are several.
pub(crate) fn one_line(logged: &LogEntry, why_not: Option<&str>) -> String {
    let LogEntry { id, at, operation, .. } = logged;
    let files: Vec<&FileChange> = visible_files(logged).collect();
    let (added, removed) = files.iter().fold((0, 0), |sum, file| (sum.0 + file.added, sum.1 + file.removed));
    let what = match &*files {
        [] => "no file".to_owned(),
        [only] => shown(&only.path),
        several => format!("{} files", several.len()),
    };
    let state = state(logged, why_not);
    let state = if state.is_empty() { state } else { format!("  ({state})") };
    let (session, tool) = (&operation.session, &operation.tool);
    let mut out = format!("{id}  {}  {session}  {tool}  {what}  +{added} -{removed}{state}\n", moment(*at));
    if files.len() > 1 {
        for file in files {
            let _ = writeln!(out, "    {}  +{} -{}", shown(&file.path), file.added, file.removed);
        }
    }
    out
}

/// Converts an operation to JSON.
fn row(logged: &LogEntry, why_not: Option<&str>) -> Value {
    let LogEntry { id, at, undone_by, owner, operation } = logged;
    let role = match operation.role {
        Role::Edit => "edit",
        Role::Undo(_) => "undo",
        Role::Redo(_) => "redo",
    };
    json!({
        "id": id.to_string(),
        "time": moment(*at),
        "session": operation.session,
        "tool": operation.tool,
        "format": operation.format,
        "digest": operation.digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "note": operation.note,
        "role": role,
        "takesBack": operation.role.undoes().map(|id| id.to_string()),
        "takesBackAlso": operation.also_undoes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "undoneBy": undone_by.map(|id| id.to_string()),
        "undoable": undone_by.is_none() && why_not.is_none(),
        "whyNot": why_not,
        "partial": operation.outcome == OperationOutcome::Partial,
        "unsure": operation.outcome == OperationOutcome::Unknown,
        "pending": owner.is_some(),
        "files": visible_files(logged).map(|file| file_data(file, &shown(&file.path))).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::newest_first;

    #[test]
    fn clock_set_back_does_not_reorder_operations_of_a_root() {
        let roots = vec![vec![10, 90, 20], vec![], vec![50, 40]];
        let all = |most| newest_first(roots.clone(), |at| *at, most);
        assert_eq!(all(9), [(2, 50), (2, 40), (0, 10), (0, 90), (0, 20)]);
        assert_eq!(all(2), [(2, 50), (2, 40)]);
        assert_eq!(newest_first(vec![vec![1, 2, 3]], |at| *at, 2), [(0, 1), (0, 2)]);
    }
}
