//! The edits that are in effect, now and at earlier moments: what all undos and redos in the log did to them.

use crate::context::Context;
use crate::context::history_stores::logged_operations;
use emendate_core::Result;
use emendate_history::{LogEntry, OperationFilter, OperationId, Role};
use std::collections::{BTreeMap, HashMap};

/// Edits, with whether each is in effect.
pub(super) type EffectMap = BTreeMap<OperationId, bool>;

/// The effects of the undos and redos of one log, which are replayed in their order. An operation may be about several
/// others, among them undos and redos, so it can take some edits back and bring others back.
#[derive(Default)]
pub(crate) struct EditEffects {
    /// The undos and redos that changed whether an edit is in effect, the oldest first.
    changes: HashMap<OperationId, Vec<EffectChange>>,
    /// For each undo and redo, the edits that it changed, as they were before it.
    before: HashMap<OperationId, EffectMap>,
}

#[derive(Clone, Copy)]
struct EffectChange {
    by: OperationId,
    is_in_effect: bool,
}

impl EditEffects {
    /// Errors: those of the session store.
    pub(crate) fn read(context: &Context, root: usize) -> Result<EditEffects> {
        let filter = OperationFilter { only_reversals: true, ..OperationFilter::default() };
        let all: Vec<LogEntry> = logged_operations(context.history(root), filter).collect::<Result<_>>()?;
        let mut effects = EditEffects::default();
        for logged in all.iter().rev() {
            effects.replay(logged);
        }
        Ok(effects)
    }

    fn replay(&mut self, reversal: &LogEntry) {
        let mut changed = self.after_undo(reversal.operation.undoes());
        changed.retain(|edit, is_in_effect| self.is_in_effect(*edit) != *is_in_effect);
        for (edit, is_in_effect) in &mut changed {
            let change = EffectChange { by: reversal.id, is_in_effect: *is_in_effect };
            self.changes.entry(*edit).or_default().push(change);
            *is_in_effect = !*is_in_effect;
        }
        self.before.insert(reversal.id, changed);
    }

    /// Returns the edits that an undo of these operations, the newest first, decides about.
    pub(super) fn after_undo(&self, undone: impl IntoIterator<Item = OperationId>) -> EffectMap {
        let mut after = EffectMap::new();
        for id in undone {
            match self.before.get(&id) {
                Some(before) => after.extend(before),
                None => drop(after.insert(id, false)),
            }
        }
        after
    }

    pub(super) fn is_in_effect(&self, edit: OperationId) -> bool {
        self.changes_of(edit).last().is_none_or(|change| change.is_in_effect)
    }

    /// True for an edit that was in effect right after the operation with this number.
    pub(super) fn was_in_effect(&self, edit: OperationId, moment: u64) -> bool {
        let last = self.changes_of(edit).iter().rev().find(|change| change.by.number <= moment);
        edit.number <= moment && last.is_none_or(|change| change.is_in_effect)
    }

    /// True for an edit that would be in effect if some of the operations since a moment had not been done. What the others
    /// made of it last remains.
    pub(super) fn is_in_effect_without(
        &self,
        edit: OperationId,
        moment: u64,
        is_left_out: impl Fn(OperationId) -> bool,
    ) -> bool {
        let is_counted = |by: OperationId| by.number <= moment || !is_left_out(by);
        let last = self.changes_of(edit).iter().rev().find(|change| is_counted(change.by));
        last.map_or_else(|| is_counted(edit), |change| change.is_in_effect)
    }

    /// Returns the last operation up to a moment that decided whether an edit is in effect: itself, if no undo did.
    pub(super) fn decided_by(&self, edit: OperationId, moment: u64) -> OperationId {
        let last = self.changes_of(edit).iter().rev().find(|change| change.by.number <= moment);
        last.map_or(edit, |change| change.by)
    }

    /// Returns the edits that an operation changed: itself, or those that an undo or redo took back or brought back.
    pub(super) fn changed_by(&self, logged: &LogEntry) -> impl Iterator<Item = OperationId> {
        let edit = (logged.operation.role == Role::Edit).then_some(logged.id);
        edit.into_iter().chain(self.before.get(&logged.id).into_iter().flat_map(|before| before.keys().copied()))
    }

    fn changes_of(&self, edit: OperationId) -> &[EffectChange] {
        self.changes.get(&edit).map_or(&[], Vec::as_slice)
    }
}
