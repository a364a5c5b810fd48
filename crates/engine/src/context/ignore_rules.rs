//! Rules of ignore files, converted from git's syntax to that of the `ignore` crate, which also has braces and has no
//! named classes.

use std::fmt::Write as _;
use std::iter;
use std::str::Chars;

/// Characters that need a place of their own in a class, in their order; the separator is in no class.
const SPECIAL: [char; 5] = ['!', '-', '/', ']', '^'];

/// Returns a line in the syntax of the `ignore` crate; `None` for one that is no rule, or that git never applies.
///
/// The crate would take a `/` that the conversion adds for one of the rule, so the result always says which names it is
/// about: those in the directory of the file (`/`), or at any depth (`**/`).
pub(super) fn converted(line: &str) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let rule = without_trailing_spaces(line);
    let (sign, rule) = rule.strip_prefix('!').map_or(("", rule), |rule| ("!", rule));
    let (rule, end) = rule.strip_suffix('/').map_or((rule, ""), |rule| (rule, "/"));
    let start = if rule.contains('/') { "/" } else { "**/" };
    let pattern = converted_pattern(rule.strip_prefix('/').unwrap_or(rule))?;
    // A path neither begins nor ends with a slash.
    let is_path = !pattern.is_empty() && !pattern.starts_with('/') && !pattern.ends_with('/');
    is_path.then(|| [sign, start, &pattern, end].concat())
}

fn converted_pattern(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars();
    while let Some(ch) = chars.next() {
        match ch {
            '\\' => match chars.next()? {
                '/' => out.push('/'),
                escaped if escaped.is_whitespace() => out.extend(['{', escaped, '}']),
                escaped => out.extend(['\\', escaped]),
            },
            '{' | '}' => out.extend(['\\', ch]),
            '[' => CharClass::read(&mut chars)?.write(&mut out),
            '*' => {
                let rest = chars.as_str().trim_start_matches('*');
                // Two or more that are a whole name match any number of directories, before `\/` at least one.
                let is_run = rest.len() < chars.as_str().len() && (out.is_empty() || out.ends_with('/'));
                out.push_str(match rest.as_bytes() {
                    [] | [b'/', ..] if is_run => "**",
                    [b'\\', b'/', ..] if is_run => "*/**",
                    _ => "*",
                });
                chars = rest.chars();
            }
            // The crate would remove it from the end of the line.
            _ if ch.is_whitespace() && chars.as_str().is_empty() => out.extend(['{', ch, '}']),
            _ => out.push(ch),
        }
    }
    Some(out)
}

/// Removes spaces at the end of a line, except for one after a backslash.
fn without_trailing_spaces(line: &str) -> &str {
    let rule = line.trim_end_matches(' ');
    let backslashes = rule.len() - rule.trim_end_matches('\\').len();
    let is_escaped = backslashes % 2 == 1 && rule.len() < line.len();
    &line[..rule.len() + usize::from(is_escaped)]
}

/// A class of characters in brackets.
struct CharClass {
    is_negated: bool,
    /// First and last characters.
    ranges: Vec<(char, char)>,
}

impl CharClass {
    /// Reads the characters after an opening bracket; `None` if the class is not closed, or has an unknown name.
    fn read(chars: &mut Chars<'_>) -> Option<CharClass> {
        let is_negated = chars.as_str().starts_with(['!', '^']);
        if is_negated {
            chars.next();
        }
        let mut class = CharClass { is_negated, ranges: Vec::new() };
        let mut is_first = true;
        loop {
            let mut ch = chars.next()?;
            match ch {
                ']' if !is_first => return Some(class),
                '[' if chars.as_str().starts_with(':') => {
                    let (name, rest) = chars.as_str()[1..].split_once(']')?;
                    if let Some(name) = name.strip_suffix(':') {
                        class.ranges.extend_from_slice(named_class(name)?);
                        *chars = rest.chars();
                        is_first = false;
                        continue;
                    }
                }
                '\\' => ch = chars.next()?,
                _ => {}
            }
            is_first = false;
            let rest = chars.as_str();
            if rest.starts_with('-') && !rest.starts_with("-]") {
                chars.next();
                let last = chars.next().and_then(|last| if last == '\\' { chars.next() } else { Some(last) })?;
                class.ranges.push((ch, last));
            } else {
                class.ranges.push((ch, ch));
            }
        }
    }

    /// Writes the class so that `]` comes first, `-` last, and `!` and `^` not at its beginning.
    fn write(self, out: &mut String) {
        let mut plain = String::new();
        for (first, last) in &self.ranges {
            // A special character would be read as something else at the end of a range.
            let starts = iter::once('\0').chain(SPECIAL.into_iter().map(|ch| char::from(ch as u8 + 1)));
            let ends = SPECIAL.into_iter().map(|ch| char::from(ch as u8 - 1)).chain([char::MAX]);
            for (start, end) in starts.zip(ends) {
                let (start, end) = (start.max(*first), end.min(*last));
                if start <= end {
                    let _ = write!(plain, "{start}-{end}");
                }
            }
        }
        let mark = |ch: char| {
            if self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&ch)) {
                ch.to_string()
            } else {
                String::new()
            }
        };
        // Names have no NUL; a separator is never matched by a class.
        let (begin, filler) = if self.is_negated { ("[!", "/") } else { ("[", "\0") };
        for part in [begin, &mark(']'), filler, &plain, &mark('!'), &mark('^'), &mark('-'), "]"] {
            out.push_str(part);
        }
    }
}

/// Returns the characters of a named class; `None` for an unknown name.
fn named_class(name: &str) -> Option<&'static [(char, char)]> {
    Some(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[(' ', ' '), ('\t', '\n'), ('\r', '\r')],
        "upper" => &[('A', 'Z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::converted;

    #[test]
    fn rules_of_git_are_converted() {
        for (rule, want) in [
            ("*.rs  ", Some("**/*.rs")),
            ("/a/", Some("/a/")),
            ("!a/b", Some("!/a/b")),
            (r"a\  ", Some("**/a{ }")),
            ("a\u{a0}", Some("**/a{\u{a0}}")),
            ("{a,b}", Some(r"**/\{a,b\}")),
            (r"\{", Some(r"**/\{")),
            (r"\#", Some(r"**/\#")),
            ("**a", Some("**/*a")),
            ("a/***/b", Some("/a/**/b")),
            (r"a/**\/b**", Some("/a/*/**/b*")),
            ("!x[0]", Some("!**/x[\x000-0]")),
            ("x[a/b]", Some("/x[\0a-ab-b]")),
            ("[[:digit:]x]", Some("**/[\x000-9x-x]")),
            ("[!a-c]", Some("**/[!/a-c]")),
            ("[]-]", Some("**/[]\0-]")),
            (r"[\]a]", Some("**/[]\0a-a]")),
            ("[+-0]", Some("**/[\0+-,.-.0-0-]")),
            ("[z-a]", Some("**/[\0]")),
            ("a[", None),
            ("[[:x:]]", None),
            (r"a\", None),
            (r"a\/", None),
            ("#a", None),
            ("!", None),
            ("  ", None),
            ("/", None),
            ("a//", None),
            ("//a", None),
        ] {
            assert_eq!(converted(rule).as_deref(), want, "{rule}");
        }
    }
}
