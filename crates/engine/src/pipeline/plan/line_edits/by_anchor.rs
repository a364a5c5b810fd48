//! Line edits with anchors: resolved in the version that the numbers next to them refer to, or, without numbers, in the
//! current file, whatever changed around those lines.

use crate::context::options::CallOptions;
use crate::pipeline::plan::anchor_edits::{self, AnchoredView, NEVER_SHOWN, anchor_map, shown_refusal};
use crate::pipeline::plan::line_edits::LinePlacement;
use crate::pipeline::plan::placement::{EditedFile, PlacedEdits, PlacementStrategy};
use crate::session::base::{self, KnownLines};
use emendate_core::anchor_map::{AnchorMap, AnchorPage, AnchorRef, AnchorWord, PlacementError};
use emendate_core::line_edits::LineMap;
use emendate_core::{ChangeSet, Code, Error, Note, Notes, Op, Result, Snapshot, line_edits};
use emendate_history::LineSet;
use std::borrow::Cow;

/// Edits of lines by their anchors: the lines are looked up, and then edited by their numbers. They must have been shown
/// unchanged.
pub(super) struct AnchorPlacement<'a> {
    pub(super) ops: &'a [Op],
    pub(super) numbered: LinePlacement<'a>,
}

impl PlacementStrategy for AnchorPlacement<'_> {
    /// Errors: `match.not_found`, `read.partial`; the lines in question are shown and count as read.
    fn in_current(&mut self, file: &EditedFile<'_>, known: KnownLines) -> Result<PlacedEdits> {
        let EditedFile { call, path, now, .. } = file;
        let words = anchor_map(call, path, &now.snapshot)?;
        let page = AnchorPage::new(&now.snapshot, words.words()).with_tombstones(&words);
        let found = without_copied_words(file, &page, self.ops, &mut self.numbered.notes)
            .and_then(|ops| look_up_targets(&words, &page, &ops))
            .and_then(|found| all_shown(file, &known.lines, self.ops, found));
        let found = found.map_err(|failures| {
            let view = AnchoredView { file, words: words.words(), lines: &known.lines };
            view.refusal(failures, self.ops.len())
        })?;
        self.numbered.ops = found.into();
        self.numbered.in_current(file, known)
    }

    /// Errors: as in the current text, and `stale.changed` if lines between the ends of a range changed, or another change
    /// has made the edit.
    fn in_seen(&mut self, file: &EditedFile<'_>, seen: &Snapshot, lines: LineSet) -> Result<PlacedEdits> {
        let EditedFile { call, path, now, .. } = file;
        let words = anchor_map(call, path, &now.snapshot)?;
        let page = AnchorPage::new(&now.snapshot, words.words()).with_tombstones(&words);
        let Some(had) = words.words_of_text(seen.text()) else { return Err(file.version_unavailable()) };
        let theirs = ChangeSet::diff(seen, &now.snapshot);
        let known = base::carry_lines(&lines, seen, &theirs);
        let then = AnchorPage::new(seen, &had);
        let bare = without_copied_words(file, &then, self.ops, &mut self.numbered.notes);
        let ops = &*bare.map_err(|failures| past_version_refusal(file, seen, failures, self.ops.len()))?;
        // A deleted line is reported as such, not as an anchor of an old version.
        let there =
            if line_edits::are_all_by_anchor(ops) { look_up_targets(&words, &page, ops) } else { Ok(Vec::new()) };
        let shown = AnchoredView { file, words: words.words(), lines: &known };
        let there = there.map_err(|failures| shown.refusal(failures, ops.len()))?;
        let found = look_up_targets(&words, &then, ops).and_then(|found| all_shown(file, &lines, ops, found));
        let found = found.map_err(|failures| past_version_refusal(file, seen, failures, ops.len()))?;
        if there.is_empty() || !self.numbered.carries_over(file.options) {
            self.numbered.ops = found.into();
            return if self.numbered.carries_over(file.options) {
                self.numbered.in_seen(file, seen, lines)
            } else {
                Err(self.numbered.refuse(file, true))
            };
        }
        unbroken(&then, &found, &page, &there).map_err(|failures| shown.refusal(failures, ops.len()))?;
        let changed = LineMap::new(seen, &now.snapshot, &theirs);
        let unmade = there.into_iter().map(|op| anchor_edits::check_unmade(&changed, op));
        let there = unmade.collect::<Result<Vec<Op>, _>>().map_err(|made| shown.refusal(vec![made], ops.len()))?;
        (self.numbered.ops, self.numbered.moved) = (there.into(), true);
        self.numbered.in_current(file, KnownLines { lines: known, note: Some(Note::AnchorsMoved) })
    }

    /// Lines that moved are found by their words, which is not a merge.
    fn carries_over(&self, _: &CallOptions) -> bool {
        true
    }
}

