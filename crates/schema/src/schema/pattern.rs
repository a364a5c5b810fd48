//! Patterns of schemas, tried in time proportional to the text. They are written for JavaScript; what looks around or back
//! cannot be tried so, and counts as fitting, which is told.

use regex::{Regex, RegexBuilder};
use std::sync::OnceLock;

/// A pattern, built when it is needed first.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    built: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Pattern {
        Pattern { text: text.to_owned(), built: OnceLock::new() }
    }

    /// What it costs to build, in steps; nothing once it is. Counts and classes of letters can make much of a short text.
    pub(super) fn cost_to_build(&self) -> usize {
        let large = ["{", "\\p", "\\P"].iter().any(|sign| self.text.contains(sign));
        if self.built.get().is_some() { 0 } else { 2_000 + 20 * self.text.len() + if large { 100_000 } else { 0 } }
    }

    /// `None` where it cannot be tried.
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

/// A pattern of JavaScript as one of ours; `None` for what has no counterpart.
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
                // An empty class is one thing there and an error here.
                if chars.peek() == Some(&']') {
                    return None;
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            ']' => out.push_str("\\]"),
            // Signs of set operations.
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
        // There these are ASCII.
        'd' => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str(if in_class { "A-Za-z0-9_" } else { "[A-Za-z0-9_]" }),
        'W' => out.push_str("[^A-Za-z0-9_]"),
        // References back.
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
    use super::Pattern;

    #[test]
    fn patterns_of_javascript() {
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
            assert_eq!(Pattern::new(pattern).fits(text), fits, "{pattern}");
        }
    }
}
