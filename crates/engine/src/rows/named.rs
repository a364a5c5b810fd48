//! Line edits with anchors: resolved in the version that the numbers next to them refer to, or, without numbers, in the
//! current file, whatever changed around those lines.

use super::Subject;
use crate::caller::{OnStale, Unread};
use crate::engine::Engine;
use crate::seen::{self, Base};
use crate::stale;
use crate::worded;
use emendate_core::words::{Anchor, Misplaced, Page, Word, Words};
use emendate_core::{ChangeSet, Code, Error, Op, Result, Snapshot, rows};
use emendate_history::Lines;

const MOVED: &str =
    "The file changed since it was read; the lines named by words did not, and the edit was made where they are now.";

/// Edits by number, and the version that their numbers refer to.
pub(super) struct Looked {
    pub(super) ops: Vec<Op>,
    pub(super) base: Base,
    /// They were resolved in another version than was seen.
    pub(super) moved: bool,
}

impl Engine {
    /// Replaces anchors by line numbers. The lines must have been shown unchanged.
    ///
    /// Errors: `match.not_found`, `read.partial`, `stale.changed`; the lines in question are shown and count as read.
    pub(super) fn by_number(&self, subject: &Subject<'_>, base: Base, ops: &[Op]) -> Result<Looked> {
        let Subject { caller, place, now, options, .. } = *subject;
        let words = self.words(place, &now.snapshot)?;
        let page = Page::new(&now.snapshot, words.all()).with_past(&words);
        let refused = |lines: &Lines, failures: Vec<Misplaced>| {
            let shown = worded::Shown { caller, place, now, words: words.all(), marks: worded::marks(options), lines };
            self.misplaced(&shown, failures, ops.len())
        };
        match base {
            Base::Fresh { lines, note } => {
                let found = looked_up(&words, &page, ops).and_then(|found| all_shown(subject, &lines, ops, found));
                let ops = found.map_err(|failures| refused(&lines, failures))?;
                Ok(Looked { ops, base: Base::Fresh { lines, note }, moved: false })
            }
            Base::Stale { seen, lines } => {
                let Some(had) = words.of_text(seen.text()) else {
                    return Err(stale::lost(self, caller, place, now));
                };
                let theirs = ChangeSet::between(&seen, &now.snapshot);
                let known = seen::carried(&lines, &seen, &theirs);
                let then = Page::new(&seen, &had);
                // A deleted line is reported as such, not as an anchor of an old version.
                let there = if rows::are_by_word(ops) { looked_up(&words, &page, ops) } else { Ok(Vec::new()) };
                let there = there.map_err(|failures| refused(&known, failures))?;
                let found = looked_up(&words, &then, ops).and_then(|found| all_shown(subject, &lines, ops, found));
                let found = found.map_err(|failures| self.at_that_time(subject, &seen, failures, ops.len()))?;
                if there.is_empty() || options.on_stale == OnStale::Reject {
                    return Ok(Looked { ops: found, base: Base::Stale { seen, lines }, moved: false });
                }
                let same = unbroken((&then, &found), (&page, &there));
                same.map_err(|failures| refused(&known, failures))?;
                let base = Base::Fresh { lines: known, note: Some(MOVED.to_owned()) };
                Ok(Looked { ops: there, base, moved: true })
            }
            Base::Lost => Err(stale::lost(self, caller, place, now)),
        }
    }

    /// Creates the error for failures in a version that is not the current one: its lines cannot be marked as shown.
    fn at_that_time(&self, subject: &Subject<'_>, seen: &Snapshot, failures: Vec<Misplaced>, of: usize) -> Error {
        let spans: Vec<(usize, usize)> = failures.iter().filter_map(|it| it.show).collect();
        let error = Error::all(failures.into_iter().map(|it| it.error).collect(), of);
        let error = error.unwrap_or_else(|| stale::lost(self, subject.caller, subject.place, subject.now));
        let excerpt = rows::excerpt(seen, &spans);
        let error = if spans.is_empty() { error } else { error.evidence(excerpt.text) };
        error.next("The file has changed since, too: read it again, and use the words it has now.")
    }
}

fn looked_up(words: &Words, page: &Page<'_>, ops: &[Op]) -> std::result::Result<Vec<Op>, Vec<Misplaced>> {
    let is_spent = |word: Word| words.is_spent(word);
    rows::by_number(ops, |word| page.line(&Anchor { word, line: None }, &is_spent))
}

/// Accepts edits that name only lines by anchors that were shown.
fn all_shown(
    subject: &Subject<'_>,
    lines: &Lines,
    ops: &[Op],
    found: Vec<Op>,
) -> std::result::Result<Vec<Op>, Vec<Misplaced>> {
    let unseen = |(op, found): (&Op, &Op)| {
        let (rows, (from, to)) = (rows::of(op)?, rows::of(found)?.named()?);
        let known = subject.caller.unread == Unread::Allow || lines.covers(from as u64, to as u64);
        (!known && !rows.words.is_none()).then(|| refusal(&rows.said, Code::ReadPartial, NEVER, (from, to)))
    };
    let failures: Vec<Misplaced> = ops.iter().zip(&found).filter_map(unseen).collect();
    if failures.is_empty() { Ok(found) } else { Err(failures) }
}

const NEVER: &str = "it names lines that were never shown, or that are new since then.";
const BROKEN: &str = "lines between its ends were removed, added or moved since they were shown.";

/// Finds the same lines in both versions, with nothing new between them.
fn unbroken(
    (then, before): (&Page<'_>, &[Op]),
    (page, there): (&Page<'_>, &[Op]),
) -> std::result::Result<(), Vec<Misplaced>> {
    let broken = |(before, there): (&Op, &Op)| {
        let (old, new) = (rows::of(before)?.named()?, rows::of(there)?);
        let now = new.named()?;
        let same = then.words(old.0, old.1) == page.words(now.0, now.1);
        (!same).then(|| refusal(&new.said, Code::StaleChanged, BROKEN, now))
    };
    let failures: Vec<Misplaced> = before.iter().zip(there).filter_map(broken).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

fn refusal(said: &str, code: Code, why: &str, show: (usize, usize)) -> Misplaced {
    let error = Error::new(code, format!("`{said}`: {why}"))
        .next("The lines are shown now: send the same edit again if these are the lines you mean.");
    Misplaced { error, show: Some(show) }
}
