//! Undo, redo and restore of single hunks: a part of the change of one file in one operation is reversed or applied
//! again, carried over to the current version. It is logged as an edit, because the rest of the operation stays.

use crate::context::call::Call;
use crate::context::history_stores::{key, log_path};
use crate::context::options::CallOptions;
use crate::context::policy::Access;
use crate::context::{Context, LoadedFile};
use crate::model::call_origin::CallOrigin;
use crate::model::hunk_numbers::{HUNK_CONTEXT_LINES, HunkNumbers, several_files};
use crate::model::reply::Answer;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, without_ops};
use crate::pipeline::plan::line_ends::with_line_ends_of;
use crate::pipeline::report::receipt::Receipt;
use crate::pipeline::report::rendered::render_receipts;
use crate::pipeline::run::plan_and_commit;
use crate::session::in_doubt::wait_for_in_doubt;
use crate::tools::history::operation_list::{from_its_source, not_changed, visible_files};
use crate::tools::undo::carried::MovedFile;
use crate::tools::undo::conflict::UndoConflict;
use crate::tools::undo::file_states::{
    ENCODING_CHANGED, adds_converted_text, current_state, difference, history_content, is_regular, is_same_content,
    lines_then, logged_place, not_kept, with_same_codec,
};
use crate::tools::undo::input::UndoInput;
use crate::tools::undo::later_move::later_move;
use crate::tools::undo::refusals::{foreign, nothing_to_do, still_running};
use crate::tools::undo::restore::{RestoreInput, may_replace};
use crate::tools::undo::select::{self, OperationRef, choose_one, is_foreign, session_filter};
use emendate_core::{Advice, ChangeSet, Code, Error, Phrase, Presence, Result, Snapshot, TieBreak, advice, explain};
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileState, LogEntry};
use serde_json::Value;
use std::collections::BTreeSet;
use std::iter::once;
use std::path::Path;

/// Hunks that are compared with the current file one by one, where it has some of them.
const COMPARED_HUNKS_MAX: usize = 32;

/// Bytes of a version up to which hunks are compared with the current file for display.
const COMPARED_BYTES_MAX: usize = 1 << 20;

/// Files of an operation that are followed to find the one that has a new path.
const FOLLOWED_FILES_MAX: usize = 100;

/// The state of a hunk: whether the current file has its change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkState {
    /// The current file has the change.
    InEffect,
    /// The change was undone.
    Undone,
    /// The same lines changed since.
    Changed,
    /// Not determined: the file is gone or not text, or too much would have to be compared.
    Unknown,
}

/// The direction in which hunks are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HunkAction {
    /// The lines become as they were before the operation.
    Reverse,
    /// The lines become as the operation left them.
    Apply,
}

/// Some hunks of a file in an operation.
pub(super) struct HunkSelection<'a> {
    /// Index of the root whose history has the operation.
    root: usize,
    logged: LogEntry,
    /// The change of the file, compared with its source if it was moved.
    file: FileChange,
    path: SafePath,
    hunks: HunkNumbers,
    action: HunkAction,
    /// The options of a call for which a model must have read the file.
    read_by: Option<&'a CallOptions>,
    /// Says that the file was moved since.
    moved: Option<String>,
}

/// Undoes or redoes hunks of one file of an operation.
pub(super) fn undo_hunks(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    args: &UndoInput,
    path: Option<&Path>,
) -> Result<Answer> {
    wait_for_in_doubt(&call)?;
    let (root, logged) = match &args.id {
        Some(id) => select::operation(&call, OperationRef::read_name(id)?)?,
        None => choose_one(call, args, path)?,
    };
    if session_filter(call.caller, args).is_some_and(|session| is_foreign(&logged, session)) {
        return Err(foreign(&logged));
    }
    // A redo of an undo reverses the undo; a redo of an edit applies the edit again.
    let action = if args.redo && !logged.is_undo() { HunkAction::Apply } else { HunkAction::Reverse };
    let hunks = HunkNumbers::new(logged.id, args.hunks.as_deref().unwrap_or_default())?;
    let (file, safe_path, moved) = changed_text_now(&call, root, &logged, path)?;
    let selection = HunkSelection { root, logged, file, path: safe_path, hunks, action, read_by: None, moved };
    change_hunks(call, origin, &selection, args.dry_run || call.caller.dry_run)
}

