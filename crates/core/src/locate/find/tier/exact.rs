//! Tier 0: literal text. Nothing is tolerated; `$` and `\` have no special meaning.

use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::MatchRefusal;
use crate::locate::find::search::MatchSearch;
use crate::locate::find::{CHANGED_PLACES_MAX, TextEdit, TextMatch, Tier};
use crate::locate::op::ExpectedMatches;
use crate::locate::resolve;
use crate::text::fold;
use crate::text::lines::starts_line;
use crate::text::occurrences::Occurrences;
use crate::text::span::Span;
use crate::work::{self, STEP_BYTES};
use memchr::memmem;
use std::borrow::Cow;

/// Number of occurrences after which counting stops; a message then says "more than".
pub(in crate::locate::find) const COUNTED_PLACES_MAX: usize = 1000;

#[expect(clippy::unnecessary_wraps, reason = "the shape of every tier")]
pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let (text, old, new) = (search.text, &*search.find.old, Cow::Borrowed(search.new));
    let most = search_limit(search.find.expected);
    let searched = if search.find.lines { whole_lines } else { occurrences };
    let spans = known_spans(search).unwrap_or_else(|| searched(text, old, most));
    // A text that need not be whole lines may occur within others.
    let may_lack_end = !search.exact_only && !text.ends_with('\n');
    let is_last_meant = search.find.lines && may_be_last(text, &spans)
        || may_lack_end
            && match search.find.expected {
                ExpectedMatches::All => true,
                ExpectedMatches::Unique => spans.is_empty(),
                ExpectedMatches::Exactly(count) => spans.len() < count,
            };
    let mut candidates = literal(spans, &new);
    if let Some(span) = last_line(text, old).filter(|_| is_last_meant) {
        let new = Cow::Borrowed(search.new.strip_suffix('\n').unwrap_or(search.new));
        candidates.places.push(MatchSite { span, plan: SitePlan::Literal(new) });
    }
    Ok(candidates)
}

/// Returns the occurrences that another search found.
fn known_spans(search: &MatchSearch<'_>) -> Option<Vec<Span>> {
    search.literal.map(<[Span]>::to_vec)
}

/// Returns the first `most` spans that [`run`] finds for whole lines.
pub(in crate::locate::find) fn spans_of_lines(search: &MatchSearch<'_>, most: usize) -> Vec<Span> {
    let (text, old) = (search.text, &*search.find.old);
    let most = search_limit(search.find.expected).unwrap_or(usize::MAX).min(most);
    let mut spans = match search.literal {
        Some(known) => known[..known.len().min(most)].to_vec(),
        None => whole_lines(text, old, Some(most)),
    };
    if spans.len() < most && may_be_last(text, &spans) {
        spans.extend(last_line(text, old));
    }
    spans
}

/// True if whole lines may be the last ones, although these lack a line end. The end of a text that has its last line
/// end is a blank line only if there is no real one.
fn may_be_last(text: &str, spans: &[Span]) -> bool {
    spans.is_empty() || !text.ends_with('\n')
}

/// Returns the number of occurrences to search for; `None` for all.
pub(in crate::locate::find) fn search_limit(pick: ExpectedMatches) -> Option<usize> {
    match pick {
        ExpectedMatches::All => None,
        ExpectedMatches::Unique => Some(COUNTED_PLACES_MAX),
        ExpectedMatches::Exactly(count) => Some(COUNTED_PLACES_MAX.max(count.saturating_add(1))),
    }
}

/// Returns the occurrences of `old` that begin and end with a line.
fn whole_lines(text: &str, old: &str, most: Option<usize>) -> Vec<Span> {
    let spans = overlapping(text, old).filter(|span| is_whole_lines(text, *span));
    spans.take(most.unwrap_or(usize::MAX).min(CHANGED_PLACES_MAX + 1)).collect()
}

/// Returns all occurrences of `old`, including overlapping ones, until the work of the call has to end.
fn overlapping<'t>(text: &'t str, old: &'t str) -> impl Iterator<Item = Span> {
    let mut occurrences = Occurrences::new(text, old);
    std::iter::from_fn(move || {
        let at = occurrences.next()?;
        let ended = work::spend_or_end(1 + occurrences.take_compared() / STEP_BYTES);
        (!ended).then(|| Span::new(at, at + old.len()))
    })
}

