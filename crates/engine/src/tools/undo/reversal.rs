//! Plans that reverse an operation.

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::model::call_handle::CallPhase;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, SeenUpdate, SourceFile, TargetState};
use crate::pipeline::plan::line_ends::with_line_ends_before;
use crate::tools::moments::find_moment;
use crate::tools::undo::carried::MovedFile;
use crate::tools::undo::conflict::UndoConflict;
use crate::tools::undo::effects::EditEffects;
use crate::tools::undo::file_states::{
    ENCODING_CHANGED, ReplacedContent, adds_converted_text, check_undone, history_content, is_regular, is_same_content,
    lines_then, logged_place, logged_place_below_link, not_kept, putting, with_same_codec,
};
use crate::tools::undo::hunks::{HunkAction, HunkSides};
use crate::tools::undo::large::plan_big_undo;
use crate::tools::undo::mode_reversal::reversed_mode;
use crate::tools::undo::recorded::RecordedChanges;
use crate::tools::undo::refusals::nothing_to_do;
use crate::tools::undo::reversed_files::ReversedFiles;
use crate::tools::undo::select::UndoSelection;
use crate::tools::undo::since::{select_since, undo_since};
use emendate_core::{ChangeSet, Code, Error, Result, TieBreak};
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileKind, FileState, KnownContent, LogEntry, OperationId};
use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;

/// The reason for which a file cannot be put back.
const ELSE_THERE: &str = "something else is there now.";

/// The reversal of one operation.
struct Reversal<'a> {
    call: Call<'a>,
    /// The operations that are undone together, the newest first.
    all: &'a [LogEntry],
    /// The effect of the operations before this one.
    reversed: &'a ReversedFiles<'a>,
    /// The files that have the version to which the undo of all leads, so that older operations change nothing more.
    settled: &'a RefCell<HashSet<Vec<u8>>>,
    /// The effects of the log, read once they are needed.
    effects: &'a OnceCell<EditEffects>,
    /// Index of the root whose history has it.
    root: usize,
    logged: &'a LogEntry,
    /// It is only tried whether this is possible.
    is_trial: bool,
}

/// Later changes of a file that are kept when an operation is undone.
#[derive(Clone, Copy)]
enum KeptChanges {
    Lines,
    /// The line ends alone, of all lines.
    LineEnds,
}

/// A file without an operation, although it changed since.
struct RebasedFile {
    bytes: Vec<u8>,
    kept: KeptChanges,
}

/// Returns the plans for all files of some operations, the newest first, that restore their state before them.
///
/// Errors: every conflicting file of the first operation that cannot be undone.
pub(super) fn plans(call: Call<'_>, root: usize, all: &[LogEntry]) -> Result<Vec<FilePlan>> {
    if let [logged] = all
        && let Some(plan) = plan_big_undo(call, root, logged)?
    {
        return Ok(vec![plan]);
    }
    call.caller.begin(CallPhase::Reading, all.iter().map(|logged| logged.operation.files.len()).sum());
    let plans = reverse_all(call, root, all, false)?.plans();
    if plans.is_empty() {
        let ids: Vec<String> = all.iter().map(|logged| logged.id.to_string()).collect();
        let what = "The files are already as they were before that operation.";
        return Err(nothing_to_do(what, format!("operation {}", ids.join(", "))));
    }
    Ok(plans)
}

/// Reverses some operations, the newest first.
fn reverse_all<'a>(call: Call<'a>, root: usize, all: &[LogEntry], is_trial: bool) -> Result<ReversedFiles<'a>> {
    let mut reversed = ReversedFiles::new(call);
    let (settled, effects) = (RefCell::default(), OnceCell::new());
    for logged in all {
        let (reversed_so_far, settled, effects) = (&reversed, &settled, &effects);
        let reversal = Reversal { call, all, reversed: reversed_so_far, settled, effects, root, logged, is_trial };
        let plans = of_one(&reversal).map_err(|error| {
            let several = format!("None of the {} operations was undone. ", all.len());
            if all.len() > 1 { error.prefixed(&several) } else { error }
        })?;
        reversed.apply_reversal(plans)?;
        reversed.check_call_size()?;
    }
    Ok(reversed)
}