/// Undoes or redoes the change that a file underwent in several operations, `last` being the newest of them that touched
/// it. `numbers` are those of its hunks.
///
/// Errors: `operation.conflict`, `call.invalid` and others of an undo of hunks.
pub(crate) fn change_merged_hunks(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    last: (usize, LogEntry),
    file: FileChange,
    numbers: &[usize],
    redo: bool,
) -> Result<Answer> {
    let (root, logged) = last;
    if !is_regular(&file) {
        return Err(not_in_parts(&logged, "The file was created, deleted, moved or linked, so it has no parts."));
    }
    let path = logged_place(&call, &file.path)?;
    call.check_access(&path, Access::Write)?;
    let hunks = HunkNumbers { of_several: true, ..HunkNumbers::new(logged.id, numbers)? };
    let action = if redo { HunkAction::Apply } else { HunkAction::Reverse };
    let selection = HunkSelection { root, logged, file, path, hunks, action, read_by: None, moved: None };
    change_hunks(call, origin, &selection, call.caller.dry_run)
}

/// Selects hunks of a file to be restored as an operation left them, or as they were before it.
pub(super) fn hunks_to_restore<'a>(
    context: &Context,
    options: &'a CallOptions,
    args: &RestoreInput,
    numbers: &[usize],
    path: &SafePath,
) -> Result<HunkSelection<'a>> {
    let named = OperationRef::read(&args.id)?;
    let (root, logged) = select::operation(context, named.name)?;
    let action = if named.before { HunkAction::Reverse } else { HunkAction::Apply };
    let hunks = HunkNumbers::new(logged.id, numbers)?;
    let (file, path) = changed_text(context, &logged, Some(path.absolute()))?;
    Ok(HunkSelection { root, logged, file, path, hunks, action, read_by: Some(options), moved: None })
}

/// Finds the file of an operation, and checks that it was a regular file before and after.
///
/// Errors: `lock.timeout` for an operation that is not finished; `operation.not_found`, `call.invalid`.
fn changed_text(context: &Context, logged: &LogEntry, path: Option<&Path>) -> Result<(FileChange, SafePath)> {
    if logged.owner.is_some() {
        return Err(still_running(logged));
    }
    let safe_path = path.map(|path| context.resolve_no_follow(path, Access::Write)).transpose()?;
    let file = match &safe_path {
        Some(safe_path) => logged.operation.file(key(safe_path)),
        None => Some(only_file(logged)?),
    };
    let Some(file) = file else {
        return Err(not_changed(logged, &safe_path.map_or_else(String::new, |safe_path| safe_path.shown())));
    };
    let file = from_its_source(file, logged);
    if !is_regular(&file) {
        return Err(not_in_parts(logged, "It created, deleted, moved or linked the file, which has no parts."));
    }
    let safe_path = logged_place(context, &file.path)?;
    Ok((file, safe_path))
}

/// Finds the file of an operation as [`changed_text`] does. If later operations moved it, and nothing is at its former
/// path, it is where they brought it, and a note says so. Its new path names it as well.
fn changed_text_now(
    context: &Context,
    root: usize,
    logged: &LogEntry,
    path: Option<&Path>,
) -> Result<(FileChange, SafePath, Option<String>)> {
    let follow = |file: &FileChange| MovedFile::follow(context, root, &file.path, logged.id, &[]);
    let (mut found, mut is_by_new_path) = (changed_text(context, logged, path), false);
    if let (Err(_), Some(named)) = (&found, path.and_then(|path| context.resolve_no_follow(path, Access::Write).ok())) {
        let is_named = |file: &&FileChange| follow(file).is_some_and(|moved| moved.key() == key(&named));
        let mut files = visible_files(logged).take(FOLLOWED_FILES_MAX).filter(is_named);
        if let (Some(only), None) = (files.next(), files.next()) {
            (found, is_by_new_path) = (changed_text(context, logged, Some(log_path(&only.path))), true);
        }
    }
    let (file, place) = found?;
    let now = current_state(context, &place);
    if !is_by_new_path && now.as_ref().is_ok_and(|now| is_same_content(now, file.after)) {
        return Ok((file, place, None));
    }
    match follow(&file).filter(|moved| matches!(current_state(context, &moved.place), Ok(CurrentState::File(_)))) {
        Some(moved) if !is_by_new_path && !matches!(now, Ok(CurrentState::Nothing)) => {
            let what = format!("The hunks of operation {} cannot be changed: {}", logged.id, moved.covered());
            Err(Error::new(Code::OperationConflict, what).evidence(place.shown()).next(
                advice![
                    "Name the file that is meant: repeat the call with ",
                    Phrase::Set("file_path", moved.place.shown().into()),
                    "."
                ]
                .or("Make the change with an edit."),
            ))
        }
        Some(moved) => {
            let note = moved.note(&file.path);
            Ok((FileChange { path: moved.key(), ..file }, moved.place, Some(note)))
        }
        None => Ok((file, place, None)),
    }
}

