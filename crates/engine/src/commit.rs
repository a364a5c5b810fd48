//! Hops 7 and 8: what was planned for all files becomes visible together, and the session knows what it wrote.

use crate::caller::{Caller, Unread};
use crate::engine::Engine;
use crate::plan::{Becomes, Now, Plan};
use crate::receipt::{self, Receipt};
use crate::seen;
use crate::stale;
use emendate_core::{ContentId, Result};
use emendate_fs::{Draft, Written};
use emendate_history::{Body, Limits};
use std::ops::Range;

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

    /// Hop 8: the session knows what it wrote; the receipts say what happened.
    pub(crate) fn settle(&self, caller: &Caller, plans: Vec<Plan>, written: Vec<Option<Written>>) -> Vec<Receipt> {
        let one = |(plan, written): (Plan, Option<Written>)| match written {
            Some(written) => self.settle_one(caller, plan, written),
            None => Receipt::new(plan, None, false),
        };
        plans.into_iter().zip(written).map(one).collect()
    }

    fn settle_one(&self, caller: &Caller, mut plan: Plan, written: Written) -> Receipt {
        plan.notes.extend(written.notes.iter().cloned());
        if plan.becomes != Becomes::File {
            return Receipt::new(plan, Some((ContentId::of(b""), written)), false);
        }
        if !plan.lines.is_all() {
            // What the reply shows, the caller knows.
            let hunks = stale::reply_hunks(&plan.before, &plan.changes);
            if !receipt::is_cut(&hunks) {
                plan.lines.union(&seen::shown(&hunks));
            }
        }
        let content = ContentId::of_pieces(plan.changes.pieces(plan.before.raw()));
        let record = seen::written(content, written.stamp, plan.lines.clone());
        let splices: Vec<(Range<usize>, &[u8])> =
            plan.changes.splices().iter().map(|splice| (splice.span.range(), &*splice.text)).collect();
        let full = || plan.changes.apply(&plan.before);
        // What is too large is remembered by identity only, and so is what a person writes on top of a version that was
        // not kept: to put such contents together would be for nothing.
        let large = plan.before.raw().len() as u64 > Limits::default().blob;
        let keep = !large && (caller.unread == Unread::Deny || !matches!(plan.now, Now::File(_)));
        let base = if plan.creates() && plan.origin.is_none() { content } else { plan.before.id() };
        let body = Body::Change { base, splices: &splices, full: if keep { Some(&full) } else { None } };
        let trouble = self.remember(caller, &plan.place, &record, &body);
        plan.notes.extend(trouble);
        Receipt::new(plan, Some((content, written)), false)
    }

    /// Keeps the buffers of a plan that has served.
    pub(crate) fn finish(&self, plan: Plan) {
        drop(plan.before);
        if let Now::File(now) = plan.now {
            self.recycle(now.snapshot);
        }
    }
}
