//! Conflicts between the edits of one call. Edits that are matched against the same text are accepted only if applying
//! them one after another would give the same result; all others are listed and refused.

use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{Hunk, Locator, Op};
use crate::locate::resolve::PlacedOp;
use crate::text::change::{Overlap, Splice};
use crate::text::diff;
use crate::text::multi_search::{AUTOMATON_NEEDLE_BYTES_MAX, Needles};
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work::{self, STEP_BYTES};
use memchr::memmem;
use serde_json::{Value, json};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

mod repetition;

use repetition::{DuplicateIndex, repeated_hunks, target};
pub(crate) use repetition::{RepeatedEdit, repeated_edits, repetitions};

/// Maximum number of conflicts listed in one reply.
const LISTED_CONFLICTS_MAX: usize = 50;
/// Maximum number of bytes of unchanged text examined on either side of the text that an edit writes.
pub(crate) const CONTEXT_BYTES: usize = 4096;

/// The kind of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ConflictKind {
    Contradiction,
    Overlap,
    /// The later edit needs the result of the earlier one: its text is not in the file.
    Dependency,
    /// The text of the later edit is in the file, and the earlier edit would write it once more.
    Rewriting,
}

impl ConflictKind {
    const fn name(self) -> &'static str {
        match self {
            ConflictKind::Contradiction => "contradiction",
            ConflictKind::Overlap => "overlap",
            ConflictKind::Dependency | ConflictKind::Rewriting => "dependency",
        }
    }

    const fn code(self) -> Code {
        match self {
            ConflictKind::Contradiction => Code::EditContradiction,
            ConflictKind::Overlap => Code::EditOverlap,
            ConflictKind::Dependency | ConflictKind::Rewriting => Code::EditDependency,
        }
    }

    fn describe(self, first: &str, second: &str) -> String {
        match self {
            ConflictKind::Contradiction => format!("{first} and {second} replace the same text differently"),
            ConflictKind::Overlap => format!("{first} and {second} affect overlapping text"),
            ConflictKind::Dependency => format!("{second} depends on the result of {first}"),
            ConflictKind::Rewriting => format!("{first} writes the text that {second} replaces"),
        }
    }

    fn advice(self) -> Advice {
        match self {
            ConflictKind::Contradiction => Advice::from("Keep one of the two edits."),
            ConflictKind::Overlap => advice![
                "Merge the overlapping edits into one, or send ",
                in_turn(),
                " so that each is applied to the result of the one before."
            ]
            .or("Merge the overlapping edits into one."),
            ConflictKind::Dependency => advice![
                "Send ",
                in_turn(),
                " so that each edit is applied to the result of the one before, or merge the edits."
            ]
            .or("Merge the edits into one, or send them in separate calls, one after another."),
            // In turn, the later edit would replace what the earlier one wrote: two texts could not be swapped.
            ConflictKind::Rewriting => Advice::from(
                "Merge the edits into one, or give each text more of the lines around it, so that no edit writes the text of another.",
            ),
        }
    }
}

fn in_turn() -> Phrase {
    Phrase::Set("order", "in_turn".into())
}

type Clash = (ConflictKind, usize, usize);

/// Checks edits that are to be applied together for conflicts.
pub(crate) fn check(
    base: &Snapshot,
    ops: &[Op],
    placed: &[Result<PlacedOp>],
    repeated: &[Option<usize>],
    needles: Option<Needles<'_>>,
) -> Option<Error> {
    if ops.len() < 2 {
        return None;
    }
    let mut clashes: HashSet<Clash> = contradictions(ops, repeated).into_iter().collect();
    let contradicting: HashSet<(usize, usize)> = clashes.iter().map(|&(_, a, b)| (a, b)).collect();
    clashes.extend(overlapping(placed, repeated).into_iter().filter(|&(_, a, b)| !contradicting.contains(&(a, b))));
    clashes.extend(unmet(ops, placed));
    clashes.extend(repeated_hunks(ops, placed));
    let taken: HashSet<(usize, usize)> = clashes.iter().map(|&(_, a, b)| (a, b)).collect();
    let made = created(base, ops, placed, repeated, needles);
    clashes.extend(made.into_iter().filter(|&(_, a, b)| !taken.contains(&(a, b)) && !taken.contains(&(b, a))));
    let mut clashes: Vec<Clash> = clashes.into_iter().collect();
    clashes.sort_unstable();
    match hunks(ops) {
        Some(hunks) => report_hunks(&clashes, &hunks),
        None => report(&clashes, |at| ops[at].name(at)),
    }
}

