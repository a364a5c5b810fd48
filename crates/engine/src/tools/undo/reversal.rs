//! Plans that reverse an operation.

use crate::context::history_stores::key;
use crate::context::policy::Access;
use crate::context::{Context, LoadedFile};
use crate::model::call_context::{CallContext, UnreadPolicy};
use crate::model::call_handle::CallPhase;
use crate::model::call_size::check_together;
use crate::model::raw_path;
use crate::pipeline::plan::file_plan::{
    CurrentState, FilePlan, SourceFile, TargetState, replace_all_bytes, without_ops,
};
use crate::pipeline::plan::target::resolve_below_file;
use crate::session::base;
use crate::tools::undo::hunks::{HunkAction, HunkSides};
use crate::tools::undo::large::plan_big_undo;
use crate::tools::undo::overlay::Overlay;
use emendate_core::{ChangeSet, Code, ContentId, Error, Result, Snapshot, TieBreak, explain};
use emendate_core::{Phrase, advice};
use emendate_fs::{FileAttributes, SafePath};
use emendate_history::{CONTENT_BYTES_MAX, FileChange, FileKind, FileState, KnownContent, LineSet, LogEntry};
use emendate_os::ffi::{OsStrExt as _, OsStringExt as _};
use serde_json::json;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Bytes of a binary file whose versions are compared.
const COMPARED_BINARY_BYTES_MAX: usize = 16 << 20;
/// Bytes of diff in an error.
const DIFF_BYTES_MAX: usize = 4000;

/// The reversal of one operation.
struct Reversal<'a> {
    context: &'a Context,
    caller: &'a CallContext,
    /// The effect of the operations undone before it in the same call.
    course: &'a Overlay<'a>,
    /// Index of the root whose history has it.
    root: usize,
    logged: &'a LogEntry,
}

/// Returns the plans for all files of some operations, the newest first, that restore their state before them.
///
/// Errors: every conflicting file of the first operation that cannot be undone.
pub(super) fn plans(context: &Context, caller: &CallContext, root: usize, all: &[LogEntry]) -> Result<Vec<FilePlan>> {
    if let [logged] = all
        && let Some(plan) = plan_big_undo(context, caller, root, logged)?
    {
        return Ok(vec![plan]);
    }
    caller.begin(CallPhase::Reading, all.iter().map(|logged| logged.operation.files.len()).sum());
    let mut course = Overlay::new(context, caller);
    for logged in all {
        let plans = of_one(&Reversal { context, caller, course: &course, root, logged }).map_err(|error| {
            let several = format!("None of the {} operations was undone. ", all.len());
            if all.len() > 1 { error.prefixed(&several) } else { error }
        })?;
        course.apply_reversal(plans)?;
        course.check_together()?;
    }
    let plans = course.plans();
    if plans.is_empty() {
        let ids: Vec<String> = all.iter().map(|logged| logged.id.to_string()).collect();
        return Err(Error::new(Code::EditNoChange, "The files are already as they were before that operation.")
            .evidence(format!("operation {}", ids.join(", ")))
            .next("Nothing is left to do."));
    }
    Ok(plans)
}

/// Returns the plans for one operation.
fn of_one(back: &Reversal<'_>) -> Result<Vec<FilePlan>> {
    let logged = back.logged;
    let files = &logged.operation.files;
    let (mut plans, mut errors) = (Vec::with_capacity(files.len()), Vec::new());
    let mut bytes = 0;
    let moved: HashSet<&Vec<u8>> = files.iter().filter_map(|file| file.moved_from.as_ref()).collect();
    for file in files {
        back.caller.advance()?;
        let emptied = moved.contains(&file.path);
        let planned = match moved_source(files, file) {
            Some(source) => back.moved(file, source, emptied),
            // The plan of the file that was moved from here puts it back.
            None if emptied => continue,
            None => back.single(file).map(|plan| plan.into_iter().collect()),
        };
        match planned {
            Ok(planned) => {
                bytes += planned.iter().map(FilePlan::size_max).sum::<usize>();
                plans.extend(planned);
                if files.len() > 1 {
                    check_undone(plans.len(), bytes)?;
                }
            }
            Err(error) => errors.push(error),
        }
    }
    Error::combine(errors, files.len()).map_or(Ok(plans), Err)
}

/// Returns the change of the file that was moved here.
fn moved_source<'f>(files: &'f [FileChange], file: &FileChange) -> Option<&'f FileChange> {
    let from = file.moved_from.as_ref()?;
    files.iter().find(|other| other.path == *from && other.before.is_some())
}

/// The limit on the bytes of all files that an undo changes.
///
/// Errors: `call.too_large`.
pub(super) fn check_undone(files: usize, bytes: usize) -> Result<()> {
    check_together(files, bytes).map_err(|error| {
        error.next("Undo fewer operations in one call, or restore each file by itself, as it was before the operation.")
    })
}

