//! Operations of the history in lists: their status, and how they are rendered as text and as data.

use crate::context::Context;
use crate::context::history_stores::log_path;
use crate::model::change_kind::ChangeKind;
use crate::model::hunk_numbers::listing;
use crate::model::raw_path;
use crate::model::reply_limits::LISTED_FILES_MAX;
use crate::session::in_doubt::current_side;
use crate::session::turns::Turn;
use chrono::{DateTime, SecondsFormat};
use emendate_core::{Code, ContentId, Error, Result, advice};
use emendate_history::{FileChange, FileKind, FileState, LogEntry, Operation, OperationId, OperationOutcome, Role};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Files of one operation that the text of a list names.
const NAMED_FILES_MAX: usize = 10;
/// Undos and redos of one operation that are followed to the last one.
const REVERSALS_FOLLOWED_MAX: usize = 1000;

/// Returns the status of an operation for a list.
pub(crate) fn operation_status(context: &Context, root: usize, logged: &LogEntry) -> Result<OperationStatus> {
    let reversal = reversal_of(context, root, logged)?;
    Ok(OperationStatus { why_not: why_not_undoable(context, root, logged)?, reversal })
}

/// Follows the undos and redos of an operation to the last one, which decides whether it is in effect.
///
/// Errors: those of the session store.
pub(crate) fn reversal_of(context: &Context, root: usize, logged: &LogEntry) -> Result<Option<LastUndo>> {
    let mut last = logged.undone_by.map(|by| LastUndo { by, redone: false });
    for _ in 0..REVERSALS_FOLLOWED_MAX {
        let Some(LastUndo { by, redone }) = last else { break };
        let Some(next) = context.history(root).operation(by.into())?.and_then(|it| it.undone_by) else { break };
        last = Some(LastUndo { by: next, redone: !redone });
    }
    Ok(last)
}

/// Returns the reason why an operation cannot be undone; `None` if it can, as far as contents are concerned.
fn why_not_undoable(context: &Context, root: usize, logged: &LogEntry) -> Result<Option<&'static str>> {
    if logged.undone_by.is_some() {
        return Ok(None);
    }
    if logged.owner.is_some() {
        return Ok(Some("not finished"));
    }
    if !logged.operation.keeps_content {
        return Ok(Some("secret, not kept"));
    }
    for file in &logged.operation.files {
        let Some(before) = file.before else { continue };
        if context.history(root).can_rebuild(before.content, &[])? {
            continue;
        }
        // Contents that were not kept may still be in the working files.
        let mut hand: Vec<ContentId> = Vec::new();
        let carried = logged.operation.files.iter().filter(|other| other.moved_from.as_ref() == Some(&file.path));
        for path in std::iter::once(&file.path).chain(carried.map(|other| &other.path)) {
            let Ok(safe_path) = context.resolve_logged(path) else { continue };
            hand.extend(current_side(context, &safe_path).ok().flatten().map(|side| side.content));
        }
        if !context.can_rebuild(root, before.content, &hand)? {
            return Ok(Some("content not kept"));
        }
    }
    Ok(None)
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
    let moved: HashSet<&Vec<u8>> = files.iter().filter_map(|file| file.moved_from.as_ref()).collect();
    files.iter().filter(move |file| file.after.is_some() || !moved.contains(&file.path))
}

/// Creates the error for a file that an operation did not change, with the files that it changed.
pub(crate) fn not_changed(logged: &LogEntry, path: &str) -> Error {
    let files: Vec<String> = visible_files(logged).map(|file| shown(&file.path)).collect();
    let mut evidence = format!("It changed:\n{}", files[..files.len().min(NAMED_FILES_MAX)].join("\n"));
    if files.len() > NAMED_FILES_MAX {
        let _ = write!(evidence, "\nand {} more files", files.len() - NAMED_FILES_MAX);
    }
    Error::new(Code::OperationMissing, format!("Operation {} did not change {path}.", logged.id))
        .evidence(evidence)
        .next(advice!["Name one of its files; ", listing(logged.id), " shows all."].or("Name one of its files."))
}

/// Compares a moved file with the content of its former path.
pub(crate) fn from_its_source(file: &FileChange, logged: &LogEntry) -> FileChange {
    let Some(from) = &file.moved_from else { return file.clone() };
    let source = logged.operation.file(from);
    FileChange { before: source.map_or(file.before, |source| source.before), ..file.clone() }
}

