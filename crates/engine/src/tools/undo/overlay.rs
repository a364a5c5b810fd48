//! Overlay for undoing several operations as one change: each is reversed on the result of the ones before it; nothing
//! is written.

use crate::context::{Context, LoadedFile};
use crate::model::call_context::CallContext;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, SourceFile, TargetState};
use crate::pipeline::plan::file_plan::{PlanOutcome, SeenUpdate};
use crate::tools::undo::file_states::{check_undone, current_state, lines_then, putting, to_bytes};
use emendate_core::Notes;
use emendate_core::{Result, Snapshot};
use emendate_fs::{FileAttributes, FileMeta, SafePath};
use emendate_history::{FileKind, FileState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// File type bits of a regular file in `st_mode`.
const S_IFREG: u32 = 0o100_000;

/// The files after the reversals so far.
pub(super) struct Overlay<'a> {
    context: &'a Context,
    caller: &'a CallContext,
    entries: BTreeMap<PathBuf, OverlayEntry>,
}

/// A path in the overlay.
struct OverlayEntry {
    /// The index of the path in order of first use.
    order: usize,
    place: SafePath,
    /// The entry on disk.
    current: CurrentState,
    /// The entry after the reversals so far.
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

impl<'a> Overlay<'a> {
    pub(super) fn new(context: &'a Context, caller: &'a CallContext) -> Overlay<'a> {
        Overlay { context, caller, entries: BTreeMap::new() }
    }

    /// Returns the entry at a path after the reversals so far.
    pub(super) fn current(&self, place: &SafePath) -> Result<CurrentState> {
        match self.entries.get(place.absolute()) {
            Some(stand) => Ok(stand.after.now.clone()),
            None => current_state(self.context, place),
        }
    }

    /// The limit on the bytes of all files, which are in memory together. A single file has a limit of its own.
    ///
    /// Errors: `call.too_large`.
    pub(super) fn check_call_size(&self) -> Result<()> {
        let size = |state: &CurrentState| text_of(state).map_or(0, Snapshot::size);
        let sizes = self.entries.values().map(|it| size(&it.current).max(size(&it.after.now)));
        if self.entries.len() == 1 { Ok(()) } else { check_undone(self.entries.len(), sizes.sum()) }
    }

