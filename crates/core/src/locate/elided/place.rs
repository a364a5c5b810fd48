//! The places of fragments: all that are possible, and whether they lead to the same edit.

use super::old_lines::LOOKUP_STEPS;
use super::placement::{FRAGMENT_STEPS, Placement, matched_lines};
use super::{
    Extent, Fragment, TextPair, beside, closers, fresh, indent, innermost, is_filled, lossless, same, same_height,
};
use crate::work;
use core::ops::Range;

/// Maximum number of places of one fragment that are compared.
const COMPARED_PLACES_MAX: usize = 10_000;
/// Maximum number of places of all fragments together.
const ALL_PLACES_MAX: usize = 1_000_000;
/// Number of lines beside a place among which a line that was moved is looked for.
const BESIDE_LINES: usize = 4;
/// Number of unchanged lines next to a gap that prove a place even if lines would be lost.
const PROOF_LINES: usize = 2;

/// Number of lines that a place may lose between two lines that occur once in the file, and that of those beside as many as
/// are new.
const LOST_LINES_MAX: usize = 10;
const UNSEEN_LINES_MAX: usize = 4;

/// One end of a fragment in the file.
#[derive(Clone, Copy, Debug)]
struct Edge {
    line: usize,
    /// True for the edge of a symbol, and for the edge of the file if both texts have the same line there.
    sure: bool,
    /// True if the line at the edge is the line of the fragment.
    is_line: bool,
    /// True if the line closes a block that begins above a placeholder.
    closes_above: bool,
}

impl Edge {
    /// A line of the fragment, which may be another one.
    fn at_line(line: usize) -> Edge {
        Edge { line, sure: false, is_line: true, closes_above: false }
    }

    /// A line beside which new definitions go.
    fn beside(line: usize) -> Edge {
        Edge { is_line: false, ..Edge::at_line(line) }
    }

    /// An edge of a symbol or of the file.
    fn of_symbol(line: usize, sure: bool) -> Edge {
        Edge { line, sure, is_line: false, closes_above: false }
    }
}

/// Returns the place of every fragment; `None` for one that changes nothing wherever it is.
///
/// Each gap must be at least one line of the file. If that is impossible, placeholders may mean no lines at all: the
/// text may show everything that there is.
pub(super) fn placements(texts: &TextPair<'_>, fragments: &[Fragment]) -> Result<Vec<Option<Placement>>, String> {
    let mut room = ALL_PLACES_MAX;
    let all: Vec<Vec<Placement>> =
        fragments.iter().map(|it| candidates(texts, it, &mut room)).collect::<Result<_, _>>()?;
    choose_places(texts, fragments, &all, 1).or_else(|why| {
        let placed = choose_places(texts, fragments, &all, 0).ok();
        placed
            .filter(|placed| placed.iter().zip(fragments).all(|(it, at)| keeps_all(texts, at, it.as_ref())))
            .ok_or(why)
    })
}

/// True if no line of the file would be lost.
fn keeps_all(texts: &TextPair<'_>, fragment: &Fragment, it: Option<&Placement>) -> bool {
    it.is_none_or(|it| {
        let kept = matched_lines(texts, &fragment.lines, &it.old);
        let filled = kept.iter().flatten().filter(|&&at| !texts.old[at].trim().is_empty());
        filled.count() == texts.old.filled_in(&it.old).len()
    })
}

/// Returns the place of every fragment among `all` possible ones, with at least `gap` lines of the file between two of
/// them.
fn choose_places(
    texts: &TextPair<'_>,
    fragments: &[Fragment],
    all: &[Vec<Placement>],
    gap: usize,
) -> Result<Vec<Option<Placement>>, String> {
    let count = all.len();
    let (mut earliest, mut latest) = (vec![0; count], vec![texts.old.len(); count]);
    for nth in 1..count {
        let ends = all[nth - 1].iter().filter(|it| it.old.start >= earliest[nth - 1]).map(|it| it.old.end);
        earliest[nth] = ends.min().ok_or_else(|| no_place(fragments, nth - 1))? + gap;
    }
    for nth in (0..count.saturating_sub(1)).rev() {
        let starts = all[nth + 1].iter().filter(|it| it.old.end <= latest[nth + 1]).map(|it| it.old.start);
        latest[nth] = starts.max().and_then(|at| at.checked_sub(gap)).ok_or_else(|| no_place(fragments, nth + 1))?;
    }
    let mut out = Vec::with_capacity(count);
    for (nth, places) in all.iter().enumerate() {
        let is_in_order = |it: &&Placement| it.old.start >= earliest[nth] && it.old.end <= latest[nth];
        let places: Vec<Placement> = places.iter().filter(is_in_order).cloned().collect();
        if places.is_empty() {
            return Err(no_place(fragments, nth));
        }
        out.push(choose_place(texts, &fragments[nth], places)?);
    }
    Ok(out)
}

