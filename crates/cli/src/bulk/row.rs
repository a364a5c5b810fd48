//! A line of JSON in, a line of JSON out.

use super::RowLine;
use emendate::core::{ApplyOptions, Code, Error, NewText, Result};
use emendate::{BulkInputs, BulkRow, BulkTask, CellError};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Deserializer, Map, Value, json};
use std::fmt::Display;

/// A field of results.
struct FieldRow {
    name: &'static str,
    value: fn(&BulkRow) -> Value,
}

static FIELDS: &[FieldRow] = &[
    FieldRow { name: "ok", value: |row| row.error.is_none().into() },
    FieldRow { name: "code", value: |row| row.error.as_ref().map(|error| error.code().as_str()).into() },
    FieldRow { name: "after", value: |row| row.after.as_ref().map(NewText::joined).into() },
    FieldRow { name: "format", value: |row| row.format.into() },
    FieldRow { name: "tier", value: |row| row.tier.into() },
    FieldRow { name: "edits", value: |row| counted(row, row.edits) },
    FieldRow { name: "spans", value: spans },
    FieldRow { name: "added", value: |row| counted(row, row.added) },
    FieldRow { name: "removed", value: |row| counted(row, row.removed) },
    FieldRow { name: "notes", value: |row| (&row.notes).into() },
    FieldRow { name: "message", value: |row| row.error.as_ref().map(Error::message).into() },
    FieldRow { name: "next", value: |row| row.error.as_ref().map(Error::next_step).into() },
    FieldRow { name: "diff", value: |row| row.diff.as_deref().into() },
    FieldRow { name: "reward", value: |row| row.reward.into() },
];

fn counted(row: &BulkRow, count: usize) -> Value {
    row.error.is_none().then_some(count).into()
}

fn spans(row: &BulkRow) -> Value {
    let ends =
        row.spans.iter().map(|span| json!([span.before.start, span.before.end, span.after.start, span.after.end]));
    ends.collect()
}

/// The result of a row.
pub(super) struct RowResult {
    /// The line that is written.
    pub(super) line: String,
    pub(super) error: Option<Error>,
}

/// The task for each row, and the fields that are written of its result.
pub(super) struct RowSettings {
    task: BulkTask,
    options: ApplyOptions,
    fields: Vec<&'static FieldRow>,
    keep: Vec<String>,
}

impl RowSettings {
    /// Creates the settings.
    ///
    /// Errors: `call.invalid` for a field that results of this task do not have, or that would occur twice.
    pub(super) fn new(
        task: BulkTask,
        options: ApplyOptions,
        columns: &[String],
        keep: Vec<String>,
    ) -> Result<RowSettings> {
        let named: Vec<&str> = if columns.is_empty() {
            task.usual_columns().to_vec()
        } else {
            columns.iter().map(String::as_str).collect()
        };
        let fields = named.iter().copied().map(find_field).collect::<Result<Vec<_>>>()?;
        task.check_columns(named.into_iter())?;
        let names: Vec<&str> = keep.iter().map(String::as_str).chain(fields.iter().map(|field| field.name)).collect();
        if let Some(double) = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name))
        {
            return Err(Error::new(Code::CallInvalid, format!("The results have two columns `{double}`."))
                .next("Keep fewer columns, or choose others of the results."));
        }
        Ok(RowSettings { task, options, fields, keep })
    }

    /// Processes a line.
    pub(super) fn result(&self, line: &RowLine) -> RowResult {
        let (mut members, row) = match parsed(line) {
            Ok(given) => (self.kept(&given, line), self.row(&given)),
            Err(error) => (Vec::new(), BulkRow::without_data(error)),
        };
        members.extend(self.fields.iter().map(|field| member(field.name, &(field.value)(&row))));
        RowResult { line: format!("{{{}}}\n", members.join(",")), error: row.error }
    }

    fn row(&self, given: &Map<String, Value>) -> BulkRow {
        let change = if matches!(self.task, BulkTask::Diff { .. }) { "after" } else { "edit" };
        let inputs = BulkInputs {
            before: cell(given, "before").or(Some(Err(CellError::Null))),
            change: cell(given, change).or(Some(Err(CellError::Null))),
            path: cell(given, "path"),
            format: cell(given, "format"),
            expected: cell(given, "expected"),
            files: None,
        };
        let wants_diff = self.fields.iter().any(|field| field.name == "diff");
        BulkRow::of(&self.task, &inputs, &self.options, wants_diff)
    }

    /// Returns the kept members as JSON.
    fn kept(&self, given: &Map<String, Value>, line: &RowLine) -> Vec<String> {
        let text = || str::from_utf8(line.bytes.as_deref()?).ok();
        let kept = self.keep.iter().map(|name| match given.get(name) {
            // Such a number can have more digits than it has as a value.
            Some(value) if has_float(value) => match text().and_then(|text| written_value(text, name)) {
                Some(written) => member(name, &written),
                None => member(name, value),
            },
            value => member(name, value.unwrap_or(&Value::Null)),
        });
        kept.collect()
    }
}

