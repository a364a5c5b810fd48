//! Old text with lines of dots (`...`) that is indented differently from the file.

use crate::locate::elided;
use crate::locate::find::{self, SearchIndex, TextMatches, Tier, is_gap};
use crate::locate::op::{ExpectedMatches, Matching, ResolveSettings, TextQuery};
use crate::work::{self, STEP_BYTES};
use memchr::memmem;

/// Number of lines of the text that must be in the file for the conversion to be tried.
const CHECKED_LINES: usize = 16;
/// Steps of work for each byte of a file whose lines are put into tables.
const TABLE_STEPS: usize = 14;

const CONVERTED_NOTE: &str = "Found at another indentation; old and new text were converted to the file's.";

/// Finds text with lines of dots in the indentation of the file. If there are several ways to convert it, all must lead
/// to one edit.
pub(super) fn find_elided(
    index: &SearchIndex<'_>,
    find: &TextQuery,
    new: &str,
    settings: ResolveSettings,
) -> Option<TextMatches> {
    let is_open =
        settings.matching == Matching::Standard && !settings.stale && find.expected == ExpectedMatches::Unique;
    if !is_open || work::spend_or_end(1 + find.old.len() / STEP_BYTES) || !find.old.lines().any(is_gap) {
        return None;
    }
    let text = index.base().text();
    let is_there = |line: &str| is_gap(line) || memmem::find(text.as_bytes(), line.trim().as_bytes()).is_some();
    if !find.old.lines().take(CHECKED_LINES).all(is_there) || work::spend_or_end(TABLE_STEPS * text.len()) {
        return None;
    }
    let pairs = elided::reindented(text, &find.old, new);
    let mut found = pairs.into_iter().filter_map(|(old, new)| {
        let query = TextQuery { old, ..find.clone() };
        find::find_in(index, &query, &new, settings, None).ok().filter(|found| found.tier == Tier::Elision)
    });
    let mut only = found.next()?;
    if found.any(|other| other.matches != only.matches) {
        return None;
    }
    only.notes.push_front(CONVERTED_NOTE);
    Some(only)
}