/// True if an occurrence begins at the start of a line and ends at the end of one.
pub(in crate::locate::find) fn is_whole_lines(text: &str, span: Span) -> bool {
    starts_line(text, span.start()) && ends_line(text, span.end())
}

/// True if a line ends at `at` or just before it.
fn ends_line(text: &str, at: usize) -> bool {
    starts_line(text, at) || at == text.len() || text.as_bytes()[at] == b'\n'
}

/// Matches whole lines at the end of a text without a final line end.
fn last_line(text: &str, old: &str) -> Option<Span> {
    let start = text.strip_suffix(old.strip_suffix('\n').filter(|lines| !lines.is_empty())?)?.len();
    (start < text.len() && starts_line(text, start)).then(|| Span::new(start, text.len()))
}

/// Returns the note about a last line that was found although it lacks the line end of the given text.
pub(in crate::locate::find) fn unended_line(
    search: &MatchSearch<'_>,
    tier: Tier,
    places: &[MatchSite<'_>],
) -> Option<&'static str> {
    let is_unended = tier == Tier::Exact
        && !search.find.lines
        && search.find.old.ends_with('\n')
        && !search.text.ends_with('\n')
        && places.last().is_some_and(|place| place.span.end() == search.text.len());
    is_unended.then_some("The last line of the file has no line end; it was replaced, too.")
}

/// Creates sites whose text is replaced by `new` as it is.
pub(in crate::locate::find) fn literal<'a>(spans: Vec<Span>, new: &Cow<'a, str>) -> CandidateSites<'a> {
    CandidateSites {
        places: spans.into_iter().map(|span| MatchSite { span, plan: SitePlan::Literal(new.clone()) }).collect(),
        ..CandidateSites::default()
    }
}

/// Finds the occurrences of `old` in one pass: disjoint ones if all are wanted, else including overlapping ones (`aa`
/// occurs twice in `aaa`), up to `most`.
pub(in crate::locate::find) fn occurrences(text: &str, old: &str, most: Option<usize>) -> Vec<Span> {
    match most {
        Some(most) => overlapping(text, old).take(most.min(CHANGED_PLACES_MAX + 1)).collect(),
        None => disjoint(text, old).take(CHANGED_PLACES_MAX + 1).collect(),
    }
}

/// Returns the occurrences of `old` that do not overlap an earlier one, until the work of the call has to end.
fn disjoint(text: &str, old: &str) -> impl Iterator<Item = Span> {
    let occurrences = memmem::find_iter(text.as_bytes(), old).take_while(|_| !old.is_empty());
    let spans = occurrences.map(|at| Span::new(at, at + old.len()));
    spans.take_while(|span| !work::spend_or_end(1 + span.len() / STEP_BYTES))
}

/// Replaces an occurrence by `new`: only the lines that differ are written.
pub(in crate::locate::find) fn whole_line_match(search: &MatchSearch<'_>, span: Span, new: &str) -> TextMatch {
    let text = search.text;
    if new.is_empty() {
        let span = if search.literal_deletion { span } else { deletion(text, span) };
        return TextMatch { span, edits: vec![TextEdit { span, text: String::new() }] };
    }
    TextMatch { span, edits: resolve::difference(text, span, new) }
}