    /// Applies the plans that reverse one operation.
    pub(super) fn apply_reversal(&mut self, plans: Vec<FilePlan>) -> Result<()> {
        for plan in &plans {
            let file = matches!(plan.current, CurrentState::File(_)).then(|| plan.place.clone());
            let then = PlannedState { now: plan.current.clone(), file, attributes: None };
            let (place, disk) = (plan.place.clone(), plan.current.clone());
            let nth = self.entries.len();
            let entry = self.entries.entry(plan.place.absolute().to_owned());
            entry.or_insert_with(|| OverlayEntry {
                order: nth,
                place,
                current: disk,
                after: then,
                merged: false,
                notes: Notes::new(),
            });
        }
        // The source of a file contributes its mode, even if it has no plan of its own.
        for place in plans.iter().filter_map(|plan| Some(&plan.source_file.as_ref()?.place)) {
            if !self.entries.contains_key(place.absolute()) {
                let disk = current_state(self.context, place)?;
                let file = matches!(disk, CurrentState::File(_)).then(|| place.clone());
                let then = PlannedState { now: disk.clone(), file, attributes: None };
                let (nth, path) = (self.entries.len(), place.absolute().to_owned());
                let stand = OverlayEntry {
                    order: nth,
                    place: place.clone(),
                    current: disk,
                    after: then,
                    merged: false,
                    notes: Notes::new(),
                };
                self.entries.insert(path, stand);
            }
        }
        // All at once, because two files may swap places.
        let then: Vec<PlannedState> = plans.iter().map(|plan| self.after(plan)).collect::<Result<_>>()?;
        for (plan, then) in plans.into_iter().zip(then) {
            if let Some(stand) = self.entries.get_mut(plan.place.absolute()) {
                stand.after = then;
                stand.merged |= plan.outcome.merged;
                stand.notes.extend(plan.outcome.notes);
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
        let source = plan.source_file.as_ref().map_or(&plan.place, |origin| &origin.place);
        let carried = self.entries.get(source.absolute()).map(|stand| &stand.after);
        let carried = carried.filter(|then| matches!(then.now, CurrentState::File(_)) && plan.attributes.is_none());
        let mode = plan.mode.or(carried.and_then(|then| then.now.mode())).unwrap_or(0o644);
        let meta = FileMeta { mode: S_IFREG | mode, ..FileMeta::default() };
        let now = CurrentState::File(LoadedFile { snapshot: plan.after()?, meta, racy: true });
        Ok(match carried {
            Some(then) => PlannedState { now, file: then.file.clone(), attributes: then.attributes.clone() },
            None => PlannedState { now, file: None, attributes: plan.attributes.clone() },
        })
    }

    /// Returns one plan for each file that differs.
    pub(super) fn plans(mut self) -> Vec<FilePlan> {
        let kept: Vec<PathBuf> =
            self.entries.values().filter_map(|it| Some(it.after.file.as_ref()?.absolute().into())).collect();
        let sources: BTreeMap<PathBuf, Snapshot> =
            self.entries.iter().filter_map(|(path, it)| Some((path.clone(), text_of(&it.current)?.clone()))).collect();
        let mut stands: Vec<OverlayEntry> = std::mem::take(&mut self.entries).into_values().collect();
        stands.sort_unstable_by_key(|stand| stand.order);
        stands.into_iter().filter_map(|stand| self.plan(stand, &kept, &sources)).collect()
    }

    fn plan(&self, stand: OverlayEntry, kept: &[PathBuf], sources: &BTreeMap<PathBuf, Snapshot>) -> Option<FilePlan> {
        let OverlayEntry { place, current: disk, after: then, merged, notes, .. } = stand;
        let plan = match then.now {
            CurrentState::Nothing => {
                let moved_on = kept.iter().any(|path| path == place.absolute());
                FilePlan { is_move_source: moved_on, ..FilePlan::replace_entry(place, disk, TargetState::Nothing) }
            }
            CurrentState::Link(target) => FilePlan::replace_entry(place, disk, TargetState::Link(target)),
            CurrentState::File(file) => {
                let mode = file.meta.mode & 0o7777;
                let bytes = file.snapshot.raw().to_vec();
                if let Some(from) = then.file.filter(|from| from.absolute() != place.absolute()) {
                    self.moved(place, disk, &from, sources.get(from.absolute())?, bytes, mode)
                } else {
                    let side = FileState { content: file.snapshot.id(), mode, kind: FileKind::Regular };
                    let is_new = !matches!(disk, CurrentState::File(_));
                    let mode = (!is_new && disk.mode() != Some(mode)).then_some(mode);
                    let plan = putting(self.context, self.caller, place, disk, bytes, side, then.attributes);
                    FilePlan { mode: mode.or(plan.mode), ..plan }
                }
            }
        };
        let outcome = PlanOutcome { merged, notes, ..plan.outcome };
        let plan = FilePlan { outcome, ..plan };
        plan.writes().then_some(plan)
    }

    /// Creates the plan for a file that is at another path now.
    fn moved(
        &self,
        place: SafePath,
        disk: CurrentState,
        from: &SafePath,
        text: &Snapshot,
        bytes: Vec<u8>,
        mode: u32,
    ) -> FilePlan {
        let changes = to_bytes(text, bytes);
        let lines = lines_then(self.context, self.caller, from, text, &changes);
        let origin = Some(SourceFile { place: from.clone(), copied: false });
        FilePlan {
            before: text.clone(),
            changes,
            mode: Some(mode),
            seen: SeenUpdate::of(lines),
            source_file: origin,
            ..FilePlan::replace_entry(place, disk, TargetState::File)
        }
    }
}

/// Returns the planned state of a path at which there will be no file.
fn without_file(now: CurrentState) -> PlannedState {
    PlannedState { now, file: None, attributes: None }
}

fn text_of(now: &CurrentState) -> Option<&Snapshot> {
    match now {
        CurrentState::File(now) => Some(&now.snapshot),
        CurrentState::Nothing | CurrentState::Link(_) => None,
    }
}

/// The paths of operations, to wait for their locks.
pub(super) fn paths(all: &[emendate_history::LogEntry]) -> impl Iterator<Item = &Path> {
    use emendate_os::ffi::OsStrExt as _;
    let files = all.iter().flat_map(|logged| &logged.operation.files);
    files.map(|file| Path::new(std::ffi::OsStr::from_bytes(&file.path)))
}