/// Formats a moment as RFC 3339 in UTC.
fn moment(at: i64) -> String {
    let at = DateTime::from_timestamp_micros(at).unwrap_or_default();
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Returns the kind of the change of a file.
pub(crate) fn change_kind(file: &FileChange) -> ChangeKind {
    match (file.before, file.after) {
        _ if file.moved_from.is_some() => ChangeKind::Move,
        (None, _) => ChangeKind::Create,
        (_, None) => ChangeKind::Delete,
        (_, Some(FileState { kind: FileKind::Link, .. })) => ChangeKind::Link,
        _ => ChangeKind::Update,
    }
}

pub(crate) fn shown(path: &[u8]) -> String {
    emendate_fs::shown(log_path(path))
}

pub(crate) fn summary(file: &FileChange, path: &str) -> String {
    let mode = match (file.before, file.after) {
        (Some(before), Some(after)) if before.mode != after.mode => {
            format!(", mode {:o} → {:o}", before.mode, after.mode)
        }
        _ => String::new(),
    };
    match &file.moved_from {
        Some(from) => format!("{path}: moved from {}{mode}", shown(from)),
        None => format!("{path}: {}{mode}", change_kind(file).participle()),
    }
}

pub(crate) fn file_data(file: &FileChange, path: &str) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("filePath".to_owned(), path.into());
    out.extend(raw_text(&file.path).map(|bytes| (raw_path::RAW_PATH_FIELD.to_owned(), bytes.into())));
    out.insert("type".to_owned(), change_kind(file).name().into());
    if let Some(from) = &file.moved_from {
        out.insert("from".to_owned(), shown(from).into());
        out.extend(raw_text(from).map(|bytes| ("from_b64".to_owned(), bytes.into())));
    }
    out.insert("linesAdded".to_owned(), file.added.into());
    out.insert("linesRemoved".to_owned(), file.removed.into());
    let mode = file.after.or(file.before).map(git_mode);
    out.extend(mode.map(|mode| ("mode".to_owned(), mode.into())));
    // git refuses the diff of a file that became a link, or the reverse, by these modes.
    let old = file.before.filter(|_| file.after.is_some()).map(git_mode);
    out.extend(old.filter(|old| Some(*old) != mode).map(|old| ("oldMode".to_owned(), old.into())));
    out.insert("before".to_owned(), tag_of(file.before).into());
    out.insert("after".to_owned(), tag_of(file.after).into());
    out
}

/// Returns the mode of a file, as git writes it.
fn git_mode(side: FileState) -> &'static str {
    match side.kind {
        FileKind::Link => "120000",
        _ if side.mode & 0o111 != 0 => "100755",
        FileKind::Regular => "100644",
    }
}

/// Returns the tag of a side.
fn tag_of(side: Option<FileState>) -> Option<String> {
    side.map(|side| side.content.tag().to_string())
}

/// Returns a path in Base64 if it is not UTF-8.
fn raw_text(path: &[u8]) -> Option<String> {
    raw_path::base64_if_needed(log_path(path))
}

/// The last undo or redo of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastUndo {
    /// The last undo or redo of the operation.
    pub(crate) by: OperationId,
    /// The last reversal was a redo, so the operation is in effect again.
    pub(crate) redone: bool,
}

/// Facts about an operation that its own entry in the log does not have.
#[derive(Clone, Copy, Default)]
pub(crate) struct OperationStatus {
    /// The reason why it cannot be undone.
    why_not: Option<&'static str>,
    /// The last undo or redo of the operation.
    reversal: Option<LastUndo>,
}

impl OperationStatus {
    /// The status of an operation of which only the last undo or redo is known.
    pub(crate) fn of(reversal: Option<LastUndo>) -> OperationStatus {
        OperationStatus { why_not: None, reversal }
    }

    /// Returns the status without the reason why the operation cannot be undone.
    pub(crate) fn without_reason(self) -> OperationStatus {
        OperationStatus { why_not: None, ..self }
    }
}

/// Returns the tool of an operation by the name of the command: a redo is a call of `undo` that takes an undo back.
pub(crate) fn tool_name(operation: &Operation) -> &str {
    let is_redo = matches!(operation.role, Role::Redo(_)) && operation.tool == "undo";
    if is_redo { "redo" } else { &operation.tool }
}

