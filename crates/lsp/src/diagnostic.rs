//! Problems that a server reports.

use crate::position::{LineColumns, LineStarts, PositionEncoding};
use emendate_core::Span;
use serde_json::{Value, json};

/// Maximum number of problems of a text. Of a part of them, nobody could say which are new.
pub(crate) const DIAGNOSTICS_MAX: usize = 10_000;
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

/// A list that is too long to be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyDiagnostics;

/// Parses problems of `textDocument/diagnostic` and `publishDiagnostics`. None is left out, because a text without a
/// problem is reported as clean: one whose range is missing or unreadable is at the start of the text.
///
/// Errors: for more than [`DIAGNOSTICS_MAX`].
pub(crate) fn parse_items(
    items: &[Value],
    text: &str,
    encoding: PositionEncoding,
) -> Result<Vec<Diagnostic>, TooManyDiagnostics> {
    check_count(items)?;
    let (lines, places) = (LineStarts::new(text), LineColumns::new(text));
    Ok(items.iter().map(|item| lsp_diagnostic(&lines, &places, encoding, item)).collect())
}

fn check_count(items: &[Value]) -> Result<(), TooManyDiagnostics> {
    if items.len() <= DIAGNOSTICS_MAX {
        return Ok(());
    }
    Err(TooManyDiagnostics)
}

fn lsp_diagnostic(
    lines: &LineStarts<'_>,
    places: &LineColumns<'_>,
    encoding: PositionEncoding,
    item: &Value,
) -> Diagnostic {
    let start = lsp_offset(lines, encoding, item, "start").unwrap_or(0);
    let end = lsp_offset(lines, encoding, item, "end").unwrap_or(start);
    new_diagnostic(places, Span::new(start, end.max(start)), Severity::of(item["severity"].as_u64()), item)
}

/// Returns the offset of one end of an item's range.
fn lsp_offset(lines: &LineStarts<'_>, encoding: PositionEncoding, item: &Value, which: &str) -> Option<usize> {
    let position = &item["range"][which];
    Some(lines.offset(number_field(position, "line")?, number_field(position, "character")?, encoding))
}

/// Reads a field that is a number. Some programs write `3.0`, or the largest number there is for the end of a line.
fn number_field(object: &Value, key: &str) -> Option<usize> {
    let number = &object[key];
    if let Some(number) = number.as_u64() {
        return Some(usize::try_from(number).unwrap_or(usize::MAX));
    }
    // The text of a number without its fraction; an exponent or a sign leaves only the two extremes.
    let number = number.as_f64()?;
    let whole = format!("{:.0}", number.max(0.0));
    Some(whole.parse().unwrap_or(usize::MAX))
}

/// Parses problems of the TypeScript server: lines and UTF-16 columns, both from 1.
///
/// Errors: for more than [`DIAGNOSTICS_MAX`].
pub(crate) fn parse_tsserver_items(items: &[Value], text: &str) -> Result<Vec<Diagnostic>, TooManyDiagnostics> {
    check_count(items)?;
    let (lines, places) = (LineStarts::new(text), LineColumns::new(text));
    Ok(items.iter().map(|item| tsserver_diagnostic(&lines, &places, item)).collect())
}

fn tsserver_diagnostic(lines: &LineStarts<'_>, places: &LineColumns<'_>, item: &Value) -> Diagnostic {
    let severity = match item["category"].as_str() {
        Some("warning") => Severity::Warning,
        Some("message") => Severity::Information,
        Some("suggestion") => Severity::Hint,
        _ => Severity::Error,
    };
    let start = tsserver_offset(lines, item, "startLocation").unwrap_or(0);
    let end = tsserver_offset(lines, item, "endLocation").unwrap_or(start);
    let problem = new_diagnostic(places, Span::new(start, end.max(start)), severity, item);
    Diagnostic { source: Some("typescript".to_owned()), ..problem }
}

/// Returns the offset of one end of an item; `tsserver` counts lines and columns from 1.
fn tsserver_offset(lines: &LineStarts<'_>, item: &Value, which: &str) -> Option<usize> {
    let (line, column) = (number_field(&item[which], "line")?, number_field(&item[which], "offset")?);
    Some(lines.offset(line.checked_sub(1)?, column.checked_sub(1)?, PositionEncoding::Utf16))
}