/// Returns the operations as hunks if all of them are hunks of a patch.
fn hunks(ops: &[Op]) -> Option<Vec<&Hunk>> {
    ops.iter().map(|op| if let Locator::Hunk(hunk) = &op.at { Some(&**hunk) } else { None }).collect()
}

/// Formats the report for a patch, whose hunks have no options.
fn report_hunks(clashes: &[Clash], hunks: &[&Hunk]) -> Option<Error> {
    let (kind, ..) = clashes.first()?;
    let mut error = Error::new(kind.code(), "Hunks of the patch conflict with each other; nothing was written.");
    for &(_, first, second) in clashes.iter().take(LISTED_CONFLICTS_MAX) {
        let (one, two) = (hunk_name(hunks, first), hunk_name(hunks, second));
        error = error.evidence(if hunks[first].lines == hunks[second].lines {
            format!("- {two} is identical to {one}, and its place occurs once")
        } else {
            format!("- {one} and {two} change the same lines, or one changes what the other expects")
        });
    }
    let next =
        "Merge the hunks that overlap into one, using the lines of the file as they are now; omit repeated hunks.";
    Some(error.next(next).fact("conflicts", listed(clashes)))
}

/// Names a hunk with its line in the patch.
fn hunk_name(hunks: &[&Hunk], at: usize) -> String {
    format!("hunk {} (line {} of the patch)", at + 1, hunks[at].source_line)
}

/// Creates the error for overlaps found while joining splices (of the occurrences of one `replace_all`, for example) of
/// these operations.
pub(crate) fn overlaps(ops: &[Op], overlaps: &[Overlap]) -> Error {
    let pairs: Vec<Clash> = overlaps
        .iter()
        .map(|it| (ConflictKind::Overlap, it.first.min(it.second) as usize, it.first.max(it.second) as usize))
        .collect();
    let name = |at: usize| ops.get(at).map_or_else(|| format!("edits[{at}]"), |op| op.name(at));
    report(&pairs, name)
        .unwrap_or_else(|| Error::new(Code::EditOverlap, "Edit conflicts detected; nothing was written."))
}

fn report(clashes: &[Clash], name: impl Fn(usize) -> String) -> Option<Error> {
    let (kind, ..) = clashes.first()?;
    let mut error = Error::new(kind.code(), "Edit conflicts detected; nothing was written.");
    for &(kind, first, second) in clashes.iter().take(LISTED_CONFLICTS_MAX) {
        error = error.evidence(format!("- {}: {}", kind.name(), kind.describe(&name(first), &name(second))));
    }
    if clashes.len() > LISTED_CONFLICTS_MAX {
        error = error.evidence(format!("… and {} more", clashes.len() - LISTED_CONFLICTS_MAX));
    }
    let mut advice: Vec<Advice> = clashes.iter().map(|(kind, ..)| kind.advice()).collect();
    advice.dedup();
    let advice = advice.into_iter().reduce(|first, next| first.and(&next)).unwrap_or_default();
    Some(error.next(advice).fact("conflicts", listed(clashes)))
}

fn listed(clashes: &[Clash]) -> Vec<Value> {
    clashes
        .iter()
        .take(LISTED_CONFLICTS_MAX)
        .map(|(kind, first, second)| json!({ "kind": kind.name(), "edits": [first, second] }))
        .collect()
}

/// Finds edits with the same target and different text.
fn contradictions(ops: &[Op], repeated: &[Option<usize>]) -> Vec<Clash> {
    let mut first = DuplicateIndex::default();
    let mut out = Vec::new();
    for (index, op) in ops.iter().enumerate().filter(|(index, _)| repeated[*index].is_none()) {
        let Some(own) = target(op) else { continue };
        let earlier = first.of(xxh3_64(own.0.as_bytes()), index, |other| target(&ops[other]) == Some(own));
        if earlier < index {
            out.push((ConflictKind::Contradiction, earlier, index));
        }
    }
    out
}

