//! Line anchors: whole lines from a first to a last one, which new text replaces.
//!
//! Both anchors are compared without their indentation; the last line must have the same depth relative to the first as
//! in the call. The caller does not show the lines in between, so the new text is the evidence: it must repeat half of
//! them in order, by the weight of the lines or by words, and no other place may come within 0.15 of that. A place with
//! nothing between the anchors must be the only one, and the new text must not repeat lines beyond the place, up to
//! another line that may be the anchor. Otherwise the places are listed and nothing is written.

use super::align::align;
use super::anchor_rivals;
use super::copied_numbers;
use super::indent::{self, IndentMap};
use super::match_site::{CandidateSites, MatchSite, SitePlan};
use super::refusal::{MatchRefusal, RefusalReason};
use super::search::{MatchSearch, SearchIndex, span_of, split};
use super::target_indent::{self, Depth, MatchedLine};
use super::{TextMatch, TextMatches, Tier, failure, omission, select};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::ErrorContext;
use crate::error::{Error, Result};
use crate::locate::line_format;
use crate::locate::op::{AnchorPair, ExpectedMatches, ResolveSettings, TextNames, TextQuery};
use crate::locate::resolve;
use crate::note::{Note, Notes};
use crate::text::fold::{self, Normalization, is_blank};
use crate::text::span::Span;
use crate::text::tokens::{share, tokens};

/// Maximum number of cells (new lines × lines of the file) for all places together.
const ALIGNMENT_CELLS_MAX: usize = 8_000_000;
/// Maximum number of places that are examined.
const EXAMINED_PLACES_MAX: usize = 1_000;
const LIKENESS_MIN: f64 = 0.5;
const LIKENESS_MARGIN: f64 = 0.15;

/// A range of lines from one anchor to the other.
struct AnchoredRange {
    first: usize,
    last: usize,
    /// The indentation map; `None` if the two anchors are indented inconsistently with the file, and so show nothing
    /// about it.
    indent: Option<IndentMap>,
    /// The share of the lines in the range that the new text repeats.
    kept: f64,
    /// False if several lines could be the last one, none of them with the indentation of its anchor.
    has_sure_end: bool,
}

impl AnchoredRange {
    fn span(&self, search: &MatchSearch<'_>) -> Span {
        span_of(search.lines(), self.first, self.last + 1)
    }
}

/// Finds the lines between two anchors, and computes the edits that replace them by `new`.
///
/// Errors: `match.not_found`, `match.ambiguous`, `edit.would_misindent`, `edit.omission`.
pub(crate) fn between(
    index: &SearchIndex<'_>,
    anchors: &AnchorPair,
    new: &str,
    settings: ResolveSettings,
) -> Result<TextMatches> {
    let old = format!("{}\n{}", anchors.first, anchors.last);
    let find = TextQuery {
        line: anchors.line,
        at: anchors.at.clone(),
        names: TextNames::LINES,
        ..TextQuery::new(&old, ExpectedMatches::Unique)
    };
    omission::check(&find, new, settings)?;
    let bare = if settings.deletes_literally() {
        None
    } else {
        copied_numbers::uncopied_replacement(index.base, &anchors.first, new)?
    };
    let copied = bare.is_some();
    let new = bare.as_deref().unwrap_or(new);
    let search = MatchSearch::new(index, &find, new);
    if settings.stale {
        let why = "The file changed since it was read, and anchors do not show what is between them.";
        return Err(drift_refusal(&search, &MatchRefusal::new(RefusalReason::Unlike, why)));
    }
    let mut ranges = ranges(&search, anchors).map_err(|it| drift_refusal(&search, &it))?;
    if ranges.is_empty() {
        return Err(missing(&search, anchors));
    }
    let is_named = |at: &String| ranges.iter().any(|it| select::site_id(&search, it.span(&search)) == *at);
    // An id of none of them may be that of a rival, which was listed beside the likely ranges.
    if !anchors.at.as_ref().is_some_and(is_named) {
        retain_likely(&search, &mut ranges);
        add_rivals(&search, anchors, &mut ranges);
    }
    let candidates = CandidateSites {
        places: ranges.iter().map(|it| anchored_site(&search, it)).collect(),
        ..CandidateSites::default()
    };
    let select::SelectedSites { places: chosen, note: choice } =
        select::select(&search, Tier::Drift, candidates).map_err(in_own_fields)?;
    let span = chosen.first().map(|place| place.span);
    let Some(range) = ranges.iter().find(|it| Some(it.span(&search)) == span) else {
        return Err(failure::not_found(&search, Tier::Drift));
    };
    check_range(&search, range, anchors, settings, &chosen)?;
    let depth = depth(&search, range, anchors);
    let text_match =
        text_match(&search, range, depth).map_err(|it| drift_refusal(&search, &it.at(range.first, range.last + 1)))?;
    let mut notes = Notes::new();
    notes.push(format!(
        "Replaced lines {} to {}, found by their first and last line.",
        range.first + 1,
        range.last + 1
    ));
    notes.extend(choice);
    if copied {
        notes.push(Note::CopiedNumbers);
    }
    if is_files(depth) {
        notes.push(target_indent::WRITTEN_AS_IS_NOTE);
    } else if range.indent.as_ref().is_some_and(|it| *it != IndentMap::Verbatim) {
        notes.push(
            "The anchors are indented differently from the file; the new text was shifted to the file's.".to_owned(),
        );
    }
    Ok(TextMatches { tier: Tier::Drift, matches: vec![text_match], notes })
}

