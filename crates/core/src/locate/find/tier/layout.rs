//! Blanks between two tokens that may be there or not, because they are layout in every language.

use crate::text::tokens::tokens;

/// Signs of operators.
const OPERATORS: &str = "=+-*/<>|&?!%^~:";
/// Signs of operators of several signs that have the same meaning with and without blanks around them. Others may be
/// the sign of an option (`--flag`).
const PLAIN_OPERATORS: &str = "=<>|&";

/// A text as its tokens, and which of them follow a blank or a line break.
struct SpacedText<'a> {
    tokens: Vec<&'a str>,
    spaced: Vec<bool>,
    broken: Vec<bool>,
}

impl<'a> SpacedText<'a> {
    fn of(text: &'a str) -> SpacedText<'a> {
        let mut out = SpacedText { tokens: Vec::new(), spaced: Vec::new(), broken: Vec::new() };
        let mut gap = "";
        for token in tokens(text.trim()) {
            if token.trim().is_empty() {
                gap = token;
                continue;
            }
            out.tokens.push(token);
            out.spaced.push(!gap.is_empty());
            out.broken.push(gap.contains('\n'));
            gap = "";
        }
        out
    }

    /// True if there is a blank before the token at `at`; `None` at the end of the text.
    fn is_spaced(&self, at: usize) -> Option<bool> {
        self.spaced.get(at).copied()
    }
}

/// True if two texts with the same tokens differ at most in line breaks, and in blanks that are layout: beside brackets
/// and separators, and around operators.
pub(super) fn are_equal(file: &str, old: &str) -> bool {
    if file == old {
        return true;
    }
    let (file, old) = (SpacedText::of(file), SpacedText::of(old));
    // The third part of the tier ignores commas at the ends of lists.
    let mut gaps = 1..file.tokens.len().min(old.tokens.len());
    file.tokens != old.tokens
        || gaps.all(|at| {
            file.spaced[at] == old.spaced[at]
                || file.broken[at]
                || old.broken[at]
                || is_beside_bracket(&file.tokens, at)
                || is_around(&file, &old, at)
        })
}

/// True if the gap before the token at `at` is inside a bracket, beside a separator, or before a block.
fn is_beside_bracket(tokens: &[&str], at: usize) -> bool {
    match (tokens[at - 1], tokens[at]) {
        // An empty box of a list of tasks has a blank.
        ("[", "]") => false,
        ("(" | "[" | "{" | "," | ";" | ":" | ")" | "}", _) | (_, ")" | "]" | "}" | "," | ";" | "(" | "{") => true,
        // The end of a tag.
        (_, "/") => tokens.get(at + 1) == Some(&">"),
        _ => false,
    }
}

/// True if the gap before the token at `at` is beside an operator whose blanks are layout: both texts have them on both
/// sides or on none, it has several signs, or it is the sign of a pointer, which each text separates on one side.
fn is_around(file: &SpacedText<'_>, old: &SpacedText<'_>, at: usize) -> bool {
    let is_operator = |at: usize| file.tokens.get(at).is_some_and(|token| OPERATORS.contains(token));
    let mut start = if is_operator(at) { at } else { at - 1 };
    while start > 0 && is_operator(start) && is_operator(start - 1) {
        start -= 1;
    }
    let end = (start..file.tokens.len()).find(|&at| !is_operator(at)).unwrap_or(file.tokens.len());
    let is_one = |text: &SpacedText<'_>| text.spaced[start + 1..end].iter().all(|spaced| !spaced);
    if start == 0 || start == end || !is_one(file) || !is_one(old) {
        return false;
    }
    let signs = &file.tokens[start..end];
    let is_even = |text: &SpacedText<'_>| text.is_spaced(end).is_none_or(|spaced| spaced == text.spaced[start]);
    let is_separated = |text: &SpacedText<'_>| text.spaced[start] || text.is_spaced(end) == Some(true);
    let is_pointer = || matches!(signs, ["*" | "&"] | ["*", "*"]) && is_separated(file) && is_separated(old);
    is_even(file) && is_even(old)
        || signs.len() > 1 && signs.iter().any(|sign| PLAIN_OPERATORS.contains(sign))
        || is_pointer()
}