/// Returns the file of an operation on one file, which it may have moved.
///
/// Errors: `call.invalid` if there are several, or none.
fn only_file(logged: &LogEntry) -> Result<&FileChange> {
    let files: Vec<&FileChange> = visible_files(logged).collect();
    if let [only] = *files { Ok(only) } else { Err(several_files(logged.id, files.len())) }
}

/// Changes hunks, and renders the reply.
fn change_hunks(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    selection: &HunkSelection<'_>,
    dry_run: bool,
) -> Result<Answer> {
    let receipts = write_hunks(call, origin, selection, dry_run)?;
    Ok(selection.answer(&call, receipts, dry_run))
}

/// Plans and commits the change of hunks.
pub(super) fn write_hunks(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    selection: &HunkSelection<'_>,
    dry_run: bool,
) -> Result<Vec<Receipt>> {
    let locks = call.lock_paths(once(selection.path.absolute()));
    let remark = selection.remark();
    let origin = CallOrigin { remark: &remark, restores: true, ..origin };
    let done = plan_and_commit(call, origin, dry_run, || {
        let now = current_state(&call, &selection.path)?;
        if let Some(options) = selection.read_by {
            may_replace(call, options, &selection.path, &now)?;
        }
        let HunkSelection { root, logged, file, path, .. } = selection;
        UndoConflict { call, root: *root, logged, path }.check_links(file, &now)?;
        let CurrentState::File(now) = now else { return Err(selection.no_file(call, &now)) };
        Ok(vec![plan_hunks(call, selection, now)?])
    });
    drop(locks);
    done
}

/// Plans the new version of the file: the chosen hunks on one side, everything that changed since on the other.
fn plan_hunks(call: Call<'_>, selection: &HunkSelection<'_>, now: LoadedFile) -> Result<FilePlan> {
    let sides = selection.sides(&call, &now)?;
    let missing = selection.missing(&sides, &now)?;
    if missing.is_empty() {
        return Err(nothing_to_do("These lines are already as they would be.", selection.path.shown()));
    }
    let (seen, mine) = (sides.seen(selection.action), sides.change_of(&missing, selection.action));
    let theirs = ChangeSet::diff(seen, &now.snapshot);
    let Ok(rebased) = mine.rebase(seen, &theirs, TieBreak::Conflict) else {
        return Err(selection.changed_since(seen, &now));
    };
    if adds_converted_text(&rebased.changes, sides.target(selection.action), &now.snapshot) {
        return Err(selection.conflict(ENCODING_CHANGED, "Make the change with an edit."));
    }
    let changes = rebased.changes.with_line_ends_of(seen, &now.snapshot)?;
    let merged = !theirs.is_empty();
    let lines = lines_then(call, &selection.path, &now.snapshot, &changes);
    let mut plan = FilePlan::edit(selection.path.clone(), now, without_ops(changes), lines);
    plan.outcome.merged = merged;
    plan.outcome.notes.extend(selection.moved.clone());
    Ok(plan)
}

/// Both versions of a file in an operation, in the encoding that the file has now.
pub(crate) struct HunkSides {
    before: Snapshot,
    after: Snapshot,
    changes: ChangeSet,
    /// The number of hunks.
    hunks: usize,
}