/// Checks that the new text belongs to this range and is complete, and that the last line of the range is certain.
fn check_range(
    search: &MatchSearch<'_>,
    range: &AnchoredRange,
    anchors: &AnchorPair,
    settings: ResolveSettings,
    chosen: &[MatchSite<'_>],
) -> Result<()> {
    // A place that the caller names by its id was shown to it, so the id is evidence enough.
    if range.kept < LIKENESS_MIN && anchors.at.is_none() {
        return Err(unvouched(search, range, chosen));
    }
    if !settings.omissions {
        let lines = search.lines();
        omission::check_replacement(&search.text[lines.start(range.first)..lines.end(range.last)], search.new)?;
    }
    if !range.has_sure_end {
        return Err(drift_refusal(search, &unsure_end(range)));
    }
    Ok(())
}

/// Keeps the places whose lines the new text repeats most. A place with nothing between the anchors is no evidence
/// against another place.
fn retain_likely(search: &MatchSearch<'_>, ranges: &mut Vec<AnchoredRange>) {
    let least = ranges.iter().map(|it| it.kept).fold(0.0, f64::max) - LIKENESS_MARGIN;
    let mut likely = ranges.iter().filter(|it| it.kept > least);
    if !likely.any(|it| it.first < it.last && (it.first + 1..it.last).all(|at| is_blank(search.line(at)))) {
        ranges.retain(|it| it.kept > least);
    }
}

/// Adds the longer ranges of which the new text repeats lines that the ranges do not have.
fn add_rivals(search: &MatchSearch<'_>, anchors: &AnchorPair, ranges: &mut Vec<AnchoredRange>) {
    let keys = search.run_hashes();
    let [first, last] =
        [&anchors.first, &anchors.last].map(|line| fold::normalized_hash(line, Normalization::Indentation));
    let mut new: Vec<u64> =
        split(search.new).iter().map(|line| fold::normalized_hash(line, Normalization::Indentation)).collect();
    new.pop_if(|key| *key == last);
    let has_first = new.first().is_some_and(|key| *key == first);
    let forward = &new[usize::from(has_first)..];
    let backward: Vec<u64> = forward.iter().rev().copied().collect();
    let indent = |first: usize, last: usize| IndentMap::shift(&anchor_pairs(anchors, search, first, last));
    let mut rivals: Vec<AnchoredRange> = Vec::new();
    for it in ranges.iter().filter(|it| it.first < it.last && it.has_sure_end) {
        let own = it.last - it.first - 1;
        let below = anchor_rivals::farther_anchor(search, it.first + 1..keys.len(), own, forward, |line| {
            keys[line] == last && indent(it.first, line).is_some()
        });
        let above = anchor_rivals::farther_anchor(search, (0..it.last).rev(), own, &backward, |line| {
            keys[line] == first && indent(line, it.last).is_some()
        });
        let longer = [below.map(|line| (it.first, line)), above.map(|line| (line, it.last))];
        for (first, last) in longer.into_iter().flatten() {
            if ranges.iter().chain(&rivals).all(|it| (it.first, it.last) != (first, last)) {
                let kept = kept(search, first, last, true);
                rivals.push(AnchoredRange { first, last, indent: indent(first, last), kept, has_sure_end: true });
            }
        }
    }
    ranges.extend(rivals);
}

/// Returns the place of an anchored range.
fn anchored_site<'s>(search: &MatchSearch<'_>, it: &AnchoredRange) -> MatchSite<'s> {
    MatchSite { span: it.span(search), plan: SitePlan::Ready(Vec::new()) }
}

