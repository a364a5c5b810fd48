//! A line of JSON in, a line of JSON out.

use super::RowLine;
use emendate::core::{ApplyOptions, Code, Error, Result};
use emendate::{BulkInputs, BulkRow, BulkTask, CellError};
use serde_json::{Map, Value, json};

/// A field of results.
struct FieldRow {
    name: &'static str,
    value: fn(&BulkRow) -> Value,
}

static FIELDS: &[FieldRow] = &[
    FieldRow { name: "ok", value: |row| row.error.is_none().into() },
    FieldRow { name: "code", value: |row| row.error.as_ref().map(|error| error.code().as_str()).into() },
    FieldRow { name: "after", value: |row| row.after.as_deref().into() },
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
    /// Errors: `call.invalid` for a field that no result has.
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
        let fields = named.into_iter().map(find_field).collect::<Result<Vec<_>>>()?;
        Ok(RowSettings { task, options, fields, keep })
    }

    /// Processes a line.
    pub(super) fn result(&self, line: &RowLine) -> RowResult {
        let (mut out, row) = match parsed(line) {
            Ok(given) => (self.kept(&given), self.row(&given)),
            Err(error) => (Map::new(), BulkRow::failed(&self.task, error)),
        };
        out.extend(self.fields.iter().map(|field| (field.name.to_owned(), (field.value)(&row))));
        RowResult { line: format!("{}\n", Value::Object(out)), error: row.error }
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

    fn kept(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let kept = self.keep.iter().map(|name| (name.clone(), given.get(name).cloned().unwrap_or_default()));
        kept.collect()
    }
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
        Err(error) => Err(Error::new(Code::CallInvalid, format!("Line {} is not JSON: {error}.", line.number))),
    }
}
