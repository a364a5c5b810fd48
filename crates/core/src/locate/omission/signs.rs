//! The words of a line between signs at both of its ends, in any syntax of comments or emphasis.

use std::borrow::Cow;

/// The words between the signs of a line, and the dots among the signs.
#[derive(Debug, PartialEq)]
pub(super) struct BetweenSigns<'a> {
    /// The words; empty if there are only signs.
    pub text: Cow<'a, str>,
    /// True if there are three dots in a row somewhere among the signs.
    pub dots: bool,
    /// True if there are such dots on both sides of the words.
    pub dotted: bool,
}

/// Words that belong to the syntax of a comment, or that address a task to somebody.
const SYNTAX_WORDS: [&str; 14] = [
    "comment", "endcomment", "begin", "end", "region", "endregion", "todo", "note", "fixme", "rem", "pass", "c", "nb",
    "dnl",
];
/// Signs that begin a name in some language if a letter follows.
const NAME_SIGNS: [char; 5] = ['.', '$', '&', '@', '*'];
/// Signs at the end of a line of code.
const CODE_ENDS: [char; 5] = ['{', '(', ';', ',', ':'];

/// Returns the words between the signs of a trimmed line; `None` if it begins with a word of its own, or looks like
/// code.
pub(super) fn between(line: &str) -> Option<BetweenSigns<'_>> {
    // Most lines begin with a word. A comment in Fortran's fixed form begins with a single letter.
    if line.starts_with(|ch: char| ch.is_ascii_alphabetic()) && !line.starts_with("C ") {
        return None;
    }
    let (words, before, after) = without_signs(line);
    if words.is_empty() {
        let dots = has_dots(line);
        return dots.then_some(BetweenSigns { text: Cow::Borrowed(""), dots, dotted: false });
    }
    if words.len() == line.len() || before.is_empty() || line.ends_with(CODE_ENDS) {
        return None;
    }
    let is_name = before.ends_with(NAME_SIGNS) && !has_dots(before) && !words.contains(' ');
    let spread = before == "..." || before == "…";
    if is_name && after.is_empty() || spread || opens_name(line) {
        return None;
    }
    // The words may contain the names of functions with `()`.
    let text = if words.contains("()") { Cow::Owned(words.replace("()", "")) } else { Cow::Borrowed(words) };
    let is_plain = |ch: char| ch.is_alphanumeric() || " \t'’,.…-–!".contains(ch);
    let is_dotted = has_dots(before) && has_dots(after);
    text.chars().all(is_plain).then_some(BetweenSigns { text, dots: has_dots(line), dotted: is_dotted })
}

/// True for a line such as `.rest` or `&mut rest`, whose first sign is part of a name. A word of comment syntax is not
/// a name.
fn opens_name(line: &str) -> bool {
    line.strip_prefix(NAME_SIGNS).is_some_and(|rest| {
        rest.starts_with(char::is_alphanumeric)
            && syntax_word(rest.split(|ch: char| !ch.is_alphanumeric()).next().unwrap_or("")).is_none()
    })
}

/// True for three dots in a row.
fn has_dots(text: &str) -> bool {
    text.contains("...") || text.contains('…')
}

/// Returns the words of a line without the signs and the comment words at both ends, and the parts that were removed.
fn without_signs(line: &str) -> (&str, &str, &str) {
    let mut words = line;
    loop {
        let before = words;
        words = words.trim_matches(|ch: char| !ch.is_alphanumeric() && ch != '(' && ch != ')');
        words = without_brackets(words);
        let first = words.split(|ch: char| !ch.is_alphanumeric()).next().unwrap_or("");
        let is_item = !first.is_empty() && first.len() <= 2 && first.bytes().all(|byte| byte.is_ascii_digit());
        let after = &words[first.len()..];
        if syntax_word(first).is_some() || is_item && after.starts_with(['.', ')']) {
            words = after;
        }
        let last = words.rsplit(|ch: char| !ch.is_alphanumeric()).next().unwrap_or("");
        if last.len() < words.len() && syntax_word(last).is_some() {
            words = &words[..words.len() - last.len()];
        }
        if words == before {
            break;
        }
    }
    let at = words.as_ptr().addr() - line.as_ptr().addr();
    (words, &line[..at], &line[at + words.len()..])
}

/// Removes brackets at the ends, except those of a function call.
fn without_brackets(words: &str) -> &str {
    let words = words.trim_start_matches(['(', ')']);
    if words.ends_with("()") { words } else { words.trim_end_matches(['(', ')']) }
}

/// Returns the word of [`SYNTAX_WORDS`] that equals this one.
fn syntax_word(word: &str) -> Option<&'static str> {
    SYNTAX_WORDS.into_iter().find(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::between;
    use proptest::prelude::*;

    #[test]
    fn words_are_found_between_any_signs() {
        for (line, text) in [
            ("#[ unchanged ]#", "unchanged"),
            ("\\begin{comment} the rest \\end{comment}", "the rest"),
            ("(* a() and b() *)", "a and b"),
            ("// [a()]", "a"),
            ("1. the rest", "the rest"),
            ("->...", ""),
        ] {
            assert_eq!(between(line).map(|found| found.text.into_owned()).as_deref(), Some(text), "{line}");
        }
        for line in ["a b", ".a b", "- a: b", "(a = b)", "# -", "...a", "-a of[0]", "- a b {"] {
            assert_eq!(between(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_searched(line in "\\PC{0,40}") {
            between(&line);
        }
    }
}