/// Returns the first of the later operations, the newest first, with whose undo, after that of the ones before it, an
/// operation is in effect again. One that cannot be undone is passed over.
pub(super) fn first_hiding<'l>(
    call: Call<'_>,
    root: usize,
    logged: &LogEntry,
    later: &'l [LogEntry],
) -> Option<&'l LogEntry> {
    let mut reversed = ReversedFiles::new(call);
    let mut all = Vec::new();
    let effects = OnceCell::new();
    let plans_of = |all: &[LogEntry], reversed: &ReversedFiles<'_>, logged: &LogEntry| {
        let settled = RefCell::default();
        let (settled, effects) = (&settled, &effects);
        of_one(&Reversal { call, all, reversed, settled, effects, root, logged, is_trial: true })
    };
    later.iter().find(|entry| {
        all.push((*entry).clone());
        let undone = plans_of(&all, &reversed, entry);
        if undone.and_then(|plans| reversed.apply_reversal(plans)).is_err() {
            all.pop();
            return false;
        }
        let with_it: Vec<LogEntry> = all.iter().chain([logged]).cloned().collect();
        // A conflict means that other text of the same lines would be there, not that nothing is left.
        plans_of(&with_it, &reversed, logged).map_or(true, |plans| !plans.is_empty())
    })
}