/// Creates the error for failures in a version that is not the current one: its lines cannot be marked as shown.
fn past_version_refusal(file: &EditedFile<'_>, seen: &Snapshot, failures: Vec<PlacementError>, of: usize) -> Error {
    let spans: Vec<(usize, usize)> = failures.iter().filter_map(|it| it.show).collect();
    let error = Error::combine(failures.into_iter().map(|it| it.error).collect(), of);
    let error = error.unwrap_or_else(|| file.version_unavailable());
    let excerpt = line_edits::excerpt(seen, &spans);
    let error = if spans.is_empty() { error } else { error.evidence(excerpt.text) };
    error.next("The file has changed since, too: read it again, and use the words it has now.")
}

/// Removes words that were copied before new rows.
fn without_copied_words(
    file: &EditedFile<'_>,
    page: &AnchorPage<'_>,
    ops: &[Op],
    notes: &mut Notes,
) -> std::result::Result<Vec<Op>, Vec<PlacementError>> {
    let bare = ops.iter().map(|op| anchor_edits::without_copied_words(file, page, op, notes).map(Cow::into_owned));
    bare.collect::<Result<_, _>>().map_err(|refusal| vec![refusal])
}

fn look_up_targets(
    words: &AnchorMap,
    page: &AnchorPage<'_>,
    ops: &[Op],
) -> std::result::Result<Vec<Op>, Vec<PlacementError>> {
    let is_spent = |word: AnchorWord| words.is_tombstone(word);
    line_edits::by_number(ops, |word| page.line(&AnchorRef { word, line: None }, &is_spent))
}

/// Accepts edits that name only lines by anchors that were shown.
fn all_shown(
    file: &EditedFile<'_>,
    lines: &LineSet,
    ops: &[Op],
    found: Vec<Op>,
) -> std::result::Result<Vec<Op>, Vec<PlacementError>> {
    let failures: Vec<PlacementError> =
        ops.iter().zip(&found).filter_map(|(op, found)| unseen_refusal(file, lines, op, found)).collect();
    if failures.is_empty() { Ok(found) } else { Err(failures) }
}

/// Refuses lines that the caller was never shown.
fn unseen_refusal(file: &EditedFile<'_>, lines: &LineSet, op: &Op, found: &Op) -> Option<PlacementError> {
    let (rows, (from, to)) = (line_edits::of(op)?, line_edits::of(found)?.named_lines()?);
    let known = file.call.caller.allows_unread() || lines.covers(from as u64, to as u64);
    let what = || format!("`{}`: {NEVER_SHOWN}", rows.source_text);
    (!known && !rows.anchors.is_empty()).then(|| shown_refusal(Code::ReadPartial, what(), from, to))
}

const RANGE_BROKEN: &str = "lines between its ends were removed, added or moved since they were shown.";

/// Finds the same lines in both versions, with nothing new between them.
fn unbroken(
    then: &AnchorPage<'_>,
    before: &[Op],
    page: &AnchorPage<'_>,
    there: &[Op],
) -> std::result::Result<(), Vec<PlacementError>> {
    let failures: Vec<PlacementError> =
        before.iter().zip(there).filter_map(|(before, there)| broken_refusal(then, page, before, there)).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// Refuses a range with other lines than the caller saw.
fn broken_refusal(then: &AnchorPage<'_>, page: &AnchorPage<'_>, before: &Op, there: &Op) -> Option<PlacementError> {
    let (old, new) = (line_edits::of(before)?.named_lines()?, line_edits::of(there)?);
    let now = new.named_lines()?;
    let same = then.words(old.0, old.1) == page.words(now.0, now.1);
    let what = || format!("`{}`: {RANGE_BROKEN}", new.source_text);
    (!same).then(|| shown_refusal(Code::StaleChanged, what(), now.0, now.1))
}