/// Returns the current content of a path. A file that is too large to be loaded by other calls is loaded as bytes.
pub(super) fn current_state(context: &Context, place: &SafePath) -> Result<CurrentState> {
    if let Some(target) = context.store().read_link(place)? {
        return Ok(CurrentState::Link(target));
    }
    let now = match context.load_file(place, None) {
        Err(error) if error.code() == Code::FileTooLarge => {
            let version = context.read_up_to(place, CONTENT_BYTES_MAX)?;
            version.map(|it| LoadedFile { snapshot: Snapshot::binary(it.bytes), stamp: it.meta, racy: it.racy })
        }
        other => other?,
    };
    Ok(now.map_or(CurrentState::Nothing, CurrentState::File))
}

/// Resolves a path of the log.
pub(crate) fn logged_place(context: &Context, path: &[u8]) -> Result<SafePath> {
    let path = Path::new(OsStr::from_bytes(path));
    let place = match context.store().resolve_no_follow(path) {
        // Below a file that was a directory.
        Err(error) if error.code() == Code::PathInvalid => resolve_below_file(context, path).ok_or(error)?,
        other => other?,
    };
    context.check_access(&place, Access::Write)?;
    Ok(place)
}

/// Returns the lines that a caller knows of a file after it gets this content.
pub(crate) fn lines_then(
    context: &Context,
    caller: &CallContext,
    place: &SafePath,
    now: &Snapshot,
    changes: &ChangeSet,
) -> LineSet {
    if caller.unread == UnreadPolicy::Allow {
        return LineSet::all();
    }
    let known = context.sessions(place).latest(&caller.session, key(place)).ok().flatten();
    let known = known.filter(|known| known.content == now.id());
    known.map_or_else(LineSet::none, |known| base::after_writing(&known.lines, now, changes))
}

/// Creates the plan that writes these bytes, or this link, at a path.
pub(super) fn putting(
    context: &Context,
    caller: &CallContext,
    place: SafePath,
    now: CurrentState,
    bytes: Vec<u8>,
    side: FileState,
    attributes: Option<FileAttributes>,
) -> FilePlan {
    if side.kind == FileKind::Link {
        return FilePlan::replace_entry(place, now, TargetState::Link(OsString::from_vec(bytes)));
    }
    if let CurrentState::File(now) = now {
        let changes = to_bytes(&now.snapshot, bytes);
        let lines = lines_then(context, caller, &place, &now.snapshot, &changes);
        return FilePlan { attributes, ..FilePlan::edit(place, now, without_ops(changes), lines) };
    }
    let text = Snapshot::open(bytes.clone(), None).is_ok();
    let before = if text { Snapshot::from_text("") } else { Snapshot::binary(Vec::new()) };
    let changes = replace_all_bytes(&before, bytes);
    // Set-id bits would apply to the user who creates the file now.
    let mode = Some(side.mode & 0o777);
    let lines = if caller.unread == UnreadPolicy::Allow { LineSet::all() } else { LineSet::none() };
    FilePlan {
        current: now,
        before,
        changes,
        mode,
        attributes,
        lines_seen: lines,
        ..FilePlan::replace_entry(place, CurrentState::Nothing, TargetState::File)
    }
}

/// Creates a snapshot of other bytes of the same file; as binary if they cannot be decoded in the same way.
pub(crate) fn with_same_codec(now: &Snapshot, bytes: Vec<u8>) -> Snapshot {
    if now.is_binary() {
        return Snapshot::binary(bytes);
    }
    now.reopen(bytes.clone()).unwrap_or_else(|_| Snapshot::binary(bytes))
}