/// Creates the error for a place that is refused.
fn drift_refusal(search: &MatchSearch<'_>, refusal: &MatchRefusal) -> Error {
    failure::refused(search, Tier::Drift, refusal)
}

/// Adapts the error for several places to the fields of this format.
fn in_own_fields(error: Error) -> Error {
    let id = error.contexts().iter().find_map(|it| match it {
        ErrorContext::Candidates(places) => Some(places.first()?.0.clone()),
        _ => None,
    });
    match id {
        Some(id) => error.next(
            Advice::named(
                "Repeat the call with {at=} (or another id shown above), or name lines that occur once as \
                 {start_line_text} and {end_line_text}.",
            )
            .set("at", id)
            .or("Name lines that occur once in the file."),
        ),
        None => error,
    }
}

/// Creates the error for an anchor that is not in the file, naming its field.
fn missing(search: &MatchSearch<'_>, anchors: &AnchorPair) -> Error {
    let keys = search.run_hashes();
    let (field, line, why) = match (line_with_key(keys, &anchors.first), line_with_key(keys, &anchors.last)) {
        (None, _) => ("start_line_text", &anchors.first, "is not a line of the file".to_owned()),
        (_, None) => ("end_line_text", &anchors.last, "is not a line of the file".to_owned()),
        (Some(start), Some(end)) => return reversed(search, start, end),
    };
    let find = TextQuery::new(line, ExpectedMatches::Unique);
    let alone = MatchSearch::new(search.index, &find, "");
    failure::no_such_line(&alone, Tier::Drift, field, &why)
}

/// Creates the error for a last line that occurs only above the first one, or is the same line.
fn reversed(search: &MatchSearch<'_>, start: usize, end: usize) -> Error {
    let why =
        format!("end_line_text is at line {}, but no such line is below start_line_text, line {}.", end + 1, start + 1);
    Error::new(Code::MatchNotFound, failure::NOT_FOUND_MESSAGE)
        .evidence(why)
        .evidence(line_format::excerpt(search.base, start.min(end) + 1, start.min(end) + 1))
        .evidence(line_format::excerpt(search.base, start.max(end) + 1, start.max(end) + 1))
        .next(
            Advice::named(
                "Name as {start_line_text} the line of the range that comes first in the file, and as \
                 {end_line_text} the one that comes last.",
            )
            .or("Name the line that comes first in the file as the first one."),
        )
        .fact("reason", "not_found")
        .fact("field", "end_line_text")
        .fact("tier", Tier::Drift.number())
}

/// Returns the first line that is equal apart from its indentation.
fn line_with_key(keys: &[u64], line: &str) -> Option<usize> {
    let wanted = fold::normalized_hash(line, Normalization::Indentation);
    keys.iter().position(|key| *key == wanted)
}

