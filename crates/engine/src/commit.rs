//! Hops 7 and 8: what was planned for all files becomes visible together, and the session knows what it wrote.

use crate::caller::Caller;
use crate::engine::Engine;
use crate::log::Cause;
use crate::plan::{Becomes, Now, Plan};
use crate::receipt::{self, Receipt};
use crate::seen;
use crate::stale;
use emendate_core::{ContentId, Result};
use emendate_fs::{Draft, Stamp, Written};
use emendate_history::{OperationId, Record};

impl Engine {
    /// Hop 7: the only writer. Stages, checks again under the lock, publishes; all files or none. A plan that changes
    /// nothing is left out and has no entry in the answer.
    pub(crate) fn commit(&self, plans: &[Plan]) -> Result<Vec<Option<Written>>> {
        let writing: Vec<&Plan> = plans.iter().filter(|plan| plan.writes()).collect();
        let pieces: Vec<Vec<&[u8]>> =
            writing.iter().map(|plan| plan.changes.pieces(plan.before.raw()).collect()).collect();
        let drafts: Vec<Draft<'_>> = writing.iter().zip(&pieces).map(|(plan, pieces)| plan.draft(pieces)).collect();
        if drafts.is_empty() {
            return Ok(plans.iter().map(|_| None).collect());
        }
        let mut written = self.store().stage(&drafts, self.config().durability)?.commit()?.into_iter();
        Ok(plans.iter().map(|plan| if plan.writes() { written.next() } else { None }).collect())
    }

    /// Hop 8: the log and the session know what was written; the receipts say what happened.
    pub(crate) fn settle(
        &self,
        caller: &Caller,
        mut plans: Vec<Plan>,
        written: Vec<Option<Written>>,
        cause: Cause,
    ) -> (Vec<Receipt>, Option<OperationId>) {
        let known: Vec<Option<(Stamp, Option<Record>)>> = plans
            .iter_mut()
            .zip(&written)
            .map(|(plan, written)| written.as_ref().map(|written| (written.stamp, plan.known(written.stamp))))
            .collect();
        let (operation, trouble) = self.log(caller, cause, &plans, &known);
        let mut trouble = trouble.into_iter();
        let receipts = plans.into_iter().zip(written).zip(known).map(|((mut plan, written), known)| {
            let Some(written) = written else { return Receipt::new(plan, None, false) };
            plan.notes.extend(trouble.next());
            plan.notes.extend(written.notes.iter().cloned());
            let record = known.and_then(|(_, record)| record);
            let content = record.map_or_else(|| ContentId::of(b""), |record| record.content);
            Receipt::new(plan, Some((content, written)), false)
        });
        (receipts.collect(), operation)
    }

    /// Keeps the buffers of a plan that has served.
    pub(crate) fn finish(&self, plan: Plan) {
        drop(plan.before);
        if let Now::File(now) = plan.now {
            self.recycle(now.snapshot);
        }
    }
}

impl Plan {
    /// What the caller knows of the file once it is written: also what the reply shows. Nothing, when no file is there then.
    fn known(&mut self, stamp: Stamp) -> Option<Record> {
        if self.becomes != Becomes::File {
            return None;
        }
        if !self.lines.is_all() {
            let hunks = stale::reply_hunks(&self.before, &self.changes);
            if !receipt::is_cut(&hunks) {
                self.lines.union(&seen::shown(&hunks));
            }
        }
        let content = ContentId::of_pieces(self.changes.pieces(self.before.raw()));
        Some(seen::written(content, stamp, self.lines.clone()))
    }
}
