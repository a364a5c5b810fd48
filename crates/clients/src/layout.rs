//! Layout of a JSON file, so that insertions look as if its owner had written them.

use serde_json::Value;

/// Indentation and spacing of a JSON file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonLayout<'t> {
    /// One step of indentation.
    unit: &'t str,
    /// Members are on lines of their own.
    multi_line: bool,
    /// No space after colons and commas.
    compact: bool,
}

impl<'t> JsonLayout<'t> {
    /// Detects the layout of a text. `first` is the offset of the first member, if any.
    pub(crate) fn of(text: &'t str, first: Option<usize>) -> JsonLayout<'t> {
        let Some(first) = first else { return JsonLayout { unit: "  ", multi_line: true, compact: false } };
        let lines = text[..first].contains('\n');
        let unit = indent(text, first);
        let tight = !lines && !text[first..].contains(": ");
        JsonLayout { unit: if lines && !unit.is_empty() { unit } else { "  " }, multi_line: lines, compact: tight }
    }

    pub(crate) fn is_multi_line(self) -> bool {
        self.multi_line
    }

    /// Returns the indentation one step deeper.
    pub(crate) fn deeper(self, indent: &str) -> String {
        format!("{indent}{}", self.unit)
    }

    /// Returns the separator of two items on one line.
    pub(crate) fn comma(self) -> &'static str {
        if self.compact { "," } else { ", " }
    }

    /// Formats a member of an object.
    pub(crate) fn member(self, key: &str, value: &Value, indent: &str, lines: bool) -> String {
        let colon = if self.compact { ":" } else { ": " };
        format!("{}{colon}{}", Value::from(key), self.value(value, indent, lines))
    }

    /// Formats a value; with `lines`, objects have each member on its own line. Lists stay on one line, as people write
    /// short ones.
    pub(crate) fn value(self, value: &Value, indent: &str, lines: bool) -> String {
        match value {
            Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
            Value::Object(fields) => {
                let inner = self.deeper(indent);
                let members = fields.iter().map(|(key, value)| self.member(key, value, &inner, lines));
                let members: Vec<String> = members.collect();
                if lines {
                    format!("{{\n{inner}{}\n{indent}}}", members.join(&format!(",\n{inner}")))
                } else {
                    format!("{{{}}}", members.join(self.comma()))
                }
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value(item, indent, false)).collect();
                format!("[{}]", items.join(self.comma()))
            }
            plain => plain.to_string(),
        }
    }
}

/// Returns the indentation of the line at an offset.
pub(crate) fn indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the next offset after whitespace and comments. The text was parsed, so comments are closed.
pub(crate) fn skip_blanks(text: &str, mut at: usize) -> usize {
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        match comment(text, at) {
            Some(end) => at = end,
            None => return at,
        }
    }
}

/// Returns the end of the last comment that belongs to an offset on its line.
pub(crate) fn rest_of_line(text: &str, from: usize) -> usize {
    let (mut at, mut end) = (from, from);
    loop {
        at += text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len();
        match comment(text, at) {
            Some(past) if !text[at..past].contains('\n') => (at, end) = (past, past),
            _ => return end,
        }
    }
}

/// True if a text of blanks, commas and comments ends with a comment that the next line end closes.
pub(crate) fn ends_in_line_comment(gap: &str) -> bool {
    let mut at = 0;
    loop {
        at += gap[at..].len() - gap[at..].trim_start_matches(|ch: char| ch == ',' || ch.is_whitespace()).len();
        match comment(gap, at) {
            Some(end) if end == gap.len() => return gap[at..].starts_with("//"),
            Some(end) => at = end,
            None => return false,
        }
    }
}

/// Returns the end of the comment that begins here; its line end is not part of it.
fn comment(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with("//") {
        return Some(at + rest.find('\n').unwrap_or(rest.len()));
    }
    rest.starts_with("/*").then(|| at + rest.find("*/").map_or(rest.len(), |end| end + 2))
}
