//! Texts that a scanner cannot hold: each keeps its state in a kilobyte, and some do not check whether it is full. These
//! texts are not parsed.

#![allow(dead_code, reason = "which of them are needed depends on the features")]

use std::collections::HashSet;

/// YAML: four bytes for each level of indentation.
pub(crate) fn yaml(text: &str) -> bool {
    let levels = |line: &str| {
        let inside = line.trim_start_matches(' ');
        let opened = inside.bytes().filter(|byte| matches!(byte, b'-' | b'?' | b':')).count();
        line.len() - inside.len() + opened
    };
    // Each level costs a column or a mark, which bounds the number of levels.
    text.lines().any(|line| line.len() >= 200 && levels(line) >= 200)
}

/// Levels of Python: two bytes each, beside at most 257 for the strings that are open.
const INDENTS: usize = 380;

/// Python: levels are a growing list of widths, so there are no more than different widths in the text.
pub(crate) fn python(text: &str) -> bool {
    let mut widths = HashSet::new();
    let (mut width, mut leading) = (0_u16, true);
    for byte in text.bytes() {
        match byte {
            b'\n' | b'\r' | b'\x0c' => (width, leading) = (0, byte == b'\n' || leading),
            b' ' => width = width.wrapping_add(1),
            b'\t' => width = width.wrapping_add(8),
            // A line may go on behind it, and its width with it.
            b'\\' => {}
            _ if leading => {
                leading = false;
                widths.insert(width);
                if widths.len() > INDENTS {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Bytes of the names of open heredocs of Ruby, with four for each; and of one name.
const HEREDOCS: usize = 400;
const NAME: usize = 200;
/// Strings of Ruby inside one another: five bytes each.
const STRINGS: usize = 100;

/// Ruby: the names of heredocs that are open, and the strings that are open around each other by `#{`.
pub(crate) fn ruby(text: &str) -> bool {
    let (mut depth, mut names) = (0_usize, 0_usize);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            // Bodies begin with the next line, and end before anything else does, unless one is inside another.
            b'\n' if depth == 0 => names = 0,
            b'<' if bytes[..at].ends_with(b"<") => {
                let name = heredoc(&bytes[at + 1..]);
                names += if name == 0 { 0 } else { name + 4 };
                if name > NAME || names > HEREDOCS {
                    return true;
                }
            }
            _ => {}
        }
        if depth > STRINGS {
            return true;
        }
    }
    false
}

/// Length of the name of a heredoc behind its `<<`; 0 where there is none.
fn heredoc(rest: &[u8]) -> usize {
    let rest = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"~")).unwrap_or(rest);
    let most = rest.len().min(NAME + 2);
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
    fn states_that_do_not_fit_are_not_parsed() {
        assert!(python(&lines(400, |nth| format!("{}if x:\n", " ".repeat(nth)))));
        assert!(python(&lines(400, |nth| format!("{}\x0c{}if x:\n", " ".repeat(400 - nth), "\t".repeat(nth)))));
        assert!(ruby(&format!("x = <<{}\n", "A".repeat(300))));
        assert!(ruby(&format!("x = <<~'{}'\n", "A b".repeat(100))));
        assert!(ruby(&format!("f({})\n", lines(100, |nth| format!("<<-A{nth}, ")))));
        assert!(ruby(&"\"#{".repeat(300)));
        assert!(yaml(&format!("{}a: 1\n", "- ".repeat(300))));
    }
}