/// Describes the fragment that has no place in the file.
fn no_place(fragments: &[Fragment], nth: usize) -> String {
    let lines = &fragments[nth].lines;
    format!(
        "{} of the text {} no place in the file: the lines beside a placeholder must be unchanged lines of it, in its \
         order.",
        shown_lines(lines),
        if lines.len() == 1 { "has" } else { "have" }
    )
}

/// Names zero-based lines for a message.
fn shown_lines(lines: &Range<usize>) -> String {
    let Range { start, end } = lines;
    if lines.len() == 1 { format!("Line {end}") } else { format!("Lines {}-{end}", start + 1) }
}

/// Returns the end of a verb whose subject is [`shown_lines`].
fn verb_end(lines: &Range<usize>) -> &'static str {
    if lines.len() == 1 { "s" } else { "" }
}

fn occurs_too_often(lines: &Range<usize>) -> String {
    format!("{} of the text occur{} too often in the file.", shown_lines(lines), verb_end(lines))
}

/// Returns the only place if all of them have the same effect.
fn choose_place(
    texts: &TextPair<'_>,
    fragment: &Fragment,
    mut places: Vec<Placement>,
) -> Result<Option<Placement>, String> {
    keep_containing(texts, fragment, &mut places);
    let unchanged: Vec<&Placement> = places.iter().filter(|it| is_unchanged(texts, fragment, it)).collect();
    // Within one symbol, and at the edges of the file, lines that are in it exactly as shown are meant as context.
    let Range { start, end } = fragment.lines;
    let inside = texts.scope(start).is_some() && texts.scope(start) == texts.scope(end - 1);
    let is_at_edge = |it: &&Placement| {
        let begins = fragment.gaps[0].is_none() && it.old.start == 0;
        let ends = fragment.gaps[1].is_none() && it.old.end == texts.old.len();
        (begins || ends) && same_height::is_apart(texts, it, &places)
    };
    let is_context =
        unchanged.len() == places.len() || !unchanged.is_empty() && inside || unchanged.iter().any(is_at_edge);
    if is_context {
        return Ok(None);
    }
    if unchanged.is_empty()
        && places.len() > 1
        && let Some(only) = lossless::only(texts, fragment, &places)
            .or_else(|| innermost::only(texts, fragment, &places))
            .or_else(|| same_height::only(texts, fragment, &places))
        && !innermost::may_be_replaced(texts, fragment, &only, &places)
    {
        places = vec![only];
    }
    if places.len() > 1 {
        let mut shown: Vec<String> =
            places.iter().take(5).map(|it| format!("{}-{}", it.old.start + 1, it.old.end)).collect();
        shown.dedup();
        return Err(format!(
            "{} of the text fit{} in several places of the file (lines {}). Show more unchanged lines beside the \
             placeholders around them.",
            shown_lines(&fragment.lines),
            verb_end(&fragment.lines),
            shown.join(", ")
        ));
    }
    let place = places.remove(0);
    prove(texts, fragment, &place)?;
    Ok(Some(place))
}

/// Keeps the places that contain the symbols and the unmistakable lines of the file that the fragment shows, if there are
/// such places: at any other one, the file would have them twice.
fn keep_containing(texts: &TextPair<'_>, fragment: &Fragment, places: &mut Vec<Placement>) {
    if places.len() < 2 {
        return;
    }
    let mut shown: Option<Range<usize>> = None;
    for line in fragment.lines.clone() {
        if work::spend_or_end(LOOKUP_STEPS) {
            return;
        }
        let symbols = texts.beginning_at(line).filter(|it| it.new.end <= fragment.lines.end).map(|it| it.old.clone());
        for it in symbols {
            shown = Some(shown.map_or(it.clone(), |all| all.start.min(it.start)..all.end.max(it.end)));
        }
    }
    let Some(shown) = shown.filter(|_| !work::spend_or_end(places.len())) else { return };
    let contains = |it: &Placement| it.old.start <= shown.start && it.old.end >= shown.end;
    if places.iter().any(contains) {
        places.retain(contains);
    }
}

/// True if the lines of a fragment are the same in the file.
fn is_unchanged(texts: &TextPair<'_>, fragment: &Fragment, it: &Placement) -> bool {
    let new = &texts.new[fragment.lines.clone()];
    it.old.len() == new.len()
        && !work::spend_or_end(new.len())
        && texts.old[it.old.clone()].iter().zip(new).all(|(a, b)| same(a, b))
}

