//! The end of a line on which a symbol is replaced: separators, a comment, or other code.

use crate::grammar::is_comment;
use crate::parse::{ParseLimits, SyntaxTree, parse};
use core::ops::Range;

/// Signs that close a comment, so that code may follow it on its line.
const CLOSING_SIGNS: [&str; 6] = ["*/", "-->", "-}", "|#", "=#", "]]"];

/// The separators that may follow a symbol.
const SEPARATORS: [char; 2] = [',', ';'];

/// The new text of a symbol, and where the old text ends that it replaces.
pub(crate) struct ReplacedTail {
    pub(crate) end: usize,
    pub(crate) text: String,
}

impl SyntaxTree<'_> {
    /// Joins a new text to what follows the symbol on its last line, which is `rest`. A separator there stays, before a
    /// comment at the end of the new text. Such a comment replaces the one in the file.
    ///
    /// Returns `None` if that comment would make other code a part of it.
    pub(crate) fn with_rest_of_line(&self, new: &str, rest: Range<usize>) -> Option<ReplacedTail> {
        let after = &self.text[rest.clone()];
        if after.trim().is_empty() {
            return Some(ReplacedTail { end: rest.start, text: new.to_owned() });
        }
        let separator =
            &after[..after.chars().next().filter(|sign| SEPARATORS.contains(sign)).map_or(0, char::len_utf8)];
        let comment_at = self.trailing_comment(new).unwrap_or(new.len());
        let (code, comment) = (new[..comment_at].trim_end(), &new[comment_at..]);
        let gap = &new[code.len()..comment_at];
        let code = if separator.is_empty() { code } else { code.trim_end_matches(SEPARATORS) };
        let beyond = after[separator.len()..].trim();
        if comment.is_empty() {
            return Some(ReplacedTail { end: rest.start, text: format!("{code}{gap}{comment}") });
        }
        let is_replaced = beyond.is_empty() || self.is_comment_to(rest.start + separator.len(), rest.end);
        if is_replaced {
            Some(ReplacedTail { end: rest.end, text: format!("{code}{separator}{gap}{comment}") })
        } else if CLOSING_SIGNS.iter().any(|signs| comment.ends_with(signs)) {
            Some(ReplacedTail { end: rest.start, text: format!("{code}{gap}{comment}") })
        } else {
            None
        }
    }

    /// Returns the offset of the comment with which a new text ends, if code is before it.
    fn trailing_comment(&self, new: &str) -> Option<usize> {
        let parsed = parse(new, self.language, ParseLimits::CHECK)?;
        let last = new.trim_end().char_indices().next_back()?.0;
        let chain = parsed.chain(last);
        let comment = chain.iter().find(|node| is_comment(**node))?;
        let line = new[..comment.start_byte()].rsplit('\n').next().unwrap_or_default();
        (!line.trim().is_empty()).then(|| comment.start_byte())
    }

    /// True if only a comment follows an offset, up to the end of its line.
    fn is_comment_to(&self, from: usize, line_end: usize) -> bool {
        let at = line_end - self.text[from..line_end].trim_start().len();
        self.chain(at).iter().any(|node| {
            // Some grammars have the line end in the comment.
            is_comment(*node)
                && node.start_byte() == at
                && (node.end_byte() == line_end || node.end_byte() == line_end + 1)
        })
    }
}