/// Formats a member of an object; `value` is shown as JSON.
fn member(name: &str, value: &impl Display) -> String {
    format!("{}:{value}", Value::from(name))
}

/// True for a value with a number that is not a whole one of 64 bits.
fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(members) => members.values().any(has_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Returns the value of a member of an object as it is written in the line.
fn written_value<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let mut rest = line.trim_start().strip_prefix('{')?;
    let mut found = None;
    // The last member of a name counts.
    while let Some((key, after)) = leading::<String>(rest) {
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let (IgnoredAny, end) = leading(value)?;
        if key == name {
            found = value.get(..value.len() - end.len());
        }
        let Some(next) = end.trim_start().strip_prefix(',') else { break };
        rest = next;
    }
    found
}

/// Parses the value at the start of a text, and returns what follows it.
fn leading<T: DeserializeOwned>(text: &str) -> Option<(T, &str)> {
    let mut values = Deserializer::from_str(text).into_iter();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

/// Returns the text in a column of a row; `None` if the row has no such column.
fn cell<'a>(given: &'a Map<String, Value>, name: &str) -> Option<std::result::Result<&'a str, CellError>> {
    match given.get(name)? {
        Value::String(text) => Some(Ok(text.as_str())),
        Value::Null => Some(Err(CellError::Null)),
        _ => Some(Err(CellError::NotText)),
    }
}

/// Returns the field of this name.
///
/// Errors: `call.invalid` for a field that no result has.
fn find_field(name: &str) -> Result<&'static FieldRow> {
    FIELDS.iter().find(|field| field.name == name).ok_or_else(|| {
        let all: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
        Error::new(Code::CallInvalid, format!("Results have no field `{name}`."))
            .next(format!("Use some of: {}.", all.join(", ")))
    })
}

/// Parses a line.
///
/// Errors: `call.too_large`; `call.invalid` for a line that is not a JSON object.
fn parsed(line: &RowLine) -> Result<Map<String, Value>> {
    let Some(bytes) = &line.bytes else {
        return Err(Error::new(Code::CallTooLarge, format!("Line {} is too long.", line.number)));
    };
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(_) => Err(Error::new(Code::CallInvalid, format!("Line {} is not a JSON object.", line.number))),
        Err(_) if bytes.trim_ascii().is_empty() => {
            Err(Error::new(Code::CallInvalid, format!("Line {} is empty.", line.number)).next("Remove the line."))
        }
        Err(error) => {
            // To the parser, every line is the first one.
            let (what, at) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
            let what = what.strip_suffix(&at).unwrap_or(&what);
            let place = format!("Line {}, column {}", line.number, error.column());
            Err(Error::new(Code::CallInvalid, format!("{place}: this is not JSON: {what}.")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::written_value;

    #[test]
    fn kept_values_are_found_as_they_are_written() {
        let line = r#" { "a\u0062" : [ 1e400, {"x": "}"} ],"n":18446744073709551617 , "n": -1.50e+3}"#;
        assert_eq!(written_value(line, "ab"), Some(r#"[ 1e400, {"x": "}"} ]"#));
        assert_eq!(written_value(line, "n"), Some("-1.50e+3"));
        assert_eq!((written_value(line, "x"), written_value("{ }", "x")), (None, None));
    }
}