fn ranges(search: &MatchSearch<'_>, anchors: &AnchorPair) -> Result<Vec<AnchoredRange>, MatchRefusal> {
    let keys = search.run_hashes();
    let [first, last] =
        [&anchors.first, &anchors.last].map(|line| fold::normalized_hash(line, Normalization::Indentation));
    let (starts, ends) = (lines_with_key(keys, first), lines_with_key(keys, last));
    let (mut out, mut cells) = (Vec::new(), 0usize);
    if is_blank(&anchors.first) || is_blank(&anchors.last) {
        return Ok(out);
    }
    if first == last && starts.len() == 1 {
        let start = starts[0];
        let indent = IndentMap::shift(&anchor_pairs(anchors, search, start, start));
        return Ok(vec![AnchoredRange { first: start, last: start, indent, kept: 1.0, has_sure_end: true }]);
    }
    let by_words = starts.len() <= WORDED_PLACES_MAX;
    for start in starts.into_iter().take(EXAMINED_PLACES_MAX) {
        let from = ends.partition_point(|&end| end <= start);
        // An anchor with another indentation than in the file is accepted if it is the only candidate.
        let first_end = || Some((*ends.get(from)?, None));
        let Some((end, indent)) = ends[from..]
            .iter()
            .take(EXAMINED_PLACES_MAX)
            .find_map(|&end| Some((end, Some(IndentMap::shift(&anchor_pairs(anchors, search, start, end))?))))
            .or_else(first_end)
        else {
            continue;
        };
        cells = cells.saturating_add((end - start).saturating_mul(split(search.new).len()));
        if cells > ALIGNMENT_CELLS_MAX {
            return Err(MatchRefusal::new(
                RefusalReason::TooLarge,
                "The lines between the anchors are too many to compare.",
            ));
        }
        let kept = kept(search, start, end, by_words);
        let has_sure_end = indent.is_some() || ends.len() == from + 1;
        out.push(AnchoredRange { first: start, last: end, indent, kept, has_sure_end });
    }
    Ok(out)
}

/// Pairs the anchors with their lines in the file.
fn anchor_pairs<'p>(
    anchors: &'p AnchorPair,
    search: &'p MatchSearch<'_>,
    start: usize,
    end: usize,
) -> Vec<indent::IndentPair<'p>> {
    indent::pairs([(&*anchors.first, search.line(start)), (&*anchors.last, search.line(end))].into_iter())
}

/// Returns the lines with a key.
fn lines_with_key(keys: &[u64], wanted: u64) -> Vec<usize> {
    (0..keys.len()).filter(|&at| keys[at] == wanted).collect::<Vec<usize>>()
}

/// Returns the share of the lines between the anchors that the new text repeats in order: by the weight of whole lines,
/// or by their words if that share is higher.
fn kept(search: &MatchSearch<'_>, start: usize, end: usize, by_words: bool) -> f64 {
    let inner: Vec<usize> = (start + 1..end).filter(|&at| !is_blank(search.line(at))).collect();
    if inner.is_empty() {
        return 1.0;
    }
    let file: Vec<u64> = inner.iter().map(|&at| search.run_hashes()[at]).collect();
    let new: Vec<u64> =
        split(search.new).iter().map(|line| fold::normalized_hash(line, Normalization::Indentation)).collect();
    let (pairs, _) = align(&file, &new, |at| u32::try_from(line_weight(search, inner[at])).unwrap_or(1));
    let there: usize = pairs.iter().map(|&(at, _)| line_weight(search, inner[at])).sum();
    let by_lines = share(there, inner.iter().map(|&at| line_weight(search, at)).sum());
    if by_words { by_lines.max(kept_words(search, &inner)) } else { by_lines }
}

/// Maximum number of places for which words are compared: all places are compared in the same way.
const WORDED_PLACES_MAX: usize = 8;
/// Maximum number of cells (words of the file × words of the new text) for which words are compared.
const WORD_CELLS_MAX: usize = 1 << 18;