/// Finds edits that write into text that another edit matched, by a sweep over the read spans. Every open span of
/// another operation is a conflict, so the list of open spans stays short or the search ends.
fn overlapping(placed: &[Result<PlacedOp>], repeated: &[Option<usize>]) -> Vec<Clash> {
    let live: Vec<LiveOp<'_>> = placed
        .iter()
        .enumerate()
        .filter(|(index, _)| repeated[*index].is_none())
        .filter_map(|(op, placed)| Some(LiveOp { op, placed: placed.as_ref().ok()? }))
        .collect();
    let (read_spans, writes) =
        (sorted_spans(&live, |splice| splice.read_span), sorted_spans(&live, |splice| splice.span));
    let mut open: Vec<(Span, usize)> = Vec::new();
    let mut next = 0;
    let mut out = HashSet::new();
    for (span, op) in writes {
        while let Some(&read_span) = read_spans.get(next).filter(|(read_span, _)| read_span.start() <= span.end()) {
            open.push(read_span);
            next += 1;
        }
        if work::spend_or_end(1 + open.len()) {
            break;
        }
        open.retain(|(read_span, _)| read_span.end() > span.start());
        let clashing = open.iter().filter(|(read_span, owner)| *owner != op && read_span.clashes(span));
        out.extend(clashing.map(|(_, owner)| (ConflictKind::Overlap, op.min(*owner), op.max(*owner))));
        if out.len() > LISTED_CONFLICTS_MAX {
            break;
        }
    }
    out.into_iter().collect()
}

/// An operation that has a place, with its index.
struct LiveOp<'a> {
    op: usize,
    placed: &'a PlacedOp,
}

