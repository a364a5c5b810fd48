//! Search patterns: plain text with a worst-case linear search, and regular expressions of bounded size.

use crate::tools::search::folded::FoldedFinder;
use crate::tools::search::regex::BoundedRegex;
use emendate_core::{Phrase, Result, advice, normalize_text};
use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures, NoError};
use memchr::memmem::Finder;
use std::ops::Range;

/// Bytes of a regular expression, and of plain text searched regardless of case.
pub(crate) const PATTERN_BYTES_MAX: usize = 64 << 10;
/// Bytes of plain text from which it is searched regardless of case without a regular expression.
const FOLDED_BYTES_MIN: usize = 256;
/// Characters that mean something in a regular expression.
const REGEX_CHARS: &[char] = &['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'];

/// Advice for a regular expression with a carriage return that is found nowhere.
pub(crate) const LINE_ENDS_ADVICE: &str =
    r"A line end is always \n for a pattern, also in a file with CRLF: write \n in place of \r\n, and no \r before $.";

/// True for a regular expression that names a carriage return.
pub(crate) fn names_carriage_return(pattern: &str) -> bool {
    pattern.contains('\r') || pattern.contains(r"\r")
}

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
    Regex(Box<BoundedRegex>),
}

impl SearchPattern {
    /// Errors: as [`BoundedRegex::new`].
    pub(crate) fn new(pattern: &str, look: PatternOptions) -> Result<SearchPattern> {
        // Texts are searched with `\n` as their line ends.
        let normal = if look.literal { normalize_text(pattern) } else { pattern.into() };
        let pattern = &*normal;
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
        Ok(SearchPattern::Regex(Box::new(BoundedRegex::new(pattern, look, &advice![Phrase::On("literal")])?)))
    }
}

/// Finds what a search was for in single lines, e.g. to colour it.
pub struct LineMatcher(SearchPattern);

impl LineMatcher {
    /// Creates the matcher of a search; `None` for a pattern that the search refuses.
    pub fn new(pattern: &str, literal: bool, ignore_case: bool) -> Option<LineMatcher> {
        let look = PatternOptions { literal, ignore_case, multiline: false };
        SearchPattern::new(pattern, look).ok().map(LineMatcher)
    }

    /// Returns the parts of a line that match, in order, without empty ones.
    pub fn matches(&self, line: &str) -> Vec<Range<usize>> {
        let text = line.trim_end_matches('\n').as_bytes();
        let (mut found, mut at) = (Vec::new(), 0);
        while at < text.len()
            && let Ok(Some(part)) = self.0.find_at(text, at)
        {
            at = part.end().max(at + 1);
            if !part.is_empty() {
                found.push(part.start()..part.end());
            }
        }
        found
    }
}

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
            SearchPattern::Regex(regex) => Ok(regex.find_at(text, at)),
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
            SearchPattern::Regex(regex) => regex.line_terminator(),
        }
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<grep_matcher::LineMatchKind>, NoError> {
        if let SearchPattern::Regex(regex) = self {
            return Ok(regex.find_candidate_line(text));
        }
        Ok(self.find_at(text, 0)?.map(|at| grep_matcher::LineMatchKind::Confirmed(at.end())))
    }

    fn shortest_match_at(&self, text: &[u8], at: usize) -> Result<Option<usize>, NoError> {
        if let SearchPattern::Regex(regex) = self {
            return Ok(regex.shortest_match_at(text, at));
        }
        Ok(self.find_at(text, at)?.map(|found| found.end()))
    }

    fn non_matching_bytes(&self) -> Option<&grep_matcher::ByteSet> {
        if let SearchPattern::Regex(regex) = self { regex.non_matching_bytes() } else { None }
    }
}
