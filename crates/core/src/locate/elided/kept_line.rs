//! A line of the file that is compared with every new line next to it: whether one of them may be that line after a
//! change.

use super::beside::name_set;
use super::indent;
use crate::locate::word_overlap::{LineWords, WordOverlap};
use crate::work;
use core::cell::OnceCell;

/// A line of the file, with what comparisons need of it. The line may be long, so each part is read once.
pub(super) struct KeptLine<'a> {
    pub text: &'a str,
    indent: usize,
    /// `None` if reading them was too much work.
    words: Option<LineWords<'a>>,
    name: OnceCell<Option<&'a str>>,
    shape: OnceCell<String>,
}

impl<'a> KeptLine<'a> {
    pub(super) fn of(text: &'a str) -> KeptLine<'a> {
        let (name, shape) = (OnceCell::new(), OnceCell::new());
        KeptLine { text, indent: indent(text), words: LineWords::of(text), name, shape }
    }

    /// True if a new line may be this one after a change: half of the words of each are the same, including the first,
    /// or [`KeptLine::is_rewritten_as`] is true.
    pub(super) fn may_become(&self, new: &str) -> bool {
        let is_level = self.indent == indent(new);
        self.overlap(new).map_or(is_level, |words| words.is_half_with_first() || is_level && words.is_most())
    }

    /// True if a new line with the same indentation has two thirds of its words, or if that is too much work.
    pub(super) fn is_rewritten_as(&self, new: &str) -> bool {
        self.indent == indent(new) && self.overlap(new).is_none_or(|words| words.is_most())
    }

    /// True when a new line may be this one after a change: half of their words are the same, or their shape is.
    pub(super) fn is_like(&self, new: &str) -> bool {
        // All titles have one shape.
        let is_title = |line: &str| line.starts_with("##") && line.trim_start_matches('#').starts_with(' ');
        self.shares_words(new)
            || !(is_title(self.text) && is_title(new)) && *self.shape.get_or_init(|| shape(self.text)) == shape(new)
    }

    /// True when half of the words of two lines are the same, or both set one name, or if that is too much work.
    pub(super) fn shares_words(&self, new: &str) -> bool {
        let name = || *self.name.get_or_init(|| name_set(self.text));
        self.overlap(new).is_none_or(|words| words.is_half_of_shorter())
            || name().is_some_and(|name| name_set(new) == Some(name))
    }

    fn overlap(&self, new: &str) -> Option<WordOverlap> {
        self.words.as_ref()?.overlap(new)
    }
}

/// Returns the signs of a line, with one letter for each word.
fn shape(line: &str) -> String {
    let (mut out, mut last) = (String::new(), None);
    for ch in work::batched(line.trim().chars()) {
        let sign = if ch.is_alphanumeric() || ch == '_' { 'a' } else { ch };
        if last.replace(sign) != Some(sign) && !sign.is_whitespace() {
            out.push(sign);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{KeptLine, shape};

    #[test]
    fn shape_has_one_letter_for_each_word() {
        assert_eq!(shape("  let first_one = call(a, 22);  "), "aa=a(a,a);");
        assert_eq!(shape("a  b"), "aa");
        assert_eq!(shape("((é – x))"), "(a–a)");
    }

    #[test]
    fn lines_are_compared_by_words_name_and_shape() {
        let line = KeptLine::of("    let port = read_port(config);");
        assert!(line.may_become("let port = read_port(settings);"));
        assert!(line.may_become("    const port = read_port(config);"));
        assert!(!line.may_become("const port = read_port(config);"));
        assert!(!line.may_become("    return read_port(config);"));
        assert!(line.is_rewritten_as("    let port = read_port(settings);"));
        assert!(!line.is_rewritten_as("let port = read_port(settings);"));
        assert!(line.shares_words("    let port = 80;"));
        assert!(!line.shares_words("    log(message);"));
        assert!(line.is_like("    var other = find(name);"));
        assert!(!line.is_like("    log(message);"));
    }
}
