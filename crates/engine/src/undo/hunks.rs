//! Undo, redo and restore of single hunks: a part of the change of one file in one operation is reversed or applied
//! again, carried over to the current version. It is logged as an edit, because the rest of the operation stays.

use super::UndoInput;
use super::restore::RestoreInput;
use super::reversal::{difference, not_kept, with_same_codec};
use super::select::{OperationRef, foreign, session_filter, still_running};
use crate::call_context::CallContext;
use crate::engine::{Engine, LoadedFile};
use crate::history_stores::key;
use crate::log::CallOrigin;
use crate::operation_list::from_its_source;
use crate::plan::{CurrentState, FilePlan, without_ops};
use crate::policy::Access;
use crate::receipt::Receipt;
use crate::reply::Answer;
use emendate_core::explain::{self, HunkParts};
use emendate_core::{ChangeSet, Code, Error, Phrase, Result, Snapshot, TieBreak, advice};
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileKind, KnownContent, LogEntry, Role};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::iter::once;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Unchanged lines around each hunk, as `history` shows them: they decide what counts as one hunk.
pub(crate) const HUNK_CONTEXT_LINES: usize = 3;

/// The direction in which hunks are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HunkAction {
    /// They become as they were before the operation.
    Reverse,
    /// They become as the operation left them.
    Apply,
}

/// Some hunks of a file in an operation.
struct HunkSelection<'a> {
    /// Index of the root whose history has the operation.
    root: usize,
    logged: LogEntry,
    /// The change of the file, compared with its source if it was moved.
    file: FileChange,
    place: SafePath,
    numbers: &'a [usize],
    action: HunkAction,
}

impl Engine {
    /// Undoes or redoes hunks of one file of an operation.
    pub(super) fn undo_hunks(
        &self,
        caller: &CallContext,
        cause: CallOrigin<'_>,
        args: &UndoInput,
        path: Option<&Path>,
    ) -> Result<Answer> {
        let numbers = args.hunks.as_deref().unwrap_or_default();
        for root in 0..self.roots().len() {
            self.wait_for_in_doubt(root)?;
        }
        let (root, logged) = match &args.id {
            Some(id) => self.operation(OperationRef::read(id)?.name)?,
            None => self.choose_one(caller, args, path)?,
        };
        if logged.owner.is_some() {
            return Err(still_running(&logged));
        }
        if session_filter(caller, args).is_some_and(|session| session != logged.operation.session) {
            return Err(foreign(&logged));
        }
        // A redo of an undo reverses the undo; a redo of an edit applies the edit again.
        let is_undo = matches!(logged.operation.role, Role::Undo(_));
        let action = if args.redo && !is_undo { HunkAction::Apply } else { HunkAction::Reverse };
        let selection = self.selection(root, logged, path, numbers, action)?;
        self.change_hunks(caller, cause, &selection, args.dry_run || caller.dry_run)
    }

    /// Restores hunks of a file as an operation left them, or as they were before it.
    pub(super) fn restore_hunks(
        &self,
        caller: &CallContext,
        cause: CallOrigin<'_>,
        args: &RestoreInput,
        place: &SafePath,
    ) -> Result<Answer> {
        let named = OperationRef::read(&args.id)?;
        let (root, logged) = self.operation(named.name)?;
        let action = if named.before { HunkAction::Reverse } else { HunkAction::Apply };
        let numbers = args.hunks.as_deref().unwrap_or_default();
        let selection = self.selection(root, logged, Some(place.absolute()), numbers, action)?;
        self.change_hunks(caller, cause, &selection, args.dry_run || caller.dry_run)
    }

