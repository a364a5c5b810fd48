//! Second part of tier 6: blanks between tokens, which may be missing on either side.
//!
//! It is tried only if no other tier finds a place. A blank inside a word or a number separates two tokens, so no word
//! is split or joined. In lines with quotes or `#`, whitespace may be part of a text; only the length of blank runs may
//! differ there. Nor may a blank be missing where it can mean something in some language: `.nav .item` is not
//! `.nav.item`, and `foo -1` is not `foo - 1`.

use super::{layout, widths, windows};
use crate::locate::find::indent::{self, IndentMap};
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, span_of};
use crate::locate::find::target_indent;
use crate::locate::op::ExpectedMatches;
use crate::text::fold::{self, Normalization};
use crate::text::tokens;

/// Minimum number of letters and digits of the old text.
const ALNUM_MIN: usize = 6;
/// Signs of lines in which whitespace may be part of a string or comment.
const STRING_SIGNS: [char; 4] = ['"', '\'', '`', '#'];
/// Maximum number of places that are examined.
const PIVOT_PLACES_MAX: usize = 100;

/// Returns the places of an edit.
pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> CandidateSites<'a> {
    let wanted = search.find.expected == ExpectedMatches::Unique;
    let places = if wanted { places(search, are_same_code) } else { Vec::new() };
    CandidateSites { places, number: None, fitted: false }
}

/// True for two lines with the same tokens, if their whitespace is not part of a string or comment.
fn are_same_code(file: &str, old: &str) -> bool {
    !old.contains(STRING_SIGNS) || fold::are_equal_under(file, old, Normalization::BlankRuns)
}

/// Returns places with the same tokens as the old text, whose lines also satisfy `and`.
pub(in crate::locate::find) fn places<'a>(
    search: &MatchSearch<'a>,
    and: impl Fn(&str, &str) -> bool,
) -> Vec<MatchSite<'a>> {
    let old = &search.pattern.old;
    let is_short = || {
        let is_replacement = search.pattern.changes.is_none() && !search.find.lines;
        is_replacement && old.len() == 1 && windows::is_short(&search.pattern) && !old[0].contains(STRING_SIGNS)
    };
    if old.is_empty() || search.pattern.alnum(ALNUM_MIN) < ALNUM_MIN && !is_short() {
        return Vec::new();
    }
    let count = search.lines().count();
    // The line with the most letters and digits determines where windows may begin.
    let pivot = (0..old.len()).max_by_key(|&at| fold::count_alnum(old[at], 200)).unwrap_or(0);
    let lines = search.index.differing_in_blanks(old[pivot], PIVOT_PLACES_MAX);
    let starts = lines.into_iter().filter_map(|line| line.checked_sub(pivot));
    let same = |file: &str, old: &str| tokens::are_same(file, old) && and(file, old);
    let starts: Vec<usize> = starts
        .filter(|first| first + old.len() <= count)
        .filter(|first| (*first..).zip(old).all(|(at, old)| same(search.line(at), old)))
        .collect();
    // A place whose blanks may have a meaning is none, and a rival of every other one.
    let is_same = |first: usize| (first..).zip(old).all(|(at, old)| layout::are_equal(search.line(at), old));
    if !starts.iter().all(|first| is_same(*first)) {
        return Vec::new();
    }
    starts.into_iter().map(|first| site(search, first)).collect()
}

/// Creates the site for lines that differ in the blanks between tokens.
fn site<'a>(search: &MatchSearch<'a>, first: usize) -> MatchSite<'a> {
    let old = &search.pattern.old;
    let pairs = indent::pairs((first..).zip(old).map(|(at, old)| (*old, search.line(at))));
    if let Some(indent) = IndentMap::shift(&pairs).or_else(|| widths::map(search, &search.pattern, &pairs, 0)) {
        return MatchSite::lines(search, first, &search.pattern, indent, true);
    }
    let refusal =
        MatchRefusal::new(RefusalReason::Misindent, target_indent::UNCLEAR_DEPTH_REASON).at(first, first + old.len());
    let span = span_of(search.lines(), first, first + old.len());
    MatchSite { span, plan: SitePlan::Refused(refusal) }
}

#[cfg(test)]
mod tests {
    use crate::locate::find::search::{MatchSearch, SearchIndex};
    use crate::locate::find::testing::{edit, refuse};
    use crate::locate::op::{ExpectedMatches, TextQuery};
    use crate::text::snapshot::Snapshot;
    use crate::work::Meter;
    use std::sync::Arc;