/// Returns the change to other bytes of the same file. Large binary contents are not compared with each other.
pub(super) fn to_bytes(now: &Snapshot, bytes: Vec<u8>) -> ChangeSet {
    if now.is_binary() && now.raw().len().max(bytes.len()) > COMPARED_BINARY_BYTES_MAX {
        return replace_all_bytes(now, bytes);
    }
    ChangeSet::diff(now, &with_same_codec(now, bytes))
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

impl Reversal<'_> {
    /// Returns the entry at a path of the operation. A directory that holds files of the operation counts as nothing, and
    /// so does everything below a file: that is what is left of a change between file and directory.
    fn current(&self, place: &SafePath) -> Result<CurrentState> {
        let error = match self.course.current(place) {
            Err(error) => error,
            found => return found,
        };
        let path = place.absolute();
        let files = self.logged.operation.files.iter().map(|file| Path::new(OsStr::from_bytes(&file.path)));
        let changed = files.clone().any(|other| other != path && other.starts_with(path));
        let is_below = path.ancestors().skip(1).any(|above| files.clone().any(|other| other == above));
        let gone = error.code() == Code::PathNotRegular && changed || is_below;
        if gone { Ok(CurrentState::Nothing) } else { Err(error) }
    }

    /// Reverses the change of a file that was not moved.
    fn single(&self, file: &FileChange) -> Result<Option<FilePlan>> {
        let place = logged_place(self.context, &file.path)?;
        let now = self.current(&place)?;
        let bits = match (file.before, file.after) {
            (Some(before), Some(after)) if before.mode != after.mode && before.kind == FileKind::Regular => {
                Some(before.mode)
            }
            _ => None,
        };
        if is_same_content(&now, file.before) && (bits.is_none() || now.mode() == bits) {
            return Ok(None);
        }
        let Some(before) = file.before else {
            if !is_same_content(&now, file.after) {
                return Err(self.conflict(&place, file.after, &now, "it was changed since it was created."));
            }
            return Ok(Some(FilePlan::replace_entry(place, now, TargetState::Nothing)));
        };
        let mut merged = false;
        let bytes = match (&now, file.after) {
            _ if is_same_content(&now, file.after) => self.content(&place, before, &now)?,
            (CurrentState::File(opened), Some(after))
                if (before.kind, after.kind) == (FileKind::Regular, FileKind::Regular) =>
            {
                merged = !is_same_content(&now, Some(before));
                if merged { self.rebased(&place, before, after, opened)? } else { opened.snapshot.raw().to_vec() }
            }
            (CurrentState::Nothing, _) => return Err(self.conflict(&place, file.after, &now, "the file is gone.")),
            _ => return Err(self.conflict(&place, file.after, &now, "something else is there now.")),
        };
        let attributes =
            file.attributes.clone().filter(|_| matches!(now, CurrentState::Nothing | CurrentState::Link(_)));
        let mut plan = putting(self.context, self.caller, place, now, bytes, before, attributes);
        plan.mode = bits.or(plan.mode);
        self.note_merge(&mut plan, merged);
        Ok(plan.writes().then_some(plan))
    }

    /// Reverses the move of a file from the path of `source`. `emptied`: the former entry of this path was moved in
    /// turn, and another plan restores it.
    fn moved(&self, file: &FileChange, source: &FileChange, emptied: bool) -> Result<Vec<FilePlan>> {
        let (to, from) = (logged_place(self.context, &file.path)?, logged_place(self.context, &source.path)?);
        let (there, here) = (self.current(&to)?, self.current(&from)?);
        // If files with equal content swapped places, both conditions hold, and they do not determine the attributes.
        let as_left = is_same_content(&here, source.after) && is_same_content(&there, file.after);
        if !as_left && is_same_content(&here, source.before) && (emptied || is_same_content(&there, file.before)) {
            return Ok(Vec::new());
        }
        if !is_same_content(&here, source.after) {
            return Err(self.conflict(&from, source.after, &here, "something else is there now."));
        }
        let (Some(before), Some(after)) = (source.before, file.after) else {
            return Err(self.conflict(&to, file.after, &there, "the file cannot be restored."));
        };
        let origin = Some(SourceFile { place: to.clone(), copied: false });
        let mut merged = false;
        let mut plan = match &there {
            CurrentState::Link(target) if is_same_content(&there, file.after) => {
                FilePlan::replace_entry(from, here, TargetState::Link(target.clone()))
            }
            CurrentState::File(opened) if after.kind == FileKind::Regular => {
                merged = !is_same_content(&there, file.after);
                let bytes = if merged {
                    self.rebased(&to, before, after, opened)?
                } else {
                    self.content(&from, before, &there)?
                };
                let text = opened.snapshot.clone();
                let changes = to_bytes(&text, bytes);
                let lines = lines_then(self.context, self.caller, &to, &text, &changes);
                let mode = (before.mode != after.mode).then_some(before.mode);
                FilePlan {
                    before: text,
                    changes,
                    mode,
                    lines_seen: lines,
                    ..FilePlan::replace_entry(from, here, TargetState::File)
                }
            }
            CurrentState::Nothing => return Err(self.conflict(&to, file.after, &there, "the file is gone.")),
            _ => return Err(self.conflict(&to, file.after, &there, "something else is there now.")),
        };
        plan.source_file = origin;
        self.note_merge(&mut plan, merged);
        if emptied {
            return Ok(vec![plan]);
        }
        let left = match file.before {
            None => FilePlan { is_move_source: true, ..FilePlan::replace_entry(to, there, TargetState::Nothing) },
            Some(covered) => {
                let bytes = self.content(&to, covered, &there)?;
                let mode = Some(covered.mode);
                let attributes = file.attributes.clone();
                FilePlan { mode, ..putting(self.context, self.caller, to, there, bytes, covered, attributes) }
            }
        };
        Ok(vec![plan, left])
    }

    fn note_merge(&self, plan: &mut FilePlan, merged: bool) {
        plan.merged = merged;
        if merged {
            plan.notes.push(format!(
                "Other lines of the file changed after operation {}; those changes were kept.",
                self.logged.id
            ));
        }
    }

    /// Returns the bytes of a version.
    fn content(&self, place: &SafePath, side: FileState, now: &CurrentState) -> Result<Vec<u8>> {
        let hand = match now {
            CurrentState::File(now) => vec![KnownContent { id: now.snapshot.id(), bytes: now.snapshot.raw() }],
            _ => Vec::new(),
        };
        let found = self.context.history(self.root).content(side.content, &hand)?;
        found.ok_or_else(|| not_kept(place, self.logged))
    }

    /// Returns the file with the operation removed from it, although it changed since.
    fn rebased(&self, place: &SafePath, before: FileState, after: FileState, now: &LoadedFile) -> Result<Vec<u8>> {
        let standing = [KnownContent { id: now.snapshot.id(), bytes: now.snapshot.raw() }];
        let history = self.context.history(self.root);
        let Some(seen) = history.content(after.content, &standing)? else {
            return Err(self.changed_since(place, now, None));
        };
        let seen = with_same_codec(&now.snapshot, seen);
        let hand = [KnownContent { id: seen.id(), bytes: seen.raw() }, standing[0]];
        let Some(target) = history.content(before.content, &hand)? else { return Err(not_kept(place, self.logged)) };
        let target = with_same_codec(&seen, target);
        if [&seen, &target, &now.snapshot].iter().any(|it| it.is_binary()) {
            return Err(self.changed_since(place, now, None));
        }
        let sides = HunkSides::new(target, seen);
        let (mine, seen) = (sides.reversal_for(&now.snapshot), sides.seen(HunkAction::Reverse));
        match mine.rebase(seen, &ChangeSet::diff(seen, &now.snapshot), TieBreak::TheirsFirst) {
            Ok(rebased) => Ok(rebased.changes.with_line_ends_of(seen, &now.snapshot)?.apply(&now.snapshot)),
            Err(_) => Err(self.changed_since(place, now, Some(seen))),
        }
    }

    /// Refuses a file that changed since.
    fn changed_since(&self, place: &SafePath, now: &LoadedFile, seen: Option<&Snapshot>) -> Error {
        let error = self.changed(place, "the file changed since then, on the same lines or too much to compare.");
        match seen {
            Some(seen) => error.evidence(difference(place, seen, &now.snapshot)),
            None => error,
        }
    }

    fn changed(&self, place: &SafePath, what: &str) -> Error {
        let id = self.logged.id;
        let call = raw_path::call(place.absolute(), json!({ "id": format!("{id}^") }));
        Error::new(Code::OperationConflict, format!("Operation {id} cannot be undone: {what}"))
            .evidence(place.shown())
            .next(
                advice![
                    "Make the change with an edit; or, to put the whole file back, call ",
                    Phrase::Call("restore", call),
                    "."
                ]
                .or("Read the file and make the change with an edit."),
            )
            .fact("operation", id.to_string())
    }

    /// Creates the error for a file that is no longer in the state after the operation.
    fn conflict(&self, place: &SafePath, left: Option<FileState>, now: &CurrentState, what: &str) -> Error {
        let error = self.changed(place, what);
        let (Some(left), CurrentState::File(now)) = (left, now) else { return error };
        let hand = [KnownContent { id: now.snapshot.id(), bytes: now.snapshot.raw() }];
        match self.context.history(self.root).content(left.content, &hand) {
            Ok(Some(left)) if !now.snapshot.is_binary() => {
                error.evidence(difference(place, &with_same_codec(&now.snapshot, left), &now.snapshot))
            }
            _ => error,
        }
    }
}

/// Describes the changes since the operation.
pub(super) fn difference(place: &SafePath, left: &Snapshot, now: &Snapshot) -> String {
    let hunks = explain::reply_hunks(left, &ChangeSet::diff(left, now), 3, 2 * DIFF_BYTES_MAX);
    format!("What changed since:\n{}", explain::unified(&place.shown(), &hunks, DIFF_BYTES_MAX).text)
}

/// Creates the error for an operation whose contents were not kept.
pub(super) fn not_kept(place: &SafePath, logged: &LogEntry) -> Error {
    let why = if logged.operation.keeps_content {
        "it was too large to be kept, was dropped since, or the file was changed by others before it could be kept"
    } else {
        "it may hold secrets, whose contents are never stored"
    };
    Error::new(
        Code::OperationLost,
        format!("Operation {} cannot be undone: the earlier content is not available, because {why}.", logged.id),
    )
    .evidence(place.shown())
    .next("Read the file and make the change with an edit.")
    .fact("operation", logged.id.to_string())
}