/// Returns the spans of all splices with their operations, sorted.
fn sorted_spans(live: &[LiveOp<'_>], of: fn(&Splice) -> Span) -> Vec<(Span, usize)> {
    let all = live.iter().flat_map(|it| it.placed.splices.iter().map(move |splice| (of(splice), it.op)));
    let mut all: Vec<(Span, usize)> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Finds edits whose target is not in the file, but in or around text that an earlier edit writes.
fn unmet(ops: &[Op], placed: &[Result<PlacedOp>]) -> Vec<Clash> {
    let missing = (0..ops.len()).filter(|&at| matches!(&placed[at], Err(error) if error.code() == Code::MatchNotFound));
    let mut out = Vec::new();
    for later in missing.take(LISTED_CONFLICTS_MAX) {
        let Locator::Find(find) = &ops[later].at else { continue };
        let target = find.old.trim_end_matches('\n');
        if let Some(earlier) = ops[..later].iter().position(|op| {
            !work::spend_or_end(1 + op.text.len() / STEP_BYTES)
                && !op.text.trim().is_empty()
                && (op.text.contains(target) || target.contains(op.text.trim_end_matches('\n')))
        }) {
            out.push((ConflictKind::Dependency, earlier, later));
        }
    }
    out
}

/// Finds edits whose target is created by an earlier edit: applied one after another they would have another effect.
///
/// `needles` is the search for all targets, if they were searched for together.
fn created(
    base: &Snapshot,
    ops: &[Op],
    placed: &[Result<PlacedOp>],
    repeated: &[Option<usize>],
    needles: Option<Needles<'_>>,
) -> Vec<Clash> {
    let targets: Vec<&str> =
        ops.iter().map(|op| if let Locator::Find(find) = &op.at { &*find.old } else { "" }).collect();
    // Hunks contain their context, so an earlier edit cannot create their target elsewhere.
    if targets.iter().all(|target| target.is_empty()) {
        return Vec::new();
    }
    let longest = targets.iter().map(|target| target.len()).max().unwrap_or(0).min(CONTEXT_BYTES);
    let patterns: Vec<&str> =
        targets.iter().map(|target| if target.len() <= CONTEXT_BYTES { *target } else { "" }).collect();
    let text = base.text();
    let needles = needles.filter(|_| targets.iter().all(|target| target.len() <= CONTEXT_BYTES));
    let total = 2 * longest * placed.len();
    let Some(needles) = needles.or_else(|| Needles::new(&patterns, text, total)) else { return Vec::new() };
    let way = SearchMethod::Needles(needles, 2 * total + text.len() / 4);
    let mut search = TargetSearch { patterns: &patterns, total, way, window: String::new() };
    let mut out = HashSet::new();
    for (op, placed) in placed.iter().enumerate().filter(|(op, _)| repeated[*op].is_none()) {
        let Ok(placed) = placed else { continue };
        for edit in placed.found.matches.iter().flat_map(|hit| &hit.edits) {
            if work::spend_or_end(1 + (2 * longest + edit.text.len()) / STEP_BYTES) {
                return Vec::new();
            }
            let (head, tail) = diff::common_text_ends(&text[edit.span.range()], &edit.text);
            let (start, end) = (edit.span.start() + head, edit.span.end() - tail);
            let fresh = &edit.text[head..edit.text.len() - tail];
            let from = char_border(text, start.saturating_sub(longest));
            let written = Span::new(start - from, start - from + fresh.len());
            let parts = [&text[from..start], fresh, &text[end..char_border(text, end + longest)]];
            for needle in search.clashing(parts, written) {
                // Operations that were not tried are ignored, and those that are repeated are not applied.
                let is_applied = repeated.get(needle).is_some_and(Option::is_none);
                if needle > op && is_applied && out.len() < LISTED_CONFLICTS_MAX {
                    out.insert((ConflictKind::Rewriting, op, needle));
                }
            }
        }
    }
    out.into_iter().collect()
}

/// Returns the last character boundary that is not after an offset.
fn char_border(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A search for the targets of all edits, in many small texts.
struct TargetSearch<'p> {
    patterns: &'p [&'p str],
    /// Approximate total length of the texts.
    total: usize,
    way: SearchMethod<'p>,
    window: String,
}

/// The search method.
enum SearchMethod<'p> {
    /// A search for many needles, and the budget after which another method is chosen.
    Needles(Needles<'p>, usize),
    /// A separate search for each target.
    Each(Vec<memmem::Finder<'p>>),
}

/// Cost of building an automaton, per byte of the targets, relative to searching one byte of text.
const AUTOMATON_COST_FACTOR: usize = 1000;

impl TargetSearch<'_> {
    /// Returns the targets that occur in the text of these parts and overlap the written part.
    fn clashing(&mut self, parts: [&str; 3], written: Span) -> Vec<usize> {
        self.window.clear();
        for part in parts {
            self.window.push_str(part);
        }
        loop {
            match &mut self.way {
                SearchMethod::Each(finders) => {
                    if work::spend_or_end(finders.len() * (1 + self.window.len() / STEP_BYTES)) {
                        return Vec::new();
                    }
                    let found = finders
                        .iter()
                        .enumerate()
                        .filter(|(_, finder)| occurs_in_result(finder, &self.window, written));
                    return found.map(|(needle, _)| needle).collect();
                }
                SearchMethod::Needles(needles, budget) => {
                    if let Some(seen) = needles.find_all(&self.window, budget) {
                        return seen
                            .iter()
                            .filter(|it| {
                                Span::new(
                                    it.at,
                                    it.at + self.patterns.get(it.needle).map_or(0, |pattern| pattern.len()),
                                )
                                .clashes(written)
                            })
                            .map(|it| it.needle)
                            .collect();
                    }
                    self.way = steady(self.patterns, self.total);
                }
            }
        }
    }
}

/// Selects the method for repetitive texts: the cheaper one of separate searches and an automaton.
fn steady<'p>(patterns: &[&'p str], total: usize) -> SearchMethod<'p> {
    let bytes: usize = patterns.iter().map(|pattern| pattern.len()).sum();
    let each = || SearchMethod::Each(patterns.iter().map(|pattern| memmem::Finder::new(pattern.as_bytes())).collect());
    let few = patterns.len().saturating_mul(total) < AUTOMATON_COST_FACTOR * bytes;
    if few || bytes > AUTOMATON_NEEDLE_BYTES_MAX {
        each()
    } else {
        Needles::without_grams(patterns).map_or_else(each, |needles| SearchMethod::Needles(needles, usize::MAX))
    }
}

