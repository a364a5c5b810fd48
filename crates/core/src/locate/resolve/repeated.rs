//! Identical replacements, one for each place of their text: in any order of the places the result is the same.

use super::{number, place};
use crate::locate::conflict;
use crate::locate::find::{SearchIndex, Tier};
use crate::locate::op::{ExpectedMatches, Locator, Op, ResolveSettings};
use crate::text::snapshot::Snapshot;
use std::collections::BTreeMap;

/// Returns the operations with the number of places for repeated ones, if their text occurs as often as they do.
pub(super) fn for_each_place(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Option<Vec<Op>> {
    let repeated = conflict::repetitions(ops);
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, first) in repeated.iter().enumerate() {
        if let Some(first) = first {
            groups.entry(*first).or_insert_with(|| vec![*first]).push(index);
        }
    }
    if groups.is_empty() {
        return None;
    }
    let shared = SearchIndex::new(base);
    let mut out: Option<Vec<Op>> = None;
    for group in groups.values() {
        let Some(counted) = counted(&ops[group[0]], group.len()) else { continue };
        let placed = place(&shared, &counted, None, number(group[0]), settings);
        if placed.is_ok_and(|it| it.found.tier == Tier::Exact && it.places() == group.len()) {
            let ops = out.get_or_insert_with(|| ops.to_vec());
            for &index in group {
                ops[index] = counted.clone();
            }
        }
    }
    out
}

/// Returns the operation with a number of places; `None` if something else determines its place.
fn counted(op: &Op, count: usize) -> Option<Op> {
    let mut op = op.clone();
    let Locator::Find(find) = &mut op.at else { return None };
    let is_free = find.expected == ExpectedMatches::Unique && find.line.is_none() && find.at.is_none();
    find.expected = ExpectedMatches::Exactly(count);
    is_free.then_some(op)
}
