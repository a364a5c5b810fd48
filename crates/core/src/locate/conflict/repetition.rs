//! Operations of a call that occur twice.

use super::{Clash, ConflictKind};
use crate::error::Result;
use crate::locate::op::{HunkLine, Locator, Op};
use crate::locate::resolve::PlacedOp;
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// The target of an operation: its text and hints. Equal texts with different hints may be different places.
pub(super) type OpTarget<'a> = (&'a str, Option<usize>, Option<&'a str>);

/// Returns the target of an operation that searches for a text, or that fills a blank file, whose text is empty.
pub(super) fn target(op: &Op) -> Option<OpTarget<'_>> {
    match &op.at {
        Locator::Find(find) => Some((&find.old, find.line, find.at.as_deref())),
        Locator::Blank => Some(("", None, None)),
        _ => None,
    }
}

/// For each operation, returns the earlier one that is identical, if any.
pub(crate) fn repetitions(ops: &[Op]) -> Vec<Option<usize>> {
    let mut repeated = vec![None; ops.len()];
    if ops.len() < 2 {
        return repeated;
    }
    let mut first = DuplicateIndex::default();
    for (index, op) in ops.iter().enumerate() {
        if let Some(own) = target(op) {
            let key = xxh3_64(own.0.as_bytes()) ^ xxh3_64(op.text.as_bytes()).rotate_left(32);
            let is_same = |other: usize| target(&ops[other]) == Some(own) && ops[other].text == op.text;
            repeated[index] = Some(first.of(key, index, is_same)).filter(|&known| known < index);
        }
    }
    repeated
}

/// Finds hunks that are identical to an earlier one and have the same place. It is not known whether the second one is a
/// slip, or is meant for lines that the file does not have.
pub(super) fn repeated_hunks(ops: &[Op], placed: &[Result<PlacedOp>]) -> Vec<Clash> {
    let mut first = DuplicateIndex::default();
    let mut out = Vec::new();
    for (index, own) in placed.iter().enumerate() {
        let (Locator::Hunk(hunk), Ok(own)) = (&ops[index].at, own) else { continue };
        let Some(splice) = own.splices.first() else { continue };
        let is_same = |other: usize| {
            is_hunk_of(&ops[other], &hunk.lines) && placed[other].as_ref().is_ok_and(|it| has_same_places(own, it))
        };
        let known = first.of(((splice.span.start() as u64) << 32) ^ splice.span.len() as u64, index, is_same);
        if known < index {
            out.push((ConflictKind::Overlap, known, index));
        }
    }
    out
}

/// Returns whether a hunk occurs twice among the operations.
pub(crate) fn has_repeated_hunks(ops: &[Op]) -> bool {
    let mut first = DuplicateIndex::default();
    ops.iter().enumerate().any(|(index, op)| {
        let Locator::Hunk(hunk) = &op.at else { return false };
        let key = xxh3_64(hunk.old_text().as_bytes()) ^ xxh3_64(hunk.new_text().as_bytes()).rotate_left(32);
        first.of(key, index, |other| is_hunk_of(&ops[other], &hunk.lines)) < index
    })
}

fn is_hunk_of(op: &Op, lines: &[HunkLine]) -> bool {
    matches!(&op.at, Locator::Hunk(hunk) if hunk.lines == lines)
}

/// Returns whether two operations replace the same text by the same.
fn has_same_places(one: &PlacedOp, other: &PlacedOp) -> bool {
    one.splices.len() == other.splices.len()
        && one.splices.iter().zip(&other.splices).all(|(a, b)| a.span == b.span && a.text == b.text)
}

/// Finds the first of several equal items, by a hash that is much faster than that of the standard map; only items with
/// equal hashes are compared.
#[derive(Default)]
pub(super) struct DuplicateIndex(HashMap<u64, usize>);

impl DuplicateIndex {
    pub(super) fn of(&mut self, key: u64, index: usize, same: impl Fn(usize) -> bool) -> usize {
        let mut key = key;
        loop {
            match *self.0.entry(key).or_insert(index) {
                first if first == index || same(first) => return first,
                // Two different items have the same hash.
                _ => key = key.wrapping_add(1),
            }
        }
    }
}