    /// Finds the file of an operation and checks that it has hunks.
    fn selection<'a>(
        &self,
        root: usize,
        logged: LogEntry,
        path: Option<&Path>,
        numbers: &'a [usize],
        action: HunkAction,
    ) -> Result<HunkSelection<'a>> {
        if numbers.is_empty() || numbers.contains(&0) {
            return Err(Error::new(Code::CallInvalid, "Hunks are counted from 1.")
                .next("Send the numbers of hunks as history with that id shows them, such as hunks: [2]."));
        }
        let place = path.map(|path| self.resolve_no_follow(path, Access::Write)).transpose()?;
        let files = &logged.operation.files;
        let file = match (&place, &**files) {
            (Some(place), _) => files.iter().find(|file| file.path == key(place)),
            (None, [only]) => Some(only),
            (None, _) => return Err(several_files(&logged)),
        };
        let Some(file) = file else {
            return Err(Error::new(
                Code::OperationMissing,
                format!("Operation {} did not change this file.", logged.id),
            )
            .evidence(place.map_or_else(String::new, |place| place.shown()))
            .next(
                advice!["Call ", listing(&logged), " to see its files."].or("Name a file that the operation changed."),
            ));
        };
        let file = from_its_source(file, &logged);
        let is_text = |kind: FileKind| kind == FileKind::Regular;
        if !matches!((file.before, file.after), (Some(before), Some(after)) if is_text(before.kind) && is_text(after.kind))
        {
            return Err(not_in_parts(&logged, "It created, deleted or linked the file, which has no parts."));
        }
        let place = self.logged_place(&file.path)?;
        Ok(HunkSelection { root, logged, file, place, numbers, action })
    }

    fn change_hunks(
        &self,
        caller: &CallContext,
        cause: CallOrigin<'_>,
        selection: &HunkSelection<'_>,
        dry_run: bool,
    ) -> Result<Answer> {
        let turns = self.lock_paths(once(selection.place.absolute()));
        let remark = selection.remark();
        let cause = CallOrigin { remark: &remark, ..cause };
        let receipts = self.plan_and_commit(caller, cause, dry_run, || {
            let now = self.current_state(&selection.place)?;
            let CurrentState::File(now) = now else {
                return Err(selection.conflict(None, "the file is gone, or something else is there now."));
            };
            Ok(vec![self.plan_hunks(caller, selection, now)?])
        })?;
        drop(turns);
        let operation = receipts.iter().find_map(Receipt::operation);
        let rendered = self.render_receipts(receipts);
        let summary = selection.headline(dry_run);
        let mut data = super::data(rendered.files, rendered.all, dry_run);
        data.insert("summary".to_owned(), summary.trim_end().into());
        data.insert("hunksOf".to_owned(), selection.logged.id.to_string().into());
        data.insert("hunks".to_owned(), selection.numbers.iter().copied().map(Value::from).collect());
        data.insert("operation".to_owned(), operation.map(|id| id.to_string()).into());
        Ok(Answer { text: summary + &rendered.text, data })
    }

    /// Plans the new version of the file: the chosen hunks on one side, everything that changed since on the other.
    fn plan_hunks(&self, caller: &CallContext, selection: &HunkSelection<'_>, now: LoadedFile) -> Result<FilePlan> {
        let sides = selection.sides(self, &now)?;
        let parts = explain::by_hunks(&sides.before, &sides.changes, HUNK_CONTEXT_LINES, selection.numbers);
        if let Some(number) = selection.numbers.iter().find(|number| **number > parts.hunks) {
            return Err(selection.no_such_hunk(*number, parts.hunks));
        }
        let HunkParts { chosen, rest, .. } = parts;
        let (seen, mine) = match selection.action {
            HunkAction::Apply => (&sides.before, chosen),
            HunkAction::Reverse => {
                let target = with_same_codec(&sides.after, rest.apply(&sides.before));
                let mine = ChangeSet::diff(&sides.after, &target);
                (&sides.after, mine)
            }
        };
        let theirs = ChangeSet::diff(seen, &now.snapshot);
        let Ok(rebased) = mine.rebase(seen, &theirs, TieBreak::TheirsFirst) else {
            let error = selection.conflict(Some(&now), "the same lines changed since then.");
            return Err(error.evidence(difference(&selection.place, seen, &now.snapshot)));
        };
        let changes = rebased.changes.with_line_ends_of(seen, &now.snapshot)?;
        if changes.apply(&now.snapshot) == now.snapshot.raw() {
            return Err(Error::new(Code::EditNoChange, "These lines are already as they would be.")
                .evidence(selection.place.shown())
                .next("Nothing is left to do."));
        }
        let merged = !theirs.is_empty();
        let lines = self.lines_then(caller, &selection.place, &now.snapshot, &changes);
        let plan = FilePlan::edit(selection.place.clone(), now, without_ops(changes), lines);
        Ok(FilePlan { merged, ..plan })
    }
}

