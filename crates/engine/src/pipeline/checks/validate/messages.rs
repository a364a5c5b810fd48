//! Messages and data about invalid results.

use crate::pipeline::checks::validate::ValidationCase;
use crate::pipeline::checks::validate::schemas::SchemaSource;
use emendate_core::{Advice, Code, Error, Phrase, Snapshot, advice};
use emendate_fs::SafePath;
use emendate_schema::{self as schema, DuplicateName, SyntaxError, Violation};
use serde_json::{Value, json};

/// Violations that a message lists, and the number in its data.
const LISTED_VIOLATIONS_MAX: usize = 10;
const DATA_VIOLATIONS_MAX: usize = 50;
/// Characters of a line that is shown.
const LINE_CHARS_MAX: usize = 160;

pub(super) fn unchecked_note(path: &SafePath, why: &str) -> String {
    format!("{}, as it is now, was not checked: {why}.", path.shown())
}

/// Describes a syntax error with its position, as a sentence.
pub(super) fn fault(text: &str, fault: &SyntaxError) -> String {
    let at = schema::LineCol::of(text, fault.at);
    let hint = if fault.hint.is_empty() { String::new() } else { format!(" {}", fault.hint) };
    // A parser's message may end with a period.
    let what = fault.what.trim_end_matches('.');
    format!("line {}, column {}: {what}.{hint}", at.line, at.column)
}

pub(super) fn repeated(text: &str, repeated: &DuplicateName) -> String {
    let at = schema::LineCol::of(text, repeated.at);
    let name: String = repeated.name.chars().take(60).collect();
    format!(
        "One object has the name \"{name}\" twice, again at line {}; the last one counts for most readers.",
        at.line
    )
}

pub(super) fn untried_note(source: &SchemaSource, patterns: &[String]) -> Option<String> {
    let first: String = patterns.first()?.chars().take(80).collect();
    let more = if patterns.len() > 1 { format!(" and {} more", patterns.len() - 1) } else { String::new() };
    Some(format!(
        "Not checked, because it uses lookaround or backreferences: the pattern {first}{more} of {}.",
        source.name()
    ))
}

pub(super) fn old_problems_note(source: &SchemaSource, count: usize, more: bool) -> String {
    let some = match (count, more) {
        (1, false) => "One thing".to_owned(),
        (count, false) => format!("{count} things"),
        (count, true) => format!("{count} things and more"),
    };
    format!("{some} in this file did not fit {} before this edit either.", source.name())
}

pub(super) fn new_problems_note(text: &str, source: &SchemaSource, violations: &[&Violation]) -> String {
    let first = violations.first().map_or(String::new(), |it| row(text, it));
    match violations.len() {
        1 => format!("This does not fit {}: {first}.", source.name()),
        count => format!("This does not fit {} in {count} places, first {first}.", source.name()),
    }
}

/// The next step where settings of Claude Code would not be valid any more.
const CORRECT_SETTINGS: &str = "Correct that in the new text and send the call again. Do not update the env unless explicitly instructed to do so.";

/// Creates the error for a text with invalid syntax.
pub(super) fn broken(case: &ValidationCase<'_>, fault: &SyntaxError) -> Error {
    let at = schema::LineCol::of(case.after, fault.at);
    let name = case.kind.name();
    let is_claude = case.sources.iter().any(|source| matches!(source, SchemaSource::Claude));
    let what = match () {
        () if is_claude => {
            "Claude Code settings.json validation failed after edit: it would not be valid JSON. Nothing was written."
                .to_owned()
        }
        () if case.before.trim().is_empty() => {
            format!("The new file would not be valid {name}; nothing was written.")
        }
        () => format!("The file is valid {name} and would no longer be; nothing was written."),
    };
    let right = "Send the call again with corrected text.";
    let next = if is_claude {
        Advice::from(CORRECT_SETTINGS)
    } else if case.sources.is_empty() {
        advice![right, " If it is meant to be invalid, add ", Phrase::Set("allow_invalid", true.into()), "."].or(right)
    } else {
        Advice::from(right)
    };
    let error = with_others(case, Error::new(Code::SchemaViolation, what))
        .evidence(format!("{}, after the edit: {}", case.path.shown(), self::fault(case.after, fault)))
        .evidence(around(case.after, at.line));
    let error = if is_claude { error.evidence(settings_schema()) } else { error };
    error
        .next(next)
        .fact("syntax", name)
        .fact("violations", json!([{ "line": at.line, "column": at.column, "message": fault.what }]))
}

