//! Regular expressions of schemas, matched in linear time. They are in JavaScript syntax; look-around and
//! back-references cannot be evaluated so, count as matching, and are reported.

use regex::{Regex, RegexBuilder};
use std::sync::OnceLock;

/// A regular expression, compiled on first use.
#[derive(Debug)]
pub(super) struct SchemaPattern {
    pub(super) text: String,
    built: OnceLock<Option<Regex>>,
}

impl SchemaPattern {
    pub(super) fn new(text: &str) -> SchemaPattern {
        SchemaPattern { text: text.to_owned(), built: OnceLock::new() }
    }

    /// Returns the cost of compiling it in steps; 0 if it is compiled. Repetition counts and Unicode classes can make a
    /// short pattern expensive.
    pub(super) fn cost_to_build(&self) -> usize {
        let large = ["{", "\\p", "\\P"].iter().any(|sign| self.text.contains(sign));
        if self.built.get().is_some() { 0 } else { 2_000 + 20 * self.text.len() + if large { 100_000 } else { 0 } }
    }

    /// Matches a text; `None` if the pattern cannot be evaluated.
    pub(super) fn fits(&self, text: &str) -> Option<bool> {
        self.built.get_or_init(|| built(&self.text)).as_ref().map(|pattern| pattern.is_match(text))
    }
}

fn built(text: &str) -> Option<Regex> {
    if text.len() > 4096 {
        return None;
    }
    let ours = translated(text)?;
    RegexBuilder::new(&ours).size_limit(200 << 10).dfa_size_limit(256 << 10).nest_limit(50).build().ok()
}

/// Translates a JavaScript pattern; `None` if it has no equivalent.
fn translated(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let mut in_class = false;
    while let Some(char) = chars.next() {
        match char {
            '\\' => escape(chars.next()?, in_class, &mut chars, &mut out)?,
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
                // An empty class has a meaning in JavaScript and is an error here.
                if chars.peek() == Some(&']') {
                    return None;
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            ']' => out.push_str("\\]"),
            // Operators on sets in the `regex` crate.
            '&' | '~' if in_class => out.extend(['\\', char]),
            '-' if in_class && chars.peek() == Some(&'-') => out.push_str("\\-"),
            _ => out.push(char),
        }
    }
    Some(out)
}

fn escape(
    char: char,
    in_class: bool,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    out: &mut String,
) -> Option<()> {
    match char {
        // ASCII only in JavaScript.
        'd' => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str(if in_class { "A-Za-z0-9_" } else { "[A-Za-z0-9_]" }),
        'W' => out.push_str("[^A-Za-z0-9_]"),
        // Back-references.
        '1'..='9' | 'k' => return None,
        '0' => out.push_str("\\x00"),
        'c' => {
            let letter = chars.next().filter(char::is_ascii_alphabetic)?;
            let code = letter as u32 % 32;
            out.extend(["\\x", &format!("{code:02x}")]);
        }
        'b' if in_class => out.push_str("\\x08"),
        's' | 'S' | 'b' | 'B' | 'n' | 'r' | 't' | 'f' | 'v' | 'x' | 'u' | 'p' | 'P' => out.extend(['\\', char]),
        _ if char.is_ascii_alphanumeric() => return None,
        _ => out.push_str(&regex::escape(&char.to_string())),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::SchemaPattern;

    #[test]
    fn javascript_patterns_are_translated() {
        for (pattern, text, fits) in [
            ("^[a-z]+$", "abc", Some(true)),
            ("^\\d+$", "١", Some(false)),
            ("^[\\w-]+$", "a-b_1", Some(true)),
            ("\\/", "a/b", Some(true)),
            ("^[[]$", "[", Some(true)),
            ("[&&a]", "&", Some(true)),
            ("\\<", "<", Some(true)),
            ("^\\u0041$", "A", Some(true)),
            ("a\\-b", "a-b", Some(true)),
            ("^(?!x)", "a", None),
            ("(a)\\1", "aa", None),
            ("[^]", "a", None),
            ("((a{100}){100}){100}", "a", None),
            ("]", "]", Some(true)),
        ] {
            assert_eq!(SchemaPattern::new(pattern).fits(text), fits, "{pattern}");
        }
    }
}
