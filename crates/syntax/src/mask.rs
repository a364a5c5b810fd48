//! Replaces characters that a scanner written in C cannot handle, in the text that the parser gets; the length stays
//! the same.

#![cfg(feature = "bash")]

use std::borrow::Cow;

/// Bash: after `{`, and after the dots of `{1..`, the scanner of tree-sitter-bash 0.25.1 passes any character to
/// `isdigit`, which reads a table of 256. Such a character becomes `\u{c0}`, padded with `_`, which is not a digit
/// either, and part of a word like before.
pub(crate) fn bash(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut masked = Cow::Borrowed(text);
    // Each match ends before the next `{`, so they never overlap.
    for open in memchr::memchr_iter(b'{', bytes) {
        let mut at = past_digits(bytes, open + 1);
        if bytes.get(at..at + 2) == Some(b"..") {
            at = past_digits(bytes, at + 2);
        }
        let beyond = text.get(at..).and_then(|rest| rest.chars().next()).filter(|it| *it > '\u{ff}');
        if let Some(beyond) = beyond {
            let mut fill = String::from('\u{c0}');
            fill.extend(std::iter::repeat_n('_', beyond.len_utf8() - 2));
            masked.to_mut().replace_range(at..at + beyond.len_utf8(), &fill);
        }
    }
    masked
}

fn past_digits(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|it| it.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::bash;

    #[test]
    fn only_characters_that_the_scanner_misreads_are_masked() {
        for (text, expected) in [
            ("echo {a,é}", "echo {a,é}"),
            ("echo {é}", "echo {é}"),
            ("echo {→}→", "echo {À_}→"),
            ("{\u{e0001}}{1\u{100}}", "{À__}{1À}"),
            ("{1..→} {12..34→} {..→ {...→ {1.→", "{1..À_} {12..34À_} {..À_ {...→ {1.→"),
            ("→{", "→{"),
        ] {
            let masked = bash(text);
            assert_eq!(masked, expected);
            assert_eq!(masked.len(), text.len());
        }
    }
}
