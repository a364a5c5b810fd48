//! Problems that a server reports.

use crate::position::{LineColumns, LineStarts, PositionEncoding};
use emendate_core::Span;
use serde_json::{Value, json};

/// Maximum number of problems of a text.
pub(crate) const DIAGNOSTICS_MAX: usize = 2000;
/// Maximum characters of a message: it comes from a program and goes to a model.
const MESSAGE_CHARS_MAX: usize = 300;
/// Maximum characters of a code and of the name of its source.
const NAME_CHARS_MAX: usize = 60;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The code does not work.
    Error,
    /// The code may not do what its author intended.
    Warning,
    /// A remark.
    Information,
    /// A hint for an editor, which fades or underlines the code.
    Hint,
}

impl Severity {
    /// Every severity with its name.
    pub const ALL: [(&'static str, Severity); 4] = [
        ("error", Severity::Error),
        ("warning", Severity::Warning),
        ("information", Severity::Information),
        ("hint", Severity::Hint),
    ];

    /// Name of the severity.
    pub fn name(self) -> &'static str {
        Severity::ALL.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }

    /// Converts the protocol's number; the worst severity if it is missing.
    fn of(number: Option<u64>) -> Severity {
        match number {
            Some(2) => Severity::Warning,
            Some(3) => Severity::Information,
            Some(4) => Severity::Hint,
            _ => Severity::Error,
        }
    }
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity of the diagnostic.
    pub severity: Severity,
    /// Bytes of the text it refers to.
    pub span: Span,
    /// Line and column of its start, from 1, columns in characters.
    pub start: (usize, usize),
    /// Line and column after its end.
    pub end: (usize, usize),
    /// The server's message, on one line.
    pub message: String,
    /// Name of the rule.
    pub code: Option<String>,
    /// Source of the problem, as the server names it.
    pub source: Option<String>,
}

impl Diagnostic {
    /// Returns it as JSON for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "severity": self.severity.name(), "line": self.start.0, "column": self.start.1, "endLine": self.end.0,
            "endColumn": self.end.1, "message": self.message, "code": self.code, "source": self.source,
        })
    }
}

/// Parses problems of `textDocument/diagnostic` and `publishDiagnostics`. Skips those without a range or a message.
pub(crate) fn parse_items(items: &[Value], text: &str, encoding: PositionEncoding) -> Vec<Diagnostic> {
    let (lines, places) = (LineStarts::new(text), LineColumns::new(text));
    items.iter().take(DIAGNOSTICS_MAX).filter_map(|item| lsp_diagnostic(&lines, &places, encoding, item)).collect()
}

/// Reads one diagnostic of the protocol; `None` if it has no position.
fn lsp_diagnostic(
    lines: &LineStarts<'_>,
    places: &LineColumns<'_>,
    encoding: PositionEncoding,
    item: &Value,
) -> Option<Diagnostic> {
    let severity = Severity::of(item["severity"].as_u64());
    new_diagnostic(
        places,
        lsp_offset(lines, encoding, item, "start")?,
        lsp_offset(lines, encoding, item, "end")?,
        severity,
        &item["message"],
        &item["code"],
        &item["source"],
    )
}

/// Returns the offset of one end of an item's range.
fn lsp_offset(lines: &LineStarts<'_>, encoding: PositionEncoding, item: &Value, which: &str) -> Option<usize> {
    let position = &item["range"][which];
    Some(lines.offset(number_field(position, "line")?, number_field(position, "character")?, encoding))
}

/// Reads a field that is a number.
fn number_field(object: &Value, key: &str) -> Option<usize> {
    object[key].as_u64().and_then(|number| usize::try_from(number).ok())
}

/// Parses problems of the TypeScript server: lines and UTF-16 columns, both from 1.
pub(crate) fn parse_tsserver_items(items: &[Value], text: &str) -> Vec<Diagnostic> {
    let (lines, places) = (LineStarts::new(text), LineColumns::new(text));
    items.iter().take(DIAGNOSTICS_MAX).filter_map(|item| tsserver_diagnostic(&lines, &places, item)).collect()
}