impl HunkSides {
    /// Compares both versions with the file as it is now. If its line ends changed since, that alone is no change of
    /// its lines, unless the operation changed them itself.
    pub(crate) fn new(now: &Snapshot, before: Snapshot, after: Snapshot) -> HunkSides {
        let (old, new) = (before.line_ends(), after.line_ends());
        let keeps_line_ends = !old.mixed() && !new.mixed() && old.majority() == new.majority();
        let (before, after) = if keeps_line_ends {
            (with_line_ends_of(now, before), with_line_ends_of(now, after))
        } else {
            (before, after)
        };
        let changes = ChangeSet::diff(&before, &after);
        let hunks = explain::by_hunks(&before, &changes, HUNK_CONTEXT_LINES, &BTreeSet::new()).hunks;
        HunkSides { before, after, changes, hunks }
    }

    /// The version that a change in this direction starts from.
    pub(super) fn seen(&self, action: HunkAction) -> &Snapshot {
        match action {
            HunkAction::Reverse => &self.after,
            HunkAction::Apply => &self.before,
        }
    }

    /// The version that a change of all hunks in this direction leads to.
    pub(super) fn target(&self, action: HunkAction) -> &Snapshot {
        match action {
            HunkAction::Reverse => &self.before,
            HunkAction::Apply => &self.after,
        }
    }

    /// Returns the change that these hunks make to the version [`HunkSides::seen`].
    fn change_of(&self, numbers: &BTreeSet<usize>, action: HunkAction) -> ChangeSet {
        let parts = explain::by_hunks(&self.before, &self.changes, HUNK_CONTEXT_LINES, numbers);
        match action {
            HunkAction::Apply => parts.chosen,
            HunkAction::Reverse => {
                ChangeSet::diff(&self.after, &with_same_codec(&self.after, parts.rest.apply(&self.before)))
            }
        }
    }

    fn presence(&self, numbers: &BTreeSet<usize>, action: HunkAction, now: &Snapshot) -> Presence {
        self.change_of(numbers, action).presence(self.seen(action), now)
    }

    /// Returns for each hunk whether the current version has it; too many, or hunks of a large text, are not compared.
    pub(crate) fn states(&self, now: &Snapshot) -> Vec<HunkState> {
        if now.id() == self.after.id() {
            return vec![HunkState::InEffect; self.hunks];
        }
        if now.id() == self.before.id() {
            return vec![HunkState::Undone; self.hunks];
        }
        let bytes = self.before.raw().len().max(self.after.raw().len()).max(now.raw().len());
        if self.hunks > COMPARED_HUNKS_MAX || bytes > COMPARED_BYTES_MAX {
            return vec![HunkState::Unknown; self.hunks];
        }
        let states =
            (1..=self.hunks).map(|number| match self.presence(&BTreeSet::from([number]), HunkAction::Reverse, now) {
                Presence::Missing => HunkState::InEffect,
                Presence::Made => HunkState::Undone,
                Presence::Unclear => HunkState::Changed,
            });
        states.collect()
    }

    /// Returns the reversal of all hunks.
    pub(super) fn whole_reversal(&self) -> ChangeSet {
        ChangeSet::diff(&self.after, &self.before)
    }

    /// Returns the reversal of all hunks except those that are certainly no longer in the current version.
    pub(super) fn reversal_for(&self, now: &Snapshot) -> ChangeSet {
        let mut numbers: BTreeSet<usize> = (1..=self.hunks).collect();
        match self.presence(&numbers, HunkAction::Reverse, now) {
            Presence::Missing => {}
            Presence::Made => numbers.clear(),
            Presence::Unclear if self.hunks > COMPARED_HUNKS_MAX => {}
            Presence::Unclear => numbers
                .retain(|number| self.presence(&BTreeSet::from([*number]), HunkAction::Reverse, now) != Presence::Made),
        }
        self.change_of(&numbers, HunkAction::Reverse)
    }
}

