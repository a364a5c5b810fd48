//! Atomic moves: a file that is moved away is placed, put back, or reported as deleted.

use crate::plan::{Becomes, Origin, Plan};
use crate::tree::Tree;
use emendate_core::{FileMode, Op, Result};
use emendate_fs::Place;
use std::collections::HashSet;
use std::path::PathBuf;

/// The plans of the earlier steps, as far as one more move can change them.
struct Saved {
    plans: Vec<(usize, Plan)>,
    count: usize,
    lifted: HashSet<usize>,
}

impl Tree<'_> {
    /// Moves a file. If this step fails and may be skipped, none of its plans remain, in particular not the removal at
    /// the source. If another step has already used the freed path, no step can be skipped.
    pub(in crate::tree) fn moved(
        &mut self,
        step: usize,
        (from, to): (&Place, &Place),
        ops: &[Op],
        mode: Option<FileMode>,
    ) -> Result<()> {
        let taken = self.lifted.contains_key(&step);
        let saved = self.options.partial.then(|| self.saved([from, to]));
        let done = self.carry(step, (from, to), ops, false, mode);
        if let (Err(_), Some(saved)) = (&done, saved) {
            self.stuck |= taken;
            self.put_back(saved);
        }
        done
    }

    fn saved(&self, places: [&Place; 2]) -> Saved {
        let known = places.into_iter().filter_map(|place| self.plan_at(place));
        let plans = known.map(|at| (at, self.plans[at].clone())).collect();
        Saved { plans, count: self.plans.len(), lifted: self.lifted.keys().copied().collect() }
    }

    fn put_back(&mut self, saved: Saved) {
        for plan in self.plans.drain(saved.count..) {
            self.at.remove(plan.place.absolute());
        }
        for (at, plan) in saved.plans {
            self.plans[at] = plan;
        }
        self.lifted.retain(|step, _| saved.lifted.contains(step));
    }
}

/// Returns the combined plans of all steps: a file that was moved and then deleted, or moved back, was not moved.
pub(in crate::tree) fn settled(plans: Vec<Plan>) -> Vec<Plan> {
    let carries = |plan: &Plan, origin: &Origin| {
        plan.becomes != Becomes::Nothing && origin.place.absolute() != plan.place.absolute()
    };
    let origins = plans.iter().filter_map(|plan| plan.origin.as_ref().filter(|origin| carries(plan, origin)));
    let gone: HashSet<PathBuf> =
        origins.filter(|origin| !origin.copied).map(|origin| origin.place.absolute().to_owned()).collect();
    let settle = |mut plan: Plan| {
        let carried = plan.origin.as_ref().is_none_or(|origin| carries(&plan, origin));
        let moved_on = plan.becomes == Becomes::Nothing && gone.contains(plan.place.absolute());
        if plan.becomes == Becomes::Nothing && (!carried || plan.moved_on != moved_on) {
            return Plan { moved_on, notes: plan.notes, ..Plan::other(plan.place, plan.now, Becomes::Nothing) };
        }
        if !carried {
            plan.origin = None;
        }
        plan
    };
    plans.into_iter().map(settle).collect()
}