/// Describes the state of an operation in a few words.
fn state(logged: &LogEntry, status: OperationStatus) -> String {
    let ids: Vec<String> = logged.operation.undoes().map(|id| id.to_string()).collect();
    let ids = ids.join(", ");
    let took = match logged.operation.role {
        // An edit by these tools changed hunks of another operation.
        Role::Edit if matches!(&*logged.operation.tool, "undo" | "restore") => Some(logged.operation.note.clone()),
        Role::Edit => None,
        Role::Undo(_) => Some(format!("undid {ids}")),
        Role::Redo(_) => Some(format!("redid what {ids} undid")),
    };
    let unsure = logged.operation.outcome == OperationOutcome::Unknown;
    let unsure = unsure.then(|| "its process ended during it, so it may be incomplete".to_owned());
    let then = status.reversal.map(|last| {
        // If the redo of an undo is undone, the undo is in effect again.
        let verb = match (logged.is_undo(), last.redone) {
            (true, true) => "undone again",
            (true, false) | (false, true) => "redone",
            (false, false) => "undone",
        };
        format!("{verb} by {}", last.by)
    });
    let why_not = status.why_not.map(str::to_owned);
    took.into_iter()
        .filter(|text| !text.is_empty())
        .chain(then)
        .chain(unsure)
        .chain(why_not)
        .collect::<Vec<String>>()
        .join("; ")
}

/// Formats an operation on one line, with its files below if there are several.
pub(crate) fn one_line(logged: &LogEntry, status: OperationStatus) -> String {
    let LogEntry { id, at, operation, .. } = logged;
    let files: Vec<&FileChange> = visible_files(logged).collect();
    let (added, removed) = files.iter().fold((0, 0), |sum, file| (sum.0 + file.added, sum.1 + file.removed));
    let what = match &*files {
        [] => "no file".to_owned(),
        [only] => shown(&only.path),
        several => format!("{} files", several.len()),
    };
    let state = state(logged, status);
    let state = if state.is_empty() { state } else { format!("  ({state})") };
    if operation.is_moment() {
        return format!("{id}  {}  {}  mark  {}\n", moment(*at), operation.session, operation.note);
    }
    let by = if operation.is_outside() {
        "changed by others".to_owned()
    } else {
        format!("{}  {}", operation.session, tool_name(operation))
    };
    let mut out = format!("{id}  {}  {by}  {what}  +{added} -{removed}{state}\n", moment(*at));
    if files.len() > 1 {
        for file in files.iter().take(NAMED_FILES_MAX) {
            let _ = writeln!(out, "    {}  +{} -{}", shown(&file.path), file.added, file.removed);
        }
        if files.len() > NAMED_FILES_MAX {
            let _ = writeln!(out, "    … and {} more files", files.len() - NAMED_FILES_MAX);
        }
    }
    out
}

/// Converts an operation to JSON.
pub(crate) fn row(logged: &LogEntry, status: OperationStatus, turn: Option<&Turn>) -> Value {
    let LogEntry { id, at, undone_by, owner, operation } = logged;
    let why_not = status.why_not;
    let role = match operation.role {
        Role::Edit => "edit",
        Role::Undo(_) => "undo",
        Role::Redo(_) => "redo",
    };
    json!({
        "id": id.to_string(),
        "time": moment(*at),
        "session": operation.session,
        "turn": turn.map(|turn| turn.id.to_string()),
        "turnName": turn.map(|turn| &turn.name).filter(|name| !name.is_empty()),
        "tool": tool_name(operation),
        "format": operation.format,
        "digest": operation.digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "note": operation.note,
        "role": role,
        "takesBack": operation.role.undoes().map(|id| id.to_string()),
        "takesBackAlso": operation.also_undoes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "undoneBy": undone_by.map(|id| id.to_string()),
        "redoneBy": status.reversal.filter(|last| last.redone).map(|last| last.by.to_string()),
        "undoable": undone_by.is_none() && why_not.is_none(),
        "whyNot": why_not,
        "partial": operation.outcome == OperationOutcome::Partial,
        "unsure": operation.outcome == OperationOutcome::Unknown,
        "pending": owner.is_some(),
        "filesTotal": visible_files(logged).count(),
        "files": visible_files(logged).take(LISTED_FILES_MAX).map(|file| file_data(file, &shown(&file.path))).collect::<Vec<_>>(),
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