/// Refuses a place where more lines would be lost than are new, unless both ends are certain.
fn prove(texts: &TextPair<'_>, fragment: &Fragment, place: &Placement) -> Result<(), String> {
    if let Some((line, at)) = line_kept_twice(texts, fragment, place) {
        return Err(format!(
            "Line {} of the text is line {} of the file, which the placeholder beside it keeps, so the file would have it \
             twice. Show the lines there as well.",
            line + 1,
            at + 1
        ));
    }
    let (old, new) = (&texts.old[place.old.clone()], &texts.new[fragment.lines.clone()]);
    let loses_none = texts.old.filled_in(&place.old).len() <= count_filled(new);
    if loses_none && !closers::may_be_another(texts, fragment, place) {
        return Ok(());
    }
    let front = count_equal(&mut old.iter().zip(new));
    let back = count_equal(&mut old.iter().rev().zip(new.iter().rev()));
    // If all lines of the fragment match at one end, the same lines may match at the other end as well.
    let is_shown = |count: usize| (PROOF_LINES..count_filled(new)).contains(&count);
    let is_surely_shown = [place.sure[0] || is_shown(front), place.sure[1] || is_shown(back)];
    if is_surely_shown == [true, true] || loses_few(texts, fragment, place, is_surely_shown) {
        return Ok(());
    }
    let text = shown_lines(&fragment.lines);
    let Range { start, end } = place.old;
    let would_replace = format!("{text} of the text would replace lines {}-{end} of the file", start + 1);
    Err(match missing_placeholder(texts, fragment, place) {
        Some(missing) => format!("{would_replace}. {missing}"),
        None => format!(
            "{would_replace}, and some of those would be gone. Show two unchanged lines beside each placeholder to remove \
             lines."
        ),
    })
}

/// Describes the placeholder that is missing at the beginning or end of a text whose first or last line is in the middle of
/// the file.
fn missing_placeholder(texts: &TextPair<'_>, fragment: &Fragment, place: &Placement) -> Option<String> {
    let lines = texts.trimmed(&fragment.lines);
    let ends = [("begins", "above", lines.start), ("ends", "below", lines.end - 1)];
    ends.iter().enumerate().find_map(|(nth, &(verb, side, line))| {
        let &[at] = texts.old.places_of(texts.new[line]) else { return None };
        let beyond = [0..at, at + 1..texts.old.len()];
        let is_open = fragment.gaps[nth].is_none() && !place.sure[nth];
        (is_open && !texts.old.filled_in(&beyond[nth]).is_empty()).then(|| {
            format!(
                "The text {verb} with line {} of the file, and those {side} it would be gone. Put a placeholder {side} it if \
                 they stay; else delete them with an edit that shows them.",
                at + 1
            )
        })
    })
}

/// True if a place loses a few lines only, among more lines that are kept, and both of its ends are lines that occur once in
/// the file.
fn loses_few(texts: &TextPair<'_>, fragment: &Fragment, place: &Placement, is_shown: [bool; 2]) -> bool {
    let matched = matched_lines(texts, &fragment.lines, &place.old);
    let is_kept = |at: Option<&Option<usize>>, line: usize, old: usize| {
        at.is_some_and(|at| *at == Some(old)) && lossless::is_proving(texts, line)
    };
    let Range { start, end } = fragment.lines;
    let ends = [
        is_shown[0] || is_kept(matched.first(), start, place.old.start),
        is_shown[1] || is_kept(matched.last(), end - 1, place.old.end - 1),
    ];
    let kept = matched.iter().flatten().filter(|&&at| !texts.old[at].trim().is_empty()).count();
    let gone = texts.old.filled_in(&place.old).len() - kept;
    let new = count_filled(&texts.new[fragment.lines.clone()]) - kept;
    ends == [true, true] && gone <= kept.min(LOST_LINES_MAX) && gone <= new + UNSEEN_LINES_MAX
}

