//! Detects texts that overflow an external scanner: each stores its state in one kilobyte, and some do not check for
//! overflow. Such texts are not parsed.

#![allow(dead_code, reason = "which of them are needed depends on the features")]

use std::collections::HashSet;

/// YAML: four bytes per level of indentation.
pub(crate) fn yaml(text: &str) -> bool {
    // Each level takes a column or a mark, which bounds the number of levels.
    text.lines().any(|line| line.len() >= 200 && count_levels(line) >= 200)
}

/// Returns the most levels that a line can open.
fn count_levels(line: &str) -> usize {
    let inside = line.trim_start_matches(' ');
    let opened = inside.bytes().filter(|byte| matches!(byte, b'-' | b'?' | b':')).count();
    line.len() - inside.len() + opened
}

/// Maximum levels of Python: two bytes each, besides at most 257 for open strings.
const PYTHON_INDENTS_MAX: usize = 380;

/// Python: indentation levels are strictly increasing, so there are at most as many as different widths.
pub(crate) fn python(text: &str) -> bool {
    let mut widths = HashSet::new();
    let (mut width, mut leading) = (0_u16, true);
    for byte in text.bytes() {
        match byte {
            b'\n' | b'\r' | b'\x0c' => (width, leading) = (0, byte == b'\n' || leading),
            b' ' => width = width.wrapping_add(1),
            b'\t' => width = width.wrapping_add(8),
            // A continued line, with its width, may follow.
            b'\\' => {}
            _ if leading => {
                leading = false;
                widths.insert(width);
                if widths.len() > PYTHON_INDENTS_MAX {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Maximum bytes of the names of Ruby's open heredocs, plus four each; and of one name.
const RUBY_HEREDOC_BYTES_MAX: usize = 400;
const RUBY_HEREDOC_NAME_MAX: usize = 200;
/// Maximum nesting of strings in Ruby: five bytes each.
const RUBY_STRINGS_MAX: usize = 100;

/// Ruby: names of open heredocs, and strings nested by `#{`.
pub(crate) fn ruby(text: &str) -> bool {
    let (mut depth, mut names) = (0_usize, 0_usize);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            // Heredoc bodies begin on the next line and end before anything else, unless nested.
            b'\n' if depth == 0 => names = 0,
            b'<' if bytes[..at].ends_with(b"<") => {
                let name = heredoc(&bytes[at + 1..]);
                names += if name == 0 { 0 } else { name + 4 };
                if name > RUBY_HEREDOC_NAME_MAX || names > RUBY_HEREDOC_BYTES_MAX {
                    return true;
                }
            }
            _ => {}
        }
        if depth > RUBY_STRINGS_MAX {
            return true;
        }
    }
    false
}

/// Length of the heredoc name after `<<`; 0 if there is none.
fn heredoc(rest: &[u8]) -> usize {
    let rest = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"~")).unwrap_or(rest);
    let most = rest.len().min(RUBY_HEREDOC_NAME_MAX + 2);
    match rest.first() {
        Some(quote @ (b'"' | b'\'' | b'`')) => rest[1..most.max(1)].iter().take_while(|it| *it != quote).count(),
        _ => rest[..most].iter().take_while(|it| it.is_ascii_alphanumeric() || **it == b'_' || **it > 0x7f).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::{python, ruby, yaml};

    fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
        (0..count).map(line).collect()
    }

    #[test]
    fn usual_texts_are_parsed() {
        let functions = lines(500, |nth| format!("def f{nth}(a):\n    if a:\n        return a\n"));
        assert!(!python(&functions));
        let heredocs = lines(500, |_| "puts(<<~TEXT, \"#{a}\")\n  a #{b} {\n  TEXT\n}\n".to_owned());
        assert!(!ruby(&heredocs));
        assert!(!yaml(&lines(500, |nth| format!("a{nth}:\n  - b: 1\n"))));
    }

    #[test]
    fn scanner_overflows_are_detected() {
        assert!(python(&lines(400, |nth| format!("{}if x:\n", " ".repeat(nth)))));
        assert!(python(&lines(400, |nth| format!("{}\x0c{}if x:\n", " ".repeat(400 - nth), "\t".repeat(nth)))));
        assert!(ruby(&format!("x = <<{}\n", "A".repeat(300))));
        assert!(ruby(&format!("x = <<~'{}'\n", "A b".repeat(100))));
        assert!(ruby(&format!("f({})\n", lines(100, |nth| format!("<<-A{nth}, ")))));
        assert!(ruby(&"\"#{".repeat(300)));
        assert!(yaml(&format!("{}a: 1\n", "- ".repeat(300))));
    }
}