/// Returns the share of the words of the lines `inner` that the new text has in order, without its first and last line.
fn kept_words(search: &MatchSearch<'_>, inner: &[usize]) -> f64 {
    let is_word = |token: &&str| token.chars().next().is_some_and(char::is_alphanumeric);
    let new: Vec<&str> = split(search.new);
    let middle = new.get(1..new.len().saturating_sub(1)).unwrap_or_default();
    let new: Vec<&str> = middle.iter().flat_map(|line| tokens(line)).filter(is_word).collect();
    let mut file: Vec<&str> = Vec::new();
    for &at in inner {
        file.extend(tokens(search.line(at)).into_iter().filter(is_word));
        if file.len().saturating_mul(new.len()) > WORD_CELLS_MAX {
            return 0.0;
        }
    }
    let (pairs, _) = align(&hash_words(&file), &hash_words(&new), |_| 1);
    share(pairs.len(), file.len())
}

/// Returns a hash of each word.
fn hash_words(words: &[&str]) -> Vec<u64> {
    words.iter().map(|word| fold::normalized_hash(word, Normalization::Indentation)).collect()
}

/// Returns the weight of a line of the file: its letters and digits.
fn line_weight(search: &MatchSearch<'_>, line: usize) -> usize {
    fold::count_alnum(search.line(line), 1_000).max(1)
}

fn unvouched(search: &MatchSearch<'_>, range: &AnchoredRange, places: &[MatchSite<'_>]) -> Error {
    let percent = range.kept * 100.0;
    let why = format!(
        "Between the anchors lie lines {} to {}, of which the new text has only {percent:.0} % again.",
        range.first + 2,
        range.last
    );
    let error = failure::no_such_place(search, Tier::Drift, &MatchRefusal::new(RefusalReason::Unlike, why), places);
    let Some(id) = places.first().map(|place| select::site_id(search, place.span)) else { return error };
    error.next(
        Advice::named("If all of these lines are to be replaced, repeat the call with {at=}.")
            .set("at", id)
            .or("Send the old lines, too, and what they become."),
    )
}

/// Creates the refusal of a range whose last line may be another one.
fn unsure_end(range: &AnchoredRange) -> MatchRefusal {
    let why = "Several lines below the first anchor could be the last one, and none has its indentation.";
    MatchRefusal::new(RefusalReason::Misindent, why).at(range.first, range.last + 1)
}

/// Determines the depth for which the new text was written.
fn depth(search: &MatchSearch<'_>, range: &AnchoredRange, anchors: &AnchorPair) -> Depth {
    let matched = [
        MatchedLine { old: &anchors.first, file: search.line(range.first) },
        MatchedLine { old: &anchors.last, file: search.line(range.last) },
    ];
    target_indent::target_depth(&matched, &split(search.new))
}

fn is_files(depth: Depth) -> bool {
    matches!(depth, Depth::File | Depth::LikelyFile)
}

fn text_match(search: &MatchSearch<'_>, range: &AnchoredRange, depth: Depth) -> Result<TextMatch, MatchRefusal> {
    let span = range.span(search);
    let indent = match &range.indent {
        _ if search.new.is_empty() || is_files(depth) => &IndentMap::Verbatim,
        Some(indent) if depth == Depth::OldText => indent,
        _ => return Err(MatchRefusal::new(RefusalReason::Misindent, target_indent::UNCLEAR_DEPTH_REASON)),
    };
    let text = indent.apply_all(&split(search.new))?.join("\n");
    if text.is_empty() {
        return Ok(super::tier::exact::whole_line_match(search, span, ""));
    }
    Ok(TextMatch { span, edits: resolve::difference(search.text, span, &text) })
}

#[cfg(test)]
mod tests {
    use crate::locate::op::{AnchorPair, Locator, Op, OpOrder, ResolveSettings};
    use crate::locate::resolve::resolve;
    use crate::text::snapshot::Snapshot;

    fn run(file: &str, first: &str, last: &str, new: &str, at: Option<String>) -> Result<String, crate::Error> {
        let base = Snapshot::from_text(file);
        let at = Locator::Anchors(AnchorPair { first: first.into(), last: last.into(), line: None, at });
        let done = resolve(&base, &[Op { at, text: new.into() }], OpOrder::Together, ResolveSettings::default())?;
        Ok(String::from_utf8(done.changes.apply(&base)).unwrap())
    }