/// Returns a line of a fragment, and the only line of the file like it, if that is in the gap right beside the place: the
/// line was moved, perhaps to another depth, and the lines around its old place are missing.
fn line_kept_twice(texts: &TextPair<'_>, fragment: &Fragment, place: &Placement) -> Option<(usize, usize)> {
    let Range { start, end } = place.old;
    let [above, below] = [0..start, end..texts.old.len()].map(|gap| texts.old.filled_in(&gap));
    let above = above.iter().rev().take(BESIDE_LINES).filter(|_| fragment.gaps[0].is_some());
    let below = below.iter().take(BESIDE_LINES).filter(|_| fragment.gaps[1].is_some());
    let is_telling = |line: &str| texts.old.places_of(line).len() == 1 && lossless::has_many_alnum(line);
    let beside: Vec<usize> = above.chain(below).copied().filter(|&at| is_telling(texts.old[at])).collect();
    let mut lines = fragment.lines.clone().take_while(|_| !work::spend_or_end(LOOKUP_STEPS));
    lines.find_map(|line| {
        let shown = texts.new[line];
        let is_moved = |at: &&usize| {
            let kept = texts.old[**at];
            same(kept, shown) || kept.trim() == shown.trim() && texts.old.places_of(shown).is_empty()
        };
        beside.iter().find(is_moved).map(|&at| (line, at))
    })
}

/// Counts the lines at the beginning that are equal, ignoring blank ones.
fn count_equal(pairs: &mut dyn Iterator<Item = (&&str, &&str)>) -> usize {
    pairs.take_while(|(a, b)| same(a, b)).filter(|(line, _)| !line.trim().is_empty()).count()
}

/// Counts the lines that are not blank.
fn count_filled(lines: &[&str]) -> usize {
    lines.iter().filter(|line| !line.trim().is_empty()).count()
}

/// Returns all places that the ends of a fragment allow, at most `room`.
fn candidates(texts: &TextPair<'_>, fragment: &Fragment, room: &mut usize) -> Result<Vec<Placement>, String> {
    let only = fragment.lines.len() == 1 && fragment.gaps.iter().all(Option::is_some);
    if work::spend_or_end(FRAGMENT_STEPS) {
        return Err(occurs_too_often(&fragment.lines));
    }
    if let Some(line) = fresh::end_around(texts, fragment) {
        return Ok(vec![Placement { old: line..line, sure: [true, true], may_hide_end: false }]);
    }
    let starts = starts(texts, fragment);
    if starts.len() > COMPARED_PLACES_MAX && !only {
        return Err(occurs_too_often(&fragment.lines));
    }
    let ends = ends(texts, fragment)?;
    let mut out = Vec::new();
    let pairs = starts.len().saturating_mul(ends.len());
    let compared = if only { starts.len() } else { pairs };
    if pairs > COMPARED_PLACES_MAX && !only || compared > *room || work::spend_or_end(compared) {
        return Err(occurs_too_often(&fragment.lines));
    }
    *room -= compared;
    for start in &starts {
        let from = ends.partition_point(|end| end.line <= start.line);
        for end in &ends[from..] {
            // A fragment of one unchanged line replaces one line of the file; one of several lines replaces at least
            // two.
            let fits = !only || end.line == start.line + 1 || start.sure && end.sure;
            let two = fragment.lines.len() < 2 || end.line > start.line + 1 || !start.is_line || !end.is_line;
            if fits && two {
                out.push(Placement {
                    old: start.line..end.line,
                    sure: [start.sure, end.sure],
                    may_hide_end: start.closes_above,
                });
            } else if only {
                break;
            }
        }
    }
    Ok(out)
}

/// Returns the lines of the file at which a fragment may begin, in order.
fn starts(texts: &TextPair<'_>, fragment: &Fragment) -> Vec<Edge> {
    let first = fragment.lines.start;
    if fragment.gaps[0].is_none() && !texts.part {
        let matches = texts.old.filled().next().is_some_and(|line| same(line, texts.new[first]));
        return vec![Edge::of_symbol(0, matches)];
    }
    if let Some(symbol) = texts.beginning_at(first).max_by_key(|it| it.new.len()) {
        return vec![Edge::of_symbol(beginning(texts, symbol, first), true)];
    }
    if let Some(found) = closers::closing_line(texts, first, &fragment.lines) {
        return vec![Edge { closes_above: true, ..Edge::at_line(found.line) }];
    }
    if let Some(line) = fresh::next_known_line(texts, fragment) {
        return vec![Edge::beside(line)];
    }
    if let Some(line) = beside::after_closing_lines(texts, fragment) {
        return vec![Edge::at_line(line)];
    }
    edge_lines(texts, &fragment.lines, true)
}