/// Reads one diagnostic of `tsserver`; `None` if it has no position.
fn tsserver_diagnostic(lines: &LineStarts<'_>, places: &LineColumns<'_>, item: &Value) -> Option<Diagnostic> {
    let severity = match item["category"].as_str() {
        Some("warning") => Severity::Warning,
        Some("message") => Severity::Information,
        Some("suggestion") => Severity::Hint,
        _ => Severity::Error,
    };
    let source = json!("typescript");
    let span = (tsserver_offset(lines, item, "startLocation")?, tsserver_offset(lines, item, "endLocation")?);
    new_diagnostic(places, span.0, span.1, severity, &item["message"], &item["code"], &source)
}

/// Returns the offset of one end of an item; `tsserver` counts lines and columns from 1.
fn tsserver_offset(lines: &LineStarts<'_>, item: &Value, which: &str) -> Option<usize> {
    let (line, column) = (number_field(&item[which], "line")?, number_field(&item[which], "offset")?);
    Some(lines.offset(line.checked_sub(1)?, column.checked_sub(1)?, PositionEncoding::Utf16))
}

fn new_diagnostic(
    places: &LineColumns<'_>,
    start: usize,
    end: usize,
    severity: Severity,
    message: &Value,
    code: &Value,
    source: &Value,
) -> Option<Diagnostic> {
    let end = end.max(start);
    let message = single_line(message.as_str()?, MESSAGE_CHARS_MAX);
    let (code, source) = (short_name(code), short_name(source));
    let span = Span::new(start, end);
    Some(Diagnostic { severity, span, start: places.of(start), end: places.of(end), message, code, source })
}

/// Returns the name of a code or a source on one line.
fn short_name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(single_line(text, NAME_CHARS_MAX)).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Joins a text into one line of at most `most` characters, without control characters that a terminal or a model might
/// interpret.
pub(crate) fn single_line(text: &str, most: usize) -> String {
    let words = text.split(|char: char| char.is_whitespace() || char.is_control()).filter(|word| !word.is_empty());
    // A word has at least one character, so no more words than this are needed.
    let line = words.take(most + 1).collect::<Vec<&str>>().join(" ");
    if line.chars().nth(most).is_none() {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::{Severity, parse_items, parse_tsserver_items, single_line};
    use crate::position::PositionEncoding;
    use serde_json::json;

    #[test]
    fn positions_match_the_text() {
        let text = "one\n  ä😀 = x\n";
        let item = json!({ "range": { "start": { "line": 1, "character": 8 }, "end": { "line": 1, "character": 9 } },
            "message": "x is\n  not\u{1b}[31m defined", "severity": 2, "code": 7, "source": "it" });
        let [problem] =
            &*parse_items(&[item, json!({ "message": "nowhere" }), json!(3)], text, PositionEncoding::Utf16)
        else {
            panic!("one has a place")
        };
        assert_eq!((&text[problem.span.range()], problem.start, problem.end), ("x", (2, 8), (2, 9)));
        assert_eq!((problem.severity, &*problem.message), (Severity::Warning, "x is not [31m defined"));
        assert_eq!((problem.code.as_deref(), problem.source.as_deref()), (Some("7"), Some("it")));
        let item = json!({ "message": "m", "category": "suggestion", "code": 1,
            "startLocation": { "line": 2, "offset": 9 }, "endLocation": { "line": 2, "offset": 10 } });
        let found = parse_tsserver_items(&[item], text);
        assert_eq!((found[0].span, found[0].severity), (problem.span, Severity::Hint));
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(single_line(&"word ".repeat(100), 12), "word word w…");
        assert_eq!(single_line(&"x".repeat(500), 300).chars().count(), 300);
        assert_eq!(single_line(" \n ", 10), "");
    }
}
