//! A place of a fragment in the file.

use super::{Fragment, TextPair, pairs};
use core::ops::Range;

/// Steps of work for the lines of the file that are examined for a fragment, or for one end of it.
pub(super) const FRAGMENT_STEPS: usize = 100;

/// Lines of the file that a fragment replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) old: Range<usize>,
    /// True for the first and the last line if it is the edge of a symbol or of the file.
    pub(super) sure: [bool; 2],
    /// True if the first line closes a block that begins above a placeholder, which may hide the end of that block.
    pub(super) may_hide_end: bool,
}

/// A fragment with the lines of the file that it replaces.
pub(super) struct PlacedFragment<'f> {
    pub(super) fragment: &'f Fragment,
    pub(super) old: Range<usize>,
    /// For every line of the fragment, the line of the file that it matches.
    pub(super) matched: Vec<Option<usize>>,
}

impl<'f> PlacedFragment<'f> {
    pub(super) fn of(texts: &TextPair<'_>, fragment: &'f Fragment, placement: &Placement) -> PlacedFragment<'f> {
        let old = placement.old.clone();
        PlacedFragment { fragment, matched: matched_lines(texts, &fragment.lines, &old), old }
    }

    /// Returns the lines of the file that go.
    pub(super) fn removed(&self) -> impl Iterator<Item = usize> {
        // Lines are matched in their order.
        let mut kept = self.matched.iter().flatten().copied().peekable();
        self.old.clone().filter(move |at| kept.next_if_eq(at).is_none())
    }

    /// Steps of work to examine both sides.
    pub(super) fn steps(&self) -> usize {
        FRAGMENT_STEPS + self.fragment.lines.len() + self.old.len()
    }
}

/// True if a line of the text is not blank and occurs in the file.
pub(super) fn is_known(texts: &TextPair<'_>, at: usize) -> bool {
    !texts.new[at].trim().is_empty() && !texts.matching(at).is_empty()
}

/// Returns the lines with text of a fragment that the file does not have at a place.
pub(super) fn new_lines<'a>(
    texts: &TextPair<'a>,
    lines: &Range<usize>,
    matched: &[Option<usize>],
) -> impl Iterator<Item = &'a str> + Clone {
    let new = lines.clone().zip(matched).filter(|(_, at)| at.is_none()).map(|(line, _)| texts.new[line]);
    new.filter(|line| !line.trim().is_empty())
}

/// Returns for every line of a fragment the line of the file that it matches.
pub(super) fn matched_lines(texts: &TextPair<'_>, new: &Range<usize>, old: &Range<usize>) -> Vec<Option<usize>> {
    let mut out = vec![None; new.len()];
    let [a, b]: [Vec<&str>; 2] = [&texts.old[old.clone()], &texts.new[new.clone()]]
        .map(|lines| lines.iter().map(|line| line.trim_end()).collect());
    for (from, to) in pairs(&a, &b) {
        out[to] = Some(old.start + from);
    }
    out
}