/// True when a target occurs in a text and overlaps the written span.
fn occurs_in_result(finder: &memmem::Finder<'_>, text: &str, written: Span) -> bool {
    let length = finder.needle().len();
    // At most one occurrence on either side can touch the span without overlapping it, so the loop is short.
    let mut from = written.start().saturating_sub(length);
    let part = &text.as_bytes()[..text.len().min(written.end() + length)];
    while length > 0
        && let Some(at) = finder.find(&part[from..]).map(|at| from + at)
    {
        if Span::new(at, at + length).clashes(written) {
            return true;
        }
        from = at + 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{SearchMethod, TargetSearch, occurs_in_result, steady};
    use crate::locate::op::{ExpectedMatches, Locator, Op, TextQuery};
    use crate::text::change::Overlap;
    use crate::text::multi_search::Needles;
    use crate::text::span::Span;
    use memchr::memmem;
    use proptest::prelude::*;

    #[test]
    fn overlaps_name_blocks_by_their_line() {
        let op = |line| {
            let find = TextQuery { source_line: line, ..TextQuery::new("a", ExpectedMatches::Unique) };
            Op { at: Locator::Find(find), text: String::new() }
        };
        let overlap = [Overlap { first: 1, second: 0, span: Span::new(0, 1) }];
        let error = super::overlaps(&[op(3), op(9)], &overlap);
        assert!(error.to_string().contains("the block on line 3 and the block on line 9"), "{error}");
        assert!(super::overlaps(&[op(0), op(0)], &overlap).to_string().contains("edits[0] and edits[1]"));
    }

    proptest! {
        #[test]
        fn all_search_methods_agree(
            text in "[ab]{0,60}|[a-c\n]{0,200}",
            (start, len) in (0usize..200, 0usize..40),
            cuts in prop::collection::vec((0usize..200, 0usize..50), 1..6),
        ) {
            let whole = |at: usize| at.min(text.len());
            let patterns: Vec<&str> = cuts.iter().map(|&(from, len)| &text[whole(from)..whole(from + len)]).collect();
            let (start, end) = (whole(start), whole(start + len));
            let parts = [&text[..start], &text[start..end], &text[end..]];
            let written = Span::new(start, end);
            let every = |pattern: &&str| {
                let at = (0..text.len()).filter(|&at| !pattern.is_empty() && text[at..].starts_with(*pattern));
                at.into_iter().any(|at| Span::new(at, at + pattern.len()).clashes(written))
            };
            let want: Vec<usize> = (0..patterns.len()).filter(|&nth| every(&patterns[nth])).collect();
            let ways = [
                SearchMethod::Needles(Needles::new(&patterns, &text, text.len()).unwrap(), usize::MAX),
                SearchMethod::Needles(Needles::new(&patterns, &text, text.len()).unwrap(), 0),
                SearchMethod::Needles(Needles::without_grams(&patterns).unwrap(), usize::MAX),
                SearchMethod::Each(patterns.iter().map(memmem::Finder::new).collect()),
            ];
            for way in ways {
                let mut watch = TargetSearch { patterns: &patterns, total: text.len(), way, window: String::new() };
                let mut clashes = watch.clashing(parts, written);
                clashes.sort_unstable();
                clashes.dedup();
                prop_assert_eq!(&clashes, &want);
            }
        }
    }

    #[test]
    fn cheaper_search_method_is_selected() {
        let long = "a".repeat(2000);
        assert!(matches!(steady(&[&long, &long], 8000), SearchMethod::Each(_)));
        assert!(matches!(steady(&["ab", "cd"], 1 << 20), SearchMethod::Needles(..)));
        assert!(occurs_in_result(&memmem::Finder::new("bb"), "abba", Span::new(2, 3)));
        assert!(!occurs_in_result(&memmem::Finder::new("bb"), "abba", Span::new(3, 4)));
    }
}
