//! Other places that a hunk may mean: those with more of its lines, with a line that was dropped, and in the section that
//! its header names. The hunk is refused then, with both places.

use super::failure::SHOWN_LINES_MAX;
use super::{DroppedContext, HunkCandidate, header, scope, seek, wanted};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::find::search::{MatchSearch, SearchIndex};
use crate::locate::find::{Tier, rivals};
use crate::locate::line_format;
use crate::locate::op::Hunk;
use core::ops::Range;
use serde_json::json;

/// Refuses a place found with tolerance if more of the hunk's lines occur at another place; or if as many do, one of which
/// was dropped for the found place. A hunk with anchors states its place itself.
///
/// Errors: `match.ambiguous`.
pub(super) fn no_rival(index: &SearchIndex<'_>, hunk: &Hunk, tier: Tier, place: &HunkCandidate) -> Result<()> {
    if !hunk.scopes.is_empty() {
        return Ok(());
    }
    let find = seek::old_side(hunk);
    let search = MatchSearch::for_lines(index, &find, "", wanted(hunk));
    let DroppedContext { front, back } = place.dropped;
    let matched = rivals::MatchedLines { lines: place.lines.clone(), front, back };
    match rivals::rival_of_lines(&search, &search.pattern, tier, &[matched]) {
        Some(rival) => {
            let reason = rival
                .dropped
                .map_or(RivalReason::MoreLines(tier), |at| RivalReason::DroppedLine(search.pattern.old[at]));
            Err(rivals_error(index, hunk, [&place.lines, &rival.lines], &reason))
        }
        None => Ok(()),
    }
}

/// Refuses a place in another block than the section that the header names, if the section has nearly all lines of the
/// hunk.
///
/// Errors: `match.ambiguous`.
pub(super) fn in_named_section(index: &SearchIndex<'_>, hunk: &Hunk, place: &HunkCandidate) -> Result<()> {
    let Some(name) = hunk.section.as_deref().filter(|_| hunk.scopes.is_empty() && !place.lines.is_empty()) else {
        return Ok(());
    };
    let first = place.lines.start;
    if scope::is_nearest_title(index, name, first) {
        return Ok(());
    }
    let sections = scope::sections(index, name);
    let anchor = sections.anchor_of(first).filter(|_| !sections.covers(first));
    if !anchor.is_some_and(|anchor| header::is_in_another_block(index, anchor, &place.lines_to_change(index))) {
        return Ok(());
    }
    let find = seek::old_side(hunk);
    let search = MatchSearch::for_lines(index, &find, "", wanted(hunk));
    match rivals::similar_within(&search, &search.pattern, |line| sections.covers(line)) {
        Some(lines) => Err(rivals_error(index, hunk, [&place.lines, &lines], &RivalReason::Section(name))),
        None => Ok(()),
    }
}

/// The reason why another place may be meant.
enum RivalReason<'s> {
    /// More of the hunk's lines occur exactly there than at the place that this tier found.
    MoreLines(Tier),
    /// This line was dropped for the found place, and occurs at the other one.
    DroppedLine(&'s str),
    /// The hunk names this section, in which the found place is not.
    Section(&'s str),
}

/// Creates the error for a place found with tolerance, or outside of the named section, if another place may be meant.
/// `lines` are those of both places.
fn rivals_error(index: &SearchIndex<'_>, hunk: &Hunk, lines: [&Range<usize>; 2], reason: &RivalReason<'_>) -> Error {
    let [found, other] = lines.map(|it| format!("lines {}-{}", it.start + 1, it.end));
    let why = match reason {
        RivalReason::MoreLines(tier) => {
            format!("fit the hunk only approximately ({}), {other} have more of its lines exactly", tier.name())
        }
        RivalReason::DroppedLine(_) => format!("fit the hunk without a line of its context, {other} have that line"),
        RivalReason::Section(_) => {
            format!("are not in the section that the header of the hunk names, {other} there have most of its lines")
        }
    };
    let mut error = Error::new(Code::MatchAmbiguous, format!("Two places may be meant: {found} {why}."))
        .fact("reason", "rivals")
        .fact("line", hunk.source_line)
        .fact("candidates", lines.map(|it| json!({ "line": it.start + 1 })).to_vec())
        .next("Read both places, and send the hunk again with the exact lines of the one that is meant.");
    error = match reason {
        RivalReason::MoreLines(tier) => error.fact("tier", tier.number()),
        RivalReason::DroppedLine(line) => error.evidence(format!("The line of context: {}", line.trim())),
        RivalReason::Section(name) => error.evidence(format!("The section: {name}")),
    };
    for (name, lines) in [(&found, lines[0]), (&other, lines[1])] {
        let shown = line_format::excerpt(index.base, lines.start + 1, lines.end.min(lines.start + SHOWN_LINES_MAX));
        error = error.evidence(format!("{name}:\n{shown}"));
    }
    error
}
