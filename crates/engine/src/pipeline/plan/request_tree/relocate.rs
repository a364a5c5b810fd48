//! Moves and copies: a file is taken from its path, optionally edited, and placed at another path. A file that is moved
//! away is placed, put back, or reported as deleted.

use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, PlanOutcome, SourceFile, TargetState, copy_of};
use crate::pipeline::plan::later_edits::add_edits;
use crate::pipeline::plan::placement::check_unchanged;
use crate::pipeline::plan::request_tree::RequestTree;
use crate::pipeline::plan::target::ActionTarget;
use crate::session::base::find_base;
use emendate_core::refusals::{ALREADY_THERE_NOTE, file_gone, occupied};
use emendate_core::{ChangeSet, Code, Error, FileAction, FileMode, Handle, Op, OpOrder, Overlay, Result};
use emendate_fs::{SafePath, shown};
use std::collections::HashSet;
use std::path::Path;

/// A move or copy of a file, with optional edits.
#[derive(Clone, Copy)]
pub(super) struct Relocation<'a> {
    /// The index of the step.
    pub(super) step: usize,
    pub(super) from: &'a SafePath,
    pub(super) to: &'a SafePath,
    pub(super) ops: &'a [Op],
    pub(super) copied: bool,
    pub(super) mode: Option<FileMode>,
}

