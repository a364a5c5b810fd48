//! The files of an undo of several operations as one change: each is reversed on the result of the ones before it;
//! nothing is written.

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, PlanOutcome, SeenUpdate, SourceFile, TargetState};
use crate::tools::undo::file_states::{
    COMPARED_BINARY_BYTES_MAX, ReplacedContent, check_undone, current_state, lines_then, putting,
};
use emendate_core::{Error, Notes, Overlay, OverlayEntry, Result, Snapshot};
use emendate_fs::{FileAttributes, FileMeta, SafePath};
use emendate_history::{FileKind, FileState};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// File type bits of a regular file in `st_mode`.
const S_IFREG: u32 = 0o100_000;

/// The files after the reversals so far.
pub(super) struct ReversedFiles<'a> {
    call: Call<'a>,
    files: Overlay<Path, ReversedFile>,
}

/// A path after the reversals so far.
struct ReversedFile {
    path: SafePath,
    /// The entry on disk.
    current: CurrentState,
    after: PlannedState,
    merged: bool,
    notes: Notes,
}

#[derive(Clone)]
struct PlannedState {
    now: CurrentState,
    /// The current path of the file on disk; `None` if it will be created.
    file: Option<SafePath>,
    /// The attributes of a file that will be created.
    attributes: Option<FileAttributes>,
}

impl ReversedFile {
    /// Creates the entry of a path that no reversal changed.
    fn unchanged(path: &SafePath, current: CurrentState) -> ReversedFile {
        let file = matches!(current, CurrentState::File(_)).then(|| path.clone());
        let after = PlannedState { now: current.clone(), file, attributes: None };
        ReversedFile { path: path.clone(), current, after, merged: false, notes: Notes::new() }
    }
}

impl OverlayEntry<Path> for ReversedFile {
    fn exists(&self) -> bool {
        !matches!(self.after.now, CurrentState::Nothing)
    }

    fn moved_from(&self) -> Option<&Path> {
        self.after.file.as_ref().map(SafePath::absolute)
    }
}

