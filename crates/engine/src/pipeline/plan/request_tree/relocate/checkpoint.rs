//! Atomic moves: a file that is moved away is placed, put back, or reported as deleted.

use crate::pipeline::plan::file_plan::PlanOutcome;
use crate::pipeline::plan::file_plan::{FilePlan, SourceFile, TargetState};
use crate::pipeline::plan::request_tree::RequestTree;
use emendate_core::{FileMode, Op, Result};
use emendate_fs::SafePath;
use std::collections::HashSet;
use std::path::PathBuf;

/// The plans of the earlier steps, as far as one more move can change them.
struct PlanCheckpoint {
    plans: Vec<(usize, FilePlan)>,
    count: usize,
    lifted: HashSet<usize>,
}

impl RequestTree<'_> {
    /// Moves a file. If this step fails and may be skipped, none of its plans remain, in particular not the removal at
    /// the source. If another step has already used the freed path, no step can be skipped.
    pub(in crate::pipeline::plan::request_tree) fn move_file(
        &mut self,
        step: usize,
        from: &SafePath,
        to: &SafePath,
        ops: &[Op],
        mode: Option<FileMode>,
    ) -> Result<()> {
        let taken = self.moved_away.contains_key(&step);
        let saved = self.options.partial.then(|| self.saved([from, to]));
        let done = self.relocate(step, from, to, ops, false, mode);
        if let (Err(_), Some(saved)) = (&done, saved) {
            self.failed |= taken;
            self.put_back(saved);
        }
        done
    }

    fn saved(&self, places: [&SafePath; 2]) -> PlanCheckpoint {
        let known = places.into_iter().filter_map(|place| self.plan_at(place));
        let plans = known.map(|at| (at, self.plans[at].clone())).collect();
        PlanCheckpoint { plans, count: self.plans.len(), lifted: self.moved_away.keys().copied().collect() }
    }

    fn put_back(&mut self, saved: PlanCheckpoint) {
        for plan in self.plans.drain(saved.count..) {
            self.at.remove(plan.place.absolute());
        }
        for (at, plan) in saved.plans {
            self.plans[at] = plan;
        }
        self.moved_away.retain(|step, _| saved.lifted.contains(step));
    }
}

/// Returns the combined plans of all steps: a file that was moved and then deleted, or moved back, was not moved.
pub(in crate::pipeline::plan::request_tree) fn final_plans(plans: Vec<FilePlan>) -> Vec<FilePlan> {
    let origins = plans.iter().filter_map(|plan| plan.source_file.as_ref().filter(|origin| carries(plan, origin)));
    let gone: HashSet<PathBuf> =
        origins.filter(|origin| !origin.copied).map(|origin| origin.place.absolute().to_owned()).collect();
    plans.into_iter().map(|plan| without_lost_source(&gone, plan)).collect()
}

/// Returns a plan without a source that it no longer has.
fn without_lost_source(gone: &HashSet<PathBuf>, mut plan: FilePlan) -> FilePlan {
    let carried = plan.source_file.as_ref().is_none_or(|origin| carries(&plan, origin));
    let moved_on = plan.target == TargetState::Nothing && gone.contains(plan.place.absolute());
    if plan.target == TargetState::Nothing && (!carried || plan.is_move_source != moved_on) {
        return FilePlan {
            is_move_source: moved_on,
            outcome: PlanOutcome { notes: plan.outcome.notes, ..PlanOutcome::default() },
            ..FilePlan::replace_entry(plan.place, plan.current, TargetState::Nothing)
        };
    }
    if !carried {
        plan.source_file = None;
    }
    plan
}

/// True for a plan that has the text of another file.
fn carries(plan: &FilePlan, origin: &SourceFile) -> bool {
    plan.target != TargetState::Nothing && origin.place.absolute() != plan.place.absolute()
}
