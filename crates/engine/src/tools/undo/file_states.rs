//! States of files in the history: as they are now, as they were, and the plans that bring them back.

use crate::context::call::Call;
use crate::context::history_stores::{key, log_path};
use crate::context::policy::Access;
use crate::context::{Context, LoadedFile};
use crate::model::call_size::check_call_size;
use crate::model::reply_limits::UNDO_DIFF_BYTES_MAX;
use crate::pipeline::plan::file_plan::{
    CurrentState, FilePlan, SeenUpdate, TargetState, replace_all_bytes, without_ops,
};
use crate::session::base;
use emendate_core::{ChangeSet, Code, ContentId, Error, Result, Snapshot, explain};
use emendate_fs::{FileAttributes, SafePath};
use emendate_history::{CONTENT_BYTES_MAX, FileChange, FileKind, FileState, LineSet, LogEntry};
use emendate_os::ffi::{OsStrExt as _, OsStringExt as _};
use std::ffi::OsString;
use std::path::Path;

/// Bytes of a binary file whose versions are compared.
pub(super) const COMPARED_BINARY_BYTES_MAX: usize = 16 << 20;

/// The reason for which the text of an older version is not put into a file.
pub(super) const ENCODING_CHANGED: &str = "others changed the encoding of the file since then.";

/// The limit on the bytes of all files that an undo changes.
///
/// Errors: `call.too_large`.
pub(super) fn check_undone(files: usize, bytes: usize) -> Result<()> {
    check_call_size(files, bytes).map_err(|error| {
        error.next("Undo fewer operations in one call, or restore each file by itself, as it was before the operation.")
    })
}

/// True for a change of a file that is a regular one before and after.
pub(crate) fn is_regular(change: &FileChange) -> bool {
    [change.before, change.after].iter().all(|side| side.is_some_and(|side| side.kind == FileKind::Regular))
}

/// Returns the current content of a path. A file that is too large to be loaded by other calls is loaded as bytes.
///
/// Errors: `path.not_regular` for a directory or a device; `path.invalid` below a file; those of the disk.
pub(super) fn current_state(context: &Context, path: &SafePath) -> Result<CurrentState> {
    let link = context.store().read_link(path).map_err(|error| below_file(context, path).unwrap_or(error))?;
    if let Some(target) = link {
        return Ok(CurrentState::Link(target));
    }
    let now = match context.load_file(path, None) {
        Err(error) if error.code() == Code::FileTooLarge => {
            context.read_up_to(path, CONTENT_BYTES_MAX)?.map(LoadedFile::binary)
        }
        // Another file would not help.
        Err(error) if error.code() == Code::PathNotRegular => {
            return Err(error.next("Move or remove what is there now, then repeat the call."));
        }
        other => other?,
    };
    Ok(now.map_or(CurrentState::Nothing, CurrentState::File))
}

/// Creates the error for a path below a file where a directory was.
fn below_file(context: &Context, place: &SafePath) -> Option<Error> {
    let is_file = |above: &&Path| {
        let found = context.store().resolve_no_follow(above).ok();
        found.is_some_and(|found| matches!(context.store().metadata(&found), Ok(Some(_))))
    };
    let file = place.absolute().ancestors().skip(1).find(is_file)?;
    let what = format!("{} is a file now, not a directory.", emendate_fs::shown(file));
    let error = Error::new(Code::PathInvalid, what).evidence(place.shown());
    Some(error.next("Move or remove what is there now, then repeat the call."))
}

/// Returns the bytes of a version, as the history keeps it or can rebuild it from the current file; `None` if it is lost.
pub(crate) fn history_content(
    context: &Context,
    root: usize,
    state: FileState,
    now: Option<&LoadedFile>,
) -> Result<Option<Vec<u8>>> {
    let hand = now.map(LoadedFile::known_content);
    context.version_content(root, state.content, hand.as_slice())
}

/// Returns the bytes of one side of a change: empty if there is no file, `None` if they are lost. The current file is
/// loaded only if the history does not have them.
pub(crate) fn side_content(
    context: &Context,
    root: usize,
    path: &SafePath,
    side: Option<FileState>,
) -> Result<Option<Vec<u8>>> {
    let Some(state) = side else { return Ok(Some(Vec::new())) };
    if let Some(bytes) = history_content(context, root, state, None)? {
        return Ok(Some(bytes));
    }
    let now = context.load_binary(path).ok().flatten();
    history_content(context, root, state, now.as_ref())
}

/// Resolves a path of the log without following a link where one of its directories was; `None` if there is none.
///
/// Errors: `access.denied`.
pub(crate) fn logged_place_below_link(context: &Context, path: &[u8]) -> Result<Option<SafePath>> {
    let Some(place) = context.resolve_below_link(log_path(path)) else { return Ok(None) };
    context.check_access(&place, Access::Write)?;
    Ok(Some(place))
}

/// Resolves a path of the log.
pub(crate) fn logged_place(context: &Context, path: &[u8]) -> Result<SafePath> {
    let safe_path = context.resolve_logged(path)?;
    context.check_access(&safe_path, Access::Write)?;
    Ok(safe_path)
}

/// Returns the lines of a file that a caller knows once the file has this content.
pub(crate) fn lines_then(call: Call<'_>, path: &SafePath, now: &Snapshot, changes: &ChangeSet) -> LineSet {
    if call.caller.allows_unread() {
        return LineSet::all();
    }
    let known = call.sessions(path).latest(&call.caller.session, key(path)).ok().flatten();
    let known = known.filter(|known| known.content == now.id());
    known.map_or_else(LineSet::none, |known| base::after_writing(&known.lines, now, changes))
}