impl RequestTree<'_> {
    /// Moves a file. If this step fails and may be skipped, none of its plans remain, in particular not the removal at
    /// the source. If another step has already used the freed path, no step can be skipped.
    pub(super) fn move_file(&mut self, relocation: Relocation<'_>) -> Result<()> {
        if !self.options.partial {
            return self.relocate(relocation);
        }
        let is_moved_away = self.moved_away.contains_key(&relocation.step);
        let moved_away: HashSet<usize> = self.moved_away.keys().copied().collect();
        let checkpoint = self.plans.checkpoint(&[relocation.from.absolute(), relocation.to.absolute()]);
        self.relocate(relocation).inspect_err(|_| {
            self.failed |= is_moved_away;
            self.plans.roll_back(checkpoint);
            self.moved_away.retain(|step, _| moved_away.contains(step));
        })
    }

    /// Moves or copies a file.
    pub(super) fn relocate(&mut self, relocation: Relocation<'_>) -> Result<()> {
        let Relocation { step, from, to, ops, copied, mode } = relocation;
        let is_idle = from.absolute() == to.absolute() && ops.is_empty() && mode.is_none();
        // Beside other changes it is only superfluous.
        if is_idle && self.targets.len() == 1 && self.call.path_exists(from) {
            return Err(emendate_core::refusals::moved_nowhere(&from.shown()));
        }
        if from.absolute() == to.absolute() {
            let at = self.edit(from, ops, OpOrder::AsNeeded).map_err(|error| self.explain_error(from, ops, error))?;
            self.plans[at].outcome.notes.push(ALREADY_THERE_NOTE.to_owned());
            self.plans[at].set_mode(mode);
            return Ok(());
        }
        let mut plan = self.take_source(step, from, ops, copied)?;
        if let Some(Handle::Lines(header, _) | Handle::Headed(header, _)) = self.bases.get(from.absolute()) {
            plan.display.header = Some(*header);
        }
        // The entry at the target may be moved away in this same request.
        if let Some(later) = self.leaving(step, to) {
            let ActionTarget { path, action, .. } = &self.targets[later];
            if let FileAction::Move { ops, .. } = action {
                let taken = self.take_source(later, path, ops, false)?;
                self.moved_away.insert(later, taken);
            }
        }
        plan.current = self.destination_state(to)?;
        plan.path = to.clone();
        plan.set_mode(mode);
        self.add(plan);
        Ok(())
    }

    /// Returns the later step that moves the entry at a path away.
    fn leaving(&self, step: usize, path: &SafePath) -> Option<usize> {
        let later = self.targets.iter().enumerate().skip(step + 1);
        let mut moves = later.filter(|(nth, target)| {
            matches!(target.action, FileAction::Move { .. })
                && target.path.absolute() == path.absolute()
                // A move onto itself frees nothing.
                && target.to.as_ref().is_some_and(|to| to.absolute() != path.absolute())
                && !self.moved_away.contains_key(nth)
        });
        // An entry that an earlier step leaves there, or is yet to place there, is not affected by this one.
        moves.next().map(|(nth, _)| nth).filter(|_| self.plan_at(path).is_none() && self.call.path_exists(path))
    }

    /// Takes a file from its path; the remaining plan deletes it, unless it is copied.
    fn take_source(&mut self, step: usize, from: &SafePath, ops: &[Op], copied: bool) -> Result<FilePlan> {
        if let Some(plan) = self.moved_away.remove(&step) {
            return Ok(plan);
        }
        if let Some(target) = self.call.store().read_link(from)?.filter(|_| self.plan_at(from).is_none()) {
            if !ops.is_empty() {
                return Err(Error::new(Code::PathSymlink, "The file to be moved and edited is a symbolic link.")
                    .evidence(format!("{} -> {}", from.shown(), shown(target)))
                    .next("Edit the file that it leads to, or move the link without edits."));
            }
            let becomes = TargetState::Link(target.clone());
            if !copied {
                let mut left = FilePlan::replace_entry(from.clone(), CurrentState::Link(target), TargetState::Nothing);
                left.is_move_source = true;
                self.add(left);
            }
            return Ok(FilePlan {
                source_file: Some(origin(from, copied)),
                ..FilePlan::replace_entry(from.clone(), CurrentState::Nothing, becomes)
            });
        }
        if copied {
            return self.copy_source(from, ops);
        }
        let note = if ops.is_empty() && self.plan_at(from).is_none() { self.check_header(from)? } else { None };
        let at = self.edit(from, ops, OpOrder::AsNeeded).map_err(|error| self.explain_error(from, ops, error))?;
        let mut carried = copy_of(&self.plans[at]);
        carried.outcome.notes.extend(note);
        // A file created by this same call has no source.
        let made = self.plans[at].creates();
        carried.source_file = self.plans[at].source_file.take().or_else(|| (!made).then(|| origin(from, false)));
        let left = &mut self.plans[at];
        left.target = TargetState::Nothing;
        left.is_move_source = true;
        left.outcome.ops.clear();
        Ok(carried)
    }

    /// Checks the version that the header of a file names which is only moved. Returns a note if the file changed since:
    /// its text stays as it is, so nothing is lost.
    ///
    /// Errors: `read.required`, `stale.unknown_tag`.
    fn check_header(&self, path: &SafePath) -> Result<Option<String>> {
        let options = self.options(path);
        let Some(now) = options.tag.and_then(|_| self.load_file(path).transpose()).transpose()? else {
            return Ok(None);
        };
        let is_fresh = find_base(self.call, &options, path, &now)?.is_fresh();
        Ok((!is_fresh)
            .then(|| "The file changed since the version of its header; it was moved as it is now.".to_owned()))
    }

    /// Copies a file as it was before the request, like git; a file created by the request, as it is at that step.
    fn copy_source(&mut self, from: &SafePath, ops: &[Op]) -> Result<FilePlan> {
        // A copy leaves its source alone, so the source gets no plan.
        let loaded;
        let plan = if let Some(at) = self.plan_at(from) {
            &self.plans[at]
        } else {
            loaded = self.load(from)?;
            &loaded
        };
        let is_new = plan.creates();
        let mut copy = match (&plan.current, &plan.target) {
            (CurrentState::File(now), _) => {
                let before = now.snapshot.clone();
                let changes = ChangeSet::none(&before);
                FilePlan {
                    before,
                    changes,
                    ..FilePlan::replace_entry(from.clone(), CurrentState::Nothing, TargetState::File)
                }
            }
            (_, TargetState::Nothing) => return Err(file_gone(&from.shown())),
            _ => copy_of(plan),
        };
        self.places += add_edits(&mut copy, ops, OpOrder::AsNeeded, self.options)
            .map_err(|error| self.explain_error(from, ops, error))?;
        copy.source_file = (!is_new).then(|| origin(from, true));
        Ok(copy)
    }

    /// Returns the entry at the destination.
    fn destination_state(&mut self, to: &SafePath) -> Result<CurrentState> {
        if let Some(at) = self.plan_at(to) {
            if self.plans[at].target != TargetState::Nothing {
                return Err(occupied(&to.shown()));
            }
            return Ok(std::mem::replace(&mut self.plans[at].current, CurrentState::Nothing));
        }
        if self.is_freed(to) {
            return Ok(CurrentState::Nothing);
        }
        match self.load_file(to)? {
            None => Ok(CurrentState::Nothing),
            Some(now) if self.options.overwrite => {
                check_unchanged(self.call, self.options, to, &now)?;
                Ok(CurrentState::File(now))
            }
            Some(_) => Err(occupied(&to.shown())),
        }
    }

    /// True for a path below a file that the request removes, and for a directory from which it removes files: one becomes a
    /// directory, the other a file. git sorts patches by name, so the removal may come later. The store checks that nothing
    /// else is in the directory.
    pub(super) fn is_freed(&self, safe_path: &SafePath) -> bool {
        if self.leaving.is_empty() {
            return false;
        }
        let path = safe_path.absolute();
        if path.ancestors().skip(1).any(|above| self.is_removed(above)) {
            return true;
        }
        let is_directory = matches!(self.load_file(safe_path), Err(error) if error.code() == Code::PathNotRegular);
        is_directory && self.leaving.iter().any(|other| *other != path && other.starts_with(path))
    }

    /// True for a path that the request removes. With `partial` a later removal may be omitted, so it has to be planned
    /// already.
    fn is_removed(&self, path: &Path) -> bool {
        let is_planned = self.plans.get(path).is_some_and(|plan| plan.target == TargetState::Nothing);
        self.leaving.contains(path) && (is_planned || !self.options.partial)
    }
}

fn origin(path: &SafePath, copied: bool) -> SourceFile {
    SourceFile { path: path.clone(), copied }
}

/// Returns the combined plans of all steps: a file that was moved and then deleted, or moved back, was not moved.
pub(super) fn final_plans(plans: Overlay<Path, FilePlan>) -> Vec<FilePlan> {
    let moved = plans.moved_sources();
    plans.into_entries().map(|(path, plan)| without_lost_source(moved.contains(&path), plan)).collect()
}

/// Returns a plan without a source that it no longer has. `moved_on`: the content of the path is at another path now.
fn without_lost_source(moved_on: bool, mut plan: FilePlan) -> FilePlan {
    let is_back = plan.source_file.as_ref().is_some_and(|origin| origin.path.absolute() == plan.path.absolute());
    if plan.target == TargetState::Nothing && (plan.source_file.is_some() || plan.is_move_source != moved_on) {
        return FilePlan {
            is_move_source: moved_on,
            outcome: PlanOutcome { notes: plan.outcome.notes, ..PlanOutcome::default() },
            ..FilePlan::replace_entry(plan.path, plan.current, TargetState::Nothing)
        };
    }
    if is_back {
        plan.source_file = None;
    }
    plan
}