impl<'a> ReversedFiles<'a> {
    pub(super) fn new(call: Call<'a>) -> ReversedFiles<'a> {
        ReversedFiles { call, files: Overlay::default() }
    }

    /// Returns the entry at a path after the reversals so far.
    pub(super) fn current(&self, path: &SafePath) -> Result<CurrentState> {
        match self.files.get(path.absolute()) {
            Some(file) => Ok(file.after.now.clone()),
            None => current_state(&self.call, path),
        }
    }

    /// The limit on the bytes of all files, which are in memory together. A single file has a limit of its own.
    ///
    /// Errors: `call.too_large`.
    pub(super) fn check_call_size(&self) -> Result<()> {
        let size = |state: &CurrentState| state.file().map_or(0, |file| file.snapshot.size());
        let sizes = self.files.entries().map(|(_, it)| size(&it.current).max(size(&it.after.now)));
        if self.files.len() == 1 { Ok(()) } else { check_undone(self.files.len(), sizes.sum()) }
    }

    /// Applies the plans that reverse one operation.
    pub(super) fn apply_reversal(&mut self, plans: Vec<FilePlan>) -> Result<()> {
        for plan in &plans {
            let unchanged = || Ok::<_, Error>(ReversedFile::unchanged(&plan.path, plan.current.clone()));
            self.files.touch(plan.path.absolute(), unchanged)?;
        }
        // The source of a file contributes its mode, even if it has no plan of its own.
        for path in plans.iter().filter_map(|plan| Some(&plan.source_file.as_ref()?.path)) {
            let unchanged = || Ok::<_, Error>(ReversedFile::unchanged(path, current_state(&self.call, path)?));
            self.files.touch(path.absolute(), unchanged)?;
        }
        // All at once, because two files may swap places.
        let after: Vec<PlannedState> = plans.iter().map(|plan| self.after(plan)).collect::<Result<_>>()?;
        for (plan, after) in plans.into_iter().zip(after) {
            if let Some(file) = self.files.get_mut(plan.path.absolute()) {
                file.after = after;
                file.merged |= plan.outcome.merged;
                file.notes.extend(plan.outcome.notes);
            }
        }
        Ok(())
    }

    /// Returns the result of a plan at its path.
    fn after(&self, plan: &FilePlan) -> Result<PlannedState> {
        match &plan.target {
            TargetState::Nothing => return Ok(without_file(CurrentState::Nothing)),
            TargetState::Link(target) => return Ok(without_file(CurrentState::Link(target.clone()))),
            TargetState::File => {}
        }
        let source = plan.source_file.as_ref().map_or(&plan.path, |origin| &origin.path);
        let carried = self.files.get(source.absolute()).map(|file| &file.after);
        let carried = carried.filter(|then| matches!(then.now, CurrentState::File(_)) && plan.attributes.is_none());
        let mode = plan.mode.or(carried.and_then(|then| then.now.mode())).unwrap_or(0o644);
        let meta = FileMeta { mode: S_IFREG | mode, ..FileMeta::default() };
        let now = CurrentState::File(LoadedFile { snapshot: as_text(plan.after()?), meta, racy: true });
        Ok(match carried {
            Some(then) => PlannedState { now, file: then.file.clone(), attributes: then.attributes.clone() },
            None => PlannedState { now, file: None, attributes: plan.attributes.clone() },
        })
    }

    /// Returns one plan for each file that differs.
    pub(super) fn plans(self) -> Vec<FilePlan> {
        let ReversedFiles { call, files } = self;
        let moved = files.moved_sources();
        let sources =
            files.entries().filter_map(|(path, it)| Some((path.to_owned(), it.current.file()?.snapshot.clone())));
        let sources: HashMap<PathBuf, Snapshot> = sources.collect();
        let plans = files.into_entries().filter_map(|(path, file)| {
            let source = file.after.file.as_ref().and_then(|from| sources.get(from.absolute()));
            file.plan(call, moved.contains(&path), source)
        });
        plans.collect()
    }
}

impl ReversedFile {
    /// Creates the plan for the difference. `moved_on`: the content of the path is at another path now. `source` is the
    /// current text of the file that will be at the path.
    fn plan(self, call: Call<'_>, moved_on: bool, source: Option<&Snapshot>) -> Option<FilePlan> {
        let ReversedFile { path, current: disk, after: then, merged, notes } = self;
        let plan = match then.now {
            CurrentState::Nothing => {
                FilePlan { is_move_source: moved_on, ..FilePlan::replace_entry(path, disk, TargetState::Nothing) }
            }
            CurrentState::Link(target) => FilePlan::replace_entry(path, disk, TargetState::Link(target)),
            CurrentState::File(file) => {
                let mode = file.meta.mode & 0o7777;
                let bytes = file.snapshot.raw().to_vec();
                if let Some(from) = then.file.filter(|from| from.absolute() != path.absolute()) {
                    let ReplacedContent { before, changes } = ReplacedContent::new(source?, bytes);
                    let lines = lines_then(call, &from, &before, &changes);
                    FilePlan {
                        before,
                        changes,
                        mode: Some(mode),
                        seen: SeenUpdate::of(lines),
                        source_file: Some(SourceFile { path: from, copied: false }),
                        ..FilePlan::replace_entry(path, disk, TargetState::File)
                    }
                } else {
                    let side = FileState { content: file.snapshot.id(), mode, kind: FileKind::Regular };
                    let is_new = !matches!(disk, CurrentState::File(_));
                    let mode = (!is_new && disk.mode() != Some(mode)).then_some(mode);
                    let plan = putting(call, path, disk, bytes, side, then.attributes);
                    FilePlan { mode: mode.or(plan.mode), ..plan }
                }
            }
        };
        let outcome = PlanOutcome { merged, notes, ..plan.outcome };
        let plan = FilePlan { outcome, ..plan };
        plan.writes().then_some(plan)
    }
}

/// Returns the planned state of a path at which there will be no file.
fn without_file(now: CurrentState) -> PlannedState {
    PlannedState { now, file: None, attributes: None }
}

/// Reads the content of a plan as text, if it is text: a change from or to binary content is planned in bytes, but an
/// earlier operation of the undo may have edited the text.
fn as_text(after: Snapshot) -> Snapshot {
    if !after.is_binary() || after.raw().len() > COMPARED_BINARY_BYTES_MAX {
        return after;
    }
    Snapshot::open(after.raw().to_vec(), None).unwrap_or(after)
}

/// The paths of operations, to wait for their locks.
pub(super) fn paths(all: &[emendate_history::LogEntry]) -> impl Iterator<Item = &Path> {
    let files = all.iter().flat_map(|logged| &logged.operation.files);
    files.map(|file| log_path(&file.path))
}
