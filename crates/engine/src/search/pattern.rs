//! Search patterns: plain text with a worst-case linear search, and regular expressions of bounded size.

use super::folded::FoldedFinder;
use emendate_core::{Code, Error, Result};
use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::memmem::Finder;

/// Bytes of a regular expression, and of plain text searched regardless of case.
pub(crate) const PATTERN_BYTES_MAX: usize = 64 << 10;
/// Bytes of a compiled expression, and of its tables during the search.
const COMPILED_BYTES_MAX: usize = 8 << 20;
const DFA_BYTES_MAX: usize = 32 << 20;

/// Bytes of plain text from which it is searched regardless of case without a regular expression.
const FOLDED_BYTES_MIN: usize = 256;
/// Characters that mean something in a regular expression.
const REGEX_CHARS: &[char] = &['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'];

/// The interpretation of a pattern.
#[derive(Clone, Copy, Default)]
pub(crate) struct PatternOptions {
    pub(crate) literal: bool,
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
}

/// The text or expression to search for.
pub(crate) enum SearchPattern {
    Text {
        finder: Box<Finder<'static>>,
        lines: bool,
    },
    /// Long plain text, regardless of case: the library's search would look at every start for each byte.
    Folded {
        finder: FoldedFinder,
        lines: bool,
    },
    Regex(Box<RegexMatcher>),
}

impl SearchPattern {
    /// Errors: as [`matcher`].
    pub(crate) fn new(pattern: &str, look: PatternOptions) -> Result<SearchPattern> {
        let in_a_line = !pattern.contains(['\n', '\r']);
        if look.literal && !look.ignore_case && !pattern.is_empty() && (in_a_line || look.multiline) {
            let finder = Box::new(Finder::new(pattern).into_owned());
            return Ok(SearchPattern::Text { finder, lines: !look.multiline });
        }
        let plain = look.literal || !pattern.contains(REGEX_CHARS);
        let long = pattern.len() > FOLDED_BYTES_MIN && pattern.len() <= PATTERN_BYTES_MAX;
        if plain && look.ignore_case && long && (in_a_line || look.multiline) {
            return Ok(SearchPattern::Folded { finder: FoldedFinder::new(pattern), lines: !look.multiline });
        }
        Ok(SearchPattern::Regex(Box::new(matcher(pattern, look, "set literal")?)))
    }
}

/// Compiles a regular expression; `plain` describes how to request plain text.
///
/// Errors: `call.invalid` for an invalid regular expression; `call.too_large`.
pub(crate) fn matcher(pattern: &str, look: PatternOptions, plain: &str) -> Result<RegexMatcher> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let what = format!("pattern has {} bytes; the limit is {PATTERN_BYTES_MAX}.", pattern.len());
        return Err(Error::new(Code::CallTooLarge, what).next(format!("Shorten it, or {plain} for plain text.")));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(look.ignore_case).fixed_strings(look.literal).multi_line(true);
    builder.dot_matches_new_line(look.multiline).size_limit(COMPILED_BYTES_MAX).dfa_size_limit(DFA_BYTES_MAX);
    if !look.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        Error::new(Code::CallInvalid, "pattern is not a regular expression that can be searched for.")
            .evidence(error.to_string().chars().take(REGEX_MESSAGE_CHARS_MAX).collect::<String>())
            .next(format!("Correct it, or {plain} for plain text, or set multiline if it holds a line end."))
    })
}

/// Characters kept of the library's message, which quotes the pattern.
const REGEX_MESSAGE_CHARS_MAX: usize = 2000;

impl Matcher for SearchPattern {
    type Captures = NoCaptures;
    type Error = NoError;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        match self {
            SearchPattern::Text { finder, .. } => {
                let found = text.get(at..).and_then(|rest| finder.find(rest));
                Ok(found.map(|found| Match::new(at + found, at + found + finder.needle().len())))
            }
            SearchPattern::Folded { finder, .. } => {
                Ok(finder.find(text, at).map(|found| Match::new(found.start, found.end)))
            }
            SearchPattern::Regex(matcher) => matcher.find_at(text, at),
        }
    }

    fn new_captures(&self) -> Result<NoCaptures, NoError> {
        Ok(NoCaptures::new())
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        match self {
            SearchPattern::Text { lines, .. } | SearchPattern::Folded { lines, .. } => {
                lines.then(|| LineTerminator::byte(b'\n'))
            }
            SearchPattern::Regex(matcher) => matcher.line_terminator(),
        }
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<grep_matcher::LineMatchKind>, NoError> {
        match self {
            SearchPattern::Text { .. } | SearchPattern::Folded { .. } => {
                Ok(self.find_at(text, 0)?.map(|at| grep_matcher::LineMatchKind::Confirmed(at.end())))
            }
            SearchPattern::Regex(matcher) => matcher.find_candidate_line(text),
        }
    }

    fn shortest_match_at(&self, text: &[u8], at: usize) -> Result<Option<usize>, NoError> {
        match self {
            SearchPattern::Text { .. } | SearchPattern::Folded { .. } => {
                Ok(self.find_at(text, at)?.map(|found| found.end()))
            }
            SearchPattern::Regex(matcher) => matcher.shortest_match_at(text, at),
        }
    }

    fn non_matching_bytes(&self) -> Option<&grep_matcher::ByteSet> {
        match self {
            SearchPattern::Text { .. } | SearchPattern::Folded { .. } => None,
            SearchPattern::Regex(matcher) => matcher.non_matching_bytes(),
        }
    }
}