/// Returns the plans for one operation.
fn of_one(back: &Reversal<'_>) -> Result<Vec<FilePlan>> {
    let logged = back.logged;
    let files = &logged.operation.files;
    let (mut plans, mut errors) = (Vec::with_capacity(files.len()), Vec::new());
    let mut bytes = 0;
    let moved: HashSet<&Vec<u8>> = files.iter().filter_map(|file| file.moved_from.as_ref()).collect();
    for file in files {
        back.call.caller.advance()?;
        let emptied = moved.contains(&file.path);
        let planned = match moved_source(files, file) {
            Some(source) => back.reverse_move(file, source, emptied),
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

impl Reversal<'_> {
    /// Resolves a path of the operation. A link that one of the operations put where a directory was is not followed.
    fn place(&self, path: &[u8]) -> Result<SafePath> {
        let resolved = logged_place(&self.call, path);
        let path_then = log_path(path);
        if resolved.as_ref().is_ok_and(|place| place.absolute() == path_then) {
            return resolved;
        }
        // The bytes are compared first, because both may be many paths.
        let is_above =
            |other: &[u8]| other != path && path.starts_with(other) && path_then.starts_with(log_path(other));
        let mut changed = self.all.iter().chain([self.logged]).flat_map(|logged| &logged.operation.files);
        if !changed.any(|file| is_above(&file.path)) {
            return resolved;
        }
        match logged_place_below_link(&self.call, path)? {
            Some(place) => Ok(place),
            None => resolved,
        }
    }

    /// Returns the entry at a path of the operation. A directory that holds files of the operation counts as nothing, and
    /// so does everything below a file: that is what is left of a change between file and directory.
    fn current(&self, safe_path: &SafePath) -> Result<CurrentState> {
        let error = match self.reversed.current(safe_path) {
            Err(error) => error,
            found => return found,
        };
        let path = safe_path.absolute();
        let files = self.logged.operation.files.iter().map(|file| log_path(&file.path));
        let changed = files.clone().any(|other| other != path && other.starts_with(path));
        let is_below = path.ancestors().skip(1).any(|above| files.clone().any(|other| other == above));
        let gone = error.code() == Code::PathNotRegular && changed || is_below;
        if gone { Ok(CurrentState::Nothing) } else { Err(error) }
    }

    /// Reverses the change of a file that the operation did not move. If later ones did, it is reversed where it is now.
    fn single(&self, file: &FileChange) -> Result<Option<FilePlan>> {
        let Some(moved) = self.moved_since(file)? else { return self.at_its_path(file, None) };
        let mut plan = self.at_its_path(&FileChange { path: moved.key(), ..file.clone() }, Some(&moved))?;
        if let Some(plan) = &mut plan {
            plan.outcome.notes.push(moved.note(&file.path));
        }
        Ok(plan)
    }

    /// Returns where a text is now that later operations moved, if nothing is at its former path.
    fn moved_since(&self, file: &FileChange) -> Result<Option<MovedFile>> {
        if !is_regular(file) || !matches!(self.current(&self.place(&file.path)?)?, CurrentState::Nothing) {
            return Ok(None);
        }
        let is_other = |moved: &MovedFile| self.logged.operation.files.iter().all(|other| other.path != moved.key());
        Ok(self.follow(file).filter(|moved| is_other(moved) && self.is_there(moved)))
    }

    fn is_there(&self, moved: &MovedFile) -> bool {
        matches!(self.current(&moved.place), Ok(CurrentState::File(_)))
    }

    fn follow(&self, file: &FileChange) -> Option<MovedFile> {
        MovedFile::follow(&self.call, self.root, &file.path, self.logged.id, self.all)
    }

    /// Reverses the change of a file at its path, which is that to which later operations moved it, if it was `moved`.
    fn at_its_path(&self, file: &FileChange, moved: Option<&MovedFile>) -> Result<Option<FilePlan>> {
        let path = self.place(&file.path)?;
        let now = self.current(&path)?;
        let bits = reversed_mode(file.before, file.after, &now);
        if is_same_content(&now, file.before) && (bits.is_none() || now.mode() == bits) {
            // Nothing is at the path of a file that the operation created, but others may only have moved the file.
            return match self.follow(file).filter(|_| file.before.is_none()) {
                Some(moved) if self.is_there(&moved) => Err(self.conflict(&path).moved_away(&moved)),
                _ => Ok(None),
            };
        }
        self.conflict(&path).check_links(file, &now)?;
        let Some(before) = file.before else {
            if !is_same_content(&now, file.after) {
                let what = "it was changed since it was created.";
                return Err(self.conflict(&path).not_as_left(file.after, &now, what));
            }
            return Ok(Some(FilePlan::replace_entry(path, now, TargetState::Nothing)));
        };
        let mut kept = None;
        let bytes = match (&now, file.after) {
            (CurrentState::File(opened), _) if moved.is_none() && self.settled.borrow().contains(&file.path) => {
                opened.snapshot.raw().to_vec()
            }
            _ if is_same_content(&now, file.after) => self.content(&path, before, &now)?,
            (CurrentState::File(opened), Some(after))
                if (before.kind, after.kind) == (FileKind::Regular, FileKind::Regular) =>
            {
                if is_same_content(&now, Some(before)) {
                    opened.snapshot.raw().to_vec()
                } else {
                    if let Some(moved) = self.follow(file) {
                        return Err(self.conflict(&path).refuse(&moved.covered(), Some(opened)));
                    }
                    let recorded = self.recorded(&path, &file.path)?;
                    let version = match moved {
                        None => self.recorded_version(&recorded, opened)?,
                        // Those of the call that changed the file at another path are not among the operations on this one.
                        Some(_) => None,
                    };
                    if let Some(bytes) = version {
                        self.settled.borrow_mut().insert(file.path.clone());
                        bytes
                    } else {
                        let rebased = self.rebase_reversal(&recorded, before, after, opened)?;
                        kept = Some(rebased.kept);
                        rebased.bytes
                    }
                }
            }
            (CurrentState::Nothing, _) => return Err(self.conflict(&path).gone(&file.path, &path)),
            _ => return Err(self.conflict(&path).not_as_left(file.after, &now, ELSE_THERE)),
        };
        let attributes =
            file.attributes.clone().filter(|_| matches!(now, CurrentState::Nothing | CurrentState::Link(_)));
        let mut plan = putting(self.call, path, now, bytes, before, attributes);
        plan.mode = bits.or(plan.mode);
        self.note_merge(&mut plan, kept);
        self.note_mode(&mut plan, bits.filter(|bits| *bits != before.mode));
        Ok(plan.writes().then_some(plan))
    }

    /// Reverses the move of a file from the path of `source`. `emptied`: the former entry of this path was moved in
    /// turn, and another plan restores it.
    fn reverse_move(&self, file: &FileChange, source: &FileChange, emptied: bool) -> Result<Vec<FilePlan>> {
        let (to, from) = (self.place(&file.path)?, self.place(&source.path)?);
        let (there, here) = (self.current(&to)?, self.current(&from)?);
        // If files with equal content swapped places, both conditions hold, and they do not determine the attributes.
        let as_left = is_same_content(&here, source.after) && is_same_content(&there, file.after);
        if !as_left && is_same_content(&here, source.before) && (emptied || is_same_content(&there, file.before)) {
            return Ok(Vec::new());
        }
        if !is_same_content(&here, source.after) {
            return Err(self.conflict(&from).not_as_left(source.after, &here, ELSE_THERE));
        }
        self.conflict(&to).check_links(file, &there)?;
        let (Some(before), Some(after)) = (source.before, file.after) else {
            return Err(self.conflict(&to).not_as_left(file.after, &there, "the file cannot be restored."));
        };
        let origin = Some(SourceFile { path: to.clone(), copied: false });
        let mut kept = None;
        let mut plan = match &there {
            CurrentState::Link(target) if is_same_content(&there, file.after) => {
                FilePlan::replace_entry(from, here, TargetState::Link(target.clone()))
            }
            CurrentState::File(opened) if after.kind == FileKind::Regular => {
                let bytes = if is_same_content(&there, file.after) {
                    self.content(&from, before, &there)?
                } else {
                    let recorded = self.recorded(&to, &file.path)?;
                    let rebased = self.rebase_reversal(&recorded, before, after, opened)?;
                    kept = Some(rebased.kept);
                    rebased.bytes
                };
                let mode = reversed_mode(Some(before), Some(after), &there);
                let ReplacedContent { before, changes } = ReplacedContent::new(&opened.snapshot, bytes);
                let lines = lines_then(self.call, &to, &before, &changes);
                FilePlan {
                    before,
                    changes,
                    mode,
                    seen: SeenUpdate::of(lines),
                    ..FilePlan::replace_entry(from, here, TargetState::File)
                }
            }
            CurrentState::Nothing => return Err(self.conflict(&to).gone(&file.path, &from)),
            _ => return Err(self.conflict(&to).not_as_left(file.after, &there, ELSE_THERE)),
        };
        plan.source_file = origin;
        self.note_merge(&mut plan, kept);
        let changed_mode = plan.mode.filter(|mode| *mode != before.mode);
        self.note_mode(&mut plan, changed_mode);
        if emptied {
            return Ok(vec![plan]);
        }
        let left = match file.before {
            None => FilePlan { is_move_source: true, ..FilePlan::replace_entry(to, there, TargetState::Nothing) },
            Some(covered) => {
                let bytes = self.content(&to, covered, &there)?;
                let mode = Some(covered.mode);
                let attributes = file.attributes.clone();
                FilePlan { mode, ..putting(self.call, to, there, bytes, covered, attributes) }
            }
        };
        Ok(vec![plan, left])
    }

    fn note_merge(&self, plan: &mut FilePlan, kept: Option<KeptChanges>) {
        plan.outcome.merged = kept.is_some();
        let (what, which) = match kept {
            Some(KeptChanges::Lines) => ("Other lines of the file", "those changes"),
            Some(KeptChanges::LineEnds) => ("The line ends of the file", "they"),
            None => return,
        };
        plan.outcome.notes.push(format!("{what} changed after operation {}; {which} were kept.", self.logged.id));
    }

    /// Reports permission bits that are not those before the operation, because they changed since.
    fn note_mode(&self, plan: &mut FilePlan, changed: Option<u32>) {
        if changed.is_some() {
            let id = self.logged.id;
            plan.outcome
                .notes
                .push(format!("The mode of the file changed after operation {id}; that change was kept."));
        }
    }

    /// True if the session can take back this operation together with everything else that it did since the moment
    /// before an older one. That would not redo anything.
    fn can_undo_since(&self, undone: OperationId) -> bool {
        if self.is_trial || self.logged.is_undo() {
            return false;
        }
        let moment = find_moment(&self.call, &format!("{undone}^"));
        let is_own = |logged: &LogEntry| logged.operation.session == self.call.caller.session;
        let selected = moment.and_then(|moment| select_since(&self.call, &moment, is_own));
        let Ok(UndoSelection::Known(root, all)) = selected else { return false };
        root == self.root
            && all.iter().any(|logged| logged.id == self.logged.id)
            && reverse_all(self.call, root, &all, true).is_ok()
    }

    fn conflict<'s>(&'s self, path: &'s SafePath) -> UndoConflict<'s> {
        UndoConflict { call: self.call, root: self.root, logged: self.logged, path }
    }

    /// Returns the bytes of a version.
    fn content(&self, path: &SafePath, side: FileState, now: &CurrentState) -> Result<Vec<u8>> {
        let found = history_content(&self.call, self.root, side, now.file())?;
        found.ok_or_else(|| not_kept(path, self.logged))
    }

    /// Reads the operations on a path, which has this key in the log.
    fn recorded<'s>(&'s self, path: &'s SafePath, key: &'s [u8]) -> Result<RecordedChanges<'s>> {
        let effects = if let Some(effects) = self.effects.get() {
            effects
        } else {
            let read = EditEffects::read(&self.call, self.root)?;
            self.effects.get_or_init(|| read)
        };
        RecordedChanges::read(&self.call, self.root, path, key, effects)
    }

    /// Returns the bytes of the version that the undo of all operations of the call leads to, if it was there before and
    /// was kept.
    fn recorded_version(&self, recorded: &RecordedChanges<'_>, now: &LoadedFile) -> Result<Option<Vec<u8>>> {
        let Some(version) = recorded.version_without(self.all) else { return Ok(None) };
        history_content(&self.call, self.root, version, Some(now))
    }

    /// Returns the file with the operation removed from it, although it changed since.
    fn rebase_reversal(
        &self,
        recorded: &RecordedChanges<'_>,
        before: FileState,
        after: FileState,
        now: &LoadedFile,
    ) -> Result<RebasedFile> {
        let path = recorded.path;
        let Some(seen) = history_content(&self.call, self.root, after, Some(now))? else {
            let what =
                "the file changed since then, and the history does not have the version that the operation left.";
            return Err(self.conflict(path).refuse(what, Some(now)));
        };
        let seen = with_same_codec(&now.snapshot, seen);
        let hand = [KnownContent { id: seen.id(), bytes: seen.raw() }, now.known_content()];
        let target = self.call.version_content(self.root, before.content, &hand)?;
        let target = target.ok_or_else(|| not_kept(path, self.logged))?;
        let target = with_same_codec(&seen, target);
        if [&seen, &target, &now.snapshot].iter().any(|it| it.is_binary()) {
            let what = "the file changed since then, and it is not text.";
            return Err(self.conflict(path).refuse(what, Some(now)));
        }
        if let Some(turned) = with_line_ends_before(&now.snapshot, &target, &seen) {
            return Ok(RebasedFile { bytes: turned.raw().to_vec(), kept: KeptChanges::Lines });
        }
        let sides = HunkSides::new(&now.snapshot, target, seen);
        let seen = sides.seen(HunkAction::Reverse);
        let theirs = ChangeSet::diff(seen, &now.snapshot);
        let rebase = |mine: ChangeSet| mine.rebase(seen, &theirs, TieBreak::Conflict).ok();
        // Nothing can have taken back a part of this operation if only others were taken back.
        let whole = recorded.are_reversals_after(self.logged).then(|| sides.whole_reversal()).and_then(rebase);
        let Some(rebased) = whole.or_else(|| rebase(sides.reversal_for(&now.snapshot))) else {
            let error = self.conflict(path).changed_since(now, seen);
            let undone = recorded.undone_before(self.logged).filter(|undone| self.can_undo_since(*undone));
            return Err(if let Some(undone) = undone { undo_since(error, undone) } else { error });
        };
        if adds_converted_text(&rebased.changes, sides.target(HunkAction::Reverse), &now.snapshot) {
            return Err(self.conflict(path).refuse(ENCODING_CHANGED, Some(now)));
        }
        let bytes = rebased.changes.with_line_ends_of(seen, &now.snapshot)?.apply(&now.snapshot);
        let kept = if theirs.is_empty() { KeptChanges::LineEnds } else { KeptChanges::Lines };
        Ok(RebasedFile { bytes, kept })
    }
}
