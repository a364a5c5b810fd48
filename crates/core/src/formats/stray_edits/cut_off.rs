//! Text that ends within the first line of another edit.

use crate::formats::call_literal;
use crate::formats::search_replace::{self, marker};
use crate::work;
use core::ops::Range;

/// Minimum length of a last line that is compared; a shorter one has no evidence.
const LAST_LINE_MIN: usize = 2;

/// True if the last line of a text, which has no line end, is the beginning of a line that opens an edit in its claimed
/// lines: the text was cut off there, and what follows is missing.
pub(super) fn ends_in_opener(text: &str, claimed: &[Range<usize>]) -> bool {
    let last = text.rsplit('\n').next().unwrap_or_default().trim();
    // The end of a fence is the beginning of one that has a language.
    let is_fence = last.chars().all(|ch| matches!(ch, '`' | '~'));
    if last.len() < LAST_LINE_MIN || is_fence {
        return false;
    }
    let mut ranges = claimed.iter().peekable();
    work::lines(text).enumerate().any(|(at, line)| {
        while ranges.next_if(|range| range.end <= at).is_some() {}
        let is_begun = || line.trim().strip_prefix(last).is_some_and(|rest| !rest.is_empty());
        ranges.peek().is_some_and(|range| range.start <= at && is_begun() && (at == range.start || opens(line)))
    })
}

/// True for a line that opens an edit.
fn opens(line: &str) -> bool {
    marker::is_opening_word(line) || search_replace::nearly_opens(line) || call_literal::begins(line)
}