/// Creates a diagnostic with the message, code and source of an item.
fn new_diagnostic(places: &LineColumns<'_>, span: Span, severity: Severity, item: &Value) -> Diagnostic {
    // Protocol 3.18 allows a message with markup.
    let message = item["message"].as_str().or_else(|| item["message"]["value"].as_str()).unwrap_or_default();
    let message = match single_line(message, MESSAGE_CHARS_MAX) {
        message if message.is_empty() => "a problem without a message".to_owned(),
        message => message,
    };
    let (code, source) = (short_name(&item["code"]), short_name(&item["source"]));
    let (start, end) = (places.of(span.start()), places.of(span.end()));
    Diagnostic { severity, span, start, end, message, code, source }
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
    use super::{DIAGNOSTICS_MAX, Severity, parse_items, parse_tsserver_items, single_line};
    use crate::position::PositionEncoding;
    use serde_json::json;

    #[test]
    fn positions_match_the_text() {
        let text = "one\n  ä😀 = x\n";
        let item = json!({ "range": { "start": { "line": 1, "character": 8 }, "end": { "line": 1, "character": 9 } },
            "message": "x is\n  not\u{1b}[31m defined", "severity": 2, "code": 7, "source": "it" });
        let [problem] = &*parse_items(&[item], text, PositionEncoding::Utf16).unwrap() else { panic!("one item") };
        assert_eq!((&text[problem.span.range()], problem.start, problem.end), ("x", (2, 8), (2, 9)));
        assert_eq!((problem.severity, &*problem.message), (Severity::Warning, "x is not [31m defined"));
        assert_eq!((problem.code.as_deref(), problem.source.as_deref()), (Some("7"), Some("it")));
        let item = json!({ "message": "m", "category": "suggestion", "code": 1,
            "startLocation": { "line": 2, "offset": 9 }, "endLocation": { "line": 2, "offset": 10 } });
        let found = parse_tsserver_items(&[item], text).unwrap();
        assert_eq!((found[0].span, found[0].severity), (problem.span, Severity::Hint));
    }

    #[test]
    fn problems_with_an_unreadable_range_or_message_are_kept() {
        let text = "one\ntwo\n";
        let far = json!({ "start": { "line": 1.0, "character": 1.0 }, "end": { "line": 1, "character": f64::MAX } });
        let early = json!({ "start": { "line": -1, "character": -7 }, "end": { "line": 0, "character": 2 } });
        let items = [
            json!({ "range": far, "message": { "kind": "markdown", "value": "is `two`" } }),
            json!({ "range": early, "message": "early" }),
            json!({ "message": "nowhere" }),
            json!(3),
        ];
        let found = parse_items(&items, text, PositionEncoding::Utf16).unwrap();
        let found: Vec<_> = found.iter().map(|it| (&text[it.span.range()], it.start, &*it.message)).collect();
        assert_eq!(found[0], ("wo", (2, 2), "is `two`"));
        assert_eq!(found[1], ("on", (1, 1), "early"));
        assert_eq!(found[2], ("", (1, 1), "nowhere"));
        assert_eq!(found[3], ("", (1, 1), "a problem without a message"));
        assert_eq!(parse_tsserver_items(&items, text).unwrap().len(), 4);
    }

    #[test]
    fn too_many_problems_are_an_error() {
        let items = vec![json!({ "message": "m" }); DIAGNOSTICS_MAX + 1];
        assert!(parse_items(&items, "", PositionEncoding::Utf8).is_err());
        assert_eq!(parse_items(&items[1..], "", PositionEncoding::Utf8).unwrap().len(), DIAGNOSTICS_MAX);
        assert!(parse_tsserver_items(&items, "").is_err());
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(single_line(&"word ".repeat(100), 12), "word word w…");
        assert_eq!(single_line(&"x".repeat(500), 300).chars().count(), 300);
        assert_eq!(single_line(" \n ", 10), "");
    }
}
