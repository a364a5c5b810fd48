//! A definition that the placeholder beside new lines keeps, although nothing uses it after the edit: the new lines may be
//! meant to replace it, and the text does not show that it goes.

use super::placement::{FRAGMENT_STEPS, Placement, matched_lines, new_lines};
use super::{Fragment, TextPair, beside, fresh, indent, lossless};
use crate::work;
use core::ops::Range;
use std::collections::HashMap;

/// A definition next to new lines, as a zero-based line of the file.
struct Neighbour<'a> {
    name: &'a str,
    line: usize,
}

/// Refuses an edit that removes every use of a definition beside its new lines.
///
/// Errors: the reason, as sentences.
pub(super) fn check(
    texts: &TextPair<'_>,
    fragments: &[Fragment],
    placements: &[Option<Placement>],
) -> Result<(), String> {
    let mut changes: HashMap<&str, isize> = HashMap::new();
    let mut neighbours = Vec::new();
    for (fragment, placement) in fragments.iter().zip(placements) {
        let Some(place) = placement else { continue };
        if work::spend_or_end(FRAGMENT_STEPS + fragment.lines.len() + place.old.len()) {
            return Ok(());
        }
        let matched = matched_lines(texts, &fragment.lines, &place.old);
        let new = new_lines(texts, &fragment.lines, &matched);
        if new.clone().next().is_some() {
            neighbours.extend(neighbours_of(texts, fragment, &place.old));
        }
        let kept: Vec<usize> = matched.iter().flatten().copied().collect();
        let gone = place.old.clone().filter(|at| kept.binary_search(at).is_err()).map(|at| texts.old[at]);
        count_words(gone, -1, &mut changes);
        count_words(new, 1, &mut changes);
    }
    neighbours.retain(|it| changes.get(it.name).is_some_and(|change| *change < 0));
    if neighbours.is_empty() {
        return Ok(());
    }
    let mut uses = HashMap::new();
    count_words(texts.old.filled(), 1, &mut uses);
    let is_unused = |it: &&Neighbour<'_>| {
        let count = |words: &HashMap<&str, isize>| words.get(it.name).copied().unwrap_or_default();
        count(&uses) + count(&changes) <= 1
    };
    match neighbours.iter().find(is_unused) {
        None => Ok(()),
        Some(it) => Err(format!(
            "Nothing would use `{}` any more, which line {} of the file defines, so the new lines beside that placeholder \
             may or may not replace it. Show it if it stays, or two unchanged lines on each side of it without it.",
            it.name,
            it.line + 1
        )),
    }
}

/// Returns the definitions of the file in the gaps directly beside a place; the first or last line of the place may close
/// one.
fn neighbours_of<'a>(texts: &TextPair<'a>, fragment: &Fragment, place: &Range<usize>) -> Vec<Neighbour<'a>> {
    let above = fragment.gaps[0].and_then(|_| {
        let first = texts.old.filled_below(place.start.checked_sub(1)?)?;
        let ends_above = place.contains(&first) && beside::is_signs(texts.old[first]);
        let last = if ends_above { first } else { texts.old.filled_above(place.start)? };
        Some(fresh::definition_ending_at(texts.old, last, indent(texts.old[last])).start)
    });
    let below = fragment.gaps[1].and_then(|_| {
        let next = texts.old.filled_below(place.end.checked_sub(1)?)?;
        Some(fresh::definition_at(texts.old, next)?.header)
    });
    let named = |line: usize| Some(Neighbour { name: name(texts.old[line])?, line });
    above.into_iter().chain(below).filter_map(named).collect()
}

/// Returns the name that a line defines.
fn name(line: &str) -> Option<&str> {
    let name = beside::name_set(line).or_else(|| fresh::name(line))?;
    lossless::words(name).last()
}

/// Adds `each` for every occurrence of a word. Incomplete once the work has to end.
fn count_words<'a>(lines: impl Iterator<Item = &'a str>, each: isize, out: &mut HashMap<&'a str, isize>) {
    for line in lines.take_while(|line| !work::spend_or_end(1 + line.len())) {
        for word in lossless::words(line) {
            *out.entry(word).or_default() += each;
        }
    }
}