    #[test]
    fn blanks_between_tokens_are_those_of_the_file() {
        let file = "begin();\ncall( a,b, value );\nend();\n";
        for old in ["call(a, b, value);\n", "begin();\ncall(a, b, value);\nend();\n"] {
            assert_eq!(edit(file, old, &old.replace("value", "other")), file.replace("value", "other"), "{old}");
        }
        assert_eq!(edit("if (value){\n", "if (value) {\n", "if (value && ready) {\n"), "if (value && ready){\n");
        assert_eq!(
            edit("value=compute(x);\n", "value = compute(x);\n", "value = compute(y);\n"),
            "value=compute(y);\n"
        );
        // The new text has a blank that the file has already.
        assert_eq!(
            edit("call( first, value );\n", "call(first,value);\n", "call(first, other);\n"),
            "call( first, other );\n"
        );
        assert_eq!(
            edit("value = compute(x);\n", "value=compute(x);\n", "result = compute(x);\n"),
            "result = compute(x);\n"
        );
        let file = "def f(a, b):\n    total = a + b\n    return total\n";
        let old = "total=a+b\nreturn total\n";
        assert_eq!(edit(file, old, &old.replace('+', "-")), file.replace('+', "-"));
        let deep = "f {\n\tfirst_call(a,b);\n\tsecond_call(c);\n}\n";
        let old = "first_call(a, b);\nsecond_call(c);\n";
        assert_eq!(edit(deep, old, &old.replace('c', "k")), deep.replace('c', "k"));
    }

    #[test]
    fn short_line_with_other_blanks_is_found() {
        assert_eq!(edit("f()\nx=1\n", "x = 1\n", "x = 2\n"), "f()\nx=2\n");
        assert_eq!(edit("f()\n  (a, b)\n", "(a,b)", "(a,c)"), "f()\n  (a, c)\n");
        refuse("x=1\nx =1\n", "x = 1\n", "x = 2\n");
        refuse("x='a'\n", "x = 'a'\n", "x = 'b'\n");
        refuse("});\n", "} );\n", "}\n");
    }

    #[test]
    fn compared_tokens_count_as_work() {
        let [pivot, line] = ["a_long_name = value;\n", "x = 1;\n"];
        let file = pivot.repeat(90) + &line.repeat(3_000);
        let old = "a_long_name=value;\n".to_owned() + &"x=1;\n".repeat(2_500) + "y=1;\n";
        let base = Snapshot::from_text(&file);
        let find = TextQuery::new(&old, ExpectedMatches::Unique);
        let meter = Meter::new(u64::MAX, Arc::default());
        let entered = meter.enter();
        let index = SearchIndex::new(&base);
        let found = super::run(&MatchSearch::new(&index, &find, "z\n"));
        drop(entered);
        assert!(found.places.is_empty());
        // The last pivot line begins a window of 2,500 equal lines.
        assert!(meter.spent() > 2 * 2_500 * 10, "{}", meter.spent());
    }

    #[test]
    fn blanks_with_a_meaning_are_not_ignored() {
        for (file, old) in [
            (".nav .item {\n", ".nav.item {\n"),
            ("link :hover {\n", "link:hover {\n"),
            ("- [ ] buy milk\n", "- [] buy milk\n"),
            ("VARIABLE= command --flag\n", "VARIABLE=command --flag\n"),
            ("method -1, bar_baz\n", "method - 1, bar_baz\n"),
            ("let re = /a b+c/;\n", "let re = /a b +c/;\n"),
            ("- first entry\n", "-first entry\n"),
        ] {
            refuse(file, old, "other\n");
            refuse(old, file, "other\n");
        }
    }

    #[test]
    fn blanks_of_the_layout_may_be_missing() {
        for (one, other) in [
            ("char *name = make();\n", "char* name = make();\n"),
            ("<Button wide />\n", "<Button wide/>\n"),
            ("let f = (x)=> {\n", "let f = (x) => {\n"),
            ("let f = x=> x + 10;\n", "let f = x => x+10;\n"),
            ("f({...rest, other:1})\n", "f({ ...rest, other: 1 })\n"),
            ("} else if (value){\n", "}else if(value) {\n"),
            ("total += value;\n", "total+=value;\n"),
            ("def name(self, other:int)->str:\n", "def name(self, other: int) -> str:\n"),
        ] {
            assert_eq!(edit(one, other, ""), "", "{other}");
            assert_eq!(edit(other, one, ""), "", "{one}");
        }
    }

    #[test]
    fn blanks_that_may_be_text_are_respected() {
        refuse("print(\"first,value\");\n", "print(\"first, value\");\n", "print(\"first, other\");\n");
        refuse("first = second++third;\n", "first = second + + third;\n", "first = second + + fourth;\n");
        refuse("int my_value = 1;\n", "int my _value = 1;\n", "int my _value = 2;\n");
        refuse("call(first,value);\ncall( first, value );\n", "call(first, value);\n", "call(first, other);\n");
    }
}
