//! Operations of a call that occur twice.

use super::{Clash, ConflictKind};
use crate::error::Result;
use crate::locate::op::{HunkLineKind, Locator, Op};
use crate::locate::resolve::PlacedOp;
use crate::text::fold::{self, Normalization};
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
            matches!(&ops[other].at, Locator::Hunk(it) if it.lines == hunk.lines)
                && placed[other].as_ref().is_ok_and(|it| has_same_places(own, it))
        };
        let known = first.of(((splice.span.start() as u64) << 32) ^ splice.span.len() as u64, index, is_same);
        if known < index {
            out.push((ConflictKind::Overlap, known, index));
        }
    }
    out
}

/// Returns the edits that occur twice among the operations, perhaps typed with other blanks or quotes, so that they might be
/// made again in their own result. An identical edit by text is not found there unless its new text has the old one.
pub(crate) fn repeated_edits(ops: &[Op]) -> Vec<RepeatedEdit> {
    let identical = repetitions(ops);
    let is_repeatable = |index: &usize| match &ops[*index].at {
        Locator::Find(find) => identical[*index].is_none() || ops[*index].text.contains(find.old.trim()),
        _ => true,
    };
    let mut first = DuplicateIndex::default();
    let repeated = (0..ops.len()).filter(is_repeatable).filter_map(|index| {
        let own = retyped(&ops[index])?;
        let is_same = |other: usize| retyped(&ops[other]).is_some_and(|it| it == own);
        let known = first.of(xxh3_64(own.as_bytes()), index, is_same);
        (known < index).then_some(RepeatedEdit { first: known, again: index })
    });
    repeated.collect()
}

/// An edit that occurs twice: the indices of both operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepeatedEdit {
    pub(crate) first: usize,
    pub(crate) again: usize,
}

/// Returns the lines of a hunk, or both texts of an edit, in the form that remains if they are typed again: without
/// indentation and runs of blanks, and with plain quotes and dashes.
fn retyped(op: &Op) -> Option<String> {
    let mut form = String::new();
    let mut push = |sign: char, line: &str| {
        form.push(sign);
        form.push_str(&fold::normalize(line, Normalization::BlankRuns));
        form.push('\n');
    };
    match &op.at {
        Locator::Hunk(hunk) => hunk.lines.iter().for_each(|line| push(sign_of(line.kind), &line.text)),
        Locator::Find(find) => {
            find.old.lines().for_each(|line| push('<', line));
            op.text.lines().for_each(|line| push('>', line));
        }
        _ => return None,
    }
    Some(form)
}

fn sign_of(kind: HunkLineKind) -> char {
    match kind {
        HunkLineKind::Context | HunkLineKind::Bare => ' ',
        HunkLineKind::Added => '+',
        HunkLineKind::Removed => '-',
    }
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