    #[test]
    fn changed_words_between_anchors_count() {
        let file = "    x = 1\n    y = 2\n    return x\n";
        let new = "    x = 1\n    y = 3\n    return x";
        assert_eq!(run(file, "x = 1", "return x", new, None).unwrap(), file.replace("y = 2", "y = 3"));
        assert!(run(file, "x = 1", "return x", "x = 1\nlog(value)\nreturn x", None).is_err());
    }

    const FILE: &str = "fn one() {\n    let a = first_call();\n    if a {\n        second_call(a);\n    }\n    third_call();\n}\n\nfn two() {\n}\n";

    #[test]
    fn lines_between_anchors_are_verified() {
        let new = "fn one() {\n    let a = first_call();\n    if a {\n        second_call(a, 2);\n        second_call(a);\n    }\n    third_call();\n}";
        assert_eq!(run(FILE, "fn one() {", "}", new, None).unwrap(), format!("{new}\n\nfn two() {{\n}}\n"));
        let error = run(FILE, "fn one() {", "}", "fn one() {\n    todo()\n}", None).unwrap_err();
        assert!(error.to_string().contains("lines 2 to 6"), "{error}");
        let id = error.data()["candidates"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(
            run(FILE, "fn one() {", "}", "fn one() {\n    todo()\n}", Some(id)).unwrap(),
            "fn one() {\n    todo()\n}\n\nfn two() {\n}\n"
        );
    }

    #[test]
    fn lines_that_would_be_doubled_make_a_longer_range_a_rival() {
        let file = "start {\n  one\n}\nmid {\n  two\n}\nlast {\n  three\n}\n";
        let new = "start {\n  one\n}\nmid {\n  TWO\n}";
        let error = run(file, "start {", "}", new, None).unwrap_err();
        let candidates = error.data()["candidates"].as_array().unwrap().clone();
        let done: Vec<String> = candidates
            .iter()
            .map(|it| run(file, "start {", "}", new, Some(it["id"].as_str().unwrap().to_owned())).unwrap())
            .collect();
        let longer = file.replace("two", "TWO");
        assert_eq!(done, [file.replace("start {\n  one\n}", new), longer.clone()]);
        // The first line is the one that may be another.
        let file = "do\n  line_that_changes_here()\n  keep()\ndo\n  two()\nend\n";
        let error = run(file, "do", "end", "do\n  other()\n  keep()\ndo\n  two()\nend", None).unwrap_err();
        assert_eq!(error.data()["candidates"].as_array().unwrap().len(), 2, "{error}");
        // New lines that are not those beyond the range.
        let file = "start {\n  one\n}\nmid {\n  two\n}\n";
        let new = "start {\n  one\n}\nnext {\n  2\n}";
        assert_eq!(run(file, "start {", "}", new, None).unwrap(), file.replace("start {\n  one\n}", new));
    }

    #[test]
    fn lines_are_compared_without_surrounding_blanks() {
        let file = "class A:\n    def f(self):\n        a()\n        return 1\n";
        let new = "    def f(self):\n        a()\n        return 2";
        let done = run(file, "def f(self):", "        return 1  ", new, None).unwrap();
        assert_eq!(done, "class A:\n    def f(self):\n        a()\n        return 2\n");
        // Nothing shows the depth intended for the new text.
        assert!(run(file, "def f(self):", "        return 1", "def f(self):\n    a()\n    return 2", None).is_err());
    }

    #[test]
    fn two_matches_are_listed() {
        let twice = [FILE, FILE].concat();
        let new = FILE.split("\n\n").next().unwrap().replace("third", "fourth");
        let error = run(&twice, "fn one() {", "}", &new, None).unwrap_err();
        assert_eq!(error.data()["candidates"].as_array().unwrap().len(), 2);
        let error = run(FILE, "fn three() {", "}", "x", None).unwrap_err();
        assert!(error.to_string().contains("start_line_text is not a line of the file"), "{error}");
    }
}
