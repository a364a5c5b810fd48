//! Moves and copies: a file is taken from its path, optionally edited, and placed at another path.

mod whole;

pub(super) use whole::settled;

use super::Tree;
use crate::plan::{Becomes, Now, Origin, Plan, copy_of, edit_more};
use crate::seen::Base;
use crate::stale;
use crate::standing::{gone, occupied};
use crate::target::Target;
use emendate_core::{Ask, ChangeSet, Code, Error, FileMode, Handle, Op, Order, Result};
use emendate_fs::{Place, shown};

impl Tree<'_> {
    /// Moves or copies a file, with optional edits.
    pub(super) fn carry(
        &mut self,
        step: usize,
        (from, to): (&Place, &Place),
        ops: &[Op],
        copied: bool,
        mode: Option<FileMode>,
    ) -> Result<()> {
        if from.absolute() == to.absolute() {
            let at = self.edit(from, ops, Order::AsNeeded).map_err(|error| self.taught(from, ops, error))?;
            self.plans[at]
                .notes
                .push("The file is already at the path it was to be moved to; it was edited there.".to_owned());
            return Ok(());
        }
        let mut plan = self.lift(step, from, ops, copied)?;
        if let Some(Handle::Lines(header, _) | Handle::Headed(header, _)) = self.bases.get(from.absolute()) {
            plan.header = Some(*header);
        }
        // The entry at the target may be moved away in this same request.
        if let Some(later) = self.leaving(step, to) {
            let Target { place, ask, .. } = &self.targets[later];
            if let Ask::Move { ops, .. } = ask {
                let lifted = self.lift(later, place, ops, false)?;
                self.lifted.insert(later, lifted);
            }
        }
        plan.now = self.landing(to)?;
        plan.place = to.clone();
        plan.executable = mode.map(|mode| mode == FileMode::Executable);
        self.add(plan);
        Ok(())
    }

    /// Returns the later step that moves the entry at a path away.
    fn leaving(&self, step: usize, place: &Place) -> Option<usize> {
        let later = self.targets.iter().enumerate().skip(step + 1);
        let mut moves = later.filter(|(nth, target)| {
            matches!(target.ask, Ask::Move { .. })
                && target.place.absolute() == place.absolute()
                // A move onto itself frees nothing.
                && target.to.as_ref().is_some_and(|to| to.absolute() != place.absolute())
                && !self.lifted.contains_key(nth)
        });
        // An entry that an earlier step leaves there, or is yet to place there, is not affected by this one.
        moves.next().map(|(nth, _)| nth).filter(|_| self.plan_at(place).is_none() && self.engine.is_there(place))
    }

    /// Takes a file from its path; the remaining plan deletes it, unless it is copied.
    fn lift(&mut self, step: usize, from: &Place, ops: &[Op], copied: bool) -> Result<Plan> {
        if let Some(plan) = self.lifted.remove(&step) {
            return Ok(plan);
        }
        if let Some(target) = self.engine.store().link(from)?.filter(|_| self.plan_at(from).is_none()) {
            if !ops.is_empty() {
                return Err(Error::new(Code::PathSymlink, "The file to be moved and edited is a symbolic link.")
                    .evidence(format!("{} -> {}", from.shown(), shown(target)))
                    .next("Edit the file that it leads to, or move the link without edits."));
            }
            let becomes = Becomes::Link(target.clone());
            if !copied {
                let mut left = Plan::other(from.clone(), Now::Link(target), Becomes::Nothing);
                left.moved_on = true;
                self.add(left);
            }
            return Ok(Plan { origin: Some(origin(from, copied)), ..Plan::other(from.clone(), Now::Nothing, becomes) });
        }
        if copied {
            return self.copied(from, ops);
        }
        let at = self.edit(from, ops, Order::AsNeeded).map_err(|error| self.taught(from, ops, error))?;
        let mut carried = copy_of(&self.plans[at]);
        // A file created by this same call has no source.
        let made = self.plans[at].creates();
        carried.origin = self.plans[at].origin.take().or_else(|| (!made).then(|| origin(from, false)));
        let left = &mut self.plans[at];
        left.becomes = Becomes::Nothing;
        left.moved_on = true;
        left.ops.clear();
        Ok(carried)
    }

    /// Copies a file as it was before the request, like git; a file created by the request, as it is at that step.
    fn copied(&mut self, from: &Place, ops: &[Op]) -> Result<Plan> {
        let at = if let Some(at) = self.plan_at(from) {
            at
        } else {
            let plan = self.load(from)?;
            self.add(plan)
        };
        let plan = &self.plans[at];
        let mut copy = match (&plan.now, &plan.becomes) {
            (Now::File(now), _) => {
                let before = now.snapshot.clone();
                let changes = ChangeSet::none(&before);
                Plan { before, changes, ..Plan::other(from.clone(), Now::Nothing, Becomes::File) }
            }
            (_, Becomes::Nothing) => return Err(gone(from)),
            _ => copy_of(plan),
        };
        edit_more(&mut copy, ops, Order::AsNeeded, self.options).map_err(|error| self.taught(from, ops, error))?;
        copy.origin = (!self.plans[at].creates()).then(|| origin(from, true));
        Ok(copy)
    }

    /// Returns the entry at the destination.
    fn landing(&mut self, to: &Place) -> Result<Now> {
        if let Some(at) = self.plan_at(to) {
            if self.plans[at].becomes != Becomes::Nothing {
                return Err(occupied(to));
            }
            return Ok(std::mem::replace(&mut self.plans[at].now, Now::Nothing));
        }
        match self.opened(to)? {
            None => Ok(Now::Nothing),
            Some(now) if self.options.overwrite => match self.engine.base(self.caller, self.options, to, &now)? {
                Base::Fresh { .. } => Ok(Now::File(now)),
                Base::Stale { .. } | Base::Lost => Err(stale::lost(self.engine, self.caller, to, &now)),
            },
            Some(_) => Err(occupied(to)),
        }
    }
}

fn origin(place: &Place, copied: bool) -> Origin {
    Origin { place: place.clone(), copied }
}