/// Both versions of a file in an operation, in the encoding that the file has now.
struct HunkSides {
    before: Snapshot,
    after: Snapshot,
    changes: ChangeSet,
}

impl HunkSelection<'_> {
    fn sides(&self, engine: &Engine, now: &LoadedFile) -> Result<HunkSides> {
        let hand = [KnownContent { id: now.snapshot.id(), bytes: now.snapshot.raw() }];
        let history = engine.history(self.root);
        let content = |side: Option<emendate_history::FileState>| -> Result<Snapshot> {
            let side = side.ok_or_else(|| not_kept(&self.place, &self.logged))?;
            let bytes = history.content(side.content, &hand)?.ok_or_else(|| not_kept(&self.place, &self.logged))?;
            Ok(with_same_codec(&now.snapshot, bytes))
        };
        let (before, after) = (content(self.file.before)?, content(self.file.after)?);
        if [&before, &after, &now.snapshot].iter().any(|it| it.is_binary()) {
            return Err(not_in_parts(&self.logged, "The file is not text, so it has no hunks."));
        }
        let changes = ChangeSet::diff(&before, &after);
        Ok(HunkSides { before, after, changes })
    }

    /// Names the hunks and the operation.
    fn named(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
        let noun = if numbers.len() == 1 { "hunk" } else { "hunks" };
        format!("{noun} {} of operation {}", numbers.join(", "), self.logged.id)
    }

    /// Returns the note for the history.
    fn remark(&self) -> String {
        let verb = if self.action == HunkAction::Reverse { "undid" } else { "redid" };
        format!("{verb} {}", self.named())
    }

    fn headline(&self, dry_run: bool) -> String {
        let verb = match (self.action, dry_run) {
            (HunkAction::Reverse, false) => "Undone",
            (HunkAction::Reverse, true) => "Would be undone",
            (HunkAction::Apply, false) => "Applied again",
            (HunkAction::Apply, true) => "Would be applied again",
        };
        let path = emendate_fs::shown(Path::new(OsStr::from_bytes(&self.file.path)));
        format!("{verb}: {} in {path}.\n", self.named())
    }

    fn no_such_hunk(&self, number: usize, hunks: usize) -> Error {
        let count = if hunks == 1 { "1 hunk".to_owned() } else { format!("{hunks} hunks") };
        let id = self.logged.id;
        Error::new(Code::CallInvalid, format!("Operation {id} has {count} in this file, so there is no hunk {number}."))
            .evidence(self.place.shown())
            .next(
                advice!["Call ", listing(&self.logged), " to see them with their numbers."]
                    .or("Send the number of a hunk that the operation has."),
            )
    }

    fn conflict(&self, now: Option<&LoadedFile>, what: &str) -> Error {
        let verb = if self.action == HunkAction::Reverse { "undone" } else { "applied again" };
        let edit = if now.is_some() { "Make the change with an edit." } else { "Restore the file first." };
        Error::new(
            Code::OperationConflict,
            format!("The hunks of operation {} cannot be {verb}: {what}", self.logged.id),
        )
        .evidence(self.place.shown())
        .next(edit)
        .fact("operation", self.logged.id.to_string())
    }
}

/// The call that shows the files and hunks of an operation.
fn listing(logged: &LogEntry) -> Phrase {
    Phrase::Call("history", json!({ "id": logged.id.to_string() }))
}

/// Creates the error for an operation on several files without the name of one.
fn several_files(logged: &LogEntry) -> Error {
    let count = logged.operation.files.len();
    Error::new(
        Code::CallInvalid,
        format!("Operation {} changed {count} files; hunks are those of one file.", logged.id),
    )
    .next("Repeat the call with file_path.")
}

/// Creates the error for a change that has no hunks.
fn not_in_parts(logged: &LogEntry, why: &str) -> Error {
    Error::new(Code::CallInvalid, format!("No hunk of operation {} can be chosen. {why}", logged.id))
        .next("Undo the whole operation, or restore the file as it was before or after it.")
}