/// Creates the error for violations of a schema.
pub(super) fn violations(
    case: &ValidationCase<'_>,
    source: &SchemaSource,
    new: &[&Violation],
    old: usize,
    more: bool,
    after: &Snapshot,
) -> Error {
    let rows: Vec<String> =
        new.iter().take(LISTED_VIOLATIONS_MAX).map(|it| format!("  {}", row(after.text(), it))).collect();
    let mut error = with_others(case, Error::new(Code::SchemaViolation, message(source)))
        .evidence(format!("{}, after the edit:", case.path.shown()))
        .evidence(rows.join("\n"));
    let beyond = new.len().saturating_sub(LISTED_VIOLATIONS_MAX);
    if beyond > 0 {
        let and = if more { " or more" } else { "" };
        error = error.evidence(format!("  … and {beyond}{and} more"));
    }
    if old > 0 {
        error = error.evidence(format!("  ({old} that were there before do not count)"));
    }
    let data = new.iter().take(DATA_VIOLATIONS_MAX).map(|it| {
        let at = schema::LineCol::of(after.text(), it.at);
        json!({ "line": at.line, "column": at.column, "pointer": it.pointer, "message": it.what })
    });
    finished(error, source).fact("violations", data.collect::<Vec<Value>>()).fact("count", new.len())
}

/// Creates the error for a text that its reader rejects.
pub(super) fn invalid_for_reader(case: &ValidationCase<'_>, source: &SchemaSource, what: &str) -> Error {
    let error = Error::new(Code::SchemaViolation, message(source));
    finished(with_others(case, error).evidence(format!("{}, after the edit: {what}", case.path.shown())), source)
}

fn message(source: &SchemaSource) -> String {
    match source {
        SchemaSource::Claude => {
            "Claude Code settings.json validation failed after edit. Nothing was written.".to_owned()
        }
        _ => format!("The result does not fit {}; nothing was written.", source.name()),
    }
}

fn finished(error: Error, source: &SchemaSource) -> Error {
    let next = match source {
        SchemaSource::Claude => CORRECT_SETTINGS,
        _ => "Correct that in the new text and send the call again.",
    };
    let name = source.name();
    let error = if matches!(source, SchemaSource::Claude) { error.evidence(settings_schema()) } else { error };
    error
        .evidence(format!("It has to fit {name}, says {}.", source.origin()))
        .next(next)
        .fact("schema", name.trim_start_matches("the schema ").to_owned())
        .fact("origin", source.origin())
}

/// The schema of Claude Code's settings, which seed 001 prints with every failure.
fn settings_schema() -> String {
    let schema = serde_json::from_str::<Value>(emendate_schema::SETTINGS).unwrap_or_default();
    format!("Full schema:\n{schema}")
}

/// Adds that the text is not only the caller's.
fn with_others(case: &ValidationCase<'_>, error: Error) -> Error {
    case.others.iter().fold(error, |error, note| error.evidence(note.to_string()))
}

/// Formats a violation with its position: `3:11 /server/port: "80" is a string; expected integer`.
fn row(text: &str, violation: &Violation) -> String {
    let at = schema::LineCol::of(text, violation.at);
    let pointer = if violation.pointer.is_empty() { "the whole" } else { &violation.pointer };
    format!("{}:{} {pointer}: {}", at.line, at.column, violation.what)
}

/// Returns the numbered lines around one.
fn around(text: &str, line: usize) -> String {
    let rows = text.lines().enumerate().skip(line.saturating_sub(2)).take(3);
    rows.map(|(nth, text)| format!("{:>6}\t{}", nth + 1, text.chars().take(LINE_CHARS_MAX).collect::<String>()))
        .collect::<Vec<String>>()
        .join("\n")
}