impl HunkSelection<'_> {
    fn sides(&self, context: &Context, now: &LoadedFile) -> Result<HunkSides> {
        let (before, after) = (self.side(context, now, self.file.before)?, self.side(context, now, self.file.after)?);
        if [&before, &after, &now.snapshot].iter().any(|it| it.is_binary()) {
            return Err(not_in_parts(&self.logged, "The file is not text, so it has no hunks."));
        }
        let sides = HunkSides::new(&now.snapshot, before, after);
        self.hunks.check(sides.hunks, &self.path)?;
        Ok(sides)
    }

    /// Opens one side of the change.
    ///
    /// Errors: `operation.lost` if its content was not kept; those of the history.
    fn side(&self, context: &Context, now: &LoadedFile, side: Option<FileState>) -> Result<Snapshot> {
        let bytes = side.map(|side| history_content(context, self.root, side, Some(now))).transpose()?.flatten();
        let bytes = bytes.ok_or_else(|| not_kept(&self.path, &self.logged))?;
        Ok(with_same_codec(&now.snapshot, bytes))
    }

    /// Returns the hunks of the call that still have to be changed in the current file. If it may have some of them in
    /// the requested state already, each hunk is compared by itself.
    ///
    /// Errors: `operation.conflict` for a hunk of which the file may have a part.
    fn missing(&self, sides: &HunkSides, now: &LoadedFile) -> Result<BTreeSet<usize>> {
        let seen = sides.seen(self.action);
        let all = &self.hunks.numbers;
        match sides.presence(all, self.action, &now.snapshot) {
            Presence::Missing => return Ok(all.clone()),
            Presence::Made => return Ok(BTreeSet::new()),
            Presence::Unclear if all.len() > COMPARED_HUNKS_MAX => {
                let what = "some of these lines changed since then, and they are too many to be compared one by one.";
                return Err(self.conflict(what, "Name fewer hunks in one call."));
            }
            Presence::Unclear => {}
        }
        let mut missing = BTreeSet::new();
        for number in all {
            match sides.presence(&BTreeSet::from([*number]), self.action, &now.snapshot) {
                Presence::Missing => missing.extend([*number]),
                Presence::Made => {}
                Presence::Unclear => return Err(self.changed_since(seen, now)),
            }
        }
        Ok(missing)
    }

    /// Renders the reply.
    pub(super) fn answer(&self, context: &Context, receipts: Vec<Receipt>, dry_run: bool) -> Answer {
        let summary = self.headline(dry_run);
        let fields = [
            ("summary", summary.trim_end().into()),
            ("hunksOf", self.logged.id.to_string().into()),
            ("hunks", self.hunks.numbers.iter().copied().map(Value::from).collect()),
        ];
        render_receipts(context, receipts).into_answer(dry_run, &summary, fields)
    }

    /// Returns the note for the history.
    fn remark(&self) -> String {
        let verb = if self.action == HunkAction::Reverse { "undid" } else { "redid" };
        format!("{verb} {}", self.hunks)
    }

    fn headline(&self, dry_run: bool) -> String {
        let verb = match (self.action, dry_run) {
            (HunkAction::Reverse, false) => "Undone",
            (HunkAction::Reverse, true) => "Would be undone",
            (HunkAction::Apply, false) => "Applied again",
            (HunkAction::Apply, true) => "Would be applied again",
        };
        format!("{verb}: {} in {}.\n", self.hunks, self.path.shown())
    }

    /// Refuses lines that changed since.
    fn changed_since(&self, seen: &Snapshot, now: &LoadedFile) -> Error {
        self.conflict("the same lines changed since then.", "Make the change with an edit.")
            .evidence(difference(&self.path, seen, &now.snapshot))
    }

    /// Refuses a path at which no file is.
    fn no_file(&self, call: Call<'_>, now: &CurrentState) -> Error {
        let HunkSelection { root, logged, file, path, .. } = self;
        if !matches!(now, CurrentState::Nothing) {
            return self
                .conflict("something else is there now.", "Move or remove what is there now, then repeat the call.");
        }
        match later_move(call, *root, &file.path, logged.id) {
            Some(moved) => self.conflict(&format!("{}.", moved.description()), moved.advice(call, logged.id)),
            None => self.conflict("the file is gone.", UndoConflict { call, root: *root, logged, path }.put_back()),
        }
    }

    fn conflict(&self, what: &str, next: impl Into<Advice>) -> Error {
        let verb = if self.action == HunkAction::Reverse { "undone" } else { "applied again" };
        let id = self.logged.id;
        Error::new(Code::OperationConflict, format!("The hunks of operation {id} cannot be {verb}: {what}"))
            .evidence(self.path.shown())
            .next(next)
            .fact("operation", id.to_string())
    }
}

/// Creates the error for a change that has no hunks.
fn not_in_parts(logged: &LogEntry, why: &str) -> Error {
    Error::new(Code::CallInvalid, format!("No hunk of operation {} can be chosen. {why}", logged.id))
        .next("Undo the whole operation, or restore the file as it was before or after it.")
}