/// Returns the note about a deletion that removed more than the given text: the rest of the lines that became empty.
pub(in crate::locate::find) fn emptied_lines(
    search: &MatchSearch<'_>,
    occurrences: &[MatchSite<'_>],
    hits: &[TextMatch],
) -> Option<String> {
    if !search.new.is_empty() {
        return None;
    }
    let ended = search.find.old.ends_with('\n');
    let (mut front, mut line_end, mut whitespace) = (false, false, false);
    for (place, hit) in occurrences.iter().zip(hits) {
        front |= hit.span.start() < place.span.start();
        let rest = &search.text[place.span.end().min(hit.span.end())..hit.span.end()];
        line_end |= !ended && rest.ends_with('\n');
        whitespace |= !rest.is_empty() && !rest.ends_with('\n');
    }
    let removed = match (front, line_end) {
        (true, true) => "its indentation and its line end",
        (true, false) => "its indentation",
        (false, true) => "its line end",
        (false, false) if whitespace => "the whitespace around the text",
        (false, false) => return None,
    };
    Some(format!("A line that held nothing else was removed whole, with {removed}."))
}

/// Extends a deletion that leaves only spaces and tabs on its lines to these whole lines, with one line end; any other
/// deletion is literal, including that of whitespace. So a deleted line leaves no empty line, and the end of a line is
/// never joined to the next line.
fn deletion(text: &str, span: Span) -> Span {
    // Only spaces and tabs are examined, so that many occurrences on one long line remain cheap.
    let start = fold::trim_blanks_end(&text[..span.start()]).len();
    if !starts_line(text, start) || text[span.range()].trim().is_empty() {
        return span;
    }
    if text[span.range()].ends_with('\n') {
        return Span::new(start, span.end());
    }
    let rest = fold::trim_blanks_start(&text[span.end()..]);
    let stop = text.len() - rest.len();
    match rest.bytes().next() {
        Some(b'\n') => Span::new(start, stop + 1),
        Some(_) => span,
        None => Span::new(start, stop),
    }
}

/// Returns warnings about matches that begin or end inside a word.
pub(in crate::locate::find) fn notes(text: &str, hits: &[TextMatch]) -> Vec<String> {
    let cut =
        work::batched(hits.iter()).any(|hit| cuts_word(text, hit.span.start()) || cuts_word(text, hit.span.end()));
    let note = "The replaced text begins or ends inside a word; check that this was meant.";
    cut.then(|| note.to_owned()).into_iter().collect()
}

/// True for an offset inside a word.
fn cuts_word(text: &str, at: usize) -> bool {
    let (left, right) = (text[..at].chars().next_back(), text[at..].chars().next());
    left.is_some_and(is_word_char) && right.is_some_and(is_word_char)
}

/// True for a character of a word.
fn is_word_char(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

#[cfg(test)]
mod tests {
    use super::{deletion, occurrences};
    use crate::locate::find::testing::{edit, edit_all, refuse};
    use crate::text::span::Span;

    #[test]
    fn overlapping_matches_count() {
        assert_eq!(occurrences("aaa", "aa", Some(9)).len(), 2);
        assert_eq!(occurrences("aaaa", "aa", None).len(), 2);
        assert!(occurrences("a", "", None).is_empty());
    }

    #[test]
    fn last_line_need_not_end() {
        assert_eq!(
            edit("fn a() {\n    x();\n}", "    x();\n}\n", "    x();\n}\n\nb();\n"),
            "fn a() {\n    x();\n}\n\nb();"
        );
        assert_eq!(edit("a {\n}", "}\n", "};\n"), "a {\n};");
        assert_eq!(edit_all("a_line\nx\na_line", "a_line\n", "b\n"), "b\nx\nb");
        assert_eq!(edit("a_line\nx\na_line", "a_line\nx\n", "b\n"), "b\na_line");
        refuse("a {}", "}\n", "};\n");
        // A file with a final line end has no such line.
        assert_eq!(edit_all("a\n\n\n\n\n", "\n\n\n", "\n\n"), "a\n\n\n\n");
    }

    #[test]
    fn deletion_removes_whole_lines_or_is_literal() {
        let of = |text: &str, part: &str| {
            let at = text.find(part).unwrap();
            let span = deletion(text, Span::new(at, at + part.len()));
            format!("{}{}", &text[..span.start()], &text[span.end()..])
        };
        assert_eq!(of("a\n  foo()  \nb\n", "foo()"), "a\nb\n");
        assert_eq!(of("a\nfoo()\nb\n", "foo()\n"), "a\nb\n");
        assert_eq!(of("f(a, b)\nnext()\n", ", b)"), "f(a\nnext()\n");
        assert_eq!(of("a\nlast", "last"), "a\n");
        assert_eq!(of("a\n    \nb\n", "    "), "a\n\nb\n");
        assert_eq!(of("a\nfoo\nb\n", "\nfoo"), "a\nb\n");
    }
}