/// Returns the line of the file at which a symbol begins that the text shows from line `first` on: decorators, attributes
/// and comments above its header that the text does not show are kept.
fn beginning(texts: &TextPair<'_>, symbol: &Extent, first: usize) -> usize {
    // A decorator may have a table of test cases.
    const LINES_ABOVE_MAX: usize = 10_000;
    let shown = texts.new[first];
    let is_header = |line: &str| {
        !fresh::is_attached(shown)
            && !fresh::is_attached(line)
            && indent(line) == indent(shown)
            && fresh::name(line) == fresh::name(shown)
    };
    let is_shown = |at: &usize| texts.old.get(*at).is_some_and(|line| same(line, shown) || is_header(line));
    let mut lines = symbol.old.clone().take(LINES_ABOVE_MAX).take_while(|_| !work::spend_or_end(LOOKUP_STEPS));
    lines.find(is_shown).unwrap_or(symbol.old.start)
}

/// The lines of the file that may be the line at one end of a fragment; or the one beside which its new lines there go.
fn edge_lines(texts: &TextPair<'_>, lines: &Range<usize>, at_start: bool) -> Vec<Edge> {
    let found = texts.matching(if at_start { lines.start } else { lines.end - 1 });
    let is_new = found.is_empty() || !at_start && beside::ends_new_block(texts, lines);
    let edge = |line: usize| Edge::at_line(if at_start { line } else { line + 1 });
    if is_new {
        beside::beside_new(texts, lines, at_start).map(edge).into_iter().collect()
    } else if work::spend_or_end(found.len()) {
        Vec::new()
    } else {
        found.iter().copied().map(edge).collect()
    }
}

/// Returns the lines of the file after which a fragment may end, in order.
///
/// Errors: it is uncertain whether the last line of the fragment is the end of a symbol.
fn ends(texts: &TextPair<'_>, fragment: &Fragment) -> Result<Vec<Edge>, String> {
    let last = fragment.lines.end - 1;
    let count = texts.old.len();
    if fragment.gaps[1].is_none() && !texts.part {
        let filled = texts.old.filled_above(count);
        let matches = filled.is_some_and(|at| same(texts.old[at], texts.new[last]));
        // Many definitions end with the same closing line.
        let ends_known = |at: usize| texts.ending_before(last + 1).any(|it| it.old.end == at + 1);
        let matches = matches && (!beside::is_signs(texts.new[last]) || filled.is_some_and(ends_known));
        return Ok(vec![Edge::of_symbol(count, matches)]);
    }
    // A placeholder that is deeper than the symbol's first line is inside the symbol.
    let symbol = texts
        .ending_before(last + 1)
        .filter(|it| fragment.gaps[1].is_none_or(|depth| depth <= indent(texts.new[it.new.start])));
    let Some(symbol) = symbol.max_by_key(|it| it.new.len()) else {
        if let Some(found) = closers::closing_line(texts, last, &fragment.lines) {
            return Ok(vec![Edge { sure: found.is_whole, ..Edge::at_line(found.line + 1) }]);
        }
        if let Some(line) = fresh::last_known_line(texts, fragment) {
            return Ok(vec![Edge::beside(line + 1)]);
        }
        if let Some(line) = fresh::changed_head(texts, fragment) {
            return Ok(vec![Edge::at_line(line + 1)]);
        }
        return Ok(edge_lines(texts, &fragment.lines, false));
    };
    let end = symbol.old.end;
    let is_last = texts.old.get(end - 1).is_some_and(|line| same(line, texts.new[last]));
    let is_line = symbol.old.len() == 1 && symbol.new.len() == 1;
    let is_set_again = is_line && beside::sets_again(texts.old[symbol.old.start], texts.new[last]);
    if is_last || is_set_again || closes(texts.new[last]) || shows_all(texts, fragment, symbol) {
        return Ok(vec![Edge::of_symbol(end, true)]);
    }
    Err(format!(
        "Line {} of the text may or may not be the end of what begins on line {} there. Show its last line as it is in the \
         file.",
        last + 1,
        symbol.new.start + 1
    ))
}

/// True if a fragment shows every line of a symbol of the file, so that a placeholder behind it cannot be inside.
fn shows_all(texts: &TextPair<'_>, fragment: &Fragment, symbol: &Extent) -> bool {
    let Extent { old, new } = symbol;
    if new.start < fragment.lines.start || work::spend_or_end(FRAGMENT_STEPS + old.len() + new.len()) {
        return false;
    }
    let matched = matched_lines(texts, new, old);
    matched.iter().flatten().filter(|&&at| is_filled(texts.old[at])).count() == texts.old.filled_in(old).len()
}

/// True for a last line after which the body cannot continue.
fn closes(line: &str) -> bool {
    let text = line.trim();
    let word = text.split(|ch: char| !ch.is_alphanumeric()).next().unwrap_or_default();
    ["return", "raise", "end"].contains(&word) || text.chars().all(|ch| ")]};,".contains(ch))
}
