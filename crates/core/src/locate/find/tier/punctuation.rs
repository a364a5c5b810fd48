//! Tier 1: Unicode punctuation within one line.
//!
//! With both sides folded (quotes, primes, dashes, Unicode spaces, `…`, zero-width characters, accents; see
//! [`fold`](crate::text::fold)), the old text is a literal part of one line, and the match begins and ends on character
//! boundaries of the file. The file keeps its own characters wherever the old and the new text agree.

use super::exact::{self, COUNTED_PLACES_MAX};
use crate::locate::find::TextMatch;
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::MatchRefusal;
use crate::locate::find::retyped::RetypedText;
use crate::locate::find::search::MatchSearch;
use crate::text::fold::{self, MappedText};
use crate::text::span::Span;
use crate::text::tokens;
use memchr::memmem;
use std::collections::BTreeSet;

/// Minimum number of letters and digits of the old text, unless it differs only in quotes.
pub(in crate::locate::find) const ALNUM_MIN: usize = 4;

#[expect(clippy::unnecessary_wraps, reason = "the shape of every tier")]
pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let old = &*search.find.old;
    let folded = fold::fold(old);
    if old.contains('\n') || folded.trim().is_empty() {
        return Ok(CandidateSites::default());
    }
    let mut spans: BTreeSet<Span> = BTreeSet::new();
    if folded != old {
        // Parts of the file that are in folded form already match the folded text literally.
        spans.extend(
            memmem::find_iter(search.text.as_bytes(), folded.as_bytes())
                .take(COUNTED_PLACES_MAX)
                .map(|at| Span::new(at, at + folded.len())),
        );
    }
    if !search.text.is_ascii() {
        let finder = memmem::Finder::new(folded.as_bytes());
        for at in 0..search.lines().count() {
            let line = search.line(at);
            if !line.is_ascii() && spans.len() < COUNTED_PLACES_MAX {
                spans.extend(in_line(line, search.lines().start(at), &finder));
            }
        }
    }
    // A text that is too short for a folded search is still found if only its quotes differ.
    if search.pattern.alnum(ALNUM_MIN) < ALNUM_MIN {
        spans.retain(|span| fold::differ_in_quotes_only(&search.text[span.range()], old));
    }
    Ok(CandidateSites {
        places: spans.into_iter().map(|span| MatchSite { span, plan: SitePlan::Inline(search.new) }).collect(),
        ..CandidateSites::default()
    })
}

fn in_line(line: &str, start: usize, finder: &memmem::Finder<'_>) -> Vec<Span> {
    let folded = fold::fold(line);
    if finder.find(folded.as_bytes()).is_none() {
        return Vec::new();
    }
    let map = MappedText::new(line, false);
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&map.text.as_bytes()[from..]).map(|at| from + at) {
        let end = at + finder.needle().len();
        if map.is_border(at) && map.is_border(end) {
            out.push(Span::new(start + map.from[at], start + map.from[end]));
        }
        from = at + 1;
    }
    out
}

/// Computes the change token by token in a part of a line that resembles the old text.
pub(in crate::locate::find) fn carried_match(search: &MatchSearch<'_>, span: Span, new: &str) -> TextMatch {
    let part = &search.text[span.range()];
    let carried = tokens::with_file_tokens(part, &search.find.old, new, false);
    let text = carried.unwrap_or_else(|| new.to_owned());
    let text = if text.is_ascii() { text } else { RetypedText::of_part(search, part).with_plain_chars(text) };
    exact::whole_line_match(search, span, &text)
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, edit_all, refuse};

    #[test]
    fn quotes_of_the_file_stay() {
        assert_eq!(
            edit("She said, “Hello.”\nHe left.\n", "said, \"Hello.\"", "said, \"Hi.\""),
            "She said, “Hi.”\nHe left.\n"
        );
        assert_eq!(edit("a = it's here\n", "it’s here", "it’s gone"), "a = it's gone\n");
        assert_eq!(edit("x\n  say(“word”)\ny\n", "say(\"word\")", ""), "x\ny\n");
    }

    #[test]
    fn quotes_count_at_any_length() {
        assert_eq!(edit("a “foo” b\n", "\"foo\"", "\"bar\""), "a “bar” b\n");
        assert_eq!(edit("The e’s end\n", "e's", "f's"), "The f’s end\n");
        assert_eq!(edit("a ’ b\n", "'", "-"), "a - b\n");
        let error = refuse("“x” and ”x“\n", "\"x\"", "\"y\"");
        assert_eq!(error.message(), "Found 2 matches of the string to replace, but replace_all is false.");
        assert_eq!(edit_all("“x” and ”x“\n", "\"x\"", "\"y\""), "“y” and ”y“\n");
        // In a short text nothing else is tolerated.
        refuse("a — b\n", "-'", "x");
        refuse("“a—b”\n", "\"a-b\"", "x");
    }

    #[test]
    fn matches_end_at_character_boundaries() {
        // `…` is folded to three dots; two of them do not match it.
        refuse("wait… done\n", "wait..", "x");
        assert_eq!(edit("café ’n bar\n", "'n bar", "'n tea"), "café ’n tea\n");
        // é is folded to e; a match that ends before the accent would end inside a character.
        refuse("“café”\n", "\"cafe", "x");
    }

    #[test]
    fn two_matches_are_ambiguous() {
        refuse("say(‘word’)\nsay(’word‘)\n", "say('word')", "say('term')");
        refuse("area = r² * pi\n", "area = r2 * pi", "x");
    }
}