/// Creates the plan that writes these bytes, or this link, at a path.
pub(super) fn putting(
    call: Call<'_>,
    path: SafePath,
    now: CurrentState,
    bytes: Vec<u8>,
    side: FileState,
    attributes: Option<FileAttributes>,
) -> FilePlan {
    if side.kind == FileKind::Link {
        return FilePlan::replace_entry(path, now, TargetState::Link(OsString::from_vec(bytes)));
    }
    if let CurrentState::File(now) = now {
        let ReplacedContent { before, changes } = ReplacedContent::new(&now.snapshot, bytes);
        let lines = lines_then(call, &path, &before, &changes);
        return FilePlan { before, attributes, ..FilePlan::edit(path, now, without_ops(changes), lines) };
    }
    let text = Snapshot::open(bytes.clone(), None).is_ok();
    let before = if text { Snapshot::from_text("") } else { Snapshot::binary(Vec::new()) };
    let changes = replace_all_bytes(&before, bytes);
    // Set-id bits would apply to the user who creates the file now.
    let mode = Some(side.mode & 0o777);
    let lines = if call.caller.allows_unread() { LineSet::all() } else { LineSet::none() };
    FilePlan {
        current: now,
        before,
        changes,
        mode,
        attributes,
        seen: SeenUpdate::of(lines),
        ..FilePlan::replace_entry(path, CurrentState::Nothing, TargetState::File)
    }
}

/// Creates a snapshot of other bytes of the same file; as binary if they cannot be decoded in the same way.
pub(crate) fn with_same_codec(now: &Snapshot, bytes: Vec<u8>) -> Snapshot {
    if now.is_binary() {
        return Snapshot::binary(bytes);
    }
    now.reopen(bytes.clone()).unwrap_or_else(|_| Snapshot::binary(bytes))
}

/// True if a change takes text from a version in UTF-8 into a file that others converted to another encoding. UTF-8 can
/// be read in an encoding of single bytes, too, so the codecs of both are the same.
pub(super) fn adds_converted_text(changes: &ChangeSet, version: &Snapshot, now: &Snapshot) -> bool {
    let is_utf8 = |it: &Snapshot| str::from_utf8(it.raw()).is_ok();
    let is_converted = now.codec().charset.unit() == 1 && !is_utf8(now) && is_utf8(version);
    is_converted && changes.splices().iter().any(|splice| !splice.text.is_ascii())
}

/// The content of a file, and the change to other bytes of it.
pub(super) struct ReplacedContent {
    pub(super) before: Snapshot,
    pub(super) changes: ChangeSet,
}

impl ReplacedContent {
    /// Compares the content with the other bytes. If one of the two is binary, both are read as bytes. Large binary
    /// contents are not compared with each other.
    pub(super) fn new(now: &Snapshot, bytes: Vec<u8>) -> ReplacedContent {
        let after = with_same_codec(now, bytes);
        let is_text = !after.is_binary() && after.codec().charset.unit() == now.codec().charset.unit();
        if is_text {
            return ReplacedContent { changes: ChangeSet::diff(now, &after), before: now.clone() };
        }
        let before = if now.is_binary() { now.clone() } else { Snapshot::binary(now.raw().to_vec()) };
        let bytes = after.raw();
        let changes = if before.raw().len().max(bytes.len()) > COMPARED_BINARY_BYTES_MAX {
            replace_all_bytes(&before, bytes.to_vec())
        } else {
            ChangeSet::diff(&before, &Snapshot::binary(bytes.to_vec()))
        };
        ReplacedContent { before, changes }
    }
}

/// Opens both sides of a change as texts, in the same encoding if possible; `None` if one of them is not text, or if
/// only one of them is in UTF-16.
pub(crate) fn text_sides(before: Vec<u8>, after: Vec<u8>) -> Option<(Snapshot, Snapshot)> {
    let before = Snapshot::open(before, None).ok()?;
    let after = before.reopen(after.clone()).or_else(|_| Snapshot::open(after, None)).ok()?;
    let is_empty = before.raw().is_empty() || after.raw().is_empty();
    let is_comparable = is_empty || before.codec().charset.unit() == after.codec().charset.unit();
    is_comparable.then_some((before, after))
}

/// True when the current entry has this state.
pub(crate) fn is_same_content(now: &CurrentState, side: Option<FileState>) -> bool {
    match (now, side) {
        (CurrentState::Nothing, None) => true,
        (CurrentState::File(now), Some(FileState { content, kind: FileKind::Regular, .. })) => {
            now.snapshot.id() == content
        }
        (CurrentState::Link(target), Some(FileState { content, kind: FileKind::Link, .. })) => {
            ContentId::of(target.as_bytes()) == content
        }
        _ => false,
    }
}

/// Describes the changes since the operation.
pub(super) fn difference(path: &SafePath, left: &Snapshot, now: &Snapshot) -> String {
    let hunks = explain::reply_hunks(left, &ChangeSet::diff(left, now), 3, 2 * UNDO_DIFF_BYTES_MAX);
    format!("What changed since:\n{}", explain::unified(&path.shown(), &hunks, UNDO_DIFF_BYTES_MAX).text)
}

/// Creates the error for an operation whose contents were not kept.
pub(super) fn not_kept(path: &SafePath, logged: &LogEntry) -> Error {
    let why = if logged.operation.keeps_content {
        "it was too large to be kept, was dropped since, or the file was changed by others before it could be kept"
    } else {
        "it may hold secrets, whose contents are never stored"
    };
    Error::new(
        Code::OperationLost,
        format!("Operation {} cannot be undone: the earlier content is not available, because {why}.", logged.id),
    )
    .evidence(path.shown())
    .next("Read the file and make the change with an edit.")
    .fact("operation", logged.id.to_string())
}
